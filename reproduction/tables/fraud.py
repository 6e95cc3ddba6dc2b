"""Card payments of two days in September 2013, labelled as frauds (VC IV-B, AS V-C); balanced (WD).

V1 to V28 are the publisher's components; with the amount and a constant they are the features of
the papers. Each is scaled from its public range to [-1, 1]: unscaled, the amount alone would set
the noise of all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learning.data.encoding import Columns
from learning.randomness import Streams
from reproduction.item import NotPossible, Setting
from reproduction.tables import files
from reproduction.tables.generated import SEED, Shape, generate_columns, read_kind
from reproduction.tables.records import Cells, Recipe, split_last

SUBSET = "creditcard_all_frauds.csv"
WHOLE_FILE = "creditcard.csv"
TARGET = "Class"
COMPONENTS = tuple(f"V{place}" for place in range(1, 29))
FEATURES = (*COMPONENTS, "Amount")
RECIPE = Recipe(TARGET, FEATURES, labels=True)
BALANCED = Recipe(TARGET, FEATURES, labels=True, standardised=True)
PUBLIC = 10_000
SUBSET_PUBLIC = 1_000
BALANCED_PUBLIC = 98
ROWS = (284_807, 60_000)  # of a stand-in; quick
FRAUDS = 492
SPREAD = np.linspace(2.0, 0.4, len(COMPONENTS)).tolist()  # of V1 to V28
KINDS = dict(zip(COMPONENTS, (["number", 0, spread] for spread in SPREAD), strict=True))
KINDS |= {"Amount": ["amount", 22, 1.6]}


def read_cells(data: Path) -> Cells | None:
    """Read the payments of a folder, or None.

    Those of the subset get a fixed random order, since it is put together from parts.
    """
    found = _read_payments(data)
    if found is None:
        return None
    columns, whole = found
    count = len(columns[TARGET])
    rows = np.arange(count)
    public = PUBLIC
    order = "in the file's order"
    if not whole:
        rows = Streams(SEED, "fraud").rng("order").permutation(count)
        public = SUBSET_PUBLIC
        order = "in random order"
    frauds = int((columns[TARGET] > 0).sum())
    says = f"{count:,} card payments, {frauds} of them frauds, {order}"
    return split_last(columns, rows, public, f"{says} (the papers: 284,807 and 492)")


def read_balanced(data: Path) -> Cells | None:
    """Read all frauds of a folder and as many other payments, drawn at random, or None."""
    found = _read_payments(data)
    if found is None:
        return None
    return _balance(found[0], "card payments, half of them frauds (the paper: 984)")


def _generate(name: str, rows: int, share: float) -> Columns:
    """Generate payments with a share of frauds."""
    features = {column: read_kind(kind) for column, kind in KINDS.items()}
    target = (TARGET, read_kind(["labels", share]))
    return generate_columns(name, Shape(features, target, 0.6), rows)


def generate_cells(setting: Setting) -> Cells:
    """Generate payments."""
    rows = setting.pick_value(*ROWS)
    public = setting.pick_value(PUBLIC, SUBSET_PUBLIC)
    says = f"{rows:,} generated payments, 0.17 % of them frauds"
    return split_last(_generate("fraud", rows, 0.00172), np.arange(rows), public, says)


def generate_balanced(setting: Setting) -> Cells:
    """Generate as many frauds as other payments."""
    columns = _generate("balanced_fraud", 2 * FRAUDS, 0.5)
    return _balance(columns, "generated payments, half of them frauds")


def _read_payments(data: Path) -> tuple[Columns, bool] | None:
    """Read the columns of all payments; True with the publisher's whole file."""
    path = files.find_file(data, WHOLE_FILE, SUBSET)
    if path is None:
        return None
    names = (TARGET, *FEATURES)
    frame = files.read_columns(path, files.own_names(names), len(names))
    frauds = files.read_labels(path, frame[TARGET], "0", "1") == "1"
    frame[TARGET] = np.where(frauds, 1.0, -1.0)
    return files.columns_of(frame), path.name.startswith(WHOLE_FILE)


def _balance(columns: Columns, says: str) -> Cells:
    """Draw as many other payments as frauds, in random order."""
    rng = Streams(SEED, "fraud").rng("balanced")
    frauds = np.flatnonzero(columns[TARGET] > 0)
    others = np.flatnonzero(columns[TARGET] < 0)
    if len(others) < len(frauds):
        raise NotPossible(
            "as many other payments as frauds are needed, "
            f"and there are {len(others):,} to {len(frauds):,}"
        )
    drawn = rng.choice(others, len(frauds), replace=False)
    rows = rng.permutation(np.concatenate([frauds, drawn]))
    return split_last(columns, rows, BALANCED_PUBLIC, f"{len(rows):,} {says}")
