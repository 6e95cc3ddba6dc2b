"""The owner's part: accept a contract, answer its questions under noise, and state the ledger."""
