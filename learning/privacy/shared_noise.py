"""Noise that owners make together under secure aggregation: each adds a part, and whoever looks on sees sums only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, CountOrZero, Declaration
from learning.errors import InputError
from learning.privacy.claims import Claim
from learning.privacy.mechanism import Mechanism
from learning.privacy.wrapped import Wrapped

Feared = Literal["learner", "owners", "colluders"]
ONLOOKERS: dict[Feared, str] = {
    "learner": "anyone who sees the sums of all owners' answers and no part of the noise: the learner, the public",
    "owners": "any one other owner, who sees the sums and knows its own part of the noise",
    "colluders": "the learner and up to {} other owners together, who see the sums and know their own parts of the noise",
}
ASSUMED = (
    "the aggregation shows sums and nothing else, every owner adds its part of the noise as agreed, and none drops out"
)


@dataclass(frozen=True)
class Trust(Declaration):
    """Whom owners trust with their answers: nobody, or an aggregation that shows the learner sums only.

    Parameters
    ----------
    aggregation : how answers reach the learner.
    colluders : t, how many owners may tell the learner their parts of the noise.
    """

    where = "trust"
    aggregation: Literal["local", "secure"] = "local"
    """`local`: the learner sees every answer, with noise that hides its owner's records by itself. `secure`: it sees sums of
    all owners' answers only, and owners divide one noise among them; simulated, not carried out."""
    colluders: CountOrZero = 0
    """How many owners may tell the learner, or each other, their parts of the noise: those of the others make up all."""

    def check(self) -> None:
        if self.colluders and not self.secure:
            rule = 'goes with trust.aggregation = "secure": under "local" no owner\'s noise rests on another\'s'
            raise InputError("trust.colluders", rule, self.colluders, "Leave it out.")

    @property
    def secure(self) -> bool:
        """Whether the learner sees sums only."""
        return self.aggregation == "secure"

    def among(self, mechanism: Mechanism, owners: int) -> Mechanism:
        """The noise as so many owners who share make it."""
        return SharedNoise(mechanism, owners, self.colluders) if self.secure and owners > self.colluders else mechanism

    def checked(self, mechanism: Mechanism, owners: int) -> Mechanism:
        """The mechanism, if so many owners can make its noise together; else an InputError."""
        return SharedNoise(mechanism, owners, self.colluders).mechanism if self.secure else mechanism

    def feared(self, mechanism: Mechanism, owners: int, whom: Feared, epsilon: ArrayLike) -> Array:
        """The epsilon that a budget comes to against whom an owner fears, where all of so many owners share, (...)."""
        if not self.secure:
            return np.asarray(epsilon, dtype=float)
        return SharedNoise(mechanism, owners, self.colluders).against(whom, epsilon)


LOCAL = Trust()


@dataclass(frozen=True)
class SharedNoise(Wrapped):
    """Noise of another mechanism in parts, one of each owner, so that the parts of all but t owners make up all of it.

    The learner sees sum_l q_l (gradient_l + noise_l). Replacing a record of owner l moves it by q_l times what it moves the
    owner's own answer by, so the whole noise must have a scale of at least q_l b_l, b_l the scale at which owner l would sell
    by itself: the largest of these is taken, and owner l adds a part of it over q_l. N - t parts are the whole noise, in law;
    whoever knows the parts of t owners knows nothing of these. All N parts hide more, or as much.

    Parameters
    ----------
    mechanism : the noise that is divided.
    owners : N, who adds a part.
    colluders : t, whose parts the learner may know.

    Raises
    ------
    InputError
        If the noise cannot be divided, a record may sit with several owners, or nobody's part would be unknown.

    Source: Acs and Castelluccia, I have a DREAM! (2011), Lemma 1 (gamma parts of Laplace noise); Dwork et al., Our Data,
    Ourselves (2006), for noise made together; sums of multivariate variance-gamma variables of one scale. Different budgets,
    and the scale that all of them need, are ours.

    >>> from learning.privacy.gaussian import Gaussian
    >>> apart = SharedNoise(Gaussian(1e-6, "pld"), 3)
    >>> [(claim.protects_against[:16], round(claim.epsilon, 3)) for claim in apart.claims("A", 1.0, 10)]
    [('anyone who sees ', 1.0), ('any one other ow', 1.245)]
    """

    whole = False
    owners: Count = 1
    colluders: CountOrZero = 0

    def check(self) -> None:
        super().check()
        if not self.mechanism.divides:
            self.mechanism.part(1, 1.0, (1,), rng=np.random.default_rng(0))  # refuses
        if self.mechanism.overlap > 1:
            rule = (
                'must be 1 with trust.aggregation = "secure": a record with several owners moves one sum several times'
            )
            raise InputError("learning.overlap", rule, self.mechanism.overlap)
        if self.colluders >= self.owners:
            rule = f"must be below the {self.owners} owners who share, of whom one at least tells nobody its part"
            raise InputError("trust.colluders", rule, self.colluders)
        object.__setattr__(self, "parts", self.owners - self.colluders)

    @property
    def unit_variance(self) -> float:
        """Of one part."""
        return float(self.mechanism.unit_variance) / self.parts

    @property
    def label(self) -> str:
        """The other's, and how many make it."""
        return f"{self.mechanism.label}, made by {self.owners} owners"

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """One owner's part."""
        return np.asarray(self.mechanism.part(self.parts, scale, shape, rng=rng))

    def of_parts(self, epsilon: ArrayLike, share: float) -> Array:
        return np.asarray(self.mechanism.of_parts(epsilon, share))

    def against(self, whom: Feared, epsilon: ArrayLike) -> Array:
        """The epsilon of budgets against an onlooker, (...); inf where nothing is known to hold."""
        known = {"learner": 0, "owners": 1, "colluders": self.colluders}[whom]
        return self.of_parts(epsilon, (self.owners - known) / self.parts)

    def claims(
        self, party: str, epsilon: float, horizon: int, unit: str = "one record", *, size: int = 1
    ) -> list[Claim]:
        """Against each onlooker apart: first who knows as many parts as the noise allows for, then the others.

        Nothing is claimed against another owner where parts of fewer owners than make up the noise are unknown to it and no
        accountant counts these.
        """
        whole = "colluders" if self.colluders else "learner"
        made = []
        for whom in sorted(ONLOOKERS, key=lambda one: one != whole):
            spent = float(self.against(whom, epsilon))
            unheard = (whom == "colluders" and not self.colluders) or (whom == "owners" and self.owners == 1)
            if unheard or np.isinf(spent):
                continue
            told = self.claim(party, spent, horizon, unit)
            sure = float(self.surest(np.array([[spent]]), horizon, np.array([size]))[0])
            looks_on = ONLOOKERS[whom].format(self.colluders)
            made.append(replace(told, protects_against=looks_on, assumes=ASSUMED, surest=sure, but_for=self.but_for))
        return made

    def surest(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        return np.asarray(self.mechanism.surest(held, horizon, sizes))

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Any:
        """Of the parts that make up the whole noise, as the other has it."""
        return self.mechanism.guarantee(epsilon, horizon, answers, size=size)

    def budget(self, term: ArrayLike) -> Array:
        return np.asarray(self.mechanism.budget(term))
