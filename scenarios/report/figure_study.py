"""Figure of a study: each fact shown, along what varies, with intervals over the replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.facts_study import PERCENT, WORDS, name_fact, show_value
from scenarios.report.figure_page import (
    FAINT,
    INK,
    MUTED,
    PALETTE,
    WIDTH,
    add_legend,
    add_note,
    add_panels,
    make_rows,
    new_page,
    shorten,
)
from scenarios.report.figure_scale import Scale
from scenarios.sweeping.answers import Estimate, Point
from scenarios.sweeping.study import Study

ABREAST = 3  # panels in a row
TALL = 1.9  # inches
ROW = 0.26
TOP = 0.9
LEFT = 0.55
GAP = 0.55
BOTTOM = 0.55
LABELS = 1.9
MOST_ROWS = 40
MOST_CURVES = 10
MOST_POINTS = 2000
BESIDE_LETTERS = 34  # of a line of names in a panel
MOST_LETTERS = 100  # of a line of the legend
WIDE = 1000.0  # ratio of means: beyond, amounts are in logarithms even where intervals pass 0
MARKS = "os^Dv"


@dataclass(frozen=True)
class Curve:
    """Points that are drawn in one colour: their name, and the place of each along the axis."""

    name: str
    at: list[Any]
    points: list[Point]

    @property
    def is_numeric(self) -> bool:
        """Test whether it can be drawn along an axis of numbers."""
        return all(isinstance(at, (int, float)) and not isinstance(at, bool) for at in self.at)


def study_figure(study: Study, points: Sequence[Point], title: str) -> Figure | None:
    """Draw a panel for each fact: curves along a key or fact that is a number, else named rows.

    None where no point has any of the facts.
    """
    every = -(-len(points) // MOST_POINTS)
    curves = [
        Curve(one.name, one.at[::every], one.points[::every]) for one in group_points(study, points)
    ]
    note = "One seed"
    if study.replications > 1:
        note = "Means over seeds, with 95 % intervals"
    if every > 1:
        note += f"; of each curve one point in {every}"
    facts = [fact for fact in study.show if any(fact in point.facts for point in points)]
    if not facts:
        return None
    numeric = all(curve.is_numeric for curve in curves)
    if numeric and len({at for curve in curves for at in curve.at}) > 1:
        return _draw_along_numbers(
            facts, join_coinciding(curves, facts), _along(study), title, note
        )
    return _draw_along_names(facts, curves, title, note)


def index_figure(study: Study, indices: Sequence[Mapping[str, Any]], title: str) -> Figure | None:
    """Draw the total Sobol index (ST) of each key for each fact shown, with its 95 % interval.

    None without any index: where no such fact varies, or a cell failed.
    """
    rows = [row for row in indices if row["fact"] in study.show and row["ST"] is not None]
    if not rows:
        return None
    rest = [key for key in study.keys if study.sobol is None or key not in study.sobol.keys]
    made: dict[str, dict[str, dict[str, Estimate]]] = {}
    for row in rows:
        index = Estimate(row["ST"], row["ST"] - row["ST_conf"], row["ST"] + row["ST_conf"], 0)
        curve = made.setdefault(", ".join(show_value(row[key]) for key in rest), {})
        curve.setdefault(row["key"], {})[name_fact(row["fact"])] = index
    curves = [
        Curve(name, list(keys), [Point(0, (), facts, {}) for facts in keys.values()])
        for name, keys in made.items()
    ]
    facts = list(dict.fromkeys(name_fact(row["fact"]) for row in rows))
    note = "Part of each fact's variance owed to a key, alone and with others"
    return _draw_along_names(facts, curves, title, note)


def _along(study: Study) -> str:
    return study.along or next(iter(study.keys), "")


def group_points(study: Study, points: Sequence[Point]) -> list[Curve]:
    """Group points by the keys that are not drawn along; along a fact, by texts alone.

    Keys that the title tells are left out.
    """
    along = _along(study)
    keys = [key for key in study.keys if key != along]
    if along not in study.keys:
        texts = [i for i, _ in enumerate(study.keys) if _holds_texts(points, i)]
        keys = [study.keys[i] for i in texts]
    if "title" in study.keys:
        keys = [key for key in keys if key == "title" or not _told_by_title(study, points, key)]
    places = [study.keys.index(key) for key in keys]
    made: dict[str, Curve] = {}
    for point in points:
        name = ", ".join(
            _name_value(study.keys[i], point.values[i])
            for i in places
            if point.values[i] is not None
        )
        at = _place_along(study, point, along)
        if at is not None:
            curve = made.setdefault(name, Curve(name, [], []))
            curve.at.append(at)
            curve.points.append(point)
    return list(made.values())


def _name_value(key: str, value: Any) -> str:
    """Name a value of a key: a number with the key's last part, a text by itself."""
    if isinstance(value, (int, float)):
        return f"{key.rsplit('.', 1)[-1].replace('_', ' ')} = {show_value(value)}"
    return show_value(value)


