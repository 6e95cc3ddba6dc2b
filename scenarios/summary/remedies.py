"""Remedies where nothing is asked: changes under which asking would pay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.fitness import FitnessForecast
from learning.forecast.inputs import PlanningInputs
from learning.forecast.public_sample import WIDE
from learning.forecast.ways import open_mechanisms, planner_under
from learning.forecast.weighting import best_coalition
from learning.privacy.mechanisms import BEST
from learning.randomness import Streams
from market.analysis.welfare import learner_surplus
from scenarios.run import Run
from scenarios.settling.settle import search_equilibrium

FURTHEST = 1000.0  # how many times as much is tried
TRIED = 13  # factors, in equal ratios, before the first that pays is narrowed down
DIGITS = 0.02
MONEY = ("budget", "price")  # numbers of a policy that payments rise with
MOST = 50  # owners up to which more money is tried: each amount is another market to settle
DELTA = 1e-6  # of mechanisms that need one, where the scenario has none

Fact = dict[str, Any]


def list_remedies(run: Run) -> list[Fact]:
    """Changes, each by itself, under which asking pays the learner by the forecast.

    Returns
    -------
    list of dict
        Each with a ``change``: "epsilon", all budgets so many times (``factor``) as high; "money",
        a number of the policy (``key``) so many times as high, to which owners respond; "owners",
        some of them ``left_out``; "mechanism", another ``label``; "components", fewer of them
        (``count``). ``gain`` is what the learner then has, after paying.
    """
    tried: list[Callable[[Run], list[Fact]]] = [more_money]
    if np.any(run.epsilon > 0):
        tried = [more_epsilon, more_money, fewer_owners, other_mechanisms, fewer_components]
    return [fact for find in tried for fact in find(run)]


def learner_gain(run: Run, epsilon: Array, forecast: FitnessForecast | None = None) -> float:
    """Learner's gain after paying at given budgets.

    Minus infinity where it would ask nothing, and at budgets that the accounting does not cover.
    """
    forecast = forecast or run.planner.forecast
    try:
        if not forecast.trains(epsilon):
            return -np.inf
    except InputError:
        return -np.inf
    return learner_surplus(replace(run.game, forecast=run.measure.of(forecast)), epsilon)


def first_that_pays(gain: Callable[[float], float]) -> float | None:
    """The smallest factor tried, from 1 up, at which ``gain`` is above 0; None where none is.

    >>> 20 < first_that_pays(lambda factor: factor - 20) < 20.4
    True
    """
    tried = np.geomspace(1, FURTHEST, TRIED)
    below = 1.0
    pays = None
    for factor in tried:
        if gain(factor) > 0:
            pays = float(factor)
            break
        below = float(factor)
    while pays is not None and pays > below * (1 + DIGITS):
        middle = float(np.sqrt(below * pays))
        below, pays = (below, middle) if gain(middle) > 0 else (middle, pays)
    return pays


def more_epsilon(run: Run) -> list[Fact]:
    """Factor on all budgets at which buying pays, and whether owners may go so far."""
    factor = first_that_pays(lambda k: learner_gain(run, k * run.epsilon))
    if factor is None:
        return []
    allowed = bool(np.all(factor * run.epsilon <= run.game.owners.epsilon_max))
    return [
        {"change": "epsilon", "factor": factor, "epsilon": factor * run.epsilon, "allowed": allowed}
    ]


def more_money(run: Run) -> list[Fact]:
    """Factor on the policy's money at which buying pays, owners settling anew."""
    policy = run.game.policy
    money = {one.name: np.asarray(getattr(policy, one.name)) for one in fields(policy)}
    keys = [name for name in money if name in MONEY and np.all(money[name])]
    if len(run.game.owners) > MOST or not keys:
        return []
    key = keys[0]

    def settled(factor: float) -> tuple[float, Array]:
        paid = replace(run.game, policy=replace(policy, **{key: factor * money[key]}))
        rng = Streams(run.scenario.seed, "remedies").rng()
        epsilon = search_equilibrium(run.scenario, paid, rng=rng, starts=1).epsilon
        return learner_gain(replace(run, game=paid), epsilon), epsilon

    factor = first_that_pays(lambda k: settled(k)[0])
    if factor is None:
        return []
    gain, epsilon = settled(factor)
    return [{"change": "money", "key": key, "factor": factor, "epsilon": epsilon, "gain": gain}]


