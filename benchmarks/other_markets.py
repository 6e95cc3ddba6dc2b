"""Other data markets beside dpmarket's: the same owners, records and money.

    python -m benchmarks.other_markets

The cheapest owner is honest, or has its targets mixed up ("junk"), or sells the records of the next
one again ("copy"). A second table compares the Shapley values of raw records with pyDVL's, owners
being groups, where it is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from time import process_time

import numpy as np

from benchmarks.market_trades import (
    OWNERS,
    RULES,
    Market,
    Rule,
    Trade,
    open_market,
    sum_records,
    value_records,
)
from learning.arrays import Array

MONEY = (100.0, 2000.0, 8000.0)
SETTLED = MONEY[1]  # where payments and cheats are looked at
PRICED = ("DAVED", "Wasserstein")  # rules that ask owners for prices
ASKED = (1.25, 1.5)  # times its price that the cheapest owner asks, to gain
SEEDS, ORDERS = 10, 100  # markets; orders of arrival of pyDVL
FIGURES = ("100", "2000", "8000", "with junk", "paid", "junk", "copy", "by asking", "seconds")


def gain_by_asking(market: Market, rule: Rule, honest: Trade) -> float:
    """Most that the cheapest owner gains by asking for more, in parts of its honest payment."""
    price, found = market.prices[0], [0.0]
    for factor in ASKED:
        trade = rule(market, np.array([factor * price, *market.prices[1:]]))
        more = trade.paid - honest.paid - price * (trade.sold - honest.sold)
        found.append(float(more[0] / max(honest.paid[0], 1e-9)))
    return max(found)


def measure_seed(owners: str, seed: int) -> Iterator[tuple[str, str, float]]:
    """Figures of all rules in the markets of a seed: rule, figure, value."""
    for cheat in ("", "junk", "copy"):
        market = open_market(seed, owners, cheat)
        least = market.measure(sum_records(market).solve())
        if not cheat:
            best = least
            yield "learner alone", f"{SETTLED:.0f}", market.measure(market.own) - best
        for name, rule in RULES.items():
            for money in MONEY if not cheat else (SETTLED,):
                began = process_time()
                here = replace(market, money=money)
                trade = rule(here)
                error = market.measure(trade.theta) - best
                yield name, f"{money:.0f}" if not cheat else f"with {cheat}", error
                if money != SETTLED:
                    continue
                if cheat:
                    part = trade.paid[:1] if cheat == "junk" else trade.paid[:2]
                    yield name, cheat, float(part.sum())
                    continue
                yield name, "seconds", process_time() - began
                yield name, "paid", float(trade.paid.sum())
                if name in PRICED:
                    yield name, "by asking", gain_by_asking(here, rule, trade)


def print_table(owners: str) -> None:
    """Print means over the seeds, with half the width of their 95 % intervals."""
    found: dict[str, dict[str, list[float]]] = {}
    for seed in range(1, SEEDS + 1):
        for name, figure, value in measure_seed(owners, seed):
            found.setdefault(name, {}).setdefault(figure, []).append(value)
    print(f"\n| {owners} | {' | '.join(FIGURES)} |\n|{'---|' * (1 + len(FIGURES))}")
    for name, figures in found.items():
        cells = [_write(np.array(figures.get(figure, []))) for figure in FIGURES]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _write(values: Array) -> str:
    if not len(values):
        return ""
    return f"{values.mean():.4g} ± {1.96 * values.std(ddof=1) / np.sqrt(len(values)):.2g}"


def value_by_pydvl(market: Market) -> dict[str, tuple[float, Array]]:
    """Seconds and values by pyDVL: exact, by chance, leaving one out; it sees raw records."""
    import pydvl.valuation as dvl
    from pydvl.utils.caching import CachedFuncConfig, InMemoryCacheBackend

    class Line:
        """Least squares in the form that pyDVL asks for."""

        def fit(self, x: Array, y: Array) -> None:
            self.theta = np.linalg.lstsq(x, y, rcond=None)[0]

        def predict(self, x: Array) -> Array:
            return np.asarray(x @ self.theta)

        def score(self, x: Array, y: Array) -> float:
            return -float(market.check.fitness.value(self.theta))

    (x, y), count = market.rows.pooled, len(market.prices)
    groups = np.repeat(np.arange(count), len(y) // count)
    records = dvl.GroupedDataset(x, y, data_groups=groups)
    tested = dvl.Dataset(market.check.x, market.check.y)
    nobody = -float(market.check.fitness.value(market.own))
    scorer = dvl.SupervisedScorer(lambda line, x, y: line.score(x, y), tested, default=nobody)
    kept = {
        "cache_backend": InMemoryCacheBackend(),
        "cached_func_options": CachedFuncConfig(time_threshold=0),
    }
    utility = dvl.ModelUtility(Line(), scorer, clone_before_fit=False, **kept)
    every = dvl.DeterministicUniformSampler(index_iteration=dvl.FiniteSequentialIndexIteration)
    orders = dvl.PermutationSampler(seed=1)
    ways = {
        "exact": dvl.ShapleyValuation(utility, every, dvl.NoStopping(), progress=False),
        f"{ORDERS} orders": dvl.ShapleyValuation(utility, orders, dvl.MinUpdates(ORDERS)),
        "left out": dvl.LOOValuation(utility),
    }
    found = {}
    for name, way in ways.items():
        began = process_time()
        way.fit(records)
        found[name] = process_time() - began, way.result.values
    return found


def main() -> int:
    """Print the tables."""
    for owners in OWNERS:
        print_table(owners)
    for owners in OWNERS:
        market = open_market(1, owners)
        began = process_time()
        shapley, left_out = value_records(market)
        print(f"\n{owners}: {process_time() - began:.2g} s here")
        try:
            theirs = value_by_pydvl(market)
        except ImportError:
            print("pyDVL is not installed")
            continue
        for name, (seconds, values) in theirs.items():
            ours = left_out if name == "left out" else shapley
            away = abs(values - ours).max() / abs(ours).max()
            print(f"pyDVL, {name}: {seconds:.2g} s, largest difference {away:.1e} of the largest")
    return 0


if __name__ == "__main__":
    sys.exit(main())
