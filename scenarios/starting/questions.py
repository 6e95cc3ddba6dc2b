"""Questions about decisions and leaks, and the money of a first scenario that follows from them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from learning.errors import InputError
from learning.phrases import format_value

NUMBER = r"((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
NUMBERS = re.compile(rf"{NUMBER}(?:\s*(?:-|–|to)\s*{NUMBER})?")
LEAST = 1e-12
MOST = 1e12
DIGITS = 4  # of the likely value within a range
FACTORS = "unit_cost", "decisions", "years"  # of the money for a unit of RMSE
GUIDE = (
    "Type a number, or a range such as 20-50. For a range, init takes the geometric mean as the "
    "likely value. If nobody knows, press Enter: the answer then stays unknown."
)


class Answer(NamedTuple):
    """Limits of what somebody knows, equal where it is known as one number."""

    low: float
    high: float

    @property
    def is_range(self) -> bool:
        """Test whether it is known within limits only."""
        return self.low < self.high

    @property
    def likely(self) -> float:
        """Geometric middle, sqrt(low high), to four digits, within the limits."""
        middle = float(f"{np.sqrt(self.low) * np.sqrt(self.high):.{DIGITS}g}")
        return min(max(middle, self.low), self.high)

    def __str__(self) -> str:
        ends = dict.fromkeys(f"{end:,.12g}" for end in self)
        return " to ".join(ends)


@dataclass(frozen=True)
class Question:
    """A question that is answered by a positive number, by a range, or not at all.

    Parameters
    ----------
    key : its name.
    text : the question, in which ``{target}`` stands for the column to predict.
    unit : what the number counts, as said behind it.
    per : learner.value.per of the tables it is asked of; None: of all.
    most : the largest answer.
    published : True if published valuations of a record help to answer it.
    """

    key: str
    text: str
    unit: str
    per: str | None = None
    most: float = MOST
    published: bool = False

    def read(self, text: str) -> Answer | None:
        """Read an answer; None where it is empty.

        Raises
        ------
        InputError
            If it is neither a positive number nor a range of such.
        """
        given = text.strip()
        if not given:
            return None
        bare = re.sub(r"\s*%", "", given) if self.unit.startswith("%") else given
        match = NUMBERS.fullmatch(bare)
        ends = [float(end.replace(",", "")) for end in match.groups() if end] if match else []
        if not ends or not LEAST <= ends[0] <= ends[-1] <= self.most:
            rule = f"must be a number from {LEAST:g} to {self.most:g}, or a range, the lower first"
            remedy = "Type one such as 20, 1,500 or 20-50, or nothing."
            raise InputError("answer", rule, format_value(given), remedy)
        return Answer(ends[0], ends[-1])


QUESTIONS = (
    Question(
        "unit_cost",
        "If a prediction of {target} is off by 1, what does that cost in one decision?",
        "a decision and unit of error",
        per="rmse",
    ),
    Question(
        "wrong_cost", "What does one wrong decision cost?", "a wrong decision", per="wrong_label"
    ),
    Question("decisions", "How many decisions a year will the model make?", "decisions a year"),
    Question("years", "For how many years will it be used?", "years"),
    Question(
        "leak",
        "If one record became known, what would that cost its owner, damages included?",
        "a leaked record",
        published=True,
    ),
    Question(
        "leak_chance",
        "How likely is it, in percent, that a record becomes known anyway, without this market?",
        "% likely anyway",
        most=100.0,
    ),
)


@dataclass(frozen=True)
class Stated:
    """Answers by the keys of their questions, and the money that follows from them.

    Parameters
    ----------
    answers : those that were given.
    per : unit of the model's errors, as learner.value.per.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict)
    per: str = "rmse"

    @property
    def money(self) -> Answer | None:
        """Money per unit of RMSE, cost x decisions x years; or per wrong label, its cost.

        None where an answer that it needs is missing.
        """
        if self.per == "rmse":
            return self._product(*FACTORS)
        return self._product("wrong_cost") if self.cases else None

    @property
    def cases(self) -> Answer | None:
        """Decisions between two labels, decisions x years."""
        return self._product("decisions", "years") if self.per == "wrong_label" else None

    @property
    def harm(self) -> Answer | None:
        """Money that a record not used is expected to lose: cost of its leak x chance of it."""
        return self._product("leak", "leak_chance", unit=0.01)

    @property
    def ranges(self) -> dict[str, list[float]]:
        """Keys of the scenario that are known within limits only, for inputs.ranges."""
        known = {
            "learner.value.money": self.money,
            "learner.value.cases": self.cases,
            "owners.cost.price": self.harm,
        }
        return {key: list(one) for key, one in known.items() if one and one.is_range}

    @property
    def assumed(self) -> list[str]:
        """Keys whose numbers nobody stated, for inputs.assumed."""
        return ["policy.price"] if self.harm else ["owners.cost.price", "policy.price"]

    def explain(self, *keys: str) -> str:
        """Say which answers are multiplied.

        >>> Stated({"years": Answer(2, 3)}).explain("years")
        '2 to 3 years'
        """
        units = {one.key: one.unit for one in QUESTIONS}
        return " x ".join(f"{self.answers[key]} {units[key]}" for key in keys)

    @property
    def worth(self) -> str:
        """The answers that money rests on, in words."""
        keys = FACTORS if self.per == "rmse" else ("wrong_cost",)
        return self.explain(*keys)

    def _product(self, *keys: str, unit: float = 1.0) -> Answer | None:
        """Multiply the limits of answers; None where one is missing."""
        if not all(key in self.answers for key in keys):
            return None
        ends = np.prod([self.answers[key] for key in keys], axis=0) * unit
        low, high = (float(f"{end:.12g}") for end in ends)
        return Answer(low, high)


NOTHING = Stated()


class Valuation(NamedTuple):
    """What a study found a record to be worth, and to whom."""

    of: str
    amount: str
    source: str

    def __str__(self) -> str:
        return f"{self.amount}: {self.of} ({self.source})"


@cache
def published_valuations() -> tuple[Valuation, ...]:
    """Read the published valuations of a record, which are shown and never taken over."""
    text = (files(__package__) / "valuations.toml").read_text(encoding="utf-8")
    return tuple(Valuation(**row) for row in tomllib.loads(text)["valuations"])


def questions_of(per: str) -> list[Question]:
    """Select the questions for a unit of errors, in their order."""
    return [one for one in QUESTIONS if one.per in (None, per)]
