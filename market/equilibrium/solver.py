"""Equilibria of a game, each with its certificate.

The certificate decides, not the solver: whatever path led to a profile, it counts as an equilibrium if a
search independent of that path finds no owner who gains by moving.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from market.equilibrium.paths import PATHS, follow
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import Path, PlayRules, upper_ends
from market.game.game import CERTIFIED, Game, relative

SAME = 1e-6  # equilibria closer than this part of every owner's upper end are one
ONE_BY_ONE = 300  # with more owners, a round of one search per owner is too slow to fall back on


@dataclass(frozen=True)
class Equilibrium:
    """A profile with its certificate; an equilibrium only if ``converged``.

    Attributes
    ----------
    epsilon, payments : (n_owners,)
    regret : (n_owners,), money each owner could still gain by moving alone
    relative_regret : (n_owners,), the same as a part of what it has at stake
    converged : bool, no relative regret above 1e-8
    reason : "certified"; "several", with others; "corner", certified with every owner at an end of its interval; "cycle
        found"; or "not converged"
    iterations : int, rounds from the start that led here
    method : str, the path that led here
    others : tuple of Equilibrium, the other equilibria found
    trajectory : list of (round, epsilon, payments, payoffs) of the first start
    starts : int, starting points tried
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

    @property
    def max_regret(self) -> float:
        """The largest regret of any owner, in money."""
        return float(self.regret.max())

    @property
    def max_relative_regret(self) -> float:
        """The largest regret of any owner, as a part of what it has at stake."""
        return float(self.relative_regret.max())


Found = TypeVar("Found", bound=Equilibrium)


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
        Starts in all: the first, both corners, a low-discrepancy set.
    **rules
        Of `market.equilibrium.stopping.PlayRules`: damping, tol, max_rounds.

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
    names = _methods(game) if method == "auto" else [method]
    first: tuple[np.ndarray, ...] = ()
    found: list[Equilibrium] = []
    for number, origin in enumerate(start_points(game, rng=rng, starts=starts, start=start)):
        for name in names:
            path = follow(game, name, origin, rng=rng, rules=limits)
            result = certify(game, path.epsilon, path=path, method=name)
            if result.converged:
                break
        found.append(result)
        first = path.profiles if number == 0 else first
    rounds = tuple((k, at, *_money(game, at)) for k, at in enumerate(first))
    best = merge(found, upper_ends(game))
    cycle = not best.converged and any(one.reason == "cycle found" for one in found)
    reason = "cycle found" if cycle else best.reason
    return replace(best, reason=reason, trajectory=rounds, starts=len(found))


def _money(game: Game, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    payments = game.payments(epsilon)
    return payments, payments + game.benefits(epsilon) - game.costs(epsilon)


def _methods(game: Game) -> list[str]:
    """What "auto" tries, in this order."""
    play = "sequential" if len(game.owners) <= ONE_BY_ONE else "simultaneous"
    return ["aggregative", play] if game.additive else [play]


def certify(game: Game, epsilon: np.ndarray, *, path: Path | None = None, method: str = "given") -> Equilibrium:
    """A profile (n_owners,) with its certificate; ``path`` and ``method`` say how it was reached."""
    regret, scale = game.certificate(epsilon)
    ratio = relative(regret, scale)
    converged = bool(ratio.max() <= CERTIFIED)
    cycle = path is not None and path.end == "cycle" and method != "aggregative"
    to_end = np.minimum(np.abs(epsilon - game.owners.epsilon_min), np.abs(epsilon - game.owners.epsilon_max))
    corner = (to_end <= SAME * game.owners.epsilon_max).all()
    settled = "corner" if corner else "certified"
    reason = settled if converged else "cycle found" if cycle else "not converged"
    rounds = path.rounds if path is not None else 0
    return Equilibrium(epsilon, game.payments(epsilon), regret, ratio, converged, reason, rounds, method)


def merge(found: Sequence[Found], width: np.ndarray) -> Found:
    """The first equilibrium with the other distinct ones, or the profile of least regret; moves are measured by ``width``."""
    distinct: list[Found] = []
    for one in found:
        if one.converged and all(np.max(np.abs(one.epsilon - two.epsilon) / width) > SAME for two in distinct):
            distinct.append(one)
    if not distinct:
        return min(found, key=lambda one: one.max_relative_regret)
    reason = "several" if len(distinct) > 1 else distinct[0].reason
    return replace(distinct[0], reason=reason, others=tuple(distinct[1:]))
