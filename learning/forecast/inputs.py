"""What a learner plans with: its own settings, what is public of the owners, and its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.loss_reports import LossReports
from learning.forecast.pooled import Pooled, PooledRecords
from learning.forecast.public_sample import PublicSample
from learning.forecast.settings import Settings
from learning.forecast.shared_weighting import SharedWeighting
from learning.forecast.weighting import RECORD, SIZE, Weighting
from learning.losses.coordinates import Coordinates
from learning.losses.protocols import GradientOracle
from learning.privacy.mechanism import Mechanism
from learning.privacy.shared_noise import LOCAL, Trust
from learning.progress import Progress, silent
from learning.randomness import Streams
from learning.training.clocks import Clocks
from learning.training.conduct import Conduct

REFERENCE_EPSILON = 1.0  # the customary budget; clipping bounds are designed for it, inside each owner's interval


@dataclass(frozen=True)
class PublicOwners:
    """What everybody knows of the owners before anything is asked.

    Parameters
    ----------
    names : names of the owners, (n_owners,).
    sizes : array (n_owners,), records of each.
    epsilon_min, epsilon_max : arrays (n_owners,), the interval that each chooses its budget from.
    clocks : when each talks in asynchronous training.
    groups : who answers as one: numbers of the owners of each group; every owner is in one.
    rows_per_person : k, the most records of one person at an owner, which noise must hide together.
    """

    names: tuple[str, ...]
    sizes: Array
    epsilon_min: Array
    epsilon_max: Array
    clocks: Clocks = Clocks()
    groups: tuple[tuple[int, ...], ...] = ()
    rows_per_person: int = 1

    def __len__(self) -> int:
        return len(self.names)

    @property
    def reference(self) -> Array:
        """The customary budget, inside each owner's interval, (n_owners,)."""
        return np.clip(REFERENCE_EPSILON, self.epsilon_min, self.epsilon_max)

    def groups_among(self, sharing: Sequence[bool] | NDArray[np.bool_]) -> list[list[int]]:
        """Which of those who share (n_owners,) answer as one, numbered among them."""
        place = np.cumsum(sharing) - 1
        groups = [[int(place[i]) for i in group if sharing[i]] for group in self.groups]
        return [group for group in groups if group]

    def clocks_among(self, sharing: Sequence[bool] | NDArray[np.bool_]) -> Clocks:
        """The clocks of those who share: a group ticks at its members' mean rate and needs all of them to answer."""
        groups, rates, dropout = self.groups_among(sharing), self.clocks.rates, self.clocks.dropout
        if np.ndim(rates):
            kept = np.array(rates)[sharing]
            rates = tuple(float(kept[group].mean()) for group in groups)
        answer = 1 - np.broadcast_to(np.asarray(dropout, dtype=float), np.shape(sharing))[sharing]
        if np.any(answer < 1):
            dropout = tuple(float(1 - np.prod(answer[group])) for group in groups)
        return replace(self.clocks, rates=rates, dropout=dropout)


