"""Privacy claims of a run, as a result holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from learning.data.rows import describe_neighbours
from learning.forecast.planner import Planner
from learning.privacy.claims import REPLACE, Claim
from learning.privacy.lifetime import compose_learners, compose_trainings
from learning.privacy.promises import make_claims
from scenarios.run import Run
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData


def all_claims(run: Run) -> list[dict[str, Any]]:
    """Claims of a run; of several learners each, and of all of them together.

    Of one period of several, what holds over all of them.
    """
    if run.history is not None:
        past = run.history
        made = compose_trainings(
            past.claims, past.sold, past.lifetime, arriving=past.rules.arriving
        )
        return claims_told(run.scenario, made)
    if run.contest is None:
        return claims_part(run.scenario, run.data, run.planner, run.epsilon)
    own = [
        claims_made(one.scenario, one.data, one.planner, one.epsilon)
        for one in (run, *run.contest.others)
    ]
    told = [
        replace(claim, protects_against=f"{claim.protects_against}, of {name}")
        for name, made in zip(run.contest.names, own, strict=True)
        for claim in made
    ]
    return claims_told(run.scenario, [*told, *compose_learners(own)])


def claims_part(
    scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray
) -> list[dict[str, Any]]:
    """The promises to each owner whose records are queried under noise.

    None where nothing is asked.
    """
    return claims_told(scenario, claims_made(scenario, data, planner, epsilon))


def claims_made(
    scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray
) -> list[Claim]:
    """The same for single records."""
    plan = planner.forecast.plan(epsilon)
    reports = planner.inputs.reports
    unit = scenario.data.promised
    if plan.asks:
        given = planner.hidden(epsilon)
        grows = plan.growth
        return make_claims(
            planner.mechanism_at(epsilon), data.names, data.sizes, given, plan.priced, unit, grows
        )
    return [] if reports is None else list(reports.query.claims(data.names, unit))


def claims_told(scenario: Scenario, made: Sequence[Claim]) -> list[dict[str, Any]]:
    """Promises as a result has them, of persons where the scenario counts these."""
    told = [dict(vars(claim)) for claim in made]
    if scenario.data.person is None:
        return told
    person = describe_neighbours(scenario.data.most_rows)
    return [claim | {"adjacency": claim["adjacency"].replace(REPLACE, person)} for claim in told]
