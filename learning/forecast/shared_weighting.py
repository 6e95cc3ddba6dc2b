"""How answers are weighed that the learner sees in sums only, under one noise that their owners make together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.shared_weights import saturation, shared_raw
from learning.forecast.weighting import LEAST, Weighting

MOST_OWNERS = 200  # of whom sums hold what each alone needs
UNFORMED = 1e100  # noise of sums that no part of the noise would hide


def grown(sharing: Array, colluders: int) -> Array:
    """N/(N - t): the noise of all parts over that of the parts which make it up, where N share (...)."""
    return np.where(sharing > colluders, sharing / np.maximum(sharing - colluders, 1), UNFORMED)


@dataclass(frozen=True)
class SharedWeighting(Weighting):
    """Weights by records, or alike, under the noise that the strictest owner needs: max q^2 t/n^2, times N/(N - t').

    A largest number is no sum over owners. The sums hold it none the less: for every owner by itself whether it shares,
    and its t, in two columns of its own. So the market stays one of sums, and nothing is approximated.

    Parameters
    ----------
    kind : "size" or "equal".
    owners : records of all owners.
    rows : which of them the rows of `columns` are; all unless given.
    colluders : t', owners whose parts of the noise may be known.

    >>> both = np.array([True, True])
    >>> strict = SharedWeighting(owners=(10.0, 10.0)).columns(np.array([8.0, 800.0]), np.array([10.0, 10.0]), both)
    >>> float(SharedWeighting(owners=(10.0, 10.0)).noise(tuple(strict.sum(axis=0))))  # 800/20^2
    2.0
    """

    owners: tuple[float, ...] = ()
    rows: tuple[int, ...] | None = None
    colluders: int = 0

    def __post_init__(self) -> None:
        if len(self.owners) > MOST_OWNERS:
            rule = f'must be "precision" under secure aggregation with more than {MOST_OWNERS} owners'
            raise InputError("learning.weights", rule, f"{self.kind} with {len(self.owners)} owners")

    def under(self, term: Array, sizes: Array, **stated: float | str) -> Weighting:
        """The same with what is stated; precision weights saturate at a level that is announced."""
        if stated["kind"] != "precision":
            return replace(self, **stated)  # type: ignore[arg-type]
        sharing = np.asarray(term) > 0
        balance = float(stated["balance"]) * float(grown(sharing.sum(), self.colluders))
        return SaturatedWeighting(
            **stated,  # type: ignore[arg-type]
            level=saturation(term, sizes, sharing, balance),
            colluders=self.colluders,
        )

    @property
    def _own(self) -> NDArray[np.intp]:
        """The owner that each row is of."""
        return np.arange(len(self.owners)) if self.rows is None else np.array(self.rows, dtype=int)

    @property
    def few_sums(self) -> bool:
        return False

    def part(self, owners: Array | NDArray[np.intp]) -> SharedWeighting:
        return replace(self, rows=tuple(self._own[owners].tolist()))

    def columns(self, term: Array, sizes: Array, sharing: NDArray[np.bool_]) -> Array:
        own, count = self._own, len(self.owners)
        made = np.zeros((len(own), 2 * count, *np.shape(sharing)[1:]))
        at = np.arange(len(own))
        made[at, own], made[at, count + own] = sharing, np.where(sharing, term, 0.0)
        return np.moveaxis(made, 1, -1)

    def parts(self, term: Array, sizes: Array, sharing: NDArray[np.bool_]) -> list[Array]:
        return list(np.moveaxis(self.columns(term, sizes, sharing), -1, 0))

    def _profile(self, sums: Sequence[Array]) -> tuple[Array, Array, Array]:
        """Who shares, q, and the noise that hides each owner's weighted record, (n_owners, ...) each, from the sums."""
        both = np.stack(np.broadcast_arrays(*sums))
        sharing, term = both[: len(self.owners)], both[len(self.owners) :]
        sizes = self._beside(sharing)
        raw = sharing if self.kind == "equal" else sharing * sizes
        weights = raw / np.maximum(raw.sum(axis=0), LEAST)
        return sharing, weights, weights**2 * term / sizes**2

    def _beside(self, one: Array) -> Array:
        """Records of all owners, beside an array (n_owners, ...)."""
        return np.reshape(np.asarray(self.owners), (-1,) + (1,) * (one.ndim - 1))

    def formed(self, sums: Sequence[Array]) -> NDArray[np.bool_]:
        return np.asarray(self._profile(sums)[0].sum(axis=0) > self.colluders)

    def noise(self, sums: Sequence[Array]) -> Array:
        sharing, _, needs = self._profile(sums)
        more = grown(sharing.sum(axis=0), self.colluders)
        return np.where(sharing.any(axis=0), np.where(more < UNFORMED, needs.max(axis=0) * more, UNFORMED), 0.0)

    def spread(self, sums: Sequence[Array]) -> Array:
        sharing, weights, _ = self._profile(sums)
        return np.where(sharing.any(axis=0), (weights**2 / self._beside(weights)).sum(axis=0), 1.0)

    def shift(self, sums: Sequence[Array]) -> Array:
        _, weights, _ = self._profile(sums)
        return np.asarray(((weights - self._beside(weights) / self.total) ** 2).sum(axis=0))

    def worth_term(self, own: Array, sums: Sequence[Array]) -> Array:
        """Where the noise of all is the sampling noise of all; or what the strictest other needs: less changes nothing."""
        sharing, _, needs = self._profile(sums)
        sizes = np.asarray(self.owners)
        raw = np.ones_like(sizes) if self.kind == "equal" else sizes
        total = (sharing * raw).sum() + np.where(sharing > 0, 0.0, raw)  # who shares nothing, as if it joined
        weights, spread = raw / total, float(self.spread(sums))
        others = np.array([np.delete(needs, owner).max(initial=0.0) for owner in range(len(sizes))])
        others = others * ((sharing * raw).sum() / total) ** 2 * sizes**2 / weights**2
        whole = own * sizes * spread / (weights**2 * grown(sharing.sum(), self.colluders))
        return np.asarray(np.maximum(whole, others))

    def slopes(
        self, term: Array, noise_term_slope: Array, sizes: Array, sharing: NDArray[np.bool_], sums: Sequence[Array]
    ) -> tuple[Array, Array]:
        """The noise moves with the budget of who needs most of it alone."""
        share, weights, needs = self._profile(sums)
        own, at = self._own, np.arange(len(self._own))
        binds = needs[own, at] >= needs.max(axis=0)[at]
        more = grown(share.sum(axis=0), self.colluders)
        noise = more * np.where(binds, weights[own, at] ** 2 * noise_term_slope / sizes**2, 0.0)
        return noise, np.zeros_like(noise)


@dataclass(frozen=True)
class SaturatedWeighting(Weighting):
    """Weights q in proportion to n/max(sqrt(t), r) under one noise of 1/(sum of these)^2, times N/(N - t').

    It hides every owner's weighted record, whoever shares: q^2 t/n^2 is that at most. Who sells beyond the level r counts by
    its records, and the more it sells adds nothing; who sells less counts for less, so that it needs no more noise. The level
    is announced, so that the market stays one of sums.

    Parameters
    ----------
    kind : "precision".
    level : r, of `learning.forecast.shared_weights.saturation` at the reference budgets.
    colluders : t', owners whose parts of the noise may be known.
    """

    level: float = 0.0
    colluders: int = 0

    def under(self, term: Array, sizes: Array, **stated: float | str) -> Weighting:
        return SharedWeighting(owners=tuple(sizes), colluders=self.colluders).under(term, sizes, **stated)

    def _raw(self, term: Array, sizes: Array, sharing: NDArray[np.bool_]) -> Array:
        return shared_raw(term, sizes, sharing, self.level)

    def parts(self, term: Array, sizes: Array, sharing: NDArray[np.bool_]) -> list[Array]:
        raw = self._raw(term, sizes, sharing)
        added = [np.asarray(sharing, dtype=float), raw, raw**2 / sizes]
        return [*added, raw**2, raw * sizes] if self.between else added

    def worth_term(self, own: Array, sums: Sequence[Array]) -> Array:
        """The level, beyond which nothing changes."""
        return np.full_like(own, self.level**2)

    def formed(self, sums: Sequence[Array]) -> NDArray[np.bool_]:
        return np.asarray(sums[0] > self.colluders)

    def noise(self, sums: Sequence[Array]) -> Array:
        noise = 0.0 if self.level == 0 else 1 / np.maximum(sums[1], LEAST) ** 2
        more = grown(sums[0], self.colluders)
        return np.where(sums[0] > 0, np.where(more < UNFORMED, noise * more, UNFORMED), 0.0)

    def slopes(
        self, term: Array, noise_term_slope: Array, sizes: Array, sharing: NDArray[np.bool_], sums: Sequence[Array]
    ) -> tuple[Array, Array]:
        raw, total = self._raw(term, sizes, sharing), np.maximum(sums[1], LEAST)
        strict = np.sqrt(term) > self.level
        change = np.where(strict, -raw * noise_term_slope / (2 * np.where(strict, term, 1.0)), 0.0)
        noise = -2 * grown(sums[0], self.colluders) * change / total**3
        spread = 2 * change * (raw / sizes / total**2 - sums[2] / total**3)
        if self.between:
            shift = raw / total**2 - sums[-2] / total**3 - (sizes / total - sums[-1] / total**2) / self.total
            spread = spread + 2 * self.between * change * shift
        return noise, spread
