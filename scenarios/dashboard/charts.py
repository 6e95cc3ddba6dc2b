"""Charts of one round of a market, in SVG; the same round gives the same text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from scenarios.dashboard.rendering import render_part, sure_of
from scenarios.dashboard.rounds import Curve, Played, Round
from scenarios.report.facts_owners import by_name, by_stake, epsilon_of
from scenarios.report.figure_page import shorten
from scenarios.report.figure_scale import Scale, spread_labels
from scenarios.report.wording import format_number, format_percent, in_money, join_words

NAMED = 12  # owners that a chart names
COLOURS = tuple(f"var(--c{i})" for i in range(5))
DASHES = ("", "6 3", "2 3")  # of five owners each, so that fifteen lines can be told apart
TOP = 14  # of the paths
LOW = 236
LABEL = 19  # least distance of two labels
REACH = 8.0  # of the axis of noisy answers, on both sides of the truth

draw_chart = partial(render_part, of="charts.svg.j2")


@dataclass(frozen=True)
class Axis:
    """A scale on a stretch of the drawing, from ``start`` to ``end``."""

    scale: Scale
    start: float
    end: float

    def place(self, values: ArrayLike) -> Any:
        """Place numbers in the drawing, kept within the ends."""
        return self._on_page(self.scale.place(values))

    def points(self, other: Axis, values: ArrayLike, heights: ArrayLike) -> list[tuple[Any, Any]]:
        """Pair numbers along this axis with numbers up another one."""
        return list(zip(self.place(values).tolist(), other.place(heights).tolist(), strict=True))

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Choose round numbers, at most about so many, with their labels."""
        places, labels = self.scale.ticks(most)
        return list(zip(self._on_page(places).tolist(), labels, strict=True))

    def holds(self, value: float) -> bool:
        """Test whether a number lies between the ends."""
        return self.scale.low < value < self.scale.high

    def _on_page(self, places: ArrayLike) -> Any:
        low, high = self.scale.limits(0.0)
        part = np.clip((np.asarray(places) - low) / (high - low), 0, 1)
        return np.round(self.start + part * (self.end - self.start), 1)


