"""Who gains in the library's market of hospitals, where budgets are sold and the program's own protocol trains."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learning.errors import InputError
from scenarios.reproduce.timing.collaboration import isolated
from scenarios.runner import carry_out, prepare
from scenarios.schema.loading import load

NONE = {
    name: float("nan") for name in ("market_hospitals", "market_gains", "market_gains_by_formula", "market_isolated")
}


def who_gains(data: Path | None, runs: int) -> dict[str, float]:
    """Hospitals whose own model is worse on all records than the one trained in the market; nan without its table.

    Parameters
    ----------
    data : folder with the subset of the state's table.
    runs : trainings.

    Returns
    -------
    dict with how many hospitals there are, how many gain by the fitness of their own optimum on all records and by
    C(1/n_i - 1/n), and the median of the former.
    """
    if data is None:
        return NONE
    try:
        scenario = load("hospitals", ["market.starts=1", f"validation.runs={runs}"], data_folder=data)
        prepared = prepare(scenario)
    except InputError:  # another edition of the table
        return NONE
    run = carry_out(scenario, prepared, others=False)
    trained, records = float(run.fitness.mean()), [(owner.x, owner.y) for owner in run.data.owners]
    own, formula = isolated(records, scenario.learning.objective, scenario.learning.regularisation)
    counts = len(own), int((own > trained).sum()), int((formula > trained).sum()), float(np.median(own))
    return dict(zip(NONE, counts, strict=True))
