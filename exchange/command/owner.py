"""The owner's commands: accept a contract, answer its questions, state what the ledger charged.

They are commands of `dpmarket`, and a program of their own with no simulator in it:
``python -m exchange.command.owner``.
"""

from __future__ import annotations

import sys

import typer

from exchange.command.options import (
    AnswerOut,
    ContractArg,
    DryRun,
    FollowQuestions,
    LedgerOption,
    MaxDelta,
    MaxEpsilon,
    OwnerOption,
    PollOption,
    QueryArg,
    SoldBefore,
    StatementOut,
    TableOption,
)
from learning.errors import InputError, explain_fault
from learning.phrases import escape_control

INTERRUPTED = 130
EVERY = 0.5  # seconds
app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command("accept")
def accept(
    contract: ContractArg,
    data: TableOption,
    owner: OwnerOption,
    ledger: LedgerOption,
    max_epsilon: MaxEpsilon = None,
    max_delta: MaxDelta = None,
    sold_before: SoldBefore = False,
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

    permissions = Permissions(max_epsilon, max_delta, sold_before)
    accept_and_print(read_contract(contract), owner, data, ledger, permissions)


@app.command("answer")
def answer(
    contract: ContractArg,
    query: QueryArg,
    data: TableOption,
    owner: OwnerOption,
    ledger: LedgerOption,
    out: AnswerOut = None,
    dry_run: DryRun = False,
    follow: FollowQuestions = False,
    every: PollOption = EVERY,
    max_epsilon: MaxEpsilon = None,
    max_delta: MaxDelta = None,
) -> None:
    """Answer a question about one's own records, once: clipped, under noise, charged to one's own
    ledger before it leaves.
    """
    if follow and (dry_run or out is not None):
        other = "--dry-run" if dry_run else "--out"
        raise InputError("--follow", "goes with neither --dry-run nor --out", other)
    if follow and not query.is_dir():
        raise InputError("QUERY", "must be the exchange's folder with --follow", str(query))
    from exchange.contract import read_contract
    from exchange.owner import program
    from exchange.owner.accepting import Permissions

    agreed = read_contract(contract)
    if dry_run:
        return program.print_preview(agreed, owner, data, ledger, query)
    permissions = Permissions(max_epsilon, max_delta)
    party = program.open_party(agreed, owner, data, ledger, permissions)
    if follow:
        program.follow_folder(party, query, every)
    else:
        program.answer_once(party, query, out)


@app.command("state")
def state(
    contract: ContractArg,
    owner: OwnerOption,
    ledger: LedgerOption,
    out: StatementOut = None,
) -> None:
    """Write an owner's statement: what its ledger charged under a contract, for who settles it."""
    from exchange.contract import read_contract
    from exchange.owner.program import write_statement

    write_statement(read_contract(contract), owner, ledger, out)


def main() -> None:
    """Run the owner's program; a fault of the input is one line on stderr, with status 2."""
    try:
        app(sys.argv[1:] or ["--help"], prog_name="dpmarket-owner", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except Exception as error:
        fault = explain_fault(error)
        if hasattr(error, "format_message"):  # a fault in the command line itself
            message = error.format_message()
        elif fault is None:
            raise
        else:
            message = str(fault)
        print("dpmarket-owner:", escape_control(" ".join(message.split())), file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