def fewer_owners(run: Run) -> list[Fact]:
    """The market without the owners who add more noise than data."""
    sharing = run.epsilon > 0
    if run.scenario.trusts.secure:  # of one noise for all, no owner adds any
        return []
    planner = run.planner
    term = planner.mechanism.noise_term(np.where(sharing, run.epsilon, 1.0))
    kept = best_coalition(run.data.sizes, np.where(sharing, term, np.inf))
    left_out = np.array(run.data.names, dtype=object)[sharing & ~kept].tolist()
    if not left_out:
        return []
    owners = planner.inputs.owners
    if planner.forecast.kind == "exact":
        low = np.where(kept, owners.epsilon_min, 0.0)
        high = np.where(kept, owners.epsilon_max, 0.0)
        asked = replace(owners, epsilon_min=low, epsilon_max=high)
        planner = planner_under(replace(planner.inputs, owners=asked), planner.mechanism, planner)
    gain = learner_gain(run, np.where(kept, run.epsilon, 0.0), planner.forecast)
    return [{"change": "owners", "left_out": left_out, "gain": gain}] if gain > 0 else []


def other_mechanisms(run: Run) -> list[Fact]:
    """Each other mechanism of the algorithm, with a protocol of its own.

    Mechanisms priced for an announced horizon are left out: each horizon would be another protocol.
    None is tried where a model has very many columns: a protocol takes seconds there.
    """
    planner = run.planner
    if planner.forecast.kind != "exact" or len(planner.own_model) > WIDE:
        return []
    settings = planner.inputs.settings
    delta = settings.delta or DELTA
    settings = replace(settings, mechanism=BEST, accounting=None, delta=delta)
    free = replace(planner.inputs, settings=settings)
    found: list[Fact] = []
    for one in open_mechanisms(free):
        if one.horizon is None and one.label != planner.mechanism.label:
            gain = learner_gain(run, run.epsilon, planner_under(free, one, planner).forecast)
            fact = {"change": "mechanism", "label": one.label, "delta": one.delta}
            found.append(fact | {"gain": gain})
    return [fact for fact in found if fact["gain"] > 0]


def fewer_components(run: Run) -> list[Fact]:
    """Half the components, a quarter, and so on: the first number that pays.

    The cost of the model bought is compared with that of the learner's own model, with all
    components or with as few, whichever is better.
    """
    planner = run.planner
    count = (run.scenario.data.components or 0) // 2
    if planner.inputs.sample is None or planner.forecast.kind != "exact":
        return []
    while count >= 1:
        gain = gain_by_components(run, count)
        if gain > 0:
            return [{"change": "components", "count": count, "gain": gain}]
        count //= 2
    return []


def gain_by_components(run: Run, count: int) -> float:
    """Learner's gain with so many components; minus infinity where it would ask nothing."""
    planner = run.planner
    less = planner_under(with_components(planner.inputs, count), planner.mechanism)
    if not less.forecast.trains(run.epsilon):
        return -np.inf
    made = less.forecast.at(run.epsilon)
    own = less.forecast.outside
    alone = min((1 + own) * less.optimum, (1 + planner.forecast.outside) * planner.optimum)
    fitness = np.array([alone, (1 + made) * less.optimum]) / planner.optimum - 1
    before = float(run.measure.own(fitness[0]))
    after = float(run.measure(fitness[1]))
    game = replace(run.game, forecast=run.measure.of(less.forecast))
    return game.value * (before - after) - float(game.payments(run.epsilon).sum())


def with_components(inputs: PlanningInputs, count: int) -> PlanningInputs:
    """The same inputs with the first principal components only, and the constant."""
    sample = inputs.public
    kept = np.append(np.arange(count), sample.x.shape[1] - 1)
    less = replace(sample, x=sample.x[:, kept])
    return replace(inputs, sample=less, feature_bound=inputs.feature_bound[kept])
