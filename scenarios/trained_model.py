"""A trained model in the hand: its predictions of a table's rows, and its claims."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.calls import check_arguments
from learning.cells import TRUTH, as_text
from learning.errors import InputError
from learning.extras import check_extra
from scenarios.model_file import HandedOver, from_json
from scenarios.tables.reading import texts


class TrainedModel:
    """A trained model, used as those of scikit-learn are.

    It has `predict`, `decision_function`, ``coef_`` and ``intercept_``.

    Parameters
    ----------
    made: the model with its labels and claims, as model.json holds it.
    """

    def __init__(self, made: HandedOver) -> None:
        self.made = made

    @classmethod
    @check_arguments
    def read(cls, path: str | Path) -> TrainedModel:
        """Read the model in a model.json, of a run or of an exchange.

        Raises
        ------
        InputError
            If it is not whole.
        """
        return cls(from_json(Path(path)))

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.made.model.encoder.target.name

    @property
    def columns(self) -> list[str]:
        """The columns that it looks at; all others are passed over."""
        encoder = self.made.model.encoder
        return [*encoder.numbers.names, *encoder.categories.names]

    @property
    def coef_(self) -> pd.Series:
        """Effect of one more unit of each column, on the table's own scale."""
        return pd.Series(self._linear()[0], name=self.target, dtype=float)

    @property
    def intercept_(self) -> float:
        """Prediction where all columns are 0 and every category is the first."""
        return self._linear()[1]

    @property
    def claims(self) -> pd.DataFrame:
        """Privacy claims of the model, a row for each owner that answered under noise.

        Claims of a run are of a simulation: its noise came from a seed, and another training of the
        same run would spend again. Those of an exchange are not (``simulation`` is false). Of
        owners that answered without noise, and where the plan was made from the records themselves,
        see ``made``.
        """
        if not self.made.claims:
            return pd.DataFrame()
        return pd.DataFrame(list(self.made.claims)).set_index("party")

    @property
    def holdout(self) -> Mapping[str, Any] | None:
        """Its error on rows that nobody trained on, or None where no such rows were held out.

        It is the mean squared error, or the share of labels that the model gets wrong.
        """
        return self.made.holdout

    @check_arguments
    def decision_function(self, frame: pd.DataFrame) -> pd.Series:
        """The score of each row: above 0 for the second label, or the predicted number.

        Parameters
        ----------
        frame: the rows, with the columns of the table that it was trained on; missing cells count
            as the public fill.

        Raises
        ------
        InputError
            If a column is missing.
        """
        said = self.made.model.predict(self._read(frame), len(frame))
        return pd.Series(said, index=frame.index, name=self.target)

    @check_arguments
    def predict(self, frame: pd.DataFrame) -> pd.Series:
        """The predicted target of each row: a number, or one of the table's two labels."""
        said = self.decision_function(frame)
        labels = self.made.labels
        if labels is None:
            return said
        found = np.where(said >= 0, labels[1], labels[0])
        return pd.Series(found, index=frame.index, name=self.target)

    def to_sklearn(self) -> Any:
        """A fitted estimator of scikit-learn, for its tools of inspection and its metrics.

        Its ``fit`` does nothing: another training would ask the owners again.
        """
        check_extra("to_sklearn", "sklearn", "sklearn")
        from scenarios.sklearn_model import estimator

        return estimator(self)

    def _linear(self) -> tuple[dict[str, float], float]:
        found = self.made.model.coefficients()
        if found is None:
            what = f"a {self.made.model.loss.name}"
            if self.made.model.encoder.expansion is not None:
                what = "a model on splines, bins, products or a kernel"
            raise AttributeError(f"{what} has no coefficients of the columns: predict with it")
        return found

    def _read(self, frame: pd.DataFrame) -> dict[str, np.ndarray]:
        """Columns as they were read for training: floats, or texts without blanks at their ends."""
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            found = f"no {', '.join(map(repr, missing[:5]))}" + " ..." * (len(missing) > 5)
            raise InputError("predict", "needs every column that the model uses", found)
        encoder = self.made.model.encoder
        numbers = {name: _read_floats(frame[name]) for name in encoder.numbers.names}
        return numbers | {name: _read_texts(frame[name]) for name in encoder.categories.names}

    def __repr__(self) -> str:
        made = self.made
        said = "from public rows alone"
        if made.asked:
            noisy = len(made.asked) - len(made.unprotected)
            said = f"from the answers of {len(made.asked)} owners, {noisy} of them under noise"
        kind = f"{made.model.loss.name} model of {self.target!r}"
        return f"<{kind}, {len(made.model.theta)} parameters, {said}>"


def _read_texts(cells: pd.Series) -> np.ndarray:
    """Texts as a table has them: a whole number without a decimal point."""
    if pd.api.types.is_float_dtype(cells.dtype):
        cells = cells.map(as_text, na_action="ignore").astype(object)
    return texts(cells)


def _read_floats(cells: pd.Series) -> np.ndarray:
    """Numbers, NaN where a cell is none or infinite; true and false count as 1 and 0."""
    if cells.dtype == object or pd.api.types.is_string_dtype(cells.dtype):
        cells = cells.map(lambda cell: TRUTH.get(str(cell).strip(), cell))
    found = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isfinite(found), found, np.nan)
