"""Tables of the comparison: the same rows and public facts for every learner."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.encoded import feature_bound
from learning.randomness import Streams
from reproduction.intervals import draw_records
from scenarios.schema.loading import ScenarioFile
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData, row_shuffler
from scenarios.tables.paths import bundled_table

Records = tuple[Array, Array]
Predict = Callable[[Array], Array]
TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "tables.toml").read_text(encoding="utf-8")
)
OWNERS = 3
GENERATED = "generated"
WIDTH = 8  # columns of the generated table
HELD = 4000  # rows of it that are held out
MARKET: dict[str, Any] = {
    "owners": {"epsilon": [0.1, 8.0], "cost": {"kind": "linear", "price": 1e-4}},
    "policy": {"kind": "proportional", "budget": 1000.0},
    "learner": {"value": 1e6},
    "validation": {"runs": 2},
    "market": {"starts": 1},
}


@dataclass(frozen=True)
class Rows:
    """Records of the owners, public rows, and rows that nobody trains on.

    Each is columns (n, p), the last of them the constant 1, and targets (n,): numbers about a
    public centre, or labels -1 and +1.

    Parameters
    ----------
    owners : the private records of each owner.
    public : the rows that everybody may see.
    held : the rows that errors are measured on.
    ends : public range of the target.
    labels : True if targets are labels.
    reach : array (p,), public bound on the size of each column, which no record exceeds.
    """

    owners: tuple[Records, ...] = field(repr=False)
    public: Records = field(repr=False)
    held: Records = field(repr=False)
    ends: tuple[float, float]
    labels: bool
    reach: Array = field(repr=False)

    @cached_property
    def pooled(self) -> Records:
        """Records of all owners, as one party would hold them."""
        x, y = (np.concatenate(part) for part in zip(*self.owners, strict=True))
        return x, y

    def measure(self, predict: Predict) -> tuple[float, float]:
        """Measure the error on held-out rows, and for labels the area under the ROC curve.

        The error of numbers is the root mean squared one, with predictions held to the public
        range; that of labels is the percentage that is wrong.
        """
        x, y = self.held
        found = np.nan_to_num(np.asarray(predict(x), dtype=float))
        if not self.labels:
            return float(np.sqrt(np.mean((np.clip(found, *self.ends) - y) ** 2))), np.nan
        return float(100 * np.mean((found >= 0) != (y > 0))), area_under_curve(found, y)


def area_under_curve(scores: Array, labels: Array) -> float:
    """Share of pairs of unlike labels that scores put in order; ties count half.

    >>> area_under_curve(np.array([1.0, 2.0, 2.0, 3.0]), np.array([-1, -1, 1, 1]))
    0.875
    """
    ranks = scipy.stats.rankdata(scores)
    high = labels > 0
    count = int(high.sum())
    least = count * (count + 1) / 2
    return float((ranks[high].sum() - least) / (count * (len(labels) - count)))


def lacking_file(name: str, data: Path | None) -> str | None:
    """Published file that a table lacks; None where it can be opened."""
    path = TABLES[name]["data"].get("path")
    if path is None or name == GENERATED or (data is not None and (data / path).is_file()):
        return None
    return str(path)


@contextmanager
def open_table(name: str, seed: int, data: Path | None, **learning: Any) -> Iterator[Scenario]:
    """Open the market of a table, its rows shuffled by the seed, with keys of [learning]."""
    facts = TABLES[name]
    trust = learning.pop("trust", None)
    loss = {}
    if facts.get("labels"):  # the penalty that the rivals' packages have by default, C = 1
        loss = {"loss": "logistic", "regularisation": 1 / facts["owners"]}
    raw = {
        "title": name,
        "seed": seed,
        "data": {
            **facts["data"],
            "target": facts["target"],
            "split": [facts["owners"] // OWNERS] * OWNERS,
            "public_rows": facts["public"],
            "holdout": "rest",
        },
        "learning": {**loss, **learning},
        **({"trust": trust} if trust else {}),
        **MARKET,
    }
    with TemporaryDirectory() as folder:
        place = data or Path(folder)
        if name == GENERATED:
            place = Path(folder)
            _write_generated(place / "generated.csv", seed, facts["owners"] + facts["public"])
        if "persons" in facts:
            raw["data"] |= {"source": None, "path": _write_persons(Path(folder), facts, seed)}
        yield ScenarioFile(name, raw, place).under()


def _write_generated(path: Path, seed: int, rows: int) -> None:
    """Write the population that a seed draws."""
    rng = Streams(seed, "reproduce").rng("beside")
    x, y = draw_records("tails", rows + HELD, WIDTH, rng)
    header = ",".join([*(f"x{i}" for i in range(WIDTH)), "y"])
    np.savetxt(path, np.column_stack([x, y]), "%.6g", ",", header=header, comments="")


def _write_persons(folder: Path, facts: dict[str, Any], seed: int) -> str:
    """Write a bundled table so that its shuffle holds out whole persons; return the file's path.

    Rows that agree in the columns ``persons`` count as one person's.
    """
    table = pd.read_csv(bundled_table(facts["data"]["source"]), dtype=str)
    person = table.groupby(facts["persons"]).ngroup().to_numpy()
    known = facts["owners"] + facts["public"]
    rng = Streams(seed, "reproduce").rng("beside", "persons")
    drawn = rng.permutation(person.max() + 1)
    ends = np.cumsum(np.bincount(person)[drawn])
    held = np.isin(person, drawn[ends <= len(table) - known])
    others = rng.permutation(np.flatnonzero(~held))[:known]
    parts = (others[: facts["owners"]], np.flatnonzero(held), others[facts["owners"] :])
    wanted = np.concatenate(parts)
    order = np.arange(len(wanted), dtype=np.int32)
    row_shuffler(seed).shuffle(order)
    placed = np.empty_like(wanted)
    placed[order] = wanted
    path = folder / "persons.csv"
    table.iloc[placed].to_csv(path, index=False)
    return str(path)


def collect_rows(data: MarketData) -> Rows:
    """Collect the rows of a market."""
    assert data.public is not None and data.holdout is not None
    return Rows(
        tuple((owner.x, owner.y) for owner in data.pooled.owners),  # type: ignore[union-attr]
        (data.public.x, data.public.y),
        (data.holdout.x, data.holdout.y),  # type: ignore[union-attr]
        data.encoder.target.ends,
        data.loss.labels,
        feature_bound(data.encoder),
    )


@dataclass(frozen=True)
class Scale:
    """Units that the public rows suggest to a rival: the tuning that is allowed to all.

    Columns are centred and, unless raw, divided by their public spread; those without any are left
    out, and the constant 1 is the last. Records longer than ``radius`` are shortened to it. The
    target is centred and divided by its public spread, and cut at ``bound``; labels are at most
    centred.

    Parameters
    ----------
    columns : numbers of the columns that are used.
    centre, spread : arrays (k,), of these columns.
    radius : a public quantile of a record's length.
    middle, unit : centre and spread of the target.
    bound : the public 99 % quantile of the target's size about ``middle``; the largest of labels.
    box : the public 1 % and 99 % quantiles of columns (2, k), in these units.
    span : those of the target.
    """

    columns: NDArray[np.intp] = field(repr=False)
    centre: Array = field(repr=False)
    spread: Array = field(repr=False)
    radius: float
    middle: float
    unit: float
    bound: float
    box: Array = field(repr=False)
    span: tuple[float, float]

    def change_columns(self, x: Array) -> Array:
        """Rows (n, k + 1) in these units, as they are predicted for."""
        changed = (x[:, self.columns] - self.centre) / self.spread
        return np.column_stack([changed, np.ones(len(x))])

    def change_records(self, records: Records) -> Records:
        """Records in these units, shortened and cut, as they are trained on."""
        x, y = records
        return shorten(self.change_columns(x), self.radius), self.change_target(y)

    def change_target(self, y: Array) -> Array:
        """Targets in these units, cut."""
        return np.clip((y - self.middle) / self.unit, -self.bound, self.bound)

    def predict_by(self, theta: Array) -> Predict:
        """Prediction of a linear model (k + 1,) in these units."""
        return lambda x: self.middle + self.unit * (self.change_columns(x) @ theta)


def shorten(x: Array, radius: float) -> Array:
    """Shorten rows longer than a radius to it."""
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return x * np.minimum(1.0, radius / np.maximum(lengths, 1e-300))


def find_scale(
    rows: Rows, shortest: float = 0.95, *, raw: bool = False, centred: bool = False
) -> Scale:
    """Find the units that the public rows suggest.

    Parameters
    ----------
    shortest : share of public rows that are not shortened.
    raw : whether columns keep the unit that they come in.
    centred : whether labels are taken about their public mean, as numbers always are.
    """
    x, y = rows.public
    spread = x[:, :-1].std(axis=0)
    columns = np.flatnonzero(spread > 1e-9)
    if raw:
        spread = np.ones_like(spread)
    centre = x[:, columns].mean(axis=0)
    changed = (x[:, columns] - centre) / spread[columns]
    lengths = np.sqrt(np.sum(changed**2, axis=1) + 1)
    middle, unit, bound = 0.0, 1.0, 1.0
    if not rows.labels:
        middle, unit = float(y.mean()), float(y.std())
        bound = float(np.quantile(abs(y - middle) / unit, 0.99))
    elif centred:
        middle = float(y.mean())
        bound = 1 + abs(middle)
    return Scale(
        columns,
        centre,
        spread[columns],
        float(np.quantile(lengths, shortest)),
        middle,
        unit,
        bound,
        np.quantile(changed, (0.01, 0.99), axis=0),
        tuple(np.quantile((y - middle) / unit, (0.01, 0.99))),
    )
