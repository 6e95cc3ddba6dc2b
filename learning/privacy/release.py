"""Release: answers that may leave the house, with noise that resists floating-point attacks.

The rest of this program draws from seeded generators: right for a study, which must be repeatable,
and wrong for a release, since the seed reveals the noise, and since the gaps between floating-point
numbers reveal the value that noise was added to. Here noise comes from OpenDP: discrete Laplace or
Gaussian noise, or l2 noise thinned out of discrete Laplace noise (`learning.privacy.secure_noise`),
in exact arithmetic, from the operating system's random source. Refused are: a generator; a loss
other than the squared, unless each gradient of a linear model is clipped; accounting that no map
of exact noise confirms; queries without a ball. Every refusal depends on the terms and the query
alone: once records are looked at, nothing is refused.

Where owners release sums, second moments and a score, the one answer is these, at the start alone
(`learning.privacy.release_sums`).

An owner's program makes a `LedgerFile` and opens the account of its `ReleaseTerms` once, and calls
`release` for every query.

A refusal that depends on a record would leak it. So an answer is defined for every record: one with
a cell that is no number counts as zeros, numbers beyond `LIMIT` count as `LIMIT`, and rows of a
person beyond the announced number count as zeros. Only the announced shape of the table is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.data.rows import count_turns
from learning.errors import InputError
from learning.losses.clipping import PublicCoordinates
from learning.privacy.claims import Claim
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.release_sums import clipped_sums
from learning.privacy.release_terms import ReleaseTerms
from learning.privacy.secure_noise import add_noise, measurement, refuse_generator, rounding_factor

LIMIT = 1e100  # of a number in a record: its square times all that `ReleaseTerms` allows is finite


@dataclass(frozen=True)
class Released:
    """Answer made for release.

    Parameters
    ----------
    answer: array (p,); of sums (p + p (p + 1)/2,), as `release_sums.clipped_sums` orders them, or
        words, as `distributed.SumsPart` makes them of a part.
    claim: the claim of all answers together; ``simulation`` is false.
    spent: the cost of this answer by OpenDP's own privacy map: epsilon of Laplace noise, rho (zCDP)
        of Gaussian noise; by the lattice's map epsilon of l2 noise.
    scale: the scale of its noise.
    """

    answer: NDArray[Any] = field(repr=False)
    claim: Claim
    spent: float
    scale: float


@refuse_generator
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
) -> Released:
    """Answer one query: clip records, charge the ledger on disk, add secure noise.

    answer = mean gradient of the clipped records at the query + noise of `ReleaseTerms.scales`,
    from OpenDP; or sums of the records + noise of `ReleaseTerms.sums_noise`.

    Everything that can be refused is refused before the charge, and before a cell is looked at: no
    refusal, charge or message depends on one. A charge is spent even if a failure right after it
    keeps the answer back.

    Parameters
    ----------
    x: array (n, p), the owner's encoded records, n and p as announced; the last column is the
        constant 1. A record with a cell that is no number counts as zeros (`admit_records`).
    y: array (n,), their targets.
    query: array (p,), phi, in the announced ball.
    terms: the announced terms of all answers.
    ledger: holds the account of ``terms.budget``, opened before.
    persons: array (n,), the person of each record; needed where a person may have several, and
        never shown. Rows beyond the most of one person count as zeros.
    number: the number of the answer, from 1; must be the next, and stated where shares of the
        budget grow.
    keep: called with the answer before it is charged, to store it, hidden from everybody, where it
        outlives the program; returns the purpose that the ledger enters. A kill before the charge
        has then cost nothing, and one after it has not lost the answer. Unless given, noise is
        drawn after the charge.

    Raises
    ------
    TypeError
        If a generator is given, or a ledger that does not survive the program.
    BudgetExceeded
        If the budget is spent.
    InputError
        If the query, or the shape of the records, is not what was announced, or the ledger has no
        account of these terms, or is damaged.
    ValueError
        If OpenDP's own map does not confirm the claim.
    """
    if not isinstance(ledger, LedgerFile):
        raise TypeError(
            f"release charges a LedgerFile, got {type(ledger).__name__}: what is spent "
            "must outlive the program"
        )
    place = 1 if number is None and terms.growth == 1 else number
    if place is None or place not in range(1, terms.horizon + 1):
        rule = f"must be the number of the answer, from 1 to {terms.horizon}"
        raise InputError("release.number", rule, number)
    phi = _check_query(query, terms)
    scale = float(terms.scales[place - 1])
    spent = _spent_at(scale, terms)
    ledger.check(terms.budget, "release", first=number)  # refuses before a record is looked at
    values = bare_answer(x, y, phi, terms, persons)

    def draw_answer() -> Released:
        return Released(_noisy_answer(values, scale, terms), terms.claim, spent, scale)

    if keep is None:
        ledger.charge(terms.budget, "release", first=number)
        return draw_answer()
    made = draw_answer()
    ledger.charge(terms.budget, keep(made), first=number)
    return made


def _spent_at(scale: float, terms: ReleaseTerms) -> float:
    """Cost of an answer at a scale, by the sampler's own map."""
    if terms.sums:
        return terms.sums_noise.spent
    return float(measurement(scale, terms.mechanism.norm, terms.vectors).map(terms.sensitivity))


