"""The thesis's compensation games, Figures 4.2 and 4.3: payoff curve, paths from several starts, owners of unlike sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import brentq

from market.analysis.basins import Basins, basins
from market.analysis.thesis_games import thesis_game
from market.game.game import CERTIFIED, Game
from market.policies.thesis import Compensation
from scenarios.report.figure_game import draw_paths
from scenarios.report.figure_page import INK, PALETTE
from scenarios.reproduce.drawing import legend, page, say
from scenarios.reproduce.item import Check, Item, Setting

EQUAL, UNEQUAL = (1e4, 1e4, 1e4, 1e4), (1e3, 1e4, 2e4, 1e5)
SIZES = {"equal": EQUAL, "different": UNEQUAL}
STARTS: tuple[Any, ...] = (0.05, 1.0, 3.5, 5.0, (0.5, 1.5, 3.0, 4.5))
WEIGHTS = ("normalised", "printed")
LOWEST, HIGHEST = 0.001, 5.0
# Where owners settle by an independent program; the thesis shows its figures without digits.
SETTLED = {
    ("leakage", "equal"): (2.50943,) * 4,
    ("leakage", "different"): (2.98669, 2.77478, 2.55741, 1.42312),
    ("utility", "equal"): (2.24253,) * 4,
    ("utility", "different"): (2.76503, 2.52267, 2.28974, 1.25654),
}
DIGIT = 1e-5  # of these
POINTS = 400  # of a payoff curve
OTHERS = np.geomspace(1e-3, 15, 40)  # what others of one's own size may share in all


def compute(kind: str, setting: Setting) -> pd.DataFrame:
    """Payoff curves, paths and equilibria of a game, under both readings of w, for equal and for different sizes."""
    rows: list[dict[str, Any]] = []
    for weight in WEIGHTS:
        for sizes, records in SIZES.items():
            game = thesis_game(kind, records, epsilon=(LOWEST, HIGHEST), weight=weight)
            starts = STARTS[::2] if setting.quick else STARTS
            streams = setting.streams(f"TH {kind} {weight} {sizes}")
            found = basins(game, starts, streams=streams, search=4 if setting.quick else 16)
            told = {"weight": weight, "sizes": sizes}
            rows += [told | row for row in (*settled(game, found), *paths(game, found), *curve(game, found))]
            setting.did(1 / len(WEIGHTS) / len(SIZES))
        rows.append({"panel": "bend", "weight": weight, "sizes": "equal", "bend": largest_bend(kind, weight)})
    rows.append({"panel": "by hand", "weight": WEIGHTS[0], "sizes": "equal", "epsilon": by_hand(kind, 4)})
    return pd.DataFrame(rows)


def settled(game: Game, found: Basins) -> list[dict[str, Any]]:
    """Every equilibrium, owner by owner, and where play turns between two of them."""
    rows = []
    for number, one in enumerate(found.equilibria, 1):
        told = {
            "panel": "equilibrium",
            "equilibrium": number,
            "starts": len(found.starts_of(number - 1)),
            "stable": found.stable[number - 1],
            "relative_regret": one.max_relative_regret,
            "at_lowest": bool(np.all(one.epsilon == LOWEST)),
        }
        owners = zip(game.owners.names, game.owners.sizes, one.epsilon, strict=True)
        rows += [told | {"owner": name, "n_records": size, "epsilon": epsilon} for name, size, epsilon in owners]
    for turn in found.turns:
        rows += [
            {"panel": "turn", "owner": name, "epsilon": epsilon}
            for name, epsilon in zip(game.owners.names, turn.epsilon, strict=True)
        ]
    return rows


def paths(game: Game, found: Basins) -> list[dict[str, Any]]:
    """Every owner's budget, round by round, from every start."""
    return [
        {"panel": "path", "start": start, "round": number, "owner": name, "epsilon": epsilon}
        for start, play in enumerate(found.plays, 1)
        for number, profile in enumerate(play.path.profiles)
        for name, epsilon in zip(game.owners.names, profile, strict=True)
    ]


def curve(game: Game, found: Basins) -> list[dict[str, Any]]:
    """The payoff of the first owner at every budget, the others where they settle above the floor, if they do."""
    others = found.equilibria[-1].epsilon
    grid = np.linspace(LOWEST, HIGHEST, POINTS)
    payoffs = game.deviation_payoffs(others, grid[None, :], np.array([0]))[0]
    pairs = zip(grid, payoffs, strict=True)
    return [{"panel": "curve", "owner": "owner 1", "epsilon": e, "payoff": payoff} for e, payoff in pairs]


