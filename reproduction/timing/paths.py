"""Figures 2, 3, 7 and 8: relative fitness tick by tick, and who talks when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.training.paths import QUARTILES, Paths
from reproduction.checks import error_of_median
from reproduction.drawing import MUTED, PALETTE, SHADES, Style, add_caption, plot_band
from reproduction.item import Setting
from reproduction.specification import Found
from reproduction.tables.records import Table
from reproduction.timing.training import make_plan, train_at
from reproduction.training import Market

BUDGETS = (0.1, 1.0, 10.0)
AS_HERE = "as many records as there are"
COLUMNS = ("q25", "median", "q75")
SHOWN = 100  # ticks of the example
COUNTS = ("talks_of_all_runs", "fewest_of_a_run", "most_of_a_run")


def compute_paths(
    table: Table, market: Market, noises: Mapping[str, float], setting: Setting
) -> pd.DataFrame:
    """Quartiles at every tick by budget, with noises named, as of so many times the records."""
    watch = Paths(market.coordinates.model, market.cost)
    sold = list(product(noises, BUDGETS))
    budgets = [noises[noise] * epsilon for noise, epsilon in sold]
    train_at(market, make_plan(table, market), budgets, setting, watch=watch)
    values = np.array(list(watch.kept.values())).reshape(len(watch.kept), len(sold), setting.runs)
    quartiles = np.quantile(values, QUARTILES, axis=2)
    frames = []
    for column, (noise, epsilon) in enumerate(sold):
        part = {"noise": noise, "times_records": noises[noise], "epsilon": epsilon}
        part |= {"round": list(watch.kept)}
        part |= dict(zip(COLUMNS, quartiles[:, :, column], strict=True))
        frames.append(pd.DataFrame(part))
    frame = pd.concat(frames, ignore_index=True).assign(
        owners=len(market.records), n_records=market.sizes.sum(), runs=setting.runs
    )
    return frame[(frame["round"] <= 20) | (frame["round"] % 10 == 0)].reset_index(drop=True)


def measure_paths(frame: pd.DataFrame, falling: Sequence[float] = BUDGETS) -> Found:
    """Order of ends and spreads by budget, and the fall of the median at some budgets.

    The paper leaves the noise open: the median must fall under one that it allows.
    """
    ends = frame[frame["round"] == frame["round"].max()].sort_values(["times_records", "epsilon"])
    start = float(frame.loc[frame["round"] == 0, "median"].iloc[0])
    least = ends["times_records"].max()
    end = ends[ends["times_records"] == least]
    yield "nearer", (np.diff(end["median"]) < 0).all()
    yield "narrower", (np.diff(end["q75"] - end["q25"]) < 0).all()
    counted = ends[(ends["times_records"] > 1) | (least == 1)]
    counted = counted[counted["epsilon"].isin(falling)]
    counted = counted.assign(last=counted["median"] / start, error=error_of_median(counted) / start)
    worst = counted.loc[counted.groupby("noise")["last"].idxmax()].nsmallest(1, "last")
    choices = counted["noise"].nunique()
    for name, rows in (("serves", worst), ("last", counted)):
        for row in rows.itertuples():
            words = {"epsilon": row.epsilon, "noise": row.noise, "choices": choices}
            words |= {"tolerance": 0.35 * row.last, "std_error": row.error}
            yield name, row.last, words


def annotate_end(axes: Axes, text: str, end: tuple[float, float], **style: Any) -> None:
    """Annotate the right end of a line, just above it."""
    style |= {"xytext": (0, 3), "textcoords": "offset points"}
    axes.annotate(text, end, ha="right", fontsize=7.5, **style)


def draw_bands(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw a band for each budget."""
    for number, (epsilon, rows) in enumerate(frame.groupby("epsilon")):
        color = PALETTE[number]
        plot_band(axes, rows, "round", *COLUMNS, color=color)
        end = rows.iloc[-1]
        annotate_end(axes, f"ε = {epsilon:g}", (end["round"], end["q75"]), color=color)


def compute_talks(table: Table, market: Market, setting: Setting) -> pd.DataFrame:
    """Owner and time of each tick of the first run, with each owner's talks in all runs."""
    talks = train_at(market, make_plan(table, market), [np.inf], setting).talks
    assert talks is not None
    runs, owners = talks.counts.shape
    numbers = np.arange(1, len(talks.owners) + 1)
    ticks = pd.DataFrame({"tick": numbers, "owner": talks.owners + 1, "time": talks.times})
    totals = [getattr(talks.counts, name)(axis=0) for name in ("sum", "min", "max")]
    counts = pd.DataFrame(dict(zip(COUNTS, totals, strict=True)))
    counts.insert(0, "owner", np.arange(1, owners + 1))
    return ticks.merge(counts).sort_values("tick").assign(runs=runs, owners=owners)


def measure_talks(frame: pd.DataFrame) -> Found:
    """Participation of the owners, equality of their talks, and the rate of their clocks."""
    owners = int(frame["owners"].iloc[0])
    runs = int(frame["runs"].iloc[0])
    ticks = len(frame)
    counts = frame.groupby("owner")["talks_of_all_runs"].first()
    expected = runs * ticks / owners
    deviation = np.sqrt(runs * ticks / owners * (1 - 1 / owners))
    yield "share", len(counts) / owners
    yield "furthest", np.abs(counts - expected).max() / deviation
    width = 4 / np.sqrt(ticks)
    yield "rate", ticks / frame["time"].max() / owners, 1 - width, 1 + width


def draw_talks(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw the owners of the first ticks, and how often each owner talks in all."""
    owners = int(frame["owners"].iloc[0])
    runs = int(frame["runs"].iloc[0])
    left, right = panels
    first = frame[frame["tick"] <= SHOWN]
    left.plot(first["tick"], first["owner"], ls="", marker="o", ms=3)
    add_caption(left, f"the first {SHOWN} of {len(frame):,} ticks of one run")
    total, fewest, most = (frame.groupby("owner")[name].first() for name in COUNTS)
    mean = total / runs
    style: Style = {"ls": "", "marker": "o", "ms": 2.5, "elinewidth": 0.6, "ecolor": SHADES[1]}
    label = f"mean and range of {runs} runs"
    right.errorbar(mean.index, mean, [mean - fewest, most - mean], label=label, **style)
    right.axhline(len(frame) / owners, color=MUTED, lw=0.8, ls="--", label="an equal share")
    right.set(ylabel=f"talks in {len(frame):,} ticks")
    if owners <= 10:
        left.set_yticks(range(1, owners + 1))
        right.set_xticks(range(1, owners + 1))
    right.set_ylim(0, 1.3 * most.max())


BANDS = {"bands": draw_bands}
