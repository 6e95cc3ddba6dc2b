"""What items of several mechanisms share: the search for lies, and checks of what every one of them promises."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from market.procurement.cost_laws import Uniform
from market.procurement.mechanism import ProcurementMechanism
from market.procurement.reports import misreports
from scenarios.reproduce.item import Check, Setting

ROUNDING = 1e-9  # money below which a gain is rounding
LAW = Uniform(0.2, 3.0)  # of costs in the markets that are searched


def search(mechanism: ProcurementMechanism, setting: Setting, purpose: str, owners: int = 6) -> dict[str, float | str]:
    """A row of what random markets found: the best lie's gain, the worst loss at the truth, and money over the budget.

    Every owner of every market tries some 90 reports (`market.procurement.reports.misreports`).
    """
    rng = setting.streams(purpose).rng("markets")
    costs = LAW.draw((20 if setting.quick else 200, owners), rng=rng)
    found = misreports(mechanism, costs, rng=rng)
    epsilon, payments = mechanism.settle(costs, np.stack([mechanism.draw(owners, rng=rng) for _ in costs]))
    over = payments.sum(axis=1).max() - mechanism.budget if np.isfinite(mechanism.budget) else 0.0
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


def promises(frame: pd.DataFrame, *, truthful: bool = True) -> list[Check]:
    """That nobody loses, the budget is kept and, where it is claimed, no lie gains: laws, in the markets searched."""
    row = frame[frame["part"] == "search"].iloc[0]
    said = {"gain": "the best liar's gain, money"} if truthful else {}
    said |= {"loss": "the worst that the truth did to an owner, money", "over": "money over the budget, at most"}
    return [Check(what, float(row[name]), 0.0, ROUNDING, "0", "law") for name, what in said.items()]


def known(frame: pd.DataFrame, at: Mapping[str, float], values: Mapping[str, float], says: str) -> list[Check]:
    """Known answers at one row of a frame: each column against its number, to six digits."""
    row = frame[np.logical_and.reduce([np.isclose(frame[name], value) for name, value in at.items()])].iloc[0]
    where = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in at.items())
    return [
        Check(f"{name.replace('_', ' ')} at {where}", float(row[name]), value * (1 - 1e-6), value * (1 + 1e-6), says)
        for name, value in values.items()
    ]
