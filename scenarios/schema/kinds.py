"""What the owners' costs and the learner's policies may be: one table of the scenario file each, named by ``kind``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from learning.errors import InputError
from market.costs import functions as market_costs
from market.costs.channels import CHANNELS
from market.policies import payments as market_policies
from scenarios.schema import fields as check
from scenarios.schema.fields import refuse

OPTIMAL = "optimal"


class Section(BaseModel):
    """A table of the scenario file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Text = Annotated[str, check.text()]
Flag = Annotated[bool, check.flag()]
Amount = Annotated[float | tuple[float, ...], check.amount()]
NonNegative = Annotated[float, check.number("must be a number of at least 0", lambda x: x >= 0)]
Positive = Annotated[float, check.number("must be a number above 0", lambda x: x > 0)]
PositiveOrOptimal = Annotated[
    float | Literal["optimal"], check.number('must be "optimal" or a number above 0', lambda x: x > 0, OPTIMAL)
]
Count = Annotated[int, check.whole("must be a whole number of at least 1", lambda x: x >= 1)]
CountOrZero = Annotated[int, check.whole("must be a whole number of at least 0", lambda x: x >= 0)]
TwoOrMore = Annotated[int, check.whole("must be a whole number of at least 2", lambda x: x >= 2)]


class Leakage(Section):
    """Privacy cost per bit and record leaked, where a record takes one of ``values`` values."""

    kind: Literal["leakage"]
    price: Amount = Field(description="Give the money per bit and record leaked.")
    values: TwoOrMore = 10


class Linear(Section):
    """Privacy cost ``price`` times epsilon."""

    kind: Literal["linear"]
    price: Amount = Field(description="Give the money per unit of epsilon.")


class Quadratic(Section):
    """Privacy cost ``price`` times epsilon squared over two."""

    kind: Literal["quadratic"]
    price: Amount = Field(description="Give the money per unit of epsilon squared over two.")


class ExpectedHarm(Section):
    """Privacy cost ``price`` per record times e^epsilon - 1."""

    kind: Literal["expected_harm"]
    price: Amount = Field(description="Give the money an individual expects to lose where its record is not used.")


class Belief(Section):
    """Privacy cost ``price`` per record times how much surer an adversary of ``worlds`` possible worlds becomes."""

    kind: Literal["belief"]
    price: Amount = Field(description="Give the money lost per record that an adversary discovers for certain.")
    worlds: TwoOrMore = 2
    ratio: Positive = 1.0


class Exponential(Section):
    """Privacy cost ``price`` times e^epsilon - 1."""

    kind: Literal["exponential"]
    price: Amount = Field(description="Give the money per unit of e^epsilon.")


class Channel(Section):
    """What an answer through a channel tells about a record of ``values`` values: bits, or chance of a right guess."""

    channel: Annotated[str, check.choice(*CHANNELS)] = "truncated_geometric"
    values: TwoOrMore = 10
    unit: Annotated[str, check.choice("bit", "guess")] = "bit"
    sensitivity: Positive | None = None
    prior: Annotated[tuple[float, ...], check.numbers("must be a list of probabilities, one per value")] | None = None


class ChannelCost(Channel):
    """Privacy cost ``price`` per record and unit told."""

    kind: Literal["channel"]
    price: Amount = Field(description="Give the money per record and unit told.")

    @model_validator(mode="after")
    def _obeys(self) -> ChannelCost:
        _obey(market_costs.COSTS, self)
        return self


def _obey(kinds: dict[str, type], section: Any) -> None:
    """Refuse what the market would refuse, before any record is read."""
    try:
        kinds[section.kind](**section.model_dump(exclude={"kind"}))
    except InputError as error:
        raise refuse(error.rule, key=error.key, found=error.found, remedy=error.remedy) from None


COSTS: dict[str, type[Section]] = {
    "leakage": Leakage,
    "linear": Linear,
    "quadratic": Quadratic,
    "expected_harm": ExpectedHarm,
    "belief": Belief,
    "exponential": Exponential,
    "channel": ChannelCost,
}


