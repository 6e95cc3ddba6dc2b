"""Contributions: what each owner's answer brought, from the sums released, and payment by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from learning.errors import InputError
from learning.randomness import Streams
from learning.training.coalitions import Coalitions, check_count, list_coalitions
from learning.training.contribution import (
    CERTAINTY,
    LEAST_REDRAWS,
    CheckRows,
    Contributions,
    Estimate,
    estimate_contributions,
    worth_of,
)
from learning.training.engine import Trained
from learning.training.sums import ReleasedSums, released_runs
from market.game.game import Game
from scenarios.features.base import Feature, Topic, rows_of

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

ANSWERS_IN_SUMS = "one_step"
POLICY = "contribution"
SETTLED_RUNS = 100  # trainings that are settled, at most
SETTLED_SETS = 20_000  # models of sets of owners in them


def check_sums(scenario: Scenario, title: str) -> None:
    """Refuse, with an InputError, trainings in which owners release no sums."""
    learning = scenario.learning
    if learning.algorithm != ANSWERS_IN_SUMS:
        rule = f'must be "{ANSWERS_IN_SUMS}" with {title}, which needs sums that owners release'
        raise InputError("learning.algorithm", rule, learning.algorithm)
    if learning.weights != "size":
        rule = f'must be "size" with {title}: sums add up record by record'
        raise InputError("learning.weights", rule, learning.weights)


class OwnersContributions(Feature):
    """Contributions of the owners' answers, measured on check rows, with their standard errors."""

    key = "validation.contributions"
    title = "contributions"
    example = (
        "validation.contributions=true",
        "learning.algorithm=one_step",
        "learning.mechanism=l2",
        "data.public_rows=150",
        "data.check_rows=300",
    )
    result = "contributions"
    sentence = "contributions.txt.j2"
    topic = Topic("brought", 29, "brought", "What each answer brought", 12)
    excludes = {
        "trust": "which need the sums of each owner",
        "time": "which are counted in one market",
        "learners": "which are those to one learner's model",
    }

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether contributions are asked for, or paid for."""
        return bool(scenario.validation.contributions) or scenario.policy.kind == POLICY

    def check(self, scenario: Scenario) -> None:
        """Refuse trainings without sums, and rows that nothing can be measured on."""
        check_sums(scenario, self.title)
        if scenario.learning.start == "zero":
            rule = f'must be "public" with {self.title}, which count from the learner\'s own model'
            raise InputError("learning.start", rule, "zero")
        if scenario.data.check_rows < 2:
            rule = f"must be 2 or more with {self.title}, which are measured on these rows"
            remedy = "Several times the public rows tell contributions apart."
            raise InputError("data.check_rows", rule, scenario.data.check_rows, remedy)

    def change_game(self, scenario: Scenario, game: Game) -> Game:
        """The game itself, of so many owners as can be compared."""
        check_count(len(game.owners), "validation.contributions")
        return game

    def facts(self, run: Run, loop: Loop) -> dict[str, Any] | None:
        """Contributions to the first training's model, and settlements of all trainings.

        Returns
        -------
        contributions.rows : Check rows that contributions are measured on; contributions is null
            where nothing is trained on answers, or the scenario asks for none.
        contributions.certainty : Standard errors above 0 at which an answer counts, and is paid.
        contributions.trainings : Trainings that were settled: all, or as many
            as sets of owners allow.
        contributions.orders_drawn : Whether orders of arrival were drawn, since there are too many.
        contributions.worth : What all answers together brought the first training: how much lower ψ
            is than the learner's own, estimated on the check rows.
        contributions.worth_std_error : Its standard error.
        contributions.owners[].name : An owner that answered.
        contributions.owners[].answer : Shapley value of its answer, in units of ψ.
        contributions.owners[].answer_std_error : Its standard error, by the choice of check rows.
        contributions.owners[].records : Shapley value of its records: with what noise took added.
        contributions.owners[].records_std_error : Its standard error, by noise and check rows.
        contributions.owners[].left_out : How much higher ψ would be without its answer.
        contributions.owners[].left_out_std_error : Its standard error, by the choice of check rows.
        contributions.owners[].measured : The Shapley value measured on all records, which nobody in
            the market can see.
        contributions.owners[].covered : Part of the trainings in which that lies within 1.96
            standard errors of the estimate.
        contributions.owners[].paid_in : Part of the trainings in which the answer counts.
        contributions.owners[].expected : Money that it was promised; null under policies that do
            not pay for contributions.
        contributions.owners[].settled : Money that it is paid by the first training; null likewise.
        contributions.owners[].settled_mean : Mean of that over the trainings; null likewise.
        """
        trained = run.trained
        if trained is None or trained.task is None or run.data.aside is None:
            return None
        coalitions = list_coalitions(len(trained.task.owners))
        count = min(SETTLED_RUNS, max(1, SETTLED_SETS // len(coalitions.members)))
        settled = range(min(trained.task.runs, count))
        found = [
            measure_run(run, trained, sums, coalitions, number)
            for number, sums in enumerate(released_runs(trained.task, settled))
        ]
        estimates = [one for one, _, _ in found]
        unit = run.planner.optimum
        gains = found[0][2]
        return {
            "rows": run.data.aside.n_records,
            "certainty": CERTAINTY,
            "trainings": len(found),
            "orders_drawn": len(coalitions.draws) > 1,
            "worth": float(gains.mean()) / unit,
            "worth_std_error": float(gains.std(ddof=1)) / len(gains) ** 0.5 / unit,
            "owners": rows_of(
                owner_columns(run, trained, [one.shapley for one in estimates], unit)
                | left_out_columns(estimates[0].left_out, unit)
                | measured_columns(estimates, [one for _, one, _ in found], unit)
            ),
        }


def measure_run(
    run: Run, trained: Trained, sums: ReleasedSums, coalitions: Coalitions, number: int
) -> tuple[Contributions, np.ndarray, np.ndarray]:
    """Estimates of one training, Shapley values on all records (N,), and gains by row (m,)."""
    assert trained.task is not None
    assert run.data.aside is not None
    regularisation = run.scenario.learning.regularisation
    rows = CheckRows(run.data.aside.x, run.data.aside.y, run.data.loss, regularisation)
    rng = Streams(run.scenario.seed, "contributions").rng(number)
    redraws = {"redraws": LEAST_REDRAWS} if number else {}
    mechanism = trained.task.mechanism
    found = estimate_contributions(sums, mechanism, rows, coalitions, rng=rng, **redraws)
    theta = sums.solve_sets(coalitions.members)
    own = sums.coordinates.centre
    measured = coalitions.shapley @ worth_of(theta, own, run.data.fitness)
    whole = coalitions.members.all(axis=1)
    return found, measured, rows.gains(theta[whole][:1], own)[0]


def owner_columns(
    run: Run, trained: Trained, estimates: list[Estimate], unit: float
) -> dict[str, Any]:
    """Columns of the owners who answered: contributions, and the money they are settled for."""
    assert trained.task is not None
    first = estimates[0]
    names = [owner.name for owner in trained.task.owners]
    money: dict[str, Any] = dict.fromkeys(
        ("expected", "settled", "settled_mean"), [None] * len(names)
    )
    if run.scenario.policy.kind == POLICY:
        paid = np.array([run.scenario.policy.budget * one.shares() for one in estimates])
        promised = dict(zip(run.data.names, run.game.payments(run.epsilon), strict=True))
        money["expected"] = [float(promised[name]) for name in names]
        money["settled"] = paid[0]
        money["settled_mean"] = paid.mean(axis=0)
    return {
        "name": names,
        "answer": first.answer / unit,
        "answer_std_error": first.answer_error / unit,
        "records": first.records / unit,
        "records_std_error": first.records_error / unit,
        "paid_in": np.mean([one.counts for one in estimates], axis=0),
        **money,
    }


def left_out_columns(estimate: Estimate, unit: float) -> dict[str, np.ndarray]:
    """Columns of what the model loses without each owner's answer."""
    return {
        "left_out": estimate.answer / unit,
        "left_out_std_error": estimate.answer_error / unit,
    }


def measured_columns(
    estimates: list[Contributions], measured: list[np.ndarray], unit: float
) -> dict[str, np.ndarray]:
    """Columns of contributions measured on all records, and how often estimates cover them."""
    covered = [
        np.abs(one.shapley.answer - truth) <= 1.96 * one.shapley.answer_error
        for one, truth in zip(estimates, measured, strict=True)
    ]
    return {"measured": measured[0] / unit, "covered": np.mean(covered, axis=0)}
