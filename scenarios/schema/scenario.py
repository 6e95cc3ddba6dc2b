"""The scenario file as frozen models: every key, its rule and its default."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le, Lt
from pydantic import Field, PrivateAttr, model_validator

from learning.declaration import Count, CountOrZero, NamedPerOwnerRule, NonNegative, Positive, Words
from learning.errors import InputError, together
from learning.losses.losses import LOSSES
from market.analysis.unions import Union
from market.equilibrium.activation import ACTIVATIONS
from market.equilibrium.stopping import Damping, PlayRules
from market.externalities.spillover import Externalities
from market.policies.posted import Unit
from scenarios.schema.fields import (
    OPTIMAL,
    Budgets,
    ColumnLabels,
    ColumnNames,
    Label,
    Labels,
    Names,
    Ranges,
    Section,
    ShortText,
    Sizes,
    Text,
    among,
    either,
    in_order,
    nearest,
    per_owner,
    show,
)
from scenarios.schema.kinds import KINDS, declared, each, made, named
from scenarios.schema.learning import Learning
from scenarios.schema.toml import toml_lines
from scenarios.schema.worth import LABELLED, Benefit, BenefitOf, Worth, WorthOf

DATA_VARIABLE = "DPMARKET_DATA"
# Published tables that do not come with the program: where each lies inside a folder that the user has.
PUBLISHED: dict[str, str] = {
    "creditcard_fraud": "creditcard_fraud/creditcard_all_frauds.csv.gz",
    "adult": "adult/adult_train.csv.gz",
    "breast_cancer": "breast_cancer_wisconsin/breast-cancer-wisconsin.csv.gz",
    "ny_sparcs": "ny_sparcs/sparcs_2020_musculoskeletal.csv.gz",
    "lending_club": "lending_club/loans_2007_2014.csv.gz",
}


CONTESTED = ("sequential", "simultaneous")  # how owners may move who divide their budgets among several learners
NamedPerOwner = Annotated[Any, NamedPerOwnerRule()]
Share = Annotated[float, Ge(0), Lt(1), Words("a number from 0 to below 1")]


class Data(Section):
    """Which table, what to predict, and who holds which rows."""

    source: Annotated[str, among(lambda: ("randhie", *PUBLISHED))] | None = None
    """A table that the program knows: `randhie` comes along, the others are looked for in the folder of `--data`."""
    path: Text | None = None
    """The user's table, from the scenario's folder: CSV (any delimiter, gzipped or not), Parquet or a folder of its parts."""
    target: Text = Field(description="Name the column to predict.")
    """The column to predict."""
    labels: Labels | None = None
    """The target's two values, the second coded as +1; those of the public rows unless given."""
    positive: Label | None = None
    """Of the target's two values, the one coded as +1."""
    features: ColumnNames | None = None
    """The columns to predict from; every other column unless given."""
    split: Sizes | None = None
    """The rows of each owner, one after another in the table's order after `order`; or give `owner`."""
    owner: Text | None = None
    """The column that says whose each row is; or give `split`."""
    names: Names | None = None
    """The owners' names, with `split`."""
    public_rows: CountOrZero = 0
    """The last rows, so many, are the learner's own: start, scale, encoding, forecast and outside option come from them."""
    check_rows: CountOrZero = 0
    """Public rows before those, kept aside: the learner tries the trained model on them."""
    order: Literal["shuffled", "as_is"] = "shuffled"
    """Whether rows are shuffled by the seed before they are divided; as they are, owners may differ in kind."""
    min_records: Count = 1
    """Owners with fewer records are left out, and listed."""
    missing: Literal["error", "drop", "fill"] = "error"
    """What becomes of public rows with missing cells. A private cell that is missing, or that the public rows do not know, is
    always filled from them: an owner's dropped row would show in the number of its records."""
    encoding: Literal["onehot", "integer"] = "onehot"
    """How categories become numbers: a column for each, or one whole number."""
    components: Count | None = None
    """Principal components of the public rows to keep in place of the columns."""
    holdout: Literal["rest"] | Share = 0.0
    """The share of rows that nobody trains on, to try the model on; `rest`: those that `split` leaves over."""
    bounds: Ranges = Field(default_factory=dict)
    """Public ranges of columns and target, such as `age = [0, 120]`; those of the public rows unless given."""
    unit: Text = "one record"
    """What one record is: the unit that privacy is promised to. Several records of one person are not one unit."""
    person: Text | None = None
    """The column that says whose each row is, where one person may have several: privacy is then promised to the person, with
    all its rows at an owner, who keeps at most `rows_per_person` of them and leaves the rest out."""
    rows_per_person: Count | None = None
    """The most rows of one person that an owner keeps; 1 unless given."""

    @model_validator(mode="after")
    def _consistent(self) -> Data:
        together(
            partial(self._exactly_one, "source", "path", "one table"),
            partial(self._exactly_one, "split", "owner", "one way to tell the owners apart"),
            self._names,
            self._check_rows,
            self._roles,
        )
        return self

    def _names(self) -> None:
        if self.names is not None and self.split is None:
            rule = "goes with split; with owner, the column's values are the names"
            raise InputError("data.names", rule, show(self.names))
        if self.names is not None and len(self.names) != len(self.split or ()):
            rule = f"must name as many owners as split has sizes, {len(self.split or ())}"
            raise InputError("data.names", rule, f"{len(self.names)} names")

    def _check_rows(self) -> None:
        if self.check_rows == 1 or (self.check_rows and not self.public_rows):
            rule = "must be 0, or 2 or more beside data.public_rows, whose model is tried on them too"
            raise InputError("data.check_rows", rule, f"{self.check_rows} beside {self.public_rows} public rows")

    def _roles(self) -> None:
        if self.owner == self.target:
            raise InputError("data.owner", "must differ from target", show(self.owner))
        self._persons()
        for role, column in (("target", self.target), ("owner", self.owner), ("person", self.person)):
            if column in (self.features or ()):
                raise InputError("data.features", f"must not contain the {role} column", show(column))

    @property
    def most_rows(self) -> int:
        """k, the most rows of one unit of privacy at an owner."""
        return self.rows_per_person or 1

    @property
    def promised(self) -> str:
        """The unit that privacy is promised to, in words."""
        if self.person is None:
            return self.unit
        return f"one person (column {show(self.person)}): all rows at an owner, at most {self.most_rows}"

    def _persons(self) -> None:
        person, rows = self.person, self.rows_per_person
        if person is None and rows is not None:
            raise InputError("data.rows_per_person", "goes with data.person", rows, "Leave it out.")
        if person is not None and self.unit != "one record":
            raise InputError("data.unit", "goes without data.person, the unit itself", show(self.unit), "Leave it out.")
        if person is not None and person in (self.target, self.owner):
            raise InputError("data.person", "must differ from target and owner", show(person))

    def _exactly_one(self, first: str, second: str, what: str) -> None:
        given = [name for name in (first, second) if getattr(self, name) is not None]
        if len(given) != 1:
            rule = f"give exactly one of {first} and {second}: {what}"
            raise InputError(f"data.{first}", rule, " and ".join(given) or "neither")


