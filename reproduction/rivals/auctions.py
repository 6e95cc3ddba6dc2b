"""Mechanisms for private costs: auctions (Ghosh, Roth, Ligett; Tullock), contracts, a menu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import laplace

from learning.declaration import Positive
from market.costs.functions import Linear
from market.equilibrium.solver import solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.proportional import Proportional
from market.procurement.auctions import ACCURACY, FairQuery, MinCost, ProportionalShare
from market.procurement.contracts import Menu, VirtualCost
from market.procurement.cost_laws import Uniform
from market.procurement.mechanism import NONE, ProcurementMechanism
from market.procurement.offers import Ladder, PostedPrice
from market.procurement.reports import best_misreports
from market.procurement.valuation import Valuation
from reproduction.drawing import plot_series
from reproduction.item import Setting
from reproduction.specification import Law, Rows

ROUNDING = 1e-9  # money below which a gain is rounding
LAW = Uniform(0.2, 3.0)  # of costs in the random markets


def search_lies(
    mechanism: ProcurementMechanism, setting: Setting, purpose: str, owners: int = 6
) -> dict[str, float | str]:
    """Gain of the best misreport, worst loss at the truth, and overspent money in random markets.

    Every owner of every market tries some 90 reports
    (`market.procurement.reports.best_misreports`).
    """
    rng = setting.streams(purpose).rng("markets")
    costs = LAW.draw((setting.pick_value(200, 20), owners), rng=rng)
    found = best_misreports(mechanism, costs, rng=rng)
    chances = np.stack([mechanism.draw(owners, rng=rng) for _ in costs])
    epsilon, payments = mechanism.settle(costs, chances)
    over = 0.0
    if np.isfinite(mechanism.budget):
        over = payments.sum(axis=1).max() - mechanism.budget
    worst = min(float((payments - costs * epsilon).min()), float(found.surplus.min()))
    gains = found.gain.max(axis=1)
    return {
        "part": "search",
        "gain": float(gains.max()),
        "mean_gain": float(gains.mean()),
        "liars": float((gains > ROUNDING).mean()),
        "loss": max(-worst, 0.0),
        "over": max(float(over), 0.0),
    }


def measure_promises(frame: pd.DataFrame, budget: bool = True) -> dict[str, float]:
    """Gain of the best misreport, worst loss at the truth, and money over the budget, if any."""
    row = frame[frame["part"] == "search"].iloc[0]
    return {name: row[name] for name in ("gain", "loss", "over")[: 2 + budget]}


def find_known(
    frame: pd.DataFrame, column: str, values: Sequence[float], names: Sequence[str]
) -> dict[str, float]:
    """Numbers in the rows where a column has given values, named "column_value" each."""
    rows = {f"{value:g}": frame[np.isclose(frame[column], value)].iloc[0] for value in values}
    return {f"{name}_{value}": row[name] for value, row in rows.items() for name in names}


def relative_distance(found: pd.Series, right: pd.Series) -> float:
    """Largest relative distance of two columns."""
    return float((found / right - 1).abs().max())


COSTS = np.arange(1.0, 11.0)
OWNERS = 1000  # in the auction for an accuracy

GROUP = 20  # owners of a group of the ladder
ENOUGH = 0.5  # share of takers
COUNT_EPSILON = 1.0


def compute_fair_query(setting: Setting) -> Rows:
    """Sellers, epsilon and payment along the budget for costs 1 to 10."""
    grid = np.linspace(0.5, 60, setting.pick_value(120, 20))
    for budget in np.append([2.0, 10.0], grid):
        epsilon, payments = FairQuery(float(budget)).settle(COSTS, NONE)
        allowed = [k for k in range(1, 10) if COSTS[k - 1] / (10 - k) <= budget / k]
        yield dict(
            part="budgets",
            budget=budget,
            sellers=int((epsilon > 0).sum()),
            by_definition=max([0, *allowed]),
            epsilon=epsilon[0],
            payment=payments[0],
            spend=payments.sum(),
        )
    yield search_lies(FairQuery(3.0), setting, "fair query")


def measure_fair_query(frame: pd.DataFrame) -> dict[str, float]:
    """Two known answers, the distance to the definition, and the promises."""
    rows = frame[frame["part"] == "budgets"]
    known = find_known(rows, "budget", (2.0, 10.0), ("sellers", "epsilon", "payment"))
    distance = (rows["sellers"] - rows["by_definition"]).abs().max()
    return known | {"distance": distance} | measure_promises(frame)


def compute_min_cost(setting: Setting) -> Rows:
    """Sellers, epsilon and the exact chance of an accurate answer, for costs 1 to 1,000."""
    costs = np.arange(1.0, OWNERS + 1)
    for accuracy in np.append(0.2, np.geomspace(0.01, 1.5, setting.pick_value(40, 10))):
        epsilon, payments = MinCost(float(accuracy)).settle(costs, NONE)
        sellers = int((epsilon > 0).sum())
        noise = laplace(scale=OWNERS - sellers)
        limit = accuracy * OWNERS
        bias = (OWNERS - sellers) / 2
        yield dict(
            part="accuracies",
            accuracy=accuracy,
            sellers=sellers,
            epsilon=epsilon[0],
            payment=payments[0],
            chance=noise.cdf(limit - bias) - noise.cdf(-limit - bias),
            constant=ACCURACY,
        )
    yield search_lies(MinCost(0.7), setting, "min cost")


def measure_min_cost(frame: pd.DataFrame) -> dict[str, float]:
    """A known answer, the constant, the accuracy, and the promises."""
    rows = frame[frame["part"] == "accuracies"]
    bought = rows[rows["sellers"] < OWNERS - 1]  # one owner is left out at least
    known = find_known(rows, "accuracy", (0.2,), ("sellers", "epsilon"))
    numbers = {"constant": rows["constant"].iloc[0], "chance": bought["chance"].min()}
    return known | numbers | measure_promises(frame, budget=False)


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


def draw_contest(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw shares by cost: the formula as a line, the solved game as markers."""
    rows = frame[~frame["part"].isin(["search", "by hand"])].copy()
    for share, column in (("share", "epsilon"), ("of_the_game", "solved")):
        rows[share] = rows[column] / rows.groupby("part")[column].transform("sum")
    plot_series(axes, rows, "cost", "of_the_game", "part", law="share", logs="")


