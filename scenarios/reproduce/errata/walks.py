"""Errata about the walks of Wu et al.: steps that do not move, a lost curvature, a bound that no model can keep, weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.privacy.laplace import Laplace
from learning.training.averaged import Averaged
from learning.training.law import moments
from learning.training.synchronous import Synchronous
from scenarios.report.figure_page import INK, PALETTE
from scenarios.reproduce.drawing import legend, lines, page
from scenarios.reproduce.errata.showing import above, equal, near, pick, slope
from scenarios.reproduce.item import Check, Item, Setting

CURVATURES = np.geomspace(1.0, 0.1, 10)  # of a quadratic cost with ten parameters: smoothness 1, strong convexity 0.1
START = 0.5 * CURVATURES.sum()  # what its start, one off in every direction, lies above the optimum
OWNERS, RECORDS, BOUND = 3, 90_000, 10.0  # N, n, the gradient bound


def noise_power(epsilon: float, horizon: int) -> float:
    """Variance of a coordinate of the aggregated noise of one round, 8 bound^2 T^2/n^2 sum 1/epsilon^2."""
    return float(8 * BOUND**2 * horizon**2 / RECORDS**2 * OWNERS / epsilon**2)


# ---- E-2: the step size that does not move


def _walked(steps: Array) -> tuple[float, float]:
    """How far a walk without noise goes, and what it ends above the optimum, by walking it."""
    error, way = np.ones_like(CURVATURES), 0.0
    for step in steps:
        move = step * CURVATURES * error
        error, way = error - move, way + float(np.linalg.norm(move))
    return way, float(0.5 * CURVATURES @ error**2)


def _least(steps: Array, power: float) -> float:
    """The least expected excess of any point of a walk, the start among them: the minimum that Theorem 2 speaks of."""
    decay, variance, least = np.ones_like(CURVATURES), np.zeros_like(CURVATURES), START
    for step in steps:
        shrink = 1 - step * CURVATURES
        decay, variance = decay * shrink, variance * shrink**2 + step**2 * power
        least = min(least, float(0.5 * CURVATURES @ (decay**2 + variance)))
    return least


def _steps_that_stop(setting: Setting) -> pd.DataFrame:
    rows = []
    for horizon in (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)[: 10 if setting.quick else None]:
        for rule, constant in (("fixed", 1.0), ("grows", float(horizon**2))):
            steps, power = Synchronous().steps(constant, horizon), noise_power(1.0, horizon)
            way, end = _walked(steps)
            decay, variance = moments(CURVATURES, steps, "last")
            rows.append(
                {
                    "rule": rule,
                    "horizon": horizon,
                    "left_walked": end / START,
                    "left_law": float(0.5 * CURVATURES @ decay**2) / START,
                    "way": way,
                    "way_formula": constant
                    * float(np.sum(1 / np.arange(1, horizon)))
                    / horizon**2
                    * np.linalg.norm(CURVATURES),
                    "least_noisy": _least(steps, power) / START,
                    "bound": 8 * BOUND**2 * constant / (CURVATURES.min() * RECORDS**2) * OWNERS / START,
                }
            )
    return pd.DataFrame(rows)


def _check_steps_that_stop(frame: pd.DataFrame) -> list[Check]:
    fixed = frame[frame["rule"] == "fixed"]
    last = fixed[fixed["horizon"] == 1000].iloc[0]
    return [
        above("share of the start's excess that is left without noise, T = 1,000", last["left_walked"], 0.999, "0"),
        above(
            "least excess of any round over the bound, ρ = 1, over all T",
            (fixed["least_noisy"] / fixed["bound"]).min(),
            1.0,
            "at most 1",
        ),
        Check(
            "way walked over ρ Σ 1/k/T² times the first gradient, T = 1,000",
            last["way"] / last["way_formula"],
            0.99,
            1.01,
            "",
            "law",
        ),
        equal(
            "the exact law over the walk itself, all rules and T", (frame["left_law"] / frame["left_walked"]).max(), 1.0
        ),
    ]


def _draw_steps_that_stop(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("What Algorithm 1 leaves of the start's excess", note)
    words = {"fixed": "ρ fixed, as printed (no noise)", "grows": "ρ in proportion to T² (no noise)"}
    lines(
        axes,
        frame[frame["left_walked"] > 0],
        "horizon",
        "left_walked",
        by="rule",
        label=words.__getitem__,
        law="left_law",
    )
    fixed = frame[frame["rule"] == "fixed"]
    axes.plot(
        fixed["horizon"],
        fixed["bound"],
        color=INK,
        ls="--",
        lw=1,
        label="bound of Theorem 2, ρ fixed (n = 90,000, ε = 1)",
    )
    axes.set(xlabel="rounds T", ylabel="share left")
    legend(axes)
    return figure


# ---- E-17: a bound that falls to nothing without noise


def _simulated(epsilon: float, horizon: int, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Mean excess of Algorithm 2's running mean, and its standard error, by walking it."""
    theta, mean, eta = np.ones((runs, len(CURVATURES))), np.zeros((runs, len(CURVATURES))), horizon**-0.5
    scale = np.sqrt(noise_power(epsilon, horizon) / OWNERS / 2)  # of each of N alike
    for k, step in enumerate(Averaged().steps(1.0, horizon), start=1):
        noise = Laplace().draw(scale, (OWNERS, *theta.shape), rng=rng).sum(axis=0)
        theta, mean = (
            theta - step * (CURVATURES * theta + noise),
            (k - 1) / (eta + k) * mean + (eta + 1) / (eta + k) * theta,
        )
    excess = 0.5 * mean**2 @ CURVATURES
    return float(excess.mean()), float(excess.std(ddof=1) / np.sqrt(runs))


