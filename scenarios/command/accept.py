"""`dpmarket accept`: an owner looks at what a contract means for its records, and opens its account."""

from __future__ import annotations

from typing import Annotated

import typer

from scenarios.command.options import ContractArg, LedgerOption, MaxDelta, MaxEpsilon, OwnerOption, TableOption


def accept(
    contract: ContractArg,
    data: TableOption,
    owner: OwnerOption,
    ledger: LedgerOption,
    max_epsilon: MaxEpsilon = None,
    max_delta: MaxDelta = None,
    sold_before: Annotated[
        bool,
        typer.Option("--sold-before", help="Accept although these records were accepted elsewhere: budgets add up."),
    ] = False,
) -> None:
    """Accept a contract as an owner: try it on one's own records, say what is lost and earned, open the account.

    Nothing is accepted beyond the owner's limits: epsilon 3, at which an even guess becomes 95 % sure; delta 1/(10 n), at
    which publishing each of n records with that chance publishes none of them nine times in ten.
    """
    from learning.errors import InputError
    from learning.exchange.accepting import Permissions
    from learning.exchange.accepting import accept as open_account
    from learning.exchange.contract import read_contract
    from learning.exchange.foreseen import foreseen
    from scenarios.command.owner_printed import print_accepted, print_foreseen
    from scenarios.exchange.answering import ledger_at
    from scenarios.exchange.records import own_table

    agreed = read_contract(contract)
    table = own_table(data, agreed, owner)
    foreseen(agreed, owner, table.records, None)  # what cannot be answered about is not accepted
    is_new = not ledger.exists()
    book = ledger_at(ledger, make=True)
    said = Permissions(max_epsilon, max_delta, sold_before)
    try:
        accepted = open_account(agreed, owner, table.records, book, said)
    except InputError:
        if is_new:
            book.discard_unused()
        raise
    print_foreseen(agreed, owner, foreseen(agreed, owner, table.records, book), table, ledger)
    print_accepted(accepted)
