"""Uniform draws by round and owner: adding an owner at the end does not change the others' draws.

>>> few, many = (Draws(7).uniform("orders", 3, n_owners) for n_owners in (2, 4))
>>> bool((few == many[:2]).all())
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.randomness import Streams

SEEDS = 2**63  # upper limit of a seed drawn from a generator


@dataclass(frozen=True)
class Draws:
    """Numbers that depend on a seed, a purpose, a round and an owner alone.

    No generator carries a state over, so the order and the number of requests do not matter.

    Parameters
    ----------
    seed : int, the seed of the market, >= 0
    """

    seed: int

    def uniform(self, purpose: str, round_: int, n_owners: int, m: int = 1) -> np.ndarray:
        """Draw ``m`` numbers in [0, 1) for each owner, (n_owners, m).

        One generator fills them owner by owner, so the first owners' numbers do not depend on the
        number of owners.

        Parameters
        ----------
        purpose : str, the use of the numbers; different purposes never share a draw
        round_ : int, the round of the draw, from 0
        n_owners : int
        m : int, numbers per owner; further ones later in a round need another purpose
        """
        return Streams(self.seed, "agents").rng(purpose, round_).random((n_owners, m))


def as_seed(given: int | str | np.integer | np.random.Generator) -> int:
    """Convert a seed, which may be a text of digits, or a generator to a seed (>= 0).

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If the seed is below 0.
    """
    if isinstance(given, np.random.Generator):
        return int(given.integers(SEEDS))
    if isinstance(given, str) and given.isdecimal():
        return int(given)
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TypeError(
            f"seed must be a whole number, or rng a numpy.random.Generator; found {given!r}"
        )
    if given < 0:
        raise ValueError(f"seed must be 0 or more; found {given}")
    return int(given)


def draws_of(seed: int | None, rng: np.random.Generator | int | None) -> Draws:
    """Make the draws of a model from Mesa's ``seed`` or ``rng``; of a fresh seed without either.

    Raises
    ------
    ValueError
        If both are given.
    TypeError
        If the seed is no seed.
    """
    if seed is not None and rng is not None:
        raise ValueError("give seed or rng, not both")
    given = rng if seed is None else seed
    return Draws(as_seed(np.random.default_rng() if given is None else given))
