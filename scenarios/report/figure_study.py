"""The figure of a study: each fact shown, along what varies, with intervals over the replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.figure_page import FAINT, INK, MUTED, PALETTE, WIDTH, _page, _panel
from scenarios.report.figure_scale import Scale
from scenarios.report.figures import shorten
from scenarios.report.sentences_study import PERCENT, WORDS, named, shown
from scenarios.sweeping.answers import Estimate, Point
from scenarios.sweeping.study import Study

ABREAST, TALL, ROW = 3, 1.9, 0.26  # panels in a row; inches
TOP, LEFT, GAP, BOTTOM = 0.9, 0.55, 0.55, 0.55
LABELS, MOST_ROWS, MOST_CURVES, MOST_POINTS = 1.9, 40, 10, 2000
WIDE = 1000.0  # times the least mean: amounts are drawn in logarithms even where an interval reaches below 0
LETTER = 0.062  # inches that a digit of a tick takes
MARKS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Curve:
    """Points that are drawn in one colour: their name, and where each stands along the axis."""

    name: str
    at: list[Any]
    points: list[Point]

    @property
    def numeric(self) -> bool:
        """Whether it can be drawn along an axis of numbers."""
        return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.at)


def study_figure(study: Study, points: Sequence[Point], title: str) -> Figure:
    """Each fact shown in a panel: curves along a key or fact that is a number, dots for named alternatives otherwise."""
    every = -(-len(points) // MOST_POINTS)
    curves = [Curve(one.name, one.at[::every], one.points[::every]) for one in curves_of(study, points)]
    numeric = all(curve.numeric for curve in curves) and len({at for curve in curves for at in curve.at}) > 1
    note = "Means over seeds, with 95 % intervals" if study.replications > 1 else "One seed"
    note += f"; of each curve one point in {every}" if every > 1 else ""
    facts = [fact for fact in study.show if any(fact in point.facts for point in points)]
    if numeric:
        return _along_numbers(facts, curves, _along(study), title, note)
    return _along_names(facts, curves, title, note)


def index_figure(study: Study, indices: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """What each key of a Sobol sample is owed of the variance of each fact shown (ST), with its 95 % interval."""
    told = [row for row in indices if row["fact"] in study.show and row["ST"] is not None]
    rest = [key for key in study.keys if study.sobol is None or key not in study.sobol.keys]
    made: dict[str, dict[str, dict[str, Estimate]]] = {}
    for row in told:
        ends = Estimate(row["ST"], row["ST"] - row["ST_conf"], row["ST"] + row["ST_conf"], 0)
        curve = made.setdefault(", ".join(shown(row[key]) for key in rest), {})
        curve.setdefault(row["key"], {})[named(row["fact"])] = ends
    curves = [
        Curve(name, list(keys), [Point(0, (), facts, {}) for facts in keys.values()]) for name, keys in made.items()
    ]
    facts = list(dict.fromkeys(named(row["fact"]) for row in told))
    return _along_names(facts, curves, title, "Part of each fact's variance owed to a key, alone and with others")


def _along(study: Study) -> str:
    return study.along or next(iter(study.keys), "")


def curves_of(study: Study, points: Sequence[Point]) -> list[Curve]:
    """The points by all that varies but what is drawn along, and what their titles tell; along a fact by texts alone."""
    along = _along(study)
    mine = study.keys.index(along) if along in study.keys else None
    texts = [i for i in range(len(study.keys)) if i != mine]
    if mine is None:
        texts = [i for i in texts if any(isinstance(point.values[i], (str, bool)) for point in points)]
    if "title" in study.keys:
        texts = [i for i in texts if study.keys[i] == "title" or not _told_by_title(study, points, i)]
    made: dict[str, Curve] = {}
    for point in points:
        name = ", ".join(shown(point.values[i]) for i in texts if point.values[i] is not None)
        at = point.values[mine] if mine is not None else point.facts[along].mean if along in point.facts else ""
        if at is not None:
            curve = made.setdefault(name, Curve(name, [], []))
            curve.at.append(at)
            curve.points.append(point)
    return list(made.values())


def _told_by_title(study: Study, points: Sequence[Point], place: int) -> bool:
    """Whether points of one title have one value of a key."""
    title = study.keys.index("title")
    return len({(point.values[title], shown(point.values[place])) for point in points}) <= len(
        {point.values[title] for point in points}
    )


def _along_numbers(facts: list[str], curves: list[Curve], along: str, title: str, note: str) -> Figure:
    rows = -(-len(facts) // ABREAST)
    legend = _legend_lines(curves)
    height = TOP + rows * (TALL + BOTTOM) + 0.2 * len(legend)
    figure = _page(height, title, note)
    columns = min(ABREAST, len(facts))
    width = (WIDTH - LEFT - 0.1 - (columns - 1) * GAP) / columns
    x = Scale.over(np.array([at for curve in curves for at in curve.at], dtype=float))
    for i, fact in enumerate(facts):
        top = TOP + (i // ABREAST) * (TALL + BOTTOM)
        axes = _panel(figure, LEFT + (i % ABREAST) * (width + GAP), top, width, TALL)
        y = _scale(fact, curves)
        for rank, curve in enumerate(curves):
            _line(axes, curve, fact, rank, x, y)
        x.rule(axes, "x")
        y.rule(axes, "y", 0.08)
        axes.set_xticks(*_apart(x, x.ticks(4, 0.12), width))
        axes.set_yticks(*_short(y.ticks()))
        axes.tick_params(labelsize=7)
        axes.set_xlabel(x.named(named(along)), fontsize=7.5)
        axes.set_title(_lines(fact, 84 // columns), loc="left", fontsize=8, color=INK)
    _legend(figure, legend, height)
    return figure


def _line(axes: Axes, curve: Curve, fact: str, rank: int, x: Scale, y: Scale) -> None:
    """One curve of a panel, with its band."""
    there = [(at, point.facts[fact]) for at, point in zip(curve.at, curve.points, strict=True) if fact in point.facts]
    there.sort(key=lambda pair: pair[0])
    if not there:
        return
    places, colour = x.place([at for at, _ in there]), PALETTE[rank % len(PALETTE)]
    dashes = "-" if rank < len(PALETTE) else (0, (4, 2))
    axes.plot(places, y.place(_values(fact, [told.mean for _, told in there])), color=colour, linestyle=dashes,
              linewidth=1.4, marker=MARKS[rank % len(MARKS)], markersize=3.5)  # fmt: skip
    if all(told.low is not None for _, told in there):
        low, high = (_values(fact, [getattr(told, end) for _, told in there]) for end in ("low", "high"))
        ends = [y.place(np.clip(end, y.low, y.high)) for end in (low, high)]
        axes.fill_between(places, ends[0], ends[1], color=colour, alpha=0.18, linewidth=0)


def _along_names(facts: list[str], curves: list[Curve], title: str, note: str) -> Figure:
    """A row for each alternative, a dot for each curve in it."""
    rows = list(dict.fromkeys(shown(at) for curve in curves for at in curve.at))
    if len(rows) > MOST_ROWS:
        rows, note = rows[:MOST_ROWS], f"{note}; the first {MOST_ROWS} of {len(rows):,}"
    several = len(curves) > 1
    legend = _legend_lines(curves) if several else []
    row = max(ROW, 0.13 * len(curves) + 0.12)
    height = TOP + row * len(rows) + BOTTOM + 0.2 * len(legend)
    figure = _page(height, title, note)
    width = (WIDTH - LABELS - 0.1 - (len(facts) - 1) * 0.25) / len(facts)
    for i, fact in enumerate(facts):
        axes = _panel(figure, LABELS + i * (width + 0.25), TOP, width, row * len(rows))
        scale = _scale(fact, curves)
        for rank, curve in enumerate(curves):
            shift = 0.6 * ((rank + 0.5) / len(curves) - 0.5) if several else 0.0
            for at, point in zip(curve.at, curve.points, strict=True):
                if fact in point.facts and shown(at) in rows:
                    _dot(axes, point, fact, rows.index(shown(at)) + shift, rank, scale)
        _finish(axes, scale, fact, len(rows), width)
        if i == 0:
            axes.set_yticks(range(len(rows)), [shorten(name, 30) for name in rows])
            axes.tick_params(axis="y", length=0, labelsize=7.5)
    _legend(figure, legend, height)
    return figure


def _dot(axes: Axes, point: Point, fact: str, place: float, rank: int, scale: Scale) -> None:
    told, colour = point.facts[fact], PALETTE[rank % len(PALETTE)]
    if told.low is not None:
        ends = np.clip(_values(fact, [told.low, told.high]), scale.low, scale.high)
        axes.plot(scale.place(ends), [place, place], color=colour, linewidth=1.6)
    axes.plot(
        scale.place(_values(fact, [told.mean])), [place], color=colour, marker=MARKS[rank % len(MARKS)], markersize=4
    )


def _finish(axes: Axes, scale: Scale, fact: str, n_rows: int, width: float) -> None:
    scale.rule(axes, "x", 0.06)
    axes.set_xticks(*_apart(scale, scale.ticks(5 if width > 2 else 3, 0.14), width))
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", labelsize=7)
    for place in range(1, n_rows):
        axes.axhline(place - 0.5, color=FAINT, linewidth=0.6)
    if not scale.log and scale.low < 0 < scale.high:
        axes.axvline(0.0, color=MUTED, linewidth=0.9)
    axes.set_title(_lines(fact, int(18 * width)), loc="left", fontsize=7.5, color=INK)


def _apart(scale: Scale, ticks: tuple[list[float], list[str]], width: float) -> tuple[list[float], list[str]]:
    """Of the ticks of an axis so many inches wide those whose labels stand clear of the one before."""
    low, high = scale.limits()
    kept: list[tuple[float, str]] = []
    end = -np.inf
    for place, label in zip(*_short(ticks), strict=True):
        at, half = width * (place - low) / (high - low), (LETTER * len(label)) / 2
        if at - half >= end:
            kept.append((place, label))
            end = at + half + LETTER
    return [place for place, _ in kept], [label for _, label in kept]


def _short(ticks: tuple[list[float], list[str]]) -> tuple[list[float], list[str]]:
    """Ticks whose labels do not run into each other: thousands and millions as such."""
    places, labels = ticks
    return places, [label.removesuffix(",000,000") + " m" * label.endswith(",000,000") for label in labels]


def _lines(fact: str, width: int) -> str:
    """A fact's name in at most two lines."""
    return "\n".join(wrap(named(fact), width)[:2])


