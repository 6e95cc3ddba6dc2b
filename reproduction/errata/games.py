"""Errata of the thesis's games: an inverted weight, a second equilibrium, two terms of one sign."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.optimize import brentq

from learning.arrays import Array
from market.analysis.thesis_games import thesis_game
from market.costs.leakage import leakage_bits, utility_bound
from market.equilibrium.solver import solve
from reproduction.checks import at_least, at_most, equal_to, pick_number, select_rows
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import curve, draw_panels, make_panel

GAINS: dict[str, Callable[[Array], Array]] = {
    "leakage": lambda epsilon: 100 * leakage_bits(epsilon, 10),
    "utility": lambda epsilon: utility_bound(epsilon, 5, 2),
}
OWNERS = 4
FLOOR = 0.001


# ---- E-6: the weight, and how many equilibria there are


def compute_payoff(kind: str, weight: str, top: float, own: Array, other: float) -> Array:
    """(4.1), (4.2): share w gain - e^epsilon, the three others at one budget, all sizes equal."""
    gain = GAINS[kind](np.array([top]))[0]
    cost = np.exp(top)
    scale = cost / gain if weight == "normalised" else gain / cost
    others = (OWNERS - 1) * other
    return np.asarray(others / (others + own) * scale * GAINS[kind](own) - np.exp(own))


def symmetric_equilibria(kind: str, weight: str, top: float, points: int) -> list[float]:
    """Symmetric equilibria: ends and roots of the slope that no deviation improves."""
    grid = np.geomspace(FLOOR, top, points)

    def slope(at: float) -> float:
        sides = compute_payoff(kind, weight, top, at * np.array([1 - 1e-6, 1 + 1e-6]), at)
        return float(sides[1] - sides[0]) / at

    slopes = [slope(at) for at in grid]
    turns = [i for i in range(points - 1) if slopes[i] * slopes[i + 1] < 0]
    places = [FLOOR, *(brentq(slope, grid[i], grid[i + 1]) for i in turns), top]

    def is_improved(at: float) -> bool:
        payoffs = compute_payoff(kind, weight, top, np.append(grid, at), at)
        return bool(payoffs.max() > payoffs[-1] + 1e-7 * abs(payoffs[-1]))

    return [at for at in places if not is_improved(at)]


CASES = (
    ("leakage", "normalised", 5.0),
    ("leakage", "printed", 5.0),
    ("utility", "normalised", 5.0),
    ("utility", "normalised", 2.0),
    ("utility", "printed", 5.0),
)


def compute_equilibria(setting: Setting) -> Rows:
    """Symmetric equilibria of each game, beside the solver's, and payoff curves at them."""
    for number, (kind, weight, top) in enumerate(CASES):
        game = thesis_game(kind, 1e4, epsilon=(FLOOR, top), weight=weight)
        rng = setting.streams("E-6").rng("starts", number)
        found = solve(game, rng=rng, starts=quick_or_full(setting, 4, 8))
        solved = np.array([float(one.epsilon[0]) for one in (found, *found.others)])
        unlike = thesis_game(kind, [1e3, 1e4, 2e4, 1e5], epsilon=(FLOOR, top), weight=weight)
        payment = game.policy.owner_weights(game.owners)[0] * GAINS[kind](np.array([top]))[0]
        common = dict(
            game=kind,
            weight=weight,
            top=top,
            largest_payment=float(payment),
            largest_cost=np.exp(top),
            regret_at_floor=float(unlike.regret(np.full(OWNERS, FLOOR)).max()),
        )
        line = np.linspace(FLOOR, top, 400)
        bend = max(
            np.diff(compute_payoff(kind, weight, top, line, other), 2).max()
            for other in (FLOOR, 0.1, 1.0, top)
        )
        for at in symmetric_equilibria(kind, weight, top, quick_or_full(setting, 500, 2000)):
            distance = float(np.abs(solved - at).min())
            yield {**common, "equilibrium": at, "off_solver": distance, "most_convex": bend}
            own = np.linspace(FLOOR, top, 41)
            payoffs = compute_payoff(kind, weight, top, own, at)
            for place, payoff in zip(own, payoffs, strict=True):
                yield {**common, "others_at": at, "own": place, "payoff": payoff}


def peak_near(what: str, found: float, wanted: float, published: str = "one peak") -> Check:
    """An equilibrium within 1e-4 of a value."""
    return Check(what, found, wanted - 1e-4, wanted + 1e-4, published, "law", 1e-4)


