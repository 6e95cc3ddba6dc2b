"""Training algorithms: their interface, and the table of them by their names in scenario files.

A new algorithm is a class under `Algorithm` with a name and ``run``, entered in `ALGORITHMS`. A
scenario file can then name it, and the program forecasts, trains, audits and reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.clipping import PARTS, RECORD, ClippedBy
from learning.losses.loss import Loss
from learning.registry import Registry

if TYPE_CHECKING:
    from learning.training.bounds import Bound, BoundInputs
    from learning.training.clocks import Clocks, Talks
    from learning.training.law import Returned
    from learning.training.task import Task, Trajectory

Participation = Literal["all", "record", "clock", "local", "release"]


class Algorithm:
    """A training algorithm: its queries, its steps, its capabilities and its words in a report.

    Where a capability is a property here, a subclass may set it as a class attribute.

    Attributes
    ----------
    name: the name in a scenario file.
    participation: who answers a query: "all" owners, each with a mean gradient; one "record" drawn
        at random; the owner whose "clock" ticks; each owner alone in "local" training; or all
        owners with one "release" of sums, which is solved for the model.
    exact: whether the law of `learning.training.law` holds under squared loss; other trainings are
        rehearsed.
    scores: whether a release holds second moments and scores (`learning.losses.clipping`).
    moments: whether an owner's first answer holds second moments besides its gradient.
    growth: of the shares of a budget, where it is no choice.
    published_formulas: whether the paper states a noise formula and a step-size constant.
    theorem: bound of the paper on the excess (`learning.training.bounds`); None without one.
    compared: whether ``algorithm = "best"`` compares it.
    needs_strong_convexity: whether its proof needs regularisation above 0.
    stops_short: whether the last of T rounds has no query.
    rounds: smallest and largest sensible T.
    returned: points that the learner may return; the first is the default.
    decline: power of k by which the step of query k falls.
    horizon_power: power of T by which all steps fall.
    step_lengths: step-size constants to rehearse, in units of 1/(largest curvature).
    trial_horizons: numbers of rounds to rehearse.
    coarse_horizons: numbers of rounds to rehearse for a loss whose rounds cost much.
    says: what the algorithm does, in a sentence of a report.
    counts: the unit of T there.
    answer: what of an owner is weighted there.
    falls_short: reasons for which a model trained without noise is not the best one.
    """

    name: str = ""
    participation: Participation = "all"
    exact: bool = False
    scores: bool = False
    moments: bool = False
    growth: float | None = None
    published_formulas: bool = False
    theorem: staticmethod[[BoundInputs], Bound] | None = None
    compared: bool = False
    needs_strong_convexity: bool = False
    stops_short: bool = False
    rounds: tuple[int, int] = (2, 100_000)
    returned: tuple[Returned, ...] = ("last",)
    decline: float = 0
    horizon_power: int = 0
    step_lengths: Array = np.geomspace(0.03, 6, 12)
    trial_horizons: tuple[int, ...] = (2, 3, 5, 9, 17, 33, 100)
    coarse_horizons: tuple[int, ...] = (2, 5, 17)
    says: str = ""
    counts: str = "round"
    answer: str = "answer"
    falls_short: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """A text that is the same in every process, since results are kept by it."""
        return f"{type(self).__qualname__}({vars(self)})"

    @property
    def sums_answers(self) -> bool:
        """True if only the weighted sum of the answers counts, so that one stand-in is enough."""
        return self.exact

    @property
    def sums_suffice(self) -> bool:
        """True if the learner needs no more than the weighted sum of the answers."""
        return self.sums_answers

    @property
    def aggregates(self) -> bool:
        """True if another aggregate than the mean may replace the sum of the answers."""
        return self.exact

    @property
    def shares_may_grow(self) -> bool:
        """True if later answers may get larger shares of an owner's budget."""
        return self.exact

    @property
    def one_by_one(self) -> bool:
        """True if single records answer, and not an owner's mean over its records."""
        return self.participation == "record"

    @property
    def clocked(self) -> bool:
        """True if the clocks of a plan matter."""
        return self.participation == "clock"

    @property
    def asks_at_random(self) -> bool:
        """True if owners to ask are drawn at random."""
        return self.one_by_one or self.clocked

    @property
    def takes_steps(self) -> bool:
        """True if the model is reached by steps along gradients."""
        return self.participation != "release"

    @property
    def may_average(self) -> bool:
        """True if the mean of all rounds may be returned in place of the last."""
        return "averaged" in self.returned

    @property
    def weighs_owners(self) -> bool:
        """True if owners may have other weights than their numbers of records."""
        return self.takes_steps and not self.one_by_one

    @property
    def clippings(self) -> tuple[ClippedBy, ...]:
        """Ways to clip a record (`learning.losses.coordinates.Coordinates.clipping`)."""
        return (PARTS, RECORD) if self.takes_steps else (PARTS,)

    @property
    def noise_norm(self) -> int | None:
        """Norm that the noise must be scaled to, 1 or 2; None for either."""
        return None if self.takes_steps else 2

    @property
    def published_formula(self) -> str:
        """Name of the paper's noise formula in `learning.privacy.published_noise`, or empty."""
        return self.name * self.published_formulas

    @property
    def prints_step(self) -> bool:
        """True if the paper states a step-size constant."""
        return self.published_formulas

    def trains(self, loss: Loss) -> bool:
        """Test whether it trains under a loss: by steps under any, by sums where they exist."""
        if self.takes_steps:
            return True
        return loss.curved if self.scores else loss.quadratic

    def queries(self, horizon: int) -> int:
        """Number of queries, each with a step, in a horizon of T rounds."""
        return max(0, horizon - self.stops_short)

    def exchanges(self, horizon: int) -> int:
        """Number of times that every owner is asked in a horizon of T rounds."""
        return 1 if self.participation == "local" else self.queries(horizon)

    def steps(self, constant: ArrayLike, horizon: int, decline: float | None = None) -> Array:
        """Step size of each query k: c/(T^horizon_power k^decline).

        Parameters
        ----------
        constant: array (...), the step-size constant c of each of several schedules.
        horizon: T >= 1.
        decline: the power of k; that of the algorithm unless given.

        Returns
        -------
        array (queries, ...)
        """
        constant = np.asarray(constant, dtype=float)
        power = self.decline if decline is None else decline
        k = np.arange(1.0, self.queries(horizon) + 1).reshape((-1,) + (1,) * constant.ndim)
        return constant / (self.step_unit(horizon) * k**power)

    def step_unit(self, horizon: int) -> float:
        """Divisor of the step-size constant in the first step: T^horizon_power."""
        return horizon**self.horizon_power

    def count_answers(self, task: Task) -> list[int]:
        """Count each owner's answers before any noise is drawn."""
        return [len(task.plan.steps)] * len(task.owners)

    def answer_width(self, n_parameters: int) -> int:
        """Count the numbers in one answer: those of a gradient."""
        return n_parameters

    def priced_answers(self, clocks: Clocks, n_owners: int, horizon: int) -> int | None:
        """Count the answers that a budget is split over; None for the rounds."""
        return None

    def reconstruct_talks(self, task: Task) -> Talks | None:
        """Draw the talks of a training again, where owners talk by clocks; None elsewhere."""
        return None

    def run(self, task: Task) -> Trajectory:
        """Train all replications at once, calling ``task.watch`` after each step."""
        raise TypeError(f"{type(self).__name__} has no run(task): a training algorithm needs one")

    def noise_told(self, task: Task, asked: Array, moved: Array) -> list[Array] | None:
        """Noise of the owners' answers as the steps reveal it; None where the answers do.

        Parameters
        ----------
        task: the training, with a weight for each owner and runs that draw their own noise.
        asked, moved: array (queries, runs, p), the points of the queries, and the points after the
            steps, before any projection.

        Returns
        -------
        An array (answers, runs, p) for each owner, nan where a run asked it less often.
        """
        return None

    def published_bound(self, at: BoundInputs) -> Bound | None:
        """Bound of the paper's theorem under its own noise; None without a theorem."""
        return None if self.theorem is None else self.theorem(at)

    def printed_step(self, at: BoundInputs) -> float | None:
        """Step-size constant that the paper states for steps of ``at.decline``; None if open.

        Parameters
        ----------
        at: facts known before training; its step size and excess are not read.
        """
        return None

    def trial_constants(
        self, horizon: int, curvature: float, weights: Array, *, coarse: bool = False
    ) -> Array:
        """Step-size constants to rehearse.

        Parameters
        ----------
        horizon: T.
        curvature: the largest curvature of the cost.
        weights: array (n_owners,), q of each owner.
        coarse: whether to try half as many, as rounds are costly.

        Returns
        -------
        array (m,)
        """
        lengths = self.step_lengths[::2] if coarse else self.step_lengths
        return lengths * self.step_unit(horizon) / curvature

    def trial_points(self, returned: Sequence[Returned], horizon: int) -> list[Returned]:
        """Points among ``returned`` to rehearse: those that are not the start itself."""
        return list(returned)


class Algorithms(Registry):
    """Algorithms by name; one given as "module:Class" is made when it is first asked for."""

    def __getitem__(self, name: str) -> Algorithm:
        found = super().__getitem__(name)
        if isinstance(found, type):
            found = self[name] = found()
        algorithm: Algorithm = found
        return algorithm


DEFAULT = "averaged"
ALGORITHMS = Algorithms(
    {
        "synchronous": "learning.training.descent:Synchronous",
        "averaged": "learning.training.descent:Averaged",
        "asynchronous": "learning.training.asynchronous:Asynchronous",
        "sgd1": "learning.training.sgd1:SGD1",
        "sgd2": "learning.training.descent:SGD2",
        "weighted": "learning.training.weighted:Weighted",
        "adassp": "learning.training.adassp:AdaSSP",
        "one_step": "learning.training.adassp:OneStep",
        "newton": "learning.training.newton:Newton",
    }
)


def compared_algorithms() -> list[str]:
    """Names of the algorithms that ``learning.algorithm = "best"`` compares."""
    return [name for name, one in ALGORITHMS.items() if one.compared]
