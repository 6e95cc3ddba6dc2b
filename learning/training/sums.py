"""Sums that owners release once, second moments and scores, and the models that they give.

Released sums are private already: whatever is computed from them, for any set of owners, has no
further privacy cost. `ReleasedSums` holds those of one run, owner by owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.training.adassp import NUMBERS_HELD
from learning.training.noisy_solving import solve_newton_step
from learning.training.noisy_statistics import NoisyStatistics, draw_unit_noise, release_statistics
from learning.training.task import Task


@dataclass(frozen=True)
class ReleasedSums:
    """Noisy sums of N owners over their records, in the public coordinates of phi.

    A_l = sum w xx' + E_l and g_l = sum w u x + e_l, with u the residual of the public model and w
    the weight of a clipped record.

    Parameters
    ----------
    names : the owners, N.
    sizes : array (N,), their numbers of records.
    xx : array (N, p, p), symmetric, A_l.
    xu : array (N, p), g_l.
    matrix_deviation : array (N,), of the noise on a diagonal entry of A_l; off it is smaller by
        sqrt(2).
    vector_deviation : array (N,), of the noise on an entry of g_l.
    coordinates : start, scale and bounds.
    regularisation : r of r/2 |theta|^2.
    """

    names: tuple[str, ...]
    sizes: Array
    xx: Array = field(repr=False)
    xu: Array = field(repr=False)
    matrix_deviation: Array
    vector_deviation: Array
    coordinates: Coordinates = field(repr=False)
    regularisation: float = 0.0

    def __len__(self) -> int:
        return len(self.names)

    def keep(self, owners: Sequence[int]) -> ReleasedSums:
        """Sums of some owners alone, by their numbers."""
        chosen = list(owners)
        return replace(
            self,
            names=tuple(self.names[i] for i in chosen),
            sizes=self.sizes[chosen],
            xx=self.xx[chosen],
            xu=self.xu[chosen],
            matrix_deviation=self.matrix_deviation[chosen],
            vector_deviation=self.vector_deviation[chosen],
        )

    def without(self, name: str) -> ReleasedSums:
        """Sums of all owners but one.

        Raises
        ------
        ValueError
            If nobody has that name.
        """
        if name not in self.names:
            raise ValueError(f"{name} released no sums")
        return self.keep([i for i, other in enumerate(self.names) if other != name])

    def pool(self) -> tuple[Array, Array, float]:
        """Mean moments (p, p), mean score (p,) and the deviation of the noise on the former.

        With the penalty of the learner's own regularisation.
        """
        penalty, pull = self.coordinates.penalty(self.regularisation)
        total = self.sizes.sum()
        matrix = self.xx.sum(axis=0) / total + penalty / 2
        vector = self.xu.sum(axis=0) / total + pull / 2
        return matrix, vector, float(np.linalg.norm(self.matrix_deviation) / total)

    def solve(self) -> Array:
        """Model theta (p,) of these owners' sums; the public model where there are none."""
        return np.asarray(self.coordinates.model(self.step()))

    def step(self) -> Array:
        """Step phi (p,) from the public model, within the ball; 0 where there are no sums."""
        if not len(self):
            return np.zeros(len(self.coordinates.centre))
        matrix, vector, deviation = self.pool()
        phi = solve_newton_step(matrix[None], vector[None], np.array([deviation]))
        return np.asarray(self.coordinates.project(phi)[0])

    def solve_sets(self, members: Array) -> Array:
        """Models (c, p) of sets of these owners, ``members`` (c, N) being 1 of who is in one."""
        phi = np.zeros((len(members), len(self.coordinates.centre)))
        some = np.flatnonzero(members.any(axis=1))
        block = max(1, NUMBERS_HELD // phi.shape[1] ** 2)
        for sets in np.split(some, np.arange(block, len(some), block)):
            here = members[sets]
            noise = np.sqrt(here @ self.matrix_deviation**2)
            sums = np.tensordot(here, self.xx, 1), here @ self.xu
            phi[sets] = self._solve_sums(here @ self.sizes, *sums, noise)
        return self.coordinates.model(self.coordinates.project(phi))

    def solve_each(self) -> Array:
        """Models (N, p) of each owner's sums alone."""
        phi = self._solve_sums(self.sizes, self.xx, self.xu, self.matrix_deviation)
        return self.coordinates.model(self.coordinates.project(phi))

    def _solve_sums(self, total: Array, xx: Array, xu: Array, deviation: Array) -> Array:
        """Steps (c, p) that sums of ``total`` (c,) records give, with penalty."""
        penalty, pull = self.coordinates.penalty(self.regularisation)
        matrix = xx / total[:, None, None] + penalty / 2
        return solve_newton_step(matrix, xu / total[:, None] + pull / 2, deviation / total)

    def redraw(
        self, mechanism: Mechanism, other: ReleasedSums, *, rng: np.random.Generator
    ) -> ReleasedSums:
        """Other sums of these owners, under as much noise again as these are under.

        The noise is of the mechanism's law, and the result is solved as these sums are.
        """
        unit = draw_unit_noise(mechanism, self.xu.shape[1], [rng] * len(self))
        return replace(
            self,
            xx=other.xx + self.matrix_deviation[:, None, None] * unit[1],
            xu=other.xu + self.vector_deviation[:, None] * unit[0],
        )

    def alike(self) -> ReleasedSums:
        """Sums without noise of owners alike, as far as these tell: the mean for each record.

        A_l = n_l M and g_l = n_l M phi, with M the mean moments of all, no eigenvalue below the
        edge of the noise's own, and phi the step that all their sums give.
        """
        total = self.sizes.sum()
        deviation = np.linalg.norm(self.matrix_deviation) / total
        values, basis = np.linalg.eigh(self.xx.sum(axis=0) / total)
        values = np.maximum(values, deviation * np.sqrt(2 * len(values)))
        mean = (basis * values) @ basis.T
        step = self.solve() - self.coordinates.centre
        score = mean @ np.linalg.solve(self.coordinates.transform, step)
        return replace(
            self,
            xx=np.multiply.outer(self.sizes, mean),
            xu=np.multiply.outer(self.sizes, score),
            matrix_deviation=np.zeros(len(self)),
            vector_deviation=np.zeros(len(self)),
        )


def released_sums(task: Task, run: int = 0) -> ReleasedSums:
    """Sums that the owners of a training release in one run, drawn again from its streams.

    Raises
    ------
    ValueError
        If the training asks for no sums, or owners make one noise together.
    """
    return released_runs(task, [run])[0]


def released_runs(task: Task, runs: Sequence[int]) -> list[ReleasedSums]:
    """Sums that the owners of a training release in some runs, as `released_sums` has one."""
    if task.coordinates.scores is None:
        raise ValueError(f"{task.plan.algorithm} asks owners for no moments and scores")
    if not task.mechanism.whole:
        raise ValueError("nobody sees the sums of one owner under secure aggregation")
    drawn: list[NoisyStatistics] = [release_statistics(task, owner, runs) for owner in task.owners]
    return [
        ReleasedSums(
            tuple(owner.name for owner in task.owners),
            task.sizes,
            np.stack([one.xx[number] for one in drawn]),
            np.stack([one.xu[number] for one in drawn]),
            np.array([one.matrix_deviation[number] for one in drawn]),
            np.array([one.vector_deviation[number] for one in drawn]),
            task.coordinates,
            task.regularisation,
        )
        for number in range(len(runs))
    ]
