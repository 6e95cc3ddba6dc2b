"""What every entry of BEHAVIOURS must do; a new one is tested by being in the dict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from markets import market

from agents import BEHAVIOURS, Behaviour, DataMarket
from agents.behaviours.base import Seen, checked_choice
from agents.traders import Draws
from market.costs.functions import Linear, Quadratic
from market.equilibrium import ACTIVATIONS
from market.policies.contributions import Shapley
from market.policies.posted import Posted
from market.policies.proportional import Proportional
from scenarios.schema.kinds import KINDS, make_declared, section_of

GAME = market(
    Linear([1.0, 2.0, 3.0, 0.5]), Proportional(12.0, "epsilon"), 4, low=[0.0, 0.1, 0.0, 0.2]
)
PROFILE = np.array([1.0, 2.0, 0.0, 4.0])
KEYS = (Path(__file__).parents[3] / "docs" / "reference" / "scenario.md").read_text(
    encoding="utf-8"
)
NAMES = pytest.mark.parametrize("name", BEHAVIOURS)


def looks(behaviour, game=GAME, profile=PROFILE, rounds=2):
    """What all owners look at and know who have seen so many rounds, all standing still."""
    deviations = game.deviations(profile, np.arange(len(profile)))
    memory = behaviour.initial_memory(deviations)
    for at in range(1, rounds + 1):
        seen = Seen(lambda m, at=at: Draws(5).draw_uniform("test", at, len(profile), m), memory)
        memory = behaviour.update_memory(deviations, seen)
    return deviations, Seen(lambda m: Draws(5).draw_uniform("test", 0, len(profile), m), memory)


def seen_by(seen, rows):
    """What the owners of some rows know."""
    memory = {name: values[rows] for name, values in seen.memory.items()}
    return Seen(lambda m: seen.draw(m)[rows], memory)


@NAMES
def test_a_behaviour_says_what_it_does_and_can_be_compared(name):
    one = BEHAVIOURS[name]()
    two = BEHAVIOURS[name]()
    assert isinstance(one, Behaviour) and one.title and one == two and hash(one) == hash(two)
    assert (
        repr(one).startswith(BEHAVIOURS[name].__name__)
        and one.patience >= 1
        and one.rational == (name == "rational")
    )


@NAMES
def test_the_same_draws_are_the_same_choice_of_one_number_for_each_owner(name):
    deviations, seen = looks(BEHAVIOURS[name]())
    chosen = [checked_choice(BEHAVIOURS[name](), deviations, seen) for _ in range(2)]
    assert chosen[0].shape == (4,) and np.array_equal(*chosen)
    assert np.array_equal(PROFILE, [1.0, 2.0, 0.0, 4.0])  # looking is no move


WHOLE = market(Linear(2.0), Shapley(0.5), 4, low=0.1)
SEARCHED = [
    pytest.param(name, marks=pytest.mark.slow if name == "colluders" else ()) for name in BEHAVIOURS
]


@NAMES
def test_what_an_owner_chooses_and_remembers_depends_on_its_own_row(name):
    depends_on_its_own_row(name, GAME)


@pytest.mark.parametrize("name", SEARCHED)
def test_so_it_does_where_owners_meet_in_whole_profiles(name):
    depends_on_its_own_row(name, WHOLE)


def depends_on_its_own_row(name, game):
    behaviour = BEHAVIOURS[name]()
    deviations, seen = looks(behaviour, game, np.maximum(PROFILE, game.owners.epsilon_min))
    chosen = checked_choice(behaviour, deviations, seen)
    kept = behaviour.update_memory(deviations, seen)
    for rows in (np.array([2]), np.array([3, 0])):
        some = deviations.take(rows)
        known = seen_by(seen, rows)
        np.testing.assert_allclose(checked_choice(behaviour, some, known), chosen[rows], rtol=1e-12)
        for name_, values in behaviour.update_memory(some, known).items():
            np.testing.assert_allclose(values, kept[name_][rows], rtol=1e-12)


@NAMES
def test_one_owner_and_intervals_of_one_point(name):
    for high, low in ((20.0, 0.0), (0.0, 0.0), (3.0, 3.0)):
        game = market(Quadratic(1.0), Posted(6.0), 1, low=low, high=high)
        model = DataMarket(game, rng=3, behaviour=name, max_rounds=3, patience=3)
        model.run()
        assert low <= model.epsilon[0] <= high and len(model.trajectory()) == 4


@NAMES
def test_a_behaviour_draws_only_if_it_says_so(name):
    """Of those that do not, no draw is asked for: `Seen` without any would raise."""
    behaviour = BEHAVIOURS[name]()
    deviations, seen = looks(behaviour)
    if not behaviour.draws:
        checked_choice(behaviour, deviations, Seen(memory=seen.memory))


@NAMES
def test_it_is_a_table_of_the_scenario_whose_keys_are_told(name):
    section = section_of(KINDS["behaviours"][name], name)
    assert make_declared(section(kind=name)) == BEHAVIOURS[name]()
    assert f'### `[[behaviours]] kind = "{name}"`' in KEYS


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", ["rational", "inertial"])
def test_a_market_of_one_behaviour_comes_to_rest_where_nobody_depends_on_others(name, activation):
    game = market(Quadratic([1.0, 2.0]), Posted(6.0), 2)
    outcome = DataMarket(game, rng=0, behaviour=name, activation=activation, patience=20).run()
    assert outcome.converged and np.allclose(outcome.epsilon, [6.0, 3.0], atol=1e-6)


def test_a_behaviour_without_choose_is_refused_by_name():
    with pytest.raises(TypeError, match="class Idle .*choose"):
        type("Idle", (Behaviour,), {})()
