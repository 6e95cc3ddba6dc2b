"""How owners may come to rest: the orders of play, and Newton's method on the sums (PATHS).

A path is an endless generator of profiles, one a round; `follow` walks it until it rests or returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from market.game import BLOCK_OWNERS, CERTIFIED, Game, Moves, in_threads, relative
from market.search import EXACT, TRIFLE, best_place

NUDGE = 1e-5  # relative step of the differences in Newton's method; they set its speed, not its answer
RETURN = 1e-6  # a profile met again this much closer than the last step is a return, not slow progress
ROUGH = 1e-2  # relative width of a large market's first maxima, from which owners climb on
CLOSE = 1e-9  # owners closer to their responses than this part of their upper end are there
FEW = 64  # restless owners that respond one by one in a large market
MEET = 1e-3  # a meeting point this much nearer than the start is near enough for Newton's next step
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
    """Quiet rounds in a row after which a path is at rest: one, or with clocks so many that every clock has rung.

    A clock is silent for a unit of time with odds 1/e, so one of n is for ln(n) + 7 of them with odds below 1/1000.
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


class Replies:
    """Best responses that remember each owner's local maxima, so as not to look everywhere every time."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.places = np.empty((len(game.owners), 0))

    def anywhere(self, epsilon: np.ndarray, exact: float = EXACT) -> np.ndarray:
        """The best responses (n_owners,) to a profile, looked for on whole intervals, as `Game.best_responses`.

        Who would gain next to nothing stays: a forecast that is nearly straight has many maxima of nearly one height.
        """

        def look(moves: Moves) -> tuple[np.ndarray, np.ndarray]:
            places, heights = moves.peaks(exact)
            ends = np.column_stack([moves.owners.epsilon_min, moves.owners.epsilon_max, epsilon[moves.index]])
            payoffs, best = moves.payoffs(ends), heights.max(axis=1)
            trifle = best - payoffs[:, 2] <= TRIFLE * (best - payoffs[:, :2].min(axis=1))
            return places, np.where(trifle, ends[:, 2], best_place(places, heights))

        found = in_threads(look, self.game.blocks(epsilon, self.game.others(epsilon)))
        width = max(places.shape[1] for places, _ in found)
        self.places = np.concatenate(  # a row with fewer maxima repeats its first
            [np.pad(places, ((0, 0), (width - places.shape[1], 0)), mode="edge") for places, _ in found]
        )
        return np.concatenate([response for _, response in found])

    def nearby(self, epsilon: np.ndarray, others: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """Responses to sums over everybody else (n_owners, 1, k + j), climbing from the maxima that are known.

        Of all owners, or of those where ``owners`` (n_owners,) is True; for the rest ``epsilon``.
        """

        def reply(moves: Moves) -> tuple[np.ndarray, np.ndarray]:
            if owners is not None:
                rows = np.flatnonzero(owners[moves.index])
                if not rows.size:
                    return rows, np.empty(0)
                moves = moves.take(rows)
            places, heights = moves.peaks_from(self.places[moves.index])
            self.places[moves.index] = places[:, 1 : 1 + self.places.shape[1]]
            return moves.index, best_place(places, heights)

        response = epsilon.copy()
        for index, best in in_threads(reply, self.game.blocks(epsilon, others)):
            response[index] = best
        return response


def aggregative(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, damping: float) -> Iterator[np.ndarray]:
    """Newton's method for a profile that is its own best response; owners meet in a few sums only.

    Where a Newton step does not halve the distance between profile and responses, the last few who still want
    to move do so one by one, or else all respond to sums at which they meet. On the way, responses climb from maxima
    that are known; where that comes to rest and the certificate finds that somebody gains, owners look everywhere.
    """
    width, replies = upper_ends(game), Replies(game)
    response = replies.anywhere(epsilon, ROUGH if len(epsilon) > BLOCK_OWNERS else EXACT)
    while True:
        wish = moved(epsilon, response, width)
        trial = newton_target(game, epsilon, response)
        trial_response = response
        if not np.array_equal(trial, epsilon):
            trial_response = replies.nearby(trial, game.others(trial))
        if np.linalg.norm(moved(trial, trial_response, width)) > max(0.5 * float(np.linalg.norm(wish)), CLOSE):
            restless = np.flatnonzero(wish > CLOSE)
            if len(restless) <= FEW < len(epsilon):
                trial = _one_by_one(game, epsilon, restless)
            else:
                trial = meeting_point(game, epsilon, response, replies)
            trial_response = replies.nearby(trial, game.others(trial))
        epsilon, response = trial, trial_response
        yield epsilon
        if moved(epsilon, response, width).max() <= CLOSE:
            epsilon = newton_target(game, epsilon, response)
            while relative(*game.certificate(epsilon)).max() <= CERTIFIED:
                yield epsilon
            response = replies.anywhere(epsilon)


def meeting_point(game: Game, epsilon: np.ndarray, response: np.ndarray, replies: Replies) -> np.ndarray:
    """Responses (n_owners,) to sums between those of the profile and those of its responses, where the two agree.

    On the line from one to the other, where the sums of the responses no longer lie ahead: regula falsi with
    the Illinois rule. Owners who respond alike at both ends of a bracket are taken to do so inside it. With
    one sum and falling responses the end is the equilibrium, but for an owner's own part in the sums.
    """
    others = game.others(epsilon)
    start = game.terms(epsilon).sum(axis=0)
    ahead = game.terms(response).sum(axis=0) - start
    size = np.maximum(np.abs(start) + np.abs(start + ahead), np.finfo(float).tiny)

    def respond(part: float, known: np.ndarray, open_: np.ndarray) -> tuple[np.ndarray, float]:
        profile = replies.nearby(known, np.maximum(others + part * ahead, 0.0), open_)
        reached = game.terms(profile).sum(axis=0) - start
        return profile, float(((reached - part * ahead) / size) @ (ahead / size))

    low, high, gap_low = 0.0, 1.0, float((ahead / size) @ (ahead / size))
    at_low, (at_high, gap_high) = response, respond(1.0, response, np.ones(len(response), dtype=bool))
    enough, profile = MEET * gap_low, at_high
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
    """The profile after the owners in ``order`` (k,) have responded in turn; one may come more than once."""
    epsilon = epsilon.copy()
    while len(order):
        first = np.sort(np.unique(order, return_index=True)[1])
        again = np.flatnonzero(first != np.arange(len(first)))  # where the first repetition has displaced the rest
        stop = int(again[0]) if again.size else len(first)
        _in_turn(game, epsilon, order[:stop])
        order = order[stop:]
    return epsilon


def _in_turn(game: Game, epsilon: np.ndarray, order: np.ndarray) -> None:
    """Change the profile (n_owners,) as the owners in ``order`` (k,), each once, respond in turn.

    What each sees is the sum over those who do not move, who have moved, and who are yet to move: nothing cancels.
    """
    if not game.additive:
        for owner in order:
            epsilon[owner] = game.best_responses(epsilon, owners=np.array([owner]))[0]
        return
    terms = game.terms(epsilon)
    still = np.ones(len(epsilon), dtype=bool)
    still[order] = False
    before = terms[still].sum(axis=0)
    after = np.cumsum(terms[order][::-1], axis=0)[::-1]
    for place, owner in enumerate(order):
        others = before + after[place + 1] if place + 1 < len(order) else before
        moves = game.moves_of(int(owner), epsilon, others)
        epsilon[owner] = moves.best_responses()[0]
        before = before + moves.terms(epsilon[[owner]])[0]


def newton_target(game: Game, epsilon: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Where responses, linear in the sums, would be their own best responses (n_owners,).

    Owner l, alone, answers others' sums s with b_l + P_l (s - s_l), P_l from the implicit function theorem on
    its slope, and adds t_l + Q_l d_l to the sums Z when it goes d_l beyond b_l. So d_l = P_l (Z - t_l - Q_l
    d_l - s_l), and Z = sum (t_l + Q_l d_l): one small linear system. Who answers at an end of its interval
    stays there.
    """
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    others, added = game.others(epsilon), game.terms(response)
    inside = (response > low) & (response < high)
    if not inside.any() or others.shape[-1] == 0:
        return response
    change = added.sum(axis=0) - game.terms(epsilon).sum(axis=0)

    def respond(moves: Moves) -> tuple[np.ndarray, np.ndarray]:
        return _sensitivities(moves, response[moves.index], change)

    found = in_threads(respond, game.blocks(epsilon, others))
    reply, growth = (np.concatenate(part) for part in zip(*found, strict=True))
    self_effect = 1 + (reply * growth).sum(axis=1)
    reply = np.where((np.abs(self_effect) > 0.1)[:, None], reply / self_effect[:, None], 0.0)
    gap = (reply * (added + others[:, 0])).sum(axis=1)
    scale = np.maximum(np.abs(added).sum(axis=0), np.finfo(float).tiny)  # sums of very different size
    matrix = np.eye(len(scale)) - (growth.T @ reply) * scale / scale[:, None]
    total = (added.sum(axis=0) - growth.T @ gap) / scale
    sums = np.linalg.lstsq(matrix, total, rcond=None)[0] * scale
    return np.clip(response + reply @ sums - gap, low, high)


