"""The parts of a contract: plain facts, and the form that each must have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
)

from learning.arrays import LARGEST, SMALLEST
from learning.canonical import encode_canonical, parse_canonical, sha256_digest
from learning.errors import InputError
from learning.phrases import is_readable

MASKED = 3  # the question of a secure aggregation that the masked sums answer
STEPS = 5  # its questions
LONGEST = 24 * 366  # hours that a question may be open for
RULES = {
    "extra_forbidden": "is no key that is known",
    "unexpected_keyword_argument": "is no key that is known",
    "missing": "must be there",
    "finite_number": "must be finite",
}


def check_one_line(text: str) -> str:
    """Refuse a text that could imitate another line of a display."""
    if not all(map(is_readable, text)):
        raise ValueError("must be one line, without signs that cannot be seen")
    return text


def check_phrase(text: str) -> str:
    """Also refuse two blanks in a row, which could push the rest to the next line of a terminal."""
    if "  " in check_one_line(text):
        raise ValueError("must have no two blanks in a row")
    return text


def require_ball(size: object) -> object:
    """Refuse a missing radius of the ball that questions lie in."""
    if size is None:
        raise ValueError("must be a number: nothing is answered at a point that no ball holds")
    return size


Text = Annotated[str, Field(max_length=300), AfterValidator(check_phrase)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_phrase)]
Column = Annotated[str, Field(max_length=300), AfterValidator(check_one_line)]
Positive = Annotated[FiniteFloat, Field(ge=SMALLEST, le=LARGEST)]
Limit = Positive | None  # None: there is none
NonNegative = Annotated[FiniteFloat, Field(ge=0, le=LARGEST)]
Number = Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=10**12)]
Several = Annotated[int, Field(ge=1, le=10**4)]
Numbers = list[FiniteFloat]
PublicKey = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Written = Literal["point", "comma", "either", "truth"]


class Form(BaseModel):
    """Base of the parts: known keys only, each of its own kind, none changed afterwards."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class NumberColumns(Form):
    """Columns of numbers: public ranges, fills for missing cells, and what the ends become."""

    names: list[Column]
    low: Numbers
    high: Numbers
    fill: Numbers
    reach: Numbers


class TextColumns(Form):
    """Columns of texts: public categories of each; ``places`` codes a text by its place in them."""

    names: list[Column]
    categories: list[list[str]]
    places: bool


class TargetColumn(Form):
    """The column that is predicted; ``labels`` are the texts that become -1 and +1."""

    name: Column
    low: FiniteFloat
    high: FiniteFloat
    centre: FiniteFloat
    fill: FiniteFloat
    labels: list[str] | None


class Components(Form):
    """Principal components that encoded columns are reduced to."""

    centre: Numbers
    spread: Numbers
    axes: list[Numbers]
    low: Numbers
    high: Numbers


class Expansion(Form):
    """Splines, bins, products and kernel features that are made of the encoded columns.

    ``knots`` has a list for each column of numbers, on [-1, 1], empty where it stays as it is;
    ``pairs`` the places of the columns that are multiplied; ``kept`` the places of what is used;
    ``frequencies`` of a kernel have a number for each encoded column.
    """

    degree: Annotated[int, Field(ge=0, le=5)]
    knots: list[Numbers]
    pairs: list[list[int]]
    kept: list[int] = Field(min_length=1)
    frequencies: list[Numbers] | None = Field(default=None, min_length=1)


class Columns(Form):
    """Public rules by which an owner's table is read and encoded.

    ``written`` gives the form of each column of numbers: with a point, a comma, either, or as true
    and false; ``person`` names the column with the person of each row.
    """

    numbers: NumberColumns
    categories: TextColumns
    target: TargetColumn
    components: Components | None
    expansion: Expansion | None = None
    constant_columns: list[Column]
    mean: Numbers
    written: dict[Column, Written]
    person: Column | None


class Bounds(Form):
    """Coordinates of training (`learning.losses.coordinates.Coordinates`)."""

    start: list[Number] = Field(min_length=1)
    scale: list[list[Number]]
    radius: Positive
    target_bound: Limit
    theta_max: Annotated[Positive, BeforeValidator(require_ball)]
    norm: Literal[1, 2]
    clipping: Literal["parts", "record"]
    rows_per_person: Several


class Noise(Form):
    """The mechanism and its accounting."""

    name: str
    accounting: str
    delta: Annotated[FiniteFloat, Field(ge=0, lt=1)]
    overlap: Several


