"""The Mesa market: it settles where the direct solver does, records all of it, repeats itself, and can be freed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from toys import Envelope, LinearLaw

from agents.behaviours import Behaviour
from agents.behaviours.best_response import Rational
from agents.model import DataMarket
from learning.forecast.fitness import forecast_fitness
from learning.forecast.inputs import Settings
from learning.privacy.laplace import Laplace
from learning.training.law import Problem
from market.analysis.welfare import learner_surplus
from market.columns import take_owners
from market.costs.functions import Leakage, Linear, Quadratic
from market.equilibrium.activation import ACTIVATIONS, poisson_clocks
from market.equilibrium.solver import solve
from market.equilibrium.stopping import PlayRules
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import ProfilePolicy
from market.policies.contributions import Marginal
from market.policies.posted import Posted
from market.policies.proportional import Proportional


def owners(cost, low=0.0, high=20.0, sizes=1.0):
    price = np.atleast_1d(cost.price)
    return Owners(tuple(f"owner {k}" for k in range(len(price))), sizes, low, high, cost)


def contest(costs, budget):
    return Game(owners(Linear(costs)), Proportional(budget, "epsilon"), None, 0.0)


def law():
    """A real forecast: two parameters, averaged algorithm, all horizons."""
    rows = (
        [[2.0, 1.0]],
        np.eye(2)[None],
        np.diag([2.0, 1.0])[None],
        [[1.0, 1.0]],
        [[0.0, 0.0]],
        [1.0],
    )
    problem = Problem(*(np.array(row, dtype=float) for row in rows))
    return forecast_fitness(
        problem,
        Settings("averaged"),
        sizes=[1000, 2000, 4000],
        mechanism=Laplace(),
        gradient_bound=3.0,
        dispersion=0.0,
        basis="oracle",
    )


def horizons():
    """Owners who meet in the forecast: which horizon is best depends on everybody's noise."""
    toy = Envelope(50.0, (0.05, 0.1, 0.3), (0.5, 0.1, 0.02))
    return Game(owners(Linear([1.0, 2.0, 3.0]), 0.2, 10.0), Marginal(0.8), toy, 20.0)


SIZES = np.array([1000.0, 2000.0, 4000.0])
GAMES = {
    "proportional, 3": contest([1.0, 2.0, 3.0], 12.0),
    "proportional, 4": contest([1.0, 1.2, 1.5, 4.0], 10.0),
    "proportional, records": Game(
        owners(Linear([100.0, 150.0, 900.0]), 0.01, 10.0, SIZES), Proportional(2000.0), None, 0.0
    ),
    "marginal, linear law": Game(
        owners(Linear([1.0, 2.0, 3.0]), 0.01), Marginal(), LinearLaw(9.0, 0.1, 0.5), 20.0
    ),
    "marginal, horizons": horizons(),
    "marginal, real forecast": Game(
        owners(Linear([20.0, 20.0, 60.0]), 0.1, 10.0, SIZES), Marginal(), law(), 1e5
    ),
    "posted": Game(owners(Quadratic([1.0, 2.0, 4.0])), Posted(6.0), None, 0.0),
    "posted, leakage": Game(owners(Leakage([0.1, 2.0, 0.4]), 0.0, 8.0), Posted(0.3), None, 0.0),
    "one owner": Game(owners(Quadratic([2.0])), Posted(3.0), None, 0.0),
}


def market(game, activation="sequential", rng=7, **rest):
    return DataMarket(game, rng=np.random.default_rng(rng), activation=activation, **rest)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", GAMES)
