"""The records of a scenario: its table read, checked, divided, and encoded by public facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from learning.cells import merge_spellings
from learning.data.division import Division, Persons, cap_persons, divide_rows
from learning.data.encoded import count_filled
from learning.data.encoding import Encoder
from learning.data.overlap import Overlap, count_overlap
from learning.data.owner_data import Holding, OwnerData, encode_owners, no_record
from learning.data.rows import RowLabels, Rows
from learning.data.targets import join_rows
from learning.errors import InputError
from learning.forecast.pooled import NoRecords, Pooled, PooledRecords, PooledSums, check_imperfect
from learning.forecast.public_sample import PublicSample
from learning.losses.loss import UNBOUNDED, Fresh, FreshRecords, FreshSums, Loss, TrainingCost
from learning.randomness import Streams
from learning.threads import one_blas_thread
from learning.workers import keep_workers
from scenarios.schema.fields import check_different
from scenarios.schema.scenario import Scenario
from scenarios.tables.every_column import EveryColumn, every_column
from scenarios.tables.features import (
    Alternative,
    Features,
    find_alternative,
    learner_sample,
    settle_features,
)
from scenarios.tables.known import known_records
from scenarios.tables.paths import open_scenario_table
from scenarios.tables.reading import Table
from scenarios.tables.selection import Selection, check_labels, check_rows, select_columns
from scenarios.tables.stated import divide_own_rows, state_records

if TYPE_CHECKING:
    from scenarios.tables.parts import Parts

# Owners up to which each own model is fitted, where sums over its records do not suffice.
ALONE = 200


@dataclass(frozen=True)
class MarketData:
    """The records of a scenario: each owner's, the public sample, the hold-out.

    ``pooled`` is private to the simulator; the learner sees ``public``, ``encoder`` and sizes.

    Parameters
    ----------
    pooled : the owners and their records, with the best model that these allow.
    public : the learner's own sample, or None.
    fresh : rows kept to test the model on, or None.
    encoder : the public facts that records are encoded with.
    division : the rows of each owner.
    table : the columns the scenario asks for, with the public rows.
    loss : the loss that is trained.
    n_rows : rows of the whole table.
    aside : public records that the learner uses for nothing but to try the trained model, or None.
    persons : counts of persons in all rows; None where a person is not the unit.
    every : some rows with every column of the table, of the simulator alone; None where the table
        is read in parts.
    features : the kind of features, and what it was compared with.
    alternative : the learner's own model of another kind; None where none is better.
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
    every: EveryColumn | None = None
    features: Features | None = None
    alternative: Alternative | None = None

    @property
    def holdout(self) -> Fresh | None:
        """Rows kept to test the model on, or None where no such row has a target."""
        if self.fresh and self.fresh.n_records:
            return self.fresh
        return None

    @property
    def n_parameters(self) -> int:
        """Number of parameters of a model, which are those of an answer."""
        return self.loss.count_parameters(self.encoder.n_parameters)

    @property
    def owners(self) -> Sequence[Holding]:
        """Each owner's side."""
        return self.pooled.owners

    @cached_property
    def known(self) -> Sequence[Any]:
        """Each owner's records with a target, which models are tried on."""
        return known_records(self.pooled, self.encoder)

    @property
    def fitness(self) -> TrainingCost:
        """The training cost on all records, with the best model they allow."""
        return self.pooled.fitness

    @property
    def filled(self) -> int:
        """Number of the owners' cells that count as the public fill; not public."""
        return self.pooled.filled

    @property
    def overlap(self) -> Overlap:
        """Records that several owners hold."""
        return self.pooled.overlap

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the owners."""
        return tuple(owner.name for owner in self.owners)

    @property
    def sizes(self) -> np.ndarray:
        """Records of each owner, (n_owners,)."""
        return self.rows // self.n_targets

    @property
    def n_targets(self) -> int:
        """Number of targets, for each of which a record has a row."""
        return len(self.encoder.targets)

    @property
    def rows(self) -> np.ndarray:
        """Encoded rows of each owner, (n_owners,): one for each record and target."""
        return np.array([owner.n_records for owner in self.owners])

    def in_order(self, scenario: Scenario) -> Scenario:
        """Put the values of a scenario that differ by owner in the order of the owners."""
        return scenario.in_order_of(self.names, self.division.too_small)

    @property
    def has_records(self) -> bool:
        """True if the owners' records are there, and not only their number."""
        return not isinstance(self.pooled, NoRecords)

    @property
    def fits_own_models(self) -> bool:
        """True if the owners' own models are worth the time to fit them: never of networks."""
        return self.has_records and self._few_models

    @property
    def _few_models(self) -> bool:
        return self.loss.quadratic or (len(self.owners) <= ALONE and not self.loss.costly)

    @cached_property
    def own_models(self) -> np.ndarray:
        """Model that each owner could train alone, (n_owners, p)."""
        return self.pooled.own_models(self.loss)

    @cached_property
    def isolated(self) -> np.ndarray:
        """Relative fitness of each own model on all records, (n_owners,); not public."""
        return np.asarray(self.fitness.relative(self.own_models))


