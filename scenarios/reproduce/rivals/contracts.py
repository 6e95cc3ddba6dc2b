"""Contracts for a known law of costs: the virtual cost (Myerson; Fallah and others) and a menu of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.integrate import quad
from scipy.optimize import minimize

from learning.declaration import Positive
from market.procurement.contracts import Menu, VirtualCost
from market.procurement.cost_laws import Uniform
from market.procurement.offers import PostedPrice
from market.procurement.valuation import Valuation
from scenarios.reproduce.drawing import legend, scales
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.rivals.panels import panels
from scenarios.reproduce.rivals.searched import LAW, known, promises, search

DERIVED = "derived by hand (THEORY 7)"
ODDS = 0.5  # of each of two types


@dataclass(frozen=True)
class Root(Valuation):
    """Money ``2 scale sqrt(epsilon)`` for a budget, so that ``(scale / price)^2`` is asked for at a price."""

    scale: Positive = 1.0
    epsilon_max: Positive = 100.0

    def value(self, epsilon: np.ndarray) -> np.ndarray:
        return 2 * self.scale * np.sqrt(epsilon)

    def demand(self, price: np.ndarray) -> np.ndarray:
        return np.minimum((self.scale / np.maximum(price, 1e-9)) ** 2, self.epsilon_max)


def virtual(setting: Setting) -> pd.DataFrame:
    """What each cost sells for how much, by the mechanism and by an integral; and what the learner keeps, beside a price."""
    law = Uniform(0.5, 2.0)
    rule, rows = VirtualCost(law, Root()), []
    for cost in np.linspace(0.5, 2.0, 11 if setting.quick else 61):
        epsilon, payment = (float(part[0]) for part in rule.settle(np.array([cost]), np.zeros(1)))
        sold = (2 * cost - 0.5) ** -2  # against a virtual cost of 2c - low
        paid = cost * sold + quad(lambda z: (2 * z - 0.5) ** -2, cost, 2.0)[0]
        rows.append(
            {"part": "costs", "cost": cost, "epsilon": epsilon, "payment": payment, "law": sold, "paid_by_law": paid}
        )
    costs = law.quantile((np.arange(2000) + 0.5) / 2000)
    sold, paid = rule.settle(costs, np.zeros(2000))
    kept = [{"part": "kept", "price": np.nan, "learner_keeps": float((Root().value(sold) - paid).mean())}]
    for price in np.linspace(0.5, 2.0, 10 if setting.quick else 50)[1:]:
        best = float(Root().demand(np.array(price)))
        posted = PostedPrice(1e9, float(price), best)
        bought, money = posted.settle(costs, np.arange(2000.0))
        kept.append({"part": "kept", "price": price, "learner_keeps": float((Root().value(bought) - money).mean())})
    return pd.DataFrame([*rows, *kept, search(VirtualCost(LAW, Root()), setting, "virtual cost")])


def virtual_checks(frame: pd.DataFrame) -> list[Check]:
    """The closed form, the payment's integral, that no posted price keeps the learner more, and the promises."""
    rows, kept = frame[frame["part"] == "costs"], frame[frame["part"] == "kept"]
    ours, posted = kept["learner_keeps"].iloc[0], kept["learner_keeps"].iloc[1:].max()
    return [
        Check("ε apart from 1/(2c − low)², relative", _apart(rows["epsilon"], rows["law"]), 0, 1e-4, "0", "law"),
        Check(
            "payment apart from its integral, relative",
            _apart(rows["payment"], rows["paid_by_law"]),
            0,
            1e-4,
            "0",
            "law",
        ),
        Check("the learner keeps, over the best posted price", float(ours / posted), 1, np.inf, "at least 1", "law"),
        *promises(frame),
    ]


def _apart(found: pd.Series, right: pd.Series) -> float:
    return float((found / right - 1).abs().max())


def draw_virtual(frame: pd.DataFrame, note: str) -> Figure:
    """What each cost sells and is paid, and what the learner keeps."""
    figure, (left, right) = panels("Contracts against the virtual cost: V = 2√ε, costs uniform on [0.5, 2]", note, 2)
    rows, kept = frame[frame["part"] == "costs"], frame[frame["part"] == "kept"]
    for name, text, law in (("epsilon", "ε sold", "law"), ("payment", "money paid", "paid_by_law")):
        (line,) = left.plot(rows["cost"], rows[law], lw=1.1)
        left.plot(rows["cost"], rows[name], "o", ms=3, color=line.get_color(), label=text)
    left.set(xlabel="cost of a unit of ε, money", ylabel="ε; money")
    scales(left, "y")
    right.plot(kept["price"], kept["learner_keeps"], lw=1.2, label="a posted price")
    right.axhline(kept["learner_keeps"].iloc[0], ls="--", color="#c44d00", label="contracts")
    right.set(xlabel="price of a unit of ε, money", ylabel="the learner keeps of each owner, money")
    for axes in (left, right):
        legend(axes)
    return figure


