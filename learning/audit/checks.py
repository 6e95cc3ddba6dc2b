"""Checks of a watched training: everything that its claims rest on, and what they cannot see.

Records, bounds, prices and accounts are checked exactly; noise and picks by tests whose probability
of a false alarm is exact or bounded, split evenly over all kinds and, within a kind, over all
places (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, starmap

import numpy as np

from learning.audit.accountant import NoiseLaw, law_of
from learning.audit.auditor import Finding
from learning.audit.dependence import (
    Scores,
    compare_coordinates,
    compare_mixes,
    compare_owners,
    compare_pairs,
    compare_picks,
    compare_rounds,
    normal_scores,
    size_scores,
)
from learning.audit.exact_checks import check_exactly
from learning.audit.reference import Records
from learning.audit.single_numbers import (
    count_repeats,
    count_tails,
    count_zeros,
    visible_cut,
)
from learning.audit.transcript import Answers, Transcript, replications_for, watch_training
from learning.audit.verdicts import Check, SingleTest, binomial_test, judge_tests
from learning.errors import InputError
from learning.privacy.mechanism import Mechanism
from learning.training.algorithms import ALGORITHMS
from learning.training.clocks import talk_probabilities
from learning.training.task import Task

STATISTICAL = 13  # kinds of tests that may give a false alarm
ROUNDS_APART = 32  # rounds tested one by one
ALWAYS = (
    "bounds and formulas that the audit itself has wrong",
    "what an owner reveals outside its answers: whether and when it answers, "
    "how long this takes, what it prints",
    "a bug that appears only with other records, seeds, machines or budgets, "
    "or a program that detects an audit",
    "noise that somebody can predict by knowing the generator and its seed",
    "loss reports before trading, noise among members of a group, "
    "and whether a charge precedes its answer",
    "the programs and ledgers of an exchange, which have their own code",
)

Tests = Iterator[tuple[str, Iterable[SingleTest]]]


def check_training(
    task: Task,
    overlap: int = 1,
    rows: int = 1,
    *,
    error: float = 0.0005,
    records: Mapping[str, Records] | None = None,
) -> tuple[Check, ...]:
    """Watch a training and check it against the claims for its owners (`Mechanism.claims`).

    Parameters
    ----------
    task: the training, with the owners, coordinates, mechanism and streams of a run. The number of
        runs is chosen here.
    overlap: kappa, the owners that one record may sit with, as the scenario states it.
    rows: k, the most rows of one person at an owner, as the scenario states it.
    error: an upper bound on the probability that a sound training fails any check.
    records: owners' encoded records (x, y), which their answers are compared with; owners that are
        not named are passed over.

    Returns
    -------
    The checks that apply; a single failed one where the training ends in an error, and none where
    no owner adds noise.

    Raises
    ------
    InputError
        If the task breaks a rule for inputs.

    Source: ours. The laws of |noise| are exact; Kolmogorov's distance by Massart, The Tight
        Constant in the Dvoretzky-Kiefer-Wolfowitz Inequality; dependence as in
        `learning.audit.dependence`.
    """
    try:
        seen = watch_training(replace(task, runs=replications_for(task)))
    except InputError:
        raise
    except (ValueError, IndexError, ArithmeticError) as error_met:
        return (Check("carried out", 1, str(error_met)[:80], 1.0, 0.0, False),)
    noisy = [one for one in seen.answers if one.scale > 0]
    if not noisy:
        return ()
    exact = check_exactly(seen, noisy, overlap, rows, records or {})
    each = error / STATISTICAL
    tested = (judge_tests(kind, tests, each) for kind, tests in _make_tests(seen, noisy))
    return tuple(check for check in (*exact, *tested) if check is not None)


def detectable_noise(checks: Sequence[Check]) -> float:
    """Look up the measured over stated scale that is detected 99 times in 100; nan if untested."""
    return next((check.limit for check in checks if check.kind == "noise"), np.nan)


def list_unseen(
    task: Task,
    checks: Sequence[Check],
    findings: Sequence[Finding],
    left_out: Sequence[str],
    error: float,
) -> tuple[str, ...]:
    """List faults of a training that this audit cannot see.

    Parameters
    ----------
    task: the training.
    checks: its checks.
    findings: those of the attacks.
    left_out: checks that could not be made, in words.
    error: the probability of a false alarm of all checks together.
    """
    least = detectable_noise(checks)
    numbers = replications_for(task) * task.width * max(1, len(task.plan.steps))
    rare = 1 - error ** (1 / max(1, numbers))
    law = law_of(task.mechanism.name, task.width)
    cut = np.nan
    if law is not None:
        cut = visible_cut(law, numbers, error / 1000)
    share = min((finding.share for finding in findings), default=1.0)
    picked = ALGORITHMS[task.plan.algorithm].one_by_one
    unknown = "how much noise there is, which has no law that the audit knows: it was attacked only"
    short = f"noise that is smaller than stated by less than {1 - least:.1%}"
    said = {
        unknown: np.isnan(least),
        short: not np.isnan(least),
        f"noise that is cut off beyond {cut:.2g} times its scale": np.isfinite(cut),
        f"errors in fewer than one of {1 / rare:,.0f} numbers of noise, "
        "and dependence that chance alone could produce": True,
        "claims so large that no number of draws made here could refute them": any(
            finding.verdict == "too large to test" for finding in findings
        ),
        "records that move answers further than the worst found, "
        f"which reach {share:.0%} of the bound": share < 0.995,
        "dependence between noise on second moments and on gradients, and how far the moments "
        "tell records apart: they are checked, and only gradients attacked": (
            task.coordinates.moments is not None
        ),
        "picks that are uneven among few records of an owner": picked,
    }
    return (*(words for words, applies in said.items() if applies), *left_out, *ALWAYS)


def _make_tests(seen: Transcript, noisy: Sequence[Answers]) -> Tests:
    """Make all statistical tests, kind by kind."""
    yield "turns", _count_turns(seen, noisy)
    if seen.picks is not None:
        total = sum(owner.records.n_records for owner in seen.task.owners)
        yield "picks", compare_picks(seen.picks, total)
    answered = [one for one in noisy if one.seen]
    if not answered:
        return
    mechanism = seen.task.mechanism
    whole = (one.parts for one in _sum_parts(answered, mechanism.parts))
    parts = list(zip(*whole, strict=True))
    if seen.moments:
        parts.append(tuple(_sum_parts(seen.moments, mechanism.parts)))
    laws = [(law_of(part[0].law(mechanism), part[0].noise.shape[-1]), part) for part in parts]
    known = [(law, part) for law, part in laws if law is not None]
    for kind, tests in OF_LAWS.items() if known else ():
        yield kind, chain.from_iterable(starmap(tests, known))
    yield "zeros", chain.from_iterable(map(count_zeros, parts))
    yield "repeats", chain.from_iterable(map(count_repeats, parts))
    compared = OF_SIGNS
    if mechanism.parts > 1:  # an owner's own part of noise has fair signs, but no known law
        numbers = [
            [(one.owner.name, normal_scores("", one.relative)) for one in some]
            for some in (answered, seen.moments)
            if some
        ]
    else:
        # moments are of the first answer alone, and looked at by themselves
        joined = [parts[:-1], parts[-1:]] if seen.moments else [parts]
        numbers = [
            [_join_scores(mechanism, owner) for owner in zip(*some, strict=True)] for some in joined
        ]
        if known:
            compared = OF_SIGNS | {"mixes": compare_mixes}
            sizes = [[(owner, size_scores(one)) for owner, one in scores] for scores in numbers]
            numbers = [kind for both in zip(numbers, sizes, strict=True) for kind in both]
    for kind, compare in compared.items():
        yield kind, chain.from_iterable(map(compare, numbers))


def _join_scores(mechanism: Mechanism, parts: Sequence[Answers]) -> Scores:
    """Join the normal numbers of an owner's parts: noise is independent between them, too."""
    numbers = [normal_scores(one.law(mechanism), one.relative) for one in parts]
    return parts[0].owner.name, np.concatenate(numbers, axis=2)


