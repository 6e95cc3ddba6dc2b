"""Rules of other papers: FL-Market's All-in, PAID-FD's price for quality and its table, Dealer's prices of versions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from market.analysis.versions import best_prices, price_points
from market.procurement.all_in import AllIn
from market.procurement.compensation import greedy
from market.procurement.mechanism import NONE
from market.procurement.paid_quality import PriceSet, best_price, best_response, printed_response, quality
from market.procurement.reports import misreports
from scenarios.reproduce.drawing import legend, scales, written
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.rivals.panels import panels
from scenarios.reproduce.rivals.searched import ROUNDING

BIDDERS, FACTORS = 10, (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)  # owners; budgets, as parts of what all together ask
TABLE = {  # PAID-FD, the table of efficiency: value of quality: part who take part, mean epsilon, paid in 100 rounds
    3.0: (0.38, 2.77, 8737.0),
    5.0: (0.79, 2.84, 30178.0),
    7.0: (0.90, 2.90, np.nan),  # 43 thousand and something
    10.0: (1.00, 3.09, 55444.0),
}
DEVICES, ROUNDS = 50, 100
LEVELS, SHARES, JITTER = np.array([0.05, 0.15, 0.4, 0.8, 1.5]), np.array([0.15, 0.25, 0.25, 0.2, 0.15]), 0.3
INFERENCE, KINDS, SENDING = np.array([0.05, 0.1, 0.2]), np.array([0.3, 0.4, 0.3]), (0.05, 0.2)
VERSIONS, BUYERS = np.array([0.5, 1.0, 2.0, 4.0]), 30


def asked_of(rng: np.random.Generator, markets: int) -> tuple[np.ndarray, np.ndarray]:
    """Budgets that owners would sell (markets, n), and the money each asks for all of it: FL-Market's population.

    A valuation is alpha times epsilon squared, 2 sqrt(epsilon), 2 epsilon or e^epsilon - 1, alpha in [0.5, 1.5].
    """
    epsilon = rng.uniform(0.1, 5.0, (markets, BIDDERS))
    kind, alpha = rng.integers(0, 4, epsilon.shape), rng.uniform(0.5, 1.5, epsilon.shape)
    shapes = np.stack([epsilon**2, 2 * np.sqrt(epsilon), 2 * epsilon, np.expm1(epsilon)])
    return epsilon, alpha * np.take_along_axis(shapes, kind[None], axis=0)[0]


def all_in(setting: Setting) -> pd.DataFrame:
    """What All-in buys at each budget, what the best liar gains, and the same with its price capped."""
    rng, rows = setting.streams("all-in").rng("bids"), []
    for number in range(8 if setting.quick else 40):
        epsilon, asked = (part[0] for part in asked_of(rng, 1))
        for factor in FACTORS:
            for capped, alike in ((False, False), (True, False), (True, True)):
                size = np.full(BIDDERS, 2.5) if alike else epsilon
                mechanism = AllIn(float(factor * asked.sum()), size.tolist(), capped=capped)
                costs = asked / epsilon
                sold, paid = mechanism.settle(costs, NONE)
                gain = misreports(mechanism, costs, rng=rng).gain.max() / mechanism.budget
                row = {"market": number, "budget": factor, "capped": int(capped), "alike": int(alike), "gain": gain}
                over = max(paid.sum() / mechanism.budget - 1, 0.0)
                loss = max(float((costs * sold - paid).max()), 0.0)
                rows.append(
                    {
                        **row,
                        "sold": sold.sum() / size.sum(),
                        "spent": paid.sum() / mechanism.budget,
                        "loss": loss,
                        "over": over,
                    }
                )
    return pd.DataFrame(rows)


def all_in_checks(frame: pd.DataFrame) -> list[Check]:
    """Nobody loses, the budget is kept; and no lie gains where prices are capped and budgets alike."""
    alike = frame[(frame["alike"] == 1) & (frame["capped"] == 1)]
    printed = frame[frame["capped"] == 0]
    liars = float((printed.groupby("market")["gain"].max() > ROUNDING).mean())
    return [
        Check("the worst that the truth did to an owner, money", float(frame["loss"].max()), 0, ROUNDING, "0", "law"),
        Check("spent over the budget, relative, at most", float(frame["over"].max()), 0, ROUNDING, "0", "law"),
        Check(
            "the best liar's gain, part of the budget: capped, alike",
            float(alike["gain"].max()),
            0,
            ROUNDING,
            "0",
            "law",
        ),
        Check(
            "the best liar's gain, part of the budget: as coded",
            float(printed["gain"].max()),
            0,
            ROUNDING,
            "wanted: 0",
            "value",
            1.0,
        ),
        Check("markets in which a lie gains at some budget", liars, 0, 0, "wanted: none", "value", 0.6),
    ]


def draw_all_in(frame: pd.DataFrame, note: str) -> Figure:
    """What is sold, and how often a lie gains, along the budget."""
    figure, (left, right) = panels(
        "FL-Market's All-in: ten owners, each of whom sells a whole budget or nothing", note, 2
    )
    mean = frame[frame["capped"] == 0].groupby("budget")["sold"].mean()
    left.plot(mean.index, mean, "o-", ms=4, lw=1.1)
    left.set(xlabel="budget, part of what all ask", ylabel="sold, part of all ε", ylim=(0, 1.05))
    names = {(0, 0): "as coded", (1, 0): "price capped", (1, 1): "price capped, owners sell alike"}
    for (capped, alike), part in frame.groupby(["capped", "alike"]):
        lies = (part["gain"] > ROUNDING).groupby(part["budget"]).mean()
        right.plot(lies.index, lies, "o-", ms=4, lw=1.1, label=names[capped, alike])
    right.set(xlabel="budget, part of what all ask", ylabel="markets in which a lie gains", ylim=(-0.03, 1.0))
    legend(right)
    return figure


def devices(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Upload costs and sensitivities of fifty devices, (50,) each, drawn as PAID-FD describes them."""
    inference = np.repeat(INFERENCE, np.round(KINDS * DEVICES).astype(int))
    levels = rng.permutation(np.repeat(LEVELS, _whole(SHARES * DEVICES)))
    return inference + rng.uniform(*SENDING, DEVICES), levels * rng.uniform(1 - JITTER, 1 + JITTER, DEVICES)


