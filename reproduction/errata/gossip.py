"""Errata about the asynchronous walk of Farokhi et al.: its cost, answers, noise and bounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.training.clocks import Clocks, covered_talks
from reproduction.checks import estimate_mean, pick_number, select_rows
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows
from scenarios.report.figure_page import PALETTE

RIDGE = 1.0  # of g and of every owner's part, one parameter
CURVATURE = 1.0


def affine_tick(
    owner: int, owners: int, step: float, lead: float, reach: float = 1.0
) -> tuple[Array, Array, Array]:
    """Matrix, shift and noise gain of one tick of Algorithm 1 on (theta_1 .. theta_N, theta_L).

    With m the mean of both copies, theta_i = m - N step reach (ridge m/(2N) + (curvature (m - a_i)
    + w)/N) and theta_L = m - step lead ridge m. All owners hold n/N records.
    """
    matrix = np.eye(owners + 1)
    shift = np.zeros(owners + 1)
    noise = np.zeros(owners + 1)
    middle = np.zeros(owners + 1)
    middle[[owner, -1]] = 0.5
    matrix[owner] = (1 - step * reach * (RIDGE / 2 + CURVATURE)) * middle
    matrix[-1] = (1 - step * lead * RIDGE) * middle
    shift[owner] = step * reach * CURVATURE * owner_optima(owners)[owner]
    noise[owner] = -step * reach
    return matrix, shift, noise


def owner_optima(owners: int) -> Array:
    """Minimisers a_i of the owners' parts, evenly from 0 to 2."""
    return np.linspace(0, 2, owners)


def learner_share(reading: str, owners: int) -> float:
    """Learner's part of g's gradient in (7): 1/2 in the proof, (N - 1)/N as printed."""
    return 0.5 if reading == "proved" else (owners - 1) / owners


# ---- E-10: where the walk settles


def fixed_point(owners: int, reading: str, step: float) -> float:
    """Mean of the learner's copy in the long run, without noise."""
    lead = learner_share(reading, owners)
    ticks = [affine_tick(i, owners, step, lead) for i in range(owners)]
    matrix, shift = (np.mean([one[part] for one in ticks], axis=0) for part in (0, 1))
    return float(np.linalg.solve(np.eye(owners + 1) - matrix, shift)[-1])


def simulate_walk(
    owners: int, reading: str, step: float, runs: int, rng: np.random.Generator
) -> dict[str, float]:
    """Mean of the learner's copy at the end of drawn walks, with its standard error."""
    lead = learner_share(reading, owners)
    copies = np.zeros((runs, owners))
    learner = np.zeros(runs)
    rows = np.arange(runs)
    optima = owner_optima(owners)
    for called in rng.integers(owners, size=(int(12 * owners / step), runs)):
        middle = (learner + copies[rows, called]) / 2
        own = CURVATURE * (middle - optima[called])
        copies[rows, called] = middle - step * (RIDGE / 2 * middle + own)
        learner = middle - step * lead * RIDGE * middle
    found = estimate_mean(learner, "walked")
    return found | {"std_error": max(found["std_error"], 1e-12)}


def compute_settled_walks(setting: Setting) -> Rows:
    """Fixed points under both readings of (7), beside drawn walks."""
    step = 0.1
    streams = setting.streams("E-10")
    for owners in (2, 3, 5, 10, 86)[: setting.pick_value(None, 4)]:
        for reading in ("proved", "printed"):
            settles = fixed_point(owners, reading, 1e-6)
            rng = streams.rng("ticks", reading, owners)
            yield dict(
                owners=owners,
                reading=reading,
                settles=settles,
                optimum=CURVATURE / (RIDGE + CURVATURE),
                weight_of_g=CURVATURE * (1 - settles) / (RIDGE * settles),
                step=step,
                **simulate_walk(owners, reading, step, setting.runs, rng),
                expected=fixed_point(owners, reading, step),
            )


def check_settled_walks(frame: pd.DataFrame) -> Found:
    """The printed steps descend on another weight of g."""
    (ten,) = select_rows(frame, owners=10, reading="printed").itertuples()
    two = pick_number(frame, "weight_of_g", owners=2, reading="printed")
    most = select_rows(frame, reading="proved")["weight_of_g"].max()
    yield "weight_of_g", ten.weight_of_g
    yield "two_owners", two
    yield "proved", most
    yield "walk", ten.walked, ten.expected, ten.std_error


# ---- E-22: answers paid for and answers given


