"""Who sells most, who least, who stays and who acts as one."""

from __future__ import annotations

import numpy as np
import pytest
from markets import market
from rounds import THREE, rounds_of
from toys import LinearLaw

from agents import BEHAVIOURS, DataMarket
from agents.behaviours.base import Seen, own_epsilon
from agents.behaviours.best_response import Careless, Fundamentalist, Indifferent, Inertial
from agents.behaviours.colluders import Colluders
from agents.behaviours.learning import Aspiration
from learning.errors import InputError
from market.analysis.regulation import tax_leakage
from market.analysis.unions import solve_united
from market.columns import finite_difference
from market.costs.functions import Linear, Quadratic
from market.policies.posted import CostPlus, Posted
from market.policies.proportional import Proportional


class Choosy(LinearLaw):
    """A learner who asks only where the noise leaves its model better than none."""

    def __init__(self):
        super().__init__(1.0, 0.1, 0.05)

    def asks(self, sums):
        return self.excess(sums) < self.outside


def settled(behaviour, game=THREE, **rules):
    return DataMarket(game, rng=1, behaviour=behaviour, **{"max_rounds": 60} | rules).run()


def test_the_indifferent_sell_the_most_and_fundamentalists_the_least():
    sold = {name: settled(name).epsilon for name in ("rational", "fundamentalist", "indifferent")}
    assert (
        sold["fundamentalist"].tolist() == [0.0] * 3 and sold["indifferent"].tolist() == [6.0] * 3
    )
    assert (sold["rational"] < sold["indifferent"]).all() and (sold["rational"] > 0).all()
    assert (
        settled(Fundamentalist(), market(Linear(1.0), Posted(6.0), 2, low=0.3)).epsilon.tolist()
        == [0.3] * 2
    )


def test_the_indifferent_lose_their_privacy_all_the_same():
    found = settled(Indifferent())
    np.testing.assert_allclose(THREE.payoffs(found.epsilon), 4.0 - 6.0 * np.array([1.0, 2.0, 2.5]))
    assert not found.converged


def test_what_a_policy_pays_for_costs_and_what_is_taxed_counts_for_the_indifferent_too():
    paid = Careless(
        *vars(market(Quadratic(4.0), CostPlus(0.1), 1).deviations(np.array([1.0]))).values()
    )
    at = np.array([[1.0, 2.0]])
    np.testing.assert_allclose(paid.promises(at), 1.1 * 2 * at**2)
    np.testing.assert_allclose(
        paid.marginal_surplus(at), finite_difference(paid.promises, at), rtol=1e-6
    )
    taxed = tax_leakage(market(Linear(1.0), Posted(2.0), 1, sizes=100.0), 0.05).deviations(
        np.array([1.0])
    )
    taxes = taxed.owners.cost.tax(at, taxed.owners.sizes)
    np.testing.assert_allclose(Careless(*vars(taxed).values()).promises(at), 2 * at - taxes)
    assert (taxes > 0).all()
    several = Careless(*vars(THREE.deviations(np.ones(3))).values())
    np.testing.assert_allclose(
        several.take(np.array([2])).promises(at), several.promises(np.tile(at, (3, 1)))[[2]]
    )


def test_who_is_inert_stays_by_chance_and_moves_only_for_enough():
    game = market(Linear(np.ones(2000)), Posted(2.0), 2000, high=4.0)
    moved = rounds_of(game, Inertial(stays=0.7), 1)[0][0] != 2.0
    assert abs(moved.mean() - 0.3) < 0.04  # four standard deviations of 0.0102
    for effort, ends in ((1.99, 4.0), (2.01, 2.0)):  # a move from 2 to 4 brings 2
        assert set(rounds_of(game, Inertial(0.0, effort), 3)[0][-1]) == {ends}


def test_inertia_delays_the_equilibrium_and_changes_nothing_of_it():
    slow = settled(Inertial(0.6), max_rounds=300, patience=20)
    quick = settled("rational")
    assert (
        slow.converged
        and np.allclose(slow.epsilon, quick.epsilon, atol=1e-6)
        and slow.iterations > quick.iterations
    )


