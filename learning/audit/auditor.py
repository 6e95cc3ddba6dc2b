"""Audit: a lower confidence bound on the epsilon that the very mechanism in use really gives, against its claim.

An attacker is given everything but one record: the worst pair of neighbouring data, the worst query, all answers. It
tells the two apart as well as it can; how often it is right bounds epsilon from below. The bound can refute a claim; it
can never prove one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.audit.accountant import Answering, gaussian_epsilon
from learning.audit.attack import lower_bound, most
from learning.audit.observations import AuditTarget, neighbouring_datasets, observations
from learning.privacy.guarantees import Guarantee, gaussian, pure
from learning.progress import Did, unnoticed

DRAWS = 20_000  # of all answers, per data set and half
CONFIDENCE = 0.999  # that no claim at all of an audit is wrongly refuted


@dataclass(frozen=True)
class Finding:
    """What the audit of one owner's answers found.

    Parameters
    ----------
    owner: whose answers were attacked.
    records: how many records they are over.
    claimed: the epsilon claimed over all answers the budget covers; of noise as published, the accountant's claim.
    delta: the failure probability claimed.
    shown: the lower confidence bound on what kappa owners alike give away of one record, by the audit's own accountant.
    charged: the epsilon that the answers asked of one owner may spend, jointly, as the mechanism counts.
    bound: the lower confidence bound on what they do spend, as the mechanism counts.
    answer_charged: what a single answer may spend, the one that shows most of what it may where shares grow; inf where
        nothing is guaranteed of one.
    answer_bound: the lower confidence bound on what a single answer spends.
    most: the largest bound that so many draws could have shown; a claim beyond it cannot be refuted.
    answer_most: the same for a single answer.
    answers: how many are asked; of SGD1, the rounds seen.
    draws: how often all answers were drawn under each of the two data sets.
    confidence: that of both bounds together.
    share: the part of what noise is added for that the worst pair found attains; below 1 the attack is that much weaker.
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
        """Whether an attacker was seen to learn more than is claimed, or than the mechanism says that answers spend."""
        return self.shown > self.claimed or self.bound > self.charged or self.answer_bound > self.answer_charged

    @property
    def verdict(self) -> str:
        """In words; a claim that stands is not thereby proved."""
        if self.refuted:
            return "REFUTED"
        testable = self.charged < self.most or self.answer_charged < self.answer_most
        return "not refuted" if testable else "too large to test"


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
    """Attack an owner's answers as training draws them: its records but one, which is either of the worst pair.

    The better test statistic (`observations`) is chosen on the first half of the draws, with its threshold, and tested on
    the second. What is asked goes by the algorithm: T - 1 mean gradients of T, or T; as many as an owner may give in
    asynchronous training; all local steps of weighted training, which the server may see; the rounds of SGD1, samples
    known; the sums of AdaSSP, once.

    Parameters
    ----------
    name: the owner.
    x, y: its encoded records, (n, p) and (n,), n >= 1.
    epsilon: its budget, in (0, inf).
    target: the training audited.
    seed: the seed of the noise.
    draws: how often all answers are drawn, per data set and half.
    confidence: that neither bound is too high.

    Raises
    ------
    ValueError
        If nothing is asked.

    Source: Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning (attack, two halves, limits by
    Clopper and Pearson); here the pair and the query are the worst that the public bounds allow.
    """
    answers = target.answers
    if answers < 1:
        raise ValueError(f"{name}: a horizon of {target.horizon} asks nothing, so there is nothing to audit")
    made = target.mechanism.guarantee(epsilon, target.horizon, answers, size=len(y))
    datasets = neighbouring_datasets(name, x, y, epsilon, target, seed=seed)
    halves = [observations(datasets, draws, half) for half in ("choosing", "testing")]
    (choosing, choosing_ones), (testing, testing_ones) = halves
    error = (1 - confidence) / 2
    each = error / len(testing_ones)
    charges = made.single / (target.factors if len(testing_ones) > 1 else np.ones(1))
    shown = [lower_bound(*pair, made.single_measure, each) for pair in zip(choosing_ones, testing_ones, strict=True)]
    worst = int(np.argmax(shown / charges))
    claim = target.mechanism.claims(name, epsilon, target.horizon, size=len(y))[0]
    bound = lower_bound(choosing, testing, made.measure, error)
    spent = made.epsilon(bound)
    return Finding(
        owner=name,
        records=len(y),
        claimed=claim.epsilon,
        delta=claim.delta,
        shown=_shown(bound, spent, made, target.overlap, claim.delta),
        charged=made.epsilon(made.joint),
        bound=spent,
        answer_charged=made.single_epsilon(float(charges[worst])),
        answer_bound=made.single_epsilon(shown[worst]),
        most=made.epsilon(most(made.measure, draws, error, made.chance)),
        answer_most=made.single_epsilon(most(made.single_measure, draws, each)),
        answers=answers,
        draws=2 * draws,
        confidence=confidence,
        share=target.pair.share,
        horizon=target.horizon,
    )


def _shown(bound: float, spent: float, made: Guarantee, overlap: int, delta: float) -> float:
    """The epsilon of a bound on one owner's answers, in its measure, where kappa owners alike hold the record.

    Of pure and of Gaussian noise by the audit's own accountant; of other noise ``spent``, the mechanism's word on one owner.
    """
    if made.measure is pure:
        return overlap * bound
    if made.measure is gaussian:
        return gaussian_epsilon(bound, Answering(1, overlap), delta)
    return spent


def audit(
    names: Sequence[str],
    records: Sequence[tuple[Array, Array]],
    epsilon: ArrayLike,
    target: AuditTarget,
    *,
    seed: int,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    did: Did = unnoticed,
) -> list[Finding]:
    """Audit every owner that something is claimed for; ``confidence`` holds for all of them together (Bonferroni).

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
        found.append(audit_owner(names[i], *records[i], budget, target, seed=seed, draws=draws, confidence=each))
        did(1)
    return found