def _scale(fact: str, curves: list[Curve]) -> Scale:
    """A scale that holds means and the ends of intervals; of what cannot be below 0, only those above."""
    told = [point.facts[fact] for curve in curves for point in curve.points if fact in point.facts]
    means = np.array([one.mean for one in told])
    ends = np.array([end for one in told for end in (one.low, one.high) if end is not None])
    proper = means[means > 0]
    wide = len(proper) > 0 and proper.max() > WIDE * proper.min()
    kept = ends if (means < 0).any() or ("money" in named(fact) and not wide) else ends[ends > 0]
    return Scale.over(_values(fact, [*means, *kept]), spread=30)


def _values(fact: str, values: Sequence[float | None]) -> np.ndarray:
    return np.array(values, dtype=float) * (100 if PERCENT in fact and fact in WORDS else 1)


def _legend_lines(curves: list[Curve], most: int = 100) -> list[list[tuple[int, str]]]:
    """Names of curves in lines that fit the page; none where there is one curve, or too many to tell apart."""
    lines: list[list[tuple[int, str]]] = []
    room = 0
    for rank, curve in enumerate(curves if 1 < len(curves) <= MOST_CURVES else []):
        name = shorten(curve.name or "as it stands", 40)
        if len(name) + 4 > room:
            lines.append([])
            room = most
        lines[-1].append((rank, name))
        room -= len(name) + 4
    return lines


def _legend(figure: Figure, lines: list[list[tuple[int, str]]], height: float) -> None:
    for i, line in enumerate(lines):
        x = 0.1
        for rank, name in line:
            y = 0.06 + 0.2 * (len(lines) - 1 - i)
            mark = "●■▲◆▼"[rank % len(MARKS)]
            figure.text(
                x / WIDTH, y / height, f"{mark} {name}", color=PALETTE[rank % len(PALETTE)], fontsize=8, va="bottom"
            )
            x += 0.3 + 0.068 * len(name)
