"""Named random streams: every draw belongs to a key, so that adding an owner or a run changes no other draw."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


def _words(key: int | str) -> tuple[int, int]:
    """A key as two 32-bit words: integers as they are, names by a 64-bit hash, so that names do not meet."""
    if isinstance(key, str):
        digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
        return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")
    if not 0 <= key < 2**32:
        raise ValueError(f"a stream key must lie in [0, 2**32), got {key}")
    return key, 0


@dataclass(frozen=True)
class Streams:
    """Independent generators by key under one scenario seed and one purpose ("data", "noise", "starts", ...).

    ``Streams(seed, purpose).rng(key, ...)`` is a function of the seed, the purpose and the keys alone: the order in
    which streams are asked for, and how many others there are, do not matter.

    Parameters
    ----------
    seed : int
        The scenario's seed, >= 0.
    purpose : str
        What the numbers are for; different purposes never share a draw.

    >>> noise = Streams(7, "noise")
    >>> bool(noise.rng("bank", 3).random() == Streams(7, "noise").rng("bank", 3).random())
    True
    >>> bool(noise.rng("bank", 3).random() == noise.rng("bank", 4).random())
    False
    """

    seed: int
    purpose: str

    def rng(self, *keys: int | str) -> np.random.Generator:
        """The generator of a key, such as (owner's name, number of the run)."""
        words = [word for key in (self.purpose, *keys) for word in _words(key)]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=words)))