def _whole(counts: np.ndarray) -> np.ndarray:
    """Whole numbers near these that have the same sum."""
    return np.diff(np.round(np.cumsum(counts)).astype(int), prepend=0)


def paid_fd(setting: Setting) -> pd.DataFrame:
    """The learner's best price by its value of quality, with owners who follow the printed equation and who do their best."""
    rows = []
    for number in range(10 if setting.quick else 20):
        cost, care = devices(setting.streams("paid-fd").rng("devices", number))
        for value, (part, epsilon, paid) in TABLE.items():
            for name, respond in (("printed", printed_response), ("best", best_response)):
                made = best_price(value, cost, care, respond=respond)
                rows.append({"population": number, "value": value, "owners": name, **_market(made)})
                rows[-1] |= {"published_part": part, "published_epsilon": epsilon, "published_paid": paid}
    return pd.DataFrame(rows)


def _market(made: PriceSet) -> dict[str, float]:
    """What a price comes to: who takes part, at which mean epsilon, paid how much in all rounds."""
    on = made.response.epsilon > 0
    money = made.price * float(quality(made.response.volume, made.response.epsilon).sum()) * ROUNDS
    return {
        "price": made.price,
        "part": float(on.mean()),
        "epsilon": float(made.response.epsilon[on].mean()),
        "paid": money,
    }


def paid_fd_checks(frame: pd.DataFrame) -> list[Check]:
    """The table's numbers by the printed equation, to three times their scatter between populations; and that they rise."""
    checks = []
    printed = frame[frame["owners"] == "printed"].groupby("value")
    for name, what in (("part", "part who take part"), ("epsilon", "mean ε"), ("paid", "paid in 100 rounds")):
        least = {"part": 2 / DEVICES, "epsilon": 0.05, "paid": 0.0}[
            name
        ]  # shares of fifty are not whole; digits printed
        for value, rows in printed:
            said, width = float(rows[f"published_{name}"].iloc[0]), max(3 * float(rows[name].std()), least)
            if np.isfinite(said):
                words = f"{what} where quality is worth {value:g}"
                found = float(rows[name].mean())
                checks.append(Check(words, found, said - width, said + width, f"{said:g}", "value", 2 * width))
    for name in ("printed", "best"):
        means = frame[frame["owners"] == name].groupby("value")["epsilon"].mean()
        words = f"least rise of mean ε with the value of quality, {name} responses"
        checks.append(Check(words, float(np.diff(means).min()), 0, np.inf, "above 0", "law", 0.2))
    return checks


