"""Basins of attraction: the equilibrium that play reaches from each start, and their borders.

Where best responses from nearby starts diverge, there may be an unstable equilibrium that no play
reaches; it is sought there, and counts only with a certificate of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from learning.randomness import Streams
from market.columns import Array
from market.equilibrium.solver import SAME, Equilibrium, certify, follow_path, solve
from market.equilibrium.stopping import Path, PlayRules, upper_ends
from market.game.game import Game

# Bisections of the line between two equilibria: its border is known to six digits.
HALVINGS = 20
# Profiles closer than this part of every owner's upper end are near each other.
NEAR = 1e-2
# Perturbation of an equilibrium that tests its stability, as a part of the upper ends.
NUDGE = 1e-3
# Moves by which play that looks for a border has come to rest.
ROUGH = 1e-5
# Relative step of the differences for a root: best responses are known to nine digits.
STEP = 1e-5
NOWHERE = -1


@dataclass(frozen=True)
class Play:
    """Play from one start.

    Attributes
    ----------
    path : its profiles round by round, and its end
    leads_to : int, the number of the equilibrium that it reaches; -1 for none
    """

    path: Path
    leads_to: int


@dataclass(frozen=True)
class Turn:
    """The border between two basins on the straight line between their equilibria.

    Attributes
    ----------
    between : (int, int), numbers of the two equilibria
    epsilon : (n_owners,), the profile at which play turns from one to the other
    part : float, 0 to 1, its position from the first to the second
    through : int, the number of a further equilibrium found there; -1 where best responses jump
    """

    between: tuple[int, int]
    epsilon: Array
    part: float
    through: int


@dataclass(frozen=True)
class Basins:
    """Equilibria of a game, by total epsilon, and their basins.

    Attributes
    ----------
    equilibria : each with its certificate
    plays : one for each start, in the order given
    stable : (n_equilibria,), whether play from slightly above or below returns
    turns : between neighbouring stable equilibria
    """

    equilibria: tuple[Equilibrium, ...]
    plays: tuple[Play, ...]
    stable: tuple[bool, ...]
    turns: tuple[Turn, ...]

    def starts_of(self, number: int) -> list[int]:
        """Numbers of the starts that lead to an equilibrium."""
        return [at for at, play in enumerate(self.plays) if play.leads_to == number]


def basins_of_attraction(
    game: Game,
    starts: Sequence[Any],
    *,
    streams: Streams,
    activation: str = "sequential",
    search: int = 16,
    turns: bool = True,
    **rules: Any,
) -> Basins:
    """Play a game from every start, certify the ends, and search for further equilibria.

    Parameters
    ----------
    game : Game
    starts : each (n_owners,) budgets, or one for all owners
    streams : Streams, with independent draws for each start
    activation : str, the order of moves, a name in `market.equilibrium.activation.ACTIVATIONS`
    search : int, further starts of the solver
    turns : bool, whether to look for borders between neighbouring equilibria
    **rules : of `market.equilibrium.stopping.PlayRules`

    Play never rests in the equilibrium in the middle:

    >>> from market.analysis.thesis_games import thesis_game
    >>> game = thesis_game("utility", 1e4, n_owners=3, epsilon=(0.001, 2.4))
    >>> starts = [0.2, 0.3, 1.5]
    >>> found = basins_of_attraction(game, starts, streams=Streams(1, "starts"), search=2)
    >>> [float(one.epsilon[0].round(3)) for one in found.equilibria]
    [0.001, 0.286, 0.783]
    >>> [play.leads_to for play in found.plays], found.stable, found.turns[0].through
    ([0, 2, 2], (True, False, True), 1)
    """
    player = _Player(game, activation, streams, PlayRules(**rules))
    paths = [player.play_from(start, f"start {at}") for at, start in enumerate(starts)]
    ends = [certify(game, path.epsilon, path=path, method=activation) for path in paths]
    whole = solve(game, rng=streams.rng("search"), starts=search, **rules)
    known: list[Equilibrium] = []

    def number_of(profile: Array) -> int:
        return equilibrium_number(known, profile, upper_ends(game.owners))

    def add_if_new(one: Equilibrium | None) -> None:
        if one is not None and one.converged and number_of(one.epsilon) == NOWHERE:
            known.append(one)

    for one in [whole, *whole.others, *ends]:
        add_if_new(one)
    known.sort(key=_total_epsilon)
    borders = []
    stable = [one.epsilon for one in known if player.is_stable(one)] if turns else []
    for low, high in pairwise(stable):
        part, hovers = player.find_border(low, high)
        if part is not None:
            borders.append((low, high, part, _unstable_equilibrium(game, hovers, [low, high])))
    for *_, through in borders:
        add_if_new(through)
    known.sort(key=_total_epsilon)
    found_turns = []
    for low, high, part, through in borders:
        number = NOWHERE if through is None else number_of(through.epsilon)
        between = number_of(low), number_of(high)
        found_turns.append(Turn(between, low + part * (high - low), part, number))
    reached = [number_of(end.epsilon) if end.converged else NOWHERE for end in ends]
    plays = tuple(Play(path, number) for path, number in zip(paths, reached, strict=True))
    return Basins(tuple(known), plays, tuple(map(player.is_stable, known)), tuple(found_turns))


def _total_epsilon(one: Equilibrium) -> float:
    return float(one.epsilon.sum())


def equilibrium_number(known: Sequence[Equilibrium], profile: Array, width: Array) -> int:
    """Number of the equilibrium at a profile (n_owners,), by parts of ``width``; -1 for none."""
    distances = (_distance(one.epsilon, profile, width) for one in known)
    return next((at for at, gap in enumerate(distances) if gap <= SAME), NOWHERE)


@dataclass(frozen=True)
class _Player:
    """Play of a game in one order of moves."""

    game: Game
    activation: str
    streams: Streams
    rules: PlayRules

    def play_from(self, start: Any, key: str, **changed: Any) -> Path:
        """Path from a start, with draws of its own."""
        owners = self.game.owners
        origin = np.broadcast_to(start, len(owners))
        origin = np.clip(origin, owners.epsilon_min, owners.epsilon_max)
        rules = replace(self.rules, **changed)
        rng = self.streams.rng(key)
        return follow_path(self.game, self.activation, origin, rng=rng, rules=rules)

    def rest_point(self, start: Array, key: str) -> Array:
        """End of rough play from a start (n_owners,)."""
        return self.play_from(start, key, tol=ROUGH).epsilon

    def is_stable(self, one: Equilibrium) -> bool:
        """True if play from slightly above or below returns to an equilibrium."""
        width = upper_ends(self.game.owners)
        starts = (one.epsilon + part * width for part in (NUDGE, -NUDGE))
        ends = (self.rest_point(start, "stable") for start in starts)
        return all(_distance(end, one.epsilon, width) < NUDGE / 2 for end in ends)

    def find_border(self, low: Array, high: Array) -> tuple[float | None, Array]:
        """Position where play turns between two rest points, and the profile where it lingers.

        The position is None where a part of the line leads elsewhere.
        """
        width = upper_ends(self.game.owners)
        below = 0.0
        above = 1.0
        for _ in range(HALVINGS):
            middle = (below + above) / 2
            now = low + middle * (high - low)
            at = self.rest_point(now, "turns")
            to_low = _distance(at, low, width)
            to_high = _distance(at, high, width)
            if min(to_low, to_high) > NEAR:
                return (middle if _distance(at, now, width) <= NEAR else None), at
            if to_low < to_high:
                below = middle
            else:
                above = middle
        middle = (below + above) / 2
        return middle, low + middle * (high - low)


def _distance(one: Array, other: Array, width: Array) -> float:
    """Largest difference of two profiles in parts of ``width`` (n_owners,)."""
    return float(np.max(np.abs(one - other) / width))


def _unstable_equilibrium(game: Game, profile: Array, ends: Sequence[Array]) -> Equilibrium | None:
    """Equilibrium near a profile but not at the ``ends``, as a root of best-response moves."""
    low, high = game.owners.interval
    width = upper_ends(game.owners)

    def response_moves(at: Array) -> Array:
        return (game.best_responses(np.clip(at, low, high)) - at) / width

    found = scipy.optimize.root(
        response_moves, profile, options={"eps": STEP, "maxfev": 60 * len(profile)}
    )
    at = np.clip(found.x, low, high)
    if _distance(at, profile, width) > 10 * NEAR:
        return None
    certificate = certify(game, at, method="root")
    apart = all(_distance(at, end, width) > SAME for end in ends)
    return certificate if certificate.converged and apart else None
