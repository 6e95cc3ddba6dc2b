"""Noise that owners make together under secure aggregation.

Each adds a part, and only sums are seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, CountOrZero, Declaration
from learning.errors import InputError
from learning.privacy.claims import Claim
from learning.privacy.mechanism import Mechanism
from learning.privacy.wrapped import Wrapped, forward_member

Feared = Literal["learner", "owners", "colluders"]
ONLOOKERS: dict[Feared, str] = {
    "learner": (
        "anyone who sees the sums of all owners' answers and no part of the noise: the "
        "learner, the public"
    ),
    "owners": "any one other owner, who sees the sums and knows its own part of the noise",
    "colluders": (
        "the learner and up to {} other owners together, who see the sums and know their own "
        "parts of the noise"
    ),
}
ASSUMED = (
    "the aggregation shows sums and nothing else, every owner adds its part of the noise as "
    "agreed, and none drops out"
)


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
    `secure`: it sees sums of all owners' answers only, and owners divide one noise among them;
    simulated, not carried out."""
    colluders: CountOrZero = 0
    """How many owners may tell the learner, or each other, their parts of the noise: those of the
    others make up all."""

    def check(self) -> None:
        if self.colluders and not self.secure:
            rule = (
                'goes with trust.aggregation = "secure": under "local" no owner\'s noise '
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
        """Return the mechanism if ``owners`` can make its noise together.

        Else raise an InputError.
        """
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
    guarantee = forward_member("guarantee")
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
                f"must be below the {self.owners} owners who share, of whom one at least tells "
                "nobody its part"
            )
            raise InputError("trust.colluders", rule, self.colluders)

    @property
    def parts(self) -> int:  # type: ignore[override]
        return self.owners - self.colluders

    @property
    def unit_variance(self) -> float:
        """Variance of one part."""
        return float(self.mechanism.unit_variance) / self.parts

    @property
    def label(self) -> str:
        """Label of the mechanism, with the number of its makers."""
        return f"{self.mechanism.label}, made by {self.owners} owners"

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Draw one owner's part."""
        return np.asarray(self.mechanism.draw_part(self.parts, scale, shape, rng=rng))

    def onlooker_epsilon(self, whom: Feared, epsilon: ArrayLike) -> Array:
        """Epsilon of budgets against an onlooker, (...); inf where nothing is known to hold."""
        known = {"learner": 0, "owners": 1, "colluders": self.colluders}[whom]
        return np.asarray(self.epsilon_of_parts(epsilon, (self.owners - known) / self.parts))

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