class Posted(Section):
    """A price per unit of privacy budget, per record and unit, or per bit."""

    kind: Literal["posted"]
    price: NonNegative = Field(description="Give the money per unit.")
    per: Annotated[str, check.choice("epsilon", "record_epsilon", "bit")] = "epsilon"


class Proportional(Section):
    """A fixed budget, shared in proportion to what each owner shares."""

    kind: Literal["proportional"]
    budget: NonNegative = Field(description="Give the money to be shared out.")
    basis: Annotated[str, check.choice("records_epsilon", "records_epsilon2", "epsilon")] = "records_epsilon"


class Marginal(Section):
    """A share of what the model gains by the owner's part in it."""

    kind: Literal["marginal"]
    share: Positive = Field(description="Give the share of the gain that is paid out, such as 1.0.")
    reference: Annotated[str, check.choice("absent", "floor")] = "absent"


class Shapley(Section):
    """A share of what the model gains, by each owner's average part in it over all orders of arrival."""

    kind: Literal["shapley"]
    share: Positive = Field(description="Give the share of the gain that is paid out, such as 1.0.")
    samples: Annotated[
        int, check.whole("must be an even whole number of at least 4", lambda x: x >= 4 and x % 2 == 0)
    ] = 400
    seed: CountOrZero = 0


class PostedChannel(Channel):
    """A price per record and unit that an answer through a channel tells about it."""

    kind: Literal["posted_channel"]
    price: NonNegative = Field(description="Give the money per record and unit told.")

    @model_validator(mode="after")
    def _obeys(self) -> PostedChannel:
        _obey(market_policies.POLICIES, self)
        return self


class Tiers(Section):
    """A step menu: an amount for each threshold of the privacy budget that an owner reaches."""

    kind: Literal["tiers"]
    thresholds: Annotated[tuple[float, ...], check.numbers("must be a list of privacy budgets")] = Field(
        description="Give the privacy budgets of the menu, such as [0.5, 1.0, 2.0]."
    )
    amounts: Annotated[tuple[float, ...], check.numbers("must be a list of amounts of money")] = Field(
        description="Give the money for each threshold, such as [100.0, 250.0, 400.0]."
    )
    per: Annotated[str, check.choice("owner", "record")] = "owner"

    @model_validator(mode="after")
    def _obeys(self) -> Tiers:
        _obey(market_policies.POLICIES, self)
        return self


class CostPlus(Section):
    """What sharing costs each owner, and a margin on top; owners then share as much as they may."""

    kind: Literal["cost_plus"]
    margin: NonNegative = Field(description="Give the part of the cost paid on top, such as 0.1.")


class ThesisLeakage(Section):
    """For each owner's leakage, times the others' part in all contributions (leakage-compensation game)."""

    kind: Literal["thesis_leakage"]
    price: NonNegative = 1.0
    individuals: Positive = 100.0
    values: TwoOrMore = 10
    exponent: NonNegative = 1.0
    weight: Annotated[str, check.choice("normalised", "printed")] = "normalised"


class ThesisUtility(Section):
    """For each owner's utility, times the others' part in all contributions (utility-compensation game)."""

    kind: Literal["thesis_utility"]
    price: NonNegative = 1.0
    distance: Count = 5
    border: Positive = 2.0
    exponent: NonNegative = 1.0
    weight: Annotated[str, check.choice("normalised", "printed")] = "normalised"


class User(Section):
    """What a function in a Python file says; the file is run only with --allow-code."""

    kind: Literal["user"]
    file: Text = Field(description="Name the Python file, relative to this one.")
    function: Text = "payments"
    parameters: Annotated[dict[str, Any], check.parameters()] = Field(default_factory=dict)


POLICIES: dict[str, type[Section]] = {
    "posted": Posted,
    "proportional": Proportional,
    "marginal": Marginal,
    "shapley": Shapley,
    "user": User,
    "posted_channel": PostedChannel,
    "tiers": Tiers,
    "cost_plus": CostPlus,
    "thesis_leakage": ThesisLeakage,
    "thesis_utility": ThesisUtility,
}