def _count_turns(seen: Transcript, noisy: Sequence[Answers]) -> Iterator[SingleTest]:
    """Count how often each owner was asked, where random picks or clocks decide.

    Ticks of an owner beyond those that its budget covers are lost, so that under clocks only an
    owner that is never asked fails.
    """
    task = seen.task
    algorithm = ALGORITHMS[task.plan.algorithm]
    if not algorithm.asks_at_random:
        return
    lots = task.runs * len(task.plan.steps)
    odds = task.sizes / task.sizes.sum()
    if algorithm.clocked:
        odds = talk_probabilities(task.plan.clocks, len(task.owners))
    by_name = dict(zip((owner.name for owner in task.owners), odds.tolist(), strict=True))
    for one in noisy:
        name = one.owner.name
        if not algorithm.clocked:
            yield binomial_test(name, one.asked, lots, by_name[name])
            continue
        never = (1 - by_name[name]) ** lots if one.asked == 0 else 1.0
        yield SingleTest(name, float(one.asked), never, lambda each: 0.0)


def _sum_parts(noisy: Sequence[Answers], parts: int) -> Sequence[Answers]:
    """Sum the noise of each owner and of the next ones, as many as make up the whole noise.

    Where all of them do there is one sum.
    """
    if parts == 1:
        return noisy
    summed = []
    for first, one in enumerate(noisy if parts < len(noisy) else noisy[:1]):
        together = [noisy[(first + k) % len(noisy)].relative for k in range(parts)]
        made = np.sum(together, axis=0)  # in units of the stated scale of each answer
        summed.append(replace(one, noise=made, scale=1.0, factors=None))
    return summed


