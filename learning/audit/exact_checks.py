"""Exact checks of a watched training: who was asked, the ledger, sensitivities and prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from learning.audit.accountant import (
    Answering,
    law_of,
    moments_epsilon,
    scores_epsilon,
    traces_epsilon,
    wishart_freedom,
)
from learning.audit.canaries import compare_canary_pairs, make_canaries
from learning.audit.reference import Records, compare_canaries, compare_records
from learning.audit.single_numbers import check_repeated_answers, find_grids
from learning.audit.transcript import Answers, Transcript, watch_training
from learning.audit.verdicts import Check, judge_numbers, judge_ratio
from learning.audit.worst_pairs import worst_sums
from learning.errors import InputError
from learning.losses.clipping import RECORD
from learning.training.algorithms import ALGORITHMS
from learning.training.task import Task

ROUNDING = 1e-5  # of sensitivities: records may be kept in single precision
SLACK = 1e-3  # of epsilon, between two accountants
LOUD = 1e6  # factor of the noise that drives any training against its ball
LOUD_RUNS = 4
MOST_RECORDS = 20_000  # of an owner whose gradients are measured
ON_A_GRID = 0.5  # of an owner's numbers: fewer lie on a grid by chance


def check_exactly(
    seen: Transcript,
    noisy: Sequence[Answers],
    overlap: int,
    rows: int,
    records: Mapping[str, Records],
) -> Iterator[Check | None]:
    """Make all exact checks of a training.

    Parameters
    ----------
    seen: the training.
    noisy: the answers of owners that add noise.
    overlap, rows, records: as in `learning.audit.checks.check_training`.
    """
    yield _check_asked(seen, noisy)
    yield _check_accounts(seen)
    priced = seen.task.plan.priced
    unpaid = {
        one.owner.name: float(max(0, one.asked - one.noisy, one.most - priced)) for one in noisy
    }
    yield judge_numbers("answers", unpaid)
    yield from _check_sensitivity(seen, rows)
    coordinates = seen.task.coordinates
    algorithm = ALGORITHMS[seen.task.plan.algorithm]
    if algorithm.takes_steps and coordinates.clipping == RECORD:
        yield _check_gradients(seen, noisy)
    if coordinates.moments is not None:
        yield _check_moments(seen, records)
    yield compare_canaries(coordinates, make_canaries(coordinates), algorithm.one_by_one)
    yield compare_records(seen.task, records)
    answered = [one for one in noisy if one.seen]
    if answered:
        yield _check_price(seen, answered, overlap, rows)
        yield check_repeated_answers(answered)
        parts = [part for one in answered for part in one.parts]
        yield judge_numbers("grid", find_grids(parts), ON_A_GRID)


def _check_asked(seen: Transcript, noisy: Sequence[Answers]) -> Check | None:
    """Check that every owner was asked as often as the plan says, unless owners are drawn."""
    algorithm = ALGORITHMS[seen.task.plan.algorithm]
    if algorithm.asks_at_random:
        return None
    wanted = seen.task.runs
    if algorithm.takes_steps:
        wanted *= len(seen.task.plan.steps)
    return judge_numbers("asked", {one.owner.name: float(abs(one.asked - wanted)) for one in noisy})


def _check_accounts(seen: Transcript) -> Check | None:
    """Check the ledger: each owner's answers in the run that asks most, and its budget."""
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
        budget = account.budget
        sold = (owner.epsilon, owner.horizon, task.mechanism.delta)
        wrong[owner.name] = float(abs(account.answered - count))
        if (budget.epsilon, budget.horizon, budget.delta) != sold:
            wrong[owner.name] = float(max(1, count))
    return judge_numbers("ledger", wrong)


def _check_sensitivity(seen: Transcript, rows: int) -> Iterator[Check]:
    """Check the ball of queries, also under loud noise, and the largest move of an answer."""
    task = seen.task
    coordinates = task.coordinates
    if not ALGORITHMS[task.plan.algorithm].takes_steps:
        moved = worst_sums(coordinates).share * rows / coordinates.rows_per_person
        yield judge_ratio("sensitivity", 1, moved, ROUNDING)
        return
    loud = _train_loudly(task)
    queries = np.concatenate([seen.queries, loud.queries])
    moved, places = compare_canary_pairs(coordinates, queries, rows)
    furthest = max(seen.furthest, loud.furthest)
    ball = coordinates.theta_max
    if np.isfinite(ball):
        reached = 1 + furthest
        if ball > 0:
            reached = furthest / ball
        yield judge_ratio("ball", 2, reached, ROUNDING)
    yield judge_ratio("sensitivity", places, moved, ROUNDING)


