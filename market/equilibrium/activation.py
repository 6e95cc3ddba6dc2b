"""The orders in which owners move (ACTIVATIONS), and play: rounds of best responses in one of them.

>>> ACTIVATIONS["random"].order(3, np.random.default_rng(0)).tolist()
[2, 0, 1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from market.game.game import Game


def poisson_clocks(n_owners: int, rng: np.random.Generator) -> np.ndarray:
    """Owners whose clocks ring in one unit of time, in order (number of rings,): exponential waits of mean 1 between rings.

    Together the clocks ring at rate ``n_owners``, and any ring is any owner's with equal odds. Some owners' clocks stay
    silent, others ring more than once.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Algorithm 1 (unit-rate Poisson clocks).
    """
    return rng.integers(n_owners, size=rng.poisson(n_owners))


@dataclass(frozen=True)
class Activation:
    """When owners move within a round.

    Parameters
    ----------
    order : callable(n_owners, rng) -> (k,), or None
        The owners who move one after another, each seeing what the ones before it chose; None where all choose at the
        same profile and go a part of the way, the damping.
    silent : bool
        Whether a round may pass over an owner.
    """

    order: Callable[[int, np.random.Generator], np.ndarray] | None
    silent: bool = False

    def patience(self, n_owners: int) -> int:
        """Rounds in a row without moves after which play is at rest: one, or so many that every clock has rung.

        A clock is silent for a unit of time with odds 1/e, so one of n is for ln(n) + 7 of them with odds below 1/1000.
        """
        return int(np.ceil(np.log(n_owners))) + 7 if self.silent else 1


ACTIVATIONS: dict[str, Activation] = {
    "sequential": Activation(lambda n_owners, rng: np.arange(n_owners)),
    "simultaneous": Activation(None),
    "random": Activation(lambda n_owners, rng: rng.permutation(n_owners)),
    "poisson": Activation(poisson_clocks, silent=True),
}


def play(
    activation: Activation, game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float
) -> Iterator[np.ndarray]:
    """Profiles (n_owners,) after each round of best responses, endlessly."""
    while True:
        if activation.order is None:
            epsilon = damped(epsilon, game.best_responses(epsilon), damping)
        else:
            epsilon = one_by_one(game, epsilon, activation.order(len(epsilon), rng))
        yield epsilon


def damped(epsilon: np.ndarray, response: np.ndarray, damping: float) -> np.ndarray:
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

    The aggregates that each sees are added up over those who do not move, who have moved, and who are yet to move:
    nothing cancels.
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
        everybody = np.broadcast_to(others, (len(epsilon), 1, len(others)))
        deviations = game.deviations_against(epsilon, everybody).take(np.array([owner]))
        epsilon[owner] = deviations.best_responses()[0]
        before = before + deviations.terms(epsilon[[owner]])[0]
