"""Equilibria of a game, each with its certificate.

The certificate decides, not the solver: whatever path led to a profile, it counts as an equilibrium if a
search independent of that path finds no owner who gains by moving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from market.equilibrium.activation import ACTIVATIONS, play
from market.equilibrium.aggregative import aggregative
from market.equilibrium.few_owners import meeting_places, scannable
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, upper_ends
from market.game.game import CERTIFIED, Game, relative

JUMP = "no best response (jump at 0)"
SAME = 1e-6  # equilibria closer than this part of every owner's upper end are one
ONE_BY_ONE = 300  # with more owners, a round of one search per owner is too slow to fall back on

# Endless generators of profiles, one a round: play in each activation, and Newton's method on the aggregates.
PATHS: dict[str, Callable[..., Iterator[np.ndarray]]] = {
    "aggregative": aggregative,
    **{name: partial(play, activation) for name, activation in ACTIVATIONS.items()},
}


@dataclass(frozen=True)
class Equilibrium:
    """A profile with its certificate; an equilibrium only if ``converged``.

    Attributes
    ----------
    epsilon, payments : (n_owners,)
    regret : (n_owners,), money each owner could still gain by moving alone
    relative_regret : (n_owners,), the same as a part, 0 to 1, of the regret and what it has at stake near its best
        response (`market.game.game.Game.certificate`)
    converged : bool, no relative regret above 1e-8
    reason : "certified"; "several", with others; "corner", certified with every owner at an end of its interval; "cycle
        found"; "no best response (jump at 0)", where somebody would share the less the better, but not nothing; or "not
        converged"
    iterations : int, rounds from the start that led here
    method : str, the path that led here
    others : tuple of Equilibrium, the other equilibria found
    trajectory : list of (round, epsilon, payments, payoffs) of the first start
    starts : int, starting points tried
    agents : str, how agents' own play from the first start ended, "rest", "cycle" or "limit"; None where none played
    """

    epsilon: np.ndarray
    payments: np.ndarray
    regret: np.ndarray
    relative_regret: np.ndarray
    converged: bool
    reason: str
    iterations: int
    method: str
    others: tuple[Equilibrium, ...] = ()
    trajectory: tuple[tuple[int, np.ndarray, np.ndarray, np.ndarray], ...] = ()
    starts: int = 1
    agents: str | None = None

    @property
    def max_regret(self) -> float:
        """The largest regret of any owner, in money."""
        return float(self.regret.max())

    @property
    def max_relative_regret(self) -> float:
        """The largest regret of any owner, as a part of what it has at stake near its best response."""
        return float(self.relative_regret.max())


def solve(
    game: Game,
    *,
    rng: np.random.Generator,
    method: str = "auto",
    start: np.ndarray | None = None,
    starts: int = 16,
    **rules: Any,
) -> Equilibrium:
    """Equilibria of a game from several starts, each certified.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
        Draws starts and the order of moves.
    method : str
        "aggregative": Newton's method on the aggregates through which owners meet. A name in
        `market.equilibrium.activation.ACTIVATIONS`: best responses in that order. "auto": aggregative, then sequential
        (simultaneous with more than 300 owners) from the same start where that did not end in an equilibrium.
    start : (n_owners,), optional
        The first start; otherwise the middle of every interval.
    starts : int
        Starts in all: the first, both corners, a low-discrepancy set. Of two or three owners who meet in sums, with more
        than one start and the method "auto", every place instead of that set where their best responses seem to meet
        (`market.equilibrium.few_owners`).
    **rules
        Of `market.equilibrium.stopping.PlayRules`: damping, part, tol, max_rounds.

    Returns
    -------
    Equilibrium
        From the first start that leads to one; where none does, the profile of least regret, with
        ``converged`` False. Never raises for non-convergence.

    Raises
    ------
    ValueError
        An unknown method, no start, or a rule out of range.

    Source: Cornes and Hartley (aggregative games); Wu, MRes thesis, Def. 2.
    """
    if method not in ("auto", *PATHS):
        raise ValueError(f"method must be one of auto, {', '.join(PATHS)}; found {method!r}")
    if starts < 1:
        raise ValueError(f"starts must be at least 1; found {starts}")
    limits = PlayRules(**rules)
    play_out = "sequential" if len(game.owners) <= ONE_BY_ONE else "simultaneous"
    auto = ["aggregative", play_out] if game.additive and game.view.few_sums else [play_out]
    first: tuple[np.ndarray, ...] = ()
    found: list[Equilibrium] = []
    origins = start_points(game, rng=rng, starts=starts, start=start)
    while len(found) < len(origins):
        origin = origins[len(found)]
        for name in auto if method == "auto" else [method]:
            path = follow(game, name, origin, rng=rng, rules=limits)
            result = certify(game, path.epsilon, path=path, method=name)
            if result.converged:
                break
        first = first or path.profiles
        found.append(result)
        if len(found) == 1 and starts > 1 and method == "auto" and scannable(game):
            places = meeting_places(game)
            origins = [origin, *places] if places else origins
    distinct = {id(at): at for at in first}  # a path may stay where it is for a round
    settled = {key: game.settled(at) for key, at in distinct.items()}
    rounds = tuple((k, at, *settled[id(at)]) for k, at in enumerate(first))
    best = merge(found, upper_ends(game.owners))
    causes = [cause for cause in (JUMP, "cycle found") if any(one.reason == cause for one in found)]
    reason = best.reason if best.converged or not causes else causes[0]
    return replace(best, reason=reason, trajectory=rounds, starts=len(found))


def follow(game: Game, method: str, origin: np.ndarray, *, rng: np.random.Generator, rules: PlayRules) -> Path:
    """Follow the path ``method`` of PATHS from ``origin`` (n_owners,) until it ends."""
    now = np.array(origin, dtype=float)
    patience = ACTIVATIONS[method].patience(len(now), rules) if method in ACTIVATIONS else 1
    monitor = ConvergenceMonitor(rules, patience, upper_ends(game.owners), now, str(rng.bit_generator.state))
    profiles, end = [now], "limit"
    for fresh in islice(PATHS[method](game, now, rng=rng, rules=rules), rules.max_rounds):
        end = monitor.update(profiles[-1], fresh, drawn=str(rng.bit_generator.state))
        profiles.append(fresh)
        if end:
            break
    return Path(profiles[-1], monitor.rounds, end, tuple(profiles))


def certify(game: Game, epsilon: np.ndarray, *, path: Path | None = None, method: str = "given") -> Equilibrium:
    """A profile (n_owners,) with its certificate; ``path`` and ``method`` say how it was reached."""
    cycle = path is not None and path.end == "cycle" and method != "aggregative"
    found = certified(game, epsilon, path.rounds if path else 0, method, "cycle found" if cycle else "not converged")
    gains = np.flatnonzero(found.relative_regret > CERTIFIED)
    if gains.size and game.deviations(epsilon, gains).jumps_at_zero(epsilon[gains]).all():
        return replace(found, reason=JUMP)
    to_end = np.minimum(np.abs(epsilon - game.owners.epsilon_min), np.abs(epsilon - game.owners.epsilon_max))
    corner = found.converged and (to_end <= SAME * game.owners.epsilon_max).all()
    return replace(found, reason="corner") if corner else found


def certified(market: Any, epsilon: np.ndarray, rounds: int, method: str, otherwise: str) -> Equilibrium:
    """A profile of a game, or of a competition, with its certificate; ``otherwise`` is the reason where that fails."""
    regret, scale = market.certificate(epsilon)
    ratio = relative(regret, scale)
    converged = bool(ratio.max() <= CERTIFIED)
    reason = "certified" if converged else otherwise
    return Equilibrium(epsilon, market.payments(epsilon), regret, ratio, converged, reason, rounds, method)


def merge(found: Sequence[Equilibrium], width: np.ndarray) -> Equilibrium:
    """The first equilibrium with the other distinct ones, or the profile of least regret; moves are measured by ``width``."""
    distinct: list[Equilibrium] = []
    for one in found:
        if one.converged and all(np.max(np.abs(one.epsilon - two.epsilon) / width) > SAME for two in distinct):
            distinct.append(one)
    if not distinct:
        return min(found, key=lambda one: one.max_relative_regret)
    reason = "several" if len(distinct) > 1 else distinct[0].reason
    return replace(distinct[0], reason=reason, others=tuple(distinct[1:]))
