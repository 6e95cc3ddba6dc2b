"""Noise as two papers publish it, and the guarantee that an accountant gives it at the same delta.

MP is the multi-party write-up (SGD1, SGD2), WD is Kang et al., Weighted Distributed Differential
Privacy ERM. Both bound a record's gradient in 2-norm; everything here is on the scale of mean
gradients. Correctly accounted noise: `SubsampledGaussian` for SGD1;
`learning.privacy.gaussian.Gaussian` for SGD2 and for weighted local training, T answers to n_l
records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, Positive, Probability, parameter
from learning.errors import InputError
from learning.privacy.accounting import gaussian_belief
from learning.privacy.claims import EVERYONE, Claim
from learning.privacy.gaussian import GaussianNoise, exact_epsilon
from learning.privacy.mechanism import Mechanism, NoiseSettings, evaluate_columns
from learning.privacy.noise import where_noisy
from learning.privacy.subsampled import (
    sampled_epsilon,
    subsampled_belief,
    subsampled_budget,
    subsampled_epsilon,
)

Formula = Literal["sgd1", "sgd2", "weighted", "plain"]

TITLES: dict[Formula, str] = {
    "sgd1": "SGD1",
    "sgd2": "SGD2",
    "weighted": "WD-DP",
    "plain": "plain averaging",
}
AVERAGED: tuple[Formula, ...] = ("weighted", "plain")
# c of WD (3), from its proof: sigma^2 n^2 >= 8 lambda G^2 T/epsilon, lambda = 2 ln(1/delta)/epsilon
MOMENTS_CONSTANT = 16.0


@dataclass(frozen=True)
class PublishedNoise(GaussianNoise, Mechanism):
    """Gaussian noise whose deviation is a paper's formula; `claims` are the accountant's.

    On mean gradients, v = G^2 horizon_factor(T) K/(N^2 epsilon^2), N =
    ``noise_denominator(sizes)``:

        sgd1      N = n        K = 16 ln^2(1.25 n^2/delta)  factor = T    MP (3), over n
        sgd2      N = n_l      K = 8 ln(1/delta)            factor = T ln(1.25 T/delta)
                                                            MP Theorem 3, Lemma 2
        weighted  N = n        K = c ln(1/delta)            factor = T    WD (3)
        plain     N = m n_(1)  K = c ln(1/delta)            factor = T    WD Table 1, its rival

    MP publishes SGD1 for n^2 rounds; a variance in proportion to T elsewhere is our reading. MP
    assumes epsilon < 1 and delta < 1/n^3. SGD2: "(epsilon/sqrt(T ln(1/delta)), delta/T)-DP a round"
    by MP's Lemma 2. WD leaves c open ("for some constant c"); its own proof needs c = 16, as long
    as epsilon <= 2 ln(1/delta).

    Only under "sgd2" does the noise fall with an owner's own records. So S = sum q_l^2 v_l is
    bound^2 horizon_factor(T) sum(q_l^2 term_l)/N^2 with one N for all else; under SGD1 one owner
    answers a round, and its noise power is sum (n_l/n) v_l on average.

    Parameters
    ----------
    formula: "sgd1", "sgd2", "weighted" or "plain".
    delta: the failure probability over all rounds, in (0, 1).
    sizes: the records of every owner that takes part, public.
    constant: c.

    >>> mechanism = PublishedNoise("weighted", 1e-3, (100, 300))
    >>> mechanism.variance([0.5, 1.0], [100, 300], 1.0, 10).round(6)
    array([0.027631, 0.006908])
    """

    accountings = ("printed",)
    published_for = ("sgd1", "sgd2", "weighted")

    formula: Formula = parameter()
    delta: Probability = parameter()
    sizes: tuple[Count, ...] = parameter()
    constant: Positive = MOMENTS_CONSTANT
    accounting: Literal["printed"] = "printed"

    def check(self) -> None:
        if not self.sizes:
            rule = "must be the records of at least one owner"
            raise InputError("learning.sizes", rule, self.sizes)

    @classmethod
    def suits_settings(cls, settings: NoiseSettings) -> bool:
        return settings.formula in cls.published_for

    @classmethod
    def make_candidates(cls, settings: NoiseSettings) -> list[Mechanism]:
        """Make noise of the algorithm's formula; of plain averaging where weights are equal."""
        if settings.formula == "weighted" and settings.weights == "equal":
            settings = replace(settings, formula="plain")
        return super().make_candidates(settings)

    @property
    def single_record(self) -> bool:  # type: ignore[override]
        return self.formula == "sgd1"

    @property
    def total_size(self) -> int:
        """n, records of all owners."""
        return sum(self.sizes)

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """N, the records that the noise is scaled to, for owners of these sizes."""
        if self.formula == "sgd2":
            return np.asarray(sizes, dtype=float)
        common = self.total_size
        if self.formula == "plain":
            common = len(self.sizes) * min(self.sizes)
        return np.full(np.shape(sizes), float(common))

    @property
    def coefficient(self) -> float:
        """K."""
        if self.formula == "sgd1":
            return float(16 * np.log(1.25 * self.total_size**2 / self.delta) ** 2)
        constant = 8.0 if self.formula == "sgd2" else self.constant
        return constant * float(np.log(1 / self.delta))

    def _noise_scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        reach = bound * np.sqrt(self.horizon_factor(horizon) * self.coefficient)
        return reach / self.noise_denominator(sizes) / epsilon

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """K/epsilon^2: over `noise_denominator` squared, not over sizes squared."""
        return where_noisy(epsilon, lambda e: self.coefficient / e**2)

    def _term_slope(self, epsilon: Array) -> Array:
        return -2 * self.noise_term(epsilon) / epsilon

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T, or T ln(1.25 T/delta)."""
        horizon = np.asarray(horizon, dtype=float)
        return horizon * np.log(1.25 * horizon / self.delta) if self.formula == "sgd2" else horizon

    def distance(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        """Move of an answer when a record that it uses is replaced, in deviations of its noise."""
        reach = 2.0 if self.formula == "sgd1" else 2.0 / np.asarray(sizes, dtype=float)
        with np.errstate(divide="ignore"):  # a budget of inf adds no noise
            return np.asarray(reach / self.scale(epsilon, sizes, 1.0, horizon))

    def for_owners(self, sizes: ArrayLike) -> PublishedNoise:
        """Reprice SGD1 for picks among the owners that share; other formulas stay as they are."""
        if self.formula != "sgd1":
            return self
        return replace(self, sizes=tuple(np.asarray(sizes, int).tolist()))

    def for_weights(self, equal: bool) -> PublishedNoise:
        """Reprice averaging.

        WD's noise is scaled to all records, that of plain averaging to m times those of the
        smallest owner.
        """
        if self.formula not in AVERAGED:
            return self
        return replace(self, formula="plain" if equal else "weighted")

    def noise_among(self, total: ArrayLike) -> Array:
        """Factor K/n^2 under SGD1's formula, n the records that are picked among."""
        if self.formula != "sgd1":
            return super().noise_among(total)
        fewer = np.maximum(np.asarray(total, dtype=float), 1.0)
        whole = self.total_size
        grown = np.log(1.25 * fewer**2 / self.delta) / np.log(1.25 * whole**2 / self.delta)
        return np.asarray((grown * whole / fewer) ** 2)

    def onlooker_claims(self, epsilon: float, horizon: int, size: int | None) -> list[Claim]:
        """Make the claims for noise published for epsilon, the most informed onlooker first.

        sgd1: with known samples (exact); with known owners of the samples; with hidden samples.
        sgd2: against anyone who sees the owner's answers (exact).
        weighted, plain: against the server, which gets the owner's own model, by composition of its
        T steps (an upper bound, which a linear loss attains); by the same number against the public
        and the other owners, who get the average of all models. Others' noise may protect the
        average further, by no proved amount. `average_epsilon` is the least that could ever be
        claimed.

        ``size`` is that of the smallest owner unless given; others lose no more.
        """
        title = f"gaussian noise as {TITLES[self.formula]} prints it for epsilon = {epsilon:g}"
        blank = super().onlooker_claims(epsilon, horizon, size)[0]
        records = size or min(self.sizes)
        distance = float(self.distance(epsilon, records, horizon))
        return [
            replace(blank, epsilon=spent, mechanism=f"{title}; {how}", protects_against=who)
            for who, how, spent in self._onlookers(distance, records, horizon)
        ]

    def _onlookers(self, distance: float, size: int, horizon: int) -> list[tuple[str, str, float]]:
        """List (onlooker, accounting, epsilon)."""
        total = self.total_size
        delta = self.delta
        if self.formula == "sgd1":
            known = subsampled_epsilon(distance, horizon, 1 / total, delta)
            owners = min(known, sampled_epsilon(distance, horizon, size, delta, size / total))
            hidden = min(owners, sampled_epsilon(distance, horizon, total, delta))
            seen = "anyone who sees all answers and"
            how = "Renyi, picks hidden"
            return [
                (f"{seen} knows which record each used: the learner, who picks", "exact", known),
                (f"{seen} whose record each used, not which", how, owners),
                (f"{seen} neither whose nor which record each used", how, hidden),
            ]
        own = subsampled_epsilon(distance, horizon, 1.0, delta)
        if self.formula == "sgd2":
            return [(EVERYONE, "exact", own)]
        server = "the server, who sees the owner's own model, and even its every step"
        public = "the public and the other owners, who see the average of all models"
        return [
            (server, "composition of all steps", own),
            (public, "no more than the server learns", own),
        ]

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        """Epsilon against the onlooker who sees most, from tables."""
        distance = self.distance(epsilon, sizes, horizon)
        if self.single_record:
            return subsampled_budget(distance, horizon, 1 / self.total_size, self.delta)
        return exact_epsilon(distance * np.sqrt(horizon), self.delta)

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound by the profile against the onlooker who sees most; a record sits with one owner."""
        distance = self.distance(held[0], sizes, horizon)
        if not self.single_record:
            return gaussian_belief(distance * np.sqrt(horizon), self.but_for)
        chance = 1 / self.total_size
        bound = partial(subsampled_belief, rounds=horizon, chance=chance, but_for=self.but_for)
        return evaluate_columns(lambda column: bound(column[0]), distance[None])


def average_epsilon(mechanism: PublishedNoise, size: int, epsilon: float, horizon: int) -> float:
    """Compute the epsilon of the owners' noisy steps, summed in every round by a trusted party.

    The sum moves by q_l 2 G/n_l and carries noise of variance sigma^2 sum q^2, not sigma^2 as in WD
    (4); q = n_l/n, or 1/m for "plain". This is exact if all owners step from one common model and
    only sums are shown to an outsider (an owner knows its own noise). For WD's Algorithm 1, which
    averages once, at the end, it is a lower bound: with a linear loss the average is just this
    Gaussian, so that no accountant can claim less.

    Parameters
    ----------
    mechanism: the noise, "weighted" or "plain".
    size: n_l, the owner's records.
    epsilon: the budget that the noise is published for.
    horizon: T.
    """
    if mechanism.formula not in AVERAGED:
        raise ValueError(f"{TITLES[mechanism.formula]} averages no models")
    if not 0 <= epsilon < np.inf:
        raise ValueError(f"no privacy can be claimed at epsilon = {epsilon}")
    weighted = mechanism.formula == "weighted"
    counts = np.array(mechanism.sizes if weighted else np.ones(len(mechanism.sizes)), dtype=float)
    weight = (size if weighted else 1) / counts.sum()
    noise = np.sqrt(np.sum((counts / counts.sum()) ** 2))
    distance = mechanism.distance(epsilon, size, horizon) * weight / noise
    return subsampled_epsilon(float(distance), horizon, 1.0, mechanism.delta)


def fixed_sample_epsilons(mechanism: PublishedNoise, epsilon: float) -> tuple[float, float, float]:
    """Compute three numbers of one SGD1 round with its sample fixed.

    MP's epsilon/(2 sqrt(ln(1/delta))), its delta/n^2, and the exact epsilon at that delta.

    Source: MP, proof of Theorem 1.
    """
    if mechanism.formula != "sgd1":
        raise ValueError("only SGD1's proof fixes a sample")
    rounds = mechanism.total_size**2
    claimed = float(epsilon / (2 * np.sqrt(np.log(1 / mechanism.delta))))
    delta = mechanism.delta / rounds
    distance = float(mechanism.distance(epsilon, 1, rounds))
    return claimed, delta, subsampled_epsilon(distance, 1, 1.0, delta)
