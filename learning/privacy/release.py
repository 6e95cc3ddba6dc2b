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

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.data.persons import neighbours, turns
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.losses.squared import SquaredStatistics, squared_statistics
from learning.privacy.budget import Budget, fingerprint, visible
from learning.privacy.claims import Claim
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.lattice import WIDEST, LatticeL2, first_scale, tries
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.mechanism import Mechanism
from learning.privacy.shares import shares

ROUNDING = 2.0**-53  # relative error of one floating-point operation
SCALE_STEPS = 64  # nudges of the scale, by one part in 2^50 each, before OpenDP's own map must agree


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


@dataclass(frozen=True)
class ReleaseTerms:
    """What is announced of all of an owner's answers about one data set, before the first.

    Parameters
    ----------
    owner: the name of who answers.
    data: the name of the data set; the same records under two names have two budgets, which add up.
    n_records: how many records it has, public.
    epsilon: the budget over all answers, in (0, inf).
    horizon: T, the answers that the budget covers.
    coordinates: the public bounds, with the most rows that one person has.
    mechanism: Laplace noise unless given, or Gaussian accounted by zCDP, or pure l2 noise, with the overlap kappa to
        divide by.
    unit: what one record is, or all of a person's.
    growth: each answer's share of the budget over that of the one before; answers are then asked for by number.

    Raises
    ------
    InputError
        If no release under these terms keeps what it claims: a budget of 0, inf or NaN; nothing that bounds a gradient; a
        loss other than the squared, unless each record's gradient is clipped; a mechanism other than Laplace noise under
        basic composition in 1-norm, and Gaussian noise under zCDP or pure l2 noise in 2-norm; l2 noise on too many numbers.
    """

    owner: str
    data: str
    n_records: int
    epsilon: float
    horizon: int
    coordinates: Coordinates = field(repr=False)
    mechanism: Mechanism = Laplace()
    unit: str = "one record"
    growth: float = 1.0

    def __post_init__(self) -> None:
        mechanism, coordinates, bound = self.mechanism, self.coordinates, self.coordinates.gradient_bound
        if not self.budget.claimed or not visible(self.data) or self.budget.n_records is None:
            found = f"epsilon {self.epsilon}, data {self.data!r}, n_records {self.n_records}"
            raise InputError("release", "needs a finite budget, a named data set and the number of its records", found)
        if mechanism.norm != coordinates.norm or mechanism.release_budget(self.epsilon, self.horizon) is None:
            rule = "must be Laplace noise (clipped in 1-norm), Gaussian noise accounted by zCDP or pure l2 noise (in 2-norm)"
            found = f"{mechanism.label}, records clipped in {coordinates.norm}-norm"
            raise InputError("release.mechanism", rule, found)
        if self.vectors > WIDEST:
            rule = (
                f"must answer with at most {WIDEST} numbers under l2 noise, whose exact sampler throws most draws away"
            )
            found = f"{self.vectors} numbers, {tries(self.vectors):.2g} draws for one"
            raise InputError(
                "release.mechanism", rule, found, "Use Gaussian noise accounted by zCDP, or Laplace noise."
            )
        loss = coordinates.loss
        if not (loss.quadratic or (coordinates.clips_gradients and loss.linear)):
            rule = "must be of squared loss, or clip each gradient of a linear model"
            raise InputError("release.coordinates", rule, loss.name, 'Set clipping to "record".')
        start, scale = coordinates.centre, coordinates.transform
        if not (np.isfinite(start).all() and np.isfinite(scale).all()) or scale.shape != 2 * start.shape:
            raise InputError("release.coordinates", "must be a start of p finite numbers and a scale of p by p")
        if not 0 < bound < np.inf:
            raise InputError("release.coordinates", "must bound a record's gradient by a finite number above 0", bound)

    @property
    def claim(self) -> Claim:
        """What is claimed of all answers together; no simulation."""
        made = self.mechanism.claim(self.owner, self.epsilon, self.horizon, self.unit)
        label = f"{made.mechanism}, {self.source}"
        growth = None if self.growth == 1 else self.growth
        return replace(made, adjacency=self.budget.adjacency, mechanism=label, simulation=False, growth=growth)

    @cached_property
    def budget(self) -> Budget:
        """What its account is opened for; every charge must name the same."""
        mechanism, bounds, rows = self.mechanism, fingerprint(self.coordinates), self.coordinates.rows_per_person
        return Budget(
            self.owner,
            self.epsilon,
            self.horizon,
            mechanism.delta,
            f"{mechanism.label}, {self.source}",
            mechanism.overlap,
            self.data,
            self.n_records,
            self.unit,
            Budget.adjacency if rows == 1 else neighbours(rows),
            bounds,
            self.growth,
        )

    @property
    def vectors(self) -> int:
        """p where noise is drawn by whole vectors, else 0."""
        return len(self.coordinates.centre) if self.mechanism.name == L2.name else 0

    @property
    def source(self) -> str:
        """Where noise comes from, in words."""
        return "noise from opendp, thinned to l2 noise" if self.vectors else "noise from opendp"

    @property
    def sensitivity(self) -> float:
        """How far an answer as computed moves when a record or all of a person's is replaced, in the mechanism's norm."""
        bound, width = self.coordinates.gradient_bound, len(self.coordinates.centre)
        return sensitivity(self.n_records, width, bound, self.mechanism.norm)

    @cached_property
    def scales(self) -> Array:
        """b, or s, of each answer, (T,), such that OpenDP's map from `sensitivity` is at most its share.

        Its share of epsilon/kappa, or of rho/kappa; where budgets are split evenly, a T-th part.
        """
        even = self.mechanism.release_budget(self.epsilon, self.horizon)
        assert even is not None
        if self.growth == 1:
            return np.full(self.horizon, self._scale_for(even))
        parts = even * self.horizon * shares(self.growth, self.horizon)
        return np.array([self._scale_for(part) for part in parts.tolist()])

    @property
    def scale(self) -> float:
        """That of the first answer, and of all where budgets are split evenly."""
        return float(self.scales[0])

    def _scale_for(self, budget: float) -> float:
        """The scale at which one answer spends so much."""
        return scale_for(budget, self.sensitivity, self.mechanism.norm, self.vectors)


