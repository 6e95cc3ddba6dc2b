"""A trained model as it is handed over: the public facts that code a row, and one vector of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.encoding import Encoder
from learning.losses.loss import Loss


@dataclass(frozen=True)
class Model:
    """What a training returned, together with all that it takes to use it on other rows; no record is in it.

    Parameters
    ----------
    encoder: the public ranges, categories and components that rows are coded with.
    loss: the loss that was trained.
    theta: array (n_parameters,), on the coded features, or as the loss packs them.
    """

    encoder: Encoder
    loss: Loss
    theta: Array = field(repr=False)

    def predict(self, columns: Mapping[str, NDArray], n_rows: int) -> Array:
        """The target of each row where it is a number; else its score, above 0 for the positive label; (n_rows,).

        Parameters
        ----------
        columns: name -> (n_rows,), floats, NaN where missing, of columns of numbers; texts, None where missing, of others.
            Numbers outside the public ranges count as their nearest end, as in training.
        n_rows: how many rows there are.
        """
        x, _ = self.encoder.encode(columns, np.arange(n_rows))
        said = self.loss.predicted(x, self.theta[None])[0]
        return np.asarray(said if self.loss.labels else said + self.encoder.target.centre)

    def coefficients(self) -> tuple[dict[str, float], float] | None:
        """What one more unit of each column adds, on the scale of the table; and the intercept, where all of them are 0.

        In units of the target where it is a number, else of the score; a category counts against the first one of its
        column. It holds within the public ranges. None of a loss whose model is not linear.

        Numbers enter as 2 (v - low)/(high - low) - 1, so that a coefficient is 2 theta/(high - low); components are
        combinations of standardised columns, and their coefficients are added up over them.
        """
        if not self.loss.linear:
            return None
        encoder, slopes, intercept = self.encoder, self.theta[:-1], float(self.theta[-1])
        if encoder.components is not None:
            slopes = slopes @ encoder.components.axes / encoder.components.spread
            intercept -= float(slopes @ encoder.components.centre)
        low, high = encoder.numbers.low, encoder.numbers.high
        scaled = slopes[: len(low)]
        per_unit = 2 * scaled / (high - low)
        intercept -= float(per_unit @ (low + high) / 2)
        names = (*encoder.numbers.names, *encoder.categories.coded_names)
        found = dict(zip(names, [*per_unit.tolist(), *slopes[len(low) :].tolist()], strict=True))
        return found, intercept + (0.0 if self.loss.labels else encoder.target.centre)
