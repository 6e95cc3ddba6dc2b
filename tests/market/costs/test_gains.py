"""What guesses bring: known answers, Monte Carlo, best answers by linear programming, bounds and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from learning.errors import InputError
from market.analysis.thesis_games import thesis_game
from market.columns import finite_difference
from market.costs.channels import (
    CHANNELS,
    GAINS,
    answered_distance,
    bayes_utility,
    channel_matrix,
    expected_gain,
    gain_and_slope,
    gain_bound,
    gain_matrix,
    known_gain,
    value_distances,
)
from market.policies.thesis import ThesisGain

EPSILON = np.array([0.0, 0.1, 0.7, 2.0, 9.0, np.inf])
PRIOR = np.array([0.1, 0.05, 0.5, 0.2, 0.15])


@pytest.mark.parametrize("name", CHANNELS)
def test_a_right_guess_is_one_gain_among_others(name):
    matrix = channel_matrix(name, EPSILON, 5)
    for prior in (None, PRIOR):
        assert np.allclose(
            expected_gain(matrix, np.eye(5), prior), bayes_utility(matrix, prior), atol=1e-15
        )


def test_guesses_drawn_bring_what_is_expected():
    """Monte Carlo: 200,000 answers, each guessed so that the posterior gain is largest; within 4 standard errors."""
    rng = np.random.default_rng(5)
    gain = gain_matrix("near", 5)
    count = 200_000
    matrix = channel_matrix("truncated_geometric", 0.8, 5, sensitivity=1)
    truth = rng.choice(5, count, p=PRIOR)
    answer = (rng.random(count)[:, None] > matrix[truth].cumsum(axis=1)).sum(axis=1)
    posterior = PRIOR[:, None] * matrix / (PRIOR @ matrix)
    brought = gain[truth, (posterior.T @ gain).argmax(axis=1)[answer]]
    assert abs(brought.mean() - expected_gain(matrix, gain, PRIOR)) < 4 * brought.std() / np.sqrt(
        count
    )
    off = np.abs(truth - answer)
    told = answered_distance(matrix, value_distances("truncated_geometric", 5), PRIOR)
    assert abs(off.mean() - told) < 4 * off.std() / np.sqrt(count)


@pytest.mark.parametrize("gain", [*GAINS, ((1.0, 0.0, 0.3), (0.0, 1.0, 0.0), (0.2, 0.0, 2.0))])
@pytest.mark.parametrize("prior", [None, (0.7, 0.2, 0.1)])
def test_no_private_answer_brings_more_than_the_bound(gain, prior):
    """Against the best of all channels of three answers a guess, found by linear programming: the answer is the guess."""
    rows = gain_matrix(gain, 3)
    odds = np.full(3, 1 / 3) if prior is None else np.array(prior)
    for epsilon in (0.3, 1.5):
        private = []
        total = []
        for z in range(3):
            for x, y in ((x, y) for x in range(3) for y in range(3) if x != y):
                row = np.zeros((3, 3))
                row[x, z], row[y, z] = 1, -np.exp(epsilon)
                private.append(row.ravel())
        for x in range(3):
            row = np.zeros((3, 3))
            row[x] = 1
            total.append(row.ravel())
        best = linprog(
            -(odds[:, None] * rows).ravel(), private, np.zeros(len(private)), total, np.ones(3)
        )
        assert -best.fun <= gain_bound(np.array(epsilon), rows, prior) * (1 + 1e-9)
        assert -best.fun >= known_gain(rows, prior) - 1e-9
        for name in CHANNELS:
            assert expected_gain(channel_matrix(name, epsilon, 3), rows, prior) <= -best.fun + 1e-9
    if gain == "right" and prior is None:  # attained
        assert -best.fun == pytest.approx(float(gain_bound(np.array(epsilon), rows)))


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("prior", [None, PRIOR])
def test_gains_slope_as_their_differences(name, prior):
    rows = gain_matrix("near_squared", 5, name)
    at = np.geomspace(0.01, 12, 40).reshape(4, 10)
    found, slope = gain_and_slope(name, at, 1.7, rows, prior)
    assert np.allclose(
        found, expected_gain(channel_matrix(name, at, 5, 1.7), rows, prior), atol=1e-14
    )
    assert np.allclose(
        slope,
        finite_difference(lambda e: gain_and_slope(name, e, 1.7, rows, prior)[0], at),
        rtol=1e-6,
        atol=1e-9,
    )


def test_the_policy_pays_for_the_bound_where_a_channel_attains_it():
    """A ring of 2d + 1 answers meets the bound of distance d and border 2, so both games are one."""
    ring = thesis_game("gain", [1e3, 1e5], channel="ring_geometric", values=11)
    bound = thesis_game("utility", [1e3, 1e5])
    for profile in ([0.5, 3.0], [2.0, 1.0]):
        assert np.allclose(
            ring.payoffs(np.array(profile)), bound.payoffs(np.array(profile)), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"prior": (0.5, 0.5)},
            "policy.prior: needs one probability per value, 3 in all; found 2.",
        ),
        (
            {"gain": ((1.0, 0.0),)},
            "policy.gain: needs one row per value, 3 in all, of the same length; found 1 rows",
        ),
        (
            {"gain": ((1.0,), (-1.0,), (0.0,))},
            "policy.gain: must hold no number below 0, and one above; found -1 to 1.",
        ),
        (
            {"gain": "close"},
            'policy.gain: must be "right", "near", "near_squared" or a list of rows',
        ),
    ],
)
def test_what_does_not_fit_is_refused(keys, said):
    with pytest.raises(InputError) as error:
        ThesisGain(values=3, **keys)
    assert str(error.value).startswith(said)
