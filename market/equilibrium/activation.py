"""Orders in which owners move (ACTIVATIONS), and rounds of moves in one of them.

>>> ACTIVATIONS["random"].turns(3, lambda: np.array([0.7, 0.1, 0.4]), PlayRules()).tolist()
[1, 2, 0]

Turns are computed all at once, as the fixed point of a triangular system. An owner responds to the
sums of the new choices before it and of the old ones after it. Given all new choices, these are
prefix sums, and all responses are one vectorised search. So passes start from the old choices and
search again where sums have changed. After k passes the first k owners are final; all are after a
few, since between passes the later choices are extrapolated by secants: the owners' responses to
the last change of their sums.

Sums are added up as they would be turn by turn, and a pass ends only when they agree to the last
bit, so the result is that of owners who choose one by one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dtbtrs

from market.columns import Array, Pair
from market.equilibrium.stopping import PlayRules
from market.game.deviations import Deviations, in_threads
from market.game.game import Game

# Draws fresh numbers in [0, 1), one per owner (n_owners,), at every call.
Draw = Callable[[], Array]
# What an owner sees as it moves: its deviations (1,), and its earlier moves in the round (1,).
View = tuple[Deviations, Array]
# Takes deviations and the number of earlier moves of each owner in the round (n,).
Respond = Callable[[Deviations, Array], Array]
# Owners up to whom one search each is as quick.
FEW = 12
# Passes over a window of turns; where responses jump, extrapolation fails.
PASSES = 12
# Turns in the narrowest window, which cost as much as one.
NARROW = 32
# Relative change of sums or choices from which a secant is taken, above rounding.
SEEN = 1e-11


def poisson_clocks(n_owners: int, draw: Draw, rules: PlayRules) -> Array:
    """Owners whose clocks ring in one unit of time, in order (number of rings,).

    Waits between an owner's rings are exponential with mean 1, so some clocks stay silent and
    others ring more than once.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Algorithm 1.
    """
    now = -np.log1p(-draw())
    rung = [np.empty(0, dtype=int)]
    times = [np.empty(0)]
    while (now < 1).any():
        rung.append(np.flatnonzero(now < 1))
        times.append(now[rung[-1]])
        now = now - np.log1p(-draw())
    return np.concatenate(rung)[np.argsort(np.concatenate(times), kind="stable")]


@dataclass(frozen=True)
class Activation:
    """An order of moves within a round.

    Parameters
    ----------
    turns : callable(n_owners, draw, rules) -> (k,), the owners who move, in order
    at_once : bool, whether movers respond to the same profile and are damped; otherwise each sees
        the choices of those before it
    silence : callable(rules) -> float, the chance that a round passes over an owner
    draws : bool, whether the order is random
    """

    turns: Callable[[int, Draw, PlayRules], Array]
    at_once: bool = False
    silence: Callable[[PlayRules], float] = lambda rules: 0.0
    draws: bool = True

    def patience(self, n_owners: int, rules: PlayRules) -> int:
        """Rounds in a row without moves after which play is at rest.

        Where a round passes over an owner with chance q, one of n owners is passed over for
        (ln(n) + 7) / -ln(q) rounds with a chance below 1/1000.
        """
        silence = self.silence(rules)
        return int(np.ceil((np.log(n_owners) + 7) / -np.log(silence))) if silence else 1


# In the order "partial" each owner moves with chance ``rules.part``: Young, The evolution of
# conventions (1993).
ACTIVATIONS: dict[str, Activation] = {
    "sequential": Activation(lambda n_owners, draw, rules: np.arange(n_owners), draws=False),
    "simultaneous": Activation(
        lambda n_owners, draw, rules: np.arange(n_owners), at_once=True, draws=False
    ),
    "random": Activation(lambda n_owners, draw, rules: np.argsort(draw(), kind="stable")),
    "poisson": Activation(poisson_clocks, silence=lambda rules: float(np.exp(-1))),
    "partial": Activation(
        lambda n_owners, draw, rules: np.flatnonzero(draw() < rules.part),
        at_once=True,
        silence=lambda rules: 1.0 - rules.part,
    ),
}


def best_response(deviations: Deviations, before: Array) -> Array:
    """Best responses (n,) of rational owners, whatever their number of earlier moves."""
    return deviations.best_responses()


def in_turn(
    game: Game,
    epsilon: Array,
    order: Array,
    respond: Respond = best_response,
    alone: Array | None = None,
) -> Array:
    """Profile (n_owners,) after the owners in ``order`` (k,) have moved in turn.

    Parameters
    ----------
    game : Game
    epsilon : (n_owners,), the profile at the start of the round
    order : (k,), the movers; an owner may come several times, or not at all
    respond : callable(deviations, before) -> (n,), the choices, row by row: a row may be
        evaluated repeatedly, together with any others
    alone : (n_owners,) of bool, optional, owners who look at more than sums: each moves by itself,
        given the whole profile; all of them, where the game is not additive

    Source: the triangular (Gauss-Seidel) fixed point by Picard iteration with a secant step,
        Ortega and Rheinboldt 1970, 7.2 and 7.4.
    """
    profile = np.array(epsilon, dtype=float)
    apart = _apart(game, profile, alone)
    for stretch, before in split_stretches(np.asarray(order), apart):
        if apart[stretch[0]]:
            profile[stretch] = respond(game.deviations(profile, stretch), before)
        elif len(stretch) <= FEW:
            for moves, earlier in _views_of_sums(game, profile, stretch, before):
                profile[moves.index] = respond(moves, earlier)
        else:
            _Turns(game, profile, stretch, respond, before).play_all()
    return profile


def _apart(game: Game, profile: Array, alone: Array | None) -> Array:
    """Mark owners who look at the whole profile (n_owners,), and not only at sums."""
    apart = np.full(len(profile), not game.additive)
    return apart if alone is None else apart | alone


def split_stretches(order: Array, apart: Array) -> Iterator[Pair]:
    """Split an order where an owner repeats and around those ``apart`` (n_owners,).

    Each stretch comes with the number of earlier moves of its owners.

    >>> order, apart = np.array([0, 1, 0, 2, 3, 1]), np.array([0, 0, 0, 1], bool)
    >>> [stretch.tolist() for stretch, _ in split_stretches(order, apart)]
    [[0, 1], [0, 2], [3], [1]]
    """
    count = np.zeros(len(apart), dtype=int)
    if len(order) and not apart.any() and np.bincount(order).max() == 1:
        yield order, count[order]
        return
    start = 0
    here = set[int]()
    for place, owner in enumerate([*order.tolist(), None]):
        after_apart = place > start and apart[order[start]]
        if owner is None or owner in here or apart[owner] or after_apart:
            stretch = order[start:place]
            if len(stretch):
                yield stretch, count[stretch]
            count[stretch] += 1
            start = place
            here = set()
        here.add(owner)


def views_in_turn(
    game: Game, profile: Array, order: Array, alone: Array | None = None
) -> Iterator[View]:
    """Views of the owners in ``order`` (k,) as each comes to its turn.

    The profile (n_owners,) is to be changed to the owner's choice before the next view is asked
    for: that is how `in_turn` moves few owners, to the last bit.
    """
    for stretch, before in split_stretches(np.asarray(order), _apart(game, profile, alone)):
        if not game.additive or (alone is not None and alone[stretch[0]]):
            yield game.deviations(profile, stretch), before
        else:
            yield from _views_of_sums(game, profile, stretch, before)


def _views_of_sums(game: Game, profile: Array, order: Array, before: Array) -> Iterator[View]:
    """Views of owners in ``order`` (k,), each once, who look at sums of the profile at hand."""
    reached, after = _sums_around(game.terms(profile), order)
    whole = game.deviations_against(profile, np.empty((len(profile), 1, 0)))
    for place, owner in enumerate(order):
        moves = replace(whole.take(order[[place]]), others=(reached + after[place])[None, None])
        yield moves, before[[place]]
        reached = reached + moves.terms(profile[[owner]])[0]


def views_at_once(game: Game, profile: Array, order: Array) -> Iterator[View]:
    """Views of the owners in ``order`` (k,), who all look at one profile (n_owners,)."""
    others = game.others(profile)
    for owner in np.sort(order):
        moves = np.arange(len(profile)) == owner
        for some in game.deviation_blocks(profile, others, moves):
            yield some, np.zeros(1, dtype=int)


def _sums_around(terms: Array, order: Array) -> Pair:
    """Sums of terms (n, m) over non-movers (m,), and over those yet to move (k, m)."""
    still = np.ones(len(terms), dtype=bool)
    still[order] = False
    after = np.zeros((len(order), terms.shape[1]))
    after[:-1] = np.cumsum(terms[order][:0:-1], axis=0)[::-1]
    return terms[still].sum(axis=0), after


class _Turns:
    """Turns of owners who each move once, as columns by their place in the order (k,)."""

    def __init__(
        self,
        game: Game,
        profile: Array,
        order: Array,
        respond: Respond,
        before: Array,
    ) -> None:
        self.game = game
        self.profile = profile
        self.order = order
        self.respond = respond
        self.before = before
        terms = game.terms(profile)
        self.reached, self.after = _sums_around(terms, order)
        whole = game.deviations_against(profile.copy(), np.empty((len(profile), 1, 0)))
        self.whole = whole.take(order)
        # The last choices, their terms, and the sums that they responded to.
        self.chosen = profile[order]
        self.adds = terms[order]
        self.asked = np.full_like(self.adds, np.nan)
        # Secants: of choices by sums, and of terms by choices.
        self.slope = np.zeros_like(self.adds)
        self.steep = np.zeros_like(self.adds)

    def play_all(self) -> None:
        """Change the profile as all have moved, a window of turns at a time."""
        start = 0
        width = len(self.order)
        while start < len(self.order):
            window = slice(start, start + width)
            settled = self._pass_over(window, PASSES if width > NARROW else width)
            start += settled
            width = max(2 * settled, NARROW)
        self.profile[self.order] = self.chosen

    def _pass_over(self, window: slice, passes: int) -> int:
        """Number of turns at the start of a window that some passes settle; sums include them."""
        moves = self.whole.take(np.arange(len(self.order))[window])
        count = 0
        sums = self._sums_seen(window, self.adds[window])
        changed = np.arange(len(sums))
        while changed.size and count < passes:
            self._ask_again(moves, window.start, changed, sums)
            count += 1
            adds = self._extrapolate_terms(moves, window) if count > 1 else self.adds[window]
            sums = self._sums_seen(window, adds)
            changed = np.flatnonzero((sums != self.asked[window]).any(axis=1))
        settled = max(int(changed[0]), count) if changed.size else len(sums)
        self.reached = np.cumsum(np.vstack([self.reached, self.adds[window][:settled]]), axis=0)[-1]
        return settled

    def _sums_seen(self, window: slice, adds: Array) -> Array:
        """Sums that owners in a window see (w, m) if their terms are ``adds`` (w, m)."""
        return np.cumsum(np.vstack([self.reached, adds[:-1]]), axis=0) + self.after[window]

    def _ask_again(self, moves: Deviations, start: int, rows: Array, sums: Array) -> None:
        """Renew the choices of some rows of a window, and take secants from the last ones."""

        def answer_rows(part: Array) -> Pair:
            some = replace(moves.take(part), others=sums[part][:, None])
            chosen = self.respond(some, self.before[start + part])
            return chosen, some.terms(chosen)

        found = in_threads(answer_rows, self.game.split_rows(rows))
        chosen, adds = (np.concatenate(part) for part in zip(*found, strict=True))
        at = start + rows
        size = np.where(sums[rows] > 0, sums[rows], 1.0)
        step = np.nan_to_num((sums[rows] - self.asked[at]) / size)
        length = (step**2).sum(axis=1)
        further = chosen - self.chosen[at]
        far = length > SEEN**2
        self.slope[at[far]] = (further[:, None] * step / size)[far] / length[far, None]
        moved = np.abs(further) > SEEN * np.maximum(chosen, self.chosen[at])
        self.steep[at[moved]] = (adds - self.adds[at])[moved] / further[moved, None]
        self.asked[at] = sums[rows]
        self.chosen[at] = chosen
        self.adds[at] = adds

    def _extrapolate_terms(self, moves: Deviations, window: slice) -> Array:
        """Terms (w, m) of owners in a window if each, and those before it, follow their secants."""
        slope = self.slope[window]
        # A shift that is not finite extrapolates nothing.
        with np.errstate(all="ignore"):
            change = self._sums_seen(window, self.adds[window]) - self.asked[window]
            drift = (slope * change).sum(axis=1)
            carried = _carried_changes(slope, self.steep[window], drift)
            shift = drift + (slope * carried).sum(axis=1)
        if not np.isfinite(shift).all():
            return self.adds[window]
        owners = moves.owners
        ahead = np.clip(self.chosen[window] + shift, owners.epsilon_min, owners.epsilon_max)
        return moves.terms(ahead)


def _carried_changes(slope: Array, steep: Array, drift: Array) -> Array:
    """Changes of sums (w, m) by earlier owners' choices: y' = y + steep (drift + slope y)."""
    count, m = slope.shape
    band = np.zeros((2 * m, count * m))
    right = np.zeros((count, m))
    band[0] = 1.0
    for a in range(m):
        for b in range(m):
            entries = -float(a == b) - steep[:-1, a] * slope[:-1, b]
            band[m + a - b, b : (count - 1) * m : m] = entries
    right[1:] = steep[:-1] * drift[:-1, None]
    return np.asarray(dtbtrs(band, right.ravel(), uplo="L")[0]).reshape(count, m)


def play_rounds(
    activation: Activation,
    game: Game,
    epsilon: Array,
    *,
    rng: np.random.Generator,
    rules: PlayRules,
) -> Iterator[Array]:
    """Profiles (n_owners,) after each round of best responses, endlessly."""

    def draw_numbers() -> Array:
        return rng.random(len(game.owners))

    while True:
        epsilon = play_round(activation, game, epsilon, draw=draw_numbers, rules=rules)
        yield epsilon


def play_round(
    activation: Activation,
    game: Game,
    epsilon: Array,
    *,
    draw: Draw,
    rules: PlayRules,
    respond: Respond = best_response,
    alone: Array | None = None,
    all_the_way: Array | bool = False,
) -> Array:
    """Profile (n_owners,) after a round of moves from ``epsilon``.

    Parameters
    ----------
    respond, alone : as in `market.equilibrium.activation.in_turn`
    all_the_way : (n_owners,) of bool, the simultaneous movers who are not damped
    """
    order = activation.turns(len(epsilon), draw, rules)
    if not activation.at_once:
        return in_turn(game, epsilon, order, respond, alone)
    moves = np.zeros(len(epsilon), dtype=bool)
    chosen = np.array(epsilon, dtype=float)
    moves[order] = True

    def answer_block(some: Deviations) -> Array:
        return respond(some, np.zeros(len(some.index), dtype=int))

    blocks = game.deviation_blocks(chosen, game.others(chosen), moves)
    chosen[moves] = np.concatenate(in_threads(answer_block, blocks)) if len(order) else 0.0
    reached = damp_moves(epsilon, chosen, np.where(all_the_way, 1.0, rules.damping))
    return np.where(moves, reached, epsilon)


def damp_moves(epsilon: Array, response: Array, damping: Array | float) -> Array:
    """Go ``damping`` of the way from a profile to the responses (n_owners,).

    A response of 0 is reached at once: with half steps such an owner would share ever noisier
    answers without end.
    """
    part = np.where(response == 0, 1.0, damping)
    return np.where(part == 1, response, epsilon + part * (response - epsilon))
