"""Release: answers that may leave the house, with noise from a sampler that resists floating-point attacks.

Everything else in this program draws from seeded generators: right for a study, which must be repeatable, and wrong for
a release, since who knows the seed subtracts the noise, and since the gaps between floating-point numbers betray what
noise was added to. Here noise comes from OpenDP: the discrete Laplace or Gaussian distribution, or l2 noise thinned out of
the former (`learning.privacy.lattice`), exact arithmetic, the operating system's random source. A generator is refused, and
so is what nobody has bounded to the last bit: other losses than the squared whose records' gradients are not clipped one by
one, and accounting that no map of exact noise confirms.

An owner's program, once: make a `LedgerFile` and open the account of its `ReleaseTerms`. For every query: `release`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.data.persons import turns
from learning.errors import InputError
from learning.losses.squared import SquaredStatistics, squared_statistics
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

    Everything that can be refused is refused before the charge; what is charged is spent, even where a failure right after
    it keeps the answer back. No message shows a record; still, that records were refused says something of them: for the
    owner's eyes only.

    Parameters
    ----------
    x: array (n, p), the owner's encoded records, n and p as announced, finite; the last column the constant 1.
    y: array (n,), their targets, finite.
    query: array (p,), phi; must lie in the announced ball, or no bound on a gradient holds.
    terms: what is announced of all answers.
    ledger: holds the account of ``terms.budget``, opened before.
    persons: array (n,), whose each record is; needed where a person may have several, and never shown.
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
        If records or query are not what was announced, or the ledger has no account of these terms, or is damaged.
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
    mean, scale = mean_gradient(x, y, query, terms, persons), float(terms.scales[(number or 1) - 1])
    spent = float(measurement(scale, norm, vectors).map(terms.sensitivity))

    def drawn() -> Released:
        return Released(add_noise(mean, scale, norm=norm, vectors=vectors > 0), terms.claim, spent, scale)

    if keep is None:
        ledger.charge(terms.budget, "release", first=number)
        return drawn()
    ledger.check(terms.budget, "release", first=number)  # what would be refused is not drawn either
    made = drawn()
    ledger.charge(terms.budget, keep(made), first=number)
    return made


def mean_gradient(
    x: ArrayLike, y: ArrayLike, query: ArrayLike, terms: ReleaseTerms, persons: ArrayLike | None = None
) -> Array:
    """The mean gradient at a query that noise is then added to, (p,): of records or gradients shortened as announced.

    It holds no noise: for the owner's eyes alone.

    Raises
    ------
    InputError
        If records, persons or query are not what was announced.
    """
    _check_persons(persons, terms)
    phi = _query(query, terms)
    if terms.coordinates.clips_gradients:
        return shortened_mean(x, y, phi, terms)
    return clipped(x, y, terms).gradient(phi)


def shortened_mean(x: ArrayLike, y: ArrayLike, phi: Array, terms: ReleaseTerms) -> Array:
    """Mean of the records' gradients at phi (p,), each shortened to the radius by itself, and measured once more after that.

    A record's own numbers and place alone decide what becomes of its gradient, so how exact a slope is does not matter: sums
    of neighbours differ by two vectors no longer than was measured, and by rounding.

    Raises
    ------
    InputError
        If the records are not as many finite numbers as announced, or too large for floating point to shorten.
    """
    coordinates, loss, width = terms.coordinates, terms.coordinates.loss, len(terms.coordinates.centre)
    features = _numbers(x, "records", (terms.n_records, width))
    targets = _numbers(y, "targets", (terms.n_records,))
    with np.errstate(all="ignore"):
        moved = features @ coordinates.transform
        said = moved @ phi + features @ coordinates.centre
        t = targets * said if loss.labels else said - targets
        lines = targets[:, None] * moved if loss.labels else moved
        most = coordinates.radius / coordinates.lengths(lines)
        each = np.clip(loss.derivative(t), -most, most)[:, None] * lines
        short = coordinates.lengths(each) <= coordinates.radius * longest(width)
    if not short.all():
        raise InputError("release.records", "must be numbers whose gradients can be shortened to the announced radius")
    return np.asarray(each.mean(axis=0))


def clipped(x: ArrayLike, y: ArrayLike, terms: ReleaseTerms) -> SquaredStatistics:
    """Sums over the records, each shortened to the announced bounds, and measured once more after that.

    Raises
    ------
    InputError
        If they are not as many finite numbers as announced, or too large for floating point to shorten.
    """
    coordinates, width = terms.coordinates, len(terms.coordinates.centre)
    features = _numbers(x, "records", (terms.n_records, width))
    targets = _numbers(y, "targets", (terms.n_records,))
    with np.errstate(over="ignore", invalid="ignore"):
        moved, targets = coordinates.records(features, targets)
        short = coordinates.lengths(moved) <= coordinates.radius * longest(width)
        within = np.abs(targets) <= coordinates.target_bound
    if not (short & within).all():  # false of NaN too, which overflow leaves behind
        raise InputError("release.records", "must be numbers that can be shortened to the announced bounds")
    return squared_statistics(moved, targets)


def _check_persons(persons: ArrayLike | None, terms: ReleaseTerms) -> None:
    most, count = terms.coordinates.rows_per_person, terms.n_records
    if persons is None and most == 1:
        return
    whose = np.asarray([] if persons is None else persons)
    if whose.shape != (count,) or turns(whose.astype(str)).max(initial=0) >= most:
        rule = f"must say whose each of the {count} records is, nobody having more than {most}, as announced"
        raise InputError("release.persons", rule)


def _query(query: ArrayLike, terms: ReleaseTerms) -> Array:
    """The query; a point outside the ball is refused but for the rounding of a projection onto it."""
    coordinates = terms.coordinates
    phi = _numbers(query, "query", coordinates.centre.shape)
    length = np.linalg.norm(phi, ord=np.inf if coordinates.norm == 1 else 2)
    if not length <= coordinates.theta_max * longest(len(phi)):
        rule = f"must lie in the announced ball of {coordinates.theta_max:g}"
        raise InputError("release.query", rule, f"length {length:g}", "Project it: coordinates.project.")
    return phi


def _numbers(values: Any, name: str, shape: tuple[int, ...]) -> Array:
    """A copy as an array of finite numbers of a shape; what was found instead is not shown, it may be private."""
    with suppress(TypeError, ValueError):
        numbers = np.array(values)
        if numbers.dtype.kind in "biuf" and numbers.shape == shape and np.isfinite(numbers).all():
            return numbers.astype(float)
    size = " by ".join(str(n) for n in shape)
    raise InputError(f"release.{name}", f"must be {size} finite numbers, as announced")
