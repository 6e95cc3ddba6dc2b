"""Which answers are paid: a test on check rows, and the odds that an honest answer passes it.

An answer passes if its score points to where the learner's own model theta_0 errs on check rows,
and the model of its sums alone has a lower training cost there than theta_0.

Let J be the covariance of a record's score at theta_0, and s its mean. theta_0 was fitted to m_0
public rows, so that s is N(0, J/m_0), and the mean g of m check rows is N(s, J/m). In coordinates
in which J = 1, g has no preferred direction but two that public facts explain: shrinking the own
model, and shifting its predictions. They are left out. Whatever is sent without knowledge of
records is independent of the rest. Its cosine with g is then that of a uniform direction in q = p -
2 dimensions, however large it is and however its noise is distributed: cos^2 is Beta(1/2, (q -
1)/2).

Given g, s is N(k g, J k/m) with k = m/(m + m_0). The sums of an honest owner of n records are
around n s, with covariance n J and noise of a known law. Drawing them tells before any answer how
likely an honest answer is to pass. Whoever is promised t and passes is paid t over these odds, so
that an honest owner can expect t.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.training.contribution import CheckRows, worth_of
from learning.training.sums import ReleasedSums

CHANCE = 0.02  # of passing the test of directions without knowledge of records
EXPLAINED = 2  # directions that public facts explain
LEAST_PARAMETERS = EXPLAINED + 2  # with fewer, a guess has one chance in two
HONEST_DRAWS = 1000


@dataclass(frozen=True)
class AnswerTest:
    """Test of answers that are sums, about the learner's own model.

    Parameters
    ----------
    rows : m check rows.
    fitted : m_0, the number of public rows that the own model was fitted to.
    coordinates : those of the sums, with the own model as their centre.
    """

    rows: CheckRows = field(repr=False)
    fitted: int
    coordinates: Coordinates = field(repr=False)

    @cached_property
    def _records(self) -> tuple[Array, Array]:
        """Check rows as owners' records enter their sums: (m, p), and residuals (m,)."""
        return self.coordinates.records(self.rows.x, self.rows.y)

    @cached_property
    def score(self) -> Array:
        """Mean score g of the check rows, (p,)."""
        moved, residual = self._records
        return np.asarray(residual @ moved / len(residual))

    @cached_property
    def moments(self) -> Array:
        """Mean second moments of the check rows, (p, p)."""
        moved, residual = self._records
        return np.asarray(moved.T @ moved / len(residual))

    @cached_property
    def root(self) -> Array:
        """Root R of the scores' covariance, J = RR', (p, p).

        With as much of a multiple of 1 as p of m rows have weight: few rows do not show all of J.
        """
        moved, residual = self._records
        covariance = np.cov((moved * residual[:, None]).T)
        rows, width = moved.shape
        even = np.trace(covariance) / width * width / rows
        return np.linalg.cholesky(covariance + even * np.eye(width))

    @cached_property
    def _explained(self) -> Array:
        """Orthonormal basis of whitened scores that shrinking and shifting give, (p, 2)."""
        constant = np.zeros(len(self.score))
        constant[-1] = 1.0
        steps = np.linalg.solve(
            self.coordinates.transform, np.stack([self.coordinates.centre, constant]).T
        )
        return np.linalg.qr(np.linalg.solve(self.root, self.moments @ steps))[0]

    @property
    def least_cosine(self) -> float:
        """Cosine that a random direction exceeds in `CHANCE` of cases; inf of one dimension."""
        if len(self.score) < LEAST_PARAMETERS:
            return np.inf
        free = len(self.score) - EXPLAINED
        return float(np.sqrt(scipy.special.betaincinv(0.5, (free - 1) / 2, 1 - 2 * CHANCE)))

    def cosines(self, scores: Array) -> Array:
        """Cosine (n,) of scores (n, p) with the check rows', whitened, without `_explained`."""
        white = np.linalg.solve(self.root, np.vstack([self.score, scores]).T)
        rest = white - self._explained @ (self._explained.T @ white)
        rest /= np.maximum(np.linalg.norm(rest, axis=0), 1e-300)
        return np.asarray(rest[:, 0] @ rest[:, 1:])

    def accepts(self, sums: ReleasedSums) -> Array:
        """Mask of the owners whose answers pass, (N,)."""
        alone = worth_of(sums.solve_each(), self.coordinates.centre, self.rows.fitness)
        return np.asarray((self.cosines(sums.xu) > self.least_cosine) & (alone > 0))

    def odds(self, sums: ReleasedSums, mechanism: Mechanism, *, rng: np.random.Generator) -> Array:
        """Probability (N,) that honest answers pass; of sums, only sizes and noise are used.

        Parameters
        ----------
        sums : of N owners, or what they will release.
        mechanism : of the noise.
        rng : source of the answers drawn.
        """
        rows = len(self.rows.y)
        known = rows / (rows + self.fitted)
        width = len(self.score)
        mean = rng.normal(size=(HONEST_DRAWS, 1, width)) * np.sqrt(known / rows)
        few = rng.normal(size=(HONEST_DRAWS, len(sums), width)) / np.sqrt(sums.sizes)[:, None]
        scores = (known * self.score + (mean + few) @ self.root.T) * sums.sizes[:, None]
        again = sums.keep(list(range(len(sums))) * HONEST_DRAWS)
        honest = replace(
            again,
            xx=np.multiply.outer(again.sizes, self.moments),
            xu=scores.reshape(-1, width),
        )
        passed = self.accepts(again.redraw(mechanism, honest, rng=rng))
        return np.asarray(passed.reshape(HONEST_DRAWS, -1).mean(axis=0))


def settle_promises(promised: Array, odds: Array, accepted: Array) -> Array:
    """Payments (..., N): what was promised over the odds, to whoever is accepted, (..., N).

    An honest owner expects what it was promised, and one that knows no records at most `CHANCE`
    over the odds of it. No odds count as less than that: such a test tells nobody apart.
    """
    return np.where(accepted, promised / np.maximum(odds, CHANCE), 0.0)
