"""Promises of a mechanism, checked in random markets, and known answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from market.procurement.cost_laws import Uniform
from market.procurement.mechanism import ProcurementMechanism
from market.procurement.reports import best_misreports
from reproduction.item import Setting

ROUNDING = 1e-9  # money below which a gain is rounding
LAW = Uniform(0.2, 3.0)  # of costs in the random markets


def search_lies(
    mechanism: ProcurementMechanism, setting: Setting, purpose: str, owners: int = 6
) -> dict[str, float | str]:
    """Gain of the best misreport, worst loss at the truth, and overspent money in random markets.

    Every owner of every market tries some 90 reports (`market.procurement.reports.best_misreports`).
    """
    rng = setting.streams(purpose).rng("markets")
    costs = LAW.draw((setting.pick_value(200, 20), owners), rng=rng)
    found = best_misreports(mechanism, costs, rng=rng)
    chances = np.stack([mechanism.draw(owners, rng=rng) for _ in costs])
    epsilon, payments = mechanism.settle(costs, chances)
    over = 0.0
    if np.isfinite(mechanism.budget):
        over = payments.sum(axis=1).max() - mechanism.budget
    worst = min(float((payments - costs * epsilon).min()), float(found.surplus.min()))
    gains = found.gain.max(axis=1)
    return {
        "part": "search",
        "gain": float(gains.max()),
        "mean_gain": float(gains.mean()),
        "liars": float((gains > ROUNDING).mean()),
        "loss": max(-worst, 0.0),
        "over": max(float(over), 0.0),
    }


def measure_promises(frame: pd.DataFrame) -> dict[str, float]:
    """Gain of the best misreport, worst loss at the truth, and overspent money."""
    row = frame[frame["part"] == "search"].iloc[0]
    return {name: row[name] for name in ("gain", "loss", "over")}


def find_known(
    frame: pd.DataFrame, column: str, values: Sequence[float], names: Sequence[str]
) -> dict[str, float]:
    """Numbers in the rows where a column has given values, named "column_value" each."""
    rows = {f"{value:g}": frame[np.isclose(frame[column], value)].iloc[0] for value in values}
    return {f"{name}_{value}": row[name] for value, row in rows.items() for name in names}


def relative_distance(found: pd.Series, right: pd.Series) -> float:
    """Largest relative distance of two columns."""
    return float((found / right - 1).abs().max())