def named_owners(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Places of the owners that charts name: all of them, or those with most money at stake."""
    placed: list[Mapping[str, Any]] = [{**row, "place": i} for i, row in enumerate(rows)]
    if len(placed) > NAMED:
        placed = by_stake(placed, NAMED)
    return [row["place"] for row in by_name(placed)]


def draw_paths(played: Played, now: Round) -> Markup:
    """Draw everyone's budget by round: so far in colour, what is to come in grey."""
    at = played.rounds.index(now)
    shown = named_owners(now.owners)
    budgets = played.path[:, shown]
    owners = played.run.game.owners
    bounds = np.array([owners.epsilon_min[shown], owners.epsilon_max[shown]])
    y = Axis(Scale.over(np.concatenate([budgets, bounds])), LOW, TOP)
    x = Axis(Scale.linear([0, max(played.last, 1)]), 44, 318)
    gap = min(LABEL, (LOW - TOP) / len(shown))
    labels = spread_labels(y.place(budgets[at]), gap, TOP, LOW)
    lines = [
        {
            "points": x.points(y, range(played.last + 1), budgets[:, k]),
            "colour": COLOURS[k % len(COLOURS)],
            "dash": DASHES[k // len(COLOURS) % len(DASHES)],
            "label": _label_budget(now.owners[i]),
            "label_at": round(float(labels[k]), 1),
        }
        for k, i in enumerate(shown)
    ]
    said = [f"{now.owners[i]['name']} {_show_budget(now.owners[i])}" for i in shown]
    told = f"Privacy budgets after round {now.number}: {join_words(said, NAMED)}."
    return draw_chart("paths", told, x, y, at, played.last, lines)


def _show_budget(owner: Mapping[str, Any]) -> str:
    return format_number(epsilon_of(owner))


def _label_budget(owner: Mapping[str, Any]) -> str:
    return f"{shorten(owner['name'], 14)} {_show_budget(owner)}"


def draw_curve(now: Round, one: Curve) -> Markup:
    """Draw an owner's surplus at each budget, with where it stands and its best response."""
    money = in_money(now.facts)
    place = [owner["name"] for owner in now.owners].index(one.name)
    x = Axis(Scale.over(one.epsilon[one.epsilon > 0]), 56, 230)
    y = Axis(Scale.linear(_cut_falls(one.surplus)), 118, 12)
    kept = (one.epsilon >= x.scale.low) & (one.surplus >= y.scale.low)
    told = (
        f"{one.name}: stands at ε = {format_number(one.chosen[0])} with {money(one.chosen[1])}; "
        f"best would be ε = {format_number(one.best[0])} with {money(one.best[1])}."
    )
    worth = None
    if one.worth < x.scale.high:
        told += f" Worth buying up to ε = {format_number(one.worth)}."
        worth = x.place(one.worth)
    marks = x.points(y, *zip(one.chosen, one.best, strict=True))
    points = x.points(y, one.epsilon[kept], one.surplus[kept])
    return draw_chart("curve", told, x, y, points, COLOURS[place % len(COLOURS)], *marks, worth)


def _cut_falls(surplus: np.ndarray) -> np.ndarray:
    """Cut off steep falls, so that a peak is not flattened out of sight."""
    finite = surplus[np.isfinite(surplus)]
    usual, most = np.quantile(finite, [0.25, 1])
    if most <= usual:
        return finite
    return np.maximum(finite, usual - 1.5 * (most - usual))


def draw_bars(now: Round) -> Markup:
    """Draw each owner's pay and benefit, and its privacy cost; the mark is what is left."""
    owners = [now.owners[i] for i in named_owners(now.owners)]
    money = in_money(now.facts)
    paid = np.array([owner["payment"] for owner in owners])
    used = paid + [owner["benefit"] for owner in owners]
    lost = np.array([owner["privacy_cost"] + owner["tax"] for owner in owners])
    left = np.array([owner["surplus"] for owner in owners])
    x = Axis(Scale.linear([0, *paid, *used, *-lost, *left]), 124, 370)
    rows = [
        {
            "name": shorten(owner["name"], 16),
            "paid": x.place(paid[k]),
            "paid_told": f"paid {money(paid[k])}",
            "used": x.place(used[k]),
            "used_told": f"benefit {money(owner['benefit'])}",
            "lost": x.place(-lost[k]),
            "lost_told": f"privacy cost {money(lost[k])}",
            "left": x.place(left[k]),
            "left_told": money(left[k]),
        }
        for k, owner in enumerate(owners)
    ]
    told = [
        f"{owner['name']} is paid {money(owner['payment'])}, keeps {money(owner['surplus'])}"
        for owner in owners
    ]
    return draw_chart("bars", f"{join_words(told, NAMED)}.", x, rows)


def draw_errors(facts: Mapping[str, Any], checked: Mapping[str, Any] | None = None) -> Markup:
    """Draw the error above the best possible: of the learner alone, as forecast, as trained."""
    made = facts["forecast"]
    alone = facts["outside_option"]
    rows = [
        ("learner alone", alone["relative_fitness"], alone["interval"], "var(--muted)"),
        ("forecast", made["relative_fitness"], made["interval"], COLOURS[0]),
    ]
    if checked is not None:
        runs = checked["relative_fitness"]
        rows.append(("trained", runs["mean"], (runs["q05"], runs["q95"]), COLOURS[1]))
    title = "Error above the best possible"
    return _draw_intervals("errors", title, rows, format_percent, unit=100)


def draw_gains(facts: Mapping[str, Any], checked: Mapping[str, Any] | None = None) -> Markup:
    """Draw the learner's gain after paying: as forecast, and as measured."""
    learner = facts["learner"]
    rows = [("forecast", learner["surplus"], learner["gain"]["interval"], COLOURS[0])]
    if checked is not None:
        left = checked["money"]["learner_surplus"]
        rows.append(("trained", left["mean"], (left["q05"], left["q95"]), COLOURS[1]))
    return _draw_intervals("gains", "The learner's gain after paying", rows, in_money(facts))


def _draw_intervals(
    name: str,
    title: str,
    rows: Sequence[tuple[str, float, Sequence[float], str]],
    show: Callable[[float | None], str],
    unit: float = 1,
) -> Markup:
    """Draw a few numbers under one another, each with its interval, in its colour.

    Ticks are of so many times the numbers.
    """
    ends = np.array([0.0, *(end for _, at, among, _ in rows for end in (at, *among))])
    x = Axis(Scale.linear(unit * ends), 124, 370)
    shown = [
        {
            "name": what,
            "at": x.place(unit * at),
            "low": x.place(unit * min(among)),
            "high": x.place(unit * max(among)),
            "told": show(at),
            "colour": colour,
        }
        for what, at, among, colour in rows
    ]
    told = ", ".join(f"{row['name']} {row['told']}" for row in shown)
    return draw_chart("intervals", name, f"{title}: {told}.", x, shown)


def draw_network(now: Round) -> Markup:
    """Draw owners around the learner: darker who sells more, a wider line who is paid more."""
    rows = now.owners
    few = len(rows) <= NAMED
    owners = now.run.game.owners
    sold = np.array([epsilon_of(row) for row in rows])
    scale = Axis(Scale.over([*sold, *owners.epsilon_min, *owners.epsilon_max]), 8, 100)
    paid = np.abs([row["payment"] for row in rows])
    held = np.array([row["records"] for row in rows])
    sizes = (5 + 12 * np.sqrt(held / held.max())) * (0.4 if len(rows) > 30 else 1)
    turns = 2 * np.pi * np.arange(len(rows)) / len(rows) - np.pi / 2
    wide = 1 + 7 * paid / (paid.max() or 1.0)
    x = 240 + 150 * np.cos(turns)
    y = 144 + 104 * np.sin(turns)
    below = y + np.where(y > 143, sizes + 16, -sizes - 8)
    colours = np.where(sold > 0, scale.place(sold), 0)
    columns = {"x": x, "y": y, "size": sizes, "wide": wide, "label_at": below, "sold": colours}
    nodes = [
        {name: round(float(column[k]), 1) for name, column in columns.items()}
        | {"label": _label_budget(row) * few}
        for k, row in enumerate(rows)
    ]
    told = f"{len(rows)} owners around the learner, the darker the larger the budget sold."
    return draw_chart("network", told, nodes)


def draw_noise(epsilon: float) -> Markup:
    """Draw the noisy count with a person's record and without it, as the lesson shows them."""
    at = np.linspace(-REACH, REACH, 321)
    x = Axis(Scale.linear(at), 20, 460)
    y = Axis(Scale.linear([0, epsilon / 2]), 190, 16)
    curves = [
        {
            "points": x.points(y, at, epsilon / 2 * np.exp(-epsilon * np.abs(at - place))),
            "colour": COLOURS[place],
            "label": label,
            "label_at": x.place(place) + shift,
            "side": side,
        }
        for place, label, shift, side in (
            (0, "without the record", -8, "end"),
            (1, "with it", 8, "start"),
        )
    ]
    told = (
        f"Two curves of noisy answers at epsilon {format_number(epsilon)}: an even guess "
        f"becomes at most {sure_of(epsilon)} sure."
    )
    return draw_chart("noise", told, x, curves)
