"""Contributions: what each owner's answer brought, from the sums released, and payment by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from learning.data.owner_data import OwnerData
from learning.errors import InputError
from learning.randomness import Streams
from learning.training.acceptance import LEAST_PARAMETERS, AnswerTest, settle_promises
from learning.training.coalitions import Coalitions, check_count, list_coalitions
from learning.training.contribution import (
    LEAST_REDRAWS,
    REDRAWS,
    CheckRows,
    Contributions,
    estimate_contributions,
    worth_of,
)
from learning.training.sums import released_runs
from learning.training.task import Task
from market.game.game import Game
from scenarios.features.base import Feature, Topic, rows_of

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

ANSWERS_IN_SUMS = "one_step"
POLICY = "contribution"
APART = {  # what does not go with sums that are told apart by owner
    "trust": "for which the sums of each owner must be known",
    "time": "which is worked out for a single market",
    "learners": "which is worked out for a single learner",
}
SETTLED_RUNS = 100  # trainings that are settled, at most
SETTLED_SETS = 20_000  # models of sets of owners in them


def check_sums(scenario: Scenario, title: str) -> None:
    """Refuse, with an InputError, trainings in which owners release no sums."""
    learning = scenario.learning
    if learning.algorithm != ANSWERS_IN_SUMS:
        rule = f'must be "{ANSWERS_IN_SUMS}" with {title}, because it needs sums from owners'
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
    excludes = APART

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
            rule = f"must be 2 or more with {self.title}, because they are measured on these rows"
            remedy = "Set it to several times the number of public rows."
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
        contributions.least_cosine : Cosine with what the check rows show that an answer must exceed
            to be accepted; null where the model has too few parameters for that.
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
        contributions.owners[].cosine : Cosine between the error of the learner's own model by
            the answer and by the check rows, without what shrinking and shifting explain.
        contributions.owners[].left_out : How much higher ψ would be without its answer.
        contributions.owners[].left_out_std_error : Its standard error, by the choice of check rows.
        contributions.owners[].measured : The Shapley value measured on all records, which nobody in
            the market can see.
        contributions.owners[].covered : Part of the trainings in which that lies within 1.96
            standard errors of the estimate.
        contributions.owners[].odds : Probability that an honest answer is accepted, known before
            any answer.
        contributions.owners[].accepted_in : Part of the trainings in which the answer is accepted.
        contributions.owners[].expected : Money that it was promised, and expects if it is honest;
            null under policies that do not pay for contributions.
        contributions.owners[].offered : Money that it is paid if its answer is accepted: expected
            over odds; null likewise.
        contributions.owners[].settled : Money that it is paid by the first training; null likewise.
        contributions.owners[].settled_mean : Mean of that over the trainings; null likewise.
        """
        trained = run.trained
        if trained is None or trained.task is None or run.data.aside is None:
            return None
        coalitions = list_coalitions(len(trained.task.owners))
        test = answer_test(run, trained.task, run.data.aside)
        found, measured, accepted = measure_trainings(run, trained.task, test, coalitions)
        unit = run.planner.optimum
        columns = contribution_columns(found, measured, unit)
        names = [owner.name for owner in trained.task.owners]
        tested = test_columns(run, trained.task, test, accepted)
        money = money_columns(run, names, tested["odds"], accepted)
        return {
            "rows": run.data.aside.n_records,
            "least_cosine": None if np.isinf(test.least_cosine) else test.least_cosine,
            "trainings": len(found),
            "orders_drawn": len(coalitions.draws) > 1,
            "worth": found[0].worth / unit,
            "worth_std_error": found[0].worth_error / unit,
            "owners": rows_of({"name": names} | columns | tested | money),
        }


def answer_test(run: Run, task: Task, aside: OwnerData) -> AnswerTest:
    """Test of answers on the check rows.

    Raises
    ------
    InputError
        Where answers are paid, and the model has too few parameters for any to be accepted.
    """
    rows = CheckRows(aside.x, aside.y, run.data.loss, task.regularisation)
    assert run.data.public is not None  # who has check rows has public rows
    test = AnswerTest(rows, len(run.data.public.y), task.coordinates)
    if run.scenario.policy.kind == POLICY and np.isinf(test.least_cosine):
        rule = f"must be another where the model has fewer than {LEAST_PARAMETERS} parameters"
        why = "which are too few to tell answers from guesses"
        raise InputError("policy.kind", f"{rule}, {why}", POLICY)
    return test


def measure_trainings(
    run: Run, task: Task, test: AnswerTest, coalitions: Coalitions
) -> tuple[list[Contributions], np.ndarray, np.ndarray]:
    """Estimates of each training; Shapley values on all records, and answers accepted (k, N).

    The first has smaller sampling errors of its standard errors than the others.
    """
    streams = Streams(run.scenario.seed, "contributions")
    count = min(task.runs, SETTLED_RUNS, max(1, SETTLED_SETS // len(coalitions.members)))
    found = []
    measured = []
    accepted = []
    redraws = REDRAWS
    for number, sums in enumerate(released_runs(task, range(count))):
        drawn: dict[str, Any] = {"rng": streams.rng(number), "redraws": redraws}
        found.append(estimate_contributions(sums, task.mechanism, test.rows, coalitions, **drawn))
        theta = sums.solve_sets(coalitions.members)
        worth = worth_of(theta, sums.coordinates.centre, run.data.fitness)
        measured.append(coalitions.shapley @ worth)
        accepted.append(test.accepts(sums))
        redraws = LEAST_REDRAWS
    return found, np.array(measured), np.array(accepted)


def test_columns(
    run: Run, task: Task, test: AnswerTest, accepted: np.ndarray
) -> dict[str, np.ndarray]:
    """Columns of the first answers' cosines, the odds of honest ones, and who is accepted."""
    (first,) = released_runs(task, [0])
    rng = Streams(run.scenario.seed, "honest answers").rng()
    return {
        "cosine": test.cosines(first.xu),
        "odds": test.odds(first, task.mechanism, rng=rng),
        "accepted_in": accepted.mean(axis=0),
    }


def contribution_columns(
    found: list[Contributions], measured: np.ndarray, unit: float
) -> dict[str, np.ndarray]:
    """Columns of the owners' contributions, of the first training and over all of them."""
    first = found[0].shapley
    left_out = found[0].left_out
    answers = np.array([one.shapley.answer for one in found])
    errors = np.array([one.shapley.answer_error for one in found])
    return {
        "answer": first.answer / unit,
        "answer_std_error": first.answer_error / unit,
        "records": first.records / unit,
        "records_std_error": first.records_error / unit,
        "left_out": left_out.answer / unit,
        "left_out_std_error": left_out.answer_error / unit,
        "measured": measured[0] / unit,
        "covered": np.mean(np.abs(answers - measured) <= 1.96 * errors, axis=0),
    }


def money_columns(
    run: Run, names: list[str], odds: np.ndarray, accepted: np.ndarray
) -> dict[str, Any]:
    """Columns of what was promised and what is paid; of nothing if contributions are not paid."""
    if run.scenario.policy.kind != POLICY:
        kinds = ("expected", "offered", "settled", "settled_mean")
        return dict.fromkeys(kinds, [None] * len(names))
    by_name = dict(zip(run.data.names, run.game.payments(run.epsilon), strict=True))
    promised = np.array([by_name[name] for name in names])
    paid = settle_promises(promised, odds, accepted)
    return {
        "expected": promised,
        "offered": settle_promises(promised, odds, np.ones(len(names), dtype=bool)),
        "settled": paid[0],
        "settled_mean": paid.mean(axis=0),
    }
