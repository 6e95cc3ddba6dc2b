"""Trained models of a run against forecast, promises and other trainings, for a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from learning.forecast.error_seen import see_error
from learning.forecast.homogeneity import gradients_at, homogeneity_of_records, record_gradients
from learning.forecast.likeness import compare_owners
from learning.forecast.measures import RELATIVE
from learning.forecast.own_check import compare_models, estimate_start, homogeneity_of_answers
from learning.forecast.pooled import some_records
from learning.forecast.public_sample import PublicSample
from learning.privacy.ledger import Ledger
from learning.privacy.promises import make_claims, weakest_claims
from learning.progress import ReportWork, count_progress
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.baselines import BASELINES
from learning.training.engine import Trained, train
from learning.training.paths import ignore_step
from learning.training.sums import released_sums
from learning.training.task import Task
from scenarios.features.audit import list_conduct
from scenarios.run import Run
from scenarios.schema.scenario import Scenario
from scenarios.summary import market
from scenarios.summary.break_even import measured_break_even
from scenarios.summary.verdict import (
    agrees_on_money,
    explain_by_kind,
    explain_difference,
    forecast_agrees,
    summarise_runs,
    z_score,
)
from scenarios.summary.worth import checked_terms_part, fresh_terms_part
from scenarios.tables.dataset import MarketData

MARKET = "market"  # the market's own training, among those that it is compared with
PUBLIC = "anyone but that party"  # where one party has all records
IN_THE_CLOUD = 200
MOST_OF_A_PATH = 200


def validation_part(
    run: Run, predicted: dict[str, Any], learner: dict[str, Any]
) -> dict[str, Any] | None:
    """Compare trained runs, measured with non-private access, with the forecast and the promises.

    None without training.

    Parameters
    ----------
    predicted: what was forecast.
    learner: what the learner was promised, money.
    """
    data = run.data
    trained = run.trained
    if trained is None:
        return None
    runs = summarise_runs(run.fitness)
    money = market.money_part(run)
    money["break_even"] = measured_break_even(run, learner.get("break_even"))
    explained = explain_difference(runs, predicted, projected=trained.projected)
    z = z_score(summarise_runs(run.trained_fitness), predicted["oracle"])
    if trained.stopped:  # the law is of trainings that go on
        z = None
        explained = [explained[0], {"cause": "answers_grew", "share": trained.stopped}]
    told = list_conduct(run.answering)
    outside = explained[0]["cause"] == "outside_interval" and data.n_targets == 1
    if outside and data.public is not None and not told:
        explained.append(explain_by_kind(*kind_p_values(run.scenario, data)))
    return {
        "runs": len(trained.theta),
        "relative_fitness": runs,
        "z_score": z,
        "agrees": forecast_agrees(runs, predicted["interval"]),
        "money": money,
        "terms": checked_terms_part(run, run.own_fitness),
        "agrees_on_money": money_agrees(money, learner),
        "nonprivate_fitness": data.fitness.optimum,
        "projected": trained.projected,
        **own_check_part(run, trained),
        "explanation": explained + list_failed_checks(run) + told,
        "holdout": holdout_part(run),
        "baselines": baselines_part(run),
        "lojasiewicz": lojasiewicz_part(run),
    }


def list_failed_checks(run: Run) -> list[dict[str, Any]]:
    """List what the learner's public rows say against the trained models, as facts with a cause."""
    found = run.public_check
    if found is None:
        return []
    masks = {
        "worse_than_guessing": found.worse_than_guessing,
        "worse_than_own": found.worse_than_own,
    }
    return [
        {
            "cause": cause,
            "share": float(mask.mean()),
            "records": found.records,
            "first": bool(mask[0]),
        }
        for cause, mask in masks.items()
        if mask.any()
    ]


def money_agrees(money: dict[str, Any], learner: dict[str, Any]) -> bool:
    """Test the learner's promise: its gain or, where the worth is unknown, the fall of the error.

    A promise that nothing was made of is kept.
    """
    if learner["buying_pays"] is not None:
        return agrees_on_money(money["learner_surplus"], learner)
    return not money["break_even"] or bool(money["break_even"]["agrees"])


