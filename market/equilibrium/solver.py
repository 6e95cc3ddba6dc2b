"""Equilibria of a game, each with its certificate.

The certificate decides, not the solver: a profile counts as an equilibrium if a search
independent of its path finds no owner who gains by a unilateral deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from market.columns import Array
from market.equilibrium.activation import ACTIVATIONS, play_rounds
from market.equilibrium.aggregative import newton_on_aggregates
from market.equilibrium.starts import can_scan, meeting_places, start_points
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, upper_ends
from market.game.game import CERTIFIED, Game, relative_regret

JUMP = "no best response (jump at 0)"
# Equilibria closer than this part of every owner's upper end are one.
SAME = 1e-6
# With more owners a round of one search per owner is too slow.
ONE_BY_ONE = 300

# Endless generators of profiles: play in each activation, and Newton's method on the aggregates.
PATHS: dict[str, Callable[..., Iterator[Array]]] = {
    "aggregative": newton_on_aggregates,
    **{name: partial(play_rounds, activation) for name, activation in ACTIVATIONS.items()},
}


@dataclass(frozen=True)
class Equilibrium:
    """A profile with its certificate; an equilibrium only if ``converged``.

    Attributes
    ----------
    epsilon, payments : (n_owners,)
    regret : (n_owners,), money, the largest gain of a unilateral deviation
    relative_regret : (n_owners,), 0 to 1, regret as a part of the money at stake near the best
        response (`market.game.game.Game.certificate`)
    converged : bool, no relative regret above 1e-8
    reason : "certified"; "several", with others; "corner", certified with every owner at an end of
        its interval; "cycle found"; "no best response (jump at 0)", where less is always better
        but not nothing; or "not converged"
    iterations : int, rounds of the path
    method : str, name of the path
    others : tuple of Equilibrium, the other equilibria found
    trajectory : list of (round, epsilon, payments, payoffs) of the first start
    starts : int, starting points tried
    agents : str, the end of agents' own play from the first start, "rest", "cycle" or "limit"
    """

    epsilon: Array
    payments: Array
    regret: Array
    relative_regret: Array
    converged: bool
    reason: str
    iterations: int
    method: str
    others: tuple[Equilibrium, ...] = ()
    trajectory: tuple[tuple[int, Array, Array, Array], ...] = ()
    starts: int = 1
    agents: str | None = None

    @property
    def max_regret(self) -> float:
        """Largest regret of any owner, in money."""
        return float(self.regret.max())

    @property
    def max_relative_regret(self) -> float:
        """Largest relative regret of any owner."""
        return float(self.relative_regret.max())


def solve(
    game: Game,
    *,
    rng: np.random.Generator,
    method: str = "auto",
    start: Array | None = None,
    starts: int = 16,
    **rules: Any,
) -> Equilibrium:
    """Search for equilibria of a game from several starts, each certified.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator, draws starts and the order of moves
    method : str, "aggregative": Newton's method on the aggregates through which owners meet; a
        name in `market.equilibrium.activation.ACTIVATIONS`: best responses in that order; "auto":
        aggregative, then sequential (simultaneous with more than 300 owners) from the same start
        where that did not end in an equilibrium
    start : (n_owners,), optional, the first start; otherwise the middle of every interval
    starts : int, starts in all: the first, both corners, a low-discrepancy set; for two or three
        owners who meet in sums, with several starts and the method "auto", all places where their
        best responses seem to meet in place of that set (`market.equilibrium.starts`)
    **rules : damping, part, tol, max_rounds of `market.equilibrium.stopping.PlayRules`

    Returns
    -------
    Equilibrium
        From the first start that leads to one; otherwise the profile of least regret, with
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
    names = _auto_methods(game) if method == "auto" else [method]
    first: tuple[Array, ...] = ()
    found: list[Equilibrium] = []
    origins = start_points(game, rng=rng, starts=starts, start=start)
    while len(found) < len(origins):
        origin = origins[len(found)]
        for name in names:
            path = follow_path(game, name, origin, rng=rng, rules=limits)
            result = certify(game, path.epsilon, path=path, method=name)
            if result.converged:
                break
        first = first or path.profiles
        found.append(result)
        if len(found) == 1 and starts > 1 and method == "auto" and can_scan(game):
            places = meeting_places(game)
            origins = [origin, *places] if places else origins
    # A path may stay at a profile for a round.
    settled = {
        id(at): game.payments_and_payoffs(at) for at in {id(at): at for at in first}.values()
    }
    rounds = tuple((k, at, *settled[id(at)]) for k, at in enumerate(first))
    best = merge_equilibria(found, upper_ends(game.owners))
    causes = [cause for cause in (JUMP, "cycle found") if any(one.reason == cause for one in found)]
    reason = best.reason if best.converged or not causes else causes[0]
    return replace(best, reason=reason, trajectory=rounds, starts=len(found))


