"""Checks of a watched training: all that its claims rest on, from sensitivities and prices to noise that is all there.

Records, bounds, prices and accounts are checked exactly; noise and picks by tests whose chance of a false alarm is exact or
bounded, shared out evenly over all kinds and, within a kind, over all places (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from learning.audit.accountant import Answering, Law
from learning.audit.bookkeeping import check_accounts, check_asked, count_turns
from learning.audit.canaries import canaries, furthest_canaries
from learning.audit.dependence import (
    both_kinds,
    compare_coordinates,
    compare_mixes,
    compare_owners,
    compare_pairs,
    compare_rounds,
    normal_scores,
)
from learning.audit.l2_law import law_of, scores_epsilon
from learning.audit.picks import compare_picks
from learning.audit.reference import Records, compare_canaries, compare_records
from learning.audit.single_numbers import (
    check_answers_again,
    count_repeats,
    count_tails,
    count_zeros,
    find_grids,
)
from learning.audit.transcript import Answers, Transcript, replications, watched_training
from learning.audit.verdicts import Check, SingleTest, exact_check, worst_of
from learning.audit.worst_pairs import worst_sums
from learning.errors import InputError
from learning.losses.coordinates import RECORD
from learning.privacy.claims import Claim
from learning.training.algorithms import ALGORITHMS
from learning.training.client import Client
from learning.training.task import Task

ROUNDING = 1e-5  # of sensitivities: records may be kept in single precision
SLACK = 1e-3  # of epsilon, between two accountants
LOUD, LOUD_RUNS = 1e6, 4  # so many times the noise drives any training against its ball
STATISTICAL = 12  # kinds of tests that may give a false alarm
MOST_RECORDS = 20_000  # of an owner whose gradients are measured
ROUNDS_APART = 32  # rounds looked at one by one
ON_A_GRID = 0.5  # of an owner's numbers: more lie on no grid by chance

Tests = Iterator[tuple[str, Iterable[SingleTest]]]


def check_training(
    task: Task,
    overlap: int = 1,
    rows: int = 1,
    *,
    error: float = 0.0005,
    records: Mapping[str, Records] | None = None,
) -> tuple[Check, ...]:
    """Watch a training and check it against what is claimed of its owners (`Mechanism.claims`).

    Parameters
    ----------
    task: the training as a run makes it: its owners, coordinates, mechanism and streams. The number of runs is chosen here.
    overlap: kappa, the owners that one record may sit with, as the scenario states it.
    rows: k, the most rows of one person at an owner, as the scenario states it.
    error: the chance that a sound training fails at any of them.
    records: owners' encoded records (x, y), which their answers are held against; of owners that are not named nothing is.

    Source: ours. The laws of |noise| are exact; Kolmogorov's distance by Massart, The Tight Constant in the
    Dvoretzky-Kiefer-Wolfowitz Inequality; dependence as in `learning.audit.dependence`.
    """
    try:
        seen = watched_training(replace(task, runs=replications(task, len(task.owners))))
    except InputError:
        raise
    except (ValueError, IndexError, ArithmeticError) as error_met:
        return (Check("carried out", 1, str(error_met)[:80], 1.0, 0.0, False),)
    noisy = [one for one in seen.answers if one.scale > 0]
    if not noisy:
        return ()
    exact = [*_of_bookkeeping(seen, noisy), *_of_records(seen, noisy, rows, records or {})]
    answered = [one for one in noisy if one.seen]
    if answered:
        exact += [_price(seen.task, answered, overlap, rows), check_answers_again(answered)]
        exact.append(exact_check("grid", find_grids([part for one in answered for part in one.parts]), ON_A_GRID))
    each = error / STATISTICAL
    tested = [worst_of(kind, tests, each) for kind, tests in _statistical(seen, noisy, answered)]
    return tuple(check for check in (*exact, *tested) if check is not None)


def power(checks: Sequence[Check]) -> float:
    """The measured over stated scale of an owner's noise that is seen for sure, all but 1 %; nan if it was not tested."""
    return next((check.limit for check in checks if check.kind == "noise"), np.nan)


# --- exact ------------------------------------------------------------------------------------------------------------


