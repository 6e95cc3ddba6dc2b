"""Errata of the noise of Wu et al. and of samples that are not secret."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from learning.arrays import Array
from learning.privacy.guarantees import measure_approximate, measure_pure
from learning.privacy.laplace import Laplace
from learning.privacy.published_noise import PublishedNoise, fixed_sample_epsilons
from learning.privacy.subsampled import sampled_epsilon, subsampled_epsilon
from learning.randomness import Streams
from reproduction.checks import (
    attack_epsilon,
    estimate_mean,
    estimate_share,
    log_slope,
    pick_number,
    select_rows,
    slope_error,
)
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows

NOISE = Laplace()
CURVATURE = 0.01  # of the walk that answers are disturbed in, one at a time
SIZES = np.array([1000, 2000, 3000])
BUDGETS = np.array([0.5, 1.0, 2.0])
ROUNDS = 10


# ---- E-1: the missing p


def compute_noise_power(setting: Setting) -> Rows:
    """Mean squared length of the aggregated noise, by the number of parameters."""
    rng = setting.streams("E-1").rng("noise")
    runs = setting.pick_value(20_000, 2000)
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


def check_noise_power(frame: pd.DataFrame) -> Found:
    """The noise has p times the printed power."""
    frame = frame.set_index("parameters")
    ratio = frame["measured"] / frame["printed"]
    error = frame["std_error"] / frame["printed"]
    yield "ten_parameters", ratio[10], 10.0, error[10]
    yield "one_parameter", ratio[1], 1.0, error[1]
    off = slope_error(ratio.index, error / ratio)
    yield "power", log_slope(ratio.index, ratio), {"std_error": off}


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
    for horizon in (3, 4, 5, 7, 10, 20, 30, 50, 100, 1000)[: setting.pick_value(None, 9)]:
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


def check_answers(frame: pd.DataFrame) -> Found:
    """One answer of T is never asked, and one more has no effect."""
    yield "never_asked", (frame["horizon"] - frame["asked"]).max()
    yield "not_in_last", (frame["horizon"] - frame["in_last_point"]).max()
    yield "not_in_mean", (frame["horizon"] - frame["in_mean"]).max()
    yield "long_horizon", pick_number(frame, "variance_mean", horizon=100)
    yield "short_horizon", pick_number(frame, "variance_mean", horizon=5)


# ---- E-9: a gradient bound read off the records

RULES = ("own", "each", "public")  # bound of the first table, of each, public


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
    draws = setting.pick_value(20_000, 5000)
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


def check_bound_rules(frame: pd.DataFrame) -> Found:
    """Only the public bound keeps the promise."""
    own, each = (select_rows(frame, rule=rule, reach=3.0) for rule in ("own", "each"))
    yield "own_bound", own["loss"].item()
    yield "attack", own["shown"].item()
    yield "each_bound", each["shown"].item()
    yield "public_bound", select_rows(frame, rule="public")["shown"].max()


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
    draws = setting.pick_value(400_000, 20_000)
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


def check_leaving_models(frame: pd.DataFrame) -> Found:
    """Two answers lose more than epsilon."""
    (one,) = select_rows(frame, model=1.5).itertuples()
    yield "share_over", one.share_over
    yield "largest_loss", one.largest_seen
    yield "chance", one.measured, one.chance, one.std_error
    yield "most_lost", pick_number(frame, "most_lost", model=3.0)


PROMISED = 1.0
OWNERS = 3


# ---- E-5: amplification by sampling


def epsilon_by_view(distance: float, records: int, delta: float) -> dict[str, float]:
    """Epsilon of n^2 rounds against each observer, with three owners of n/3 records."""
    rounds = records**2
    return {
        "hidden": sampled_epsilon(distance, rounds, records, delta),
        "turns": sampled_epsilon(distance, rounds, records // OWNERS, delta, 1 / OWNERS),
        "picks": subsampled_epsilon(distance, rounds, 1 / records, delta),
    }


def least_distance(records: int, delta: float) -> float:
    """Distance of one use at which the answers alone give exactly the epsilon promised."""

    def excess(distance: float) -> float:
        return sampled_epsilon(distance, records**2, records, delta) - PROMISED

    return float(brentq(excess, 1e-3, 3.0, xtol=1e-4))


def sample_evidence(
    view: str, distance: float, records: int, used: bool, rng: np.random.Generator, draws: int
) -> Array:
    """Log-likelihood ratio of n^2 answers with the record and without it.

    ``distance`` is the shift of an answer that uses it, in deviations of the noise.
    """
    rounds = records**2
    if view == "picks":
        uses = rng.binomial(rounds, 1 / records, draws)
        drawn = rng.normal(size=draws) * np.sqrt(uses) + distance * uses * used
        return np.asarray(distance * drawn - distance**2 / 2 * uses)
    total = np.zeros(draws)
    for start in range(0, rounds, 2000):
        shape = (draws, min(2000, rounds - start))
        answers = rng.standard_normal(shape) + distance * (used * (rng.random(shape) < 1 / records))
        total += np.log1p(np.expm1(distance * answers - distance**2 / 2) / records).sum(axis=1)
    return total


def evidence_sampler(
    view: str, distance: float, records: int, draws: int, streams: Streams
) -> Callable[[str, int], Array]:
    """Draws of the evidence for an attack, by half and world."""

    def draw(half: str, world: int) -> Array:
        rng = streams.rng(half, world, view)
        return sample_evidence(view, distance, records, world == 0, rng, draws)

    return draw


def compute_views(setting: Setting) -> Rows:
    """Epsilon against each observer, and lower bounds by attacks."""
    attacked, draws = setting.pick_value((100, 3000), (30, 1000))
    streams = setting.streams("E-5")
    for size in setting.pick_value((30, 100, 300, 1000, 3000, 10_000), (30, 100, 1000)):
        delta = 0.5 / size**3
        printed = float(PublishedNoise("sgd1", delta, (size,)).distance(PROMISED, 1, size**2))
        for noise, distance in (("as printed", printed), ("least", least_distance(size, delta))):
            for view, spent in epsilon_by_view(distance, size, delta).items():
                shown = np.nan
                if noise == "least" and size == attacked and view != "turns":
                    draw = evidence_sampler(view, distance, size, draws, streams)
                    shown = attack_epsilon(draw, measure_approximate(delta))
                row = dict(noise=noise, records=size, delta=delta, view=view)
                yield {**row, "epsilon": spent, "shown": shown}


def check_views(frame: pd.DataFrame) -> Found:
    """Nothing is amplified against an observer of the picks: the noise as printed, and less."""
    spent = {
        (noise, view): rows.set_index("records")["epsilon"]
        for (noise, view), rows in frame.groupby(["noise", "view"])
    }
    known, hidden = (spent["as printed", view] for view in ("picks", "hidden"))
    yield "known", known[1000]
    yield "known_of_few", known[100]
    yield "hidden", hidden[1000]
    yield "power", log_slope(known.index, known / hidden)
    shown = frame[frame["shown"].notna()].set_index("view")["shown"]
    yield "known_shown", shown["picks"]
    yield "hidden_shown", shown["hidden"]
    yield "ratio", spent["least", "picks"][100] / spent["least", "hidden"][100]


# ---- E-20: a failure probability that is left behind


def compute_composition(setting: Setting) -> Rows:
    """Epsilon and delta of the proof's composition, beside the claims."""
    for records in (10, 30, 100, 300, 1000, 3000, 10_000):
        delta = 0.5 / records**3
        log = np.log(1 / delta)  # delta' of the proof
        aside = delta ** (1 / 3)
        total = -np.expm1(records**2 * np.log1p(-delta / records**2) + np.log1p(-aside))
        claimed, _, exact = fixed_sample_epsilons(
            PublishedNoise("sgd1", delta, (records,)), PROMISED
        )
        use = PROMISED / (records * np.sqrt(log))  # epsilon of a round, as the proof has it
        squares = records**2 * use**2
        yield dict(
            records=records,
            delta=delta,
            delta_of_proof=total,
            over=total / delta,
            epsilon_printed=squares + use * np.sqrt(2 * records**2 * np.log(1 / aside)),
            epsilon_at_delta=squares + use * np.sqrt(2 * records**2 * np.log(2 / delta)),
            epsilon_sgd2=PROMISED**2 / log + np.sqrt(2) * PROMISED,
            delta_sgd2=2 * delta,
            use_claimed=claimed,
            use_exact=exact,
        )


