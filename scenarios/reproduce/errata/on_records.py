"""Errata that show on records: an asynchronous walk that moves away, and models of owners who are unlike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.arrays import Array
from scenarios.report.figure_page import INK, PALETTE
from scenarios.reproduce.drawing import legend, lines, page, scales
from scenarios.reproduce.errata.showing import AGAIN, EXACT, above
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.tables import table
from scenarios.reproduce.tables.records import Records

RIDGE = 1e-5  # g = 1e-5 theta'theta, as published
FEWEST = 100  # records of a hospital that takes part


@dataclass(frozen=True)
class Squares:
    """Mean squared loss of some records, by their sufficient statistics; several add up by their numbers of records."""

    records: int
    gram: Array  # mean of x x'
    linear: Array  # mean of x y
    square: float  # mean of y^2

    @classmethod
    def of(cls, records: Records) -> Squares:
        x, y = (np.asarray(part, dtype=float) for part in records)
        return cls(len(y), x.T @ x / len(y), x.T @ y / len(y), float(y @ y) / len(y))

    @classmethod
    def together(cls, parts: list[Squares]) -> Squares:
        weights = np.array([one.records for one in parts], dtype=float)
        share = weights / weights.sum()
        gram, linear = (
            np.tensordot(share, [one.gram for one in parts], 1),
            share @ np.array([one.linear for one in parts]),
        )
        return cls(int(weights.sum()), gram, linear, float(share @ [one.square for one in parts]))

    @property
    def best(self) -> Array:
        """The model of least regularised loss."""
        return np.asarray(np.linalg.solve(self.gram + RIDGE * np.eye(len(self.linear)), self.linear), dtype=float)

    def value(self, theta: Array) -> Array:
        """Regularised loss of each model (..., p)."""
        inner = np.einsum("...i,ij,...j->...", theta, self.gram + RIDGE * np.eye(len(self.linear)), theta)
        return np.asarray(inner - 2 * theta @ self.linear + self.square, dtype=float)

    def relative(self, theta: Array) -> Array:
        """Relative fitness of each model."""
        return np.asarray(self.value(theta) / self.value(self.best) - 1, dtype=float)


# ---- E-12: the noiseless walk that moves away


def _gossip(parts: list[Squares], constant: float, horizon: int, runs: int, rng: np.random.Generator) -> Array:
    """The learner's copy after T ticks of Algorithm 1 without noise, 1/2 in (7), from 0: (runs, p)."""
    owners, width, step = len(parts), len(parts[0].linear), constant / horizon**2
    share = np.array([one.records for one in parts]) / sum(one.records for one in parts)
    grams, linears = np.stack([one.gram for one in parts]), np.stack([one.linear for one in parts])
    copies, learner, rows = np.zeros((runs, owners, width)), np.zeros((runs, width)), np.arange(runs)
    for called in rng.integers(owners, size=(horizon, runs)):
        middle = (learner + copies[rows, called]) / 2
        ridge = 2 * RIDGE * middle
        loss = 2 * (np.einsum("rij,rj->ri", grams[called], middle) - linears[called])
        copies[rows, called] = middle - owners * step * (ridge / (2 * owners) + share[called, None] * loss)
        learner = middle - step / 2 * ridge
    return learner


def _mean_end(parts: list[Squares], constant: float, horizon: int) -> Array:
    """Where that copy ends on average, exact: the mean of the ticks, which are affine maps, T times over."""
    owners, width, step = len(parts), len(parts[0].linear), constant / horizon**2
    share, one = np.array([part.records for part in parts]) / sum(part.records for part in parts), np.eye(width)
    mean = np.zeros(((owners + 1) * width + 1,) * 2)
    for i, part in enumerate(parts):
        tick, own, last = np.eye(len(mean)), slice(i * width, (i + 1) * width), slice(owners * width, -1)
        talked = one - owners * step * (RIDGE / owners * one + 2 * share[i] * part.gram)
        for rows, matrix in ((own, talked), (last, (1 - step * RIDGE) * one)):
            tick[rows] = 0.0
            tick[rows, own] = tick[rows, last] = matrix / 2
        tick[own, -1] = owners * step * 2 * share[i] * part.linear
        mean += tick / owners
    return np.asarray(np.linalg.matrix_power(mean, horizon)[owners * width : -1, -1])


