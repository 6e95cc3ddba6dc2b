"""A published table as the papers use it: records of owners, and rows that nobody's market contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.division import Rows
from learning.data.encoding import Columns, Components, Encoder, fit_encoder
from scenarios.reproduce.item import NotPossible

Owners = NDArray[np.intp]
Records = tuple[Array, Array]


@dataclass(frozen=True)
class Table:
    """Records as the papers' owners hold them, and the public rows that fix components, ranges and scale.

    Cells outside the public ranges are clipped to them. Targets that are numbers are counted from their public mean.

    Parameters
    ----------
    name : its name in the book.
    x : (n, p), features in the order of the file; the last one is 1 where the papers' model has a constant.
    y : (n,), targets; labels are -1 and +1.
    public_x : (m, p), features of the public rows.
    public_y : (m,), their targets.
    owner : (n,), whose each record is, by number; None where owners hold consecutive rows.
    owner_names : their names.
    stand_in : whether it is generated, and no data at all.
    says : what it is, in a sentence for a figure.
    feature_bound : (p,), public bound on each feature's size.
    target_bound : public bound on the target's size.
    """

    name: str
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    public_x: Array = field(repr=False)
    public_y: Array = field(repr=False)
    owner: Owners | None = field(repr=False)
    owner_names: tuple[str, ...] = field(repr=False)
    stand_in: bool
    says: str
    feature_bound: Array = field(repr=False)
    target_bound: float

    @property
    def n_records(self) -> int:
        """Records that owners may hold, n."""
        return len(self.y)

    def slices(self, sizes: Sequence[int]) -> list[Records]:
        """Records of owners who hold consecutive rows from the first on, features (n_i, p) and targets (n_i,) of each.

        Raises
        ------
        NotPossible
            If it has not as many records.
        """
        ends = np.cumsum([0, *sizes]).tolist()
        if ends[-1] > self.n_records:
            raise NotPossible(f"{ends[-1]:,} records are needed, and {self.name} has {self.n_records:,} here")
        return [(self.x[i:j], self.y[i:j]) for i, j in zip(ends, ends[1:], strict=False)]

    def of_owners(self) -> list[Records]:
        """The records of each owner that the table names, in the order of ``owner_names``."""
        assert self.owner is not None
        order = np.argsort(self.owner, kind="stable")
        cuts = np.searchsorted(self.owner[order], np.arange(1, len(self.owner_names)))
        return [(self.x[rows], self.y[rows]) for rows in np.split(order, cuts)]


@dataclass(frozen=True)
class Cells:
    """A table as read or generated, before anything is coded.

    Parameters
    ----------
    columns : name -> (n_rows,), numbers with NaN where missing, or texts with None.
    held : rows that owners hold.
    public : rows that nobody's market contains.
    says : what it is.
    owner : (n_rows,), whose each row is, by number, or None.
    owner_names : their names.
    """

    columns: Columns = field(repr=False)
    held: Rows = field(repr=False)
    public: Rows = field(repr=False)
    says: str
    owner: Owners | None = field(default=None, repr=False)
    owner_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """How the cells of one table become records.

    Parameters
    ----------
    target : the column to predict.
    features : the columns to predict from, as far as an edition of the table has them.
    labels : whether the target is a label, -1 or +1.
    components : of the standardised public rows, that features are reduced to; None for the columns themselves.
    standardised : whether columns are counted from their public mean in public standard deviations.
    constant : whether the model has one.
    encoding : of texts: "integer", a whole number for each category, or "onehot", a column for each.
    """

    target: str
    features: tuple[str, ...]
    labels: bool = False
    components: int | None = None
    standardised: bool = False
    constant: bool = True
    encoding: str = "integer"


def made(name: str, recipe: Recipe, cells: Cells, stand_in: bool) -> Table:
    """The table of some cells, all scales from the public rows."""
    encoder = fit_encoder(
        cells.columns,
        target=recipe.target,
        features=[feature for feature in recipe.features if feature in cells.columns],
        public=cells.public,
        bounds={},
        encoding=recipe.encoding,
        components=recipe.components,
        labels=recipe.labels,
    )
    if recipe.standardised:
        encoder = _standardised(encoder, cells)
    used = slice(None) if recipe.constant else slice(-1)
    parts = [encoder.records(cells.columns, rows) for rows in (cells.held, cells.public)]
    (x, y), (public_x, public_y) = ((_kept(x[:, used]), _kept(y)) for x, y, _ in parts)
    owner = None if cells.owner is None else _kept(cells.owner[cells.held])
    bound = encoder.feature_bound[used]
    says = f"STAND-IN: {cells.says}." if stand_in else f"{cells.says}."
    return Table(name, x, y, public_x, public_y, owner, cells.owner_names, stand_in, says, bound, encoder.target.bound)


def _standardised(encoder: Encoder, cells: Cells) -> Encoder:
    """The encoder with its coded columns standardised over the public rows, within the ranges that these show."""
    raw = encoder.coded(cells.columns, cells.public)[0]
    centre, spread = raw.mean(axis=0), raw.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = (raw - centre) / spread
    axes = Components(centre, spread, np.eye(len(centre)), scaled.min(axis=0), scaled.max(axis=0))
    return replace(encoder, components=axes)


def _kept(values: Any) -> Any:
    """An array of its own that nobody can change: all items of a process share it."""
    values = np.ascontiguousarray(values)
    values.flags.writeable = False
    return values
