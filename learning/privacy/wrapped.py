"""Mechanisms around another one, whose noise they add at other budgets or with other claims.

Noise scaled to a stated gradient bound below the proved one (`GivenBound`); the part of each budget
that remains after an earlier answer (`Remaining`); noise that owners make together under secure
aggregation, of which only sums are seen (`SharedNoise`, `Trust`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike
from pydantic import InstanceOf

from learning.arrays import Array
from learning.declaration import Count, CountOrZero, Declaration, Positive
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.privacy.claims import ONLOOKERS, Claim, Feared
from learning.privacy.mechanism import Mechanism
from learning.privacy.noise import where_noisy

SAID = "scaled to a given gradient bound, {:.3g} times of which is proved"
UNPROVED = "scaled to a given gradient bound, where none is proved: no epsilon holds"
LEAST = 1e-6  # epsilon that noise is priced at where nothing remains: vast noise, but finite
ASSUMED = (
    "the aggregation shows sums and nothing else, every owner adds its part of the noise as "
    "agreed, and none drops out"
)

# members that a wrapper reads from the mechanism inside, and methods that reprice that mechanism
READ = (
    *(
        "name",
        "title",
        "unit_variance",
        "length_power",
        "share_power",
        "accounting",
        "pairs",
        "apart",
    ),
    *("delta", "overlap", "horizon", "growth", "largest", "single_record", "but_for"),
    *(
        "draw_release",
        "draw_further",
        "beside_moments",
        "length_law",
        "length_quantile",
        "deviation_quantile",
    ),
    *("noise_term_slope", "noise_denominator", "noise_among", "scale", "epsilon"),
)
REPRICED = ("with_moments", "for_rounds", "for_owners", "for_weights")


def forward_member(name: str) -> Any:
    """Make a member that reads the same member of the mechanism inside."""
    return property(lambda wrapper: getattr(wrapper.mechanism, name))


def forward_repricing(name: str) -> Callable[..., Any]:
    """Make a method that reprices the mechanism inside by its own method."""

    def reprice(wrapper: Any, *arguments: Any) -> Any:
        return replace(wrapper, mechanism=getattr(wrapper.mechanism, name)(*arguments))

    return reprice


@dataclass(frozen=True)
class Wrapped(Mechanism):
    """Noise of another mechanism, at the budgets that it is sold for.

    Parameters
    ----------
    mechanism : the other mechanism.
    """

    mechanism: InstanceOf[Mechanism]

    norm = forward_member("norm")
    draw = forward_member("draw")
    noise_term = forward_member("noise_term")
    horizon_factor = forward_member("horizon_factor")


for member in READ:
    setattr(Wrapped, member, forward_member(member))
for member in REPRICED:
    setattr(Wrapped, member, forward_repricing(member))


@dataclass(frozen=True)
class GivenBound(Wrapped):
    """Another mechanism with noise scaled to a gradient bound G, where only r G is proved, r > 1.

    Noise is that of the budgets sold, at G. Claims are those of the budgets at which r G would ask
    for as much noise: under Laplace noise with basic composition r epsilon. Where nothing is
    proved, r and every epsilon claimed are inf.

    Parameters
    ----------
    mechanism : the mechanism.
    short : r, the bound proved over the bound given.

    Source: ours. Wu et al., The Value of Collaboration, and Farokhi et al., The Cost of Privacy,
        scale their noise to an unstated bound of unbounded records.

    >>> from learning.privacy.laplace import Laplace
    >>> [round(claim.epsilon, 9) for claim in GivenBound(Laplace(), 30.0).claims("bank", 1.0, 10)]
    [30.0]
    """

    short: Any

    in_published_bounds = forward_member("in_published_bounds")

    def valid_budget(self, epsilon: ArrayLike) -> Array:
        """Budgets that hold where ``epsilon`` is sold: 0 of 0, inf beyond what is accounted."""
        if np.isinf(self.short):
            return np.where(np.asarray(epsilon, dtype=float) > 0, np.inf, 0.0)
        mechanism = self.mechanism
        valid = where_noisy(
            epsilon, lambda sold: mechanism.budget(mechanism.noise_term(sold) / self.short**2)
        )
        return np.where(np.isinf(epsilon), np.inf, valid)

    def onlooker_claims(self, epsilon: float, horizon: int, size: int | None) -> list[Claim]:
        held = float(self.valid_budget(epsilon))
        if np.isinf(held):
            sold = self.mechanism.onlooker_claims(epsilon, horizon, size)[0]
            return [replace(sold, epsilon=np.inf, mechanism=f"{self.label}, {UNPROVED}")]
        made = self.mechanism.onlooker_claims(held, horizon, size)
        said = SAID.format(self.short)
        return [replace(one, mechanism=f"{one.mechanism}, {said}") for one in made]

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        held = self.valid_budget(epsilon)
        if np.isinf(self.short):
            return held
        return self.mechanism.claimed_epsilon(held, sizes, horizon)

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        return self._where_proved(
            held, np.inf, lambda valid, known: self.mechanism.joint_epsilon(valid, horizon)
        )

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound of the valid budgets; 1 where nothing is proved."""
        each = np.broadcast_to(sizes, held.shape[1])
        return self._where_proved(
            held,
            1.0,
            lambda valid, known: self.mechanism.belief_bound(valid, horizon, each[known]),
        )

    def _where_proved(
        self, held: Array, elsewhere: float, law: Callable[[Array, Any], Array]
    ) -> Array:
        """Evaluate a law of valid budgets (k, m) where all that hold a record have such, (n,)."""
        valid = self.valid_budget(held)
        known = np.isfinite(valid).all(axis=0)
        found = np.full(held.shape[1], elsewhere)
        found[known] = law(valid[:, known], known)
        return found