class Owners(Section):
    """What the owners may choose, what privacy costs them, what a better model is worth to them."""

    epsilon: Budgets = Field(description="Give the lowest and highest privacy budget, such as [0.01, 10.0].")
    """The lowest and highest privacy budget that an owner may choose."""
    benefit: BenefitOf = 0.0
    """Money per unit of relative fitness that the model is better than the owner's own; or in the terms of learner.value."""
    model_goes_to: Literal["sellers", "all"] = "sellers"
    """Who receives the model: the owners who sell anything, or all of them, to whom it is a public good."""
    fixed_cost: NamedPerOwner = 0.0
    """Money lost by sharing at all: reputation, law, implementation, communication."""
    report: NonNegative = 0.0
    """Of every ε, spent before trading on a report of how much the owner's records lose under the learner's own model."""
    cost_at: Literal["sold", "claimed"] = "sold"
    """Whether privacy costs are counted at the budget sold, or at what is claimed of a paper's noise for it."""
    cost: Annotated[Any, named("owners.cost")] = Field(description="Add a table [owners.cost] with its kind and price.")
    """What privacy costs an owner, by its kind."""

    def listed(self, names: Sequence[str] | None = None, where: str = "", left_out: Sequence[str] = ()) -> Owners:
        """The same table with what has one value per owner as lists in the order of the owners, benefits too."""
        made, place = super().listed(names, where, left_out), f"{where}.benefit"
        given = self.benefit
        listed = (
            given.listed(names, place, left_out)
            if isinstance(given, Benefit)
            else in_order(given, names, place, left_out)
        )
        return made.model_copy(update={"benefit": listed})

    def lists(self) -> dict[str, Sequence[Any]]:
        """What is given owner by owner in a list, by key."""
        if isinstance(self.benefit, Benefit):
            return super().lists() | {f"benefit.{key}": given for key, given in self.benefit.lists().items()}
        return super().lists() | ({"benefit": self.benefit} if type(self.benefit) in (list, tuple) else {})

    def benefits(self, n_owners: int) -> np.ndarray:
        """Money that a unit less of what counts is worth to each owner, (n_owners,)."""
        if isinstance(self.benefit, Benefit):
            return self.benefit.per_unit(n_owners)
        return per_owner(self.benefit, n_owners, "owners.benefit")

    @property
    def wants_model(self) -> bool:
        """Whether a better model is worth anything to any owner."""
        parts = self.benefit.model_dump().values() if isinstance(self.benefit, Benefit) else [self.benefit]
        numbers = [list(part.values()) if isinstance(part, dict) else part for part in parts if part is not None]
        return all(np.any(np.asarray(part) > 0) for part in numbers if not isinstance(part, str))