def by_hand(kind: str, n_owners: int) -> float:
    """Where equal owners settle, as the root of the slope worked out by hand.

    With the same ε all round the share is (N-1)/N, and falls by (N-1)/(N² ε) per unit of one's own:
    ``w ((N-1)/N U' - (N-1)/(N² ε) U) = e^ε``.
    """
    policy: Compensation = thesis_game(kind, 1.0).policy
    at = partial(policy.bought)
    weight = np.exp(HIGHEST) / float(at(np.array(HIGHEST))[0])

    def slope(epsilon: float) -> float:
        worth, rise = (float(one) for one in at(np.array(epsilon)))
        share = (n_owners - 1) / n_owners
        return weight * share * (rise - worth / (n_owners * epsilon)) - float(np.exp(epsilon))

    return float(brentq(slope, 1.0, HIGHEST))


def largest_bend(kind: str, weight: str) -> float:
    """The largest second derivative of the payoff by one's own ε, whatever others share; above 0 it is not concave."""
    grid = np.linspace(LOWEST, HIGHEST, 5 * POINTS)
    policy: Compensation = thesis_game(kind, 1.0, weight=weight).policy
    worth = policy.bought(grid)[0]
    ratio = worth[-1] / np.exp(HIGHEST)
    scale = ratio if weight == "printed" else 1 / ratio
    share = OTHERS[:, None] / (OTHERS[:, None] + grid)
    bends = np.diff(share * scale * worth - np.exp(grid), 2) / (grid[1] - grid[0]) ** 2
    return float(bends.max())


def profile(frame: pd.DataFrame, weight: str, sizes: str, number: int | None = None) -> np.ndarray:
    """An equilibrium (n_owners,): the one in which most is shared, unless numbered."""
    rows = frame[(frame["panel"] == "equilibrium") & (frame["weight"] == weight) & (frame["sizes"] == sizes)]
    chosen = rows["equilibrium"].max() if number is None else number
    return rows.loc[rows["equilibrium"] == chosen, "epsilon"].to_numpy(float)


def peaks(frame: pd.DataFrame, weight: str, sizes: str) -> int:
    """How many peaks the payoff curve has."""
    rows = frame[(frame["panel"] == "curve") & (frame["weight"] == weight) & (frame["sizes"] == sizes)]
    payoff = rows.sort_values("epsilon")["payoff"].to_numpy()
    steps = np.sign(np.diff(payoff))
    return int(np.sum((steps[:-1] > 0) & (steps[1:] < 0)) + (steps[0] < 0) + (steps[-1] > 0))


def spread_at_the_end(frame: pd.DataFrame, sizes: str) -> float:
    """How far apart equal owners end, from any start."""
    rows = frame[(frame["panel"] == "path") & (frame["weight"] == WEIGHTS[0]) & (frame["sizes"] == sizes)]
    last = rows[rows["round"] == rows.groupby("start")["round"].transform("max")]
    ends = last.groupby("start")["epsilon"]
    return float((ends.max() - ends.min()).max())


def checks(kind: str, frame: pd.DataFrame) -> list[Check]:
    """Where owners settle, that larger ones settle lower, that paths meet, one peak, and how many equilibria there are."""
    text = WEIGHTS[0]
    made = []
    for sizes in SIZES:
        values = SETTLED[kind, sizes]
        far = float(np.max(np.abs(profile(frame, text, sizes) - values)))
        values_said = values[:1] if sizes == "equal" else values
        said = ", ".join(f"{value:.5f}" for value in values_said) + " (an independent program)"
        made.append(Check(f"{sizes} sizes: largest distance from the reference", far, 0, DIGIT, said, tolerance=DIGIT))
    hand = float(frame.loc[frame["panel"] == "by hand", "epsilon"].iloc[0])
    off = float(np.max(np.abs(profile(frame, text, "equal") - hand)))
    made.append(Check("equal sizes: distance from the root by hand", off, 0, 1e-6, tolerance=1e-6))
    for weight in WEIGHTS:
        falls = -np.diff(profile(frame, weight, "different"))
        if kind == "leakage" or weight == text:
            gap = float(falls.min())
            words = f"larger owners settle lower, w {weight}: smallest step down"
            made.append(Check(words, gap, 1e-3, HIGHEST, "lower", "law", 1e-5))
    made += [
        Check(
            "equal owners of one play end alike, whatever its start: largest gap",
            spread_at_the_end(frame, "equal"),
            0,
            1e-5,
            "meet",
            "law",
        ),
        Check("peaks of the payoff curve", peaks(frame, text, "equal"), 1, 1, "one", "law"),
    ]
    equilibria = frame[frame["panel"] == "equilibrium"]
    regret = float(equilibria["relative_regret"].max())
    made.append(
        Check("largest relative regret of what is called an equilibrium", regret, 0, CERTIFIED, "", "law", 1e-8)
    )
    for sizes in SIZES:
        part = equilibria[(equilibria["weight"] == text) & (equilibria["sizes"] == sizes)]
        count = int(part["equilibrium"].max())
        made.append(Check(f"equilibria found, {sizes} sizes", count, 1, 1, "unique", "law"))
    if kind == "leakage":
        bend = float(frame.loc[frame["panel"] == "bend", "bend"].max())
        words = "largest second derivative, whatever the others share"
        made.append(Check(words, bend, -np.inf, 0, "concave", tolerance=1e-3))
    return made