def compute_answers(setting: Setting) -> Rows:
    """Answers that one owner gives in T ticks, and what noise for T of them costs."""
    horizon = 1000
    streams = setting.streams("E-22")
    for owners in (3, 10, 30, 86, 100):
        chances = np.full(owners, 1 / owners)
        called = streams.rng("ticks", owners).multinomial(horizon, chances, size=setting.runs)
        priced = covered_talks(Clocks(), owners, horizon)
        given = called[:, 0]
        yield dict(
            owners=owners,
            horizon=horizon,
            paid_for=horizon,
            expected=horizon / owners,
            **estimate_mean(given, "given"),
            given_most=called.max(),
            priced_here=priced,
            epsilon_spent=given.mean() / horizon,
            variance=(horizon / priced) ** 2,
        )


def check_answers(frame: pd.DataFrame) -> Found:
    """An owner gives T/N answers, and pays for T."""
    three, many = (next(select_rows(frame, owners=n).itertuples()) for n in (3, 86))
    yield "answers", three.given, 1000 / 3, three.std_error
    yield "spent", many.epsilon_spent, 1 / 86, many.std_error / 1000
    yield "variance", many.variance


# ---- E-23: owners that talk less often


def learner_variance(rates: Array, step: float, ticks: int) -> float:
    """Exact variance of the learner's copy after these ticks, with unit noise in every answer."""
    owners = len(rates)
    chances = rates / rates.sum()
    moment = np.zeros((owners + 1, owners + 1))
    maps = [affine_tick(i, owners, step, 0.5, 1 / (owners * chances[i])) for i in range(owners)]
    for _ in range(ticks):
        moment = sum(
            chance * (matrix @ moment @ matrix.T + np.outer(noise, noise))
            for chance, (matrix, _, noise) in zip(chances, maps, strict=True)
        )
    return float(moment[-1, -1])


def compute_rare_owners(setting: Setting) -> Rows:
    """Variance of the model where one of three owners talks less often."""
    step = 0.005
    ticks = setting.pick_value(2000, 400)
    equal = learner_variance(np.ones(3), step, ticks)
    for rate in (1.0, 0.5, 0.2, 0.1, 0.05):
        rates = np.array([1.0, 1.0, rate])
        share = rates / rates.sum()
        yield dict(
            rate=rate,
            variance_over_alike=learner_variance(rates, step, ticks) / equal,
            formula=np.sum(1 / share) / 9,
            rare_owner_alone=1 / share[-1] / 3,
        )


def check_rare_owners(frame: pd.DataFrame) -> Found:
    """A rare owner makes the model noisier."""
    (rare,) = select_rows(frame, rate=0.1).itertuples()
    ratio = rare.variance_over_alike
    yield "variance", ratio
    yield "formula", ratio / rare.formula
    yield "equal_rates", pick_number(frame, "variance_over_alike", rate=1.0)


OWNERS = 3  # of the paper's regression; sigma, C and rho are 1
RECORDS = 750_000
PUBLISHED_T = 1000
LOANS = 890_000  # records of the papers' table, as they say
HOSPITALS = 86  # of 10,000 records and more: Figure 10
GAIN = 8  # hospitals of Figure 10 that gain at epsilon = 10


def mixing_rate(owners: int) -> float:
    """Second eigenvalue of the mean averaging matrix: 1 - 1/(2N), 0 for one owner."""
    return 0.0 if owners == 1 else 1 - 1 / (2 * owners)


# ---- E-11: constants


def distance_bounds(horizon: float, epsilon: float) -> dict[str, float]:
    """The proof's last bound and (8), with c_1 and c_2 of Appendix B and C = sigma = rho = 1."""
    first = float(OWNERS)
    second = 2 * OWNERS**2 * np.sqrt(OWNERS + 1) / (1 - np.sqrt(mixing_rate(OWNERS)))
    noise = 2 * np.sqrt(2) / (RECORDS * epsilon)
    inner = 1 + OWNERS**2 * (1 + 2 * np.sqrt(2) * horizon / (RECORDS * epsilon)) ** 2
    spent = 1 / horizon**2 + OWNERS**2 * (1 / horizon + noise) ** 2  # A
    return {
        "proof": (first * inner + second * np.sqrt(inner)) / horizon**2,
        "named": first * np.sqrt(spent) + second * spent,
        "exchanged": second * np.sqrt(spent) + first * spent,
        "whole": second * np.sqrt(spent) / horizon + first * spent,
    }


def compute_constants(setting: Setting) -> Rows:
    """Bounds over the horizon, and their slopes in epsilon at epsilon = 1."""
    horizons = np.geomspace(10, 1e9, setting.pick_value(25, 9)).tolist()
    for horizon in sorted({float(PUBLISHED_T), *horizons}):
        low, high = (distance_bounds(horizon, epsilon) for epsilon in np.exp([-0.01, 0.01]))
        slopes = {
            f"{name}_slope": np.log(high[name] / low[name]) / 0.02 for name in ("named", "proof")
        }
        yield {"horizon": horizon, **distance_bounds(horizon, 1.0), **slopes}


