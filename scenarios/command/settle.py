"""The command that settles an exchange, or writes what an owner's ledger says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from learning.errors import InputError
from scenarios.command.progress import stages

if TYPE_CHECKING:
    from learning.exchange.contract import Contract
    from learning.exchange.statement import Statement

REFUTED = 3


def settle(
    contract: Annotated[Path, typer.Argument(metavar="CONTRACT", help="The contract of the exchange.")],
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="The exchange's folder [default: the contract's].")
    ] = None,
    public: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The learner's own rows that the plan was made with, to judge by."),
    ] = None,
    aside: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows of the learner that had no part in the plan, in their place."),
    ] = None,
    statement: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="What an owner's ledger says; may be repeated.")
    ] = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Settle what was delivered although there is no model yet.")
    ] = False,
    owner: Annotated[
        str | None, typer.Option(metavar="NAME", help="Write this owner's statement, out of its --ledger, and no more.")
    ] = None,
    ledger: Annotated[Path | None, typer.Option(metavar="FILE", help="The owner's ledger.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Folder of settlement.json and settlement.html [default: FOLDER]; of a statement its file.",
        ),
    ] = None,
) -> int:
    """Settle an exchange: who delivered and is paid, whether its files fit, whether the model is what was forecast."""
    from learning.exchange.contract import read_contract

    agreed = read_contract(contract)
    if owner is not None or ledger is not None:
        _check_alone(owner, ledger, [folder, public, aside, statement or None, unfinished or None])
        assert owner is not None and ledger is not None
        state(agreed, owner, ledger, out)
        return 0
    here = contract.parent if folder is None else folder
    check_folder(*((here, "FOLDER") if out is None else (out, "--out")))
    with stages() as progress:
        progress("settling")
        content = settlement(agreed, here, public, aside, statement or (), unfinished=unfinished)
        progress("writing the report")
        page = write(content, here if out is None else out)
    print_settlement(content, page)
    return 0 if content["holds"] else REFUTED


def _check_alone(owner: str | None, ledger: Path | None, others: Sequence[object]) -> None:
    """Refuse half of what a statement takes, and what it does not take."""
    if owner is None or ledger is None:
        key, other = ("--owner", "--ledger") if ledger is None else ("--ledger", "--owner")
        raise InputError(key, f"must come with {other}", f"{key} alone", "Both together write an owner's statement.")
    if any(one is not None for one in others):
        raise InputError("--owner", "writes an owner's statement, and takes but CONTRACT, --ledger and --out")


def state(contract: Contract, owner: str, ledger: Path, out: Path | None) -> None:
    """Write an owner's statement, and say what stands in it."""
    from learning.exchange.canonical import put
    from learning.exchange.statement import statement_of
    from learning.privacy.ledger_file import LedgerFile
    from scenarios.command.terminal import Terminal
    from scenarios.exchange.folder import owner_slug
    from scenarios.report.wording import counted, number

    told = statement_of(contract, owner, LedgerFile(ledger))
    path = Path(f"{owner_slug(owner)}.statement.json") if out is None else out
    place = _place_of(path, told)
    put(place, told.raw)
    unit = "epsilon" if told.counted == "epsilon" else "answers"
    Terminal().say(
        f"{owner} has charged {counted(told.answered, 'answer')} of {contract.rounds} under contract {contract.digest[:16]}: "
        f"{number(told.spent)} {unit} spent, {number(told.remaining)} left.",
        f"statement: {path}",
    )


def _place_of(out: Path, told: Statement) -> Path:
    """Where a statement may be written: a new file, or an earlier one of the same owner under the same contract.

    Raises
    ------
    InputError
        If something else stands there: a ledger, a table, a contract is never written over.
    """
    from learning.exchange.statement import read_statement
    from scenarios.output.places import check_place

    place = check_place(out)
    if place.exists():
        with suppress(InputError):
            before = read_statement(place)
            if (before.contract, before.owner) == (told.contract, told.owner):
                return place
        rule = f"must be a new file, or an earlier statement of {told.owner} under this contract"
        raise InputError("--out", rule, f"another file: {out}", "Name another one.")
    return place


