"""Release: answers that may leave the house, with noise from a sampler that resists floating-point attacks.

Everything else in this program draws from seeded generators: right for a study, which must be repeatable, and wrong for
a release, since who knows the seed subtracts the noise, and since the gaps between floating-point numbers betray what
noise was added to. Here noise comes from OpenDP: the discrete Laplace or Gaussian distribution, or l2 noise thinned out of
the former (`learning.privacy.lattice`), exact arithmetic, the operating system's random source. A generator is refused, and
so is what nobody has bounded to the last bit: other losses than the squared whose records' gradients are not clipped one by
one, accounting that no map of exact noise confirms, and questions that no ball holds. All of it is refused by the terms
and the question alone: once records are looked at, nothing is (`learning.privacy.admission`).

An owner's program, once: make a `LedgerFile` and open the account of its `ReleaseTerms`. For every query: `release`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.losses.squared import SquaredStatistics, squared_statistics
from learning.privacy.admission import admit
from learning.privacy.claims import Claim
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.release_terms import ReleaseTerms
from learning.privacy.secure_noise import add_noise, longest, measurement, refuse_generator


@dataclass(frozen=True)
class Released:
    """One answer made for release.

    Parameters
    ----------
    answer: array (p,).
    claim: what is claimed of all answers together; ``simulation`` is false.
    spent: what this answer spends by OpenDP's own privacy map: epsilon of Laplace noise, rho (zCDP) of Gaussian noise; by
        that of the lattice epsilon of l2 noise.
    scale: the scale of its noise.
    """

    answer: Array = field(repr=False)
    claim: Claim
    spent: float
    scale: float


def release(
    x: ArrayLike,
    y: ArrayLike,
    query: ArrayLike,
    terms: ReleaseTerms,
    *,
    ledger: LedgerFile,
    persons: ArrayLike | None = None,
    number: int | None = None,
    keep: Callable[[Released], str] | None = None,
    rng: object = None,
) -> Released:
    """Answer one mean-gradient query for real: records clipped here, charged to the ledger on disk, then answered.

    answer = mean gradient of the clipped records at the query + noise of `ReleaseTerms.scales`, from OpenDP.

    Everything that can be refused is refused before the charge, and before a cell is looked at: no refusal, no charge and
    no message depends on one. What is charged is spent, even where a failure right after it keeps the answer back.

    Parameters
    ----------
    x: array (n, p), the owner's encoded records, n and p as announced; the last column the constant 1. A record with a cell
        that is no number counts as zeros (`learning.privacy.admission.admit`).
    y: array (n,), their targets.
    query: array (p,), phi, in the announced ball.
    terms: what is announced of all answers.
    ledger: holds the account of ``terms.budget``, opened before.
    persons: array (n,), whose each record is; needed where a person may have several, and never shown. Rows beyond the most
        of one person count as zeros.
    number: which answer is asked for, from 1; must be the next, and told where shares of the budget grow.
    keep: called with the answer before it is charged, which it must not show to anybody, to put it where it outlives the
        program; gives the purpose that the ledger enters. A kill before the charge has then cost nothing, and one after
        it has not lost the answer. Unless given, noise is drawn after the charge.
    rng: must be left out; taken only to say so.

    Raises
    ------
    TypeError
        If a generator is given, or a ledger that does not survive the program.
    BudgetExceeded
        If the budget is spent.
    InputError
        If the query, or the shape of the records, is not what was announced, or the ledger has no account of these terms,
        or is damaged.
    ValueError
        If OpenDP's own map does not confirm the claim.
    """
    refuse_generator(rng)
    if not isinstance(ledger, LedgerFile):
        raise TypeError(
            f"release charges a LedgerFile, got {type(ledger).__name__}: what is spent must outlive the program"
        )
    norm, vectors = terms.mechanism.norm, terms.vectors
    if number is None and terms.growth != 1 or number not in (None, *range(1, terms.horizon + 1)):
        raise InputError("release.number", f"must be the number of the answer, from 1 to {terms.horizon}", number)
    phi = _query(query, terms)
    scale = float(terms.scales[(number or 1) - 1])
    spent = float(measurement(scale, norm, vectors).map(terms.sensitivity))
    ledger.check(terms.budget, "release", first=number)  # what would be refused looks at no record
    mean = mean_gradient(x, y, phi, terms, persons)

    def drawn() -> Released:
        return Released(add_noise(mean, scale, norm=norm, vectors=vectors > 0), terms.claim, spent, scale)

    if keep is None:
        ledger.charge(terms.budget, "release", first=number)
        return drawn()
    made = drawn()
    ledger.charge(terms.budget, keep(made), first=number)
    return made


def mean_gradient(
    x: ArrayLike, y: ArrayLike, query: ArrayLike, terms: ReleaseTerms, persons: ArrayLike | None = None
) -> Array:
    """Compute the mean gradient at a query that noise is then added to, (p,): finite, whatever the records hold.

    It holds no noise: for the owner's eyes alone.

    Raises
    ------
    InputError
        If the query, or the shape of records or persons, is not what was announced.
    """
    phi = _query(query, terms)
    features, targets = admit(x, y, persons, terms.n_records, terms.coordinates)
    if terms.coordinates.clips_gradients:
        return shortened_mean(features, targets, phi, terms.coordinates)
    return clipped(features, targets, terms.coordinates).gradient(phi)


def shortened_mean(features: Array, targets: Array, phi: Array, coordinates: Coordinates) -> Array:
    """Average the gradients of admitted records at phi (p,), each shortened to the radius by itself.

    A gradient that still measures more than the radius, or is not finite, counts as zero. Within the sizes that
    `ReleaseTerms` and `admit` allow all are finite, and only one near the smallest floats can seem too long. Products run
    row by row and in one order (`np.einsum`), so what becomes of a record depends on its own numbers and the question, not
    on its place or its neighbours. Sums over neighbouring tables differ by two vectors no longer than was measured, and by
    rounding; how exact a slope is does not matter.
    """
    loss = coordinates.loss
    with np.errstate(all="ignore"):
        moved = np.einsum("ij,jk->ik", features, coordinates.transform)
        said = np.einsum("ij,j->i", moved, phi) + np.einsum("ij,j->i", features, coordinates.centre)
        t = targets * said if loss.labels else said - targets
        lines = targets[:, None] * moved if loss.labels else moved
        most = coordinates.radius / coordinates.lengths(lines)
        each = np.clip(loss.derivative(t), -most, most)[:, None] * lines
        each[~_within(coordinates.lengths(each), coordinates.radius, each.shape[1])] = 0.0
        return np.asarray(each.mean(axis=0))


def clipped(features: Array, targets: Array, coordinates: Coordinates) -> SquaredStatistics:
    """Sum over admitted records, each shortened to the announced bounds.

    A record that still measures more than a bound, or is not finite, counts as zeros; neither arises within the sizes that
    `ReleaseTerms` and `admit` allow.
    """
    with np.errstate(all="ignore"):
        moved, held = coordinates.records(features, targets)
        short = _within(coordinates.lengths(moved), coordinates.radius, moved.shape[1])
        kept = short & (np.abs(held) <= coordinates.target_bound)
        moved[~kept] = 0.0
        held[~kept] = 0.0
        return squared_statistics(moved, held)


def _within(lengths: Array, bound: float, width: int) -> NDArray[np.bool_]:
    """Mark vectors of a width that are no longer than a bound, but for the rounding of shortening them; NaN is not."""
    return np.asarray(lengths <= bound * longest(width))


def _query(query: ArrayLike, terms: ReleaseTerms) -> Array:
    """Check the query: a point outside the ball is refused but for the rounding of a projection onto it."""
    coordinates = terms.coordinates
    width = len(coordinates.centre)
    try:
        phi = np.array(query)
    except (TypeError, ValueError):
        phi = np.empty(0)
    if phi.dtype.kind not in "biuf" or phi.shape != (width,) or not np.isfinite(phi).all():
        raise InputError("release.query", f"must be {width} finite numbers, as announced")
    phi = phi.astype(float)
    length = coordinates.reach(phi)
    if not length <= coordinates.theta_max * longest(width):
        rule = f"must lie in the announced ball of {coordinates.theta_max:g}"
        raise InputError("release.query", rule, f"length {length:g}", "Project it: coordinates.project.")
    return phi
