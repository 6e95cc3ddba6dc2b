"""Everything that a result holds, computed from the pieces of a run: facts, and no sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from learning.data.feature_names import feature_names
from learning.forecast.planner import Planner
from learning.losses.clipping import PARTS, RECORD
from learning.privacy.promises import weakest_claims
from learning.training.model import Model
from scenarios.features import FEATURES, features_in_use
from scenarios.features.base import rows_of
from scenarios.features.time import period_rows
from scenarios.model_file import HandedOver, try_model
from scenarios.result import SCHEMA, Result, to_plain
from scenarios.run import Loop, Run
from scenarios.schema.scenario import Scenario, sha256
from scenarios.summary import market
from scenarios.summary.errors import errors_part
from scenarios.summary.features import features_part
from scenarios.summary.forecast import all_claims, claims_part, clip_interval, forecast_part
from scenarios.summary.validation import validation_part
from scenarios.summary.verdict import weaker_than_sold
from scenarios.tables.dataset import MarketData

ORACLE = "oracle"
MEASURED = "measured"
# Counted or judged on all records, which no party to the market can look at.
LOOKED_UP = {
    "data.filled_cells": MEASURED,
    "data.identical_records": MEASURED,
    "data.persons": MEASURED,
    "contributions": MEASURED,
    "errors.measured": MEASURED,
    "withdrawal": MEASURED,
    "forecast.oracle": ORACLE,
    "go": MEASURED,
    "personal": MEASURED,
    "outside_option.measured": MEASURED,
    "owners[].isolated_relative_fitness": MEASURED,
    "owners[].isolated_estimate": MEASURED,
    "owners[].gains": MEASURED,
    "learners[].trained_fitness": MEASURED,
    "learners[].agrees": MEASURED,
    "learners[].trained_gain": MEASURED,
    "targets[].best_of_kind": MEASURED,
    "targets[].constant": MEASURED,
    "targets[].outside": MEASURED,
    "targets[].trained": MEASURED,
    "time.periods[].agrees": MEASURED,
    "time.periods[].trained": MEASURED,
    "time.periods[].trained_std_error": MEASURED,
    "validation": MEASURED,
}
# Parts, beside those of features, that follow from the budgets that owners settle on.
FOLLOWS = (
    "claims",
    "equilibrium",
    "errors.forecast",
    "forecast",
    "learner",
    "outside_option",
    "warnings",
    "welfare",
)
KNOWN_TO_ALL = ("name", "records")  # of an owner: its name and the number of its records


def records_decide(scenario: Scenario) -> bool:
    """Test whether budgets and payments themselves rest on the owners' records.

    They do on the oracle basis, where forecasts are made from the pooled records, and where owners
    who want the model choose their budgets by how good their own is.
    """
    if scenario.owners.records is not None:
        return False
    return scenario.data.public_rows == 0 or scenario.owners.wants_model


def mark_privileged(scenario: Scenario, content: Mapping[str, Any]) -> dict[str, str]:
    """Marks of the fields of a result that a private cell can move.

    Parameters
    ----------
    scenario : the scenario.
    content : the content of its result.

    Returns
    -------
    dict
        Path of a field, with all that is under it -> ``oracle``: computed from the owners' records
        in place of what the learner or an owner would know; or ``measured``: counted or judged on
        them afterwards. ``owners[]`` is every owner. trajectory.csv and payoff_curves.csv are
        marked as ``equilibrium`` is, validation.csv and paths.csv as ``validation``.
    """
    if scenario.owners.records is not None:
        return {}
    marks = dict(LOOKED_UP)
    if records_decide(scenario):
        decided = [f"owners[].{key}" for key in content["owners"][0] if key not in KNOWN_TO_ALL]
        features = filter(None, (feature.result for feature in FEATURES.values()))
        marks = dict.fromkeys((*FOLLOWS, *features, *decided), ORACLE) | marks
    if scenario.data.public_rows == 0 and scenario.learning.opened:
        marks["protocol"] = ORACLE  # ways to train are compared on the pooled records
    return dict(sorted(marks.items()))


def build_result(run: Run, loop: Loop) -> Result:
    """Everything a result holds, from the pieces of a run.

    ``loop`` settles the markets that features are compared with.
    """
    learner, predicted, validation = describe_run(run)
    content = market_facts(run, learner, predicted, validation)
    in_use = features_in_use(run.scenario)
    content |= {feature.result: None for feature in FEATURES.values() if feature.result}
    content |= {one.result: one.facts(run, loop) for one in in_use if one.result}
    content["warnings"] = [
        *warnings_part(run.scenario, run.data, run.planner),
        *(warning for feature in in_use for warning in feature.warnings(run)),
        *market.refusal_part(run),
    ]
    content["warnings"] += weaker_than_sold(content)
    content["privileged"] = mark_privileged(run.scenario, content)
    runs = run.fitness.tolist() if run.trained else []
    return Result(
        to_plain(content),
        market.trajectory_rows(run),
        [{"run": number, "relative_fitness": fitness} for number, fitness in enumerate(runs)],
        market.payoff_rows(run),
        run.written.to_toml(absolute=True),
        handed_over(run),
        period_rows(run),
        run.paths.rows() if run.paths else (),
        talk_rows(run),
    )


def describe_run(run: Run) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]:
    """The learner's account, the forecast, and the validation of a run; None without training."""
    predicted = forecast_part(run.data, run.planner, run.epsilon, run.prediction)
    learner = market.learner_part(run)
    return learner, predicted, validation_part(run, predicted, learner)


