"""Orders in which owners move (ACTIVATIONS), and rounds of moves in one of them.

>>> ACTIVATIONS["random"].turns(3, lambda: np.array([0.7, 0.1, 0.4]), PlayRules()).tolist()
[1, 2, 0]
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from market.columns import Array
from market.equilibrium.stopping import PlayRules
from market.equilibrium.turns import Respond, best_response, in_turn
from market.game.deviations import Deviations, in_threads
from market.game.game import Game

# Draws fresh numbers in [0, 1), one per owner (n_owners,), at every call.
Draw = Callable[[], Array]


def every_owner(n_owners: int, draw: Draw, rules: PlayRules) -> Array:
    """All owners in their order (n_owners,)."""
    return np.arange(n_owners)


def random_turns(n_owners: int, draw: Draw, rules: PlayRules) -> Array:
    """All owners in random order (n_owners,)."""
    return np.argsort(draw(), kind="stable")


def poisson_clocks(n_owners: int, draw: Draw, rules: PlayRules) -> Array:
    """Owners whose clocks ring in one unit of time, in order (number of rings,).

    Waits between an owner's rings are exponential with mean 1, so some clocks stay silent and
    others ring more than once.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Algorithm 1.
    """
    now = -np.log1p(-draw())
    rung = [np.empty(0, dtype=int)]
    times = [np.empty(0)]
    while (now < 1).any():
        rung.append(np.flatnonzero(now < 1))
        times.append(now[rung[-1]])
        now = now - np.log1p(-draw())
    return np.concatenate(rung)[np.argsort(np.concatenate(times), kind="stable")]


def some_owners(n_owners: int, draw: Draw, rules: PlayRules) -> Array:
    """Owners who move in this round (k,), each with chance ``rules.part``.

    Source: Young, The evolution of conventions (1993).
    """
    return np.flatnonzero(draw() < rules.part)


@dataclass(frozen=True)
class Activation:
    """An order of moves within a round.

    Parameters
    ----------
    turns : callable(n_owners, draw, rules) -> (k,), the owners who move, in order
    at_once : bool, whether movers respond to the same profile and are damped; otherwise each sees
        the choices of those before it
    silence : callable(rules) -> float, the chance that a round passes over an owner
    draws : bool, whether the order is random
    """

    turns: Callable[[int, Draw, PlayRules], Array]
    at_once: bool = False
    silence: Callable[[PlayRules], float] = lambda rules: 0.0
    draws: bool = True

    def patience(self, n_owners: int, rules: PlayRules) -> int:
        """Rounds in a row without moves after which play is at rest.

        Where a round passes over an owner with chance q, one of n owners is passed over for
        (ln(n) + 7) / -ln(q) rounds with a chance below 1/1000.
        """
        silence = self.silence(rules)
        return int(np.ceil((np.log(n_owners) + 7) / -np.log(silence))) if silence else 1


ACTIVATIONS: dict[str, Activation] = {
    "sequential": Activation(every_owner, draws=False),
    "simultaneous": Activation(every_owner, at_once=True, draws=False),
    "random": Activation(random_turns),
    "poisson": Activation(poisson_clocks, silence=lambda rules: float(np.exp(-1))),
    "partial": Activation(some_owners, at_once=True, silence=lambda rules: 1.0 - rules.part),
}


def play_rounds(
    activation: Activation,
    game: Game,
    epsilon: Array,
    *,
    rng: np.random.Generator,
    rules: PlayRules,
) -> Iterator[Array]:
    """Profiles (n_owners,) after each round of best responses, endlessly."""

    def draw_numbers() -> Array:
        return rng.random(len(game.owners))

    while True:
        epsilon = play_round(activation, game, epsilon, draw=draw_numbers, rules=rules)
        yield epsilon


def play_round(
    activation: Activation,
    game: Game,
    epsilon: Array,
    *,
    draw: Draw,
    rules: PlayRules,
    respond: Respond = best_response,
    alone: Array | None = None,
    all_the_way: Array | bool = False,
) -> Array:
    """Profile (n_owners,) after a round of moves from ``epsilon``.

    Parameters
    ----------
    respond, alone : as in `market.equilibrium.turns.in_turn`
    all_the_way : (n_owners,) of bool, the simultaneous movers who are not damped
    """
    order = activation.turns(len(epsilon), draw, rules)
    if not activation.at_once:
        return in_turn(game, epsilon, order, respond, alone)
    moves = np.zeros(len(epsilon), dtype=bool)
    chosen = np.array(epsilon, dtype=float)
    moves[order] = True

    def answer_block(some: Deviations) -> Array:
        return respond(some, np.zeros(len(some.index), dtype=int))

    blocks = game.deviation_blocks(chosen, game.others(chosen), moves)
    chosen[moves] = np.concatenate(in_threads(answer_block, blocks)) if len(order) else 0.0
    reached = damp_moves(epsilon, chosen, np.where(all_the_way, 1.0, rules.damping))
    return np.where(moves, reached, epsilon)


def damp_moves(epsilon: Array, response: Array, damping: Array | float) -> Array:
    """Go ``damping`` of the way from a profile to the responses (n_owners,).

    A response of 0 is reached at once: with half steps such an owner would share ever noisier
    answers without end.
    """
    part = np.where(response == 0, 1.0, damping)
    return np.where(part == 1, response, epsilon + part * (response - epsilon))
