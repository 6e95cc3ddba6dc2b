"""Result folders made up for the tests of figures and report: no market is solved, no model trained."""

from __future__ import annotations

import copy
import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("Aurora Health", "Beacon Mutual", "Cedar Life")


def result(names: tuple[str, ...] = NAMES, epsilon: Any = 3.21, **changes: Any) -> dict[str, Any]:
    """The content of result.json: a market that settles, pays and keeps its forecast; ``changes`` by dotted key.

    Double underscores stand for dots: ``validation__agrees=False``.
    """
    n_owners = len(names)
    epsilons = [float(e) for e in np.broadcast_to(epsilon, n_owners)]
    made = {
        "schema": 1,
        "version": "0.1.0",
        "title": "Three insurers",
        "seed": 1,
        "scenario_sha256": "ab" * 32,
        "scenario": {
            "title": "Three insurers",
            "seed": 1,
            "data": {
                "source": "randhie",
                "path": None,
                "target": "mdvis",
                "public_rows": 150,
                "order": "shuffled",
            },
            "learning": {"loss": "squared", "algorithm": "averaged", "mechanism": "laplace"},
            "owners": {
                "epsilon": [0.01, 10.0],
                "benefit": 0.0,
                "cost": {"kind": "leakage", "price": 0.02, "values": 10},
            },
            "policy": {"kind": "proportional", "budget": 2000.0, "basis": "records_epsilon"},
            "learner": {"value": 100000.0},
            "market": {"activation": "sequential", "starts": 16},
            "validation": {"runs": 100},
        },
        "data": {
            "source": "randhie",
            "rows": 20190,
            "dropped_rows": 0,
            "public_rows": 150,
            "holdout_rows": 0,
            "left_over_rows": 0,
            "parameters": 10,
            "features": [f"x{i}" for i in range(9)],
            "constant_columns": [],
            "owners_left_out": [],
            "target": "mdvis",
            "target_range": [0, 20],
        },
        "warnings": [],
        "claims": [
            {
                "party": name,
                "unit": "one record",
                "adjacency": "replace one record",
                "epsilon": e,
                "delta": 0.0,
                "rounds": 4,
                "mechanism": "laplace",
                "protects_against": "anyone who sees all of the owner's answers",
                "simulation": True,
            }
            for name, e in zip(names, epsilons, strict=True)
            if 0 < e < math.inf
        ],
        "owners": [
            {
                "name": name,
                "records": 6680,
                "epsilon": None if math.isinf(e) else e,
                "payment": 2000 / n_owners if e > 0 else 0.0,
                "privacy_cost": 401.2 if e > 0 else 0.0,
                "benefit": 0.0,
                "surplus": 2000 / n_owners - 401.2 if e > 0 else 0.0,
                "leakage_bits": 2.87,
                "weight": 1 / n_owners,
                "isolated_relative_fitness": 0.0021,
                "gains": False,
            }
            for name, e in zip(names, epsilons, strict=True)
        ],
        "equilibrium": {
            "converged": True,
            "reason": "certified",
            "method": "sequential",
            "iterations": 5,
            "max_regret": 1e-10,
            "max_relative_regret": 1e-13,
            "starts": 16,
            "distinct": [[None if math.isinf(e) else e for e in epsilons]],
        },
        "learner": {
            "value": 100000.0,
            "gross_value": 7800.0,
            "payments": 2000.0,
            "surplus": 5800.0,
            "gain": {
                "median": 5600.0,
                "interval": [700.0, 9400.0],
                "level": 0.9,
                "chance_pays": 0.97,
            },
            "buying_pays": True,
        },
        "welfare": {
            "total": 6600.0,
            "optimum": 7100.0,
            "optimum_at_most": 7100.0,
            "optimum_epsilon": [5.0] * n_owners,
            "price_of_anarchy": 7100 / 6600,
            "price_of_anarchy_at_most": 7100 / 6600,
        },
        "outside_option": {"relative_fitness": 0.099, "interval": [0.06, 0.15], "measured": 0.11},
        "protocol": {
            "start": "public",
            "precondition": True,
            "mechanism": "laplace",
            "radius": 4.2,
            "target_bound": 6.0,
            "theta_max": 0.8,
            "gradient_bound": 31.0,
        },
        "forecast": {
            "kind": "exact",
            "basis": "public",
            "algorithm": "averaged",
            "horizon": 4,
            "step_size": 0.31,
            "returned": "last",
            "bias": 0.008,
            "noise": 0.013,
            "excess": 0.3,
            "relative_fitness": 0.021,
            "interval": [0.014, 0.031],
            "if_unlike": None,
            "reach": 0.6,
            "projection_may_bind": False,
            "published_bound": None,
            "oracle": {
                "bias": 0.009,
                "noise": 0.0135,
                "std_error": 0.0,
                "relative_fitness": 0.0225,
            },
        },
        "validation": {
            "runs": 100,
            "relative_fitness": {
                "mean": 0.0221,
                "std_error": 0.0006,
                "q05": 0.012,
                "q25": 0.017,
                "median": 0.021,
                "q75": 0.026,
                "q95": 0.034,
            },
            "z_score": -0.7,
            "agrees": True,
            "nonprivate_fitness": 14.2,
            "projected": 0.0,
            "explanation": [],
            "holdout": None,
        },
    }
    return _changed(copy.deepcopy(made), changes)


