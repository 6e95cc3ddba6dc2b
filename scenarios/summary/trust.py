"""What a result holds of noise that owners make together, where the learner sees sums only."""

from __future__ import annotations

from typing import Any

import numpy as np

from learning.privacy.shared_noise import SharedNoise
from scenarios.run import Run


def trust_part(run: Run) -> dict[str, Any] | None:
    """Who makes the noise, and what holds against another owner, and after a drop-out; None where answers are seen singly.

    Numbers are the largest epsilon of any owner; None where nothing is known to hold, or nothing is asked.
    """
    trust, planner = run.scenario.trusts, run.planner
    if not trust.secure:
        return None
    mechanism, given = planner.mechanism_at(run.epsilon), planner.hidden(run.epsilon)
    makers = int((run.epsilon > 0).sum())
    found: dict[str, Any] = {
        "aggregation": trust.aggregation,
        "colluders": trust.colluders,
        "owners": makers,
        "fears": run.scenario.owners.cost.fears or "learner",
        "against_owners": None,
        "after_dropout": None,
    }
    if not (run.asks and isinstance(mechanism, SharedNoise)) or makers < 2:
        return found
    told = {
        "against_owners": mechanism.against("owners", given),
        "after_dropout": mechanism.of_parts(given, (makers - 1) / mechanism.parts),
    }
    sold = given[(given > 0) & np.isfinite(given)]
    worst = {name: float(np.max(one[np.isfinite(given)], initial=0.0)) for name, one in told.items()}
    return found | {name: one if len(sold) and np.isfinite(one) else None for name, one in worst.items()}
