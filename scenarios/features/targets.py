"""Several targets: a model for each from the same features, by one answer of every owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from learning.arrays import Array
from learning.data.encoding import Encoder, Target
from learning.data.targets import SeveralTargets
from learning.errors import InputError
from learning.losses.loss import FreshRecords
from learning.losses.losses import LOSSES
from learning.phrases import format_value
from learning.training.model import Model
from scenarios.features.base import Feature, Topic
from scenarios.schema.fields import quote_choices

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

SQUARED = "squared"
ONE_ONLY = "because it looks at one target only"
NEEDED = {"loss": SQUARED, "algorithm": "one_step", "mechanism": "gaussian", "start": "public"}


class MoreTargets(Feature):
    """Further columns to predict, of which each owner's one answer tells, too."""

    key = "data.more_targets"
    title = "data.more_targets"
    example = (
        "data.more_targets=['other']",
        *(f"learning.{key}={value}" for key, value in NEEDED.items()),
        "learning.delta=1e-6",
    )
    result = "targets"
    sentence = (
        "{% set targets = result.get('targets') %}{% if targets %}"
        "One answer of each owner tells of {{ targets | length }} targets, each with a model of "
        "its own; errors are added up in units of each one's public spread. "
        "{% for one in targets %}{% if one.trained is not none %}"
        "{{ one.name }}: root mean squared error {{ one.trained | number }}, the learner's own "
        "model {{ one.outside | number }}, the best {{ one.best_of_kind | number }}. "
        "{% endif %}{% endfor %}{% endif %}"
    )
    topic = Topic("model", 13)
    excludes = {
        "learners": ONE_ONLY,
        "gossip": ONE_ONLY,
        "trust": ONE_ONLY,
        "audit": ONE_ONLY,
        "personal": ONE_ONLY,
        "go": ONE_ONLY,
        "time": ONE_ONLY,
        "contributions": ONE_ONLY,
        "withdrawal": ONE_ONLY,
        "malicious": ONE_ONLY,
        "sizes": ONE_ONLY,
        "owners.report": ONE_ONLY,
        "owners.benefit": ONE_ONLY,
        "behaviours.dishonest": ONE_ONLY,
        "data.person": "because its noise protects one record",
    }

    def check(self, scenario: Scenario) -> None:
        """Refuse other ways to train, and rows that need not be of one kind."""
        learning, data = scenario.learning, scenario.data
        for key, value in NEEDED.items():
            found = getattr(learning, key)
            if found != value:
                rule = f"must be {quote_choices([value])} with {self.title}"
                raise InputError(f"learning.{key}", rule, format_value(found), "Set it.")
        worth = scenario.learner.worth
        left_out = {
            "learning.features": learning.features,
            "data.check_rows": data.check_rows,
            "data.owner": data.owner,
            "learner.value.per": worth and worth.per,
        }
        for key, given in left_out.items():
            if given:
                rule = f"must be left out with {self.title}, {ONE_ONLY}"
                raise InputError(key, rule, format_value(given))
        if data.order != "shuffled":
            rule = f'must be "shuffled" with {self.title}, whose owners are of one kind'
            raise InputError("data.order", rule, format_value(data.order))

    def facts(self, run: Run, loop: Loop) -> list[dict[str, Any]]:
        """Errors of each target's models in its own units, and the model handed over.

        Returns
        -------
        targets[].name : A column to predict, `data.target` first; targets is null where it is the
            only one.
        targets[].spread : Its standard deviation in the public rows, its unit in every sum over
            targets.
        targets[].trained : Root mean squared error of its trained models, over all trainings, on
            the rows that `errors.measured` is of; null without training.
        targets[].outside : The same of the learner's own model.
        targets[].best_of_kind : The same of the best model.
        targets[].constant : The same of its mean over those rows.
        targets[].model.coefficients : Effect of a unit of each column on the prediction, in the
            model of the first training; null without training.
        targets[].model.intercept : Its prediction where all columns are 0.
        """
        models = {
            "trained": None if run.trained is None else run.theta,
            "outside": run.planner.own_model[None],
            "best_of_kind": run.data.fitness.minimiser[None],
        }
        handed_over = run.trained is not None and bool(run.asks)
        return [
            {
                "name": one.target.name,
                "spread": one.spread,
                **{name: one.error(theta) for name, theta in models.items()},
                "constant": one.spread * float(one.rows.baseline_error(run.data.loss)) ** 0.5,
                "model": one.tell_model(run.theta[0]) if handed_over else None,
            }
            for one in each_target(run)
        ]


@dataclass(frozen=True)
class OneTarget:
    """One of several targets.

    Parameters
    ----------
    target : the target, in its own units.
    spread : its standard deviation in the public rows.
    encoder : the encoder of a row's features.
    place : the parameters of its model among those of all.
    rows : its rows, on which models are tried, in units of its spread.
    """

    target: Target
    spread: float
    encoder: Encoder
    place: slice
    rows: FreshRecords

    def error(self, theta: Array | None) -> float | None:
        """Root mean squared error of models (runs, k p), in its units; None without any."""
        if theta is None:
            return None
        return self.spread * self.rows.error(LOSSES[SQUARED], theta[:, self.place]) ** 0.5

    def tell_model(self, theta: Array) -> dict[str, Any]:
        """Coefficients and intercept of its model, by the parameters of all, (k p,)."""
        encoder = replace(self.encoder, target=self.target)
        model = Model(encoder, LOSSES[SQUARED], self.spread * theta[self.place])
        told = model.coefficients()
        assert told is not None
        return {"coefficients": told[0], "intercept": told[1]}


def each_target(run: Run) -> Iterator[OneTarget]:
    """Take the targets of a run apart, with the rows that its errors are measured on."""
    data = run.data
    encoder = data.encoder
    assert isinstance(encoder, SeveralTargets)
    parts: Sequence[Any] = [data.holdout] if data.holdout else data.known
    x, y = (np.concatenate([getattr(one, name) for one in parts]) for name in "xy")
    width = encoder.one.n_parameters
    for number, (target, spread) in enumerate(
        zip(encoder.each, encoder.spreads.tolist(), strict=True)
    ):
        place = slice(number * width, (number + 1) * width)
        own = x[:, place.stop - 1] == 1  # the constant of the target's own rows
        low, high = target.ends
        rows = FreshRecords(x[own, place], y[own], (low / spread, high / spread))
        yield OneTarget(target, spread, encoder.one, place, rows)
