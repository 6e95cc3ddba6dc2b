"""Kinds of features that were compared, for a result."""

from __future__ import annotations

from typing import Any

from learning.data.feature_kinds import KINDS
from learning.forecast.feature_choice import KindForecast, OwnFit, standard_error
from scenarios.tables.dataset import MarketData


def features_part(data: MarketData) -> dict[str, Any] | None:
    """Kinds of features that were compared, with the parts of their errors; None where none were.

    Errors are in the unit of the loss: squared units of the target, or cost of a label.
    """
    features = data.features
    if features is None or not features.tried:
        return None
    parts = {one.own.kind: one for one in features.forecasts}
    least = min((one.missed for one in features.forecasts), default=0.0)
    order = list(KINDS)
    tried = sorted(features.tried, key=lambda one: order.index(one.kind))
    return {
        "kind": features.kind,
        "best": bool(features.forecasts),
        "own": features.tried[0].kind,
        "kinds": [kind_part(own, parts.get(own.kind), least) for own in tried],
    }


def kind_part(own: OwnFit, found: KindForecast | None, least: float) -> dict[str, Any]:
    """One kind of features: the learner's own model of it, and the parts of the market's error.

    Parameters
    ----------
    own : the learner's own model.
    found : the forecast of the market's; None where the scenario states a kind.
    least : what the best model of the best kind leaves unexplained.
    """
    row: dict[str, Any] = {
        "kind": own.kind,
        "parameters": own.encoder.n_parameters,
        "own_error": own.error,
        "own_standard_error": standard_error(own.held[0]),
        "own_wrong": own.wrong,
    }
    if found is None:
        return row
    return row | {
        "unexplained": least,
        "misses": found.missed - least,
        "misses_standard_error": standard_error(own.held[1]),
        "records": found.records,
        "noise": found.noise,
        "clipping": found.clipping,
        "total": found.total,
    }
