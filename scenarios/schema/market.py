"""Tables of a market: owners, learner, value of a model, rules of play, and validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic import Field, PlainValidator, model_validator

from learning.declaration import (
    ListOf,
    NamedPerOwnerRule,
    NonNegative,
    Positive,
    Probability,
    Words,
    describe_type,
    type_adapter,
)
from learning.errors import InputError
from learning.forecast.decisions import Decisions
from learning.phrases import format_value
from market.equilibrium.activation import ACTIVATIONS
from market.equilibrium.stopping import Damping, PlayRules
from scenarios.schema.fields import (
    Budgets,
    Section,
    check_different,
    in_order,
    one_known,
    quote_choices,
    values_per_owner,
)
from scenarios.schema.kinds import NamedTable, TableCheck

Per = Literal["rmse", "wrong_label", "cost"]
UNKNOWN = "unknown"
LABELLED = "wrong_label", "cost"  # those that count decisions between two labels
MOST_RECORDS = 10**12
RECORDS = Words("a table of owners and numbers of records, such as {North = 9000, South = 6000}")
NAMED = NamedPerOwnerRule()
NamedPerOwner = Annotated[Any, NAMED]


class Terms(Section):
    """A table of what a model is worth: which unit money is counted of, and the keys that go with
    it."""

    per: Per = Field(description='Give "rmse", "wrong_label" or "cost".')
    """Root mean squared error in units of the target; a wrong label; or what wrong decisions cost
    by a cost matrix."""

    @model_validator(mode="after")
    def _check_keys(self) -> Terms:
        needs = self.needed()[self.per]
        unit = f"per = {format_value(self.per)}"
        for key, given in self:
            if key in needs and given is None and key not in self.left_open:
                raise InputError(key, f"is required with {unit}", "nothing")
            if key not in ("per", *needs) and given is not None:
                users = [per for per, keys in self.needed().items() if key in keys]
                rule = f"needs per = {quote_choices(users)}" if users else "has no use here"
                found = f"{format_value(given)} with {unit}"
                raise InputError(key, rule, found, "Leave it out.")
        return self

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        """The keys that each unit needs."""
        raise NotImplementedError

    @property
    def left_open(self) -> tuple[str, ...]:
        """The needed keys that may be left out after all."""
        return ()


class Worth(Terms):
    """The value of a better model to the learner, in its own terms."""

    money: Literal["unknown"] | NonNegative | None = None
    """Money per unit of root mean squared error, or per wrong label. Where it is `unknown`, results
    say from which worth on buying pays, and no gain."""
    cases: Positive | None = None
    """Number of cases that the model decides; wrong labels and costs are counted over all of them.
    It may be left out where money is `unknown`."""
    false_alarm: Positive | None = None
    """Money lost where the label coded as +1 is decided of a case that has the other."""
    miss: Positive | None = None
    """Money lost where a case whose label is coded as +1 is decided to have the other."""

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        return {
            "rmse": ("money",),
            "wrong_label": ("money", "cases"),
            "cost": ("false_alarm", "miss", "cases"),
        }

    @property
    def is_known(self) -> bool:
        """Test whether money is stated."""
        return self.money != UNKNOWN

    @property
    def left_open(self) -> tuple[str, ...]:
        """The number of cases, where money is unknown."""
        return () if self.is_known else ("cases",)

    @property
    def per_unit(self) -> float:
        """Money per unit of the measure; 0 where it is unknown."""
        money = 1.0 if self.money is None else self.money
        if isinstance(money, str):
            return 0.0
        return float(money * (self.cases or 1.0))

    @property
    def decisions(self) -> Decisions | None:
        """Costs of wrong decisions by case; None where errors of numbers are counted."""
        if self.false_alarm is not None and self.miss is not None:
            return Decisions(self.false_alarm, self.miss, moved=True)
        return Decisions() if self.per in LABELLED else None


class Benefit(Terms):
    """The value of a better model to owners, in the same terms as learner.value, with the
    learner's cost matrix."""

    money: NamedPerOwner = None
    """Money per unit of root mean squared error, or per wrong label."""
    cases: NamedPerOwner = None
    """Number of cases that an owner decides by the model."""

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        return {"rmse": ("money",), "wrong_label": ("money", "cases"), "cost": ("cases",)}

    def per_unit(self, n_owners: int) -> np.ndarray:
        """Money per unit of the measure, (n_owners,)."""
        money, cases = (
            values_per_owner(1.0 if given is None else given, n_owners, f"owners.benefit.{key}")
            for key, given in (("money", self.money), ("cases", self.cases))
        )
        return money * cases


