"""Terms of release: the announcement that noise, account and claim follow from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import LARGEST, SMALLEST, Array
from learning.data.rows import describe_neighbours, unit_of_privacy
from learning.errors import InputError
from learning.losses.clipping import PublicCoordinates
from learning.privacy.accounting import WIDEST, Accounting, L2Facts, LaplaceAccounting
from learning.privacy.claims import Claim
from learning.privacy.distributed import NoisePart, SumsPart
from learning.privacy.ledger import Budget, fingerprint_bounds, visible_name
from learning.privacy.release_sums import (
    SumsNoise,
    count_moments,
    joint_distance,
    joint_weights,
    price_sums,
)
from learning.privacy.secure_noise import draws_per_sample, scale_for, sensitivity
from learning.privacy.shares import answer_shares


@dataclass(frozen=True)
class ReleaseTerms:
    """Announcement of all of an owner's answers about one data set, before the first.

    Parameters
    ----------
    owner: the name of the owner.
    data: the name of the data set; the same records under two names have two budgets, which add up.
    n_records: how many records it has, public.
    epsilon: the budget over all answers, in (0, inf).
    horizon: T, the answers that the budget covers.
    coordinates: the public bounds, with the most rows that one person has.
    mechanism: Laplace noise unless given, or Gaussian accounted by zCDP, or pure l2 noise, with the
        overlap kappa to divide by.
    by_person: whether the records of one person are known to be its; they are where a person may
        have several.
    growth: each answer's share of the budget over that of the one before; answers are then asked
        for by number.
    contract: the digest of the contract that all of this stands in, if any: under another one,
        every charge is refused.
    part: the owner's part of the noise on sums, where only totals over owners are seen; the owner
        adds all of it unless given.

    Raises an InputError if no release under these terms keeps its claim: a budget of 0, inf or NaN;
    no bound on a gradient or a query; a bound on scores with more than one answer, or with l2 noise
    that is not priced for them; a loss other than the squared, unless each record's gradient is
    clipped; a mechanism other than Laplace noise under basic composition in 1-norm, and Gaussian
    noise under zCDP or pure l2 noise in 2-norm; l2 noise on too many numbers; announced numbers
    beyond `LARGEST`.
    """

    owner: str
    data: str
    n_records: int
    epsilon: float
    horizon: int
    coordinates: PublicCoordinates = field(repr=False)
    mechanism: Accounting = LaplaceAccounting()
    by_person: bool = False
    growth: float = 1.0
    contract: str = ""
    part: NoisePart | None = None

    def __post_init__(self) -> None:
        mechanism = self.mechanism
        coordinates = self.coordinates
        if not self.budget.claimed or not visible_name(self.data) or self.n_records is None:
            rule = "needs a finite budget, a named data set and the number of its records"
            found = f"epsilon {self.epsilon}, data {self.data!r}, n_records {self.n_records}"
            raise InputError("release", rule, found)
        budget = mechanism.release_budget(self.epsilon, self.horizon)
        if mechanism.norm != coordinates.norm or budget is None:
            rule = (
                "must be Laplace noise (clipped in 1-norm), Gaussian noise accounted by zCDP "
                "or pure l2 noise (in 2-norm)"
            )
            found = f"{mechanism.label}, records clipped in {coordinates.norm}-norm"
            raise InputError("release.mechanism", rule, found)
        if self.vectors > WIDEST:
            rule = (
                f"must answer with at most {WIDEST} numbers under l2 noise, whose exact "
                "sampler throws most draws away"
            )
            found = f"{self.vectors} numbers, {draws_per_sample(self.vectors):.2g} draws for one"
            if self.sums:
                found += f", of second moments in {len(coordinates.centre)} features"
            remedy = "Use Gaussian noise accounted by zCDP, or Laplace noise."
            raise InputError("release.mechanism", rule, found, remedy)
        loss = coordinates.loss
        if not (loss.quadratic or (coordinates.clips_gradients and loss.linear)):
            if self.sums:
                rule = "must be of squared loss, to release moments and scores"
                remedy = "Leave the scores out, and clip each gradient."
                raise InputError("release.coordinates", rule, loss.name, remedy)
            rule = "must be of squared loss, or clip each gradient of a linear model"
            raise InputError("release.coordinates", rule, loss.name, 'Set clipping to "record".')
        _check_coordinates(coordinates)
        _check_sums(mechanism, coordinates, self.horizon)

    @property
    def unit(self) -> str:
        """Unit of privacy."""
        rows = self.coordinates.rows_per_person
        return unit_of_privacy(self.by_person or rows > 1, rows)

    @property
    def claim(self) -> Claim:
        """Claim of all answers together; no simulation."""
        made = self.mechanism.claim(self.owner, self.epsilon, self.horizon, self.unit)
        return replace(
            made,
            adjacency=self.budget.adjacency,
            mechanism=f"{made.mechanism}, {self.source}",
            simulation=False,
            growth=None if self.growth == 1 else self.growth,
        )

    @cached_property
    def budget(self) -> Budget:
        """Budget of its account; every charge must name an equal one."""
        mechanism = self.mechanism
        rows = self.coordinates.rows_per_person
        agreed = f", contract {self.contract}" if self.contract else ""
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
            Budget.adjacency if rows == 1 else describe_neighbours(rows),
            fingerprint_bounds(self.coordinates) + agreed,
            self.growth,
        )

    @property
    def sums(self) -> bool:
        """True where the one answer is sums, second moments and a score (`release_sums`)."""
        return self.coordinates.scores is not None

    @property
    def vectors(self) -> int:
        """Most numbers of a vector where noise is drawn by whole vectors, else 0."""
        if self.mechanism.name != L2Facts.name:
            return 0
        width = len(self.coordinates.centre)
        return count_moments(width) if self.sums else width

    @property
    def source(self) -> str:
        """Source of noise, in words."""
        if self.part is not None:
            return f"one of {self.part.parts} parts of noise from opendp"
        return "noise from opendp, thinned to l2 noise" if self.vectors else "noise from opendp"

    @property
    def sensitivity(self) -> float:
        """Largest move of an answer as computed when a record or all of a person's is replaced."""
        bound = self.coordinates.gradient_bound
        width = len(self.coordinates.centre)
        return sensitivity(self.n_records, width, bound, self.mechanism.norm)

    @cached_property
    def scales(self) -> Array:
        """Scale b or s of each answer, (T,), at which OpenDP's map gives at most its share.

        The share is of epsilon/kappa, or of rho/kappa; of an even split, a T-th part. Of sums it is
        the scale of the noise on the score.
        """
        if self.sums:
            return np.array([self.sums_noise.part_scales[0]])
        even = self.mechanism.release_budget(self.epsilon, self.horizon)
        assert even is not None
        parts = [even]
        if self.growth != 1:
            parts = (even * self.horizon * answer_shares(self.growth, self.horizon)).tolist()
        norm = self.mechanism.norm
        found = [scale_for(part, self.sensitivity, norm, self.vectors) for part in parts]
        return np.array(found * (self.horizon if self.growth == 1 else 1))

    @cached_property
    def sums_noise(self) -> SumsNoise | SumsPart:
        """Noise on an answer of sums."""
        if self.part is not None:
            distance = joint_distance(self.coordinates, self.n_records)
            return SumsPart(self.part, joint_weights(self.coordinates), distance)
        budget = self.mechanism.release_budget(self.epsilon, self.horizon)
        assert budget is not None
        return price_sums(self.mechanism, self.coordinates, self.n_records, budget)

    @property
    def scale(self) -> float:
        """Scale of the first answer, and of all under an even split."""
        return float(self.scales[0])


