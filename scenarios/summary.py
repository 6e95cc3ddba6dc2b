"""An account of a run: everything that a result holds, computed from the pieces of the run."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from learning.data.overlap import overlap
from learning.forecast.planner import Decomposition, Planner
from learning.forecast.published_bounds import beside_the_law
from learning.randomness import Streams
from learning.training.engine import Trained
from market.analysis.design import participation
from market.analysis.inequality import gini
from market.analysis.thesis_games import remarks
from market.analysis.welfare import learner_surplus, social_optimum, taxes, welfare
from market.costs.leakage import leakage_bits
from market.equilibrium.diagnostics import diagnose
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.result import SCHEMA, Result, plain
from scenarios.schema.loading import Scenario, sha256
from scenarios.tables.dataset import MarketData
from scenarios.verdict import agrees, explanation, summary, z_score

CURVE_POINTS = 200
CURVE_OWNERS = 100
OPTIMUM_STARTS = 4
ALONE = 200  # owners up to which each one's own model is trained and tried on the held-out rows
DIAGNOSED = 12  # owners up to which the kind of game is looked into


def build_result(
    scenario: Scenario,
    data: MarketData,
    planner: Planner,
    game: Game,
    equilibrium: Equilibrium,
    trained: Trained | None,
) -> Result:
    """Everything a result holds, from the pieces of a run."""
    epsilon = equilibrium.epsilon
    predicted = forecast_part(data, planner, epsilon)
    content = {
        "schema": SCHEMA,
        "version": version("dpmarket"),
        "title": scenario.title,
        "scenario": scenario.model_dump(),
        "scenario_sha256": sha256(scenario),
        "seed": scenario.seed,
        "data": data_part(scenario, data),
        "warnings": warnings_part(data, planner),
        "claims": claims_part(scenario, data, planner, epsilon),
        "owners": owners_part(data, game, epsilon, planner.forecast.weights(epsilon), predicted["relative_fitness"]),
        "equilibrium": equilibrium_part(game, equilibrium) | {"diagnosis": diagnosis_part(scenario, game)},
        "learner": learner_part(game, epsilon, scenario.learner.budget),
        "welfare": welfare_part(scenario, game, epsilon),
        "outside_option": {
            "relative_fitness": planner.forecast.outside,
            "interval": planner.outside_interval(),
            "measured": float(data.fitness.relative(planner.own_model)),
        },
        "protocol": {
            "start": scenario.learning.start,
            "precondition": scenario.learning.precondition,
            "mechanism": planner.mechanism.label,
            **{
                name: getattr(planner.coordinates, name)
                for name in ("radius", "target_bound", "theta_max", "gradient_bound")
            },
        },
        "forecast": predicted,
        "validation": None if trained is None else validation_part(scenario, data, planner, trained, predicted),
    }
    runs = np.empty(0) if trained is None else data.fitness.relative(trained.theta)
    return Result(
        plain(content),
        trajectory_rows(game, equilibrium),
        [{"run": i, "relative_fitness": float(v)} for i, v in enumerate(runs)],
        payoff_rows(game, epsilon),
        scenario.to_toml(absolute=True),
    )


def data_part(scenario: Scenario, data: MarketData) -> dict[str, Any]:
    """What was read and what was left out."""
    table, division = data.table, data.division
    return {
        "source": scenario.data.source or str(scenario.data.path),
        "rows": table.n_rows + table.n_dropped,
        "dropped_rows": table.n_dropped,
        "public_rows": len(division.public),
        "holdout_rows": len(division.holdout),
        "left_over_rows": division.left_over,
        "owners_left_out": list(division.too_small),
        "parameters": data.encoder.n_parameters,
        "features": list(data.encoder.feature_names),
        "constant_columns": list(data.encoder.dropped),
        "target": table.target_name,
        "target_range": [data.encoder.target.low, data.encoder.target.high],
        "labels": None if table.labels is None else list(table.labels),
        "identical_records": asdict(overlap(data.owners)),
    }


def warnings_part(data: MarketData, planner: Planner) -> list[dict[str, Any]]:
    """What a careful reader should know before believing the promises: facts, each with a ``cause``."""
    smallest, delta = int(data.sizes.min()), planner.mechanism.delta
    return [{"cause": "large_delta", "delta": delta, "records": smallest}] if delta * smallest >= 1 else []


def claims_part(scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray) -> list[dict[str, Any]]:
    """The promise to each owner whose records are queried under noise; none where nothing is asked."""
    plan = planner.forecast.plan(epsilon)
    if not plan.asks:
        return []
    made = [
        planner.mechanism.claims(name, float(budget), plan.priced, scenario.data.unit, size=int(size))
        for name, size, budget in zip(data.names, data.sizes, epsilon, strict=True)
        if 0 < budget < np.inf
    ]
    return [asdict(claim) for claims in made for claim in claims]


def owners_part(
    data: MarketData, game: Game, epsilon: np.ndarray, weights: np.ndarray, fitness: float
) -> list[dict[str, Any]]:
    """One row per owner: what it sells, is paid, loses and gains."""
    cost, part = game.owners.cost, participation(game, epsilon)
    columns = {
        "name": data.names,
        "records": data.sizes,
        "epsilon": epsilon,
        "payment": game.payments(epsilon),
        "privacy_cost": game.costs(epsilon) - taxes(game, epsilon),
        "tax": taxes(game, epsilon),
        "benefit": game.benefits(epsilon),
        "surplus": part.surplus,
        "outside_option": part.outside,
        "rational": part.rational,
        "leakage_bits": leakage_bits(epsilon, getattr(cost, "values", 10)),
        "weight": weights,
        "isolated_relative_fitness": game.owners.isolated,
        "as_learner_relative_fitness": as_learner_fitness(game, epsilon),
        "gains": (epsilon > 0) & (fitness < game.owners.isolated),
    }
    if hasattr(game.policy, "standard_error"):  # payments from a sample
        columns["payment_std_error"] = game.policy.standard_error(epsilon, game)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def as_learner_fitness(game: Game, epsilon: np.ndarray) -> np.ndarray:
    """Relative fitness of each owner's own model, were it the learner: its records without noise, the others' as sold.

    Source: Wu et al., The Value of Collaboration, section V.
    """
    terms = game.forecast.terms(epsilon)
    exact = game.forecast.terms(np.full_like(epsilon, np.inf))
    return np.asarray(game.forecast.excess(terms.sum(axis=0) - terms + exact))


def equilibrium_part(game: Game, found: Equilibrium) -> dict[str, Any]:
    """The certificate, every distinct equilibrium, and what is remarkable about where owners settle."""
    return {
        "converged": found.converged,
        "reason": found.reason,
        "method": found.method,
        "iterations": found.iterations,
        "max_regret": found.max_regret,
        "max_relative_regret": found.max_relative_regret,
        "starts": found.starts,
        "distinct": [e.epsilon for e in (found, *found.others)],
        "remarks": remarks(game, found),
    }


def diagnosis_part(scenario: Scenario, game: Game) -> dict[str, Any] | None:
    """What kind of game it is, by samples; None for large markets and those that do not meet in sums alone."""
    if len(game.owners) > DIAGNOSED or not game.additive:
        return None
    found = diagnose(game, rng=Streams(scenario.seed, "diagnosis").rng())
    return {
        "dominance_solvable": found.dominance.holds,
        "potential_game": found.potential.holds,
        "contraction": found.contraction.holds,
        "modulus": found.contraction.modulus,
        "diagonally_concave": found.concavity.holds,
    }


def learner_part(game: Game, epsilon: np.ndarray, budget: float | None = None) -> dict[str, Any]:
    """The learner's account: what buying adds over its own rows, less what it pays, and whether it can pay."""
    fitness, paid = game.fitness(epsilon), float(game.payments(epsilon).sum())
    gross = game.value * (game.forecast.outside - fitness)
    return {
        "value": game.value,
        "gross_value": gross,
        "payments": paid,
        "surplus": gross - paid,
        "buying_pays": bool(gross - paid > 0 and fitness < game.forecast.outside),
        "budget": budget,
        "within_budget": None if budget is None else participation(game, epsilon, budget=budget).within_budget,
    }


