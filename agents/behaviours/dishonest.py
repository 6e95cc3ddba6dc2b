"""Owners who choose rationally, and then do not answer as they sold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from agents.behaviours.best_response import Rational
from learning.declaration import Count, NonNegative
from learning.training.conduct import Conduct


@dataclass(frozen=True)
class Dishonest(Rational):
    """Base of dishonest owners: their budgets are best responses, so no price reveals them."""

    rational = False


@dataclass(frozen=True)
class FreeRider(Dishonest):
    """Is paid for its budget and adds more noise than it sold; honest where audits deter it.

    It saves the privacy cost between the budget sold and the one that its noise spends. An owner
    that sends nothing but noise is a poisoner of factor 0.

    Parameters
    ----------
    noise : float, the factor on the noise that it sold
    """

    title = "is paid for its budget and adds more noise than it sold"
    noise: Annotated[float, Ge(1)] = 3.0

    @property
    def conduct(self) -> Conduct:
        return Conduct(noise=self.noise)

    def dares_to_cheat(self, saved: np.ndarray, at_stake: np.ndarray) -> np.ndarray:
        """Return whether the privacy cost saved exceeds the expected loss."""
        return saved > at_stake


@dataclass(frozen=True)
class Spoiler(Dishonest):
    """Base of owners who send wrong answers for a gain elsewhere.

    Parameters
    ----------
    gain : float, money gained elsewhere; an audit with more at stake deters it; none does unless
        given
    """

    gain: NonNegative | None = None

    def dares_to_cheat(self, saved: np.ndarray, at_stake: np.ndarray) -> np.ndarray:
        """Return whether the gain exceeds the expected loss, or true without a stated gain."""
        return np.full(len(at_stake), True) if self.gain is None else self.gain > at_stake


@dataclass(frozen=True)
class Poisoner(Spoiler):
    """Sends its gradients times a factor, with the noise it sold; answers are not clipped.

    Parameters
    ----------
    factor : float, the factor on its gradients: -1 flips them, 0 leaves nothing but noise
    """

    title = "sends gradients that lead away"
    factor: float = -10.0

    @property
    def conduct(self) -> Conduct:
        return Conduct(gradient=self.factor)


@dataclass(frozen=True)
class JunkSeller(Spoiler):
    """Answers from records without information, or from copies of a few.

    Parameters
    ----------
    records : str, "junk": its features with targets drawn from the public range; "copies": a few of
        its records, repeated
    distinct : int, the number of its records that it copies
    """

    title = "sells records that carry nothing"
    records: Literal["junk", "copies"] = "junk"
    distinct: Count = 1

    @property
    def conduct(self) -> Conduct:
        return Conduct(records=self.records, distinct=self.distinct)
