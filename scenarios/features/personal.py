"""Personal models: owners combine the model that they receive with their own rows at home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from learning.errors import InputError
from learning.forecast.personal import personal_model
from learning.phrases import format_value
from learning.randomness import Streams
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.schema.fields import quote_choices

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

FOLDS = 5  # of an owner's records, on which its models are tried in turn
LOSS = "squared"


class PersonalModels(Feature):
    """Owners who use a model of their own, made of the market's and of their records."""

    key = "owners.personal"
    title = "owners.personal"
    example = ("owners.personal=true", "owners.benefit=10.0")
    result = "personal"
    sentence = "personal.txt.j2"
    topic = Topic("model", 14)
    excludes = {
        "learners": "because it cannot combine the models of several learners",
        "time": "because it supports one period only",
    }

    def check(self, scenario: Scenario) -> None:
        """Refuse personal models that nobody wants, or of another loss or unit."""
        if not scenario.owners.wants_model:
            rule = "needs owners.benefit: otherwise a better model is worth nothing to owners"
            raise InputError(self.key, rule, "no benefit", "Set owners.benefit, or leave it out.")
        if not scenario.learning.objective.quadratic:
            rule = f"must be {quote_choices([LOSS])} with {self.title}"
            found = format_value(scenario.learning.loss)
            remedy = "Change it, or leave out owners.personal."
            raise InputError("learning.loss", rule, found, remedy)
        if scenario.learner.worth is not None:
            rule = f"must be money per unit of relative fitness with {self.title}"
            raise InputError("learner.value", rule, "a table", "Give a number.")

    def check_unused(self, scenario: Scenario) -> None:
        """Refuse a spread that nothing counts."""
        spread = scenario.owners.spread
        counted = scenario.learning.objective.quadratic and scenario.data.public_rows
        if spread and not (counted and scenario.data.order == "as_is"):
            rule = 'needs owners.personal, or data.order = "as_is", public rows and squared loss'
            raise InputError("owners.spread", rule, f"{spread:g}", "Leave it out.")

    def facts(self, run: Run, loop: Loop) -> dict[str, Any] | None:
        """Errors of personal models, tried by cross-validation on each owner's own records.

        Returns
        -------
        personal.folds : With `owners.personal`, the parts of an owner's records that its models are
            tried on in turn, each trained on the other parts; personal is null without it, and
            where nothing is trained.
        personal.owners[].name : An owner that receives the model.
        personal.owners[].mse_own : Mean squared error of its own model on its own records.
        personal.owners[].mse_common : The same of the model that it receives (of the first
            training), to which all of its records added.
        personal.owners[].mse_personal : The same of both combined.
        """
        if run.trained is None:
            return None
        common = run.theta[0]
        rng = Streams(run.scenario.seed, "personal").rng("folds")
        having = [i for i, has in enumerate(run.has_model) if has]
        owners = [run.data.owners[i] for i in having]
        errors = np.array([try_models(one.x, one.y, common, rng=rng) for one in owners])
        names = ("mse_own", "mse_common", "mse_personal")
        columns = dict(zip(names, errors.reshape(-1, len(names)).T, strict=True))
        return {"folds": FOLDS, "owners": rows_of({"name": [o.name for o in owners]} | columns)}


def try_models(
    x: np.ndarray, y: np.ndarray, common: np.ndarray, *, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean squared error of the own, the common and the personal model on an owner's records.

    Parameters
    ----------
    x, y : arrays (n, p) and (n,), the owner's records.
    common : array (p,), the model that it received.
    rng : of the folds.
    """
    fold = rng.permutation(len(y)) % FOLDS
    errors = np.zeros((3, len(y)))
    for number in range(FOLDS):
        out = fold == number
        own = np.linalg.lstsq(x[~out], y[~out], rcond=None)[0]
        models = np.stack([own, common, personal_model(x[~out], y[~out], common, own)])
        errors[:, out] = (models @ x[out].T - y[out]) ** 2
    first, second, third = errors.mean(axis=1).tolist()
    return first, second, third
