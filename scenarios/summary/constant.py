"""A rival that needs no model: the same label for every case, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scenarios.run import Run


def constant_part(run: Run, parts: Sequence[Any] | None = None) -> dict[str, Any] | None:
    """Count what a case costs where every case is given the same label; None where the target is a number.

    The label is the one that costs least on the learner's own rows, or on all records where it has none.

    Parameters
    ----------
    parts : rows to count it on; those that the label is chosen by unless given.

    Returns
    -------
    dict
        The ``label``, and ``cost``: a share of wrong labels, or money that a case costs.
    """
    worth, labels = run.scenario.learner.worth, run.data.table.labels
    if worth is None or worth.decisions is None or labels is None:
        return None
    own = run.data.owners if run.data.public is None else [run.data.public]
    shown, counted = (np.concatenate([part.y for part in rows]) for rows in (own, own if parts is None else parts))
    code = int(np.argmin([worth.decisions.costs(alarmed, shown).mean() for alarmed in (0.0, 1.0)]))
    return {"label": str(labels[code]), "cost": float(worth.decisions.costs(float(code), counted).mean())}
