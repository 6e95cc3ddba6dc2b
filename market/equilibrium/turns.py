"""A round of turns, all turns at once: the fixed point of a triangular system.

An owner answers to the sums of the new choices before it and of the old ones after it. Were all new choices known, these
would be prefix sums, and all answers one vectorised search. So passes start from the old choices and search again, where
sums have changed, until none does. After k passes the first k owners have chosen for good; all have after a few, since
between passes the choices to come are foreseen by secants: how each answered to the last change of its sums.

Sums are added up as they would be turn by turn, and a pass ends nothing before they are the same to the last bit: what is
found is what the owners choose one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dtbtrs

from market.game.deviations import Deviations, in_threads
from market.game.game import Game

Respond = Callable[[Deviations, np.ndarray], np.ndarray]  # and how often each has moved before in the round (n,)
FEW = 12  # owners who are as quick one by one
PASSES = 12  # over a window of turns, before what is settled is left behind: where answers jump, foreseeing fails
NARROW = 32  # turns in the narrowest window: so many are searched at the price of one
SEEN = 1e-11  # relative change of sums or choices from which a secant is taken; below, rounding would tilt it


def best_response(deviations: Deviations, before: np.ndarray) -> np.ndarray:
    """What a perfectly rational owner answers, however often it has moved before."""
    return deviations.best_responses()


def in_turn(
    game: Game,
    epsilon: np.ndarray,
    order: np.ndarray,
    respond: Respond = best_response,
    alone: np.ndarray | None = None,
) -> np.ndarray:
    """The profile (n_owners,) after the owners in ``order`` (k,) have moved in turn, each seeing what those before it chose.

    Parameters
    ----------
    game : Game
    epsilon : (n_owners,)
        Where the round starts.
    order : (k,)
        Who moves; an owner may come more than once, or not at all.
    respond : callable(deviations, before) -> (n,)
        What owners choose, row by row: a row may be asked again and again, together with any others.
    alone : (n_owners,) of bool, optional
        Owners who look at more than sums: each moves by itself, before a profile as it then stands. All of them, where
        the game is not additive.

    Source: the triangular (Gauss-Seidel) fixed point by Picard iteration with a secant step, Ortega and Rheinboldt 1970,
    7.2 and 7.4.
    """
    profile = np.array(epsilon, dtype=float)
    apart = np.full(len(profile), not game.additive) if alone is None else alone | (not game.additive)
    for stretch, before in stretches(np.asarray(order), apart):
        if apart[stretch[0]]:
            profile[stretch] = respond(game.deviations(profile, stretch), before)
        elif len(stretch) <= FEW:
            _one_by_one(game, profile, stretch, respond, before)
        else:
            _Turns(game, profile, stretch, respond, before).play()
    return profile


def stretches(order: np.ndarray, apart: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The order cut where an owner comes again and around those ``apart`` (n_owners,); how often each has moved before.

    >>> [stretch.tolist() for stretch, _ in stretches(np.array([0, 1, 0, 2, 3, 1]), np.array([0, 0, 0, 1], bool))]
    [[0, 1], [0, 2], [3], [1]]
    """
    count, start, here = np.zeros(len(apart), dtype=int), 0, set[int]()
    if len(order) and not apart.any() and np.bincount(order).max() == 1:  # one stretch
        yield order, count[order]
        return
    for place, owner in enumerate([*order.tolist(), None]):
        if owner is None or owner in here or apart[owner] or (place > start and apart[order[start]]):
            stretch = order[start:place]
            if len(stretch):
                yield stretch, count[stretch]
            count[stretch] += 1
            start, here = place, set()
        here.add(owner)


def _one_by_one(game: Game, profile: np.ndarray, order: np.ndarray, respond: Respond, before: np.ndarray) -> None:
    """Change the profile (n_owners,) as the owners in ``order`` (k,), each once, move in turn."""
    reached, after = _around(game.terms(profile), order)
    whole = game.deviations_against(profile, np.empty((len(profile), 1, 0)))
    for place, owner in enumerate(order):
        moves = replace(whole.take(order[[place]]), others=(reached + after[place])[None, None])
        profile[owner] = respond(moves, before[[place]])[0]
        reached = reached + moves.terms(profile[[owner]])[0]


