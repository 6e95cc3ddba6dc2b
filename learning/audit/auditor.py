"""Audit: lower confidence bounds on the epsilon of the mechanism in use, against its claim.

An attacker knows everything but one record: the worst pair of neighbouring data, the worst query,
all answers. The error rates of its best test bound epsilon from below. The bound can refute a
claim; it can never prove one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.audit.accountant import Answering, gaussian_epsilon
from learning.audit.attack import largest_bound, lower_bound
from learning.audit.observations import (
    AuditTarget,
    Observed,
    draw_statistics,
    neighbouring_datasets,
)
from learning.privacy.guarantees import Guarantee, guarantee_answers, measure_gaussian, measure_pure
from learning.progress import ReportWork, ignore_work

DRAWS = 20_000  # of all answers, per data set and half
CONFIDENCE = 0.999  # that no claim at all of an audit is wrongly refuted


@dataclass(frozen=True)
class Finding:
    """Finding of the audit of one owner's answers.

    Parameters
    ----------
    owner: the owner attacked.
    records: the number of its records.
    claimed: the epsilon claimed over all answers the budget covers; of noise as published, the
        accountant's claim.
    delta: the failure probability claimed.
    shown: the lower confidence bound on the epsilon of kappa equal owners, by the audit's own
        accountant.
    charged: the epsilon that all answers asked of one owner may spend, by the mechanism's count.
    bound: the lower confidence bound on that, by the same count.
    answer_charged: the epsilon that a single answer may spend; where shares grow, that of the
        answer whose bound is the largest part of it; inf where nothing is guaranteed of one.
    answer_bound: the lower confidence bound on that.
    most: the largest bound that the draws could have shown; larger claims cannot be refuted.
    answer_most: the same for a single answer.
    answers: the number of answers asked; under SGD1, the rounds seen.
    draws: the number of draws of all answers under each data set.
    confidence: that of both bounds together.
    share: the part of the sensitivity that the worst pair found attains; below 1 the attack is that
        much weaker.
    horizon: T, the answers that the budget covers.
    """

    owner: str
    records: int
    claimed: float
    delta: float
    shown: float
    charged: float
    bound: float
    answer_charged: float
    answer_bound: float
    most: float
    answer_most: float
    answers: int
    draws: int
    confidence: float
    share: float
    horizon: int

    @property
    def refuted(self) -> bool:
        """True if a bound exceeds the claim, or the cost that the mechanism charges."""
        return (
            self.shown > self.claimed
            or self.bound > self.charged
            or self.answer_bound > self.answer_charged
        )

    @property
    def verdict(self) -> str:
        """Verdict in words; a claim that is not refuted is not proved."""
        if self.refuted:
            return "REFUTED"
        testable = self.charged < self.most or self.answer_charged < self.answer_most
        if testable:
            return "not refuted"
        return "too large to test"


def audit_owner(
    name: str,
    x: Array,
    y: Array,
    epsilon: float,
    target: AuditTarget,
    *,
    seed: int,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> Finding:
    """Attack an owner's answers as training draws them, where one record is either of a worst pair.

    The better test statistic (`draw_statistics`) is chosen on the first half of the draws, with its
    threshold, and tested on the second. The answers are those of the algorithm: T - 1 or T mean
    gradients; as many as an owner may give in asynchronous training; all local steps of weighted
    training, which the server may see; the rounds of SGD1, with known samples; the sums of AdaSSP,
    once.

    Parameters
    ----------
    name: the owner.
    x, y: its encoded records, (n, p) and (n,), n >= 1.
    epsilon: its budget, in (0, inf).
    target: the training audited.
    seed: the seed of the noise.
    draws: the number of draws of all answers, per data set and half.
    confidence: that neither bound is too high.

    Raises
    ------
    ValueError
        If nothing is asked.

    Source: Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning (attack,
        two halves, limits by Clopper and Pearson); here the pair and the query are the worst that
        the public bounds allow.
    """
    answers = target.answers
    if answers < 1:
        raise ValueError(f"{name}: a horizon of {target.horizon} asks nothing to audit")
    made = guarantee_answers(target.mechanism, epsilon, target.horizon, answers, size=len(y))
    datasets = neighbouring_datasets(name, x, y, epsilon, target, seed=seed)
    halves = [draw_statistics(datasets, draws, half) for half in ("choosing", "testing")]
    (choosing, choosing_ones), (testing, testing_ones) = halves
    error = (1 - confidence) / 2
    single = _attack_single(choosing_ones, testing_ones, made, target, error, draws)
    claim = target.mechanism.claims(name, epsilon, target.horizon, size=len(y))[0]
    bound = lower_bound(choosing, testing, made.measure, error)
    spent = made.epsilon(bound)
    return Finding(
        owner=name,
        records=len(y) // target.coordinates.targets,
        claimed=claim.epsilon,
        delta=claim.delta,
        shown=_shown_epsilon(bound, spent, made, target.overlap, claim.delta),
        charged=made.epsilon(made.joint),
        bound=spent,
        most=made.epsilon(largest_bound(made.measure, draws, error, made.chance)),
        **single,
        answers=answers,
        draws=2 * draws,
        confidence=confidence,
        share=target.pair.share,
        horizon=target.horizon,
    )


def _attack_single(
    choosing: Sequence[Observed],
    testing: Sequence[Observed],
    made: Guarantee,
    target: AuditTarget,
    error: float,
    draws: int,
) -> dict[str, Any]:
    """Attack single answers, and report the one with the largest bound over its charge."""
    factors = target.factors if len(testing) > 1 else np.ones(1)
    charges = made.single / factors
    each = error / len(testing)
    shown = [
        lower_bound(*pair, made.single_measure, each)
        for pair in zip(choosing, testing, strict=True)
    ]
    worst = int(np.argmax(shown / charges))
    bounds = {
        "answer_charged": float(charges[worst]),
        "answer_bound": shown[worst],
        "answer_most": largest_bound(made.single_measure, draws, each),
    }
    return {name: made.single_epsilon(bound) for name, bound in bounds.items()}


def _shown_epsilon(
    bound: float, spent: float, made: Guarantee, overlap: int, delta: float
) -> float:
    """Compute the epsilon of a bound on one owner's answers, for kappa equal owners.

    Pure and Gaussian noise is counted by the audit's own accountant; for other noise this is
    ``spent``, the mechanism's number for one owner.
    """
    if made.measure is measure_pure:
        return overlap * bound
    if made.measure is measure_gaussian:
        return gaussian_epsilon(bound, Answering(1, overlap), delta)
    return spent


def audit_owners(
    names: Sequence[str],
    records: Sequence[tuple[Array, Array]],
    epsilon: ArrayLike,
    target: AuditTarget,
    *,
    seed: int,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    did: ReportWork = ignore_work,
) -> list[Finding]:
    """Audit every owner with a claim; ``confidence`` holds for all of them together (Bonferroni).

    Parameters
    ----------
    names: the owners.
    records: (x, y) of each.
    epsilon: array (n_owners,), their budgets; owners at 0 or inf are passed over.
    target, seed, draws, confidence: as in `audit_owner`.
    did: called with 1 after each owner.
    """
    budgets = np.asarray(epsilon, dtype=float)
    claimed = [i for i in range(len(names)) if 0 < budgets[i] < np.inf]
    each = 1 - (1 - confidence) / max(1, len(claimed))
    found = []
    for i in claimed:
        budget = float(budgets[i])
        found.append(
            audit_owner(
                names[i], *records[i], budget, target, seed=seed, draws=draws, confidence=each
            )
        )
        did(1)
    return found
