"""Owners of whom only the number of records is known, beside the learner's own rows."""

from __future__ import annotations

import numpy as np

from learning.data.division import Division, large_enough
from learning.data.owner_data import OwnerUnseen
from learning.forecast.pooled import NoRecords
from scenarios.schema.scenario import Scenario


def divide_own_rows(scenario: Scenario, n_rows: int) -> Division:
    """Give the learner the last rows of its own table, in their order; owners have none there.

    Parameters
    ----------
    scenario : a scenario with ``owners.records``.
    n_rows : number of rows of the table.
    """
    data = scenario.data
    taken = n_rows
    if data.public_rows != "all":
        taken = data.public_rows + data.check_rows
    none = np.arange(0)
    sizes = scenario.owners.records or {}
    kept = large_enough({name: range(sizes[name]) for name in sizes}, data.min_records, "owners")
    return Division(
        dict.fromkeys(kept, none),
        np.arange(n_rows - taken, n_rows),
        none,
        n_rows - taken,
        tuple(name for name in sizes if name not in kept),
    )


def state_records(scenario: Scenario, division: Division) -> NoRecords:
    """State the owners of a division, each with its number of records."""
    sizes = scenario.owners.records or {}
    return NoRecords(tuple(OwnerUnseen(name, sizes[name]) for name in division.owners))