def test_agents_settle_where_the_direct_solver_does(name, activation):
    outcome = market(GAMES[name], activation).run()
    direct = solve(GAMES[name], rng=np.random.default_rng(1), starts=1)
    assert direct.converged and outcome.converged, outcome
    assert (
        outcome.reason == direct.reason == ("corner" if name == "posted, leakage" else "certified")
    )
    assert outcome.method == activation
    np.testing.assert_allclose(outcome.epsilon, direct.epsilon, rtol=0, atol=1e-6)
    np.testing.assert_allclose(outcome.payments, direct.payments, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_closed_forms(activation):
    """k cheapest share: total S = (k-1) R / sum c, epsilon = S (1 - c S / R). Posted: p / c. Law: (2 V K / c)^(1/3)."""
    linear = (2 * 20.0 * 0.5 / np.array([1.0, 2.0, 3.0])) ** (1 / 3)
    known = {
        "proportional, 3": [8 / 3, 4 / 3, 0.0],
        "proportional, 4": [2.483565, 1.899196, 1.022644, 0.0],
        "posted": [6.0, 3.0, 1.5],
        "marginal, linear law": linear,
        "one owner": [1.5],
    }
    for name, epsilon in known.items():
        found = market(GAMES[name], activation).run().epsilon
        np.testing.assert_allclose(found, epsilon, rtol=0, atol=1e-6, err_msg=name)


def test_owners_who_meet_in_the_forecast_need_several_rounds():
    """Linear law, marginal policy: dominant strategies, one sweep. Choice of horizon: owners really interact."""
    assert (
        market(GAMES["marginal, linear law"]).run().iterations == 2
    )  # one to get there, one to see that it rests
    assert market(GAMES["marginal, real forecast"]).run().iterations > 2


def test_the_record_agrees_with_the_game():
    game = GAMES["marginal, horizons"]
    model = market(game, "random")
    outcome = model.run()
    assert [row[0] for row in outcome.trajectory] == list(range(outcome.iterations + 1))
    for _, epsilon, payments, surplus in outcome.trajectory:
        np.testing.assert_allclose(payments, game.payments(epsilon), rtol=1e-12)
        np.testing.assert_allclose(surplus, game.payoffs(epsilon), rtol=1e-12, atol=1e-12)
    fitness = model.datacollector.get_model_vars_dataframe()["fitness"]
    np.testing.assert_allclose(
        fitness, [game.fitness(row[1]) for row in outcome.trajectory], rtol=1e-12
    )
    path = np.array([row[1] for row in outcome.trajectory])
    moved = (np.abs(np.diff(path, axis=0)) / np.maximum(path[1:], path[:-1])).max(axis=1)
    np.testing.assert_allclose(
        model.datacollector.get_model_vars_dataframe()["max_change"][1:], moved, rtol=1e-12
    )


@pytest.mark.parametrize("make", [np.random.default_rng, int], ids=["generator", "seed"])
def test_same_seed_same_path(make):
    def path(seed):
        run = DataMarket(GAMES["proportional, 4"], rng=make(seed), activation="random").run()
        return np.array([row[1] for row in run.trajectory])

    assert np.array_equal(path(3), path(3))
    one = path(3)
    two = path(4)
    assert one.shape != two.shape or not np.array_equal(one, two)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", ["proportional, 4", "marginal, linear law", "marginal, horizons"])
def test_permuted_owners_settle_the_same(name, activation):
    game = GAMES[name]
    order = np.arange(len(game.owners))[::-1]
    mixed = replace(game, owners=game.owners.take(order), policy=take_owners(game.policy, order))
    one = market(game, activation).run()
    two = market(mixed, activation).run()
    np.testing.assert_allclose(two.epsilon, one.epsilon[order], rtol=0, atol=1e-6)
    first = [run.trajectory[1][1] for run in (one, two)]
    if activation == "sequential" and name == "proportional, 4":
        assert (
            np.abs(first[1] - first[0][order]).max() > 0.1
        )  # the way there does depend on the order
    if activation == "simultaneous":
        np.testing.assert_allclose(first[1], first[0][order], rtol=0, atol=1e-9)


@dataclass(frozen=True)
class Pennies(ProfilePolicy):
    """The first owner is paid for being far from the second, who is paid for being near: no pure equilibrium."""

    def settle(self, epsilon, game):
        apart = (epsilon[0] - epsilon[1]) ** 2
        return np.array([apart, 1.0 - apart])


@pytest.mark.parametrize(
    ("activation", "end", "reason"),
    [
        ("sequential", "cycle", "cycle found"),
        ("simultaneous", "cycle", "cycle found"),
        ("random", "limit", "not converged"),
        ("poisson", "limit", "not converged"),
        ("partial", "limit", "not converged"),
    ],
)
def test_a_game_without_rest_ends_and_says_why(activation, end, reason):
    model = market(
        Game(owners(Linear([0.0, 0.0]), 0.0, 1.0), Pennies(), None, 0.0), activation, max_rounds=60
    )
    outcome = model.run()
    assert not outcome.converged and outcome.reason == reason and model.end == end
    assert outcome.iterations <= 60 and outcome.max_relative_regret > 1e-3
    if activation == "sequential":
        assert outcome.iterations < 10


def test_rounds_run_out():
    model = market(GAMES["proportional, 4"], max_rounds=2)
    outcome = model.run()
    assert (outcome.converged, outcome.reason, outcome.iterations) == (False, "not converged", 2)
    assert not model.running and model.steps == 2


def test_step_is_one_round():
    game = GAMES["proportional, 3"]
    model = market(game, "simultaneous", damping=1.0, start=np.array([1.0, 1.0, 1.0]))
    model.step()
    np.testing.assert_array_equal(model.epsilon, game.best_responses(np.ones(3)))
    half = market(game, "simultaneous", damping=0.5, start=np.array([1.0, 1.0, 1.0]))
    half.step()
    np.testing.assert_allclose(half.epsilon, (1 + model.epsilon) / 2)
    assert model.steps == half.steps == 1 and model.running


@dataclass(frozen=True)
class Function(Behaviour):
    """A behaviour that is one function."""

    function: Callable[..., object]

    draws = True

    def choose(self, deviations, seen):
        return self.function(deviations, seen)


def rational(deviations, seen):
    return Rational().choose(deviations, seen)


def test_a_simultaneous_round_is_one_search():
    calls = []

    def count_calls(deviations, seen):
        calls.append(deviations.index.tolist())
        return rational(deviations, seen)

    counted = Function(count_calls)

    market(GAMES["proportional, 3"], "simultaneous", behaviour=counted).step()
    assert calls == [[0, 1, 2]]
    calls.clear()
    market(
        GAMES["proportional, 3"], "simultaneous", behaviour=[counted, "rational", counted]
    ).step()
    assert calls == [[0, 2]]
    calls.clear()
    market(GAMES["proportional, 3"], behaviour=counted).step()
    assert calls == [[0], [1], [2]]


def test_who_leaves_a_simultaneous_round_leaves_at_once():
    """The dearest of four does not share; half the way to 0, round after round, would still be in the market."""
    outcome = market(GAMES["proportional, 4"], "simultaneous").run()
    assert outcome.epsilon[3] == 0.0 and (outcome.epsilon[:3] > 1.0).all()


def test_agents_at_once_walk_the_path_of_the_solver():
    """Damped play from one start, round by round, leaving included: the solver's profiles are the agents'."""
    game = GAMES["proportional, 4"]
    start = np.array([1.0, 2.0, 3.0, 4.0])
    played = market(game, "simultaneous", start=start).run().trajectory
    walked = solve(
        game, rng=np.random.default_rng(0), method="simultaneous", start=start, starts=1
    ).trajectory
    assert len(played) == len(walked) and played[-1][1][3] == 0.0
    for one, two in zip(played, walked, strict=True):
        np.testing.assert_array_equal(one[1], two[1])


def test_clocks_ring_at_unit_rate():
    """In a unit of time a clock is silent with odds 1/e and rings k times with odds 1/(e k!): 4,000 clocks, 5 times.

    Over 20,000 clocks the standard deviation of a share of 1/e is 0.0034 and of the mean 0.0071.
    """
    draw = np.random.default_rng(5)

    def clocks():
        return poisson_clocks(4000, lambda: draw.random(4000), PlayRules())

    counts = np.concatenate([np.bincount(clocks(), minlength=4000) for _ in range(5)])
    assert counts.mean() == pytest.approx(1, abs=0.03) and counts.var() == pytest.approx(
        1, abs=0.05
    )
    for k, odds in enumerate([1, 1, 1 / 2, 1 / 6]):
        assert np.mean(counts == k) == pytest.approx(odds / np.e, abs=0.012)
    rung = clocks()
    assert abs(np.corrcoef(rung[1:], rung[:-1])[0, 1]) < 0.06  # no order in who follows whom


def test_another_behaviour_needs_no_change_in_the_model():
    """Half of the way, and now and then not at all: the same equilibrium, later."""

    def inertial(deviations, seen):
        own = deviations.profile[deviations.index]
        awake = seen.uniform()[:, 0] < 0.5
        return np.where(awake, own + 0.9 * (rational(deviations, seen) - own), own)

    for activation in ACTIVATIONS:
        outcome = market(
            GAMES["posted"], activation, behaviour=Function(inertial), patience=30
        ).run()
        np.testing.assert_allclose(outcome.epsilon, [6.0, 3.0, 1.5], rtol=0, atol=1e-6)
        assert outcome.reason == "certified"


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (
            lambda deviations, seen: np.full(len(deviations.index), 21.0),
            r"owner 0 must choose epsilon in \[0, 20\]; found 21",
        ),
        (lambda deviations, seen: np.full(len(deviations.index), np.nan), "found nan"),
        (lambda deviations, seen: 1.0, "one epsilon per owner"),
    ],
)
def test_a_behaviour_that_breaks_the_rules_is_refused(behaviour, message):
    for activation in ACTIVATIONS:
        if activation in ("sequential", "simultaneous") or "owner 0" not in message:
            with pytest.raises(ValueError, match=message):
                market(GAMES["posted"], activation, behaviour=Function(behaviour)).step()


