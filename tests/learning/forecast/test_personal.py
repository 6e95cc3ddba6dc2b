"""Personal models, against the law of James and Stein and against the models that they combine."""

import numpy as np
import pytest
from sizes import sized

from learning.forecast.personal import personal_model, shrinkage
from learning.forecast.public_sample import dispersion


def owner(n, p, rng):
    """Records of one kind whose best model is 0, and the own model on them."""
    x = rng.normal(size=(n, p))
    y = rng.normal(size=n)
    return x, y, np.linalg.lstsq(x, y, rcond=None)[0]


@pytest.mark.parametrize(("spread", "n"), [(0.0, 400), (0.004, 400), (0.05, 400), (0.05, 60)])
def test_the_gain_over_the_own_model_is_that_of_the_law(spread, n):
    """E|own|^2 - E|personal|^2 = (p - 2)/p v^2/(v + c), with v = p/n and c = p spread; more where it is cut off."""
    p = 8
    rng = np.random.default_rng(1)
    gained = []
    lost = []
    for _ in range(sized(1500, 15_000)):
        x, y, own = owner(n, p, rng)
        common = np.sqrt(spread) * rng.normal(size=p)
        mixed = personal_model(x, y, common, own)
        gained.append(own @ own - mixed @ mixed)
        lost.append(own @ own)
    v = np.mean(lost)
    law = shrinkage(p) * v**2 / (v + p * spread)
    error = 4 * np.std(gained) / np.sqrt(len(gained))
    assert np.mean(gained) > law * (1 - 3 * p / n) - error  # v is itself estimated from n records
    assert np.mean(gained) < law * 1.3 + error
    assert np.mean(gained) < p * spread + v


def test_the_combination_is_that_of_both_covariances():
    """common + T (T + V)^-1 (own - common), with (T + V) as the distance of both shows it."""
    rng = np.random.default_rng(2)
    x, y, own = owner(100, 6, rng)
    common = own + 0.3
    v = dispersion(x, y, own) / 100 * shrinkage(6)
    together = np.mean((x @ (common - own)) ** 2)
    expected = common + (together - v) / together * (own - common)
    assert personal_model(x, y, common, own) == pytest.approx(expected)


def test_models_closer_than_chance_are_taken_as_they_are():
    rng = np.random.default_rng(3)
    x, y, own = owner(50, 5, rng)
    common = own + 1e-4
    assert personal_model(x, y, common, own) is common
    far = own + 1e6
    assert personal_model(x, y, far, own) == pytest.approx(own, abs=1e-3)


def test_with_two_parameters_the_own_model_stays():
    rng = np.random.default_rng(4)
    x, y, own = owner(50, 2, rng)
    assert personal_model(x, y, own + 0.01, own) == pytest.approx(own, abs=1e-12)
    assert [shrinkage(p) for p in (1, 2, 3, 10)] == pytest.approx([0, 0, 1 / 3, 0.8])