ODDS = 0.5  # of each of two types
QUANTILES = 2000


@dataclass(frozen=True)
class SquareRoot(Valuation):
    """Money ``2 scale sqrt(epsilon)`` for a budget; demand ``(scale / price)^2`` at a price."""

    scale: Positive = 1.0
    epsilon_max: Positive = 100.0

    def value(self, epsilon: np.ndarray) -> np.ndarray:
        return 2 * self.scale * np.sqrt(epsilon)

    def demand(self, price: np.ndarray) -> np.ndarray:
        return np.minimum((self.scale / np.maximum(price, 1e-9)) ** 2, self.epsilon_max)


def compute_virtual(setting: Setting) -> Rows:
    """Epsilon and payment by cost, with their closed forms; money kept, also at posted prices."""
    law = Uniform(0.5, 2.0)
    value = SquareRoot()
    rule = VirtualCost(law, value)
    for cost in np.linspace(0.5, 2.0, setting.pick_value(61, 11)):
        epsilon, payment = (float(part[0]) for part in rule.settle(np.array([cost]), np.zeros(1)))
        sold = (2 * cost - 0.5) ** -2  # against a virtual cost of 2c - low
        rent = quad(lambda z: (2 * z - 0.5) ** -2, cost, 2.0)[0]
        yield dict(
            part="costs",
            cost=cost,
            epsilon=epsilon,
            payment=payment,
            law=sold,
            paid_by_law=cost * sold + rent,
        )
    costs = law.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)

    def keep(price: float, sold: np.ndarray, paid: np.ndarray) -> dict[str, object]:
        kept = float((value.value(sold) - paid).mean())
        return {"part": "kept", "price": price, "learner_keeps": kept}

    yield keep(np.nan, *rule.settle(costs, np.zeros(QUANTILES)))
    for price in np.linspace(0.5, 2.0, setting.pick_value(50, 10))[1:]:
        best = float(value.demand(np.array(price)))
        posted = PostedPrice(1e9, float(price), best)
        yield keep(price, *posted.settle(costs, np.arange(float(QUANTILES))))
    yield search_lies(VirtualCost(LAW, value), setting, "virtual cost")