@dataclass(frozen=True)
class OrTable(TableCheck):
    """Checks a plain value, money per unit of relative fitness, or a table in terms of one's own.

    Parameters
    ----------
    table : where it stands.
    section : the keys of the table, which names its unit by ``per``.
    plain : checks what is no such table.
    takes_tables : whether other tables, such as one by the owners' names, are plain values.
    """

    table: str
    section: type[Terms]
    plain: Callable[[Any], Any]
    takes_tables: bool = False

    def tables(self, place: str) -> Iterator[tuple[str, type, type[Section]]]:
        """Table at its own place, with its declaration and keys; none elsewhere."""
        if place == self.table:
            yield f"[{place}]", self.section, self.section

    def __call__(self, value: Any) -> Any:
        """The value as it is, or the table under its keys."""
        if isinstance(value, self.section):
            return value
        is_table = isinstance(value, dict)
        if self.takes_tables:
            is_table = is_table and isinstance(value.get("per"), str)
        return self.section.model_validate(value) if is_table else self.plain(value)


def _parse_records(value: Any) -> dict[str, int]:
    """Names of owners, each with the number of its records."""
    if not isinstance(value, dict) or not value:
        raise InputError("", f"must be {RECORDS.text}", format_value(value))
    check_different(list(value))
    for name, given in value.items():
        if type(given) is not int or not 1 <= given <= MOST_RECORDS:
            rule = f"must be a whole number from 1 to {MOST_RECORDS:,} for {format_value(name)}"
            raise InputError("", rule, format_value(given))
    return dict(value)


_number = type_adapter(NonNegative).validate_python
WorthOf = Annotated[
    Any,
    OrTable("learner.value", Worth, _number),
    Words(f"{describe_type(NonNegative)}, or a table [learner.value]"),
]
BenefitOf = Annotated[
    Any,
    OrTable("owners.benefit", Benefit, NAMED, takes_tables=True),
    Words(f"{NAMED.text}, or a table [owners.benefit] with per"),
]


FIXED_COSTS = "fixed_cost", "reputation_cost", "legal_cost", "setup_cost"


