"""The [learning] table of a scenario file: loss, algorithm, weights and noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import model_validator

from learning.declaration import Count, NonNegative, Positive, Probability, Words, field_types
from learning.errors import InputError, collect_errors
from learning.forecast.inputs import Settings
from learning.losses.clipping import PARTS, RECORD, ClippedBy
from learning.losses.loss import Loss
from learning.losses.losses import DEFAULT as DEFAULT_LOSS
from learning.losses.losses import LOSSES, make_loss
from learning.phrases import format_value
from learning.privacy.mechanism import Mechanism, NoiseSettings
from learning.privacy.mechanisms import (
    BEST,
    MECHANISMS,
    kinds_of,
    list_accountings,
    needs_delta,
    norm_of,
    title_of,
)
from learning.privacy.noise import LARGEST, STEEPEST, share_ratio
from learning.training.aggregation import MEAN, Aggregation, NormCheck, Observed
from learning.training.algorithms import ALGORITHMS, Algorithm, compared_algorithms
from learning.training.algorithms import DEFAULT as DEFAULT_ALGORITHM
from learning.training.clocks import Clocks
from learning.training.law import Returned
from scenarios.schema.fields import (
    OPTIMAL,
    Section,
    in_order,
    one_known,
    quote_choices,
    suggest_name,
)
from scenarios.schema.kinds import declared_table, make_declared, named_table

PRINTED = "printed"


class Learning(Section):
    """How the model is trained, and how its answers are made private."""

    loss: Annotated[str, one_known(lambda: LOSSES)] = DEFAULT_LOSS
    """What the model minimises; hinge, logistic and network take a target of two values."""
    hidden: Annotated[int, Ge(1), Le(1000)] | None = None
    """Hidden units of a network."""
    algorithm: Annotated[str, one_known(lambda: (*ALGORITHMS, BEST))] = DEFAULT_ALGORITHM
    """How the model is trained; `best`: by whichever of those that are compared promises the best
    model."""
    weights: Literal["size", "equal", "precision", "observed"] = "size"
    """How much an owner's answer counts: by its records, all alike, less where it sold less (`precision`), or less where its
    answers show more noise, whatever it sold (`observed`)."""
    aggregation: Annotated[Any, named_table("learning.aggregation", short=True)] | None = None
    """What is made of the answers of a round, where all owners answer: their weighted mean unless
    given."""
    mechanism: Annotated[str, one_known(lambda: (*MECHANISMS, BEST))] = next(iter(MECHANISMS))
    """The noise on an owner's answers: `laplace` and `l2` are pure, for records bounded in 1-norm and in 2-norm; `best`:
    whichever noise and accounting promise the best model, at this `delta` or, where none is stated,
    without any."""
    accounting: Annotated[str, one_known(known_accountings)] | None = None
    """How spending is counted. Laplace and l2 noise compose by adding budgets up (`basic`), Gaussian noise by `zcdp`; all
    exactly by privacy-loss distributions (`pld`); `printed`: noise as a paper's formula says."""
    delta: Probability | None = None
    """The failure probability of approximate privacy, well below one over the records of an
    owner."""
    regularisation: NonNegative = 0.0
    """λ of the ridge λ/2 ‖θ‖²; above 0 for labels."""
    theta_max: Literal["optimal", "none"] | Positive = "optimal"
    """The ball that models are held in, ‖φ‖∞; `none` holds them in none, which no exchange
    takes."""
    gradient_bound: Positive | None = None
    """Ξ, the bound on a record's gradient that noise is scaled to, whatever is proved; left out, it is what clipping and ball
    prove, which every claim rests on."""
    clipping: Literal["best"] | ClippedBy = PARTS
    """What is clipped: a record's features and its target, once (`parts`), or its gradient, at every query (`record`): noise
    then hides a single radius; `best`: whichever promises the best model. A network always clips
    gradients."""
    clip: Literal["optimal", "none"] | Positive = "optimal"
    """Bound on a record's features, or where gradients are clipped on its gradient."""
    overlap: Count = 1
    """κ, the most owners that one record, or person, may sit with: joint claims hold for so
    many."""
    horizon: Annotated[Literal["optimal"] | int, Words('"optimal" or a whole number of rounds')] = (
        "optimal"
    )
    """T, the rounds that a budget is split over."""
    growth: Annotated[
        Literal["optimal"] | Annotated[float, Ge(1), Le(LARGEST)],
        Words(f'"optimal" or a number from 1 to {LARGEST:g}'),
    ] = 1.0
    """What each answer's share of a budget is over that of the one before; 1: all answers get as
    much."""
    step_size: Literal["optimal", "printed"] | Positive = "optimal"
    """The step of a round; `printed`: as the algorithm's paper states it, where it does."""
    step_decline: Annotated[float, Ge(0), Le(2)] | None = None
    """The power of the round that steps fall with; as the algorithm's paper has it unless given."""
    returned: Literal["optimal"] | Returned = "optimal"
    """Which point is the model: the last, or an average."""
    start: Literal["public", "zero"] | None = None
    """Where training starts: at the model of the public rows where there are some, otherwise at
    zero."""
    precondition: bool | None = None
    """Whether features are whitened with the public rows' second moments; so they are where there
    are public rows."""
    clocks: Annotated[Any, declared_table(Clocks)] | None = None
    """Who talks when in asynchronous training."""

    @property
    def objective(self) -> Loss:
        """The loss that is trained, with its parameters."""
        return make_loss(self.loss, hidden=self.hidden)

    @property
    def labels(self) -> bool:
        """Test whether targets are labels, -1 and +1."""
        return self.objective.labels

    @property
    def clips_gradients(self) -> bool:
        """Test whether a record's gradient is clipped, and not the record."""
        return self.clipping == RECORD or self.objective.clips_gradients

    @property
    def trains_by(self) -> Algorithm:
        """The algorithm that trains, where one is named."""
        return ALGORITHMS[self.algorithm]

    @property
    def one_by_one(self) -> bool:
        """Test whether single records may be asked for."""
        return any(one.trains_by.one_by_one for one in self.decided)

    @property
    def keeps_sums(self) -> bool:
        """Test whether sums over an owner's records replace them under every way left open."""
        return all(one.settings.keeps_sums for one in self.decided)

    @property
    def by_law(self) -> bool:
        """Test whether the exact law may tell, however it comes to be trained."""
        return all(one.settings.keeps_sums and one.trains_by.exact for one in self.decided)

    @property
    def decided(self) -> tuple[Learning, ...]:
        """Every way to train that is left open by "best"; itself where nothing is open.

        What does not go together is left out.

        Raises
        ------
        InputErrors
            What is wrong with the first, where nothing goes together.
        """
        if not self._is_open:
            return (self,)
        found = []
        refused = []
        for changes in self._list_ways():
            one = self.model_copy(update=changes)
            try:
                one._go_together()
            except InputError as error:
                refused.append(error)
            else:
                found.append(one)
        if not found:
            raise refused[0]
        return tuple(found)

    @property
    def opened(self) -> bool:
        """Test whether ways to train are compared."""
        return self._is_open or self.mechanism == BEST

    @property
    def _is_open(self) -> bool:
        return BEST in (self.algorithm, self.clipping)

    def _list_ways(self) -> list[dict[str, Any]]:
        """Values of each key that is left open."""
        algorithms = compared_algorithms() if self.algorithm == BEST else [self.algorithm]
        found: list[dict[str, Any]] = []
        for name in algorithms:
            even = self.growth == OPTIMAL and not ALGORITHMS[name].shares_may_grow
            for how, decline in product(
                self._list_clippings(name), self._list_declines(ALGORITHMS[name])
            ):
                growth = 1.0 if even else self.growth
                found.append(
                    {"algorithm": name, "clipping": how, "growth": growth, "step_decline": decline}
                )
        return found

    def _list_declines(self, algorithm: Algorithm) -> Sequence[float | None]:
        """Declines of the step size to compare."""
        grows = self.algorithm == BEST and self.growth == OPTIMAL and algorithm.shares_may_grow
        return (
            (None, 0.0)
            if grows and self.step_decline is None and not algorithm.stops_short
            else (self.step_decline,)
        )

    def _list_clippings(self, algorithm: str) -> Sequence[str]:
        """Clippings to compare; under a loss with kinks, of records alone.

        Each of its gradients that is not 0 is as long as its record: clipping it lowers no bound,
        and what rehearsals told of it was better than what was trained.
        """
        if self.clipping != BEST:
            return [self.clipping]
        return ALGORITHMS[algorithm].clippings if not self.objective.kinked else [PARTS]

    @property
    def settings(self) -> Settings:
        """The same as the planner takes it: None is left to it, and a clip of inf cuts nothing."""
        points = (
            self.trains_by.returned if self.returned == OPTIMAL else (self.returned,)
        )  # else as its paper has it
        chosen = {one.name: getattr(self, one.name) for one in fields(Settings)}
        chosen = {
            name: {OPTIMAL: None, "none": math.inf}.get(value, value)
            for name, value in chosen.items()
        }
        chosen["step_size"] = None if self.printed_step else chosen["step_size"]
        weights = "precision" if self.weights == "observed" else self.weights
        return Settings(
            **chosen
            | {
                "loss": self.objective,
                "returned": points,
                "weights": weights,
                "aggregation": self.combines,
            }
        )

    @property
    def printed_step(self) -> bool:
        """Test whether steps are those that the algorithm's paper states."""
        return self.step_size == PRINTED

    @property
    def combines(self) -> Aggregation:
        """Aggregation of the answers of a round."""
        if self.weights == "observed":
            return Observed()
        return MEAN if self.aggregation is None else make_declared(self.aggregation)  # type: ignore[no-any-return]

    @model_validator(mode="after")
    def _check_consistent(self) -> Learning:
        if self._is_open:
            first = self.decided[0]
            self.__dict__.update({key: getattr(first, key) for key in ("accounting", "hidden")})
        else:
            self._go_together()
        return self

    def _go_together(self) -> None:
        collect_errors(
            self._check_loss, self._check_bounds, self._check_algorithm, self._check_accounting
        )

    def _check_loss(self) -> None:
        own = LOSSES[self.loss].parameters
        algorithm = self.trains_by
        for key in {key for loss in LOSSES.values() for key in loss.parameters}:
            if key in own and getattr(self, key) is None:
                self.__dict__[key] = getattr(LOSSES[self.loss], key)
            elif key not in own and getattr(self, key) is not None:
                having = [name for name, loss in LOSSES.items() if key in loss.parameters]
                raise _refuse_together(
                    key,
                    f"{getattr(self, key)} with loss {format_value(self.loss)}",
                    f"loss = {quote_choices(having)}",
                )
        if not algorithm.takes_steps and not self.objective.quadratic:
            quadratic = [name for name, loss in LOSSES.items() if loss.quadratic]
            raise _refuse_value(
                "loss",
                quote_choices(quadratic),
                f"algorithm {format_value(self.algorithm)}",
                self.loss,
            )
        if self.clip == "none" and self.clips_gradients:
            where = (
                f"loss {format_value(self.loss)}"
                if self.objective.clips_gradients
                else f"clipping {format_value(self.clipping)}"
            )
            raise _refuse_value("clip", '"optimal" or a number above 0', where, self.clip)
        if self.regularisation == 0 and self.labels:
            raise _refuse_unregularised(
                f"loss {format_value(self.loss)}: without it the best model may not exist"
            )
        if self.regularisation == 0 and algorithm.needs_strong_convexity:
            raise _refuse_unregularised(
                f"algorithm {format_value(self.algorithm)}, which needs a strongly convex cost"
            )

    def _check_bounds(self) -> None:
        """Refuse noise without a scale, and bounds that the algorithm does not support."""
        algorithm = self.trains_by
        unbounded = self.theta_max == "none"
        if self.clipping not in algorithm.clippings:
            raise _refuse_value(
                "clipping",
                quote_choices(algorithm.clippings),
                f"algorithm {format_value(self.algorithm)}",
                self.clipping,
            )
        if (
            unbounded
            and self.objective.quadratic
            and not self.clips_gradients
            and self.gradient_bound is None
        ):
            rule = (
                f"must be given with theta_max = {format_value('none')}, under which loss "
                f"{format_value(self.loss)} has no bound"
            )
            raise InputError("learning.gradient_bound", rule, "none", "Set it, or theta_max.")
        if not algorithm.takes_steps and (unbounded or self.gradient_bound is not None):
            key = "theta_max" if unbounded else "gradient_bound"
            raise _refuse_together(
                key, format_value(getattr(self, key)), "algorithms that take steps along gradients"
            )
        checks = self.aggregation is not None and self.combines.name == NormCheck.name
        if unbounded and checks and not self.clips_gradients:
            raise _refuse_value(
                "theta_max",
                "a ball",
                "a check of norms, which goes by the longest gradient in it",
                "none",
            )

    def _check_algorithm(self) -> None:
        named = f"algorithm {format_value(self.algorithm)}"
        algorithm = self.trains_by
        able = noise_for(algorithm)
        if self.mechanism not in able:
            raise _refuse_value(
                "mechanism",
                quote_choices(able),
                named,
                self.mechanism,
                "Set it, and learning.delta.",
            )
        if self.weights != "size" and not algorithm.weighs_owners:
            raise _refuse_value("weights", '"size"', named, self.weights)
        if not (self.combines.sums or algorithm.aggregates):
            key, found = (
                ("weights", self.weights)
                if self.aggregation is None
                else ("aggregation", self.combines.name)
            )
            able = [name for name, one in ALGORITHMS.items() if one.aggregates]
            raise _refuse_together(
                key,
                format_value(found),
                f"algorithm = {quote_choices(able)}, under which all owners answer in a round",
            )
        if self.weights == "observed" and self.aggregation is not None:
            raise _refuse_value(
                "aggregation", "left out", 'weights "observed"', self.aggregation.kind
            )
        for name in (
            () if algorithm.takes_steps else ("horizon", "step_size", "step_decline", "returned")
        ):
            if getattr(self, name) not in (OPTIMAL, None):
                rule = f"{named}, which asks once and takes no steps"
                raise _refuse_value(name, 'left at "optimal"', rule, getattr(self, name))
        if self.printed_step and not algorithm.prints_step:
            able = [name for name, one in ALGORITHMS.items() if one.prints_step]
            raise _refuse_together(
                "step_size",
                format_value(PRINTED),
                f"algorithm = {quote_choices(able)}; the other papers leave it open",
            )
        if self.printed_step and self.horizon == OPTIMAL:
            raise _refuse_value(
                "horizon", "a number of rounds", f"step_size {format_value(PRINTED)}", self.horizon
            )
        low, high = algorithm.rounds
        if isinstance(self.horizon, int) and not low <= self.horizon <= high:
            raise _refuse_value(
                "horizon",
                f'"optimal" or a whole number of rounds from {low} to {high}',
                named,
                self.horizon,
            )
        self._check_growth()
        if algorithm.clocked and self.clocks is None:
            self.__dict__["clocks"] = Clocks()
        if self.clocks is not None and not algorithm.clocked:
            clocked = [name for name, one in ALGORITHMS.items() if one.clocked]
            raise _refuse_together(
                "clocks", f"a table with {named}", f"algorithm = {quote_choices(clocked)}"
            )

    def _check_growth(self) -> None:
        """Refuse shares that grow where answers must be equal, or that grow too fast."""
        if self.growth == 1:
            return
        if not self.trains_by.shares_may_grow:
            able = [name for name, one in ALGORITHMS.items() if one.shares_may_grow]
            raise _refuse_together(
                "growth",
                format_value(self.growth),
                f"algorithm = {quote_choices(able)}, whose owners answer in every round",
            )
        if self.printed_step:
            raise _refuse_value(
                "growth",
                "1",
                f"step_size {format_value(PRINTED)}, which takes answers to be alike",
                self.growth,
            )
        if not any(self._can_share(kind) for kind in kinds_of(self.mechanism)):
            how = f" and accounting {format_value(self.accounting)}" if self.accounting else ""
            where = f"mechanism {format_value(self.mechanism)}{how}, of which all answers are alike"
            raise _refuse_value("growth", "1", where, self.growth)
        asked = self.trains_by.queries(self.horizon) if isinstance(self.horizon, int) else 1
        if not isinstance(self.growth, str) and share_ratio(self.growth, asked) > STEEPEST:
            rule = (
                f"a growth under which the last of {asked} answers gets at most {STEEPEST:g} "
                "times the first"
            )
            raise _refuse_value("growth", rule, f"horizon {self.horizon}", self.growth)

    def _can_share(self, kind: type[Mechanism]) -> bool:
        """Test whether answers may get different shares of a budget under a mechanism."""
        return kind.share_power is not None and self.accounting in (None, *kind.accountings)

    def _check_accounting(self) -> None:
        able = list_accountings(self.mechanism, self.trains_by.published_formula)
        if self.mechanism == BEST and self.accounting is not None:
            rule = f"must be left out with mechanism {format_value(BEST)}, which compares them all"
            raise InputError("learning.accounting", rule, format_value(self.accounting))
        if self.accounting is not None and self.accounting not in able:
            where = f"mechanism {format_value(self.mechanism)}"
            raise _refuse_value(
                "accounting", quote_choices(able), where, self.accounting, self._about_published()
            )
        if self.overlap > 1 and not self._counts_overlap(self.accounting):
            counting = [how for how in able if self._counts_overlap(how)]
            where = (
                f"accounting {format_value(self.accounting)}"
                if counting
                else f"mechanism {format_value(self.mechanism)}"
            )
            remedy = (
                f"Set accounting = {format_value(counting[0])}, which counts them."
                if counting
                else ""
            )
            where += ", which counts no record that sits with several owners"
            raise _refuse_value("overlap", "1", where, self.overlap, remedy)
        approximate = needs_delta(self.mechanism, self.accounting)
        if self.delta is not None and not approximate and self.mechanism != BEST:
            noises = [*(name for name in MECHANISMS if needs_delta(name)), BEST]
            counts = [name for name in able if needs_delta(self.mechanism, name)]
            counted = f", or with accounting = {quote_choices(counts)}" if counts else ""
            raise _refuse_together(
                "delta", format_value(self.delta), f"mechanism = {quote_choices(noises)}{counted}"
            )
        if self.delta is None and approximate:
            rule = (
                f"is needed with {self._explain_approximate()}, which protects except with a "
                "small probability"
            )
            remedy = "Set it well below one over the records of an owner, such as 1e-6."
            raise InputError("learning.delta", rule, "none", remedy)
        if self.mechanism != BEST:
            self.__dict__["accounting"] = self.accounting or able[0]

    def _counts_overlap(self, accounting: str | None) -> bool:
        """Test whether the noise, so accounted, counts records that sit with several owners."""
        kinds = [
            kind for kind in kinds_of(self.mechanism) if accounting in (None, *kind.accountings)
        ]
        return any("overlap" in field_types(kind) for kind in kinds)

    def _explain_approximate(self) -> str:
        """Reason why a delta is needed: the noise, or its accounting."""
        return (
            title_of(self.mechanism)
            if needs_delta(self.mechanism)
            else f"accounting {format_value(self.accounting)}"
        )

    def _about_published(self) -> str:
        """Remedy: algorithms and mechanisms for which the papers' own formulas exist."""
        published = [name for name in MECHANISMS if self.accounting in published_accountings(name)]
        if not published:
            return ""
        able = [name for name, algorithm in ALGORITHMS.items() if algorithm.published_formula]
        return (
            f"The papers' own formulas go with mechanism = {quote_choices(published)} and "
            f"algorithm = {quote_choices(able)}."
        )

    def ticks(self, names: Sequence[str], left_out: Sequence[str] = ()) -> Clocks:
        """The clocks of owners called ``names``, in their order, as training takes them.

        Raises
        ------
        InputError
            If a list has not one entry per owner, or a table not one for each name, others than
            those left out.
        """
        clocks = self.clocks or Clocks()
        told = {key: getattr(clocks, key) for key in ("rates", "dropout")}
        listed = {
            key: in_order(one, names, f"learning.clocks.{key}", left_out)
            for key, one in told.items()
        }
        return replace(clocks, **listed)

    def groups(self, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Numbers of the owners who answer together, group by group.

        Raises
        ------
        InputError
            If a group names somebody who is no owner.
        """
        given = (self.clocks and self.clocks.groups) or ()
        place = {name: i for i, name in enumerate(names)}
        grouped = [name for group in given for name in group]
        for name in grouped:
            if name not in place:
                remedy = suggest_name(name, list(map(str, names)))
                raise InputError(
                    "learning.clocks.groups", "must name owners", format_value(name), remedy
                )
        joined = [tuple(sorted(place[name] for name in group)) for group in given]
        alone = [(place[name],) for name in names if name not in grouped]
        return tuple(sorted([*joined, *alone]))


def known_accountings() -> list[str]:
    """Every way to count what answers spend, of any mechanism."""
    return list(
        dict.fromkeys(
            how for kinds in MECHANISMS.values() for kind in kinds for how in kind.accountings
        )
    )


def published_accountings(mechanism: str) -> set[str]:
    """The accountings of a mechanism under which its noise is what a paper's formula says."""
    return {how for kind in kinds_of(mechanism) if kind.published_for for how in kind.accountings}


def noise_for(algorithm: Algorithm) -> list[str]:
    """The mechanisms that an algorithm may be trained with.

    "best" where one that is compared is among them.
    """
    asked = NoiseSettings((1,), single_record=algorithm.one_by_one)
    fitting = {
        name: [kind for kind in kinds if kind.suits_settings(asked)]
        for name, kinds in MECHANISMS.items()
    }
    able = [
        name
        for name, kinds in fitting.items()
        if kinds and algorithm.noise_norm in (None, norm_of(name))
    ]
    return [*able, BEST] if any(kind.compared for name in able for kind in fitting[name]) else able


def _refuse_value(key: str, what: str, where: str, found: object, remedy: str = "") -> InputError:
    return InputError(
        f"learning.{key}", f"must be {what} with {where}", format_value(found), remedy
    )


def _refuse_together(key: str, found: str, where: str) -> InputError:
    return InputError(f"learning.{key}", f"goes with {where}", found, "Leave it out.")


def _refuse_unregularised(why: str) -> InputError:
    return InputError(
        "learning.regularisation", f"must be above 0 with {why}", "0", "Set it, such as 0.001."
    )
