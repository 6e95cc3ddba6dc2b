"""Priors, guesses of drawn answers, and rows over epsilon: common parts of chapter 2's items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from learning.arrays import Array
from market.costs.channels import bayes_utility
from reproduction.claims import Rows


def prior_odds(name: str, values: int) -> Array:
    """Prior of the values: "uniform", "halving" or "nine in ten", (values,)."""
    odds = {
        "uniform": np.ones(values),
        "halving": 0.5 ** np.arange(values),
        "nine in ten": np.append(9.0 * (values - 1), np.ones(values - 1)),
    }[name]
    return odds / odds.sum()


def sample_guesses(
    matrix: Array, odds: Array, count: int, *, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Share of right guesses of drawn answers, its expectation and its standard error.

    Parameters
    ----------
    matrix : the channel, (v, answers).
    odds : prior, (v,).
    count : number of draws.
    rng : randomness.
    """
    truth = rng.choice(len(odds), count, p=odds)
    answer = (rng.random(count)[:, None] > matrix[truth].cumsum(axis=1)).sum(axis=1)
    guess = (odds[:, None] * matrix).argmax(axis=0)[np.minimum(answer, matrix.shape[1] - 1)]
    expected = float(bayes_utility(matrix, odds))
    error = float(np.sqrt(expected * (1 - expected) / count))
    return float((guess == truth).mean()), expected, error


def rows_over(grid: Array, columns: Mapping[str, Array], **common: Any) -> Rows:
    """A row for each epsilon of a grid, after the common values."""
    for at, epsilon in enumerate(grid):
        values = {name: float(column[at]) for name, column in columns.items()}
        yield common | {"epsilon": epsilon} | values
