"""Everything that a result holds, computed from the pieces of a run: facts, and no sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from learning.data.persons import neighbours
from learning.forecast.homogeneity import gradients_at, records_alike
from learning.forecast.interval import Prediction, quantiles
from learning.forecast.measures import RELATIVE
from learning.forecast.planner import NEGLIGIBLE, Planner
from learning.forecast.pooled import some_records
from learning.losses.coordinates import PARTS, RECORD
from learning.privacy.claims import REPLACE, Claim
from learning.privacy.promises import composed, over_trainings, promises, weakest
from learning.privacy.shares import shares
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.bounds import BoundInputs
from learning.training.engine import Trained
from learning.training.model import Model
from learning.training.task import Schedule
from scenarios.model_file import HandedOver, tried
from scenarios.result import SCHEMA, Result, plain
from scenarios.run import Run
from scenarios.schema.loading import Scenario, sha256
from scenarios.schema.market import FIRST
from scenarios.settling.answering import audit_part, conduct_facts
from scenarios.settling.playing import behaviours_part
from scenarios.settling.priced import pricing_part
from scenarios.summary import market
from scenarios.summary.compared import baselines_part, lojasiewicz_part
from scenarios.summary.learner import own_check_part
from scenarios.summary.periods import period_rows, time_part
from scenarios.summary.privileged import privileged
from scenarios.summary.terms import checked_terms_part, fresh_terms_part
from scenarios.summary.trust import trust_part
from scenarios.summary.verdict import (
    ROUNDING,
    agrees,
    agrees_on_money,
    explanation,
    kind,
    summary,
    weaker_than_sold,
    z_score,
)
from scenarios.tables.dataset import MarketData

WORLDS = 200  # possible worlds that what unlike owners add is told from


def build_result(run: Run) -> Result:
    """Everything a result holds, from the pieces of a run."""
    scenario, data, planner, epsilon = run.scenario, run.data, run.planner, run.epsilon
    predicted, learner = forecast_part(data, planner, epsilon, run.prediction), market.learner_part(run)
    outside = float(data.fitness.relative(planner.own_model))
    validation, claims = validation_part(run, predicted, learner, outside), all_claims(run)
    welfare = market.welfare_part(run)
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "version": version("dpmarket"),
        "title": scenario.title,
        "scenario": run.written.model_dump(),
        "scenario_sha256": sha256(run.written),
        "seed": scenario.seed,
        "data": data_part(scenario, data),
        "warnings": warnings_part(scenario, data, planner) + told_by_others(run) + market.refusal_part(run),
        "claims": claims,
        "trust": trust_part(run),
        "owners": market.owners_part(
            run, (validation["relative_fitness"]["mean"] if validation else predicted["relative_fitness"]), claims
        ),
        "equilibrium": market.equilibrium_part(run),
        "learner": learner,
        "welfare": welfare,
        "public_good": market.provision_part(run, welfare),
        "behaviours": behaviours_part(scenario, run.game, epsilon, run.rational, run.answering),
        "audit": audit_part(scenario, run.answering),
        "network": None,
        "pricing": pricing_part(run.priced),
        "unions": market.unions_part(run),
        "externalities": market.externalities_part(run),
        "participation": market.participation_part(run),
        "time": time_part(run),
        "learners": learners_part(run, predicted, validation),
        "outside_option": {
            "relative_fitness": planner.forecast.outside,
            "interval": _proper(run.prediction.outside_interval()),
            "measured": outside,
        },
        "protocol": {
            "start": scenario.learning.start,
            "precondition": scenario.learning.precondition,
            "mechanism": planner.mechanism.label,
            "radius": planner.coordinates.radius,
            "clipping": RECORD if planner.coordinates.clips_gradients else PARTS,
            "target_bound": planner.coordinates.target_bound,
            "theta_max": planner.coordinates.theta_max,
            "gradient_bound": planner.coordinates.gradient_bound,
            "given_bound": planner.coordinates.given_bound,
            "scores": None if planner.coordinates.scores is None else asdict(planner.coordinates.scores),
        },
        "forecast": predicted,
        "validation": validation,
    }
    content["warnings"] += weaker_than_sold(content)
    content["privileged"] = privileged(scenario, content)
    runs = np.empty(0) if run.trained is None else run.fitness
    return Result(
        plain(content),
        market.trajectory_rows(run),
        [{"run": i, "relative_fitness": float(v)} for i, v in enumerate(runs)],
        market.payoff_rows(run),
        run.written.to_toml(absolute=True),
        None if run.trained is None else handed_over(run, run.trained),
        period_rows(run),
        () if run.paths is None else run.paths.rows(),
        talk_rows(run),
    )


def talk_rows(run: Run) -> list[dict[str, Any]]:
    """Tick by tick: who talked in the first training, nobody where the tick was lost; of clocked trainings watched."""
    talks = None if run.paths is None or run.trained is None else run.trained.talks
    if talks is None:
        return []
    assert run.trained is not None and run.trained.task is not None
    names = [*(owner.name for owner in run.trained.task.owners), ""]  # -1 is nobody
    told = zip(talks.times.tolist(), talks.owners.tolist(), strict=True)
    return [{"tick": k, "time": time, "owner": names[who]} for k, (time, who) in enumerate(told, start=1)]


def handed_over(run: Run, trained: Trained) -> HandedOver:
    """The model of the first training, with the claims that hold of it; of the first learner's, where there are several."""
    claims = all_claims(run) if run.history else claims_part(run.scenario, run.data, run.planner, run.epsilon)
    data, loss, asked = run.data, run.scenario.learning.objective, run.epsilon > 0
    model = Model(data.encoder, loss, trained.theta[0])
    fresh = None if data.holdout is None else tried(model, data.holdout)
    names = tuple(name for name, one in zip(data.names, asked, strict=True) if one) if run.asks else ()
    claimed = tuple(plain(claim) for claim in weakest(claims).values())
    return HandedOver(model, data.table.labels, names, claimed, run.planner.forecast.basis, fresh)


