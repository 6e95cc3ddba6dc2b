"""Rules of other papers: All-in (FL-Market), a price for quality (PAID-FD), versions (Dealer)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from market.analysis.versions import best_prices, price_points
from market.procurement.auctions import AllIn
from market.procurement.compensation import greedy_selection
from market.procurement.mechanism import NONE
from market.procurement.paid_quality import (
    PriceSet,
    best_price,
    best_response,
    printed_response,
    upload_quality,
)
from market.procurement.reports import best_misreports
from reproduction.drawing import PALETTE, Style, format_number
from reproduction.item import SURE, Setting
from reproduction.rivals.auctions import ROUNDING
from reproduction.specification import Found, Law, Rows

BIDDERS = 10
FACTORS = (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)  # budgets, as parts of what all together ask
ALL_IN_KINDS = {
    (0, 0): "as coded",
    (1, 0): "price capped",
    (1, 1): "price capped, owners sell alike",
}
# PAID-FD, the table of efficiency, by the value of quality.
TABLE = {
    3.0: {"part": 0.38, "epsilon": 2.77, "paid": 8737.0},
    5.0: {"part": 0.79, "epsilon": 2.84, "paid": 30178.0},
    7.0: {"part": 0.90, "epsilon": 2.90, "paid": np.nan},  # 43 thousand and something
    10.0: {"part": 1.00, "epsilon": 3.09, "paid": 55444.0},
}
SEEDS = 3  # of the table
DEVICES = 50
ROUNDS = 100
LEVELS = np.array([0.05, 0.15, 0.4, 0.8, 1.5])
SHARES = np.array([0.15, 0.25, 0.25, 0.2, 0.15])
JITTER = 0.3
INFERENCE = np.array([0.05, 0.1, 0.2])
KINDS = np.array([0.3, 0.4, 0.3])
SENDING = (0.05, 0.2)
WIDTHS = {  # least ones: half of the last digit printed
    "part": ("part who take part", 0.005),
    "epsilon": ("mean ε", 0.005),
    "paid": ("paid in 100 rounds", 0.0),
}
VERSIONS = np.array([0.5, 1.0, 2.0, 4.0])
BUYERS = 30
SELLERS = 8
PRICES = [f"price_{version}" for version in range(len(VERSIONS))]


def draw_asks(rng: np.random.Generator, markets: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the population of FL-Market: budgets (markets, n), and the money asked for each.

    A valuation is alpha times epsilon squared, 2 sqrt(epsilon), 2 epsilon or e^epsilon - 1, alpha
    in [0.5, 1.5].
    """
    epsilon = rng.uniform(0.1, 5.0, (markets, BIDDERS))
    kind = rng.integers(0, 4, epsilon.shape)
    alpha = rng.uniform(0.5, 1.5, epsilon.shape)
    shapes = np.stack([epsilon**2, 2 * np.sqrt(epsilon), 2 * epsilon, np.expm1(epsilon)])
    return epsilon, alpha * np.take_along_axis(shapes, kind[None], axis=0)[0]


def compute_all_in(setting: Setting) -> Rows:
    """Budgets sold by All-in, and gains of misreports, as coded and with capped price."""
    rng = setting.streams("all-in").rng("bids")
    for number in range(setting.pick_value(40, 8)):
        epsilon, asked = (part[0] for part in draw_asks(rng, 1))
        for factor, (capped, alike) in product(FACTORS, ALL_IN_KINDS):
            size = np.full(BIDDERS, 2.5) if alike else epsilon
            mechanism = AllIn(float(factor * asked.sum()), size.tolist(), capped=bool(capped))
            costs = asked / epsilon
            sold, paid = mechanism.settle(costs, NONE)
            gain = best_misreports(mechanism, costs, rng=rng).gain.max()
            yield dict(
                market=number,
                budget=factor,
                capped=capped,
                alike=alike,
                gain=gain / mechanism.budget,
                sold=sold.sum() / size.sum(),
                spent=paid.sum() / mechanism.budget,
                loss=max(float((costs * sold - paid).max()), 0.0),
                over=max(paid.sum() / mechanism.budget - 1, 0.0),
            )


