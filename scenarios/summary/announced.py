"""The protocol of a run, for an exchange to be agreed on: public facts alone.

An exchange carries out what was settled with each owner alone at its own table, and with noise from
a secure source. So everything that training is made of is written out to the last bit: how records
are encoded and clipped, the mechanism, the plan, who answers with what weight, budget and payment.
What cannot be exchanged is named by the key that it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from learning.errors import InputError
from learning.losses.losses import LOSSES
from learning.phrases import format_value
from learning.privacy.l2 import L2, WIDEST
from learning.training.aggregation import MEAN
from learning.training.algorithms import ALGORITHMS
from scenarios.run import Run
from scenarios.schema.fields import quote_choices
from scenarios.tables.described import described_columns

FORMAT = "dpmarket protocol 2"
LARGEST = 1000  # parameters: the scale of so many is written in 25 MB


def make_protocol(run: Run, content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The content of protocol.json; None where nothing is asked of anybody.

    Parameters
    ----------
    run: the run.
    content: its result, as result.json has it.

    Returns
    -------
    dict with ``list_unsupported``, a list of {key, rule, found, remedy}; where that is empty, with
    everything that a contract says
        but for what happens when an owner is missing.
    """
    if not run.asks:
        return None
    why: list[InputError] = list_unsupported(run)
    told: dict[str, Any] = {}
    if not why:
        try:
            told = training_part(run) | market_part(run, content)
        except InputError as error:  # the table, which is looked at once more, is gone or another: no reason to lose a run
            why = [error]
    head = {
        "format": FORMAT,
        "program": version("dpmarket"),
        "title": run.scenario.title,
        "scenario_sha256": content["scenario_sha256"],
    }
    refused = [
        {"key": e.key, "rule": e.rule, "found": str(e.found), "remedy": e.remedy} for e in why
    ]
    return head | {"unsupported": refused} | told


def training_part(run: Run) -> dict[str, Any]:
    """Encoding, clipping, questions and noise of the training."""
    planner = run.planner
    epsilon = run.epsilon
    plan = planner.forecast.plan(epsilon)
    coordinates = planner.coordinates
    law = planner.mechanism_at(epsilon).training_mechanism
    return {
        "remark": run.scenario.data.unit,
        "columns": described_columns(run.data, run.scenario),
        "loss": {"name": coordinates.loss.name} | asdict(coordinates.loss),
        "bounds": {
            "start": coordinates.centre.tolist(),
            "scale": coordinates.transform.tolist(),
            "radius": float(coordinates.radius),
            "target_bound": finite_or_none(coordinates.target_bound),
            "theta_max": float(coordinates.theta_max),
            "norm": coordinates.norm,
            "clipping": coordinates.clipping,
            "rows_per_person": coordinates.rows_per_person,
        },
        "noise": {
            "name": law.name,
            "accounting": law.accounting,
            "delta": float(law.delta),
            "overlap": law.overlap,
        },
        "training": {
            "algorithm": plan.algorithm,
            "returned": plan.returned,
            "horizon": plan.horizon,
            "step_size": float(plan.step_size),
            "decline": float(
                ALGORITHMS[plan.algorithm].decline if plan.decline is None else plan.decline
            ),
            "growth": float(plan.growth),
            "answers": plan.priced,
            "regularisation": float(run.scenario.learning.regularisation),
            "steps": plan.steps.tolist(),
        },
    }


def finite_or_none(bound: float) -> float | None:
    """A bound as a contract has it: null where there is none."""
    return None if np.isinf(bound) else float(bound)


def market_part(run: Run, content: Mapping[str, Any]) -> dict[str, Any]:
    """Budgets and payments of the owners, and the forecast of the model.

    A payment is what the learner pays for all of an owner's answers, before any tax. Owners that
    sell nothing are named.
    """
    forecast = content["forecast"]
    data = run.scenario.data
    sold = run.epsilon > 0
    weights = run.weights
    paid = run.game.payments(run.epsilon)
    return {
        "records": data.source or Path(str(data.path)).name.partition(".")[0],
        "currency": run.scenario.currency,
        "owners": [
            {
                "name": name,
                "records": int(size),
                "epsilon": float(epsilon),
                "payment": float(payment),
                "weight": float(weight),
            }
            for name, size, epsilon, payment, weight in zip(
                run.data.names, run.data.sizes, run.epsilon, paid, weights, strict=True
            )
            if epsilon > 0
        ],
        "left_out": [name for name, one in zip(run.data.names, sold, strict=True) if not one],
        "forecast": {
            "kind": forecast["kind"],
            "basis": forecast["basis"],
            "relative_fitness": float(forecast["relative_fitness"]),
            "interval": [float(end) if np.isfinite(end) else None for end in forecast["interval"]],
            "optimum": float(forecast["optimum"]),
            "outside": float(content["outside_option"]["relative_fitness"]),
        },
    }


def list_unsupported(run: Run) -> list[InputError]:
    """Obstacles to an exchange of a run, by key of the scenario; none where there are none."""
    return [
        InputError(*one)
        for part in (_market_obstacles, _training_obstacles, _noise_obstacles)
        for one in part(run)
    ]