def _noisy_answer(values: Array, scale: float, terms: ReleaseTerms) -> NDArray[Any]:
    """Add noise to an answer, or a part of it."""
    if terms.sums:
        return terms.sums_noise.add(values, add_noise)
    return add_noise(values, scale, norm=terms.mechanism.norm, vectors=terms.vectors > 0)


def bare_answer(
    x: ArrayLike,
    y: ArrayLike,
    query: ArrayLike,
    terms: ReleaseTerms,
    persons: ArrayLike | None = None,
) -> Array:
    """Compute the answer to a query before noise, finite for all records, and secret: the mean
    gradient at the query (p,), or sums.

    Raises an InputError if the query, or the shape of records or persons, is not what was
    announced.
    """
    phi = _check_query(query, terms)
    admitted = admit_records(x, y, persons, terms.n_records, terms.coordinates)
    if terms.sums:
        return clipped_sums(*admitted, terms.coordinates)
    if terms.coordinates.clips_gradients:
        return clipped_mean_gradient(*admitted, phi, terms.coordinates)
    matrix, vector = clipped_moments(*admitted, terms.coordinates)
    return phi @ (2 * matrix / terms.n_records) - 2 * vector / terms.n_records


def clipped_mean_gradient(
    features: Array, targets: Array, phi: Array, coordinates: PublicCoordinates
) -> Array:
    """Average the gradients of admitted records at phi (p,), each clipped to the radius.

    A gradient that still measures more than the radius, or is not finite, counts as zero. Within
    the sizes that `ReleaseTerms` and `admit_records` allow all are finite, and only one near the
    smallest floats can seem too long. Products run row by row and in one order (`np.einsum`), so a
    record's gradient depends on its own numbers and the query, not on its place or its neighbours.
    Sums over neighbouring tables differ by two vectors of at most the measured length, and by
    rounding; the precision of a slope does not matter.
    """
    loss = coordinates.loss
    with np.errstate(all="ignore"):
        moved = np.einsum("ij,jk->ik", features, coordinates.transform)
        said = np.einsum("ij,j->i", moved, phi) + np.einsum("ij,j->i", features, coordinates.centre)
        t = targets * said if loss.labels else said - targets
        lines = targets[:, None] * moved if loss.labels else moved
        most = coordinates.radius / coordinates.lengths(lines)
        each = np.clip(loss.derivative(t), -most, most)[:, None] * lines
        each[~_within_bound(coordinates.lengths(each), coordinates.radius, each.shape[1])] = 0.0
        return np.asarray(each.mean(axis=0))


def clipped_moments(
    features: Array, targets: Array, coordinates: PublicCoordinates
) -> tuple[Array, Array]:
    """Sum xx' (p, p) and xy (p,) over admitted records, each clipped to the announced bounds.

    A record that still measures more than a bound, or is not finite, counts as zeros; neither
    arises within the sizes that `ReleaseTerms` and `admit_records` allow.
    """
    with np.errstate(all="ignore"):
        moved, held = coordinates.records(features, targets)
        short = _within_bound(coordinates.lengths(moved), coordinates.radius, moved.shape[1])
        kept = short & (np.abs(held) <= coordinates.target_bound)
        moved[~kept] = 0.0
        held[~kept] = 0.0
        return moved.T @ moved, moved.T @ held


