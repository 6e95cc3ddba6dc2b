"""Forecast and privacy claims of a run, as a result holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from learning.data.rows import describe_neighbours
from learning.forecast.planner import NEGLIGIBLE, Planner
from learning.forecast.prediction import Prediction, quantiles
from learning.losses.clipping import RECORD
from learning.privacy.claims import REPLACE, Claim
from learning.privacy.lifetime import compose_learners, compose_trainings
from learning.privacy.mechanism import Mechanism
from learning.privacy.promises import make_claims
from learning.privacy.shares import answer_shares
from learning.training.algorithms import ALGORITHMS
from learning.training.bounds import BoundInputs
from learning.training.plan import Plan
from scenarios.run import Run
from scenarios.schema.scenario import Scenario
from scenarios.summary.verdict import ROUNDING
from scenarios.tables.dataset import MarketData

WORLDS = 200  # possible worlds that the effect of unlike owners is told from


def all_claims(run: Run) -> list[dict[str, Any]]:
    """Claims of a run.

    With several learners they are those against each, and against all of them together; with
    several periods those that hold over all periods.
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
    """The promises to each owner whose records are queried under noise, as a result has them.

    Empty where nothing is asked or reported.
    """
    return claims_told(scenario, claims_made(scenario, data, planner, epsilon))


def claims_made(
    scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray
) -> list[Claim]:
    """The promises to each owner, to single records whatever the scenario counts.

    Where nothing is asked they are those of the loss reports.
    """
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
    """Convert promises to those of a result: of persons where the scenario counts these."""
    told = [dict(vars(claim)) for claim in made]
    if scenario.data.person is None:
        return told
    person = describe_neighbours(scenario.data.most_rows)
    return [claim | {"adjacency": claim["adjacency"].replace(REPLACE, person)} for claim in told]


def forecast_part(
    data: MarketData, planner: Planner, epsilon: np.ndarray, prediction: Prediction
) -> dict[str, Any]:
    """Forecast at given budgets, beside the same law on the pooled records."""
    plan = planner.forecast.plan(epsilon)
    fitness = planner.at(epsilon)
    noise = planner.noise_part(epsilon)
    reach = planner.reach(epsilon)
    optimum = planner.optimum
    return {
        "kind": planner.forecast.kind,
        "basis": planner.forecast.basis,
        "algorithm": plan.algorithm,
        "horizon": plan.horizon,
        "answers": plan.priced,
        **shares_part(plan),
        "step_size": plan.step_size,
        "step_decline": step_decline(plan),
        "returned": plan.returned,
        "bias": fitness - noise,
        "noise": noise,
        "excess": fitness * optimum,
        "relative_fitness": fitness,
        "optimum": optimum,
        "interval": clip_interval(prediction.interval()),
        "if_unlike": prediction.if_unlike(),
        "between_owners": between_owners_part(planner, epsilon),
        "reports": reports_part(planner),
        "reach": reach,
        "projection_may_bind": planner.projected(epsilon) > NEGLIGIBLE,
        "published_bound": published_part(data, planner, epsilon, fitness * optimum),
        "oracle": oracle_part(data, planner, epsilon),
        "choices": [asdict(choice) for choice in planner.choices] or None,
    }


def oracle_part(data: MarketData, planner: Planner, epsilon: np.ndarray) -> dict[str, Any] | None:
    """The same law on the pooled records; None where there are none."""
    if not data.has_records:
        return None
    oracle = planner.oracle(epsilon)
    return asdict(oracle) | {"relative_fitness": oracle.relative_fitness}


def step_decline(plan: Plan) -> float:
    """Power of the round that steps fall with: that of the plan, or of the algorithm's paper."""
    return ALGORITHMS[plan.algorithm].decline if plan.decline is None else plan.decline


def shares_part(plan: Plan) -> dict[str, Any]:
    """Shares of a budget that the answers get; null where they are equal."""
    if plan.growth == 1:
        return {"growth": None, "shares": None}
    return {"growth": plan.growth, "shares": answer_shares(plan.growth, plan.priced)}


def between_owners_part(planner: Planner, epsilon: np.ndarray) -> dict[str, Any] | None:
    """Test of the owners' likeness and its effect on the forecast; None without evidence."""
    if planner.between is None:
        return None
    point, worlds = planner.unlike(epsilon, WORLDS)
    between = planner.between
    found = asdict(between.test) | {
        "ratio": between.ratio,
        "differ": between.differ,
        "by_names": between.by_names,
    }
    return found | {"relative_fitness": point, "interval": quantiles(worlds, 0.95)}


def reports_part(planner: Planner) -> dict[str, Any] | None:
    """Loss reports of the owners and their effect on the forecast; None without."""
    found = planner.inputs.reports
    if found is None:
        return None
    return asdict(found.test) | {
        "epsilon": found.query.epsilon,
        "bound": found.query.bound,
        "scale": found.query.scale(found.sizes),
        "losses": found.losses,
        "expected": found.expected,
        "differ": found.differ,
        "nameless": found.nameless,
        "ratio": found.ratio,
        "chance_of_own_kind": float(found.chance_of_own_kind(found.ratio)),
    }


def clip_interval(interval: tuple[float, float]) -> list[float]:
    """An interval of relative fitness whose ends are not below 0 by rounding alone."""
    return [0.0 if -ROUNDING < end < 0 else end for end in interval]


def is_published(planner: Planner, plan: Plan, mechanism: Mechanism) -> bool:
    """Test whether a published theorem covers such a training.

    None covers clipped gradients, secure sums of answers, or unequal shares of a budget.
    """
    clipped = planner.coordinates.clipping == RECORD
    if clipped or planner.inputs.trust.secure or plan.growth != 1:
        return False
    known = mechanism.in_published_bounds or ALGORITHMS[plan.algorithm].published_formula
    return bool(plan.asks and known)


def published_part(
    data: MarketData, planner: Planner, epsilon: np.ndarray, excess: float
) -> dict[str, Any] | None:
    """The published bound for the algorithm in use under its paper's noise.

    It is None where nobody is asked, or no theorem covers the training.
    """
    plan = planner.forecast.plan(epsilon)
    sharing = epsilon > 0
    mechanism = planner.mechanism_at(epsilon)
    algorithm = ALGORITHMS[plan.algorithm]
    coordinates = planner.coordinates
    if not (sharing.any() and is_published(planner, plan, mechanism)):
        return None
    budgets = epsilon[sharing]
    sizes = data.sizes[sharing].astype(float)
    bound = coordinates.noise_bound
    least, most = planner.curvatures
    penalty = planner.inputs.settings.regularisation
    inputs = BoundInputs(
        budgets,
        float(sizes.sum()),
        bound,
        plan.step_size,
        least,
        excess,
        n_parameters=len(coordinates.centre),
        horizon=plan.horizon,
        steps=plan.steps,
        returned=plan.returned,
        decline=step_decline(plan),
        smoothness=most,
        lipschitz=coordinates.longest_gradient,
        own_convexity=penalty * float(np.linalg.eigvalsh(coordinates.transform)[0] ** 2),
        own_gradient_bound=coordinates.steepest_penalty(penalty),
        ball_diameter=coordinates.diameter,
        start_excess=planner.start_excess,
        noise_power=planner.noise_power(epsilon, plan),
        answer_noise=float(mechanism.variance(budgets, sizes, bound, plan.priced).max()),
        delta=mechanism.delta,
        delayed=plan.clocks.delayed,
    )
    told = algorithm.published_bound(inputs)
    return asdict(told) if told else None