def check_constants(frame: pd.DataFrame) -> Found:
    """Only the exchanged constants with 1/T give the proof's bound."""
    yield "whole", (frame["whole"] / frame["proof"]).max()
    yield "named", (frame["named"] / frame["proof"]).min()
    (thousand,) = select_rows(frame, horizon=1000.0).itertuples()
    yield "exchanged", thousand.exchanged / thousand.proof
    yield "named_power", thousand.named_slope
    yield "proof_power", frame["proof_slope"].iloc[-1]


# ---- E-21: a mixing rate of one


def averaging_matrix(owner: int, size: int) -> Array:
    """W: owner and learner, who is last, take the mean of both."""
    difference = np.zeros(size)
    difference[owner] = 1.0
    difference[-1] = -1.0
    return np.eye(size) - np.outer(difference, difference) / 2


def compute_rates(setting: Setting) -> Rows:
    """Mixing rates of one tick and of the mean tick, beside drawn ticks."""
    streams = setting.streams("E-21")
    for owners in (1, 2, 3, 10, 30, 86):
        size = owners + 1
        centred = np.eye(size) - 1 / size
        matrices = [averaging_matrix(i, size) for i in range(owners)]
        mean = np.mean([(centred @ one).T @ (centred @ one) for one in matrices], axis=0)
        eigenvalues, vectors = np.linalg.eigh(mean)
        kept = [np.sum(np.square(centred @ one @ vectors[:, -1])) for one in matrices]
        drawn = streams.rng("ticks", owners).choice(np.array(kept), 50 * setting.runs)
        yield dict(
            owners=owners,
            printed=np.linalg.norm(centred @ matrices[0], 2) ** 2,
            of_mean=eigenvalues[-1],
            formula=mixing_rate(owners),
            **estimate_mean(drawn),
            factor=1 / (1 - np.sqrt(max(eigenvalues[-1], 0.0))),
        )


def check_rates(frame: pd.DataFrame) -> Found:
    """One tick has rate 1, the mean tick 1 - 1/(2N)."""
    yield "printed", frame["printed"][frame["owners"] > 1].min()
    three, many = (next(select_rows(frame, owners=n).itertuples()) for n in (3, 86))
    yield "mean_matrix", many.of_mean / many.formula
    yield "simulated", three.measured, three.formula, three.std_error


# ---- E-24: abstract against figure, and records against tables

COLLABORATIONS = (("Figure 6", 5, 10.0), ("Figure 6", 100, 2.5), ("abstract", 10, 1.0))
TABLES = (
    ("Wu et al., section I: three banks of 350,000", 3, 350_000),
    ("Farokhi et al., Figure 6: over a hundred of 10,000", 101, 10_000),
)


def compute_claims(setting: Setting) -> Rows:
    """Fitted cost of privacy of each claim, and records that tables would need."""
    for what, owners, epsilon in COLLABORATIONS:
        # (11) with the constants fitted in section V
        noise = 2.1e9 * owners / (owners * 10_000) ** 2 / epsilon**2
        cost = {"cost_of_privacy": noise, "of_theorem": noise * owners / 3}
        yield {"what": what, "owners": owners, "epsilon": epsilon, **cost}
    for what, owners, each in TABLES:
        needed = {"records_needed": owners * each, "records_there": LOANS}
        yield {"what": what, "owners": owners, **needed}


def check_claims(frame: pd.DataFrame) -> Found:
    """The abstract's claim costs more than the figure's, and tables are too small."""
    named = frame.set_index("what")

    def relate_abstract(column: str) -> float:
        cost = named[column]
        return float(cost["abstract"]) / float(cost.loc["Figure 6"].max())

    yield "abstract", relate_abstract("cost_of_privacy")
    yield "abstract_by_theorem", relate_abstract("of_theorem")
    yield "hospitals", GAIN / HOSPITALS
    for row in frame[frame["records_needed"] > 0].itertuples():
        yield "records", row.records_needed / row.records_there, {"what": row.what}


def draw_costs(axes: Axes, frame: pd.DataFrame) -> None:
    """One bar for each claim, with its words."""
    part = frame[frame["cost_of_privacy"] > 0]
    for number, row in enumerate(part.itertuples()):
        color = PALETTE[row.what == "abstract"]
        axes.barh(number, row.cost_of_privacy, color=color, height=0.45)
        text = f"{row.what}: N = {row.owners:.0f}, ε = {row.epsilon:g}"
        axes.text(0.011, number - 0.3, text, fontsize=8, va="bottom")


LAWS: dict[str, Law] = {
    "E-10": (compute_settled_walks, check_settled_walks),
    "E-22": (compute_answers, check_answers),
    "E-23": (compute_rare_owners, check_rare_owners),
    "E-11": (compute_constants, check_constants),
    "E-21": (compute_rates, check_rates),
    "E-24": (compute_claims, check_claims, {"costs": draw_costs}),
}
