"""Equilibria of owners who sell to several learners, each certified."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from market.competition.allocation import even_split
from market.competition.market import Competition
from market.equilibrium.solver import Equilibrium, certified, merge
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, upper_ends

MAX_ROUNDS = 300  # per start, unless told otherwise
NEARLY = 1e-6  # budgets below this part of an owner's upper end are given up at once by who wants none


def solve_competition(
    market: Competition,
    *,
    rng: np.random.Generator,
    method: str = "sequential",
    start: np.ndarray | None = None,
    starts: int = 4,
    **rules: Any,
) -> Equilibrium:
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
    Equilibrium
        ``epsilon`` and ``payments`` (n_owners, n_learners), regret (n_owners,) by changing a whole row; from the first
        start that leads to one. Where none does, the profile of least regret: never raises for non-convergence. With one
        learner it is what `market.equilibrium.solver.solve` finds.

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
    found: list[Equilibrium] = []
    trajectory: tuple[Any, ...] = ()
    for origin in _origins(market, rng, starts, start):
        path = play(market, origin, method, first)
        rounds, profile, profiles = path.rounds, path.epsilon, path.profiles
        if method == "sequential" and path.end != "rest":
            again = play(market, profile, method, limits)
            rounds, profile, profiles = rounds + again.rounds, again.epsilon, (*profiles, *again.profiles[1:])
        otherwise = "cycle found" if path.end == "cycle" else "not converged"
        if not found:
            trajectory = tuple((k, at, market.payments(at), market.payoffs(at)) for k, at in enumerate(profiles))
        found.append(certified(market, profile, rounds, method, otherwise))
    best = merge(found, upper_ends(market.owners)[:, None])
    return replace(best, trajectory=trajectory, starts=len(found))


def _origins(market: Competition, rng: np.random.Generator, starts: int, start: np.ndarray | None) -> list[np.ndarray]:
    """Profiles to start from (n_owners, n_learners)."""
    low, high, links = market.owners.epsilon_min, market.owners.epsilon_max, market.links
    first = [] if start is None else [market.profile(start)]
    first += [total[:, None] * even_split(links) for total in (low, high, 0.5 * (low + high))]
    while len(first) < starts:
        weights = links * rng.exponential(size=links.shape)
        share = weights / np.maximum(weights.sum(axis=1), np.finfo(float).tiny)[:, None]
        first.append((low + (high - low) * rng.random(len(low)))[:, None] * share)
    return first[:starts]


def play(market: Competition, profile: np.ndarray, method: str, rules: PlayRules) -> Path:
    """Where owners come to rest who respond one after another or all at once, going a part of the way."""
    monitor = ConvergenceMonitor(rules, 1, upper_ends(market.owners)[:, None], profile, "")
    groups = [[i] for i in range(len(profile))] if method == "sequential" else [list(range(len(profile)))]
    end, profiles = "", [profile]
    while not end:
        fresh = profile
        for owners in groups:
            fresh = moves_of(market, fresh, np.array(owners), rules.damping)
        end = monitor.update(profile, fresh, drawn="")
        profile = fresh
        profiles.append(profile)
    return Path(profile, monitor.rounds, end, tuple(profiles))


def moves_of(market: Competition, profile: np.ndarray, owners: np.ndarray, damping: float) -> np.ndarray:
    """A profile (n_owners, n_learners) after those numbered in ``owners`` (n,) have moved at once, ``damping`` of the way."""
    fresh = profile.copy()
    if len(owners):
        response = market.best_responses(profile, owners)
        width = upper_ends(market.owners)[owners, None]
        fresh[owners] = _damped(profile[owners], response, damping, width)
    return fresh


def _damped(now: np.ndarray, response: np.ndarray, damping: float, width: np.ndarray) -> np.ndarray:
    """Part of the way to a response; who leaves a learner does so in the end."""
    there = (response == 0) & (now <= NEARLY * width)
    return response if damping == 1 else np.where(there, 0.0, now + damping * (response - now))