class Learner(Section):
    """What fitness is worth to the learner, and what it can spend (which is checked, and changes no payment)."""

    value: WorthOf = Field(description="Give the money per unit of relative fitness, or a table [learner.value].")
    """Money per unit of relative fitness that the model is better than the learner's own; or in terms of its own."""
    budget: NonNegative | None = None
    """What the learner can spend: checked and told, and changes no payment."""

    @property
    def worth(self) -> Worth | None:
        """What a better model is worth in terms of the learner's own; None where money is per unit of relative fitness."""
        return self.value if isinstance(self.value, Worth) else None

    @property
    def per_unit(self) -> float:
        """Money per unit of what counts."""
        return self.value if self.worth is None else self.worth.per_unit


class Rival(Learner):
    """A further learner, who buys from the same owners: it has the same public rows, and trains as [learning] says."""

    name: Text = Field(description="Name the learner.")
    """What it is called."""
    policy: Annotated[Any, named("policy")] | None = None
    """What it pays; as `[policy]` unless given."""


FIRST = "learner"  # what results call the learner of [learner] and [policy], where there are several


class Regulation(Section):
    """Rules that owners and learner are under: the most that may be shared, a tax, and a floor under all payments."""

    epsilon_cap: Positive | None = None
    """The largest ε that an owner may sell."""
    leakage_tax: NonNegative = 0.0
    """Money that an owner pays the treasury per bit and record leaked."""
    price_floor: NonNegative = 0.0
    """Money that an owner is paid at least, per unit of `price_floor_per`."""
    price_floor_per: Unit = "epsilon"
    """What the floor counts: ε, records times ε, or records times bits."""


