"""What a result holds of a market over several periods: who was there, what was sold, spent, trained and paid in each."""

from __future__ import annotations

from typing import Any

import numpy as np

from market.analysis.welfare import learner_surplus
from scenarios.run import History, Run
from scenarios.summary.verdict import agrees, summary


def facts_of(run: Run) -> dict[str, Any]:
    """What is kept of a period: how it settled, what it bought, and what was trained with it."""
    game, epsilon, forecast = run.game, run.epsilon, run.planner.forecast
    interval, paid = run.prediction.interval(), game.payments(epsilon)
    runs = None if run.trained is None else summary(run.fitness)
    return {
        "records": run.data.sizes,
        "payments": paid,
        "privacy_costs": game.costs(epsilon) - game.taxes(epsilon),
        "converged": run.equilibrium.converged,
        "max_regret": run.equilibrium.max_regret,
        "asks": run.asks,
        "relative_fitness": forecast.at(epsilon),
        "interval": list(interval),
        "outside": forecast.outside,
        "trained": None if runs is None else runs["mean"],
        "trained_std_error": None if runs is None else runs["std_error"],
        "agrees": None if runs is None else agrees(runs, interval),
        "learner_surplus": learner_surplus(game, epsilon),
    }


def time_part(run: Run) -> dict[str, Any] | None:
    """All periods of a market that repeats; None of one that is held once.

    ``shown`` is the one that the rest of the result tells of: the last in which anybody was asked anything.
    """
    past = run.history
    if past is None:
        return None
    periods = [_period(one) for one in past.periods]
    return {
        "shown": past.shown,
        "composition": past.lifetime.composition,
        "saving": past.lifetime.saving,
        "patience": past.rules.patience,
        "plans": past.plans,
        "periods": periods,
        "owners": _owners(run, past),
        "payments": sum(one["payments"] for one in periods),
        "learner_surplus": sum(one["learner_surplus"] for one in periods),
    }


def _period(one: Any) -> dict[str, Any]:
    """A period as a result has it."""
    facts = {name: value for name, value in one.outcome.items() if name not in ("records", "payments", "privacy_costs")}
    return {
        "period": one.number,
        "present": int(one.present.sum()),
        "selling": int((one.sold > 0).sum()),
        "joined": list(one.joined),
        "left": list(one.left),
        "records": int(one.outcome["records"][one.sold > 0].sum()),
        "payments": float(one.outcome["payments"].sum()),
        **facts,
    }


def _owners(run: Run, past: History) -> list[dict[str, Any]]:
    """What each owner sold, spent and had over all periods."""
    sold, last = past.sold, past.periods[-1]
    limit = np.broadcast_to(np.asarray(past.lifetime.limit, dtype=float), sold.shape[1:])
    return [
        {
            "name": name,
            "present": [bool(one.present[i]) for one in past.periods],
            "epsilon": sold[:, i],
            "spent": last.total[i],
            "delta": past.lifetime.delta(sold)[i],
            "lifetime": limit[i],
            "remaining": last.remaining[i],
            "payment": float(sum(one.outcome["payments"][i] for one in past.periods)),
            "surplus": float(sum(one.surplus[i] for one in past.periods)),
        }
        for i, name in enumerate(run.data.names)
    ]


def period_rows(run: Run) -> list[dict[str, Any]]:
    """The rows of periods.csv: each owner in each period; an empty cell where there is no limit."""
    if run.history is None:
        return []
    return [
        {
            "period": one.number,
            "owner": name,
            "present": bool(one.present[i]),
            "records": int(one.outcome["records"][i]),
            "epsilon": float(one.sold[i]),
            "spent": float(one.total[i]),
            "remaining": float(one.remaining[i]) if np.isfinite(one.remaining[i]) else None,
            "payment": float(one.outcome["payments"][i]),
            "privacy_cost": float(one.outcome["privacy_costs"][i]),
            "surplus": float(one.surplus[i]),
        }
        for one in run.history.periods
        for i, name in enumerate(run.data.names)
    ]
