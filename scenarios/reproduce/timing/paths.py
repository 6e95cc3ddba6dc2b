"""AS 2 and 7: relative fitness tick by tick, quartiles over all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learning.training.paths import QUARTILES, Paths
from scenarios.reproduce.drawing import band, page, say, scales
from scenarios.reproduce.item import Check, Setting
from scenarios.reproduce.tables import Table
from scenarios.reproduce.timing.training import plan_of, trained
from scenarios.reproduce.training.published import Market

BUDGETS = (0.1, 1.0, 10.0)


def path_frame(held: Table, market: Market, times: Sequence[float], setting: Setting) -> pd.DataFrame:
    """Quartiles at every tick by budget, with the noise of so many times as many records as there are."""
    kept = Paths(market.coordinates.model, market.cost)
    sold = [(one, epsilon) for one in times for epsilon in BUDGETS]
    trained(market, plan_of(held, market), [one * epsilon for one, epsilon in sold], setting, watch=kept)
    values = np.array(list(kept.kept.values())).reshape(len(kept.kept), len(sold), setting.runs)
    quartiles = np.quantile(values, QUARTILES, axis=2)
    frames = [
        pd.DataFrame(
            {
                "times_records": one,
                "epsilon": epsilon,
                "round": list(kept.kept),
                **dict(zip(("q25", "median", "q75"), quartiles[:, :, column], strict=True)),
            }
        )
        for column, (one, epsilon) in enumerate(sold)
    ]
    frame = pd.concat(frames, ignore_index=True).assign(owners=len(market.records), n_records=market.sizes.sum())
    return frame[(frame["round"] <= 20) | (frame["round"] % 10 == 0)].reset_index(drop=True)


def path_checks(frame: pd.DataFrame, falling: Sequence[float] = BUDGETS) -> list[Check]:
    """Ends are nearer and narrower the larger the budget, and medians have fallen at the budgets where the source says so."""
    times = frame["times_records"].max()
    part = frame[frame["times_records"] == times]
    end = part[part["round"] == part["round"].max()].sort_values("epsilon")
    start = float(part.loc[part["round"] == 0, "median"].iloc[0])
    checks = [
        Check("whether ε larger ends nearer", float((np.diff(end["median"]) < 0).all()), 1, 1, "yes", "law"),
        Check(
            "whether ε larger ends narrower", float((np.diff(end["q75"] - end["q25"]) < 0).all()), 1, 1, "yes", "law"
        ),
    ]
    for row in end[end["epsilon"].isin(falling)].itertuples():
        found = float(row.median) / start
        what = f"last median over the first, ε = {row.epsilon:g}, {words(times)}"
        checks.append(Check(what, found, 0, 1, "below 1", "value", 0.35 * found))
    return checks


def words(times: float) -> str:
    """Whose noise it is."""
    return "as noisy as here" if times == 1 else f"as noisy as with {times:.3g} times the records"


def annotated(axes: Axes, text: str, end: tuple[float, float], **style: Any) -> None:
    """A word just above the right end of a line."""
    axes.annotate(text, end, xytext=(0, 3), textcoords="offset points", ha="right", fontsize=7.5, **style)


def path_figure(frame: pd.DataFrame, note: str) -> Figure:
    """A panel for each noise, a band for each budget."""
    times = sorted(frame["times_records"].unique())
    figure, panels = page("Relative fitness of the learner's copy, tick by tick", note, columns=len(times))
    for axes, one in zip(panels, times, strict=True):
        part = frame[frame["times_records"] == one]
        for number, (epsilon, rows) in enumerate(part.groupby("epsilon")):
            band(axes, rows, "round", "q25", "median", "q75", number=number)
            end, colour = rows.iloc[-1], axes.lines[-1].get_color()
            annotated(axes, f"ε = {epsilon:g}", (end["round"], end["q75"]), color=colour)
        scales(axes, "y")
        axes.set(xlabel="tick k")
        say(axes, f"ψ, {words(one)}")
    return figure
