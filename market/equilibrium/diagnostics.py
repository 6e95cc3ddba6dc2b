"""What kind of game a market is, each finding with its evidence.

Samples can refute but not prove: a finding that ``holds`` has not been refuted on the profiles looked at, and its bound
is the worst that was met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from market.equilibrium.starts import log_interval
from market.equilibrium.stopping import upper_ends
from market.game.game import Game

POINT = 1e-6  # bounds closer than this part of an owner's upper end are one point
EXACT = 1e-9  # gains around a cycle that are smaller than this part of what is gained and lost on the way are none
MARGIN = 0.1  # bounds on responses are this part of their spread wider than the sample's


@dataclass(frozen=True)
class Dominance:
    """Whether bounds on best responses shrink to a point, round by round.

    Attributes
    ----------
    holds : bool; then the point is the only equilibrium
    rounds : int, until the bounds no longer shrank
    low, high : (n_owners,), the bounds in the end
    """

    holds: bool
    rounds: int
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class FourCycles:
    """Whether gains around all cycles of two owners who move in turn, there and back, add up to nothing.

    Attributes
    ----------
    holds : bool; then the game has an exact potential
    largest : float, money, the largest sum met
    relative : float, the same as a part of what is gained and lost around the cycle
    owners : (int, int); start, end : (n_owners,), between which the two go in the worst cycle, everyone else at ``start``
    """

    holds: bool
    largest: float
    relative: float
    owners: tuple[int, int]
    start: np.ndarray
    end: np.ndarray


@dataclass(frozen=True)
class WorstPair:
    """Whether something stays below a limit for any two profiles, and the pair where it was largest.

    Attributes
    ----------
    holds : bool; then there is one equilibrium, which simultaneous play finds (a contraction), or if payoffs are concave
        and do not jump (diagonal concavity)
    largest : float, the largest met: a ratio of distances (contraction), or money (diagonal concavity)
    one, two : (n_owners,), the profiles where it was met
    """

    holds: bool
    largest: float
    one: np.ndarray
    two: np.ndarray


@dataclass(frozen=True)
class Diagnosis:
    """All findings about a game."""

    dominance: Dominance
    potential: FourCycles
    contraction: WorstPair
    concavity: WorstPair


def diagnose(game: Game, *, rng: np.random.Generator) -> Diagnosis:
    """All diagnostics of a game with at most a few hundred owners.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
        Draws the profiles that are looked at.

    Returns
    -------
    Diagnosis

    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> owners = Owners(("A", "B"), 1, 0.1, 9.0, Quadratic([1.0, 2.0]))
    >>> found = diagnose(Game(owners, Posted(4.0), None, 0.0), rng=np.random.default_rng(0))
    >>> found.dominance.holds, found.dominance.low.round(6).tolist(), found.potential.holds, found.contraction.largest
    (True, [4.0, 2.0], True, 0.0)
    """
    bounds, cycles = dominance(game, rng=rng), four_cycles(game, rng=rng)
    return Diagnosis(bounds, cycles, contraction(game, rng=rng), diagonal_concavity(game, rng=rng))


def dominance(game: Game, *, rng: np.random.Generator, samples: int = 16, max_rounds: int = 100) -> Dominance:
    """Iterated bounds on best responses: nobody plays what is never a best response to what others may still play.

    Each round takes the best responses to both corners of the bounds and to ``samples`` profiles inside; what lies outside
    of all of them, by more than a tenth of their spread for what the sample may have missed, is dropped.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
    samples, max_rounds : int

    Returns
    -------
    Dominance

    Source: Bernheim; Pearce (1984), rationalizable strategies; Milgrom and Roberts (1990).
    """
    width = upper_ends(game.owners)
    low, high = np.array(game.owners.epsilon_min), np.array(game.owners.epsilon_max)
    count, shrunk = 0, np.inf
    while count < max_rounds and shrunk > POINT and np.max((high - low) / width) > POINT:
        count += 1
        profiles = [low, high, *_profiles(low, high, samples, rng)]
        responses = np.array([game.best_responses(at) for at in profiles])
        below, above = responses.min(axis=0), responses.max(axis=0)
        margin = MARGIN * (above - below)
        below, above = np.maximum(low, below - margin), np.minimum(high, above + margin)
        shrunk = np.max((high - low - (above - below)) / width)
        low, high = below, above
    return Dominance(bool(np.max((high - low) / width) <= POINT), count, low, high)


def four_cycles(game: Game, *, rng: np.random.Generator, samples: int = 200) -> FourCycles:
    """Whether the game has an exact potential: two owners who move in turn, there and back, gain nothing in sum.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
    samples : int
        Cycles looked at, each of two owners drawn at random between two profiles.

    Returns
    -------
    FourCycles

    Source: Monderer and Shapley, Potential Games, Corollary 2.9.
    """
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    starts, ends = (_profiles(low, high, samples, rng) for _ in range(2))
    worst = FourCycles(True, 0.0, 0.0, (0, 0), starts[0], ends[0])
    for start, end in zip(starts, ends, strict=True):
        if len(low) < 2:
            break
        first, second = (int(owner) for owner in rng.choice(len(low), 2, replace=False))
        corners, movers = [start], (first, second, first, second)
        for mover, to in zip(movers, (end, end, start, start), strict=True):
            corners.append(np.where(np.arange(len(low)) == mover, to, corners[-1]))
        payoffs = np.array([game.weighed(at) for at in corners])
        gains = [payoffs[k + 1, mover] - payoffs[k, mover] for k, mover in enumerate(movers)]
        total, scale = abs(sum(gains)), sum(map(abs, gains))
        relative = total / scale if scale > 0 else 0.0
        if relative > worst.relative:
            worst = FourCycles(bool(relative <= EXACT), float(total), float(relative), (first, second), start, end)
    return worst


def contraction(game: Game, *, rng: np.random.Generator, samples: int = 64) -> WorstPair:
    """Whether best responses to any two profiles are closer than the profiles, each owner measured by its upper end.

    The largest ratio is the modulus of the best-response map in the largest norm, estimated from below.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
    samples : int
        Pairs of profiles looked at; half of them close together.

    Returns
    -------
    WorstPair
    """
    width = upper_ends(game.owners)

    def modulus(one: np.ndarray, two: np.ndarray) -> float:
        apart = np.max(np.abs(one - two) / width)
        after = np.max(np.abs(game.best_responses(one) - game.best_responses(two)) / width)
        return float(after / apart) if apart > 0 else 0.0

    return _worst_pair(modulus, 1.0, game, samples, rng)


def diagonal_concavity(game: Game, *, rng: np.random.Generator, samples: int = 200) -> WorstPair:
    """Rosen's condition, with equal weights, on pairs of profiles above 0: slopes fall along every line.

    ``(x - y) (g(x) - g(y)) / |x - y|^2 < 0``, g each owner's slope in its own epsilon.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
    samples : int
        Pairs of profiles looked at; half of them close together.

    Returns
    -------
    WorstPair

    Source: Rosen, Existence and Uniqueness of Equilibrium Points for Concave N-Person Games (1965), Theorem 2.
    """

    def steepness(one: np.ndarray, two: np.ndarray) -> float:
        slopes = [game.deviations(at).slopes(at[:, None])[:, 0] for at in (one, two)]
        square = float(np.sum((one - two) ** 2))
        return float((one - two) @ (slopes[0] - slopes[1])) / square if square > 0 else -np.inf

    return _worst_pair(steepness, 0.0, game, samples, rng)


def _profiles(low: np.ndarray, high: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Profiles above 0 spread over bounds (count, n_owners), half of them evenly, half evenly in the logarithm."""
    lower, ratio = log_interval(low, high)
    part = (
        scipy.stats.qmc.Halton(len(low), rng=rng).random(count) if len(low) <= 1000 else rng.random((count, len(low)))
    )
    even = np.arange(count)[:, None] % 2 == 0
    return np.where(even, lower + (high - lower) * part, lower * ratio**part)


def _worst_pair(
    measure: Callable[[np.ndarray, np.ndarray], float], limit: float, game: Game, count: int, rng: np.random.Generator
) -> WorstPair:
    """The largest measure of pairs of profiles above 0, far apart or, every other one, a hundredth of the way."""
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    ones, twos = (_profiles(low, high, count, rng) for _ in range(2))
    pairs = [(a, b if k % 2 else a + 0.01 * (b - a)) for k, (a, b) in enumerate(zip(ones, twos, strict=True))]
    largest, one, two = max(((measure(a, b), a, b) for a, b in pairs), key=lambda found: found[0])
    return WorstPair(largest < limit, largest, one, two)
