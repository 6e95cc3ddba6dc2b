"""Public facts, computed again with every private cell replaced: they must be the same.

Texts, counts and shapes are compared exactly, numbers but for their last bits, in which sums may
round in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from learning.audit.reference import Records
from learning.audit.verdicts import Check, judge_numbers
from learning.errors import InputError
from learning.forecast.planner import Planner
from scenarios.planning import Prepared, prepare
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData, market_data
from scenarios.tables.paths import open_scenario_table
from scenarios.tables.reading import Table

RELATIVE = 1e-11  # of a number: as much is rounding
UNCHECKED = "that what is public is the same with other private rows"
MOST_RECORDS = 3_000_000  # numbers in an owner's records up to which its answers are recomputed


def check_public(
    scenario: Scenario, prepared: Prepared, epsilon: np.ndarray
) -> tuple[Check | None, str]:
    """Replace all private rows, prepare the market anew, and compare everything public.

    Parameters
    ----------
    scenario: the scenario, owners in the order of its data.
    prepared: its data and planner.
    epsilon: array (n_owners,), the budgets at which plan, weights and scales are compared.

    Returns
    -------
    (the check, why there is none)
    """
    data, planner = prepared
    raw = open_scenario_table(scenario)
    if raw.is_large:
        return None, f"{UNCHECKED}: the table is read in parts"
    if data.public is None:
        return None, f"{UNCHECKED}: without public rows it rests on private ones"
    other = replace_private(raw.read_whole(), data, {scenario.data.owner, scenario.data.person})
    try:
        again = prepare(scenario, market_data(scenario, other))
    except InputError as error:
        return None, f"{UNCHECKED}: these were refused ({error.rule})"
    told = not scenario.owners.report
    first, second = (
        public_facts(*one, epsilon, told) for one in ((data, planner), (again.data, again.planner))
    )
    changed = {name: float(not same(first[name], second[name])) for name in first}
    return judge_numbers("public", changed), ""


def replace_private(raw: Table, data: MarketData, kept: set[str | None]) -> Table:
    """Give every private row the least or the largest value of each column, by lot.

    Columns that say whose it is are kept.
    """
    private = np.setdiff1d(np.arange(raw.n_rows), data.table.rows)
    draw = np.random.default_rng(raw.n_rows)
    columns = dict(raw.columns)
    for name in sorted(set(columns) - kept):
        cells = columns[name][private]
        known = cells[pd.notna(cells)]
        if cells.dtype != object:
            known = cells[np.isfinite(cells)]
        if len(known):
            ends = np.array([min(known), max(known)], dtype=cells.dtype)
            columns[name] = columns[name].copy()
            columns[name][private] = ends[draw.integers(0, 2, len(private))]
    return replace(raw, columns=columns)


def public_facts(
    data: MarketData, planner: Planner, epsilon: np.ndarray, told: bool = True
) -> dict[str, Any]:
    """Everything public by name.

    Parameters
    ----------
    data, planner: as prepared.
    epsilon: array (n_owners,), budgets.
    told: whether plan and forecast rest on public rows alone; where owners reported losses they
        rest on these too.
    """
    bounds = planner.coordinates
    owners, weights, plan = planner.clients(epsilon)
    facts = {
        "owners and sizes": (data.names, data.sizes),
        "encoding": data.encoder,
        "start": bounds.centre,
        "change of coordinates": bounds.transform,
        "radius": (bounds.radius, bounds.target_bound, bounds.scores),
        "ball": bounds.theta_max,
        "bound of noise": (bounds.noise_bound, bounds.norm, bounds.rows_per_person),
        "own model": planner.own_model,
    }
    if told:
        facts |= {
            "plan": plan,
            "clocks": plan.clocks,
            "weights": weights,
            "scales": [(owner.name, owner.scale, owner.horizon) for owner in owners],
            "forecast": planner.forecast.at(epsilon),
        }
    return facts


def same(one: Any, other: Any) -> bool:
    """Test whether two public facts are the same: arrays, numbers, texts, or made up of these."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (float, np.ndarray)) and np.asarray(one).dtype.kind == "f":
        alike = np.shape(one) == np.shape(other)
        return alike and bool(np.allclose(one, other, rtol=RELATIVE, atol=0.0, equal_nan=True))
    if is_dataclass(one) and not isinstance(one, type):
        return all(same(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    if isinstance(one, Mapping):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, (list, tuple, np.ndarray)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or repr(one) == repr(other)


def check_rows(scenario: Scenario, data: MarketData) -> Check | None:
    """Count the rows of every owner again: each its own, and at most k of one person."""
    wrong = {}
    taken = np.concatenate([data.table.rows, data.division.holdout])
    persons = None
    if scenario.data.person is not None:
        raw = open_scenario_table(scenario)
        persons = raw.whose_rows(scenario.data.person, "person").of_row
    for owner in data.owners:
        rows = data.division.owners[owner.name]
        again = len(rows) - len(np.unique(rows)) + int(np.isin(rows, taken).sum())
        beyond = 0
        if persons is not None and len(rows):
            most = int(np.unique(persons[rows], return_counts=True)[1].max())
            beyond = max(0, most - scenario.data.most_rows)
        wrong[owner.name] = float(
            again + beyond + abs(owner.n_records - data.n_targets * len(rows))
        )
        taken = np.concatenate([taken, rows])
    return judge_numbers("rows", wrong)


def records_of(data: MarketData) -> tuple[dict[str, Records], tuple[str, ...]]:
    """Collect the encoded records of owners, and name the owners with more than `MOST_RECORDS`."""
    most = MOST_RECORDS / data.encoder.n_parameters
    large = tuple(owner.name for owner in data.owners if owner.n_records > most)
    records = {owner.name: (owner.x, owner.y) for owner in data.owners if owner.name not in large}
    return records, large
