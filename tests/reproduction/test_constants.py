"""Constants fitted on one figure: noise by hand, ranges, and what is compared."""

import numpy as np
import pandas as pd
import pytest

from learning.randomness import Streams
from learning.training.plan import Plan
from reproduction.constants import ITEMS, fits
from reproduction.item import Setting
from reproduction.timing.banks import compute_sizes
from reproduction.training import Market

BY_KEY = {item.key: item for item in ITEMS}
RNG = np.random.default_rng(2)
PLAN = Plan("averaged", "averaged", fits.HORIZON, 0.05)


def market(bound, sizes=(40, 30, 30)):
    parts = []
    for size in sizes:
        x = RNG.normal(size=(size, 2))
        parts.append((x, x @ [1.0, -0.5] + 0.1 * RNG.normal(size=size)))
    return Market(parts, bound)


def test_the_noise_of_a_corner_is_that_of_a_market_of_as_many_records():
    zeros = [(np.zeros((size, 1)), np.zeros(size)) for size in (1_000, 100_000, 100_000)]
    for budget in (0.1, 10.0):
        known = Market(zeros, 3.0).noise_power([0.1, budget, budget], PLAN)
        assert 9 * fits.noise_at_one(100_000, budget) == pytest.approx(float(known), rel=1e-12)


def test_a_bound_twice_as_large_is_a_budget_half_as_large():
    """What both items rest on: trainings with the same draws end alike, and the law agrees."""
    one = market(2.0)
    other = Market(one.records, 4.0)
    ends = [
        made.fitness([epsilon] * 3, PLAN, runs=5, streams=Streams(1, "noise"))
        for made, epsilon in ((one, 1.0), (other, 2.0))
    ]
    np.testing.assert_allclose(*ends, rtol=1e-9)
    noise = [made.law([1.0] * 3, PLAN)[1] for made in (one, other)]
    assert noise[1] == pytest.approx(4 * noise[0], rel=1e-9)


def test_levels_at_the_ends_of_a_range_are_the_ticks():
    low, high = fits.range_of_bounds((1e3, 1e4), bias=2.0, slope=0.5)
    assert [2.0 + 0.5 * bound**2 for bound in (low, high)] == pytest.approx([1e3, 1e4])


def panels(**ranges):
    rows = [
        {"panel": name, "low": low, "high": high, "bound": low, "level": 1.0}
        for name, (low, high) in ({fits.FITTED: (10.0, 20.0)} | ranges).items()
    ]
    return pd.DataFrame(rows)


def test_a_panel_that_needs_another_bound_is_named_with_the_factor():
    checks = BY_KEY["K-VC"].checks(
        panels(shares=(15.0, 90.0), touches=(20.0, 30.0), beyond=(25.0, 40.0))
    )
    found = {one.what.split(" of ")[-1].split(":")[0]: one for one in checks if one.kind == "value"}
    assert [found[name].holds for name in ("shares", "touches", "beyond")] == [True, True, False]
    assert found["beyond"].found == pytest.approx(1.25)


def test_whom_it_pays_is_judged_at_both_ends_of_the_fit():
    rows = [
        {"owners": owners, "epsilon": budget, "bound": bound, "ratio": ratio}
        | {"fitted_low": 200.0, "fitted_high": 220.0}
        for owners, budget, ratios in (
            (5, 10.0, (0.1, 0.6, 0.7, 3.0)),
            (100, 2.5, (2.0, 10.0, 11.0, 20.0)),
        )
        for bound, ratio in zip((50.0, 200.0, 220.0, 400.0), ratios, strict=True)
    ]
    checks = BY_KEY["K-AS"].checks(pd.DataFrame(rows))
    pays = [(one.found, one.holds) for one in checks if one.kind == "law"]
    assert pays == [(0.6, True), (0.7, True), (10.0, False), (11.0, False)]
    largest = [one.found for one in checks if one.what.startswith("largest")]
    assert largest == [220.0, 0.0]


def test_a_step_is_judged_by_the_slopes_it_was_made_with():
    """A power law by hand: psi = 100/epsilon/(n/100)^2.5; at a tenth of the step nothing moves."""
    grid = [(budget, n) for n in (100.0, 1_000.0) for budget in (0.1, 1.0, 10.0)]
    law = [{"epsilon": e, "n_records": n, fits.PSI: 1e6 / e / (n / 100) ** 2.5} for e, n in grid]
    still = [{"epsilon": e, "n_records": n, fits.PSI: 5.0} for e, n in grid]
    frame = pd.concat(
        [
            pd.DataFrame(law).assign(factor=1.0, noiseless=1e-9),
            pd.DataFrame(still).assign(factor=0.1, noiseless=5.0),
        ]
    )
    checks = BY_KEY["K-AS11"].checks(frame)
    assert [one.found for one in checks] == [1, 1, 1, 1, 1] and checks[-1].holds
    steeper = frame.assign(**{fits.PSI: frame[fits.PSI] / frame["epsilon"] ** 0.5})
    *claims, every = BY_KEY["K-AS11"].checks(steeper)
    assert [one.found for one in claims] == [2, 1, 0, 1]
    assert every.found == 0 and not every.holds


def test_one_floor_with_two_equilibria_refutes_that_there_is_one():
    rows = [
        {"sizes": sizes, "floor": floor, "equilibria": 2 if floor < least else 1}
        for sizes, least in (("equal", 0.1), ("different", 0.0))
        for floor in (0.01, 0.5)
    ]
    checks = BY_KEY["K-TH"].checks(pd.DataFrame(rows))
    assert [(one.found, one.holds) for one in checks if one.kind == "law"] == [
        (0, True),
        (1, False),
    ]


def test_at_the_books_step_fitness_is_that_of_as_11():
    """Second route: AS-11 trains at that step alone; kinks of the hinge enlarge rounding."""
    setting = Setting(quick=True)
    steps = BY_KEY["K-AS11"].compute(setting)
    one = steps[steps["factor"] == 1.0].sort_values(["n_records", "epsilon"])
    book = compute_sizes(setting).sort_values(["n_records", "epsilon"])
    assert np.allclose(one[fits.PSI], book[fits.PSI], rtol=1e-6)
    assert np.allclose(one["noiseless"], book["noiseless"], rtol=1e-6)


@pytest.mark.slow
def test_the_one_equilibrium_above_the_floors_is_that_of_an_independent_program(monkeypatch):
    monkeypatch.setattr(fits, "FLOORS", (0.001, 0.2))
    frame = BY_KEY["K-TH"].compute(Setting(quick=True))
    equal = frame[frame["sizes"] == "equal"].set_index("floor")
    assert equal["equilibria"].tolist() == [2, 1]
    assert equal.loc[0.2, "total"] == pytest.approx(4 * 2.24253, abs=1e-4)