def check_composition(frame: pd.DataFrame) -> Found:
    """The proof's failure probability is far above delta."""
    yield "failure", pick_number(frame, "over", records=100)
    yield "power", log_slope(frame["delta"], frame["delta_of_proof"])
    yield "epsilon_at_delta", pick_number(frame, "epsilon_at_delta", records=100)
    yield "epsilon_sgd2", pick_number(frame, "epsilon_sgd2", records=100)
    yield (
        "epsilon_printed",
        pick_number(frame, "epsilon_printed", records=100),
        1 / np.log(2e6) + np.sqrt(2 / 3),
    )


# ---- E-32: a strict first owner in the best scenario

SCENARIOS = {1: (1_000, 0.1), 2: (1_000, 10.0), 3: (100_000, 0.1), 4: (100_000, 10.0)}
STRICT, LAX = 0.1, 10.0
JOINED = 0  # a small strict owner joins two large lax ones
FIRST = 100_000  # records of the first owner at most, as of the others where they are large


def sum_noise(records: Array, budgets: Array) -> float:
    """Sum of 1/ε² over n², which Theorem 2's noise term is proportional to."""
    return float(np.sum(1 / np.square(budgets)) / np.sum(records) ** 2)


def compute_scenario_noise(setting: Setting) -> Rows:
    """Noise of a round in each scenario of Figure 6, by formula and drawn, at its sizes."""
    rng = setting.streams("E-32").rng("noise")
    runs = setting.pick_value(20_000, 2000)
    for number, (others, budget) in SCENARIOS.items():
        records = np.array([FIRST, others, others])
        for epsilon in np.geomspace(STRICT, LAX, 7):
            budgets = np.array([epsilon, budget, budget])
            scales = NOISE.scale(budgets, records, 1.0, ROUNDS)
            mixed = records / records.sum() * rng.laplace(scale=scales, size=(runs, len(records)))
            printed = 8 * ROUNDS**2 * sum_noise(records, budgets)
            drawn = estimate_mean(np.square(mixed.sum(axis=1)))
            yield dict(scenario=number, epsilon=epsilon, printed=printed, **drawn)
    large = np.full(2, SCENARIOS[4][0])
    lax = np.full(2, LAX)
    joined = sum_noise(np.append(large, 1_000), np.append(lax, STRICT))
    yield dict(scenario=JOINED, printed=joined / sum_noise(large, lax))


