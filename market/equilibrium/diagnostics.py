"""Diagnostics of a game, each with evidence, and remarks on an equilibrium.

The game: dominance, potential, contraction and concavity.

Samples can refute but not prove: a property that ``holds`` has not been refuted on the sampled
profiles, and its bound is the worst case among them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from market.columns import Array
from market.equilibrium.solver import Equilibrium
from market.equilibrium.starts import log_interval
from market.equilibrium.stopping import upper_ends
from market.game.game import Game

# Bounds closer than this part of an owner's upper end are one point.
POINT = 1e-6
# Gains around a cycle below this part of all gains and losses on it are 0.
EXACT = 1e-9
# Bounds on responses are this part of their spread wider than the sample's.
MARGIN = 0.1


@dataclass(frozen=True)
class Dominance:
    """Iterated bounds on best responses.

    Attributes
    ----------
    holds : bool, whether they shrink to a point, the only equilibrium
    rounds : int, until the bounds no longer shrank
    low, high : (n_owners,), the final bounds
    """

    holds: bool
    rounds: int
    low: Array
    high: Array


@dataclass(frozen=True)
class FourCycles:
    """Sums of gains around cycles of two owners who move in turn, there and back.

    Attributes
    ----------
    holds : bool, whether all are 0, so that the game has an exact potential
    largest : float, money, the largest sum
    relative : float, the same as a part of all gains and losses on the cycle
    owners : (int, int), the two of the worst cycle
    start, end : (n_owners,), the profiles between which they move, all others at ``start``
    """

    holds: bool
    largest: float
    relative: float
    owners: tuple[int, int]
    start: Array
    end: Array


@dataclass(frozen=True)
class WorstPair:
    """Largest value of a measure over pairs of profiles.

    Attributes
    ----------
    holds : bool, whether it is below its limit; then there is one equilibrium, which simultaneous
        play finds (contraction), or if payoffs are concave and do not jump (diagonal concavity)
    largest : float, a ratio of distances (contraction), or money (diagonal concavity)
    one, two : (n_owners,), the profiles
    """

    holds: bool
    largest: float
    one: Array
    two: Array


@dataclass(frozen=True)
class Diagnosis:
    """All diagnostics of a game."""

    dominance: Dominance
    potential: FourCycles
    contraction: WorstPair
    concavity: WorstPair


def diagnose(game: Game, *, rng: np.random.Generator) -> Diagnosis:
    """Diagnose a game with at most a few hundred owners; ``rng`` draws the profiles.

    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> owners = Owners(("A", "B"), 1, 0.1, 9.0, Quadratic([1.0, 2.0]))
    >>> found = diagnose(Game(owners, Posted(4.0), None, 0.0), rng=np.random.default_rng(0))
    >>> found.dominance.holds, found.dominance.low.round(6).tolist()
    (True, [4.0, 2.0])
    >>> found.potential.holds, found.contraction.largest
    (True, 0.0)
    """
    return Diagnosis(
        iterated_dominance(game, rng=rng),
        four_cycles(game, rng=rng),
        contraction_modulus(game, rng=rng),
        diagonal_concavity(game, rng=rng),
    )


def iterated_dominance(
    game: Game, *, rng: np.random.Generator, samples: int = 16, max_rounds: int = 100
) -> Dominance:
    """Iterated elimination of budgets that are never a best response.

    Each round takes the best responses to both corners of the bounds and to ``samples`` profiles
    inside, and drops all that is outside of them by more than a tenth of their spread.

    Source: Bernheim; Pearce (1984), rationalizable strategies; Milgrom and Roberts (1990).
    """
    width = upper_ends(game.owners)
    low = np.array(game.owners.epsilon_min)
    high = np.array(game.owners.epsilon_max)
    count = 0
    shrunk = np.inf
    while count < max_rounds and shrunk > POINT and np.max((high - low) / width) > POINT:
        count += 1
        inside = _sample_profiles(low, high, samples, rng)
        responses = game.best_responses_at(np.vstack([low, high, inside]))
        below = responses.min(axis=0)
        above = responses.max(axis=0)
        margin = MARGIN * (above - below)
        below = np.maximum(low, below - margin)
        above = np.minimum(high, above + margin)
        shrunk = np.max((high - low - (above - below)) / width)
        low = below
        high = above
    return Dominance(bool(np.max((high - low) / width) <= POINT), count, low, high)


def four_cycles(game: Game, *, rng: np.random.Generator, samples: int = 200) -> FourCycles:
    """Test for an exact potential: two owners who move there and back gain nothing in sum.

    ``samples`` cycles are drawn, each of two random owners between two profiles.

    Source: Monderer and Shapley, Potential Games, Corollary 2.9.
    """
    low, high = game.owners.interval
    starts, ends = (_sample_profiles(low, high, samples, rng) for _ in range(2))
    none = FourCycles(True, 0.0, 0.0, (0, 0), starts[0], ends[0])
    if len(low) < 2:
        return none
    first, second = np.array([rng.choice(len(low), 2, replace=False) for _ in starts]).T
    cycle = np.arange(samples)
    corners = np.stack([starts] * 4)
    for mover, there in ((first, [1, 2]), (second, [2, 3])):
        corners[there, cycle[:, None], mover[:, None]] = ends[cycle, mover][:, None]
    payoffs = game.payoffs_at(corners.reshape(-1, len(low))).reshape(corners.shape)
    movers = enumerate((first, second, first, second), -3)
    gains = np.array([(payoffs[k] - payoffs[k - 1])[cycle, mover] for k, mover in movers])
    totals = np.abs(gains.sum(axis=0))
    scales = np.abs(gains).sum(axis=0)
    parts = np.divide(totals, scales, out=np.zeros_like(totals), where=scales > 0)
    at = int(np.argmax(parts))
    if not parts[at]:
        return none
    part = float(parts[at])
    owners = int(first[at]), int(second[at])
    return FourCycles(part <= EXACT, float(totals[at]), part, owners, starts[at], ends[at])


def contraction_modulus(game: Game, *, rng: np.random.Generator, samples: int = 64) -> WorstPair:
    """Modulus of the best-response map in the maximum norm, estimated from below.

    Each owner's distances are measured by its upper end.
    """
    width = upper_ends(game.owners)

    def measure_distances(ones: Array, twos: Array) -> Array:
        before = np.max(np.abs(ones - twos) / width, axis=1)
        responses = game.best_responses_at(ones) - game.best_responses_at(twos)
        after = np.max(np.abs(responses) / width, axis=1)
        return np.divide(after, before, out=np.zeros_like(after), where=before > 0)

    return _worst_pair(measure_distances, 1.0, game, samples, rng)


def diagonal_concavity(game: Game, *, rng: np.random.Generator, samples: int = 200) -> WorstPair:
    """Rosen's condition, with equal weights, on pairs of profiles above 0.

    ``(x - y) (g(x) - g(y)) / |x - y|^2 < 0``, g each owner's slope in its own epsilon.

    Source: Rosen, Existence and Uniqueness of Equilibrium Points for Concave N-Person Games
        (1965), Theorem 2.
    """

    def slopes_along_lines(ones: Array, twos: Array) -> Array:
        square = np.sum((ones - twos) ** 2, axis=1)
        along = np.sum((ones - twos) * (game.slopes_at(ones) - game.slopes_at(twos)), axis=1)
        return np.divide(along, square, out=np.full_like(along, -np.inf), where=square > 0)

    return _worst_pair(slopes_along_lines, 0.0, game, samples, rng)


def _sample_profiles(low: Array, high: Array, count: int, rng: np.random.Generator) -> Array:
    """Profiles above 0 within bounds (count, n_owners), by turns uniform and log-uniform."""
    lower, ratio = log_interval(low, high)
    if len(low) <= 1000:
        part = scipy.stats.qmc.Halton(len(low), rng=rng).random(count)
    else:
        part = rng.random((count, len(low)))
    even = np.arange(count)[:, None] % 2 == 0
    return np.where(even, lower + (high - lower) * part, lower * ratio**part)


def _worst_pair(
    measure: Callable[[Array, Array], Array],
    limit: float,
    game: Game,
    count: int,
    rng: np.random.Generator,
) -> WorstPair:
    """Largest measure over pairs of profiles, by turns far apart and a hundredth as far."""
    low, high = game.owners.interval
    ones, twos = (_sample_profiles(low, high, count, rng) for _ in range(2))
    twos[::2] = ones[::2] + 0.01 * (twos[::2] - ones[::2])
    values = measure(ones, twos)
    worst = int(np.argmax(values))
    largest = float(values[worst])
    return WorstPair(largest < limit, largest, ones[worst], twos[worst])


def equilibrium_remarks(game: Game, equilibrium: Equilibrium) -> list[dict[str, Any]]:
    """Remarkable facts about an equilibrium: all owners at one end, or several equilibria.

    Parameters
    ----------
    game : Game, with any policy
    equilibrium : of `market.equilibrium.solver.solve`; one that is not certified has no remarks

    Returns
    -------
    list of dict
        Facts, each with a ``cause`` (several_equilibria, all_at_lowest, printed_weight,
        all_at_highest) and its numbers.

    >>> from market.analysis.thesis_games import thesis_game
    >>> from market.equilibrium.solver import solve
    >>> game = thesis_game("utility", 1e4, weight="printed")
    >>> found = solve(game, rng=np.random.default_rng(0), starts=4)
    >>> [fact["cause"] for fact in equilibrium_remarks(game, found)]
    ['all_at_lowest', 'printed_weight']
    """
    low, high = game.owners.interval
    free = low < high

    def all_at(epsilon: Array, end: Array) -> bool:
        return bool(free.any() and np.all(epsilon[free] == end[free]))

    def range_of(epsilon: Array) -> list[float]:
        return [float(epsilon.min()), float(epsilon.max())]

    epsilon = equilibrium.epsilon
    if not equilibrium.converged:
        return []
    if equilibrium.others:
        found = [epsilon, *(one.epsilon for one in equilibrium.others)]
        places = [{"epsilon": range_of(at), "at_lowest": all_at(at, low)} for at in found]
        return [{"cause": "several_equilibria", "places": places}]
    if all_at(epsilon, low):
        fact = {"cause": "all_at_lowest", "epsilon": range_of(epsilon)}
        return [fact, *game.policy.policy_remarks(game)]
    if all_at(epsilon, high) and game.asks(epsilon):
        return [{"cause": "all_at_highest", "epsilon": range_of(epsilon)}]
    return []
