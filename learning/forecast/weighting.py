"""Whom to include, and with what weight: more data is not always good, unless it is weighted well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array

LEAST = 1e-100  # stands for a sum of weights of 0, and can be cubed


@dataclass(frozen=True)
class Weighting:
    """How the answers of those who share are weighed, as sums over owners: what makes the market aggregative.

    q_l = w_l/sum(w) with w = n (size), 1 (equal), or (1 + balance)/(balance t/n^2 + 1/n) (precision), where t is
    `Mechanism.noise_term`. The aggregated noise is sum q^2 t/n^2 and what a part of the owners costs on all of them grows
    with sum q^2/n; both follow from the sums of w^2 t/n^2, w and w^2/n, which for weights by size are the sums of t and n
    alone. Where owners differ in kind, weights away from records move the optimum, by sum (q - n/total)^2, which takes the
    sums of w^2 and w n beside; precision weights are then (1 + balance)(1 + between n)/(balance t/n^2 + 1/n + between):
    by records as `between` grows, whatever the noise.

    Under "record" one record is asked at a time: the noise is the mean of t/n^2 over records, sum(t/n)/sum(n).

    Parameters
    ----------
    kind : the rule above.
    balance : kappa >= 0, what a unit of noise costs relative to a unit of 1/n: slope of the forecast in the noise over
        dispersion. It is announced beforehand, so that weights do not wait for the budgets of others.
    between : variance of the owners' mean gradients over that of a record's: 0 where they are alike in kind.
    total : records of all owners, and ``even``, the sum of (n/total)^2 over them: what is left where nobody shares.

    Source: ours; at the balance of the plan in use no other weights forecast a better model.

    >>> precise = Weighting("precision", balance=1.0)
    >>> precise.weights(np.array([8.0, 800.0, 0.0]), np.array([10.0, 10.0, 10.0]), np.array([True, True, False])).round(3)
    array([0.978, 0.022, 0.   ])
    """

    kind: Literal["size", "equal", "precision", "record"] = "size"
    balance: float = 0.0
    between: float = 0.0
    total: float = 0.0
    even: float = 0.0

    def _raw(self, term: Array, sizes: Array, sharing: NDArray[np.bool_]) -> Array:
        if self.kind == "precision":
            raw = (1 + self.balance) / (
                self.balance * term / sizes**2 + 1 / sizes + self.between
            )  # squares do not vanish
            raw = raw * (1 + self.between * sizes)
        else:
            raw = np.ones(()) if self.kind == "equal" else sizes
        return raw if sharing.all() else np.where(sharing, raw, 0.0)

    def weights(self, term: Array, sizes: Array, sharing: NDArray[np.bool_]) -> Array:
        """q of each owner, (n_owners,); sums to 1, all zero where nobody shares."""
        raw = np.broadcast_to(self._raw(term, sizes, sharing), term.shape)
        return raw / max(float(raw.sum()), LEAST)

    def columns(self, term: Array, sizes: Array, sharing: NDArray[np.bool_]) -> Array:
        """What each owner adds to the sums, (...) -> (..., 2 to 5)."""
        added = np.broadcast_arrays(*self.parts(term, sizes, sharing))
        return np.moveaxis(np.stack(added), 0, -1)  # each column in one piece of memory

    def parts(self, term: Array, sizes: Array, sharing: NDArray[np.bool_]) -> list[Array]:
        """The `columns` one by one, each in the least shape that broadcasts to theirs."""
        raw = self._raw(term, sizes, sharing)
        if self.kind in ("size", "record"):
            added = [term if self.kind == "size" else raw * term / sizes**2, raw]
        else:
            added = [raw**2 * term / sizes**2, raw, raw**2 / sizes]
        return [*added, raw**2, raw * sizes] if self.between else added

    def under(self, term: Array, sizes: Array, **stated: float | str) -> Weighting:
        """The same with what is stated of its fields, chosen at reference budgets.

        Parameters
        ----------
        term : array (n_owners,), the noise terms there.
        sizes : array (n_owners,), records.
        """
        return replace(self, **stated)  # type: ignore[arg-type]

    @property
    def few_sums(self) -> bool:
        """Whether owners meet in a few sums, however many they are."""
        return True

    def part(self, owners: Array | NDArray[np.intp]) -> Weighting:
        """The same for some owners only, numbered (k,): the rows of `columns`."""
        return self

    def formed(self, sums: Sequence[Array]) -> NDArray[np.bool_]:
        """Whether there are answers to train with."""
        return np.asarray(sums[1] > 0)

    def noise(self, sums: Sequence[Array]) -> Array:
        """Aggregated noise, sum q^2 t/n^2, from the sums, a column at a time."""
        if self.kind == "record":
            return sums[0] / np.maximum(sums[1], 1.0)
        return sums[0] / np.maximum(sums[1], LEAST if self.kind in ("equal", "precision") else 1.0) ** 2

    def spread(self, sums: Sequence[Array]) -> Array:
        """sum q^2/n from the sums: one over the records for weights by size."""
        if self.kind in ("size", "record"):
            return 1 / np.maximum(sums[1], 1.0)
        return sums[2] / np.maximum(sums[1], LEAST) ** 2

    def shift(self, sums: Sequence[Array]) -> Array:
        """sum (q - n/total)^2 from the sums, over all owners: how far weights are from records, where that matters."""
        if not self.between:
            return np.zeros_like(sums[1])
        raw = np.maximum(sums[1], LEAST)
        return np.maximum(sums[-2] / raw**2 - 2 * sums[-1] / (raw * self.total) + self.even, 0.0)

    def worth_term(self, own: Array, sums: Sequence[Array]) -> Array:
        """The noise terms (n_owners,) below which nobody need go, from those at which an ``own`` noise is own sampling noise.

        Those, unless owners share a noise. The sums are of a profile, one number each.
        """
        return own

    def slopes(
        self, term: Array, noise_term_slope: Array, sizes: Array, sharing: NDArray[np.bool_], sums: Sequence[Array]
    ) -> tuple[Array, Array]:
        """Derivatives of noise and of spread + between shift by an owner's own budget, where the sums include it."""
        raw = self._raw(term, sizes, sharing)
        total = np.maximum(sums[1], LEAST)
        if self.kind == "size":
            return noise_term_slope / np.maximum(total, 1.0) ** 2, np.zeros_like(total)
        if self.kind == "record":
            return raw * noise_term_slope / sizes**2 / np.maximum(total, 1.0), np.zeros_like(total)
        share = self.balance / (1 + self.balance) / (1 + self.between * sizes)
        change = -(raw**2) * share * noise_term_slope / sizes**2 if self.kind == "precision" else np.zeros_like(raw)
        own = (2 * raw * change * term + raw**2 * noise_term_slope) / sizes**2
        noise = own / total**2 - 2 * sums[0] * change / total**3
        spread = 2 * raw * change / sizes / total**2 - 2 * sums[2] * change / total**3
        if self.between:
            shift = raw / total**2 - sums[-2] / total**3 - (sizes / total - sums[-1] / total**2) / self.total
            spread = spread + 2 * self.between * change * shift
        return noise, spread


