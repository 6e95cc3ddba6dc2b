"""Named random streams: every draw has a key, so one more owner or run changes no other draw."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

POOL = 4  # words that NumPy's SeedSequence mixes everything into
WORD = 2**32
HALF = 16
FEW = 16  # generators that are faster made one by one


def _key_words(key: int | str) -> tuple[int, int]:
    """Encode a key as two 32-bit words: integers as they are, names by a 64-bit hash."""
    if isinstance(key, str):
        digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
        return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")
    if not 0 <= key < WORD:
        raise ValueError(f"a stream key must lie in [0, 2**32), got {key}")
    return key, 0


@dataclass(frozen=True)
class Streams:
    """Independent generators by key under a scenario seed and a purpose ("data", "noise", ...).

    ``Streams(seed, purpose).rng(key, ...)`` is a function of the seed, the purpose and the keys
    alone: the order and the number of other streams do not matter.

    Parameters
    ----------
    seed : the scenario's seed, at least 0.
    purpose : the use of the numbers; different purposes never share a draw.

    >>> noise = Streams(7, "noise")
    >>> bool(noise.rng("bank", 3).random() == Streams(7, "noise").rng("bank", 3).random())
    True
    >>> bool(noise.rng("bank", 3).random() == noise.rng("bank", 4).random())
    False
    """

    seed: int
    purpose: str

    def rng(self, *keys: int | str) -> np.random.Generator:
        """Make the generator of a key, such as (owner's name, number of the run)."""
        seeds = np.random.SeedSequence(self.seed, spawn_key=self._spawn_key(*keys))
        return np.random.Generator(np.random.PCG64(seeds))

    def rngs(self, *keys: int | str, count: int) -> Sequence[np.random.Generator]:
        """Make the generators of (*keys, 0) to (*keys, count - 1), in a tenth of the time of `rng`.

        Each is made at its first use, and kept.

        >>> run = Streams(7, "noise").rngs("bank", count=4)[3]
        >>> bool(run.random() == Streams(7, "noise").rng("bank", 3).random())
        True
        """
        if count < FEW:
            return [self.rng(*keys, number) for number in range(count)]
        numbers = np.arange(count, dtype=np.uint32)
        return _Generators(_seed_states(self.seed, self._spawn_key(*keys, 0), numbers))

    def _spawn_key(self, *keys: int | str) -> list[int]:
        return [word for key in (self.purpose, *keys) for word in _key_words(key)]


class _Generators(Sequence[np.random.Generator]):
    """Generators with given initial states, (count, 4)."""

    def __init__(self, states: NDArray[np.uint64]) -> None:
        self.states = states
        self.made: dict[int, np.random.Generator] = {}

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, number: Any) -> Any:
        if number not in self.made:
            seeds = _Seeded(self.states[number])
            generator = np.random.Generator(np.random.PCG64(seeds))  # type: ignore[arg-type]
            self.made[number] = generator
        return self.made[number]


class _Seeded(ISeedSequence):
    """A computed state, (4,) of uint64, in the form of a seed sequence."""

    def __init__(self, state: NDArray[np.uint64]) -> None:
        self.state = state

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[np.uint64]:
        return self.state


def _seed_states(
    seed: int, spawn_key: list[int], numbers: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    """``SeedSequence(seed, spawn_key=...).generate_state(4, uint64)`` of many keys, (count, 4).

    The common part is mixed once, as plain integers; the rest in 64 bits, of which 32 are kept.

    Parameters
    ----------
    spawn_key: words of the common key; the last but one is replaced.
    numbers: array (count,), the values of the last but one.

    Source: O'Neill, Developing a seed_seq Alternative; constants and order as in NumPy, whose
        streams never change.
    """
    mask = WORD - 1
    words: list[Any] = [
        seed >> shift & mask for shift in range(0, max(seed.bit_length(), 32 * POOL), 32)
    ]
    words += [*spawn_key[:-2], numbers.astype(np.uint64), spawn_key[-1]]
    multiplier = 0x43B0D7E5

    def hash_word(word: Any) -> Any:
        nonlocal multiplier
        word = word ^ multiplier
        multiplier = multiplier * 0x931E8875 & mask
        word = word * multiplier & mask
        return word ^ word >> HALF

    def mix_words(one: Any, other: Any) -> Any:
        word = 0xCA01F9DD * one - 0x4973F715 * hash_word(other) & mask
        return word ^ word >> HALF

    pool = [hash_word(word) for word in words[:POOL]]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                pool[target] = mix_words(pool[target], pool[source])
    for word in words[POOL:]:
        pool = [mix_words(part, word) for part in pool]
    multiplier = 0x8B51F9DD
    state = []
    for number in range(2 * POOL):
        word = pool[number % POOL] ^ multiplier
        multiplier = multiplier * 0x58F38DED & mask
        word = word * multiplier & mask
        state.append(word ^ word >> HALF)
    return np.stack(state, axis=1).astype("<u4").view("<u8").astype(np.uint64)
