"""Errata of the thesis: its games and measures, and omissions about beliefs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from learning.arrays import Array
from learning.privacy.accounting import gaussian_belief
from learning.privacy.gaussian import exact_distance
from learning.privacy.guarantees import measure_pure
from learning.privacy.laplace import Laplace
from market.analysis.thesis_games import thesis_game
from market.costs.channels import channel_matrix, truncated_geometric
from market.costs.leakage import belief_bound, leakage_bits, utility_bound
from market.equilibrium.solver import solve
from reproduction.checks import (
    attack_epsilon,
    estimate_mean,
    estimate_share,
    pick_number,
    select_rows,
)
from reproduction.drawing import DOTS, Style
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows
from reproduction.thesis.leakage import sample_guesses
from scenarios.report.figure_page import BAND, PALETTE

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
        found = solve(game, rng=rng, starts=setting.pick_value(8, 4))
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
        for at in symmetric_equilibria(kind, weight, top, setting.pick_value(2000, 500)):
            distance = float(np.abs(solved - at).min())
            yield {**common, "equilibrium": at, "off_solver": distance, "most_convex": bend}
            own = np.linspace(FLOOR, top, 41)
            payoffs = compute_payoff(kind, weight, top, own, at)
            for place, payoff in zip(own, payoffs, strict=True):
                yield {**common, "others_at": at, "own": place, "payoff": payoff}


def check_equilibria(frame: pd.DataFrame) -> Found:
    """The utility game can have two equilibria, and the printed weight pays next to nothing."""
    found = frame[frame["equilibrium"].notna()]
    utility = select_rows(found, game="utility", weight="normalised", top=5.0)
    short = select_rows(found, game="utility", weight="normalised", top=2.0)["equilibrium"]
    leakage = select_rows(found, game="leakage", weight="normalised")["equilibrium"]
    printed = select_rows(found, game="leakage", weight="printed")["equilibrium"]
    inverted = select_rows(found, game="utility", weight="printed")
    yield "count", len(utility)
    yield "above", sum(utility["equilibrium"] > FLOOR)
    yield "higher", utility["equilibrium"].max()
    yield "lower", utility["equilibrium"].min()
    yield "short_interval", sum(short > FLOOR)
    yield "regret_at_floor", utility["regret_at_floor"].max()
    yield "most_convex", utility["most_convex"].max()
    yield "leakage_meant", leakage.max()
    yield "leakage_printed", printed.max()
    yield "largest_payment", (inverted["largest_payment"] / inverted["largest_cost"]).max()
    yield "utility_printed", inverted["equilibrium"].max()
    yield (
        "off_solver",
        found[~np.isclose(found["equilibrium"], 0.2389, atol=1e-3)]["off_solver"].max(),
    )


def draw_payoffs(axes: Axes, frame: pd.DataFrame) -> None:
    """A payoff curve for each equilibrium of the others, with its peak."""
    for other, rows in frame[frame["own"].notna()].groupby("others_at"):
        (line,) = axes.plot(rows["own"], rows["payoff"], label=f"others at {other:g}")
        peak = rows.loc[rows["payoff"].idxmax()]
        axes.plot(peak["own"], peak["payoff"], marker="o", ms=5, color=line.get_color())


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


def check_choices(frame: pd.DataFrame) -> Found:
    """The cost of section 4.2 falls without end."""
    both = select_rows(frame, cost="section 4.2")
    yield "rise", both["value"].dropna().diff().max()
    yield "chosen", (both["chosen"] / both["top"]).min()
    yield "chosen_by_payoff", pick_number(frame, "chosen", cost="section 4.3", top=300.0) / 300


# ---- E-7: e for epsilon


def compute_beliefs(setting: Setting) -> Rows:
    """Belief in the true world after randomised response, beside both bounds."""
    draws = setting.pick_value(200_000, 20_000)
    for worlds in (2, 10):
        for number, epsilon in enumerate((0.1, 0.5, 1.0, 2.0, 2.718281828, 3.0, 4.0, 5.0)):
            rng = setting.streams("E-7").rng("answers", worlds, number)
            # odds e^epsilon of the true world's name, 1 of every other's
            right = np.exp(epsilon) / (np.exp(epsilon) + worlds - 1)
            # among equally likely worlds the belief in the named one is the share of true names
            measured = (rng.random(draws) < right).mean()
            yield dict(
                worlds=worlds,
                epsilon=epsilon,
                printed=1 / (1 + (worlds - 1) * np.exp(-math.e)),
                meant=float(belief_bound(np.array(epsilon), worlds)),
                **estimate_share(measured, draws),
            )


def check_beliefs(frame: pd.DataFrame) -> Found:
    """Only the bound with epsilon holds."""
    ten = select_rows(frame, worlds=10).set_index("epsilon")
    strict = ten.loc[0.1]
    lax = ten.loc[5.0]
    yield "printed_ratio", lax.printed / strict.printed
    yield "over_printed", lax.measured / lax.printed
    yield (
        "over_meant",
        lax.measured / lax.meant,
        (1 - 4 * lax.std_error),
        (1 + 4 * lax.std_error / lax.meant),
    )
    spread = 4 * strict.std_error / strict.meant
    yield "small_budget", strict.measured / strict.meant, 1 - spread, 1 + spread


# ---- E-28: a utility that is a loss


def compute_distances(setting: Setting) -> Rows:
    """Mean distance and right guesses of a truncated geometric answer."""
    answers = 6
    draws = setting.pick_value(200_000, 20_000)
    places = np.arange(answers)
    distances = np.abs(places[:, None] - places)
    for number, epsilon in enumerate((0.1, 0.5, 1.0, 2.0, 3.0, 5.0)):
        odds = truncated_geometric(np.array(epsilon), answers)[0]
        rng = setting.streams("E-28").rng("answers", number)
        true = rng.integers(answers, size=draws)
        rate = -np.expm1(-epsilon)
        noise = rng.geometric(rate, draws) - rng.geometric(rate, draws)
        distance = np.abs(np.clip(true + noise, 0, answers - 1) - true)
        yield dict(
            epsilon=epsilon,
            right_guesses=float(odds.max(axis=0).sum() / answers),
            printed=float((odds * distances).sum() / answers),
            **estimate_mean(distance),
        )


def check_distances(frame: pd.DataFrame) -> Found:
    """The printed utility falls where right guesses rise."""
    yield "printed_rise", frame["printed"].diff().max()
    yield "right_guesses_rise", frame["right_guesses"].diff().min()
    (one,) = select_rows(frame, epsilon=1.0).itertuples()
    yield "simulated", one.measured, one.printed, one.std_error


# ---- E-29: a bound without a prior

PLACES = {
    "even": "a ring of eleven, all values as likely",
    "prior": "a ring of eleven, one value with 0.9",
    "line": "a line of eleven, all values as likely",
}


def compute_guesses(setting: Setting) -> Rows:
    """Right guesses of drawn answers, beside the bound."""
    values = 11
    draws = setting.pick_value(200_000, 20_000)
    for place in PLACES:
        skewed = place == "prior"
        prior = np.full(values, 0.01 if skewed else 1 / values)
        prior[5] = 0.9 if skewed else 1 / values
        name = "truncated_geometric" if place == "line" else "ring_geometric"
        for number, epsilon in enumerate((0.0, 0.1, 0.5, 1.0, 2.0, 4.0)):
            odds = channel_matrix(name, np.array(epsilon), values, 1)
            rng = setting.streams("E-29").rng(place, number)
            right, expected, _ = sample_guesses(odds, prior, draws, rng=rng)
            yield dict(
                place=place,
                epsilon=epsilon,
                bound=float(utility_bound(np.array(epsilon), 5, 2)),
                right_guesses=expected,
                **estimate_share(right, draws),
            )


def check_guesses(frame: pd.DataFrame) -> Found:
    """The bound is met on a ring with an even prior, and fails elsewhere."""
    over = (frame["right_guesses"] / frame["bound"]).groupby(frame["place"]).max()
    yield "even", over["even"]
    yield "skewed", over["prior"]
    yield "line", over["line"]
    (one,) = select_rows(frame, place="prior", epsilon=0.5).itertuples()
    yield "simulated", one.measured, one.right_guesses, one.std_error


# ---- E-14: belief under (epsilon, delta)

BUDGETS = (
    *((epsilon, 1e-6) for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)),
    (1.0, 1e-9),
    (1.0, 1e-3),
)


def compute_surer_beliefs(setting: Setting) -> Rows:
    """Probability of a belief above the cap under Gaussian noise, exact and simulated."""
    draws = setting.pick_value(200_000, 20_000)
    streams = setting.streams("E-14")
    for number, (epsilon, delta) in enumerate(BUDGETS):
        distance = float(exact_distance(epsilon, delta))
        # answers beyond it leave one version more than e^epsilon/(1 + e^epsilon) likely
        cap = epsilon / distance + distance / 2
        edge = brentq(lambda z, m=distance, p=delta: ndtr(m - z) + ndtr(-z) - p, 0, distance + 40)
        right = ndtr(distance - cap)
        wrong = ndtr(-cap)
        # importance sampling: answers drawn beyond the cap, weighed by their likelihood ratio
        drawn = cap + streams.rng("answers", number).exponential(1 / cap, draws)
        density = np.exp(-(drawn**2) / 2) + np.exp(-((drawn - distance) ** 2) / 2)
        weight = density / np.sqrt(2 * np.pi) * (np.exp(cap * (drawn - cap)) / cap)
        simulated = estimate_mean(weight)
        yield dict(
            epsilon=epsilon,
            delta=delta,
            distance=distance,
            right_over_delta=right / delta,
            over_delta=(right + wrong) / delta,
            measured=simulated["measured"] / delta,
            std_error=simulated["std_error"] / delta,
            cap=np.exp(epsilon) / (1 + np.exp(epsilon)),
            passed=expit(distance * edge - distance**2 / 2),
            surest=float(gaussian_belief(distance, delta)),
        )


def check_surer_beliefs(frame: pd.DataFrame) -> Found:
    """Beliefs pass the cap with a probability of many times delta."""
    one = select_rows(frame, epsilon=1.0)
    one = one[np.isclose(one["delta"], 1e-6)].iloc[0]
    right = one["right_over_delta"]
    yield "right", right
    yield "either", one["over_delta"], right
    yield "simulated", one["measured"], one["over_delta"], one["std_error"]
    yield "least", frame["over_delta"].min()
    for name in ("passed", "surest"):
        yield name, one[name] / one["cap"]


# ---- E-15: records with several owners


def sample_evidence(budgets: Array, added: bool, draws: int, rng: np.random.Generator) -> Array:
    """Log-likelihood ratio of a record's version, from one answer of each of its kappa owners.

    Each answers with noise for epsilon/kappa, in units of the noise scale.
    """
    kept = budgets / len(budgets)
    noise = Laplace().draw(1.0, (draws, len(budgets)), rng=rng)
    seen = noise + kept * added
    return np.asarray((np.abs(seen) - np.abs(seen - kept)).sum(axis=1))


def compute_joint_loss(setting: Setting) -> Rows:
    """Joint privacy loss of a record with several owners, exact and by an attack."""
    draws = setting.pick_value(100_000, 10_000)
    streams = setting.streams("E-15")
    holders = (1.0, 1.0), (0.5, 0.5, 0.5), (0.5, 2.0), (0.5, 5.0), (0.2, 1.0, 4.0), (0.1, 8.0)
    for number, budgets in enumerate(holders):
        held = np.array(budgets)

        def draw(half: str, world: int, held: Array = held, number: int = number) -> Array:
            return sample_evidence(held, world == 0, draws, streams.rng(half, world, number))

        yield dict(
            budgets=" and ".join(f"{one:g}" for one in budgets),
            owners=len(held),
            strictest=held.min(),
            formula=held.mean(),
            shown=attack_epsilon(draw, measure_pure),
        )


def check_joint_loss(frame: pd.DataFrame) -> Found:
    """The joint loss exceeds the strictest owner's promise."""
    (uneven,) = select_rows(frame, budgets="0.5 and 5").itertuples()
    yield "joint_loss", uneven.formula / 0.5
    yield "attack", uneven.shown / 0.5
    yield "exact_over_attack", (frame["formula"] / frame["shown"]).min()
    yield "equal_budgets", pick_number(frame, "formula", budgets="1 and 1")


