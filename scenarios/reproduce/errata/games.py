"""Errata of the thesis: a weight upside down, two equilibria where one was claimed, e for epsilon, two terms on one side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.arrays import Array
from market.analysis.thesis_games import thesis_game
from market.costs.channels import truncated_geometric
from market.costs.leakage import leakage_bits, utility_bound
from market.equilibrium.solver import solve
from scenarios.reproduce.drawing import legend, lines, page, say
from scenarios.reproduce.errata.showing import above, below, equal, near, pick
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


def _replied(kind: str, weight: str, top: float, start: float, grid: Array) -> float:
    """Where best replies on a grid come to rest, all owners alike, half of the way each time."""
    at = start
    for _ in range(200):
        best = float(grid[_payoff(kind, weight, top, grid, at).argmax()])
        if abs(best - at) < 1e-9:
            break
        at = (at + best) / 2 if abs(best - at) > grid[1] - grid[0] else best
    return at


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
        places = sorted({round(float(one.epsilon[0]), 6) for one in (found, *found.others)})
        grid = np.linspace(FLOOR, top, 500 if setting.quick else 4000)
        rests = sorted({round(_replied(kind, weight, top, start, grid), 2) for start in (FLOOR, top / 2, top)})
        payment = float(game.policy.weights(game.owners)[0] * GAINS[kind](np.array([top]))[0])
        common = {"game": kind, "weight": weight, "top": top, "largest_payment": payment, "largest_cost": np.exp(top)}
        for place in range(max(len(places), len(rests))):
            at = {"equilibrium": places[place] if place < len(places) else np.nan}
            rows.append(
                {**common, "number": place, **at, "rest_on_grid": rests[place] if place < len(rests) else np.nan}
            )
        for other in places:
            curve = np.linspace(FLOOR, top, 25)
            payoff = _payoff(kind, weight, top, curve, other)
            bend = np.diff(_payoff(kind, weight, top, np.linspace(FLOOR, top, 400), other), 2).max()
            rows += [
                {**common, "others_at": other, "own": own, "payoff": value, "most_convex": bend}
                for own, value in zip(curve, payoff, strict=True)
            ]
    return pd.DataFrame(rows)


def _found(frame: pd.DataFrame, kind: str, weight: str, top: float = 5.0) -> pd.Series:
    part = frame[(frame["game"] == kind) & (frame["weight"] == weight) & np.isclose(frame["top"], top)]
    return part["equilibrium"].dropna()


def _check_equilibria(frame: pd.DataFrame) -> list[Check]:
    def close(what: str, found: float, wanted: float, published: str) -> Check:
        return Check(what, found, wanted - 1e-4, wanted + 1e-4, published, "law", 1e-4)

    utility, short = _found(frame, "utility", "normalised"), _found(frame, "utility", "normalised", 2.0)
    bends = frame[(frame["game"] == "utility") & (frame["weight"] == "normalised")]["most_convex"]
    upside = frame[(frame["weight"] == "printed") & (frame["game"] == "utility")].iloc[0]
    return [
        equal("equilibria of the utility game, w as the text means it, on [0.001, 5]", len(utility), 2.0, "1"),
        close("the higher of them", utility.max(), 2.24253, "one peak"),
        close("the lower", utility.min(), FLOOR, "none"),
        equal("equilibria on [0.001, 2]", len(short), 2.0, "1"),
        above("largest second difference of its payoff in one's own ε", bends.max(), 1e-9, "below 0: concave"),
        close(
            "leakage game, w as the text means it", _found(frame, "leakage", "normalised").max(), 2.50943, "one peak"
        ),
        close("leakage game, w as printed", _found(frame, "leakage", "printed").max(), 3.23286, "one peak"),
        below(
            "largest payment over largest cost in the utility game, w as printed",
            upside["largest_payment"] / upside["largest_cost"],
            0.01,
            "1",
        ),
        close("where that game settles", _found(frame, "utility", "printed").max(), FLOOR, "one peak"),
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


# ---- E-28: a utility that is a loss


def _far_answers(setting: Setting) -> pd.DataFrame:
    rows, answers, draws = [], 6, 20_000 if setting.quick else 200_000
    places = np.arange(answers)
    apart = np.abs(places[:, None] - places)
    for number, epsilon in enumerate((0.1, 0.5, 1.0, 2.0, 3.0, 5.0)):
        channel = truncated_geometric(np.array(epsilon), answers)[0]
        rng = setting.streams("E-28").rng("answers", number)
        true = rng.integers(answers, size=draws)
        noise = rng.geometric(-np.expm1(-epsilon), draws) - rng.geometric(-np.expm1(-epsilon), draws)
        distance = np.abs(np.clip(true + noise, 0, answers - 1) - true)
        rows.append(
            {"epsilon": epsilon, "right_guesses": float(channel.max(axis=0).sum() / answers)}
            | {"printed": float((channel * apart).sum() / answers), "measured": distance.mean()}
            | {"std_error": distance.std(ddof=1) / np.sqrt(draws)}
        )
    return pd.DataFrame(rows)


def _check_far_answers(frame: pd.DataFrame) -> list[Check]:
    one = frame[np.isclose(frame["epsilon"], 1.0)].iloc[0]
    return [
        below(
            "largest rise of the utility printed, from one budget to the next",
            frame["printed"].diff().max(),
            0.0,
            "rises",
        ),
        above("least rise of the chance of a right guess", frame["right_guesses"].diff().min(), 0.0, "rises"),
        near("the utility printed at ε = 1, simulated", one["measured"], one["printed"], one["std_error"]),
    ]


def _draw_far_answers(frame: pd.DataFrame, note: str) -> Figure:
    figure, (left, right) = page("Two utilities of a truncated geometric answer, six values", note, columns=2)
    left.plot(frame["epsilon"], frame["right_guesses"], marker="o", ms=4)
    left.set(xlabel="ε", ylabel="chance of a right guess")
    left.grid(True)
    lines(right, frame, "epsilon", "measured", law="printed", logs="")
    right.set(xlabel="ε", ylabel="Σ p(y, z) |y - z|")
    return figure


WHO = "Wu, thesis"
ITEMS = (
    Item(
        key="E-6",
        where=f"{WHO}, (4.1), (4.2), sections 4.3 and 4.4",
        title="A weight upside down, and two equilibria where one was claimed",
        claim=(
            "The weight w = max gain/max e^ε rescales payment and cost to one range; payoffs are concave in an "
            "owner's own ε, so the equilibrium is unique."
        ),
        compute=_equilibria,
        checks=_check_equilibria,
        draw=_draw_equilibria,
        differs=(
            "What brings the payment to the range of e^ε is the inverse, max e^ε/max gain. As printed the utility "
            "game pays less than a hundredth of what ε costs, and everybody shares the least allowed. Payoffs are "
            "not concave either: the share that w is multiplied with holds the owner's own ε. The utility game with "
            "equal sizes has two equilibria: at the floor, since who is alone in sharing is paid next to nothing, "
            "and at 2.243. The leakage game, whose gain starts at nothing, has one, at 2.509 (3.233 as printed). The "
            "figures of the thesis show one peak each."
        ),
        cost=4,
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
            "better, whatever the weight, and over ε ≥ 0 there is no best one. That refutes Proposition 1 too, whose "
            "proof takes the extreme value theorem to an interval without an end. Sections 4.3 and 4.4 pay for "
            "leakage and charge e^ε: those games have a best reply, and are the ones computed here, on intervals "
            "with two ends."
        ),
        cost=1,
    ),
    Item(
        key="E-28",
        where=f"{WHO}, section 2.4.1.2",
        title="A utility that is a loss",
        claim="In general the utility of an answer z to a true answer y is the mean of their distance, Σ p(y, z) |y - z|.",
        compute=_far_answers,
        checks=_check_far_answers,
        draw=_draw_far_answers,
        differs=(
            "A distance is a loss: it falls as ε grows and answers get better, while the utility by right guesses rises. "
            "A game that pays for it pays for noise, and bound (2.3) says nothing of it. The utility of a distance is "
            "what it leaves of the largest one, or its negative; the program takes any gain or distance so."
        ),
        cost=1,
    ),
)