def measure_all_in(frame: pd.DataFrame) -> dict[str, float]:
    """Losses, spending, and misreports, also where prices are capped and budgets alike."""
    alike = frame[(frame["alike"] == 1) & (frame["capped"] == 1)]
    printed = frame[frame["capped"] == 0]
    return {
        "loss": frame["loss"].max(),
        "spent": frame["over"].max(),
        "capped": alike["gain"].max(),
        "coded": printed["gain"].max(),
        "liars": share_of_liars(printed),
        "capped_liars": share_of_liars(frame[(frame["alike"] == 0) & (frame["capped"] == 1)]),
    }


def share_of_liars(frame: pd.DataFrame) -> float:
    """Share of the markets in which a misreport gains at some budget."""
    return float((frame.groupby("market")["gain"].max() > ROUNDING).mean())


def draw_all_in(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw the share of budgets sold, and the share of markets with a profitable misreport."""
    left, right = panels
    mean = frame[frame["capped"] == 0].groupby("budget")["sold"].mean()
    left.plot(mean.index, mean, "o-", ms=4, lw=1.1)
    for kind, part in frame.groupby(["capped", "alike"]):
        lies = (part["gain"] > ROUNDING).groupby(part["budget"]).mean()
        right.plot(lies.index, lies, "o-", ms=4, lw=1.1, label=ALL_IN_KINDS[kind])


def draw_devices(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw upload costs and sensitivities of fifty devices, (50,) each, as PAID-FD describes."""
    inference = np.repeat(INFERENCE, np.round(KINDS * DEVICES).astype(int))
    levels = rng.permutation(np.repeat(LEVELS, round_to_sum(SHARES * DEVICES)))
    cost = inference + rng.uniform(*SENDING, DEVICES)
    return cost, levels * rng.uniform(1 - JITTER, 1 + JITTER, DEVICES)


def round_to_sum(counts: np.ndarray) -> np.ndarray:
    """Round numbers to whole ones with the same sum."""
    return np.diff(np.round(np.cumsum(counts)).astype(int), prepend=0)


def compute_paid_fd(setting: Setting) -> Rows:
    """Best price of the learner by its value, under printed responses and under best responses."""
    responses = {"printed": printed_response, "best": best_response}
    for number in range(setting.pick_value(20, 10)):
        cost, care = draw_devices(setting.streams("paid-fd").rng("devices", number))
        for (value, table), (name, respond) in product(TABLE.items(), responses.items()):
            found = describe_market(best_price(value, cost, care, respond=respond))
            row = {"population": number, "value": value, "owners": name, **found}
            yield row | {f"published_{column}": one for column, one in table.items()}


def describe_market(made: PriceSet) -> dict[str, float]:
    """Price, share and mean epsilon of those who take part, and money paid in all rounds."""
    on = made.response.epsilon > 0
    bought = float(upload_quality(made.response.volume, made.response.epsilon).sum())
    return {
        "price": made.price,
        "part": float(on.mean()),
        "epsilon": float(made.response.epsilon[on].mean()),
        "paid": made.price * bought * ROUNDS,
    }


def measure_paid_fd(frame: pd.DataFrame) -> Found:
    """The published table, within two standard errors of both means, and its rise."""
    printed = frame[frame["owners"] == "printed"].groupby("value")
    for (name, (text, least)), (value, rows) in product(WIDTHS.items(), printed):
        said = float(rows[f"published_{name}"].iloc[0])
        if np.isnan(said):
            continue
        width = SURE * float(rows[name].std()) * np.sqrt(1 / SEEDS + 1 / len(rows))
        width = max(width, least)
        high = min(said + width, 1.0) if name == "part" else said + width
        words = {"text": text, "value": value, "said": said, "tolerance": 3 * width}
        yield "table", rows[name].mean(), said - width, high, words
    for name in ("printed", "best"):
        wide = frame[frame["owners"] == name].pivot(
            index="population", columns="value", values="epsilon"
        )
        rises = wide.diff(axis=1).iloc[:, 1:]
        least = rises.mean().idxmin()
        yield name, rises[least].mean(), {"std_error": rises[least].sem()}


def draw_paid_fd(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw participation, mean epsilon and payments by the value of quality."""
    texts = {"printed": "by the printed equation", "best": "owners' best response"}
    style: Style = {"fmt": "o-", "ms": 4, "lw": 1.1}
    for axes, name in zip(panels, WIDTHS, strict=True):
        for owners, rows in frame.groupby("owners", sort=False):
            made = rows.groupby("value")[name].agg(["mean", "std"])
            axes.errorbar(made.index, made["mean"], made["std"], label=texts[str(owners)], **style)
        published = frame.groupby("value")[f"published_{name}"].first()
        axes.plot(published.index, published, "k*", ms=8, label="published")
    panels[2].yaxis.set_major_formatter(FuncFormatter(format_number))


def compute_dealer(setting: Setting) -> Rows:
    """Random surveys: revenue of arbitrage-free prices, of one price, of separate prices; greed."""
    for number in range(setting.pick_value(200, 20)):
        rng = setting.streams("dealer").rng("surveys", number)
        worth = rng.uniform(20, 100, BUYERS)
        steep = rng.uniform(1, 3)
        worth = worth / (1 + np.exp(-steep * (VERSIONS[:, None] - rng.uniform(0.5, 2.5, BUYERS))))
        offers = [one[rng.integers(0, len(VERSIONS), BUYERS) == k] for k, one in enumerate(worth)]
        offers = [one if len(one) else np.array([1.0]) for one in offers]
        best = best_prices(VERSIONS, offers)
        levels = np.unique(np.concatenate(offers))
        yield {
            "survey": number,
            "revenue": best.revenue,
            "one_price": max(sum(revenue_at(price, one) for one in offers) for price in levels),
            "unbound": sum(max(revenue_at(price, one) for price in one) for one in offers),
            **_choose_greedily(rng),
            **dict(zip(PRICES, best.prices, strict=True)),
            "points": max(len(one) for one in price_points(VERSIONS, offers)),
        }


def _choose_greedily(rng: np.random.Generator) -> dict[str, float]:
    """Value of the greedy choice over the best of all choices, and its guarantee."""
    value = rng.uniform(0.1, 1, SELLERS)
    cost = rng.uniform(0.1, 1, SELLERS)
    budget = 1.5
    subsets = (np.arange(2**SELLERS)[:, None] >> np.arange(SELLERS)) & 1
    most = (subsets @ value)[subsets @ cost <= budget].max()
    chosen = float(value[greedy_selection(value, cost, budget)].sum() / most)
    return {"greedy": chosen, "greedy_floor": 1 - cost.max() / budget}


def revenue_at(price: float, offers: np.ndarray) -> float:
    """Revenue of a price among offers."""
    return float(price * (offers >= price * (1 - 1e-12)).sum())


def measure_dealer(frame: pd.DataFrame) -> dict[str, float]:
    """Steps of prices, revenue over other revenue, and the greedy choice over its guarantee."""
    prices = frame[PRICES].to_numpy()
    return {
        "step": np.diff(prices, axis=1).min(),
        "unit": np.diff(prices / VERSIONS, axis=1).max(),
        "half": (frame["revenue"] / frame["unbound"]).min(),
        "one": (frame["revenue"] / frame["one_price"]).min(),
        "greedy": (frame["greedy"] - frame["greedy_floor"]).min(),
    }


def draw_prices(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw ten lists of prices."""
    style: Style = {"ms": 3, "lw": 0.9, "color": PALETTE[0], "alpha": 0.6}
    for _, row in frame.head(10).iterrows():
        axes.plot(VERSIONS, row[PRICES].tolist(), "o-", **style)


def draw_halves(axes: Axes, frame: pd.DataFrame, **style: Any) -> None:
    """Draw half the revenue of separate prices."""
    ends = np.array([frame["one_price"].min(), frame["unbound"].max()])
    axes.plot(ends, ends / 2, **style)


LAWS: dict[str, Law] = {
    "N2-FL-Market": (compute_all_in, measure_all_in, draw_all_in),
    "N2-PAID-FD": (compute_paid_fd, measure_paid_fd, draw_paid_fd),
    "N2-Dealer": (compute_dealer, measure_dealer, {"prices": draw_prices, "halves": draw_halves}),
}