def data_part(scenario: Scenario, data: MarketData) -> dict[str, Any]:
    """What was read and what was left out."""
    table, division = data.table, data.division
    return {
        "source": scenario.data.source or str(scenario.data.path),
        "rows": data.n_rows,
        "dropped_rows": table.n_dropped,
        "public_rows": len(division.public),
        "check_rows": 0 if data.aside is None else data.aside.n_records,
        "holdout_rows": len(division.holdout),
        "left_over_rows": division.left_over,
        "owners_left_out": list(division.too_small),
        "parameters": data.encoder.n_parameters,
        "features": list(data.encoder.feature_names),
        "constant_columns": list(data.encoder.dropped),
        "target": table.target_name,
        "target_range": [data.encoder.target.low, data.encoder.target.high],
        "labels": None if table.labels is None else list(table.labels),
        "filled_cells": data.filled,
        "identical_records": asdict(data.overlap),
        "persons": None if data.persons is None else asdict(data.persons),
    }


def warnings_part(scenario: Scenario, data: MarketData, planner: Planner) -> list[dict[str, Any]]:
    """What a careful reader should know before believing the promises: facts, each with a ``cause``."""
    smallest, delta, between = int(data.sizes.min()), planner.mechanism.delta, planner.between
    reports, named = planner.inputs.reports, between is not None and between.by_names and between.differ
    unlike = reports is not None and reports.differ
    said: list[dict[str, Any]] = []
    if data.public is None:
        said.append({"cause": "oracle_basis"})
    if delta * smallest >= 1:
        said.append({"cause": "large_delta", "delta": delta, "records": smallest})
    if between is not None and named:
        said.append({"cause": "owners_unlike", "p_value": between.test.p_value})
    elif reports is not None and unlike:
        said.append({"cause": "reports_unlike", "p_value": reports.test.p_value, "nameless": reports.nameless})
    if scenario.data.order == "as_is" and scenario.data.owner is None and len(data.owners) > 1 and not unlike:
        said.append({"cause": "order_as_is"} | ({} if reports is None else {"p_value": reports.test.p_value}))
    if scenario.owners.wants_model and data.public is not None:
        said.append({"cause": "benefit_tells"})
    return said