def _market_obstacles(run: Run) -> Iterator[tuple[str, str, str, str]]:
    """Features of a market that an exchange does not support."""
    scenario = run.scenario
    free = [name for name, e in zip(run.data.names, run.epsilon, strict=True) if np.isinf(e)]
    if scenario.learners:
        yield (
            "learners",
            "must be left out of what is exchanged: one learner asks",
            f"{1 + len(scenario.learners)}",
            LEAVE,
        )
    if scenario.time is not None:
        found = f"{scenario.time.periods} periods"
        yield (
            "time",
            "must be left out of what is exchanged: each owner answers in one training",
            found,
            LEAVE,
        )
    if scenario.unions:
        yield (
            "unions",
            "must be left out of what is exchanged: no contract says how members divide",
            "them",
            LEAVE,
        )
    if run.planner.inputs.trust.secure:
        rule = 'must be "local" in an exchange: secure aggregation is simulated, not carried out'
        yield "trust.aggregation", rule, format_value("secure"), "Leave out [trust]."
    if run.answering is not None:
        rule = (
            "must leave out who answers otherwise than it sold: the terms of an exchange are "
            "what was sold"
        )
        yield "behaviours", rule, "such owners", "Leave them out."
    if scenario.policy.kind == "user":
        rule = (
            "must be a policy of this program in an exchange, so that all parties know what "
            "payments follow from"
        )
        yield "policy.kind", rule, format_value("user"), "Name one of this program."
    if scenario.owners.report:
        rule = "must be 0 in an exchange, in which nothing is reported before trading"
        yield "owners.report", rule, f"{scenario.owners.report:g}", LEAVE
    if free:
        rule = "must end below infinity in an exchange: nothing is released without noise"
        yield "owners.epsilon", rule, f"no noise of {free[0]}", "Lower its upper end."


def _training_obstacles(run: Run) -> Iterator[tuple[str, str, str, str]]:
    """Features of a training that an exchange does not support."""
    planner = run.planner
    width = run.data.encoder.n_parameters
    algorithm = planner.forecast.plan(run.epsilon).algorithm
    coordinates = planner.coordinates
    if planner.forecast.basis != "public":
        rule = (
            "must be above 0 in an exchange: without public rows the plan is made from the "
            "records themselves"
        )
        yield "data.public_rows", rule, "0", "Set it."
    if not coordinates.loss.linear:
        able = [name for name, loss in LOSSES.items() if loss.linear]
        rule = f"must be {quote_choices(able)} in an exchange, which trains linear models"
        yield "learning.loss", rule, format_value(coordinates.loss.name), "Set it."
    elif width > LARGEST:
        rule = (
            f"must make at most {LARGEST:,} parameters in an exchange: their scale would not "
            "fit into a contract"
        )
        yield "data.features", rule, f"{width:,}", "Name fewer, or set data.components."
    if not ALGORITHMS[algorithm].aggregates:
        able = [name for name, one in ALGORITHMS.items() if one.aggregates]
        rule = f"must be {quote_choices(able)} in an exchange, whose owners all answer in a round"
        yield "learning.algorithm", rule, format_value(algorithm), "Set it."
    if planner.inputs.settings.aggregation != MEAN:
        observed = run.scenario.learning.weights == "observed"
        found = format_value("observed") if observed else planner.inputs.settings.aggregation.name
        key, rule = (
            ("weights", 'must be "size", "equal" or "precision"')
            if observed
            else ("aggregation", "must be a mean")
        )
        yield f"learning.{key}", f"{rule} in an exchange", found, LEAVE


def _noise_obstacles(run: Run) -> Iterator[tuple[str, str, str, str]]:
    """Noise and gradients that cannot be released exactly."""
    planner = run.planner
    width = run.data.encoder.n_parameters
    plan = planner.forecast.plan(run.epsilon)
    coordinates = planner.coordinates
    law = planner.mechanism_at(run.epsilon).training_mechanism
    if coordinates.given_bound is not None:
        rule = "must be left out in an exchange: noise is scaled to what is proved"
        yield "learning.gradient_bound", rule, f"{coordinates.given_bound:g}", LEAVE
    elif planner.inputs.trust.secure:
        return  # of noise in parts nothing else is known
    elif law.release_budget(1.0, plan.priced) is None:
        how = RELEASED.get(law.name)
        accounted = how not in (None, law.accounting)
        key, able = (
            ("accounting", format_value(how))
            if accounted
            else ("mechanism", quote_choices(list(RELEASED)))
        )
        rule = f"must be {able} in an exchange, whose noise OpenDP's own map confirms"
        remedy = f"Set it to {able}" + (
            ", and leave out learning.delta." if how == "basic" else "."
        )
        yield (
            f"learning.{key}",
            rule,
            format_value(law.accounting) if accounted else law.label,
            remedy,
        )
    elif law.name == L2.name and width > WIDEST:
        rule = (
            "must be noise that is drawn number by number in an exchange of more than "
            f"{WIDEST} parameters"
        )
        remedy = 'Set mechanism = "gaussian" or "laplace", or fewer data.components.'
        yield "learning.mechanism", rule, f"{format_value(law.name)} on {width}", remedy
    if np.isinf(coordinates.theta_max):
        rule = (
            'must be "optimal" or a number in an exchange: nothing is answered at a point '
            "that no ball holds"
        )
        yield "learning.theta_max", rule, format_value("none"), LEAVE
    if coordinates.loss.linear and not (coordinates.loss.quadratic or coordinates.clips_gradients):
        rule = (
            f'must be "record" in an exchange with loss {format_value(coordinates.loss.name)}: '
            "each gradient is clipped by itself"
        )
        yield (
            "learning.clipping",
            rule,
            format_value(coordinates.clipping),
            'Set clipping = "record".',
        )


LEAVE = "Leave it out."
RELEASED = {
    "laplace": "basic",
    "gaussian": "zcdp",
    "l2": "basic",
}  # mechanism -> its accounting that exact noise confirms