def _of_bookkeeping(seen: Transcript, noisy: Sequence[Answers]) -> Iterator[Check | None]:
    """Who was asked, which answers have noise that was paid for, and what was entered in the ledger."""
    yield check_asked(seen, noisy)
    yield check_accounts(seen)
    asked = {one.owner.name: float(max(0, one.asked - one.noisy, one.most - seen.task.plan.priced)) for one in noisy}
    yield exact_check("answers", asked)


def _of_records(
    seen: Transcript, noisy: Sequence[Answers], rows: int, records: Mapping[str, Records]
) -> Iterator[Check | None]:
    """Sensitivities, clipping, the ball, and what owners answer from."""
    task = seen.task
    algorithm = ALGORITHMS[task.plan.algorithm]
    if algorithm.takes_steps:
        loud = _loud(task)
        moved, places = furthest_canaries(task.coordinates, np.concatenate([seen.queries, loud.queries]), rows)
        furthest = max(seen.furthest, loud.furthest)
        ball = task.coordinates.theta_max
        if np.isfinite(ball):
            reached = furthest / ball if ball > 0 else 1 + furthest
            yield Check("ball", 2, "", reached, 1.0, reached <= 1 + ROUNDING)
    else:
        pair = worst_sums(task.coordinates)
        moved = pair.share * rows / task.coordinates.rows_per_person
        places = 1
    yield Check("sensitivity", places, "", moved, 1.0, moved <= 1 + ROUNDING)
    if algorithm.takes_steps and task.coordinates.clipping == RECORD:
        yield _gradients(seen, noisy)
    yield compare_canaries(task.coordinates, canaries(task.coordinates), algorithm.one_by_one)
    yield compare_records(task, records)


def _gradients(seen: Transcript, noisy: Sequence[Answers]) -> Check:
    """The longest gradient of any owner's records, as they answer, at the start and at the last point that was kept."""
    coordinates, longest = seen.task.coordinates, []
    asked = np.concatenate([np.zeros((1, seen.task.width)), seen.queries[-1:].reshape(-1, seen.task.width)])
    for one in noisy:
        records: Any = one.owner.records
        rows = np.unique(np.linspace(0, records.n_records - 1, MOST_RECORDS).astype(int))
        lengths = [
            np.linalg.norm(records.record_gradient(np.tile(query, (len(rows), 1)), rows), coordinates.norm, axis=1)
            for query in asked
        ]
        longest.append(float(np.max(lengths)) / coordinates.radius)
    worst = int(np.argmax(longest))
    found = longest[worst]
    return Check("gradients", len(noisy) * len(asked), noisy[worst].owner.name, found, 1.0, found <= 1 + ROUNDING)


def _loud(task: Task) -> Transcript:
    """The same training under so much noise that it leaves its ball, if anything lets it."""
    owners = tuple(replace(owner, scale=LOUD * np.asarray(owner.scale)) for owner in task.owners)
    return watched_training(replace(task, owners=owners, runs=LOUD_RUNS))


def _price(task: Task, noisy: Sequence[Answers], overlap: int, rows: int) -> Check | None:
    """What stated noise gives away of k rows at the announced sensitivity, kappa owners alike together, over the claim."""
    law = law_of(task.mechanism.name, noisy[0].noise.shape[-1])
    if law is None:
        return None
    coordinates, sampled = task.coordinates, ALGORITHMS[task.plan.algorithm].one_by_one
    chance = 1 / float(sum(owner.records.n_records for owner in task.owners)) if sampled else 1.0
    ratios = []
    for one in noisy:
        size, claim = one.owner.records.n_records, _claim(task, one.owner)
        if ALGORITHMS[task.plan.algorithm].takes_steps:
            reach = 2 * coordinates.gradient_bound / coordinates.rows_per_person / (1 if sampled else size)
        else:
            reach = worst_sums(coordinates).bound
        factors = () if one.factors is None else tuple(one.factors.tolist())
        answering = Answering(claim.rounds, overlap, chance, factors)
        given = law.epsilon(rows * reach / one.scale, answering, claim.delta)
        if one.widths:
            given = scores_epsilon(coordinates, one.widths, one.scale / rows, answering, claim.delta)
        ratios.append(given / claim.epsilon)
    worst = int(np.argmax(ratios))
    return Check("price", len(ratios), noisy[worst].owner.name, ratios[worst], 1.0, ratios[worst] <= 1 + SLACK)


