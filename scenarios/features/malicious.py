"""Malicious learner: one that repeats its queries, keeps the answers, and asks outside the ball."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from learning.declaration import NonNegative
from learning.errors import InputError
from learning.forecast.planner import Planner
from learning.privacy.gaussian import Gaussian
from learning.privacy.ledger import BudgetExceeded, Ledger
from learning.privacy.lifetime import Lifetime, LimitedLedger
from learning.privacy.mechanism import BasicComposition
from learning.privacy.noise import where_noisy
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.engine import charge_training, train
from learning.training.task import Task
from market.costs.base import Cost
from market.costs.functions import Anticipated
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.schema.fields import Section

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

ONE_TRAINING = "because it is worked out for a single training"
OTHER_CLAIM = "because what repeated answers then cost is not known"


class MaliciousLearner(Section):
    """A learner that may not follow the protocol: it asks every query several times, averages the
    answers, or asks outside the ball."""

    repeats: Annotated[int, Ge(1), Le(1000)] = 2
    """How often it asks each query; it averages the answers, each with noise of its own."""
    reach: Annotated[float, Ge(1)] = 1.0
    """How many times as far as agreed from the centre of the ball its queries may lie."""
    programs: Literal["answer", "refuse"] = "answer"
    """Whether owners' programs answer or refuse questions that the contract does not cover."""
    expected: Annotated[float, Ge(0), Le(1)] = 0.0
    """The probability with which owners expect all that, as they choose their ε."""
    found: Annotated[float, Gt(0), Le(1)] = 1.0
    """The probability that it is found out."""
    penalty: NonNegative = 0.0
    """Money that it then pays."""


class Malicious(Feature):
    """What owners leak to a learner that does not follow the protocol, and what deters it."""

    key = "malicious"
    title = "[malicious]"
    table = MaliciousLearner | None
    example = ("malicious={repeats=3}",)
    result = "malicious"
    sentence = "malicious.txt.j2"
    topic = Topic("privacy", 5, "malicious", "A learner that asks more than agreed", 12)
    excludes = {
        "trust": "because the learner then sees sums alone",
        "learners": ONE_TRAINING,
        "time": ONE_TRAINING,
        "bargaining": "because contracts would have to price it",
        "owners.report": OTHER_CLAIM,
        "owners.cost_at": OTHER_CLAIM,
        "learning.accounting": OTHER_CLAIM,
        "learning.one_record": OTHER_CLAIM,
        "learning.gradient_bound": OTHER_CLAIM,
        "learning.overlap": OTHER_CLAIM,
        "learner.value.unknown": "because its gain is then unknown",
    }

    def check(self, scenario: Scenario) -> None:
        """Refuse algorithms whose answers are not asked step by step."""
        if any(not one.trains_by.takes_steps for one in scenario.learning.decided):
            rule = "needs an algorithm that asks step by step"
            found = f"algorithm {scenario.learning.algorithm!r}".replace("'", '"')
            raise InputError(self.key, rule, found, "Set learning.algorithm, or leave it out.")

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Leaks at the budgets sold, the learner's gain by them, and the market without that fear.

        Returns
        -------
        malicious.bound_factor : How many times as long as agreed a record's gradient may be where
            the learner asks; malicious is null where the learner follows the protocol.
        malicious.owners[].name : An owner that is asked.
        malicious.owners[].epsilon : ε that it sold.
        malicious.owners[].answers : Answers that its ledger holds, repeats included; 0 without
            training.
        malicious.owners[].leaked : ε of all these answers together, by the mechanism's composition.
        malicious.owners[].delta : Failure probability of that.
        malicious.owners[].harm : Money that this ε costs it more than the ε sold.
        malicious.refusal : The line in which a ledger limited to the ε sold refuses the first
            repeated answer; null without one, and without training.
        malicious.gain : Money that the model of averaged answers is worth to the learner more than
            that of single ones, over all trainings: mean and std_error; null without training, and
            where owners answer outside the ball.
        malicious.least_penalty : The smallest penalty that leaves it no gain; null where that is
            unknown.
        malicious.deterred : Whether owners' programs or the penalty leave it no gain.
        malicious.trusting.epsilon : What each owner would sell if none expected it.
        malicious.trusting.relative_fitness : ψ of the model there, by the forecast.
        malicious.trusting.payments : Money paid there.
        """
        rule = run.scenario.malicious
        ledger, refusal = Ledger(), None
        if run.trained is not None and run.trained.task is not None:
            ledger, refusal = charge_repeats(run.trained.task, rule)
        leak = count_leak(run.scenario, run.planner)
        leaked = np.where(run.epsilon > 0, leak(run.epsilon), 0.0) * run.asks
        return {
            "bound_factor": bound_factor(run.planner, rule.reach),
            "owners": list_leaks(run, loop, leaked, ledger),
            "refusal": refusal,
            "trusting": describe_trusting(run, loop),
            **judge_gain(run),
        }


def list_leaks(run: Run, loop: Loop, leaked: np.ndarray, ledger: Ledger) -> list[dict[str, Any]]:
    """Rows of the owners that are asked."""
    owners = loop.make_game(follow_protocol(run.scenario)).owners
    harm = owners.cost.value(leaked, owners.sizes) - owners.cost.value(run.epsilon, owners.sizes)
    answers = Counter[str]()
    for account in ledger.accounts:
        answers[account.budget.owner] += account.answered
    rule = run.scenario.malicious
    trainings = rule.repeats if rule.programs == "answer" else 1
    columns = {
        "name": np.array(run.data.names, dtype=object),
        "epsilon": run.epsilon,
        "answers": np.array([answers[name] for name in run.data.names]),
        "leaked": leaked,
        "delta": run.planner.mechanism.composed_delta(np.full(len(leaked), trainings)),
        "harm": harm,
    }
    return rows_of({name: column[leaked > 0] for name, column in columns.items()})


def describe_trusting(run: Run, loop: Loop) -> dict[str, Any]:
    """Equilibrium of owners who do not expect the learner to depart from the protocol."""
    scenario = follow_protocol(run.scenario)
    rng = Streams(scenario.seed, "malicious").rng()
    found = loop.search(scenario, loop.make_game(scenario), rng=rng, starts=1)
    return {
        "epsilon": found.epsilon,
        "relative_fitness": run.planner.forecast.at(found.epsilon),
        "payments": float(found.payments.sum()),
    }


def judge_gain(run: Run) -> dict[str, Any]:
    """Gain by averaged answers, and whether it is deterred; None where queries leave the ball.

    What answers from outside the ball are worth to the learner is not known.
    """
    rule = run.scenario.malicious
    if rule.programs == "refuse":
        return {"gain": {"mean": 0.0, "std_error": 0.0}, "least_penalty": 0.0, "deterred": True}
    gain = measure_gain(run, rule.repeats)
    if gain is None or rule.reach > 1:
        return dict.fromkeys(("gain", "least_penalty", "deterred"))
    least = max(0.0, gain[0]) / rule.found
    return {
        "gain": {"mean": gain[0], "std_error": gain[1]},
        "least_penalty": least,
        "deterred": bool(rule.penalty >= least),
    }


def follow_protocol(scenario: Scenario) -> Scenario:
    """The same scenario with a learner that follows the protocol."""
    return scenario.model_copy(update={"malicious": None})


def bound_factor(planner: Planner, reach: float) -> float:
    """Largest gradient of a record in a ball ``reach`` times as wide, over that in the ball."""
    wide = replace(planner.coordinates, theta_max=reach * planner.coordinates.theta_max)
    agreed = planner.coordinates.gradient_bound
    return 1.0 if wide.gradient_bound == agreed else float(wide.gradient_bound / agreed)


def count_leak(scenario: Scenario, planner: Planner) -> Callable[[np.ndarray], np.ndarray]:
    """Epsilon of all answers that a malicious learner gets for budgets sold (...).

    Its queries move with the answers, so their epsilons compose adaptively, as those of trainings
    that follow each other do.

    Raises
    ------
    InputError
        For queries outside the ball, under accounting that does not scale with sensitivity.
    """
    rule = scenario.malicious
    mechanism = planner.mechanism
    factor = bound_factor(planner, rule.reach)
    if rule.programs == "refuse":
        return np.asarray
    if factor > 1 and not isinstance(mechanism, BasicComposition | Gaussian):
        wanted = 'must be 1 under this noise; needs accounting "basic", or Gaussian noise'
        raise InputError("malicious.reach", wanted, f"{rule.reach:g}", "Change either.")

    def leak(epsilon: np.ndarray) -> np.ndarray:
        one = factor * epsilon
        if isinstance(mechanism, Gaussian):
            one = where_noisy(
                epsilon, lambda e: mechanism.epsilon_at(factor * mechanism.distance(e))
            )
            one = np.where(np.asarray(epsilon) > 0, one, 0.0)
        return mechanism.composed_epsilon(np.stack([one] * rule.repeats))

    return leak


def anticipate(scenario: Scenario, planner: Planner, cost: Cost) -> Cost:
    """The owners' cost of privacy, with the leak that they expect."""
    rule = scenario.malicious
    if rule is None or not rule.expected:
        return cost
    leak = count_leak(scenario, planner)
    return Anticipated(cost, lambda epsilon, sizes: leak(epsilon), rule.expected)


