"""Newton's method on the aggregates through which owners meet: equilibria of markets with a million owners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from market.columns import upright
from market.equilibrium.stopping import PlayRules, moved, upper_ends
from market.equilibrium.turns import in_turn
from market.game.deviations import Deviations, in_threads
from market.game.game import BLOCK_OWNERS, CERTIFIED, Game, relative
from market.game.search import EXACT, ROUGH, TRIFLE, argmax

NUDGE = 1e-5  # relative step of the differences in Newton's method; they set its speed, not its answer
CLOSE = 1e-9  # owners closer to their responses than this part of their epsilon are there
NEAR = 1e-7  # the same where a round is dear, since a last step by known slopes leaves about a hundredth of it
FEW = 64  # owners of a large market who still move and then respond one by one
AGREE = 1e-3  # a line search ends where aggregates and responses agree so much better, times the part of owners open
RARE = 0.5  # part of the owners up to which it is worth to look at them alone
SHIFT = 0.1  # an aggregate that slopes do not feel so much more of is none that responses follow
LINE_SEARCH = 24  # responses tried in one line search
Linear = tuple[np.ndarray, np.ndarray]


class End(NamedTuple):
    """A response on the line of a search: how far along, profile (n_owners,), aggregates (k + j,), how far ahead they lie."""

    part: float
    profile: np.ndarray
    reached: np.ndarray
    gap: float


class BestResponses:
    """Best responses that keep each owner's local maxima, so that not every search is global."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.places = np.empty((len(game.owners), 0))

    def search(self, epsilon: np.ndarray, exact: float = EXACT) -> np.ndarray:
        """The best responses (n_owners,) to a profile by a global search, as `Game.best_responses`.

        An owner who has responded before and would gain next to nothing stays: under a nearly linear forecast many local
        maxima are nearly equal.
        """

        def global_search(deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
            places, heights = deviations.peaks(exact)
            if not self.places.shape[1]:  # nobody has responded before
                return places, deviations.where_asked(argmax(places, heights))
            here, best = epsilon[deviations.index], argmax(places, heights)
            gain = upright(heights).max(axis=0) - deviations.payoffs(here[:, None])[:, 0]
            return places, deviations.where_asked(np.where(gain <= TRIFLE * deviations.at_stake(best), here, best))

        found = in_threads(global_search, self.game.blocks(epsilon, self.game.others(epsilon)))
        width = max(places.shape[1] for places, _ in found)
        alike = [np.pad(places, ((0, 0), (width - places.shape[1], 0)), mode="edge") for places, _ in found]
        self.places = np.concatenate(alike)  # a row with fewer maxima repeats its first
        return np.concatenate([response for _, response in found])

    def refine(self, epsilon: np.ndarray, others: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """Responses to the others' aggregates (n_owners, 1, k + j), refined from the local maxima that are known.

        Of all owners, or of those where ``owners`` (n_owners,) is True; for the rest ``epsilon``.
        """

        def local_search(deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
            places, heights = deviations.peaks_from(self.places[deviations.index])
            self.places[deviations.index] = places[:, 1 : 1 + self.places.shape[1]]
            return deviations.index, deviations.where_asked(argmax(places, heights))

        response = epsilon.copy()
        for index, best in in_threads(local_search, self.game.blocks(epsilon, others, owners)):
            response[index] = best
        return response


def aggregative(game: Game, epsilon: np.ndarray, *, rng: np.random.Generator, rules: PlayRules) -> Iterator[np.ndarray]:
    """Newton's method for a profile that is its own best response; owners meet in a few aggregates only.

    Where a Newton step does not halve the distance between profile and responses, the last few who still want
    to move do so one by one, or else a line search on the aggregates takes its place. Responses are refined from known
    local maxima; where that rests and the certificate finds that somebody gains, the search is global again.
    """
    width, responses = upper_ends(game.owners), BestResponses(game)
    exact, close = (ROUGH, NEAR) if len(epsilon) > BLOCK_OWNERS else (EXACT, CLOSE)
    response = responses.search(epsilon, exact)
    if exact > EXACT and moved(epsilon, response, width).max() <= exact:  # so near, rough ones tell nothing
        response = responses.refine(epsilon, game.others(epsilon))
    while True:
        distance = apart(epsilon, response, width)
        linear, stepped = linear_responses(game, epsilon, response), True
        trial = newton_step(game, epsilon, response, linear)
        still = np.array_equal(trial, epsilon)
        trial_response = response if still else responses.refine(trial, game.others(trial))
        stalled = np.linalg.norm(apart(trial, trial_response, width)) > max(
            0.5 * float(np.linalg.norm(distance)), CLOSE
        )
        if stalled and moved(trial, trial_response, width).max() > close:
            moving = np.flatnonzero(distance > CLOSE)
            if len(moving) <= FEW < len(epsilon):
                trial = in_turn(game, epsilon, moving)
            else:
                trial = line_search(game, epsilon, response, responses)
            trial_response, stepped = responses.refine(trial, game.others(trial)), False
        epsilon, response = trial, trial_response
        yield epsilon
        far = moved(epsilon, response, width).max()
        if EXACT < far <= close:  # the slopes that led here will do, by Newton's simplified method
            linear = linear if stepped else linear_responses(game, epsilon, response)
            epsilon = newton_step(game, epsilon, response, linear)
        if far <= close:
            while relative(*game.certificate(epsilon)).max() <= CERTIFIED:
                yield epsilon
            response = responses.search(epsilon)


def apart(epsilon: np.ndarray, response: np.ndarray, width: np.ndarray) -> np.ndarray:
    """How far responses (n_owners,) are from a profile, by each owner's ``width``, which tells more than `moved` from afar.

    To join the market is a whole move here too.
    """
    return np.where((epsilon == 0) & (response > 0), 1.0, np.abs(response - epsilon) / width)


def line_search(game: Game, epsilon: np.ndarray, response: np.ndarray, responses: BestResponses) -> np.ndarray:
    """Responses (n_owners,) to aggregates between those of the profile and those of its responses, where the two agree.

    A line search for where the responses' aggregates no longer lie ahead: regula falsi with the Illinois rule. Owners
    who respond alike at both ends of a bracket are taken to do so inside it. With one aggregate and falling responses
    the end is the equilibrium, but for an owner's own part in the aggregate.
    """
    others, everybody = game.others(epsilon), np.ones(len(response), dtype=bool)
    start, reach = (upright(game.terms(profile)).sum(axis=1) for profile in (epsilon, response))
    ahead, size = reach - start, np.maximum(np.abs(start) + np.abs(reach), np.finfo(float).tiny)
    many = len(response) > FEW  # among few, one owner's part in an aggregate is no small one, and all are looked at
    if many:
        size[~felt(game, epsilon, response)] = np.inf

    def gap(part: float, reached: np.ndarray) -> float:
        return float(((reached - start - part * ahead) / size) @ (ahead / size))

    def respond(part: float, known: End, open_: np.ndarray) -> End:
        profile = responses.refine(known.profile, np.maximum(others + part * ahead, 0.0), open_)
        some = game.deviations_against(profile, others).take(np.flatnonzero(open_))
        change = some.terms(profile[open_]) - some.terms(known.profile[open_])
        reached = known.reached + upright(change).sum(axis=1)
        return End(part, profile, reached, gap(part, reached))

    low = End(0.0, response, reach, gap(0.0, reach))
    high = last = respond(1.0, low, everybody)
    enough = AGREE * low.gap
    for count in range(LINE_SEARCH if high.gap < 0 else 0):
        open_ = low.profile != high.profile
        if not open_.any():
            break
        part = (low.part * high.gap - high.part * low.gap) / (high.gap - low.gap)
        part = part if count % 3 else 0.5 * (low.part + high.part)  # one end may be far flatter than the other
        last = respond(part, low, open_)
        if abs(last.gap) <= enough * (open_.mean() if many else 1.0):  # the fewer are open, the less it costs to go on
            break
        if last.gap > 0:
            low, high = last, high._replace(gap=high.gap / 2)
        else:
            low, high = low._replace(gap=low.gap / 2), last
    return last.profile


def felt(game: Game, epsilon: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Which aggregates (k + j,) move the slopes of some owners where they respond to a profile; all, if none is seen to."""
    some = game.deviations(epsilon, np.linspace(0, len(epsilon) - 1, min(len(epsilon), FEW)).astype(int))
    at = np.where(response > 0, response, game.owners.epsilon_max)[some.index, None]
    base, moves = some.slopes(at), np.zeros(some.others.shape[-1], dtype=bool)
    for k in range(len(moves)):
        shifted = some.others.copy()
        shifted[..., k] *= 1 + SHIFT
        moves[k] = not np.array_equal(replace(some, others=shifted).slopes(at), base)
    return moves if moves.any() else ~moves


def linear_responses(game: Game, epsilon: np.ndarray, response: np.ndarray) -> Linear:
    """`_sensitivities` of all owners where they respond to a profile (n_owners,): P and Q of `newton_step`."""
    others = game.others(epsilon)
    change = upright(game.terms(response)).sum(axis=1) - upright(game.terms(epsilon)).sum(axis=1)

    def respond(deviations: Deviations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return deviations.index, *_sensitivities(deviations, response[deviations.index], change)

    between = (response > game.owners.epsilon_min) & (response < game.owners.epsilon_max)
    sensitivity, term_slope = np.zeros_like(others[:, 0]), np.zeros_like(others[:, 0])
    chosen = between if between.mean() < RARE else None  # to cut out the others costs about as much as an evaluation
    for index, *found in in_threads(respond, game.blocks(epsilon, others, chosen)):
        sensitivity[index], term_slope[index] = found
    return sensitivity, term_slope


def newton_step(game: Game, epsilon: np.ndarray, response: np.ndarray, linear: Linear) -> np.ndarray:
    """The profile (n_owners,) that would be its own best response were responses linear in the aggregates.

    Owner l responds to the others' aggregates s with b_l + P_l (s - s_l), P_l from the implicit function theorem on
    its slope, and adds t_l + Q_l d_l to the aggregates Z when it goes d_l beyond b_l. So d_l = P_l (Z - t_l - Q_l
    d_l - s_l), and Z = sum (t_l + Q_l d_l): one small linear system. Who responds with an end of its interval
    stays there.
    """
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    others, added = game.others(epsilon), game.terms(response)
    inside = (response > low) & (response < high)
    if not inside.any() or others.shape[-1] == 0:
        return response
    sensitivity, term_slope = linear
    self_effect = 1 + np.einsum("ij,ij->i", sensitivity, term_slope)
    sensitivity = np.where((np.abs(self_effect) > 0.1)[:, None], sensitivity / self_effect[:, None], 0.0)
    gap = np.einsum("ij,ij->i", sensitivity, added + others[:, 0])
    scale = np.maximum(np.abs(upright(added)).sum(axis=1), np.finfo(float).tiny)  # aggregates of very different size
    matrix = np.eye(len(scale)) - (term_slope.T @ sensitivity) * scale / scale[:, None]
    total = (upright(added).sum(axis=1) - term_slope.T @ gap) / scale
    aggregates = np.linalg.lstsq(matrix, total, rcond=None)[0] * scale
    return np.clip(response + sensitivity @ aggregates - gap, low, high)


def _sensitivities(deviations: Deviations, response: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of responses (n,) by the others' aggregates, and of an owner's terms by its epsilon: (n, k + j) each.

    0 at an end, and for an aggregate that nobody moves and that does not ``change`` (k + j,), whatever the responses to it.
    """
    low, high, others = deviations.owners.epsilon_min, deviations.owners.epsilon_max, deviations.others
    inside = (response > low) & (response < high)
    sensitivity = np.zeros((len(response), others.shape[-1]))
    if not inside.any():
        return sensitivity, np.zeros_like(sensitivity)
    at = np.where(inside, response, np.where(high > 0, high, 1.0))  # cheaper than cutting out who is at an end
    nudge = NUDGE * at
    ahead, behind = at + nudge, at - nudge
    term_slope = (deviations.terms(ahead) - deviations.terms(behind)) / (2 * nudge)[:, None]
    term_slope[~inside] = 0.0

    def slope(candidates: np.ndarray, aggregates: np.ndarray) -> np.ndarray:
        return replace(deviations, others=aggregates).slopes(candidates[:, None])[:, 0]

    curvature = (slope(ahead, others) - slope(behind, others)) / (2 * nudge)
    concave = inside & (curvature < 0)
    for k in np.flatnonzero(term_slope.any(axis=0) | (change != 0)):
        shift = np.zeros_like(others)
        shift[..., k] = NUDGE * others[..., k]
        up, down = slope(at, others + shift), slope(at, others - shift)
        known = concave & (shift[:, 0, k] > 0)
        np.divide(down - up, 2 * shift[:, 0, k] * curvature, out=sensitivity[:, k], where=known)
    return sensitivity, term_slope
