"""The kind of features of a scenario: chosen and fitted on public rows, before any record is read.

With it comes the learner's own alternative: the kind of features that is best for its own rows
alone, as cross-validation tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from learning.data.division import Division
from learning.data.encoded import feature_bound
from learning.data.encoding import Encoder
from learning.data.feature_kinds import KINDS, LINEAR
from learning.data.fitting import fit_encoder
from learning.data.owner_data import encode_owners
from learning.data.ranges import choose_reach, widen_ranges
from learning.data.rows import Rows
from learning.data.targets import join_targets
from learning.errors import InputError
from learning.forecast.feature_choice import (
    KindForecast,
    OwnFit,
    choose_kind,
    fit_own,
    forecast_kind,
)
from learning.forecast.inputs import PlanningInputs, PublicOwners
from learning.forecast.pooled import Pooled
from learning.forecast.public_sample import OtherKind, PublicSample
from learning.losses.loss import Fresh, Loss
from learning.privacy.mechanisms import BEST
from learning.randomness import Streams
from scenarios.features.gossip import reach_of_owners
from scenarios.schema.fields import values_per_owner
from scenarios.schema.learning import PUBLISHED
from scenarios.schema.scenario import Scenario
from scenarios.tables.selection import Selection

Records = tuple[Pooled, Fresh | None]


@dataclass(frozen=True)
class Features:
    """Kind of features of a market, and what it was compared with.

    Parameters
    ----------
    kind : its name.
    encoder : the public facts that records are encoded with.
    tried : the learner's own model of each kind, best of its rows first; none where no kind is
        stated.
    forecasts : forecasts of the kinds that were compared, in the order of `KINDS`; none where the
        scenario states one.
    """

    kind: str
    encoder: Encoder
    tried: tuple[OwnFit, ...] = ()
    forecasts: tuple[KindForecast, ...] = ()

    @property
    def other_kind(self) -> OtherKind | None:
        """Public rows under the learner's best kind, and the market's; None where that is the best.

        The model of the market's kind is the public one, which has the stated penalty.
        """
        if not self.tried or self.tried[0].kind == self.kind:
            return None
        best = self.tried[0]
        (same,) = (one for one in self.tried if one.kind == self.kind)
        scores = np.stack([best.scores[0], same.scores[1]])
        held = np.stack([best.held[0], same.held[1]])
        return OtherKind(np.stack([best.lost, same.stated]), scores, held)


@dataclass(frozen=True)
class Alternative:
    """The learner's own alternative where another kind of features is better for its rows.

    Parameters
    ----------
    own : its model.
    read : encodes all records, and those held out, for it; which only a simulator can.
    """

    own: OwnFit
    read: Callable[[], Records] = field(repr=False)

    @cached_property
    def records(self) -> Records:
        """The owners' records, and those held out, encoded for this model."""
        pooled, fresh = self.read()
        return pooled, fresh if fresh and fresh.n_records else None

    @property
    def cost(self) -> float:
        """Training cost of its model on all records."""
        return float(self.records[0].fitness.value(self.own.theta))

    def held_out(self, loss: Loss) -> float | None:
        """Error of its model on the rows held out; None without such rows."""
        fresh = self.records[1]
        return fresh.error(loss, self.own.theta[None]) if fresh else None


def find_alternative(features: Features, read: Callable[[Encoder], Records]) -> Alternative | None:
    """Find the learner's model of another kind; None where none is better for its rows.

    ``read`` encodes all records, and those held out, by an encoder.
    """
    if features.other_kind is None:
        return None
    best = features.tried[0]
    return Alternative(best, partial(read, best.encoder))


def settle_features(
    scenario: Scenario, table: Selection, public: Rows, division: Division
) -> Features:
    """Fit the kind of features that a scenario states, or the one of least total error.

    Parameters
    ----------
    scenario : the scenario.
    table : its columns; of others than public rows no cell is looked at.
    public : the learner's own rows.
    division : the rows of each owner, of which only the numbers count.

    Raises
    ------
    InputError
        If the kind cannot be made of the public rows, or none can.
    """
    stated = scenario.learning.features
    if stated is None:
        asked = table.columns, list(table.more_targets), public, scenario.data.bounds
        linear = fit_kind(scenario, table, LINEAR, public)
        return Features(LINEAR, join_targets(linear, *asked))
    loss = scenario.learning.objective
    if not loss.linear:
        rule = "needs a linear model, since a network makes its own features"
        raise InputError("learning.features", rule, stated, "Leave it out.")
    if not len(public):
        rule = "must be above 0 if kinds of features are compared on these rows"
        raise InputError("data.public_rows", rule, 0, "Set it, or leave out learning.features.")
    encoder = None if stated == BEST else fit_kind(scenario, table, stated, public)
    tried = _try_kinds(scenario, table, public, stated)
    if encoder is not None:
        return Features(stated, encoder, _best_first(tried))
    forecasts = []
    for own in tried:
        sample = learner_sample(scenario, table, own.encoder, public, None)
        inputs = learner_inputs(scenario, sample, own.encoder, division)
        forecasts.append(forecast_kind(own, inputs))
    chosen = choose_kind(forecasts).own
    return Features(chosen.kind, chosen.encoder, _best_first(tried), tuple(forecasts))


