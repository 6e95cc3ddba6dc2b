"""Scenario -> records per owner: the table is read, checked, divided, and encoded with public knowledge only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from learning.data.division import Division, RowLabels, divide
from learning.data.encoding import Encoder, fit_encoder
from learning.data.overlap import Overlap
from learning.data.owner_data import Holding, OwnerData
from learning.data.persons import Persons, capped
from learning.errors import InputError
from learning.forecast.pooled import Pooled, PooledRecords, check_imperfect
from learning.forecast.public_sample import PublicSample
from learning.losses.fresh import Fresh, FreshRecords, FreshSums
from learning.losses.loss import Loss
from learning.losses.protocols import TrainingCost
from learning.randomness import Streams
from learning.threads import one_blas_thread
from scenarios.schema.fields import check_different
from scenarios.schema.loading import Scenario
from scenarios.tables.away import Away
from scenarios.tables.cells import spelt_once
from scenarios.tables.parts import Parts, open_table
from scenarios.tables.paths import table_path
from scenarios.tables.reading import Table
from scenarios.tables.selection import Selection, check_labels, check_rows, select

ALONE = 200  # owners up to which each one's own model is fitted where sums over its records do not stand for them


@dataclass(frozen=True)
class MarketData:
    """Everything a scenario's data becomes: each owner's records, the public sample, the hold-out.

    ``pooled`` is private to the simulator; the learner sees ``public``, ``encoder`` and sizes.

    Parameters
    ----------
    pooled : the owners and their records, with the best model that these allow.
    public : the learner's own sample, or None.
    fresh : rows kept to test the model on, or None.
    encoder : the public facts that records are encoded with.
    division : which rows are whose.
    table : the columns the scenario asks for, with the public rows.
    loss : the loss that is trained.
    n_rows : rows of the whole table.
    aside : public records that the learner uses for nothing but to try the trained model, or None.
    persons : what is counted of persons, by looking at all rows; None where a person is not the unit.
    """

    pooled: Pooled
    public: PublicSample | None
    fresh: Fresh | None
    encoder: Encoder
    division: Division
    table: Selection
    loss: Loss
    n_rows: int
    aside: OwnerData | None = None
    persons: Persons | None = None

    @property
    def holdout(self) -> Fresh | None:
        """Rows kept to test the model on, or None where no such row has a target."""
        return self.fresh if self.fresh and self.fresh.n_records else None

    @property
    def owners(self) -> Sequence[Holding]:
        """Each owner's side."""
        return self.pooled.owners

    @property
    def fitness(self) -> TrainingCost:
        """The training cost on all records, with the best model they allow."""
        return self.pooled.fitness

    @property
    def filled(self) -> int:
        """How many of the owners' cells count as the public fill, told by looking at all of them."""
        return self.pooled.filled

    @property
    def overlap(self) -> Overlap:
        """How far owners hold the same records."""
        return self.pooled.overlap

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
    def own_models(self) -> np.ndarray:
        """The model that each owner could train alone, (n_owners, p)."""
        return self.pooled.own_models(self.loss)

    @cached_property
    def isolated(self) -> np.ndarray:
        """Its relative fitness on all records, (n_owners,), which nobody in the market can see."""
        return np.asarray(self.fitness.relative(self.own_models))