def test_the_learner_trains_once_at_what_was_settled_on():
    seen = []

    def train(epsilon):
        seen.append(epsilon.copy())
        epsilon[:] = -1.0  # what training does to its copy is no move in the market
        return "a model"

    model = market(GAMES["proportional, 3"], train=train)
    model.step()
    assert not seen and model.learner.trained is None
    outcome = model.run()
    assert len(seen) == 1 and model.learner.trained == "a model"
    np.testing.assert_array_equal(seen[0], outcome.epsilon)
    np.testing.assert_array_equal(model.epsilon, outcome.epsilon)


def test_the_books_balance():
    """Learner's surplus + owners' surplus = V (outside - psi) - costs: payments only change hands."""
    game = GAMES["marginal, real forecast"]
    model = market(game)
    epsilon = model.run().epsilon
    created = (
        game.value * (game.forecast.outside - game.fitness(epsilon)) - game.costs(epsilon).sum()
    )
    assert learner_surplus(game, epsilon) + model.surplus.sum() == pytest.approx(created, rel=1e-9)
    assert [owner.payment for owner in model.owners] == model.payments.tolist()
    assert model.fitness == game.fitness(epsilon) < game.forecast.outside


def test_a_new_policy_opens_the_market_again():
    model = market(GAMES["posted"])
    model.run()
    assert not model.running
    model.learner.post(Posted(3.0))
    assert model.running and model.game.policy == Posted(3.0)
    outcome = model.run()
    np.testing.assert_allclose(outcome.epsilon, [3.0, 1.5, 0.75], rtol=0, atol=1e-6)
    assert outcome.iterations == 2 and len(outcome.trajectory) == model.steps + 1