def _around(terms: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums over those who do not move (m,), and for each who does over those yet to move (k, m), of ``terms`` (n, m).

    Nothing is ever taken off a sum, so that nothing cancels.
    """
    still = np.ones(len(terms), dtype=bool)
    still[order] = False
    after = np.zeros((len(order), terms.shape[1]))
    after[:-1] = np.cumsum(terms[order][:0:-1], axis=0)[::-1]
    return terms[still].sum(axis=0), after


class _Turns:
    """Turns of owners who each move once, as columns by their place in the order (k,)."""

    def __init__(
        self, game: Game, profile: np.ndarray, order: np.ndarray, respond: Respond, before: np.ndarray
    ) -> None:
        self.game, self.profile, self.order, self.respond, self.before = game, profile, order, respond, before
        terms = game.terms(profile)
        self.reached, self.after = _around(terms, order)
        self.whole = game.deviations_against(profile.copy(), np.empty((len(profile), 1, 0))).take(order)
        self.chosen, self.adds = profile[order], terms[order]  # as answered last
        self.asked = np.full_like(self.adds, np.nan)  # the sums that were answered to
        self.slope, self.steep = np.zeros_like(self.adds), np.zeros_like(self.adds)  # of choices, of what they add

    def play(self) -> None:
        """Change the profile as all have moved, a window of turns at a time."""
        start, width = 0, len(self.order)
        while start < len(self.order):
            window = slice(start, start + width)
            settled = self._pass_over(window, PASSES if width > NARROW else width)
            start += settled
            width = max(2 * settled, NARROW)
        self.profile[self.order] = self.chosen

    def _pass_over(self, window: slice, passes: int) -> int:
        """How many turns from the start of a window are settled after so many passes over it; what they add is counted."""
        moves, count = self.whole.take(np.arange(len(self.order))[window]), 0
        sums = self._sums(window, self.adds[window])
        changed = np.arange(len(sums))
        while changed.size and count < passes:
            self._ask(moves, window.start, changed, sums)
            count += 1
            sums = self._sums(window, self._foreseen(moves, window) if count > 1 else self.adds[window])
            changed = np.flatnonzero((sums != self.asked[window]).any(axis=1))
        settled = max(int(changed[0]), count) if changed.size else len(sums)
        self.reached = np.cumsum(np.vstack([self.reached, self.adds[window][:settled]]), axis=0)[-1]
        return settled

    def _sums(self, window: slice, adds: np.ndarray) -> np.ndarray:
        """What owners in a window see (w, m) if they add so much to the sums (w, m)."""
        return np.cumsum(np.vstack([self.reached, adds[:-1]]), axis=0) + self.after[window]

    def _ask(self, moves: Deviations, start: int, rows: np.ndarray, sums: np.ndarray) -> None:
        """Ask owners in some rows of a window anew, and take secants from how they answered before."""

        def answer(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            some = replace(moves.take(part), others=sums[part][:, None])
            chosen = self.respond(some, self.before[start + part])
            return chosen, some.terms(chosen)

        found = in_threads(answer, self.game.cut(rows))
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
        self.asked[at], self.chosen[at], self.adds[at] = sums[rows], chosen, adds

    def _foreseen(self, moves: Deviations, window: slice) -> np.ndarray:
        """What owners in a window will add to the sums (w, m), if each follows its secant and those before it do."""
        slope, steep = self.slope[window], self.steep[window]
        with np.errstate(all="ignore"):  # what is not finite foresees nothing
            drift = (slope * (self._sums(window, self.adds[window]) - self.asked[window])).sum(axis=1)
            shift = drift + (slope * _carried(slope, steep, drift)).sum(axis=1)
        if not np.isfinite(shift).all():
            return self.adds[window]
        ahead = np.clip(self.chosen[window] + shift, moves.owners.epsilon_min, moves.owners.epsilon_max)
        return moves.terms(ahead)


def _carried(slope: np.ndarray, steep: np.ndarray, drift: np.ndarray) -> np.ndarray:
    """Changes of sums (w, m) that the changed choices of those before an owner make: y' = y + steep (drift + slope y)."""
    count, m = slope.shape
    band, right = np.zeros((2 * m, count * m)), np.zeros((count, m))
    band[0] = 1.0
    for a in range(m):
        for b in range(m):
            band[m + a - b, b : (count - 1) * m : m] = -float(a == b) - steep[:-1, a] * slope[:-1, b]
    right[1:] = steep[:-1] * drift[:-1, None]
    return np.asarray(dtbtrs(band, right.ravel(), uplo="L")[0]).reshape(count, m)
