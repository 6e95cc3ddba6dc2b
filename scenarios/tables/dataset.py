"""Scenario -> records per owner: the table is read, checked, divided, and encoded with public knowledge only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from learning.data.division import Division, divide
from learning.data.encoding import Encoder, fit_encoder
from learning.data.owner_data import OwnerData
from learning.errors import InputError
from learning.forecast.public_sample import PublicSample
from learning.losses.fitness import TrainingCost
from learning.randomness import Streams
from scenarios.schema.loading import Scenario
from scenarios.tables.table import Prepared, owner_labels, prepare, read_table, table_path


@dataclass(frozen=True)
class MarketData:
    """Everything a scenario's data becomes: each owner's records, the public sample, the hold-out.

    ``owners`` and ``fitness`` are private to the simulator; the learner sees ``public``, ``encoder`` and sizes.
    """

    owners: tuple[OwnerData, ...]
    public: PublicSample | None
    holdout: OwnerData | None
    encoder: Encoder
    division: Division
    table: Prepared
    fitness: TrainingCost = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(owner.name for owner in self.owners)

    @property
    def sizes(self) -> np.ndarray:
        """Records of each owner, (n_owners,)."""
        return np.array([owner.n_records for owner in self.owners])


def market_data(scenario: Scenario) -> MarketData:
    """Read, divide and encode the table of a scenario.

    Raises
    ------
    InputError
        On the first rule that the file or the division breaks.
    """
    data = scenario.data
    raw = read_table(table_path(scenario))
    learning = scenario.learning
    table = prepare(raw, data, labels=learning.labels)
    if data.owner is not None and table.owner is not None:
        _refuse_lost_owners(
            {str(name) for name in owner_labels(raw.columns[data.owner]) if name is not None}, set(table.owner.tolist())
        )
    shuffle = Streams(scenario.seed, "data").rng("order") if data.order == "shuffled" else None
    division = divide(
        table.n_rows,
        rng=shuffle,
        sizes=data.split,
        labels=table.owner,
        names=data.names,
        public_rows=data.public_rows,
        holdout=data.holdout,
        min_records=data.min_records,
    )
    columns = {**table.features, table.target_name: table.target}
    encoder = fit_encoder(
        columns,
        target=table.target_name,
        features=tuple(table.features),
        public=division.public,
        bounds=data.bounds,
        encoding=data.encoding,
        components=data.components,
        labels=learning.labels,
    )
    learning.groups(list(division.owners))  # refuses groups that name nobody
    owners = tuple(encoder.owner(name, columns, rows) for name, rows in division.owners.items())
    hidden = learning.hidden or 1
    fitness = learning.objective.fitness([(o.x, o.y) for o in owners], learning.regularisation)
    whole = np.concatenate([owner.y for owner in owners])
    if fitness.optimum <= 1e-12 * max(1.0, float(np.mean(whole**2))):
        raise InputError(
            "data.target",
            "must not be predicted without any error: relative fitness f/f* - 1 needs f* > 0",
            f"f* = {fitness.optimum:.3g} for {data.target!r}",
            "Leave out the feature that gives it away.",
        )
    public = encoder.owner("public", columns, division.public) if len(division.public) else None
    sample = PublicSample(public.x, public.y, learning.regularisation, learning.loss, hidden) if public else None
    holdout = encoder.owner("holdout", columns, division.holdout) if len(division.holdout) else None
    return MarketData(owners, sample, holdout, encoder, division, table, fitness)


def _refuse_lost_owners(named: set[str], left: set[str]) -> None:
    lost = sorted(named - left)
    if lost:
        raise InputError(
            "data.owner",
            "every owner needs a record",
            f"none without missing cells for {lost[0]!r}",
            'Set data.missing = "fill", or take its rows out of the table.',
        )
