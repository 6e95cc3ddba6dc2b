"""What a watched training must satisfy for its claims to hold: sensitivities, prices, and noise that is all there and fresh.

Records, bounds and prices are checked exactly; noise by tests whose chance of a false alarm is exact or bounded, shared out
evenly over all of them (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import binom

from learning.arrays import Array
from learning.audit.accountant import Answering, Law
from learning.audit.canaries import furthest_canaries
from learning.audit.l2_law import law_of, scores_epsilon
from learning.audit.transcript import Answers, Transcript, replications, watched_training
from learning.audit.worst_pairs import worst_sums
from learning.losses.coordinates import RECORD
from learning.privacy.claims import Claim
from learning.training.algorithms import ALGORITHMS
from learning.training.client import Client
from learning.training.task import Task

ROUNDING = 1e-5  # of sensitivities: records may be kept in single precision
SLACK = 1e-3  # of epsilon, between two accountants
LOUD, LOUD_RUNS = 1e6, 4  # so many times the noise drives any training against its ball
STATISTICAL = 6  # kinds of tests that may give a false alarm
MOST_RECORDS = 20_000  # of an owner whose gradients are measured
ROUNDS_APART = 32  # rounds looked at one by one
DIGITS = 8  # in which the same noise is the same


@dataclass(frozen=True)
class Check:
    """One thing that was tested of a training, at its worst place.

    Parameters
    ----------
    kind: "sensitivity": how far a canary moves an answer, over what noise is scaled to. "gradients": the longest gradient
        of an owner's record, over the radius that gradients are clipped to. "ball": the longest query, over the ball.
        "price": what the stated noise gives away by the audit's accountant, over what is claimed. "answers": answers
        without noise of their own, or beyond those priced. "twice": noise seen again. "noise": the measured over the
        stated scale of an owner's noise; "parts": of one coordinate or round of it. "law": the largest distance between
        distribution functions. "rounds", "owners", "coordinates": the share of equal signs between them.
    tested: how many places.
    place: the worst: an owner, or empty.
    found: what was found there.
    limit: where it fails.
    passed: whether it holds.
    """

    kind: str
    tested: int
    place: str
    found: float
    limit: float
    passed: bool


@dataclass(frozen=True)
class _Test:
    """A statistical test at one place: what was found, and the chance of as much where all is well."""

    place: str
    found: float
    chance: float
    limit: Callable[[float], float]  # error of a single test -> where it fails


def check_training(task: Task, overlap: int = 1, rows: int = 1, *, error: float = 0.005) -> tuple[Check, ...]:
    """Watch a training and check it against what is claimed of its owners (`Mechanism.claims`).

    Parameters
    ----------
    task: the training as a run makes it: its owners, coordinates, mechanism and streams. The number of runs is chosen here.
    overlap: kappa, the owners that one record may sit with, as the scenario states it.
    rows: k, the most rows of one person at an owner, as the scenario states it.
    error: the chance that a sound training fails at any of them.

    Source: ours. The laws of |noise| and of its signs are exact; Kolmogorov's distance by Massart, The Tight Constant in
    the Dvoretzky-Kiefer-Wolfowitz Inequality.
    """
    seen = watched_training(replace(task, runs=replications(task, len(task.owners))))
    noisy = [one for one in seen.answers if one.scale > 0]
    if not noisy:
        return ()
    each = error / STATISTICAL
    return tuple(
        check
        for check in (
            *_exact(seen, noisy, overlap, rows),
            _twice(noisy),
            *(_worst(kind, list(tests), each) for kind, tests in _statistical(seen, noisy)),
        )
        if check is not None
    )


def power(checks: Sequence[Check]) -> float:
    """The measured over stated scale of an owner's noise that is seen for sure, all but 1 %; nan if it was not tested."""
    return next((check.limit for check in checks if check.kind == "noise"), np.nan)


# --- exact ------------------------------------------------------------------------------------------------------------


def _exact(seen: Transcript, noisy: Sequence[Answers], overlap: int, rows: int) -> Iterator[Check | None]:
    task = seen.task
    steps = ALGORITHMS[task.plan.algorithm].takes_steps
    if steps:
        loud = _loud(task)
        moved, places = furthest_canaries(task.coordinates, np.concatenate([seen.queries, loud.queries]), rows)
        furthest, ball = max(seen.furthest, loud.furthest), task.coordinates.theta_max
        if np.isfinite(ball):
            reached = furthest / ball if ball > 0 else 1 + furthest
            yield Check("ball", 2, "", reached, 1.0, reached <= 1 + ROUNDING)
    else:
        pair = worst_sums(task.coordinates)
        moved, places = pair.share * rows / task.coordinates.rows_per_person, 1
    yield Check("sensitivity", places, "", moved, 1.0, moved <= 1 + ROUNDING)
    if steps and task.coordinates.clipping == RECORD:
        yield _gradients(seen, noisy)
    yield _price(task, noisy, overlap, rows)
    asked = [max(one.asked - one.noisy, len(one.noise) - task.plan.priced) for one in noisy]
    worst = int(np.argmax(asked))
    yield Check("answers", len(asked), noisy[worst].owner.name, max(0, asked[worst]), 0.0, asked[worst] <= 0)


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


def _twice(noisy: Sequence[Answers]) -> Check:
    """How many answers, of any owner, round and run, carry noise that another one carries too, whatever its sign or scale."""
    whole = np.concatenate([_compared(np.abs(one.relative)) for one in noisy])
    whole = whole[np.isfinite(whole).all(axis=1) & (whole > 0).all(axis=1)]
    digits = 10 ** (DIGITS - 1 - np.floor(np.log10(whole)))
    again = len(whole) - len(np.unique(np.round(whole * digits) / digits, axis=0))
    return Check("twice", len(whole), "", again, 0.0, again == 0)


