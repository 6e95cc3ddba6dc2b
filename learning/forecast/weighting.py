"""Weights of the owners' answers, by sums over owners: they make the market aggregative."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.privacy.mechanism import Mechanism

LEAST = 1e-100  # floor of a sum of weights; its cube is not 0

Mask = NDArray[np.bool_]
Sums = Sequence[Array]


@dataclass(frozen=True)
class Answers:
    """Answers to be weighted.

    Parameters
    ----------
    term : array (n_owners, ...), `Mechanism.noise_term` t of each owner's budget.
    sizes : array (n_owners, ...), records n.
    sharing : array (n_owners, ...) of bool, owners that share anything.
    term_slope : array (n_owners, ...), derivative of the noise term by the budget.
    """

    term: Array
    sizes: Array
    sharing: Mask
    term_slope: Array | float = 0.0


@dataclass(frozen=True)
class Weighting(ABC):
    """Rule for the weights q_l = w_l/sum(w) of the answers of those who share.

    The aggregated noise is sum q^2 t/n^2; the cost of training on a part of the owners grows with
    sum q^2/n. Both follow from the sums of w^2 t/n^2, w and w^2/n. Where owners differ in kind,
    weights away from records move the optimum by sum (q - n/total)^2, which takes the sums of w^2
    and w n as well.

    Parameters
    ----------
    between : variance of the owners' mean gradients over that of a record's gradient; 0 where
        owners are of one kind.
    total : records of all owners.
    even : sum of (n/total)^2 over all owners, the shift where no owner shares.
    """

    between: float = 0.0
    total: float = 0.0
    even: float = 0.0

    few_sums = True  # owners meet in a few sums, however many they are
    needs_terms = False  # slopes depend on the noise terms themselves

    @property
    @abstractmethod
    def kind(self) -> str:
        """Name of the rule."""

    @abstractmethod
    def weight_rule(self, term: Array, sizes: Array) -> Array:
        """Raw weights w of owners that share."""

    def weight_slope(self, raw: Array, answers: Answers) -> Array:
        """Derivative of the raw weights by the owner's own budget."""
        return np.zeros_like(raw)

    def raw_weights(self, answers: Answers) -> Array:
        """Raw weights w, 0 of owners that do not share."""
        raw = self.weight_rule(answers.term, answers.sizes)
        return raw if answers.sharing.all() else np.where(answers.sharing, raw, 0.0)

    def answer_weights(self, answers: Answers) -> Array:
        """Weights q, (n_owners,); they sum to 1, or are all 0 where no owner shares."""
        raw = np.broadcast_to(self.raw_weights(answers), answers.term.shape)
        return raw / max(float(raw.sum()), LEAST)

    def sum_terms(self, answers: Answers) -> Array:
        """Contribution of each owner to the sums, (n_owners, ..., k)."""
        columns = self.sum_columns(answers)
        made = np.empty((len(columns), *answers.sharing.shape))
        for place, column in zip(made, columns, strict=True):
            place[...] = column
        return made.transpose(*range(1, made.ndim), 0)  # each column in one piece of memory

    def sum_columns(self, answers: Answers) -> list[Array]:
        """Columns of `sum_terms`, each in the least shape that broadcasts to theirs."""
        raw = self.raw_weights(answers)
        columns = self.noise_columns(raw, answers)
        return [*columns, raw**2, raw * answers.sizes] if self.between else columns

    def noise_columns(self, raw: Array, answers: Answers) -> list[Array]:
        """Columns that noise and spread are computed from."""
        return [raw**2 * answers.term / answers.sizes**2, raw, raw**2 / answers.sizes]

    def with_kind(
        self, kind: str, reference: Answers, *, balance: float = 0.0, **kinds: float
    ) -> Weighting:
        """Weighting of another kind, chosen by the answers at reference budgets.

        Parameters
        ----------
        kind : "size", "equal" or "precision".
        reference : the answers there.
        balance : of precision weights.
        kinds : between, total and even.
        """
        if kind == "precision":
            return PrecisionWeighting(**kinds, balance=balance)
        return EqualWeighting(**kinds) if kind == "equal" else SizeWeighting(**kinds)

    def select_owners(self, owners: NDArray[Any]) -> Weighting:
        """Weighting whose `sum_terms` have the rows of some owners only, numbered (k,)."""
        return self

    def noise_factor(self, mechanism: Mechanism, sums: Sums) -> Array | float:
        """Factor on the noise where its price depends on the records that are sampled from."""
        return 1.0

    def has_answers(self, sums: Sums) -> Mask:
        """True where there are answers to train with."""
        return sums[1] > 0

    def aggregated_noise(self, sums: Sums) -> Array:
        """Aggregated noise sum q^2 t/n^2, from the columns of the sums."""
        return sums[0] / np.maximum(sums[1], LEAST) ** 2

    def weighted_spread(self, sums: Sums) -> Array:
        """Compute sum q^2/n."""
        return sums[2] / np.maximum(sums[1], LEAST) ** 2

    def record_shift(self, sums: Sums) -> Array:
        """Compute sum (q - n/total)^2 over all owners; 0 where they are of one kind."""
        if not self.between:
            return np.zeros_like(sums[1])
        raw = np.maximum(sums[1], LEAST)
        return np.maximum(sums[-2] / raw**2 - 2 * sums[-1] / (raw * self.total) + self.even, 0.0)

    def worth_term(self, own: Array, sums: Sums, answers: Answers, mechanism: Mechanism) -> Array:
        """Noise terms (n_owners,) below which more privacy budget brings nothing.

        Parameters
        ----------
        own : array (n_owners,), terms at which an owner's noise equals its sampling noise.
        sums : sums of the answers, one number each.
        answers : the answers.
        mechanism : mechanism of the answers.
        """
        return own

    def sum_slopes(self, answers: Answers, sums: Sums) -> tuple[Array, Array]:
        """Derivatives of noise, and of spread + between * shift, by an owner's own budget.

        The sums include the owner.
        """
        raw = self.raw_weights(answers)
        sizes = answers.sizes
        total = np.maximum(sums[1], LEAST)
        change = self.weight_slope(raw, answers)
        own = (2 * raw * change * answers.term + raw**2 * answers.term_slope) / sizes**2
        noise = own / total**2 - 2 * sums[0] * change / total**3
        spread = 2 * raw * change / sizes / total**2 - 2 * sums[2] * change / total**3
        return noise, spread + self.shift_slope(raw, change, answers, sums)

    def shift_slope(self, raw: Array, change: Array, answers: Answers, sums: Sums) -> Array | float:
        """Derivative of between * shift, where the raw weights change by ``change``."""
        if not self.between:
            return 0.0
        total = np.maximum(sums[1], LEAST)
        records = (answers.sizes / total - sums[-1] / total**2) / self.total
        shift = raw / total**2 - sums[-2] / total**3 - records
        return 2 * self.between * change * shift


