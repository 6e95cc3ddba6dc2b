"""All that a union could do at once: the joint choice that is best for it, and what that would gain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
import scipy

from market.equilibrium.starts import log_interval
from market.game.deviations import Deviations
from market.game.game import CERTIFIED, Game, sums_over_others
from market.game.search import DECADES, ROUNDING

PAIRED = 6  # members up to which budget is also moved from one to another
POINTS = 256  # joint choices looked at before the search goes uphill
UPHILL = 4  # of the best of them that it goes uphill from
NEAR, NUDGE = 1e-2, 1e-5  # its first step close to a place; relative step of the differences that stand for slopes
CLIMBS, TRIFLE = 6, 1e-4  # of a response; a gain below this part of what certifies is none
STEPS, LEAST_STEP = 200, 1e-8  # of the search uphill, the steps in parts of each member's upper end, or of its budget


@dataclass(frozen=True)
class JointMoves:
    """What the members (k,) of a union have together if all of them move at once from a profile (n_owners,)."""

    game: Game
    members: np.ndarray
    profile: np.ndarray

    @cached_property
    def moves(self) -> Deviations:
        """The members' own moves."""
        return self.game.deviations(self.profile).take(self.members)

    @cached_property
    def beside(self) -> np.ndarray:
        """The sums over all who are no members, (k + j,)."""
        terms = self.game.terms(self.profile)
        terms[self.members] = 0.0
        return terms.sum(axis=0)

    def changed(self, row: np.ndarray) -> np.ndarray:
        """The profile (n_owners,) with the members at a row (k,)."""
        profile = self.profile.copy()
        profile[self.members] = row
        return profile

    def surplus(self, rows: np.ndarray) -> np.ndarray:
        """What they have together (m,) at rows of budgets (m, k)."""
        if not self.game.additive:
            return np.array([self.game.weighed(self.changed(row))[self.members].sum() for row in rows])
        at = np.ascontiguousarray(rows.T)
        met = replace(self.moves, others=self.beside + sums_over_others(self.moves.terms(at)))
        return np.asarray(met.payoffs(at).sum(axis=0))

    def money(self, row: np.ndarray) -> tuple[float, float]:
        """Payments, costs and benefits of members at a row (k,), in full, and their changes from half of all budgets."""
        here, half = (self._parts(self.changed(at)) for at in (row, row / 2))
        total = sum(float(np.abs(part).sum()) for part in here)
        fitness = self.game.value * self.game.policy.pays_for_fitness + self.moves.owners.benefit.sum()
        total += float(fitness) * (self.game.fitness(self.changed(row)) if fitness else 0.0)
        return total, sum(float(np.abs(a - b).sum()) for a, b in zip(here, half, strict=True))

    def _parts(self, profile: np.ndarray) -> list[np.ndarray]:
        used = self.game.deviations(profile).benefits(profile[:, None])[:, 0]
        return [part[self.members] for part in (self.game.promised(profile), self.game.owners.costs(profile), used)]

    def candidates(self) -> np.ndarray:
        """Rows (m, k) to begin a search with: all alike in their intervals, one alone, a low-discrepancy set of each kind."""
        owners, count = self.moves.owners, len(self.members)
        low, high = owners.epsilon_min, owners.epsilon_max
        lower, ratio = log_interval(low, high, lowest=1e-6)
        part = np.linspace(0, 1, 33)[:, None]
        alone = np.where(np.eye(count, dtype=bool), high, low)
        but_one = np.where(np.eye(count, dtype=bool), low, high)
        draws = scipy.stats.qmc.Halton(count, scramble=False).random(POINTS + 1)[1:]
        member = (np.arange(1, POINTS + 1)[:, None] >> (np.arange(count) % 16)) % 2 == 1
        spread = np.where(np.arange(POINTS)[:, None] % 2 == 0, low + (high - low) * draws, lower * ratio**draws)
        some = np.where(member | (low > 0), spread, 0.0)
        return np.concatenate([[low], low + (high - low) * part, lower * ratio**part, alone, but_one, spread, some])

    def best(self) -> tuple[np.ndarray, float]:
        """The row (k,) at which they have most together, and how much: a search over all their intervals, without slopes."""
        rows = np.concatenate([[self.own], self.candidates()])
        heights = self.surplus(rows)
        order = np.argsort(-heights, kind="stable")[:UPHILL]
        tops = [self._uphill(rows[at], heights[at], 0.25) for at in dict.fromkeys([0, *order.tolist()])]
        return max(tops, key=lambda top: top[1])

    @property
    def own(self) -> np.ndarray:
        """Where the members stand (k,)."""
        return self.profile[self.members]

    def response(self) -> np.ndarray:
        """The best row (k,) uphill of where they stand: by slopes, then by steps, until neither leads further."""
        row = self.own
        height = float(self.surplus(row[None])[0])
        for _ in range(CLIMBS):
            before = height
            for climb in (self._by_slopes, partial(self._uphill, step=NEAR)):
                found, top = climb(row, height)
                row, height = (found, top) if top > height else (row, height)
            if height <= before + CERTIFIED * TRIFLE * abs(before):
                break
        return row

    def _by_slopes(self, row: np.ndarray, height: float) -> tuple[np.ndarray, float]:
        """A local maximum from a row (k,) in the logarithm of the budgets above 0, slopes being differences."""
        owners, free = self.moves.owners, row > 0
        if not free.any():
            return row, height
        high = owners.epsilon_max[free]
        low = np.maximum(owners.epsilon_min[free], high * 10.0**-DECADES)
        scale, around = (
            abs(height) + float(np.abs(self.money(row)[1])) + np.finfo(float).tiny,
            np.eye(len(high)) * NUDGE,
        )

        def rows(logs: np.ndarray) -> np.ndarray:
            made = np.tile(row, (len(logs), 1))
            made[:, free] = np.clip(np.exp(logs), low, high)
            return made

        def loss(log: np.ndarray) -> tuple[float, np.ndarray]:
            here, *beside = self.surplus(rows(np.concatenate([[log], log + around, log - around])))
            ahead, behind = np.split(np.array(beside), 2)
            return -here / scale, -(ahead - behind) / (2 * NUDGE * scale)

        ends = np.log(np.stack([low, high], axis=1))
        inside = ends + np.array([NUDGE, -NUDGE]) * (ends[:, 1:] > ends[:, :1] + 4 * NUDGE)
        start = np.clip(np.log(row[free]), inside[:, 0], inside[:, 1])
        found = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=inside, tol=1e-15).x
        at_end = np.where(found <= inside[:, 0], ends[:, 0], np.where(found >= inside[:, 1], ends[:, 1], found))
        made = rows(at_end[None])[0]
        made[free] = np.where(at_end == ends[:, 1], high, np.where(at_end == ends[:, 0], low, made[free]))
        return made, float(self.surplus(made[None])[0])

    def _uphill(self, row: np.ndarray, height: float, step: float) -> tuple[np.ndarray, float]:
        """Where steps lead that halve at a top: of one member, of all together, and, of few, from one member to another."""
        owners, unit = self.moves.owners, np.eye(len(row))
        low, high = owners.epsilon_min, owners.epsilon_max
        pairs = combinations(range(len(row)), 2) if len(row) <= PAIRED else ()
        ways = np.array([*unit, np.ones(len(row)), *(unit[a] - unit[b] for a, b in pairs)])
        ways = np.concatenate([ways, -ways])
        for _ in range(STEPS):
            if step < LEAST_STEP:
                break
            size = np.where(row > 0, row, high * step)
            trials = np.clip(np.concatenate([row + step * ways * high, row + step * ways * size]), low, high)
            heights = self.surplus(trials)
            top = int(heights.argmax())
            if heights[top] > height:
                row, height = trials[top], heights[top]
            else:
                step *= 0.5
        return row, float(height)

    def certificate(self) -> tuple[np.ndarray, float, float]:
        """The best row (k,), what the union gains by moving there, and the scale of that, as `Game.certificate` has them."""
        place, best = self.best()
        have = float(self.surplus(self.own[None])[0])
        (here, _), (there, moved) = self.money(self.own), self.money(place)
        gain = best - have if best - have > ROUNDING * (here + there) else 0.0
        return place, gain, gain + moved
