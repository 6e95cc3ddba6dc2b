"""`dpmarket contract`: from a result to what all parties sign, and what it says in plain words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from learning.errors import InputError
from scenarios.command.options import MaxDelta, MaxEpsilon

if TYPE_CHECKING:
    from learning.exchange.contract import Contract

SHOW = "show"


def contract(
    source: Annotated[
        str, typer.Argument(metavar="RESULT", help="A result folder; or the word show, and a contract to be shown.")
    ],
    file: Annotated[Path | None, typer.Argument(metavar="[CONTRACT]", help="The contract to be shown.")] = None,
    out: Annotated[Path, typer.Option(help="The file to be signed.")] = Path("contract.json"),
    missing: Annotated[
        str,
        typer.Option(
            help="When an owner does not answer: wait for it, or without it, as long as enough have answered."
        ),
    ] = "wait",
    at_least: Annotated[
        int | None, typer.Option(help="How many must answer, with --missing without [default: more than half].")
    ] = None,
    hours: Annotated[
        float | None, typer.Option(help="How long a question is answered, with --missing without [default: always].")
    ] = None,
    records: Annotated[
        str | None, typer.Option(help="What ledgers call the records [default: the name of the scenario's table].")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over another contract.")] = False,
    max_epsilon: MaxEpsilon = None,
    max_delta: MaxDelta = None,
) -> None:
    """Make a contract of a result, for all parties to sign; or say what one says: contract show CONTRACT."""
    if source == SHOW:
        if file is None:
            raise InputError("CONTRACT", "must be named", "", "Say dpmarket contract show FILE.")
        from learning.exchange.contract import read_contract

        print_contract(read_contract(file), max_epsilon, max_delta)
        return
    if file is not None:
        rule = f"takes one result, or the word {SHOW} and a contract"
        raise InputError("contract", rule, f"{source!r} and {str(file)!r}")
    from scenarios.exchange.agreed import contract_of, protocol_of
    from scenarios.result import load_result

    folder = Path(source)
    made = contract_of(folder, missing=missing, at_least=at_least, hours=hours, records=records)
    write(made, out, force=force)
    print_made(made, out, load_result(folder), protocol_of(folder)["left_out"])


def write(made: Contract, out: Path, *, force: bool) -> None:
    """Write a contract where there is none, or the same.

    Raises
    ------
    InputError
        If something else stands there, which may have been signed; or the disk refuses.
    """
    from learning.exchange.canonical import put, read
    from scenarios.output.places import check_place

    place = check_place(out)
    if place.exists() and not force and read(place) != made.raw:
        remedy = "Name another one; --force writes over it."
        raise InputError("--out", "must be a new file, or the same contract", f"another file: {out}", remedy)
    put(place, made.raw)


def print_made(made: Contract, out: Path, content: dict[str, Any], left_out: list[str]) -> None:
    """What was made, and what to do with it."""
    from scenarios.command.console import titled
    from scenarios.command.terminal import Terminal
    from scenarios.exchange.sentences import left_out as who_sold_nothing
    from scenarios.exchange.sentences import parties, signed, uncertain

    terminal = Terminal()
    terminal.say(
        titled("contract", f"{out}: {made.title or 'a data market'}", parties(made), who_sold_nothing(left_out))
    )
    terminal.say(titled("warning", *uncertain(content)))
    terminal.say(titled("digest", made.digest, signed(made)))
    terminal.say(titled("read it", f"dpmarket contract show {out}"))


def print_contract(made: Contract, max_epsilon: float | None = None, max_delta: float | None = None) -> None:
    """Print a contract in plain words, with what lies beyond an owner's limits."""
    from scenarios.command.console import titled
    from scenarios.command.terminal import PlainTable, Terminal
    from scenarios.exchange import sentences

    refused = sentences.beyond_limits(made, max_epsilon, max_delta)
    terminal = Terminal()
    terminal.say(titled("digest", made.digest, sentences.signed(made)))  # before any text that the contract brings
    terminal.say(titled("contract", made.title or "a data market", sentences.parties(made)))
    rows = PlainTable("", *sentences.HEADS)
    for row in sentences.owner_rows(made, refused):
        rows.add_row(*row)
    terminal.print()
    terminal.print(rows)
    terminal.print()
    terminal.say(titled("limits", *sentences.limits_words(refused, sentences.beliefs(made))))
    for title, line in sentences.contract_lines(made):
        terminal.say(f"{title:12} {line}")
