"""Ten clinics or three insurers, a learner, and what it buys of them under each rule.

The learner has 150 rows of its own and 1,000 check rows. Owners have a price for a unit of epsilon,
and sell records themselves for what the largest epsilon costs. `market_rules` has the rules of
others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import wasserstein_distance

import benchmarks.market_rules as rules
from learning.arrays import Array
from learning.losses.coordinates import Coordinates, whitening_transform
from learning.training.acceptance import AnswerTest, settle_promises
from learning.training.coalitions import list_coalitions
from learning.training.contribution import CheckRows, worth_of
from learning.training.sums import ReleasedSums, released_sums
from reproduction.beside.rows import Rows, collect_rows
from scenarios.planning import Prepared, prepare
from scenarios.runner import carry_out
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import market_data
from scenarios.training import train_at

OWNERS = {"three insurers": [300.0, 400.0, 550.0], "ten clinics": np.linspace(75, 140, 10).tolist()}
RECORDS, VISITS = 16_500, 20.0  # of all owners, in equal parts; range of the targets
MOST = 10.0  # epsilon; records themselves are sold for what it costs
FIXED, DELTA = 1.5, 1e-5  # of the Wasserstein market
ROUNDS, STEP = 8, 0.5  # of martFL
KEYS = (
    "data.check_rows=1000",
    "data.holdout=rest",
    "learning.algorithm=one_step",
    "learning.mechanism=l2",
    "validation.runs=2",
    "market.starts=1",
)


@dataclass(frozen=True)
class Market:
    """Owners, their records and prices, and the learner's money."""

    told: tuple[str, ...] = field(repr=False)
    prepared: Prepared = field(repr=False)
    rows: Rows = field(repr=False)
    check: CheckRows = field(repr=False)
    prices: Array
    money: float
    rng: np.random.Generator

    def scenario(self, policy: str) -> Scenario:
        """Scenario in which a policy shares the money."""
        return load(
            "three_insurers", [f"policy.kind={policy}", f"policy.budget={self.money}", *self.told]
        )

    @property
    def own(self) -> Array:
        """Model of the learner's own rows, (p,)."""
        return self.prepared.planner.own_model

    def measure(self, theta: Array) -> float:
        """Root mean squared error on held-out rows, visits."""
        return self.rows.measure(lambda x: np.asarray(x @ theta))[0]


@dataclass(frozen=True)
class Trade:
    """The learner's model, what each owner is paid, and what it sold in units of epsilon."""

    theta: Array
    paid: Array
    sold: Array


Rule = Callable[..., Trade]