def draw_paid_fd(frame: pd.DataFrame, note: str) -> Figure:
    """Mean epsilon and what is paid, by the learner's value: as published, by the printed equation, at owners' best."""
    figure, three = panels("PAID-FD: fifty devices answer a price for quality", note, 3, width=8.6)
    texts = {"printed": "by the printed equation", "best": "owners' best response"}
    told = {"part": "part who take part", "epsilon": "mean ε of who takes part", "paid": "paid in 100 rounds, money"}
    for axes, (name, label) in zip(three, told.items(), strict=True):
        for owners, rows in frame.groupby("owners", sort=False):
            made = rows.groupby("value")[name].agg(["mean", "std"])
            axes.errorbar(made.index, made["mean"], made["std"], fmt="o-", ms=4, lw=1.1, label=texts[str(owners)])
        published = frame.groupby("value")[f"published_{name}"].first()
        axes.plot(published.index, published, "k*", ms=8, label="published")
        axes.set(xlabel="worth of quality to the learner, γ", ylabel=label)
        scales(axes, "")
    three[2].yaxis.set_major_formatter(FuncFormatter(written))
    legend(three[0])
    return figure


def dealer(setting: Setting) -> pd.DataFrame:
    """Random surveys: revenue of arbitrage-free prices, of one price for all, of each version alone; the greedy choice."""
    rows = []
    for number in range(20 if setting.quick else 200):
        rng = setting.streams("dealer").rng("surveys", number)
        worth = rng.uniform(20, 100, BUYERS) / (
            1 + np.exp(-rng.uniform(1, 3) * (VERSIONS[:, None] - rng.uniform(0.5, 2.5, BUYERS)))
        )
        offers = [one[rng.integers(0, len(VERSIONS), BUYERS) == k] for k, one in enumerate(worth)]
        offers = [one if len(one) else np.array([1.0]) for one in offers]
        best = best_prices(VERSIONS, offers)
        alone = [max(_income(price, one) for price in one) for one in offers]
        levels = np.unique(np.concatenate(offers))
        single = max(sum(_income(price, one) for one in offers) for price in levels)
        value, cost, budget = rng.uniform(0.1, 1, 8), rng.uniform(0.1, 1, 8), 1.5
        subsets = (np.arange(256)[:, None] >> np.arange(8)) & 1
        most = (subsets @ value)[subsets @ cost <= budget].max()
        chosen = float(value[greedy(value, cost, budget)].sum() / most)
        rows.append(
            {"survey": number, "revenue": best.revenue, "one_price": single, "unbound": sum(alone), "greedy": chosen}
        )
        rows[-1] |= {"greedy_floor": 1 - cost.max() / budget, **{f"price_{k}": p for k, p in enumerate(best.prices)}}
        rows[-1]["points"] = max(len(one) for one in price_points(VERSIONS, offers))
    return pd.DataFrame(rows)


def _income(price: float, offers: np.ndarray) -> float:
    return float(price * (offers >= price * (1 - 1e-12)).sum())


def dealer_checks(frame: pd.DataFrame) -> list[Check]:
    """Freedom from arbitrage, a half of what is possible at all, and the greedy choice's guarantee."""
    prices = frame[[f"price_{k}" for k in range(len(VERSIONS))]].to_numpy()
    rise, unit = np.diff(prices, axis=1).min(), np.diff(prices / VERSIONS, axis=1).max()
    half = float((frame["revenue"] / frame["unbound"]).min())
    return [
        Check(
            "least step of a price to a less noisy version, money", float(rise), -1e-6, np.inf, "0 or more", "law", 20.0
        ),
        Check("largest step of the price of a unit of ε, money", float(unit), -np.inf, 1e-6, "0 or less", "law", 20.0),
        Check("revenue over that of versions priced alone, least", half, 0.5, 1 + 1e-9, "at least 1/2", "law", 0.2),
        Check(
            "revenue over that of one price for all, least",
            float((frame["revenue"] / frame["one_price"]).min()),
            1 - 1e-9,
            np.inf,
            "1",
            "law",
            0.2,
        ),
        Check(
            "greedy choice over its guarantee, least",
            float((frame["greedy"] - frame["greedy_floor"]).min()),
            0,
            np.inf,
            "0",
            "law",
            0.3,
        ),
    ]


