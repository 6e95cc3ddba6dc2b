"""The charts of the page, each a drawing in SVG of one round of a market; the same round gives the same text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scenarios.dashboard.drawing import (
    COLOURS,
    DASHES,
    Axis,
    apart,
    bar,
    beside,
    bottom,
    dot,
    line,
    shorten,
    stroke,
    svg,
    text,
)
from scenarios.dashboard.rounds import Curve, Played, Round
from scenarios.report.facts_owners import by_name, by_stake, epsilon_of
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import HARD_SPACE, format_number, format_percent, in_money, join_words

WIDE = 480
NAMED = 12  # owners that a chart names
BUDGET = "privacy budget ε"


def drawn(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of the owners that charts name: all of them, or those with most money at stake."""
    rows = [{**row, "place": i} for i, row in enumerate(rows)]
    kept = rows if len(rows) <= NAMED else by_stake(rows, NAMED)
    return [row["place"] for row in by_name(kept)]


def paths(played: Played, now: Round, bounds: np.ndarray) -> str:
    """Everyone's budget by round: what was played so far in colour, what is to come in grey."""
    at = played.rounds.index(now)
    last = played.last
    shown = drawn(now.owners)
    names = [row["name"] for row in now.owners]
    budgets = played.path
    top = 14.0
    low = 236.0
    left = 44.0
    right = 318.0
    y = Axis.over(np.append(budgets[:, shown], bounds[shown]), low, top)
    x = Axis(0, max(last, 1), left, right)
    parts = [
        beside(y, left, right),
        text(right + 12, low + 16, "round", kind="tick"),
        bottom(x, low, low, show=_whole),
    ]
    for place, i in enumerate(shown):
        column = y.places(budgets[:, i])
        look = _look(place)
        if at < last:
            parts.append(line(x.places(range(at, last + 1)), column[at:], "var(--line)", 2))
        parts.append(line(x.places(range(at + 1)), column[: at + 1], *look))
        parts.append(dot(x.place(at), column[at], 4, look[0]))
    ends = [y.place(float(min(budgets[at, i], y.high))) for i in shown]
    for place, (i, here, label) in enumerate(
        zip(shown, ends, apart(ends, min(19, (low - top) / len(shown)), top, low), strict=True)
    ):
        colour = _look(place)[0]
        there = x.place(at)
        parts.append(
            stroke(max(there + 6, right - 2), here, right + 8, label, colour) if at == last else ""
        )
        parts.append(
            text(right + 11, label + 4, _labelled(names[i], budgets[at, i]), colour=colour)
        )
    if at < last:
        parts.append(stroke(x.place(at), top, x.place(at), low, "var(--muted)"))
    said = [f"{names[i]} {format_number(budgets[at, i])}" for i in shown]
    told = f"Privacy budgets after round {now.number}: {join_words(said, NAMED)}."
    return svg(WIDE, 258, told, *parts, name="paths")


def _whole(value: float) -> str:
    return format_number(value) if value == int(value) else ""


