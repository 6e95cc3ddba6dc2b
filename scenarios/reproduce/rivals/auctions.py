"""Auctions and offers: FairQuery and MinCost (Ghosh and Roth), the ladder (Ligett and Roth), the contest (Tullock)."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import laplace

from market.costs.functions import Linear
from market.equilibrium.solver import solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.proportional import Proportional
from market.procurement.auctions import ACCURACY, FairQuery, MinCost, ProportionalShare
from market.procurement.mechanism import NONE
from market.procurement.offers import Ladder
from scenarios.reproduce.drawing import legend, lines, scales
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.rivals.panels import panels
from scenarios.reproduce.rivals.searched import known, promises, search

DERIVED = "derived by hand; the paper prints no example that could be read"
COSTS = np.arange(1.0, 11.0)
OWNERS = 1000  # in the auction for an accuracy
BARS = 2 / 3  # the chance with which an answer is as accurate as was bought
ASKED, BAR, COUNTED = 20, 0.5, 1.0  # owners of a group, the part that is enough, epsilon of the count


def fair_query(setting: Setting) -> pd.DataFrame:
    """Sellers, epsilon and payment along the budget for costs 1 to 10, and the definition one k after another."""
    rows: list[dict[str, float | str]] = []
    for budget in np.append([2.0, 10.0], np.linspace(0.5, 60, 20 if setting.quick else 120)):
        epsilon, payments = FairQuery(float(budget)).settle(COSTS, NONE)
        k = int((epsilon > 0).sum())
        by_hand = max([0] + [k for k in range(1, 10) if COSTS[k - 1] / (10 - k) <= budget / k])
        row = {"budget": budget, "sellers": k, "by_definition": by_hand, "epsilon": epsilon[0], "payment": payments[0]}
        rows.append({"part": "budgets", **row, "spend": payments.sum()})
    return pd.DataFrame([*rows, search(FairQuery(3.0), setting, "fair query")])


def fair_query_checks(frame: pd.DataFrame) -> list[Check]:
    """Two known answers, the definition, and what the theorem promises."""
    rows = frame[frame["part"] == "budgets"]
    apart = float((rows["sellers"] - rows["by_definition"]).abs().max())
    return [
        *known(rows, {"budget": 2.0}, {"sellers": 3, "epsilon": 1 / 7, "payment": 4 / 7}, DERIVED),
        *known(rows, {"budget": 10.0}, {"sellers": 6, "epsilon": 1 / 4, "payment": 10 / 6}, DERIVED),
        Check("sellers apart from the largest k that the definition allows, at most", apart, 0, 0, "0", "law"),
        *promises(frame),
    ]


def draw_fair_query(frame: pd.DataFrame, note: str) -> Figure:
    """Sellers, and what each is paid, along the budget."""
    figure, (left, right) = panels("FairQuery: owners of costs 1 to 10, each its own secret", note, 2)
    rows = frame[frame["part"] == "budgets"].sort_values("budget")
    left.step(rows["budget"], rows["sellers"], where="post", lw=1.2)
    left.set(xlabel="budget, money", ylabel="owners who sell")
    right.plot(rows["budget"], rows["payment"], lw=1.2, label="paid to each, money")
    right.plot(rows["budget"], rows["epsilon"], lw=1.2, label="ε that each sells")
    right.set(xlabel="budget, money", ylabel="money; ε")
    legend(right)
    return figure


def min_cost(setting: Setting) -> pd.DataFrame:
    """Sellers, epsilon and the exact chance of an answer as accurate as bought, for 1,000 owners of costs 1 to 1,000."""
    rows: list[dict[str, float | str]] = []
    costs = np.arange(1.0, OWNERS + 1)
    for accuracy in np.append(0.2, np.geomspace(0.01, 1.5, 10 if setting.quick else 40)):
        epsilon, payments = MinCost(float(accuracy)).settle(costs, NONE)
        k = int((epsilon > 0).sum())
        noise, limit, bias = laplace(scale=OWNERS - k), accuracy * OWNERS, (OWNERS - k) / 2
        chance = noise.cdf(limit - bias) - noise.cdf(-limit - bias)
        row = {"accuracy": accuracy, "sellers": k, "epsilon": epsilon[0], "payment": payments[0], "chance": chance}
        rows.append({"part": "accuracies", **row, "constant": ACCURACY})
    return pd.DataFrame([*rows, search(MinCost(0.7), setting, "min cost")])


def min_cost_checks(frame: pd.DataFrame) -> list[Check]:
    """A known answer, the constant, the accuracy, and that nobody gains by lying."""
    rows = frame[frame["part"] == "accuracies"]
    bought = rows[rows["sellers"] < OWNERS - 1]  # one owner is left out at least
    return [
        *known(rows, {"accuracy": 0.2}, {"sellers": 875, "epsilon": 0.008}, DERIVED),
        Check("the constant 1/2 + ln 3", float(rows["constant"].iloc[0]), 1.5986, 1.5987, "1/2 + ln 3, as printed"),
        Check(
            "chance of an answer as accurate as bought, at least", float(bought["chance"].min()), BARS, 1, "2/3", "law"
        ),
        *promises(frame),
    ]


def draw_min_cost(frame: pd.DataFrame, note: str) -> Figure:
    """Sellers, and the chance of an accurate answer, along the accuracy."""
    figure, (left, right) = panels("MinCost: a count of 1,000 owners, answered to an accuracy", note, 2)
    rows = frame[frame["part"] == "accuracies"].sort_values("accuracy")
    lines(left, rows, "accuracy", "sellers", logs="x")
    left.set(xlabel="largest error, part of the owners", ylabel="owners who sell")
    lines(right, rows, "accuracy", "chance", logs="x")
    right.axhline(BARS, lw=1, ls="--", color="#636c76")
    right.set(xlabel="largest error, part of the owners", ylabel="chance of so small an error")
    return figure


def ladder(setting: Setting) -> pd.DataFrame:
    """The chance that the offers end with one group, by its takers, with and without one more of them."""
    takers = np.arange(ASKED + 1)
    noise = laplace(scale=1 / COUNTED)
    ends = noise.sf(BAR * ASKED - takers)
    one_more = noise.sf(BAR * ASKED - np.minimum(takers + 1, ASKED))
    worst = np.maximum(one_more / ends, (1 - ends) / (1 - one_more))
    rows = pd.DataFrame(
        {
            "part": "counts",
            "takers": takers,
            "ends": ends,
            "ratio": np.where(takers < ASKED, worst, np.nan),
            "bound": np.exp(COUNTED),
        }
    )
    mechanism = Ladder(4.0, 0.3, 0.5, growth=1.5, group=2, bar=BAR, count_epsilon=COUNTED)
    tried = 2000 if setting.quick else 20_000
    rng, few = setting.streams("ladder").rng("asked"), Ladder(1e6, 1.0, 1.0, growth=2.0, group=ASKED, bar=BAR)
    costs = np.repeat([0.5, 10.0], [13, 2 * ASKED - 13])  # takers of a first group drawn of forty: about a third
    chances = np.stack([few.draw(2 * ASKED, rng=rng) for _ in range(tried)])
    takes = np.take_along_axis(
        np.broadcast_to(costs < 1, (tried, 2 * ASKED)), chances[:, : 2 * ASKED].argsort(axis=1), 1
    )
    first = takes[:, :ASKED].sum(axis=1)
    again = (
        few.settle(np.broadcast_to(costs, (tried, 2 * ASKED)), chances)[1].sum(axis=1) > first
    )  # money went on to a second offer
    more = np.where(takes[:, ASKED:].sum(axis=1) > 0, ~again, np.nan)  # where the second group has takers, one can tell
    seen = pd.DataFrame({"takers": first, "ended": more}).dropna().groupby("takers")["ended"].agg(["mean", "size"])
    rows = rows.merge(seen.rename(columns={"mean": "measured", "size": "times"}), on="takers", how="left")
    return pd.concat([rows, pd.DataFrame([search(mechanism, setting, "ladder lies")])])


def ladder_checks(frame: pd.DataFrame) -> list[Check]:
    """The count's own privacy, the simulated ends against Laplace's law, and what offers promise."""
    rows = frame[frame["part"] == "counts"]
    often = rows[rows["times"] >= 50]
    spread = np.sqrt(np.maximum(often["ends"] * (1 - often["ends"]), 1e-4) / often["times"])
    apart = float(((often["measured"] - often["ends"]).abs() / spread).max())
    return [
        Check(
            "odds of the end with one taker more, at most",
            float(rows["ratio"].max()),
            1,
            math.e * (1 + 1e-9),
            "e",
            "law",
        ),
        Check("simulated ends off the law, standard errors at most", apart, 0, 4, "", "law", 4.0),
        *promises(frame),
    ]


def draw_ladder(frame: pd.DataFrame, note: str) -> Figure:
    """How likely the offers end, by how many of a group took one; and what one taker tells."""
    figure, (left, right) = panels(
        "The ladder: offers to 20 fresh owners at a time, until a noisy count is enough", note, 2
    )
    rows = frame[frame["part"] == "counts"].sort_values("takers")
    left.plot(rows["takers"], rows["ends"], lw=1.2, label="Laplace's law")
    left.plot(rows["takers"], rows["measured"], "o", ms=4, label="simulated")
    left.set(xlabel="owners of a group who took the offer", ylabel="chance that the offers end")
    right.plot(rows["takers"], rows["ratio"], "o", ms=4, label="one taker more, odds at most")
    right.axhline(math.e, lw=1, ls="--", color="#636c76", label="e, as the count's ε of 1 allows")
    right.set(xlabel="owners of a group who took the offer", ylabel="ratio of chances")
    for axes in (left, right):
        legend(axes)
    return figure


def contest(setting: Setting) -> pd.DataFrame:
    """What owners of costs 1, 2 and 3 sell for 12, by the formula and by the game's solver; and contests of up to 50."""
    rows = []
    counts = (5, 20) if setting.quick else (2, 5, 20, 50)
    markets = [("by hand", np.array([1.0, 2.0, 3.0]), 12.0)]
    markets += [(f"{n:2d} owners", setting.streams("contest").rng(n).uniform(0.5, 3.0, n), 3.0 * n) for n in counts]
    for name, costs, money in markets:
        epsilon, payments = ProportionalShare(money).settle(costs, NONE)
        owners = Owners(tuple(map(str, range(len(costs)))), 1, 0.0, money, Linear(costs))
        game = Game(owners, Proportional(money, "epsilon"), None, 0.0)
        solved = solve(game, rng=setting.streams("contest").rng("starts"), starts=1).epsilon
        part = {"part": name, "cost": costs, "epsilon": epsilon, "payment": payments, "solved": solved}
        rows.append(pd.DataFrame(part))
    lies = search(ProportionalShare(3.0), setting, "contest lies")
    return pd.concat([*rows, pd.DataFrame([lies])])


