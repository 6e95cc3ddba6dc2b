"""Markets on many tables, whose owners are alike or differ: what chances of buying are tried on.

A market is named "table/arrangement" or "table/arrangement/reports". Every seed draws other records, another division,
other prices and another value of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import sklearn.datasets

from learning.randomness import Streams
from scenarios.schema.data import PUBLISHED
from scenarios.schema.loading import Scenario, load
from scenarios.tables.paths import bundled_table

OWNERS = 3
LARGEST_OWNER = 1500  # records
PUBLIC = (80, 400)  # rows of the learner, from and to
PAID = 300.0  # money, in all
WORTH = (0.7, 25.0)  # of that: what the learner's own error, p/rows at its usual size, is worth, from and to
GENERATED = ("tails", "normal", "labels", "rare")
FROM_SKLEARN = ("diabetes", "breast_cancer", "digits")
COLUMNS: dict[str, tuple[str, ...]] = {  # of tables on disk: the target, then features
    "randhie": ("mdvis", "lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg"),
    "health": ("hlthf", "mdvis", "lncoins", "lpi", "fmde", "physlm", "disea"),
    "lending_club": ("int_rate_derived", "loan_amnt", "annual_inc", "dti", "revol_util", "open_acc", "grade"),
    "rates_no_grade": ("int_rate_derived", "loan_amnt", "annual_inc", "dti", "revol_util", "open_acc", "emp_length"),
    "ny_sparcs": ("los", "Total.Charges", "APR.DRG.Code", "Gender", "deathrisk", "illseveritydesc", "age"),
    "adult": ("income", "age", "education-num", "hours-per-week", "sex", "marital-status", "capital-gain"),
    "creditcard_fraud": ("Class", "V1", "V2", "V3", "V4", "V7", "Amount"),
    "bank_marketing": ("y", "age", "campaign", "previous", "euribor3m", "contact", "marital"),
}
FILES = {
    "health": "randhie",
    "rates_no_grade": PUBLISHED["lending_club"],
    "bank_marketing": "bank_marketing/bank-additional-full.csv.gz",
}
LABELLED = ("labels", "rare", "breast_cancer", "digits", "health", "adult", "creditcard_fraud", "bank_marketing")
TABLES = (*GENERATED, *FROM_SKLEARN, *COLUMNS)
SLOPES = 0.5  # how far owners' slopes lie apart, in spreads of a feature
SCENARIO = """
title = "Varied"
seed = {seed}
[data]
path = "table.csv"
target = "target"
encoding = "integer"
missing = "fill"
public_rows = {public}
{division}
[learning]
{learning}
[owners]
epsilon = [0.1, 10.0]
report = {report}
[owners.cost]
kind = "linear"
price = {prices}
[policy]
kind = "proportional"
budget = {paid}
[learner]
value = {value}
[market]
starts = 2
[validation]
runs = 60
"""


def table_file(table: str, data: Path | None) -> Path | None:
    """The file of a table on disk; None where its folder was not given."""
    file = FILES.get(table, PUBLISHED.get(table, table))
    if file == "randhie":
        return bundled_table(file)
    return None if data is None else data / file


@contextmanager
def varied_market(market: str, seed: int, data: Path | None) -> Iterator[Scenario]:
    """The scenario of a market under a seed, beside its table in a folder of its own."""
    table, arrangement, *asked = market.split("/")
    rng = Streams(seed, "reproduce").rng(market)
    frame = _records(table, rng, data)
    public = int(np.exp(rng.uniform(*np.log(PUBLIC))))
    public = min(public, len(frame) // 4)
    total = min(len(frame) - public, OWNERS * LARGEST_OWNER)
    frame = _arranged(frame, arrangement, total + public, public, rng)
    loss = 'loss = "logistic"\nregularisation = 0.001' if table in LABELLED else 'loss = "squared"'
    width = frame.shape[1] - 1
    text = SCENARIO.format(
        seed=seed,
        public=public,
        division=_division(arrangement, total),
        learning=loss,
        report=0.05 if asked else 0.0,
        prices=(10.0 * np.exp(rng.normal(0, 0.7, OWNERS))).round(1).tolist(),
        paid=PAID,
        value=round(PAID * np.exp(rng.uniform(*np.log(WORTH))) * public / width),
    )
    with TemporaryDirectory() as folder:
        frame.to_csv(Path(folder) / "table.csv", index=False)
        (Path(folder) / "varied.toml").write_text(text)
        yield load(Path(folder) / "varied.toml")


def _division(arrangement: str, total: int) -> str:
    if arrangement in ("named", "slopes"):
        return 'owner = "owner"'
    order = "shuffled" if arrangement == "alike" else "as_is"
    return f'split = {[total // OWNERS] * OWNERS}\norder = "{order}"'


def _arranged(frame: pd.DataFrame, arrangement: str, rows: int, public: int, rng: np.random.Generator) -> pd.DataFrame:
    """So many rows of a table in the order that divides them; the last are the learner's.

    "alike" and "file": as they come in the file. Else by one feature's size, of which owners have a third each: "named",
    in a column; "sorted", with the learner's rows at an end; "mixed", with the learner's rows from all of it. "slopes":
    named at random, and the target follows features with the owner's own slopes.
    """
    some = np.sort(rng.choice(len(frame), rows, replace=False))
    frame = frame.iloc[some].reset_index(drop=True)
    if arrangement in ("alike", "file"):
        return frame
    features = [name for name in frame.columns if name != "target" and frame[name].nunique() > 2]
    if arrangement == "slopes":
        owner = rng.integers(OWNERS, size=rows)
        x = frame[features].to_numpy()
        own = rng.normal(scale=SLOPES, size=(OWNERS, len(features)))[owner]
        added = np.sum((x - x.mean(axis=0)) / x.std(axis=0) * own, axis=1)
        named = [f"owner {one + 1}" for one in owner]
        return frame.assign(target=(frame.target + added).round(4), owner=named)
    column = frame[str(rng.choice(features))]
    rank = column.rank(method="first", ascending=bool(rng.random() < 0.5)).to_numpy()
    if arrangement == "named":
        return frame.assign(owner=[f"owner {int(one)}" for one in np.ceil(rank / rows * OWNERS)])
    order = np.argsort(rank)
    if arrangement == "mixed":
        own = np.sort(rng.choice(rows, public, replace=False))
        order = np.concatenate([np.delete(order, own), order[own]])
    return frame.iloc[order]


def _records(table: str, rng: np.random.Generator, data: Path | None) -> pd.DataFrame:
    """All records of a table, or those that a seed generates, in their order, with the column `target`."""
    if table in GENERATED:
        return _generated(table, rng)
    if table in FROM_SKLEARN:
        found = getattr(sklearn.datasets, f"load_{table}")()
        width = 6 if table == "digits" else 10
        widest = np.sort(np.argsort(-found.data.std(axis=0))[:width])
        frame = pd.DataFrame(found.data[:, widest]).add_prefix("x")
        return frame.assign(target=found.target >= 5 if table == "digits" else found.target)
    target, *features = COLUMNS[table]
    file = table_file(table, data)
    assert file is not None
    frame = pd.read_csv(file, usecols=[target, *features], sep=";" if table == "bank_marketing" else ",")
    return frame.rename(columns={target: "target"}).dropna()


def _generated(table: str, rng: np.random.Generator) -> pd.DataFrame:
    """Another population for each seed: skewed or correlated inputs, heavy tails or labels, the rarer one in ten."""
    rows, width = OWNERS * LARGEST_OWNER + PUBLIC[1], 6
    x = rng.normal(size=(rows, width)) @ rng.normal(size=(width, width))
    if table == "tails":
        x = rng.lognormal(sigma=0.5, size=(rows, width))
    score = x @ rng.normal(size=width) / np.sqrt(width)
    if table in LABELLED:
        score = score / score.std() * 1.5
        y = score + rng.logistic(size=rows) > np.quantile(score, 0.9 if table == "rare" else 0.5)
    else:
        y = score + (rng.standard_t(4, size=rows) if table == "tails" else rng.normal(size=rows))
    bend = 0.3 * (x[:, 0] / x[:, 0].std()) ** 2 * (table not in LABELLED)
    return pd.DataFrame(x.round(4)).add_prefix("x").assign(target=y if table in LABELLED else (y + bend).round(4))
