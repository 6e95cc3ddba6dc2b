"""Memo of two pages on a run, a design or a comparison, from its saved content alone."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from learning.money import format_cents, has_cents
from learning.rounding import round_payments
from scenarios.output.unfinished import put_file
from scenarios.report import page
from scenarios.report.document import Document, Section, Table
from scenarios.report.document_formats import render_document
from scenarios.report.facts_errors import error_format, error_rows
from scenarios.report.facts_outcome import (
    alternative_gain,
    alternative_name,
    knows_value,
    learner_gain,
    measured_money,
)
from scenarios.report.facts_owners import Content, epsilon_of, listed_first
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.report.wording import (
    format_number,
    format_percent,
    money_heading,
)
from scenarios.result import CONTENT, MEMO, load_result

# Files of facts of a design and a comparison, each with a key that it must have.
STUDIES = {"design.json": "chosen", "comparison.json": "alternatives"}
MOST = 12  # rows of a table
LINES = 12  # items of a list
# Parts of an owner's surplus beside payment and privacy cost, and their signs.
OTHERS = {"benefit": 1, "tax": -1, "transfer": 1, "spillover": -1}

MODEL = ("row_name", "row_meaning")  # phrases of a model that errors are shown of
# Phrases of other topics that a part of a memo ends with.
MORE = {
    ("compare", "gains"): (("comparison", "against_first"),),
    ("compare", "risks"): (("comparison", "missed"), ("comparison", "cautions")),
    ("run", "risks"): (("privacy", "warnings"),),
    ("run", "assumptions"): (("inputs", "assumed"),),
}


def make_memo(content: Content, date: dt.date) -> Document:
    """Make the memo of a result, a design or a comparison.

    Parameters
    ----------
    content: everything of result.json, design.json or comparison.json.
    date: the date that it bears.
    """
    subject = subject_of(content)
    say = partial(_say, content, subject)
    result = _result_of(content)
    tables: dict[str, Table | None] = {"money": None, "model": None, "asked": None}
    if subject == "compare":
        tables |= {"money": _alternatives_table(content), "model": _models_table(content)}
    else:
        tables |= {"money": _money_table(result), "asked": _owners_table(result)}
        if result.get("errors"):
            tables["model"] = _errors_table(result)
    sections = [
        Section("Question", say("question"), say("offers")),
        Section("Model", _model_lines(content, subject), table=tables["model"]),
        Section("Money", say("gains"), table=tables["money"]),
        Section("Risk", items=say("risks")),
        Section("Assumptions", items=say("assumptions")),
        Section("Who is asked what", items=say("requests"), table=tables["asked"]),
    ]
    simulated = any(claim["simulation"] for claim in result.get("claims", ()))
    return Document(
        title=content["title"] or "A data market",
        byline=render_phrase("memo", "byline", content, date.isoformat(), subject, result),
        date=date,
        notices=(render_phrase("memo", "simulated"),) * simulated,
        lead=say("recommendation"),
        sections=tuple(sections),
    )


def write_pages(folder: Path, result: dict[str, Any] | None = None) -> list[Path]:
    """Write the report and the memo of a result folder, and the figures that are missing.

    Parameters
    ----------
    folder: a result folder with result.json and its tables.
    result: the content of result.json where it is at hand.
    """
    result = result or load_result(folder)
    report = page.write_report(folder, result=result)
    return [report, write_memo(folder, CONTENT, result)]


def write_memo(folder: Path, name: str, content: Content) -> Path:
    """Write memo.html into a folder, dated as its file of facts is."""
    made = make_memo(content, date_of(folder / name))
    return put_file(folder / MEMO, render_document(made, "html"))


def load_content(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the file of facts of a run, a design or a comparison, and its content.

    Raises
    ------
    InputError
        If the folder is none of these.
    """
    for name, key in STUDIES.items():
        path = Path(folder) / name
        with suppress(OSError, ValueError, RecursionError):
            found = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(found, dict) and found.get(key):
                return path, found
    return Path(folder) / CONTENT, load_result(Path(folder))


def subject_of(content: Content) -> str:
    """Name the command that a content is of: run, design or compare.

    >>> subject_of({"alternatives": []}), subject_of({"chosen": {}}), subject_of({"owners": []})
    ('compare', 'design', 'run')
    """
    if "alternatives" in content:
        return "compare"
    return "design" if "chosen" in content else "run"


def date_of(path: Path) -> dt.date:
    """Return the day (UTC) on which a file of a result was written.

    A day in SOURCE_DATE_EPOCH takes its place, as in other programs whose files are to be the same
    whenever they are made.
    """
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = float(stated) if stated.isdecimal() else path.stat().st_mtime
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date()


def _result_of(content: Content) -> Content:
    """The result in a run or a design; a comparison itself."""
    found: Content = content.get("chosen") or content
    return found


def _say(content: Content, subject: str, name: str) -> tuple[str, ...]:
    lines = render_lines("memo", name, content, subject, _result_of(content))
    for topic, phrase in MORE.get((subject, name), ()):
        lines += render_lines(topic, phrase, content)
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"{len(lines) - LINES:,} more remarks are in report.html."]
    return tuple(lines)


def _model_lines(content: Content, subject: str) -> tuple[str, ...]:
    if subject == "compare":
        return tuple(render_lines("errors", "beside_all", content))
    result = _result_of(content)
    if not result.get("errors"):
        return ()
    privilege = render_phrase("errors", "privilege", result, True)
    above = (render_phrase("errors", part, result) for part in ("headline", "cut_targets"))
    return tuple(filter(None, (*above, privilege)))


