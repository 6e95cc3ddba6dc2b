"""Training watched step by step: what a watcher is told, and one that keeps relative fitness of all runs on their way."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.protocols import TrainingCost

# called with the step, all runs' points phi (runs, p), and their running means (runs, p)
Watch = Callable[[int, Array, Array], None]
QUARTILES = (0.25, 0.5, 0.75)


def unwatched(step: int, phi: Array, mean: Array) -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class Paths:
    """Keeps relative fitness of every run, step by step: give it to a `learning.training.task.Task` as its ``watch``.

    Points are those of simulated trainings, and fitness is counted on the records themselves: no party to a market sees it.

    Parameters
    ----------
    model: makes model parameters (runs, p) of points phi, as `learning.losses.coordinates.Coordinates.model` does.
    cost: what relative fitness is counted against.
    steps: the steps that are kept, 0 being the start; all unless given.
    kept: step -> relative fitness (runs,) of the points.
    kept_means: the same of the running means; empty where an algorithm has none but its points.

    Source: Wu et al., The Value of Collaboration, Figs 2 and 7; Farokhi et al., The Cost of Privacy, Figs 2 and 7.
    """

    model: Callable[[Array], Array] = field(repr=False)
    cost: TrainingCost = field(repr=False)
    steps: Collection[int] | None = None
    kept: dict[int, Array] = field(default_factory=dict, repr=False)
    kept_means: dict[int, Array] = field(default_factory=dict, repr=False)

    def __call__(self, step: int, phi: Array, mean: Array) -> None:
        """Keep a step."""
        if self.steps is not None and step not in self.steps:
            return
        self.kept[step] = self.cost.relative(self.model(phi))
        if mean is not phi:
            self.kept_means[step] = self.cost.relative(self.model(mean))

    def quartiles(self, of_means: bool = False) -> tuple[NDArray[np.intp], Array]:
        """Steps (m,), and lower quartile, median and upper quartile over the runs at each, (m, 3).

        Parameters
        ----------
        of_means: whether those of the running means are asked for, where there are any.
        """
        kept = self.kept_means if of_means and self.kept_means else self.kept
        values = np.array(list(kept.values()))
        return np.array(list(kept), dtype=np.intp), np.quantile(values, QUARTILES, axis=1).T

    def rows(self) -> list[dict[str, Any]]:
        """A row for each step and point, "last" or "averaged", with the quartiles over all runs."""
        return [
            {"round": int(step), "point": point, "q25": low, "median": middle, "q75": high}
            for point, kept in (("last", self.kept), ("averaged", self.kept_means))
            if kept
            for step, (low, middle, high) in zip(*map(np.ndarray.tolist, self.quartiles(point != "last")), strict=True)
        ]