@one_blas_thread()
def market_data(scenario: Scenario, raw: Table | Parts | None = None) -> MarketData:
    """Read, divide and encode the table of a scenario.

    The public rows say what columns hold and how records are encoded; all others are then read by that: at once, or block by
    block where they are too many.

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
    raw = raw or open_table(table_path(scenario))
    if not raw.large:
        raw = raw.whole()
    else:
        check_parted(raw, scenario)
    check_rows(raw, data)
    check_labels(raw, scenario.labels)
    holders = None if data.owner is None else raw.whose_rows(data.owner)
    if holders is not None:
        check_owners(holders)
    division, persons = divided(scenario, raw, holders)
    public = raw.part(division.public)
    table = select(public, data, np.arange(public.n_rows), labels=learning.labels)
    kept, own = (places[table.usable[places]] for places in np.split(np.arange(public.n_rows), [data.check_rows]))
    division = replace(division, public=division.public[own])
    encoder = fit_encoder(
        table.columns,
        target=table.target_name,
        features=tuple(table.features),
        public=own,
        bounds=data.bounds,
        encoding=data.encoding,
        components=data.components,
        labels=learning.labels,
    )
    scenario.in_order_of(list(division.owners), division.too_small)  # refuses what has not one value per owner
    pooled, fresh = owners_records(scenario, raw, table, encoder, division)
    shown, aside = (encoder.owner(name, table.columns, rows) for name, rows in (("public", own), ("aside", kept)))
    whose = None if holders is None else holders.texts(division.public).astype(str)
    loss, drawn = learning.objective, data.order == "shuffled"
    sample = PublicSample(shown.x, shown.y, learning.regularisation, loss, whose, drawn) if len(own) else None
    kept_aside = aside if len(kept) else None
    return MarketData(
        pooled, sample, fresh, encoder, division, table, learning.objective, raw.n_rows, kept_aside, persons
    )


def check_parted(raw: Table | Parts, scenario: Scenario) -> None:
    """Refuse what takes all records in memory, or in another order, of a table that is too large for that.

    Raises
    ------
    InputError
    """
    found = f"a table of {raw.n_rows:,} rows"
    if not scenario.data.public_rows:
        rule = "must be above 0 for a table that is read in parts, where forecasts are made from public rows alone"
        raise raw.error("public_rows", rule, f"0, and {found}", "Set data.public_rows.")
    if scenario.learning.one_by_one and scenario.data.order == "shuffled":
        rule = 'must be "as_is" where single records are asked for of a table that is read in parts'
        raise raw.error("order", rule, f'"shuffled", and {found}', "Set it, or take another learning.algorithm.")


def divided(scenario: Scenario, raw: Table | Parts, holders: RowLabels | None) -> tuple[Division, Persons | None]:
    """Which rows of a table are whose, whatever their cells hold; and what is counted of persons where they are the unit."""
    data, division = scenario.data, rows_divided(scenario, raw, holders)
    if data.person is None:
        return division, None
    persons = spelt_once(raw.whose_rows(data.person, "person"))
    return capped(division, persons, data.most_rows, min_records=data.min_records)


def rows_divided(scenario: Scenario, raw: Table | Parts, holders: RowLabels | None) -> Division:
    """Which rows of a table are whose, before owners leave out what is more of one person than they keep."""
    data = scenario.data
    return divide(
        raw.n_rows,
        rng=shuffling(scenario.seed) if data.order == "shuffled" else None,
        sizes=data.split,
        labels=holders,
        names=data.names,
        public_rows=data.public_rows + data.check_rows,
        holdout=data.holdout,
        min_records=data.min_records,
    )


def owners_records(
    scenario: Scenario, raw: Table | Parts, table: Selection, encoder: Encoder, division: Division
) -> tuple[Pooled, Fresh | None]:
    """The records of all owners, and the rows held out: in memory, or where the table is."""
    learning, meaning = scenario.learning, table.meaning
    if isinstance(raw, Parts):
        away, loss = Away(raw, meaning, encoder, division), learning.objective
        if not learning.keeps_sums or scenario.owners.report:
            return away.records(loss, learning.regularisation)
        pooled = away.sums(learning.regularisation)
        return pooled, FreshSums(lambda: pooled.held_out) if len(division.holdout) else None
    columns = meaning.read({name: raw.columns[name] for name in meaning.written})
    owners = encoder.owners(columns, division.owners)
    fitness = learning.objective.fitness([(o.x, o.y) for o in owners], learning.regularisation)
    check_imperfect(fitness, float(np.mean(np.concatenate([owner.y for owner in owners]) ** 2)))
    filled = encoder.filled(columns, np.concatenate(list(division.owners.values())))
    # Held-out rows are nobody's, and nothing is to be learnt of a fill.
    fresh = division.holdout[~np.isnan(columns[table.target_name][division.holdout])]
    x, y, _ = encoder.records(columns, fresh)
    return PooledRecords(owners, fitness, filled), FreshRecords(x, y)


def shuffling(seed: int) -> np.random.Generator:
    """What puts the rows of a table into another order, before any is given to anybody."""
    return Streams(seed, "data").rng("order")


def check_owners(labels: RowLabels) -> None:
    """Refuse names of owners that cannot be told apart, or do more than be read.

    Raises
    ------
    InputError
    """
    try:
        check_different(labels.names)
    except ValueError as error:
        raise InputError("data.owner", "names of owners must be readable and differ", error) from None
