"""A trained model to hand over: the public facts that code a row, and a vector of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.encoding import Encoder
from learning.data.feature_names import coded_names
from learning.losses.loss import Loss


@dataclass(frozen=True)
class Model:
    """Parameters of a training, and the encoder and loss to use them; it holds no record.

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
        """Predict the target of each row, or the score of its positive label, (n_rows,).

        A number beyond the target's public range counts as the nearest end of that range.

        Parameters
        ----------
        columns: name -> (n_rows,), floats, NaN where missing, of columns of numbers; texts, None
            where missing, of others. Numbers outside the public ranges count as their nearest end,
            as in training.
        n_rows: number of rows.
        """
        x, _ = self.encoder.encode(columns, np.arange(n_rows))
        said = self.loss.predicted(x, self.theta[None])[0] + self._offset
        if self.loss.labels:
            return said
        return np.clip(said, self.encoder.target.low, self.encoder.target.high)

    def coefficients(self) -> tuple[dict[str, float], float] | None:
        """Effect of one more unit of each column, and the intercept where all columns are 0.

        In units of the target, or of the score for labels; a category counts against the first one
        of its column. Effects hold within the public ranges. None for a loss whose model is not
        linear, and for features whose effects are not the same everywhere, such as splines.

        Numbers enter as 2 (v - low)/(high - low) - 1, so that a coefficient is 2 theta/(high -
        low); components are combinations of standardised columns, whose coefficients are added up.
        """
        encoder = self.encoder
        if not self.loss.linear or encoder.expansion is not None:
            return None
        slopes = self.theta[:-1]
        intercept = float(self.theta[-1])
        if encoder.components is not None:
            slopes = slopes @ encoder.components.axes / encoder.components.spread
            intercept -= float(slopes @ encoder.components.centre)
        low = encoder.numbers.low
        high = encoder.numbers.high
        per_unit = 2 * slopes[: len(low)] / (high - low)
        intercept -= float(per_unit @ (low + high) / 2)
        slopes = np.concatenate([per_unit, slopes[len(low) :]])
        by_name = dict(zip(coded_names(encoder), slopes.tolist(), strict=True))
        return by_name, intercept + self._offset

    @property
    def _offset(self) -> float:
        """Public centre of a numeric target; 0 for labels."""
        return 0.0 if self.loss.labels else self.encoder.target.centre
