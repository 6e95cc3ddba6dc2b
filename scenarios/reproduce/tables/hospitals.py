"""Stays in hospitals of New York State: how long one lasts, from its patient and its diagnosis (AS V-B).

Left out as the paper does: charges, costs, and what says where a hospital is. The learner knows the last 50,000 stays of
the state's whole file; of the subset, in which no hospital is large, the stays in hospitals too small to take part.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from learning.randomness import Streams
from scenarios.reproduce.item import Setting
from scenarios.reproduce.tables import files
from scenarios.reproduce.tables.generated import SEED, Shape, count, generated, kinds, places
from scenarios.reproduce.tables.records import Cells, Recipe

WHOLE_FILE, SUBSET = "Hospital_Inpatient_Discharges*2015*.csv", "sparcs_2020_musculoskeletal.csv"
TARGET, HOSPITAL, NAME = "length_of_stay", "facility_id", "facility_name"
PUBLIC, COMPONENTS = 50_000, 10
LARGE, LARGE_HERE = 10_000, 100  # records of a hospital that takes part: of the whole file, and of the subset
NAMES = {
    TARGET: ("length of stay", "los"),
    HOSPITAL: ("facility id", "permanent facility id"),
    NAME: ("facility name",),
    "age": ("age group", "age"),
    "gender": ("gender",),
    "race": ("race",),
    "ethnicity": ("ethnicity",),
    "admission": ("type of admission",),
    "disposition": ("patient disposition",),
    "diagnosis": ("ccs diagnosis code", "ccsr diagnosis code"),
    "procedure": ("ccs procedure code", "ccsr procedure code"),
    "drg": ("apr drg code",),
    "mdc": ("apr mdc code",),
    "severity": ("apr severity of illness description", "illseveritydesc"),
    "mortality": ("apr risk of mortality", "deathrisk"),
    "surgical": ("apr medical surgical description",),
    "payer": ("payment typology 1",),
    "emergency": ("emergency department indicator",),
}
FEATURES = tuple(name for name in NAMES if name not in (TARGET, HOSPITAL, NAME))
RECIPE = Recipe(TARGET, FEATURES, components=COMPONENTS, constant=False)
OWNERS = 86  # as the paper has large hospitals
SHAPE = Shape(
    {
        "age": kinds(**{"18_to_29": 0.07, "30_to_49": 0.23, "50_to_69": 0.7}),
        "gender": kinds(F=0.48, M=0.52),
        "race": kinds(Black=0.18, Multi=0.01, Other=0.21, White=0.6),
        "ethnicity": kinds(Multi=0.01, Not_Span=0.82, Spanish=0.13, Unknown=0.04),
        "admission": kinds(Elective=0.3, Emergency=0.6, Urgent=0.1),
        "disposition": places(19),
        "diagnosis": places(87),
        "procedure": places(200),
        "drg": places(60),
        "severity": kinds(Extreme=0.06, Major=0.24, Minor=0.35, Moderate=0.35),
        "mortality": kinds(Extreme=0.03, Major=0.09, Minor=0.7, Moderate=0.18),
        "surgical": kinds(Medical=0.4, Surgical=0.6),
        "payer": places(9),
    },
    (TARGET, lambda z: np.clip(count(4, 0.85)(z), 1, 120)),
    explained=0.4,
)


def read(data: Path) -> Cells | None:
    """The stays in a folder, or None."""
    whole = files.found(data, WHOLE_FILE)
    path = whole or files.found(data, SUBSET)
    if path is None:
        return None
    frame = files.cells(path, NAMES, 2)  # how long, and where
    frame[TARGET] = files.numbers(frame[TARGET], "+")
    frame = frame[frame[TARGET].notna() & frame[HOSPITAL].notna()]
    if whole is None:
        return _divided(frame, 0, LARGE_HERE, "a part of 2020")
    return _divided(frame, PUBLIC, LARGE, "2015")


def stand_in(setting: Setting) -> Cells:
    """Generated stays in hospitals of unlike kind, a few of them very unlike, and of sizes 1 to 10."""
    rng = Streams(SEED, "stand-in hospitals").rng("sizes")
    least = 150 if setting.quick else 1_500
    sizes = np.rint(least * np.exp(np.log(10) * rng.random(OWNERS) ** 2)).astype(int)
    owner = rng.permutation(
        np.repeat(np.arange(OWNERS + 1), [*sizes, 20 * least])
    )  # the last ones are the learner's own
    columns = generated("hospitals", SHAPE, len(owner), owner, unlike=0.5)
    held, public = np.flatnonzero(owner < OWNERS), np.flatnonzero(owner == OWNERS)
    names = tuple(f"Hospital {place + 1}" for place in range(OWNERS))
    return Cells(
        columns, held, public, f"{len(held):,} generated stays in {OWNERS} hospitals of unlike kind", owner, names
    )


def _divided(frame: pd.DataFrame, public_rows: int, large: int, edition: str) -> Cells:
    """Who holds which stays: the last rows are public, or all those of small hospitals where no number is given."""
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
    says = (
        f"{len(held):,} stays in {len(taking_part)} hospitals of {large:,} or more ({edition}; the paper: 86 of 10,000)"
    )
    cells = frame[[name for name in FEATURES if name in frame]]
    columns = {**files.columns_of(cells.astype(object)), TARGET: frame[TARGET].to_numpy()}
    return Cells(columns, held, public, says, owner, tuple(names[taking_part]))
