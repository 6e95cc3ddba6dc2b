"""The search for lies: it finds the best, jumps and smooth ones, for some owners or all, and sees a loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from market.procurement.auctions import ProportionalShare
from market.procurement.mechanism import ProcurementMechanism
from market.procurement.reports import best_misreports


@dataclass(frozen=True)
class PayAsAsked(ProcurementMechanism):
    """The k cheapest sell one unit each at the price they asked: not truthful."""

    k: int
    budget = np.inf

    def settle(self, reports, chances):
        wins = np.argsort(np.argsort(reports, axis=-1, kind="stable"), axis=-1) < self.k
        return wins * 1.0, wins * reports


def test_the_search_finds_the_best_lie():
    """Who is paid as it asks should ask just less than the first loser's cost: gains c_(k+1) - c_i, bar 1e-6."""
    costs = np.array([3.5, 1.0, 4.0, 2.0])  # ties go to the first owner, who must be undercut
    lies = best_misreports(PayAsAsked(2), costs, rng=np.random.default_rng(0))
    assert np.allclose(lies.gain, [0, 2.5, 0, 1.5], atol=1e-6) and np.all(
        lies.gain <= [0, 2.5, 0, 1.5]
    )
    assert np.allclose(lies.report[[1, 3]], 3.5, rtol=1e-6) and np.array_equal(
        lies.report[[0, 2]], costs[[0, 2]]
    )


def test_the_search_finds_smooth_lies():
    """In a contest of two with costs c, d the report r earns R d^2/(r+d)^2 + R d (r-c)/(r+d)^2 = R d (r+d-c)/(r+d)^2:
    best at r = 2c - d if that is positive, where it is R d / (4 (r + d - c)) = R d/(4 c); the truth
    earns R d^2/(c+d)^2."""
    cost = 3.0
    rival = 2.0
    reward = 10.0
    lies = best_misreports(
        ProportionalShare(reward), np.array([cost, rival]), rng=np.random.default_rng(0)
    )
    truth = reward * (rival / (cost + rival)) ** 2
    assert lies.surplus[0] == pytest.approx(truth, rel=1e-12)
    assert lies.gain[0] == pytest.approx(reward * rival / (4 * cost) - truth, rel=1e-5)
    assert lies.report[0] == pytest.approx(2 * cost - rival, rel=1e-2)


def test_the_search_can_be_left_to_some_owners():
    costs = np.array([[3.5, 1.0, 4.0, 2.0]])
    everybody = best_misreports(PayAsAsked(2), costs, rng=np.random.default_rng(0))
    some = best_misreports(PayAsAsked(2), costs, rng=np.random.default_rng(0), owners=np.array([3]))
    assert np.array_equal(some.gain, [[0, 0, 0, everybody.gain[0, 3]]]) and some.gain.shape == (
        1,
        4,
    )


def test_a_loss_is_seen():
    """Paid less than the truth costs: a mechanism that charges a fee is not individually rational."""

    @dataclass(frozen=True)
    class Fee(PayAsAsked):
        def settle(self, reports, chances):
            epsilon, payments = super().settle(reports, chances)
            return epsilon, payments - 0.25

    assert best_misreports(Fee(1), [1.0, 2.0], rng=np.random.default_rng(0)).surplus.min() == -0.25
