"""`dpmarket answer`: an owner's program answers the learner's questions, each once, from its own table and ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from learning.errors import InputError
from scenarios.command.options import ContractArg, LedgerOption, MaxDelta, MaxEpsilon, OwnerOption, TableOption

if TYPE_CHECKING:
    from learning.exchange.contract import Contract

EVERY = 0.5  # seconds


def answer(
    contract: ContractArg,
    query: Annotated[
        Path, typer.Argument(metavar="QUERY", help="A question; or the exchange's folder, whose latest is answered.")
    ],
    data: TableOption,
    owner: OwnerOption,
    ledger: LedgerOption,
    out: Annotated[Path | None, typer.Option(help="The answer's file [default: beside the question].")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be lost and earned; answer and charge nothing.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Answer each question as it comes, until the last or the model.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.05, max=3600, help="Seconds between two looks, with --follow.")] = EVERY,
    max_epsilon: MaxEpsilon = None,
    max_delta: MaxDelta = None,
) -> None:
    """Answer a question about one's own records, once: clipped, under noise, charged to one's own ledger before it leaves."""
    if follow and (dry_run or out is not None):
        raise InputError("--follow", "goes with neither --dry-run nor --out", "--dry-run" if dry_run else "--out")
    if follow and not query.is_dir():
        raise InputError("QUERY", "must be the exchange's folder with --follow", str(query))
    from learning.exchange.accepting import Permissions, check_records
    from learning.exchange.contract import read_contract
    from scenarios.command.owner_printed import ENDINGS, given_words
    from scenarios.command.terminal import Terminal
    from scenarios.exchange import answering
    from scenarios.exchange.folder import answer_name
    from scenarios.exchange.records import own_records

    agreed = read_contract(contract)
    terminal = Terminal()
    if dry_run:
        return look(agreed, query, data, owner, ledger)
    book = answering.ledger_at(ledger)
    party = answering.Party(agreed, owner, own_records(data, agreed, owner), book)
    check_records(agreed, owner, party.records, book, Permissions(max_epsilon, max_delta))
    if follow:
        ended = answering.follow(
            party,
            query,
            gave=lambda given: terminal.say(given_words(agreed, owner, given)),
            awaits=lambda number: terminal.say(f"{owner} waits for question {number} of {agreed.rounds} in {query}"),
            every=every,
        )
        terminal.say(ENDINGS[ended])
        return
    asked, folder = answering.question_at(agreed, query)
    if asked is None:
        raise InputError(str(query), "must hold a question", "none", "With --follow it is waited for.")
    answering.check_open(party, asked, folder)
    place = out or folder / answer_name(asked.round, owner)
    given = answering.answer_into(party, asked, place)
    if not given.new:
        remedy = "Nothing was spent. Where that file is lost, the same bytes are given again."
        raise InputError(str(query), f"is answered once, and {owner} has answered it", str(place), remedy)
    terminal.say(given_words(agreed, owner, given))


def look(agreed: Contract, query: Path, data: Path, owner: str, ledger: Path) -> None:
    """Say what answering would mean; nothing is charged."""
    from learning.exchange.foreseen import foreseen
    from scenarios.command.owner_printed import print_foreseen
    from scenarios.exchange.answering import ledger_at, question_at
    from scenarios.exchange.records import own_table

    asked, _ = question_at(agreed, query)
    book = ledger_at(ledger) if ledger.exists() else None
    table = own_table(data, agreed, owner)
    print_foreseen(agreed, owner, foreseen(agreed, owner, table.records, book, asked), table, ledger, asked)