def _best_first(tried: Sequence[OwnFit]) -> tuple[OwnFit, ...]:
    """Sort the learner's own models by their loss on rows that were left out."""
    return tuple(sorted(tried, key=lambda one: one.error))


def fit_kind(scenario: Scenario, table: Selection, kind: str, public: Rows) -> Encoder:
    """Fit the encoder of a kind of features to public rows."""
    data = scenario.data
    encoder = fit_encoder(
        table.columns,
        target=table.target_name,
        features=tuple(table.features),
        public=public,
        bounds=data.bounds,
        components=data.components,
        labels=scenario.learning.labels,
        kind=replace(
            KINDS[kind],
            encoding=data.encoding,
            frequencies=scenario.learning.frequencies,
            bandwidth=scenario.learning.bandwidth,
            seed=scenario.seed,
        ),
    )
    # other features are made of columns within the range of the public rows
    if scenario.learning.protocol == PUBLISHED or encoder.expansion is not None:
        return encoder
    rng = Streams(scenario.seed, "data").rng("reach")
    reach = choose_reach(encoder, table.columns, public, data.bounds, rng=rng)
    return widen_ranges(encoder, table.columns, public, data.bounds, reach)


def _try_kinds(scenario: Scenario, table: Selection, public: Rows, stated: str) -> list[OwnFit]:
    """Fit the learner's own model of every kind that the public rows are enough for.

    A kernel is tried only where it is stated, since its many features take long to forecast.

    Raises
    ------
    InputError
        The first refusal, where they are enough for none.
    """
    found = []
    refused = []
    for kind in [one for one in KINDS if one == stated or not KINDS[one].kernel]:
        try:
            own = _try_kind(scenario, table, kind, public, stated)
        except InputError as error:
            if kind == stated:
                raise
            refused.append(error)
        else:
            found += [own] if own is not None else []
    if not found:
        raise refused[0]
    return found


def _try_kind(
    scenario: Scenario, table: Selection, kind: str, public: Rows, stated: str
) -> OwnFit | None:
    """Fit the learner's own model of a kind; None where another kind makes the same features.

    So it is where no product is called for, no column of numbers can be cut, or the scenario states
    a number of components.
    """
    if kind == "components" and scenario.data.components and stated != kind:
        return None
    learning = scenario.learning
    fit = partial(fit_kind, scenario, table, kind)
    encoder = fit(public)
    made = encoder.expansion
    if made is not None and kind != stated:
        called_for = made.pairs if KINDS[kind].products else any(map(len, made.knots))
        if not called_for:
            return None
    learner_sample(scenario, table, encoder, public, None)  # refuses too few rows
    rng = Streams(scenario.seed, "data").rng("folds")
    return fit_own(
        kind, fit, table.columns, public, learning.objective, learning.regularisation, rng=rng
    )


def learner_sample(
    scenario: Scenario,
    table: Selection,
    encoder: Encoder,
    rows: Rows,
    whose: np.ndarray | None,
    other_kind: OtherKind | None = None,
) -> PublicSample | None:
    """Encode the learner's own sample, public rows of ``table``; None where there is none."""
    if not len(rows):
        return None
    learning = scenario.learning
    shown = encode_owners(encoder, table.columns, {"public": rows})[0]
    return PublicSample(
        shown.x,
        shown.y,
        learning.regularisation,
        learning.objective,
        None if whose is None else np.repeat(whose, len(encoder.targets)),
        scenario.data.order == "shuffled",
        shrinks=learning.start == "shrunk",
        other_kind=other_kind,
        made=encoder.expansion is not None,
        ends=encoder.target.ends,
        targets=len(encoder.targets),
    )


def learner_inputs(
    scenario: Scenario, sample: PublicSample | None, encoder: Encoder, division: Division
) -> PlanningInputs:
    """Public facts that the learner plans with, before any owner reports anything."""
    names = tuple(division.owners)
    sizes = np.array([len(rows) for rows in division.owners.values()])
    scenario = scenario.in_order_of(list(names), division.too_small)
    low, high = values_per_owner(scenario.owners.epsilon, len(names), "owners.epsilon").T
    learning = scenario.learning
    owners = PublicOwners(
        names,
        sizes,
        low,
        high,
        learning.ticks(names),
        learning.groups(names),
        scenario.data.most_rows,
        reach_of_owners(scenario, names),
    )
    decided = tuple(one.settings for one in scenario.ways)
    return PlanningInputs(
        decided[0],
        owners,
        sample,
        feature_bound(encoder),
        encoder.target.bound,
        cast(Pooled, None),  # which no forecast from public rows looks at
        scenario.seed,
        among=decided if len(decided) > 1 else (),
        trust=scenario.trusts,
    )