def _errors_table(result: Content) -> Table:
    """Errors in plain units: of the market's model, and of those that one would compare it with."""
    show = error_format(result["errors"], result)
    rows = []
    for row in error_rows(result):
        measured = "–" if row["measured"] is None else show(row["measured"])
        name = ": ".join(render_phrase("errors", part, row, result) for part in MODEL)
        rows.append((name, measured, render_phrase("errors", "forecast", row, result)))
    return Table(("Model", "Error, measured", "Error, forecast (95 % interval)"), tuple(rows))


def _money_table(result: Content) -> Table:
    """The learner's money, as forecast and as measured: what buying is worth, costs and leaves."""
    learner = result["learner"]
    paid = learner["payments"]
    if not knows_value(result):
        head = money_heading(result, "The learner's money")
        return Table((head, "Forecast"), (("Payments to owners", format_cents(-paid)),))
    measured = measured_money(result)
    columns = [("Forecast", learner["surplus"])]
    if measured:
        columns.append(("Measured", learner_gain(result)))
    rows = [["The better model is worth"], ["Payments to owners"], ["The learner's gain"]]
    for _, gain in columns:
        for row, amount in zip(rows, _add_up(gain, paid), strict=True):
            row.append(format_cents(amount))
    heads = (money_heading(result, "The learner's money"), *(head for head, _ in columns))
    return Table(heads, tuple(map(tuple, rows)), totals=1)


def _add_up(gain: float, paid: float) -> tuple[float, float, float]:
    """Worth, payments and gain to the cent, the first less the second being the third."""
    if not (has_cents(gain) and has_cents(paid)):
        return gain + paid, -paid, gain
    paid = round(paid, 2)
    worth = round(gain + paid, 2)
    return worth, -paid, round(worth - paid, 2)


def _owners_table(result: Content) -> Table | None:
    """Owners who sell: budget, payment, privacy cost and what is left, to the cent, with sums."""
    owners = [row for row in result["owners"] if epsilon_of(row) > 0]
    if not owners:
        return None
    money = money_columns(owners)
    rows = []
    shown = listed_first(owners, MOST, MOST)
    places = {row["name"]: place for place, row in enumerate(owners)}
    for row in shown:
        amounts = [column[places[row["name"]]] for column in money.values()]
        rows.append(
            (
                row["name"],
                f"{row['records']:,}",
                format_number(epsilon_of(row)),
                *map(format_cents, amounts),
            )
        )
    rest = set(places.values()) - {places[row["name"]] for row in shown}
    sums = {"All": sorted(places.values())}
    if rest:
        sums = {f"{len(rest):,} other owners": sorted(rest)} | sums
    for name, among in sums.items():
        records = sum(owners[place]["records"] for place in among)
        totals = [_sum_cents([column[place] for place in among]) for column in money.values()]
        rows.append((name, f"{records:,}", "", *map(format_cents, totals)))
    heads = ("Owner", "Records", "Budget ε", *(money_heading(result, head) for head in money))
    return Table(heads, tuple(rows), totals=len(sums))


def money_columns(owners: Sequence[Content]) -> dict[str, list[float]]:
    """Make columns of money by heading: cents that add up down each column, and along each row.

    >>> rows = [{"payment": 666.6666, "privacy_cost": 10.0}] * 3
    >>> money_columns(rows)["Paid"], money_columns(rows)["Surplus"]
    ([666.67, 666.67, 666.66], [656.67, 656.67, 656.66])
    """
    paid = round_payments([row["payment"] or 0.0 for row in owners])
    cost = round_payments([row["privacy_cost"] or 0.0 for row in owners])
    other = round_payments(
        [sum(sign * (row.get(key) or 0.0) for key, sign in OTHERS.items()) for row in owners]
    )
    left = [_sum_cents([p, -c, o]) for p, c, o in zip(paid, cost, other, strict=True)]
    columns = {"Paid": paid, "Privacy cost": cost}
    if any(other):
        columns["Benefit less taxes"] = other
    return columns | {"Surplus": left}


def _sum_cents(amounts: Sequence[float]) -> float:
    total = sum(amounts)
    return round(total, 2) if all(map(has_cents, amounts)) else total


def _models_table(content: Content) -> Table | None:
    """Errors of the models of a comparison, as forecast and as measured."""
    rows = []
    for row in content["alternatives"][:MOST]:
        if not row.get("errors"):
            return None
        show = error_format(row["errors"], content)
        ahead = row["errors"].get("forecast")
        found = (row["errors"].get("measured") or {}).get("trained")
        forecast = show(ahead["trained"]) if ahead else "–"
        rows.append((alternative_name(row), forecast, show(found["mean"]) if found else "–"))
    return Table(("Alternative", "Error, forecast", "Error, measured"), tuple(rows))


def _alternatives_table(content: Content) -> Table:
    """Alternatives side by side: the learner's gain, its chance, payments, owners, all together."""
    rows = content["alternatives"]
    told: list[tuple[Any, ...]] = []
    for row in rows[:MOST]:
        amounts = [alternative_gain(row), row["payments"], row["owners_surplus"], row["welfare"]]
        cells = [format_cents(amount) for amount in amounts]
        told.append((alternative_name(row), format_percent(row["chance_pays"], 2), *cells))
    heads = ("Learner's gain", "Paid in all", "Owners' surplus", "All together")
    named = [money_heading(content, head) for head in heads]
    return Table(("Alternative", "Chance that buying pays", *named), tuple(told))
