"""Tests of single numbers of noise: zeros, repeats, grids and tails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from learning.arrays import Array
from learning.audit.accountant import L2Law, NoiseLaw
from learning.audit.transcript import Answers
from learning.audit.verdicts import Check, SingleTest, binomial_test, poisson_test

NOTHING = 1e-10  # of its scale: smaller noise counts as none
SAME = 1e-13  # relative distance of two numbers that are one
DIGITS = 8  # in which the same noise is the same
LARGEST = 3  # numbers of an answer by which it is known again
TAILS = (0.5, 0.1, 1e-2, 2e-3, 5e-4, 1e-4, 1e-5)  # chances whose quantiles are looked at
TWOS = (20, 28, 36, 42)  # powers of 2 and of 10 that a grid may be made of
TENS = (4, 6, 8, 10)
MOST_LIKELY = 1000.0  # expected repeats beyond which no test is made


def count_zeros(noisy: Sequence[Answers]) -> Iterator[SingleTest]:
    """Count numbers without noise: hardly one is expected, as the density is at most 1/2."""
    for one in noisy:
        sizes = np.abs(one.relative)
        nothing = max(NOTHING, 10 * one.rounding)
        count = int((sizes < nothing).sum())
        yield poisson_test(one.owner.name, count, nothing * np.isfinite(sizes).sum())


def count_repeats(noisy: Sequence[Answers]) -> Iterator[SingleTest]:
    """Count repeated sizes of noise, of any coordinate, round, owner and run.

    Two independent numbers of a density that falls with size are as near as SAME with a chance of
    at most 2 SAME.
    """
    tolerance = max(SAME, *(10 * one.rounding for one in noisy))
    sizes = np.concatenate([np.abs(one.relative).ravel() for one in noisy])
    sizes = np.sort(sizes[np.isfinite(sizes) & (sizes > NOTHING)])
    expected = len(sizes) ** 2 * tolerance
    if len(sizes) > 1 and expected < MOST_LIKELY:
        count = int((np.diff(sizes) <= tolerance * sizes[1:]).sum())
        yield poisson_test("", count, expected)


def check_repeated_answers(noisy: Sequence[Answers]) -> Check:
    """Count answers whose noise another one has too, in any signs, scale and order."""
    whole = np.concatenate([_largest_numbers(np.abs(one.relative)) for one in noisy])
    whole = whole[np.isfinite(whole).all(axis=1) & (whole > NOTHING).all(axis=1)]
    digits = 10 ** (DIGITS - 1 - np.floor(np.log10(whole)))
    again = len(whole) - len(np.unique(np.round(whole * digits) / digits, axis=0))
    return Check("twice", len(whole), "", again, 0.0, again == 0)


def _largest_numbers(sizes: Array) -> Array:
    """Select the largest numbers of every answer, or two runs' where an answer is one number."""
    rows = np.sort(sizes.reshape(-1, sizes.shape[-1]), axis=1)[:, -LARGEST:]
    if rows.shape[1] > 1:
        return rows
    return rows[: len(rows) // 2 * 2].reshape(-1, 2)


def find_grids(noisy: Sequence[Answers]) -> dict[str, float]:
    """Compute the largest share of an owner's numbers on a grid of 2s, 10s or single precision."""
    found: dict[str, float] = {}
    for one in noisy:
        per_variance = one.relative / np.sqrt(one.noise.shape[-1] + 1)  # the deviation of l2 noise
        shares = [
            _share_on_a_grid(numbers, one.rounding) for numbers in (one.relative, per_variance)
        ]
        shares.append(_share_on_a_grid(one.noise, one.rounding * one.scale))
        if one.drawn is not None:
            shares.append(_share_on_a_grid(one.drawn, one.rounding))
        found[one.owner.name] = max(found.get(one.owner.name, 0.0), *shares)
    return found


def _share_on_a_grid(numbers: Array, rounding: float) -> float:
    numbers = numbers[np.isfinite(numbers)]
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0:
        return 0.0
    shares = [0.0]
    if rounding < 1e-12 * largest:
        shares.append(float((numbers.astype(np.float32) == numbers).mean()))
    for step in (*(2.0**-k for k in TWOS), *(10.0**-k for k in TENS)):
        if 100 * max(rounding, largest * 2.0**-50) < step < largest / 100:
            shares.append(float((np.abs(numbers / step - np.rint(numbers / step)) < 0.02).mean()))
    return max(shares)


def count_tails(law: NoiseLaw, noisy: Sequence[Answers]) -> Iterator[SingleTest]:
    """Count numbers of noise beyond quantiles of its law on either side, and around its middle."""
    places = []
    for one in noisy:
        numbers = law.independent_numbers(one.relative)
        places.append((one.owner.name, law.chance_below(numbers[np.isfinite(numbers)])))
    if len(places) > 1:
        places.append(("", np.concatenate([below for _, below in places])))
    for name, below in places:
        for tail in TAILS:
            beyond = [below < tail]
            if tail < 0.5:
                beyond += [below > 1 - tail, np.abs(below - 0.5) < tail / 2]
            for found in beyond:
                yield binomial_test(name, int(found.sum()), len(below), tail)


def visible_cut(law: NoiseLaw, numbers: int, error: float) -> float:
    """Compute the largest size over scale at which truncated noise is detected; nan for l2 noise.

    So many numbers are expected beyond it that none at all is too unlikely.
    """
    if isinstance(law, L2Law):
        return float("nan")
    expected = np.log(2 / error)
    sizes = np.linspace(0, 40, 4001)
    beyond = np.asarray(law.chance_below(-sizes)) * numbers
    return float(sizes[np.searchsorted(-beyond, -expected) - 1])
