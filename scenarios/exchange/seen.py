"""What a learner can see of the model itself: how it does on the learner's own rows, beside what was forecast.

The learner's own model was fitted to its public rows, and looks better on them than it is. So it is also fitted anew
without each of them, or of many each tenth, in turn, and judged on what was left out; the model
that was bought meets the same rows.
What the rows decided of the plan (the start, the scale, the ranges) favours neither of the two by much, and is not undone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.exchange.contract import Contract
from learning.forecast.own_check import Seen, gained

PARTS, LEAST = 10, 20  # parts that are left out in turn; rows from which a standard error means anything
ALONE = 100  # rows up to which each is left out alone
WIDE = 3.0  # standard errors by which a forecast's interval is widened, as everywhere here
TOLERANCE = 1e-6  # relative, of two models that count as the same


@dataclass(frozen=True)
class OwnRows:
    """What the learner's own rows show.

    Parameters
    ----------
    rows: how many there are.
    kept_aside: whether they had no part in anything that was agreed, as the learner says.
    start_fits: whether the learner's own model is the one that these rows make; None where it starts from none.
    better: by how much relative fitness the model is better than the learner's own on these rows.
    crossed: the same with the learner's own model fitted without the rows that it is judged on; None of rows that it was
        not fitted to.
    forecast: by how much it was to be better.
    interval: the forecast's interval of that; None at an end where there is none.
    """

    rows: int
    kept_aside: bool
    start_fits: bool | None
    better: Seen
    crossed: Seen | None
    forecast: float
    interval: tuple[float | None, float | None]

    @property
    def judged(self) -> Seen:
        """The fairer of the two."""
        return self.crossed or self.better

    @property
    def agrees(self) -> bool:
        """Whether it lies in the forecast's interval widened by 3 standard errors."""
        low, high = self.interval
        room = WIDE * self.judged.std_error
        seen = self.judged.relative_fitness
        return (low is None or seen >= low - room) and (high is None or seen <= high + room)


def on_own_rows(contract: Contract, theta: Array, x: Array, y: Array, *, kept_aside: bool = False) -> OwnRows:
    """A model beside the learner's own on rows of the learner, coded by the contract's rules.

    Parameters
    ----------
    theta: array (p,), the model's parameters.
    x: array (n, p).
    y: array (n,).
    kept_aside: whether the rows had no part in the contract.

    Raises
    ------
    InputError
        If there are fewer rows than tell anything, or no error that they can be counted in; if the model is none of the
        contract's; if the learner starts from no model and gives rows kept aside alone.
    """
    if len(y) < LEAST:
        raise InputError("--public", f"must hold {LEAST} rows or more, as fewer show nothing", len(y))
    if not contract.forecast.optimum > 0:
        rule = "must be above 0 for errors to be counted in it"
        raise InputError("forecast.optimum", rule, contract.forecast.optimum, "Leave --public and --aside out.")
    if theta.shape != contract.coordinates.centre.shape or not np.isfinite(theta).all():
        raise InputError("model", f"must have {len(contract.coordinates.centre)} finite parameters", f"{theta.size}")
    promise, start = contract.forecast, contract.coordinates.centre
    started = bool(np.any(start))
    if kept_aside and not started:
        remedy = "Name the rows that the learner's own model is fitted to, as --public."
        raise InputError("--aside", "needs a model of the learner's own to compare with", "none", remedy)
    own = start if started else _fit(contract, x, y)
    lost = _losses(contract, x, y, theta)
    better = gained(_losses(contract, x, y, own), lost, promise.optimum)
    fits = bool(np.allclose(own, _fit(contract, x, y), rtol=TOLERANCE, atol=TOLERANCE)) if started else None
    blind = kept_aside or fits is False
    crossed = None if blind else gained(_left_out(contract, x, y), lost, promise.optimum)
    ends = promise.interval if len(promise.interval) == 2 else (None, None)
    low, high = (None if end is None else promise.outside - end for end in reversed(ends))
    return OwnRows(len(y), kept_aside, fits, better, crossed, promise.outside - promise.relative_fitness, (low, high))


def _fit(contract: Contract, x: Array, y: Array) -> Array:
    """The model that rows make."""
    return contract.coordinates.loss.fit(x, y, contract.training.regularisation)[0]


def _losses(contract: Contract, x: Array, y: Array, theta: Array) -> Array:
    """What each row costs under a model, (n,), with the charge for large parameters."""
    loss = contract.coordinates.loss
    found = loss.value(loss.scores(x, y, theta)) + 0.5 * contract.training.regularisation * float(theta @ theta)
    return np.asarray(found, dtype=float)


def _left_out(contract: Contract, x: Array, y: Array) -> Array:
    """What each row costs under the model of all others, (n,); of so many rows, of those that are not in its tenth.

    Of few rows the tenths would hang on their order.
    """
    parts = len(y) if len(y) <= ALONE else PARTS
    found, part = np.empty(len(y)), np.arange(len(y)) % parts
    for number in range(parts):
        out = part == number
        found[out] = _losses(contract, x[out], y[out], _fit(contract, x[~out], y[~out]))
    return found
