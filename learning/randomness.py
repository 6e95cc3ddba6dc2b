"""Named random streams: every draw belongs to a key, so that adding an owner or a run changes no other draw."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np


def _word(key: int | str) -> int:
    """A key as a 32-bit word: integers as they are, names by CRC-32."""
    if isinstance(key, str):
        return zlib.crc32(key.encode())
    if not 0 <= key < 2**32:
        raise ValueError(f"a stream key must lie in [0, 2**32), got {key}")
    return key


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
        words = (_word(self.purpose), *(_word(key) for key in keys))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=words)))
