"""Sets of owners, and the weights by which their worths make each owner's contribution."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import comb

import numpy as np

from learning.arrays import Array
from learning.errors import InputError

EXACT_OWNERS = 12  # with more of them, not all sets are looked at
MOST_OWNERS = 40  # whose sets are looked at


@dataclass(frozen=True)
class Coalitions:
    """Sets of N owners, and two contributions of an owner that are linear in the sets' worths v.

    The Shapley value is the mean of v(S + i) - v(S) over the orders in which owners may come; the
    other is v(all) - v(all but i).

    Parameters
    ----------
    members : array (c, N), 1 of an owner in a set, else 0.
    draws : array (d, N, c), weights of the worths in the Shapley values, by independent draws of
        orders; a single exact one where all orders count.
    left_out : array (N, c), weights of the worths in what is lost by leaving an owner out.

    Source: Shapley, A value for n-person games (1953); sampling after Castro, Gomez and Tejada,
        with shifted and reversed orders.
    """

    members: Array = field(repr=False)
    draws: Array = field(repr=False)
    left_out: Array = field(repr=False)

    @property
    def shapley(self) -> Array:
        """Weights of the worths in the Shapley values, (N, c)."""
        return np.asarray(self.draws.mean(axis=0))

    def sampling_error(self, worth: Array) -> Array:
        """Standard error of the Shapley values (N,) of worths (c,) by the choice of orders."""
        count = len(self.draws)
        if count == 1:
            return np.zeros(self.members.shape[1])
        return np.asarray((self.draws @ worth).std(axis=0, ddof=1) / np.sqrt(count))


def check_count(n_owners: int, key: str) -> None:
    """Refuse, with an InputError at a key, more owners than sets are looked at of."""
    if n_owners > MOST_OWNERS:
        why = "because all their subsets are compared"
        rule = f"must be left out with more than {MOST_OWNERS} owners, {why}"
        raise InputError(key, rule, f"{n_owners} owners")


@lru_cache(maxsize=4)
def list_coalitions(n_owners: int, samples: int = 100, seed: int = 0) -> Coalitions:
    """List all sets of up to `EXACT_OWNERS` owners, of more those met in drawn orders of arrival.

    >>> two = list_coalitions(2)
    >>> two.members.astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    >>> (two.shapley @ [0, 8, 8, 10]).tolist(), (two.left_out @ [0, 8, 8, 10]).tolist()
    ([5.0, 5.0], [2.0, 2.0])
    """
    if n_owners > EXACT_OWNERS:
        return _drawn_coalitions(n_owners, samples, seed)
    numbers = np.arange(2**n_owners)
    members = ((numbers[:, None] >> np.arange(n_owners)) & 1).astype(float)
    before = members.sum(axis=1, keepdims=True) - members  # owners who came first
    odds = np.array([1 / (n_owners * comb(n_owners - 1, k)) for k in range(n_owners)])
    weights = np.where(members > 0, 1.0, -1.0) * odds[before.astype(int)]
    left_out = np.zeros((n_owners, len(members)))
    left_out[:, -1] = 1
    left_out[np.arange(n_owners), numbers[-1] - 2 ** np.arange(n_owners)] = -1
    return Coalitions(members, weights.T[None], left_out)


def _drawn_coalitions(n_owners: int, samples: int, seed: int) -> Coalitions:
    """Sets met in drawn orders of arrival, and those of all owners but one."""
    orders = arrival_orders(n_owners, samples, seed).astype(int)
    place = np.argsort(orders, axis=1)
    met = place[:, None, :] < np.arange(n_owners + 1)[:, None]  # (orders, N + 1, N)
    every = np.vstack([met.reshape(-1, n_owners), ~np.eye(n_owners, dtype=bool)])
    members, number = np.unique(every, axis=0, return_inverse=True)
    number = number.ravel()
    reached = number[: met.shape[0] * met.shape[1]].reshape(met.shape[:2])
    each = 2 * shift_count(n_owners, samples)
    draw = np.arange(len(orders))[:, None] // each
    weights = np.zeros((len(orders) // each, n_owners, len(members)))
    np.add.at(weights, (draw, orders, reached[:, 1:]), 1 / each)
    np.add.at(weights, (draw, orders, reached[:, :-1]), -1 / each)
    left_out = np.zeros((n_owners, len(members)))
    left_out[:, reached[0, -1]] = 1
    left_out[np.arange(n_owners), number[-n_owners:]] = -1
    return Coalitions(members.astype(float), weights, left_out)


@lru_cache(maxsize=4)
def arrival_orders(n_owners: int, samples: int, seed: int) -> Array:
    """Orders of arrival (at most ``samples``, n_owners): draws with their shifts and reverses.

    In the cyclic shifts of an order every owner comes early, late and between, which removes most
    of the sampling error.
    """
    count = shift_count(n_owners, samples)
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.tile(np.arange(n_owners), (samples // (2 * count), 1)), axis=1)
    shifts = np.arange(count) * n_owners // count
    forward = drawn[:, (np.arange(n_owners) + shifts[:, None]) % n_owners]
    return np.stack([forward, forward[..., ::-1]], axis=2).reshape(-1, n_owners)


def shift_count(n_owners: int, samples: int) -> int:
    """Shifts of each drawn order: all of them where the sample still holds eight draws."""
    return max(1, min(n_owners, samples // 16))