def welfare_part(scenario: Scenario, game: Game, epsilon: np.ndarray) -> dict[str, Any]:
    """Welfare at the equilibrium and at the best profile a planner could impose."""
    have = welfare(game, epsilon)
    best_epsilon, best = social_optimum(
        game,
        rng=Streams(scenario.seed, "optimum").rng(),
        start=epsilon,
        starts=min(OPTIMUM_STARTS, scenario.market.starts),
    )
    return {
        "total": have,
        "owners": float(game.payoffs(epsilon).sum()),
        "learner": learner_surplus(game, epsilon),
        "treasury": float(taxes(game, epsilon).sum()),
        "gini": gini(game.payoffs(epsilon)),
        "optimum": best,
        "optimum_epsilon": best_epsilon,
        "price_of_anarchy": best / have if have > 0 else None,
    }


def forecast_part(data: MarketData, planner: Planner, epsilon: np.ndarray) -> dict[str, Any]:
    """The forecast at given budgets, and the same with the pooled records beside it."""
    plan, fitness = planner.forecast.plan(epsilon), planner.forecast.at(epsilon)
    noise = planner.forecast.noise_part(epsilon)
    oracle = planner.oracle(epsilon)
    reach, optimum = planner.reach(epsilon), planner.optimum
    return {
        "kind": planner.forecast.kind,
        "basis": planner.forecast.basis,
        "algorithm": plan.algorithm,
        "horizon": plan.horizon,
        "answers": plan.priced,
        "step_size": plan.step_size,
        "returned": plan.returned,
        "bias": fitness - noise,
        "noise": noise,
        "excess": fitness * optimum,
        "relative_fitness": fitness,
        "optimum": optimum,
        "interval": planner.interval(epsilon),
        "reach": reach,
        "projection_may_bind": reach is not None and bool(reach > planner.coordinates.theta_max),
        "published_bound": published_part(data, planner, epsilon, fitness * optimum),
        "oracle": asdict(oracle) | {"relative_fitness": oracle.relative_fitness},
    }


