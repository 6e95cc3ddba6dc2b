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
from learning.privacy.accounting import WIDEST
from learning.privacy.l2 import L2
from learning.privacy.mechanism import Mechanism
from learning.privacy.mechanisms import BEST
from learning.privacy.release_sums import WIDEST_MODEL, count_moments
from learning.rounding import round_payments
from learning.training.aggregation import MEAN
from learning.training.algorithms import ALGORITHMS
from scenarios.features.base import rows_of
from scenarios.run import Run
from scenarios.schema.fields import names_with, quote_choices
from scenarios.summary.forecast import step_decline
from scenarios.tables.described import described_columns

FORMAT = "dpmarket protocol 2"
LEAVE = "Leave it out."
# Accounting of each mechanism that exact noise confirms.
RELEASED = {"laplace": "basic", "gaussian": "zcdp", "l2": "basic"}
LARGEST = 1000  # parameters: the scale of so many is written in 25 MB


def make_protocol(run: Run, content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The content of protocol.json; None where nothing is asked of anybody.

    Parameters
    ----------
    run: the run.
    content: its result, as result.json has it.

    Returns
    -------
    dict with ``unsupported``, a list of {key, rule, found, remedy}. Where that is empty, the dict
    also has everything that a contract says, but for what happens when an owner is missing.
    """
    if not run.asks:
        return None
    why = list_unsupported(run)
    told: dict[str, Any] = {}
    if not why:
        try:
            told = training_part(run) | market_part(run, content) | go_part(run)
        except InputError as error:
            # The table, which is looked at once more, is gone or another: no reason to lose a run.
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
    loss = planner.coordinates.loss
    law = planner.mechanism_at(run.epsilon).training_mechanism
    return {
        "remark": run.scenario.data.unit,
        "columns": described_columns(run.data, run.scenario),
        "loss": {"name": loss.name} | asdict(loss),
        "bounds": bounds_part(run),
        "noise": {
            "name": law.name,
            "accounting": law.accounting,
            "delta": float(law.delta),
            "overlap": law.overlap,
        },
        "training": plan_part(run),
    } | sums_part(run)


def sums_part(run: Run) -> dict[str, Any]:
    """Bounds of moments and scores, where owners release sums; nothing elsewhere."""
    scores = run.planner.coordinates.scores
    return {} if scores is None else {"sums": asdict(scores)}


def go_part(run: Run) -> dict[str, Any]:
    """Rule of buying the model or not, where the learner decides; nothing elsewhere.

    The decision is that of `scenarios.features.go`, by what all parties can compute.
    """
    learner = run.scenario.learner
    if learner.go == "always":
        return {}
    worth = run.game.value / run.planner.optimum
    falls = run.possible_gains(0.0) / worth
    rule = {
        "worth": float(worth),
        "margin": float(learner.margin),
        "forecast": float(falls.mean()),
        "deviation": float(falls.std()),
        "otherwise": 0.0,
    }
    return {"go": rule}


def bounds_part(run: Run) -> dict[str, Any]:
    """Coordinates of the training, and what records and gradients are clipped to."""
    coordinates = run.planner.coordinates
    bound = float(coordinates.target_bound)
    return {
        "start": coordinates.centre.tolist(),
        "scale": coordinates.transform.tolist(),
        "radius": float(coordinates.radius),
        "target_bound": finite_or_none(bound),
        "theta_max": float(coordinates.theta_max),
        "norm": coordinates.norm,
        "clipping": coordinates.clipping,
        "rows_per_person": coordinates.rows_per_person,
    }


def plan_part(run: Run) -> dict[str, Any]:
    """Plan of the training: its rounds, steps and answers."""
    plan = run.planner.forecast.plan(run.epsilon)
    return {
        "algorithm": plan.algorithm,
        "returned": plan.returned,
        "horizon": plan.horizon,
        "step_size": float(plan.step_size),
        "decline": float(step_decline(plan)),
        "growth": float(plan.growth),
        "answers": plan.priced,
        "regularisation": float(run.scenario.learning.regularisation),
        "steps": plan.steps.tolist(),
    }


def finite_or_none(bound: float) -> float | None:
    """A bound as a contract has it: null where there is none."""
    return float(bound) if np.isfinite(bound) else None


def market_part(run: Run, content: Mapping[str, Any]) -> dict[str, Any]:
    """Budgets and payments of the owners, and the forecast of the model.

    A payment is what the learner pays for all of an owner's answers, before any tax, to the cent.
    Owners that sell nothing are named.
    """
    forecast = content["forecast"]
    data = run.scenario.data
    columns = {
        "name": run.data.names,
        "records": run.data.sizes,
        "epsilon": run.epsilon,
        "payment": round_payments(run.game.payments(run.epsilon).tolist()),
        "weight": run.weights,
    }
    owners = rows_of(columns)
    trust = run.planner.inputs.trust
    aggregation = {"aggregation": {"colluders": trust.colluders}} if trust.secure else {}
    return aggregation | {
        "records": data.source or Path(str(data.path)).name.partition(".")[0],
        "currency": run.scenario.currency,
        "owners": [owner for owner in owners if owner["epsilon"] > 0],
        "left_out": [owner["name"] for owner in owners if not owner["epsilon"] > 0],
        "forecast": {
            "kind": forecast["kind"],
            "basis": forecast["basis"],
            "relative_fitness": float(forecast["relative_fitness"]),
            "interval": [finite_or_none(end) for end in forecast["interval"]],
            "optimum": float(forecast["optimum"]),
            "outside": float(content["outside_option"]["relative_fitness"]),
        },
    }


def list_unsupported(run: Run) -> list[InputError]:
    """Obstacles to an exchange of a run, by key of the scenario; none where there are none."""
    parts = [_market_obstacles(run), _training_obstacles(run), _noise_obstacles(run)]
    if run.planner.inputs.trust.secure:
        parts.append(_aggregation_obstacles(run))
    return [InputError(*one) for part in parts for one in part]


def _market_obstacles(run: Run) -> Iterator[tuple[str, str, object, str]]:
    """Features of a market that an exchange does not support."""
    scenario = run.scenario
    free = [name for name, e in zip(run.data.names, run.epsilon, strict=True) if np.isinf(e)]
    left = "must be left out of what is exchanged"
    if scenario.learners:
        yield "learners", f"{left}: one learner asks", 1 + len(scenario.learners), LEAVE
    if scenario.learning.gossip is not None:
        rule = f"{left}: owners answer the learner, and pass nothing on"
        yield "learning.gossip", rule, scenario.learning.gossip.graph.kind, LEAVE
    if scenario.data.more_targets:
        found = f"{len(scenario.data.more_targets)} more"
        yield "data.more_targets", f"{left}: a contract names one target", found, LEAVE
    if scenario.time is not None:
        found = f"{scenario.time.periods} periods"
        yield "time", f"{left}: each owner answers in one training", found, LEAVE
    if scenario.unions:
        yield "unions", f"{left}: no contract says how members divide", "them", LEAVE
    if run.answering is not None:
        terms = "the terms of an exchange are what was sold"
        rule = f"must leave out owners who do not answer as sold: {terms}"
        yield "behaviours", rule, "such owners", "Leave them out."
    if scenario.policy.kind == "user":
        known = "so that all parties know what payments follow from"
        rule = f"must be a policy of this program in an exchange, {known}"
        yield "policy.kind", rule, format_value("user"), "Name one of this program."
    if scenario.policy.kind == "contribution":
        rule = "must be another in an exchange: answers are tried on rows that only the learner has"
        yield "policy.kind", rule, format_value("contribution"), "Name one that pays by sales."
    if scenario.learner.go != "always" and scenario.learner.worth is not None:
        rule = "must be money per unit of relative fitness in an exchange with learner.go"
        yield "learner.value", rule, "money for a unit of error", "Or leave learner.go out."
    if scenario.learner.pilot is not None:
        rule = "must be left out in an exchange, in which each owner answers once"
        yield "learner.pilot", rule, f"{scenario.learner.pilot:g}", LEAVE
    if scenario.owners.report:
        rule = "must be 0 in an exchange, because nothing is reported before trading"
        yield "owners.report", rule, f"{scenario.owners.report:g}", LEAVE
    if free:
        rule = "must end below infinity in an exchange: nothing is released without noise"
        yield "owners.epsilon", rule, f"no noise of {free[0]}", "Lower its upper end."


def _aggregation_obstacles(run: Run) -> Iterator[tuple[str, str, object, str]]:
    """Secure aggregations that an exchange does not carry out: other than of sums, once."""
    planner = run.planner
    secure = 'with trust.aggregation = "secure" in an exchange'
    law = planner.mechanism_at(run.epsilon).training_mechanism
    if planner.coordinates.scores is None:
        algorithm = planner.forecast.plan(run.epsilon).algorithm
        rule = f'must be "one_step" {secure}, which adds up sums, once'
        yield "learning.algorithm", rule, format_value(algorithm), 'Set it to "one_step".'
    if law.name != "gaussian":
        rule = f'must be "gaussian" {secure}: the sum of parts on a grid is known of it alone'
        yield "learning.mechanism", rule, format_value(law.name), 'Set it to "gaussian".'
    elif law.accounting != "zcdp":
        rule = f'must be "zcdp" {secure}'
        yield "learning.accounting", rule, format_value(law.accounting), 'Set it to "zcdp".'
    makers = int((run.epsilon > 0).sum())
    if makers < 2:
        rule = f"must leave two owners at least that sell {secure}"
        yield "trust.aggregation", rule, f"{makers} that sells", "Leave out [trust]."


def _training_obstacles(run: Run) -> Iterator[tuple[str, str, object, str]]:
    """Features of a training that an exchange does not support."""
    planner = run.planner
    width = run.data.encoder.n_parameters
    algorithm = planner.forecast.plan(run.epsilon).algorithm
    loss = planner.coordinates.loss
    aggregation = planner.inputs.settings.aggregation
    if planner.forecast.basis != "public":
        why = "without public rows the plan is made from the records themselves"
        yield "data.public_rows", f"must be above 0 in an exchange: {why}", "0", "Set it."
    if not loss.linear:
        able = names_with(LOSSES, "linear")
        rule = f"must be {able} in an exchange, because it trains linear models"
        yield "learning.loss", rule, format_value(loss.name), "Set it."
    elif width > LARGEST:
        why = "their scale would not fit into a contract"
        rule = f"must make at most {LARGEST:,} parameters in an exchange: {why}"
        yield "data.features", rule, f"{width:,}", "Name fewer, or set data.components."
    if not (ALGORITHMS[algorithm].aggregates or ALGORITHMS[algorithm].scores):
        able = names_with(ALGORITHMS, "aggregates")
        releasing = names_with(ALGORITHMS, "scores")
        rule = (
            f"must be {able}, or {releasing}, in an exchange, because all owners answer in a round"
        )
        yield "learning.algorithm", rule, format_value(algorithm), "Set it."
    if run.scenario.learning.weights == "observed":
        rule = 'must be "size", "equal" or "precision" in an exchange'
        yield "learning.weights", rule, format_value("observed"), LEAVE
    elif ALGORITHMS[algorithm].scores and width > WIDEST_MODEL:
        rule = f"must make at most {WIDEST_MODEL} parameters in an exchange of sums"
        yield "data.features", rule, f"{width:,}", "Name fewer, or set data.components."
    elif aggregation != MEAN:
        yield "learning.aggregation", "must be a mean in an exchange", aggregation.name, LEAVE


def _noise_obstacles(run: Run) -> Iterator[tuple[str, str, object, str]]:
    """Noise and gradients that cannot be released exactly."""
    planner = run.planner
    width = run.data.encoder.n_parameters
    coordinates = planner.coordinates
    drawn_at_once = width if coordinates.scores is None else count_moments(width)
    loss = coordinates.loss
    law = planner.mechanism_at(run.epsilon).training_mechanism
    answers = planner.forecast.plan(run.epsilon).priced
    if coordinates.given_bound is not None:
        rule = "must be left out in an exchange: noise is scaled to what is proved"
        yield "learning.gradient_bound", rule, f"{coordinates.given_bound:g}", LEAVE
    elif not planner.inputs.trust.secure and law.release_budget(1.0, answers) is None:
        yield _unconfirmed(law, opened=run.scenario.learning.mechanism == BEST)
    elif law.name == L2.name and drawn_at_once > WIDEST:
        yield _too_wide(law, width, drawn_at_once)
    if np.isinf(coordinates.theta_max):
        why = "nothing is answered at a point that no ball holds"
        rule = f'must be "optimal" or a number in an exchange: {why}'
        yield "learning.theta_max", rule, format_value("none"), LEAVE
    if coordinates.scores is not None and not loss.quadratic:
        rule = 'must be "squared" in an exchange of second moments and scores'
        yield "learning.loss", rule, format_value(loss.name), "Set it, or another algorithm."
    elif loss.linear and not (loss.quadratic or coordinates.clips_gradients):
        where = f"loss {format_value(loss.name)}: each gradient is clipped by itself"
        rule = f'must be "record" in an exchange with {where}'
        remedy = 'Set clipping = "record".'
        yield "learning.clipping", rule, format_value(coordinates.clipping), remedy


def _too_wide(law: Mechanism, width: int, drawn: int) -> tuple[str, str, object, str]:
    """Obstacle of l2 noise on too many numbers at once."""
    by_number = "noise that is drawn number by number"
    found = f"{format_value(law.name)} on {width}"
    if drawn == width:
        rule = f"must be {by_number} in an exchange of more than {WIDEST} parameters"
        remedy = 'Set mechanism = "gaussian" or "laplace", or fewer data.components.'
        return "learning.mechanism", rule, found, remedy
    rule = f"must be {by_number} in an exchange of more than {WIDEST} second moments"
    remedy = 'Set mechanism = "gaussian" with accounting = "zcdp", or fewer data.components.'
    return "learning.mechanism", rule, f"{found} parameters, {drawn} second moments", remedy


def _unconfirmed(law: Mechanism, *, opened: bool) -> tuple[str, str, object, str]:
    """Obstacle of noise that OpenDP's own map does not confirm; ``opened`` where best chose it."""
    how = RELEASED.get(law.name)
    if how in (None, law.accounting):
        key = "mechanism"
        able = quote_choices(list(RELEASED))
        found = law.label
    else:
        key = "accounting"
        able = format_value(how)
        found = format_value(law.accounting)
    remedy = f"Set it to {able}."
    if how == "basic":
        remedy = f"Set it to {able}, and leave out learning.delta."
    if opened:
        remedy = "Set learning.exact = true: no other noise is compared then."
    rule = f"must be {able} in an exchange, because OpenDP must confirm the noise"
    return f"learning.{key}", rule, found, remedy
