"""All rules for the same owners, seeds and money, trained and measured: the study `rivals`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from market.procurement.procured import Procured, plan_mechanism
from market.procurement.reports import best_misreports
from market.procurement.spending import MECHANISMS
from reproduction.drawing import INK, MUTED, ORANGE, SHADES, Style
from reproduction.item import Setting
from reproduction.specification import Rows
from scenarios.sweeping.study import studies
from scenarios.sweeping.sweep import sweep

RECORDS = 2000.0  # of the study
OWNERS = 10
BUDGET = 1500.0
COSTS = (50.0, 200.0)
REPLICATIONS = 10
KEYS = ["policy.kind", "policy.mechanism", "policy.reports"]
NAMES = {
    "all_in": "All-in (FL-Market)",
    "paid_quality": "price for quality (PAID-FD)",
    "compensated": "compensations (Dealer)",
    "fair_query": "FairQuery (Ghosh and Roth)",
    "posted": "posted price",
    "virtual_cost": "virtual cost (Myerson)",
    "menu": "menu of eight contracts",
    "proportional": "contest",
    "contest, costs known": "contest, costs known",
    "marginal": "marginal pay, costs known",
    "shapley": "Shapley value, costs known",
}
MEASURED = {
    "forecast": "forecast.relative_fitness",
    "trained": "validation.relative_fitness.mean",
    "paid": "learner.payments",
    "owners_keep": "welfare.owners",
    "alone": "outside_option.relative_fitness",
}


def compute_side_by_side(setting: Setting) -> Rows:
    """Errors, money and the gain of the best misreport of each rule, at the truth and at lies."""
    for (kind, mechanism, reports), part in _run_study(setting).groupby(KEYS, dropna=False):
        known = pd.isna(mechanism)
        rule = mechanism
        if known:
            reports = "known"
            rule = kind if kind != "proportional" else "contest, costs known"
        row: dict[str, Any] = {"rule": rule, "reports": reports}
        row |= {name: float(part[column].mean()) for name, column in MEASURED.items()}
        row["std_error"] = 0.0
        if len(part) > 1:
            row["std_error"] = float(part[MEASURED["trained"]].std() / np.sqrt(len(part)))
        if reports == "truth":
            row |= _search_lies(str(mechanism), setting)
        yield row


def _run_study(setting: Setting) -> pd.DataFrame:
    """Cells of the study, with fewer replications and true reports alone where time is short."""
    file = studies()["rivals"]
    study = tomllib.loads(file.read_text(encoding="utf-8"))
    study["replications"] = setting.pick_value(REPLICATIONS, 1)
    if setting.quick:
        study["grid"][0]["policy"]["reports"] = ["truth"]
    study["scenario"] = str(file.parent / "bases" / "ten.toml")
    seed = f"seed={1 + 100 * (setting.seed - 1)}"
    with TemporaryDirectory() as folder:
        table = sweep(study, Path(folder) / "sweep", workers=1, overrides=(seed,))
    setting.did(0.8)
    return table


def _search_lies(mechanism: str, setting: Setting) -> dict[str, float]:
    """Mean and largest gain of the best misreport in markets drawn from the known law of costs."""
    rng = setting.streams("rivals").rng(mechanism)
    made = plan_mechanism(Procured(mechanism, BUDGET, *COSTS), OWNERS, RECORDS)
    costs = rng.uniform(*COSTS, (setting.pick_value(40, 5), OWNERS))
    found = best_misreports(made, costs, rng=rng)
    gains = found.gain.max(axis=1)
    return {
        "lie": float(gains.mean()),
        "largest_lie": float(gains.max()),
        "loss": max(-float(found.surplus.min()), 0.0),
        "proved": float(MECHANISMS[mechanism].truthful),
    }


def measure_side_by_side(frame: pd.DataFrame) -> dict[str, float]:
    """Promises of each rule, and the rank correlation of forecast and training."""
    secret = frame[frame["reports"] == "truth"]
    return {
        "spent": secret["paid"].max() / BUDGET - 1,
        "loss": secret["loss"].max(),
        "lie": secret[secret["proved"] == 1]["largest_lie"].max(),
        "ranks": frame["forecast"].rank().corr(frame["trained"].rank()),
    }


def draw_side_by_side(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw errors of every rule, and the distribution of the money."""
    left, right = panels
    honest = frame[frame["reports"] != "equilibrium"]
    shown = honest.sort_values("trained", ascending=False).reset_index(drop=True)
    lying = frame[frame["reports"] == "equilibrium"].set_index("rule")["trained"]
    _draw_errors(left, shown, lying, frame["alone"].mean())
    cost = shown["paid"] - shown["owners_keep"]
    kept = shown["owners_keep"]
    rows = shown.index
    right.barh(rows, cost, height=0.4, color=SHADES[1], label="privacy costs owners")
    right.barh(rows, kept, left=cost, height=0.4, color=SHADES[2], label="owners keep")
    lies: Style = {"ms": 5, "color": ORANGE, "label": "the best lie gains, at most"}
    right.plot(shown["largest_lie"], rows, "x", **lies)
    for axes in (left, right):
        axes.set(yticks=[], ylim=(-0.6, len(shown) + 1.3))
        axes.grid(True, axis="x")


def _draw_errors(axes: Axes, shown: pd.DataFrame, lying: pd.Series, alone: float) -> None:
    """Draw forecast and trained errors, a row for each rule."""
    rows = shown.index
    errors = 2 * shown["std_error"]
    style: Style = {"fmt": "o", "ms": 4, "elinewidth": 0.8, "label": "trained"}
    axes.errorbar(shown["trained"], rows, xerr=errors, **style)
    axes.plot(shown["forecast"], rows, "|", ms=8, color=INK, label="forecast")
    lies = shown["rule"].map(lying)
    axes.plot(lies, rows, "x", ms=5, color=ORANGE, label="trained, owners lie")
    axes.axvline(alone, ls="--", lw=1, color=MUTED, label="the learner alone")
    axes.set_xlim(0, 1.06 * max(alone, (shown["trained"] + errors).max()))
    for number, rule in enumerate(shown["rule"]):
        place = (0.02, number + 0.22)
        units = ("axes fraction", "data")
        axes.annotate(NAMES[rule], place, xycoords=units, fontsize=7.5, va="bottom")


SIDE_BY_SIDE = (compute_side_by_side, measure_side_by_side, draw_side_by_side)