def draw(kind: str, frame: pd.DataFrame, note: str) -> Figure:
    """(a) the payoff curve, (b) paths of equal owners, (c) of owners of different sizes."""
    said = "(a) what owner 1 is left with, the others as they settle; (b), (c) budgets round by round, from every start"
    title = f"The {kind}-compensation game of four owners"
    figure, (first, second, third) = page(title, "\n".join(filter(None, [said, note])), 3, width=10.5, height=2.7)
    curves = frame[(frame["panel"] == "curve") & (frame["sizes"] == "equal")]
    for number, weight in enumerate(WEIGHTS):
        part = curves[curves["weight"] == weight].sort_values("epsilon")
        label = "w as the text means it" if weight == "normalised" else "w as printed"
        first.plot(part["epsilon"], part["payoff"], color=PALETTE[number], lw=1.4, label=label, ls=("-", "--")[number])
        best = part.loc[part["payoff"].idxmax()]
        first.plot(best["epsilon"], best["payoff"], "o", ms=5, mfc="none", color=INK)
    floor = curves.loc[curves["weight"] == WEIGHTS[0], "payoff"]
    top = float(curves["payoff"].max())
    low = min(0.0, float(floor.min())) - 0.1 * float(np.ptp(floor))
    first.set_ylim(low, top + 0.3 * (top - low))
    first.set(xlabel="privacy budget ε of owner 1", ylabel="payoff")
    first.grid(True)
    legend(first, loc="upper left")
    say(first, "(a) payoff")
    for axes, (letter, sizes) in zip((second, third), (("b", "equal"), ("c", "different")), strict=True):
        _draw_paths(axes, frame, sizes)
        say(axes, f"({letter}) {'10,000 records each' if sizes == 'equal' else 'different sizes'}")
    second.set_ylabel("privacy budget ε")
    return figure


def _draw_paths(axes: Axes, frame: pd.DataFrame, sizes: str) -> None:
    kept = frame[(frame["weight"] == WEIGHTS[0]) & (frame["sizes"] == sizes)]
    rows, found = kept[kept["panel"] == "path"], kept[kept["panel"] == "equilibrium"]
    owners: Sequence[str] = list(dict.fromkeys(rows["owner"]))
    equilibria = [list(part["epsilon"]) for _, part in found.groupby("equilibrium")]
    draw_paths(axes, rows, owners, equilibria)
    axes.set_ylim(0, 1.04 * HIGHEST)
    for number, (owner, records) in enumerate(zip(owners, SIZES[sizes], strict=True)):
        label = owner if sizes == "equal" else f"{records:,.0f} records"
        axes.plot([], [], color=PALETTE[number], lw=2, label=label)
    legend(axes, loc="upper right")


WORDS = {
    "leakage": (
        "Paid for what its answers may leak at most, times the others' part of all that is shared, less e^ε, an owner's "
        "payoff has one peak. From any start owners of one size meet; of different sizes each settles at a value of its "
        "own. The payoff is concave, so that the equilibrium is unique."
    ),
    "utility": (
        "The same, paid for how often a guess from the answers may be right at most: one peak, paths that meet, one "
        "equilibrium."
    ),
}
READ = (
    "The thesis prints w as max L / max e^ε, and says that it brings both to one range, which is the inverse; checked is "
    "what the text says, and both stand in the table. The thesis gives neither sizes nor starts nor digits: four owners, "
    "u = 100, v = 10, d = 5, c = 2, ε from 0.001 to 5 are ours, and the reference values are an independent program's."
)
DIFFERS = {
    "leakage": (
        f"{READ} That L is concave does not make payoffs concave, since one's own ε changes one's share too; but the "
        "second derivative stayed below 0 whatever the others share, and no second equilibrium was found: the claim stands. "
        "(The thesis shows neither; and of games concave payoffs alone do not promise a single equilibrium.)"
    ),
    "utility": (
        f"{READ} What the figure shows holds from most starts, but the equilibrium is not unique: the floor, 0.001 "
        "each, is a second one, for equal and for different sizes. Of equal sizes play from ε = 0.0925 or less each "
        "falls to it, where best responses jump. On [0.001, 2] there is a third between the two, at 0.2389 each, which "
        "play leaves at the slightest push. With w as printed all collapse to the floor, since no payment can reach "
        "the cost."
    ),
}


def item(key: str, kind: str, where: str) -> Item:
    """The item of one of the two figures."""
    return Item(
        key=key,
        where=where,
        title=f"The {kind}-compensation game: payoff and paths to where owners settle",
        claim=WORDS[kind],
        compute=partial(compute, kind),
        checks=partial(checks, kind),
        draw=partial(draw, kind),
        differs=DIFFERS[kind],
        cost=5.0,
    )


LEAKAGE = item("TH-4.2", "leakage", "Wu, MRes thesis, Figure 4.2 and section 4.3")
UTILITY = item("TH-4.3", "utility", "Wu, MRes thesis, Figure 4.3 and section 4.4")
