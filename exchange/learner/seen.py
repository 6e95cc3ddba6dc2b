"""The learner's own check of the model: its error on the learner's own rows, and the forecast.

The learner's own model was fitted to its public rows, and looks better on them than it is. So it is
also cross-validated: fitted anew without each row, or of many rows without each tenth, and judged
on the rows left out; the model that was bought meets the same rows. The rows also shaped the plan
(the start, the scale, the ranges); that favours neither of the two by much, and is not undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exchange.contract import Contract
from exchange.owner.table import Records, read_table
from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.own_check import Seen, fitness_gain
from learning.losses.losses import LOSSES

PARTS = 10  # parts that are left out in turn
LEAST = 20  # rows from which a standard error is meaningful
ALONE = 100  # rows up to which each is left out alone
WIDE = 3.0  # standard errors by which a forecast's interval is widened
TOLERANCE = 1e-6  # relative, of two models that count as the same


@dataclass(frozen=True)
class OwnRows:
    """Findings on the learner's own rows.

    Parameters
    ----------
    rows: number of rows.
    kept_aside: whether they had no part in anything that was agreed, as the learner says.
    start_fits: whether the learner's own model is the fit of these rows; None where the learner
        starts from no model.
    better: by how much relative fitness the model is better than the learner's own on these rows.
    crossed: the same by cross-validation of the learner's own model; None of rows that it was not
        fitted to.
    forecast: by how much it was forecast to be better.
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
        """The fairer of the two gains."""
        return self.crossed or self.better

    @property
    def agrees(self) -> bool:
        """True if the gain lies in the forecast's interval widened by 3 standard errors."""
        low, high = self.interval
        room = WIDE * self.judged.std_error
        seen = self.judged.relative_fitness
        return (low is None or seen >= low - room) and (high is None or seen <= high + room)


def judge_on_own_rows(
    contract: Contract, theta: Array, x: Array, y: Array, *, kept_aside: bool = False
) -> OwnRows:
    """Compare a model with the learner's own on rows of the learner, encoded by the contract.

    Parameters
    ----------
    theta: array (p,), the model's parameters.
    x: array (n, p).
    y: array (n,).
    kept_aside: whether the rows had no part in the contract.

    Raises
    ------
    InputError
        If there are too few rows, or the best possible error, in units of which errors are counted,
        is not above 0; if the model has another shape than the contract's; if the learner starts
        from no model and gives only rows kept aside.
    """
    start = contract.coordinates.centre
    started = bool(np.any(start))
    _check_rows(contract, theta, y, "--aside" if kept_aside else "--public")
    if kept_aside and not started:
        rule = "needs the learner's own model to compare with"
        remedy = "Name the rows that the learner's own model is fitted to, as --public."
        raise InputError("--aside", rule, "none", remedy)
    promise = contract.forecast
    fit = _fit_rows(contract, x, y)
    lost = _row_costs(contract, x, y, theta)
    own = start if started else fit
    better = fitness_gain(_row_costs(contract, x, y, own), lost, promise.optimum)
    fits = bool(np.allclose(own, fit, rtol=TOLERANCE, atol=TOLERANCE)) if started else None
    crossed = None
    if not kept_aside and fits is not False:
        crossed = fitness_gain(_cross_validate(contract, x, y), lost, promise.optimum)
    high, low = (None if end is None else promise.outside - end for end in promise.interval)
    forecast = promise.outside - promise.relative_fitness
    return OwnRows(len(y), kept_aside, fits, better, crossed, forecast, (low, high))


def _check_rows(contract: Contract, theta: Array, y: Array, option: str) -> None:
    if len(y) < LEAST:
        rule = f"must hold at least {LEAST} rows, since fewer show nothing"
        raise InputError(option, rule, len(y))
    if not contract.forecast.optimum > 0:
        rule = "must be above 0 because errors are fractions of it"
        remedy = "Leave --public and --aside out."
        raise InputError("forecast.optimum", rule, contract.forecast.optimum, remedy)
    width = len(contract.bounds.start)
    if theta.shape != (width,) or not np.isfinite(theta).all():
        raise InputError("model", f"must have {width} finite parameters", f"{theta.size}")


def _fit_rows(contract: Contract, x: Array, y: Array) -> Array:
    """Fit the learner's model to rows."""
    return LOSSES[contract.loss.name].fit(x, y, contract.training.regularisation)[0]


def _row_costs(contract: Contract, x: Array, y: Array, theta: Array) -> Array:
    """Training cost of each row under a model, (n,), with the penalty."""
    loss = LOSSES[contract.loss.name]
    penalty = 0.5 * contract.training.regularisation * float(theta @ theta)
    return np.asarray(loss.value(loss.scores(x, y, theta)) + penalty, dtype=float)


def _cross_validate(contract: Contract, x: Array, y: Array) -> Array:
    """Training cost of each row under the model of the rows outside its part, (n,).

    The parts are single rows, or tenths: of few rows the tenths would depend on their order.
    """
    parts = len(y) if len(y) <= ALONE else PARTS
    found = np.empty(len(y))
    part = np.arange(len(y)) % parts
    for number in range(parts):
        out = part == number
        found[out] = _row_costs(contract, x[out], y[out], _fit_rows(contract, x[~out], y[~out]))
    return found


def read_public_records(path: Path, contract: Contract, option: str) -> Records:
    """Read and encode the learner's own rows, however many.

    Parameters
    ----------
    path: as `read_own_table`.
    contract: the contract.
    option: the option that named the file, for errors.

    Raises
    ------
    InputError
        If the file is no table or lacks a column.
    """
    return read_table(path, contract, option, None).records
