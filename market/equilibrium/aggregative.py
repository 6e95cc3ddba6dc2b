"""Newton's method on the aggregates of a game, for markets of up to a million owners."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from market.columns import Array, Pair, transpose_rows
from market.equilibrium.activation import in_turn
from market.equilibrium.stopping import PlayRules, relative_moves, upper_ends
from market.game.deviations import Deviations, in_threads
from market.game.game import CERTIFIED, Game, relative_regret
from market.game.search import EXACT, ROUGH, TRIFLE, smallest_maximiser

# Relative step of the differences in Newton's method; it sets the speed, not the result.
NUDGE = 1e-5
# Owners of a large market, beyond which responses are rough at first.
LARGE = 8200
# Owners closer to their responses than this part of their epsilon have arrived.
CLOSE = 1e-9
# The same in large markets, where a last step by known slopes leaves about a hundredth of it.
NEAR = 1e-7
# Up to this many owners of a large market respond one by one when only they still move.
FEW = 64
# A line search ends where aggregates and responses agree this much better, times the part of
# the owners that is still open.
AGREE = 1e-3
# Up to this part of the owners are cut out to be evaluated alone.
RARE = 0.5
# Slopes that do not change when an aggregate grows by this part do not depend on it.
SHIFT = 0.1
# Responses tried in one line search.
LINE_SEARCH = 24


class End(NamedTuple):
    """An end of a line search: position, profile (n_owners,), aggregates (k + j,), signed gap."""

    part: float
    profile: Array
    reached: Array
    gap: float


def sum_terms(terms: Array) -> Array:
    """Aggregates (k,) of terms (n_owners, k)."""
    return transpose_rows(terms).sum(axis=1)


class BestResponses:
    """Best responses that keep each owner's local maxima, to climb from them next time."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.places = np.empty((len(game.owners), 0))

    def search_globally(self, epsilon: Array, exact: float = EXACT) -> Array:
        """Best responses (n_owners,) to a profile by a global search, as `Game.best_responses`.

        An owner who has responded before and would gain next to nothing stays: under a nearly
        linear forecast many local maxima are nearly equal.
        """

        def search_block(deviations: Deviations) -> Pair:
            places, heights = deviations.surplus_peaks(exact)
            best = smallest_maximiser(places, heights)
            if self.places.shape[1]:
                here = epsilon[deviations.index]
                had = deviations.payoffs(here[:, None])[:, 0]
                gain = transpose_rows(heights).max(axis=0) - had
                best = np.where(gain <= TRIFLE * deviations.at_stake(best), here, best)
            return places, deviations.where_asked(best)

        found = in_threads(
            search_block, self.game.deviation_blocks(epsilon, self.game.others(epsilon))
        )
        width = max(places.shape[1] for places, _ in found)
        # A row with fewer maxima repeats its first.
        self.places = np.concatenate(
            [np.pad(at, ((0, 0), (width - at.shape[1], 0)), mode="edge") for at, _ in found]
        )
        return np.concatenate([response for _, response in found])

    def climb_from_known(self, epsilon: Array, others: Array, owners: Array | None = None) -> Array:
        """Responses to the others' aggregates (n_owners, 1, k + j), from the known maxima.

        ``owners`` (n_owners,) chooses who responds; the rest stay at ``epsilon``.
        """

        def climb_block(deviations: Deviations) -> Pair:
            places, heights = deviations.surplus_peaks_from(self.places[deviations.index])
            self.places[deviations.index] = places[:, 1 : 1 + self.places.shape[1]]
            best = smallest_maximiser(places, heights)
            return deviations.index, deviations.where_asked(best)

        response = epsilon.copy()
        for index, best in in_threads(
            climb_block, self.game.deviation_blocks(epsilon, others, owners)
        ):
            response[index] = best
        return response