@lru_cache(maxsize=64)  # it holds no noise: that is drawn anew whenever it is invoked
def _measurement(scale: float, norm: int = 1, vectors: int = 0):
    """OpenDP's Laplace noise on each number of a vector, neighbours being near in 1-norm; Gaussian noise in 2-norm.

    Where ``vectors`` is given it is l2 noise on so many numbers, neighbours being near in 2-norm.
    """
    if vectors:
        return LatticeL2(scale, vectors)
    import opendp.prelude as dp  # loads a native library: only where something is released

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    if norm == 1:
        return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)


def add_noise(values: ArrayLike, scale: float, *, norm: int = 1, vectors: bool = False, rng: object = None) -> Array:
    """Values (p,) plus Laplace (norm 1) or Gaussian (norm 2) noise of a scale on each, or l2 noise, from a secure source.

    Parameters
    ----------
    values: array (p,), finite.
    scale: b or s, > 0, finite.
    vectors: whether it is l2 noise.
    rng: must be left out; taken only to say so.

    Raises
    ------
    TypeError
        If a generator is given: seeded noise can be subtracted again.
    ValueError
        If there is no noise to add, or a value is not finite.
    """
    _refuse_generator(rng)
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(f"release takes a vector of finite numbers, got {numbers}")
    if not 0 < scale < np.inf:
        raise ValueError(f"release needs a noise scale above 0 and finite, got {scale}")
    width = len(numbers) if vectors else 0
    return np.array(_measurement(float(scale), norm, width).invoke([float(v) for v in numbers]))


def longest(n_parameters: int) -> float:
    """How many times its bound a vector shortened in floating point may seem to measure: 1 + 2 (p + 8) u, u = 2^-53."""
    return 1 + 2 * (n_parameters + 8) * ROUNDING