def draw_bars(axes: Axes, frame: pd.DataFrame) -> None:
    """A bar for each record, with the attack's bound and the strictest promise."""
    places = np.arange(len(frame))
    bars: Style = {"width": 0.55, "color": BAND, "edgecolor": PALETTE[0]}
    axes.bar(places, frame["formula"], label="Σ ε_l/κ", **bars)
    dots = DOTS | {"ms": 5, "color": PALETTE[0]}
    axes.plot(places, frame["shown"], label="shown by an attack (99 %)", **dots)
    dashes: Style = {"marker": "_", "ms": 26, "mew": 2, "ls": "", "color": PALETTE[1]}
    axes.plot(places, frame["strictest"], label="promised by the strictest owner", **dashes)
    axes.set_xticks(places, frame["budgets"], fontsize=7.5)


LAWS: dict[str, Law] = {
    "E-6": (compute_equilibria, check_equilibria, {"payoffs": draw_payoffs}),
    "E-8": (compute_choices, check_choices),
    "E-7": (compute_beliefs, check_beliefs),
    "E-28": (compute_distances, check_distances),
    "E-29": (compute_guesses, check_guesses),
    "E-14": (compute_surer_beliefs, check_surer_beliefs),
    "E-15": (compute_joint_loss, check_joint_loss, {"bars": draw_bars}),
}
