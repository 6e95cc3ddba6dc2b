"""Verdicts on a training: a check at its worst place, and single statistical tests that share one chance of error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, poisson


@dataclass(frozen=True)
class Check:
    """One property of a training, at the place where it is worst.

    Parameters
    ----------
    kind: the name of the property, a key of `learning.audit.checks.CHECKED`.
    tested: how many places were tested.
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
    """A statistical test at one place.

    Parameters
    ----------
    place: an owner, or empty.
    found: the statistic.
    chance: an upper bound on the chance of as much in a sound training.
    limit: error of a single test -> the statistic at which it fails.
    """

    place: str
    found: float
    chance: float
    limit: Callable[[float], float]


def worst_of(kind: str, tests: Iterable[SingleTest], error: float) -> Check | None:
    """Judge all tests of a kind by the least likely one, at an even share of the error (Bonferroni)."""
    tests = [test for test in tests if np.isfinite(test.chance)]
    if not tests:
        return None
    worst = min(tests, key=lambda test: test.chance)
    each = error / len(tests)
    return Check(kind, len(tests), worst.place, worst.found, worst.limit(each), worst.chance >= each)


def exact_check(kind: str, found: dict[str, float], limit: float = 0.0) -> Check | None:
    """Judge numbers by place that a sound training keeps at or below a limit."""
    if not found:
        return None
    place = max(found, key=lambda name: np.nan_to_num(found[name], nan=np.inf))
    return Check(kind, len(found), place, found[place], limit, bool(found[place] <= limit))


def count_test(place: str, count: float, trials: float, chance: float) -> SingleTest:
    """Test a count against the binomial law, on both sides, exactly."""
    few = bool(count < trials * chance)
    beyond = float(binom.cdf(count, trials, chance) if few else binom.sf(count - 1, trials, chance))
    quantile = binom.ppf if few else binom.isf
    return SingleTest(place, count, min(1.0, 2 * beyond), lambda each: float(quantile(each / 2, trials, chance)))


def rare_test(place: str, count: float, expected: float) -> SingleTest:
    """Test a count of rare events against a bound on their expected number, by the Poisson law."""
    return SingleTest(
        place, count, float(poisson.sf(count - 1, expected)), lambda each: float(poisson.isf(each, expected)) + 1
    )