def _look(place: int) -> tuple[str, float, str]:
    """How the line of an owner looks: its colour, its width, and its dashes."""
    dash = DASHES[place // len(COLOURS) % len(DASHES)]
    return COLOURS[place % len(COLOURS)], 2.4, f'stroke-dasharray="{dash}"' if dash else ""


def _labelled(name: str, epsilon: float) -> str:
    return f"{shorten(name, 14)} {format_number(epsilon)}"


def curve(one: Curve, currency: str, place: int) -> str:
    """What an owner would have at each budget, with where it stands and its best response."""
    money = in_money({"currency": currency})
    left = 56.0
    right = 230.0
    top = 12.0
    low = 118.0
    x = Axis.over(one.epsilon[one.epsilon > 0], left, right)
    y = Axis.over(_shown(one.surplus), low, top, plain=True)
    kept = (one.epsilon >= x.low) & (one.surplus >= y.low)  # a steep fall leaves the picture
    parts = [bottom(x, low, top, most=3), beside(y, left, right, most=4)]
    if one.worth < x.high:
        at = x.place(one.worth)
        parts.insert(
            0, bar(at, top, right - at, low - top, "var(--soft)", "beyond what is worth buying")
        )
        parts.append(stroke(at, low, at, top, "var(--muted)"))
        parts.append(text(at - 3, top + 9, "worth", at="end", kind="tick"))
    if y.low < 0 < y.high:
        parts.append(stroke(left, y.place(0), right, y.place(0), "var(--muted)"))
    parts.append(
        line(x.places(one.epsilon[kept]), y.places(one.surplus[kept]), _look(place)[0], 2.2)
    )
    parts.append(dot(x.place(one.best[0]), y.place(one.best[1]), 7, "none", "var(--ink)"))
    parts.append(dot(x.place(one.chosen[0]), y.place(one.chosen[1]), 4, _look(place)[0]))
    told = (
        f"{one.name}: stands at ε = {format_number(one.chosen[0])} with {money(one.chosen[1])}; "
        f"best would be ε = {format_number(one.best[0])} with {money(one.best[1])}."
    )
    if one.worth < x.high:
        told += f" Worth buying is an ε of {format_number(one.worth)}."
    return svg(240, 140, told, *parts, name="curve")


def _shown(surplus: np.ndarray) -> np.ndarray:
    """Heights without steep falls, so that a peak is not flattened out of sight."""
    finite = surplus[np.isfinite(surplus)]
    usual = np.quantile(finite, 0.25)
    most = finite.max()
    return np.maximum(finite, usual - 1.5 * (most - usual)) if most > usual else finite


def bars(now: Round) -> str:
    """What each owner is paid and gains, and what its privacy costs it; the mark is what is left."""
    rows = [now.owners[i] for i in drawn(now.owners)]
    money = in_money(now.facts)
    left = 124.0
    right = 370.0
    gains = [max(row["payment"], 0.0) + row["benefit"] for row in rows]
    lost = [row["privacy_cost"] + row["tax"] for row in rows]
    x = Axis.over(
        [*gains, *(-one for one in lost), *(row["surplus"] for row in rows)], left, right, zero=True
    )
    height = 30 * len(rows) + 10
    zero = x.place(0)
    parts = [bottom(x, height, 4, most=4)]
    for k, (row, loss) in enumerate(zip(rows, lost, strict=True)):
        y = 30 * k + 8
        paid = x.place(row["payment"])
        parts.append(text(left - 8, y + 15, shorten(row["name"]), at="end"))
        parts.append(bar(zero, y, paid - zero, 20, "var(--c0)", f"paid {money(row['payment'])}"))
        if row["benefit"]:
            wide = x.place(row["payment"] + row["benefit"]) - paid
            parts.append(bar(paid, y, wide, 20, "var(--c2)", f"benefit {money(row['benefit'])}"))
        parts.append(
            bar(zero, y, x.place(-loss) - zero, 20, "var(--c1)", f"privacy cost {money(loss)}")
        )
        mark = x.place(row["surplus"])
        parts.append(f'<path d="M{mark:g} {y - 3:g}v26" stroke="var(--ink)" stroke-width="3"/>')
        parts.append(text(right + 8, y + 15, money(row["surplus"])))
    parts.append(stroke(zero, 2, zero, height, "var(--muted)", 1.5))
    told = [
        f"{row['name']} is paid {money(row['payment'])}, keeps {money(row['surplus'])}"
        for row in rows
    ]
    return svg(WIDE, height + 24, f"{join_words(told, NAMED)}.", *parts, name="bars")


Row = tuple[
    str, float, tuple[float, float] | None, str
]  # what, where, from where to where, in which colour


def _rows(
    rows: Sequence[Row],
    show: Callable[[float | None], str],
    name: str,
    told: str,
    *,
    zero: bool = False,
) -> str:
    """A few numbers under one another, each with its interval."""
    left = 124.0
    right = 370.0
    ends = [end for _, at, among, _ in rows for end in (at, *(among or ()))]
    x = Axis.over(ends, left, right, zero=True)
    height = 34 * len(rows) + 8
    parts = [bottom(x, height, 4, most=4, show=lambda tick: show(tick))]
    if zero:
        parts.append(stroke(x.place(0), 2, x.place(0), height, "var(--muted)", 1.5))
    for k, (what, at, among, colour) in enumerate(rows):
        y = 34 * k + 20
        parts.append(text(left - 8, y + 4, what, at="end"))
        if among:
            parts.append(stroke(x.place(among[0]), y, x.place(among[1]), y, colour, 5))
        parts.append(dot(x.place(at), y, 6, "var(--paper)", colour))
        parts.append(text(right + 8, y + 4, show(at)))
    return svg(WIDE, height + 24, told, *parts, name=name)


def errors(facts: Mapping[str, Any], checked: Mapping[str, Any] | None = None) -> str:
    """The error above the best possible: of the learner alone, as forecast, and as trained; each with its interval."""
    made = facts["forecast"]
    alone = facts["outside_option"]
    rows: list[Row] = [
        ("learner alone", alone["relative_fitness"], tuple(alone["interval"]), "var(--muted)"),
        ("forecast", made["relative_fitness"], tuple(made["interval"]), "var(--c0)"),
    ]
    told = (
        f"Error above the best possible: alone {format_percent(rows[0][1])}, forecast "
        f"{format_percent(rows[1][1])}"
    )
    if checked is not None:
        runs = checked["relative_fitness"]
        rows.append(("trained", runs["mean"], (runs["q05"], runs["q95"]), "var(--c1)"))
        told += f", trained {format_percent(runs['mean'])}"
    return _rows(rows, format_percent, "errors", f"{told}.")


def gains(facts: Mapping[str, Any], checked: Mapping[str, Any] | None = None) -> str:
    """What the learner is left with after paying: as forecast, and as measured; each with its interval."""
    learner = facts["learner"]
    money = in_money(facts)
    rows: list[Row] = [
        ("forecast", learner["surplus"], tuple(learner["gain"]["interval"]), "var(--c0)")
    ]
    told = f"The learner's gain after paying: forecast {money(learner['surplus'])}"
    if checked is not None:
        left = checked["money"]["learner_surplus"]
        rows.append(("trained", left["mean"], (left["q05"], left["q95"]), "var(--c1)"))
        told += f", measured {money(left['mean'])}"
    return _rows(rows, money, "gains", f"{told}.", zero=True)


def sure(facts: Mapping[str, Any]) -> str:
    """The chance that buying pays, as a filled bar."""
    part = facts["learner"]["gain"]["chance_pays"]
    said = render_phrase("gain", "chance", facts) or format_percent(part, 2)
    parts = [bar(0, 2, 200, 12, "var(--soft)"), bar(0, 2, round(200 * part, 1), 12, "var(--c0)")]
    parts.append(stroke(100, 0, 100, 16, "var(--muted)"))
    return svg(
        200, 16, f"Chance that buying pays: {said.replace(HARD_SPACE, ' ')}", *parts, name="chance"
    )


def network(now: Round, bounds: np.ndarray) -> str:
    """Who deals with whom: owners around the learner, the darker the more they sell, the wider the line the more is paid."""
    rows = now.owners
    centre = (240.0, 0.0)
    reach = (150.0, 104.0)
    angles = [2 * math.pi * k / len(rows) - math.pi / 2 for k in range(len(rows))]
    places = [
        (centre[0] + reach[0] * math.cos(one), centre[1] + reach[1] * math.sin(one))
        for one in angles
    ]
    scale = Axis.over(np.append(bounds, [epsilon_of(row) for row in rows]), 8, 100)
    most_paid = max((abs(row["payment"]) for row in rows), default=0.0) or 1.0
    most_held = max(row["records"] for row in rows)
    edges = []
    nodes = []
    for row, (x, y) in zip(rows, places, strict=True):
        sold = epsilon_of(row)
        size = (5 + 12 * math.sqrt(row["records"] / most_held)) * (1 if len(rows) <= 30 else 0.4)
        width = 1 + 7 * abs(row["payment"]) / most_paid
        edges.append(
            stroke(round(x, 1), round(y, 1), *centre, colour="var(--line)", width=round(width, 1))
        )
        fill = (
            f"color-mix(in srgb, var(--c0) {scale.place(sold):g}%, var(--paper))"
            if sold > 0
            else "var(--paper)"
        )
        nodes.append(dot(round(x, 1), round(y, 1), round(size, 1), fill, "var(--ink)"))
        if len(rows) <= NAMED:
            below = y + (size + 16 if y > -1 else -size - 8)
            nodes.append(
                text(round(x, 1), round(below, 1), _labelled(row["name"], sold), at="middle")
            )
    told = f"{len(rows)} owners around the learner, the darker the larger the budget sold."
    middle = [
        dot(*centre, 30, "var(--soft)", "var(--ink)"),
        text(centre[0], centre[1] + 4, "learner", at="middle"),
    ]
    top = min(y for _, y in places) - 40
    low = max(max(y for _, y in places), 0) + 44
    return svg(
        WIDE,
        low - top,
        told,
        f'<g transform="translate(0 {-top:g})">',
        *edges,
        *nodes,
        *middle,
        "</g>",
        name="network",
    )