def published_part(data: MarketData, planner: Planner, epsilon: np.ndarray, excess: float) -> dict[str, Any] | None:
    """The published bound for the algorithm in use under Laplace noise; None where nobody is asked."""
    plan, sharing = planner.forecast.plan(epsilon), epsilon > 0
    if planner.strong_convexity is None or plan.algorithm not in ("synchronous", "averaged"):
        return None
    if not (planner.mechanism.in_published_bounds and plan.asks and sharing.any()):
        return None
    return beside_the_law(
        plan.algorithm,
        epsilon[sharing],
        float(data.sizes[sharing].sum()),
        planner.coordinates.gradient_bound,
        plan.step_size,
        planner.strong_convexity,
        excess,
    )


def validation_part(
    scenario: Scenario, data: MarketData, planner: Planner, trained: Trained, predicted: dict[str, Any]
) -> dict[str, Any]:
    """Trained runs against the forecast; everything here is measured with non-private access."""
    runs = summary(data.fitness.relative(trained.theta))
    interval, pooled = predicted["interval"], predicted["oracle"]
    oracle = Decomposition(pooled["bias"], pooled["noise"], data.fitness.optimum, pooled["std_error"])
    forecast = Decomposition(predicted["bias"], predicted["noise"], predicted["optimum"])
    return {
        "runs": trained.runs,
        "relative_fitness": runs,
        "z_score": z_score(runs["mean"], runs["std_error"], oracle),
        "agrees": agrees(runs["mean"], runs["std_error"], interval),
        "nonprivate_fitness": data.fitness.optimum,
        "projected": trained.projected,
        "explanation": explanation(runs, interval, forecast, oracle, projected=trained.projected),
        "holdout": holdout_part(scenario, data, planner, trained),
    }


def holdout_part(scenario: Scenario, data: MarketData, planner: Planner, trained: Trained) -> dict[str, Any] | None:
    """Mean squared error, or share of wrong labels, on rows that nobody trained on."""
    if data.holdout is None:
        return None
    x, y = data.holdout.x, data.holdout.y
    models = {
        "trained": trained.theta,
        "nonprivate": data.fitness.minimiser[None],
        "outside": planner.own_model[None],
    }
    loss = scenario.learning.objective
    name = "error" if loss.labels else "mse"
    found: dict[str, Any] = {"records": data.holdout.n_records}
    found |= {f"{name}_{who}": loss.error(x, y, theta) for who, theta in models.items()}
    if loss.labels:
        found["error_guessing"] = float(min(np.mean(y > 0), np.mean(y < 0)))
    else:
        found["variance"] = float(y.var())
    if len(data.owners) <= ALONE and not loss.costly:
        found["isolated"] = [loss.error(x, y, model[None]) for model in isolated_models(scenario, data)]
    return found


def isolated_models(scenario: Scenario, data: MarketData) -> list[np.ndarray]:
    """The model that each owner would train alone, without noise."""
    loss, regularisation = scenario.learning.objective, scenario.learning.regularisation
    return [loss.fit(owner.x, owner.y, regularisation)[0] for owner in data.owners]


def trajectory_rows(game: Game, found: Equilibrium) -> list[dict[str, Any]]:
    """Round by round: each owner's budget, payment, and what it could still gain by moving alone."""
    rows = []
    for number, epsilon, payments, _ in found.trajectory:
        regret = game.regret(epsilon)
        rows += [
            {"round": number, "owner": name, "epsilon": e, "payment": p, "regret": r}
            for name, e, p, r in zip(game.owners.names, epsilon, payments, regret, strict=True)
        ]
    return rows


def payoff_rows(game: Game, epsilon: np.ndarray) -> list[dict[str, Any]]:
    """Each owner's surplus over its whole interval, the others at the equilibrium."""
    low, high = game.owners.epsilon_min[:CURVE_OWNERS], game.owners.epsilon_max[:CURVE_OWNERS]
    start = np.where(low > 0, low, np.where(high > 0, 1e-3 * high, 0.0))
    grid = np.where(
        high[:, None] > 0,
        np.maximum(start, 1e-300)[:, None]
        * (np.maximum(high, 1e-300) / np.maximum(start, 1e-300))[:, None] ** np.linspace(0, 1, CURVE_POINTS),
        0.0,
    )
    grid = np.column_stack([low, grid[:, 1:-1], epsilon[:CURVE_OWNERS], high])
    grid.sort(axis=1)
    payoffs = game.deviation_payoffs(epsilon, grid, np.arange(len(grid)))
    return [
        {"owner": game.owners.names[i], "epsilon": e, "payoff": p}
        for i in range(len(grid))
        for e, p in zip(grid[i], payoffs[i], strict=True)
    ]