def contest_checks(frame: pd.DataFrame) -> list[Check]:
    """The known answer, the solver's, and that owners who lie do gain."""
    rows, search_row = frame[frame["part"] != "search"], frame[frame["part"] == "search"].iloc[0]
    by_hand = rows[rows["part"] == "by hand"]
    apart = float((rows["epsilon"] - rows["solved"]).abs().max() / rows["epsilon"].max())
    return [
        *known(by_hand, {"cost": 1.0}, {"epsilon": 8 / 3, "payment": 8.0}, DERIVED),
        *known(by_hand, {"cost": 2.0}, {"epsilon": 4 / 3, "payment": 4.0}, DERIVED),
        Check("epsilon at cost 3", float(by_hand["epsilon"].iloc[2]), 0.0, 0.0, DERIVED),
        Check("formula apart from the game's equilibrium, part of the largest ε", apart, 0, 1e-6, "0", "law"),
        Check(
            "the best liar's gain, money: not truthful", float(search_row["gain"]), 0.01, np.inf, "above 0", "law", 1.0
        ),
        *promises(frame, truthful=False),
    ]


def draw_contest(frame: pd.DataFrame, note: str) -> Figure:
    """What owners sell by what it costs them: the formula as a line, the solved game as markers."""
    figure, (axes,) = panels("A fixed sum shared in proportion to what each sells", note)
    rows = frame[~frame["part"].isin(["search", "by hand"])].copy()
    rows["share"] = rows["epsilon"] / rows.groupby("part")["epsilon"].transform("sum")
    rows["of_the_game"] = rows["solved"] / rows.groupby("part")["solved"].transform("sum")
    lines(axes, rows, "cost", "of_the_game", "part", law="share", logs="")
    axes.set(xlabel="cost of a unit of ε, money", ylabel="part of all that is sold")
    scales(axes, "")
    legend(axes)
    return figure