@keep_workers()
@one_blas_thread()
def market_data(scenario: Scenario, raw: Table | Parts | None = None) -> MarketData:
    """Read, divide and encode the table of a scenario.

    The public rows decide what columns hold and how records are encoded; all others are read by
    that: at once, or block by block where they are too many.

    Parameters
    ----------
    scenario : the scenario.
    raw : its table, where it has been read already.

    Raises
    ------
    InputError
        On the first rule that the file or the division breaks.
    """
    data = scenario.data
    raw = raw or open_scenario_table(scenario)
    if raw.is_large and scenario.owners.records is None:
        check_parted(raw, scenario)
    else:
        raw = raw.read_whole()
    check_rows(raw, data)
    check_labels(raw, scenario.labels)
    holders = label_owners(scenario, raw)
    division, persons = divide_records(scenario, raw, holders)
    public = raw.read_rows(division.public)
    places = np.arange(public.n_rows)
    table = select_columns(public, data, places, labels=scenario.learning.labels)
    kept, own = (rows[table.usable[rows]] for rows in np.split(places, [data.check_rows]))
    division = replace(division, public=division.public[own])
    # Refuses lists without one value per owner.
    scenario.in_order_of(list(division.owners), division.too_small)
    features = settle_features(scenario, table, own, division)
    encoder = features.encoder
    pooled, fresh = pool_records(scenario, raw, table, encoder, division)
    whose = None if holders is None else label_texts(holders, division.public)
    sample = learner_sample(scenario, table, encoder, own, whose, features.other_kind)
    if sample is not None and isinstance(pooled, PooledSums):
        sample = replace(sample, ends=UNBOUNDED)  # sums are of predictions as they are
    read = partial(pool_records, scenario, raw, table, division=division)
    return MarketData(
        pooled=pooled,
        public=sample,
        fresh=fresh,
        encoder=encoder,
        division=division,
        table=table,
        loss=scenario.learning.objective,
        n_rows=raw.n_rows,
        aside=_encode_aside(encoder, table, kept),
        persons=persons,
        every=_collect_every_column(scenario, raw, table, division, encoder),
        features=features,
        alternative=find_alternative(features, read),
    )


def _encode_aside(encoder: Encoder, table: Selection, kept: np.ndarray) -> OwnerData | None:
    """Encode the public rows that are kept for checks, if there are any."""
    if not len(kept):
        return None
    return encode_owners(encoder, table.columns, {"aside": kept})[0]


def _collect_every_column(
    scenario: Scenario, raw: Table | Parts, table: Selection, division: Division, encoder: Encoder
) -> EveryColumn | None:
    """Collect rows with every column, where all records are in memory."""
    if not isinstance(raw, Table) or scenario.owners.records is not None or table.more_targets:
        return None
    ends = (encoder.target.low, encoder.target.high)
    return every_column(raw, scenario.data, table, division, ends)


def check_parted(raw: Table | Parts, scenario: Scenario) -> None:
    """Refuse methods that need all records in memory, of a table that is read in parts."""
    found = f"a table of {raw.n_rows:,} rows"
    _check_shared_out(scenario)
    if scenario.data.more_targets:
        rule = "must be left out for a table that is read in parts"
        raise raw.error("more_targets", rule, found, "Name one target, or fewer columns.")
    if not scenario.data.public_rows:
        rule = "must be above 0 for a table that is read in parts, "
        rule += "where forecasts are made from public rows alone"
        raise raw.error("public_rows", rule, f"0, and {found}", "Set data.public_rows.")
    if scenario.learning.one_by_one and scenario.data.order == "shuffled":
        rule = 'must be "as_is" if single records are asked for '
        rule += "of a table that is read in parts"
        remedy = "Set it, or take another learning.algorithm."
        raise raw.error("order", rule, f'"shuffled", and {found}', remedy)


