"""The owner's commands: accept a contract, answer its questions, state what the ledger charged.

They are commands of `dpmarket`, and a program of their own with no simulator in it:
``python -m exchange.command.owner``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from exchange.command.options import (
    EVERY,
    ContractArg,
    KeyOption,
    LedgerOption,
    Limits,
    OwnerOption,
    OwnSide,
    PollOption,
)
from learning.errors import InputError
from learning.extras import check_extra
from learning.program import declare_command, make_app, run_program

app = make_app(add_completion=False)


@app.command()
@declare_command
def accept(
    contract: ContractArg,
    *,
    own: OwnSide,
    limits: Limits,
    sold_before: bool = False,
    rehearsal: bool = False,
    out: Path | None = None,
) -> None:
    """Accept a contract as an owner: test it on your records, show what you lose and earn, and open
    an account.

    The program accepts no contract beyond your limits. By default epsilon is at most 3: an even
    guess about a record then becomes at most 95 % sure. delta is at most 1/(10 n): publishing each
    of n records with this probability publishes none in nine cases of ten.

    Parameters
    ----------
    sold_before : Accept although these records have another account; their budgets add up.
    rehearsal : Accept secure aggregation that nobody signs; never with real records.
    out FILE : The signed acceptance [default: beside the contract, named after the owner].
    """
    from exchange.contract import open_key, read_contract
    from exchange.folder import acceptance_name
    from exchange.owner.accepting import Permissions
    from exchange.owner.program import OwnFiles, accept_and_print

    check_extra("accept", "release", "opendp")  # before an owner agrees to answer
    permissions = Permissions(limits.max_epsilon, limits.max_delta, sold_before, rehearsal)
    agreed = read_contract(contract)
    key = open_key(own.key, agreed, own.owner)
    files = OwnFiles(agreed, own.owner, own.data, own.ledger, key, permissions)
    accept_and_print(files, out or contract.with_name(acceptance_name(own.owner)))


@app.command()
@declare_command
def answer(
    contract: ContractArg,
    query: Path,
    *,
    own: OwnSide,
    out: Path | None = None,
    dry_run: bool = False,
    follow: bool = False,
    every: PollOption = EVERY,
    limits: Limits,
) -> None:
    """Answer a question about your records once, with clipping and noise, and charge it to your
    ledger first.

    Parameters
    ----------
    query QUERY : A question, or the exchange's folder to answer its latest one.
    out : The answer's file [default: beside the question].
    dry_run : Show what you would lose and earn; answer and charge nothing.
    follow : Answer each new question until the exchange ends.
    """
    if follow:
        check_following(query, {"--dry-run": dry_run, "--out": out is not None})
    from exchange.contract import open_key, read_contract
    from exchange.owner import program
    from exchange.owner.accepting import Permissions

    agreed = read_contract(contract)
    files = program.OwnFiles(agreed, own.owner, own.data, own.ledger)
    if dry_run:
        return program.print_preview(files, query)
    permissions = Permissions(limits.max_epsilon, limits.max_delta)
    key = open_key(own.key, agreed, own.owner)
    party = program.open_party(replace(files, key=key, permissions=permissions))
    if follow:
        program.follow_folder(party, query, every)
    else:
        program.answer_once(party, query, out)


def check_following(query: Path, others: dict[str, bool]) -> None:
    """Refuse, with an InputError, to follow what is no folder, or options that answer once."""
    for name, given in others.items():
        if given:
            raise InputError("--follow", "cannot be used with --dry-run or --out", name)
    if not query.is_dir():
        raise InputError("QUERY", "must be the exchange's folder with --follow", str(query))


@app.command()
@declare_command
def state(
    contract: ContractArg,
    *,
    owner: OwnerOption,
    ledger: LedgerOption,
    key: KeyOption = None,
    out: Path | None = None,
) -> None:
    """Write an owner's statement of what its ledger charged under a contract.

    Parameters
    ----------
    out PATH : The statement's file [default: named after the owner].
    """
    from exchange.contract import open_key, read_contract
    from exchange.owner.program import write_statement

    agreed = read_contract(contract)
    write_statement(agreed, owner, ledger, out, open_key(key, agreed, owner))


@app.command()
@declare_command
def key(file: Path) -> None:
    """Make a party's key, with which it signs its part of an exchange; or show the one in a file.

    Only its user can read the file, and nobody else should. FILE.pub beside it is public.

    Parameters
    ----------
    file FILE : The key's file.
    """
    from exchange.signing import make_key_file, public_place, read_key
    from learning.terminal import Terminal, titled

    made = "" if file.exists() else "new, "
    own = read_key(file) if file.exists() else make_key_file(file)
    Terminal().say(
        titled("secret", f"{made}in {file}: it never leaves this machine"),
        titled("public", own.public, f"in {public_place(file)}: send it to the contract's maker"),
    )


def main() -> None:
    """Run a command of the owner's program."""
    run_program(app, "dpmarket-owner")


if __name__ == "__main__":
    main()