class Owners(Section):
    """The owners' choices, their costs of privacy, and the value of a better model to them."""

    records: Annotated[dict[str, int], PlainValidator(_parse_records), RECORDS] | None = None
    """How many records each owner has, such as `{North = 9000, South = 6000}`, where the table
    holds the learner's own rows and no owner's: the market is settled before anybody shares, and
    nothing is trained."""
    epsilon: Budgets = Field(
        description="Give the lowest and highest privacy budget, such as [0.01, 10.0]."
    )
    """The lowest and highest privacy budget that an owner may choose."""
    benefit: BenefitOf = 0.0
    """Money per unit of relative fitness that the model is better than the owner's own; or in the
    terms of learner.value."""
    model_goes_to: Literal["sellers", "all"] = "sellers"
    """The recipients of the model: owners who sell something, or all owners (a public good)."""
    personal: bool = False
    """Whether an owner that receives the model combines it with its own at home, as far as it can
    trust each, and benefits by that personal model on records of its own kind."""
    spread: NonNegative | None = None
    """What the model that is best for all owners is thought to cost an owner on records of its own
    kind, on average, in relative fitness: 0 where owners are of one kind;
    `validation.likeness.spread` estimates it. `personal` owners count it. So does the chance that
    buying pays where public rows without names are no random sample of all records; unless given,
    any spread is possible there, and `personal` owners count none."""
    fixed_cost: NamedPerOwner = 0.0
    """Money lost by sharing at all, beside the four that follow."""
    reputation_cost: NamedPerOwner = 0.0
    """Money lost by sharing at all, because customers mind."""
    legal_cost: NamedPerOwner = 0.0
    """Money lost by sharing at all, for advice, contracts and permits."""
    setup_cost: NamedPerOwner = 0.0
    """Money lost by sharing at all, for the program and who runs it."""
    round_cost: NamedPerOwner = 0.0
    """Money lost by each answer. Where it is above 0 and `learning.horizon` is open, the parties
    agree on the number of rounds before any owner chooses: the one at which the error that an ε of
    1 leaves costs the learner the least, together with what the rounds cost all owners."""
    report: NonNegative = 0.0
    """The ε, out of every budget, that is spent before trading on a report of how much the owner's
    records lose under the learner's own model."""
    cost_at: Literal["sold", "claimed"] = "sold"
    """Whether privacy costs are counted at the budget sold, or at what is claimed of a paper's
    noise for it."""
    cost: Annotated[Any, NamedTable("owners.cost")] = Field(
        description="Add a table [owners.cost] with its kind and price."
    )
    """An owner's cost of privacy."""

    def listed(
        self, names: Sequence[str] | None = None, where: str = "", left_out: Sequence[str] = ()
    ) -> Owners:
        """The same table with values per owner, benefits included, in the order of the owners."""
        made = super().listed(names, where, left_out)
        place = f"{where}.benefit"
        listed: Any
        if isinstance(self.benefit, Benefit):
            listed = self.benefit.listed(names, place, left_out)
        else:
            listed = in_order(self.benefit, names, place, left_out)
        return made.model_copy(update={"benefit": listed})

    def lists(self) -> dict[str, Sequence[Any]]:
        """Values given owner by owner in a list, by key."""
        own = {}
        if isinstance(self.benefit, Benefit):
            own = {f"benefit.{key}": given for key, given in self.benefit.lists().items()}
        elif type(self.benefit) in (list, tuple):
            own = {"benefit": self.benefit}
        return super().lists() | own

    def benefits(self, n_owners: int) -> np.ndarray:
        """Money that a unit less of what counts is worth to each owner, (n_owners,)."""
        if isinstance(self.benefit, Benefit):
            return self.benefit.per_unit(n_owners)
        return values_per_owner(self.benefit, n_owners, "owners.benefit")

    def sharing_costs(self, n_owners: int, rounds: int = 0) -> np.ndarray:
        """Money that each owner loses by sharing at all, and answering so often, (n_owners,)."""
        costs = {
            key: values_per_owner(getattr(self, key), n_owners, f"owners.{key}")
            for key in (*FIXED_COSTS, "round_cost")
        }
        return np.asarray(rounds * costs.pop("round_cost") + sum(costs.values()))

    @property
    def wants_model(self) -> bool:
        """Test whether a better model is worth anything to any owner."""
        parts = [self.benefit]
        if isinstance(self.benefit, Benefit):
            parts = [self.benefit.money, self.benefit.cases]
        parts = [list(part.values()) if isinstance(part, dict) else part for part in parts]
        return all(np.any(np.asarray(part) > 0) for part in parts if part is not None)


class Buyer(Section):
    """What fitness is worth to a learner, and what it can spend (which is checked, and changes no
    payment)."""

    value: WorthOf = Field(
        description="Give the money per unit of relative fitness, or a table [learner.value]."
    )
    """Money per unit of relative fitness that the model is better than the learner's own; or in
    terms of its own."""
    budget: NonNegative | None = None
    """The most that the learner can spend. It is checked and reported, and changes no payment."""

    @property
    def worth(self) -> Worth | None:
        """Value of a better model in the learner's terms.

        None where money counts relative fitness.
        """
        return self.value if isinstance(self.value, Worth) else None

    @property
    def knows_value(self) -> bool:
        """Test whether the worth of a better model is stated in money."""
        return self.worth is None or self.worth.is_known

    def check_value(self, doing: str) -> None:
        """Refuse what weighs the model's worth in money where that is unknown.

        Raises
        ------
        InputError
        """
        if not self.knows_value:
            rule = f"must be a number for {doing}, which weighs what the model is worth"
            remedy = (
                "State it, for example by --set learner.value.money=1000 (for wrong labels, state "
                "learner.value.cases, too). dpmarket run reports how much a better model must be "
                "worth for buying to pay."
            )
            raise InputError("learner.value.money", rule, f'"{UNKNOWN}"', remedy)

    @property
    def per_unit(self) -> float:
        """Money per unit of what counts."""
        return self.value if self.worth is None else self.worth.per_unit


