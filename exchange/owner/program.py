"""The owner's program: each command of `exchange.command.owner`, carried out and reported."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from exchange.contract import Contract
from exchange.folder import answer_name, owner_slug, write_new
from exchange.messages import Acceptance, Query, sign_message
from exchange.owner.accepting import Permissions, accept_contract, check_records
from exchange.owner.answering import (
    Ending,
    Party,
    check_still_open,
    find_question,
    follow_questions,
    open_ledger,
    write_answer,
)
from exchange.owner.preview import (
    answer_words,
    ledger_words,
    others_words,
    preview_contract,
    preview_words,
)
from exchange.owner.table import OwnTable, read_own_table
from exchange.signing import UNSIGNED, PartyKey
from exchange.statement import Statement, make_statement, read_statement
from learning.canonical import check_place, read_bytes, write_atomically
from learning.errors import InputError
from learning.phrases import format_number
from learning.privacy.ledger_file import LedgerFile
from learning.terminal import Terminal, titled

ENDINGS: dict[Ending, str] = {
    "answered": "That was the last question of the contract.",
    "finished": "The model exists, so there are no more questions.",
    "left out": "The learner goes on without this owner and asks it nothing more. "
    "Delivered answers are paid: keep a statement.",
}


@dataclass(frozen=True, eq=False)
class OwnFiles:
    """All that an owner names to its program.

    Parameters
    ----------
    contract: the contract.
    owner: its name there.
    data, ledger: the files of its records and of its ledger.
    key: its key; None where the exchange is not signed.
    permissions: its limits.
    """

    contract: Contract
    owner: str
    data: Path
    ledger: Path
    key: PartyKey | None = None
    permissions: Permissions = field(default_factory=Permissions)

    def read_table(self) -> OwnTable:
        """Read the owner's records, as `read_own_table`."""
        return read_own_table(self.data, self.contract, self.owner)


def accept_and_print(own: OwnFiles, out: Path) -> None:
    """Open an owner's account for a contract, and print what it means; write a signed acceptance.

    Parameters
    ----------
    out: the acceptance's file; none is written where the exchange is not signed.
    """
    contract = own.contract
    contract.check_key(own.key, own.owner)
    table = own.read_table()
    preview_contract(contract, own.owner, table.records, None)  # refuses what cannot be answered
    is_new = not own.ledger.exists()
    book = open_ledger(own.ledger, make=True)
    try:
        accepted = accept_contract(contract, own.owner, table.records, book, own.permissions)
    except InputError:
        if is_new:
            book.discard_unused()
        raise
    _print_preview(own, table)
    Terminal().say(titled("adds up", others_words(accepted)))
    if own.key is None:
        Terminal().say(titled("warning", UNSIGNED))
        return
    made = sign_message(Acceptance(contract.digest, own.owner), contract, own.key)
    if not write_new(out, made.raw) and read_bytes(out) != made.raw:
        raise InputError("--out", "must be a new file", f"another file: {out}", "Name another one.")
    Terminal().say(titled("acceptance", f"{out}, signed: send it to the learner"))


def open_party(own: OwnFiles) -> Party:
    """Open an owner's ledger and records, which must be those that it accepted the contract for."""
    book = open_ledger(own.ledger)
    records = own.read_table().records
    check_records(own.contract, own.owner, records, book, own.permissions)
    return Party(own.contract, own.owner, records, book, own.key)


def follow_folder(party: Party, folder: Path, every: float) -> None:
    """Answer each question of a folder as it comes, and print what was done."""
    say = Terminal().say
    contract = party.contract
    waits = f"of {contract.rounds} in {folder}"
    ending = follow_questions(
        party,
        folder,
        gave=lambda written: say(answer_words(contract, party.name, written)),
        awaits=lambda number: say(f"{party.name} waits for question {number} {waits}"),
        every=every,
    )
    say(ENDINGS[ending])


def answer_once(party: Party, place: Path, out: Path | None) -> None:
    """Answer the question at a place, and print what was done."""
    query, folder = find_question(party.contract, place)
    if query is None:
        remedy = "Use --follow to wait for it."
        raise InputError(str(place), "must hold a question", "none", remedy)
    check_still_open(party, query, folder)
    path = out or folder / answer_name(query.round, party.name)
    written = write_answer(party, query, path, folder)
    if not written.is_new:
        rule = f"is answered once, and {party.name} has answered it"
        remedy = "Nothing was spent. If that file is lost, the program writes the same bytes again."
        raise InputError(str(place), rule, str(path), remedy)
    Terminal().say(answer_words(party.contract, party.name, written))


def print_preview(own: OwnFiles, place: Path) -> None:
    """Print what an answer to the question at a place means; nothing is charged."""
    query, _ = find_question(own.contract, place)
    _print_preview(own, own.read_table(), query)


def _print_preview(own: OwnFiles, table: OwnTable, query: Query | None = None) -> None:
    book = open_ledger(own.ledger) if own.ledger.exists() else None
    seen = preview_contract(own.contract, own.owner, table.records, book, query)
    lines = preview_words(own.contract, own.owner, seen, table, query)
    lines["ledger"] = [
        f"{own.ledger}: {ledger_words(own.owner, seen.account)}",
        f'It calls these records "{own.contract.records}".',
    ]
    Terminal().say(*(titled(title, *said) for title, said in lines.items()))


def write_statement(
    contract: Contract, owner: str, ledger: Path, out: Path | None, key: PartyKey | None
) -> None:
    """Write an owner's statement, and print what it says."""
    contract.check_key(key, owner)
    made = sign_message(make_statement(contract, owner, LedgerFile(ledger)), contract, key)
    path = out or Path(f"{owner_slug(owner)}.statement.json")
    write_atomically(_statement_place(path, made, contract), made.raw)
    unit = "epsilon" if made.counted == "epsilon" else "answers"
    agreed = contract.rounds if contract.aggregation is None else 1
    charged = f"The ledger of {owner} charged {made.answered} of {agreed} questions"
    spent = f"{format_number(made.spent)} {unit} spent, {format_number(made.remaining)} left"
    Terminal().say(
        f"{charged} under contract {contract.digest[:16]}: {spent}.", f"statement: {path}"
    )


def _statement_place(out: Path, made: Statement, contract: Contract) -> Path:
    """Find the place of a statement: a new file, or an earlier statement of the same account.

    Raises an InputError if something else stands there: a ledger, a table, a contract is never
    written over.
    """
    place = check_place(out)
    if not place.exists():
        return place
    with suppress(InputError):
        before = read_statement(place, contract)
        if (before.contract, before.owner) == (made.contract, made.owner):
            return place
    rule = f"must be a new file, or an earlier statement of {made.owner} under this contract"
    raise InputError("--out", rule, f"another file: {out}", "Name another one.")
