"""Contracts for a known law of costs: the virtual cost (Myerson; Fallah and others), a menu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.integrate import quad
from scipy.optimize import minimize

from learning.declaration import Positive
from market.procurement.contracts import Menu, VirtualCost
from market.procurement.cost_laws import Uniform
from market.procurement.offers import PostedPrice
from market.procurement.valuation import Valuation
from reproduction.drawing import MUTED, ORANGE
from reproduction.item import Setting
from reproduction.rivals.promises import (
    LAW,
    find_known,
    measure_promises,
    relative_distance,
    search_lies,
)

ODDS = 0.5  # of each of two types
QUANTILES = 2000


@dataclass(frozen=True)
class SquareRoot(Valuation):
    """Money ``2 scale sqrt(epsilon)`` for a budget; demand ``(scale / price)^2`` at a price."""

    scale: Positive = 1.0
    epsilon_max: Positive = 100.0

    def value(self, epsilon: np.ndarray) -> np.ndarray:
        return 2 * self.scale * np.sqrt(epsilon)

    def demand(self, price: np.ndarray) -> np.ndarray:
        return np.minimum((self.scale / np.maximum(price, 1e-9)) ** 2, self.epsilon_max)


def compute_virtual(setting: Setting) -> pd.DataFrame:
    """Epsilon and payment by cost, with their closed forms; money kept, also at posted prices."""
    law = Uniform(0.5, 2.0)
    value = SquareRoot()
    rule = VirtualCost(law, value)
    rows: list[dict[str, object]] = []
    for cost in np.linspace(0.5, 2.0, setting.pick_value(61, 11)):
        epsilon, payment = (float(part[0]) for part in rule.settle(np.array([cost]), np.zeros(1)))
        sold = (2 * cost - 0.5) ** -2  # against a virtual cost of 2c - low
        rent = quad(lambda z: (2 * z - 0.5) ** -2, cost, 2.0)[0]
        row = {
            "part": "costs",
            "cost": cost,
            "epsilon": epsilon,
            "payment": payment,
            "law": sold,
            "paid_by_law": cost * sold + rent,
        }
        rows.append(row)
    costs = law.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)

    def add_kept(price: float, sold: np.ndarray, paid: np.ndarray) -> None:
        kept = float((value.value(sold) - paid).mean())
        rows.append({"part": "kept", "price": price, "learner_keeps": kept})

    add_kept(np.nan, *rule.settle(costs, np.zeros(QUANTILES)))
    for price in np.linspace(0.5, 2.0, setting.pick_value(50, 10))[1:]:
        best = float(value.demand(np.array(price)))
        posted = PostedPrice(1e9, float(price), best)
        add_kept(price, *posted.settle(costs, np.arange(float(QUANTILES))))
    lies = search_lies(VirtualCost(LAW, value), setting, "virtual cost")
    return pd.DataFrame([*rows, lies])


def measure_virtual(frame: pd.DataFrame) -> dict[str, float]:
    """Distances to the closed form and the integral, the best posted price, and the promises."""
    rows = frame[frame["part"] == "costs"]
    kept = frame[frame["part"] == "kept"]["learner_keeps"]
    numbers = {
        "sold": relative_distance(rows["epsilon"], rows["law"]),
        "paid": relative_distance(rows["payment"], rows["paid_by_law"]),
        "kept": kept.iloc[0] / kept.iloc[1:].max(),
    }
    return numbers | measure_promises(frame)


def draw_virtual(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw epsilon and payment by cost, and the money that the learner keeps."""
    left, right = panels
    rows = frame[frame["part"] == "costs"]
    kept = frame[frame["part"] == "kept"]
    for name, text, law in (("epsilon", "ε sold", "law"), ("payment", "money paid", "paid_by_law")):
        (line,) = left.plot(rows["cost"], rows[law], lw=1.1)
        left.plot(rows["cost"], rows[name], "o", ms=3, color=line.get_color(), label=text)
    right.plot(kept["price"], kept["learner_keeps"], lw=1.2, label="a posted price")
    right.axhline(kept["learner_keeps"].iloc[0], ls="--", color=ORANGE, label="contracts")


def compute_menu(setting: Setting) -> pd.DataFrame:
    """Two contracts at even odds, by the mechanism and by a numeric program over all menus."""
    types = [1.0, 2.0]
    odds = [ODDS, ODDS]
    rule = Menu(types, odds, SquareRoot())
    numeric = best_menu(np.array(types))
    columns = {
        "part": "types",
        "cost": types,
        "epsilon": rule.epsilon,
        "payment": rule.payments,
        "epsilon_by_program": numeric[:2],
        "payment_by_program": numeric[2:],
    }
    rows = pd.DataFrame(columns).to_dict("records")
    for cost in np.linspace(1.1, 4.0, setting.pick_value(30, 5)):
        menu = Menu([1.0, cost], odds, SquareRoot())
        row = {"part": "dearer", "cost": cost}
        rows.append(row | {"epsilon": menu.epsilon[1], "payment": menu.payments[1]})
    lies = search_lies(Menu.from_law(LAW, 4, SquareRoot()), setting, "menu")
    return pd.DataFrame([*rows, lies])


def best_menu(costs: np.ndarray) -> np.ndarray:
    """Best epsilon and payments (4,) of two incentive-compatible contracts, by SLSQP."""

    def loss(x: np.ndarray) -> float:
        return -float(ODDS * np.sum(2 * np.sqrt(np.maximum(x[:2], 0)) - x[2:]))

    def surplus(x: np.ndarray) -> np.ndarray:
        """Surplus of each owner (rows) with each contract (columns)."""
        return x[2:] - costs[:, None] * x[:2]

    rational = {"type": "ineq", "fun": lambda x: np.diag(surplus(x))}
    compatible = {"type": "ineq", "fun": lambda x: np.diag(surplus(x) - surplus(x)[:, ::-1])}
    found = minimize(
        loss,
        np.array([0.5, 0.3, 1.0, 0.7]),
        bounds=[(1e-6, 10)] * 4,
        constraints=[rational, compatible],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


def measure_menu(frame: pd.DataFrame) -> dict[str, float]:
    """The known contracts, the distance to the numeric program, and the promises."""
    rows = frame[frame["part"] == "types"]
    columns = ("epsilon", "payment")
    known = find_known(rows, "cost", (1.0, 2.0), columns)
    distance = max(relative_distance(rows[f"{name}_by_program"], rows[name]) for name in columns)
    return known | {"distance": distance} | measure_promises(frame)


def draw_menu(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw the contract of the dearer owner by its cost."""
    (axes,) = panels
    rows = frame[frame["part"] == "dearer"].sort_values("cost")
    cost = rows["cost"]
    axes.plot(cost, rows["epsilon"], lw=1.2, label="ε asked of the dearer")
    axes.plot(cost, rows["payment"], lw=1.2, label="paid to the dearer, money")
    axes.plot(cost, (2 * cost - 1) ** -2, "o", ms=2.5, color=MUTED, label="1/(2c − 1)²")


VIRTUAL = (compute_virtual, measure_virtual, draw_virtual)
MENU = (compute_menu, measure_menu, draw_menu)
