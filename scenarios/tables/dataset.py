"""Scenario -> records per owner: the table is read, checked, divided, and encoded with public knowledge only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.data.division import Division, divide
from learning.data.encoding import Encoder, fit_encoder
from learning.data.overlap import Overlap, overlap
from learning.data.owner_data import OwnerData
from learning.data.persons import Persons, capped
from learning.errors import InputError
from learning.forecast.public_sample import PublicSample
from learning.losses.loss import Loss
from learning.losses.protocols import TrainingCost
from learning.randomness import Streams
from learning.threads import one_blas_thread
from learning.training.baselines import own_models
from scenarios.schema.fields import check_different
from scenarios.schema.loading import Scenario
from scenarios.tables.paths import table_path
from scenarios.tables.reading import Table, read_table
from scenarios.tables.selection import Selection, check_labels, check_rows, select, whose_rows

ALONE = 200  # owners up to which each one's own model is fitted where sums over its records do not stand for them


@dataclass(frozen=True)
class MarketData:
    """Everything a scenario's data becomes: each owner's records, the public sample, the hold-out.

    ``owners`` and ``fitness`` are private to the simulator; the learner sees ``public``, ``encoder`` and sizes.

    Parameters
    ----------
    owners : each owner's records.
    public : the learner's own sample, or None.
    holdout : records kept to test the model on, or None.
    encoder : the public facts that records are encoded with.
    division : which rows are whose.
    table : the columns and rows the scenario asks for.
    fitness : the training cost on all records, with the best model they allow.
    loss : the loss that is trained.
    aside : public records that the learner uses for nothing but to try the trained model, or None.
    filled : how many of the owners' cells count as the public fill, told by looking at all of them.
    persons : what is counted of persons, by looking at all rows; None where a person is not the unit.
    """

    owners: tuple[OwnerData, ...]
    public: PublicSample | None
    holdout: OwnerData | None
    encoder: Encoder
    division: Division
    table: Selection
    fitness: TrainingCost = field(repr=False)
    loss: Loss
    aside: OwnerData | None = None
    filled: int = 0
    persons: Persons | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(owner.name for owner in self.owners)

    @property
    def sizes(self) -> np.ndarray:
        """Records of each owner, (n_owners,)."""
        return np.array([owner.n_records for owner in self.owners])

    def in_order(self, scenario: Scenario) -> Scenario:
        """The scenario with what has one value per owner as lists in the order of the owners."""
        return scenario.in_order_of(self.names, self.division.too_small)

    @property
    def fits_own_models(self) -> bool:
        """Whether the owners' own models are worth the time to fit them: always under squared loss, never of networks."""
        return self.loss.quadratic or (len(self.owners) <= ALONE and not self.loss.costly)

    @cached_property
    def overlap(self) -> Overlap:
        """How far owners hold the same records."""
        return overlap(self.owners)

    @cached_property
    def own_models(self) -> np.ndarray:
        """The model that each owner could train alone, (n_owners, p)."""
        return own_models(self.owners, self.loss, self.fitness.regularisation)

    @cached_property
    def isolated(self) -> np.ndarray:
        """Its relative fitness on all records, (n_owners,), which nobody in the market can see."""
        return np.asarray(self.fitness.relative(self.own_models))


@one_blas_thread()
def market_data(scenario: Scenario, raw: Table | None = None) -> MarketData:
    """Read, divide and encode the table of a scenario.

    Parameters
    ----------
    scenario : the scenario.
    raw : its table, where it has been read already.

    Raises
    ------
    InputError
        On the first rule that the file or the division breaks.
    """
    data, learning = scenario.data, scenario.learning
    raw = raw or read_table(table_path(scenario))
    check_rows(raw, data)
    check_labels(raw, scenario.labels)
    holders = None if data.owner is None else whose_rows(raw, data.owner)
    if holders is not None:
        check_owners(holders)
    division = divide(  # of all rows, whatever their cells hold
        raw.n_rows,
        rng=shuffling(scenario.seed) if data.order == "shuffled" else None,
        sizes=data.split,
        labels=holders,
        names=data.names,
        public_rows=data.public_rows + data.check_rows,
        holdout=data.holdout,
        min_records=data.min_records,
    )
    persons = None
    if data.person is not None:
        of_row = whose_rows(raw, data.person, "person").astype(str)
        division, persons = capped(division, of_row, data.most_rows, min_records=data.min_records)
    table = select(raw, data, division.public, labels=learning.labels)
    kept, own = (rows[table.usable[rows]] for rows in np.split(division.public, [data.check_rows]))
    division = replace(division, public=own)
    fresh = division.holdout[
        ~np.isnan(table.target[division.holdout])
    ]  # nobody's, and nothing is to be learnt of a fill
    encoder = fit_encoder(
        table.columns,
        target=table.target_name,
        features=tuple(table.features),
        public=division.public,
        bounds=data.bounds,
        encoding=data.encoding,
        components=data.components,
        labels=learning.labels,
    )
    scenario.in_order_of(list(division.owners), division.too_small)  # refuses what has not one value per owner
    owners = encoder.owners(table.columns, division.owners)
    fitness = learning.objective.fitness([(o.x, o.y) for o in owners], learning.regularisation)
    if fitness.optimum <= 1e-12 * max(1.0, float(np.mean(np.concatenate([owner.y for owner in owners]) ** 2))):
        rule = "must not be predicted without any error: relative fitness f/f* - 1 needs f* > 0"
        raise InputError("data.target", rule, "a perfect model", "Leave out the feature that gives it away.")
    public, holdout, aside = (
        encoder.owner(name, table.columns, rows) if len(rows) else None
        for name, rows in (("public", division.public), ("holdout", fresh), ("aside", kept))
    )
    whose = None if holders is None else holders[division.public].astype(str)
    sample = PublicSample(public.x, public.y, learning.regularisation, learning.objective, whose) if public else None
    filled = encoder.filled(table.columns, np.concatenate(list(division.owners.values())))
    loss = learning.objective
    return MarketData(owners, sample, holdout, encoder, division, table, fitness, loss, aside, filled, persons)


def shuffling(seed: int) -> np.random.Generator:
    """What puts the rows of a table into another order, before any is given to anybody."""
    return Streams(seed, "data").rng("order")


def check_owners(labels: np.ndarray) -> None:
    """Refuse names of owners that cannot be told apart, or do more than be read; labels (n_rows,) are texts.

    Raises
    ------
    InputError
    """
    try:
        check_different(sorted(set(labels.tolist())))
    except ValueError as error:
        raise InputError("data.owner", "names of owners must be readable and differ", error) from None
