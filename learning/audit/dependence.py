"""Tests of independence of noise: between coordinates, rounds and owners, and of picks.

Sound noise of a known law becomes independent standard normal numbers. Products of such numbers
have fair and independent signs, given their sizes, so Hoeffding's inequality bounds every sum of
them; Davidson's and Szarek's bounds every linear combination of all numbers of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, gammaln, ndtr, ndtri

from learning.arrays import Array
from learning.audit.verdicts import SingleTest, binomial_test

Scores = tuple[str, Array]  # an owner, and its numbers (answers, runs, p)

ROUNDS_APART = 16  # largest distance of two answers that are compared
NUMBERS_APART = 8  # and of two coordinates of different answers
USUAL = 0.9  # of the runs, where they are asked unequally often
COLUMNS = 600  # numbers of a run that are tested together
BINS = 20  # of equally many records, by their number


def normal_scores(name: str, noise: Array) -> Array:
    """Turn noise of scale 1 into independent standard normal numbers, or signs if of unknown law.

    Parameters
    ----------
    name: of the mechanism.
    noise: array (..., p), nan where there is none.
    """
    if name == "gaussian":
        return noise
    if name == "laplace":
        return -np.sign(noise) * ndtri(np.exp(-np.abs(noise)) / 2)
    if name != "l2":
        return np.sign(noise)
    width = noise.shape[-1]
    length = np.linalg.norm(noise, axis=-1, keepdims=True)
    below = gammainc(width, length)
    low = gammaincinv(width / 2, below)
    high = gammainccinv(width / 2, gammaincc(width, length))
    squared = 2 * np.where(below < 0.5, low, high)
    return np.divide(noise, length, out=np.zeros_like(noise), where=length > 0) * np.sqrt(squared)


def size_scores(scores: Array) -> Array:
    """Turn the sizes of standard normal numbers, whatever their signs, into such numbers."""
    beyond = 2 * ndtr(-np.abs(scores))
    return -ndtri(np.clip(beyond, 1e-300, 1 - 1e-16))


def compare_rounds(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Compare each answer of an owner with those before it, coordinate by coordinate."""
    for name, numbers in scores:
        reach = min(NUMBERS_APART, numbers.shape[2] - 1)
        for rounds in range(1, min(ROUNDS_APART, len(numbers) - 1) + 1):
            for across in range(-reach, reach + 1):
                yield _test_lag(name, numbers, numbers, rounds, across)