class TrainingTerms(Form):
    """The questions and the use of their answers; a budget covers ``answers`` of them."""

    algorithm: str
    returned: Literal["last", "averaged"]
    horizon: Count
    step_size: Positive
    decline: Number
    growth: Positive
    answers: Annotated[int, Field(ge=1, le=10**5)]
    regularisation: NonNegative
    steps: list[Positive] = Field(min_length=1, max_length=10**5)


class SumsTerms(Form):
    """Bounds where owners release sums, once: that on a score, the share of the noise that second
    moments get, and whether a record has one weight in both
    (`learning.losses.moment_bounds.Scores`)."""

    bound: Positive
    share: Positive
    alike: bool


class GoTerms(Form):
    """Rule of buying the model or not, once the sums are there (`exchange.learner.buying`).

    ``worth`` is money for a mean cost of a record that is lower by 1; ``margin``, the part by which
    the model must be worth more than the payments; ``forecast`` and ``deviation``, the mean of what
    it was forecast to lower the cost by, and the standard deviation of that; ``otherwise``, the
    part of the payments that is paid if it is not bought.
    """

    worth: Positive
    margin: NonNegative
    forecast: Number
    deviation: NonNegative
    otherwise: Annotated[FiniteFloat, Field(ge=0, le=1)]


class AggregationTerms(Form):
    """Secure aggregation: the learner sees the total of the owners' sums only.

    Owners that know each other's parts of the noise (``colluders``, with the learner) and that drop
    out (``dropouts``) leave enough of the noise; ``threshold`` owners must stay to the end. Sums
    are counted in steps of ``step``, modulo 2^``bits``; ``scale`` is the deviation, in steps, of
    the part of the noise that each owner adds.
    """

    colluders: Annotated[int, Field(ge=0, le=10**4)]
    dropouts: Annotated[int, Field(ge=0, le=10**4)]
    threshold: Several
    bits: Literal[64]
    step: Positive
    scale: Positive


class OwnerTerms(Form):
    """One owner: its records, budget, payment for all answers, and the weight of its answers."""

    name: Name
    records: Count
    epsilon: Positive
    payment: NonNegative
    weight: Positive


class MissingRule(Form):
    """Rule for a missing answer: the learner waits, or goes on without it after ``hours``."""

    rule: Literal["wait", "without"]
    at_least: Count
    hours: Annotated[FiniteFloat, Field(ge=1 / 60, le=LONGEST)] | None


class Promise(Form):
    """Forecast of the model, and of the learner's own without buying."""

    kind: Text
    basis: Text
    relative_fitness: FiniteFloat
    interval: list[FiniteFloat | None] = Field(min_length=2, max_length=2)
    optimum: FiniteFloat
    outside: FiniteFloat


class PublicKeys(Form):
    """Public keys: the learner's, with which it signs; the one that answers of this exchange are
    sealed with (`exchange.sealing`); and each owner's."""

    learner: PublicKey
    opening: PublicKey
    owners: dict[Name, PublicKey]


class LossTerms(BaseModel):
    """The loss, by its name, with its parameters."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    name: str


class Signable(ABC):
    """Content that a party can sign: its bytes in canonical form, and their digest."""

    signature: str | None

    @property
    @abstractmethod
    def content(self) -> dict[str, Any]:
        """All of it but the signature."""

    @cached_property
    def body(self) -> bytes:
        """The bytes that a signature covers."""
        return encode_canonical(self.content)

    @cached_property
    def raw(self) -> bytes:
        """The bytes of the file, with the signature if there is one."""
        if self.signature is None:
            return self.body
        return encode_canonical(self.content | {"signature": self.signature})

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes that a signature covers, the name of the content."""
        return sha256_digest(self.body)


Parsed = TypeVar("Parsed", bound=Signable)


def parse_message(form: type[Parsed], raw: bytes, where: str) -> Parsed:
    """Parse canonical bytes as a form; no value of them is shown.

    Raises an InputError if they are not canonical, or this program would write them otherwise, such
    as 1.0 for 1; or with the first key that is missing, unknown or of another kind.
    """
    parse_canonical(raw, where)
    with naming_fault(where):
        message = _adapter(form).validate_json(raw)
    if message.raw != raw:
        rule = "must have numbers in the form that this program writes"
        raise InputError(where, rule, "others, such as 1 for 1.0")
    return message


@contextmanager
def naming_fault(where: str) -> Iterator[None]:
    """Name the first key that breaks a form, in an error without any value."""
    try:
        yield
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in fault["loc"])[:80]
        said = fault["msg"].removeprefix("Value error, ").rstrip(".")
        rule = RULES.get(fault["type"]) or said[:1].lower() + said[1:]
        raise InputError(f"{where}: {key}" if key else where, rule) from None


@cache
def _adapter(form: type[Parsed]) -> TypeAdapter[Parsed]:
    return TypeAdapter(form)
