"""Errata of the noise of Wu et al.: its power, unused answers, and the gradient bound."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.privacy.guarantees import measure_pure
from learning.privacy.laplace import Laplace
from reproduction.checks import (
    at_least,
    at_most,
    attack_epsilon,
    close_to,
    equal_to,
    estimate_mean,
    estimate_share,
    log_slope,
    pick_number,
    select_rows,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import (
    DOTS,
    DOTTED,
    MARKED,
    curve,
    draw_panel,
    draw_panels,
    estimates_and_law,
    legend_entry,
    level,
    make_panel,
)

NOISE = Laplace()
CURVATURE = 0.01  # of the walk that answers are disturbed in, one at a time
SIZES = np.array([1000, 2000, 3000])
BUDGETS = np.array([0.5, 1.0, 2.0])
ROUNDS = 10


# ---- E-1: the missing p


def compute_noise_power(setting: Setting) -> Rows:
    """Mean squared length of the aggregated noise, by the number of parameters."""
    rng = setting.streams("E-1").rng("noise")
    runs = quick_or_full(setting, 2000, 20_000)
    printed = 8 * ROUNDS**2 / SIZES.sum() ** 2 * np.sum(1 / BUDGETS**2)
    scales = NOISE.scale(BUDGETS, SIZES, 1.0, ROUNDS)
    for width in (1, 2, 5, 10, 20, 50):
        mixed = sum(
            size / SIZES.sum() * NOISE.draw(scale, (runs, width), rng=rng)
            for size, scale in zip(SIZES, scales, strict=True)
        )
        power = np.sum(np.square(mixed), axis=1)
        yield dict(
            parameters=width, printed=printed, corrected=width * printed, **estimate_mean(power)
        )


def check_noise_power(frame: pd.DataFrame) -> Checks:
    """The noise has p times the printed power."""
    frame = frame.set_index("parameters")
    ratio = frame["measured"] / frame["printed"]
    error = frame["std_error"] / frame["printed"]
    yield close_to("ten_parameters", ratio[10], 10.0, error[10], "1", "law")
    yield close_to("one_parameter", ratio[1], 1.0, error[1], "1")
    yield Check("power", log_slope(ratio.index, ratio), 0.98, 1.02, "0", "law", 0.05)


draw_noise_power = draw_panel(
    "E-1",
    estimates_and_law("parameters", law="corrected"),
    curve("parameters", "printed", "as printed", 1, ls="--"),
    legend_entry("measured, and p times what is printed"),
    labels=("parameters p of the model", "mean of |w|² in one round"),
    logs="xy",
)


# ---- E-3: T - 1 answers, of which T - 2 count


def count_answers(horizon: int) -> tuple[int, int, int]:
    """Answers asked in Algorithm 2 as printed, and those that move theta[T] and its mean.

    The walk is repeated with one answer disturbed at a time.
    """
    asked = horizon - 1
    theta = np.ones(asked)
    mean = np.ones(asked)
    eta = horizon**-0.5
    calm_theta = 1.0  # of the same walk without a disturbance
    calm_mean = 1.0
    for k in range(1, horizon):
        struck = np.arange(1, asked + 1) == k
        a = (k - 1) / (eta + k)
        b = (eta + 1) / (eta + k)
        mean = a * mean + b * theta
        theta = theta - 0.5 / np.sqrt(k) * (CURVATURE * theta + struck)
        calm_mean = a * calm_mean + b * calm_theta
        calm_theta = calm_theta * (1 - 0.5 * CURVATURE / np.sqrt(k))
    moved = (np.abs(theta - calm_theta), np.abs(mean - calm_mean))
    last, averaged = (int(np.sum(one > 1e-12)) for one in moved)
    return asked, last, averaged


def compute_answers(setting: Setting) -> Rows:
    """Answers that are paid for, asked and used, by the horizon."""
    for horizon in (3, 4, 5, 7, 10, 20, 30, 50, 100, 1000)[: quick_or_full(setting, 9, None)]:
        asked, last, mean = count_answers(horizon)
        yield dict(
            horizon=horizon,
            paid_for=horizon,
            asked=asked,
            in_last_point=last,
            in_mean=mean,
            variance_last=(horizon / last) ** 2,
            variance_mean=(horizon / mean) ** 2,
        )


def check_answers(frame: pd.DataFrame) -> Checks:
    """One answer of T is never asked, and one more has no effect."""
    for what, column, missing in (
        ("never_asked", "asked", 1.0),
        ("not_in_last", "in_last_point", 1.0),
        ("not_in_mean", "in_mean", 2.0),
    ):
        found = float((frame["horizon"] - frame[column]).max())
        yield equal_to(what, found, missing, "0")
    for what, horizon in (
        ("long_horizon", 100),
        ("short_horizon", 5),
    ):
        found = pick_number(frame, "variance_mean", horizon=horizon)
        yield equal_to(what, found, (horizon / (horizon - 2)) ** 2, "1")


draw_answers = draw_panel(
    "E-3",
    curve("horizon", "variance_mean", "running mean (Algorithm 2): T - 2 of T", **MARKED),
    curve("horizon", "variance_last", "last point: T - 1 of T", 1, **MARKED),
    labels=("rounds T", "variance of the noise over what would do"),
    logs="x",
)


# ---- E-9: a gradient bound read off the records

RULES = {
    "own": "bound of the first table for both",
    "each": "bound of each table for itself",
    "public": "public bound, records clipped to it",
}


def sample_answers(
    rule: str, reach: float, outlier: bool, draws: int, rng: np.random.Generator
) -> Array:
    """Answers that spend epsilon = 1, in units of bound/records.

    The longest gradient is -1, or ``reach`` with the outlier.
    """
    each = rule == "each"
    bound = reach if outlier and each else 1.0
    clipped = 1.0 if rule == "public" else reach
    longest = clipped if outlier else -1.0
    answers = NOISE.draw(2 * bound, (draws,), rng=rng) + longest
    return np.abs(answers) if each else answers


def compute_bound_rules(setting: Setting) -> Rows:
    """Privacy loss of one answer under each rule, exact and by an attack."""
    draws = quick_or_full(setting, 5000, 20_000)
    streams = setting.streams("E-9")
    for rule in RULES:
        for reach in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0):
            each = np.inf if reach > 1 else 1.0
            exact = {"own": (1 + reach) / 2, "each": each, "public": 1.0}

            def draw(half: str, world: int, rule: str = rule, reach: float = reach) -> Array:
                rng = streams.rng(half, world, rule, int(10 * reach))
                return sample_answers(rule, reach, world == 0, draws, rng)

            shown = attack_epsilon(draw, measure_pure)
            yield dict(rule=rule, reach=reach, promised=1.0, loss=exact[rule], shown=shown)


def check_bound_rules(frame: pd.DataFrame) -> Checks:
    """Only the public bound keeps the promise."""
    own, each = (select_rows(frame, rule=rule, reach=3.0) for rule in ("own", "each"))
    yield equal_to("own_bound", own["loss"].item(), 2.0, "1")
    shown = own["shown"].item()
    yield at_least("attack", shown, 1.0, "at most 1", 0.3)
    shown = each["shown"].item()
    yield at_least("each_bound", shown, 1.0, "at most 1", 2.0)
    shown = select_rows(frame, rule="public")["shown"].max()
    yield at_most("public_bound", shown, 1.0, "at most 1", 0.2)


def draw_losses(axes: Axes, frame: pd.DataFrame) -> None:
    """Markers of the attack, and the exact loss where it is finite."""
    for rule, part in frame.groupby("rule", sort=False):
        (line,) = axes.plot(part["reach"], part["shown"], label=RULES[str(rule)], **DOTS)
        if np.isfinite(part["loss"]).all():
            axes.plot(part["reach"], part["loss"], color=line.get_color(), lw=1.1)


draw_bound_rules = draw_panel(
    "E-9",
    draw_losses,
    level(1.0, **DOTTED),
    labels=("length of its gradient over the longest in the other table", "ε given away"),
    heading="markers: shown by an attack (99 %); lines: exact, without end for the second;"
    " dotted: promised",
)


# ---- E-19: strong convexity keeps no noisy model in a compact set

N_RECORDS = 20
EPSILON = 1.0
STEP = 0.25
LONGEST = 4.0  # 2 |x| (|y| + |theta| |x|), all at most 1
SCALE = float(NOISE.scale([EPSILON], [N_RECORDS], LONGEST, 2)[0])


def simulate_two_answers(draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Mean coordinate of the model at the second answer, and the loss of both answers.

    Squared loss with two features, from theta = (1, 1), without a projection. The record is x =
    (1, 0), y = -1, or else x = (0, 1), y = -1; all others are 0. Both gradients have the largest
    length and the largest distance.
    """
    theta = np.ones((draws, 2))
    loss = np.zeros(draws)
    for _ in range(2):
        asked = theta
        here, there = (2 * (theta[:, [i]] + 1) * np.eye(2)[i] / N_RECORDS for i in (0, 1))
        answer = here + NOISE.draw(SCALE, (draws, 2), rng=rng)
        loss += (np.abs(answer - there) - np.abs(answer - here)).sum(axis=1) / SCALE
        theta = theta - STEP * answer
    return asked.mean(axis=1), loss