def newton_on_aggregates(
    game: Game, epsilon: Array, *, rng: np.random.Generator, rules: PlayRules
) -> Iterator[Array]:
    """Newton's method for a profile that is its own best response.

    Where a Newton step does not halve the distance between profile and responses, the last few
    movers respond one by one, or a line search on the aggregates replaces it. Responses climb
    from known local maxima; where that rests and the certificate finds a gain, the search is
    global again.
    """
    width = upper_ends(game.owners)
    responses = BestResponses(game)
    large = len(epsilon) > LARGE
    exact = ROUGH if large else EXACT
    close = NEAR if large else CLOSE
    response = responses.search_globally(epsilon, exact)
    # Rough responses are no guide so near to an equilibrium.
    if large and relative_moves(epsilon, response, width).max() <= exact:
        response = responses.climb_from_known(epsilon, game.others(epsilon))
    while True:
        distance = scaled_distance(epsilon, response, width)
        linear = linear_responses(game, epsilon, response)
        stepped = True
        trial = newton_step(game, epsilon, response, linear)
        trial_response = response
        if not np.array_equal(trial, epsilon):
            trial_response = responses.climb_from_known(trial, game.others(trial))
        after = np.linalg.norm(scaled_distance(trial, trial_response, width))
        stalled = after > max(0.5 * float(np.linalg.norm(distance)), CLOSE)
        if stalled and relative_moves(trial, trial_response, width).max() > close:
            moving = np.flatnonzero(distance > CLOSE)
            if len(moving) <= FEW < len(epsilon):
                trial = in_turn(game, epsilon, moving)
            else:
                trial = line_search(game, epsilon, response, responses)
            trial_response = responses.climb_from_known(trial, game.others(trial))
            stepped = False
        epsilon = trial
        response = trial_response
        yield epsilon
        far = relative_moves(epsilon, response, width).max()
        # The slopes that led here suffice, by Newton's simplified method.
        if EXACT < far <= close:
            linear = linear if stepped else linear_responses(game, epsilon, response)
            epsilon = newton_step(game, epsilon, response, linear)
        if far <= close:
            while relative_regret(*game.certificate(epsilon)).max() <= CERTIFIED:
                yield epsilon
            response = responses.search_globally(epsilon)


def scaled_distance(epsilon: Array, response: Array, width: Array) -> Array:
    """Distance of responses (n_owners,) from a profile in units of ``width``; joining counts 1."""
    joins = (epsilon == 0) & (response > 0)
    return np.where(joins, 1.0, np.abs(response - epsilon) / width)


def line_search(game: Game, epsilon: Array, response: Array, responses: BestResponses) -> Array:
    """Responses (n_owners,) to aggregates between a profile's and its responses', where both agree.

    Regula falsi with the Illinois rule for the point where the responses' aggregates are no
    longer ahead. Owners whose responses agree at both ends of a bracket are taken to be constant
    inside. With one aggregate and falling responses the point is the equilibrium, up to an
    owner's own part in the aggregate.
    """
    others = game.others(epsilon)
    start = sum_terms(game.terms(epsilon))
    reach = sum_terms(game.terms(response))
    ahead = reach - start
    size = np.maximum(np.abs(start) + np.abs(reach), np.finfo(float).tiny)
    # Among few, one owner's part in an aggregate is large, and all aggregates count.
    many = len(response) > FEW
    if many:
        size[~active_aggregates(game, epsilon, response)] = np.inf

    def signed_gap(part: float, reached: Array) -> float:
        return float(((reached - start - part * ahead) / size) @ (ahead / size))

    def respond_at(part: float, known: End, open_: Array) -> End:
        at = np.maximum(others + part * ahead, 0.0)
        profile = responses.climb_from_known(known.profile, at, open_)
        some = game.deviations_against(profile, others).take(np.flatnonzero(open_))
        change = some.terms(profile[open_]) - some.terms(known.profile[open_])
        reached = known.reached + sum_terms(change)
        return End(part, profile, reached, signed_gap(part, reached))

    low = End(0.0, response, reach, signed_gap(0.0, reach))
    high = last = respond_at(1.0, low, np.ones(len(response), dtype=bool))
    enough = AGREE * low.gap
    for count in range(LINE_SEARCH if high.gap < 0 else 0):
        open_ = low.profile != high.profile
        if not open_.any():
            break
        part = (low.part * high.gap - high.part * low.gap) / (high.gap - low.gap)
        # One end may be far flatter than the other.
        if count % 3 == 0:
            part = 0.5 * (low.part + high.part)
        last = respond_at(part, low, open_)
        # The fewer owners are open, the cheaper is a further trial.
        if abs(last.gap) <= enough * (open_.mean() if many else 1.0):
            break
        if last.gap > 0:
            low = last
            high = high._replace(gap=high.gap / 2)
        else:
            low = low._replace(gap=low.gap / 2)
            high = last
    return last.profile


def active_aggregates(game: Game, epsilon: Array, response: Array) -> Array:
    """Aggregates (k + j,) that change the slopes of some owners; all, if none is seen to."""
    sample = np.linspace(0, len(epsilon) - 1, min(len(epsilon), FEW)).astype(int)
    some = game.deviations(epsilon, sample)
    at = np.where(response > 0, response, game.owners.epsilon_max)[some.index, None]
    base = some.marginal_surplus(at)
    moves = np.zeros(some.others.shape[-1], dtype=bool)
    for k in range(len(moves)):
        shifted = some.others.copy()
        shifted[..., k] *= 1 + SHIFT
        moves[k] = not np.array_equal(replace(some, others=shifted).marginal_surplus(at), base)
    return moves if moves.any() else ~moves


