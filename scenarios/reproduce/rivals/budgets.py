"""Owners with different budgets: how a mean is best weighed, under one noise for all and under noise of each its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.forecast.shared_weights import saturation, shared_weights
from learning.forecast.weighting import Weighting
from scenarios.report.figure_page import INK, MUTED, PALETTE
from scenarios.reproduce.drawing import say, scales
from scenarios.reproduce.item import Check, Item, Setting, told
from scenarios.reproduce.rivals.panels import panels

OWNERS, MEDIAN = 1000, 0.1  # who each hold one record in [-1/2, 1/2], and the budget of the middle one
VARIANCE, NOISE = 0.25, 2.0  # of such a record at most; of Laplace noise of scale 1
BALANCE = 1 / VARIANCE  # of t = 2/epsilon^2, in the units of `Weighting`
SPREADS = np.linspace(0.0, 3.0, 13)  # standard deviations of the logarithm of budgets
STRICT, LAX = 0.03, np.geomspace(0.03, 30.0, 37)  # budgets of a strict half, and of a lax one
LEGEND = 0.2  # of the figure, beneath the panels
FEW, INSTANCES = 8, 6  # owners of a market that a solver weighs, and how many such markets
NAMES = {
    "ours": "ours",
    "published": "published rule (2023)",
    "threshold": "best threshold",
    "proportional": "weights as budgets",
    "plain": "all alike",
    "precision": "ours: 1/(K v + C/n)",
    "left out": "noisiest left out",
}


def terms(epsilon: Array) -> Array:
    """t of Laplace noise on a record that moves by 1."""
    return np.asarray(NOISE / epsilon**2)


def shared_error(weights: Array, epsilon: Array) -> float:
    """Mean squared error of a weighted mean under one noise that hides everybody, with the largest variance of records."""
    return float(VARIANCE * np.sum(weights**2) + NOISE * np.max(weights / epsilon) ** 2)


def local_error(weights: Array, epsilon: Array) -> float:
    """The same under noise that each adds to its own record."""
    return float(np.sum(weights**2 * (VARIANCE + terms(epsilon))))


def published(epsilon: Array) -> Array:
    """Weights as budgets, but for those above a threshold, from the strictest on (Chaudhuri and Courtade)."""
    order = np.sort(epsilon)
    thresholds = (8 + np.cumsum(order**2)) / np.cumsum(order)
    threshold = thresholds[np.argmax(np.append(order[1:], np.inf) > thresholds)]  # the first that the next is above
    raw = np.minimum(epsilon, threshold)
    return np.asarray(raw / raw.sum())


def ours(epsilon: Array) -> Array:
    return shared_weights(terms(epsilon), np.ones_like(epsilon), epsilon > 0, BALANCE)


def precision(epsilon: Array) -> Array:
    return Weighting("precision", BALANCE).weights(terms(epsilon), np.ones_like(epsilon), epsilon > 0)


def plain(epsilon: Array) -> Array:
    return np.full_like(epsilon, 1 / len(epsilon))


def proportional(epsilon: Array) -> Array:
    return epsilon / epsilon.sum()


def best_left_out(epsilon: Array) -> float:
    """Least error under noise of each its own, where those below some budget are left out and others weighed alike."""
    loudest = np.sort(epsilon)
    left = len(loudest) - np.arange(len(loudest))
    return float(np.min(np.cumsum((VARIANCE + terms(loudest))[::-1])[::-1] / left**2))


def drawn_error(weights: Array, epsilon: Array, runs: int, rng: np.random.Generator, *, shared: bool) -> Array:
    """Squared errors (runs,) of weighted means of fair coins of -1/2 and 1/2, with the noise drawn."""
    means = (rng.integers(0, 2, (runs, len(epsilon))) - 0.5) @ weights
    noise = rng.laplace(size=runs) * np.max(weights / epsilon)
    if not shared:
        noise = rng.laplace(size=(runs, len(epsilon))) @ (weights / epsilon)
    return np.asarray((means + noise) ** 2)


def solved(error: Callable[[Array, Array], float], epsilon: Array, *, shared: bool) -> Array:
    """Weights by sequential quadratic programming: of one noise with its scale h as a variable, w <= h epsilon."""
    n = len(epsilon)
    start = np.append(plain(epsilon), np.max(plain(epsilon) / epsilon))
    limits = [{"type": "eq", "fun": lambda at: at[:n].sum() - 1}]
    if shared:
        limits.append({"type": "ineq", "fun": lambda at: at[n] * epsilon - at[:n]})
    own = np.zeros(n) if shared else terms(epsilon)
    scale = error(plain(epsilon), epsilon)

    def value(at: Array) -> float:
        return float(np.sum(at[:n] ** 2 * (VARIANCE + own)) + NOISE * shared * at[n] ** 2) / scale

    bounds = [(0, None)] * (n + 1)
    options = {"maxiter": 1000, "ftol": 1e-15}
    found = scipy.optimize.minimize(value, start, method="SLSQP", bounds=bounds, constraints=limits, options=options)
    return np.asarray(found.x[:n] / found.x[:n].sum())


def budgets(setting: Setting) -> pd.DataFrame:
    """Errors by the spread of budgets, of two halves by the lax one's budget, and of what a solver finds."""
    rows: list[dict[str, object]] = []
    normal = scipy.stats.norm.ppf((np.arange(OWNERS) + 0.5) / OWNERS)
    runs, rng = 400 if setting.quick else 4000, setting.streams("budgets").rng("runs")
    for spread in SPREADS:
        epsilon = MEDIAN * np.exp(spread * normal)
        one = {"ours": ours, "published": published, "proportional": proportional, "plain": plain}
        own = {"precision": precision, "plain": plain}
        for noise, rules, error in (("shared", one, shared_error), ("local", own, local_error)):
            for rule, weigh in rules.items():
                row = {"part": noise, "x": spread, "rule": rule, "error": error(weigh(epsilon), epsilon)}
                if rule in ("ours", "precision") and spread in SPREADS[::4]:
                    squares = drawn_error(weigh(epsilon), epsilon, runs, rng, shared=noise == "shared")
                    row |= {"drawn": squares.mean(), "std_error": squares.std() / np.sqrt(runs)}
                rows.append(row)
            above = "threshold" if noise == "shared" else "left out"
            least = best_left_out(epsilon) if noise == "local" else best_threshold(epsilon)
            rows.append({"part": noise, "x": spread, "rule": above, "error": least})
        apart = np.max(np.abs(ours(epsilon) / published(epsilon) - 1))
        rows.append({"part": "weights", "x": spread, "rule": "published", "error": float(apart)})
        setting.did(0.8 / len(SPREADS))
    rows += two_halves() + by_solver(setting)
    return pd.DataFrame(rows)