def _claim(task: Task, owner: Client) -> Claim:
    assert owner.epsilon is not None
    return task.mechanism.claims(owner.name, owner.epsilon, task.plan.priced, size=owner.records.n_records)[0]


# --- statistical ------------------------------------------------------------------------------------------------------


def _statistical(seen: Transcript, noisy: Sequence[Answers], answered: Sequence[Answers]) -> Tests:
    yield "turns", count_turns(seen, noisy)
    if seen.picks is not None:
        yield "picks", compare_picks(seen.picks, sum(owner.records.n_records for owner in seen.task.owners))
    if not answered:
        return
    name = seen.task.mechanism.name
    kinds = list(zip(*(one.parts for one in _whole(answered, seen.task.mechanism.parts)), strict=True))
    found = [(law_of(name, part[0].noise.shape[-1]), part) for part in kinds]
    laws = [(law, part) for law, part in found if law is not None]
    if laws:
        yield "noise", (test for law, part in laws for test in _amounts(law, part, (None,)))
        yield "parts", (test for law, part in laws for test in _amounts(law, part, ((0, 1), (1, 2))))
        yield "law", (test for law, part in laws for test in _laws(law, part))
        yield "tails", (test for law, part in laws for test in count_tails(law, part))
    yield "zeros", (test for _, part in found for test in count_zeros(part))
    yield "repeats", (test for _, part in found for test in count_repeats(part))
    shared = seen.task.mechanism.parts > 1  # of noise in parts an owner's own has no known law, but fair signs
    compared = [answered] if shared else [part for _, part in found]
    law_name = "" if shared else name
    numbers = [[(one.owner.name, normal_scores(law_name, one.relative)) for one in part] for part in compared]
    known = bool(laws) and not shared
    both = [kind for scores in numbers for kind in both_kinds(scores, known)]
    for kind, compare in COMPARED.items():
        yield kind, (test for scores in both for test in compare(scores))
    if known:
        yield "mixes", (test for scores in both for test in compare_mixes(scores))


COMPARED = {
    "rounds": compare_rounds,
    "coordinates": compare_coordinates,
    "owners": compare_owners,
    "pairs": compare_pairs,
}


def _whole(noisy: Sequence[Answers], parts: int) -> Sequence[Answers]:
    """Noise that has a law: each owner's own, or that of each owner and of those after it whose parts make up the noise."""
    if parts == 1:
        return noisy
    others = [[noisy[(first + k) % len(noisy)].relative for k in range(parts)] for first in range(len(noisy))]
    sums = [np.sum(made, axis=0) for made in others]  # in units of what is stated of each answer
    return [replace(one, noise=made, scale=1.0, factors=None) for one, made in zip(noisy, sums, strict=True)]


def _amounts(law: Law, noisy: Sequence[Answers], axes: Sequence[tuple[int, int] | None]) -> Iterator[SingleTest]:
    """An owner's noise against its stated scale: all of it, each coordinate, each of the first rounds."""
    for one in noisy:
        numbers = one.relative
        for axis in axes:
            part = numbers[:ROUNDS_APART] if axis == (1, 2) else numbers
            found, chances = (np.atleast_1d(value) for value in law.shortfall(part, axis))
            count = np.count_nonzero(~np.isnan(part)) / len(found)
            for ratio, chance in zip(found, chances, strict=True):
                yield SingleTest(one.owner.name, float(ratio), float(chance), partial(law.visible, count))


def _laws(law: Law, noisy: Sequence[Answers]) -> Iterator[SingleTest]:
    """Kolmogorov's distance of an owner's noise from its law, with the bound by Dvoretzky, Kiefer, Wolfowitz and Massart."""
    for one in noisy:
        numbers = law.single(one.relative)
        numbers = np.sort(numbers[~np.isnan(numbers)])
        count = len(numbers)
        below = law.chance_below(numbers)
        steps = np.arange(count + 1) / count
        distance = float(np.maximum(steps[1:] - below, below - steps[:-1]).max())
        chance = min(1.0, 2 * np.exp(-2 * count * distance**2))
        yield SingleTest(one.owner.name, distance, chance, lambda each, n=count: np.sqrt(np.log(2 / each) / (2 * n)))  # type: ignore[misc]