def _moving_away(setting: Setting) -> pd.DataFrame:
    loans = table("lending", setting)
    parts = [Squares.of(records) for records in loans.slices([min(35_900, loans.n_records // 3)] * 3)]
    pooled, rows, streams = Squares.together(parts), [], setting.streams("E-12")
    constant = 100**2 / (2 * np.linalg.eigvalsh(pooled.gram)[-1])  # the longest steps that are stable at T = 100
    untrained = float(pooled.relative(np.zeros(len(pooled.linear))))
    for horizon in (100, 200, 500, 1000, 2000, 5000, 10_000)[: 5 if setting.quick else None]:
        fitness = pooled.relative(_gossip(parts, constant, horizon, 20, streams.rng("ticks", horizon)))
        error = fitness.std(ddof=1) / np.sqrt(len(fitness))
        law = float(pooled.relative(_mean_end(parts, constant, horizon)))
        rows.append(
            {
                "horizon": horizon,
                "relative_fitness": fitness.mean(),
                "std_error": error,
                "law": law,
                "untrained": untrained,
            }
        )
    return pd.DataFrame(rows)


def _check_moving_away(frame: pd.DataFrame) -> list[Check]:
    part = frame[frame["horizon"] >= 200]
    left, errors = part["relative_fitness"] / part["untrained"], part["std_error"] / part["untrained"]
    thousand = frame[frame["horizon"] == 1000].iloc[0]
    return [
        above(
            "share of the untrained model's relative fitness that is left, largest T less T = 200",
            float(left.iloc[-1] - left.iloc[0]),
            0.0,
            "below 0",
            tolerance=AGAIN * errors.max(),
        ),
        above(
            "least rise of that share from one T to the next",
            float(np.diff(left).min()),
            0.0,
            "below 0",
            tolerance=AGAIN * errors.max(),
        ),
        Check(
            "relative fitness over that of the exact mean end, T = 1,000",
            thousand["relative_fitness"] / thousand["law"],
            0.95,
            1.05,
            "",
            "value",
            0.02,
        ),
    ]


def _draw_moving_away(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("Where the asynchronous walk ends without any noise, ρ/σ fixed", note)
    lines(axes, frame, "horizon", "relative_fitness", law="law")
    axes.plot([], [], color=PALETTE[0], marker="o", ms=4, label="mean of 20 walks, and fitness of the exact mean end")
    axes.axhline(frame["untrained"].iloc[0], color=INK, ls=":", lw=0.8, label="untrained")
    axes.set(xlabel="ticks T", ylabel="relative fitness ψ of θ_L")
    legend(axes, loc="lower right")
    return figure


# ---- E-13: isolated error of unlike owners


def _spread(parts: list[Records], pooled: Squares) -> float:
    """C = tr(H^-1 cov(gradient))/2 of the pooled records, in units of fitness times records."""
    residuals = [(np.asarray(x, float), np.asarray(y, float) - x @ pooled.best) for x, y in parts]
    moment = sum((x * (4 * r**2)[:, None]).T @ x for x, r in residuals) / pooled.records
    return float(np.trace(np.linalg.solve(2 * pooled.gram, moment)) / 2)


def _isolated(setting: Setting) -> pd.DataFrame:
    hospitals = table("hospitals", setting)
    named = [
        (name, own)
        for name, own in zip(hospitals.owner_names, hospitals.of_owners(), strict=True)
        if len(own[1]) >= FEWEST
    ]
    x, y = (np.concatenate([np.asarray(own[part], float) for _, own in named]) for part in (0, 1))
    cuts = np.cumsum([len(own[1]) for _, own in named])[:-1]
    parts, alike = [Squares.of(own) for _, own in named], np.zeros(len(named))
    pooled = Squares.together(parts)
    for deal in range(deals := 3 if setting.quick else 10):
        mixed = setting.streams("E-13").rng("order", deal).permutation(len(y))
        dealt = [Squares.of((x[rows], y[rows])) for rows in np.split(mixed, cuts)]
        alike += [float(pooled.relative(part.best)) / deals for part in dealt]
    spread, optimum = _spread([own for _, own in named], pooled), float(pooled.value(pooled.best))
    return pd.DataFrame(
        {
            "hospital": name,
            "records": part.records,
            "formula": spread * (1 / part.records - 1 / pooled.records) / optimum,
        }
        | {"isolated": float(pooled.relative(part.best)), "isolated_alike": other}
        for (name, _), part, other in zip(named, parts, alike, strict=True)
    )


def _check_isolated(frame: pd.DataFrame) -> list[Check]:
    medians = frame[["formula", "isolated", "isolated_alike"]].median()
    worse = float((frame["isolated"] > frame["isolated_alike"]).mean())
    sure = 0.5 + 2 / np.sqrt(len(frame))  # four standard errors of as many even chances
    return [
        Check(
            "median error with the records dealt at random over the formula's",
            medians["isolated_alike"] / medians["formula"],
            0.5,
            2.0,
            "1",
            "law",
            0.2,
        ),
        above(
            "share of hospitals whose own model is worse than from as many dealt records",
            worse,
            sure,
            "one half",
            tolerance=0.1,
        ),
        above(
            "mean error of hospitals' own models over that",
            frame["isolated"].mean() / frame["isolated_alike"].mean(),
            1.0,
            "1",
            tolerance=0.8,
        ),
        Check(
            "median error of hospitals' own models over the formula's",
            medians["isolated"] / medians["formula"],
            35.0,
            3500.0,
            "345 in an independent run",
            "value",
            EXACT,
        ),
    ]


def _draw_isolated(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("Error of each hospital's own model, on all records", note)
    axes.plot(frame["records"], frame["isolated"], marker="o", ms=4, ls="", label="its own records")
    axes.plot(frame["records"], frame["isolated_alike"], marker="s", ms=3.5, ls="", label="as many, dealt at random")
    order = frame.sort_values("records")
    axes.plot(order["records"], order["formula"], color=INK, lw=1.1, label="C(1/n_i - 1/n)")
    axes.set(xlabel="records n_i", ylabel="relative fitness ψ")
    scales(axes, "xy")
    legend(axes)
    return figure


ITEMS = (
    Item(
        key="E-12",
        where="Farokhi et al., Algorithm 1 and Theorem 2",
        title="A noiseless walk that moves away as it gets longer",
        claim=(
            "With steps ρ/(T²σ), ρ fixed, the bound on the distance to the optimum falls with T; without noise it "
            "falls to nothing."
        ),
        compute=_moving_away,
        checks=_check_moving_away,
        draw=_draw_moving_away,
        differs=(
            "T ticks of length c/T² move the model by about c/T, so that more ticks move it less: with c such that "
            "steps are as long as they can be at T = 100, the walk of 10,000 ticks ends most of the way back at its "
            "start. Theorem 2 takes a limit over k with steps fixed, and then puts T for k while the steps shrink as "
            "T²; the same flaw as in the synchronous Algorithm 1 (E-2). The program chooses c with T. Here three "
            "owners hold consecutive loans, targets are counted from their public mean, and (7) has 1/2 (E-10)."
        ),
        tables=("lending",),
        cost=3,
    ),
    Item(
        key="E-13",
        where="Farokhi et al., Figures 6 and 10; the forecast C(1/n_i - 1/n)",
        title="How bad an owner's own model is, where owners are unlike",
        claim=(
            "An owner gains where the trained model is nearer to the optimum of all records than its own is. That of "
            "its own is often forecast by the law of large numbers, C(1/n_i - 1/n)."
        ),
        compute=_isolated,
        checks=_check_isolated,
        draw=_draw_isolated,
        differs=(
            "The formula, which is this program's and not the paper's, holds for owners alike in kind: with the "
            "hospitals' records dealt at random it fits. Hospitals treat different patients, and their own models do "
            "worse on everyone's records than their numbers of records say: about twice as badly for most, ten times "
            "for a few. How much depends on how records are coded. An independent run had a median of 15.2, 345 "
            "times the formula's; no coding that we tried gives as much (medians of 0.08 to 0.55, with a long tail). "
            "What collaboration is worth must be measured, as the paper does, or learned by trying one's own model "
            "on public rows."
        ),
        tables=("hospitals",),
        cost=2,
    ),
)
