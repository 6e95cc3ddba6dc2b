"""Clocks: how likely each owner is to talk, against clocks simulated one by one and sums over all subsets."""

from itertools import combinations

import numpy as np
import pytest

from learning.errors import InputError
from learning.training.clocks import Clocks, talk_probabilities


def literal(clocks, n_owners, ticks, rng):
    """Who talks at each tick, delays and drop-outs drawn one by one."""
    rates = np.ones(n_owners) if clocks.rates is None else np.array(clocks.rates)
    missing = rng.random((ticks, n_owners)) < clocks.dropout
    waits = rng.exponential(1 / rates, size=(ticks, n_owners))
    if clocks.talk == "broadcast":
        waits[missing] = np.inf
        return np.where(missing.all(axis=1), -1, waits.argmin(axis=1))
    first = waits.argmin(axis=1)
    return np.where(missing[np.arange(ticks), first], -1, first)


def by_subsets(rates, dropout):
    """Chance of each owner to answer a broadcast first, over all subsets of owners that answer."""
    n = len(rates)
    chance = np.zeros(len(rates))
    for count in range(1, n + 1):
        for here in map(list, combinations(range(n), count)):
            gone = [i for i in range(n) if i not in here]
            weight = np.prod(1 - dropout[here]) * np.prod(dropout[gone])
            chance[here] += weight * rates[here] / rates[here].sum()
    return chance


@pytest.mark.parametrize("talk", ["request", "broadcast"])
def test_chances_are_those_of_clocks_simulated_one_by_one(talk):
    clocks = Clocks(rates=(1.0, 2.0, 6.0), dropout=(0.0, 0.3, 0.6), talk=talk)
    ticks = 200_000
    expected = talk_probabilities(clocks, 3)
    seen = literal(clocks, 3, ticks, np.random.default_rng(0))
    found = np.array([(seen == i).mean() for i in range(3)])
    assert found == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(ticks))
    assert expected.sum() == pytest.approx(1 - (seen == -1).mean(), abs=4 * 0.5 / np.sqrt(ticks))


@pytest.mark.parametrize("dropout", [0.0, 1e-9, 0.5, 0.999])
def test_chances_of_a_broadcast_are_those_over_all_subsets(dropout):
    rng = np.random.default_rng(0)
    rates = 10 ** rng.uniform(-4, 4, size=9)
    missing = rng.uniform(0, 1, size=9) * dropout
    found = talk_probabilities(Clocks(tuple(rates), tuple(missing), "broadcast"), 9)
    assert found == pytest.approx(by_subsets(rates, missing), rel=1e-12)


@pytest.mark.parametrize("dropout", [0.0, 0.2, 0.99])
def test_chances_of_many_owners_alike(dropout):
    """(1 - d^N)/N each, at N = 400."""
    found = talk_probabilities(Clocks(rates=(3.0,) * 400, dropout=dropout, talk="broadcast"), 400)
    assert found == pytest.approx(np.full(400, (1 - dropout**400) / 400), rel=1e-12)


@pytest.mark.parametrize("talk", ["request", "broadcast"])
@pytest.mark.parametrize(
    ("key", "clocks"),
    [
        ("rates", {"rates": (1.0, 2.0)}),
        ("rates", {"rates": (1.0, 0.0, 1.0)}),
        ("rates", {"rates": (1.0, np.inf, 1.0)}),
        ("dropout", {"dropout": 1.0}),
        ("dropout", {"dropout": (0.0, -0.1, 0.0)}),
        ("dropout", {"dropout": (0.0, 0.1)}),
        ("dropout", {"dropout": np.nan}),
    ],
)
def test_clocks_that_do_not_fit_are_refused(talk, key, clocks):
    with pytest.raises(InputError, match=f"learning.clocks.{key}: must be one number"):
        talk_probabilities(Clocks(**clocks, talk=talk), 3)
