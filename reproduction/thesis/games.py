"""TH-4.2 and TH-4.3: the compensation games, with payoff curve, paths and different sizes."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.optimize import brentq

from learning.arrays import Array
from market.analysis.basins import Basins, basins_of_attraction
from market.analysis.thesis_games import thesis_game
from market.game.game import Game
from market.policies.thesis import Compensation
from reproduction.checks import pick_number, select_rows
from reproduction.drawing import Style, curve
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows
from scenarios.report.figure_game import draw_paths
from scenarios.report.figure_page import INK, PALETTE

SIZES = {"equal": (1e4,) * 4, "different": (1e3, 1e4, 2e4, 1e5)}
STARTS: tuple[Any, ...] = (0.05, 1.0, 3.5, 5.0, (0.5, 1.5, 3.0, 4.5))
MEANT = "normalised"  # w as the text means it
WEIGHTS = (MEANT, "printed")
LOWEST = 0.001
HIGHEST = 5.0
# Equilibria by an independent program; the thesis shows its figures without digits.
SETTLED = {
    ("leakage", "equal"): (2.50943,) * 4,
    ("leakage", "different"): (2.98669, 2.77478, 2.55741, 1.42312),
    ("utility", "equal"): (2.24253,) * 4,
    ("utility", "different"): (2.76503, 2.52267, 2.28974, 1.25654),
}
POINTS = 400  # of a payoff curve
NEARLY_NOTHING = 1e-4  # ε of all
OTHERS = np.geomspace(1e-3, 15, 40)  # total budgets of the others, of equal sizes


def compute_game(kind: str, setting: Setting) -> Rows:
    """Payoff curves, paths and equilibria, under both readings of w and for both sizes."""
    for weight in WEIGHTS:
        for sizes, records in SIZES.items():
            game = thesis_game(kind, records, epsilon=(LOWEST, HIGHEST), weight=weight)
            starts = setting.pick_value(STARTS, STARTS[::2])
            streams = setting.streams(f"TH {kind} {weight} {sizes}")
            found = basins_of_attraction(
                game, starts, streams=streams, search=setting.pick_value(16, 4)
            )
            rows = chain(
                list_equilibria(game, found), list_paths(game, found), payoff_curve(game, found)
            )
            yield from ({"weight": weight, "sizes": sizes} | row for row in rows)
            setting.did(1 / len(WEIGHTS) / len(SIZES))
        bend = largest_second_derivative(kind, weight)
        range_ratio = float(scale_payment(kind, weight, np.array(HIGHEST)) / np.exp(HIGHEST))
        row = {"panel": "bend", "weight": weight, "sizes": "equal", "bend": bend}
        yield row | {"range": range_ratio}
    root = symmetric_equilibrium(kind, 4)
    yield dict(panel="by hand", weight=MEANT, sizes="equal", epsilon=root)
    rise = symmetric_slope(kind, 4, NEARLY_NOTHING)
    for panel, payoff in (("gain from nothing", gain_from_nothing(kind)), ("rise", rise)):
        yield dict(panel=panel, weight=MEANT, sizes="equal", payoff=payoff)


def list_equilibria(game: Game, found: Basins) -> Rows:
    """Every equilibrium, owner by owner, and the boundary of basins of attraction."""
    names = game.owners.names
    for number, one in enumerate(found.equilibria, 1):
        common = {
            "panel": "equilibrium",
            "equilibrium": number,
            "starts": len(found.starts_of(number - 1)),
            "stable": found.stable[number - 1],
            "relative_regret": one.max_relative_regret,
            "at_lowest": bool(np.all(one.epsilon == LOWEST)),
        }
        for name, size, epsilon in zip(names, game.owners.sizes, one.epsilon, strict=True):
            yield common | {"owner": name, "n_records": size, "epsilon": epsilon}
    for turn in found.turns:
        for name, epsilon in zip(names, turn.epsilon, strict=True):
            yield {"panel": "turn", "owner": name, "epsilon": epsilon}


def list_paths(game: Game, found: Basins) -> Rows:
    """Budget of every owner in every round, from every start."""
    for start, play in enumerate(found.plays, 1):
        for number, profile in enumerate(play.path.profiles):
            common = {"panel": "path", "start": start, "round": number}
            for name, epsilon in zip(game.owners.names, profile, strict=True):
                yield common | {"owner": name, "epsilon": epsilon}


def payoff_curve(game: Game, found: Basins) -> Rows:
    """Payoff of the first owner at every budget, the others at the highest equilibrium."""
    grid = np.linspace(LOWEST, HIGHEST, POINTS)
    others = found.equilibria[-1].epsilon
    payoffs = game.deviation_payoffs(others, grid[None, :], np.array([0]))[0]
    for epsilon, payoff in zip(grid, payoffs, strict=True):
        yield {"panel": "curve", "owner": "owner 1", "epsilon": epsilon, "payoff": payoff}


def symmetric_slope(kind: str, n_owners: int, epsilon: float) -> float:
    """Slope of the payoff in one's own ε, where equal owners all sell the same.

    The share is (N-1)/N, and falls by (N-1)/(N² ε) per unit of one's own:
    ``w ((N-1)/N U' - (N-1)/(N² ε) U) - e^ε``.
    """
    policy: Compensation = thesis_game(kind, 1.0).policy
    weight = np.exp(HIGHEST) / float(policy.quantity_bought(np.array(HIGHEST))[0])
    share = (n_owners - 1) / n_owners
    worth, rise = (float(one) for one in policy.quantity_bought(np.array(epsilon)))
    return weight * share * (rise - worth / (n_owners * epsilon)) - float(np.exp(epsilon))


def symmetric_equilibrium(kind: str, n_owners: int) -> float:
    """Equilibrium of equal owners, as the root of the slope."""
    return float(brentq(partial(symmetric_slope, kind, n_owners), 1.0, HIGHEST))


def gain_from_nothing(kind: str) -> float:
    """Most that an owner gains by selling anything where nobody else sells.

    Its share is 0 then, so that it is paid nothing and bears its cost; selling nothing leaves it
    with -1 at least, whatever a share of 0/0 is taken for.
    """
    grid = np.linspace(0, HIGHEST, POINTS)[1:]
    others = 0.0
    payoffs = others / (others + grid) * scale_payment(kind, MEANT, grid) - np.exp(grid)
    return float(payoffs.max() + 1)


def scale_payment(kind: str, weight: str, epsilon: Array) -> Array:
    """Payment for budgets under a reading of w, but for the share; budgets end at the highest."""
    policy: Compensation = thesis_game(kind, 1.0, weight=weight).policy
    worth = policy.quantity_bought(np.append(epsilon, HIGHEST))[0]
    ratio = worth[-1] / np.exp(HIGHEST)
    scale = ratio if weight == "printed" else 1 / ratio
    return np.asarray(scale * worth[:-1]).reshape(np.shape(epsilon))


def largest_second_derivative(kind: str, weight: str) -> float:
    """Largest second derivative of the payoff in one's own ε; above 0 it is not concave."""
    grid = np.linspace(LOWEST, HIGHEST, 5 * POINTS)
    share = OTHERS[:, None] / (OTHERS[:, None] + grid)
    payoffs = share * scale_payment(kind, weight, grid) - np.exp(grid)
    bends = np.diff(payoffs, 2) / (grid[1] - grid[0]) ** 2
    return float(bends.max())


def highest_equilibrium(frame: pd.DataFrame, weight: str, sizes: str) -> Array:
    """The equilibrium with the largest budgets, (n_owners,)."""
    rows = select_rows(frame, panel="equilibrium", weight=weight, sizes=sizes)
    return select_rows(rows, equilibrium=rows["equilibrium"].max())["epsilon"].to_numpy(float)


def count_peaks(frame: pd.DataFrame, weight: str, sizes: str) -> int:
    """Number of peaks of the payoff curve, ends included."""
    rows = select_rows(frame, panel="curve", weight=weight, sizes=sizes)
    payoff = rows.sort_values("epsilon")["payoff"].to_numpy()
    steps = np.sign(np.diff(payoff))
    return int(np.sum((steps[:-1] > 0) & (steps[1:] < 0)) + (steps[0] < 0) + (steps[-1] > 0))


def final_spread(frame: pd.DataFrame, sizes: str) -> float:
    """Largest distance between owners' last budgets, over all starts."""
    rows = select_rows(frame, panel="path", weight=MEANT, sizes=sizes)
    last = rows[rows["round"] == rows.groupby("start")["round"].transform("max")]
    ends = last.groupby("start")["epsilon"]
    return float((ends.max() - ends.min()).max())


def check_references(kind: str, frame: pd.DataFrame) -> Found:
    """Equilibria against the independent program and the root."""
    for sizes in SIZES:
        values = SETTLED[kind, sizes]
        distance = float(np.max(np.abs(highest_equilibrium(frame, MEANT, sizes) - values)))
        said = ", ".join(f"{value:.5f}" for value in dict.fromkeys(values))
        yield "reference", distance, {"sizes": sizes, "said": said}
    root = select_rows(frame, panel="by hand")["epsilon"].iloc[0]
    yield "root", np.max(np.abs(highest_equilibrium(frame, MEANT, "equal") - root))


def check_game(kind: str, frame: pd.DataFrame) -> Found:
    """References, order by size, meeting paths, one peak, and the number of equilibria.

    One at the floor moves with it, so that it is none of all budgets above 0.
    """
    yield from check_references(kind, frame)
    for weight in WEIGHTS if kind == "leakage" else (MEANT,):
        falls = -np.diff(highest_equilibrium(frame, weight, "different"))
        yield "lower", falls.min(), {"weight": weight}
    yield "meeting", final_spread(frame, "equal")
    yield "peaks", count_peaks(frame, MEANT, "equal")
    equilibria = select_rows(frame, panel="equilibrium")
    yield "regret", equilibria["relative_regret"].max()
    gain = pick_number(frame, "payoff", panel="gain from nothing")
    yield "nothing", gain
    rise = pick_number(frame, "payoff", panel="rise")
    yield "nearly_nothing", rise, {"epsilon": NEARLY_NOTHING}
    for sizes in SIZES:
        found = select_rows(equilibria, weight=MEANT, sizes=sizes)
        above = found.loc[~found["at_lowest"].astype(bool), "equilibrium"].nunique()
        yield "unique", above, {"sizes": sizes}
        yield "from_zero", above + (gain <= 0), {"sizes": sizes}
        yield "from_the_floor", found["equilibrium"].nunique(), {"sizes": sizes, "floor": LOWEST}
    bends = select_rows(frame, panel="bend")
    yield "range", select_rows(bends, weight="printed")["range"].iloc[0]
    if kind == "leakage":
        yield "second_derivative", bends["bend"].max()


def draw_payoffs(axes: Axes, frame: pd.DataFrame) -> None:
    """Payoff curve of each reading of w, with its peak."""
    for number, (weight, style) in enumerate(zip(WEIGHTS, ("-", "--"), strict=True)):
        part = select_rows(frame, weight=weight)
        look: Style = {"color": PALETTE[number], "lw": 1.4, "ls": style}
        label = "w as the text means it" if weight == MEANT else "w as printed"
        curve(axes, part, "epsilon", "payoff", order=True, label=label, **look)
        best = part.loc[part["payoff"].idxmax()]
        axes.plot(best["epsilon"], best["payoff"], "o", ms=5, mfc="none", color=INK)
    meant = select_rows(frame, weight=MEANT)["payoff"]
    top = float(frame["payoff"].max())
    low = min(0.0, float(meant.min())) - 0.1 * float(np.ptp(meant))
    axes.set_ylim(low, top + 0.3 * (top - low))


def draw_budgets(axes: Axes, frame: pd.DataFrame) -> None:
    """Paths from every start, and the equilibria."""
    rows = select_rows(frame, panel="path")
    owners = list(dict.fromkeys(rows["owner"]))
    found = select_rows(frame, panel="equilibrium")
    equilibria = [list(part["epsilon"]) for _, part in found.groupby("equilibrium")]
    draw_paths(axes, rows, owners, equilibria)
    axes.set_ylim(0, 1.04 * HIGHEST)
    sizes = frame["sizes"].iloc[0]
    labels = owners
    if sizes == "different":
        labels = [f"{records:,.0f} records" for records in SIZES[sizes]]
    for number, label in enumerate(labels):
        axes.plot([], [], color=PALETTE[number], lw=2, label=label)


MARKS = {"payoffs": draw_payoffs, "budgets": draw_budgets}
LAWS: dict[str, Law] = {
    key: (partial(compute_game, kind), partial(check_game, kind), MARKS)
    for key, kind in (("TH-4.2", "leakage"), ("TH-4.3", "utility"))
}
