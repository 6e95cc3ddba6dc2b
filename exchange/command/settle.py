"""`dpmarket settle`: the settlement of an exchange, or the statement of an owner's ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exchange.command.options import (
    AsideRows,
    ContractFile,
    FolderArg,
    PublicRows,
    SettlementOut,
    StatedLedger,
    StatedOwner,
    StatementFiles,
    Unfinished,
)
from exchange.terminal import Terminal
from learning.errors import InputError
from learning.phrases import format_number
from scenarios.command.progress import stages

if TYPE_CHECKING:
    from exchange.contract import Contract
    from exchange.statement import Statement

REFUTED = 3


def settle(
    contract: ContractFile,
    folder: FolderArg = None,
    public: PublicRows = None,
    aside: AsideRows = None,
    statement: StatementFiles = None,
    unfinished: Unfinished = False,
    owner: StatedOwner = None,
    ledger: StatedLedger = None,
    out: SettlementOut = None,
) -> int:
    """Settle an exchange: who delivered and is paid, whether its files fit, whether the model is
    what was forecast.
    """
    from exchange.contract import read_contract

    agreed = read_contract(contract)
    if owner is not None or ledger is not None:
        others = [folder, public, aside, statement or None, unfinished or None]
        _state_ledger(agreed, owner, ledger, out, others)
        return 0
    here = folder or contract.parent
    check_folder(out or here, "--out" if out else "FOLDER")
    with stages() as progress:
        progress("settling")
        content = settle_folder(agreed, here, statement or (), unfinished=unfinished)
        if public is not None or aside is not None:
            content["own_rows"] = judge_model(agreed, here, public, aside)
        progress("writing the report")
        page = write_settlement(content, out or here)
    print_settlement(content, page)
    return 0 if content["holds"] else REFUTED


def _state_ledger(
    contract: Contract,
    owner: str | None,
    ledger: Path | None,
    out: Path | None,
    others: Sequence[object],
) -> None:
    """Write an owner's statement; refuse half of its options, and all others."""
    if owner is None or ledger is None:
        given, lacking = ("--owner", "--ledger") if ledger is None else ("--ledger", "--owner")
        remedy = "Both together write an owner's statement."
        raise InputError(given, f"must come with {lacking}", f"{given} alone", remedy)
    if any(one is not None for one in others):
        rule = "writes an owner's statement, and takes but CONTRACT, --ledger and --out"
        raise InputError("--owner", rule)
    from exchange.owner.program import write_statement

    write_statement(contract, owner, ledger, out)


def settle_folder(
    contract: Contract, folder: Path, statements: Sequence[Path], *, unfinished: bool
) -> dict[str, Any]:
    """Settle the exchange in a folder."""
    from exchange.learner.settling import read_exchange, settle_exchange

    exchange = read_exchange(folder, contract)
    stated = _read_statements(contract, statements)
    return settle_exchange(exchange, stated, unfinished=unfinished)


def judge_model(
    contract: Contract, folder: Path, public: Path | None, aside: Path | None
) -> dict[str, Any] | None:
    """Judge the model in a folder by the learner's own rows; None where there is no model."""
    from exchange.learner.seen import judge_on_own_rows
    from exchange.learner.settling import own_rows_part, read_exchange
    from exchange.owner.table import read_public_records

    model = read_exchange(folder, contract).model
    if model is None:
        return None
    if public is not None and aside is not None:
        remedy = "Rows kept aside tell more: name them alone."
        raise InputError("--aside", "takes the place of --public", "both", remedy)
    path = aside or public
    assert path is not None
    rows = read_public_records(path, contract)
    theta = model.model.theta
    kept_aside = aside is not None
    return own_rows_part(judge_on_own_rows(contract, theta, rows.x, rows.y, kept_aside=kept_aside))


def _read_statements(contract: Contract, paths: Sequence[Path]) -> list[Statement]:
    """Read owners' statements, one of each owner of the contract at most."""
    from exchange.statement import read_statement

    found: dict[str, Statement] = {}
    for path in paths:
        statement = read_statement(path)
        owner = contract.owner(statement.owner).name
        if owner in found:
            raise InputError("--statement", "must be one for an owner", f"two of {owner}")
        found[owner] = statement
    return list(found.values())


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
    from scenarios.report.figure_settlement import settlement_page

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
    from scenarios.command.terminal import PlainTable, in_title
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