def draw_dealer(frame: pd.DataFrame, note: str) -> Figure:
    """Ten lists of prices, and what they bring in beside versions priced alone."""
    figure, (left, right) = panels(
        "Dealer: prices of four versions of a model that nobody undercuts by buying two", note, 2
    )
    for _, row in frame.head(10).iterrows():
        left.plot(
            VERSIONS, [row[f"price_{k}"] for k in range(len(VERSIONS))], "o-", ms=3, lw=0.9, color="#0072b2", alpha=0.6
        )
    left.set(xlabel="ε of a version", ylabel="price, money")
    right.plot(frame["unbound"], frame["revenue"], "o", ms=3, label="arbitrage-free")
    right.plot(frame["unbound"], frame["one_price"], "s", ms=3, label="one price for all")
    ends = np.array([frame["one_price"].min(), frame["unbound"].max()])
    right.plot(ends, ends / 2, "--", lw=1, color="#636c76", label="one half")
    right.set(xlabel="each version priced alone, money", ylabel="revenue, money")
    legend(right)
    return figure


ITEMS = (
    Item(
        "N2-FL-Market",
        "Zheng and others, FL-Market (2022), All-in",
        "Whole privacy budgets at one price",
        "Owners by rising price per unit of ε sell a whole budget each while the money covers all units at the dearest "
        "price; all money is shared at one price. An auction should leave nobody worse off, keep the budget and make the "
        "truth best.",
        all_in,
        all_in_checks,
        draw_all_in,
        "The paper's text could not be read; the rule is that of its authors' public code, as are the owners' valuations. "
        "So coded, a loser gains by reporting less than a winner whom the money then does not reach. Paid no more than the "
        "first price passed over, and among owners who sell alike, no lie was found; where they sell different amounts lies "
        "still gain.",
        cost=20.0,
    ),
    Item(
        "N2-PAID-FD",
        "PAID-FD (an author's public draft, 2026, not published), table of efficiency and Theorem 1",
        "A price for quality, and what fifty devices sell at it",
        "The more quality is worth to the learner the more devices take part (38, 79, 90, 100 %), at a larger mean ε (2.77, "
        "2.84, 2.90, 3.09), for more money (8,737 to 55,444 in 100 rounds). Each device's best ε solves a cubic without its "
        "upload cost.",
        paid_fd,
        paid_fd_checks,
        draw_paid_fd,
        "The devices are drawn anew from the ranges that the manuscript's settings give, so numbers differ by their scatter "
        "(three of that of one population are allowed, which is kind: the draft tells of three seeds; our mean ε "
        "are a little higher throughout). They come out only if devices follow the cubic as printed. That cubic has 1 where "
        "the first-order conditions have the upload cost: devices that do their best take part sooner, sell less where "
        "quality is little worth, and cost the learner 28 % less at γ = 10. Its accuracies are of networks not built here.",
        cost=8.0,
    ),
    Item(
        "N2-Dealer",
        "Liu and others, Dealer (2021), Theorems 5.1 and 5.9, Algorithms 3, 4 and 6",
        "Arbitrage-free prices of a model's versions",
        "Prices that rise with ε while the price of a unit falls leave nothing to arbitrage and bring in at least half of "
        "the best revenue; the best of them are found among finitely many. Taking owners by value for money misses at most "
        "the part of the best that the dearest owner is of the budget.",
        dealer,
        dealer_checks,
        draw_dealer,
        "The paper's figures are of its own surveys, which are not published; ours are drawn. One half is checked against "
        "versions priced each alone, which is more than any prices free of arbitrage bring in.",
        cost=4.0,
    ),
)
