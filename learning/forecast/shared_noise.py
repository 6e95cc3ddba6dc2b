"""Weights of answers that are seen in sums alone, under one noise that all owners make together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.forecast.weighting import LEAST, Answers, Mask, Sums, Weighting
from learning.privacy.mechanism import Mechanism

MOST_OWNERS = 200  # with columns of their own in the sums that a market is played on
UNFORMED = 1e100  # noise of a sum that too few owners would hide


@dataclass(frozen=True)
class SharedWeighting(Weighting):
    """Weights by records, or equal ones, under the noise that the strictest owner needs.

    The noise is max q^2 t/n^2, times N/(N - t') where t' of the N owners that share may collude.
    The sums hold two columns for each owner, its sharing and its t, so that the maximum is a
    function of sums as well.

    Parameters
    ----------
    kind : "size" or "equal".
    owners : number of records of each owner.
    rows : owners that the rows of `sum_terms` belong to; all unless given.
    colluders : t', number of owners who may tell others their parts of the noise.

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
        """Sharing, records, q, and the noise q^2 t/n^2 that each owner needs, (n_owners, ...)."""
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
        """Larger of two terms, each of the noise that an owner needs.

        At the first, the noise of all costs what the sampling noise of all does. At the second, the
        owner needs as much noise as the strictest other.
        """
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
        """Derivatives of noise and of spread: the owner that needs most noise moves the noise."""
        sharing, _, weights, needs = self.read_profile(sums)
        owners = self.row_owners
        rows = np.arange(len(owners))
        binds = needs[owners, rows] >= needs.max(axis=0)
        change = weights[owners, rows] ** 2 * answers.term_slope / answers.sizes**2
        more = collusion_factor(sharing.sum(axis=0), self.colluders)
        noise = more * np.where(binds, change, 0.0)
        return noise, np.zeros_like(noise)


@dataclass(frozen=True)
class SaturatedWeighting(Weighting):
    """Weights w = n/max(sqrt(t), r) under one noise of 1/(sum w)^2, times N/(N - t').

    The noise hides every owner's weighted record at its own budget, and is just enough where some
    owner is as strict as the level r. An owner that sells a larger budget counts by its records;
    one that sells a smaller budget counts for less. The level is announced before owners choose, so
    that the market stays one of sums.

    Parameters
    ----------
    level : r, of `saturation` at the reference budgets.
    colluders : t', as in `SharedWeighting`.
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
    """N/(N - t'): the noise of all N (...) parts over that of the parts of honest owners."""
    return np.where(sharing > colluders, sharing / np.maximum(sharing - colluders, 1), UNFORMED)


def noise_of_all(noise: Array | float, sharing: Array, colluders: int) -> Array:
    """Noise of all parts where that of honest owners must be ``noise`` (...); 0 without owners."""
    more = collusion_factor(sharing, colluders)
    return np.where(sharing > 0, np.where(more < UNFORMED, noise * more, UNFORMED), 0.0)


def saturation(term: ArrayLike, sizes: ArrayLike, sharing: Mask, balance: float) -> float:
    """Level r of sqrt(term), under one shared noise: a budget of a smaller term adds nothing more.

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
