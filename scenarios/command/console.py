"""Output of the command on a result, a forecast or a reproduced table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exchange.terminal import Terminal
from learning.forecast.bootstrap import Prediction
from learning.forecast.planner import Planner
from learning.forecast.weighting import best_coalition
from learning.training.algorithms import ALGORITHMS
from scenarios.command.terminal import PlainTable, in_title
from scenarios.report.facts_outcome import best_short
from scenarios.report.facts_owners import epsilon_of, listed_first
from scenarios.report.phrases import render_phrase, terminal_lines
from scenarios.report.wording import format_interval, format_number, format_percent
from scenarios.tables.dataset import MarketData

WIDEST = 20  # owners printed; all owners are in owners.csv
MOST_NAMED = 5  # owners of a coalition that are named


def print_result(content: Mapping[str, Any], folder: Path) -> None:
    """Print the owners, what came out by topic, and the place of the report."""
    out = Terminal()
    out.print(_owners_table(content))
    hidden = len(content["owners"]) - WIDEST
    if hidden > 0:
        out.say(f"... and {hidden:,} more, with less money at stake, in owners.csv")
    out.print()
    out.say(*summary_lines(content))
    shared = [
        render_phrase("privacy", name, content) for name in ("shared_records", "shared_persons")
    ]
    filled = content["data"].get("filled_cells")
    out.say(titled("warning", *shared))
    out.say(titled("filled", render_phrase("privacy", "filled_cells", filled)))
    out.say(titled("persons", render_phrase("privacy", "persons_counted", content)))
    out.say(f"\nreport: {folder / 'report.html'}")


def _owners_table(content: Mapping[str, Any]) -> PlainTable:
    owners = content["owners"]
    moved = {"tax": "tax", "transfer": "ring", "spillover": "others' sales"}
    if content.get("unions"):
        moved["transfer"] = "union"
    moved = {key: head for key, head in moved.items() if any(row.get(key) for row in owners)}
    heads = {"payment": "paid", "privacy_cost": "privacy cost", **moved, "surplus": "surplus"}
    title = in_title(content["title"] or "Owners", content)
    table = PlainTable(title, "owner", "records", "epsilon", *heads.values())
    for row in listed_first(owners, WIDEST, WIDEST):
        numbers = [epsilon_of(row), *(row[key] for key in heads)]
        table.add_row(row["name"], f"{row['records']:,}", *map(format_number, numbers))
    return table


def summary_lines(content: Mapping[str, Any]) -> list[str]:
    """Render what came out, with a title for each topic."""
    return [titled(title, *lines) for title, lines in terminal_lines(content)]


def titled(title: str, *lines: str) -> str:
    """Put a title before the first of some lines and indent the others; skip empty lines."""
    there = [line for line in lines if line]
    titles = [title, *[""] * len(there)]
    return "\n".join(f"{head:12} {line}" for head, line in zip(titles, there, strict=False))


def print_forecast(
    data: MarketData,
    planner: Planner,
    budgets: np.ndarray,
    part: Mapping[str, Any],
    prediction: Prediction,
) -> None:
    """Print a forecast at given budgets.

    Parameters
    ----------
    data: the market's data.
    planner: the learner's planner.
    budgets: epsilon of each owner, (n_owners,).
    part: the forecast, in the form of results.
    prediction: the forecast with its intervals.
    """
    oracle = part["oracle"]
    pooled = {"exact": "the same law on the pooled records"}.get(
        part["kind"], "trained on the pooled records at other noise"
    )
    error = ""
    if oracle["std_error"]:
        error = f"+- {format_percent(oracle['std_error'])} (std. error)"
    own = {"public": "on its public rows"}.get(part["basis"], "from its start")
    zero = f"relative fitness (0 = the {best_short(planner.coordinates.loss)})"
    made = f"{render_phrase('learning', 'made_by', part['kind'])}, {part['basis']} basis"
    interval = render_phrase("model", "interval", part)
    alone = format_interval(*prediction.outside_interval(), show=format_percent)
    rows = PlainTable("", zero, "value", "interval")
    rows.add_row(
        f"model at these budgets ({made})", format_percent(part["relative_fitness"]), interval
    )
    rows.add_row("  left to optimise", format_percent(part["bias"]))
    rows.add_row("  noise that survives", format_percent(part["noise"]))
    rows.add_row(f"{pooled} (oracle)", format_percent(oracle["relative_fitness"]), error)
    rows.add_row(f"learner alone, {own}", format_percent(planner.forecast.outside), alone)
    out = Terminal()
    out.print(rows)
    open_owners = [name for name, e in zip(data.names, budgets, strict=True) if e == np.inf]
    out.say(
        render_phrase("learning", "forecast_plan", part, planner),
        render_phrase("model", "published_bound", part),
        render_phrase("model", "may_bind", part),
        render_phrase("privacy", "unlike_owners", part),
        describe_coalition(data, planner, budgets),
        *(f"{name} adds no noise: nothing is promised about its records" for name in open_owners),
    )


def describe_coalition(data: MarketData, planner: Planner, budgets: np.ndarray) -> str:
    """Name owners who add more noise than data, where answers count by records; else empty."""
    algorithm = ALGORITHMS[planner.forecast.plan(budgets).algorithm]
    by_size = planner.forecast.weighting.kind == "size" and algorithm.takes_steps
    if not by_size or planner.inputs.trust.secure:
        return ""
    term = np.where(budgets > 0, planner.mechanism.noise_term(budgets), np.inf)
    kept = best_coalition(data.sizes, term)
    left_out = (budgets > 0) & ~np.asarray(kept, dtype=bool)
    out = [name for name, away in zip(data.names, left_out, strict=True) if away]
    if not out:
        return ""
    with_all = _noise_variance(term, data.sizes, budgets > 0)
    if with_all == 0:
        return ""
    without = _noise_variance(term, data.sizes, kept)
    names = ", ".join(out[:MOST_NAMED])
    if without == 0:
        return f"{names} would add noise to answers that carry none"
    if len(out) > MOST_NAMED:
        names += " and others"
    times = f"{with_all / without:.3g} times lower"
    return f"{names} would add more noise than data: without, the noise is {times}"


def _noise_variance(term: np.ndarray, sizes: np.ndarray, owners: np.ndarray) -> float:
    return term[owners].sum() / sizes[owners].sum() ** 2
