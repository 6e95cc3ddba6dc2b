"""Whose turn it is: the orders in which owners respond to each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from market.game.game import Game


def sequential(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """Owners respond one after another in their own order, each seeing what the ones before it chose."""
    while True:
        epsilon = one_by_one(game, epsilon, np.arange(len(epsilon)))
        yield epsilon


def shuffled(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """As `sequential`, in an order drawn afresh every round."""
    while True:
        epsilon = one_by_one(game, epsilon, rng.permutation(len(epsilon)))
        yield epsilon


def poisson(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """Each owner responds when its own clock rings, at unit rate; a round is one unit of time."""
    while True:
        epsilon = one_by_one(game, epsilon, rings(len(epsilon), rng=rng))
        yield epsilon


def rings(n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
    """Whose clocks ring in one unit of time, in order (number of rings,): exponential waits of mean 1 between rings.

    Together the clocks ring at rate ``n_owners``, and any ring is any owner's with equal odds. Some owners' clocks stay
    silent, others ring more than once.

    Parameters
    ----------
    n_owners : int
    rng : numpy.random.Generator

    Returns
    -------
    (number of rings,), owner numbers

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Algorithm 1 (unit-rate Poisson clocks).
    """
    return rng.integers(n_owners, size=rng.poisson(n_owners))


def simultaneous(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """All owners respond to the same profile and go ``damping`` of the way, as `part_way` has it."""
    while True:
        epsilon = part_way(epsilon, game.best_responses(epsilon), damping)
        yield epsilon


def part_way(epsilon: np.ndarray, response: np.ndarray, damping: float) -> np.ndarray:
    """``damping`` of the way from a profile to the responses (n_owners,); who wants to share nothing leaves at once.

    Going half the way for ever, such an owner would keep adding ever noisier answers.
    """
    part = np.where(response == 0, 1.0, damping)
    return np.where(part == 1, response, epsilon + part * (response - epsilon))


def one_by_one(game: Game, epsilon: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The profile after the owners in ``order`` (k,) have responded in turn; one may come more than once."""
    epsilon = epsilon.copy()
    while len(order):
        first = np.sort(np.unique(order, return_index=True)[1])
        again = np.flatnonzero(first != np.arange(len(first)))  # where the first repetition has displaced the rest
        stop = int(again[0]) if again.size else len(first)
        _in_turn(game, epsilon, order[:stop])
        order = order[stop:]
    return epsilon


def _in_turn(game: Game, epsilon: np.ndarray, order: np.ndarray) -> None:
    """Change the profile (n_owners,) as the owners in ``order`` (k,), each once, respond in turn.

    What each sees is the sum over those who do not move, who have moved, and who are yet to move: nothing cancels.
    """
    if not game.additive:
        for owner in order:
            epsilon[owner] = game.best_responses(epsilon, owners=np.array([owner]))[0]
        return
    terms = game.terms(epsilon)
    still = np.ones(len(epsilon), dtype=bool)
    still[order] = False
    before = terms[still].sum(axis=0)
    after = np.cumsum(terms[order][::-1], axis=0)[::-1]
    for place, owner in enumerate(order):
        others = before + after[place + 1] if place + 1 < len(order) else before
        deviations = game.deviations_of(int(owner), epsilon, others)
        epsilon[owner] = deviations.best_responses()[0]
        before = before + deviations.terms(epsilon[[owner]])[0]
