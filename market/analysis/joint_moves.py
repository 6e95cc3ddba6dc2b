"""Joint deviations of the members of a union: the search of their best row of budgets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import scipy

from market.columns import Array
from market.equilibrium.starts import log_interval
from market.game.deviations import Deviations
from market.game.game import CERTIFIED, Game, sums_over_others
from market.game.grids import DECADES
from market.game.search import ROUNDING

# Members up to whom budget is also moved from one to another.
PAIRED = 6
# Joint choices evaluated before the search climbs, and the number of climbs.
POINTS = 256
UPHILL = 4
# First relative step close to a place; relative step of the differences for slopes.
NEAR = 1e-2
NUDGE = 1e-5
# Climbs of a response; a gain below this part of what certifies is none.
CLIMBS = 6
TRIFLE = 1e-4
# Steps of a climb, and the least, as parts of a member's upper end or budget.
STEPS = 200
LEAST_STEP = 1e-8
Top = tuple[Array, float]


@dataclass(frozen=True)
class JointMoves:
    """Joint surplus of the members (k,) of a union that move from a profile (n_owners,)."""

    game: Game
    members: Array
    profile: Array

    @cached_property
    def member_moves(self) -> Deviations:
        """The members' own deviations."""
        return self.game.deviations(self.profile).take(self.members)

    @cached_property
    def outsider_sums(self) -> Array:
        """Sums over all owners who are no members, (k + j,)."""
        terms = self.game.terms(self.profile)
        terms[self.members] = 0.0
        return terms.sum(axis=0)

    @property
    def own_row(self) -> Array:
        """Budgets of the members (k,)."""
        return self.profile[self.members]

    def profile_with(self, row: Array) -> Array:
        """Profile (n_owners,) with the members at a row (k,)."""
        profile = self.profile.copy()
        profile[self.members] = row
        return profile

    def joint_surplus(self, rows: Array) -> Array:
        """Surplus of all members together (m,) at rows of budgets (m, k)."""
        if not self.game.additive:
            payoffs = [self.game.weighed_payoffs(self.profile_with(row)) for row in rows]
            return np.array([one[self.members].sum() for one in payoffs])
        at = np.ascontiguousarray(rows.T)
        others = self.outsider_sums + sums_over_others(self.member_moves.terms(at))
        return np.asarray(replace(self.member_moves, others=others).payoffs(at).sum(axis=0))

    def money_moved(self, row: Array) -> tuple[float, float]:
        """Money of members at a row (k,), in full, and its change from half of all budgets."""
        here, half = (self._money_parts(self.profile_with(at)) for at in (row, row / 2))
        total = sum(float(np.abs(part).sum()) for part in here)
        game = self.game
        worth = float(
            game.value * game.policy.pays_for_fitness + self.member_moves.owners.benefit.sum()
        )
        total += worth * (game.fitness(self.profile_with(row)) if worth else 0.0)
        return total, sum(float(np.abs(a - b).sum()) for a, b in zip(here, half, strict=True))

    def _money_parts(self, profile: Array) -> list[Array]:
        used = self.game.deviations(profile).benefits(profile[:, None])[:, 0]
        parts = (self.game.promised(profile), self.game.owners.costs(profile), used)
        return [part[self.members] for part in parts]

    def start_rows(self) -> Array:
        """Rows (m, k) to start from: equal positions, one member apart, low-discrepancy sets."""
        owners = self.member_moves.owners
        count = len(self.members)
        low, high = owners.interval
        lower, ratio = log_interval(low, high, lowest=1e-6)
        part = np.linspace(0, 1, 33)[:, None]
        own = np.eye(count, dtype=bool)
        draws = scipy.stats.qmc.Halton(count, scramble=False).random(POINTS + 1)[1:]
        member = (np.arange(1, POINTS + 1)[:, None] >> (np.arange(count) % 16)) % 2 == 1
        even = np.arange(POINTS)[:, None] % 2 == 0
        spread = np.where(even, low + (high - low) * draws, lower * ratio**draws)
        some = np.where(member | (low > 0), spread, 0.0)
        equal = [[low], low + (high - low) * part, lower * ratio**part]
        alone = [np.where(own, high, low), np.where(own, low, high)]
        return np.concatenate([*equal, *alone, spread, some])

    def best_row(self) -> Top:
        """Row (k,) of most joint surplus, and that, by a search of all intervals without slopes."""
        rows = np.concatenate([[self.own_row], self.start_rows()])
        heights = self.joint_surplus(rows)
        order = np.argsort(-heights, kind="stable")[:UPHILL]
        starts = dict.fromkeys([0, *order.tolist()])
        tops = [self._climb_by_steps(rows[at], heights[at], 0.25) for at in starts]
        return max(tops, key=lambda top: top[1])

    def joint_response(self) -> Array:
        """Best row (k,) uphill of the members' budgets: by slopes, then by steps, repeatedly."""
        row = self.own_row
        height = float(self.joint_surplus(row[None])[0])
        for _ in range(CLIMBS):
            before = height
            found, top = self._climb_by_slopes(row, height)
            if top > height:
                row = found
                height = top
            # A climb by steps never descends.
            row, height = self._climb_by_steps(row, height, NEAR)
            if height <= before + CERTIFIED * TRIFLE * abs(before):
                break
        return row

    def _climb_by_slopes(self, row: Array, height: float) -> Top:
        """Local maximum from a row (k,), by L-BFGS-B in the logarithm of the budgets above 0."""
        owners = self.member_moves.owners
        free = row > 0
        if not free.any():
            return row, height
        high = owners.epsilon_max[free]
        low = np.maximum(owners.epsilon_min[free], high * 10.0**-DECADES)
        scale = abs(height) + float(np.abs(self.money_moved(row)[1])) + np.finfo(float).tiny
        around = np.eye(len(high)) * NUDGE

        def rows_of(logs: Array) -> Array:
            made = np.tile(row, (len(logs), 1))
            made[:, free] = np.clip(np.exp(logs), low, high)
            return made

        def scaled_loss(log: Array) -> tuple[float, Array]:
            trials = rows_of(np.concatenate([[log], log + around, log - around]))
            here, *around_here = self.joint_surplus(trials)
            ahead, behind = np.split(np.array(around_here), 2)
            return -here / scale, -(ahead - behind) / (2 * NUDGE * scale)

        left = np.log(low)
        right = np.log(high)
        wide = NUDGE * (right > left + 4 * NUDGE)
        start = np.clip(np.log(row[free]), left + wide, right - wide)
        bounds = np.stack([left + wide, right - wide], axis=1)
        options = {"jac": True, "method": "L-BFGS-B", "bounds": bounds, "tol": 1e-15}
        found = scipy.optimize.minimize(scaled_loss, start, **options).x
        # The ends of the interval replace the ends of the search.
        lowest = found <= bounds[:, 0]
        highest = ~lowest & (found >= bounds[:, 1])
        made = rows_of(found[None])[0]
        made[free] = np.where(highest, high, np.where(lowest, low, made[free]))
        return made, float(self.joint_surplus(made[None])[0])

    def _climb_by_steps(self, row: Array, height: float, step: float) -> Top:
        """Climb by steps, halved at a top, of one member, of all, or from one to another."""
        owners = self.member_moves.owners
        unit = np.eye(len(row))
        low, high = owners.interval
        pairs = combinations(range(len(row)), 2) if len(row) <= PAIRED else ()
        ways = np.array([*unit, np.ones(len(row)), *(unit[a] - unit[b] for a, b in pairs)])
        ways = np.concatenate([ways, -ways])
        for _ in range(STEPS):
            if step < LEAST_STEP:
                break
            size = np.where(row > 0, row, high * step)
            trials = np.concatenate([row + step * ways * high, row + step * ways * size])
            trials = np.clip(trials, low, high)
            heights = self.joint_surplus(trials)
            top = int(heights.argmax())
            if heights[top] > height:
                row = trials[top]
                height = heights[top]
            else:
                step *= 0.5
        return row, float(height)

    def certificate(self) -> tuple[Array, float, float]:
        """Best row (k,), the union's regret and its scale, as `Game.certificate`."""
        place, best = self.best_row()
        have = float(self.joint_surplus(self.own_row[None])[0])
        money = self.money_moved(self.own_row)[0]
        there, moved = self.money_moved(place)
        gain = best - have if best - have > ROUNDING * (money + there) else 0.0
        return place, gain, gain + moved
