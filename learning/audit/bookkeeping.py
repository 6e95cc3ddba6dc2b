"""What owners were asked, and what the ledger says of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from learning.audit.transcript import Answers, Transcript
from learning.audit.verdicts import Check, SingleTest, count_test, exact_check
from learning.errors import InputError
from learning.training.algorithms import ALGORITHMS
from learning.training.asynchronous import Asynchronous
from learning.training.clocks import chances


def check_asked(seen: Transcript, noisy: Sequence[Answers]) -> Check | None:
    """Check that every owner was asked as often as the plan says, unless that is drawn by lot."""
    algorithm = ALGORITHMS[seen.task.plan.algorithm]
    if algorithm.asks_at_random:
        return None
    wanted = seen.task.runs * (len(seen.task.plan.steps) if algorithm.takes_steps else 1)
    return exact_check("asked", {one.owner.name: float(abs(one.asked - wanted)) for one in noisy})


def count_turns(seen: Transcript, noisy: Sequence[Answers]) -> Iterator[SingleTest]:
    """Count how often each owner was asked, where lots decide: as its records, or as its clock has it.

    Clocks may lose the last ticks of an owner, so that only one who is never asked tells against them.
    """
    task = seen.task
    algorithm = ALGORITHMS[task.plan.algorithm]
    if not algorithm.asks_at_random:
        return
    lots = task.runs * len(task.plan.steps)
    clocked = isinstance(algorithm, Asynchronous)
    odds = chances(task.plan.clocks, len(task.owners)) if clocked else task.sizes / task.sizes.sum()
    by_name = {owner.name: float(chance) for owner, chance in zip(task.owners, odds, strict=True)}
    for one in noisy:
        chance = by_name[one.owner.name]
        if not clocked:
            yield count_test(one.owner.name, one.asked, lots, chance)
            continue
        never = float((1 - chance) ** lots) if one.asked == 0 else 1.0
        yield SingleTest(one.owner.name, float(one.asked), never, lambda each: 0.0)


def check_accounts(seen: Transcript) -> Check | None:
    """Check the ledger: of every owner as many answers as the run gave that asks most, on the budget that it sold."""
    task = seen.task
    given = {one.owner.name: one.most for one in seen.answers}
    wrong = {}
    for owner in task.owners:
        if owner.silent:
            continue
        count = given.get(owner.name, 0)
        try:
            account = seen.ledger.account(owner.name, task.data)
        except InputError:
            wrong[owner.name] = float(count)
            continue
        sold = account.budget
        priced = sold.epsilon == owner.epsilon and sold.horizon == owner.horizon and sold.delta == task.mechanism.delta
        wrong[owner.name] = float(abs(account.answered - count) if priced else max(1, count))
    return exact_check("ledger", wrong)