def kind_p_values(scenario: Scenario, data: MarketData) -> tuple[float, float]:
    """P-values of two tests: owners' records are of one kind, and public rows are of that kind."""
    public = data.public
    best = data.fitness.minimiser
    rng = Streams(scenario.seed, "homogeneity").rng("records")
    assert public is not None
    *records, drawn = some_records(data.pooled, Streams(scenario.seed, "homogeneity").rng("sample"))
    x, y = (np.concatenate(both) for both in zip(records, (public.x, public.y), strict=True))
    gradients = gradients_at(scenario.learning.objective, x, y, best)
    count = len(y) - public.n_records
    among = homogeneity_of_records(gradients[:count], drawn[drawn > 0].tolist(), rng=rng)
    return among, homogeneity_of_records(gradients, (count, public.n_records), rng=rng)


def holdout_part(run: Run) -> dict[str, Any] | None:
    """Mean squared error, or share of wrong labels, of several models on held-out rows.

    Where the learner counts in terms of its own, the errors in these are added. None without
    held-out rows that have a target.
    """
    scenario = run.scenario
    data = run.data
    planner = run.planner
    if data.holdout is None:
        return None
    fresh = data.holdout
    models = {
        "trained": run.theta,
        "nonprivate": data.fitness.minimiser[None],
        "outside": planner.own_model[None],
    }
    loss = scenario.learning.objective
    name, guessing = ("error", "error_guessing") if loss.labels else ("mse", "variance")
    found: dict[str, Any] = {"records": fresh.n_records // data.n_targets}
    found |= {f"{name}_{who}": fresh.error(loss, theta) for who, theta in models.items()}
    if data.alternative is not None:
        found[f"{name}_outside"] = data.alternative.held_out(loss)
        if run.keeps_own.any():
            errors = fresh.errors(loss, run.theta)
            handed_over = run.put_own(errors, found[f"{name}_outside"])
            found[f"{name}_trained"] = float(handed_over.mean())
    found[guessing] = fresh.baseline_error(loss)
    if data.fits_own_models:
        found["isolated"] = [fresh.error(loss, model[None]) for model in data.own_models]
    if run.measure is not RELATIVE:
        found["terms"] = fresh_terms_part(run, fresh)
    return found


def own_check_part(run: Run, trained: Trained) -> dict[str, Any]:
    """The learner's own check of the first training, by noisy answers and rows kept aside.

    Answers are looked at where all owners give their first ones at the start, and there are public
    rows to compare with.
    """
    public = run.data.public
    aside = run.data.aside
    task = trained.task
    none_found: dict[str, Any] = {"homogeneity": None, "likeness": None}
    sees: dict[str, Any] = {}
    if aside is not None and public is not None:
        models = np.stack([run.planner.own_model, run.theta[0]])
        sees["aside"] = {"records": aside.n_records} | asdict(
            compare_models(public, aside.x, aside.y, models)
        )
    if task is None or public is None or run.data.n_targets > 1:
        return none_found | {"learner_sees": sees or None}
    if task.coordinates.scores is not None and not task.mechanism.whole:
        return none_found | {"learner_sees": sees or None}  # sums of all owners alone are seen
    if task.coordinates.scores is not None:
        if task.coordinates.loss.quadratic:
            sees["error"] = {"interval": error_seen(run, task, public, [0])[0].tolist()}
        return likeness_part(run, task, public) | {"learner_sees": sees or None}
    if not ALGORITHMS[task.plan.algorithm].sums_answers:
        return none_found | {"learner_sees": sees or None}
    gradients = record_gradients(task.coordinates, *public.population())
    found = homogeneity_of_answers(
        task, gradients, rng=Streams(run.scenario.seed, "homogeneity").rng()
    )
    start = estimate_start(trained, public)
    if start is not None:
        sees["start"] = asdict(start)
    return {
        "homogeneity": {among: asdict(test) for among, test in found.items()},
        "likeness": None,
        "learner_sees": sees or None,
    }


def error_seen(run: Run, task: Task, public: PublicSample, runs: Sequence[int]) -> np.ndarray:
    """Intervals of the relative fitness of some trained models by released sums, (runs, 2)."""
    assert run.trained is not None
    alike = run.prediction.without_doubt or run.prediction
    clipped = alike.trained - run.planner.noise_part(run.epsilon)
    theta = run.trained.theta[list(runs)]
    rng = Streams(run.scenario.seed, "homogeneity").rng("error")
    return see_error(task, theta, public, runs, clipped=clipped, rng=rng)


def likeness_part(run: Run, task: Task, public: PublicSample) -> dict[str, Any]:
    """Tests that owners are of one kind, and the spread between them, by released sums."""
    rng = Streams(run.scenario.seed, "homogeneity").rng("sums")
    found = compare_owners(released_sums(task), public, task.mechanism, rng=rng)
    tests = {"owners": found.among, "public": found.public}
    optimum = run.planner.optimum
    spread = None
    if found.spread is not None:
        spread = {
            "relative_fitness": found.spread.excess / optimum,
            "interval": [end / optimum for end in found.spread.interval],
        }
    rows = zip(task.owners, found.owners, found.unlike, strict=False)
    return {
        "homogeneity": {name: asdict(test) for name, test in tests.items() if test is not None},
        "likeness": {
            "owners": [
                {"name": owner.name, **asdict(test), "unlike": unlike}
                for owner, test, unlike in rows
            ],
            "spread": spread,
        },
    }


def baselines_part(run: Run) -> list[dict[str, Any]] | None:
    """The market's training and the baselines asked for, at the same budgets with the same draws.

    None where no baseline is asked for or nothing was trained.
    """
    names = run.scenario.validation.baselines
    trained = run.trained
    if not names or trained is None or trained.task is None:
        return None
    rows = [baseline_row(run, MARKET, trained.task, trained.theta)]
    for name in names:
        did = count_progress(
            run.planner.inputs.progress, f"training to compare with: {BASELINES[name].says}", 1
        )
        changed = BASELINES[name].change(trained.task)
        if isinstance(changed, dict):
            rows += copy_rows(run, name, changed, did)
            continue
        task = replace(changed, watch=ignore_step, did=did)
        rows.append(baseline_row(run, name, task, train(task).theta))
    return rows


def copy_rows(
    run: Run, name: str, copies: dict[str, Task], did: ReportWork
) -> Iterator[dict[str, Any]]:
    """Yield a row for each owner's copy; one ledger holds them all."""
    ledger = Ledger()
    part = 1 / len(copies)
    for own, copy in copies.items():
        task = replace(copy, watch=ignore_step, did=lambda done: did(done * part))
        yield baseline_row(run, name, task, train(task, ledger).theta) | {"owner": own}


def baseline_row(run: Run, name: str, task: Task, theta: np.ndarray) -> dict[str, Any]:
    """Fitness of the models (runs, p) of a baseline, and the claims of its noise."""
    fitness = run.data.fitness
    held = run.data.holdout
    loss = run.scenario.learning.objective
    relative = np.asarray(fitness.relative(theta))
    asked = [owner for owner in task.owners if not owner.silent] or list(task.owners)
    sold = np.array([owner.epsilon for owner in asked], dtype=float)  # None: nan, no noise
    sold[np.isnan(sold)] = np.inf
    parties = [owner.name for owner in asked]
    unit = run.scenario.data.promised
    told = make_claims(
        task.mechanism,
        parties,
        np.array([owner.records.n_records for owner in asked], dtype=int),
        sold,
        asked[0].horizon,
        unit,
        task.plan.growth,
    )
    claims = weakest_claims([asdict(one) for one in told]).values()
    nothing = {"epsilon": None, "protects_against": None}
    worst = max(claims, key=lambda one: one["epsilon"], default=nothing)
    seen_by = worst["protects_against"]
    if claims and len(parties) == 1:
        seen_by = PUBLIC
    return {
        "name": name,
        "owner": None,
        "epsilon": sold.tolist() if np.isfinite(sold).all() else None,
        "claimed_epsilon": worst["epsilon"],
        "seen_by": seen_by,
        "relative_fitness": summarise_runs(relative),
        "optimal_gap": float(relative.mean() * fitness.optimum),
        "holdout_error": held and held.error(loss, theta),
    }


def lojasiewicz_part(run: Run) -> dict[str, Any] | None:
    """Smallest Lojasiewicz ratio along the first training, at all trained models, and in a cloud.

    The cloud lies around the best model and reaches as far from it as training began. None where
    the scenario does not ask for it or nothing was trained.
    """
    trained = run.trained
    if not run.scenario.validation.lojasiewicz or trained is None or trained.task is None:
        return None
    from learning.losses.lojasiewicz import draw_cloud, smallest_ratio

    cost = run.data.fitness
    steps = np.linspace(0, len(trained.path) - 1, MOST_OF_A_PATH).round().astype(int)
    reach = float(np.linalg.norm(trained.path[0] - cost.minimiser))
    rng = Streams(run.scenario.seed, "lojasiewicz").rng("cloud")
    points = {
        "path": trained.path[np.unique(steps)],
        "trained": trained.theta,
        "cloud": draw_cloud(cost.minimiser, reach, IN_THE_CLOUD, rng=rng),
    }
    return {name: asdict(smallest_ratio(cost, some)) for name, some in points.items()}
