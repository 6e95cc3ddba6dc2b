"""The parts of a contract: plain facts, and the form that each must have."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Positive = Annotated[FiniteFloat, Field(gt=0)]
Limit = Annotated[FiniteFloat, Field(gt=0)] | None  # None: there is none
Count = Annotated[int, Field(ge=1)]
Numbers = list[FiniteFloat]
Written = Literal["point", "comma", "either", "truth"]


class Form(BaseModel):
    """What every part has in common: known keys only, each of its own kind, none changed afterwards."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class NumberColumns(Form):
    """Columns of numbers: their public ranges, and what stands for a cell that is none."""

    names: list[str]
    low: Numbers
    high: Numbers
    fill: Numbers


class TextColumns(Form):
    """Columns of texts: the public categories of each; ``places`` codes a text by its place among them."""

    names: list[str]
    categories: list[list[str]]
    places: bool


class TargetColumn(Form):
    """The column that is predicted; ``labels`` are the texts that stand for -1 and +1."""

    name: str
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
    constant_columns: list[str]
    mean: Numbers
    written: dict[str, Written]
    person: str | None


class Bounds(Form):
    """The coordinates of training: `learning.losses.coordinates.Coordinates`; a bound of null is none."""

    start: Numbers = Field(min_length=1)
    scale: list[Numbers]
    radius: Positive
    target_bound: Limit
    theta_max: Limit
    norm: Literal[1, 2]
    clipping: Literal["parts", "record"]
    rows_per_person: Count


class Noise(Form):
    """The mechanism, and how its cost is counted."""

    name: str
    accounting: str
    delta: Annotated[FiniteFloat, Field(ge=0, lt=1)]
    overlap: Count


class TrainingTerms(Form):
    """What is asked, how often, and what is made of it; ``answers`` are those that a budget covers."""

    algorithm: str
    returned: Literal["last", "averaged"]
    horizon: Count
    step_size: Positive
    decline: FiniteFloat
    growth: Positive
    answers: Count
    regularisation: Annotated[FiniteFloat, Field(ge=0)]
    steps: list[Positive] = Field(min_length=1)


class OwnerTerms(Form):
    """One owner: what it holds, sells and is paid for all answers, and how much its answers count."""

    name: str = Field(min_length=1, max_length=200)
    records: Count
    epsilon: Positive
    payment: FiniteFloat
    weight: Positive


class MissingRule(Form):
    """What happens when an owner does not answer: the learner waits, or goes on without it once ``hours`` are over."""

    rule: Literal["wait", "without"]
    at_least: Count
    hours: Limit


class Promise(Form):
    """What the model was forecast to be, and the learner's own without buying."""

    kind: str
    basis: str
    relative_fitness: FiniteFloat
    interval: list[FiniteFloat | None]
    optimum: FiniteFloat
    outside: FiniteFloat


class LossTerms(BaseModel):
    """The loss, by its name, with its parameters."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    name: str