def _test_amounts(
    law: NoiseLaw, noisy: Sequence[Answers], axes: Sequence[tuple[int, int] | None] = (None,)
) -> Iterator[SingleTest]:
    """Test an owner's noise against its stated scale: all, each coordinate, each early round."""
    for one in noisy:
        numbers = one.relative
        for axis in axes:
            part = numbers[:ROUNDS_APART] if axis == (1, 2) else numbers
            found, likely = (np.atleast_1d(value) for value in law.measure_shortfall(part, axis))
            limit = partial(law.detectable_scale, np.count_nonzero(~np.isnan(part)) / len(found))
            for ratio, chance in zip(found.tolist(), likely.tolist(), strict=True):
                yield SingleTest(one.owner.name, ratio, chance, limit)


def _test_laws(law: NoiseLaw, noisy: Sequence[Answers]) -> Iterator[SingleTest]:
    """Test Kolmogorov's distance of an owner's noise from its law by Massart's bound."""
    for one in noisy:
        numbers = law.independent_numbers(one.relative)
        numbers = np.sort(numbers[~np.isnan(numbers)])
        count = len(numbers)
        below = law.chance_below(numbers)
        steps = np.arange(count + 1) / count
        distance = float(np.maximum(steps[1:] - below, below - steps[:-1]).max())
        chance = min(1.0, 2 * np.exp(-2 * count * distance**2))
        yield SingleTest(one.owner.name, distance, chance, partial(_distance_limit, count))


def _distance_limit(count: int, error: float) -> float:
    return float(np.sqrt(np.log(2 / error) / (2 * count)))


# kind of test -> its tests, of noise of a known law, and of independent numbers with fair signs
OF_LAWS: dict[str, Callable[..., Iterator[SingleTest]]] = {
    "noise": _test_amounts,
    "parts": partial(_test_amounts, axes=((0, 1), (1, 2))),
    "law": _test_laws,
    "tails": count_tails,
}
OF_SIGNS = {
    "rounds": compare_rounds,
    "coordinates": compare_coordinates,
    "owners": compare_owners,
    "pairs": compare_pairs,
}
