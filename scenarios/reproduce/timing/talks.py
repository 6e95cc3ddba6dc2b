"""AS 3 and 8: which owner talked at each tick, as clocks ticked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scenarios.reproduce.drawing import legend, page, say
from scenarios.reproduce.item import Check, Setting
from scenarios.reproduce.tables import Table
from scenarios.reproduce.timing.training import plan_of, trained
from scenarios.reproduce.training.published import Market

SHOWN = 100  # ticks of the example


def talk_frame(table: Table, market: Market, setting: Setting) -> pd.DataFrame:
    """A row for each tick of the first run: who talked, and when; beside it each owner's talks in all runs."""
    talks = trained(market, plan_of(table, market), [np.inf], setting).talks
    assert talks is not None
    runs, owners = talks.counts.shape
    ticks = pd.DataFrame({"tick": np.arange(1, len(talks.owners) + 1), "owner": talks.owners + 1, "time": talks.times})
    counts = pd.DataFrame(
        {
            "owner": np.arange(1, owners + 1),
            "talks_of_all_runs": talks.counts.sum(axis=0),
            "fewest_of_a_run": talks.counts.min(axis=0),
            "most_of_a_run": talks.counts.max(axis=0),
        }
    )
    return ticks.merge(counts).sort_values("tick").assign(runs=runs, owners=owners)


def talk_checks(frame: pd.DataFrame) -> list[Check]:
    """Every owner talks as often as the others, and clocks of rate one tick as often as they should."""
    owners, runs, ticks = int(frame["owners"].iloc[0]), int(frame["runs"].iloc[0]), len(frame)
    counts = frame.groupby("owner")["talks_of_all_runs"].first()
    expected, deviation = runs * ticks / owners, np.sqrt(runs * ticks / owners * (1 - 1 / owners))
    furthest = float(np.abs(counts - expected).max() / deviation)
    rate = ticks / frame["time"].max() / owners
    return [
        Check("share of the owners that talk at all", len(counts) / owners, 1, 1, "all", "law"),
        Check(
            "most that an owner's talks are off an equal share, in standard deviations",
            furthest,
            0,
            4,
            "equal",
            "law",
            3,
        ),
        Check(
            "ticks of a clock in a unit of time", rate, 1 - 4 / np.sqrt(ticks), 1 + 4 / np.sqrt(ticks), "1", "law", 0.15
        ),
    ]


def talk_figure(frame: pd.DataFrame, note: str) -> Figure:
    """Who talks at the first ticks, and how often each talks in all."""
    owners, runs = int(frame["owners"].iloc[0]), int(frame["runs"].iloc[0])
    figure, (left, right) = page("Who talks when", note, columns=2)
    first = frame[frame["tick"] <= SHOWN]
    left.plot(first["tick"], first["owner"], ls="", marker="o", ms=3)
    left.set(xlabel="tick k", ylabel="owner that talks", xlim=(0, SHOWN + 1))
    say(left, f"the first {SHOWN} of {len(frame):,} ticks of one run")
    counts = frame.groupby("owner")[["talks_of_all_runs", "fewest_of_a_run", "most_of_a_run"]].first()
    mean = counts["talks_of_all_runs"] / runs
    apart = [mean - counts["fewest_of_a_run"], counts["most_of_a_run"] - mean]
    label = f"mean and range of {runs} runs"
    right.errorbar(counts.index, mean, apart, ls="", marker="o", ms=2.5, elinewidth=0.6, ecolor="#9cc3dd", label=label)
    right.axhline(len(frame) / owners, color="#636c76", lw=0.8, ls="--", label="an equal share")
    right.set(xlabel="owner", ylabel=f"talks in {len(frame):,} ticks")
    for axes in (left, right):
        axes.grid(True)
    if owners <= 10:
        left.set_yticks(range(1, owners + 1))
        right.set_xticks(range(1, owners + 1))
    right.set_ylim(0, 1.3 * counts["most_of_a_run"].max())
    legend(right, loc="upper right")
    return figure