def linear_responses(game: Game, epsilon: Array, response: Array) -> Pair:
    """Slopes P and Q of `newton_step` for all owners, where they respond to a profile."""
    others = game.others(epsilon)
    change = sum_terms(game.terms(response)) - sum_terms(game.terms(epsilon))

    def respond_block(deviations: Deviations) -> tuple[Array, Array, Array]:
        index = deviations.index
        return index, *_response_slopes(deviations, response[index], change)

    between = (response > game.owners.epsilon_min) & (response < game.owners.epsilon_max)
    sensitivity = np.zeros_like(others[:, 0])
    term_slope = np.zeros_like(others[:, 0])
    # To cut out the others costs about as much as an evaluation.
    chosen = between if between.mean() < RARE else None
    for index, *found in in_threads(respond_block, game.deviation_blocks(epsilon, others, chosen)):
        sensitivity[index], term_slope[index] = found
    return sensitivity, term_slope


def newton_step(game: Game, epsilon: Array, response: Array, linear: Pair) -> Array:
    """Profile (n_owners,) that is its own best response if responses are linear in aggregates.

    Owner l responds to the others' aggregates s with b_l + P_l (s - s_l), with P_l from the
    implicit function theorem, and adds t_l + Q_l d_l to the aggregates Z when it goes d_l beyond
    b_l. So d_l = P_l (Z - t_l - Q_l d_l - s_l), and Z = sum (t_l + Q_l d_l): a small linear
    system. A response at an end of its interval stays there.
    """
    low, high = game.owners.interval
    others = game.others(epsilon)
    added = game.terms(response)
    inside = (response > low) & (response < high)
    if not inside.any() or others.shape[-1] == 0:
        return response
    sensitivity, term_slope = linear
    own_effect = 1 + np.einsum("ij,ij->i", sensitivity, term_slope)
    regular = (np.abs(own_effect) > 0.1)[:, None]
    sensitivity = np.where(regular, sensitivity / own_effect[:, None], 0.0)
    gap = np.einsum("ij,ij->i", sensitivity, added + others[:, 0])
    # Aggregates may differ greatly in size.
    scale = np.maximum(sum_terms(np.abs(added)), np.finfo(float).tiny)
    matrix = np.eye(len(scale)) - (term_slope.T @ sensitivity) * scale / scale[:, None]
    total = (sum_terms(added) - term_slope.T @ gap) / scale
    aggregates = np.linalg.lstsq(matrix, total, rcond=None)[0] * scale
    return np.clip(response + sensitivity @ aggregates - gap, low, high)


def _response_slopes(deviations: Deviations, response: Array, change: Array) -> Pair:
    """Derivatives (n, k + j) of responses by aggregates, and of an owner's terms by its epsilon.

    They are 0 at an end of the interval, and for an aggregate that no owner moves and that does
    not ``change`` (k + j,).
    """
    low, high = deviations.owners.interval
    others = deviations.others
    inside = (response > low) & (response < high)
    sensitivity = np.zeros((len(response), others.shape[-1]))
    if not inside.any():
        return sensitivity, np.zeros_like(sensitivity)
    # Evaluating owners at an end is cheaper than cutting them out.
    at = np.where(inside, response, np.where(high > 0, high, 1.0))
    nudge = NUDGE * at
    ahead = at + nudge
    behind = at - nudge
    term_slope = (deviations.terms(ahead) - deviations.terms(behind)) / (2 * nudge)[:, None]
    term_slope[~inside] = 0.0

    def slope_at(candidates: Array, aggregates: Array) -> Array:
        moves = replace(deviations, others=aggregates)
        return moves.marginal_surplus(candidates[:, None])[:, 0]

    curvature = (slope_at(ahead, others) - slope_at(behind, others)) / (2 * nudge)
    concave = inside & (curvature < 0)
    for k in np.flatnonzero(term_slope.any(axis=0) | (change != 0)):
        shift = np.zeros_like(others)
        shift[..., k] = NUDGE * others[..., k]
        fall = slope_at(at, others - shift) - slope_at(at, others + shift)
        step = 2 * shift[:, 0, k]
        np.divide(fall, step * curvature, out=sensitivity[:, k], where=concave & (step > 0))
    return sensitivity, term_slope
