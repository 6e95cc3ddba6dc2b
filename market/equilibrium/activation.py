"""The orders in which owners move (ACTIVATIONS), and play: rounds of moves in one of them.

>>> ACTIVATIONS["random"].turns(3, lambda: np.array([0.7, 0.1, 0.4]), PlayRules()).tolist()
[1, 2, 0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from market.equilibrium.stopping import PlayRules
from market.equilibrium.turns import Respond, best_response, in_turn
from market.game.deviations import Deviations, in_threads
from market.game.game import Game

Draw = Callable[[], np.ndarray]  # further numbers in [0, 1) at every call, one per owner (n_owners,)


def random_turns(n_owners: int, draw: Draw, rules: PlayRules) -> np.ndarray:
    """All owners, those who drew the smallest numbers first (n_owners,)."""
    return np.argsort(draw(), kind="stable")


def poisson_clocks(n_owners: int, draw: Draw, rules: PlayRules) -> np.ndarray:
    """Owners whose clocks ring in one unit of time, in order (number of rings,): exponential waits of mean 1 between rings.

    Together the clocks ring at rate ``n_owners``, and any ring is any owner's with equal odds. Some owners' clocks stay
    silent, others ring more than once.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Algorithm 1 (unit-rate Poisson clocks).
    """
    now, rung, times = -np.log1p(-draw()), [np.empty(0, dtype=int)], [np.empty(0)]
    while (now < 1).any():
        rung.append(np.flatnonzero(now < 1))
        times.append(now[rung[-1]])
        now = now - np.log1p(-draw())
    return np.concatenate(rung)[np.argsort(np.concatenate(times), kind="stable")]


def some_owners(n_owners: int, draw: Draw, rules: PlayRules) -> np.ndarray:
    """Owners who look at the market in this round (k,): each with the same chance, ``rules.part``.

    Source: Young, The evolution of conventions (1993); adaptive play in which not everybody moves in every round.
    """
    return np.flatnonzero(draw() < rules.part)


@dataclass(frozen=True)
class Activation:
    """When owners move within a round.

    Parameters
    ----------
    turns : callable(n_owners, draw, rules) -> (k,)
        The owners who move, in order.
    at_once : bool
        Whether they choose at the same profile and go a part of the way, the damping; or else one after another, each
        seeing what those before it chose.
    silence : callable(rules) -> float
        The chance that a round passes over an owner.
    draws : bool
        Whether chance has a part in who moves when.
    """

    turns: Callable[[int, Draw, PlayRules], np.ndarray]
    at_once: bool = False
    silence: Callable[[PlayRules], float] = lambda rules: 0.0
    draws: bool = True

    def patience(self, n_owners: int, rules: PlayRules) -> int:
        """Rounds in a row without moves after which play is at rest: one, or so many that every owner has had its turn.

        Where a round passes over an owner with odds q, one of n is passed over for (ln(n) + 7) / -ln(q) of them with odds
        below 1/1000.
        """
        silence = self.silence(rules)
        return int(np.ceil((np.log(n_owners) + 7) / -np.log(silence))) if silence else 1


ACTIVATIONS: dict[str, Activation] = {
    "sequential": Activation(lambda n_owners, draw, rules: np.arange(n_owners), draws=False),
    "simultaneous": Activation(lambda n_owners, draw, rules: np.arange(n_owners), at_once=True, draws=False),
    "random": Activation(random_turns),
    "poisson": Activation(poisson_clocks, silence=lambda rules: float(np.exp(-1))),
    "partial": Activation(some_owners, at_once=True, silence=lambda rules: 1.0 - rules.part),
}


def play(
    activation: Activation, game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, rules: PlayRules
) -> Iterator[np.ndarray]:
    """Profiles (n_owners,) after each round of best responses, endlessly."""
    while True:
        epsilon = play_round(activation, game, epsilon, draw=lambda: rng.random(len(game.owners)), rules=rules)
        yield epsilon


def play_round(
    activation: Activation,
    game: Game,
    epsilon: np.ndarray,
    *,
    draw: Draw,
    rules: PlayRules,
    respond: Respond = best_response,
    alone: np.ndarray | None = None,
    all_the_way: np.ndarray | bool = False,
) -> np.ndarray:
    """The profile (n_owners,) after a round of moves from ``epsilon``.

    Parameters
    ----------
    respond, alone : what owners choose, and who looks at more than sums, as in `market.equilibrium.turns.in_turn`
    all_the_way : (n_owners,) of bool, who is not damped where owners move at once
    """
    order = activation.turns(len(epsilon), draw, rules)
    if not activation.at_once:
        return in_turn(game, epsilon, order, respond, alone)
    moves, chosen = np.zeros(len(epsilon), dtype=bool), np.array(epsilon, dtype=float)
    moves[order] = True

    def answer(some: Deviations) -> np.ndarray:
        return respond(some, np.zeros(len(some.index), dtype=int))

    blocks = game.blocks(chosen, game.others(chosen), moves)
    chosen[moves] = np.concatenate(in_threads(answer, blocks)) if len(order) else 0.0
    reached = damped(epsilon, chosen, np.where(all_the_way, 1.0, rules.damping))
    return np.where(moves, reached, epsilon)


def damped(epsilon: np.ndarray, response: np.ndarray, damping: np.ndarray | float) -> np.ndarray:
    """``damping`` of the way from a profile to the responses (n_owners,); who wants to share nothing leaves at once.

    Going half the way for ever, such an owner would keep adding ever noisier answers.
    """
    part = np.where(response == 0, 1.0, damping)
    return np.where(part == 1, response, epsilon + part * (response - epsilon))