def menu(setting: Setting) -> pd.DataFrame:
    """Two contracts for costs 1 and 2 at even odds, by the mechanism and by a numeric program over all menus."""
    rule = Menu([1.0, 2.0], [ODDS, ODDS], Root())
    numeric = _best_menu(np.array([1.0, 2.0]))
    rows = [
        {"part": "types", "cost": cost, "epsilon": e, "payment": p, "epsilon_by_program": ne, "payment_by_program": np_}
        for cost, e, p, ne, np_ in zip((1.0, 2.0), rule.epsilon, rule.payments, numeric[:2], numeric[2:], strict=True)
    ]
    for far in np.linspace(1.1, 4.0, 5 if setting.quick else 30):
        other = Menu([1.0, far], [ODDS, ODDS], Root())
        rows.append({"part": "dearer", "cost": far, "epsilon": other.epsilon[1], "payment": other.payments[1]})
    lies = search(Menu.from_law(LAW, 4, Root()), setting, "menu")
    return pd.DataFrame([*rows, lies])


def _best_menu(costs: np.ndarray) -> np.ndarray:
    """Epsilon and payments (4,) that leave the learner most, nobody losing and nobody gaining by the other's contract."""

    def loses(x: np.ndarray) -> float:
        return -float(ODDS * np.sum(2 * np.sqrt(np.maximum(x[:2], 0)) - x[2:]))

    def surplus(x: np.ndarray, own: int, taken: int) -> float:
        return float(x[2 + taken] - costs[own] * x[taken])

    limits = [{"type": "ineq", "fun": lambda x, i=i: surplus(x, i, i)} for i in (0, 1)]
    limits += [{"type": "ineq", "fun": lambda x, i=i: surplus(x, i, i) - surplus(x, i, 1 - i)} for i in (0, 1)]
    start, bounds = np.array([0.5, 0.3, 1.0, 0.7]), [(1e-6, 10)] * 4
    found = minimize(
        loses, start, bounds=bounds, constraints=limits, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500}
    )
    return found.x


def menu_checks(frame: pd.DataFrame) -> list[Check]:
    """The known contracts, the numeric program's, and the promises."""
    rows = frame[frame["part"] == "types"]
    apart = max(
        _apart(rows["epsilon_by_program"], rows["epsilon"]), _apart(rows["payment_by_program"], rows["payment"])
    )
    return [
        *known(rows, {"cost": 1.0}, {"epsilon": 1.0, "payment": 10 / 9}, DERIVED),
        *known(rows, {"cost": 2.0}, {"epsilon": 1 / 9, "payment": 2 / 9}, DERIVED),
        Check("apart from the best of all menus, relative", apart, 0, 1e-3, "0", "law", 1e-3),
        *promises(frame),
    ]


def draw_menu(frame: pd.DataFrame, note: str) -> Figure:
    """What the dearer owner is offered, the dearer it is."""
    figure, (axes,) = panels("Two contracts at even odds, V = 2√ε: what the dearer owner is asked and paid", note)
    rows = frame[frame["part"] == "dearer"].sort_values("cost")
    axes.plot(rows["cost"], rows["epsilon"], lw=1.2, label="ε asked of the dearer")
    axes.plot(rows["cost"], rows["payment"], lw=1.2, label="paid to the dearer, money")
    axes.plot(rows["cost"], (2 * rows["cost"] - 1) ** -2, "o", ms=2.5, color="#636c76", label="1/(2c − 1)²")
    axes.set(xlabel="cost of the dearer owner; the cheaper costs 1", ylabel="ε; money")
    scales(axes, "y")
    legend(axes)
    return figure


SEARCHED = "Lies were looked for in random markets of six owners, each of whom tried some ninety reports."
ITEMS = (
    Item(
        "N2-virtual",
        "Myerson (1981); Fallah and others, Optimal and Differentially Private Data Acquisition (2022)",
        "Buying against the virtual cost",
        "Knowing the law of costs, the learner does best to buy from an owner of cost c as if it cost c + F(c)/f(c), and "
        "to pay cε(c) and the integral of ε over all dearer costs.",
        virtual,
        virtual_checks,
        draw_virtual,
        f"No table of the papers could be read; the closed form for a uniform law stands in its place. {SEARCHED}",
        cost=4.0,
    ),
    Item(
        "N2-menu",
        "Laffont and Martimort, The Theory of Incentives, chapter 2 (THEORY 7)",
        "A menu for two types",
        "The cheaper of two types sells the efficient amount and keeps a rent; the dearer is bought at its virtual cost and "
        "left with nothing. With V = 2√ε, costs 1 and 2 and even odds: ε = 1 and 1/9, paid 1.111111 and 0.222222.",
        menu,
        menu_checks,
        draw_menu,
        f"The numbers are derived; a numeric program over all menus is the second route. {SEARCHED}",
        cost=2.0,
    ),
)
