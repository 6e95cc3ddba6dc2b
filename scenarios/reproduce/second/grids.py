"""Three owners under our protocol, over records and budgets (VC 4-6, 9-11; AS 5, 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.losses.hinge import Hinge
from learning.losses.loss import Loss
from learning.losses.squared import Squared
from scenarios.reproduce.drawing import legend, lines, say, surface, written
from scenarios.reproduce.item import Check, NotPossible, Setting, told
from scenarios.reproduce.second.column import Second
from scenarios.reproduce.tables import table
from scenarios.reproduce.training.ours import KNOWN, column, our_market

OWNERS = 3
BUDGETS = (0.1, 1.0, 10.0)
MOST = 100_000  # records of an owner, the most that the figures have
LEAST = 1_000  # records of the owner that varies, in the four scenarios
LUCK = 1.2  # powers of ten that the luck of the rows that a learner knows moves a ratio by
FIRST = np.geomspace(0.1, 10, 5)  # its budgets


@dataclass(frozen=True)
class Setup:
    """What is trained on which table.

    Parameters
    ----------
    name : of the table.
    loss, regularisation : of the training cost.
    sizes : records of each owner, as far as there are as many.
    others : records of the two that do not vary, few and many.
    """

    name: str
    loss: Loss
    regularisation: float
    sizes: tuple[int, ...]
    others: tuple[int, int]

    def largest(self, setting: Setting, held_by_others: int = 0, owners: int = OWNERS) -> int:
        """The most records that each of some owners can hold beside others and the learner's own, in hundreds."""
        there = table(self.name, setting).n_records - KNOWN - held_by_others
        return min(there // owners // 100 * 100, MOST)


LENDING = Setup("lending", Squared(), 0.0, (1_000, 10_000, 250_000), (1_000, 100_000))
ASYNCHRONOUS = Setup("lending", Squared(), 2e-5, (1_000, 10_000, 250_000), (1_000, 100_000))
FRAUD = Setup("fraud", Hinge(), 1.0, (300, 1_000, 30_000), (100, 10_000))
ASYNCHRONOUS_FRAUD = Setup("fraud", Hinge(), 1e-5, (300, 1_000, 30_000), (100, 10_000))


@cache
def grid(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Three equal owners: every size and budget, forecast and trained."""
    most = setup.largest(setting)
    sizes = sorted({min(size, most) for size in setup.sizes})
    if len(sizes) < 2:
        raise NotPossible(f"more than {most:,} records of each owner are needed, and {setup.name} has no more here")
    sizes = sizes[1:] if setting.quick else sizes
    budgets = np.unique([*BUDGETS, *np.geomspace(0.1, 10, 3 if setting.quick else 9)])
    found = []
    for size in sizes:
        market = our_market(
            table(setup.name, setting),
            [size] * OWNERS,
            setting.seed,
            shuffled=True,
            loss=setup.loss,
            regularisation=setup.regularisation,
        )
        found.append(column(market, budgets, setting.runs))
    return pd.concat(found, ignore_index=True)


@cache
def scenarios(setup: Setup, setting: Setting) -> pd.DataFrame:
    """The first owner's records and budget, beside two others with few or many records and a small or a large budget.

    Raises
    ------
    NotPossible
        If time is short and each market is rehearsed, for which there is no law.
    """
    if setting.quick and not setup.loss.quadratic:
        raise NotPossible("rehearsing every market takes too long")
    rows, budgets = [], FIRST[::2] if setting.quick else FIRST
    few, many = setup.others[0], min(setup.others[1], setup.largest(setting))
    for number, (size, epsilon) in enumerate(((few, 0.1), (few, 10.0), (many, 0.1), (many, 10.0)), 1):
        most = setup.largest(setting, 2 * size, 1)
        firsts = np.unique(np.minimum(np.geomspace(LEAST, many, 2 if setting.quick else 3).astype(int), most))
        for first in firsts.tolist():
            market = our_market(
                table(setup.name, setting),
                [first, size, size],
                setting.seed,
                shuffled=True,
                loss=setup.loss,
                regularisation=setup.regularisation,
            )
            profiles = [np.array([own, epsilon, epsilon]) for own in budgets]
            one = column(market, profiles, setting.runs)
            rows.append(one.assign(scenario=number, others_records=size, others_epsilon=epsilon))
    return pd.concat(rows, ignore_index=True)


def better(theirs: pd.DataFrame, ours: pd.DataFrame) -> list[Check]:
    """Whether training under our protocol comes nearer to the best model than as published, at epsilon = 1."""
    checks = []
    for _, row in ours[ours["epsilon"] == 1].iterrows():
        nearer = float(np.log10(row["relative_fitness"] / nearest(theirs, row)))
        what = f"powers of ten of ψ with our protocol over ψ as published, ε = 1, {row['n_records']:,.0f} records each"
        checks.append(Check(what, nearer, -np.inf, 0, "", "law", tolerance=LUCK))
    return checks


def nearest(theirs: pd.DataFrame, row: pd.Series) -> float:
    """Published relative fitness at the point that is nearest to one of ours, on logarithmic scales."""
    away = sum(np.log(theirs[name] / row[name]).abs() for name in ("n_records", "epsilon"))
    return float(theirs.loc[away == away.min(), "relative_fitness"].mean())


def by_budget(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Against the budget, a line for each number of records."""
    lines(panels[0], frame, "epsilon", "relative_fitness", "n_records", law="law", label=lambda n: f"{n:,} records")
    _finish(panels[0], "privacy budget ε")


def by_records(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Against records, a line for each of three budgets."""
    some = frame[frame["epsilon"].isin(BUDGETS)]
    lines(panels[0], some, "n_records", "relative_fitness", "epsilon", law="law", label=lambda e: f"ε = {written(e)}")
    _finish(panels[0], "records of each owner")


def _finish(axes: Axes, x: str) -> None:
    axes.set(xlabel=x, ylabel="relative fitness ψ")
    axes.margins(y=0.35)  # room for the legend
    say(axes, "our protocol; lines: forecast")
    legend(axes)


def surfaces(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """A map for each scenario."""
    powers = np.log10(frame["relative_fitness"])
    span = float(powers.min()), float(powers.max())
    for axes, (_, rows) in zip(panels, frame.groupby("scenario"), strict=True):
        surface(axes, rows, "n_records", "epsilon", "relative_fitness", law="law", span=span)
        axes.set(xlabel="records of the first owner" if axes in panels[-2:] else "", ylabel="its privacy budget ε")
        say(axes, f"ours: others {rows['others_records'].iloc[0]:,}, ε = {rows['others_epsilon'].iloc[0]:g}")


def ranked(theirs: pd.DataFrame, ours: pd.DataFrame) -> list[Check]:
    """How far the worst scenario is from the best, at the first owner's fewest records and smallest budget."""
    corner = ours[(ours["n_records"] == ours["n_records"].min()) & (ours["epsilon"] == ours["epsilon"].min())]
    apart = float(np.log10(corner["relative_fitness"].max() / corner["relative_fitness"].min()))
    most = float(np.log10(ours["relative_fitness"].max() / ours["alone"].max()))
    words = "powers of ten of ψ with our protocol:"
    return [
        told(f"{words} the worst over the best of four scenarios", apart, LUCK),
        Check(f"{words} the largest over the learner's own rows alone", most, -np.inf, 0.2, "", "law", 0.2),
    ]


SAYS = (
    "the same owners, records dealt at random, the same pure ε; the learner knows a thousand records more, starts from their "
    "model, whitens and clips by them, and asks twice. Markers: trained; lines: forecast from those thousand."
)
SEPARABLE = (
    f"{SAYS} With hardly a penalty a thousand payments are nearly separable: their model is bad, forecasts from them are two "
    "or three times too high, and an owner's own model beats all training at these budgets."
)


def second(
    setup: Setup,
    compute: Callable[[Setup, Setting], pd.DataFrame],
    checks: Callable[[pd.DataFrame, pd.DataFrame], Sequence[Check]],
    draw: Callable[[Sequence[Axes], pd.DataFrame], None],
    *,
    panels: tuple[int, int] = (1, 1),
    says: str = SAYS,
    cost: float = 2.0,
) -> Second:
    """A second column of one of these figures."""
    return Second(lambda setting: compute(setup, setting), checks, draw, panels, says, cost)
