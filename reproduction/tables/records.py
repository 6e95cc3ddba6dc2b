"""Published table as the papers use it: records of owners, public rows, and generated stand-ins."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from learning.arrays import Array
from learning.data.division import Rows
from learning.data.encoded import feature_bound
from learning.data.encoding import Columns, Components, Encoder
from learning.data.feature_kinds import KINDS, LINEAR
from learning.data.fitting import fit_encoder
from learning.randomness import Streams
from reproduction.item import NotPossible

Kind = Callable[[Array], np.ndarray]  # standard normal values (n,) -> cells (n,)
FACTORS = 3
SHARED = 0.5  # share of a column's variance that the factors explain
SEED = 1  # of stand-ins and of orders of rows, whatever the seed of the book
SHAPES = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))


def make_numbers(
    z: Array, mean: float, spread: float, low: float = -np.inf, high: float = np.inf
) -> np.ndarray:
    """Make normal numbers within limits."""
    return np.clip(mean + spread * z, low, high)


def make_amounts(z: Array, median: float, spread: float) -> np.ndarray:
    """Make sums of money with a lognormal tail."""
    return np.round(median * np.exp(spread * z), 2)


def make_counts(
    z: Array, median: float, spread: float, low: float = 0.0, high: float = np.inf
) -> np.ndarray:
    """Make whole numbers with a heavy tail; below a median of one, most are zero."""
    return np.clip(np.floor(median * np.exp(spread * z)), low, high)


def make_grades(z: Array, median: float, spread: float, low: float, high: float) -> np.ndarray:
    """Make whole numbers within limits."""
    return np.clip(np.rint(median * np.exp(spread * z)), low, high)


def make_places(z: Array, number: int) -> np.ndarray:
    """Make texts of many categories, the first ones the commonest."""
    names = np.array([f"{place:03d}" for place in range(number)], dtype=object)
    return names[np.minimum((ndtr(z) ** 2 * number).astype(int), number - 1)]


def make_labels(z: Array, share: float) -> np.ndarray:
    """Make labels -1 and +1, a share of which are +1, the largest."""
    return np.where(z > np.quantile(z, 1 - share), 1.0, -1.0)


def make_texts(z: Array, shares: Mapping[str, float]) -> np.ndarray:
    """Make texts, each with its share of the rows."""
    names = np.array(list(shares), dtype=object)
    return names[np.searchsorted(np.cumsum(list(shares.values()))[:-1], ndtr(z))]


MAKERS: dict[str, Callable[..., np.ndarray]] = {
    "number": make_numbers,
    "amount": make_amounts,
    "count": make_counts,
    "grade": make_grades,
    "places": make_places,
    "labels": make_labels,
}


def read_kind(text: Any) -> Kind:
    """Read the kind of a column: a name with arguments, or shares of texts.

    >>> read_kind(["number", 10, 2, 0, 11])(np.array([-9.0, 0.0, 9.0]))
    array([ 0., 10., 11.])
    """
    if isinstance(text, Mapping):
        return partial(make_texts, shares=text)
    name, *arguments = text
    return lambda z: MAKERS[name](z, *arguments)


@dataclass(frozen=True)
class Shape:
    """Properties that a stand-in shares with its model.

    Parameters
    ----------
    features : name -> kind of each column.
    target : name and kind of the column to predict, a function of standard normal values that the
        features explain in part.
    explained : share of their variance that is linear in what lies behind the features.
    """

    features: Mapping[str, Kind]
    target: tuple[str, Kind]
    explained: float


def read_shape(name: str, target: str) -> Shape:
    """Shape of the stand-in of a table, from tables.toml."""
    text = SHAPES[name]["stand_in"]
    features = {column: read_kind(kind) for column, kind in text["columns"].items()}
    return Shape(features, (target, read_kind(text["target"])), text["explained"])


def generate_columns(
    name: str, shape: Shape, n_rows: int, owner: np.ndarray | None = None, unlike: float = 0.0
) -> Columns:
    """Generate the columns of a stand-in.

    Parameters
    ----------
    name : name of the table: its randomness.
    shape : its columns.
    n_rows : number of rows.
    owner : (n_rows,), owner of each row, where owners differ in kind.
    unlike : standard deviation between owners of a factor, and of the owner's own part of targets.
    """
    streams = Streams(SEED, f"stand-in {name}")
    width = len(shape.features)
    factors = streams.rng("factors").standard_normal((FACTORS, n_rows))
    own = 0.0
    if owner is not None:
        size = (FACTORS + 1, int(owner.max()) + 1)
        between = unlike * streams.rng("owners").standard_normal(size)
        factors += between[:-1, owner]
        own = between[-1, owner]
    loadings = streams.rng("loadings").standard_normal((width, FACTORS))
    loadings *= np.sqrt(SHARED / (loadings**2).sum(axis=1, keepdims=True))
    slopes = streams.rng("slopes").standard_normal((width, 1))
    common = ((loadings.T @ slopes) ** 2).sum()
    slopes /= np.sqrt(common + (1 - SHARED) * (slopes**2).sum())  # variance 1 in all
    columns: dict[str, np.ndarray] = {}
    behind = np.sqrt(1 - shape.explained) * streams.rng("target").standard_normal(n_rows) + own
    for place, (feature, make_cells) in enumerate(shape.features.items()):
        z = loadings[place] @ factors
        z += np.sqrt(1 - SHARED) * streams.rng("column", place).standard_normal(n_rows)
        behind += np.sqrt(shape.explained) * slopes[place, 0] * z
        columns[feature] = make_cells(z)
    target, make_target = shape.target
    return {**columns, target: make_target(behind)}


Owners = NDArray[np.intp]
Records = tuple[Array, Array]


@dataclass(frozen=True)
class Table:
    """Records of owners, and the public rows that fix components, ranges and scale.

    Cells outside the public ranges are clipped to them. Targets that are numbers are counted from
    their public mean.

    Parameters
    ----------
    name : its name in the book.
    x : (n, p), features in the order of the file; the last one is 1 where the papers' model has a
        constant.
    y : (n,), targets; labels are -1 and +1.
    public_x : (m, p), features of the public rows.
    public_y : (m,), their targets.
    owner : (n,), number of the owner of each record; None where owners hold consecutive rows.
    owner_names : their names.
    stand_in : True for a generated table, which is no data at all.
    says : description, in a sentence for a figure.
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

    def require_records(self, number: int) -> None:
        """Refuse a number of records that the table does not have.

        Raises
        ------
        NotPossible
        """
        if number > self.n_records:
            raise NotPossible(
                f"{number:,} records are needed, and {self.name} has {self.n_records:,} here"
            )

    def slices(self, sizes: Sequence[int]) -> list[Records]:
        """Consecutive records of each owner from the first on: features (n_i, p), targets (n_i,).

        Raises
        ------
        NotPossible
            If it has not as many records.
        """
        ends = np.cumsum([0, *sizes]).tolist()
        self.require_records(ends[-1])
        return [(self.x[i:j], self.y[i:j]) for i, j in pairwise(ends)]

    def of_owners(self) -> list[Records]:
        """The records of each owner that the table names, in the order of ``owner_names``."""
        assert self.owner is not None
        order = np.argsort(self.owner, kind="stable")
        cuts = np.searchsorted(self.owner[order], np.arange(1, len(self.owner_names)))
        return [(self.x[rows], self.y[rows]) for rows in np.split(order, cuts)]


