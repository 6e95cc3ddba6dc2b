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
from learning.audit.attack import lower_bound, most
from learning.audit.guarantees import asked, guarantee_of
from learning.audit.observations import neighbouring_datasets, observations
from learning.audit.worst_pairs import Pair, worst_pair, worst_sums
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism

__all__ = ["CONFIDENCE", "DRAWS", "Finding", "audit", "audit_owner", "guarantee_of", "worst_pair"]

DRAWS = 20_000  # of all answers, per world and half
CONFIDENCE = 0.99  # that no claim at all of an audit is wrongly refuted


@dataclass(frozen=True)
class Finding:
    """What the audit of one owner's answers found.

    Parameters
    ----------
    owner, records : whose answers, and over how many records.
    claimed, delta : (epsilon, delta) claimed over all answers the budget covers; of noise as a paper prints it, the
        accountant's claim.
    charged : epsilon that the answers asked may spend of it, jointly. bound : lower confidence bound on what they do.
    answer_charged, answer_bound : the same for a single answer; inf where nothing is promised of one.
    most, answer_most : the largest bounds that so many draws could have shown; a claim beyond them cannot be refuted.
    answers : asked; of SGD1, rounds seen. draws : of all answers, in each of the two worlds.
    confidence : of both bounds together.
    share : part of what noise is added for that the worst pair found attains; below 1 the attack is that much weaker.
    horizon : T, answers that the budget covers.
    """

    owner: str
    records: int
    claimed: float
    delta: float
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
        """Whether an attacker was seen to learn more than the answers may spend, jointly or from a single one."""
        return self.bound > self.charged or self.answer_bound > self.answer_charged

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
    coordinates: Coordinates,
    mechanism: Mechanism,
    horizon: int,
    *,
    seed: int,
    algorithm: str = "averaged",
    hidden: int = 8,
    pair: Pair | None = None,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> Finding:
    """Attack an owner's answers as training draws them: its records but one, which is either of the worst pair.

    The better test statistic (`observations`) is chosen on the first half of the draws, with its threshold, and tested on
    the second. What is asked goes by the algorithm: T - 1 mean gradients of T, or T; as many as an owner may give in
    asynchronous training; all local steps of weighted training, which the server may see; the rounds of SGD1, picks
    known; the sums of AdaSSP, once.

    Parameters
    ----------
    name, x, y : the owner and its encoded records, (n, p) and (n,), n >= 1. epsilon : its budget, in (0, inf).
    coordinates, mechanism, horizon, algorithm : of the training that is audited; ``horizon`` is what budgets are split
        over (`Plan.priced`). hidden : units of a network.
    seed : of the noise. pair : `audited_pair`, found unless given. draws : of all answers, per world and half.
    confidence : that neither bound is too high.

    Returns
    -------
    Finding

    Raises
    ------
    ValueError
        If nothing is asked.

    Source: Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning (attack, two halves, limits by
    Clopper and Pearson); here the pair and the query are the worst that the public bounds allow.
    """
    answers = asked(algorithm, horizon)
    if answers < 1:
        raise ValueError(f"{name}: a horizon of {horizon} asks nothing, so there is nothing to audit")
    pair = pair or audited_pair(coordinates, algorithm, hidden)
    made = guarantee_of(mechanism, epsilon, horizon, answers, size=len(y), party=name)
    datasets = neighbouring_datasets(
        name,
        x,
        y,
        epsilon,
        coordinates,
        mechanism,
        horizon,
        pair,
        algorithm=algorithm,
        answers=answers,
        hidden=hidden,
        seed=seed,
    )
    halves = [observations(datasets, draws, half) for half in ("choosing", "testing")]
    (choosing, choosing_one), (testing, testing_one) = halves
    error = (1 - confidence) / 2
    return Finding(
        owner=name,
        records=len(y),
        claimed=made.claimed,
        delta=mechanism.delta,
        charged=made.epsilon(made.joint),
        bound=made.epsilon(lower_bound(choosing, testing, made.measure, error)),
        answer_charged=made.single_epsilon(made.single),
        answer_bound=made.single_epsilon(lower_bound(choosing_one, testing_one, made.single_measure, error)),
        most=made.epsilon(most(made.measure, draws, error, made.chance)),
        answer_most=made.single_epsilon(most(made.single_measure, draws, error)),
        answers=answers,
        draws=2 * draws,
        confidence=confidence,
        share=pair.share,
        horizon=horizon,
    )


def audited_pair(coordinates: Coordinates, algorithm: str = "averaged", hidden: int = 8) -> Pair:
    """The worst pair for what an algorithm asks of an owner."""
    return worst_sums(coordinates) if algorithm == "adassp" else worst_pair(coordinates, hidden=hidden)


def audit(
    names: Sequence[str],
    records: Sequence[tuple[Array, Array]],
    epsilon: ArrayLike,
    coordinates: Coordinates,
    mechanism: Mechanism,
    horizon: int,
    *,
    seed: int,
    algorithm: str = "averaged",
    hidden: int = 8,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> list[Finding]:
    """Audit every owner that is promised something; ``confidence`` holds for all of them together (Bonferroni).

    Parameters
    ----------
    names, records : per owner, its name and (x, y). epsilon : array (n_owners,); owners at 0 or inf are passed over.
    """
    budgets = np.asarray(epsilon, dtype=float)
    promised = [i for i in range(len(names)) if 0 < budgets[i] < np.inf]
    each = 1 - (1 - confidence) / max(1, len(promised))
    pair = audited_pair(coordinates, algorithm, hidden) if promised else None
    return [
        audit_owner(
            names[i],
            *records[i],
            float(budgets[i]),
            coordinates,
            mechanism,
            horizon,
            seed=seed,
            algorithm=algorithm,
            hidden=hidden,
            pair=pair,
            draws=draws,
            confidence=each,
        )
        for i in promised
    ]
