"""Noisy releases in all possible populations at once, under any noise.

A release adds noise to sums over records. The level of the noise changes neither the sums nor the
draws. So both are computed once, and every level takes one solution of all systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from learning.arrays import Array
from learning.forecast.rehearsal import Rehearsal
from learning.training.adassp import NUMBERS_HELD, AdaSSP, pool_in_parts
from learning.training.plan import Plan


@dataclass(frozen=True)
class PossibleReleases:
    """Releases in m possible populations, each repeated with draws of its own.

    Parameters
    ----------
    worlds : rehearsal in each population, all from the one start in use but for its centre.
    exact : matrices (m, 1, p, p) and vectors (m, 1, p) without noise.
    noise : matrices (m, repeats, p, p), vectors (m, repeats, p) and deviations (m, repeats) of the
        noise at an aggregated level of 1.
    """

    worlds: Sequence[Rehearsal] = field(repr=False)
    exact: tuple[Array, Array] = field(repr=False)
    noise: tuple[Array, Array, Array] = field(repr=False)

    @classmethod
    def under(
        cls, worlds: Sequence[Rehearsal], plan: Plan, repeats: int
    ) -> PossibleReleases | None:
        """Releases under a plan; None if it takes steps, or would hold too many numbers."""
        width = len(worlds[0].starts[0].centre)
        releases = isinstance(worlds[0].trains_by, AdaSSP)
        if not releases or len(worlds) * repeats * width**2 > NUMBERS_HELD:
            return None
        one = np.ones(1)
        asked = plan.horizon, one, one, repeats, plan.growth
        parts = [pool_in_parts(world.training_from(0, *asked)) for world in worlds]
        exact, noise = zip(*parts, strict=True)
        matrix, vector = (np.stack(one)[:, None] for one in zip(*exact, strict=True))
        on_matrix, on_vector, deviation = map(np.stack, zip(*noise, strict=True))
        return cls(worlds, (matrix, vector), (on_matrix, on_vector, deviation))

    def fitness(self, levels: Array) -> Array:
        """Relative fitness (m, repeats) under an aggregated noise of each population, (m,)."""
        width = np.sqrt(levels)[:, None]
        on_matrix, on_vector, deviation = self.noise
        matrix = self.exact[0] + width[..., None, None] * on_matrix
        vector = self.exact[1] + width[..., None] * on_vector
        first = self.worlds[0]
        algorithm = first.trains_by
        assert isinstance(algorithm, AdaSSP)
        with np.errstate(over="ignore", invalid="ignore"):
            free = algorithm.solve_release(
                first.mechanism,
                matrix.reshape(-1, *matrix.shape[2:]),
                vector.reshape(-1, vector.shape[2]),
                (width * deviation).ravel(),
            )
            phi = first.starts[0].project(free).reshape(vector.shape)
            found = [
                world.cost.relative(world.starts[0].model(own))
                for world, own in zip(self.worlds, phi, strict=True)
            ]
        return np.where(np.isfinite(found), found, np.inf)