@dataclass(frozen=True)
class Cells:
    """Table as read or generated, before it is encoded.

    Parameters
    ----------
    columns : name -> (n_rows,), numbers with NaN where missing, or texts with None.
    held : rows that owners hold.
    public : rows that no market contains.
    says : description.
    owner : (n_rows,), number of the owner of each row, or None.
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
    """Encoding of the cells of one table as records.

    Parameters
    ----------
    target : the column to predict.
    features : the columns to predict from, as far as an edition of the table has them.
    labels : True for a target of labels, -1 and +1.
    components : of the standardised public rows, that features are reduced to; None for the columns
        themselves.
    standardised : True for columns in public standard deviations from their public mean.
    constant : True for a model with a constant.
    encoding : of texts: "integer", a whole number for each category, or "onehot", a column for
        each.
    """

    target: str
    features: tuple[str, ...]
    labels: bool = False
    components: int | None = None
    standardised: bool = False
    constant: bool = True
    encoding: str = "integer"


def split_last(columns: Columns, rows: Rows, public: int, says: str) -> Cells:
    """Cells of a table whose last rows, in some order, are public."""
    return Cells(columns, rows[:-public], rows[-public:], says)


def encode_table(name: str, recipe: Recipe, cells: Cells, stand_in: bool) -> Table:
    """Encode cells as a table, all scales from the public rows."""
    encoder = fit_encoder(
        cells.columns,
        target=recipe.target,
        features=[feature for feature in recipe.features if feature in cells.columns],
        public=cells.public,
        bounds={},
        components=recipe.components,
        labels=recipe.labels,
        kind=replace(KINDS[LINEAR], encoding=recipe.encoding),
    )
    if recipe.standardised:
        encoder = _standardise(encoder, cells)
    used = slice(None) if recipe.constant else slice(-1)
    x, y, _ = encoder.records(cells.columns, cells.held)
    public_x, public_y, _ = encoder.records(cells.columns, cells.public)
    owner = None if cells.owner is None else _freeze(cells.owner[cells.held])
    says = f"STAND-IN: {cells.says}." if stand_in else f"{cells.says}."
    return Table(
        name,
        _freeze(x[:, used]),
        _freeze(y),
        _freeze(public_x[:, used]),
        _freeze(public_y),
        owner,
        cells.owner_names,
        stand_in,
        says,
        feature_bound(encoder)[used],
        encoder.target.bound,
    )


def _standardise(encoder: Encoder, cells: Cells) -> Encoder:
    """Standardise the coded columns over the public rows, within the ranges of these."""
    raw = encoder.code_columns(cells.columns, cells.public)[0]
    centre = raw.mean(axis=0)
    spread = raw.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = (raw - centre) / spread
    axes = Components(centre, spread, np.eye(len(centre)), scaled.min(axis=0), scaled.max(axis=0))
    return replace(encoder, components=axes)


def _freeze(values: Any) -> Any:
    """Copy an array and make it read-only, since all items of a process share it."""
    values = np.ascontiguousarray(values)
    values.flags.writeable = False
    return values