def check_equilibria(frame: pd.DataFrame) -> Checks:
    """The utility game has two equilibria, and the printed weight pays next to nothing."""
    found = frame[frame["equilibrium"].notna()]
    utility = select_rows(found, game="utility", weight="normalised", top=5.0)
    short = select_rows(found, game="utility", weight="normalised", top=2.0)
    leakage = select_rows(found, game="leakage", weight="normalised")["equilibrium"]
    printed = select_rows(found, game="leakage", weight="printed")["equilibrium"]
    inverted = select_rows(found, game="utility", weight="printed")
    yield equal_to("count", len(utility), 2.0, "1")
    yield peak_near("higher", utility["equilibrium"].max(), 2.24253)
    yield peak_near("lower", utility["equilibrium"].min(), FLOOR, "none")
    yield at_least("short_interval", len(short), 2.0, "1")
    regret = utility["regret_at_floor"].max()
    yield at_most("regret_at_floor", regret, 1e-9, "above 0")
    yield at_least("most_convex", utility["most_convex"].max(), 1e-9, "below 0")
    yield peak_near("leakage_meant", leakage.max(), 2.50943)
    yield peak_near("leakage_printed", printed.max(), 3.23286)
    paid = (inverted["largest_payment"] / inverted["largest_cost"]).max()
    yield at_most("largest_payment", paid, 0.01, "1")
    yield peak_near("utility_printed", inverted["equilibrium"].max(), FLOOR)
    stable = found[~np.isclose(found["equilibrium"], 0.2389, atol=1e-3)]
    yield at_most("off_solver", stable["off_solver"].max(), 1e-4, tolerance=1e-4)


def draw_payoffs(axes: Axes, frame: pd.DataFrame) -> None:
    """A payoff curve for each equilibrium of the others, with its peak."""
    for other, rows in frame[frame["own"].notna()].groupby("others_at"):
        (line,) = axes.plot(rows["own"], rows["payoff"], label=f"others at {other:g}")
        peak = rows.loc[rows["payoff"].idxmax()]
        axes.plot(peak["own"], peak["payoff"], marker="o", ms=5, color=line.get_color())


draw_equilibria = draw_panels(
    "E-6",
    *(
        make_panel(
            draw_payoffs,
            labels=("own ε", "payoff"),
            heading=f"{kind} compensation",
            where={"game": kind, "weight": "normalised", "top": 5.0},
            legend={},
        )
        for kind in ("leakage", "utility")
    ),
)


# ---- E-8: both terms push one way


def compute_choices(setting: Setting) -> Rows:
    """Budgets that minimise the costs of sections 4.2 and 4.3, and both costs over epsilon."""
    for top in (5.0, 20.0, 80.0, 300.0):
        epsilon = np.geomspace(0.01, top, 2000)
        for weight in (0.01, 1.0, 100.0):
            # predicted loss as in Theorem 2, less bits leaked
            cost = weight / epsilon**2 - GAINS["leakage"](epsilon)
            chosen = epsilon[np.argmin(cost)]
            yield dict(cost="section 4.2", weight=weight, top=top, chosen=chosen)
        payoff = compute_payoff("leakage", "normalised", 5.0, epsilon, 2.5)
        chosen = epsilon[np.argmax(payoff)]
        yield dict(cost="section 4.3", weight=1.0, top=top, chosen=chosen)
    epsilon = np.linspace(0.05, 8, 60)
    payoff = compute_payoff("leakage", "normalised", 5.0, epsilon, 2.5)
    costs = {
        "section 4.2": 1 / epsilon**2 - GAINS["leakage"](epsilon) / 100,
        "section 4.3": -payoff / 100,
    }
    for name, values in costs.items():
        for at, value in zip(epsilon, values, strict=True):
            yield dict(cost=name, epsilon=at, value=value)


def check_choices(frame: pd.DataFrame) -> Checks:
    """The cost of section 4.2 falls without end."""
    both = select_rows(frame, cost="section 4.2")
    rise = float(both["value"].dropna().diff().max())
    yield at_most("rise", rise, 0.0, "a trade-off")
    yield equal_to("chosen", (both["chosen"] / both["top"]).min(), 1.0, "inside")
    chosen = pick_number(frame, "chosen", cost="section 4.3", top=300.0)
    yield at_most("chosen_by_payoff", chosen / 300, 0.1, "inside")


draw_choices = draw_panels(
    "E-8",
    *(
        make_panel(
            lambda axes, frame: curve("epsilon", "value")(axes, frame[frame["value"].notna()]),
            labels=("ε", "cost, in its own unit"),
            heading=title,
            where={"cost": cost},
            ylim=(bottom, 10),
        )
        for cost, title, bottom in (
            ("section 4.2", "4.2: predicted loss - leakage", -4),
            ("section 4.3", "4.3: e^ε - payment for leakage", -3),
        )
    ),
)

ITEMS = (
    make_item("E-6", compute_equilibria, check_equilibria, draw_equilibria),
    make_item("E-8", compute_choices, check_choices, draw_choices),
)