def check_scenario_noise(frame: pd.DataFrame) -> Found:
    """What the first owner's budget costs in each scenario, by both theorems and drawn."""
    costs = {}
    for number in SCENARIOS:
        ends = [select_rows(frame, scenario=number, epsilon=one) for one in (STRICT, LAX)]
        strict, lax = (rows.iloc[0] for rows in ends)
        costs[number] = strict["printed"] / lax["printed"]
        drawn = strict["measured"] / lax["measured"]  # at last of the fourth
        error = drawn * np.hypot(*(one["std_error"] / one["measured"] for one in (strict, lax)))
    yield "hardly", costs[1], {"number": 1}
    yield "hardly", costs[3], {"number": 3}
    yield "by_theorem_2", costs[4]
    yield "drawn", drawn, costs[4], error
    yield "by_theorem_3", np.sqrt(costs[4])
    yield "as_second", costs[4] / costs[2]
    yield "joined", select_rows(frame, scenario=JOINED)["printed"].iloc[0]


LAWS: dict[str, Law] = {
    "E-32": (compute_scenario_noise, check_scenario_noise),
    "E-1": (compute_noise_power, check_noise_power),
    "E-3": (compute_answers, check_answers),
    "E-9": (compute_bound_rules, check_bound_rules),
    "E-19": (compute_leaving_models, check_leaving_models),
    "E-5": (compute_views, check_views),
    "E-20": (compute_composition, check_composition),
}
