"""Records for tests: generated populations whose best model is known, and the embedded real ones."""

from __future__ import annotations

from functools import cache

import numpy as np

from learning.data.fitting import fit_encoder
from learning.forecast.inputs import PlanningInputs, PublicOwners
from learning.forecast.pooled import PooledRecords
from learning.forecast.public_sample import PublicSample
from learning.losses.coordinates import Coordinates
from scenarios.schema.data import Data
from scenarios.tables.paths import bundled_table
from scenarios.tables.reading import read_table
from scenarios.tables.selection import select_columns

TARGET_BOUND = 8.0


def generated(n, p, rng, *, tails=np.inf, spread=0.6):
    """(x, y): x uniform on [-1, 1] and a constant, y linear plus noise (Student's t with ``tails`` degrees)."""
    x = np.column_stack([rng.uniform(-1, 1, size=(n, p - 1)), np.ones(n)])
    noise = rng.normal(size=n) if np.isinf(tails) else rng.standard_t(tails, size=n)
    return x, np.clip(x @ np.linspace(1, -1, p) + spread * noise, -TARGET_BOUND, TARGET_BOUND)


def two_kinds(n, rng):
    """(x, y): labels, three in ten of them +1, that a line through ten normal columns tells apart badly."""
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    return np.column_stack([rng.normal(size=(n, 10)) + 0.5 * (y > 0)[:, None], np.ones(n)]), y


@cache
def randhie():
    """(x, y) of the embedded table, shuffled once, encoded with its last 150 rows, the public ones."""
    table = select_columns(
        read_table(bundled_table("randhie")),
        Data(source="randhie", target="mdvis", split=(1,)),
        np.arange(1),
    )
    order = np.random.default_rng(20190).permutation(len(table.target))
    encoder = fit_encoder(
        table.columns,
        target="mdvis",
        features=tuple(table.features),
        public=order[-150:],
        bounds={"mdvis": (0.0, 20.0)},
    )
    x, _ = encoder.encode(table.columns, order)
    y, _ = encoder.target.encode(table.columns, order)
    return x, y


def bounded_coordinates(
    x, y, *, clip=0.9, theta_max=2.0, start="public", precondition=True
) -> Coordinates:
    """Coordinates from public rows, clipping at a quantile of what they show."""
    coordinates = PublicSample(x, y).coordinates(start, precondition)
    moved, shown = coordinates.records(x, y)
    return coordinates.bounded(
        float(np.quantile(np.abs(moved).sum(axis=1), clip)),
        float(np.quantile(np.abs(shown), clip)),
        theta_max,
    )


def planning_inputs(sample, settings, epsilon, sizes) -> PlanningInputs:
    """What a learner knows of owners who all give one budget, before any record of theirs is seen."""
    budgets = np.full(len(sizes), float(epsilon))
    owners = PublicOwners(
        tuple(f"owner {i}" for i in range(len(sizes))), np.array(sizes), budgets, budgets
    )
    ranges = np.ones(sample.x.shape[1])
    return PlanningInputs(
        settings, owners, sample, ranges, TARGET_BOUND, PooledRecords((), sample.fitness), 0
    )