def _compared(noise: Array) -> Array:
    """The first three numbers of every answer, or two runs' where an answer is one number."""
    rows = noise.reshape(-1, noise.shape[-1])[:, :3]
    return rows if rows.shape[1] > 1 else rows[: len(rows) // 2 * 2].reshape(-1, 2)


# --- statistical ------------------------------------------------------------------------------------------------------


def _statistical(seen: Transcript, noisy: Sequence[Answers]) -> Iterator[tuple[str, Iterator[_Test]]]:
    kinds = list(zip(*(one.parts for one in _whole(noisy, seen.task.mechanism.parts)), strict=True))
    found = [(law_of(seen.task.mechanism.name, part[0].noise.shape[-1]), part) for part in kinds]
    laws = [(law, part) for law, part in found if law is not None]
    if laws:
        yield "noise", (test for law, part in laws for test in _amounts(law, part, (None,)))
        yield "parts", (test for law, part in laws for test in _amounts(law, part, ((0, 1), (1, 2))))
        yield "law", (test for law, part in laws for test in _laws(law, part))
    yield "rounds", (_alike(one.owner.name, *_chained(one.noise, 0)) for one in noisy)
    yield "coordinates", (_alike(one.owner.name, *_chained(one.noise, 2)) for one in noisy)
    yield "owners", _between(noisy)


def _whole(noisy: Sequence[Answers], parts: int) -> Sequence[Answers]:
    """Noise that has a law: each owner's own, or that of each owner and of those after it whose parts make up the noise."""
    if parts == 1:
        return noisy
    others = [[noisy[(first + k) % len(noisy)].relative for k in range(parts)] for first in range(len(noisy))]
    sums = [np.sum(made, axis=0) for made in others]  # in units of what is stated of each answer
    return [replace(one, noise=made, scale=1.0, factors=None) for one, made in zip(noisy, sums, strict=True)]


def _worst(kind: str, tests: list[_Test], error: float) -> Check | None:
    """The least likely of all tests of a kind, at an even share of the error."""
    tests = [test for test in tests if np.isfinite(test.chance)]
    if not tests:
        return None
    worst, each = min(tests, key=lambda test: test.chance), error / len(tests)
    return Check(kind, len(tests), worst.place, worst.found, worst.limit(each), worst.chance >= each)


def _amounts(law: Law, noisy: Sequence[Answers], axes: Sequence[tuple[int, int] | None]) -> Iterator[_Test]:
    """An owner's noise against its stated scale: all of it, each coordinate, each of the first rounds."""
    for one in noisy:
        numbers = one.relative
        for axis in axes:
            part = numbers[:ROUNDS_APART] if axis == (1, 2) else numbers
            found, chances = (np.atleast_1d(value) for value in law.shortfall(part, axis))
            count = np.count_nonzero(~np.isnan(part)) / len(found)
            for ratio, chance in zip(found, chances, strict=True):
                yield _Test(one.owner.name, float(ratio), float(chance), lambda each, n=count: law.visible(n, each))  # type: ignore[misc]


def _laws(law: Law, noisy: Sequence[Answers]) -> Iterator[_Test]:
    """Kolmogorov's distance of an owner's noise from its law, with the bound by Dvoretzky, Kiefer, Wolfowitz and Massart."""
    for one in noisy:
        numbers = law.single(one.relative)
        numbers = np.sort(numbers[~np.isnan(numbers)])
        count = len(numbers)
        below = law.chance_below(numbers)
        steps = np.arange(count + 1) / count
        distance = float(np.maximum(steps[1:] - below, below - steps[:-1]).max())
        chance = min(1.0, 2 * np.exp(-2 * count * distance**2))
        yield _Test(one.owner.name, distance, chance, lambda each, n=count: np.sqrt(np.log(2 / each) / (2 * n)))  # type: ignore[misc]


def _chained(noise: Array, axis: int) -> tuple[float, float]:
    """(equal signs, compared) between neighbours along an axis; of independent fair signs these are fair and independent."""
    signs = np.sign(np.moveaxis(noise, axis, 0))
    return _agreement(signs[:-1], signs[1:])


def _agreement(first: Array, second: Array) -> tuple[float, float]:
    both = first * second
    return float((both > 0).sum()), float((np.abs(both) > 0).sum())


def _between(noisy: Sequence[Answers]) -> Iterator[_Test]:
    """Owners' signs in the same answer, run and coordinate: each beside the next, and beside the first."""
    for number, one in enumerate(noisy[1:], start=1):
        for other in {0, number - 1}:
            rounds = min(len(one.noise), len(noisy[other].noise))
            equal = _agreement(np.sign(one.noise[:rounds]), np.sign(noisy[other].noise[:rounds]))
            yield _alike(one.owner.name, *equal)


def _alike(place: str, equal: float, compared: float) -> _Test:
    """Whether signs agree about half the time: exact, two-sided."""
    if compared == 0:
        return _Test(place, np.nan, np.nan, lambda each: np.nan)
    fewer = min(equal, compared - equal)
    chance = min(1.0, 2 * float(binom.cdf(fewer, compared, 0.5)))
    return _Test(place, equal / compared, chance, lambda each: 1 - float(binom.ppf(each / 2, compared, 0.5)) / compared)
