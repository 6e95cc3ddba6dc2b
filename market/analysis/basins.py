"""Which start leads to which equilibrium: play from given starts, and where between two equilibria it turns.

Where best responses from nearby starts part, there may be a further equilibrium that no play comes to rest in; it is
looked for there, and counts only with a certificate of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from learning.randomness import Streams
from market.equilibrium.solver import SAME, Equilibrium, certify, follow, solve
from market.equilibrium.stopping import Path, PlayRules, upper_ends
from market.game.game import Game

HALVINGS = 20  # of the line between two equilibria: the turn is known to six digits
NEAR = 1e-2  # profiles closer than this part of every owner's upper end are near each other
NUDGE = 1e-3  # how far beside an equilibrium play starts that shows whether it comes back, as a part of the upper ends
ROUGH = 1e-5  # moves by which play that looks for a turn has come to rest
STEP = 1e-5  # relative step of the differences by which a root is found: best responses are known to nine digits
NOWHERE = -1


@dataclass(frozen=True)
class Play:
    """Play from one start.

    Attributes
    ----------
    path : its profiles round by round, from the start, and how it ended
    leads_to : int, the number of the equilibrium it comes to rest in; -1 for none
    """

    path: Path
    leads_to: int


@dataclass(frozen=True)
class Turn:
    """Where, on the straight line between two equilibria, play turns from one to the other.

    Attributes
    ----------
    between : (int, int), numbers of the two equilibria
    epsilon : (n_owners,), the profile at which it turns
    part : float, 0 to 1, how much of the way from the first to the second that is
    through : int, the number of a further equilibrium found there; -1 where best responses jump and there is none
    """

    between: tuple[int, int]
    epsilon: np.ndarray
    part: float
    through: int


@dataclass(frozen=True)
class Basins:
    """Equilibria of a game, by what all owners share in all, and what leads to them.

    Attributes
    ----------
    equilibria : each with its certificate
    plays : one for each start, in the order given
    stable : (n_equilibria,), whether play that starts a little above it, or below it, comes back
    turns : between neighbouring stable equilibria
    """

    equilibria: tuple[Equilibrium, ...]
    plays: tuple[Play, ...]
    stable: tuple[bool, ...]
    turns: tuple[Turn, ...]

    def starts_of(self, number: int) -> list[int]:
        """The numbers of the starts that lead to an equilibrium."""
        return [at for at, play in enumerate(self.plays) if play.leads_to == number]


def basins(
    game: Game,
    starts: Sequence[Any],
    *,
    streams: Streams,
    activation: str = "sequential",
    search: int = 16,
    turns: bool = True,
    **rules: Any,
) -> Basins:
    """Play a game from every start, certify where it ends, search for other equilibria, and tell which start leads where.

    Parameters
    ----------
    game : Game
    starts : each (n_owners,) budgets, or one for all owners
    streams : Streams
        Each start has draws of its own: one more start changes no other's path.
    activation : str
        The order of moves, a name in `market.equilibrium.activation.ACTIVATIONS`.
    search : int
        Further starts that the solver tries by all its ways.
    turns : bool
        Whether to look where play turns between neighbouring equilibria.
    **rules
        Of `market.equilibrium.stopping.PlayRules`.

    Returns
    -------
    Basins

    >>> from market.analysis.thesis_games import thesis_game
    >>> game = thesis_game("utility", 1e4, n_owners=3, epsilon=(0.001, 2.4))
    >>> found = basins(game, [0.2, 0.3, 1.5], streams=Streams(1, "starts"), search=2)
    >>> [float(one.epsilon[0].round(3)) for one in found.equilibria], [play.leads_to for play in found.plays]
    ([0.001, 0.286, 0.783], [0, 2, 2])
    >>> found.stable, found.turns[0].through  # play never rests in the one in the middle
    ((True, False, True), 1)
    """
    limits, width = PlayRules(**rules), upper_ends(game.owners)

    def played(start: Any, *key: Any, **changed: Any) -> Path:
        origin = np.clip(np.broadcast_to(start, len(game.owners)), game.owners.epsilon_min, game.owners.epsilon_max)
        return follow(game, activation, origin, rng=streams.rng(*key), rules=replace(limits, **changed))

    paths = [played(start, f"start {number}") for number, start in enumerate(starts)]
    ends = [certify(game, path.epsilon, path=path, method=activation) for path in paths]
    whole = solve(game, rng=streams.rng("search"), starts=search, **rules)
    ours = [one for one in (whole, *whole.others) if one.converged]
    known: list[Equilibrium] = []
    for one in [*ours, *ends]:
        if one.converged and place(known, one.epsilon, width) == NOWHERE:
            known.append(one)
    known.sort(key=in_all)

    def comes_back(one: Equilibrium) -> bool:
        nudged = (played(one.epsilon + part * width, "stable", tol=ROUGH).epsilon for part in (NUDGE, -NUDGE))
        return all(float(np.max(np.abs(end - one.epsilon) / width)) < NUDGE / 2 for end in nudged)

    parted = []
    for first, second in pairwise([at for at, one in enumerate(known) if comes_back(one)]) if turns else ():
        low, high = known[first].epsilon, known[second].epsilon
        part, hovers = _turn(lambda profile: played(profile, "turns", tol=ROUGH).epsilon, low, high, width)
        if part is not None:
            through = _through(game, hovers)
            new = through is not None and place(known, through.epsilon, width) not in (first, second)
            parted.append((low, high, part, through if new else None))
    for *_, through in parted:
        if through is not None and place(known, through.epsilon, width) == NOWHERE:
            known.append(through)
    known.sort(key=in_all)

    def number(profile: np.ndarray) -> int:
        return place(known, profile, width)

    return Basins(
        tuple(known),
        tuple(
            Play(path, number(one.epsilon) if one.converged else NOWHERE) for path, one in zip(paths, ends, strict=True)
        ),
        tuple(map(comes_back, known)),
        tuple(
            Turn(
                (number(low), number(high)),
                low + part * (high - low),
                part,
                NOWHERE if through is None else number(through.epsilon),
            )
            for low, high, part, through in parted
        ),
    )


def in_all(one: Equilibrium) -> float:
    """What all owners share in all."""
    return float(one.epsilon.sum())


def place(known: Sequence[Equilibrium], profile: np.ndarray, width: np.ndarray) -> int:
    """The number of the equilibrium that a profile (n_owners,) is, by parts of ``width``; -1 for none of them."""
    apart = (np.max(np.abs(one.epsilon - profile) / width) for one in known)
    return next((at for at, gap in enumerate(apart) if gap <= SAME), NOWHERE)


def _turn(
    end: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, width: np.ndarray
) -> tuple[float | None, np.ndarray]:
    """How much of the way from one resting point to another play turns, and the profile about which it lingers there.

    None where some of the way leads elsewhere.
    """
    below, above, middle = 0.0, 1.0, 0.5
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        now = low + middle * (high - low)
        at = end(now)
        to_low, to_high = (float(np.max(np.abs(at - one) / width)) for one in (low, high))
        if min(to_low, to_high) > NEAR:
            near = float(np.max(np.abs(at - now) / width)) <= NEAR
            return (middle if near else None), at
        below, above = (middle, above) if to_low < to_high else (below, middle)
    middle = (below + above) / 2
    return middle, low + middle * (high - low)


def _through(game: Game, profile: np.ndarray) -> Equilibrium | None:
    """An equilibrium near a profile, as a root of what best responses move by, whether or not play comes to rest there."""
    low, high, width = game.owners.epsilon_min, game.owners.epsilon_max, upper_ends(game.owners)

    def moves(at: np.ndarray) -> np.ndarray:
        return (game.best_responses(np.clip(at, low, high)) - at) / width

    found = scipy.optimize.root(moves, profile, options={"eps": STEP, "maxfev": 60 * len(profile)})
    at = np.clip(found.x, low, high)
    if np.max(np.abs(at - profile) / width) > 10 * NEAR:
        return None
    certificate = certify(game, at, method="root")
    return certificate if certificate.converged else None