def join_coinciding(curves: Sequence[Curve], facts: Sequence[str]) -> list[Curve]:
    """Join the curves that coincide in all facts to one, which has the names of all."""
    joined: dict[tuple[Any, ...], Curve] = {}
    for curve in curves:
        means = [
            (at, *(float(f"{point.facts[fact].mean:.6g}") for fact in facts if fact in point.facts))
            for at, point in zip(curve.at, curve.points, strict=True)
        ]
        same = joined.setdefault(tuple(sorted(means)), curve)
        if same is not curve:
            joined[tuple(sorted(means))] = replace(same, name=f"{same.name}; {curve.name}")
    return list(joined.values())


def _holds_texts(points: Sequence[Point], place: int) -> bool:
    return any(isinstance(point.values[place], (str, bool)) for point in points)


def _place_along(study: Study, point: Point, along: str) -> Any:
    """Return the value of the key, or the mean of the fact, that a point is drawn at."""
    if along in study.keys:
        return point.values[study.keys.index(along)]
    if along in point.facts:
        return point.facts[along].mean
    return ""


def _told_by_title(study: Study, points: Sequence[Point], key: str) -> bool:
    """Test whether points of one title have one value of a key."""
    title = study.keys.index("title")
    place = study.keys.index(key)
    pairs = {(point.values[title], show_value(point.values[place])) for point in points}
    return len(pairs) <= len({point.values[title] for point in points})


