"""`dpmarket settle`: the settlement of an exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exchange.command.options import KeyOption
from learning.display import PlainTable, show_stages
from learning.errors import InputError
from learning.money import format_cents
from learning.phrases import format_number
from learning.program import declare_command
from learning.terminal import Terminal

if TYPE_CHECKING:
    from exchange.contract import Contract
    from exchange.statement import Statement
    from scenarios.model_file import HandedOver

REFUTED = 3
SETTLEMENT = "settlement.json"
SETTLEMENT_PAGE = "settlement.html"


@declare_command
def settle(
    contract: Path,
    folder: Path | None = None,
    *,
    public: Path | None = None,
    aside: Path | None = None,
    statement: list[Path] | None = None,
    unfinished: bool = False,
    key: KeyOption = None,
    out: Path | None = None,
) -> int:
    """Settle an exchange: compute payments, check its files, and compare the model with the
    forecast.

    Parameters
    ----------
    contract CONTRACT : The contract of the exchange.
    folder FOLDER : The exchange's folder [default: the contract's].
    public FILE : The learner's own rows, used for the plan; they test the model.
    aside FILE : Other rows of the learner, not used for the plan, instead of --public.
    statement FILE : An owner's statement of its ledger; may be repeated.
    unfinished : Settle the delivered answers although there is no model yet.
    out PATH : Folder of settlement.json and settlement.html [default: FOLDER].
    """
    from exchange.contract import open_key, read_contract
    from exchange.learner.exchange_files import read_exchange
    from exchange.learner.settling import settle_exchange, sign_settlement

    agreed = read_contract(contract)
    own_key = None if key is None else open_key(key, agreed, None)
    here = folder or contract.parent
    place = out or here
    check_folder(place, "--out" if out else "FOLDER")
    with show_stages() as progress:
        progress("settling")
        exchange = read_exchange(here, agreed, own_key)
        stated = read_statements(agreed, statement or [])
        content = settle_exchange(exchange, stated, unfinished=unfinished)
        bought = not (content["model"] and content["model"]["own"])
        if bought and (public or aside):
            content["own_rows"] = judge_model(agreed, exchange.model, public, aside)
        content = sign_settlement(content, own_key)
        progress("writing the report")
        page = write_settlement(content, place)
    print_settlement(content, page)
    return REFUTED * (not content["holds"])


def read_statements(contract: Contract, paths: Sequence[Path]) -> list[Statement]:
    """Read owners' statements, one of each owner of the contract at most."""
    from exchange.statement import read_statement

    found: dict[str, Statement] = {}
    for path in paths:
        statement = read_statement(path, contract)
        owner = contract.owner(statement.owner).name
        if owner in found:
            raise InputError("--statement", "must be one per owner", f"two of {owner}")
        found[owner] = statement
    return list(found.values())


def judge_model(
    contract: Contract, model: HandedOver | None, public: Path | None, aside: Path | None
) -> dict[str, Any] | None:
    """Judge a model by the learner's own rows; None where there is no model."""
    from exchange.learner.seen import judge_on_own_rows, read_public_records
    from exchange.learner.settling import own_rows_part

    if model is None:
        return None
    if public and aside:
        remedy = "Use --aside alone: rows kept back are the better test."
        raise InputError("--aside", "must not be given together with --public", "both", remedy)
    path = aside or public
    assert path is not None
    rows = read_public_records(path, contract, "--aside" if aside else "--public")
    theta = model.model.theta
    judged = judge_on_own_rows(contract, theta, rows.x, rows.y, kept_aside=bool(aside))
    return own_rows_part(judged)


def write_settlement(content: Mapping[str, Any], folder: Path) -> Path:
    """Write settlement.json and settlement.html, both or neither; gives the page.

    Raises
    ------
    InputError
        If the disk refuses.
    """
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
    from exchange.learner.settling import FORMAT
    from learning.canonical import parse_canonical, read_bytes

    if not folder.is_dir():
        raise InputError(key, "must be a folder that exists", folder)
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
    from scenarios.command.console import in_title, say_phrases

    columns = ("answers", "epsilon sold", "epsilon given", "promised", "paid", "its ledger")
    rows = PlainTable(in_title(content["title"] or "Settlement", content), "owner", *columns)
    for one in content["owners"]:
        ledger = one["ledger"] or {"status": "not stated"}
        numbers = [format_number(one[key]) for key in ("epsilon", "epsilon_given")]
        numbers += [format_cents(one[key]) for key in ("payment", "paid")]
        answers = f"{len(one['delivered'])} of {content['questions']['agreed']}"
        rows.add_row(one["name"], answers, *numbers, ledger["status"])
    terminal = Terminal()
    terminal.print(rows)
    terminal.print()
    names = "signed aggregated answer delivered times covered hangs_together suspicions ledgers"
    names += " own_rows noise_left"
    say_phrases(terminal, "settlement", names, content)
    terminal.say(f"\nreport: {page}")
