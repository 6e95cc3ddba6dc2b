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


@dataclass
class Watch:
    """Says when a market has ended: "rest", "cycle" or "limit"; "" while it goes on.

    It rests after ``patience`` rounds in a row in which no owner moves by more than ``tol`` of its ``width``
    (n_owners,), and where rounding is all that still moves. A cycle is a return to an earlier profile, the
    ``landmark``, with nothing ``drawn`` in between. Whether what it ended in is an equilibrium is for the certificate
    to say.
    """

    tol: float
    max_rounds: int
    patience: int
    width: np.ndarray
    landmark: np.ndarray
    drawn: str
    rounds: int = 0
    quiet: int = 0
    least: float = np.inf
    least_at: int = 0

    def see(self, before: np.ndarray, after: np.ndarray, drawn: str) -> str:
        """How the market has ended after one more round, from ``before`` to ``after``; ``drawn`` tells draws apart."""
        step, back = moved(before, after, self.width).max(), moved(self.landmark, after, self.width).max()
        self.rounds += 1
        self.quiet = self.quiet + 1 if step <= self.tol else 0
        if step < 0.9 * self.least:
            self.least, self.least_at = step, self.rounds
        if self.quiet >= self.patience:
            return "rest"
        if 0 < self.least <= RETURN and step <= RETURN and self.rounds - self.least_at >= max(STALL, self.patience):
            return "rest"
        if self.rounds >= 2 and step > 0 and back <= RETURN * step and drawn == self.drawn:
            return "cycle"
        if self.rounds & (self.rounds - 1) == 0:  # Brent: a landmark at every power of two is passed again by any cycle
            self.landmark, self.drawn = after, drawn
        return "limit" if self.rounds >= self.max_rounds else ""


def upper_ends(game: Game) -> np.ndarray:
    """What an owner's moves are measured by (n_owners,): the upper end of its interval, or 1 where that is 0."""
    return np.where(game.owners.epsilon_max > 0, game.owners.epsilon_max, 1.0)


def patience(name: str, n_owners: int) -> int:
    """Quiet rounds after which a path is at rest: one, but where an owner's clock may stay silent so many that it has rung.

    A clock is silent in a unit of time with odds 1/e: in ln(n) + 7 of them one of n clocks is with odds below 1 in 1000.
    """
    return int(np.ceil(np.log(n_owners))) + 7 if name == "poisson" else 1


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
    now = np.array(origin, dtype=float)
    watch = Watch(tol, max_rounds, patience(name, len(now)), upper_ends(game), now, str(rng.bit_generator.state))
    on_round(0, now)
    for fresh in islice(PATHS[name](game, now, rng=rng, damping=damping), max_rounds):
        end = watch.see(now, fresh, str(rng.bit_generator.state))
        now = fresh
        on_round(watch.rounds, now)
        if end:
            return Path(now, watch.rounds, end)
    return Path(now, watch.rounds, "limit")


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


def poisson(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """Each owner responds when its own clock rings, at unit rate; a round is one unit of time."""
    while True:
        epsilon = _one_by_one(game, epsilon, rings(len(epsilon), rng=rng))
        yield epsilon


def rings(n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
    """Whose clocks ring in one unit of time, in order (number of rings,): exponential waits of mean 1 between rings.

    Together the clocks ring at rate ``n_owners``, and any ring is any owner's with equal odds. Some owners' clocks stay
    silent, others ring more than once.

    Parameters
    ----------
    n_owners : int
    rng : numpy.random.Generator

    Returns
    -------
    (number of rings,), owner numbers

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Algorithm 1 (unit-rate Poisson clocks).
    """
    return rng.integers(n_owners, size=rng.poisson(n_owners))


def simultaneous(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """All owners respond to the same profile and go ``damping`` of the way, as `part_way` has it."""
    while True:
        epsilon = part_way(epsilon, game.best_responses(epsilon), damping)
        yield epsilon


def part_way(epsilon: np.ndarray, response: np.ndarray, damping: float) -> np.ndarray:
    """``damping`` of the way from a profile to the responses (n_owners,); who wants to share nothing leaves at once.

    Going half the way for ever, such an owner would keep adding ever noisier answers.
    """
    part = np.where(response == 0, 1.0, damping)
    return np.where(part == 1, response, epsilon + part * (response - epsilon))


def aggregative(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """Newton's method for a profile that is its own best response; owners meet in a few sums only.

    Where a Newton step does not halve the distance between profile and responses, the last few who still want
    to move do so one by one, or else all respond to sums at which they meet.
    """
    width = upper_ends(game)
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
    "poisson": poisson,
}