def learners_part(run: Run, predicted: dict[str, Any], measured: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """How each learner fares where there are several, the first with the forecast and validation told; None elsewhere."""
    if run.contest is None:
        return None
    outside = float(run.data.fitness.relative(run.planner.own_model))
    rows = [market.learner_row(run, FIRST, predicted, measured)]
    for name, other in zip(run.contest.names[1:], run.contest.others, strict=True):
        forecast = forecast_part(run.data, run.planner, other.epsilon, other.prediction)
        checked = validation_part(other, forecast, market.learner_part(other), outside)
        rows.append(market.learner_row(other, name, forecast, checked))
    return rows


def all_claims(run: Run) -> list[dict[str, Any]]:
    """The promises of a run; with several learners those of each, and what holds against all of them together.

    Of one period of several, what holds over all of them.
    """
    if run.history is not None:
        past = run.history
        made = over_trainings(past.claims, past.sold, past.lifetime, arriving=past.rules.arriving)
        return claims_told(run.scenario, made)
    if run.contest is None:
        return claims_part(run.scenario, run.data, run.planner, run.epsilon)
    own = [claims_made(one.scenario, one.data, one.planner, one.epsilon) for one in (run, *run.contest.others)]
    told = [
        replace(claim, protects_against=f"{claim.protects_against}, of {name}")
        for name, made in zip(run.contest.names, own, strict=True)
        for claim in made
    ]
    return claims_told(run.scenario, [*told, *composed(own)])


def told_by_others(run: Run) -> list[dict[str, Any]]:
    """The warning that others' sales tell of an owner what no promise to it covers, of the owner most told of."""
    if run.scenario.externalities is None or not run.asks:
        return []
    by_others = run.playing.policy.told(run.epsilon)[0]
    at = int(np.argmax(by_others))
    fact = {"cause": "told_by_others", "name": run.data.names[at], "part": float(by_others[at])}
    return [fact] if by_others[at] > 0 else []


def claims_part(scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray) -> list[dict[str, Any]]:
    """The promises to each owner whose records are queried under noise; none where nothing is asked."""
    return claims_told(scenario, claims_made(scenario, data, planner, epsilon))


def claims_made(scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray) -> list[Claim]:
    """The same for single records."""
    plan, reports, unit = planner.forecast.plan(epsilon), planner.inputs.reports, scenario.data.promised
    if plan.asks:
        given, grows = planner.hidden(epsilon), plan.growth
        return promises(planner.mechanism_at(epsilon), data.names, data.sizes, given, plan.priced, unit, grows)
    return [] if reports is None else list(reports.query.claims(data.names, unit))


def claims_told(scenario: Scenario, made: Sequence[Claim]) -> list[dict[str, Any]]:
    """Promises as a result has them, of persons where the scenario counts these."""
    told = [dict(vars(claim)) for claim in made]
    if scenario.data.person is None:
        return told
    person = neighbours(scenario.data.most_rows)
    return [claim | {"adjacency": claim["adjacency"].replace(REPLACE, person)} for claim in told]


def forecast_part(data: MarketData, planner: Planner, epsilon: np.ndarray, prediction: Prediction) -> dict[str, Any]:
    """The forecast at given budgets and what may come of it, and the same with the pooled records beside it."""
    plan, fitness, noise = (
        planner.forecast.plan(epsilon),
        planner.at(epsilon),
        planner.noise_part(epsilon),
    )
    oracle, reach, optimum = planner.oracle(epsilon), planner.reach(epsilon), planner.optimum
    return {
        "kind": planner.forecast.kind,
        "basis": planner.forecast.basis,
        "algorithm": plan.algorithm,
        "horizon": plan.horizon,
        "answers": plan.priced,
        **shares_part(plan),
        "step_size": plan.step_size,
        "step_decline": ALGORITHMS[plan.algorithm].decline if plan.decline is None else plan.decline,
        "returned": plan.returned,
        "bias": fitness - noise,
        "noise": noise,
        "excess": fitness * optimum,
        "relative_fitness": fitness,
        "optimum": optimum,
        "interval": _proper(prediction.interval()),
        "between_owners": between_owners_part(planner, epsilon),
        "reports": reports_part(planner),
        "reach": reach,
        "projection_may_bind": planner.projected(epsilon) > NEGLIGIBLE,
        "published_bound": published_part(data, planner, epsilon, fitness * optimum),
        "oracle": asdict(oracle) | {"relative_fitness": oracle.relative_fitness},
        "choices": [asdict(choice) for choice in planner.choices] or None,
    }


def shares_part(plan: Schedule) -> dict[str, Any]:
    """How a budget is shared between the answers that it covers; null where it is split evenly."""
    if plan.growth == 1:
        return {"growth": None, "shares": None}
    return {"growth": plan.growth, "shares": shares(plan.growth, plan.priced)}


def between_owners_part(planner: Planner, epsilon: np.ndarray) -> dict[str, Any] | None:
    """Whether public rows with the owners' names, or their loss reports, show several kinds, and what that adds; or None."""
    if planner.between is None:
        return None
    point, worlds = planner.unlike(epsilon, WORLDS)
    between = planner.between
    found = asdict(between.test) | {"ratio": between.ratio, "differ": between.differ, "by_names": between.by_names}
    return found | {"relative_fitness": point, "interval": quantiles(worlds, 0.95)}


def reports_part(planner: Planner) -> dict[str, Any] | None:
    """What the owners reported before trading, at what budget, and what it adds to the forecast; None without."""
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
        "relative_fitness": planner.forecast.unlike,
    }


def _proper(interval: tuple[float, float]) -> list[float]:
    """An interval of relative fitness whose ends are not below 0 by rounding alone."""
    return [0.0 if -ROUNDING < end < 0 else end for end in interval]


