"""Owners with different budgets: best weights of a mean, under shared noise and local noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.forecast.shared_noise import saturation, shared_weights
from learning.forecast.weighting import Answers, PrecisionWeighting
from reproduction.item import Setting
from reproduction.specification import Found

OWNERS = 1000  # who each hold one record in [-1/2, 1/2]
MEDIAN = 0.1  # budget
VARIANCE = 0.25  # of such a record at most
NOISE = 2.0  # variance of Laplace noise of scale 1
BALANCE = 1 / VARIANCE  # of t = 2/epsilon^2, in the units of `PrecisionWeighting`
SPREADS = np.linspace(0.0, 3.0, 13)  # standard deviations of the logarithm of budgets
STRICT = 0.03  # budget of a strict half
LAX = np.geomspace(0.03, 30.0, 37)
LEGEND = 0.2  # of the figure, beneath the panels
FEW = 8  # owners of a market that a solver weighs
INSTANCES = 6


def noise_terms(epsilon: Array) -> Array:
    """Variance t of Laplace noise on a record that moves by 1."""
    return np.asarray(NOISE / epsilon**2)


def shared_error(weights: Array, epsilon: Array) -> float:
    """Worst mean squared error of a weighted mean under one noise that protects all owners."""
    return float(VARIANCE * np.sum(weights**2) + NOISE * np.max(weights / epsilon) ** 2)


def local_error(weights: Array, epsilon: Array) -> float:
    """Worst mean squared error under noise that each owner adds to its own record."""
    return float(np.sum(weights**2 * (VARIANCE + noise_terms(epsilon))))


def published_weights(epsilon: Array) -> Array:
    """Weights as budgets, capped at a threshold of the strictest (Chaudhuri and Courtade)."""
    order = np.sort(epsilon)
    thresholds = (8 + np.cumsum(order**2)) / np.cumsum(order)
    first = np.argmax(np.append(order[1:], np.inf) > thresholds)
    raw = np.minimum(epsilon, thresholds[first])
    return np.asarray(raw / raw.sum())


def our_weights(epsilon: Array) -> Array:
    """Best weights under shared noise."""
    return shared_weights(noise_terms(epsilon), np.ones_like(epsilon), epsilon > 0, BALANCE)


def precision_weights(epsilon: Array) -> Array:
    """Best weights under local noise."""
    answers = Answers(noise_terms(epsilon), np.ones_like(epsilon), epsilon > 0)
    return PrecisionWeighting(balance=BALANCE).answer_weights(answers)


def equal_weights(epsilon: Array) -> Array:
    """Equal weights."""
    return np.full_like(epsilon, 1 / len(epsilon))


def proportional_weights(epsilon: Array) -> Array:
    """Weights as budgets."""
    return epsilon / epsilon.sum()


def best_left_out(epsilon: Array) -> float:
    """Least error under local noise with equal weights of the owners above some budget."""
    order = np.sort(epsilon)
    left = len(order) - np.arange(len(order))
    return float(np.min(np.cumsum((VARIANCE + noise_terms(order))[::-1])[::-1] / left**2))


def best_threshold(epsilon: Array) -> float:
    """Least error under shared noise with equal weights and one budget of the owners above it."""
    order = np.sort(epsilon)
    left = len(order) - np.arange(len(order))
    return float(np.min(VARIANCE / left + NOISE / (left * order) ** 2))


Rule = Callable[[Array], Array]
WEIGHTS: dict[str, dict[str, Rule]] = {
    "shared": {
        "ours": our_weights,
        "published": published_weights,
        "proportional": proportional_weights,
        "plain": equal_weights,
    },
    "local": {"precision": precision_weights, "plain": equal_weights},
}
ERRORS = {"shared": shared_error, "local": local_error}
BEST = {"shared": "ours", "local": "precision"}
LEAST = {"shared": ("threshold", best_threshold), "local": ("left out", best_left_out)}


def draw_errors(
    weights: Array, epsilon: Array, runs: int, rng: np.random.Generator, *, shared: bool
) -> Array:
    """Draw squared errors (runs,) of weighted means of fair coins of -1/2 and 1/2."""
    means = (rng.integers(0, 2, (runs, len(epsilon))) - 0.5) @ weights
    noise = rng.laplace(size=runs) * np.max(weights / epsilon)
    if not shared:
        noise = rng.laplace(size=(runs, len(epsilon))) @ (weights / epsilon)
    return np.asarray((means + noise) ** 2)


def solve_weights(noise: str, epsilon: Array) -> Array:
    """Weights by sequential quadratic programming; shared noise has its scale h as a variable.

    Constraints: the weights add up to 1 and, under shared noise, w <= h epsilon.
    """
    n = len(epsilon)
    shared = noise == "shared"
    start = np.append(equal_weights(epsilon), np.max(equal_weights(epsilon) / epsilon))
    limits = [{"type": "eq", "fun": lambda at: at[:n].sum() - 1}]
    own = noise_terms(epsilon)
    if shared:
        limits.append({"type": "ineq", "fun": lambda at: at[n] * epsilon - at[:n]})
        own = np.zeros(n)
    scale = ERRORS[noise](equal_weights(epsilon), epsilon)

    def error(at: Array) -> float:
        return float(np.sum(at[:n] ** 2 * (VARIANCE + own)) + NOISE * shared * at[n] ** 2) / scale

    bounds = [(0, None)] * (n + 1)
    options = {"maxiter": 1000, "ftol": 1e-15}
    found = scipy.optimize.minimize(
        error, start, method="SLSQP", bounds=bounds, constraints=limits, options=options
    )
    return np.asarray(found.x[:n] / found.x[:n].sum())


Row = dict[str, object]


def make_row(part: str, x: float, rule: str, error: float) -> Row:
    """Row of the table of errors."""
    return {"part": part, "x": x, "rule": rule, "error": error}


def compute_budgets(setting: Setting) -> pd.DataFrame:
    """Errors by the spread of budgets, of two halves by the lax budget, and of a solver."""
    rows: list[Row] = []
    normal = scipy.stats.norm.ppf((np.arange(OWNERS) + 0.5) / OWNERS)
    runs = setting.pick_value(4000, 400)
    rng = setting.streams("budgets").rng("runs")
    for spread in SPREADS:
        epsilon = MEDIAN * np.exp(spread * normal)
        for noise, rules in WEIGHTS.items():
            for rule, weigh in rules.items():
                weights = weigh(epsilon)
                row = make_row(noise, spread, rule, ERRORS[noise](weights, epsilon))
                if rule == BEST[noise] and spread in SPREADS[::4]:
                    squares = draw_errors(weights, epsilon, runs, rng, shared=noise == "shared")
                    row |= {"drawn": squares.mean(), "std_error": squares.std() / np.sqrt(runs)}
                rows.append(row)
            rule, least = LEAST[noise]
            rows.append(make_row(noise, spread, rule, least(epsilon)))
        distance = np.max(np.abs(our_weights(epsilon) / published_weights(epsilon) - 1))
        rows.append(make_row("weights", spread, "published", float(distance)))
        setting.did(0.8 / len(SPREADS))
    return pd.DataFrame(rows + compute_halves() + compute_solutions(setting))


def saturating_budget(epsilon: Array) -> float:
    """Budget beyond which further budget has no effect."""
    level = saturation(noise_terms(epsilon), np.ones(len(epsilon)), epsilon > 0, BALANCE)
    return np.sqrt(NOISE) / level


def compute_halves() -> list[Row]:
    """Errors of a strict half and an ever laxer half, and the saturating budget."""
    rules = {name: WEIGHTS["shared"][name] for name in ("ours", "proportional", "plain")}
    rows: list[Row] = []
    for lax in LAX:
        epsilon = np.repeat([STRICT, lax], OWNERS // 2)
        for rule, weigh in rules.items():
            rows.append(make_row("halves", lax, rule, shared_error(weigh(epsilon), epsilon)))
    rows.append(make_row("saturates", saturating_budget(epsilon), "ours", np.nan))
    return rows


def compute_solutions(setting: Setting) -> list[Row]:
    """Solutions for a few owners: improvement over our weights, and structure of the weights."""
    rows: list[Row] = []
    rng = setting.streams("budgets").rng("few")
    for instance in range(INSTANCES):
        epsilon = np.exp(rng.uniform(np.log(0.1), np.log(30.0), FEW))
        level = saturating_budget(epsilon)
        found = {}
        for noise, error in ERRORS.items():
            ours = error(WEIGHTS[noise][BEST[noise]](epsilon), epsilon)
            weights = solve_weights(noise, epsilon)
            found[noise] = 1 - error(weights, epsilon) / ours
            if noise == "shared":
                lax = weights[epsilon > level]
                rate = weights[epsilon <= level] / epsilon[epsilon <= level]
                found["pooled"] = np.ptp(lax) / lax.mean() if len(lax) > 1 else 0
                found["in proportion"] = np.ptp(rate) / rate.mean()
        rows += [make_row("solver", instance, rule, value) for rule, value in found.items()]
    return rows


def measure_budgets(frame: pd.DataFrame) -> Found:
    """The published rule, the solver, the draws; and losses of other rules."""
    errors = {
        part: rows.pivot_table(index="x", columns="rule", values="error")
        for part, rows in frame.groupby("part")
    }
    shared = errors["shared"].div(errors["shared"]["ours"], axis=0)
    local = errors["local"].div(errors["local"]["precision"], axis=0)
    solver = errors["solver"].max()
    level = frame.loc[frame["part"] == "saturates", "x"].iloc[0]
    predicted = STRICT + 8 / (OWNERS / 2 * STRICT)
    halves = errors["halves"]["ours"]
    beyond = halves[halves.index > level]
    before = halves[halves.index < 0.9 * level].diff().dropna()
    drawn = frame.dropna(subset=["drawn"])
    near = (predicted * (1 - 1e-9), predicted * (1 + 1e-9))
    yield "published", errors["weights"].max().max()
    yield "level", level, *near, {"predicted": predicted}
    yield from {
        "beyond": beyond.max() / beyond.min(),
        "rises": (before >= 0).sum(),
        "solver_shared": solver["shared"],
        "pooled": solver["pooled"],
        "strict": solver["in proportion"],
        "solver_local": solver["local"],
        "best": max(
            (errors[one][rule].T / errors[one].T).max().max() for one, rule in BEST.items()
        ),
        "z": ((drawn["drawn"] - drawn["error"]) / drawn["std_error"]).abs().max(),
        "plain": shared["plain"].loc[1.0],
        "proportional": shared["proportional"].max(),
        "threshold": shared["threshold"].max(),
        "left_out": local["left out"].max(),
        "left": halves.iloc[-1] / halves.iloc[0],
    }.items()


def move_legend(axes: Axes, frame: pd.DataFrame) -> None:
    """Put the legend below the panel, where no line passes."""
    place = axes.get_position()
    axes.set_position((place.x0, place.y0 + LEGEND, place.width, place.height - LEGEND))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), fontsize=7.5, frameon=False)


BUDGETS = (compute_budgets, measure_budgets, {"below": move_legend})
