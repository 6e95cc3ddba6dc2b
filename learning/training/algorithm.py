"""What a training algorithm is: one class, with everything that the rest of the program asks of it.

A new algorithm is a class under `Algorithm` with a name and ``run``, entered in `learning.training.algorithms.ALGORITHMS`:
it can then be named in a scenario file, forecast, trained, audited and reported.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import PARTS, RECORD, ClippedBy
from learning.training.bounds import Bound, BoundInputs
from learning.training.clocks import Clocks, Talks
from learning.training.law import Returned
from learning.training.task import Task, Trajectory


class Algorithm:
    """A training algorithm: how it asks, how it steps, what it supports, and how a report speaks of it.

    Attributes
    ----------
    name: what a scenario file calls it.
    exact: whether the law of `learning.training.law` holds for it under squared loss; else training is rehearsed.
    sums_answers: whether answers enter as their weighted sum only, so that one stand-in with the noise of all is as
        good as many owners.
    aggregates: whether all owners answer side by side, so that something else than their mean may be made of the answers.
    shares_may_grow: whether an answer may get a larger share of its owner's budget than the one before.
    one_by_one: whether single records answer, and not an owner's mean over all of its records.
    takes_steps: whether the model is reached by steps along gradients; else owners give sums over their records once,
        and it is solved at once.
    scores: whether these sums are second moments and scores, each bounded by itself (`learning.losses.scores`).
    clippings: what may be clipped of a record there (`learning.losses.coordinates.Coordinates.clipping`).
    weighs_owners: whether owners may count otherwise than by their records.
    noise_norm: the norm, 1 or 2, that its noise must go by; None for either.
    published_formula: the formula that its paper prints for the noise; empty if there is none.
    compared: whether ``algorithm = "best"`` compares it.
    needs_strong_convexity: whether it is proved under a cost with regularisation above 0 only.
    asks_at_random: whether who is asked, and how often, is drawn by lot.
    clocked: whether owners talk as their clocks tick, so that a plan's clocks matter.
    stops_short: whether nothing is asked in the last of T rounds, as the loop is printed.
    rounds: the fewest and the most rounds T that make sense.
    returned: the points that the learner may return, the first by default.
    decline: the power of k that the step of query k falls with.
    horizon_power: the power of T that all steps fall with.
    prints_step: whether its paper states a step-size constant.
    step_lengths: step-size constants tried in a rehearsal, in units of 1/(largest curvature).
    trial_horizons: numbers of rounds worth rehearsing.
    coarse_horizons: those of a loss whose rounds cost some twenty times as much.
    says: what it does, in one sentence of a report.
    counts: what T counts there.
    answer: what of an owner's is weighed there.
    falls_short: reasons, beside a last round, for which a model trained without noise is not the best one.
    """

    name: str = ""
    exact: bool = False
    sums_answers: bool = False
    aggregates: bool = False
    shares_may_grow: bool = False
    one_by_one: bool = False
    takes_steps: bool = True
    scores: bool = False
    clippings: tuple[ClippedBy, ...] = (PARTS, RECORD)
    weighs_owners: bool = True
    noise_norm: int | None = None
    published_formula: str = ""
    compared: bool = False
    needs_strong_convexity: bool = False
    asks_at_random: bool = False
    clocked: bool = False
    stops_short: bool = False
    rounds: tuple[int, int] = (2, 100_000)
    returned: tuple[Returned, ...] = ("last",)
    decline: float = 0
    horizon_power: int = 0
    prints_step: bool = False
    step_lengths: Array = np.geomspace(0.03, 6, 12)
    trial_horizons: tuple[int, ...] = (2, 3, 5, 9, 17, 33, 100)
    coarse_horizons: tuple[int, ...] = (2, 5, 17)
    says: str = ""
    counts: str = "round"
    answer: str = "answer"
    falls_short: tuple[str, ...] = ()

    def queries(self, horizon: int) -> int:
        """Rounds of T in which something is asked, each with a step."""
        return max(0, horizon - self.stops_short)

    def steps(self, constant: ArrayLike, horizon: int, decline: float | None = None) -> Array:
        """Step size of each query k: c/(T^horizon_power k^decline).

        Parameters
        ----------
        constant: array (...), the step-size constant c; several are several schedules at once.
        horizon: T >= 1.
        decline: the power of k, where it is not the algorithm's own.

        Returns
        -------
        array (queries, ...)
        """
        constant = np.asarray(constant, dtype=float)
        k = np.arange(1, self.queries(horizon) + 1, dtype=float).reshape((-1,) + (1,) * constant.ndim)
        return np.asarray(constant / (self.step_unit(horizon) * k ** (self.decline if decline is None else decline)))

    def step_unit(self, horizon: int) -> float:
        """What a step-size constant is divided by in the first step: 1, or a power of T."""
        return horizon**self.horizon_power

    def answers(self, task: Task) -> list[int]:
        """Queries that each owner answers, told before any noise is drawn: one a round unless drawn by lot."""
        return [len(task.plan.steps)] * len(task.owners)

    def answer_width(self, n_parameters: int) -> int:
        """The numbers in one answer: a gradient's."""
        return n_parameters

    def priced(self, clocks: Clocks, n_owners: int, horizon: int) -> int | None:
        """Answers that an owner's budget is split over, where they are not the rounds."""
        return None

    def talks(self, task: Task) -> Talks | None:
        """Who talked when, where owners go by clocks; None elsewhere."""
        return None

    def run(self, task: Task) -> Trajectory:
        """Train, all replications at once; after each step ``task.watch`` is called."""
        raise TypeError(f"{type(self).__name__} has no run(task): a training algorithm needs one")

    def noise_told(self, task: Task, asked: Array, moved: Array) -> list[Array] | None:
        """The noise that owners' answers held, as the steps tell it; None where the answers themselves do.

        Parameters
        ----------
        task: the training, with a weight for each owner, in which every run draws its own noise.
        asked, moved: array (queries, runs, p), the points asked at, and where the steps led from there before any projection.

        Returns
        -------
        array (answers, runs, p) of each owner, nan where a run asked it less often.
        """
        return None

    def published_bound(self, at: BoundInputs) -> Bound | None:
        """What the theorem of its paper says of it under the paper's noise; None where there is no theorem."""
        return None

    def printed_step(self, at: BoundInputs) -> float | None:
        """The step-size constant that its paper states, for steps that fall as ``at`` has it; None where it leaves it open.

        Parameters
        ----------
        at: what is known before training; its own step size and excess are not looked at.
        """
        return None

    # ---- what a learner who plans may choose from

    def trial_constants(self, horizon: int, curvature: float, weights: Array, *, coarse: bool = False) -> Array:
        """Step-size constants worth rehearsing.

        Parameters
        ----------
        horizon: T.
        curvature: the largest curvature of the cost.
        weights: array (n_owners,), q of each owner.
        coarse: whether a round is so dear that half as many are tried.

        Returns
        -------
        array (m,)
        """
        lengths = self.step_lengths[::2] if coarse else self.step_lengths
        return lengths * self.step_unit(horizon) / curvature

    def trial_points(self, returned: Sequence[Returned], horizon: int) -> list[Returned]:
        """The points of those in ``returned`` that are worth rehearsing: all, but for the start itself."""
        return list(returned)
