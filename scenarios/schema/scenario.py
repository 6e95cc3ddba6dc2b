"""The scenario file as frozen models: every key, its rule and its default."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from pydantic import Field, PrivateAttr, model_validator

from learning.errors import InputError, together
from learning.losses.losses import LOSSES
from learning.privacy.mechanisms import BEST, kinds_of
from learning.privacy.shared_noise import LOCAL, Trust
from learning.training.algorithms import ALGORITHMS
from learning.training.conduct import HONEST
from market.analysis.deterrence import Audit
from market.analysis.unions import Union
from market.externalities.spillover import Externalities
from scenarios.schema.behaviours import check_behaviours, check_named
from scenarios.schema.data import Data
from scenarios.schema.fields import (
    OPTIMAL,
    ColumnLabels,
    Section,
    ShortText,
    either,
    nearest,
    show,
)
from scenarios.schema.kinds import KINDS, declared, each, each_named, made, named
from scenarios.schema.learning import Learning
from scenarios.schema.market import FIRST, Learner, Market, Owners, Regulation, Rival, Validation
from scenarios.schema.network import Network, check_network
from scenarios.schema.pricing import check_pricing
from scenarios.schema.time import Time, check_repeats
from scenarios.schema.toml import toml_lines
from scenarios.schema.worth import LABELLED, Benefit

NAMING_FILES = ("data.path", "policy.file", "network.trade.path", "network.sight.path")  # keys that do
CONTESTED = ("sequential", "simultaneous")  # how owners may move who divide their budgets among several learners


class Scenario(Section):
    """A market as written in a scenario file, every default filled in.

    ``folder`` is the folder relative paths in it resolve against; it is no key of the file.
    """

    title: str = ""
    """The title of the report."""
    currency: ShortText | None = None
    """What money is counted in, such as "EUR", beside every amount; plain numbers without."""
    seed: Annotated[int, Ge(0), Le(10**15)] = 0
    """What every random draw follows from: the same seed, the same bytes on one kind of processor."""
    data: Data = Field(description="Add a table [data] with its source and target.")
    learning: Learning = Learning()
    trust: Annotated[Any, declared(Trust)] | None = None
    owners: Owners = Field(description="Add a table [owners] with epsilon and [owners.cost].")
    policy: Annotated[Any, named("policy")] = Field(description="Add a table [policy] with its kind.")
    learner: Learner = Field(description="Add a table [learner] with its value.")
    behaviours: Annotated[Any, each_named("behaviours")] = None
    audit: Annotated[Any, declared(Audit)] | None = None
    unions: Annotated[Any, each(Union, "unions")] = None
    learners: Annotated[Any, each(Rival, "learners")] = None
    externalities: Annotated[Any, declared(Externalities)] | None = None
    network: Network | None = None
    regulation: Regulation = Regulation()
    market: Market = Market()
    time: Time | None = None
    validation: Validation = Validation()
    labels: ColumnLabels = Field(default_factory=dict)
    """What columns are called in reports, each ``column = "Name, unit"``, or without unit; as in the table unless given."""
    _folder: Path = PrivateAttr(default_factory=Path.cwd)
    _data_folder: Path | None = PrivateAttr(default=None)
    _allow_code: bool = PrivateAttr(default=False)
    _left_out: tuple[str, ...] = PrivateAttr(default=())

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

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of owners with too few records for the market, once its data is known."""
        return self._left_out

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
        self._bound_given()
        self._trusted()
        self._persons_counted()
        self._apart_unions()
        self._contested()
        self._in_common()
        self._may_leave()
        check_behaviours(self)
        check_network(self)
        check_pricing(self)
        self._given_to_all()
        self._compared()
        if self.time is not None:
            check_repeats(self)
        if self.data.split is not None:
            self.in_order_of(self.data.names or tuple(f"owner {i + 1}" for i in range(len(self.data.split))))
        return self

    def _compared(self) -> None:
        """Refuse baselines where who is asked is drawn by lot, and where there is more than one training."""
        if not self.validation.baselines:
            return
        algorithms = [one.trains_by for one in self.learning.decided]
        if any(one.asks_at_random or not one.takes_steps for one in algorithms):
            able = [name for name, one in ALGORITHMS.items() if one.takes_steps and not one.asks_at_random]
            where = f"goes with algorithm = {either(able)}"
            raise InputError(
                "validation.baselines", where, f"algorithm {show(self.learning.algorithm)}", "Leave it out."
            )
        if self.learners or self.time is not None:
            found = "[[learners]]" if self.learners else "[time]"
            raise InputError("validation.baselines", "goes with one learner and one period", found, "Leave it out.")

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

    def _bound_given(self) -> None:
        """Refuse a given bound on gradients where budgets are counted as what holds of the records."""
        refused = (
            (
                "owners.cost_at",
                self.owners.cost_at != "sold",
                "owners would count their cost on what may not be bounded",
            ),
            ("owners.report", self.owners.report > 0, "the report would add to what may not be bounded"),
            ("time", self.time is not None, "budgets over all periods would be counted as sold"),
        )
        for key, given, why in refused:
            if given and self.learning.gradient_bound is not None:
                raise InputError(
                    key, f"must be left out with learning.gradient_bound: {why}", "it", "Leave out either."
                )

    @property
    def ways(self) -> tuple[Learning, ...]:
        """The ways to train that are left open, all decided; where only sums of answers are seen, those that need no more."""
        decided = self.learning.decided
        return tuple(one for one in decided if one.trains_by.sums_answers) if self.trusts.secure else decided

    @property
    def trusts(self) -> Trust:
        """Whom owners trust with their answers."""
        return self.trust or LOCAL

    def _trusted(self) -> None:
        """Refuse what rests on single answers, or is not known of noise that owners make together."""
        learning = self.learning
        if not self.trusts.secure:
            if self.owners.cost.fears not in (None, "learner"):
                rule = 'goes with trust.aggregation = "secure": else the learner, who sees every answer, sees most'
                raise InputError("owners.cost.fears", rule, show(self.owners.cost.fears), "Leave it out.")
            return
        secure = f"with trust.aggregation = {show('secure')}"
        if not self.ways:
            able = [name for name, one in ALGORITHMS.items() if one.sums_answers]
            rule = f"must be {either(able)} {secure}, under which only sums of answers are seen"
            raise InputError("learning.algorithm", rule, show(learning.algorithm))
        if learning.mechanism != BEST and not any(kind.divides for kind in kinds_of(learning.mechanism)):
            raise InputError("learning.mechanism", f"must be noise that owners can divide {secure}", learning.mechanism)
        refused = (
            ("learning.aggregation", not learning.combines.sums, "which shows no single answer"),
            ("learning.accounting", learning.accounting == "printed", "noise as published is each owner's own"),
            ("learning.overlap", learning.overlap > 1, "a record with several owners moves one sum several times"),
            ("learning.gradient_bound", learning.gradient_bound is not None, "of which it is not known what holds"),
            ("owners.report", self.owners.report > 0, "a report is an answer that the learner sees by itself"),
            ("owners.cost_at", self.owners.cost_at != "sold", "whose claims owners.cost.fears names"),
            ("validation.baselines", bool(self.validation.baselines), "which are trained on answers seen one by one"),
            ("behaviours", self._dishonest(), "of whom nobody knows yet what becomes of the others' noise"),
            ("learners", bool(self.learners), "each of whom would need noise of its own"),
            ("time", self.time is not None, "over which it is not counted yet"),
        )
        for key, given, why in refused:
            if given:
                raise InputError(key, f"must be left out {secure}: {why}", "it", "Leave it out.")

    def _dishonest(self) -> bool:
        """Whether any owners answer otherwise than they sold."""
        return any(made(one).conduct != HONEST for one in self.behaviours or ())

    def _persons_counted(self) -> None:
        """Refuse several rows of a person where the noise is not priced for all of them together."""
        most, learning = self.data.most_rows, self.learning
        if most > 1 and learning.one_by_one:
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
            ("audit", self.audit is not None, "whose owners are taken for honest"),
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
            partial(check_named, self.behaviours, names, self.seed),
            lambda: self.externalities and self.externalities.of(len(names)),
            lambda: self.time and self.time.joins(names),
            *([partial(listed, "time", self.time)] if self.time else []),
            ticking,
            partial(self._overlapping, len(names)),
        )
        owners = tables["owners"].model_copy(update={"cost": tables["owners.cost"]})
        learning = self.learning.model_copy(update={"clocks": tables["clocks"]})
        made = tuple(
            rival.model_copy(update={"policy": tables.get(f"learners.{i}.policy")}) for i, rival in enumerate(rivals, 1)
        )
        changes = {"owners": owners, "learning": learning, "policy": tables["policy"], "learners": made or None}
        made_in_order = self.model_copy(update=changes | ({"time": tables["time"]} if self.time else {}))
        made_in_order._left_out = tuple(left_out)
        return made_in_order

    def _overlapping(self, n_owners: int) -> None:
        if self.learning.overlap > n_owners:
            rule = f"must be at most {n_owners}, the owners that a record can sit with"
            raise InputError("learning.overlap", rule, f"{self.learning.overlap}")

    def to_toml(self, *, absolute: bool = False) -> str:
        """The scenario as TOML, every default spelled out; loaded from the same folder it gives an equal one.

        With ``absolute``, the files that it names are named absolutely, so that the text works from any folder.
        """
        tables = self.model_dump()
        for place in NAMING_FILES if absolute else ():
            *path, key = place.split(".")
            table: Any = tables
            for name in path:
                table = (table or {}).get(name)
            if (table or {}).get(key):
                table[key] = str(self.locate(table[key]))
        return "\n".join(toml_lines(tables)).strip() + "\n"


def home_expanded(file: str | Path) -> Path:
    """A path with "~" written out; as it is where there is no such user, whom Path.expanduser would fail on."""
    return Path(os.path.expanduser(file))


def sha256(scenario: Scenario) -> str:
    """SHA-256, in hexadecimal, of the resolved scenario text."""
    return hashlib.sha256(scenario.to_toml().encode()).hexdigest()