def sensitivity(n_records: int, n_parameters: int, gradient_bound: float, norm: int = 1) -> float:
    """How far the mean gradient *as computed* moves, in 1-norm or 2-norm, when one record is replaced, at most.

    2 Xi/n or 2 G/n, plus what rounding may add: each of the two computed sums of n products is off by at most
    (n + p + 8) u times the largest gradient (u = 2^-53, any order of summation), which is Xi in 1-norm and at most 2 G in
    2-norm; and where floating point shortens, records may pass their bound by (p + 3) u and a query by (3 p + 16) u, the
    first of which enters squared. Where each gradient is clipped, the largest is the radius, in either norm, wherever it is
    asked. For 100,000 records that is one part in a million.

    Source: Casacuberta, Shoemate, Vadhan and Wagaman, Widespread Underestimation of Sensitivity in Differentially
    Private Libraries (why); Higham, Accuracy and Stability of Numerical Algorithms, section 3.1 (the error of a sum).

    >>> 2 / 1000 < sensitivity(1000, 10, 1.0) < 2 / 1000 * (1 + 1e-9)
    True
    """
    clipping = 1 + 8 * (n_parameters + 8) * ROUNDING
    rounded = (n_records + n_parameters + 8) * ROUNDING
    return gradient_bound * clipping * (2 / n_records + 2 * norm * rounded / (1 - rounded))


def scale_for(budget: float, distance: float, norm: int = 1, vectors: int = 0) -> float:
    """The smallest scale, to one part in 2^50, at which OpenDP's own map gives at most a budget at a distance.

    The budget is epsilon of Laplace noise, b = distance/epsilon, or rho of Gaussian noise, s = distance/sqrt(2 rho). Of l2
    noise on ``vectors`` numbers it is epsilon by the lattice's map, and the scale the smallest to some parts in 10^7.

    Raises
    ------
    ValueError
        If none is found near there: the map does not say what is claimed.
    """
    scale = distance / (budget if norm == 1 else np.sqrt(2 * budget))
    scale = first_scale(budget, distance, vectors) if vectors else scale
    for _ in range(SCALE_STEPS):
        if _measurement(scale, norm, vectors).map(distance) <= budget:
            return float(scale)
        scale *= 1 + 2.0**-50
    raise ValueError(f"no noise scale near {scale:.3g} is certified to spend {budget:.3g} at {distance:.3g}")


def release(
    x: ArrayLike,
    y: ArrayLike,
    query: ArrayLike,
    terms: ReleaseTerms,
    *,
    ledger: LedgerFile,
    persons: ArrayLike | None = None,
    number: int | None = None,
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
    _refuse_generator(rng)
    if not isinstance(ledger, LedgerFile):
        raise TypeError(
            f"release charges a LedgerFile, got {type(ledger).__name__}: what is spent must outlive the program"
        )
    _check_persons(persons, terms)
    norm, vectors, asked = terms.mechanism.norm, terms.vectors, _query(query, terms)
    if number is None and terms.growth != 1 or number not in (None, *range(1, terms.horizon + 1)):
        raise InputError("release.number", f"must be the number of the answer, from 1 to {terms.horizon}", number)
    mean, scale = _mean(x, y, asked, terms), float(terms.scales[(number or 1) - 1])
    spent = float(_measurement(scale, norm, vectors).map(terms.sensitivity))
    ledger.charge(terms.budget, "release", first=number)
    return Released(add_noise(mean, scale, norm=norm, vectors=vectors > 0), terms.claim, spent, scale)


def _mean(x: ArrayLike, y: ArrayLike, phi: Array, terms: ReleaseTerms) -> Array:
    """Mean gradient at a query, of records or of gradients shortened to the announced bounds."""
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


def _refuse_generator(rng: object) -> None:
    if rng is not None:
        raise TypeError(f"release takes no generator, got {type(rng).__name__}: seeded noise is for simulation only")