def open_market(seed: int, owners: str, cheat: str = "") -> Market:
    """Deal the records out by a seed; the cheapest owner may cheat, by "junk" or "copy"."""
    prices, rng = OWNERS[owners], np.random.default_rng(seed)
    parts = [RECORDS // len(prices)] * len(prices)
    names = [f"owner {k}" for k in range(len(prices))]
    told = (f"seed={seed}", f"data.split={parts}", f"data.names={names}", *KEYS)
    told += (f"owners.cost.price={prices}",)
    scenario = load("three_insurers", told)
    data: Any = market_data(scenario)
    first, second, *others = data.pooled.owners
    if cheat:
        junk = replace(first, y=rng.permutation(first.y))
        first = junk if cheat == "junk" else replace(second, name=first.name)
    data = replace(data, pooled=replace(data.pooled, owners=(first, second, *others)))
    check = CheckRows(data.aside.x, data.aside.y, data.loss)
    known = prepare(scenario, data), collect_rows(data), check
    return Market(told, *known, np.array(prices), 2000.0, rng)


def trade_here(market: Market, policy: str) -> Trade:
    """Settle dpmarket's market and train once; pay for contributions whose answers pass."""
    run = carry_out(market.scenario(policy), market.prepared, others=False)
    assert run.equilibrium is not None and run.trained is not None
    task, theta, sold = run.trained.task, run.trained.theta[0], run.equilibrium.epsilon
    if task is None:
        return Trade(theta, 0 * sold, 0 * sold)
    if policy == "proportional":
        return Trade(theta, run.equilibrium.payments, sold)
    sums = released_sums(task)
    test = AnswerTest(market.check, len(market.rows.public[1]), task.coordinates)
    odds = test.odds(sums, task.mechanism, rng=market.rng)
    paid = settle_promises(run.equilibrium.payments, odds, test.accepts(sums))
    return Trade(theta, paid, sold)


def sum_records(market: Market) -> ReleasedSums:
    """Sums of the owners' records without noise or clipping, about the learner's own model."""
    own, owners = market.own, market.rows.owners
    none = np.zeros(len(owners))
    return ReleasedSums(
        tuple(map(str, range(len(owners)))),
        np.array([len(y) for _, y in owners], dtype=float),
        np.stack([x.T @ x for x, _ in owners]),
        np.stack([x.T @ (y - x @ own) for x, y in owners]),
        none,
        none,
        Coordinates(own, np.eye(len(own))),
    )


def value_records(market: Market) -> tuple[Array, Array]:
    """Shapley values of raw records (n,), and what is lost by leaving an owner out (n,)."""
    sets = list_coalitions(len(market.prices))
    models = sum_records(market).solve_sets(sets.members)
    worth = worth_of(models, market.own, market.check.fitness)
    return sets.shapley @ worth, sets.left_out @ worth


def trade_values(market: Market) -> Trade:
    """Pay by Shapley values of raw records, where any is above 0, and fit all records."""
    values = np.maximum(value_records(market)[0], 0.0)
    paid = market.money * values / max(values.sum(), 1e-300)
    return Trade(sum_records(market).solve(), paid, np.full(len(paid), MOST))


def trade_martfl(market: Market) -> Trade:
    """Buy gradient steps without noise, where the learner's rows have equal curvature, by weight.

    The next baseline is the paid owner whose step errs least on the learner's rows.
    """
    x, y = market.rows.public
    white, middle = whitening_transform(x.T @ x / len(y)), float(y.mean())
    records = [(x @ white, y - middle) for x, y in (market.rows.public, *market.rows.owners)]
    phi, paid, leader = np.zeros(len(white)), np.zeros(len(records)), 0
    for _ in range(ROUNDS):
        steps = np.array([STEP * x.T @ (y - x @ phi) / len(y) for x, y in records])
        asked = np.setdiff1d(np.arange(1, len(records)), [leader])  # a baseline is not bought
        lengths = np.linalg.norm(steps, axis=1)
        scores = steps[asked] @ steps[leader] / (lengths[asked] * lengths[leader])
        weights = rules.weigh_updates(scores, rng=market.rng)
        paid[asked] += market.money / ROUNDS * weights
        x, y = records[0]
        errors = ((x @ (phi + steps[asked]).T - y[:, None]) ** 2).mean(axis=0)
        phi = phi + weights @ steps[asked]
        leader = int(asked[np.argmin(np.where(weights > 0, errors, np.inf))])
    theta = white @ phi
    theta[-1] += middle  # the last column is 1
    return Trade(theta, paid[1:], np.full(len(paid) - 1, MOST))


def trade_records(market: Market, asked: Array | None = None, design: bool = True) -> Trade:
    """Buy records by DAVED's weights, or the cheapest, and fit them with the learner's rows."""
    (x, y), (own_x, own_y) = market.rows.pooled, market.rows.public
    count = len(market.prices)
    each = len(y) // count
    price = np.repeat((market.prices if asked is None else asked) * MOST / each, each)
    wanted = -rules.design_weights(x, own_x, price) if design else price
    bought = rules.buy_in_order(np.argsort(wanted, kind="stable"), price, market.money)
    fitted = np.vstack([own_x, x[bought]]), np.concatenate([own_y, y[bought]])
    paid = np.bincount(bought // each, price[bought], count)
    sold = np.bincount(bought // each, minlength=count) * MOST / each
    return Trade(np.linalg.lstsq(*fitted, rcond=None)[0], paid, sold)


def trade_wasserstein(market: Market, asked: Array | None = None) -> Trade:
    """Buy answers at a fixed epsilon from chosen owners, at virtual prices under an even law.

    Owners are compared by their targets' distance to the learner's, with the noise of one record's
    release. The paper sells no regression: the answers are dpmarket's.
    """
    noise = VISITS * np.sqrt(2 * np.log(1.25 / DELTA)) / FIXED * np.sqrt(2 / np.pi)
    near = [wasserstein_distance(y, market.rows.public[1]) for _, y in market.rows.owners]
    prices = market.prices if asked is None else asked
    virtual = FIXED * (2 * prices - market.prices.min())
    chosen = rules.choose_owners(np.array(near) + noise, virtual, market.money)
    scenario, sold = market.scenario("proportional"), FIXED * chosen
    trained = train_at(scenario, market.prepared.planner, sold)
    return Trade(trained.theta[0], virtual * chosen, sold)


RULES: dict[str, Rule] = {
    "dpmarket, contribution": partial(trade_here, policy="contribution"),
    "dpmarket, proportional": partial(trade_here, policy="proportional"),
    "Shapley values of raw records": trade_values,
    "martFL": trade_martfl,
    "DAVED": trade_records,
    "cheapest records": partial(trade_records, design=False),
    "Wasserstein": trade_wasserstein,
}
