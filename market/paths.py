"""How owners may come to rest: the orders of play, and Newton's method on the sums (PATHS).

A path is an endless generator of profiles, one a round; `follow` walks it until it rests or returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from market.game import Game

NUDGE = 1e-5  # relative step of the differences in Newton's method; they set its speed, not its answer
RETURN = 1e-6  # a profile met again this much closer than the last step is a return, not slow progress
CLOSE = 1e-9  # owners closer to their responses than this part of their upper end are there
FEW = 64  # restless owners that respond one by one in a large market
MEETINGS = 24  # responses tried on the way to a meeting point
STALL = 20  # rounds without smaller steps after which a path within RETURN of rest is as good as it gets


@dataclass(frozen=True)
class Path:
    """Where a path ended: its profile (n_owners,), rounds walked, and how: "rest", "cycle" or "limit"."""

    epsilon: np.ndarray
    rounds: int
    end: str


def follow(
    game: Game,
    name: str,
    origin: np.ndarray,
    *,
    rng: np.random.Generator,
    tol: float,
    max_rounds: int,
    damping: float,
    on_round: Callable[[int, np.ndarray], None],
) -> Path:
    """Walk the path ``name`` of PATHS from ``origin`` (n_owners,); the rest as in `market.equilibrium.solve`."""
    width = np.where(game.owners.epsilon_max > 0, game.owners.epsilon_max, 1.0)
    now = landmark = np.array(origin, dtype=float)
    least, least_at = np.inf, 0
    on_round(0, now)
    walk = PATHS[name](game, now, rng=rng, damping=damping)
    count = 0
    for count, fresh in enumerate(islice(walk, max_rounds), 1):
        step = np.max(moved(now, fresh, width))
        back = np.max(moved(landmark, fresh, width))
        now = fresh
        on_round(count, now)
        if step < 0.9 * least:
            least, least_at = step, count
        if step <= tol or (least <= RETURN and count - least_at >= STALL):
            return Path(now, count, "rest")
        if count >= 2 and back <= RETURN * step and name != "random":
            return Path(now, count, "cycle")
        if count & (count - 1) == 0:  # Brent: a landmark at every power of two is passed again by any cycle
            landmark = now
    return Path(now, count, "limit")


def moved(start: np.ndarray, end: np.ndarray, width: np.ndarray) -> np.ndarray:
    """How far each owner goes, as a part of ``width`` (n_owners,); to join a market is a whole move, however small.

    Where nobody shares, the first to do so may want next to nothing, and yet everything changes.
    """
    return np.where((start == 0) & (end > 0), 1.0, np.abs(end - start) / width)


def sequential(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """Owners respond one after another in their own order, each seeing what the ones before it chose."""
    while True:
        epsilon = _one_by_one(game, epsilon, np.arange(len(epsilon)))
        yield epsilon


def shuffled(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """As `sequential`, in an order drawn afresh every round."""
    while True:
        epsilon = _one_by_one(game, epsilon, rng.permutation(len(epsilon)))
        yield epsilon


def simultaneous(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """All owners respond to the same profile and go ``damping`` of the way."""
    while True:
        response = game.best_responses(epsilon)
        epsilon = response if damping == 1 else epsilon + damping * (response - epsilon)
        yield epsilon


def aggregative(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """Newton's method for a profile that is its own best response; owners meet in a few sums only.

    Where a Newton step does not halve the distance between profile and responses, the last few who still want
    to move do so one by one, or else all respond to sums at which they meet.
    """
    width = np.where(game.owners.epsilon_max > 0, game.owners.epsilon_max, 1.0)
    response = game.best_responses(epsilon)
    while True:
        wish = moved(epsilon, response, width)
        trial = newton_target(game, epsilon, response)
        trial_response = response if np.array_equal(trial, epsilon) else game.best_responses(trial)
        if np.linalg.norm(moved(trial, trial_response, width)) > max(0.5 * float(np.linalg.norm(wish)), CLOSE):
            restless = np.flatnonzero(wish > CLOSE)
            if len(restless) <= FEW < len(epsilon):
                trial = _one_by_one(game, epsilon, restless)
            else:
                trial = meeting_point(game, epsilon, response)
            trial_response = game.best_responses(trial)
        epsilon, response = trial, trial_response
        yield epsilon


def meeting_point(game: Game, epsilon: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Responses (n_owners,) to sums between those of the profile and those of its responses, where the two agree.

    On the line from one to the other, where the sums of the responses no longer lie ahead: regula falsi with
    the Illinois rule. Owners who respond alike at both ends of a bracket are taken to do so inside it. With
    one sum and falling responses the end is the equilibrium, but for an owner's own part in the sums.
    """
    others = game.moves(epsilon).others
    start = game.terms(epsilon).sum(axis=0)
    ahead = game.terms(response).sum(axis=0) - start
    size = np.maximum(np.abs(start) + np.abs(start + ahead), np.finfo(float).tiny)

    def respond(part: float, known: np.ndarray, open_: np.ndarray) -> tuple[np.ndarray, float]:
        profile = known.copy()
        moves = game.moves_against(epsilon, np.maximum(others + part * ahead, 0.0), np.flatnonzero(open_))
        profile[open_] = moves.best_responses()
        reached = game.terms(profile).sum(axis=0) - start
        return profile, float(((reached - part * ahead) / size) @ (ahead / size))

    low, high, gap_low = 0.0, 1.0, float((ahead / size) @ (ahead / size))
    at_low, (at_high, gap_high) = response, respond(1.0, response, np.ones(len(response), dtype=bool))
    enough, profile = CLOSE * gap_low, at_high
    for count in range(MEETINGS if gap_high < 0 else 0):
        open_ = at_low != at_high
        if not open_.any():
            break
        part = (low * gap_high - high * gap_low) / (gap_high - gap_low)
        part = part if count % 3 else 0.5 * (low + high)  # one end may be far flatter than the other
        profile, gap = respond(part, at_low, open_)
        if abs(gap) <= enough:
            break
        if gap > 0:
            low, at_low, gap_low, gap_high = part, profile, gap, gap_high / 2
        else:
            high, at_high, gap_high, gap_low = part, profile, gap, gap_low / 2
    return profile


