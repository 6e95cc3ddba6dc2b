"""The learner's check of trained models on its public rows, against guessing and its own model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.forecast.public_sample import PublicSample

FOLDS = 5
CLEAR = 3.0  # standard errors


@dataclass(frozen=True)
class PublicCheck:
    """Masks of trained models whose mean loss on the public rows is clearly higher than another's.

    Parameters
    ----------
    records : number of public rows.
    worse_than_guessing : mask (runs,) of those worse than the best one answer for every row.
    worse_than_own : mask (runs,) of those worse than the learner's own model on rows left out of
        its fit.
    """

    records: int
    worse_than_guessing: NDArray[np.bool_]
    worse_than_own: NDArray[np.bool_]

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Mask of the models that are worse than either, (runs,): none is handed over."""
        return self.worse_than_guessing | self.worse_than_own


def check_on_public_rows(sample: PublicSample, theta: Array) -> PublicCheck | None:
    """Compare trained models, (runs, p), with guessing and the learner's own on the public rows.

    Models are made of noisy answers, so the check costs no further privacy.

    Returns
    -------
    The masks; None where a prediction is not theta'x.

    Source: ours; paired z-tests. The learner's own model is fitted anew without each fifth of rows.
    """
    if not sample.loss.linear:
        return None
    lost = _losses(sample, sample.x, theta)
    constant = np.ones((sample.n_records, 1))
    answer, _ = sample.fit(constant, sample.y)
    guessing = _losses(sample, constant, answer[None])
    return PublicCheck(
        sample.n_records,
        is_clearly_higher(lost, guessing),
        is_clearly_higher(lost, losses_left_out(sample)),
    )


def is_clearly_higher(lost: Array, other: Array) -> NDArray[np.bool_]:
    """Test whether mean losses (runs, n) exceed those of another model, (n,), clearly.

    The mean difference over rows must be above `CLEAR` of its standard errors.

    >>> lost = np.array([[2.0, 3.0, 2.5, 3.5], [0.0, 9.0, 1.0, 1.0]])
    >>> is_clearly_higher(lost, np.ones(4)).tolist()
    [True, False]
    """
    found = lost - other
    std_error = found.std(axis=-1, ddof=1) / np.sqrt(found.shape[-1])
    return np.asarray(found.mean(axis=-1) > CLEAR * std_error)


def _losses(sample: PublicSample, x: Array, theta: Array) -> Array:
    """Loss of each row under models theta (runs, p), (runs, n)."""
    return np.asarray(sample.loss.value(sample.loss.scores(x, sample.y, theta)))


def losses_left_out(sample: PublicSample) -> Array:
    """Loss of each row, (n,), under the learner's own model of the rows outside its fold."""
    fold = np.arange(sample.n_records) // sample.targets % FOLDS
    models = np.stack(
        [sample.fit_model(sample.x[fold != k], sample.y[fold != k]) for k in range(FOLDS)]
    )
    return _losses(sample, sample.x, models)[fold, np.arange(sample.n_records)]
