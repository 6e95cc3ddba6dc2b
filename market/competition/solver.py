"""Equilibria of owners who sell to several learners, each certified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from market.competition.market import Competition
from market.equilibrium.solver import Equilibrium, merge
from market.equilibrium.stopping import RETURN, Path, PlayRules, moved
from market.game.game import CERTIFIED, relative

MAX_ROUNDS = 300  # per start, unless told otherwise
NEARLY = 1e-6  # budgets below this part of an owner's upper end are given up at once by who wants none


@dataclass(frozen=True, kw_only=True)
class CompetitionEquilibrium(Equilibrium):
    """An `Equilibrium` with ``epsilon`` and ``payments`` (n_owners, n_learners), and regret by changing a whole row.

    Attributes
    ----------
    costs : (n_owners,), of each owner's sum of budgets, money
    """

    costs: np.ndarray


def solve_competition(
    market: Competition,
    *,
    rng: np.random.Generator,
    method: str = "sequential",
    start: np.ndarray | None = None,
    starts: int = 4,
    **rules: Any,
) -> CompetitionEquilibrium:
    """Equilibria of owners who sell to several learners, from several starts, each certified.

    Parameters
    ----------
    market : Competition
    rng : numpy.random.Generator
        Draws starts beyond the first three.
    method : str
        "sequential": owners choose their rows one after another, and, where that leads round in circles, go ``damping``
        of the way. "simultaneous": all at once, going ``damping`` of the way; quicker a round, but where many share a
        budget it swings unless damping is about one over their number.
    start : (n_owners, n_learners), optional
        The first start.
    starts : int
        Starts in all: the given one, all at their least, at their most and half way, evenly split, and random splits.
    **rules
        Of `market.equilibrium.stopping.PlayRules`: damping, tol, max_rounds (300 unless told otherwise).

    Returns
    -------
    CompetitionEquilibrium
        From the first start that leads to one; where none does, the profile of least regret. Never raises for
        non-convergence. With one learner it is what `market.equilibrium.solver.solve` finds.

    Raises
    ------
    ValueError
        An unknown method, no start, or a rule out of range.
    """
    if method not in ("sequential", "simultaneous"):
        raise ValueError(f"method must be sequential or simultaneous; found {method!r}")
    if starts < 1:
        raise ValueError(f"starts must be at least 1; found {starts}")
    limits = PlayRules(**{"max_rounds": MAX_ROUNDS} | rules)
    first = replace(limits, damping=1.0) if method == "sequential" else limits
    found: list[CompetitionEquilibrium] = []
    for origin in _origins(market, rng, starts, start):
        path = play(market, origin, method, first)
        rounds, profile = path.rounds, path.epsilon
        if method == "sequential" and path.end != "rest":
            again = play(market, profile, method, limits)
            rounds, profile = rounds + again.rounds, again.epsilon
        found.append(_certified(market, profile, method, rounds, path.end))
    return merge(found, _width(market))


def _certified(market: Competition, profile: np.ndarray, method: str, rounds: int, end: str) -> CompetitionEquilibrium:
    """A profile with its certificate."""
    regret, scale = market.certificate(profile)
    ratio = relative(regret, scale)
    converged = bool(ratio.max() <= CERTIFIED)
    return CompetitionEquilibrium(
        epsilon=profile,
        payments=market.payments(profile),
        costs=market.costs(profile),
        regret=regret,
        relative_regret=ratio,
        converged=converged,
        reason="certified" if converged else "cycle found" if end == "cycle" else "not converged",
        iterations=rounds,
        method=method,
    )


def _origins(market: Competition, rng: np.random.Generator, starts: int, start: np.ndarray | None) -> list[np.ndarray]:
    """Profiles to start from (n_owners, n_learners)."""
    low, high, links = market.owners.epsilon_min, market.owners.epsilon_max, market.links
    even = links / np.maximum(links.sum(axis=1), 1)[:, None]
    first = [] if start is None else [market.profile(start)]
    first += [total[:, None] * even for total in (low, high, 0.5 * (low + high))]
    while len(first) < starts:
        weights = links * rng.exponential(size=links.shape)
        share = weights / np.maximum(weights.sum(axis=1), np.finfo(float).tiny)[:, None]
        first.append((low + (high - low) * rng.random(len(low)))[:, None] * share)
    return first[:starts]


def play(market: Competition, profile: np.ndarray, method: str, rules: PlayRules) -> Path:
    """Where owners come to rest who respond one after another or all at once, going a part of the way."""
    width = _width(market)
    landmark = profile
    for count in range(1, rules.max_rounds + 1):
        fresh = profile.copy()
        if method == "sequential":
            for i in range(len(profile)):
                response = market.best_responses(fresh, np.array([i]))[0]
                fresh[i] = _damped(fresh[i], response, rules.damping, width[i])
        else:
            fresh = _damped(profile, market.best_responses(profile), rules.damping, width)
        step, back = np.max(moved(profile, fresh, width)), np.max(moved(landmark, fresh, width))
        profile = fresh
        if step <= rules.tol:
            return Path(profile, count, "rest")
        if count >= 2 and back <= RETURN * step:
            return Path(profile, count, "cycle")
        if count & (count - 1) == 0:  # Brent: a landmark at every power of two is passed again by any cycle
            landmark = profile
    return Path(profile, rules.max_rounds, "limit")


def _width(market: Competition) -> np.ndarray:
    """What moves are measured by (n_owners, 1): the upper end of the owner's interval, or 1 where that is 0."""
    return np.where(market.owners.epsilon_max > 0, market.owners.epsilon_max, 1.0)[:, None]


def _damped(now: np.ndarray, response: np.ndarray, damping: float, width: np.ndarray) -> np.ndarray:
    """Part of the way to a response; who leaves a learner does so in the end."""
    there = (response == 0) & (now <= NEARLY * width)
    return response if damping == 1 else np.where(there, 0.0, now + damping * (response - now))
