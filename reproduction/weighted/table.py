"""WD's Table 1: noise and excess risk of five methods as the table has them, constants of 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reproduction.item import Setting
from reproduction.specification import Found, Rows
from reproduction.weighted.methods import DELTA, EPSILONS, LIPSCHITZ, count_rounds
from reproduction.weighted.rows import TABLES, load_available, sample_sizes

OWNERS = (2, 8, 32)
CONVEXITY = 1.0  # lambda: the table is compared "without considering about regularization term"
SMOOTHNESS = 1.0  # L, of which the table's own row has none


@dataclass(frozen=True)
class Terms:
    """Quantities of the table: m owners, n_(1) the smallest, n records, p columns, epsilon, T."""

    m: int
    n1: int
    n: int
    p: int
    epsilon: float
    rounds: int

    @property
    def log(self) -> float:
        """log(1/delta)."""
        return float(np.log(1 / DELTA))


Formula = Callable[[Terms], float]
G2 = LIPSCHITZ**2


def pathak_excess(at: Terms) -> float:
    """Excess risk of the first row: output perturbation of the average, by Pathak et al."""
    log = np.log(at.p / DELTA)
    scale = (CONVEXITY + 1) / (at.n1 * CONVEXITY) ** 2
    mixed = at.p * (at.m - 1) * log / at.epsilon
    return float(scale * ((at.m - 1) ** 2 + (at.p * log / at.epsilon) ** 2 + mixed))


NOISE: dict[str, Formula] = {
    "averaged alike": lambda at: G2 * at.rounds * at.log / (at.m * at.n1 * at.epsilon) ** 2,
    "random rounds": lambda at: (
        (at.p * np.log(at.n / DELTA) * at.log + at.epsilon**2) * G2 / at.epsilon**2
    ),
    "one party": lambda at: G2 * at.rounds * at.log / (at.n * at.epsilon) ** 2,
    "WD-DP": lambda at: G2 * at.rounds * at.log / (at.n * at.epsilon) ** 2,
}
EXCESS: dict[str, Formula] = {
    "output": pathak_excess,
    "averaged alike": lambda at: (
        at.p
        * G2
        * SMOOTHNESS
        * np.log(at.m * at.n1) ** 2
        * at.log
        / (at.m * at.n1 * CONVEXITY * at.epsilon) ** 2
    ),
    "one party": lambda at: at.p * G2 * np.log(at.n) ** 2 * at.log / (at.n * at.epsilon) ** 2,
    "WD-DP": lambda at: at.p * G2 * np.log(at.n) * at.log / (at.n * at.epsilon) ** 2,
}


def compute_table(setting: Setting) -> Rows:
    """The table's formulas at the sizes, columns and budgets of WD's figures."""
    for rows in load_available(list(TABLES), setting):
        total, columns = rows.x.shape
        for owners in OWNERS:
            rng = setting.streams("weighted").rng("sizes", rows.name, owners)
            drawn = sample_sizes(total, owners, rng=rng)
            share = total // owners
            for sizes, smallest, n in (
                ("drawn", min(drawn), total),
                ("even", share, owners * share),
            ):
                for epsilon in EPSILONS:
                    at = Terms(owners, smallest, n, columns, epsilon, count_rounds(setting))
                    known = {"data": rows.name, "stand_in": rows.stand_in, "sizes": sizes}
                    known |= {"owners": owners, "smallest": smallest, "records": n}
                    known |= {"columns": columns, "epsilon": epsilon}
                    for name in {**EXCESS, **NOISE}:
                        noise, excess = (
                            float(made[name](at)) if name in made else np.nan
                            for made in (NOISE, EXCESS)
                        )
                        yield known | {"method": name, "noise": noise, "excess": excess}


def check_table(frame: pd.DataFrame) -> Found:
    """What the text says of the table: each factor, and which bound is smaller."""
    keys = ["data", "sizes", "owners", "smallest", "records", "epsilon"]
    noise, excess = (
        frame.pivot(index=keys, columns="method", values=v) for v in ("noise", "excess")
    )
    of = noise.index.to_frame()
    alike = of["owners"] * of["smallest"]
    factor = (alike / of["records"]) ** 2
    yield "noise", farthest(noise["WD-DP"] / noise["averaged alike"] / factor)
    logs = factor * np.log(of["records"]) / np.log(alike) ** 2
    yield "excess", farthest(excess["WD-DP"] / excess["averaged alike"] / logs)
    even = of["sizes"] == "even"
    yield "even_noise", farthest((noise["averaged alike"] / noise["WD-DP"])[even])
    yield "even_excess", (excess["averaged alike"] / excess["WD-DP"])[even].max()
    yield "one_party", farthest(excess["one party"] / excess["WD-DP"] / np.log(of["records"]))
    yield "random_rounds", (noise["random rounds"] / noise["WD-DP"]).min()
    yield "output", (excess["output"] / excess["WD-DP"]).min()


def farthest(ratios: pd.Series) -> float:
    """Largest distance of ratios from 1, of the logarithm."""
    return float(np.abs(np.log(ratios)).max())