def _check_coordinates(coordinates: PublicCoordinates) -> None:
    """Refuse coordinates under which an answer is unbounded or not finite at some query."""
    start = coordinates.centre
    transform = coordinates.transform
    key = "release.coordinates"
    small = (np.abs(np.append(transform, start)) <= LARGEST).all()
    if transform.shape != 2 * start.shape or not small:
        rule = f"must be a start of p numbers and a scale of p by p, of at most {LARGEST:g} each"
        raise InputError(key, rule)
    bound = coordinates.gradient_bound
    if not 0 < bound < np.inf:
        raise InputError(key, "must bound a record's gradient by a finite number above 0", bound)
    ball = coordinates.theta_max
    if not SMALLEST <= ball <= LARGEST:
        rule = f"must hold every question in a ball, theta_max from {SMALLEST:g} to {LARGEST:g}"
        remedy = (
            "State one. At a point far outside, whether there is an answer could depend "
            "on a record."
        )
        raise InputError(key, rule, f"{ball:g}", remedy)
    bounds_targets = not (coordinates.clips_gradients or coordinates.scores)
    target = coordinates.target_bound if bounds_targets else 0.0
    if not (SMALLEST <= coordinates.radius <= LARGEST and 0 <= target <= LARGEST):
        rule = (
            f"must have a radius from {SMALLEST:g} to {LARGEST:g}, and a bound on targets up "
            "to that"
        )
        raise InputError(key, rule, f"{coordinates.radius:g} and {target:g}")


def _check_sums(mechanism: Accounting, coordinates: PublicCoordinates, horizon: int) -> None:
    """Refuse bounds on scores that do not go with the rest, and l2 noise of another price."""
    scores = coordinates.scores
    if (scores is not None) != bool(mechanism.pairs) and mechanism.name == L2Facts.name:
        rule = "must be priced for moments and score where these are released, and nowhere else"
        raise InputError("release.mechanism", rule, mechanism.label, "Use with_moments.")
    if scores is None:
        return
    whole = coordinates.norm == 2 and coordinates.loss.quadratic and not coordinates.clips_gradients
    if horizon != 1 or not whole:
        rule = (
            "must be of squared loss, clip records in 2-norm, and get one answer, to bound scores"
        )
        found = f"{horizon} answers, {coordinates.clipping} in {coordinates.norm}-norm"
        raise InputError("release.coordinates", rule, found)
    if not all(SMALLEST <= size <= LARGEST for size in (scores.bound, scores.share)):
        rule = f"must have a bound and a share of scores from {SMALLEST:g} to {LARGEST:g}"
        raise InputError("release.coordinates", rule, f"{scores.bound:g} and {scores.share:g}")
