"""Budgets: the agreed cost of all answers about one data set, and the part spent by some."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from pydantic import Field

from learning.declaration import Count, check_value
from learning.errors import InputError
from learning.losses.clipping import RECORD, PublicCoordinates
from learning.privacy.shares import answer_shares

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
    """Cost of ``horizon`` answers about one data set, with everything that determines it.

    Two budgets are equal only if all fields are: answers at two prices are never counted together.

    Parameters
    ----------
    owner: the name of who answers.
    epsilon: the budget over all answers; inf of an owner that adds no noise: nothing is claimed,
    and
        it answers without limit; None of noise whose budget was not stated.
    horizon: T, the answers that the noise was priced for.
    delta: the failure probability over all answers.
    mechanism: the noise and its accounting, as claims name them.
    overlap: kappa, the owners that one record may sit with.
    data: the name of the data set; empty where an owner has but one, in simulations.
    n_records: how many records it has.
    unit: the unit of privacy: one record, or one person with its records.
    adjacency: how neighbouring data sets differ.
    bounds: the announced bounds, by `describe_bounds` or `fingerprint_bounds`.
    growth: each answer's share of the budget over that of the one before, as
        `learning.privacy.shares` has it.

    Raises
    ------
    InputError
        If a number is NaN or out of range, or the name has no visible character.

    Source: events of dp-accounting: values that check themselves, with accountants elsewhere.

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
            object.__setattr__(self, name, check_value(kind, getattr(self, name), f"budget.{name}"))
        if not visible_name(self.owner):
            raise InputError("budget.owner", "must be a name that can be seen", f'"{self.owner}"')

    @property
    def limited(self) -> bool:
        """True if its answers run out."""
        return self.epsilon != np.inf

    @property
    def claimed(self) -> bool:
        """True if something is claimed: the budget is stated and finite."""
        return self.epsilon is not None and self.limited

    @property
    def counted(self) -> Counted:
        """Unit of account: epsilon where budgets add (pure DP, basic composition), else answers.

        Under zCDP or a privacy-loss distribution only the whole is an (epsilon, delta).
        """
        return "epsilon" if self.delta == 0 and self.epsilon is not None else "answers"

    @cached_property
    def key(self) -> tuple[str, str]:
        """Key of the account: owner and data set, without blanks."""
        return visible_name(self.owner), visible_name(self.data)


def spent_budget(budget: Budget, answers: int) -> float:
    """Compute the part of a budget that its first answers spend, in its unit of account.

    >>> spent_budget(Budget("bank", 2.0, 10), 9)
    1.8
    >>> spent_budget(Budget("bank", 2.0, 10, delta=1e-6), 9)
    9.0
    >>> growing = Budget("bank", 2.0, 3, growth=2.0)
    >>> [round(spent_budget(growing, answers), 4) for answers in (1, 2, 3)]
    [0.2857, 0.8571, 2.0]
    """
    if budget.epsilon is None or budget.counted == "answers" or not answers:
        return float(answers)
    if budget.growth == 1:
        return budget.epsilon * (answers / budget.horizon)  # all of them spend exactly epsilon
    spent = answer_shares(budget.growth, budget.horizon)[:answers].sum()
    return budget.epsilon * float(spent)


def visible_name(name: str) -> str:
    """Remove blanks and unprintable characters from a name, so that "b " equals "b".

    >>> visible_name("b "), visible_name("Saint\\u00a0Mary\\u200b")
    ('b', 'SaintMary')
    """
    if name.isascii() and name.isalnum():
        return name
    normal = unicodedata.normalize("NFC", name)
    return "".join(c for c in normal if c.isprintable() and not c.isspace())


def describe_bounds(coordinates: PublicCoordinates) -> str:
    """Describe the bounds on record, target, gradient, query and rows of a person exactly."""
    radius = float(coordinates.radius)
    bounded = f"record {radius!r}, target {float(coordinates.target_bound)!r}"
    if coordinates.clipping == RECORD:
        bounded = f"gradient {radius!r}"
    if coordinates.scores is not None:
        bounded = f"record {radius!r}, {coordinates.scores!r}"
    described = f"{coordinates.norm}-norm: {bounded}, query {float(coordinates.theta_max)!r}"
    if coordinates.given_bound is not None:
        described += f", noise for gradients of {coordinates.given_bound!r}"
    if coordinates.rows_per_person > 1:
        described += f", {coordinates.rows_per_person} rows of a person"
    return described


def fingerprint_bounds(coordinates: PublicCoordinates) -> str:
    """Describe the bounds, with a digest of the start, the scale and the loss that they hold in."""
    announced = hashlib.sha256(repr(coordinates.loss).encode())
    for numbers in (coordinates.centre, coordinates.transform):
        announced.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())
    return f"{describe_bounds(coordinates)}, coordinates {announced.hexdigest()[:16]}"
