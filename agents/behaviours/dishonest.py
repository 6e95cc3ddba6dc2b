"""People who choose as rational ones do, and then do not answer as they sold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from agents.behaviours.base import Behaviour, Seen
from learning.declaration import Count, NonNegative
from learning.training.conduct import Conduct
from market.game.deviations import Deviations


@dataclass(frozen=True)
class Dishonest(Behaviour):
    """Base of those who answer otherwise than they sold: their budgets are best responses, so that no price shows it."""

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return deviations.best_responses()


@dataclass(frozen=True)
class FreeRider(Dishonest):
    """Is paid for the budget it sells and adds more noise than it sold; honest where an audit makes that dear.

    It saves the privacy cost between the budget sold and the one that its noise really spends. An owner that sends nothing
    but noise is a poisoner of factor 0.

    Parameters
    ----------
    noise : float, how many times the noise it sold it adds
    """

    title = "is paid for its budget and adds more noise than it sold"
    noise: Annotated[float, Ge(1)] = 3.0

    @property
    def conduct(self) -> Conduct:
        return Conduct(noise=self.noise)

    def dares(self, saved: np.ndarray, at_stake: np.ndarray) -> np.ndarray:
        """Where the privacy cost that it saves is more than it must expect to lose."""
        return saved > at_stake


@dataclass(frozen=True)
class Spoiler(Dishonest):
    """Base of those who send wrong answers for something that they have elsewhere.

    Parameters
    ----------
    gain : float, money that it has elsewhere by that; no audit deters it unless given, else one that puts more at stake does
    """

    gain: NonNegative | None = None

    def dares(self, saved: np.ndarray, at_stake: np.ndarray) -> np.ndarray:
        """Everywhere, or where its gain is more than it must expect to lose."""
        return np.full(len(at_stake), True) if self.gain is None else self.gain > at_stake


@dataclass(frozen=True)
class Poisoner(Spoiler):
    """Sends its gradients times a factor, with the noise it sold; nobody clips answers.

    Parameters
    ----------
    factor : float, what it multiplies its gradients by: -1 flips them, 0 leaves nothing but noise
    """

    title = "sends gradients that lead away"
    factor: float = -10.0

    @property
    def conduct(self) -> Conduct:
        return Conduct(gradient=self.factor)


@dataclass(frozen=True)
class JunkSeller(Spoiler):
    """Answers from records that carry nothing, or from copies of a few.

    Parameters
    ----------
    records : str, "junk": its features with targets drawn from the public range; "copies": a few of its records, repeated
    distinct : int, how many of its records it copies
    """

    title = "sells records that carry nothing"
    records: Literal["junk", "copies"] = "junk"
    distinct: Count = 1

    @property
    def conduct(self) -> Conduct:
        return Conduct(records=self.records, distinct=self.distinct)