SEARCHED = "Lies were looked for in random markets of six owners, each of whom tried ninety reports, chances held."
GHOSH = "Ghosh and Roth, Selling Privacy at Auction (2011)"
item = partial(Item, cost=2.0)
ITEMS = (
    item(
        "N2-FairQuery",
        f"{GHOSH}, FairQuery",
        "The most sellers that a budget affords at one price",
        "With a budget, the cheapest k owners sell 1/(N − k) each at one price, k as large as the budget affords. "
        "Nobody loses, nobody gains by lying, and the budget is kept.",
        fair_query,
        fair_query_checks,
        draw_fair_query,
        f"The answers for costs 1 to 10 are derived by hand from the rule. {SEARCHED}",
    ),
    item(
        "N2-MinCost",
        f"{GHOSH}, MinCostAuction",
        "The cheapest count of a given accuracy",
        "To be off by at most a part α of the owners, two times in three, (1 − α′)N owners sell 1/(N − k) each, "
        "α′ = α/(1/2 + ln 3), for the price of the first who does not. Nobody gains by lying.",
        min_cost,
        min_cost_checks,
        draw_min_cost,
        f"The constant is the paper's; the answer for 1,000 owners is derived. The chance is Laplace's law. {SEARCHED}",
    ),
    item(
        "N2-ladder",
        "Ligett and Roth, Take It or Leave It (2012)",
        "Rising offers to fresh owners until a noisy count of takers is enough",
        "Offers rise until enough of a fresh group take one; the count is noisy, so that refusing an offer stays private. "
        "Nobody can gain by taking an offer below its cost or refusing one above.",
        ladder,
        ladder_checks,
        draw_ladder,
        f"The paper's estimate uses the last group alone; here all who took an offer sell, and a budget ends it. {SEARCHED}",
    ),
    item(
        "N2-proportional",
        "Tullock's contest, linear costs (THEORY 7)",
        "A fixed sum shared in proportion to what each sells",
        "At the equilibrium of k active owners, the cheapest, they sell (k − 1)R/Σc in all, each in proportion to "
        "1 − (k − 1)c/Σc. Who is believed to cost less sells more: reporting costs truly is no equilibrium.",
        contest,
        contest_checks,
        draw_contest,
        f"Derived; the solver of the game is the second route. {SEARCHED}",
    ),
)
