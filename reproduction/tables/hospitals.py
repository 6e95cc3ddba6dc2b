"""Stays in hospitals of New York State: length of a stay, from patient and diagnosis (AS V-B).

Left out as in the paper: charges, costs, and places of hospitals. The learner knows the last 50,000
stays of the state's whole file; of the subset, in which no hospital is large, the stays in
hospitals too small to take part.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from learning.randomness import Streams
from reproduction.item import Setting
from reproduction.tables import files
from reproduction.tables.generated import SEED, TABLES, generate_columns, read_shape
from reproduction.tables.records import Cells, Recipe

WHOLE_FILE = "Hospital_Inpatient_Discharges*2015*.csv"
SUBSET = "sparcs_2020_musculoskeletal.csv"
PUBLIC = 50_000
LARGE = 10_000  # records of a hospital that takes part: of the whole file
LARGE_HERE = 100  # of the subset
NAMES = TABLES["hospitals"]["names"]
TARGET, HOSPITAL, NAME, *FEATURES = NAMES
RECIPE = Recipe(TARGET, tuple(FEATURES), components=10, constant=False)
OWNERS = 86  # as the paper has large hospitals


def read_cells(data: Path) -> Cells | None:
    """Read the stays of a folder, or None."""
    whole = files.find_file(data, WHOLE_FILE)
    path = whole or files.find_file(data, SUBSET)
    if path is None:
        return None
    frame = files.read_columns(path, NAMES, 2)  # target and hospital are needed
    frame[TARGET] = files.read_numbers(frame[TARGET], "+")
    frame = frame[frame[TARGET].notna() & frame[HOSPITAL].notna()]
    if whole is None:
        return _divide_stays(frame, 0, LARGE_HERE, "a part of 2020")
    return _divide_stays(frame, PUBLIC, LARGE, "2015")


def generate_cells(setting: Setting) -> Cells:
    """Generate stays in hospitals of unlike kind, a few of them very unlike, of sizes 1 to 10."""
    rng = Streams(SEED, "stand-in hospitals").rng("sizes")
    least = setting.pick_value(1_500, 150)
    sizes = np.rint(least * np.exp(np.log(10) * rng.random(OWNERS) ** 2)).astype(int)
    owner = np.repeat(np.arange(OWNERS + 1), [*sizes, 20 * least])  # the last ones are public
    owner = rng.permutation(owner)
    shape = read_shape("hospitals", TARGET)
    columns = generate_columns("hospitals", shape, len(owner), owner, unlike=0.5)
    held = np.flatnonzero(owner < OWNERS)
    public = np.flatnonzero(owner == OWNERS)
    names = tuple(f"Hospital {place + 1}" for place in range(OWNERS))
    says = f"{len(held):,} generated stays in {OWNERS} hospitals of unlike kind"
    return Cells(columns, held, public, says, owner, names)


def _divide_stays(frame: pd.DataFrame, public_rows: int, large: int, edition: str) -> Cells:
    """Divide stays: the last rows are public, or without a number those of small hospitals."""
    rows = np.arange(len(frame))
    cut = len(frame) - public_rows
    codes, names = pd.factorize(frame[NAME if NAME in frame else HOSPITAL].astype(str), sort=True)
    sizes = np.bincount(codes[:cut], minlength=len(names))
    taking_part = np.flatnonzero(sizes >= large)
    owner = np.full(len(names), -1)
    owner[taking_part] = np.arange(len(taking_part))
    owner = owner[codes]
    held = rows[:cut][owner[:cut] >= 0]
    public = rows[cut:] if public_rows else rows[owner < 0]
    says = f"{len(held):,} stays in {len(taking_part)} hospitals of {large:,} or more"
    says += f" ({edition}; the paper: 86 of 10,000)"
    cells = frame[[name for name in FEATURES if name in frame]]
    columns = {**files.columns_of(cells.astype(object)), TARGET: frame[TARGET].to_numpy()}
    return Cells(columns, held, public, says, owner, tuple(names[taking_part]))
