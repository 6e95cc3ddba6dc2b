"""The learner's own rows: a pilot study that costs no privacy; its model, and what a model from so many rows misses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.errors import InputError
from learning.losses.coordinates import Coordinates, whitening
from learning.losses.loss import Loss
from learning.losses.losses import as_loss
from learning.losses.protocols import TrainingCost
from learning.losses.squared import Squared

REFERENCE = 1.06  # times spread and n^(-1/5): width of the kernel that shows a normal density best
NARROWEST = 1e-3  # width, where all scores are alike
ROWS_PER_PARAMETER = 5  # with fewer, the public model's own error is forecast far too high


@dataclass(frozen=True)
class PublicSample:
    """The learner's own rows: a pilot study that costs no privacy.

    Residuals of squared loss are inflated by sqrt(n/(n-p)) (the HC1 correction): a model fitted on few rows looks better
    on them than it is. Labels are taken as they are.

    Parameters
    ----------
    x : array (n, p), encoded features.
    y : array (n,), encoded target.
    regularisation : r >= 0.
    loss : the loss trained, or its name.
    owner : array (n,), the name of whose row each is; None where the rows do not tell.
    drawn : whether the rows are known to be a random sample of all records, as they are where rows are shuffled.
    with_kinks : the same rows under the loss itself, where ``loss`` is a smoothed one.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    regularisation: float = 0.0
    loss: Loss = Squared()
    owner: NDArray[np.str_] | None = field(default=None, repr=False)
    drawn: bool = True
    with_kinks: PublicSample | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        rows, width = self.x.shape
        if rows < ROWS_PER_PARAMETER * width:
            raise InputError(
                "data.public_rows",
                f"must be {ROWS_PER_PARAMETER} per encoded column or more, "
                f"{ROWS_PER_PARAMETER * width} here: fewer make no forecast",
                rows,
                "Add public rows, or take fewer features or components.",
            )

    @property
    def n_records(self) -> int:
        return len(self.y)

    def fit(self, x: Array, y: Array) -> tuple[Array, float]:
        """The model of least training cost on some rows, and that cost."""
        return self.loss.fit(x, y, self.regularisation)

    @cached_property
    def model(self) -> Array:
        """The outside option theta_pub, (p,)."""
        return self.fit(self.x, self.y)[0]

    def population(self) -> tuple[Array, Array]:
        """The rows as a population (x, y) whose residuals have the size they would have on fresh records."""
        if self.loss.labels:
            return self.x, self.y
        rows, width = self.x.shape
        fitted = self.x @ self.model
        return self.x, fitted + np.sqrt(rows / (rows - width)) * (self.y - fitted)

    @cached_property
    def fitness(self) -> TrainingCost:
        """The training cost of that population."""
        return self.loss.fitness([self.population()], self.regularisation)

    @cached_property
    def hessian(self) -> Array:
        """Hessian of the mean squared loss, 2 X'X/n, (p, p), without the penalty."""
        return np.asarray(2 * (self.x.T @ self.x) / len(self.y))

    @cached_property
    def truth(self) -> Array:
        """The optimum of that population, (p,); it is the model itself when nothing is regularised, or with labels."""
        return self.fitness.minimiser if self.loss.quadratic else self.model

    @cached_property
    def smoothed(self) -> PublicSample:
        """The same rows as a population of many records shows them: under a loss whose kinks are smoothed.

        A mean over few records has few kinks, and neither its curvature nor what descent along them gains is that of a mean
        over many. Scores are moved by errors as wide as a kernel that shows their density, 1.06 times their spread within
        a label times n^(-1/5); what smoothing adds to the smallest cost is taken off, so that f* stays. Where a loss has no
        kinks, the sample itself.

        Source: Horowitz, Bootstrap Methods for Median Regression Models (a smoothed loss is resampled); Silverman, Density
        Estimation, 3.28 (the width).
        """
        if not self.loss.kinked:
            return self
        shown = self.loss.scores(self.x, self.y, self.model)
        within = np.concatenate([shown[self.y == label] - shown[self.y == label].mean() for label in np.unique(self.y)])
        width = max(REFERENCE * float(within.std()) * self.n_records ** (-1 / 5), NARROWEST)
        _, least = self.fit(self.x, self.y)
        _, lifted = self.loss.smoothed(width).fit(self.x, self.y, self.regularisation)
        return replace(self, loss=self.loss.smoothed(width, lifted - least), with_kinks=self)

    def scale(self, moments: Array, precondition: bool) -> Array:
        """W, (..., p, p): whitening by second moments of rows, or the identity; a network's parameters stay as they are."""
        if precondition and not self.loss.clips_gradients:
            return whitening(moments)
        width = len(self.model)
        return np.broadcast_to(np.eye(width), (*moments.shape[:-2], width, width))

    def coordinates(self, start: str, precondition: bool, norm: int = 1) -> Coordinates:
        """Start ("public" or "zero"), scale and norm; bounds are chosen later."""
        centre = self.model if start == "public" else np.zeros(len(self.model))
        return Coordinates(centre, self.scale(self.x.T @ self.x / len(self.y), precondition), norm=norm, loss=self.loss)


def dispersion(x: Array, y: Array, model: Array) -> float:
    """C = tr(H^-1 Sigma_g)/2 of squared loss: a model from m fresh rows costs C/m more than the best, on average.

    C = mean of residual^2 x'(X'X/n)^-1 x, since H = 2 X'X/n and g = -2 residual x.
    """
    inverse = np.linalg.pinv(x.T @ x / len(y), hermitian=True)
    leverage = np.sum(x @ inverse * x, axis=1)
    return float(np.mean((y - x @ model) ** 2 * leverage))


def curved_dispersion(loss: Loss, x: Array, y: Array, model: Array, regularisation: float) -> float:
    """The same, C = tr(H^-1 Sigma_g)/2, of any loss at its best model (p,); 1 of one without a second derivative."""
    if loss.second_derivative(np.zeros(1)) is None:
        return 1.0
    score = loss.scores(x, y, model)
    curvature = loss.second_derivative(score)
    hessian = (x * curvature[:, None]).T @ x / len(y) + regularisation * np.eye(x.shape[1])
    gradients = loss.derivative(score)[:, None] * (y[:, None] * x if loss.labels else x)
    spread = np.cov(gradients, rowvar=False, bias=True)  # the penalty moves every record's gradient alike
    return 0.5 * float(np.trace(np.linalg.pinv(hessian) @ spread))