def _draw_along_numbers(
    facts: list[str], curves: list[Curve], along: str, title: str, note: str
) -> Figure:
    """Draw a panel for each fact, with a line for each curve."""
    rows = -(-len(facts) // ABREAST)
    figure = _make_page(rows * (TALL + BOTTOM) - BOTTOM, curves, title, note)
    columns = min(ABREAST, len(facts))
    x = Scale.over(np.array([at for curve in curves for at in curve.at], dtype=float))
    room = {"apart": GAP, "down": BOTTOM}
    panels = add_panels(figure, (len(facts), columns), (LEFT, TOP), TALL, **room)
    for axes, fact in zip(panels, facts, strict=True):
        y = _fact_scale(fact, curves)
        _draw_lines(axes, curves, fact, x, y)
        x.rule(axes, "x", most=4)
        y.rule(axes, "y", 0.08)
        axes.tick_params(labelsize=7)
        axes.set_xlabel(x.named(name_fact(along)), fontsize=7.5)
        axes.set_title(_wrap_fact(fact, 84 // columns), loc="left", fontsize=8, color=INK)
    return figure


def _draw_lines(axes: Axes, curves: list[Curve], fact: str, x: Scale, y: Scale) -> None:
    """Draw the curves of a panel; those that coincide as one, in ink, with the names of all."""
    ranks = {curve.name: rank for rank, curve in enumerate(curves)}
    for curve in join_coinciding(curves, [fact]):
        rank = ranks.get(curve.name)
        _draw_line(axes, curve, fact, rank, x, y)
        if rank is None:
            style: dict[str, Any] = {"va": "top", "fontsize": 7, "color": INK}
            add_note(
                axes,
                0.02,
                0.99,
                "\n".join(wrap(f"coincide: {curve.name}", BESIDE_LETTERS)[:2]),
                **style,
            )


def _draw_line(axes: Axes, curve: Curve, fact: str, rank: int | None, x: Scale, y: Scale) -> None:
    """Draw one curve of a panel, with its band; without a rank in ink."""
    pairs = zip(curve.at, curve.points, strict=True)
    there = [(at, point.facts[fact]) for at, point in pairs if fact in point.facts]
    there.sort(key=lambda pair: pair[0])
    if not there:
        return
    places = x.place([at for at, _ in there])
    means = y.place(_fact_values(fact, [found.mean for _, found in there]))
    colour = INK
    style: dict[str, Any] = {"linestyle": "-", "linewidth": 1.4, "markersize": 3.5, "marker": "o"}
    if rank is not None:
        colour = PALETTE[rank % len(PALETTE)]
        style["marker"] = MARKS[rank % len(MARKS)]
        if rank >= len(PALETTE):
            style["linestyle"] = (0, (4, 2))
    axes.plot(places, means, color=colour, **style)
    if all(found.low is not None for _, found in there):
        low, high = (
            _fact_values(fact, [getattr(found, end) for _, found in there])
            for end in ("low", "high")
        )
        floor, ceiling = (y.place(np.clip(end, y.low, y.high)) for end in (low, high))
        axes.fill_between(places, floor, ceiling, color=colour, alpha=0.18, linewidth=0)


def _draw_along_names(facts: list[str], curves: list[Curve], title: str, note: str) -> Figure:
    """Draw a row for each alternative, a dot for each curve in it."""
    rows = list(dict.fromkeys(show_value(at) for curve in curves for at in curve.at))
    if len(rows) > MOST_ROWS:
        note += f"; the first {MOST_ROWS} of {len(rows):,}"
        rows = rows[:MOST_ROWS]
    row = max(ROW, 0.13 * len(curves) + 0.12)
    figure = _make_page(row * len(rows), curves, title, note)
    count = len(facts)
    panels = add_panels(figure, (count, count), (LABELS, TOP), row * len(rows), apart=0.25)
    width = panels[0].get_position().width * WIDTH
    for axes, fact in zip(panels, facts, strict=True):
        scale = _fact_scale(fact, curves)
        for rank, curve in enumerate(curves):
            shift = 0.6 * ((rank + 0.5) / len(curves) - 0.5) * (len(curves) > 1)
            for at, point in zip(curve.at, curve.points, strict=True):
                if fact in point.facts and show_value(at) in rows:
                    place = rows.index(show_value(at)) + shift
                    _draw_dot(axes, point.facts[fact], fact, place, rank, scale)
        _finish_panel(axes, scale, fact, len(rows), width)
    panels[0].set_yticks(range(len(rows)), [shorten(name, 30) for name in rows])
    panels[0].tick_params(axis="y", length=0, labelsize=7.5)
    return figure


def _draw_dot(
    axes: Axes, found: Estimate, fact: str, place: float, rank: int, scale: Scale
) -> None:
    colour = PALETTE[rank % len(PALETTE)]
    if found.low is not None:
        ends = np.clip(_fact_values(fact, [found.low, found.high]), scale.low, scale.high)
        axes.plot(scale.place(ends), [place, place], color=colour, linewidth=1.6)
    mean = scale.place(_fact_values(fact, [found.mean]))
    axes.plot(mean, [place], color=colour, marker=MARKS[rank % len(MARKS)], markersize=4)


def _finish_panel(axes: Axes, scale: Scale, fact: str, count: int, width: float) -> None:
    scale.rule(axes, "x", 0.06, most=3 + 2 * (width > 2))
    make_rows(axes, count)
    axes.tick_params(axis="x", labelsize=7)
    for place in range(1, count):
        axes.axhline(place - 0.5, color=FAINT, linewidth=0.6)
    if not scale.log and scale.low < 0 < scale.high:
        axes.axvline(0.0, color=MUTED, linewidth=0.9)
    axes.set_title(_wrap_fact(fact, int(18 * width)), loc="left", fontsize=7.5, color=INK)


def _wrap_fact(fact: str, width: int) -> str:
    """Wrap a fact's name to at most two lines."""
    return "\n".join(wrap(name_fact(fact), width)[:2])


def _fact_scale(fact: str, curves: list[Curve]) -> Scale:
    """Make a scale of means and ends of intervals; of what cannot be below 0, of those above."""
    found = [point.facts[fact] for curve in curves for point in curve.points if fact in point.facts]
    means = np.array([one.mean for one in found])
    ends = np.array([end for one in found for end in (one.low, one.high) if end is not None])
    proper = means[means > 0]
    wide = len(proper) > 0 and proper.max() > WIDE * proper.min()
    signed = bool((means < 0).any()) or ("money" in name_fact(fact) and not wide)
    if not signed:
        ends = ends[ends > 0]
    return Scale.over(_fact_values(fact, [*means, *ends]), spread=30)


def _fact_values(fact: str, values: Sequence[float | None]) -> np.ndarray:
    scale = {True: 100, False: 1}[PERCENT in fact and fact in WORDS]
    return np.array(values, dtype=float) * scale


def _count_columns(curves: list[Curve]) -> int:
    """Count the columns of the legend; none for one curve, or too many to tell apart."""
    if not 1 < len(curves) <= MOST_CURVES:
        return 0
    longest = max(len(_name_curve(curve)) for curve in curves)
    return min(len(curves), max(1, MOST_LETTERS // (longest + 6)))


def _name_curve(curve: Curve) -> str:
    return shorten(curve.name or "as it stands", 40)


def _make_page(body: float, curves: list[Curve], title: str, note: str) -> Figure:
    """Make a page for panels of a height in inches, with a legend of the curves under them."""
    columns = _count_columns(curves)
    lines = -(-len(curves) // columns) if columns else 0
    height = TOP + body + BOTTOM + 0.2 * lines
    figure = new_page(height, title, note)
    if columns:
        add_legend(figure, list(map(_name_curve, curves)), MARKS, columns)
    return figure
