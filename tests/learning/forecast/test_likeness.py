"""Likeness of owners and the spread of their optima, by released sums."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from releases import BOUNDED, WHOLE, P, market
from sizes import sized, thinned

from learning.forecast.likeness import (
    Parties,
    compare_owners,
    gather_parties,
    reject_by_holm,
    spread_of_optima,
)
from learning.forecast.public_sample import PublicSample
from learning.losses.moment_bounds import Scores
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.sums import released_sums

GAUSSIAN = Gaussian(1e-6, "zcdp")


def rows(n, rng, slopes=None, tails=np.inf):
    """Records whose target has some slopes, and errors with Student's or normal tails."""
    x = rng.normal(size=(n, P))
    slopes = np.ones(P) if slopes is None else slopes
    error = rng.normal(size=n) if np.isinf(tails) else rng.standard_t(tails, n)
    return x, x @ slopes + error


def released(parts, public, *, epsilon=np.inf, coordinates=WHOLE, seed=0, mechanism=GAUSSIAN):
    """Sums of owners' records, in coordinates that start at the public model."""
    start = PublicSample(*public).model
    coordinates = replace(coordinates, centre=start)
    task, _ = market(epsilon, coordinates, mechanism=mechanism, runs=1)
    held = [coordinates.oracle(*part) for part in parts]
    names = [f"owner {i}" for i in range(len(parts))]
    budgets = np.broadcast_to(epsilon, len(parts))
    bound = coordinates.gradient_bound
    owners = make_clients(names, held, budgets, task.mechanism, bound, 1)
    return released_sums(replace(task, owners=owners, streams=Streams(seed, "noise")))


def compare(parts, public, seed=0, **how):
    mechanism = how.setdefault("mechanism", GAUSSIAN)
    sums = released(parts, public, seed=seed, **how)
    return compare_owners(
        sums, PublicSample(*public), mechanism, rng=np.random.default_rng([seed, 9])
    )


def test_without_noise_two_owners_differ_by_the_gls_distance_of_their_models():
    """(phi_1 - phi_2)'(V_1 + V_2)^-1 (phi_1 - phi_2), V_l = A_l^-1 C_l A_l^-1: another form of both owners' test."""
    rng = np.random.default_rng(0)
    parts = [rows(300, rng), rows(900, rng, slopes=1.1 * np.ones(P))]
    public = rows(100, rng)
    sums = released(parts, public)
    parties = gather_parties(sums, PublicSample(*public))
    models = [np.linalg.solve(a, g) for a, g in zip(sums.xx, sums.xu, strict=True)]
    inverse = [np.linalg.inv(a) for a in sums.xx]
    spread = sum(a @ c @ a for a, c in zip(inverse, parties.covariances[:2], strict=True))
    away = models[0] - models[1]
    expected = away @ np.linalg.solve(spread, away)
    found = compare(parts, public)
    assert [one.statistic for one in found.owners] == pytest.approx([expected, expected])
    assert found.among.statistic == pytest.approx(expected) and found.among.dof == P


@pytest.mark.parametrize(
    ("slope", "share", "epsilon", "least", "most"),
    [(-1, 0.05, 3.0, 0.5, 1e3), (1, 0.4, 0.5, 0.0, 0.1)],  # where noise on either counts
)
def test_scores_vary_as_the_covariance_says(slope, share, epsilon, least, most):
    """C of an owner against Monte Carlo: scores of drawn records at the best model, with drawn noise."""
    rng = np.random.default_rng(1)
    public = rows(200, rng, slopes=slope * np.ones(P))
    same = rows(20_000, rng)
    coordinates = replace(BOUNDED, scores=Scores(2.0, share))
    draws = sized(600, 6000)
    drawn = []
    for seed in range(draws):
        held = [rows(400, rng)]
        drawn.append(released(held, public, epsilon=epsilon, coordinates=coordinates, seed=seed))
    moments = np.mean([one.xx[0] for one in drawn], axis=0)
    best = np.linalg.solve(moments, np.mean([one.xu[0] for one in drawn], axis=0))
    scores = np.array([one.xu[0] - one.xx[0] @ best for one in drawn])
    parties = gather_parties(drawn[0], PublicSample(*public))
    parties = replace(parties, phi=best)
    moved, shown = drawn[0].coordinates.records(*same)
    parties = replace(parties, scores=moved * (shown - moved @ best)[:, None])
    expected = parties.covariances[0]
    found = np.cov(scores, rowvar=False)
    on_moments = parties.matrix_deviation[0] ** 2 * (best @ best) / 2
    assert least <= on_moments / parties.vector_deviation[0] ** 2 < most
    slack = 5 * np.sqrt(2 / draws) * np.trace(expected) / P
    np.testing.assert_allclose(found, expected, atol=slack)
    assert np.trace(found) == pytest.approx(np.trace(expected), rel=4 * np.sqrt(2 / draws / P))


