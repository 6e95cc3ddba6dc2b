"""What becomes of the answers of a round: by other formulas, by what it is proof against, and by who may use it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from populations import bounded_coordinates, randhie
from trainings import task

from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.mechanism import Mechanism
from learning.privacy.wrapped import Remaining
from learning.randomness import Streams
from learning.training import ALGORITHMS, Plan, Task, make_clients, train
from learning.training.aggregation import (
    AGGREGATIONS,
    MEAN,
    Median,
    NormCheck,
    Observed,
    TrimmedMean,
    trimmed_mean,
)
from learning.training.conduct import HONEST, Conduct

EVERY = pytest.mark.parametrize(
    "kind", [*AGGREGATIONS.values(), Observed], ids=lambda kind: kind.name
)


def combined(aggregation, asked, answers):
    """What a first round's answers come to, beside a gradient of its own of zero."""
    return aggregation.make_combiner(asked)(np.zeros(answers.shape[1:]), list(answers))


def answering(owners, runs=4, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(owners, runs, p))


def test_with_equal_weights_it_is_the_median_and_the_trimmed_mean_of_textbooks():
    for owners in (4, 5, 10):
        answers = answering(owners)
        equal = np.full(owners, 1 / owners)
        np.testing.assert_allclose(
            trimmed_mean(answers, equal, 0.5 - 1e-6), np.median(answers, axis=0), rtol=1e-6
        )
        expected = scipy.stats.trim_mean(answers, 1 / owners, axis=0)  # one at either end
        np.testing.assert_allclose(trimmed_mean(answers, equal, 1 / owners), expected, rtol=1e-9)


def test_an_owner_of_twice_the_weight_counts_as_two():
    answers = answering(4)
    weights = np.array([0.2, 0.4, 0.2, 0.2])
    twice = answers[[0, 1, 1, 2, 3]]
    for cut in (0.1, 0.3, 0.5 - 1e-6):
        np.testing.assert_allclose(
            trimmed_mean(answers, weights, cut),
            trimmed_mean(twice, np.full(5, 0.2), cut),
            rtol=1e-6,
        )


@EVERY
def test_answers_that_are_all_alike_are_what_comes_out(kind):
    asked = task(ALGORITHMS["averaged"], (np.inf, np.inf), runs=4)
    alike = np.broadcast_to(0.1 * answering(1), (2, 4, 3))
    np.testing.assert_allclose(combined(kind(), asked, alike), alike[0], rtol=1e-9)


@EVERY
def test_what_comes_out_does_not_hang_on_the_order_of_owners(kind):
    asked = task(ALGORITHMS["averaged"], runs=4)
    turned = replace(asked, owners=asked.owners[::-1])
    answers = answering(2)
    np.testing.assert_allclose(
        combined(kind(), asked, answers), combined(kind(), turned, answers[::-1]), rtol=1e-9
    )


@pytest.mark.parametrize(
    "mechanism",
    [Laplace(), Gaussian(1e-6), Remaining(Laplace(), 0.1)],
    ids=["laplace", "gaussian", "rest"],
)
def test_honest_noise_is_longer_than_allowed_as_often_as_is_said(mechanism):
    drawn = mechanism.draw(2.0, (40_000, 7), rng=np.random.default_rng(1))
    over = np.linalg.norm(drawn, ord=mechanism.norm, axis=1) > 2 * mechanism.length_quantile(
        7, 0.01
    )
    assert abs(over.mean() - 0.01) < 4 * np.sqrt(0.01 * 0.99 / 40_000)
    assert Mechanism.empirical_length_quantile(mechanism, 7, 0.01) == pytest.approx(
        mechanism.length_quantile(7, 0.01), rel=0.03
    )  # by draws


def test_the_longest_gradient_is_that_of_the_worst_record():
    """In either norm: |2 (phi'x - u) x| over records and points of the ball, by search; some come close to it."""
    rng = np.random.default_rng(2)
    asked = task(ALGORITHMS["averaged"])
    for norm in (1, 2):
        coordinates = replace(asked.coordinates, norm=norm)
        x = coordinates.within(10 * rng.normal(size=(4000, 3)), coordinates.radius)
        phi = coordinates.project(10 * np.sign(x) if norm == 1 else 10 * x)
        gradient = 2 * (np.einsum("rp,rp->r", phi, x) + coordinates.target_bound)[:, None] * x
        longest = np.linalg.norm(gradient, ord=norm, axis=1).max()
        assert (
            0.99 * coordinates.longest_gradient
            < longest
            <= coordinates.longest_gradient * (1 + 1e-12)
        )