def test_start_is_brought_into_the_intervals():
    game = GAMES["marginal, horizons"]
    assert market(game, start=np.array([0.0, 99.0, 1.0])).epsilon.tolist() == [0.2, 10.0, 1.0]
    np.testing.assert_allclose(market(game).epsilon, np.sqrt(0.2 * 10.0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"activation": "poison"}, "activation must be one of"),
        ({"damping": 0.0}, "damping"),
        ({"tol": float("nan")}, "tol"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"patience": 0}, "patience"),
        ({"start": [1.0]}, "start must be 3 numbers"),
        ({"start": [1.0, np.nan, 1.0]}, "start must be 3 numbers"),
        ({"behaviour": ["rational"]}, "behaviour must be one or 3 behaviours"),
        ({"behaviour": "greedy"}, "behaviour: must be a Behaviour or one of rational"),
        ({"behaviour": rational}, "behaviour: must be a Behaviour or one of rational"),
    ],
)
def test_misuse_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        DataMarket(GAMES["posted"], rng=1, **wrong)


def test_many_owners_meet_the_reference():
    """The closed form of the contest: five owners computed independently of the project, then fifty by its formula."""
    five = market(contest([0.821, 1.748, 2.004, 0.572, 0.87], 20.0)).run().epsilon
    known = [4.850455042588909, 0.0, 0.0, 8.740191936645717, 4.0850048104251195]
    np.testing.assert_allclose(five, known, rtol=0, atol=1e-6)
    costs = np.random.default_rng(2).uniform(0.5, 3.0, 50)
    ranked = np.sort(costs)
    k = max(k for k in range(2, 51) if ranked[k - 1] < ranked[:k].sum() / (k - 1))
    total = (k - 1) * 10.0 / ranked[:k].sum()
    known = np.maximum(total * (1 - costs * total / 10.0), 0.0)
    outcome = market(contest(costs, 10.0)).run()
    np.testing.assert_allclose(outcome.epsilon, known, rtol=0, atol=1e-6)


def test_a_market_that_nobody_holds_is_freed():
    """Mesa 3.3 alone keeps every model for ever, in the table it numbers agents from."""
    model = market(GAMES["posted"], train=lambda epsilon: None)
    model.run()
    watched = [weakref.ref(model), weakref.ref(model.owners[0]), weakref.ref(model.learner)]
    del model
    gc.collect()
    assert [ref() for ref in watched] == [None, None, None]
