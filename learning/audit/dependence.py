"""Dependence of noise: between coordinates, rounds and owners, by lags, by pairs, and by all numbers together.

Noise of a known law is turned into numbers that are independent and standard normal where all is well. Products of such
numbers have signs that are fair and independent, given their sizes, so Hoeffding's inequality bounds every sum of them;
Davidson's and Szarek's bounds every mix of all numbers of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri

from learning.arrays import Array
from learning.audit.verdicts import SingleTest

Scores = tuple[str, Array]  # an owner, and its numbers (answers, runs, p)

ROUNDS_APART = 16  # largest distance of two answers that are compared
NUMBERS_APART = 8  # and of two coordinates of different answers
USUAL = 0.9  # of the runs, where these are asked unequally often
COLUMNS = 600  # numbers of a run that are tested together


def normal_scores(name: str, noise: Array) -> Array:
    """Turn noise of scale 1 into independent standard normal numbers, or into signs where its law is unknown.

    Parameters
    ----------
    name: of the mechanism.
    noise: array (..., p), nan where there is none.
    """
    if name == "gaussian":
        return noise
    if name == "laplace":
        return np.asarray(-np.sign(noise) * ndtri(np.exp(-np.abs(noise)) / 2))
    if name != "l2":
        return np.sign(noise)
    width = noise.shape[-1]
    length = np.linalg.norm(noise, axis=-1, keepdims=True)
    below = gammainc(width, length)
    low = gammaincinv(width / 2, below)
    high = gammainccinv(width / 2, gammaincc(width, length))
    squared = 2 * np.where(below < 0.5, low, high)
    return np.asarray(np.divide(noise, length, out=np.zeros_like(noise), where=length > 0) * np.sqrt(squared))


def size_scores(scores: Array) -> Array:
    """Turn the sizes of standard normal numbers into standard normal numbers that their signs do not move."""
    beyond = 2 * ndtr(-np.abs(scores))
    return np.asarray(-ndtri(np.clip(beyond, 1e-300, 1 - 1e-16)))


def both_kinds(scores: Sequence[Scores], known: bool) -> list[list[Scores]]:
    """The numbers themselves, and their sizes where their law is known."""
    kinds = [list(scores)]
    if known:
        kinds.append([(name, size_scores(numbers)) for name, numbers in scores])
    return kinds


def compare_rounds(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Compare each answer of an owner with those before it, coordinate by coordinate."""
    for name, numbers in scores:
        reach = min(NUMBERS_APART, numbers.shape[2] - 1)
        for rounds in range(1, min(ROUNDS_APART, len(numbers) - 1) + 1):
            for across in range(-reach, reach + 1):
                yield _lagged(name, numbers, numbers, rounds, across)


def compare_coordinates(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Compare coordinates of one answer at every distance."""
    for name, numbers in scores:
        for across in range(1, numbers.shape[2]):
            yield _lagged(name, numbers, numbers, 0, across)


def compare_owners(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Compare each owner with the first and the two before it, in the same answer and one apart."""
    for number, (name, numbers) in enumerate(scores):
        for other in {0, number - 1, number - 2} & set(range(number)):
            first, second = _alike(numbers, scores[other][1])
            for across in range(-1, 2) if numbers.shape[2] > 1 else [0]:
                yield _lagged(name, first, second, 0, across)
                if len(first) > 1:
                    yield _lagged(name, first, second, 1, across)
                    yield _lagged(name, second, first, 1, across)


def _alike(first: Array, second: Array) -> tuple[Array, Array]:
    answers = min(len(first), len(second))
    return first[:answers], second[:answers]


def _lagged(name: str, first: Array, second: Array, rounds: int, across: int) -> SingleTest:
    """The sum of products of numbers so many rounds and coordinates apart: each product has a sign of its own."""
    width = first.shape[2]
    later = first[rounds:, :, max(across, 0) : width + min(across, 0)]
    before = second[: len(second) - rounds, :, max(-across, 0) : width + min(-across, 0)]
    products = np.nan_to_num(later * before)
    return _fair_sum(name, abs(float(products.sum())), float(np.square(products).sum()))


def _fair_sum(name: str, total: float, squares: float, places: int = 1) -> SingleTest:
    """Test a sum of products of fair signs by Hoeffding's inequality, the largest of so many."""
    if squares == 0:
        return SingleTest(name, np.nan, np.nan, lambda each: np.nan)
    found = total / np.sqrt(squares)
    chance = min(1.0, 2 * places * float(np.exp(-(found**2) / 2)))
    return SingleTest(name, found, chance, lambda each: float(np.sqrt(2 * np.log(2 * places / each))))


def compare_pairs(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Compare every two numbers of a run, or of as many answers of it in a row as are tested together."""
    rows = stacked(scores)
    if min(rows.shape) > 1:
        squares = np.square(rows).T @ np.square(rows)
        ratios = np.triu(np.abs(rows.T @ rows) / np.sqrt(np.where(squares > 0, squares, np.inf)), 1)
        yield _fair_sum("", float(ratios.max()), 1.0, rows.shape[1] * (rows.shape[1] - 1) // 2)


def compare_mixes(scores: Sequence[Scores]) -> Iterator[SingleTest]:
    """Test the mixes of all numbers of a run that vary least and most: singular values of standard normal numbers.

    Source: Davidson and Szarek, Local Operator Theory, Random Matrices and Banach Spaces, Theorem II.13.
    """
    rows = stacked(scores)
    count, width = rows.shape
    if width < 2 or count < 2 * width:
        return
    values = np.linalg.eigvalsh(rows.T @ rows)
    for sign, value in ((-1.0, values[0]), (1.0, values[-1])):
        found = float(np.sqrt(max(value, 0.0) / count))
        expected = 1 + sign * np.sqrt(width / count)
        beyond = max(0.0, sign * (found - expected)) * np.sqrt(count)
        yield SingleTest(
            "",
            found,
            float(np.exp(-(beyond**2) / 2)),
            lambda each, expected=expected, sign=sign: expected + sign * float(np.sqrt(2 * np.log(1 / each) / count)),  # type: ignore[misc]
        )


def stacked(scores: Sequence[Scores]) -> Array:
    """Numbers of all owners side by side, (rows, columns): a row for each run, or for each few answers of it in a row."""
    answers = min(_usual(numbers) for _, numbers in scores)
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


def _usual(numbers: Array) -> int:
    """How many answers most runs gave."""
    given = np.isfinite(numbers).all(axis=2).mean(axis=1)
    return int(np.count_nonzero(given >= USUAL))
