"""Weights of answers seen in sums: the noise hides the strictest owner's records, and the market stays one of sums."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated, planning_inputs

from learning.errors import InputError
from learning.forecast.choice import make_planner
from learning.forecast.fitness import forecast_fitness
from learning.forecast.inputs import Settings
from learning.forecast.public_sample import PublicSample
from learning.forecast.shared_noise import SaturatedWeighting, SharedWeighting
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.wrapped import Trust
from learning.training.law import Problem

SIZES = np.array([1000.0, 400.0, 2500.0, 900.0])
KINDS = ("size", "equal", "precision")


LAPLACE = Laplace()
TRUST = Trust("secure")


def made(kind, colluders=0, mechanism=LAPLACE, between=0.0):
    unit = Problem(
        *(np.array(v, float) for v in ([[2.0]], [[[1.0]]], [[[2.0]]], [[1.0]], [[0.0]], [1.0]))
    )
    plain = forecast_fitness(
        unit,
        Settings("averaged"),
        sizes=SIZES,
        mechanism=mechanism,
        gradient_bound=1.0,
        dispersion=30.0,
        basis="oracle",
    )
    shared = replace(plain, weighting=SharedWeighting(owners=tuple(SIZES), colluders=colluders))
    return shared.with_weights(kind, np.array([1.0, 0.5, 1.0, 1.0]), between)


def profiles(count=40):
    rng = np.random.default_rng(3)
    epsilon = np.exp(rng.uniform(np.log(0.05), np.log(5), (count, len(SIZES))))
    return np.where(rng.random(epsilon.shape) < 0.2, 0.0, epsilon)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("colluders", [0, 1])
def test_the_noise_hides_every_weighted_record_and_no_more(kind, colluders):
    shared = made(kind, colluders)
    for epsilon in profiles():
        sharing = epsilon > 0
        weights = shared.weights(epsilon)
        if sharing.sum() <= colluders:
            continue
        needs = weights**2 * shared.mechanism.noise_term(epsilon) / SIZES**2
        grown = sharing.sum() / (sharing.sum() - colluders)
        assert weights.sum() == pytest.approx(1) and not weights[~sharing].any()
        assert shared.noise_at(epsilon) >= needs.max() * grown * (1 - 1e-12)
        strict = isinstance(shared.weighting, SharedWeighting) or (
            np.sqrt(shared.mechanism.noise_term(epsilon)).max() > shared.weighting.level
        )
        if strict:
            assert shared.noise_at(epsilon) == pytest.approx(needs.max() * grown)


def test_alike_owners_need_the_noise_of_one():
    alone = replace(made("size"), weighting=made("size").with_weights("size", SIZES).weighting)
    epsilon = np.full(4, 0.7)
    assert alone.noise_at(epsilon) == pytest.approx(8 / 0.7**2 / SIZES.sum() ** 2)
    assert made("size", 2).noise_at(epsilon) == pytest.approx(2 * alone.noise_at(epsilon))


@pytest.mark.parametrize("kind", KINDS)
def test_an_owners_move_is_its_part_of_the_sums(kind):
    shared = made(kind)
    moves = np.linspace(0, 3, 7)
    for epsilon in profiles(6):
        terms = shared.terms(epsilon)
        others = terms.sum(axis=0) - terms
        candidates = np.tile(moves, (len(SIZES), 1))
        found = shared.excess(shared.beside(candidates, others[:, None]))
        some = shared.part(np.array([1, 3]))
        assert np.allclose(some.terms(candidates[[1, 3]]), shared.terms(candidates)[[1, 3]])
        for owner in range(len(SIZES)):
            for at, move in enumerate(moves):
                profile = epsilon.copy()
                profile[owner] = move
                assert found[owner, at] == pytest.approx(shared.at(profile), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", [LAPLACE, Gaussian(1e-6, "zcdp")])
def test_slopes_are_those_of_differences(kind, mechanism):
    shared = made(kind, 1, mechanism, between=1e-4 if kind == "precision" else 0.0)
    for epsilon in profiles(12)[:, :, None]:
        if (epsilon > 0).sum() < 3:
            continue
        terms = shared.terms(epsilon[:, 0])
        others = (terms.sum(axis=0) - terms)[:, None]
        step = 1e-6 * epsilon
        up, down = (
            shared.excess(shared.beside(at, others)) for at in (epsilon + step, epsilon - step)
        )
        slope = shared.slopes(epsilon, others + shared.terms(epsilon))
        known = epsilon > 0
        differences = (up - down)[known] / (2 * step[known])
        assert slope[known] == pytest.approx(differences, rel=1e-4, abs=1e-7)
        assert not slope[~known].any()


def test_a_budget_beyond_the_announced_level_adds_nothing():
    shared = made("precision")
    assert isinstance(shared.weighting, SaturatedWeighting)
    enough = float(shared.mechanism.budget(shared.weighting.level**2))
    lax, laxer = (np.array([1.0, 0.5, 1.0, more * enough]) for more in (1.0, 10.0))
    assert shared.at(lax) == pytest.approx(shared.at(laxer), rel=1e-12)
    assert shared.at(0.5 * lax) > shared.at(lax)


def test_no_sum_is_seen_that_nothing_hides():
    shared = made("size", 2)
    few = np.array([1.0, 1.0, 0.0, 0.0])
    assert shared.at(few) == shared.outside and not shared.plan(few).asks
    assert not shared.asks(shared.terms(few).sum(axis=0))


def test_more_than_two_hundred_owners_need_weights_by_precision():
    sample = PublicSample(*generated(100, 4, np.random.default_rng(0)))
    secure = [
        replace(planning_inputs(sample, Settings(weights=kind), 1.0, [100] * 201), trust=TRUST)
        for kind in KINDS
    ]
    for inputs in secure[:2]:
        with pytest.raises(InputError, match='learning.weights: must be "precision"'):
            make_planner(inputs)
    forecast = make_planner(secure[2]).forecast
    assert isinstance(forecast.weighting, SaturatedWeighting)
    assert forecast.at(secure[2].owners.reference) < forecast.outside
