"""Errata of the thesis: a weight upside down, two equilibria where one was claimed, two terms on one side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import brentq

from learning.arrays import Array
from market.analysis.thesis_games import thesis_game
from market.costs.leakage import leakage_bits, utility_bound
from market.equilibrium.solver import solve
from scenarios.reproduce.drawing import legend, page, say
from scenarios.reproduce.errata.showing import above, below, equal, pick
from scenarios.reproduce.item import Check, Item, Setting

GAINS: dict[str, Callable[[Array], Array]] = {
    "leakage": lambda epsilon: 100 * leakage_bits(epsilon, 10),
    "utility": lambda epsilon: utility_bound(epsilon, 5, 2),
}
OWNERS, FLOOR = 4, 0.001


# ---- E-6: the weight, and how many equilibria there are


def _payoff(kind: str, weight: str, top: float, own: Array, other: float) -> Array:
    """(4.1), (4.2): share w gain - e^epsilon, the three others at one budget, all sizes alike."""
    gain, cost = GAINS[kind](np.array([top]))[0], np.exp(top)
    scale = cost / gain if weight == "normalised" else gain / cost
    others = (OWNERS - 1) * other
    return np.asarray(others / (others + own) * scale * GAINS[kind](own) - np.exp(own))


def _alike(kind: str, weight: str, top: float, points: int) -> list[float]:
    """Every equilibrium at which all owners alike stand at one budget: ends and roots of the slope that no move improves."""
    grid = np.geomspace(FLOOR, top, points)

    def slope(at: float) -> float:
        sides = _payoff(kind, weight, top, at * np.array([1 - 1e-6, 1 + 1e-6]), at)
        return float(sides[1] - sides[0]) / at

    slopes = [slope(at) for at in grid]
    turns = [i for i in range(points - 1) if slopes[i] * slopes[i + 1] < 0]
    places = [FLOOR, *(brentq(slope, grid[i], grid[i + 1]) for i in turns), top]

    def improves(at: float) -> bool:
        own = np.append(grid, at)
        payoffs = _payoff(kind, weight, top, own, at)
        return bool(payoffs.max() > payoffs[-1] + 1e-7 * abs(payoffs[-1]))

    return [at for at in places if not improves(at)]


def _equilibria(setting: Setting) -> pd.DataFrame:
    rows = []
    for number, (kind, weight, top) in enumerate(
        (
            ("leakage", "normalised", 5.0),
            ("leakage", "printed", 5.0),
            ("utility", "normalised", 5.0),
            ("utility", "normalised", 2.0),
            ("utility", "printed", 5.0),
        )
    ):
        game = thesis_game(kind, 1e4, epsilon=(FLOOR, top), weight=weight)
        found = solve(game, rng=setting.streams("E-6").rng("starts", number), starts=4 if setting.quick else 8)
        solved = np.array([float(one.epsilon[0]) for one in (found, *found.others)])
        unlike = thesis_game(kind, [1e3, 1e4, 2e4, 1e5], epsilon=(FLOOR, top), weight=weight)
        common = {
            "game": kind,
            "weight": weight,
            "top": top,
            "largest_payment": float(game.policy.weights(game.owners)[0] * GAINS[kind](np.array([top]))[0]),
            "largest_cost": np.exp(top),
            "regret_at_floor": float(unlike.regret(np.full(OWNERS, FLOOR)).max()),
        }
        bend = max(
            np.diff(_payoff(kind, weight, top, np.linspace(FLOOR, top, 400), other), 2).max()
            for other in (FLOOR, 0.1, 1.0, top)
        )
        for at in _alike(kind, weight, top, 500 if setting.quick else 2000):
            by_solver = float(np.abs(solved - at).min())
            rows.append({**common, "equilibrium": at, "off_solver": by_solver, "most_convex": bend})
            curve = np.linspace(FLOOR, top, 41)
            payoffs = _payoff(kind, weight, top, curve, at)
            pairs = zip(curve, payoffs, strict=True)
            rows += [{**common, "others_at": at, "own": own, "payoff": payoff} for own, payoff in pairs]
    return pd.DataFrame(rows)


def _found(frame: pd.DataFrame, kind: str, weight: str, top: float = 5.0) -> pd.DataFrame:
    part = frame[(frame["game"] == kind) & (frame["weight"] == weight) & np.isclose(frame["top"], top)]
    return part[part["equilibrium"].notna()]


def _check_equilibria(frame: pd.DataFrame) -> list[Check]:
    def close(what: str, found: float, wanted: float, published: str) -> Check:
        return Check(what, found, wanted - 1e-4, wanted + 1e-4, published, "law", 1e-4)

    utility, short = _found(frame, "utility", "normalised"), _found(frame, "utility", "normalised", 2.0)
    leakage, printed = _found(frame, "leakage", "normalised"), _found(frame, "leakage", "printed")
    upside = _found(frame, "utility", "printed")
    paid = upside["largest_payment"] / upside["largest_cost"]
    stable = frame[frame["equilibrium"].notna() & ~np.isclose(frame["equilibrium"].fillna(0), 0.2389, atol=1e-3)]
    return [
        equal("equilibria of the utility game, equal sizes, w as the text means it", len(utility), 2.0, "1"),
        close("the higher of them", utility["equilibrium"].max(), 2.24253, "one peak"),
        close("the lower", utility["equilibrium"].min(), FLOOR, "none"),
        above("equilibria where budgets end at 2", len(short), 2.0, "1"),
        below("gain by leaving the floor, sizes 10³ to 10⁵", utility["regret_at_floor"].max(), 1e-9, "above 0"),
        above(
            "largest second difference of the utility payoff in one's own ε",
            utility["most_convex"].max(),
            1e-9,
            "below 0",
        ),
        close("leakage game, w as the text means it", leakage["equilibrium"].max(), 2.50943, "one peak"),
        close("leakage game, w as printed", printed["equilibrium"].max(), 3.23286, "one peak"),
        below("largest payment over largest cost in the utility game, w as printed", paid.max(), 0.01, "1"),
        close("where that game settles", upside["equilibrium"].max(), FLOOR, "one peak"),
        below(
            "distance to what the program's solver finds, but for the one that no play reaches",
            stable["off_solver"].max(),
            1e-4,
            tolerance=1e-4,
        ),
    ]


def _draw_equilibria(frame: pd.DataFrame, note: str) -> Figure:
    figure, panels = page(
        "An owner's payoff where the other three stand at an equilibrium, equal sizes", note, columns=2
    )
    curves = frame[frame["own"].notna() & np.isclose(frame["top"], 5.0)]
    for axes, kind in zip(panels, ("leakage", "utility"), strict=True):
        part = curves[(curves["game"] == kind) & (curves["weight"] == "normalised")]
        for other, rows in part.groupby("others_at"):
            (line,) = axes.plot(rows["own"], rows["payoff"], label=f"others at {other:g}")
            peak = rows.loc[rows["payoff"].idxmax()]
            axes.plot(peak["own"], peak["payoff"], marker="o", ms=5, color=line.get_color())
        axes.set(xlabel="own ε", ylabel="payoff")
        axes.grid(True)
        say(axes, f"{kind} compensation")
        legend(axes)
    return figure


# ---- E-8: both terms push one way


def _pushed(setting: Setting) -> pd.DataFrame:
    rows = []
    for top in (5.0, 20.0, 80.0, 300.0):
        epsilon = np.geomspace(0.01, top, 2000)
        for weight in (0.01, 1.0, 100.0):
            loss, leak = weight / epsilon**2, GAINS["leakage"](epsilon)  # predicted loss as in Theorem 2, bits leaked
            rows.append(
                {"cost": "section 4.2", "weight": weight, "top": top, "chosen": epsilon[np.argmin(loss - leak)]}
            )
        rows.append(
            {
                "cost": "section 4.3",
                "weight": 1.0,
                "top": top,
                "chosen": epsilon[np.argmax(_payoff("leakage", "normalised", 5.0, epsilon, 2.5))],
            }
        )
    epsilon = np.linspace(0.05, 8, 60)
    for name, value in (
        ("section 4.2", 1 / epsilon**2 - GAINS["leakage"](epsilon) / 100),
        ("section 4.3", -_payoff("leakage", "normalised", 5.0, epsilon, 2.5) / 100),
    ):
        rows += [{"cost": name, "epsilon": at, "value": cost} for at, cost in zip(epsilon, value, strict=True)]
    return pd.DataFrame(rows)


def _check_pushed(frame: pd.DataFrame) -> list[Check]:
    chosen = frame[frame["top"].notna()]
    both, one = (chosen[chosen["cost"] == cost] for cost in ("section 4.2", "section 4.3"))
    values = frame[(frame["cost"] == "section 4.2") & frame["value"].notna()]["value"]
    return [
        below("largest rise of the cost of section 4.2 along ε", float(values.diff().max()), 0.0, "a trade-off"),
        equal(
            "ε chosen over the end of the interval, whichever end and weight, least",
            (both["chosen"] / both["top"]).min(),
            1.0,
            "inside",
        ),
        below("the same of section 4.3, end at 300", pick(one, "chosen", top=300.0) / 300, 0.1, "inside"),
    ]


def _draw_pushed(frame: pd.DataFrame, note: str) -> Figure:
    figure, (left, right) = page(
        "What an owner minimises in the thesis, section 4.2 against section 4.3", note, columns=2
    )
    for axes, cost, title in (
        (left, "section 4.2", "4.2: predicted loss - leakage"),
        (right, "section 4.3", "4.3: e^ε - payment for leakage"),
    ):
        part = frame[(frame["cost"] == cost) & frame["value"].notna()]
        axes.plot(part["epsilon"], part["value"])
        axes.set(xlabel="ε", ylabel="cost, in its own unit")
        axes.grid(True)
        say(axes, title)
    left.set_ylim(-4, 10)
    right.set_ylim(-3, 10)
    return figure


WHO = "Wu, thesis"
ITEMS = (
    Item(
        key="E-6",
        where=f"{WHO}, (4.1), (4.2), sections 4.3 and 4.4",
        title="A weight upside down, and two equilibria where one was claimed",
        claim=(
            "The weight w = max gain/max e^ε rescales payment and cost to one range. The leakage payoff (4.1) is "
            "concave, so the equilibrium is unique; so it is, without a reason given, in the utility game."
        ),
        compute=_equilibria,
        checks=_check_equilibria,
        draw=_draw_equilibria,
        differs=(
            "What brings the payment to the range of e^ε is the inverse, max e^ε/max gain. As printed the utility game "
            "pays less than a hundredth of what ε costs, and everybody shares the least allowed. Concavity is said, not "
            "shown, and is not plain, since the share that w is multiplied with holds the owner's own ε; it happens to "
            "hold of the leakage payoff, for which it is said, and fails of the utility payoff. The utility game with "
            "equal sizes has two equilibria: at the floor, since who is alone in sharing is paid next to nothing, and "
            "at 2.243; a third one, which no play reaches, where budgets end at 2; and the floor stays one where sizes "
            "differ. The leakage game, whose gain starts at nothing, has one, at 2.509 (3.233 as printed). The figures "
            "of the thesis show one peak each, for numbers that it does not give; ours are on intervals from 0.001 on."
        ),
        cost=1,
    ),
    Item(
        key="E-8",
        where=f"{WHO}, section 4.2 and Proposition 1, against sections 4.3 and 4.4",
        title="A trade-off whose two sides push the same way",
        claim=(
            "Owners minimise wf·U - L over ε ≥ 0, U the predicted loss of Theorem 2 and L what leaks; if payments "
            "depend on one's own ε alone and costs are continuous, an equilibrium exists."
        ),
        compute=_pushed,
        checks=_check_pushed,
        draw=_draw_pushed,
        differs=(
            "The predicted loss falls with ε and the leakage rises, so the cost falls without end: more ε is always "
            "better, whatever the weight, and over ε ≥ 0 there is no best one. That refutes Proposition 1 too (with a "
            "loss that is finite at 0 as well), whose proof takes the extreme value theorem to an interval without an "
            "end. Sections 4.3 and 4.4 pay for leakage and charge e^ε: those games have a best reply, and are the ones "
            "computed here, on intervals with two ends."
        ),
        cost=1,
    ),
)
