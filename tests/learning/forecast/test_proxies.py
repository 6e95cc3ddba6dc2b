"""Few proxies in place of many owners: the aggregate's mean, noise and further moments stay."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rehearsals import stage

from learning.forecast.proxies import MOST, Proxies
from learning.privacy.l2 import L2

MANY = 100


def with_many(algorithm):
    rng = np.random.default_rng(5)
    sizes = rng.integers(30, 300, size=MANY).astype(float)
    noises = rng.uniform(0.2, 5, size=MANY)
    made = stage(algorithm, mechanism=L2(3))
    return replace(made, sizes=sizes, weights=sizes / sizes.sum(), noises=noises)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1e-6, 1e6)), min_size=1, max_size=90))
def test_weights_records_and_noise_add_up_to_what_they_were(drawn):
    weights, terms = np.array([(1.0, 1.0), *drawn]).T
    weights = weights / weights.sum()
    each = Proxies(weights, np.arange(1.0, 1 + len(weights)), terms / (weights**2 @ terms))
    few = each.merge()
    assert len(few.weights) == len(few.sizes) == len(few.shares) <= MOST
    assert few.weights.sum() == pytest.approx(1)
    assert few.sizes.sum() == each.sizes.sum()
    assert few.weights**2 @ few.shares == pytest.approx(1)
    if len(weights) <= MOST:
        assert few is each


def test_no_merged_proxy_has_far_more_noise_than_its_part():
    """Equal owners: parts are equal. One owner of half the noise keeps a proxy of its own."""
    equal = Proxies(np.full(320, 1 / 320), np.ones(320), np.full(320, 320.0)).merge()
    np.testing.assert_allclose(equal.weights**2 * equal.shares, 1 / MOST)
    terms = np.concatenate([[101.0 * 100], np.full(100, 101.0)]) / 2
    one = Proxies(np.full(101, 1 / 101), np.ones(101), terms).merge()
    assert one.sizes.min() == 1 and (one.weights**2 * one.shares).max() == pytest.approx(0.5, 0.01)


def test_owners_who_take_steps_have_a_proxy_each():
    assert len(with_many("averaged").proxies.weights) == MANY
    assert len(with_many("one_step").proxies.weights) == MOST


def test_forecasts_of_few_proxies_are_those_of_a_proxy_for_each_owner(monkeypatch):
    """Relative fitness after one release: means agree within 4 standard errors, of some 5 %."""
    of = with_many("adassp")
    asked = 1, np.array([1.0]), np.array([3e-5])
    few = of.rehearse(*asked, repeats=1000, returned=("last",)).ravel()
    monkeypatch.setattr(Proxies, "merge", lambda self: self)
    each = of.rehearse(*asked, repeats=300, returned=("last",)).ravel()
    error = np.hypot(few.std() / len(few) ** 0.5, each.std() / len(each) ** 0.5)
    assert error < 0.1 * each.mean()
    assert few.mean() == pytest.approx(each.mean(), abs=4 * error)
