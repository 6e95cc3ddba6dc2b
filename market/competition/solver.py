"""Equilibria of owners who sell to several learners, each certified."""

from dataclasses import replace
from typing import Any

import numpy as np

from market.columns import Array
from market.competition.allocation import even_split
from market.competition.market import Competition
from market.equilibrium.solver import Equilibrium, certify_profile, merge_equilibria
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, upper_ends

# Rounds per start by default.
MAX_ROUNDS = 300
# Budgets below this part of an owner's upper end are given up at once.
NEARLY = 1e-6


def solve_competition(
    market: Competition,
    *,
    rng: np.random.Generator,
    method: str = "sequential",
    start: Array | None = None,
    starts: int = 4,
    **rules: Any,
) -> Equilibrium:
    """Search for equilibria of owners who sell to several learners, from several starts.

    Parameters
    ----------
    market : Competition
    rng : numpy.random.Generator, draws starts beyond the first three
    method : str, "sequential": owners choose their rows in turn, and after a cycle are damped;
        "simultaneous": all at once, damped, which is quicker a round, but where many share a
        budget it oscillates unless damping is about one over their number
    start : (n_owners, n_learners), optional, the first start
    starts : int, starts in all: the given one, all at their least, at their most and half way,
        evenly split, and random splits
    **rules : damping, tol, max_rounds (300 by default) of `market.equilibrium.stopping.PlayRules`

    Returns
    -------
    Equilibrium
        ``epsilon`` and ``payments`` (n_owners, n_learners), regret (n_owners,) by changing a whole
        row; from the first start that leads to one, or the profile of least regret: never raises
        for non-convergence. With one learner it is the result of
        `market.equilibrium.solver.solve`.

    Raises
    ------
    ValueError
        An unknown method, no start, or a rule out of range.
    """
    if method not in ("sequential", "simultaneous"):
        raise ValueError(f"method must be sequential or simultaneous; found {method!r}")
    if starts < 1:
        raise ValueError(f"starts must be at least 1; found {starts}")
    in_turn = method == "sequential"
    limits = PlayRules(**{"max_rounds": MAX_ROUNDS} | rules)
    first = replace(limits, damping=1.0) if in_turn else limits
    found: list[Equilibrium] = []
    trajectory: tuple[Any, ...] = ()
    for origin in _start_profiles(market, rng, starts, start):
        path = play_competition(market, origin, method, first)
        otherwise = "cycle found" if path.end == "cycle" else "not converged"
        if in_turn and path.end != "rest":
            again = play_competition(market, path.epsilon, method, limits)
            profiles = (*path.profiles, *again.profiles[1:])
            path = Path(again.epsilon, path.rounds + again.rounds, again.end, profiles)
        if not found:
            steps = enumerate(path.profiles)
            trajectory = tuple((k, at, market.payments(at), market.payoffs(at)) for k, at in steps)
        found.append(certify_profile(market, path.epsilon, path.rounds, method, otherwise))
    best = merge_equilibria(found, upper_ends(market.owners)[:, None])
    return replace(best, trajectory=trajectory, starts=len(found))


def _start_profiles(
    market: Competition, rng: np.random.Generator, starts: int, start: Array | None
) -> list[Array]:
    """Starting profiles (n_owners, n_learners)."""
    low, high = market.owners.interval
    links = market.links
    profiles = [] if start is None else [market.profile(start)]
    profiles += [total[:, None] * even_split(links) for total in (low, high, 0.5 * (low + high))]
    while len(profiles) < starts:
        weights = links * rng.exponential(size=links.shape)
        share = weights / np.maximum(weights.sum(axis=1), np.finfo(float).tiny)[:, None]
        profiles.append((low + (high - low) * rng.random(len(low)))[:, None] * share)
    return profiles[:starts]


def play_competition(market: Competition, profile: Array, method: str, rules: PlayRules) -> Path:
    """Path of owners who respond in turn or all at once, damped."""
    monitor = ConvergenceMonitor(rules, 1, upper_ends(market.owners)[:, None], profile, "")
    everyone = np.arange(len(profile))
    groups = everyone[:, None] if method == "sequential" else everyone[None]
    end = ""
    profiles = [profile]
    while not end:
        fresh = profile
        for owners in groups:
            fresh = _damped_moves(market, fresh, owners, rules.damping)
        end = monitor.register_round(profile, fresh, drawn="")
        profile = fresh
        profiles.append(profile)
    return Path(profile, monitor.rounds, end, tuple(profiles))


def _damped_moves(market: Competition, profile: Array, owners: Array, damping: float) -> Array:
    """Profile (n_owners, n_learners) after simultaneous damped moves of some owners (n,).

    A budget that is next to nothing and whose response is 0 is given up at once.
    """
    fresh = profile.copy()
    now = profile[owners]
    response = market.best_responses(profile, owners)
    there = (response == 0) & (now <= NEARLY * upper_ends(market.owners)[owners, None])
    part = np.where(there, 0.0, now + damping * (response - now))
    fresh[owners] = response if damping == 1 else part
    return fresh
