"""Watchers of training, called step by step; one keeps the relative fitness of all runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.loss import TrainingCost

# called with the step, all runs' points phi (runs, p), and their running means (runs, p)
Watch = Callable[[int, Array, Array], None]
QUARTILES = (0.25, 0.5, 0.75)


def ignore_step(step: int, phi: Array, mean: Array) -> None:
    """Ignore a step of a training."""


@dataclass(eq=False)
class Paths:
    """Relative fitness of every run by step: the ``watch`` of a `learning.training.task.Task`.

    Points are those of simulated trainings, and fitness is counted on the records themselves: no
    party to a market sees it.

    Parameters
    ----------
    model: maps points phi (runs, p) to model parameters, as
        `learning.losses.coordinates.Coordinates.model` does.
    cost: the cost that gives relative fitness.
    steps: the steps that are kept, 0 being the start; all unless given.
    kept: step -> relative fitness (runs,) of the points.
    kept_means: the same of the running means; empty where an algorithm has none.

    Source: Wu et al., The Value of Collaboration, Figs 2 and 7; Farokhi et al., The Cost of
        Privacy, Figs 2 and 7.
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
        of_means: whether to use running means, where there are any.
        """
        kept = (of_means and self.kept_means) or self.kept
        values = np.array(list(kept.values()))
        return np.array(list(kept), dtype=np.intp), np.quantile(values, QUARTILES, axis=1).T

    def rows(self) -> list[dict[str, Any]]:
        """Make a row with the quartiles of each step and point, "last" or "averaged"."""
        rows = []
        for point, kept in (("last", self.kept), ("averaged", self.kept_means)):
            if kept:
                steps, quartiles = self.quartiles(point == "averaged")
                for step, found in zip(steps.tolist(), quartiles.tolist(), strict=True):
                    numbers = dict(zip(("q25", "median", "q75"), found, strict=True))
                    rows.append({"round": step, "point": point, **numbers})
        return rows
