"""How the columns of a table are read and encoded, as a contract says it: by public rules alone."""

from __future__ import annotations

from typing import Any

from learning.data.described import described
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData


def described_columns(data: MarketData, scenario: Scenario) -> dict[str, Any]:
    """The columns of a contract: the facts of the encoder, how numbers are written, and who a person is."""
    made, labels, numbers = described(data.encoder), data.table.labels, data.encoder.numbers.names
    made["target"] = dict(made["target"], labels=None if labels is None else list(labels))
    read = [*numbers, *([] if labels else [data.encoder.target.name])]
    return made | {"written": dict.fromkeys(read, "point"), "person": scenario.data.person}