def measure_virtual(frame: pd.DataFrame) -> dict[str, float]:
    """Distances to the closed form and the integral, the best posted price, and the promises."""
    rows = frame[frame["part"] == "costs"]
    kept = frame[frame["part"] == "kept"]["learner_keeps"]
    numbers = {
        "sold": relative_distance(rows["epsilon"], rows["law"]),
        "paid": relative_distance(rows["payment"], rows["paid_by_law"]),
        "kept": kept.iloc[0] / kept.iloc[1:].max(),
    }
    return numbers | measure_promises(frame, budget=False)


def compute_menu(setting: Setting) -> Rows:
    """Two contracts at even odds, by the mechanism and by a numeric program over all menus."""
    types = [1.0, 2.0]
    odds = [ODDS, ODDS]
    rule = Menu(types, odds, SquareRoot())
    numeric = best_menu(np.array(types))
    columns = {
        "part": "types",
        "cost": types,
        "epsilon": rule.epsilon,
        "payment": rule.payments,
        "epsilon_by_program": numeric[:2],
        "payment_by_program": numeric[2:],
    }
    yield from pd.DataFrame(columns).to_dict("records")
    for cost in np.linspace(1.1, 4.0, setting.pick_value(30, 5)):
        menu = Menu([1.0, cost], odds, SquareRoot())
        yield dict(part="dearer", cost=cost, epsilon=menu.epsilon[1], payment=menu.payments[1])
    yield search_lies(Menu.from_law(LAW, 4, SquareRoot()), setting, "menu")


def best_menu(costs: np.ndarray) -> np.ndarray:
    """Best epsilon and payments (4,) of two incentive-compatible contracts, by SLSQP."""

    def loss(x: np.ndarray) -> float:
        return -float(ODDS * np.sum(2 * np.sqrt(np.maximum(x[:2], 0)) - x[2:]))

    def surplus(x: np.ndarray) -> np.ndarray:
        """Surplus of each owner (rows) with each contract (columns)."""
        return x[2:] - costs[:, None] * x[:2]

    rational = {"type": "ineq", "fun": lambda x: np.diag(surplus(x))}
    compatible = {"type": "ineq", "fun": lambda x: np.diag(surplus(x) - surplus(x)[:, ::-1])}
    found = minimize(
        loss,
        np.array([0.5, 0.3, 1.0, 0.7]),
        bounds=[(1e-6, 10)] * 4,
        constraints=[rational, compatible],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


def measure_menu(frame: pd.DataFrame) -> dict[str, float]:
    """The known contracts, the distance to the numeric program, and the promises."""
    rows = frame[frame["part"] == "types"]
    columns = ("epsilon", "payment")
    known = find_known(rows, "cost", (1.0, 2.0), columns)
    distance = max(relative_distance(rows[f"{name}_by_program"], rows[name]) for name in columns)
    return known | {"distance": distance} | measure_promises(frame, budget=False)


LAWS: dict[str, Law] = {
    "N2-FairQuery": (compute_fair_query, measure_fair_query),
    "N2-MinCost": (compute_min_cost, measure_min_cost),
    "N2-ladder": (compute_ladder, measure_ladder),
    "N2-virtual": (compute_virtual, measure_virtual),
    "N2-menu": (compute_menu, measure_menu),
    "N2-proportional": (compute_contest, measure_contest, {"contest": draw_contest}),
}