def measured_outside(run: Run) -> float | None:
    """Relative fitness of the learner's own model on all records; None where there are none."""
    return run.own_fitness if run.data.has_records else None


def market_facts(
    run: Run,
    learner: dict[str, Any],
    predicted: dict[str, Any],
    validation: dict[str, Any] | None,
) -> dict[str, Any]:
    """Facts of every market, whatever features it has."""
    scenario = run.scenario
    claims = all_claims(run)
    fitness = predicted["relative_fitness"]
    if validation is not None:
        fitness = validation["relative_fitness"]["mean"]
    return {
        "schema": SCHEMA,
        "version": version("dpmarket"),
        "title": scenario.title,
        "scenario": run.written.model_dump(),
        "scenario_sha256": sha256(run.written),
        "seed": scenario.seed,
        "data": data_part(scenario, run.data),
        "claims": claims,
        "owners": market.owners_part(run, fitness, claims),
        "equilibrium": market.equilibrium_part(run),
        "learner": learner,
        "welfare": market.welfare_part(run),
        "outside_option": {
            "relative_fitness": run.planner.forecast.outside,
            "interval": clip_interval(run.prediction.outside_interval()),
            "measured": measured_outside(run),
        },
        "features": features_part(run.data),
        "protocol": protocol_part(scenario, run.planner),
        "forecast": predicted,
        "validation": validation,
        "errors": errors_part(run),
    }


def protocol_part(scenario: Scenario, planner: Planner) -> dict[str, Any]:
    """Protocol of the training: start, noise and clipping."""
    coordinates = planner.coordinates
    scores = coordinates.scores
    return {
        "start": scenario.learning.start,
        "precondition": scenario.learning.precondition,
        "mechanism": planner.mechanism.label,
        "radius": coordinates.radius,
        "clipping": RECORD if coordinates.clips_gradients else PARTS,
        "target_bound": coordinates.target_bound,
        "theta_max": coordinates.theta_max,
        "gradient_bound": coordinates.gradient_bound,
        "given_bound": coordinates.given_bound,
        "scores": scores and asdict(scores),
    }


