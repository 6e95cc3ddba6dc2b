"""Markets on many tables, whose owners are alike or differ: what chances of buying are tried on.

A market is named "table/arrangement" or "table/arrangement/reports". Every seed draws other
records, another division, other prices and another value of the model. What all have in common
stands in `varied.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import sklearn.datasets

from learning.randomness import Streams
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.tables.paths import bundled_table

OWNERS = 3
LARGEST_OWNER = 1500  # records
PUBLIC = (80, 400)  # rows of the learner, from and to
PAID = 300.0  # money, in all
WORTH = (
    0.7,
    25.0,
)  # of that: what the learner's own error, p/rows at its usual size, is worth, from and to
SLOPES = 0.5  # how far owners' slopes lie apart, in spreads of a feature
HERE = Path(__file__).parent
BUNDLED = "randhie"
ON_DISK = tomllib.loads((HERE / "varied_tables.toml").read_text())
GENERATED = ("tails", "normal", "labels", "rare")
FROM_SKLEARN = ("diabetes", "breast_cancer", "digits")
TABLES = (*GENERATED, *FROM_SKLEARN, *ON_DISK)
LABELLED = (
    "labels",
    "rare",
    "breast_cancer",
    "digits",
    *(name for name, kept in ON_DISK.items() if "labels" in kept),
)


def table_file(table: str, data: Path | None) -> Path | None:
    """Name the file of a table on disk; None where its folder was not given."""
    file = ON_DISK[table].get("file", BUNDLED)
    if file == BUNDLED:
        return bundled_table(file)
    return None if data is None else data / file


@contextmanager
def varied_market(market: str, seed: int, data: Path | None) -> Iterator[Scenario]:
    """Write a market's table to a folder of its own for as long as its scenario, under a seed, is used."""
    table, arrangement, *asked = market.split("/")
    rng = Streams(seed, "reproduce").rng(market)
    frame = _records(table, rng, data)
    public = min(int(np.exp(rng.uniform(*np.log(PUBLIC)))), len(frame) // 4)
    total = min(len(frame) - public, OWNERS * LARGEST_OWNER)
    frame = _arranged(frame, arrangement, total + public, public, rng)
    width = frame.shape[1] - 1
    prices = (10.0 * np.exp(rng.normal(0, 0.7, OWNERS))).round(1).tolist()
    value = round(PAID * np.exp(rng.uniform(*np.log(WORTH))) * public / width)
    changes = [
        f"seed={seed}",
        f"data.public_rows={public}",
        f"owners.cost.price={prices}",
        f"learner.value={value}",
    ]
    if "owner" in frame:
        changes.append("data.owner=owner")
    else:
        changes.append(f"data.split={[total // OWNERS] * OWNERS}")
    if arrangement in ("sorted", "file", "mixed"):
        changes.append("data.order=as_is")
    if table in LABELLED:
        changes += ["learning.loss=logistic", "learning.regularisation=0.001"]
    if asked:
        changes.append("owners.report=0.05")
    with TemporaryDirectory() as folder:
        frame.to_csv(Path(folder) / "table.csv", index=False)
        yield load(HERE / "varied.toml", [*changes, f"data.path={folder}/table.csv"])


def _arranged(
    frame: pd.DataFrame, arrangement: str, rows: int, public: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Take so many rows of a table in the order that divides them; the last are the learner's.

    "alike" and "file": as they come in the file. Else by one feature's size, of which owners have a
    third each: "named", in a column; "sorted", with the learner's rows at an end; "mixed", with the
    learner's rows from all of it. "slopes": named at random, and the target follows features with
    the owner's own slopes.
    """
    frame = frame.iloc[np.sort(rng.choice(len(frame), rows, replace=False))].reset_index(drop=True)
    if arrangement in ("alike", "file"):
        return frame
    features = [name for name in frame.columns if name != "target" and frame[name].nunique() > 2]
    if arrangement == "slopes":
        owner = rng.integers(OWNERS, size=rows)
        x = frame[features].to_numpy()
        own = rng.normal(scale=SLOPES, size=(OWNERS, len(features)))[owner]
        added = np.sum((x - x.mean(axis=0)) / x.std(axis=0) * own, axis=1)
        return frame.assign(
            target=(frame.target + added).round(4), owner=[f"owner {one + 1}" for one in owner]
        )
    column = frame[str(rng.choice(features))]
    rank = column.rank(method="first", ascending=bool(rng.random() < 0.5)).to_numpy()
    if arrangement == "named":
        return frame.assign(owner=[f"owner {int(one)}" for one in np.ceil(rank / rows * OWNERS)])
    order = np.argsort(rank)
    if arrangement == "mixed":
        learners = np.isin(np.arange(rows), rng.choice(rows, public, replace=False))
        order = np.concatenate([order[~learners], order[learners]])
    return frame.iloc[order]


def _records(table: str, rng: np.random.Generator, data: Path | None) -> pd.DataFrame:
    """Read all records of a table, or draw those of a generated one, in their order, with the column `target`."""
    if table in GENERATED:
        return _generated(table, rng)
    if table in FROM_SKLEARN:
        found = getattr(sklearn.datasets, f"load_{table}")()
        widest = np.sort(np.argsort(-found.data.std(axis=0))[: 6 if table == "digits" else 10])
        frame = pd.DataFrame(found.data[:, widest]).add_prefix("x")
        return frame.assign(target=found.target >= 5 if table == "digits" else found.target)
    file = table_file(table, data)
    kept = ON_DISK[table]
    assert file is not None
    columns = [kept["target"], *kept["features"]]
    frame = pd.read_csv(file, usecols=columns, sep=kept.get("separator", ","))
    return frame.rename(columns={kept["target"]: "target"}).dropna()


def _generated(table: str, rng: np.random.Generator) -> pd.DataFrame:
    """Draw another population for each seed: skewed or correlated inputs, heavy tails or labels, the rarer one in ten."""
    rows = OWNERS * LARGEST_OWNER + PUBLIC[1]
    width = 6
    x = rng.normal(size=(rows, width)) @ rng.normal(size=(width, width))
    if table == "tails":
        x = rng.lognormal(sigma=0.5, size=(rows, width))
    frame = pd.DataFrame(x.round(4)).add_prefix("x")
    score = x @ rng.normal(size=width) / np.sqrt(width)
    if table in LABELLED:
        score = score / score.std() * 1.5
        shown = score + rng.logistic(size=rows)
        return frame.assign(target=shown > np.quantile(score, 0.9 if table == "rare" else 0.5))
    noise = rng.standard_t(4, size=rows) if table == "tails" else rng.normal(size=rows)
    return frame.assign(target=(score + noise + 0.3 * (x[:, 0] / x[:, 0].std()) ** 2).round(4))