@dataclass(frozen=True)
class SizeWeighting(Weighting):
    """Weights by records, w = n: noise and spread follow from the sums of t and n alone."""

    kind = "size"

    def weight_rule(self, term: Array, sizes: Array) -> Array:
        return sizes

    def noise_columns(self, raw: Array, answers: Answers) -> list[Array]:
        return [answers.term, raw]

    def aggregated_noise(self, sums: Sums) -> Array:
        return sums[0] / np.maximum(sums[1], 1.0) ** 2

    def weighted_spread(self, sums: Sums) -> Array:
        return 1 / np.maximum(sums[1], 1.0)

    def sum_slopes(self, answers: Answers, sums: Sums) -> tuple[Array, Array]:
        return answers.term_slope / np.maximum(sums[1], 1.0) ** 2, np.zeros_like(sums[1])


@dataclass(frozen=True)
class RecordWeighting(SizeWeighting):
    """Weights of single records, sampled one at a time: the noise is sum(t/n)/sum(n)."""

    kind = "record"

    def noise_columns(self, raw: Array, answers: Answers) -> list[Array]:
        return [raw * answers.term / answers.sizes**2, raw]

    def with_kind(
        self, kind: str, reference: Answers, *, balance: float = 0.0, **kinds: float
    ) -> Weighting:
        return replace(self, **kinds)

    def noise_factor(self, mechanism: Mechanism, sums: Sums) -> Array:
        return mechanism.noise_among(sums[1])

    def aggregated_noise(self, sums: Sums) -> Array:
        return sums[0] / np.maximum(sums[1], 1.0)

    def worth_term(self, own: Array, sums: Sums, answers: Answers, mechanism: Mechanism) -> Array:
        records = sums[1] + np.where(answers.sharing, 0.0, answers.sizes)
        return own * answers.sizes / (records * self.noise_factor(mechanism, sums))

    def sum_slopes(self, answers: Answers, sums: Sums) -> tuple[Array, Array]:
        own = self.raw_weights(answers) * answers.term_slope / answers.sizes**2
        return own / np.maximum(sums[1], 1.0), np.zeros_like(sums[1])


