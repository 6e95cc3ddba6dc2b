"""Uniform draws by round and owner: adding an owner at the end changes nobody's.

>>> few, many = (Draws(7).uniform("orders", 3, n_owners) for n_owners in (2, 4))
>>> bool((few == many[:2]).all())
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.randomness import Streams

SEEDS = 2**63  # seeds that a generator may be asked for


@dataclass(frozen=True)
class Draws:
    """Numbers that belong to a seed, a purpose, a round and an owner, and to nothing else.

    Nothing draws from a generator whose state carries over: in whatever order numbers are asked for, and however often,
    they are the same.

    Parameters
    ----------
    seed : int
        The seed of the market, >= 0.
    """

    seed: int

    def uniform(self, purpose: str, round_: int, n_owners: int, m: int = 1) -> np.ndarray:
        """Numbers in [0, 1), ``m`` for each owner (n_owners, m).

        One generator fills them owner by owner, so that the first owners' numbers do not depend on how many follow.

        Parameters
        ----------
        purpose : str
            What the numbers are for; different purposes never share a draw.
        round_ : int
            The round they are drawn in, from 0.
        n_owners : int
        m : int
            How many numbers each owner needs; who needs more later in the round asks under another purpose.
        """
        return Streams(self.seed, "agents").rng(purpose, round_).random((n_owners, m))


def as_seed(given: int | str | np.integer | np.random.Generator) -> int:
    """A seed (>= 0) from a seed, which may be typed into a field of a page, or drawn from a generator.

    Raises
    ------
    TypeError
        Something else.
    ValueError
        A seed below 0.
    """
    if isinstance(given, np.random.Generator):
        return int(given.integers(SEEDS))
    if isinstance(given, str) and given.isdecimal():
        return int(given)
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TypeError(f"seed must be a whole number, or rng a numpy.random.Generator; found {given!r}")
    if given < 0:
        raise ValueError(f"seed must be 0 or more; found {given}")
    return int(given)


def draws_of(seed: int | None, rng: np.random.Generator | int | None) -> Draws:
    """The draws of a model, which Mesa makes with a ``seed`` or an ``rng``; of a fresh seed without either.

    Raises
    ------
    ValueError
        Both are given.
    TypeError
        No seed.
    """
    if seed is not None and rng is not None:
        raise ValueError("give seed or rng, not both")
    given = rng if seed is None else seed
    return Draws(as_seed(np.random.default_rng() if given is None else given))
