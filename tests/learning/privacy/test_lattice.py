"""L2 noise for release: exact chances on a small lattice, its map in whole numbers, the law it nears on a fine one."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare, gamma, kstest

from learning.privacy import secure_noise as lattice
from learning.privacy.secure_noise import LatticeL2, _accept_draw, draws_per_sample


@pytest.mark.slow
def test_chances_on_a_coarse_grid_are_as_exp_of_the_length(monkeypatch):
    """4,000 draws of two numbers at a scale of 1.5 steps, against the sum over the whole lattice."""
    monkeypatch.setattr(lattice, "FINE", 0)
    noise = LatticeL2(1.5, 2)
    assert (noise.step, noise.steps) == (1.0, Fraction(3, 2))
    drawn = np.array([noise.draw_steps() for _ in range(4000)])
    points = np.array(list(product(range(-40, 41), repeat=2)))
    chance = np.exp(-np.linalg.norm(points, axis=1) / 1.5)
    near = np.abs(points).max(axis=1) <= 2
    seen = [np.all(drawn == point, axis=1).sum() for point in points[near]]
    expected = 4000 * chance[near] / chance.sum()
    rest = 4000 - sum(seen), 4000 - expected.sum()
    assert chisquare([*seen, rest[0]], [*expected, rest[1]]).pvalue > 1e-3


def test_on_a_fine_grid_it_is_l2_noise():
    noise = LatticeL2(0.7, 3)
    drawn = np.array([noise.invoke([5.0, -1e6, 0.1]) for _ in range(500)]) - [5.0, -1e6, 0.1]
    assert kstest(np.linalg.norm(drawn, axis=1) / 0.7, gamma(3).cdf).pvalue > 1e-3
    assert 2**24 <= noise.steps < 2**25


def test_neighbours_are_no_further_apart_on_the_grid_than_the_map_counts():
    noise = LatticeL2(3e-7, 5)
    rng = np.random.default_rng(0)
    step = Fraction(noise.step)
    distance = 4e-7
    for _ in range(50):
        one = rng.normal(size=5)
        way = rng.normal(size=5)
        other = one + 0.999999 * distance * way / np.linalg.norm(way)
        apart = [
            round(Fraction(a) / step) - round(Fraction(b) / step)
            for a, b in zip(one, other, strict=True)
        ]
        assert (
            Fraction(sum(k * k for k in apart))
            <= (Fraction(noise.map(distance)) * noise.steps) ** 2
        )
    one, other = (
        [(0.5 + way * 0.01) * noise.step] * 5 for way in (1, -1)
    )  # near, and rounded apart in every number
    apart = [
        round(Fraction(a) / step) - round(Fraction(b) / step)
        for a, b in zip(one, other, strict=True)
    ]
    spent = Fraction(noise.map(0.02 * np.sqrt(5) * noise.step)) * noise.steps
    assert apart == [1] * 5 and spent**2 >= 5
    assert noise.map(distance) == pytest.approx(4 / 3, rel=1e-6) and noise.map(distance) > 4 / 3


def test_a_chance_is_told_from_a_number_that_is_near_it(monkeypatch):
    """Bits and digits are added until they differ."""
    with localcontext(prec=80):
        near = int(Decimal(-1).exp() * 2**64)
        below = Decimal(near * 2**64 + 2**63 + 1) / 2**128 < Decimal(-1).exp()
    asked = []

    def bits(number):
        asked.append(number)
        return near if len(asked) == 1 else 2**63

    monkeypatch.setattr(lattice.secrets, "randbits", bits)
    assert _accept_draw(4, 2, Fraction(1), Fraction(2)) == below and asked == [
        64,
        64,
    ]  # exp(-(2/1 - 2/2)) = 1/e


def test_as_many_draws_are_thrown_away_as_is_said(monkeypatch):
    kept = []
    whole = lattice._accept_draw
    monkeypatch.setattr(
        lattice, "_accept_draw", lambda *told: kept.append(whole(*told)) or kept[-1]
    )
    for _ in range(100):
        LatticeL2(1.0, 6).draw_steps()
    assert len(kept) / 100 == pytest.approx(draws_per_sample(6), rel=0.4)
