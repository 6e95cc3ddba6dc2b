"""FairQuery and MinCost (Ghosh and Roth), the ladder (Ligett and Roth), the contest (Tullock)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import laplace

from market.costs.functions import Linear
from market.equilibrium.solver import solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.proportional import Proportional
from market.procurement.auctions import ACCURACY, FairQuery, MinCost, ProportionalShare
from market.procurement.mechanism import NONE
from market.procurement.offers import Ladder
from reproduction.drawing import MUTED, plot_series
from reproduction.item import Setting
from reproduction.rivals.promises import find_known, measure_promises, search_lies

COSTS = np.arange(1.0, 11.0)
OWNERS = 1000  # in the auction for an accuracy
LIKELY = 2 / 3  # chance of an answer as accurate as bought
GROUP = 20  # owners of a group of the ladder
ENOUGH = 0.5  # share of takers
COUNT_EPSILON = 1.0


def compute_fair_query(setting: Setting) -> pd.DataFrame:
    """Sellers, epsilon and payment along the budget for costs 1 to 10."""
    rows: list[dict[str, float | str]] = []
    grid = np.linspace(0.5, 60, setting.pick_value(120, 20))
    for budget in np.append([2.0, 10.0], grid):
        epsilon, payments = FairQuery(float(budget)).settle(COSTS, NONE)
        allowed = [k for k in range(1, 10) if COSTS[k - 1] / (10 - k) <= budget / k]
        row = {
            "part": "budgets",
            "budget": budget,
            "sellers": int((epsilon > 0).sum()),
            "by_definition": max([0, *allowed]),
            "epsilon": epsilon[0],
            "payment": payments[0],
            "spend": payments.sum(),
        }
        rows.append(row)
    return pd.DataFrame([*rows, search_lies(FairQuery(3.0), setting, "fair query")])


def measure_fair_query(frame: pd.DataFrame) -> dict[str, float]:
    """Two known answers, the distance to the definition, and the promises."""
    rows = frame[frame["part"] == "budgets"]
    known = find_known(rows, "budget", (2.0, 10.0), ("sellers", "epsilon", "payment"))
    distance = (rows["sellers"] - rows["by_definition"]).abs().max()
    return known | {"distance": distance} | measure_promises(frame)


def draw_fair_query(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw sellers, payment and epsilon along the budget."""
    left, right = panels
    rows = frame[frame["part"] == "budgets"].sort_values("budget")
    left.step(rows["budget"], rows["sellers"], where="post", lw=1.2)
    right.plot(rows["budget"], rows["payment"], lw=1.2, label="paid to each, money")
    right.plot(rows["budget"], rows["epsilon"], lw=1.2, label="ε that each sells")


def compute_min_cost(setting: Setting) -> pd.DataFrame:
    """Sellers, epsilon and the exact chance of an accurate answer, for costs 1 to 1,000."""
    rows: list[dict[str, float | str]] = []
    costs = np.arange(1.0, OWNERS + 1)
    for accuracy in np.append(0.2, np.geomspace(0.01, 1.5, setting.pick_value(40, 10))):
        epsilon, payments = MinCost(float(accuracy)).settle(costs, NONE)
        sellers = int((epsilon > 0).sum())
        noise = laplace(scale=OWNERS - sellers)
        limit = accuracy * OWNERS
        bias = (OWNERS - sellers) / 2
        row = {
            "part": "accuracies",
            "accuracy": accuracy,
            "sellers": sellers,
            "epsilon": epsilon[0],
            "payment": payments[0],
            "chance": noise.cdf(limit - bias) - noise.cdf(-limit - bias),
            "constant": ACCURACY,
        }
        rows.append(row)
    return pd.DataFrame([*rows, search_lies(MinCost(0.7), setting, "min cost")])


def measure_min_cost(frame: pd.DataFrame) -> dict[str, float]:
    """A known answer, the constant, the accuracy, and the promises."""
    rows = frame[frame["part"] == "accuracies"]
    bought = rows[rows["sellers"] < OWNERS - 1]  # one owner is left out at least
    known = find_known(rows, "accuracy", (0.2,), ("sellers", "epsilon"))
    numbers = {"constant": rows["constant"].iloc[0], "chance": bought["chance"].min()}
    return known | numbers | measure_promises(frame)