def published_part(data: MarketData, planner: Planner, epsilon: np.ndarray, excess: float) -> dict[str, Any] | None:
    """The published bound for the algorithm in use under its paper's noise; None where nobody is asked or there is none.

    Nor of steps along clipped gradients: they descend another cost than the one that theorems are about.
    """
    plan, sharing, mechanism = planner.forecast.plan(epsilon), epsilon > 0, planner.mechanism_at(epsilon)
    algorithm, coordinates = ALGORITHMS[plan.algorithm], planner.coordinates
    if plan.growth != 1:
        return None  # the papers' theorems are about answers that are all alike
    published = mechanism.in_published_bounds or algorithm.published_formula
    apart = coordinates.clipping == RECORD or planner.inputs.trust.secure  # of which no theorem is
    if not (plan.asks and sharing.any() and published) or apart:
        return None
    budgets, sizes, bound = epsilon[sharing], data.sizes[sharing].astype(float), coordinates.noise_bound
    (least, most), penalty = planner.curvatures, planner.inputs.settings.regularisation
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
        decline=algorithm.decline if plan.decline is None else plan.decline,
        smoothness=most,
        lipschitz=coordinates.longest_gradient,
        own_convexity=penalty * float(np.linalg.eigvalsh(coordinates.transform)[0] ** 2),
        own_gradient_bound=coordinates.steepest_penalty(penalty),
        ball_diameter=coordinates.diameter,
        start_excess=planner.start_excess,
        noise_power=planner.noise_power(epsilon, plan),
        answer_noise=float(mechanism.variance(budgets, sizes, bound, plan.priced).max()),
        delta=mechanism.delta,
    )
    told = algorithm.published_bound(inputs)
    return None if told is None else asdict(told)


def validation_part(
    run: Run, predicted: dict[str, Any], learner: dict[str, Any], outside: float
) -> dict[str, Any] | None:
    """Trained runs against forecast and money promised, measured with non-private access; None without training.

    Parameters
    ----------
    predicted: what was forecast.
    learner: what the learner was promised, money.
    outside: relative fitness of the learner's own model, measured.
    """
    data, trained = run.data, run.trained
    if trained is None:
        return None
    runs, money = summary(run.fitness), market.money_part(run)
    explained = explanation(runs, predicted, projected=trained.projected)
    told = conduct_facts(run.answering)
    if explained[0]["cause"] == "outside_interval" and data.public is not None and not told:
        explained.append(kind(*kinds(run.scenario, data)))
    return {
        "runs": len(trained.theta),
        "relative_fitness": runs,
        "z_score": z_score(runs, predicted["oracle"]),
        "agrees": agrees(runs, predicted["interval"]),
        "money": money,
        "terms": checked_terms_part(run, outside),
        "agrees_on_money": agrees_on_money(money["learner_surplus"], learner),
        "nonprivate_fitness": data.fitness.optimum,
        "projected": trained.projected,
        **own_check_part(run, trained),
        "explanation": explained + told,
        "holdout": holdout_part(run, trained),
        "baselines": baselines_part(run),
        "lojasiewicz": lojasiewicz_part(run),
    }


def kinds(scenario: Scenario, data: MarketData) -> tuple[float, float]:
    """p-values of two tests: that all owners' records are of one kind, and that the public rows are of theirs."""
    public, best, rng = data.public, data.fitness.minimiser, Streams(scenario.seed, "homogeneity").rng("records")
    assert public is not None
    *records, drawn = some_records(data.pooled, Streams(scenario.seed, "homogeneity").rng("sample"))
    x, y = (np.concatenate(both) for both in zip(records, (public.x, public.y), strict=True))
    gradients, count = gradients_at(scenario.learning.objective, x, y, best), len(y) - public.n_records
    among = records_alike(gradients[:count], drawn[drawn > 0].tolist(), rng=rng)
    return among, records_alike(gradients, (count, public.n_records), rng=rng)


def holdout_part(run: Run, trained: Trained) -> dict[str, Any] | None:
    """Mean squared error, or share of wrong labels, on rows that nobody trained on; and what else counts, of two models."""
    scenario, data, planner = run.scenario, run.data, run.planner
    if data.holdout is None:
        return None
    fresh = data.holdout
    models = {"trained": trained.theta, "nonprivate": data.fitness.minimiser[None], "outside": planner.own_model[None]}
    loss = scenario.learning.objective
    name = "error" if loss.labels else "mse"
    found: dict[str, Any] = {"records": fresh.n_records}
    found |= {f"{name}_{who}": fresh.error(loss, theta) for who, theta in models.items()}
    found["error_guessing" if loss.labels else "variance"] = fresh.unexplained(loss)
    if data.fits_own_models:
        found["isolated"] = [fresh.error(loss, model[None]) for model in data.own_models]
    return found | ({} if run.measure is RELATIVE else {"terms": fresh_terms_part(run, trained, fresh)})
