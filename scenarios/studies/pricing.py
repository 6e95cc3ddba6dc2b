"""A pricing study: what the learner pays for which model as one number of its policy sweeps, and where it does best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.errors import InputError
from learning.randomness import Streams
from learning.threads import one_blas_thread
from market.analysis.design import Design, Family, best_policy
from market.analysis.frontier import Frontier, frontier
from scenarios.output.folders import replacing
from scenarios.output.places import check_folder
from scenarios.output.unfinished import put
from scenarios.planning import prepare
from scenarios.report.figure_page import INK, MUTED, PALETTE, STYLE, _page, _panel, _svg
from scenarios.report.figure_scale import Scale
from scenarios.report.wording import number, percent
from scenarios.schema.loading import Scenario
from scenarios.settling.game import market_game
from scenarios.studies.design import each_for_itself

FILES = ("frontier.csv", "frontier.svg")


@one_blas_thread()
def pricing_study(
    scenario: Scenario, key: str, low: float, high: float, folder: Path, *, points: int = 25
) -> tuple[Frontier, Design]:
    """Sweep one number of the scenario's policy, and find the learner's best.

    Rules of the scenario hold; ``learner.budget`` limits what may be spent. Written are ``frontier.csv``, a row per value,
    and ``frontier.svg``, the model's error against what is paid.

    Parameters
    ----------
    scenario : Scenario
    key : a number of [policy], such as "budget", "price" or "share"
    low, high : its range, above 0; swept in equal ratios
    folder : where the files go; made if it is not there, and refused where it holds what is no earlier study
    points : values swept

    Returns
    -------
    Frontier, and the learner's best Design

    Raises
    ------
    InputError
        The policy has no such number, the range is none, or the folder will not do.
    """
    each_for_itself(scenario)
    _check(scenario, key, low, high)
    check_folder(folder, FILES, key="folder")
    data, planner = prepare(scenario)

    def make(value: float) -> Any:
        policy = scenario.policy.model_copy(update={key: float(value)})
        return market_game(scenario.model_copy(update={"policy": policy}), data, planner).policy

    game, rng = market_game(scenario, data, planner), Streams(scenario.seed, "design").rng()
    budget = np.inf if scenario.learner.budget is None else scenario.learner.budget
    starts = min(3, scenario.market.starts)
    swept = frontier(game, make, np.geomspace(low, high, points), rng=rng, budget=budget, starts=starts)
    best = best_policy(game, Family(make, low, high), rng=rng, budget=budget, points=points, starts=starts)
    with matplotlib.rc_context(STYLE):
        drawing = _svg(draw_frontier(swept, best, key, game.forecast.outside))
    with replacing(folder, FILES, key="folder") as new:
        _table(swept, key, data.names).to_csv(new / FILES[0], index=False, lineterminator="\n", na_rep="nan")
        put(new / FILES[1], drawing)
    return swept, best


def draw_frontier(swept: Frontier, best: Design, key: str, outside: float) -> Figure:
    """Error of the model against money paid; hollow where owners would rather leave or money is short."""
    told = f"paid in all, as policy.{key} goes from {number(swept.parameter[0])} to {number(swept.parameter[-1])}"
    how = "" if best.feasible else " (though not everybody would take part, or money is short)"
    bought = f"{number(best.spending)} buys an error of {percent(best.fitness)}"
    best_at = f"The learner does best at policy.{key} = {number(best.parameters[0])}{how}: {bought}."
    note = f"{best_at}\nHollow: an owner would rather leave, money is short, or nothing is certified."
    figure = _page(4.3, "What a model costs", note)
    axes = _panel(figure, 0.8, 0.85, 6.1, 2.85)
    paid = Scale.over(np.append(swept.spending, best.spending))
    error = Scale.over(100 * np.append(swept.fitness, outside))
    x, y, alone = paid.place(swept.spending), error.place(100 * swept.fitness), float(error.place(100 * outside))
    axes.axhline(alone, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.plot(x, y, color=PALETTE[0], linewidth=1.4)
    axes.plot(x, y, "o", markersize=4, color=PALETTE[0], markerfacecolor="white")
    axes.plot(x[swept.feasible], y[swept.feasible], "o", markersize=4, color=PALETTE[0])
    at = (float(paid.place(best.spending)), float(error.place(100 * best.fitness)))
    axes.plot(*at, "D", markersize=7, color=PALETTE[1])
    axes.annotate("best for the learner", at, (8, 6), textcoords="offset points", color=INK)
    axes.annotate(
        "the learner alone", (paid.limits()[1], alone), (-4, 3), textcoords="offset points", color=MUTED, ha="right"
    )
    paid.rule(axes, "x")
    error.rule(axes, "y", 0.1)
    axes.set_xlabel(paid.named(told))
    axes.set_ylabel("model error above best possible (%)")
    return figure


def _check(scenario: Scenario, key: str, low: float, high: float) -> None:
    given = scenario.policy.model_dump().items()
    known = [name for name, value in given if type(value) in (int, float) and name != "seed"]
    if key not in known:
        found = f'"{key}" with kind "{scenario.policy.kind}"'
        raise InputError("key", "must be a number of [policy]", found, f"Known here: {', '.join(known) or 'none'}.")
    if not 0 < low < high < np.inf:
        raise InputError("low, high", "must be a range above 0", f"{low} to {high}")


def _table(swept: Frontier, key: str, names: tuple[str, ...]) -> pd.DataFrame:
    """A row per value, with the budgets that the owners chose."""
    columns = {
        f"policy.{key}": swept.parameter,
        "payments": swept.spending,
        "relative_fitness": swept.fitness,
        "learner_surplus": swept.surplus,
        "feasible": swept.feasible,
        "efficient": swept.efficient,
    }
    return pd.DataFrame(columns | {f"epsilon {name}": swept.epsilon[:, i] for i, name in enumerate(names)})