def compare_coordinates(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Compare coordinates of one answer at every distance."""
    for name, numbers in scores:
        for across in range(1, numbers.shape[2]):
            yield _test_lag(name, numbers, numbers, 0, across)


def compare_owners(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Compare each owner with the first and the two before it, in the same and adjacent answers."""
    for number, (name, numbers) in enumerate(scores):
        for other in {0, number - 1, number - 2} & set(range(number)):
            answers = min(len(numbers), len(scores[other][1]))
            first = numbers[:answers]
            second = scores[other][1][:answers]
            lags = [(first, second, 0), (first, second, 1), (second, first, 1)]
            for across in range(-1, 2) if numbers.shape[2] > 1 else [0]:
                for one, two, rounds in lags[: 3 if answers > 1 else 1]:
                    yield _test_lag(name, one, two, rounds, across)


def _test_lag(name: str, first: Array, second: Array, rounds: int, across: int) -> SingleTest:
    """Test the sum of products of numbers at a distance in rounds and coordinates."""
    width = first.shape[2]
    later = first[rounds:, :, max(across, 0) : width + min(across, 0)]
    before = second[: len(second) - rounds, :, max(-across, 0) : width + min(-across, 0)]
    products = np.nan_to_num(later * before)
    return _test_fair_sum(name, abs(float(products.sum())), float(np.square(products).sum()))


def _test_fair_sum(name: str, total: float, squares: float, places: int = 1) -> SingleTest:
    """Test a sum of products of fair signs by Hoeffding's inequality, the largest of ``places``."""
    if squares == 0:
        return SingleTest(name, np.nan, np.nan, lambda each: np.nan)
    found = total / np.sqrt(squares)
    chance = min(1.0, 2 * places * float(np.exp(-(found**2) / 2)))
    return SingleTest(
        name, found, chance, lambda each: float(np.sqrt(2 * np.log(2 * places / each)))
    )


def compare_pairs(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Compare every two numbers of a run, or of the consecutive answers tested together."""
    rows = stack_numbers(scores)
    if min(rows.shape) > 1:
        squares = np.square(rows).T @ np.square(rows)
        ratios = np.triu(np.abs(rows.T @ rows) / np.sqrt(np.where(squares > 0, squares, np.inf)), 1)
        yield _test_fair_sum("", float(ratios.max()), 1.0, rows.shape[1] * (rows.shape[1] - 1) // 2)


def compare_mixes(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Test the extreme singular values of all numbers of a run.

    Source: Davidson and Szarek, Local Operator Theory, Random Matrices and Banach Spaces, Theorem
        II.13.
    """
    rows = stack_numbers(scores)
    count, width = rows.shape
    if width < 2 or count < 2 * width:
        return
    values = np.linalg.eigvalsh(rows.T @ rows)
    for sign, value in ((-1.0, values[0]), (1.0, values[-1])):
        found = float(np.sqrt(max(value, 0.0) / count))
        expected = 1 + sign * np.sqrt(width / count)
        beyond = max(0.0, sign * (found - expected)) * np.sqrt(count)

        def fails_at(error: float, expected: float = expected, sign: float = sign) -> float:
            return expected + sign * float(np.sqrt(2 * np.log(1 / error) / count))

        yield SingleTest("", found, float(np.exp(-(beyond**2) / 2)), fails_at)


def stack_numbers(scores: Sequence[Scores]) -> Array:
    """Stack numbers of all owners, a row for each run, or for consecutive answers of it."""
    given = [np.isfinite(numbers).all(axis=2).mean(axis=1) for _, numbers in scores]
    answers = min(int(np.count_nonzero(one >= USUAL)) for one in given)  # that most runs gave
    width = sum(numbers.shape[2] for _, numbers in scores)
    together = int(np.clip(COLUMNS // width, 1, max(1, min(answers, ROUNDS_APART))))
    windows = answers // together
    if windows == 0:
        return np.zeros((0, width))
    columns = []
    for _, numbers in scores:
        runs = numbers.shape[1]
        cut = numbers[: windows * together].reshape(windows, together, runs, -1)
        columns.append(cut.transpose(0, 2, 1, 3).reshape(windows * runs, -1))
    rows = np.concatenate(columns, axis=1)[:, :COLUMNS]
    return rows[np.isfinite(rows).all(axis=1)]


def compare_picks(picks: Array, records: int) -> Iterator[SingleTest]:
    """Test picks (rounds, runs) among ``records``: their frequencies, order and repetitions.

    A pick and a uniform number inside it make a number that is uniform, whatever the number of
    records.
    """
    inside = np.random.default_rng(records).random(picks.shape)
    uniform = np.where(picks < 0, np.nan, (picks + inside) / records)
    known = uniform[np.isfinite(uniform)]
    for part in range(BINS):
        count = int(((known >= part / BINS) & (known < (part + 1) / BINS)).sum())
        yield binomial_test("", count, len(known), 1 / BINS)
    scores = ndtri(np.clip(uniform, 1e-16, 1 - 1e-16))
    yield from compare_rounds([("", scores[:, :, None])])
    yield from compare_rounds([("", scores.T[:, :, None])])
    yield from compare_pairs([("", scores.T[:, None, :])])
    yield from _test_repeated_picks(picks, records)


def _test_repeated_picks(picks: Array, records: int) -> Iterator[SingleTest]:
    """Test that some record is picked twice in some run, where that is all but certain."""
    rounds, runs = picks.shape
    again = sum(rounds - len(np.unique(run)) for run in picks.T)
    none = -np.inf
    if rounds <= records:
        ways = gammaln(records + 1) - gammaln(records - rounds + 1)
        none = runs * float(ways - rounds * np.log(records))
    chance = 1.0 if again else float(np.exp(none))
    yield SingleTest("", float(again), chance, lambda each: 0.0 if none < np.log(each) else -1.0)