SIZE, RECORD = Weighting("size"), Weighting("record")


def best_coalition(sizes: ArrayLike, term: ArrayLike) -> NDArray[np.bool_]:
    """The owners whose answers, weighted by records, carry least noise: minimises sum_A term/(sum_A n)^2 over sets A.

    The best set is a prefix of the owners sorted by n/term (n epsilon^2 for Laplace noise), largest first. Proof: at an
    optimum of value v with m = sum_A n, leaving out a member would need term/n > 2 v m - v n, and taking in another
    term/n < 2 v m + v n; so members and others are told apart by term/n, and one pass over the prefixes finds it.

    Parameters
    ----------
    sizes : array (n_owners,), records.
    term : array (n_owners,), what each adds to the noise at its budget (`Mechanism.noise_term`); owners that share nothing
        are given as inf and never belong.

    Returns
    -------
    array (n_owners,) of bool; empty only if nobody shares.

    Source: ours; it answers the remark of Wu et al., The Value of Collaboration, that more owners may make a worse model.

    >>> best_coalition([1e5, 1e3, 1e3], [8 / 10**2, 8 / 0.1**2, 8 / 0.1**2]).tolist()
    [True, False, False]
    """
    sizes, term = np.asarray(sizes, dtype=float), np.asarray(term, dtype=float)
    if not (np.all(sizes > 0) and np.all(term >= 0)):
        raise ValueError("sizes must be above 0 and terms at least 0")
    order = np.argsort(term / sizes, kind="stable")
    order = order[np.isfinite(term[order])]
    chosen = np.zeros(len(sizes), dtype=bool)
    if len(order):
        noise = np.cumsum(term[order]) / np.cumsum(sizes[order]) ** 2
        chosen[order[: int(np.argmin(noise)) + 1]] = True
    return chosen
