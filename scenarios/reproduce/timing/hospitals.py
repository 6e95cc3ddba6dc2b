"""AS 7-10: hospitals, as many owners as the table names: paths, talks, the law over budgets, and who gains."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scenarios.reproduce.drawing import legend, lines, page, say, scales
from scenarios.reproduce.item import Check, Item, Setting, told
from scenarios.reproduce.tables import table
from scenarios.reproduce.timing.collaboration import isolated
from scenarios.reproduce.timing.laws import aggregate, fitted, slopes
from scenarios.reproduce.timing.paths import BUDGETS, annotated, path_checks, path_figure, path_frame
from scenarios.reproduce.timing.sold import who_gains
from scenarios.reproduce.timing.talks import talk_checks, talk_figure, talk_frame
from scenarios.reproduce.timing.training import PRINTED, PROVED, READ, fitness_of, market_of, plan_of, trained
from scenarios.reproduce.training.published import Market

WHERE = "Farokhi et al., Figure"
LARGE = 10_000  # records of each hospital that the paper took
GAINED = {0.1: 0, 1.0: 0, 10.0: 8}  # hospitals that gain in the paper
SMALLER = (
    "The table is another year's and a part of the state's: its hospitals have some hundred records where the paper's have "
    "10,000 or more. Noise depends on records times ε alone, so the same is told with the noise of a hundred times as many "
    "records."
)


@lru_cache(maxsize=2)
def market(setting: Setting) -> Market:
    """The hospitals."""
    stays = table("hospitals", setting)
    return market_of(stays, stays.of_owners())


def more(setting: Setting) -> list[int]:
    """How many times as many records noise is drawn for: as many as there are, and as the paper's hospitals have."""
    return [1] if market(setting).sizes.min() >= LARGE else [1, 100]


def paths(setting: Setting) -> pd.DataFrame:
    """AS-7."""
    return path_frame(table("hospitals", setting), market(setting), more(setting), setting)


def talks(setting: Setting) -> pd.DataFrame:
    """AS-8."""
    return talk_frame(table("hospitals", setting), market(setting), setting)


def budgets(setting: Setting) -> pd.DataFrame:
    """AS-9: mean relative fitness over budgets, with (11) fitted."""
    held, epsilon = market(setting), np.geomspace(0.1, 10, 3 if setting.quick else 9)
    plan = plan_of(table("hospitals", setting), held)
    times = more(setting)
    sold = np.concatenate([epsilon * one for one in times])
    mean, error = fitness_of(held, trained(held, plan, [*sold, np.inf], setting), setting)
    owners, n_records = len(held.records), held.sizes.mean()
    frame = pd.DataFrame(
        {
            "times_records": np.repeat(times, len(epsilon)),
            "epsilon": np.tile(epsilon, len(times)),
            "relative_fitness": mean[:-1],
            "std_error": error[:-1],
            "noiseless": mean[-1],
            "owners": owners,
            "n_records": held.sizes.sum(),
            "gradient_bound": held.gradient_bound,
        }
    )
    a = aggregate(frame["epsilon"] * frame["times_records"], n_records, owners)
    c1, c2 = fitted(frame["relative_fitness"], a)
    return frame.assign(c1=c1, c2=c2, law=c1 * np.sqrt(a) + c2 * a)


def budget_checks(frame: pd.DataFrame) -> list[Check]:
    """It falls with the power -2 where noise rules."""
    found = slopes(frame, "epsilon", "relative_fitness", "times_records")
    falls = all((np.diff(part["relative_fitness"]) < 0).all() for _, part in frame.groupby("times_records"))
    return [
        Check("whether ψ falls as ε grows", float(falls), 1, 1, "yes", "law"),
        *(
            Check(f"slope of ψ in ε where noise rules, {times}", value, -2.05, -1.95, "(11): −2", "law", 0.02)
            for times, value in zip(map(_words, found.index), found, strict=True)
        ),
    ]


def _words(times: int) -> str:
    return "noise of as many records as there are" if times == 1 else f"noise of {times} times as many records"


def budget_figure(frame: pd.DataFrame, note: str) -> Figure:
    """Measured points and the fitted law."""
    figure, (axes,) = page("Relative fitness against the budget, hospitals", note)
    lines(axes, frame, "epsilon", "relative_fitness", "times_records", law="law", label=_words)
    axes.set(xlabel="privacy budget ε")
    say(axes, "ψ measured; lines: (11), fitted")
    legend(axes)
    return figure


def gains(setting: Setting) -> pd.DataFrame:
    """AS-10: every hospital's own model against the one trained together, by both readings."""
    held, times = market(setting), more(setting)
    own, formula = isolated(held.records)
    sold = [epsilon * one for one in times for epsilon in BUDGETS]
    rows = []
    for clocks in (PRINTED, PROVED):
        plan = plan_of(table("hospitals", setting), held, clocks=clocks)
        mean, error = fitness_of(held, trained(held, plan, sold, setting, share=0.5), setting)
        rows += [
            {
                "reading": clocks.reading,
                "times_records": one,
                "epsilon": epsilon,
                "relative_fitness": psi,
                "std_error": se,
            }
            for (one, epsilon), psi, se in zip([(a, b) for a in times for b in BUDGETS], mean, error, strict=True)
        ]
    hospitals = pd.DataFrame(
        {"owner": np.arange(1, len(own) + 1), "n_records": held.sizes, "isolated": own, "isolated_formula": formula}
    )
    frame = pd.DataFrame(rows).merge(hospitals, how="cross")
    frame = frame.assign(**who_gains(None if setting.quick else setting.data, setting.runs))
    return frame.assign(
        gains=(frame["relative_fitness"] < frame["isolated"]).astype(int),
        gains_by_formula=(frame["relative_fitness"] < frame["isolated_formula"]).astype(int),
    )


