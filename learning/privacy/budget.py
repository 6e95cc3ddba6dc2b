"""A budget: what all answers about one data set may spend, as agreed before the first; and what answers cost of it."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from pydantic import Field

from learning.declaration import Count, checked
from learning.errors import InputError
from learning.losses.coordinates import RECORD, Coordinates
from learning.privacy.shares import shares

Counted = Literal["epsilon", "answers"]

NUMBERS: dict[str, Any] = {
    "epsilon": Annotated[float, Gt(0), Field(allow_inf_nan=True)] | None,
    "horizon": Count,
    "delta": Annotated[float, Ge(0), Lt(1)],
    "overlap": Count,
    "n_records": Count | None,
    "growth": Annotated[float, Gt(0)],
}


@dataclass(frozen=True)
class Budget:
    """What ``horizon`` answers about one data set spend together, and all that this rests on.

    Two budgets are the same only if everything here is: answers at two prices are never counted together.

    Parameters
    ----------
    owner: the name of who answers.
    epsilon: the budget over all answers; inf for who adds no noise: nothing is claimed, and it answers without limit;
        None for noise whose budget nobody stated.
    horizon: T, the answers that the noise was priced for.
    delta: the failure probability over all answers.
    mechanism: what makes the answers noisy and how its cost is counted, as claims call it.
    overlap: kappa, the owners that one record may sit with.
    data: the name of the data set; empty where an owner has but one, in simulations.
    n_records: how many records it has.
    unit: the unit of privacy: one record, or one person with its records.
    adjacency: how neighbouring data sets differ.
    bounds: the announced bounds, as `bounds_in_words` or `fingerprint` tells them.
    growth: each answer's share of the budget over that of the one before, as `learning.privacy.shares` has it.

    Raises
    ------
    InputError
        If a number is NaN or out of range, or no name can be seen.

    Source: values that check themselves, and whose cost is computed elsewhere: the events of dp-accounting.

    >>> Budget("bank", epsilon=float("nan"), horizon=10)
    Traceback (most recent call last):
    learning.errors.InputError: budget.epsilon: must be a number above 0; found nan.
    """

    owner: str
    epsilon: float | None
    horizon: int
    delta: float = 0.0
    mechanism: str = "laplace"
    overlap: int = 1
    data: str = ""
    n_records: int | None = None
    unit: str = "one record"
    adjacency: str = "replace one record"
    bounds: str = ""
    growth: float = 1.0

    def __post_init__(self) -> None:
        for name, kind in NUMBERS.items():
            object.__setattr__(self, name, checked(kind, getattr(self, name), f"budget.{name}"))
        if not visible(self.owner):
            raise InputError("budget.owner", "must be a name that can be seen", f'"{self.owner}"')

    @property
    def limited(self) -> bool:
        """Whether its answers run out."""
        return self.epsilon != np.inf

    @property
    def claimed(self) -> bool:
        """Whether anything is claimed: the budget is stated, and finite."""
        return self.epsilon is not None and self.limited

    @property
    def counted(self) -> Counted:
        """What is counted: epsilon where budgets add (pure DP, basic composition), else answers.

        Under zCDP or a privacy-loss distribution only the whole is an (epsilon, delta).
        """
        return "epsilon" if self.delta == 0 and self.epsilon is not None else "answers"

    @cached_property
    def key(self) -> tuple[str, str]:
        """What tells accounts apart: owner and data set, without their blanks."""
        return visible(self.owner), visible(self.data)


def cost(budget: Budget, answers: int) -> float:
    """What the first so many answers spend of a budget: their shares of epsilon, or the answers themselves where those count.

    >>> cost(Budget("bank", 2.0, 10), 9), cost(Budget("bank", 2.0, 10, delta=1e-6), 9)
    (1.8, 9.0)
    >>> [round(cost(Budget("bank", 2.0, 3, growth=2.0), answers), 4) for answers in (1, 2, 3)]
    [0.2857, 0.8571, 2.0]
    """
    if budget.epsilon is None or budget.counted == "answers" or not answers:
        return float(answers)
    if budget.growth == 1:
        return budget.epsilon * (answers / budget.horizon)  # all of them spend exactly epsilon
    spent = shares(budget.growth, budget.horizon)[:answers].sum()
    return budget.epsilon * float(spent)


def visible(name: str) -> str:
    """A name without what cannot be seen, so that "b " is no second "b".

    >>> visible("b "), visible("Saint\\u00a0Mary\\u200b")
    ('b', 'SaintMary')
    """
    if name.isascii() and name.isalnum():
        return name
    return "".join(c for c in unicodedata.normalize("NFC", name) if c.isprintable() and not c.isspace())


def bounds_in_words(coordinates: Coordinates) -> str:
    """The bounds on a record and its target, or on its gradient, and on a query, to the last digit; and rows of a person."""
    radius, target, ball = (float(v) for v in (coordinates.radius, coordinates.target_bound, coordinates.theta_max))
    bounded = f"gradient {radius!r}" if coordinates.clipping == RECORD else f"record {radius!r}, target {target!r}"
    if coordinates.scores is not None:
        bounded = f"record {radius!r}, {coordinates.scores!r}"
    told = f"{coordinates.norm}-norm: {bounded}, query {ball!r}"
    rows = coordinates.rows_per_person
    if coordinates.given_bound is not None:
        told += f", noise for gradients of {coordinates.given_bound!r}"
    return told if rows == 1 else f"{told}, {rows} rows of a person"


def fingerprint(coordinates: Coordinates) -> str:
    """The bounds, and a digest of the start, the scale and the loss that they hold in."""
    announced = hashlib.sha256(repr(coordinates.loss).encode())
    for numbers in (coordinates.centre, coordinates.transform):
        announced.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())
    return f"{bounds_in_words(coordinates)}, coordinates {announced.hexdigest()[:16]}"
