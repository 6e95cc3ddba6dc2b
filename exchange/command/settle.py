"""`dpmarket settle`: the settlement of an exchange, or the statement of an owner's ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learning.errors import InputError
from learning.phrases import format_number
from learning.program import declare_command
from learning.terminal import PlainTable, Terminal, show_stages

if TYPE_CHECKING:
    from exchange.contract import Contract
    from exchange.statement import Statement

REFUTED = 3


@dataclass(frozen=True, kw_only=True)
class OwnRows:
    """The learner's own rows, to judge the model by.

    Parameters
    ----------
    public FILE : The learner's own rows that the plan was made with, to judge by.
    aside FILE : Rows of the learner that had no part in the plan, in their place.
    """

    public: Path | None = None
    aside: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Stated:
    """Owner whose statement is written, and its ledger.

    Parameters
    ----------
    owner NAME : Write this owner's statement, out of its --ledger, and no more.
    ledger FILE : The owner's ledger.
    """

    owner: str | None = None
    ledger: Path | None = None


@declare_command
def settle(
    contract: Path,
    folder: Path | None = None,
    *,
    rows: OwnRows,
    statement: list[Path] | None = None,
    unfinished: bool = False,
    stated: Stated,
    out: Path | None = None,
) -> int:
    """Settle an exchange: who delivered and is paid, whether its files fit, whether the model is
    what was forecast.

    Parameters
    ----------
    contract CONTRACT : The contract of the exchange.
    folder FOLDER : The exchange's folder [default: the contract's].
    statement FILE : What an owner's ledger says; may be repeated.
    unfinished : Settle what was delivered although there is no model yet.
    out PATH : Folder of settlement.json and settlement.html [default: FOLDER]; of a statement its
        file.
    """
    from exchange.contract import read_contract

    agreed = read_contract(contract)
    if stated != Stated():
        alone = folder is None and rows == OwnRows() and not statement and not unfinished
        _state_ledger(agreed, stated, out, alone=alone)
        return 0
    here = folder or contract.parent
    check_folder(out or here, "--out" if out else "FOLDER")
    with show_stages() as progress:
        progress("settling")
        content = settle_folder(agreed, here, statement or (), unfinished=unfinished)
        if rows != OwnRows():
            content["own_rows"] = judge_model(agreed, here, rows)
        progress("writing the report")
        page = write_settlement(content, out or here)
    print_settlement(content, page)
    return 0 if content["holds"] else REFUTED


def _state_ledger(contract: Contract, stated: Stated, out: Path | None, *, alone: bool) -> None:
    """Write an owner's statement; refuse half of its options, and all others."""
    names = ["--owner", "--ledger"]
    if stated.owner is None:
        names.reverse()
    if stated.owner is None or stated.ledger is None:
        remedy = "Both together write an owner's statement."
        raise InputError(names[0], f"must come with {names[1]}", f"{names[0]} alone", remedy)
    if not alone:
        rule = "writes an owner's statement, and takes but CONTRACT, --ledger and --out"
        raise InputError("--owner", rule)
    from exchange.owner.program import write_statement

    write_statement(contract, stated.owner, stated.ledger, out)


def settle_folder(
    contract: Contract, folder: Path, statements: Sequence[Path], *, unfinished: bool
) -> dict[str, Any]:
    """Settle the exchange in a folder, with one statement of each owner at most."""
    from exchange.learner.settling import read_exchange, settle_exchange
    from exchange.statement import read_statement

    exchange = read_exchange(folder, contract)
    found: dict[str, Statement] = {}
    for path in statements:
        statement = read_statement(path)
        owner = contract.owner(statement.owner).name
        if owner in found:
            raise InputError("--statement", "must be one for an owner", f"two of {owner}")
        found[owner] = statement
    return settle_exchange(exchange, list(found.values()), unfinished=unfinished)


def judge_model(contract: Contract, folder: Path, given: OwnRows) -> dict[str, Any] | None:
    """Judge the model in a folder by the learner's own rows; None where there is no model."""
    from exchange.learner.seen import judge_on_own_rows
    from exchange.learner.settling import own_rows_part, read_exchange
    from exchange.owner.table import read_public_records

    model = read_exchange(folder, contract).model
    if model is None:
        return None
    if given.public is not None and given.aside is not None:
        remedy = "Rows kept aside tell more: name them alone."
        raise InputError("--aside", "takes the place of --public", "both", remedy)
    path = given.aside or given.public
    assert path is not None
    rows = read_public_records(path, contract)
    kept_aside = given.aside is not None
    theta = model.model.theta
    return own_rows_part(judge_on_own_rows(contract, theta, rows.x, rows.y, kept_aside=kept_aside))


def write_settlement(content: Mapping[str, Any], folder: Path) -> Path:
    """Write settlement.json and settlement.html, both or neither; gives the page.

    Raises
    ------
    InputError
        If the disk refuses.
    """
    from exchange.folder import SETTLEMENT, SETTLEMENT_PAGE
    from learning.canonical import encode_canonical, write_atomically
    from scenarios.output.folders import write_together
    from scenarios.report.settlement_page import settlement_page

    page = settlement_page(content).encode()
    with write_together(folder) as new:
        write_atomically(new / SETTLEMENT, encode_canonical(content))
        write_atomically(new / SETTLEMENT_PAGE, page)
    return folder / SETTLEMENT_PAGE


def check_folder(folder: Path, key: str) -> None:
    """Refuse a place for a settlement that is no folder, or holds other files of its names."""
    from exchange.folder import SETTLEMENT, SETTLEMENT_PAGE
    from exchange.learner.settling import FORMAT
    from learning.canonical import parse_canonical, read_bytes

    if not folder.is_dir():
        raise InputError(key, "must be a folder that is there", folder)
    with suppress(InputError):
        earlier = parse_canonical(read_bytes(folder / SETTLEMENT), SETTLEMENT)
        if earlier.get("format") == FORMAT:
            return
    for name in (SETTLEMENT, SETTLEMENT_PAGE):
        if (folder / name).exists():
            rule = "must be a folder without other files of these names, "
            rule += "or with an earlier settlement"
            raise InputError(key, rule, folder / name, "Name another folder.")


def print_settlement(content: Mapping[str, Any], page: Path) -> None:
    """Print the owners as a table, and the findings."""
    from scenarios.command.console import in_title
    from scenarios.report.phrases import render_lines, render_phrase

    agreed = content["questions"]["agreed"]
    columns = ("answers", "epsilon sold", "epsilon given", "promised", "paid", "its ledger")
    rows = PlainTable(in_title(content["title"] or "Settlement", content), "owner", *columns)
    for one in content["owners"]:
        status = one["ledger"]["status"] if one["ledger"] else "not stated"
        numbers = [
            format_number(one[key]) for key in ("epsilon", "epsilon_given", "payment", "paid")
        ]
        answers = f"{len(one['delivered'])} of {agreed}"
        rows.add_row(one["name"], answers, *numbers, status)
    terminal = Terminal()
    terminal.print(rows)
    terminal.print()
    terminal.say(
        render_phrase("settlement", "answer", content),
        *render_lines("settlement", "delivered", content),
        render_phrase("settlement", "covered", content),
        *render_lines("settlement", "hangs_together", content),
        *render_lines("settlement", "suspicions", content),
        *render_lines("settlement", "ledgers", content),
        *render_lines("settlement", "own_rows", content),
        render_phrase("settlement", "noise_left", content),
        f"\nreport: {page}",
    )
