"""Facts that are kept of a cell, under the names that they have in result.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.result import to_plain
from scenarios.run import Run
from scenarios.summary import market
from scenarios.summary.forecast import all_claims, forecast_part
from scenarios.summary.validation import validation_part
from scenarios.sweeping.study import FACTS, OF_OWNERS, TRAINED


def headline_facts(run: Run) -> dict[str, Any]:
    """Collect FACTS, OF_OWNERS and, of a trained run, TRAINED, as in the result of the same run."""
    told = result_parts(run)
    epsilon = run.accounts.epsilon
    names = FACTS if run.trained is None else (*FACTS, *TRAINED)
    facts = {name: at(told, name) for name in names}
    counts = (len(epsilon), int((epsilon > 0).sum()))
    ends = (float(epsilon.min()), float(epsilon.mean()), float(epsilon.max()), *counts)
    return to_plain(facts | dict(zip(OF_OWNERS, ends, strict=True)))


def result_parts(run: Run) -> dict[str, Any]:
    """Compute the parts of a result that the facts are taken from."""
    planner = run.planner
    learner = market.promised_part(run)
    told: dict[str, Any] = {
        "learner": learner,
        "forecast": {
            "relative_fitness": planner.forecast.at(run.epsilon),
            "horizon": planner.forecast.plan(run.epsilon).horizon,
        },
        "outside_option": {"relative_fitness": planner.forecast.outside},
        "equilibrium": market.certificate_part(run),
        "welfare": market.sides_part(run),
    }
    if run.trained is not None:
        predicted = forecast_part(run.data, planner, run.epsilon, run.prediction)
        told["validation"] = validation_part(run, predicted, learner, run.own_fitness)
    return told


def owner_rows(run: Run, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Make a row for every owner, as in owners.csv of the same run's result."""
    fitness = facts.get("validation.relative_fitness.mean", facts["forecast.relative_fitness"])
    return to_plain(market.owners_part(run, fitness, all_claims(run)))


def at(content: Any, place: str) -> Any:
    """Look up a place of a result, such as "owners.0.epsilon"; None where nothing stands there.

    >>> at({"owners": [{"epsilon": 0.5}]}, "owners.0.epsilon")
    0.5
    """
    for part in place.split("."):
        if isinstance(content, Mapping):
            content = content.get(part)
        elif isinstance(content, Sequence) and part.isdigit() and int(part) < len(content):
            content = content[int(part)]
        else:
            return None
    return content
