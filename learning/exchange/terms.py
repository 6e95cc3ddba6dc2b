"""The parts of a contract: plain facts, and the form that each must have."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat

from learning.declaration import LARGEST, SMALLEST

LONGEST = 24 * 366  # hours that a question may be open for


def one_line(text: str) -> str:
    """A text that can do nothing but be read, as part of a line: it can imitate no other line of what is shown.

    Raises
    ------
    ValueError
    """
    if any(not (c.isprintable() or unicodedata.category(c) == "Zs" or c in "\u200c\u200d") for c in text):
        raise ValueError("must be one line, without signs that cannot be seen")
    return text


def phrase(text: str) -> str:
    """The same with single blanks; a ValueError otherwise: blanks could move what follows to the next line of a terminal."""
    if "  " in one_line(text):
        raise ValueError("must have no two blanks in a row")
    return text


def ball(size: object) -> object:
    """A size of the ball that questions lie in; a ValueError where there is none."""
    if size is None:
        raise ValueError("must be a number: nothing is answered at a point that no ball holds")
    return size


Text = Annotated[str, Field(max_length=300), AfterValidator(phrase)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(phrase)]
Column = Annotated[str, Field(max_length=300), AfterValidator(one_line)]
Positive = Annotated[FiniteFloat, Field(ge=SMALLEST, le=LARGEST)]
Limit = Positive | None  # None: there is none
NonNegative = Annotated[FiniteFloat, Field(ge=0, le=LARGEST)]
Number = Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=10**12)]
Several = Annotated[int, Field(ge=1, le=10**4)]
Numbers = list[FiniteFloat]
Written = Literal["point", "comma", "either", "truth"]


class Form(BaseModel):
    """What every part has in common: known keys only, each of its own kind, none changed afterwards."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class NumberColumns(Form):
    """Columns of numbers: their public ranges, and what stands for a cell that is none."""

    names: list[Column]
    low: Numbers
    high: Numbers
    fill: Numbers


class TextColumns(Form):
    """Columns of texts: the public categories of each; ``places`` codes a text by its place among them."""

    names: list[Column]
    categories: list[list[str]]
    places: bool


class TargetColumn(Form):
    """The column that is predicted; ``labels`` are the texts that stand for -1 and +1."""

    name: Column
    low: FiniteFloat
    high: FiniteFloat
    centre: FiniteFloat
    fill: FiniteFloat
    labels: list[str] | None


class Components(Form):
    """What encoded columns are reduced to."""

    centre: Numbers
    spread: Numbers
    axes: list[Numbers]
    low: Numbers
    high: Numbers


class Columns(Form):
    """How an owner's table is read and encoded: public rules alone.

    ``written`` says of each column of numbers how they may be written: with a point, a comma, either, or as true and false;
    ``person`` names the column that says whose a row is.
    """

    numbers: NumberColumns
    categories: TextColumns
    target: TargetColumn
    components: Components | None
    constant_columns: list[Column]
    mean: Numbers
    written: dict[Column, Written]
    person: Column | None


class Bounds(Form):
    """The coordinates of training, `learning.losses.coordinates.Coordinates`; a ``target_bound`` of null is none."""

    start: list[Number] = Field(min_length=1)
    scale: list[list[Number]]
    radius: Positive
    target_bound: Limit
    theta_max: Annotated[Positive, BeforeValidator(ball)]
    norm: Literal[1, 2]
    clipping: Literal["parts", "record"]
    rows_per_person: Several


class Noise(Form):
    """The mechanism, and how its cost is counted."""

    name: str
    accounting: str
    delta: Annotated[FiniteFloat, Field(ge=0, lt=1)]
    overlap: Several


class TrainingTerms(Form):
    """What is asked, how often, and what is made of it; ``answers`` are those that a budget covers."""

    algorithm: str
    returned: Literal["last", "averaged"]
    horizon: Count
    step_size: Positive
    decline: Number
    growth: Positive
    answers: Annotated[int, Field(ge=1, le=10**5)]
    regularisation: NonNegative
    steps: list[Positive] = Field(min_length=1, max_length=10**5)


class OwnerTerms(Form):
    """One owner: what it holds, sells and is paid for all answers, and how much its answers count."""

    name: Name
    records: Count
    epsilon: Positive
    payment: NonNegative
    weight: Positive


class MissingRule(Form):
    """What happens when an owner does not answer: the learner waits, or goes on without it once ``hours`` are over."""

    rule: Literal["wait", "without"]
    at_least: Count
    hours: Annotated[FiniteFloat, Field(ge=1 / 60, le=LONGEST)] | None


class Promise(Form):
    """What the model was forecast to be, and the learner's own without buying."""

    kind: Text
    basis: Text
    relative_fitness: FiniteFloat
    interval: list[FiniteFloat | None] = Field(min_length=2, max_length=2)
    optimum: FiniteFloat
    outside: FiniteFloat


class LossTerms(BaseModel):
    """The loss, by its name, with its parameters."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    name: str