class Market(Section):
    """In what order owners move, and when the market has settled."""

    activation: Annotated[str, among(lambda: ACTIVATIONS)] = "sequential"
    """In what order owners answer each other."""
    damping: Damping | None = None
    """The part of the way to its best response that each goes, where all move at once."""
    starts: Annotated[int, Ge(1), Le(10_000)] = 16
    """Points that the search for equilibria starts from; more would take hours."""
    max_rounds: Annotated[int, Ge(1), Le(100_000)] = 1000
    """Rounds after which a market that has not settled is given up."""
    participation: Literal["bound", "free"] = "bound"
    """Whether owners bound to sell at least so much must, or may leave the market, and come back."""
    tol: Positive = 1e-9
    """A market rests when no owner moves by more than this part of its ε."""

    @model_validator(mode="after")
    def _damping(self) -> Market:
        at_once = [name for name, activation in ACTIVATIONS.items() if activation.order is None]
        if self.activation not in at_once and self.damping is not None:
            rule = f"applies to activation = {' or '.join(map(show, at_once))} only"
            found = f"{show(self.damping)} with activation {show(self.activation)}"
            raise InputError("market.damping", rule, found, "Leave it out.")
        if self.activation in at_once and self.damping is None:
            self.__dict__["damping"] = PlayRules.damping
        return self


class Validation(Section):
    """How often the model is trained to check the forecast."""

    runs: Annotated[int, Ge(2), Le(100_000)] = 100
    """Trainings with fresh noise at the equilibrium."""


