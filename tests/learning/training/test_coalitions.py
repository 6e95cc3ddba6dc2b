"""Sets of owners and their weights: Shapley values by brute force over all orders, exactly and drawn."""

from itertools import permutations

import numpy as np
import pytest

from learning.errors import InputError
from learning.training import coalitions
from learning.training.coalitions import EXACT_OWNERS, MOST_OWNERS, check_count, list_coalitions


def worth(members):
    """A worth that is neither additive nor the same for all owners."""
    sizes = members @ (1.0 + np.arange(members.shape[1]) ** 2)
    return np.sqrt(sizes) + members[:, 0] * members[:, -1]


def brute_force(n_owners):
    """Mean of what each owner adds, over all orders of arrival."""
    added = np.zeros(n_owners)
    orders = list(permutations(range(n_owners)))
    for order in orders:
        here = np.zeros(n_owners)
        for owner in order:
            before = worth(here[None])[0]
            here[owner] = 1
            added[owner] += worth(here[None])[0] - before
    return added / len(orders)


@pytest.mark.parametrize("n_owners", [1, 2, 5])
def test_values_are_those_of_all_orders(n_owners):
    found = list_coalitions(n_owners)
    values = worth(found.members)
    assert found.shapley @ values == pytest.approx(brute_force(n_owners))
    every = np.ones((1, n_owners))
    without = 1 - np.eye(n_owners)
    assert found.left_out @ values == pytest.approx(worth(every) - worth(without))
    assert not found.sampling_error(values).any()


def test_drawn_orders_give_the_same_within_their_error(monkeypatch):
    exact = brute_force(6)
    monkeypatch.setattr(coalitions, "EXACT_OWNERS", 2)
    deviations = []
    for seed in range(60):
        found = list_coalitions(6, 48, seed)
        values = worth(found.members)
        assert (found.shapley @ values).sum() == pytest.approx(worth(np.ones((1, 6)))[0])
        deviations.append((found.shapley @ values - exact) / found.sampling_error(values))
    list_coalitions.cache_clear()
    spread = np.sqrt(np.mean(np.square(deviations)))
    assert 0.7 < spread < 1.6  # of a t variable of few draws


def test_sets_of_many_owners_are_drawn_and_of_too_many_refused():
    found = list_coalitions(EXACT_OWNERS + 1)
    assert len(found.members) < 2**EXACT_OWNERS
    check_count(MOST_OWNERS, "policy.kind")
    with pytest.raises(InputError, match="policy.kind: must be left out with more than 40 owners"):
        check_count(MOST_OWNERS + 1, "policy.kind")
