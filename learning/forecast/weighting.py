"""Weights of the owners' answers, by sums over owners: they make the market aggregative."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.mechanism import Mechanism

LEAST = 1e-100  # floor of a sum of weights; its cube is not 0
MOST_OWNERS = 200  # under shared noise, with columns for each owner
UNFORMED = 1e100  # noise of sums that no part of the noise would hide

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
        return np.where(answers.sharing, self.weight_rule(answers.term, answers.sizes), 0.0)

    def answer_weights(self, answers: Answers) -> Array:
        """Weights q, (n_owners,); they sum to 1, or are all 0 where no owner shares."""
        raw = np.broadcast_to(self.raw_weights(answers), answers.term.shape)
        return raw / max(float(raw.sum()), LEAST)

    def sum_terms(self, answers: Answers) -> Array:
        """Contribution of each owner to the sums, (..., k)."""
        columns = np.broadcast_arrays(*self.sum_columns(answers))
        return np.moveaxis(np.stack(columns), 0, -1)  # each column in one piece of memory

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
        """Compute sum (q - n/total)^2 over all owners, where kinds matter."""
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
        """
        return own

    def sum_slopes(self, answers: Answers, sums: Sums) -> tuple[Array, Array]:
        """Derivatives of noise and of spread + between shift by an owner's own budget.

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
        """Derivative of between shift, where the raw weights change by ``change``."""
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
class SharedWeighting(Weighting):
    """Weights by records, or equal ones, under the noise that the strictest owner needs.

    The noise is max q^2 t/n^2, times N/(N - t') for colluders. The sums hold two columns for each
    owner, its sharing and its t, so that the maximum is a function of sums as well.

    Parameters
    ----------
    kind : "size" or "equal".
    owners : records of all owners.
    rows : owners that the rows of `sum_terms` belong to; all unless given.
    colluders : t', owners whose parts of the noise may be known.

    >>> answers = Answers(np.array([8.0, 800.0]), np.array([10.0, 10.0]), np.array([True, True]))
    >>> strict = SharedWeighting(owners=(10.0, 10.0))
    >>> float(strict.aggregated_noise(tuple(strict.sum_terms(answers).sum(axis=0))))  # 800/20^2
    2.0
    """

    kind: str = "size"
    owners: tuple[float, ...] = ()
    rows: tuple[int, ...] | None = None
    colluders: int = 0

    few_sums = False

    def __post_init__(self) -> None:
        count = len(self.owners)
        if count > MOST_OWNERS:
            rule = (
                f'must be "precision" under secure aggregation with more than {MOST_OWNERS} owners'
            )
            raise InputError("learning.weights", rule, f"{self.kind} with {count} owners")

    def weight_rule(self, term: Array, sizes: Array) -> Array:
        return np.ones_like(sizes) if self.kind == "equal" else sizes

    def with_kind(
        self, kind: str, reference: Answers, *, balance: float = 0.0, **kinds: float
    ) -> Weighting:
        """Weighting of another kind; precision weights saturate at a level that is announced."""
        if kind != "precision":
            return replace(self, kind=kind, **kinds)  # type: ignore[arg-type]
        sharing = np.asarray(reference.term) > 0
        balance = balance * float(collusion_factor(sharing.sum(), self.colluders))
        level = saturation(reference.term, reference.sizes, sharing, balance)
        return SaturatedWeighting(**kinds, level=level, colluders=self.colluders)

    @property
    def row_owners(self) -> NDArray[np.intp]:
        """Owner of each row."""
        return np.arange(len(self.owners)) if self.rows is None else np.array(self.rows, dtype=int)

    def select_owners(self, owners: NDArray[Any]) -> SharedWeighting:
        return replace(self, rows=tuple(self.row_owners[owners].tolist()))

    def sum_columns(self, answers: Answers) -> list[Array]:
        owners = self.row_owners
        rows = np.arange(len(owners))
        count = len(self.owners)
        columns = np.zeros((2 * count, len(owners), *np.shape(answers.sharing)[1:]))
        columns[owners, rows] = answers.sharing
        columns[count + owners, rows] = np.where(answers.sharing, answers.term, 0.0)
        return list(columns)

    def read_profile(self, sums: Sums) -> tuple[Array, Array, Array, Array]:
        """Sharing, records, q, and the noise that each owner needs, (n_owners, ...) each."""
        sharing, term = np.split(np.stack(sums), 2)
        sizes = np.reshape(np.asarray(self.owners), (-1,) + (1,) * (sharing.ndim - 1))
        raw = sharing * self.weight_rule(term, sizes)
        weights = raw / np.maximum(raw.sum(axis=0), LEAST)
        return sharing, sizes, weights, weights**2 * term / sizes**2

    def has_answers(self, sums: Sums) -> Mask:
        return self.read_profile(sums)[0].sum(axis=0) > self.colluders

    def aggregated_noise(self, sums: Sums) -> Array:
        sharing, _, _, needs = self.read_profile(sums)
        return noise_of_all(needs.max(axis=0), sharing.sum(axis=0), self.colluders)

    def weighted_spread(self, sums: Sums) -> Array:
        sharing, sizes, weights, _ = self.read_profile(sums)
        return np.where(sharing.any(axis=0), (weights**2 / sizes).sum(axis=0), 1.0)

    def record_shift(self, sums: Sums) -> Array:
        _, sizes, weights, _ = self.read_profile(sums)
        return ((weights - sizes / self.total) ** 2).sum(axis=0)

    def worth_term(self, own: Array, sums: Sums, answers: Answers, mechanism: Mechanism) -> Array:
        """Term at which all noise is all sampling noise, or the need of the strictest other."""
        sharing, sizes, _, needs = self.read_profile(sums)
        raw = self.weight_rule(own, sizes)
        joined = (sharing * raw).sum() + np.where(sharing > 0, 0.0, raw)
        weights = raw / joined
        others = np.array([np.delete(needs, owner).max(initial=0.0) for owner in range(len(sizes))])
        others = others * ((sharing * raw).sum() / joined) ** 2 * sizes**2 / weights**2
        more = collusion_factor(sharing.sum(), self.colluders)
        whole = own * sizes * float(self.weighted_spread(sums)) / (weights**2 * more)
        return np.maximum(whole, others)

    def sum_slopes(self, answers: Answers, sums: Sums) -> tuple[Array, Array]:
        """Derivatives as above: only the owner that needs most noise moves it."""
        sharing, _, weights, needs = self.read_profile(sums)
        owners = self.row_owners
        rows = np.arange(len(owners))
        binds = needs[owners, rows] >= needs.max(axis=0)[rows]
        change = weights[owners, rows] ** 2 * answers.term_slope / answers.sizes**2
        more = collusion_factor(sharing.sum(axis=0), self.colluders)
        noise = more * np.where(binds, change, 0.0)
        return noise, np.zeros_like(noise)


@dataclass(frozen=True)
class SaturatedWeighting(Weighting):
    """Weights w = n/max(sqrt(t), r) under one noise of 1/(sum w)^2, times N/(N - t').

    The noise hides every owner's weighted record at its own budget, and is just enough where some
    owner is as strict as the level r. An owner that sells beyond it counts by its records; one that
    sells less counts for less. The level is announced, so that the market stays one of sums.

    Parameters
    ----------
    level : r, of `saturation` at the reference budgets.
    colluders : t', owners whose parts of the noise may be known.
    """

    kind = "precision"
    needs_terms = True
    level: float = 0.0
    colluders: int = 0

    def weight_rule(self, term: Array, sizes: Array) -> Array:
        deviation = np.maximum(np.sqrt(term), self.level)
        return sizes / np.where(deviation == 0, 1.0, deviation)  # without noise: by records

    def weight_slope(self, raw: Array, answers: Answers) -> Array:
        strict = np.sqrt(answers.term) > self.level
        change = -raw * answers.term_slope / (2 * np.where(strict, answers.term, 1.0))
        return np.where(strict, change, 0.0)

    def noise_columns(self, raw: Array, answers: Answers) -> list[Array]:
        return [np.asarray(answers.sharing, dtype=float), raw, raw**2 / answers.sizes]

    def worth_term(self, own: Array, sums: Sums, answers: Answers, mechanism: Mechanism) -> Array:
        """Square of the level, beyond which nothing changes."""
        return np.full_like(own, self.level**2)

    def has_answers(self, sums: Sums) -> Mask:
        return sums[0] > self.colluders

    def aggregated_noise(self, sums: Sums) -> Array:
        noise = 0.0 if self.level == 0 else 1 / np.maximum(sums[1], LEAST) ** 2
        return noise_of_all(noise, sums[0], self.colluders)

    def sum_slopes(self, answers: Answers, sums: Sums) -> tuple[Array, Array]:
        raw = self.raw_weights(answers)
        total = np.maximum(sums[1], LEAST)
        change = self.weight_slope(raw, answers)
        noise = -2 * collusion_factor(sums[0], self.colluders) * change / total**3
        spread = 2 * change * (raw / answers.sizes / total**2 - sums[2] / total**3)
        return noise, spread + self.shift_slope(raw, change, answers, sums)


def collusion_factor(sharing: Array, colluders: int) -> Array:
    """N/(N - t'): the noise of all parts over that of the parts of honest owners, N (...)."""
    return np.where(sharing > colluders, sharing / np.maximum(sharing - colluders, 1), UNFORMED)


def noise_of_all(noise: Array | float, sharing: Array, colluders: int) -> Array:
    """Noise of all parts where that of honest owners must be ``noise`` (...); 0 without owners."""
    more = collusion_factor(sharing, colluders)
    return np.where(sharing > 0, np.where(more < UNFORMED, noise * more, UNFORMED), 0.0)


def saturation(term: ArrayLike, sizes: ArrayLike, sharing: Mask, balance: float) -> float:
    """Level r of sqrt(term) below which a budget adds nothing, under one shared noise.

    One noise must hide q_l times each owner's answer at that owner's own budget, so it is as large
    as the largest need, max q^2 t/n^2, with t the `Mechanism.noise_term`. The weights that minimise

        balance max_l q_l^2 t_l/n_l^2 + sum q_l^2/n_l,   q >= 0, sum q = 1,

    are q_l proportional to n_l/max(sqrt(t_l), r). Derivation: with the largest need fixed at h^2,
    weights are by records, capped where q_l sqrt(t_l)/n_l reaches h; with q_l = c n_l elsewhere and
    r = h/c, the capped owners have sqrt(t_l) > r, and the derivative by h is 0 where balance r =
    sum (n_l/sqrt(t_l)) (1 - r/sqrt(t_l))_+. A sum of positive parts is the largest of the sums over
    sets of owners, and only the sets of the k strictest matter, so that

        r = max_k A_k/(balance + B_k),   A_k = sum n/sqrt(t), B_k = sum n/t, each over the k
        strictest.

    Parameters
    ----------
    term : array (n_owners,), noise term of each owner's budget.
    sizes : array (n_owners,), records.
    sharing : array (n_owners,) of bool, owners that share anything.
    balance : as in `PrecisionWeighting`.

    Returns
    -------
    r; 0 where no sharing owner adds noise. `Mechanism.budget` of r^2 is the budget beyond which
    nothing is gained.

    Source: ours; with one record each, t = 2/epsilon^2 (a variable in [-1/2, 1/2] under Laplace
        noise) and balance 4 (its variance is at most 1/4) sqrt(2)/r is the threshold (8 + sum
        epsilon^2)/sum epsilon over the k strictest of Chaudhuri and Courtade, Mean Estimation Under
        Heterogeneous Privacy Demands (2023). Cummings et al., Optimal Data Acquisition with
        Privacy-Aware Agents (2022), find the laxest pooled likewise.

    >>> budgets = np.array([1.0, 0.1])
    >>> level = saturation(8 / budgets**2, [1000.0, 1000.0], budgets > 0, balance=1.0)
    >>> round(float(np.sqrt(8) / level), 3)  # beyond this budget the first owner brings nothing
    0.18
    """
    sizes = np.asarray(sizes, float)
    sizes, term, sharing = np.broadcast_arrays(sizes, np.asarray(term, float), sharing)
    noisy = sharing & (term > 0)
    if not noisy.any():
        return 0.0
    spread = np.sqrt(term[noisy])
    strictest = np.argsort(-spread, kind="stable")
    spread = spread[strictest]
    records = sizes[noisy][strictest]
    return float(np.max(np.cumsum(records / spread) / (balance + np.cumsum(records / spread**2))))


def shared_weights(term: ArrayLike, sizes: ArrayLike, sharing: Mask, balance: float) -> Array:
    """Best weights q (n_owners,) under one shared noise; all 0 where no owner shares.

    Parameters are those of `saturation`.

    >>> terms, both = 8 / np.array([1.0, 0.1]) ** 2, np.array([True, True])
    >>> shared_weights(terms, [1000.0, 1000.0], both, balance=1.0).round(3)
    array([0.643, 0.357])
    """
    answers = Answers(np.asarray(term, dtype=float), np.asarray(sizes, dtype=float), sharing)
    level = saturation(term, sizes, sharing, balance)
    return SaturatedWeighting(level=level).answer_weights(answers)


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
    array (n_owners,) of bool; empty only if no owner shares.

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
