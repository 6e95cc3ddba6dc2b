"""The owner's commands: accept a contract, answer its questions, state what the ledger charged.

They are commands of `dpmarket`, and a program of their own with no simulator in it:
``python -m exchange.command.owner``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from exchange.command.options import (
    EVERY,
    ContractArg,
    LedgerOption,
    Limits,
    OwnerOption,
    OwnSide,
    PollOption,
)
from learning.errors import InputError
from learning.program import expand_groups, make_app, run_program

app = make_app()


@app.command()
@expand_groups
def accept(
    contract: ContractArg,
    own: OwnSide,
    limits: Limits,
    sold_before: Annotated[
        bool,
        Option(
            "--sold-before",
            help="Accept although these records were accepted elsewhere: budgets add up.",
        ),
    ] = False,
) -> None:
    """Accept a contract as an owner: try it on one's own records, say what is lost and earned, open
    the account.

    Nothing is accepted beyond the owner's limits: epsilon 3, at which an even guess becomes 95 %
    sure; delta 1/(10 n), at which publishing each of n records with that chance publishes none of
    them nine times in ten.
    """
    from exchange.contract import read_contract
    from exchange.owner.accepting import Permissions
    from exchange.owner.program import accept_and_print

    permissions = Permissions(limits.max_epsilon, limits.max_delta, sold_before)
    accept_and_print(read_contract(contract), own.owner, own.data, own.ledger, permissions)


@app.command()
@expand_groups
def answer(
    contract: ContractArg,
    query: Annotated[
        Path,
        Argument(
            metavar="QUERY", help="A question; or the exchange's folder, whose latest is answered."
        ),
    ],
    *,
    own: OwnSide,
    out: Annotated[
        Path | None, Option(help="The answer's file [default: beside the question].")
    ] = None,
    dry_run: Annotated[
        bool,
        Option("--dry-run", help="Say what would be lost and earned; answer and charge nothing."),
    ] = False,
    follow: Annotated[
        bool,
        Option("--follow", help="Answer each question as it comes, until the last or the model."),
    ] = False,
    every: PollOption = EVERY,
    limits: Limits,
) -> None:
    """Answer a question about one's own records, once: clipped, under noise, charged to one's own
    ledger before it leaves.
    """
    if follow:
        check_following(query, {"--dry-run": dry_run, "--out": out is not None})
    from exchange.contract import read_contract
    from exchange.owner import program
    from exchange.owner.accepting import Permissions

    agreed = read_contract(contract)
    if dry_run:
        return program.print_preview(agreed, own.owner, own.data, own.ledger, query)
    permissions = Permissions(limits.max_epsilon, limits.max_delta)
    party = program.open_party(agreed, own.owner, own.data, own.ledger, permissions)
    if follow:
        program.follow_folder(party, query, every)
    else:
        program.answer_once(party, query, out)


def check_following(query: Path, others: dict[str, bool]) -> None:
    """Refuse to follow what is no folder, or with options that answer once.

    Raises
    ------
    InputError
    """
    for name, given in others.items():
        if given:
            raise InputError("--follow", "goes with neither --dry-run nor --out", name)
    if not query.is_dir():
        raise InputError("QUERY", "must be the exchange's folder with --follow", str(query))


@app.command()
def state(
    contract: ContractArg,
    owner: OwnerOption,
    ledger: LedgerOption,
    out: Annotated[
        Path | None,
        Option(metavar="PATH", help="The statement's file [default: by the owner's name]."),
    ] = None,
) -> None:
    """Write an owner's statement: what its ledger charged under a contract, for who settles it."""
    from exchange.contract import read_contract
    from exchange.owner.program import write_statement

    write_statement(read_contract(contract), owner, ledger, out)


if __name__ == "__main__":
    run_program(app, "dpmarket-owner")