@dataclass(frozen=True)
class PlanningInputs:
    """Everything a forecast is made from.

    Parameters
    ----------
    settings : what the learner has fixed of the training, and what it leaves open.
    owners : what is public of the owners.
    sample : the learner's own rows, or None where it has none.
    feature_bound : array (p,), public bound on the size of each feature.
    target_bound : public bound on the size of the target.
    pooled : all records, for the oracle and for training; a forecast uses them only where there is no public row.
    seed : of everything that is drawn.
    reports : what the owners' own loss reports tell of kinds, and spend; None where none were asked for.
    progress : who is told how far the work is.
    among : several settings to choose from, of which ``settings`` are the first; none where these stand.
    trust : whether the learner sees every answer, or sums under noise that owners make together.
    """

    settings: Settings
    owners: PublicOwners
    sample: PublicSample | None
    feature_bound: Array
    target_bound: float
    pooled: Pooled
    seed: int
    reports: LossReports | None = None
    progress: Progress = field(default=silent, repr=False, compare=False)
    among: tuple[Settings, ...] = ()
    trust: Trust = LOCAL

    @property
    def weighting(self) -> Weighting:
        """How answers are weighed by records, before anything else is known of weights."""
        if self.trust.secure:
            return SharedWeighting(owners=tuple(self.owners.sizes.tolist()), colluders=self.trust.colluders)
        return RECORD if self.settings.trains_by.one_by_one else SIZE

    @property
    def public(self) -> PublicSample:
        """The learner's own rows, where it is known to have some."""
        assert self.sample is not None
        return self.sample

    @property
    def n_parameters(self) -> int:
        """p, the number of parameters trained."""
        return len(self.feature_bound if self.sample is None else self.sample.model)

    @property
    def basis(self) -> str:
        """From whose records forecasts are made."""
        return "oracle" if self.sample is None else "public"

    def oracles(self, coordinates: Coordinates, conducts: Sequence[Conduct] = ()) -> list[GradientOracle]:
        """What each owner answers with: its records clipped to the announced bounds, in one pass; its own unless given."""
        singly, labels, streams = (
            self.settings.trains_by.one_by_one,
            self.settings.loss.labels,
            Streams(self.seed, "conduct"),
        )
        held = self.pooled.oracles(coordinates, one_by_one=singly)
        for i, (owner, conduct) in enumerate(zip(self.pooled.owners, conducts, strict=False)):
            if conduct.records != "own":
                made = conduct.made_up(owner, self.target_bound, labels, rng=streams.rng(owner.name))
                held[i] = coordinates.oracle(*made, one_by_one=singly)
        return held

    @property
    def known(self) -> PooledRecords:
        """All records, where they are held in memory and stand in for a public sample."""
        assert isinstance(self.pooled, PooledRecords)
        return self.pooled

    def dealt(self, rng: np.random.Generator) -> PlanningInputs:
        """The same market with the pooled records dealt anew: every owner holds as many as before, whichever they are."""
        return replace(self, pooled=self.known.dealt(rng))

    def public_coordinates(self, mechanism: Mechanism) -> Coordinates:
        """Coordinates from the learner's own rows, without bounds yet."""
        settings, rows = self.settings, self.owners.rows_per_person
        made = self.public.coordinates(settings.start, settings.precondition, mechanism.norm)
        return replace(made, rows_per_person=rows, given_bound=settings.gradient_bound, clipping=settings.clipping)

    def stated_coordinates(self, mechanism: Mechanism) -> Coordinates:
        """Coordinates without public rows: start at zero, features as they are, the ball as the scenario states it.

        Raises
        ------
        InputError
            If the ball is left open, or zero is no start for the loss.
        """
        if self.settings.trains_by.scores:
            rule = f"must be above 0 with algorithm {self.settings.algorithm!r}, whose bounds are chosen on them"
            raise InputError("data.public_rows", rule, 0, "Set data.public_rows, or another algorithm.")
        if not self.settings.loss.linear:
            rule = f"must be above 0 with loss {self.settings.loss.name!r}: zero is no start for it"
            raise InputError("data.public_rows", rule, 0, "Set data.public_rows, or another loss.")
        width = len(self.feature_bound)
        rows, loss, given = self.owners.rows_per_person, self.settings.loss, self.settings.gradient_bound
        centre, scale = np.zeros(width), np.eye(width)
        whole = Coordinates(centre, scale, norm=mechanism.norm, loss=loss, rows_per_person=rows, given_bound=given)
        if self.settings.clips_gradients:
            return self._stated_radius(whole)
        if self.settings.theta_max is None:
            raise InputError(
                "learning.theta_max",
                "must be a number where there are no public rows to choose it from",
                "optimal",
                "Set learning.theta_max, or data.public_rows.",
            )
        radius, target = whole.largest(self.feature_bound, self.target_bound)
        radius = min(radius, self.settings.clip) if self.settings.clip else radius
        return whole.bounded(radius, target, self.settings.theta_max)

    def _stated_radius(self, whole: Coordinates) -> Coordinates:
        """The same coordinates with gradients clipped as the scenario states it, in its ball if it states one."""
        radius, ball = self.settings.clip, self.settings.theta_max
        if radius is None:
            rule = "must be a number where gradients are clipped and there are no public rows to choose it from"
            raise InputError("learning.clip", rule, "optimal", "Set learning.clip, or data.public_rows.")
        made = replace(whole, clipping=self.settings.clipping)
        return made.bounded(radius, np.inf, np.inf if ball is None else ball)
