"""The trained model as a fitted estimator of scikit-learn, which must be installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class _Fitted(BaseEstimator):
    """Regressor or classifier of a trained model; X is a frame with the table's columns.

    Parameters
    ----------
    model: the `scenarios.trained_model.TrainedModel`.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def feature_names_in_(self) -> np.ndarray:
        return np.array(self.model.columns, dtype=object)

    @property
    def n_features_in_(self) -> int:
        return len(self.model.columns)

    @property
    def coef_(self) -> np.ndarray:
        return self.model.coef_.to_numpy()

    @property
    def intercept_(self) -> float:
        return self.model.intercept_

    def fit(self, X: Any, y: Any = None) -> _Fitted:
        """Does nothing: it is fitted, and another training would ask the owners again."""
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """The predicted target of each row."""
        return self.model.predict(X).to_numpy()

    def __sklearn_is_fitted__(self) -> bool:
        return True


class FittedRegressor(RegressorMixin, _Fitted):
    """A model of numbers."""


class FittedClassifier(ClassifierMixin, _Fitted):
    """A model of two labels."""

    @property
    def classes_(self) -> np.ndarray:
        return np.array(self.model.made.labels, dtype=object)

    def decision_function(self, X: pd.DataFrame) -> np.ndarray:
        """The score of each row, above 0 for the second class."""
        return self.model.decision_function(X).to_numpy()


def estimator(model: Any) -> FittedRegressor | FittedClassifier:
    """The estimator of a trained model."""
    if model.made.labels is None:
        return FittedRegressor(model)
    return FittedClassifier(model)