def gain_checks(frame: pd.DataFrame) -> list[Check]:
    """How many gain, and how far their own models are from what the formula says of them."""
    times = frame["times_records"].max()
    part = frame[(frame["times_records"] == times) & (frame["reading"] == "printed")]
    counts = part.groupby("epsilon")["gains"].sum()
    own = part[part["epsilon"] == part["epsilon"].max()]
    ratio = float(own["isolated"].median() / own["isolated_formula"].median())
    wide = frame.pivot_table(
        index=["times_records", "epsilon"], columns="reading", values="relative_fitness", aggfunc="first"
    )
    apart = float(np.abs(wide["proved"] / wide["printed"] - 1).max())
    return [
        Check("whether more hospitals gain the larger ε is", float((np.diff(counts) >= 0).all()), 1, 1, "yes", "law"),
        *(
            Check(
                f"hospitals that gain at ε = {epsilon:g}, {_words(times)}",
                float(counts[epsilon]),
                many,
                many,
                str(many) if many else "none named",
                "value",
                8,
            )
            for epsilon, many in GAINED.items()
        ),
        told("median ψ of own models over what C(1/n_i − 1/n) says", ratio, 0.01 * ratio),
        Check("largest relative distance between the two readings of (7)", apart, 0, 0.05, "", "law", 0.02),
        *market_checks(frame.iloc[0]),
    ]


def market_checks(told: pd.Series) -> list[Check]:
    """Who gains in the library's market, where its table was there."""
    many, gaining, formula = (told[f"market_{name}"] for name in ("hospitals", "gains", "gains_by_formula"))
    if np.isnan(many):
        return []
    independent = "103 of 103 in an independent run", "82 in an independent run"
    words = "hospitals that gain in the library's market"
    return [
        Check(f"{words}, by their own models on all records", gaining, many, many, independent[0], "law", 3),
        Check(f"{words}, by C(1/n_i − 1/n)", formula, 0, many - 1, independent[1], "value", 40),
    ]


def gain_figure(frame: pd.DataFrame, note: str) -> Figure:
    """Own models by size, and the line of the model trained together at each budget."""
    times = sorted(frame["times_records"].unique())
    printed = frame[frame["reading"] == "printed"]
    figure, panels = page("Who gains? Hospitals' own models against the one trained together", note, columns=len(times))
    for axes, one in zip(panels, times, strict=True):
        part = printed[printed["times_records"] == one]
        own = part[part["epsilon"] == BUDGETS[0]]
        axes.plot(own["n_records"], own["isolated"], ls="", marker="o", ms=3, label="own model, on all records")
        axes.plot(
            own["n_records"], own["isolated_formula"], ls="", marker=".", ms=2, color="#636c76", label="C(1/n_i − 1/n)"
        )
        for number, (epsilon, at) in enumerate(part.groupby("epsilon")):
            psi, style = at["relative_fitness"].iloc[0], ("-", "--", "-.")[number]
            axes.axhline(psi, color="#24292f", lw=1, ls=style)
            annotated(axes, f"together, ε = {epsilon:g}", (own["n_records"].max(), psi))
        scales(axes, "xy")
        low, high = axes.get_ylim()
        axes.set(xlabel="records of the hospital", ylim=(low, high * (high / low) ** 0.3))
        say(axes, f"ψ; {_words(one)}")
        legend(axes)
    return figure


ITEMS = (
    Item(
        "AS-7",
        f"{WHERE} 7",
        "Relative fitness tick by tick: hospitals",
        "For large budgets the median of 100 runs falls over 1,000 ticks until it stays near the optimum, nearer the "
        "larger ε is.",
        paths,
        partial(path_checks, falling=BUDGETS[-1:]),
        path_figure,
        f"{READ} {SMALLER}",
        ("hospitals",),
        5.0,
    ),
    Item(
        "AS-8",
        f"{WHERE} 8",
        "Who talks when: hospitals",
        "At each tick one of 86 hospitals talks, any of them with the same chance.",
        talks,
        talk_checks,
        talk_figure,
        "The paper shows one example, of 86 hospitals; times are those of unit-rate Poisson clocks.",
        ("hospitals",),
        1.0,
    ),
    Item(
        "AS-9",
        f"{WHERE} 9",
        "Relative fitness against the budget: hospitals",
        "It falls fast as ε grows, as the bound (11) does.",
        budgets,
        budget_checks,
        budget_figure,
        f"{READ} {SMALLER} Budgets share their draws, so that slopes have no scatter.",
        ("hospitals",),
        5.0,
    ),
    Item(
        "AS-10",
        f"{WHERE} 10",
        "Which hospitals gain by training together",
        "Set against each hospital's own non-private model, tried on the records of all, the model trained together is "
        "better for eight of 86 hospitals at ε = 10.",
        gains,
        gain_checks,
        gain_figure,
        f"{READ} {SMALLER} A hospital's own model is judged as the paper does, by its fitness on all hospitals' records; "
        "C(1/n_i − 1/n), which takes hospitals for alike in kind, is too low. How much too low hangs on the inputs: where "
        "a hospital lies hardly varies within one, and with its area and county among the inputs (as in the library's "
        "scenario `hospitals`) own models are a hundred times worse on the others' records; here they are left out. In "
        "that market, with this program's protocol at the budgets that hospitals sell (δ = 1e-6), all of them gain.",
        ("hospitals",),
        20.0,
    ),
)