def _bound_to_nothing(setting: Setting) -> pd.DataFrame:
    horizon, runs, streams = 100, 5 * setting.runs, setting.streams("E-17")
    trials = np.geomspace(0.01, 1.9, 20 if setting.quick else 200)
    decay, _ = moments(CURVATURES[:, None], Averaged().steps(trials, horizon)[:, None, :], "averaged")
    least = float((0.5 * CURVATURES @ decay**2).min())
    decay, variance = moments(CURVATURES, Averaged().steps(1.0, horizon), "averaged")
    rows = []
    for number, epsilon in enumerate(np.geomspace(0.01, 1000, 11)):
        law = float(0.5 * CURVATURES @ (decay**2 + variance * noise_power(epsilon, horizon)))
        unit = BOUND / RECORDS * np.sqrt(OWNERS / epsilon**2)
        mean, error = _simulated(float(epsilon), horizon, runs, streams.rng("noise", number))
        rows.append(
            {"epsilon": epsilon, "measured": mean, "std_error": error, "law": law, "unit": unit}
            | {"constant_needed": law / unit, "least_without_noise": least}
        )
    frame = pd.DataFrame(rows)
    return frame.assign(bound=frame["constant_needed"].iloc[4] * frame["unit"])


def _check_bound_to_nothing(frame: pd.DataFrame) -> list[Check]:
    last, first = frame.iloc[-1], frame.iloc[0]
    return [
        above("excess without noise at the best of all step sizes", last["least_without_noise"], 1e-12, "0"),
        above(
            "c₂ needed at ε = 1,000 over c₂ needed at ε = 1",
            last["constant_needed"] / pick(frame, "constant_needed", epsilon=1.0),
            10.0,
            "1",
        ),
        Check(
            "power of ε that c₂ must grow with, last decade",
            slope(frame["epsilon"][-3:], frame["constant_needed"][-3:]),
            0.95,
            1.05,
            "0",
            "law",
        ),
        near(
            "excess measured at ε = 0.01, over the exact law",
            first["measured"] / first["law"],
            1.0,
            first["std_error"] / first["law"],
        ),
        near(
            "the same at ε = 1",
            pick(frame, "measured", epsilon=1.0) / pick(frame, "law", epsilon=1.0),
            1.0,
            pick(frame, "std_error", epsilon=1.0) / pick(frame, "law", epsilon=1.0),
        ),
    ]


def _draw_bound_to_nothing(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("Algorithm 2 and the bound of Theorem 3, T = 100", note)
    lines(axes, frame, "epsilon", "measured", law="law")
    axes.plot(
        frame["epsilon"],
        frame["bound"],
        color=PALETTE[1],
        ls="--",
        lw=1,
        label="Theorem 3, its constant fitted at ε = 1",
    )
    axes.plot([], [], color=PALETTE[0], marker="o", ms=4, label="measured, and the exact law")
    axes.set(xlabel="ε of each of three owners, 30,000 records each", ylabel="mean excess of the running mean")
    legend(axes)
    return figure


WHO = "Wu et al."
ITEMS = (
    Item(
        key="E-2",
        where=f"{WHO}, Algorithm 1 and Theorem 2 (thesis, A.2)",
        title="A step size that does not move",
        claim=(
            "With steps ρ/(T²k), ρ fixed, the best of T rounds comes as near to the optimum as 8Ξ²ρ/(Ln²) Σ 1/ε² once T "
            "is large enough. The experiments find the best model itself, θ*, by the same algorithm without noise."
        ),
        compute=_steps_that_stop,
        checks=_check_steps_that_stop,
        draw=_draw_steps_that_stop,
        differs=(
            "All steps together add up to about ρ ln T/T² gradients, which falls with T: at T = 1,000 the walk has not "
            "left its start, with noise or without. The proof lets k go to infinity where only T rounds are walked. So "
            "for a ρ that stays, and a bound below the start, no large T meets it; a T that happens to suit ρ, near "
            "√(ρλ) with λ the smoothness, may, which is a choice of T and no limit. Nor can θ* be found so, against "
            "which the paper counts relative fitness, but with the constant steps that it allows where there is no "
            "noise. If ρ grows as T² the walk arrives, and the noise term grows as T² with it. The program chooses ρ "
            "with T."
        ),
        cost=2,
    ),
    Item(
        key="E-17",
        where=f"{WHO}, Theorem 3, (11) and (12)",
        title="A bound that falls to nothing, and an algorithm that cannot follow",
        claim="For every T there are constants c₁, c₂ with E f(θ̄[T]) - f(θ*) ≤ (c₂Ξ/n) √Σ 1/ε² whatever the budgets.",
        compute=_bound_to_nothing,
        checks=_check_bound_to_nothing,
        draw=_draw_bound_to_nothing,
        differs=(
            "The right-hand side falls to nothing as budgets grow, and T steps without noise do not end at the optimum, "
            "whatever their size, where directions of several curvatures are to be walked. So c₂ must grow with ε, and "
            "no constant will do. The result that the theorem builds on has a second term, for the gradients "
            "themselves, which does not vanish. Where noise rules, and budgets are bounded from above, a constant "
            "exists; the law there is ε⁻², not ε⁻¹, as the paper sees in its figures."
        ),
        cost=1,
    ),
)