def _sensitivities(moves: Moves, response: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How responses (n,) follow the others' sums, and an owner's terms its epsilon: both (n, k + j); 0 at an end.

    And 0 for a sum that nobody moves and that does not ``change`` (k + j,), whatever the responses to it.
    """
    low, high, others = moves.owners.epsilon_min, moves.owners.epsilon_max, moves.others
    inside = (response > low) & (response < high)
    reply, growth = np.zeros((2, len(response), others.shape[-1]))
    rows = np.flatnonzero(inside)
    if not rows.size:
        return reply, growth
    moves, others, at = moves.take(rows), others[rows], response[rows]
    nudge = NUDGE * at
    ahead, behind = at + nudge, at - nudge
    growth[rows] = (moves.terms(ahead) - moves.terms(behind)) / (2 * nudge)[:, None]

    def slope(candidates: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return replace(moves, others=sums).slopes(candidates[:, None])[:, 0]

    curvature = (slope(ahead, others) - slope(behind, others)) / (2 * nudge)
    for k in np.flatnonzero(growth.any(axis=0) | (change != 0)):
        shift = np.zeros_like(others)
        shift[..., k] = NUDGE * others[..., k]
        up, down = slope(at, others + shift), slope(at, others - shift)
        known = (curvature < 0) & (shift[:, 0, k] > 0)
        column = np.zeros(len(rows))
        reply[rows, k] = np.divide(down - up, 2 * shift[:, 0, k] * curvature, out=column, where=known)
    return reply, growth


PATHS: dict[str, Callable[..., Iterator[np.ndarray]]] = {
    "aggregative": aggregative,
    "sequential": sequential,
    "simultaneous": simultaneous,
    "random": shuffled,
    "poisson": poisson,
}
