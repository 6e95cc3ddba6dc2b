"""Errata of weighted distributed ERM: noise that is averaged away, and the view of the server."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.audit.accountant import Answering, gaussian_epsilon
from learning.privacy.gaussian import exact_distance, zcdp_distance
from learning.privacy.guarantees import measure_gaussian
from learning.privacy.published_noise import MOMENTS_CONSTANT, PublishedNoise, average_epsilon
from learning.randomness import Streams
from reproduction.checks import (
    at_least,
    at_most,
    attack_epsilon,
    close_to,
    estimate_mean,
    select_rows,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.drawing import add_legend
from reproduction.item import Check, Setting
from reproduction.plots import (
    DOTS,
    DOTTED,
    MARKED,
    curve,
    curves_by,
    draw_panel,
    draw_panels,
    level,
    make_panel,
)

DELTA = 1e-3
ROUNDS = 100
RECORDS = 9600
PROMISED = 1.0


# ---- E-4: noise that is averaged away


def least_constant() -> float:
    """c of (3) at which N(0, sigma^2) on the mean of all records gives the epsilon promised."""

    def excess(distance: float) -> float:
        return gaussian_epsilon(distance, Answering(1), DELTA) - PROMISED

    distance = scipy.optimize.brentq(excess, 1e-3, 10.0)
    return float(4 * PROMISED**2 / np.log(1 / DELTA) / distance**2)


def party_sizes(parties: int, skew: float) -> tuple[int, ...]:
    """Records of two groups of parties, ``skew`` times as many in one as in the other."""
    small = RECORDS / (parties / 2 * (1 + skew))
    return tuple([round(small)] * (parties // 2) + [round(skew * small)] * (parties // 2))


def attack_own_model(
    noise: PublishedNoise, size: int, streams: Streams, key: str, draws: int
) -> float:
    """Lower bound on the epsilon of a party's own model: linear loss, T noisy local steps."""
    sigma = float(noise.scale(PROMISED, [size], 1.0, ROUNDS)[0])

    def draw_models(half: str, world: int) -> Array:
        rng = streams.rng(key, half, world)
        # gradient of the record, G = 1; the other records' is known
        gradient = (1.0 if world == 0 else -1.0) / size
        return np.asarray((gradient + sigma * rng.standard_normal((draws, ROUNDS))).sum(axis=1))

    return gaussian_epsilon(attack_epsilon(draw_models, measure_gaussian), Answering(1), DELTA)


def compute_averages(setting: Setting) -> Rows:
    """Variance of the averaged noise, and epsilon of the average and of a party's own model."""
    streams = setting.streams("E-4")
    draws = quick_or_full(setting, 5000, 20_000)
    constant = least_constant()
    for parties in (2, 4, 8, 16, 32):
        for skew in (1.0, 9.0):
            sizes = party_sizes(parties, skew)
            small = min(sizes)
            noise = PublishedNoise("weighted", DELTA, sizes, constant=constant)
            sigma = float(noise.scale(PROMISED, [small], 1.0, ROUNDS)[0])
            weights = np.array(sizes) / sum(sizes)
            rng = streams.rng("mean", parties, int(skew))
            drawn = rng.normal(0, sigma, (draws, parties)) @ weights
            shown = np.nan
            if parties in (4, 16) and skew == 1:
                shown = attack_own_model(noise, small, streams, f"{parties} {skew:g}", draws)
            yield dict(
                parties=parties,
                skew=skew,
                promised=PROMISED,
                **estimate_mean(np.square(drawn) / sigma**2, "variance"),
                formula=np.sum(weights**2),
                printed=1.0,
                share=small / sum(sizes),
                average=average_epsilon(noise, small, PROMISED, ROUNDS),
                own=noise.claims("", PROMISED, ROUNDS, size=small)[0].epsilon,
                own_shown=shown,
            )


def check_averages(frame: pd.DataFrame) -> Checks:
    """Neither the average nor a party's own model keeps the promise."""
    (even,) = select_rows(frame, parties=16, skew=1.0).itertuples()
    (uneven,) = select_rows(frame, parties=4, skew=9.0).itertuples()
    yield close_to("variance", even.variance, 1 / 16, even.std_error, "1", "law")
    yield at_least("average", even.average / PROMISED, 1.0 + 1e-9, "1")
    yield at_least("own_model", even.own, 16.0, "1")
    yield at_least("attack", even.own_shown, 1.0, "at most 1", 3.0)
    yield at_least("uneven", uneven.own * uneven.share, 1.0, "1/20")