def compute_leaving_models(setting: Setting) -> Rows:
    """Probability of models at the second answer, exact and simulated, and the loss there."""
    draws = quick_or_full(setting, 20_000, 400_000)
    reached, loss = simulate_two_answers(draws, setting.streams("E-19").rng("noise"))
    mean = 1 - STEP * 4 / N_RECORDS / 2
    for far in (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0):
        beyond = (far - mean) / (STEP * SCALE / 2)
        yield dict(
            model=far,
            chance=np.exp(-beyond) * (0.5 + beyond / 4),  # sum of two Laplace variables
            **estimate_share(float((reached > far).mean()), draws),
            promised=EPSILON,
            most_lost=EPSILON / 2 * (1 + (1 + far) / 2),
            share_over=float((loss > EPSILON * (1 + 1e-9)).mean()),
            largest_seen=loss.max(),
        )


def check_leaving_models(frame: pd.DataFrame) -> Checks:
    """Two answers lose more than epsilon."""
    (one,) = select_rows(frame, model=1.5).itertuples()
    yield at_least("share_over", one.share_over, 1e-12, "0", 0.008)
    yield at_least("largest_loss", one.largest_seen, 1.0, "at most 1", 0.5)
    yield close_to("chance", one.measured, one.chance, one.std_error, "0")
    most = pick_number(frame, "most_lost", model=3.0)
    yield equal_to("most_lost", most, 1.5, "at most 1")


def draw_reached(axes: Axes, frame: pd.DataFrame) -> None:
    """Shares above 0, since the scale is logarithmic."""
    estimates_and_law("model", law="chance")(axes, frame[frame["measured"] > 0])


draw_leaving_models = draw_panels(
    "E-19",
    make_panel(
        draw_reached,
        labels=("model that the second answer is asked at", "chance of as far"),
        logs="y",
    ),
    make_panel(
        curve("model", "most_lost", **MARKED),
        level(1.0, **DOTTED),
        labels=("model that the second answer is asked at", "most that both give away, ε"),
    ),
)

ITEMS = (
    make_item("E-1", compute_noise_power, check_noise_power, draw_noise_power),
    make_item("E-3", compute_answers, check_answers, draw_answers),
    make_item("E-9", compute_bound_rules, check_bound_rules, draw_bound_rules),
    make_item("E-19", compute_leaving_models, check_leaving_models, draw_leaving_models),
)