def _one_by_one(game: Game, epsilon: np.ndarray, order: np.ndarray) -> np.ndarray:
    epsilon = epsilon.copy()
    for owner in order:
        epsilon[owner] = game.best_responses(epsilon, owners=np.array([owner]))[0]
    return epsilon


def newton_target(game: Game, epsilon: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Where responses, linear in the sums, would be their own best responses (n_owners,).

    Owner l, alone, answers others' sums s with b_l + P_l (s - s_l), P_l from the implicit function theorem on
    its slope, and adds t_l + Q_l d_l to the sums Z when it goes d_l beyond b_l. So d_l = P_l (Z - t_l - Q_l
    d_l - s_l), and Z = sum (t_l + Q_l d_l): one small linear system. Who answers at an end of its interval
    stays there.
    """
    moves = game.moves(epsilon)
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    others, added = moves.others[:, 0, :], game.terms(response)
    inside = (response > low) & (response < high)
    if not inside.any() or others.shape[1] == 0:
        return response
    reply, growth = _sensitivities(game, epsilon, response, inside)
    self_effect = 1 + (reply * growth).sum(axis=1)
    reply = np.where((np.abs(self_effect) > 0.1)[:, None], reply / self_effect[:, None], 0.0)
    gap = (reply * (added + others)).sum(axis=1)
    scale = np.maximum(np.abs(added).sum(axis=0), np.finfo(float).tiny)  # sums of very different size
    matrix = np.eye(len(scale)) - (growth.T @ reply) * scale / scale[:, None]
    total = (added.sum(axis=0) - growth.T @ gap) / scale
    sums = np.linalg.lstsq(matrix, total, rcond=None)[0] * scale
    return np.clip(response + reply @ sums - gap, low, high)


def _sensitivities(
    game: Game, epsilon: np.ndarray, response: np.ndarray, inside: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How responses follow the others' sums, and an owner's terms its epsilon: both (n_owners, k + j)."""
    others = game.moves(epsilon).others
    at = np.where(inside, response, 0.5 * (game.owners.epsilon_min + game.owners.epsilon_max))
    at = np.where(at > 0, at, 1.0)
    nudge = NUDGE * at
    ahead, behind = at + nudge, at - nudge
    growth = (game.terms(ahead) - game.terms(behind)) / (2 * nudge)[:, None]
    growth[~inside] = 0.0

    def slope(candidates: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return game.moves_against(epsilon, sums).slopes(candidates[:, None])[:, 0]

    curvature = (slope(ahead, others) - slope(behind, others)) / (2 * nudge)
    concave = inside & (curvature < 0)
    reply = np.zeros(growth.shape)
    for k in range(growth.shape[1]):
        change = np.zeros_like(others)
        change[..., k] = NUDGE * others[..., k]
        up, down = slope(at, others + change), slope(at, others - change)
        known = concave & (change[:, 0, k] > 0)
        np.divide(down - up, 2 * change[:, 0, k] * curvature, out=reply[:, k], where=known)
    return reply, growth


PATHS: dict[str, Callable[..., Iterator[np.ndarray]]] = {
    "aggregative": aggregative,
    "sequential": sequential,
    "simultaneous": simultaneous,
    "random": shuffled,
}