@dataclass(frozen=True)
class EqualWeighting(Weighting):
    """Equal weights, w = 1."""

    kind = "equal"

    def weight_rule(self, term: Array, sizes: Array) -> Array:
        return np.ones(())


@dataclass(frozen=True)
class PrecisionWeighting(Weighting):
    """Inverse-variance weights, w = (1 + balance)/(balance t/n^2 + 1/n).

    With kinds, w = (1 + balance)(1 + between n)/(balance t/n^2 + 1/n + between): by records as
    ``between`` grows, whatever the noise.

    Parameters
    ----------
    balance : kappa >= 0, cost of a unit of noise relative to a unit of 1/n: the slope of the
        forecast in the noise over dispersion. It is announced beforehand, so that weights do not
        wait for the budgets of others.

    Source: ours; at the balance of the plan in use no other weights forecast a better model.

    >>> answers = Answers(np.array([8.0, 800.0]), np.array([10.0, 10.0]), np.array([True, True]))
    >>> PrecisionWeighting(balance=1.0).answer_weights(answers).round(3)
    array([0.978, 0.022])
    """

    kind = "precision"
    needs_terms = True
    balance: float = 0.0

    def weight_rule(self, term: Array, sizes: Array) -> Array:
        variance = self.balance * term / sizes**2 + 1 / sizes + self.between
        raw = (1 + self.balance) / variance  # squares do not vanish
        return raw * (1 + self.between * sizes)

    def weight_slope(self, raw: Array, answers: Answers) -> Array:
        share = self.balance / (1 + self.balance) / (1 + self.between * answers.sizes)
        return -(raw**2) * share * answers.term_slope / answers.sizes**2


@dataclass(frozen=True)
class GossipWeighting(Weighting):
    """Weights of answers that reach the learner by gossip, w = n times an owner's reach.

    Parameters
    ----------
    reach : of each owner (`learning.training.gossip.find_reach`), above 0.
    """

    kind = "gossip"
    reach: tuple[float, ...] = ()

    def weight_rule(self, term: Array, sizes: Array) -> Array:
        return sizes * np.array(self.reach).reshape((-1,) + (1,) * (sizes.ndim - 1))

    def with_kind(
        self, kind: str, reference: Answers, *, balance: float = 0.0, **kinds: Any
    ) -> Weighting:
        return replace(self, **kinds)

    def select_owners(self, owners: NDArray[Any]) -> GossipWeighting:
        return replace(self, reach=tuple(np.array(self.reach)[owners].tolist()))


def best_coalition(sizes: ArrayLike, term: ArrayLike) -> Mask:
    """Coalition whose answers, weighted by records, carry least noise.

    It minimises sum_A term/(sum_A n)^2 over sets A of owners. The best set is a prefix of the
    owners sorted by n/term (n epsilon^2 for Laplace noise), largest first. Proof: at an optimum of
    value v with m = sum_A n, leaving out a member would need term/n > 2 v m - v n, and taking in
    another term/n < 2 v m + v n; so term/n separates members from others, and one pass over the
    prefixes finds it.

    Parameters
    ----------
    sizes : array (n_owners,), records.
    term : array (n_owners,), `Mechanism.noise_term` of each budget; inf for owners that share
        nothing, which never belong.

    Returns
    -------
    array (n_owners,) of bool; all False only if no owner shares.

    Raises
    ------
    ValueError
        If an owner has no records, or a term is below 0.

    Source: ours; it answers the remark of Wu et al., The Value of Collaboration, that more owners
        may make a worse model.

    >>> best_coalition([1e5, 1e3, 1e3], [8 / 10**2, 8 / 0.1**2, 8 / 0.1**2]).tolist()
    [True, False, False]
    """
    sizes = np.asarray(sizes, dtype=float)
    term = np.asarray(term, dtype=float)
    if not (np.all(sizes > 0) and np.all(term >= 0)):
        raise ValueError("sizes must be above 0 and terms at least 0")
    order = np.argsort(term / sizes, kind="stable")
    order = order[np.isfinite(term[order])]
    chosen = np.zeros(len(sizes), dtype=bool)
    if len(order):
        noise = np.cumsum(term[order]) / np.cumsum(sizes[order]) ** 2
        chosen[order[: int(np.argmin(noise)) + 1]] = True
    return chosen