def settlement(
    contract: Contract,
    folder: Path,
    public: Path | None,
    aside: Path | None,
    statements: Sequence[Path],
    *,
    unfinished: bool,
) -> dict[str, Any]:
    """All that can be said of an exchange, with what the learner's own rows show where they are given."""
    from scenarios.exchange.records import public_records
    from scenarios.exchange.seen import on_own_rows
    from scenarios.exchange.settling import exchange_in, own_rows_part, settled

    exchange = exchange_in(folder, contract)
    content = settled(exchange, _statements(contract, statements), unfinished=unfinished)
    if (public is not None or aside is not None) and exchange.model is not None:
        if public is not None and aside is not None:
            raise InputError(
                "--aside", "takes the place of --public", "both", "Rows kept aside tell more: name them alone."
            )
        path = aside or public
        assert path is not None
        rows, theta = public_records(path, contract), exchange.model.model.theta
        content["own_rows"] = own_rows_part(on_own_rows(contract, theta, rows.x, rows.y, kept_aside=aside is not None))
    return content


def _statements(contract: Contract, paths: Sequence[Path]) -> list[Statement]:
    """Owners' statements, one of each at most, of owners of the contract."""
    from learning.exchange.statement import read_statement

    found: dict[str, Statement] = {}
    for path in paths:
        told = read_statement(path)
        contract.owner(told.owner)
        if told.owner in found:
            raise InputError("--statement", "must be one for an owner", f"two of {told.owner}")
        found[told.owner] = told
    return list(found.values())


def write(content: Mapping[str, Any], folder: Path) -> Path:
    """Write settlement.json and settlement.html, both or neither; gives the page.

    Raises
    ------
    InputError
        If the disk refuses.
    """
    from learning.exchange.canonical import canonical, put
    from scenarios.exchange.folder import SETTLEMENT, SETTLEMENT_PAGE
    from scenarios.output.folders import together
    from scenarios.report.settlement_page import settlement_page

    page = settlement_page(content).encode()
    with together(folder) as new:
        put(new / SETTLEMENT, canonical(content))
        put(new / SETTLEMENT_PAGE, page)
    return folder / SETTLEMENT_PAGE


def check_folder(folder: Path, key: str) -> None:
    """Refuse a place for a settlement that is no folder, or where other files of its names stand."""
    from learning.exchange.canonical import parse, read
    from scenarios.exchange.folder import SETTLEMENT, SETTLEMENT_PAGE
    from scenarios.exchange.settling import FORMAT

    if not folder.is_dir():
        raise InputError(key, "must be a folder that is there", folder)
    earlier = False
    with suppress(InputError):
        earlier = parse(read(folder / SETTLEMENT), SETTLEMENT).get("format") == FORMAT
    for name in (SETTLEMENT, SETTLEMENT_PAGE):
        if not earlier and (folder / name).exists():
            rule = "must be a folder without other files of these names, or with an earlier settlement"
            raise InputError(key, rule, folder / name, "Name another folder.")


def print_settlement(content: Mapping[str, Any], page: Path) -> None:
    """The owners as a table, and what there is to say."""
    from scenarios.command.terminal import PlainTable, Terminal, in_title
    from scenarios.report import sentences_settlement as words
    from scenarios.report.wording import number

    out, agreed = Terminal(), content["questions"]["agreed"]
    columns = ("answers", "epsilon sold", "epsilon given", "promised", "paid", "its ledger")
    rows = PlainTable(in_title(content["title"] or "Settlement", content), "owner", *columns)
    for one in content["owners"]:
        told = one["ledger"]["status"] if one["ledger"] else "not stated"
        numbers = (number(one[key]) for key in ("epsilon", "epsilon_given", "payment", "paid"))
        rows.add_row(one["name"], f"{len(one['delivered'])} of {agreed}", *numbers, told)
    out.print(rows)
    out.print()
    out.say(
        words.answer(content),
        *words.delivered(content),
        words.covered(content),
        *words.hangs_together(content),
        *words.suspicions(content),
        *words.ledgers(content),
        *words.own_rows(content),
        words.noise_left(content),
        f"\nreport: {page}",
    )