def charge_repeats(task: Task, rule: MaliciousLearner) -> tuple[Ledger, str | None]:
    """Ledger of the answers given, and the line that refuses the first repeated one.

    Each repeat of the training is an account of its own, as a training of the same records is. The
    contract limits an owner to what it sold.
    """
    counts = ALGORITHMS[task.plan.algorithm].count_answers(task)
    asked = [one for owner in task.owners for one in owner.asked]
    limit = np.array([one.epsilon for one in asked], dtype=float)
    names = tuple(one.name for one in asked)
    ledger = Ledger()
    contract = LimitedLedger(Lifetime(task.mechanism, limit, names=names))
    refusal = None
    for number in range(rule.repeats):
        again = replace(task, data=f"repeat {number + 1}")
        if number == 0 or rule.programs == "answer":
            charge_training(again, counts, ledger)
        if refusal is None:
            try:
                charge_training(again, counts, contract)
            except BudgetExceeded as error:
                refusal = str(error)
    return ledger, refusal


def measure_gain(run: Run, repeats: int) -> tuple[float, float] | None:
    """Money that averaged answers gain the learner, and its standard error; None untrained."""
    if run.trained is None:
        return None
    if run.trained.task is None or repeats == 1:
        return 0.0, 0.0
    task = run.trained.task
    task = replace(task, owners=tuple(owner.ask_again(repeats) for owner in task.owners))
    before, after = (run.counted(one.theta) for one in (run.trained, train(task)))
    error = np.sqrt(before.var(ddof=1) / len(before) + after.var(ddof=1) / len(after))
    value = run.game.value
    return float(value * (before.mean() - after.mean())), float(value * error)
