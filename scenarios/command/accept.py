"""`dpmarket accept`: an owner looks at what a contract means for its records, and opens its account."""

from __future__ import annotations

from scenarios.command.options import ContractArg, LedgerOption, OwnerOption, TableOption


def accept(contract: ContractArg, data: TableOption, owner: OwnerOption, ledger: LedgerOption) -> None:
    """Accept a contract as an owner: try it on one's own records, say what is lost and earned, open the account."""
    from learning.exchange.contract import read_contract
    from learning.exchange.foreseen import foreseen
    from learning.exchange.owner import accept as open_account
    from scenarios.command.owner_printed import print_foreseen
    from scenarios.exchange.answering import ledger_at
    from scenarios.exchange.records import own_table

    agreed = read_contract(contract)
    table = own_table(data, agreed, owner)
    foreseen(agreed, owner, table.records, None)  # what cannot be answered about is not accepted
    book = ledger_at(ledger, make=True)
    open_account(agreed, owner, book)
    print_foreseen(agreed, owner, foreseen(agreed, owner, table.records, book), table, ledger)
