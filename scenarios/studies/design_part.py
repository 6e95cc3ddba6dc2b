"""A design as facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learning.forecast.fitness import FitnessForecast
from scenarios.result import to_plain
from scenarios.run import Run
from scenarios.studies.asking import Joining
from scenarios.studies.design import Designed, Tried
from scenarios.summary.market import account_part
from scenarios.summary.verdict import chance_above
from scenarios.summary.worth import worth_columns

SCHEMA = 2


def design_part(found: Designed, *, optimistic: bool = False) -> dict[str, Any]:
    """Collect a design: each policy's best, the frontier of all, who should join, and the gain."""
    content = found.result.content
    forecast = found.run.planner.forecast
    joining = {one.name: one for one in found.joining}
    names = [owner["name"] for owner in found.result["owners"]]
    part = {
        "schema": SCHEMA,
        "title": content["title"],
        "seed": content["seed"],
        "value": found.run.game.value,
        "outside": forecast.outside,
        "buys": found.scenario is not None,
        "optimistic": optimistic,
        "attitude": found.attitude.part,
        "most_certain": max((chance_above(one.gains) for one in found.rows), default=0.0),
        "policies": policy_rows(found, forecast),
        "frontier": frontier_rows(found.tried, forecast),
        "owners": [join_row(joining.get(name, Joining(name, np.inf, False))) for name in names],
        "beyond_worth": found.beyond and beyond_part(found.beyond),
        "chosen": content,
    }
    return dict(to_plain(part))


def join_row(one: Joining) -> dict[str, Any]:
    """Make the row of an owner; infinite gains become null."""
    return {"name": one.name, "joins": one.joins, "adds": one.adds}


def beyond_part(run: Run) -> dict[str, Any]:
    """Account of a learner that also bought more than is worth buying, and who would sell it."""
    account = account_part(run)
    columns = worth_columns(run)
    worth = columns["epsilon_worth"]
    return {
        "relative_fitness": run.planner.at(run.epsilon),
        "payments": account["payments"],
        "gain": account["surplus"],
        "owners": [
            {"name": run.data.names[i], "epsilon": run.epsilon[i], "epsilon_worth": worth[i]}
            for i in np.flatnonzero(columns["paid_past_worth"] > 0)
        ],
    }


def policy_rows(found: Designed, forecast: FitnessForecast) -> list[dict[str, Any]]:
    """List the alternatives, the best first, then kinds under which nothing is to be had."""
    chosen = found.picked and found.picked.chosen
    tied = found.picked.tied if found.picked else ()
    rows = []
    for one in found.rows:
        facts = {
            "kind": one.kind,
            "name": one.name,
            "refused": "",
            "reason": "",
            "policy": one.scenario.policy.model_dump(),
            "relative_fitness": forecast.at(one.epsilon),
            "chosen": one is chosen,
            "as_good": one in tied,
            "allowed": found.attitude.allows(one.gains),
        }
        rows.append(facts | one.facts)
    shown = {one.name for one in found.rows}
    return rows + [refused_row(one) for one in found.tried if one.name not in shown]


def refused_row(one: Tried) -> dict[str, Any]:
    """Make the row of a kind under which no offer is to be made, with the reason."""
    reason = ""
    if one.study is not None:
        reason = "the learner would gain nothing"
        if not one.best.participation.rational.all():
            reason = "an owner would lose"
        elif one.best.at_refusal:
            reason = "the model is no better than the learner's own"
        elif not one.best.feasible:
            reason = "no equilibrium was certified"
    return {"kind": one.kind, "name": one.name, "refused": one.refused, "reason": reason}


def frontier_rows(tried: Sequence[Tried], forecast: FitnessForecast) -> list[dict[str, Any]]:
    """List every policy tried, by payments.

    A policy is efficient if all owners join it and no other that all join has as good a model for
    less.
    """
    points = [(one, design) for one in tried if one.study is not None for design in one.study.tried]
    points.sort(key=lambda point: (point[1].spending, point[1].fitness))
    best = np.inf
    rows = []
    for one, design in points:
        efficient = design.feasible and design.fitness < best * (1 - 1e-9)
        best = design.fitness if efficient else best
        rows.append(
            {
                "kind": one.kind,
                "name": one.name,
                "money": float(design.parameters[0]),
                "payments": design.spending,
                "relative_fitness": forecast.at(design.equilibrium.epsilon),
                "gain": design.surplus,
                "feasible": design.feasible,
                "efficient": bool(efficient),
            }
        )
    return rows