def test_the_norm_check_drops_what_is_too_long_and_weighs_the_rest():
    asked = task(ALGORITHMS["averaged"], runs=2)
    answers = np.stack([np.full((2, 3), 0.1), np.full((2, 3), 1e9)])
    np.testing.assert_allclose(combined(NormCheck(), asked, answers), 0.1)
    assert not combined(NormCheck(), asked, np.full((2, 2, 3), 1e9)).any()


def test_observed_weights_find_out_who_adds_more_noise_than_it_sold():
    """After many rounds the weights are those of the true variances: the mean is as exact as if they were known."""
    asked = task(ALGORITHMS["averaged"], runs=400)
    asked = replace(asked, owners=(asked.owners[0],) * 6)
    spread = asked.owners[0].scale * np.array([1, 1, 1, 1, 5, 5])
    rng = np.random.default_rng(3)
    combine = Observed().make_combiner(asked)
    last = None
    for _ in range(30):
        last = combine(
            np.zeros((400, 3)), list(rng.laplace(size=(6, 400, 3)) * spread[:, None, None])
        )
    best = 2 / np.sum(1 / spread**2)
    assert best < last.var() < 1.25 * best < 2 * np.mean(spread**2) / 6


def test_owners_without_noise_weigh_as_planned():
    asked = task(ALGORITHMS["averaged"], (np.inf, np.inf), runs=4)
    answers = np.broadcast_to(answering(1), (2, 4, 3))
    np.testing.assert_allclose(combined(Observed(), asked, answers), answers[0])


def test_it_is_refused_where_owners_do_not_answer_side_by_side():
    for algorithm in ALGORITHMS.values():
        asked = replace(task(algorithm), aggregation=Median())
        if algorithm.aggregates:
            assert (
                not np.array_equal(
                    train(asked).theta, train(replace(asked, aggregation=MEAN)).theta
                )
                or len(asked.owners) < 3
            )
        else:
            with pytest.raises(
                ValueError, match="makes nothing but a mean of answers, and no median"
            ):
                train(asked)


# ---- on real records: one round and more, a part of the owners dishonest


def market(n_owners, conducts, aggregation, epsilon, rounds=3):
    """Mean relative fitness of trainings on the embedded table by owners of equal sizes, the first of some conduct."""
    x, y = randhie()
    coordinates = bounded_coordinates(x[-150:], y[-150:], theta_max=4.0)
    parts = np.array_split(np.arange(len(y) - 150), n_owners)
    names = [f"owner {i}" for i in range(n_owners)]
    each = [*conducts, *[HONEST] * (n_owners - len(conducts))]
    budgets = np.full(n_owners, epsilon)
    bound = coordinates.gradient_bound
    held = [coordinates.oracle(x[rows], y[rows]) for rows in parts]
    owners = make_clients(names, held, budgets, Laplace(), bound, rounds, each)
    plan = Plan("averaged", "last", rounds, 0.25)
    asked = Task(
        owners, coordinates, plan, Laplace(), 60, Streams(1, "noise"), aggregation=aggregation
    )
    fitness = Fitness(squared_statistics(x[:-150], y[:-150]))
    return float(fitness.relative(train(asked).theta).mean()), float(
        fitness.relative(coordinates.centre)
    )


def test_free_riders_spoil_the_mean_and_other_aggregations_less():
    honest, own = market(10, [], MEAN, 4.0)
    kinds = (type(MEAN), Observed, Median, TrimmedMean)
    free = [Conduct(noise=5.0)] * 3
    mean, *others = (market(10, free, kind(), 4.0)[0] for kind in kinds)
    assert honest < own < mean and mean > 2 * honest and max(others) < own


def test_one_poisoner_of_five_wrecks_the_mean_and_not_the_median():
    poisoner = [Conduct(gradient=-10.0)]
    (honest, own), (wrecked, _) = market(5, [], MEAN, 8.0), market(5, poisoner, MEAN, 8.0)
    median, checked, blind = (
        market(5, poisoner, how, 8.0)[0] for how in (Median(), NormCheck(signal=0.01), NormCheck())
    )
    assert honest < own < wrecked / 2 and max(median, checked) < own
    assert blind == wrecked, "what the public bounds allow is far longer than what is sent"