def _check_shared_out(scenario: Scenario) -> None:
    """Refuse workers where sums do not stand for the records."""
    if scenario.data.workers is None:
        return
    rule = "needs settings that use sums over an owner's records only"
    remedy = "Leave it out."
    if scenario.owners.report:
        found = f"owners.report = {scenario.owners.report:g}"
        raise InputError("data.workers", rule, found, remedy)
    if not scenario.sums_suffice:
        learning = scenario.learning
        found = (
            f"{learning.loss} loss, algorithm {learning.algorithm}, clipping {learning.clipping}"
        )
        remedy = "Leave it out, or use squared loss and an algorithm that asks for sums."
        raise InputError("data.workers", rule, found, remedy)


def label_texts(labels: RowLabels, rows: Rows) -> np.ndarray:
    """Texts of some rows, (n,)."""
    return np.array(labels.names, dtype=object)[labels.of_row[rows]].astype(str)


def divide_records(
    scenario: Scenario, raw: Table | Parts, holders: RowLabels | None
) -> tuple[Division, Persons | None]:
    """Divide the rows of a table, whatever their cells hold; persons keep a bounded number each."""
    data = scenario.data
    if scenario.owners.records is not None:
        return divide_own_rows(scenario, raw.n_rows), None
    division = divide_scenario(scenario, raw, holders)
    if data.person is None:
        return division, None
    persons = merge_spellings(raw.whose_rows(data.person, "person"))
    return cap_persons(division, persons, data.most_rows, min_records=data.min_records)


def divide_scenario(scenario: Scenario, raw: Table | Parts, holders: RowLabels | None) -> Division:
    """Divide the rows of a table before owners leave out any rows of a person."""
    data = scenario.data
    if scenario.owners.records is not None or data.public_rows == "all":
        raise no_record()
    rng = None
    if data.order == "shuffled":
        rng = row_shuffler(scenario.seed)
    return divide_rows(
        raw.n_rows,
        rng=rng,
        sizes=data.split,
        labels=holders,
        names=data.names,
        public_rows=data.public_rows + data.check_rows,
        holdout=data.holdout,
        min_records=data.min_records,
    )


def pool_records(
    scenario: Scenario, raw: Table | Parts, table: Selection, encoder: Encoder, division: Division
) -> tuple[Pooled, Fresh | None]:
    """Encode the records of all owners, and the rows held out: in memory, or in the file."""
    learning = scenario.learning
    meaning = table.meaning
    if scenario.owners.records is not None:
        return state_records(scenario, division), None
    if not isinstance(raw, Table):
        from scenarios.tables.away import Away  # what a table in memory need not wait for

        away = Away(raw, meaning, encoder, division)
        if not scenario.sums_suffice or scenario.owners.report:
            return away.spool_records(learning.objective, learning.regularisation)
        pooled = away.sum_records(learning.regularisation)
        fresh_sums = None
        if len(division.holdout):
            fresh_sums = FreshSums(lambda: pooled.held_out)
        return pooled, fresh_sums
    columns = meaning.read_columns({name: raw.columns[name] for name in meaning.written})
    owners = encode_owners(encoder, columns, division.owners)
    fitness = learning.objective.fitness([(o.x, o.y) for o in owners], learning.regularisation)
    check_imperfect(fitness, float(np.mean(np.concatenate([owner.y for owner in owners]) ** 2)))
    filled = count_filled(encoder, columns, np.concatenate(list(division.owners.values())))
    # No owner holds the held-out rows, and a model is not to be tested on a fill.
    known = [~np.isnan(columns[one.name][division.holdout]) for one in encoder.targets]
    fresh = division.holdout[np.all(known, axis=0)]
    x, y, _ = encoder.records(columns, fresh)
    shared = None
    if table.more_targets:
        shared = count_overlap([join_rows(one, len(encoder.targets)) for one in owners])
    return PooledRecords(owners, fitness, filled, shared), FreshRecords(x, y, encoder.target.ends)


def label_owners(scenario: Scenario, raw: Table | Parts) -> RowLabels | None:
    """Label each row with its owner; None where the table is split."""
    name = scenario.data.owner
    if name is None:
        return None
    holders = raw.whose_rows(name)
    check_owners(holders)
    return holders


def row_shuffler(seed: int) -> np.random.Generator:
    """Generator that shuffles the rows of a table before they are divided."""
    return Streams(seed, "data").rng("order")


def check_owners(labels: RowLabels) -> None:
    """Refuse names of owners that cannot be told apart or are not readable."""
    try:
        check_different(labels.names)
    except ValueError as error:
        rule = "names of owners must be readable and differ"
        raise InputError("data.owner", rule, error) from None
