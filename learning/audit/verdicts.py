"""Checks of a training at their worst place, and tests that share one error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, poisson


@dataclass(frozen=True)
class Check:
    """Property of a training, at the place where it is worst.

    Parameters
    ----------
    kind: the name of the property.
    tested: the number of places tested.
    place: the worst: an owner, or empty.
    found: the number found there.
    limit: the number at which the check fails.
    passed: whether the property holds.
    """

    kind: str
    tested: int
    place: str
    found: float
    limit: float
    passed: bool


@dataclass(frozen=True)
class SingleTest:
    """Statistical test at one place.

    Parameters
    ----------
    place: an owner, or empty.
    found: the statistic.
    chance: an upper bound on its p-value in a sound training.
    limit: error of a single test -> the statistic at which it fails.
    """

    place: str
    found: float
    chance: float
    limit: Callable[[float], float]


def judge_tests(kind: str, tests: Iterable[SingleTest], error: float) -> Check | None:
    """Judge all tests of a kind by the least likely one (Bonferroni)."""
    tests = [test for test in tests if np.isfinite(test.chance)]
    if not tests:
        return None
    worst = min(tests, key=lambda test: test.chance)
    each = error / len(tests)
    passed = worst.chance >= each
    return Check(kind, len(tests), worst.place, worst.found, worst.limit(each), passed)


def judge_numbers(kind: str, found: dict[str, float], limit: float = 0.0) -> Check | None:
    """Judge numbers by place that a sound training keeps at or below a limit."""
    if not found:
        return None
    place = max(found, key=lambda name: np.nan_to_num(found[name], nan=np.inf))
    return Check(kind, len(found), place, found[place], limit, bool(found[place] <= limit))


def judge_ratio(kind: str, tested: int, found: float, slack: float = 0.0, place: str = "") -> Check:
    """Judge a number over its bound, which a sound training keeps at or below 1 + slack."""
    return Check(kind, tested, place, found, 1.0, found <= 1 + slack)


def binomial_test(place: str, count: float, trials: float, chance: float) -> SingleTest:
    """Test a count against the binomial law, on both sides, exactly."""
    few = bool(count < trials * chance)
    beyond = binom.cdf(count, trials, chance) if few else binom.sf(count - 1, trials, chance)
    quantile = binom.ppf if few else binom.isf

    def fails_at(error: float) -> float:
        return float(quantile(error / 2, trials, chance))

    return SingleTest(place, count, min(1.0, 2 * float(beyond)), fails_at)


def poisson_test(place: str, count: float, expected: float) -> SingleTest:
    """Test a count of rare events against a bound on their expected number, by the Poisson law."""
    chance = float(poisson.sf(count - 1, expected))
    return SingleTest(place, count, chance, lambda each: float(poisson.isf(each, expected)) + 1)
