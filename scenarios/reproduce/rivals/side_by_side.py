"""All rules for the same owners, seeds and money, trained and measured: the library's study `rivals`, read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from market.procurement.mechanisms import MECHANISMS
from market.procurement.procured import Procured, planned
from market.procurement.reports import misreports
from scenarios.reproduce.drawing import legend
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.rivals.panels import panels
from scenarios.reproduce.rivals.searched import ROUNDING
from scenarios.sweeping.study import studies
from scenarios.sweeping.sweep import sweep

RECORDS, OWNERS, BUDGET, LOWEST, HIGHEST = 2000.0, 10, 1500.0, 50.0, 200.0  # of the study
REPLICATIONS = 5
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


def side_by_side(setting: Setting) -> pd.DataFrame:
    """A row for each rule, at the truth and where owners lie: errors, money, and what the best liar gains."""
    file = studies()["rivals"]
    study = tomllib.loads(file.read_text()) | {"replications": 1 if setting.quick else REPLICATIONS}
    if setting.quick:
        study["grid"][0]["policy"]["reports"] = ["truth"]
    study |= {"scenario": str(file.parent / "bases" / "ten.toml")}
    with TemporaryDirectory() as folder:
        seed = f"seed={1 + 100 * (setting.seed - 1)}"
        table = sweep(study, Path(folder) / "sweep", workers=1, overrides=(seed,))
    setting.did(0.8)
    rows = []
    for (kind, mechanism, reports), part in table.groupby(
        ["policy.kind", "policy.mechanism", "policy.reports"], dropna=False
    ):
        known = pd.isna(mechanism)
        rule = ("contest, costs known" if kind == "proportional" else kind) if known else mechanism
        made = {name: float(part[column].mean()) for name, column in MEASURED.items()}
        spread = float(part[MEASURED["trained"]].std() / np.sqrt(len(part))) if len(part) > 1 else 0.0
        row: dict[str, Any] = {"rule": rule, "reports": "known" if known else reports, **made, "std_error": spread}
        rows.append(row | ({} if known or reports != "truth" else _lies(str(mechanism), setting)))
    return pd.DataFrame(rows)


def _lies(mechanism: str, setting: Setting) -> dict[str, float]:
    """What lies gain in markets drawn from the law that the learner knows: mean and largest of the best liar's."""
    rng = setting.streams("rivals").rng(mechanism)
    made = planned(Procured(mechanism, BUDGET, LOWEST, HIGHEST), OWNERS, RECORDS)
    found = misreports(made, rng.uniform(LOWEST, HIGHEST, (5 if setting.quick else 40, OWNERS)), rng=rng)
    gains = found.gain.max(axis=1)
    proved = float(MECHANISMS[mechanism].truthful)
    return {
        "lie": float(gains.mean()),
        "largest_lie": float(gains.max()),
        "loss": max(-float(found.surplus.min()), 0.0),
        "proved": proved,
    }


def side_by_side_checks(frame: pd.DataFrame) -> list[Check]:
    """What each rule promises, and that the forecast ranks the rules as training does."""
    secret = frame[frame["reports"] == "truth"]
    proved = secret[secret["proved"] == 1]
    rank = float(frame["forecast"].rank().corr(frame["trained"].rank()))
    return [
        Check(
            "paid over the budget, relative, at most",
            float(secret["paid"].max() / BUDGET - 1),
            -1,
            ROUNDING,
            "0",
            "law",
            0.1,
        ),
        Check("the worst that the truth did to an owner, money", float(secret["loss"].max()), 0, ROUNDING, "0", "law"),
        Check(
            "the best liar's gain where none is proved to be, money",
            float(proved["largest_lie"].max()),
            0,
            1e-6,
            "0",
            "law",
        ),
        Check("rank correlation of forecast and trained errors", rank, 0.7, 1, "", "law", 0.2),
    ]


def draw_side_by_side(frame: pd.DataFrame, note: str) -> Figure:
    """Errors of every rule, and where the money goes."""
    figure, (left, right) = panels(
        "Ten clinics, 1,500 to spend: rules of other papers beside ours", note, 2, height=4.4
    )
    shown = frame[frame["reports"] != "equilibrium"].sort_values("trained", ascending=False).reset_index(drop=True)
    lying = frame[frame["reports"] == "equilibrium"].set_index("rule")["trained"]
    left.errorbar(
        shown["trained"], shown.index, xerr=2 * shown["std_error"], fmt="o", ms=4, elinewidth=0.8, label="trained"
    )
    left.plot(shown["forecast"], shown.index, "|", ms=8, color="#24292f", label="forecast")
    lies = shown["rule"].map(lying)
    left.plot(lies, shown.index, "x", ms=5, color="#c44d00", label="trained, owners lie")
    left.axvline(frame["alone"].mean(), ls="--", lw=1, color="#636c76", label="the learner alone")
    left.set_xlim(0, 1.06 * max(frame["alone"].mean(), (shown["trained"] + 2 * shown["std_error"]).max()))
    for number, rule in enumerate(shown["rule"]):
        left.annotate(NAMES[rule], (0.02, number + 0.22), xycoords=("axes fraction", "data"), fontsize=7.5, va="bottom")
    left.set(
        xlabel="error above the best possible model's, part of it",
        yticks=[],
        ylim=(-0.6, len(shown) + 1.3),
    )
    cost = shown["paid"] - shown["owners_keep"]
    right.barh(shown.index, cost, height=0.4, color="#9cc3dd", label="privacy costs owners")
    right.barh(shown.index, shown["owners_keep"], left=cost, height=0.4, color="#2b6c99", label="owners keep")
    right.plot(shown["largest_lie"], shown.index, "x", ms=5, color="#c44d00", label="the best lie gains, at most")
    right.set(xlabel="money", yticks=[], ylim=(-0.6, len(shown) + 1.3))
    for axes in (left, right):
        axes.grid(True, axis="x")
        legend(axes, loc="upper center", ncols=2)
    return figure


ITEMS = (
    Item(
        "N2-rivals",
        "FL-Market (2022), PAID-FD (2026), Dealer (2021), Ghosh and Roth (2011), beside this house",
        "Rules of other papers and ours for the same owners, seeds and money",
        "Every rule leaves no owner worse off and keeps the budget; some promise that lying gains nothing. None of the "
        "papers compares itself with the others on models trained at what it buys.",
        side_by_side,
        side_by_side_checks,
        draw_side_by_side,
        "Ten clinics of 2,000 records of the RAND Health Insurance Experiment; costs of 60 to 195 per unit of ε, of which "
        "the learner knows that they lie between 50 and 200. The library's study `rivals` (`dpmarket sweep rivals`), five "
        "seeds. Lies are looked for in forty further markets. "
        "Owners who lie are at an equilibrium in reports, but for Dealer's, who come to no rest. The models are this house's "
        "in every row.",
        cost=25.0,
    ),
)