def _changed(made: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for key, value in changes.items():
        table, *rest = [made], *key.split("__")
        inner = table[0]
        for part in rest[:-1]:
            inner = inner[part]
        inner[rest[-1]] = value
    if made["validation"] and "validation__explanation" not in changes:
        made["validation"]["explanation"] = [_where(made["forecast"], made["validation"])]
    if (
        made["validation"]
        and made["outside_option"]["measured"] is not None
        and "validation__money" not in changes
    ):
        made["validation"] |= _money(made)
    if not any(key.startswith("errors") for key in changes):
        made["errors"] = _errors(made)
    return made


def _errors(made: dict[str, Any]) -> dict[str, Any]:
    """Errors in plain units that go with relative fitness: 14.2 squared visits at best, or one label in ten."""
    labels = made["data"].get("labels")
    if made["scenario"]["learning"]["loss"] == "squared":
        labels = None

    def plain(fitness: float | None) -> float | None:
        if fitness is None:
            return None
        return 0.1 * (1 + fitness) if labels else math.sqrt(14.2 * max(1 + fitness, 0.0))

    forecast = made["forecast"]
    outside = made["outside_option"]
    known = forecast["interval"] and None not in forecast["interval"]
    trained = None
    if made["validation"]:
        runs = made["validation"]["relative_fitness"]
        trained = {name: plain(value) for name, value in runs.items() if name != "std_error"}
    measured = outside["measured"]
    return {
        "per": "wrong_label" if labels else "rmse",
        "target": made["data"]["target"],
        "label": (made["scenario"].get("labels") or {}).get(made["data"]["target"]),
        "forecast": {
            "outside": plain(outside["relative_fitness"]),
            "outside_interval": [plain(end) for end in outside["interval"]],
            "trained": plain(forecast["relative_fitness"]),
            "interval": [plain(end) for end in forecast["interval"]],
        }
        if known
        else None,
        "measured": {
            "on": "owners",
            "rows": sum(owner["records"] for owner in made["owners"]),
            "trained": trained,
            "handed_over": trained and trained["median"],
            "outside": plain(outside["relative_fitness"] if measured is None else measured),
            "constant": {"answer": "no" if labels else 2.7, "error": plain(0.4)},
            "best_of_kind": plain(0.0),
            "every_column": {
                "error": plain(-0.02),
                "rows": 20040,
                "columns": 12,
                "left_out": ["site", "age", "sex"],
            },
            "cut": 0.0,
            "uncut": None,
        },
    }


def _money(made: dict[str, Any]) -> dict[str, Any]:
    """What trainings of such errors come to in money."""
    learner = made["learner"]
    runs = made["validation"]["relative_fitness"]
    names = {
        "mean": "mean",
        "std_error": "std_error",
        "q05": "q95",
        "median": "median",
        "q95": "q05",
    }
    over = {name: made["outside_option"]["measured"] - runs[of] for name, of in names.items()}
    surplus = {name: learner["value"] * gain - learner["payments"] for name, gain in over.items()}
    surplus["std_error"] = learner["value"] * runs["std_error"]
    pays = surplus["mean"] > 0
    slack = 3 * surplus["std_error"]
    agrees = (
        surplus["mean"] + slack > 0 if learner["buying_pays"] else surplus["mean"] - slack <= 0
    )  # interval aside
    chance = 0.0 if surplus["q05"] >= 0 else 1.0 if surplus["q95"] < 0 else 0.17
    owners = [
        {"name": row["name"], "benefit": row["benefit"], "surplus": row["surplus"]}
        for row in made["owners"]
    ]
    money = {"learner_surplus": surplus, "pays": pays, "chance_of_loss": chance, "owners": owners}
    return {"money": money, "agrees_on_money": agrees}


def _where(forecast: dict[str, Any], checked: dict[str, Any]) -> dict[str, Any]:
    """The fact that opens an explanation: where the trained mean lies by the forecast's interval."""
    mean = checked["relative_fitness"]["mean"]
    point = forecast["relative_fitness"]
    known = forecast["interval"] and None not in forecast["interval"]
    low, high = interval = forecast["interval"] if known else [point, point]
    fact = {"mean": mean, "point": point, "interval": interval}
    if not checked["agrees"]:
        edge = high if mean > high else low
        return {"cause": "outside_interval"} | fact | {"edge": edge, "amount": mean - edge}
    inside = low - 1e-8 <= mean <= high + 1e-8
    return {"cause": "inside_interval" if inside else "near_interval"} | fact


def calibrated(
    loss: str = "logistic", algorithm: str = "averaged", **changes: Any
) -> dict[str, Any]:
    """The same where no exact law is known: labels, or another algorithm, and a forecast by rehearsal."""
    made = result(
        scenario__learning__loss=loss,
        scenario__learning__algorithm=algorithm,
        scenario__learning__regularisation=0.001,
        forecast__kind="calibrated",
        forecast__algorithm=algorithm,
        forecast__reach=None,
        forecast__oracle={
            "bias": 0.009,
            "noise": 0.0135,
            "std_error": 0.0004,
            "relative_fitness": 0.0225,
        },
    )
    if loss != "squared":
        made["data"] |= {
            "target": "defaulted",
            "target_range": [-1.0, 1.0],
            "labels": ["no", "yes"],
        }
        made["protocol"] |= {"target_bound": 1.0, "radius": 4.2, "gradient_bound": 4.2}
        made["validation"]["nonprivate_fitness"] = 0.257
    return _changed(made, changes)


def without_questions(**changes: Any) -> dict[str, Any]:
    """A market in which budgets are sold but no answer is worth its noise."""
    nothing = {
        "horizon": 1,
        "step_size": 0.0,
        "bias": 0.099,
        "noise": 0.0,
        "relative_fitness": 0.099,
    }
    money = {
        "promised": 2000.0,
        "payments": 0.0,
        "gross_value": 0.0,
        "surplus": 0.0,
        "buying_pays": False,
    }
    money["gain"] = {"median": 0.0, "interval": [0.0, 0.0], "level": 0.9, "chance_pays": 0.0}
    made = result(claims=[], outside_option__measured=0.11)
    made["learner"] |= money
    for owner in made["owners"]:
        owner |= dict.fromkeys(
            ("payment", "privacy_cost", "surplus", "leakage_bits", "weight"), 0.0
        )
    made["forecast"] |= nothing | {"interval": [0.06, 0.15]}
    made["validation"]["relative_fitness"] |= dict.fromkeys(
        ("mean", "q05", "q25", "median", "q75", "q95"), 0.11
    )
    made["validation"] |= {"z_score": None}
    made["validation"]["relative_fitness"]["std_error"] = 0.0
    return _changed(made, changes)


def write(folder: Path, made: dict[str, Any], rounds: int = 6) -> Path:
    """A result folder around ``made``: tables with plausible numbers, no figures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps(made), encoding="utf-8")
    (folder / "scenario.toml").write_text('title = "Three insurers"\nseed = 1\n', encoding="utf-8")
    owners = made["owners"]
    _table(folder / "owners.csv", list(owners[0]), [list(owner.values()) for owner in owners])
    grid = np.concatenate([np.geomspace(0.01, 10, 80)])
    path = []
    curve = []
    for place, owner in enumerate(owners):
        final = math.inf if owner["epsilon"] is None else owner["epsilon"]
        for step in range(rounds):
            now = 0.316 if step == 0 and rounds > 1 else final
            if 0 < step < rounds - 1 and 0 < final < math.inf:
                now = final * (1 + (0.5 + 0.1 * (place % 7)) * (-0.55) ** step)
            path.append((step, owner["name"], now, owner["payment"], 0.0))
        centre = final if 0 < final < math.inf else 1.0
        scale = 600 * (1 + place % 5)
        points = (
            np.append(grid, 0.0)
            if final == 0
            else np.append(grid, math.inf)
            if math.isinf(final)
            else grid
        )
        for point in points:
            payoff = (
                0.0
                if point == 0
                else scale * 0.4
                if math.isinf(point)
                else scale * (0.5 - 0.4 * math.log(point / centre) ** 2 / 10)
            )
            curve.append((owner["name"], point, payoff))
        if 0 < final < math.inf:
            owner["surplus"] = scale * 0.5
        if math.isinf(final):
            owner["surplus"] = scale * 0.4
    (folder / "result.json").write_text(json.dumps(made), encoding="utf-8")
    _table(folder / "trajectory.csv", ["round", "owner", "epsilon", "payment", "regret"], path)
    _table(folder / "payoff_curves.csv", ["owner", "epsilon", "payoff"], curve)
    if made["validation"]:
        spread = made["validation"]["relative_fitness"]
        rng = np.random.default_rng(3)
        runs = spread["mean"] * rng.gamma(12.0, 1 / 12.0, made["validation"]["runs"])
        _table(folder / "validation.csv", ["run", "relative_fitness"], list(enumerate(runs)))
    return folder


def _table(path: Path, header: list[str], rows: list[Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