class Learner(Buyer):
    """The value of fitness to the learner, its money, and its search for a price."""

    pricing: Annotated[Any, NamedTable("learner.pricing")] | None = None
    """How it moves the money in [policy] by what it sees; without this table, the policy stands as
    written."""
    go: Literal["always", "worth_it"] = "always"
    """When the model is bought, once owners have answered: always; or only where the released sums
    show a gain worth more than the payments. Where it is not bought no money moves, the learner
    keeps its own model, and the answers stay given."""
    margin: NonNegative = 0.1
    """With `go`, the part by which what the model is expected to be worth must exceed the payments:
    0 gains most on average, more prevents more losses and misses more gains."""
    pilot: Probability | None = None
    """With `go`, the part of its ε at which each owner first answers: the later answer with further
    noise. The learner stops at these where they leave buying a small chance to pay, and the rest of
    the ε is never spent. If it goes on, they cost nothing besides. Unless given, there are none."""


# What results call the learner of [learner] and [policy], where there are several.
FIRST = "learner"


class Market(Section):
    """The order in which owners move, and the rule by which play stops."""

    activation: Annotated[str, one_known(lambda: ACTIVATIONS)] = "sequential"
    """In what order owners answer each other."""
    damping: Damping | None = None
    """The part of the way to its best response that each goes, where all move at once."""
    part: Damping | None = None
    """The chance that an owner moves in a round, where only some do."""
    starts: Annotated[int, Ge(1), Le(10_000)] = 16
    """Points that the search for equilibria starts from; more would take hours."""
    max_rounds: Annotated[int, Ge(1), Le(100_000)] = 1000
    """The maximal number of rounds of play."""
    rounds: Annotated[int, Ge(1), Le(100_000)] | None = None
    """Rounds that are played where owners' behaviours draw, 50 unless given; the market is taken to
    be where owners stand after the last."""
    agents: Annotated[int, Ge(0), Le(100_000)] = 100_000
    """The most owners for whom agents play, with at most a million moves where they are over 1,000;
    in larger markets the fixed point of best responses stands in for their play."""
    participation: Literal["bound", "free"] = "bound"
    """Whether owners must sell at least their lowest budget (`bound`), or may leave the market and
    come back (`free`)."""
    tol: Positive = 1e-9
    """A market rests when no owner moves by more than this part of its ε."""

    @property
    def stopping_rules(self) -> dict[str, Any]:
        """Rules by which play ends, of `market.equilibrium.stopping.PlayRules`."""
        return self.model_dump(include={"tol", "max_rounds", "damping", "part"}, exclude_none=True)

    @model_validator(mode="after")
    def _rules_of_the_order(self) -> Market:
        at_once = [name for name, activation in ACTIVATIONS.items() if activation.at_once]
        for key, orders in {"damping": at_once, "part": ["partial"]}.items():
            given = getattr(self, key)
            if self.activation not in orders and given is not None:
                rule = f"needs activation = {' or '.join(map(format_value, orders))}"
                found = f"{format_value(given)} with activation {format_value(self.activation)}"
                raise InputError(f"market.{key}", rule, found, "Leave it out.")
            if self.activation in orders and given is None:
                self.__dict__[key] = getattr(PlayRules, key)
        return self


Baseline = Literal["weighted", "plain", "central", "nonprivate", "copies"]
Baselines = Annotated[
    tuple[Baseline, ...],
    ListOf('a list of "weighted", "plain", "central", "nonprivate" or "copies"'),
]


class Validation(Section):
    """Trainings that check the forecast."""

    runs: Annotated[int, Ge(2), Le(100_000)] = 100
    """Trainings with fresh noise at the equilibrium."""
    paths: bool | None = None
    """Whether `paths.csv` is written: quartiles of ψ over all trainings, round by round, measured
    on all records; and, of asynchronous training, `talks.csv`: who talked when."""
    baselines: Baselines | None = None
    """Additional trainings for comparison, at the same budgets and as often: `weighted` (owners
    weighed by their records), `plain` (all alike), each with its paper's noise under `accounting
    = "printed"`; `central` (one party with all records, under the mean of the budgets);
    `nonprivate` (no noise); `copies` (each owner a learner: its own records without noise, and
    the others' answers, with an owner's budget split over all the copies that it answers)."""
    lojasiewicz: bool | None = None
    """Whether the Polyak-Łojasiewicz condition is looked for: along the first training, at the
    trained models and around the best."""
    contributions: bool | None = None
    """Whether what each owner's answer brought is measured on `data.check_rows`, from the sums that
    owners release under `one_step`; so it is under `policy.kind = "contribution"`."""
