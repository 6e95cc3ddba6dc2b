"""What every entry of ALGORITHMS keeps to: the same runs from the same noise, none at epsilon = inf, and what it declares."""

from dataclasses import replace

import numpy as np
import pytest
from trainings import P, task

from learning.training import ALGORITHMS, train


@pytest.fixture(params=ALGORITHMS.values(), ids=lambda algorithm: algorithm.name)
def algorithm(request):
    return request.param


def test_the_same_streams_give_the_same_runs_and_more_of_them_change_none(algorithm):
    first, again, more = (train(task(algorithm, runs=runs)).theta for runs in (5, 5, 8))
    assert np.array_equal(first, again) and first.shape == (5, P)
    np.testing.assert_allclose(more[:5], first, rtol=1e-9, atol=1e-12)
    assert len(np.unique(first[:, 0])) == 5


def test_without_noise_runs_that_ask_alike_are_alike_and_stay_in_the_ball(algorithm):
    found = train(task(algorithm, epsilon=(np.inf, np.inf)))
    if not algorithm.asks_at_random:
        np.testing.assert_allclose(
            found.theta, np.tile(found.theta[:1], (5, 1)), rtol=1e-12, atol=1e-14
        )
    assert np.abs(found.theta).max() <= 0.8 * (1 + 1e-12) and found.ledger.accounts


def test_less_budget_means_more_spread(algorithm):
    loud, quiet = (
        train(task(algorithm, epsilon, runs=60, theta_max=50.0)).theta
        for epsilon in ((0.5, 1.0), (8.0, 16.0))
    )
    assert loud.var(axis=0).sum() > quiet.var(axis=0).sum()


def test_the_ledger_is_charged_what_it_says_it_asks(algorithm):
    asked = task(algorithm)
    counts = algorithm.count_answers(asked)
    assert [one.answered for one in train(asked).ledger.accounts] == counts
    if not algorithm.asks_at_random:
        assert counts == [algorithm.queries(asked.plan.horizon)] * 2


def test_weights_of_owners_change_the_model(algorithm):
    asked = task(algorithm, epsilon=(np.inf, np.inf))
    one, other = (
        train(replace(asked, weights=np.array(weights))).theta
        for weights in ([0.9, 0.1], [9.0, 1.0])
    )
    assert np.array_equal(one, other)  # they are made to sum to 1
    assert not np.allclose(one, train(replace(asked, weights=np.array([0.1, 0.9]))).theta)


def test_steps_are_one_for_each_query_and_scale_with_their_constant(algorithm):
    low, _ = algorithm.rounds
    for horizon in (low, 2, 9):
        steps = algorithm.steps(0.5, horizon)
        assert steps.shape == (algorithm.queries(horizon),) and (steps > 0).all()
        np.testing.assert_allclose(
            algorithm.steps(np.array([0.5, 1.0]), horizon).T, [steps, 2 * steps], rtol=1e-12
        )


def test_plans_to_try_are_within_what_it_declares(algorithm):
    low, high = algorithm.rounds
    for coarse in (False, True):
        for horizon in algorithm.coarse_horizons if coarse else algorithm.trial_horizons:
            assert low <= horizon <= high
            constants = algorithm.trial_constants(horizon, 2.0, np.array([0.4, 0.6]), coarse=coarse)
            assert constants.ndim == 1 and (constants > 0).all()
            assert set(algorithm.trial_points(algorithm.returned, horizon)) <= set(
                algorithm.returned
            )


def test_a_report_can_name_it(algorithm):
    assert (
        ALGORITHMS[algorithm.name] is algorithm
        and algorithm.says
        and algorithm.counts
        and algorithm.answer
    )