class Scenario(Section):
    """A market as written in a scenario file, every default filled in.

    ``folder`` is the folder relative paths in it resolve against; it is no key of the file.
    """

    title: str = ""
    """The title of the report."""
    currency: ShortText | None = None
    """What money is counted in, such as "EUR", beside every amount; plain numbers without."""
    seed: Annotated[int, Ge(0), Le(10**15)] = 0
    """What every random draw follows from: the same seed, the same bytes."""
    data: Data = Field(description="Add a table [data] with its source and target.")
    learning: Learning = Learning()
    owners: Owners = Field(description="Add a table [owners] with epsilon and [owners.cost].")
    policy: Annotated[Any, named("policy")] = Field(description="Add a table [policy] with its kind.")
    learner: Learner = Field(description="Add a table [learner] with its value.")
    unions: Annotated[Any, each(Union, "unions")] = None
    learners: Annotated[Any, each(Rival, "learners")] = None
    externalities: Annotated[Any, declared(Externalities)] | None = None
    regulation: Regulation = Regulation()
    market: Market = Market()
    validation: Validation = Validation()
    labels: ColumnLabels = Field(default_factory=dict)
    """What columns are called in reports, each ``column = "Name, unit"``, or without unit; as in the table unless given."""
    _folder: Path = PrivateAttr(default_factory=Path.cwd)
    _data_folder: Path | None = PrivateAttr(default=None)
    _allow_code: bool = PrivateAttr(default=False)

    @property
    def folder(self) -> Path:
        """The folder relative paths resolve against."""
        return self._folder

    @property
    def data_folder(self) -> Path | None:
        """The folder of published tables that do not come with the program; None where the user has given none."""
        return self._data_folder

    @property
    def allow_code(self) -> bool:
        """Whether the user has allowed code that the scenario names to be run; no key of the file can."""
        return self._allow_code

    def locate(self, file: str) -> Path:
        """Where a file that the scenario names stands; a relative path is meant from the scenario's folder."""
        return self.folder / home_expanded(file)

    @model_validator(mode="after")
    def _across_sections(self) -> Scenario:
        public, learning = self.data.public_rows > 0, self.learning
        for name, needs in (("start", "public"), ("precondition", True)):
            if not public and getattr(learning, name) == needs:
                found = f"{show(needs)} with data.public_rows = 0"
                raise InputError(f"learning.{name}", "needs public rows", found, "Set data.public_rows.")
        start = learning.start or ("public" if public else "zero")
        precondition = public if learning.precondition is None else learning.precondition
        self.__dict__["learning"] = learning.model_copy(update={"start": start, "precondition": precondition})
        self._labels()
        self._worth()
        self._reports()
        if self.owners.cost_at == "claimed" and learning.accounting == "printed" and learning.horizon == OPTIMAL:
            rule = (
                'must be a number of rounds with owners.cost_at = "claimed", since what such noise gives depends on it'
            )
            raise InputError("learning.horizon", rule, show(OPTIMAL), "Set it.")
        self._persons_counted()
        self._apart_unions()
        self._contested()
        self._in_common()
        self._may_leave()
        self._given_to_all()
        if self.data.split is not None:
            self.in_order_of(self.data.names or tuple(f"owner {i + 1}" for i in range(len(self.data.split))))
        return self

    def _labels(self) -> None:
        """Refuse keys that contradict what the loss takes its target for."""
        data, named = self.data, show(self.learning.loss)
        labelled = [name for name, loss in LOSSES.items() if loss.labels]
        for key, given in (("labels", data.labels), ("positive", data.positive)):
            if given is not None and not self.learning.labels:
                rule = f"goes with loss {either(labelled)}, whose target is one of two values"
                raise InputError(f"data.{key}", rule, f"{show(given)} with loss {named}", "Leave it out.")
        if data.target in data.bounds and self.learning.labels:
            rule = f"has no range with loss {named}, under which it is one of two values"
            found = show(list(data.bounds[data.target]))
            raise InputError(f"data.bounds.{data.target}", rule, found, "Leave it out.")

    def _worth(self) -> None:
        """Refuse terms that the loss gives no model for, or that owners and learner do not share."""
        for learner, table in ((self.learner, "learner"), *((rival, "learners") for rival in self.learners or ())):
            if learner.worth is not None:
                self._counted(learner.worth.per, f"{table}.value")
        worth, benefit = self.learner.worth, self.owners.benefit
        asked = benefit.per if isinstance(benefit, Benefit) else None
        if (asked or self.owners.wants_model) and asked != (worth and worth.per):
            terms = "per unit of relative fitness" if worth is None else f"a table with per = {show(worth.per)}"
            found = "a number" if asked is None else f"per = {show(asked)}"
            rule = f"must be {terms}, as learner.value: a market counts in one unit"
            raise InputError(
                "owners.benefit", rule, found, "Where the model is worth nothing to the learner, money = 0."
            )

    def _counted(self, per: str, table: str) -> None:
        """Refuse a unit that the loss gives no model for."""
        learning = self.learning
        if per in LABELLED and not learning.labels:
            labelled = [name for name, loss in LOSSES.items() if loss.labels]
            rule = f'must be "rmse" with loss {show(learning.loss)}, whose target is a number'
            raise InputError(f"{table}.per", rule, show(per), f"Or set learning.loss to {either(labelled)}.")
        if per not in LABELLED and not learning.objective.quadratic:
            rule = f"must be {either(LABELLED)} with loss {show(learning.loss)}"
            raise InputError(f"{table}.per", rule, show(per))
        if per not in LABELLED and learning.regularisation > 0:
            rule = f"must be 0 with {table} per rmse: the charge for large parameters is no error"
            raise InputError("learning.regularisation", rule, learning.regularisation)

    def _reports(self) -> None:
        """Refuse loss reports that leave nothing of a budget, or that no public model can be tried by."""
        spent, cap = self.owners.report, self.regulation.epsilon_cap
        if not spent:
            return
        if not self.data.public_rows:
            raise InputError("owners.report", "needs public rows", f"{spent:g} with data.public_rows = 0")
        least = float(np.asarray(self.owners.listed().epsilon, dtype=float).reshape(-1, 2)[:, 0].min())
        if spent >= least:
            rule = f"must be below every budget that an owner may choose, {least:g} here: training gets the rest"
            raise InputError("owners.report", rule, f"{spent:g}", "Lower it, or raise the lower end of owners.epsilon.")
        if cap is not None and spent >= cap:
            raise InputError("owners.report", f"must be below regulation.epsilon_cap, {cap:g}", f"{spent:g}")

    def _persons_counted(self) -> None:
        """Refuse several rows of a person where the noise is not priced for all of them together."""
        most, learning = self.data.most_rows, self.learning
        if most > 1 and learning.trains_by.one_by_one:
            where = f"learning.algorithm = {show(learning.algorithm)}, which picks single records"
        elif most > 1 and learning.accounting == "printed":
            where = 'learning.accounting = "printed", noise as published for single records'
        elif most > 1 and self.owners.report:
            where = f"owners.report = {self.owners.report:g}, a loss report that counts single records"
        else:
            return
        raise InputError("data.rows_per_person", f"must be 1 with {where}", most)

    def _apart_unions(self) -> None:
        """Refuse unions that cannot act as one, or cannot be told apart."""
        if self.unions and self.market.activation != "sequential":
            rule, found = 'must be "sequential" with unions, whose members move at once', show(self.market.activation)
            raise InputError("market.activation", rule, found, "Leave it out.")
        seen: dict[str, str] = {}
        for union in map(made, self.unions or ()):
            if union.name in seen.values():
                raise InputError("unions.name", "must differ from union to union", show(union.name))
            for member in union.members:
                if member in seen:
                    found = f"{show(member)} in {show(seen[member])} and {show(union.name)}"
                    raise InputError("unions.members", "must be in one union each", found)
                seen[member] = union.name

    def _contested(self) -> None:
        """Refuse what is not known of markets with several learners."""
        if not self.learners:
            return
        names = [FIRST, *(one.name for one in self.learners)]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            found = f"{show(twice)} twice" if twice != FIRST else f"{show(FIRST)}, the name of the one in [learner]"
            raise InputError("learners.name", "must differ from learner to learner", found)
        if self.market.activation not in CONTESTED:
            rule = f"must be {either(CONTESTED)} with several learners"
            raise InputError("market.activation", rule, show(self.market.activation))
        policies = [self.policy, *(one.policy for one in self.learners if one.policy)]
        together_refused = (
            ("unions", bool(self.unions), "whose owners choose for themselves how to divide their budgets"),
            (
                "owners.benefit",
                bool(np.any(self.owners.listed().benefit)),
                "of whose models owners have one use, not two",
            ),
            ("owners.report", self.owners.report > 0, "who would each ask for one"),
            ("owners.cost_at", self.owners.cost_at != "sold", "whose noise adds up in ways that no claim counts"),
            ("policy.kind", any(one.kind == "user" for one in policies), "of which it would have to see each apart"),
        )
        for key, given, why in together_refused:
            if given:
                raise InputError(
                    key, f"must be left out with several learners, {why}", "it", "Leave it out, or [[learners]]."
                )

    def _in_common(self) -> None:
        """Refuse what is not known of markets whose owners have something in common."""
        if self.externalities is None:
            return
        whole = not getattr(KINDS["policy"][self.policy.kind], "additive", False)
        refused = (
            ("unions", bool(self.unions), "unions", "which are settled for owners with nothing in common"),
            ("learners", bool(self.learners), "[[learners]]", "of whom each would be told something else"),
            ("policy.kind", whole, show(self.policy.kind), "whose payments settle whole profiles of budgets"),
        )
        for key, given, found, why in refused:
            if given:
                rule = f"must be left out with [externalities], {why}"
                raise InputError(key, rule, found, "Leave one of them out.")

    def _given_to_all(self) -> None:
        """Refuse a public good that nobody wants, or that is not known to be one in such a market."""
        if self.owners.model_goes_to != "all":
            return
        if not self.owners.wants_model:
            rule = 'needs owners.benefit: with "all", owners enjoy the model whether they sell or not'
            raise InputError("owners.model_goes_to", rule, "no benefit", "Set owners.benefit, or leave it out.")
        if self.externalities is not None or self.market.participation == "free":
            which = "[externalities]" if self.externalities is not None else 'market.participation = "free"'
            raise InputError("owners.model_goes_to", f'must be "sellers" with {which}', show("all"), "Leave one out.")

    def _may_leave(self) -> None:
        """Refuse what is not known of markets that owners may leave."""
        for key in ("unions", "learners", "externalities"):
            if self.market.participation == "free" and getattr(self, key):
                rule = f'must be "bound" with [{key}], which are settled for owners who stay'
                raise InputError("market.participation", rule, show("free"), "Leave one of them out.")

    def _known_members(self, names: Sequence[str]) -> None:
        for member in (member for union in self.unions or () for member in union.members):
            if member not in names:
                remedy = nearest(member, list(map(str, names)))
                raise InputError("unions.members", "must name owners", show(member), remedy)

    def in_order_of(self, names: Sequence[str], left_out: Sequence[str] = ()) -> Scenario:
        """The same scenario with everything that has one value per owner in the order of the owners.

        Parameters
        ----------
        names : names of the owners, in the order of the market.
        left_out : names of owners with too few records, which tables may give values for.

        Raises
        ------
        InputErrors
            Where a list has not one entry per owner, a table not one for each name, or a name is nobody's.
        """
        tables: dict[str, Any] = {}

        def listed(path: str, section: Any, *seed: int) -> None:
            tables[path] = section.listed(names, path, left_out, *seed)

        def ticking() -> None:
            tables["clocks"] = self.learning.clocks and self.learning.ticks(names, left_out)

        rivals = self.learners or ()
        together(
            *(
                partial(listed, f"learners.{i}.policy", rival.policy)
                for i, rival in enumerate(rivals, 1)
                if rival.policy is not None
            ),
            partial(listed, "owners", self.owners),
            partial(listed, "owners.cost", self.owners.cost, self.seed),
            partial(listed, "policy", self.policy),
            partial(self.learning.groups, names),
            partial(self._known_members, names),
            lambda: self.externalities and self.externalities.of(len(names)),
            ticking,
            partial(self._overlapping, len(names)),
        )
        owners = tables["owners"].model_copy(update={"cost": tables["owners.cost"]})
        learning = self.learning.model_copy(update={"clocks": tables["clocks"]})
        made = tuple(
            rival.model_copy(update={"policy": tables.get(f"learners.{i}.policy")}) for i, rival in enumerate(rivals, 1)
        )
        changes = {"owners": owners, "learning": learning, "policy": tables["policy"], "learners": made or None}
        return self.model_copy(update=changes)

    def _overlapping(self, n_owners: int) -> None:
        if self.learning.overlap > n_owners:
            rule = f"must be at most {n_owners}, the owners that a record can sit with"
            raise InputError("learning.overlap", rule, f"{self.learning.overlap}")

    def to_toml(self, *, absolute: bool = False) -> str:
        """The scenario as TOML, every default spelled out; loaded from the same folder it gives an equal one.

        With ``absolute``, the files that it names are named absolutely, so that the text works from any folder.
        """
        tables = self.model_dump()
        for table, key in (("data", "path"), ("policy", "file")):
            if absolute and tables[table].get(key):
                tables[table][key] = str(self.locate(tables[table][key]))
        return "\n".join(toml_lines(tables)).strip() + "\n"


def home_expanded(file: str | Path) -> Path:
    """A path with "~" written out; as it is where there is no such user, whom Path.expanduser would fail on."""
    return Path(os.path.expanduser(file))


def sha256(scenario: Scenario) -> str:
    """SHA-256, in hexadecimal, of the resolved scenario text."""
    return hashlib.sha256(scenario.to_toml().encode()).hexdigest()
