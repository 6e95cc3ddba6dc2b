"""What chapter 2's items share: guesses that are drawn, and checks in few words."""

from __future__ import annotations

import numpy as np

from market.costs.channels import bayes_utility
from scenarios.reproduce.item import Check

ROUNDING = 1e-9


def guesses_drawn(
    matrix: np.ndarray, odds: np.ndarray, count: int, *, rng: np.random.Generator
) -> tuple[float, float, float]:
    """How often the best guess at answers drawn through a channel (v, answers) is right; its odds; its standard error."""
    truth = rng.choice(len(odds), count, p=odds)
    answer = (rng.random(count)[:, None] > matrix[truth].cumsum(axis=1)).sum(axis=1)
    guess = (odds[:, None] * matrix).argmax(axis=0)[np.minimum(answer, matrix.shape[1] - 1)]
    expected = float(bayes_utility(matrix, odds))
    return float((guess == truth).mean()), expected, float(np.sqrt(expected * (1 - expected) / count))


def at_most_one(what: str, found: float, published: str = "at most 1", *, law: bool = True) -> Check:
    """A part of a bound, which must not pass it."""
    return Check(what, found, 0, 1 + ROUNDING, published, "law" if law else "value", ROUNDING)


def attained(what: str, found: float, published: str = "tight") -> Check:
    """A part of a bound that must be the whole."""
    return Check(what, found, 1 - ROUNDING, 1 + ROUNDING, published, "value", ROUNDING)


def agrees(what: str, found: float, most: float = ROUNDING, published: str = "") -> Check:
    """A distance between two routes to one number, which must be none."""
    return Check(what, found, 0, most, published, "law", most)
