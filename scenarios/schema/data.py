"""The [data] table: the records, their owners, and which of them are public."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from annotated_types import Ge, Lt
from pydantic import Field, model_validator

from learning.collected_errors import collect_errors
from learning.data.rows import unit_of_privacy
from learning.declaration import Count, CountOrZero, Words
from learning.errors import InputError
from learning.phrases import format_value
from scenarios.schema.fields import (
    ColumnNames,
    Label,
    Labels,
    Names,
    Ranges,
    Section,
    Sizes,
    Text,
    one_known,
)

DATA_VARIABLE = "DPMARKET_DATA"
# Published tables that do not come with the program: where each lies inside a folder that the user
# has.
PUBLISHED: dict[str, str] = {
    "creditcard_fraud": "creditcard_fraud/creditcard_all_frauds.csv.gz",
    "adult": "adult/adult_train.csv.gz",
    "bank_marketing": "bank_marketing/bank-additional-full.csv.gz",
    "breast_cancer": "breast_cancer_wisconsin/breast-cancer-wisconsin.csv.gz",
    "ny_sparcs": "ny_sparcs/sparcs_2020_musculoskeletal.csv.gz",
    "lending_club": "lending_club/loans_2007_2014.csv.gz",
}
WORKERS = 'a whole number of at least 1, or an address such as "tcp://node:8786"'
Share = Annotated[float, Ge(0), Lt(1), Words("a number from 0 to below 1")]


class Data(Section):
    """The table, the target, and the rows of each owner."""

    source: Annotated[str, one_known(lambda: ("randhie", *PUBLISHED))] | None = None
    """A table that the program knows: `randhie` comes along, the others are looked for in the
    folder of `--data`."""
    path: Text | None = None
    """The user's table, from the scenario's folder: CSV (any delimiter, gzipped or not), Parquet or
    a folder of its parts."""
    target: Text = Field(description="Name the column to predict.")
    """The column to predict."""
    more_targets: ColumnNames | None = None
    """Further columns of numbers to predict from the same features, each by a model of its own.
    Every owner gives one answer for all targets, under one budget. Errors are added up in units of
    each target's standard deviation in the public rows."""
    labels: Labels | None = None
    """The target's two values, the second coded as +1; those of the public rows unless given."""
    positive: Label | None = None
    """Of the target's two values, the one coded as +1."""
    features: ColumnNames | None = None
    """The columns to predict from; every other column unless given."""
    split: Sizes | None = None
    """The rows of each owner, one after another in the table's order after `order`; or give
    `owner`."""
    owner: Text | None = None
    """The column that names each row's owner; or give `split`. Under `owners.records` it may say
    of the learner's own rows whose kind each is of."""
    names: Names | None = None
    """The owners' names, with `split`."""
    public_rows: CountOrZero | Literal["all"] = 0
    """The last rows, so many, are the learner's own: start, scale, encoding, forecast and outside
    option come from them. Under `owners.records` every row is, unless a number is given."""
    check_rows: CountOrZero = 0
    """Public rows before those, kept aside: the learner tries the trained model on them."""
    order: Literal["shuffled", "as_is"] = "shuffled"
    """Whether rows are shuffled by the seed before they are divided; as they are, owners may differ
    in kind. Under `owners.records` nothing is shuffled: `shuffled` then states that the learner's
    rows are as random a sample as if it had been."""
    min_records: Count = 1
    """Owners with fewer records are left out, and listed."""
    missing: Literal["error", "drop", "fill"] = "error"
    """Treatment of public rows with missing cells. A private cell that is missing, or that the
    public rows do not know, is always filled from them: an owner's dropped row would show in the
    number of its records."""
    encoding: Literal["onehot", "integer"] = "onehot"
    """Encoding of categories: one column for each category that at least three public rows show,
    with the others joined, or one whole number."""
    components: Count | None = None
    """Principal components of the public rows to keep in place of the columns."""
    holdout: Literal["rest"] | Share = 0.0
    """The share of rows that nobody trains on, to try the model on; `rest`: those that `split`
    leaves over."""
    bounds: Ranges = Field(default_factory=dict)
    """Public ranges of columns and target, such as `age = [0, 120]`. Those of the public rows
    unless given. Those of columns are three times as wide where halves of the public rows predict
    one another better so, but never under `protocol = "published"`."""
    unit: Text = "one record"
    """A remark that says in words what one record is. It changes no guarantee: the unit is one
    record, or one person under `person`."""
    person: Text | None = None
    """The column that says whose each row is, where one person may have several: privacy is then
    promised to the person, with all its rows at an owner, who keeps at most `rows_per_person` of
    them and leaves the rest out."""
    rows_per_person: Count | None = None
    """The most rows of one person that an owner keeps; 1 unless given."""

    workers: Annotated[Count | Text, Words(WORKERS)] | None = None
    """Dask workers that sum up a table of Parquet, partition by partition, under squared loss: how
    many to start on this machine, or the address of a scheduler. Results do not depend on them;
    `best` compares with them only ways to train that need sums alone."""

    @model_validator(mode="after")
    def _check_consistent(self) -> Data:
        collect_errors(
            partial(self._exactly_one, "source", "path", "one table"),
            self._check_names,
            partial(self.check_kept, alone=True),
            self._check_roles,
        )
        return self

    def _check_names(self) -> None:
        count = len(self.split or ())
        if self.names is not None and self.split is None:
            rule = "needs data.split; with data.owner, the names are the column's values"
            raise InputError("data.names", rule, format_value(self.names))
        if self.names is not None and len(self.names) != count:
            rule = f"must name as many owners as split has sizes, {count}"
            raise InputError("data.names", rule, f"{len(self.names)} names")

    def check_kept(self, *, alone: bool = False) -> None:
        """Refuse a single check row and, unless ``alone``, check rows without public rows."""
        if self.check_rows == 1 or (self.check_rows and not self.public_rows and not alone):
            why = "whose model is tried on them too"
            rule = f"must be 0, or at least 2 in addition to data.public_rows, {why}"
            found = f"{self.check_rows} beside {self.public_rows} public rows"
            raise InputError("data.check_rows", rule, found)

    def _check_roles(self) -> None:
        if self.owner in self.targets:
            raise InputError("data.owner", "must differ from target", format_value(self.owner))
        if len(set(self.targets)) < len(self.targets):
            rule = "must name columns once each, and others than target"
            raise InputError("data.more_targets", rule, format_value(list(self.more_targets or ())))
        self._check_persons()
        for column in self.more_targets or ():
            if column in (self.features or ()):
                rule = "must not contain a column of more_targets"
                raise InputError("data.features", rule, format_value(column))
        for role in ("target", "owner", "person"):
            column = getattr(self, role)
            if column in (self.features or ()):
                rule = f"must not contain the {role} column"
                raise InputError("data.features", rule, format_value(column))

    def _check_persons(self) -> None:
        rows = self.rows_per_person
        if self.person is None:
            if rows is not None:
                rule = "needs data.person"
                raise InputError("data.rows_per_person", rule, rows, "Leave it out.")
            return
        if self.unit != "one record":
            rule = "must be left out with data.person, because a person is then the unit"
            raise InputError("data.unit", rule, format_value(self.unit), "Leave it out.")
        if self.person in (self.target, self.owner):
            rule = "must differ from target and owner"
            raise InputError("data.person", rule, format_value(self.person))

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns to predict."""
        return (self.target, *(self.more_targets or ()))

    @property
    def most_rows(self) -> int:
        """k, the most rows of one unit of privacy at an owner."""
        return self.rows_per_person or 1

    @property
    def promised(self) -> str:
        """The unit that privacy is promised to."""
        return unit_of_privacy(self.person is not None, self.most_rows)

    def check_owners(self) -> None:
        """Refuse data whose owners neither `split` nor `owner` names, or both."""
        self._exactly_one("split", "owner", "one way to tell the owners apart")

    def _exactly_one(self, first: str, second: str, what: str) -> None:
        given = [name for name in (first, second) if getattr(self, name) is not None]
        if len(given) != 1:
            rule = f"give exactly one of {first} and {second}: {what}"
            raise InputError(f"data.{first}", rule, " and ".join(given) or "neither")