def draw_averages(frame: pd.DataFrame, note: str) -> Figure:
    """Epsilon over the parties, with one scale for both panels."""
    marks = (
        curve("parties", "own", "(smallest) party's own model, to the server"),
        curve("parties", "own_shown", "shown by an attack", **DOTS | {"ms": 5}),
        curve("parties", "average", "the average, to everyone (at least)", 1),
        level(PROMISED, **DOTTED),
    )
    panels = (
        make_panel(
            *marks,
            labels=("parties m", "ε"),
            heading=f"largest over smallest u = {skew:g}",
            where={"skew": skew},
            logs="xy",
            xticks=[2, 4, 8, 16, 32],
        )
        for skew in (1.0, 9.0)
    )
    figure = draw_panels("E-4", *panels)(frame, note)
    first, second = figure.axes
    first.set_ylim(top=40 * frame["own"].max())
    second.set_ylim(first.get_ylim())
    add_legend(first, loc="upper left")
    return figure


# ---- E-30: one constant for all budgets


def compute_constants(setting: Setting) -> Rows:
    """Constant c that (3) needs, by exact accounting and by zCDP."""
    for delta in (1e-3, 1e-6):
        log = np.log(1 / delta)
        for epsilon in np.geomspace(0.01, 900, quick_or_full(setting, 12, 40)):
            distance = 2 * epsilon / np.sqrt(MOMENTS_CONSTANT * log)
            exact, concentrated = (
                4 * epsilon**2 / log / float(law(epsilon, delta)) ** 2
                for law in (exact_distance, zcdp_distance)
            )
            yield dict(
                delta=delta,
                epsilon=epsilon,
                constant=exact,
                kept_at_16=gaussian_epsilon(distance, Answering(1), delta),
                limit=2 * log,
                concentrated=concentrated,
            )


def check_constants(frame: pd.DataFrame) -> Checks:
    """The constant of the proof serves small budgets only."""
    part = select_rows(frame, delta=1e-3)
    last = part.iloc[-1]
    yield at_least("needed", last["constant"] / MOMENTS_CONSTANT, 1.0, "at most 1")
    yield Check("concentrated", last["constant"] / last["concentrated"], 0.8, 1.0, "", "law")
    kept = part["kept_at_16"] / part["epsilon"]
    yield at_least("kept", kept.iloc[-1], 1.0, "at most 1")
    inside = kept[part["epsilon"] <= part["limit"]]
    yield at_most("small_budgets", inside.max(), 1.0, "at most 1")


draw_constants = draw_panel(
    "E-30",
    curves_by("delta", "epsilon", "constant", lambda delta: f"δ = {delta:g}"),
    level(MOMENTS_CONSTANT, "16, of the proof", **DOTTED),
    labels=("ε", "c"),
    logs="xy",
)


# ---- E-31: Lipschitz and strongly convex everywhere


def compute_assumptions(setting: Setting) -> Rows:
    """Longest gradient and least curvature of logistic loss, all labels 1, by the model's norm."""
    x = setting.streams("E-31").rng("records").normal(size=(200, 2))
    x /= np.linalg.norm(x, axis=1).max()
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    directions = np.stack([[np.cos(a), np.sin(a)] for a in angles])
    for ridge in (0.0, 0.01):
        for radius in (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0):
            margins = x @ (radius * directions).T
            odds = scipy.special.expit(-margins)
            moments = np.einsum("ni,nd,nj->dij", x, odds * (1 - odds), x) / len(x)
            hessians = moments + ridge * np.eye(2)
            longest = max(
                np.linalg.norm(-o[:, None] * x + ridge * radius * d, axis=1).max()
                for o, d in zip(odds.T, directions, strict=True)
            )
            flattest = float(np.linalg.eigvalsh(hessians)[:, 0].min())
            yield dict(ridge=ridge, radius=radius, lipschitz=longest, curvature=flattest)


def check_assumptions(frame: pd.DataFrame) -> Checks:
    """No ridge gives bounded gradients and strong convexity at once."""
    far = select_rows(frame, radius=1000.0).set_index("ridge")
    longest = far["lipschitz"]
    yield at_most("curvature", far["curvature"][0.0], 1e-3, "at least λ > 0", 1e-3)
    yield at_least("ridged", longest[0.01], 5.0, "at most G = 1", 0.1)
    yield at_most("bare", longest[0.0], 1.0 + 1e-9, "at most G = 1", 0.1)


RIDGES = {0.0: "without", 0.01: "with a ridge of 0.01"}
draw_assumptions = draw_panels(
    "E-31",
    *(
        make_panel(
            curves_by("ridge", "radius", column, RIDGES.__getitem__, **MARKED),
            labels=("|θ|", label),
            logs="xy",
            legend={} if column == "lipschitz" else None,
        )
        for column, label in (
            ("lipschitz", "longest gradient, G"),
            ("curvature", "least curvature, λ"),
        )
    ),
)

ITEMS = (
    make_item("E-4", compute_averages, check_averages, draw_averages),
    make_item("E-30", compute_constants, check_constants, draw_constants),
    make_item("E-31", compute_assumptions, check_assumptions, draw_assumptions),
)