def _within_bound(lengths: Array, bound: float, width: int) -> NDArray[np.bool_]:
    """Mark vectors within a bound, up to the rounding of clipping; NaN is not."""
    return np.asarray(lengths <= bound * rounding_factor(width))


def _check_query(query: ArrayLike, terms: ReleaseTerms) -> Array:
    """Check the query: a point outside the ball, up to the rounding of a projection, is refused."""
    coordinates = terms.coordinates
    width = len(coordinates.centre)
    try:
        phi = np.array(query)
    except (TypeError, ValueError):
        phi = np.empty(0)
    if phi.dtype.kind not in "biuf" or phi.shape != (width,) or not np.isfinite(phi).all():
        raise InputError("release.query", f"must be {width} finite numbers, as announced")
    phi = phi.astype(float)
    if terms.sums and phi.any():
        rule = "must be the start, all 0, because sums are released only there"
        raise InputError("release.query", rule, f"length {coordinates.reach(phi):g}")
    length = coordinates.reach(phi)
    if not length <= coordinates.theta_max * rounding_factor(width):
        rule = f"must lie in the announced ball of {coordinates.theta_max:g}"
        remedy = "Project it: coordinates.project."
        raise InputError("release.query", rule, f"length {length:g}", remedy)
    return phi


def admit_records(
    x: ArrayLike,
    y: ArrayLike,
    persons: ArrayLike | None,
    n_records: int,
    coordinates: PublicCoordinates,
) -> tuple[Array, Array]:
    """Convert records to finite features (n, p) and targets (n,), labels to within [-1, 1].

    Parameters
    ----------
    x: array (n, p), features.
    y: array (n,), targets.
    persons: array (n,), the person of each record; None where each person has one.
    n_records: n, as announced.
    coordinates: the announced bounds, with p and the most rows of a person.

    Raises an InputError if the table is not n by p, or persons are not stated for each record. No
    cell decides it.
    """
    features = _numeric_cells(x, "records", (n_records, len(coordinates.centre)))
    targets = _numeric_cells(y, "targets", (n_records,))
    lost = np.isnan(features).any(axis=1) | np.isnan(targets)
    lost |= _surplus_rows(persons, n_records, coordinates.rows_per_person)
    most = 1.0 if coordinates.loss.labels else LIMIT
    features = np.clip(features, -LIMIT, LIMIT)
    targets = np.clip(targets, -most, most)
    features[lost] = 0.0
    targets[lost] = 0.0
    return features, targets


def _surplus_rows(persons: ArrayLike | None, n_records: int, most: int) -> NDArray[np.bool_]:
    """Mark rows of a person beyond the most that was announced, (n,)."""
    if persons is None and most == 1:
        return np.zeros(n_records, dtype=bool)
    whose = np.asarray([] if persons is None else persons, dtype=object)
    if whose.shape != (n_records,):
        rule = f"must name the person of each of the {n_records} records, at most {most} of one"
        raise InputError("release.persons", rule)
    codes: dict[str, int] = {}
    of_row = np.array([codes.setdefault(str(name), len(codes)) for name in whose])
    return np.asarray(count_turns(of_row) >= most)


def _numeric_cells(values: Any, name: str, shape: tuple[int, ...]) -> Array:
    """Convert an array of a shape cell by cell; NaN of a cell that is no number.

    Raises an InputError if it has another shape. Its content is not shown: it may be private.
    """
    try:
        given = np.asarray(values)
        cells = given if given.dtype.kind in "biuf" else np.asarray(values, dtype=object)
    except ValueError:  # rows of different lengths
        cells = np.empty(0)
    if cells.shape != shape:
        size = " by ".join(str(length) for length in shape)
        raise InputError(f"release.{name}", f"must be {size} numbers, as announced")
    if cells.dtype != object:
        with np.errstate(all="ignore"):
            return cells.astype(float)
    return np.array([_cell_number(cell) for cell in cells.ravel()], dtype=float).reshape(shape)


def _cell_number(cell: object) -> float:
    """Convert a cell; NaN where it is no real number, or too large an integer for one."""
    if not isinstance(cell, (Real, np.bool_)):
        return np.nan
    try:
        return float(cell)
    except (OverflowError, TypeError, ValueError):
        return np.nan