def at_given_bound(mechanism: Mechanism, coordinates: Coordinates) -> Mechanism:
    """Wrap a mechanism with noise scaled to `Coordinates.noise_bound`, if only more is proved.

    A larger bound than the proved one is more noise for the same claim, which stays that of the
    budget sold.
    """
    if isinstance(mechanism, GivenBound):  # of a planner made before
        mechanism = mechanism.mechanism
    proved = coordinates.gradient_bound
    given = coordinates.noise_bound
    return GivenBound(mechanism, proved / given) if proved > given else mechanism


@dataclass(frozen=True)
class Remaining(Wrapped):
    """Another mechanism at epsilon - spent, after one answer at ``spent``.

    Budgets are whole ones, as owners sell them. Noise is that of the remaining part. Claims are of
    both together: an (e, delta)-DP answer and an (e', 0)-DP one are (e + e', delta)-DP together,
    however the second was chosen.

    Parameters
    ----------
    mechanism : the mechanism of all later answers.
    spent : epsilon of the first answer, to each owner.

    Source: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, Theorem 3.16 and,
        for adaptive choices, section 3.5.

    >>> from learning.privacy.laplace import Laplace
    >>> Remaining(Laplace(), 0.5).noise_term([0.0, 2.5, np.inf]).tolist()
    [0.0, 2.0, 0.0]
    >>> Laplace().noise_term(2.0).tolist()
    2.0
    """

    spent: Positive

    @property
    def largest(self) -> float:  # type: ignore[override]
        return float(self.mechanism.largest + self.spent)

    @property
    def training_mechanism(self) -> Mechanism:
        return self.mechanism.training_mechanism

    def training_budget(self, epsilon: ArrayLike) -> Array:
        """Part of whole budgets that remains, 0 of those of 0.

        Raises
        ------
        ValueError
            Where nothing remains: more would be spent than is claimed.
        """
        given = np.asarray(epsilon, dtype=float)
        if np.any((given > 0) & (given <= self.spent + LEAST)):
            raise ValueError(
                f"a budget must be above the {self.spent:g} spent before, or 0, got {given}"
            )
        return self._priced_budget(given)

    def _priced_budget(self, epsilon: ArrayLike) -> Array:
        """Remaining part, at least `LEAST` of positive budgets."""
        epsilon = np.asarray(epsilon, dtype=float)
        return np.where(epsilon > 0, np.maximum(epsilon - self.spent, LEAST), epsilon)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        return self.mechanism.noise_term(self._priced_budget(epsilon))

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        return self.mechanism.noise_term_slope(self._priced_budget(epsilon))

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        left = self.training_budget(epsilon)
        return self.mechanism.scale(left, sizes, bound, horizon)

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        found = self.mechanism.epsilon(variance, sizes, bound, horizon)
        return np.where(found > 0, found + self.spent, 0.0)

    def onlooker_claims(self, epsilon: float, horizon: int, size: int | None) -> list[Claim]:
        """Make claims of all answers, the first one included."""
        left = float(self.training_budget(epsilon))
        return [
            replace(
                claim,
                epsilon=claim.epsilon + self.spent,
                rounds=claim.rounds + 1,
                mechanism=f"{claim.mechanism}, after a loss report",
            )
            for claim in self.mechanism.onlooker_claims(left, horizon, size)
        ]

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        given = np.asarray(epsilon, dtype=float)
        rest = self.mechanism.claimed_epsilon(self._priced_budget(given), sizes, horizon)
        return np.where(given > 0, rest + self.spent, rest)

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """Joint epsilon, with each owner's first answer at a kappa-th of ``spent``."""
        rest = self.mechanism.joint_epsilon(self._priced_budget(held), horizon)
        return rest + self.spent

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound whose odds the first answer multiplies by e^spent at most."""
        rest = self.mechanism.belief_bound(self._priced_budget(held), horizon, sizes)
        return np.asarray(scipy.special.expit(scipy.special.logit(rest) + self.spent))


@dataclass(frozen=True)
class Trust(Declaration):
    """Trust of owners: in nobody, or in an aggregation that shows the learner sums only.

    Parameters
    ----------
    aggregation : how answers reach the learner.
    colluders : t, how many owners may tell the learner their parts of the noise.
    """

    where = "trust"
    aggregation: Literal["local", "secure"] = "local"
    """`local`: the learner sees every answer, with noise that hides its owner's records by itself.
    `secure`: it sees sums of all owners' answers only, and owners divide one noise among them. A
    run simulates this; an exchange of sums carries it out."""
    colluders: CountOrZero = 0
    """Number of owners who may reveal their parts of the noise to the learner or to each other;
    the parts of the others then suffice."""

    def check(self) -> None:
        if self.colluders and not self.secure:
            rule = (
                'needs trust.aggregation = "secure": under "local" no owner\'s noise '
                "rests on another's"
            )
            raise InputError("trust.colluders", rule, self.colluders, "Leave it out.")

    @property
    def secure(self) -> bool:
        """True if the learner sees sums only."""
        return self.aggregation == "secure"

    def share_noise(self, mechanism: Mechanism, owners: int) -> Mechanism:
        """Noise as ``owners`` who share make it."""
        if not self.secure or owners <= self.colluders:
            return mechanism
        return SharedNoise(mechanism, owners, self.colluders)

    def check_divisible(self, mechanism: Mechanism, owners: int) -> Mechanism:
        """Return the mechanism; an InputError if ``owners`` cannot make its noise together."""
        if self.secure:
            SharedNoise(mechanism, owners, self.colluders)
        return mechanism

    def feared_epsilon(
        self, mechanism: Mechanism, owners: int, whom: Feared, epsilon: ArrayLike
    ) -> Array:
        """Compute the epsilon of budgets against a feared onlooker, where all ``owners`` share."""
        if not self.secure:
            return np.asarray(epsilon, dtype=float)
        return SharedNoise(mechanism, owners, self.colluders).onlooker_epsilon(whom, epsilon)


LOCAL = Trust()


@dataclass(frozen=True)
class SharedNoise(Wrapped):
    """Noise in one part per owner, such that the parts of all but t owners make up the whole noise.

    The learner sees sum_l q_l (gradient_l + noise_l). Replacing a record of owner l moves it by q_l
    times the move of the owner's own answer, so the whole noise must have a scale of at least q_l
    b_l, b_l the scale at which owner l would sell by itself. The largest of these is taken, and
    owner l adds a part of it over q_l. N - t parts have the law of the whole noise, and who knows
    the parts of t owners knows nothing of these. All N parts hide as much or more.

    Parameters
    ----------
    mechanism : the noise that is divided.
    owners : N, who add a part each.
    colluders : t, whose parts the learner may know.

    Raises
    ------
    InputError
        If the noise cannot be divided, a record may sit with several owners, or no part would be
        unknown.

    Source: Acs and Castelluccia, I have a DREAM! (2011), Lemma 1 (gamma parts of Laplace noise);
        Dwork et al., Our Data, Ourselves (2006), for noise made together; sums of multivariate
        variance-gamma variables of one scale. Different budgets, and the scale that all of them
        need, are ours.

    >>> from learning.privacy.gaussian import Gaussian
    >>> shared = SharedNoise(Gaussian(1e-6, "pld"), 3)
    >>> made = shared.claims("A", 1.0, 10)
    >>> [(claim.protects_against[:16], round(claim.epsilon, 3)) for claim in made]
    [('anyone who sees ', 1.0), ('any one other ow', 1.245)]
    """

    whole = False
    owners: Count = 1
    colluders: CountOrZero = 0

    belief_bound = forward_member("belief_bound")
    budget = forward_member("budget")
    epsilon_of_parts = forward_member("epsilon_of_parts")

    def check(self) -> None:
        if not self.mechanism.divides:
            self.mechanism.draw_part(1, 1.0, (1,), rng=np.random.default_rng(0))  # refuses
        if self.mechanism.overlap > 1:
            rule = (
                'must be 1 with trust.aggregation = "secure": a record with several owners '
                "moves one sum several times"
            )
            raise InputError("learning.overlap", rule, self.mechanism.overlap)
        if self.colluders >= self.owners:
            rule = (
                f"must be below {self.owners}, the owners who share: at least one must keep its "
                "part of the noise secret"
            )
            raise InputError("trust.colluders", rule, self.colluders)

    @property
    def parts(self) -> int:  # type: ignore[override]
        return self.owners - self.colluders

    @property
    def unit_variance(self) -> float:
        """Variance of one part."""
        return self.mechanism.unit_variance / self.parts

    @property
    def label(self) -> str:
        """Label of the mechanism, with the number of its makers."""
        return f"{self.mechanism.label}, made by {self.owners} owners"

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Draw one owner's part."""
        return self.mechanism.draw_part(self.parts, scale, shape, rng=rng)

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Draw one owner's part of the noise on a release, of variance 1."""
        return self.mechanism.draw_release_part(self.parts, widths, rng=rng)

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Budget that a variance of one part costs."""
        whole = np.multiply(variance, self.parts)
        return self.mechanism.epsilon(whole, sizes, bound, horizon)

    def onlooker_epsilon(self, whom: Feared, epsilon: ArrayLike) -> Array:
        """Epsilon of budgets against an onlooker, (...); inf where nothing is known to hold."""
        known = {"learner": 0, "owners": 1, "colluders": self.colluders}[whom]
        return self.epsilon_of_parts(epsilon, (self.owners - known) / self.parts)

    def onlooker_claims(self, epsilon: float, horizon: int, size: int | None) -> list[Claim]:
        """Make a claim against each onlooker, first the one that the noise is priced against.

        Nothing is claimed against another owner where no accountant counts the parts unknown to it.
        """
        priced = "colluders" if self.colluders else "learner"
        made: list[Claim] = []
        for whom in sorted(ONLOOKERS, key=lambda one: one != priced):
            spent = float(self.onlooker_epsilon(whom, epsilon))
            absent = whom == "owners" and self.owners == 1
            if np.isinf(spent) or absent or (whom == "colluders" and not self.colluders):
                continue
            claim = super().onlooker_claims(spent, horizon, size)[0]
            sure = self.belief_bound(np.array([[spent]]), horizon, np.array([size or 1]))
            looks_on = ONLOOKERS[whom].format(self.colluders)
            claim = replace(claim, protects_against=looks_on, assumes=ASSUMED)
            made.append(replace(claim, surest=float(sure[0]), but_for=self.but_for))
        return made
