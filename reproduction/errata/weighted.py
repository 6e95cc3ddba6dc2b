"""Errata of weighted distributed ERM: its noise, the view of the server, and its proofs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy

from learning.arrays import Array
from learning.audit.accountant import Answering, gaussian_epsilon
from learning.losses.loss import RecordFitness
from learning.losses.losses import LOSSES
from learning.privacy.accounting import zcdp_distance
from learning.privacy.gaussian import exact_distance
from learning.privacy.guarantees import measure_gaussian
from learning.privacy.published_noise import MOMENTS_CONSTANT, PublishedNoise, average_epsilon
from learning.randomness import Streams
from reproduction.checks import attack_epsilon, estimate_mean, pick_number, select_rows
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows

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
    draws = setting.pick_value(20_000, 5000)
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


def check_averages(frame: pd.DataFrame) -> Found:
    """Neither the average nor a party's own model keeps the promise."""
    (even,) = select_rows(frame, parties=16, skew=1.0).itertuples()
    (uneven,) = select_rows(frame, parties=4, skew=9.0).itertuples()
    yield "variance", even.variance, 1 / 16, even.std_error
    yield "average", even.average / PROMISED
    yield "own_model", even.own
    yield "attack", even.own_shown
    yield "uneven", uneven.own * uneven.share


# ---- E-30: one constant for all budgets


def compute_constants(setting: Setting) -> Rows:
    """Constant c that (3) needs, by exact accounting and by zCDP."""
    for delta in (1e-3, 1e-6):
        log = np.log(1 / delta)
        grid = np.geomspace(0.01, 900, setting.pick_value(40, 12))
        for epsilon in np.sort([*grid, 2 * log]):
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


def check_constants(frame: pd.DataFrame) -> Found:
    """The constant of the proof serves small budgets only."""
    part = select_rows(frame, delta=1e-3)
    last = part.iloc[-1]
    yield "needed", last["constant"] / MOMENTS_CONSTANT
    yield "concentrated", last["constant"] / last["concentrated"]
    kept = part["kept_at_16"] / part["epsilon"]
    yield "kept", kept.iloc[-1]
    yield "small_budgets", kept[part["epsilon"] <= part["limit"]].max()


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


def check_assumptions(frame: pd.DataFrame) -> Found:
    """No ridge gives bounded gradients and strong convexity at once."""
    far = select_rows(frame, radius=1000.0).set_index("ridge")
    longest = far["lipschitz"]
    yield "curvature", far["curvature"][0.0]
    yield "ridged", longest[0.01]
    yield "bare", longest[0.0]


RIDGE = 0.01
LOSS = LOSSES["logistic"]

# ---- E-25: a proof of another algorithm