def talk_rows(run: Run) -> list[dict[str, Any]]:
    """Row of each tick of the first training: its time and who talked, nobody if it was lost.

    No rows unless the training is clocked and its paths are kept.
    """
    trained = run.trained
    if run.paths is None or trained is None or trained.talks is None:
        return []
    assert trained.task is not None
    times = trained.talks.times
    names = np.array([*(owner.name for owner in trained.task.owners), ""])  # -1 is nobody
    ticks = np.arange(1, len(times) + 1)
    return rows_of({"tick": ticks, "time": times, "owner": names[trained.talks.owners]})


def handed_over(run: Run) -> HandedOver | None:
    """The model of the first training, with the claims that hold of it, or the learner's own.

    Where there are several learners, it is that of the first. None without training, and where the
    learner does not buy it.
    """
    data = run.data
    trained = run.trained
    if (
        trained is None
        or data.n_targets > 1
        or (run.decision is not None and not run.decision.bought[0])
    ):
        return None
    claims = claims_part(run.scenario, data, run.planner, run.epsilon)
    if run.history:
        claims = all_claims(run)
    model = Model(data.encoder, run.scenario.learning.objective, run.theta[0])
    held = data.holdout
    keeps_own = bool(run.keeps_own[0])
    if data.alternative is not None and keeps_own:
        own = data.alternative.own
        model = Model(own.encoder, model.loss, own.theta)
        held = data.alternative.records[1]
    fresh = try_model(model, held) if held else None
    asked = (not keeps_own) & (run.epsilon > 0) & run.asks
    names = tuple(name for name, one in zip(data.names, asked, strict=True) if one)
    claimed = tuple(to_plain(claim) for claim in weakest_claims(claims).values())
    return HandedOver(model, data.table.labels, names, claimed, run.planner.forecast.basis, fresh)


def data_part(scenario: Scenario, data: MarketData) -> dict[str, Any]:
    """Records that were read, and those left out."""
    table = data.table
    division = data.division
    return {
        "source": scenario.data.source or str(scenario.data.path),
        "rows": data.n_rows,
        "dropped_rows": table.n_dropped,
        "public_rows": len(division.public),
        "check_rows": data.aside.n_records if data.aside else 0,
        "holdout_rows": len(division.holdout),
        "left_over_rows": division.left_over,
        "owners_left_out": list(division.too_small),
        "parameters": data.n_parameters,
        "features": list(feature_names(data.encoder)),
        "constant_columns": list(data.encoder.dropped),
        "target": data.encoder.target.name,
        "target_range": [data.encoder.target.low, data.encoder.target.high],
        "labels": table.labels and list(table.labels),
        "filled_cells": data.filled if data.has_records else None,
        "identical_records": asdict(data.overlap) if data.has_records else None,
        "persons": data.persons and asdict(data.persons),
    }


def warnings_part(scenario: Scenario, data: MarketData, planner: Planner) -> list[dict[str, Any]]:
    """Warnings about the promises of a result: facts, each with a ``cause``."""
    smallest = int(data.sizes.min())
    delta = planner.mechanism.delta
    between = planner.between
    reports = planner.inputs.reports
    unlike = reports is not None and reports.differ
    said: list[dict[str, Any]] = []
    if data.public is None:
        said.append({"cause": "oracle_basis"})
    if delta * smallest >= 1:
        said.append({"cause": "large_delta", "delta": delta, "records": smallest})
    reported = {"p_value": reports.test.p_value} if reports else {}
    if between is not None and between.by_names and between.differ:
        said.append({"cause": "owners_unlike", "p_value": between.test.p_value})
    elif reports is not None and unlike:
        said.append({"cause": "reports_unlike", **reported, "nameless": reports.nameless})
    in_order = scenario.data.order == "as_is" and scenario.data.owner is None
    if in_order and len(data.owners) > 1 and data.has_records and not unlike:
        said.append({"cause": "order_as_is", **reported})
    if scenario.owners.wants_model and data.public is not None and data.has_records:
        said.append({"cause": "benefit_tells"})
    return said