def test_who_has_what_it_aspires_to_stays_and_who_loses_looks_for_something_else():
    game = market(Linear(1.0), Posted(2.0), 500, high=4.0)
    calm = Aspiration(pace=0.5, tremble=0.0)
    assert (rounds_of(game, calm, 20)[0] == 2.0).all()
    start = game.deviations(np.full(500, 2.0))
    less = market(Linear(1.0), Posted(1.5), 500, high=4.0)
    memory = calm.initial_memory(start)
    chosen = calm.choose(
        less.deviations(np.full(500, 2.0)), Seen(lambda m: np.full((500, m), 0.25), memory)
    )
    assert (chosen == 1.0).all() and np.allclose(
        memory["aspires"], 2.0
    )  # a quarter of the interval
    kept = calm.update_memory(less.deviations(np.full(500, 2.0)), Seen(memory=memory))
    assert np.allclose(kept["aspires"], 1.5)  # half the way from 2 to 1


def test_the_content_are_better_off_than_the_blind():
    """Nobody depends on anybody: who stays where it has enough has more, on average, than who draws every round."""
    game = market(Quadratic(np.linspace(1, 4, 200)), Posted(6.0), 200, high=10.0)
    calm, _ = rounds_of(game, Aspiration(), 60)
    blind, _ = rounds_of(game, BEHAVIOURS["logit"](precision=0.0), 5)
    had = [np.mean([game.payoffs(row).sum() for row in path[-5:]]) for path in (calm, blind)]
    assert had[0] > had[1] + 200


def test_a_ring_acts_as_a_union_of_its_members():
    """A contest for 30 among three at cost 2 e: two as one sell as much as the third, 30 * 2 / (4 * 2^2) = 3.75."""
    game = market(Linear(2.0), Proportional(30.0, "epsilon"), 3)
    ring = Colluders()
    found = settled([ring, "rational", ring], game, max_rounds=300)
    union = solve_united(game, [(0, 2)], rng=np.random.default_rng(0), starts=1)
    assert union.converged and union.epsilon[[0, 2]].sum() == pytest.approx(
        found.epsilon[[0, 2]].sum(), abs=1e-4
    )
    assert found.epsilon[1] == pytest.approx(3.75, abs=1e-4)
    np.testing.assert_allclose(
        game.payoffs(found.epsilon)[1], game.payoffs(union.epsilon)[1], atol=1e-3
    )
    assert not found.converged  # each alone would sell more: not a Nash equilibrium


def test_two_rings_have_two_names_and_none_is_too_large():
    game = market(Linear(2.0), Proportional(30.0, "epsilon"), 4)
    two = [Colluders("north"), Colluders("south")] * 2
    found = settled(two, game, max_rounds=300)
    north = found.epsilon[[0, 2]].sum()
    south = found.epsilon[[1, 3]].sum()
    assert north == pytest.approx(3.75, abs=1e-3) and south == pytest.approx(3.75, abs=1e-3)
    with pytest.raises(InputError, match="must be at most 50 owners of one name"):
        settled(Colluders(), market(Linear(2.0), Proportional(30.0, "epsilon"), 51))


@pytest.mark.parametrize("name", ["inertial", "logit", "regret_matching"])
def test_who_stands_where_nothing_is_asked_comes_out_by_what_is_promised(name):
    """Two who sell so little that no one of them alone makes the learner ask, which it does from sum 1/epsilon^2 < 18."""
    law = Choosy()
    game = market(
        Linear([3.0, 5.0]),
        Proportional(40.0, "epsilon"),
        2,
        low=0.01,
        high=10.0,
        forecast=law,
        value=100.0,
    )
    start = np.array([0.1, 0.1])
    assert not game.asks(start) and not game.deviations(start).payoffs(np.full((2, 1), 5.0)).any()
    assert game.asks(rounds_of(game, BEHAVIOURS[name](), 30, start=start)[0][-1])


def test_where_an_owner_stands_is_its_own_place():
    assert own_epsilon(THREE.deviations(np.array([1.0, 2.0, 3.0]), np.array([2, 0]))).tolist() == [
        3.0,
        1.0,
    ]