def _train_loudly(task: Task) -> Transcript:
    """Repeat the training under noise so loud that only a projection keeps it in its ball."""
    owners = tuple(replace(owner, scale=LOUD * np.asarray(owner.scale)) for owner in task.owners)
    return watch_training(replace(task, owners=owners, runs=LOUD_RUNS))


def _check_gradients(seen: Transcript, noisy: Sequence[Answers]) -> Check:
    """Check the longest gradient of any owner's records, at the start and the last point kept."""
    coordinates = seen.task.coordinates
    width = seen.task.width
    asked = np.concatenate([np.zeros((1, width)), seen.queries[-1:].reshape(-1, width)])
    longest = {}
    for one in noisy:
        records: Any = one.owner.records
        rows = np.unique(np.linspace(0, records.n_records - 1, MOST_RECORDS).astype(int))
        lengths = []
        for query in asked:
            gradients = records.record_gradient(np.tile(query, (len(rows), 1)), rows)
            lengths.append(np.linalg.norm(gradients, coordinates.norm, axis=1))
        longest[one.owner.name] = float(np.max(lengths)) / coordinates.radius
    return _judge_worst("gradients", longest, len(noisy) * len(asked), ROUNDING)


def _check_moments(seen: Transcript, records: Mapping[str, Records]) -> Check:
    """Check each canary's second moments, and owners' means of them where their records are known.

    The number found is the length of a canary's moments over the bound R^2, or 1 and the error of a
    mean over R^2.
    """
    coordinates = seen.task.coordinates
    assert coordinates.moments is not None
    radius = coordinates.moments.radius
    x, y = make_canaries(coordinates)
    lengths = []
    for row in range(len(y)):
        single: Any = coordinates.oracle(x[row : row + 1], y[row : row + 1])
        lengths.append(float(np.linalg.norm(single.second_moments(radius))))
    found = {"": max(lengths) / radius**2}
    for owner in seen.task.owners:
        if owner.name in records:
            moved = records[owner.name][0] @ coordinates.transform
            short = moved * np.minimum(1.0, radius / np.linalg.norm(moved, axis=1))[:, None]
            held: Any = owner.records
            off = held.second_moments(radius) - short.T @ short / len(moved)
            found[owner.name] = 1 + float(np.linalg.norm(off)) / radius**2
    return _judge_worst("moments", found, len(y) + len(found) - 1, ROUNDING)


def _judge_worst(kind: str, ratios: dict[str, float], tested: int, slack: float) -> Check:
    """Judge the largest ratio of all owners."""
    worst = list(ratios)[int(np.argmax(list(ratios.values())))]
    return judge_ratio(kind, tested, ratios[worst], slack, worst)


def _check_price(
    seen: Transcript, noisy: Sequence[Answers], overlap: int, rows: int
) -> Check | None:
    """Check the epsilon of the stated noise, for k rows and kappa equal owners, over the claim."""
    task = seen.task
    law = law_of(task.mechanism.name, noisy[0].noise.shape[-1])
    if law is None:
        return None
    coordinates = task.coordinates
    algorithm = ALGORITHMS[task.plan.algorithm]
    chance = 1 / float(task.sizes.sum()) if algorithm.one_by_one else 1.0
    bound = 2 * coordinates.gradient_bound / coordinates.rows_per_person
    ratios = {}
    moments = {one.owner.name: one for one in seen.moments}
    for one in noisy:
        owner, size = one.owner, one.owner.records.n_records
        assert owner.epsilon is not None
        claim = task.mechanism.claims(owner.name, owner.epsilon, task.plan.priced, size=size)[0]
        reach = bound / (1 if algorithm.one_by_one else size)
        if not algorithm.takes_steps:
            reach = worst_sums(coordinates).bound
        factors = () if one.factors is None else tuple(one.factors.tolist())
        answering = Answering(claim.rounds, overlap, chance, factors)
        if moments:
            released = moments[owner.name].scale * size / rows
            each = [rows * reach / (one.scale * factor) for factor in factors]
            traces = task.mechanism.name == "wishart"
            given = moments_epsilon(
                coordinates, each, released, claim.delta, traces=traces, overlap=overlap
            )
        elif task.mechanism.name == "wishart":
            uses = answering.rounds * overlap
            freedom = wishart_freedom(len(coordinates.centre), task.mechanism.parts)
            given = traces_epsilon(coordinates, one.scale / rows, freedom, uses)
        elif one.widths:
            scale = one.scale / rows
            given = scores_epsilon(coordinates, one.widths, scale, answering, claim.delta)
        else:
            given = law.epsilon(rows * reach / one.scale, answering, claim.delta)
        ratios[owner.name] = given / claim.epsilon
    return _judge_worst("price", ratios, len(ratios), SLACK)
