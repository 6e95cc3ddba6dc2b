"""Privacy: mechanisms and their accounting, the claims they make, the ledger, and answers for release."""