def _auto_methods(game: Game) -> list[str]:
    play = "sequential" if len(game.owners) <= ONE_BY_ONE else "simultaneous"
    if game.policy.own_choice and not game.owners.benefit.any() and play == "sequential":
        return [play, "aggregative"]
    return ["aggregative", play] if game.additive and game.forecast_view.few_sums else [play]


def follow_path(
    game: Game, method: str, origin: Array, *, rng: np.random.Generator, rules: PlayRules
) -> Path:
    """Follow the path ``method`` of PATHS from ``origin`` (n_owners,) until it ends."""
    now = np.array(origin, dtype=float)
    patience = ACTIVATIONS[method].patience(len(now), rules) if method in ACTIVATIONS else 1
    drawn = str(rng.bit_generator.state)
    monitor = ConvergenceMonitor(rules, patience, upper_ends(game.owners), now, drawn)
    profiles = [now]
    end = "limit"
    for fresh in islice(PATHS[method](game, now, rng=rng, rules=rules), rules.max_rounds):
        end = monitor.register_round(profiles[-1], fresh, drawn=str(rng.bit_generator.state))
        profiles.append(fresh)
        if end:
            break
    return Path(profiles[-1], monitor.rounds, end, tuple(profiles))


def certify(
    game: Game, epsilon: Array, *, path: Path | None = None, method: str = "given"
) -> Equilibrium:
    """Certify a profile (n_owners,), reached by ``path`` with ``method``."""
    cycle = path is not None and path.end == "cycle" and method != "aggregative"
    otherwise = "cycle found" if cycle else "not converged"
    found = certify_profile(game, epsilon, path.rounds if path else 0, method, otherwise)
    gains = np.flatnonzero(found.relative_regret > CERTIFIED)
    if gains.size and game.deviations(epsilon, gains).jumps_at_zero(epsilon[gains]).all():
        return replace(found, reason=JUMP)
    owners = game.owners
    to_end = np.minimum(np.abs(epsilon - owners.epsilon_min), np.abs(epsilon - owners.epsilon_max))
    corner = found.converged and (to_end <= SAME * owners.epsilon_max).all()
    return replace(found, reason="corner") if corner else found


def certify_profile(
    market: Any, epsilon: Array, rounds: int, method: str, otherwise: str
) -> Equilibrium:
    """Certify a profile of a game or a competition; ``otherwise`` is the reason of a failure."""
    regret, scale = market.certificate(epsilon)
    ratio = relative_regret(regret, scale)
    converged = bool(ratio.max() <= CERTIFIED)
    reason = "certified" if converged else otherwise
    paid = market.payments(epsilon)
    return Equilibrium(epsilon, paid, regret, ratio, converged, reason, rounds, method)


def merge_equilibria(found: Sequence[Equilibrium], width: Array) -> Equilibrium:
    """Merge into the first equilibrium with the other distinct ones, or the least regret.

    Distances are measured by ``width`` (n_owners,).
    """

    def are_distinct(one: Equilibrium, two: Equilibrium) -> bool:
        return bool(np.max(np.abs(one.epsilon - two.epsilon) / width) > SAME)

    distinct: list[Equilibrium] = []
    for one in found:
        if one.converged and all(are_distinct(one, two) for two in distinct):
            distinct.append(one)
    if not distinct:
        return min(found, key=lambda one: one.max_relative_regret)
    reason = "several" if len(distinct) > 1 else distinct[0].reason
    return replace(distinct[0], reason=reason, others=tuple(distinct[1:]))
