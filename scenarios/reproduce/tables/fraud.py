"""Card payments of two days in September 2013: is one a fraud (VC IV-B, AS V-C)? And as many others as frauds, for WD.

V1 to V28 are the publisher's components; with the amount and a constant they are the papers' features. Each is scaled from
its public range to [-1, 1]: unscaled, the amount alone would set the noise of all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learning.data.encoding import Columns
from learning.randomness import Streams
from scenarios.reproduce.item import NotPossible, Setting
from scenarios.reproduce.tables import files
from scenarios.reproduce.tables.generated import SEED, Shape, amount, generated, labels, number
from scenarios.reproduce.tables.records import Cells, Recipe

SUBSET, WHOLE_FILE = "creditcard_all_frauds.csv", "creditcard.csv"
TARGET = "Class"
COMPONENTS = tuple(f"V{place}" for place in range(1, 29))
RECIPE = Recipe(TARGET, (*COMPONENTS, "Amount"), labels=True)
BALANCED = Recipe(TARGET, (*COMPONENTS, "Amount"), labels=True, standardised=True)
PUBLIC, SUBSET_PUBLIC, BALANCED_PUBLIC = 10_000, 1_000, 98
WHOLE, QUICK = 284_807, 60_000
FRAUDS = 492
SPREAD = np.linspace(2.0, 0.4, len(COMPONENTS))  # of V1 to V28, in falling order
SHAPE = Shape(
    {
        **{name: number(0, float(spread)) for name, spread in zip(COMPONENTS, SPREAD, strict=True)},
        "Amount": amount(22, 1.6),
    },
    (TARGET, labels(0.00172)),
    explained=0.6,
)


def read(data: Path) -> Cells | None:
    """The payments in a folder, or None; those of the subset in a fixed random order, since it is put together from parts."""
    found = _payments(data)
    if found is None:
        return None
    columns, whole = found
    count = len(columns[TARGET])
    rows = np.arange(count) if whole else Streams(SEED, "fraud").rng("order").permutation(count)
    public = PUBLIC if whole else SUBSET_PUBLIC
    frauds = int((columns[TARGET] > 0).sum())
    order = "in the file's order" if whole else "in random order"
    says = f"{count:,} card payments, {frauds} of them frauds, {order} (the papers: 284,807 and 492)"
    return Cells(columns, rows[:-public], rows[-public:], says)


def balanced(data: Path) -> Cells | None:
    """All frauds of a folder and as many other payments, drawn and ordered at random, or None."""
    found = _payments(data)
    return None if found is None else _balanced(found[0], "card payments, half of them frauds (the paper: 984)")


def stand_in(setting: Setting) -> Cells:
    """Generated payments."""
    rows = np.arange(QUICK if setting.quick else WHOLE)
    columns = generated("fraud", SHAPE, len(rows))
    public = PUBLIC if len(rows) == WHOLE else SUBSET_PUBLIC
    return Cells(columns, rows[:-public], rows[-public:], f"{len(rows):,} generated payments, 0.17 % of them frauds")


def balanced_stand_in(setting: Setting) -> Cells:
    """As many generated frauds as generated other payments."""
    shape = Shape(SHAPE.features, (TARGET, labels(0.5)), SHAPE.explained)
    return _balanced(generated("balanced_fraud", shape, 2 * FRAUDS), "generated payments, half of them frauds")


def _payments(data: Path) -> tuple[Columns, bool] | None:
    """Columns of all payments, and whether they are the publisher's whole file."""
    path = files.found(data, WHOLE_FILE, SUBSET)
    if path is None:
        return None
    names = (TARGET, *COMPONENTS, "Amount")
    frame = files.cells(path, files.themselves(names), len(names))
    frame[TARGET] = np.where(files.labelled(path, frame[TARGET], "0", "1") == "1", 1.0, -1.0)
    return files.columns_of(frame), path.name.startswith(WHOLE_FILE)


def _balanced(columns: Columns, says: str) -> Cells:
    rng = Streams(SEED, "fraud").rng("balanced")
    frauds, others = (np.flatnonzero(which) for which in (columns[TARGET] > 0, columns[TARGET] < 0))
    if len(others) < len(frauds):
        raise NotPossible(
            f"as many other payments as frauds are needed, and there are {len(others):,} to {len(frauds):,}"
        )
    rows = rng.permutation(np.concatenate([frauds, rng.choice(others, len(frauds), replace=False)]))
    return Cells(columns, rows[:-BALANCED_PUBLIC], rows[-BALANCED_PUBLIC:], f"{len(rows):,} {says}")