@pytest.mark.parametrize(
    ("epsilon", "tails"),
    thinned([(1.0, np.inf), (20.0, np.inf), (1.0, 3), (20.0, 3)], [(20.0, np.inf), (1.0, 3)]),
)
def test_alike_owners_are_seldom_found_unlike(tails, epsilon):
    count = sized(25, 300)
    found = []
    for seed in range(count):
        rng = np.random.default_rng([seed, 3])
        parts = [rows(n, rng, tails=tails) for n in (300, 1200, 2500)]
        found.append(
            compare(parts, rows(150, rng, tails=tails), seed, epsilon=epsilon, coordinates=BOUNDED)
        )
    p_values = np.array(
        [[*(one.p_value for one in each.owners), each.public.p_value] for each in found]
    )
    most = scipy.stats.binom.ppf(0.9999, count, 0.05)
    assert (p_values < 0.05).sum(axis=0).max() <= most
    assert sum(any(each.unlike) for each in found) <= most
    assert sum(each.spread.interval[0] > 0 for each in found) <= most


@pytest.mark.parametrize("mechanism", [GAUSSIAN, L2(width=P).with_moments(0.4)])
def test_an_owner_of_another_kind_is_found(mechanism):
    rng = np.random.default_rng(4)
    parts = [rows(2000, rng), rows(2000, rng), rows(2000, rng, slopes=-np.ones(P)), rows(2000, rng)]
    found = compare(parts, rows(150, rng), epsilon=3.0, coordinates=BOUNDED, mechanism=mechanism)
    assert found.unlike[2] and found.among.p_value < 1e-4
    assert min(found.owners, key=lambda one: one.p_value) == found.owners[2]
    assert found.spread.interval[0] > 0


def test_one_owner_is_compared_with_the_public_rows_alone():
    rng = np.random.default_rng(5)
    found = compare([rows(800, rng, slopes=2 * np.ones(P))], rows(100, rng))
    assert (found.owners, found.among, found.spread, found.unlike) == ((), None, None, [])
    assert found.public.p_value < 0.001


def test_inputs_of_another_law_are_no_other_kind():
    rng = np.random.default_rng(6)
    x, _ = rows(2000, rng)
    moved = 2 * x + 1
    parts = [rows(2000, rng), (moved, moved @ np.ones(P) + rng.normal(size=2000))]
    found = compare(parts, rows(400, rng))
    assert found.among.p_value > 0.01


def known(spread, count, within, rng):
    """Parties under moments I whose optima vary by a variance, and are known to another one."""
    size = 100.0
    optima = np.sqrt(spread) * rng.normal(size=(count, P))
    seen = optima + np.sqrt(within) * rng.normal(size=(count, P))
    xx = np.tile(size * np.eye(P), (count + 1, 1, 1))
    xu = np.vstack([size * seen, np.zeros(P)])
    scores = np.sqrt(within * size) * np.sqrt(P) * np.eye(P)
    none = np.zeros(count + 1)
    phi = seen.mean(axis=0)
    inverse = np.eye(P) / (size * count)
    return Parties(xx, xu, np.full(count + 1, size), none, none, scores, phi, inverse)


@pytest.mark.parametrize("spread", [0.0, 0.5, 20.0])
def test_the_spread_is_unbiased_and_its_interval_holds(spread):
    """Above 0 on average as planted; with equal variances in closed form: sum |d|^2/(p (N - 1)) - u."""
    rng = np.random.default_rng(7)
    found = []
    covered = 0
    count = sized(200, 2000)
    for _ in range(count):
        parties = known(spread, 6, 1.0, rng)
        one = spread_of_optima(parties)
        away = parties.xu[:6] / 100 - parties.phi
        closed = max(0.0, np.sum(away**2) / (P * 5) - 1.0)
        assert one.excess == pytest.approx(P * closed, rel=1e-6, abs=1e-9)
        assert one.interval[0] <= one.excess <= one.interval[1]
        covered += one.interval[0] <= P * spread <= one.interval[1]
        found.append(one.excess)
    assert covered >= scipy.stats.binom.ppf(1e-4, count, 0.95)
    if spread:
        error = np.std(found) / np.sqrt(count)
        assert abs(np.mean(found) - P * spread) < 4 * error + 0.03 * P  # 0 is its floor


def test_holm_rejects_in_turn():
    assert reject_by_holm([]) == []
    assert reject_by_holm([0.04, 0.012, 0.024, 0.5]) == [False, True, False, False]
    assert reject_by_holm([0.04, 0.012, 0.016, 0.02]) == [True, True, True, True]