def best_threshold(epsilon: Array) -> float:
    """Least error where those above some budget are taken to have that one, and those below it are left out."""
    order = np.sort(epsilon)
    left = len(order) - np.arange(len(order))
    return float(np.min(VARIANCE / left + NOISE / (left * order) ** 2))


def two_halves() -> list[dict[str, object]]:
    """Errors where one half is strict and the other ever laxer, and the budget from which that brings nothing."""
    rows: list[dict[str, object]] = []

    def halves(lax: float) -> Array:
        return np.repeat([STRICT, lax], OWNERS // 2)

    for lax in LAX:
        epsilon = halves(lax)
        for rule, weigh in (("ours", ours), ("proportional", proportional), ("plain", plain)):
            rows.append({"part": "halves", "x": lax, "rule": rule, "error": shared_error(weigh(epsilon), epsilon)})
    last = halves(LAX[-1])
    level = saturation(terms(last), np.ones(OWNERS), last > 0, BALANCE)
    rows.append({"part": "saturates", "x": np.sqrt(NOISE) / level, "rule": "ours", "error": np.nan})
    return rows


def by_solver(setting: Setting) -> list[dict[str, object]]:
    """What a solver finds for a few owners: how much better than ours, and how far its laxest are from weighed alike."""
    rows: list[dict[str, object]] = []
    rng = setting.streams("budgets").rng("few")
    for instance in range(INSTANCES):
        epsilon = np.exp(rng.uniform(np.log(0.1), np.log(30.0), FEW))
        found = solved(shared_error, epsilon, shared=True)
        better = 1 - shared_error(found, epsilon) / shared_error(ours(epsilon), epsilon)
        level = np.sqrt(NOISE) / saturation(terms(epsilon), np.ones(FEW), epsilon > 0, BALANCE)
        lax = found[epsilon > level]
        rate = found[epsilon <= level] / epsilon[epsilon <= level]
        rows += [
            {"part": "solver", "x": instance, "rule": "shared", "error": better},
            {
                "part": "solver",
                "x": instance,
                "rule": "pooled",
                "error": np.ptp(lax) / lax.mean() if len(lax) > 1 else 0,
            },
            {"part": "solver", "x": instance, "rule": "in proportion", "error": np.ptp(rate) / rate.mean()},
        ]
        found = solved(local_error, epsilon, shared=False)
        better = 1 - local_error(found, epsilon) / local_error(precision(epsilon), epsilon)
        rows.append({"part": "solver", "x": instance, "rule": "local", "error": better})
    return rows


def budgets_checks(frame: pd.DataFrame) -> list[Check]:
    """The published rule and property, what a solver finds, what draws show; and what other rules lose."""
    errors = {part: rows.pivot_table(index="x", columns="rule", values="error") for part, rows in frame.groupby("part")}
    shared, local, halves, solver = (errors[part] for part in ("shared", "local", "halves", "solver"))
    level = float(frame.loc[frame["part"] == "saturates", "x"].iloc[0])
    beyond = halves.loc[halves.index > level, "ours"]
    before = halves.loc[halves.index < 0.9 * level, "ours"]
    drawn = frame.dropna(subset=["drawn"])
    z = float(((drawn["drawn"] - drawn["error"]) / drawn["std_error"]).abs().max())
    predicted = STRICT + 8 / (OWNERS / 2 * STRICT)
    best = max(float((table[name].T / table.T).max().max()) for table, name in ((shared, "ours"), (local, "precision")))
    return [
        Check(
            "weights against the published rule's, relative, at most",
            float(errors["weights"].max().max()),
            0,
            1e-9,
            "0",
            "law",
        ),
        Check(
            "budget at which a lax half saturates",
            level,
            predicted * (1 - 1e-9),
            predicted * (1 + 1e-9),
            f"{predicted:g}",
        ),
        Check("error beyond it, largest over least", float(beyond.max() / beyond.min()), 1, 1 + 1e-9, "1", "law"),
        Check("error falls before it: steps that do not", float((before.diff().dropna() >= 0).sum()), 0, 0, "0", "law"),
        Check(
            "a solver's error below ours, shared noise, relative, at most",
            float(solver["shared"].max()),
            -1,
            1e-6,
            "0",
            "law",
            1e-6,
        ),
        Check(
            "the laxest are pooled: their weights by the solver apart, relative",
            float(solver["pooled"].max()),
            0,
            0.02,
            "0",
            "law",
            0.02,
        ),
        Check(
            "the strict weigh as their budgets: apart, relative",
            float(solver["in proportion"].max()),
            0,
            0.02,
            "0",
            "law",
            0.02,
        ),
        Check(
            "a solver's error below ours, local noise, relative, at most",
            float(solver["local"].max()),
            -1,
            1e-6,
            "0",
            "law",
            1e-6,
        ),
        Check("our error over any other rule's, at most", best, 0, 1 + 1e-9, "1", "law"),
        Check("drawn errors off the law, standard errors, at most", z, 0, 4, "", "law", 4),
        told(
            "all alike over ours, shared noise, budgets spread by 1",
            float(shared["plain"].loc[1.0] / shared["ours"].loc[1.0]),
        ),
        told(
            "weights as budgets over ours, shared noise, at most",
            float((shared["proportional"] / shared["ours"]).max()),
        ),
        told("best threshold over ours, shared noise, at most", float((shared["threshold"] / shared["ours"]).max())),
        told(
            "noisiest left out over ours, local noise, at most", float((local["left out"] / local["precision"]).max())
        ),
        told(
            "error left where one half sells without end, of that where both are strict",
            float(halves["ours"].iloc[-1] / halves["ours"].iloc[0]),
        ),
    ]


def draw_budgets(frame: pd.DataFrame, note: str) -> Figure:
    """Errors by the spread of budgets under both kinds of noise, and of two halves by the lax one's budget."""
    title = "A thousand budgets: squared error of a mean, times that without noise"
    figure, axes = panels(title, note, 3, height=3.8)
    colours = {rule: PALETTE[k] for k, rule in enumerate(("ours", "threshold", "proportional", "plain"))}
    colours |= {"precision": PALETTE[0], "left out": PALETTE[1], "published": INK}
    one = ("ours", "published", "threshold", "proportional", "plain")
    shown = {"shared": one, "local": ("precision", "left out", "plain"), "halves": ("ours", "proportional", "plain")}
    spread, said = "spread of budgets, s.d. of ln ε", {"shared": "one noise for all", "local": "noise of each its own"}
    for panel, (part, rules) in zip(axes, shown.items(), strict=True):
        for rule in rules:
            rows = frame[(frame["part"] == part) & (frame["rule"] == rule)]
            style = {"marker": "o", "ms": 3.5, "mfc": "none", "lw": 0} if rule == "published" else {"lw": 1.4}
            times = rows["error"] * OWNERS / VARIANCE
            panel.plot(rows["x"], times, label=NAMES[rule], color=colours[rule], **style)
        scales(panel, "y" if part in said else "x")
        say(panel, said.get(part, "one noise, two halves"))
        panel.set(xlabel=spread if part in said else "ε of the lax half, strict half at 0.03")
    axes[0].set(ylim=(1, 1e5))
    axes[1].set(ylim=(1, 1e7))
    axes[2].set(ylim=(1, None))
    level = float(frame.loc[frame["part"] == "saturates", "x"].iloc[0])
    axes[2].axvline(level, ls="--", lw=1, color=MUTED, label="threshold (2023)")
    for panel in axes:  # what lines are is told below them, where none passes
        place = panel.get_position()
        panel.set_position((place.x0, place.y0 + LEGEND, place.width, place.height - LEGEND))
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), fontsize=7.5, frameon=False)
    return figure


ITEMS = (
    Item(
        "N2-budgets",
        "Chaudhuri and Courtade, Mean Estimation Under Heterogeneous Privacy Demands (2023); Cummings and others, Optimal "
        "Data Acquisition with Privacy-Aware Agents (2022)",
        "Weights where owners sell different budgets",
        "Under one central noise the best weights are as the budgets up to a threshold, (8 + Σε²)/Σε over the strictest, and "
        "alike beyond: the strictest set the error, and further budget of the lax brings nothing (2023). The least "
        "demanding are pooled at one weight, those of the others fall with what they demand (2022).",
        budgets,
        budgets_checks,
        draw_budgets,
        "Ours is derived for answers of n records, any mechanism and any price of noise; with one record each it is the "
        "published rule. The 2022 paper chooses noise together with who takes part; what is checked is the structure of its "
        "weights, in what a solver finds. Local noise is not in the 2023 paper: there weights are q ∝ 1/(K v + C/n), against "
        "leaving out the noisiest. A thousand owners, one record each, ε lognormal around 0.1; means of fair coins are drawn "
        "beside the law.",
        cost=4.0,
    ),
)