def draw_min_cost(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw sellers, and the chance of an accurate answer, along the accuracy."""
    left, right = panels
    rows = frame[frame["part"] == "accuracies"].sort_values("accuracy")
    plot_series(left, rows, "accuracy", "sellers", logs="x")
    plot_series(right, rows, "accuracy", "chance", logs="x")
    right.axhline(LIKELY, lw=1, ls="--", color=MUTED)


def compute_ladder(setting: Setting) -> pd.DataFrame:
    """Chance that offers end with a group, by its takers, with and without one more of them."""
    takers = np.arange(GROUP + 1)
    noise = laplace(scale=1 / COUNT_EPSILON)
    ends = noise.sf(ENOUGH * GROUP - takers)
    one_more = noise.sf(ENOUGH * GROUP - np.minimum(takers + 1, GROUP))
    worst = np.maximum(one_more / ends, (1 - ends) / (1 - one_more))
    columns = {
        "part": "counts",
        "takers": takers,
        "ends": ends,
        "ratio": np.where(takers < GROUP, worst, np.nan),
        "bound": np.exp(COUNT_EPSILON),
    }
    rows = pd.DataFrame(columns).merge(_simulate_ends(setting), on="takers", how="left")
    mechanism = Ladder(4.0, 0.3, 0.5, growth=1.5, group=2, bar=ENOUGH, count_epsilon=COUNT_EPSILON)
    return pd.concat([rows, pd.DataFrame([search_lies(mechanism, setting, "ladder lies")])])


def _simulate_ends(setting: Setting) -> pd.DataFrame:
    """Share of simulated offers that end with the first group of forty owners, by its takers."""
    tried = setting.pick_value(20_000, 2000)
    rng = setting.streams("ladder").rng("asked")
    ladder = Ladder(1e6, 1.0, 1.0, growth=2.0, group=GROUP, bar=ENOUGH)
    costs = np.repeat([0.5, 10.0], [13, 2 * GROUP - 13])  # a third takes an offer, about
    costs = np.broadcast_to(costs, (tried, 2 * GROUP))
    chances = np.stack([ladder.draw(2 * GROUP, rng=rng) for _ in range(tried)])
    order = chances[:, : 2 * GROUP].argsort(axis=1)
    takes = np.take_along_axis(costs < 1, order, 1)
    first = takes[:, :GROUP].sum(axis=1)
    paid = ladder.settle(costs, chances)[1].sum(axis=1)
    ended = ~(paid > first)  # else a second offer was made
    visible = takes[:, GROUP:].sum(axis=1) > 0  # the second group has takers
    seen = pd.DataFrame({"takers": first, "ended": np.where(visible, ended, np.nan)}).dropna()
    counts = seen.groupby("takers")["ended"].agg(["mean", "size"])
    return counts.rename(columns={"mean": "measured", "size": "times"})


def measure_ladder(frame: pd.DataFrame) -> dict[str, float]:
    """Privacy of the count, distance of the simulation from its law, and the promises."""
    rows = frame[frame["part"] == "counts"]
    often = rows[rows["times"] >= 50]
    spread = np.sqrt(np.maximum(often["ends"] * (1 - often["ends"]), 1e-4) / often["times"])
    z = ((often["measured"] - often["ends"]).abs() / spread).max()
    return {"odds": rows["ratio"].max(), "z": z} | measure_promises(frame)


def draw_ladder(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw the chance that offers end by takers, and the privacy loss of one taker."""
    left, right = panels
    rows = frame[frame["part"] == "counts"].sort_values("takers")
    left.plot(rows["takers"], rows["ends"], lw=1.2, label="Laplace's law")
    left.plot(rows["takers"], rows["measured"], "o", ms=4, label="simulated")
    right.plot(rows["takers"], rows["ratio"], "o", ms=4, label="one taker more, odds at most")
    right.axhline(math.e, lw=1, ls="--", color=MUTED, label="e, as the count's ε of 1 allows")


def compute_contest(setting: Setting) -> pd.DataFrame:
    """Equilibria of contests for a fixed sum, by the formula and by the solver of the game."""
    streams = setting.streams("contest")
    markets = [("by hand", np.array([1.0, 2.0, 3.0]), 12.0)]
    for n in setting.pick_value((2, 5, 20, 50), (5, 20)):
        markets.append((f"{n:2d} owners", streams.rng(n).uniform(0.5, 3.0, n), 3.0 * n))
    rows = []
    for name, costs, money in markets:
        epsilon, payments = ProportionalShare(money).settle(costs, NONE)
        owners = Owners(tuple(map(str, range(len(costs)))), 1, 0.0, money, Linear(costs))
        game = Game(owners, Proportional(money, "epsilon"), None, 0.0)
        columns = {
            "part": name,
            "cost": costs,
            "epsilon": epsilon,
            "payment": payments,
            "solved": solve(game, rng=streams.rng("starts"), starts=1).epsilon,
        }
        rows.append(pd.DataFrame(columns))
    lies = search_lies(ProportionalShare(3.0), setting, "contest lies")
    return pd.concat([*rows, pd.DataFrame([lies])])


def measure_contest(frame: pd.DataFrame) -> dict[str, float]:
    """The known answer, the distance to the solver, the gain of misreports, and the promises."""
    rows = frame[frame["part"] != "search"]
    by_hand = rows[rows["part"] == "by hand"]
    known = find_known(by_hand, "cost", (1.0, 2.0), ("epsilon", "payment"))
    distance = (rows["epsilon"] - rows["solved"]).abs().max() / rows["epsilon"].max()
    promises = measure_promises(frame)
    numbers = {"epsilon_3": by_hand["epsilon"].iloc[2], "distance": distance}
    return known | numbers | {"lie": promises.pop("gain")} | promises


def draw_contest(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw shares by cost: the formula as a line, the solved game as markers."""
    (axes,) = panels
    rows = frame[~frame["part"].isin(["search", "by hand"])].copy()
    for share, column in (("share", "epsilon"), ("of_the_game", "solved")):
        rows[share] = rows[column] / rows.groupby("part")[column].transform("sum")
    plot_series(axes, rows, "cost", "of_the_game", "part", law="share", logs="")


FAIR_QUERY = (compute_fair_query, measure_fair_query, draw_fair_query)
MIN_COST = (compute_min_cost, measure_min_cost, draw_min_cost)
LADDER = (compute_ladder, measure_ladder, draw_ladder)
CONTEST = (compute_contest, measure_contest, draw_contest)