def sample_party(
    unlike: float, which: int, records: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Records of one of two parties, two features of norm 1 at most.

    ``unlike`` from 0 to 1 is the difference between the parties' features and labels.
    """
    sign = 1 if which else -1
    spread = np.array([1 + 0.9 * sign * unlike, 1 - 0.9 * sign * unlike])
    x = rng.normal(size=(records, 2)) * spread
    x /= np.linalg.norm(x, axis=1).max()
    odds = scipy.special.expit(8 * x @ np.array([1.0, 1.0 - 2 * unlike * which]))
    return x, np.where(rng.random(records) < odds, 1.0, -1.0)


def descend(cost: RecordFitness, rounds: int) -> list[Array]:
    """Points of gradient descent with steps of 2, below 2/smoothness."""
    path = [np.zeros(2)]
    for _ in range(rounds):
        path.append(path[-1] - 2 * cost.gradient(path[-1]))
    return path


def compute_algorithms(setting: Setting) -> Rows:
    """Excess risk of the average of local models, and of the common model of the proof."""
    records, rounds = setting.pick_value((2000, 2000), (500, 300))
    streams = setting.streams("E-25")
    for unlike in (0.0, 0.5, 1.0):
        parts = [
            sample_party(unlike, which, records, streams.rng("records", which)) for which in (0, 1)
        ]
        pooled = RecordFitness(LOSS, parts, RIDGE)
        costs = (*(RecordFitness(LOSS, (part,), RIDGE) for part in parts), pooled)
        first, second, common = (descend(cost, rounds) for cost in costs)
        for k in np.unique(np.geomspace(1, rounds, 20).astype(int)):
            models = np.stack([(first[k] + second[k]) / 2, common[k]])
            run, proved = pooled.value(models) - pooled.optimum
            yield dict(unlike=unlike, round=k, as_run=run, as_proved=max(proved, 1e-12))


def check_algorithms(frame: pd.DataFrame) -> Found:
    """The average of local models misses the optimum of heterogeneous parties."""
    last = select_rows(frame, round=frame["round"].max()).set_index("unlike")
    run = last["as_run"]
    yield "as_run", run[1.0]
    yield "as_proved", last["as_proved"][1.0]
    yield "over_equal_parties", run[1.0] / max(run[0.0], 1e-12)


# ---- E-26: another objective


def compute_objectives(setting: Setting) -> Rows:
    """Gap of weighted and plain averages of two parties, under both objectives, squared loss."""
    records = setting.pick_value(5000, 1000)
    streams = setting.streams("E-26")
    noise = [streams.rng("records", which).normal(size=9 * records) for which in (0, 1)]
    for skew in (1, 2, 3, 5, 7, 9):
        means = np.array([noise[0][: skew * records].mean(), 1 + noise[1][:records].mean()])
        weighted = np.array([skew, 1]) / (skew + 1) @ means
        plain = np.array([0.5, 0.5]) @ means
        for rule, model in (("weighted", weighted), ("plain", plain)):
            gaps = {"gap_printed": (model - plain) ** 2, "gap_pooled": (model - weighted) ** 2}
            yield {"skew": skew, "rule": rule, **gaps}


def check_objectives(frame: pd.DataFrame) -> Found:
    """Each average is exact for its own objective."""
    nine = select_rows(frame, skew=9).set_index("rule")
    printed = nine["gap_printed"]
    pooled = nine["gap_pooled"]
    yield "weighted_printed", printed["weighted"]
    yield "plain_printed", printed["plain"]
    yield "weighted_pooled", pooled["weighted"]
    yield "plain_pooled", pooled["plain"]


# ---- E-27: convex functions need not satisfy the Polyak-Lojasiewicz condition

Curve = Callable[[float], float]
# place of z, value there (the least value is 0), and slope
FUNCTIONS: dict[str, tuple[Curve, Curve, Curve]] = {
    "logistic": (lambda z: z, lambda at: np.log1p(np.exp(-at)), lambda at: -1 / (1 + np.exp(at))),
    "quartic": (lambda z: 1 / z, lambda at: at**4, lambda at: 4 * at**3),
    "ridge": (lambda z: z, lambda at: at**2 / 2, lambda at: at),
}


def compute_ratios(setting: Setting) -> Rows:
    """Ratio of the condition for three convex functions."""
    for name, (place, value, slope) in FUNCTIONS.items():
        for z in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0):
            at = place(z)
            width = 1e-4 * at
            yield dict(
                function=name,
                z=z,
                ratio=slope(at) ** 2 / 2 / value(at),
                slope=slope(at),
                by_differences=(value(at + width) - value(at - width)) / (2 * width),
            )


def check_ratios(frame: pd.DataFrame) -> Found:
    """Only the strongly convex function has a ratio that stays away from 0."""
    for function in ("logistic", "quartic"):
        yield function, pick_number(frame, "ratio", function=function, z=30.0)
    yield "ridge", select_rows(frame, function="ridge")["ratio"].min()
    yield "differences", (frame["by_differences"] / frame["slope"]).max()


LAWS: dict[str, Law] = {
    "E-4": (compute_averages, check_averages),
    "E-30": (compute_constants, check_constants),
    "E-31": (compute_assumptions, check_assumptions),
    "E-25": (compute_algorithms, check_algorithms),
    "E-26": (compute_objectives, check_objectives),
    "E-27": (compute_ratios, check_ratios),
}
