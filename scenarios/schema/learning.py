"""The [learning] table of a scenario file: loss, algorithm, weights and noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import model_validator

from learning.collected_errors import collect_errors
from learning.data.feature_kinds import KINDS
from learning.declaration import Count, NonNegative, Positive, Probability, Words, field_types
from learning.errors import InputError
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
    all_widen,
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
    check_known,
    in_order,
    one_known,
    quote_choices,
)
from scenarios.schema.kinds import DeclaredTable, NamedTable, make_declared

PRINTED = "printed"
PUBLISHED = "published"
UNSTATED: Literal["best"] | None = "best"  # protocol of a scenario that states no part of one
TASK = frozenset(
    (
        *("loss", "hidden", "features", "frequencies", "bandwidth"),
        *("delta", "regularisation", "overlap", "exact", "gossip"),
    )
)  # no protocol
OPEN: dict[str, Any] = {"algorithm": BEST, "clipping": BEST, "mechanism": BEST, "growth": OPTIMAL}
# What the sources print of a protocol. Step sizes and balls they leave open.
PRINTED_KEYS: dict[str, Any] = {
    "algorithm": "averaged",
    "mechanism": "laplace",
    "accounting": "basic",
    "clipping": PARTS,
    "horizon": 100,
    "growth": 1.0,
    "returned": "averaged",
    "start": "zero",
    "precondition": False,
}


class Gossip(Section):
    """The way of answers along a graph to the learner, its last node and called "learner": in each
    round all nodes average what they hold with those that they see."""

    rounds: Count
    """Rounds of averages for each answer, as many as there are links to the farthest owner or
    more."""
    graph: Annotated[Any, NamedTable("learning.gossip.graph")]
    """The graph of owners and learner, connected; a link passes answers on either way."""


class Learning(Section):
    """Training of the model, and privacy of the answers.

    Where neither a protocol is stated nor any part of one, every key but `loss`, `hidden`,
    `features`, `frequencies`, `bandwidth`, `delta`, `regularisation`, `overlap`, `exact` and
    `gossip`, the protocol is `best`. So it is not without public
    rows, nor with what excludes `best`, such as [time] and baselines: there, and where any part is
    stated, every key has its own default.
    """

    loss: Annotated[str, one_known(lambda: LOSSES)] = DEFAULT_LOSS
    """The loss that the model minimises; hinge, logistic and network need a target of two
    values."""
    hidden: Annotated[int, Ge(1), Le(1000)] | None = None
    """Hidden units of a network."""
    features: Annotated[str, one_known(lambda: (*KINDS, BEST))] | None = None
    """The kind of features that the model is fitted to, with knots and products from public rows:
    the columns as they are (`linear`, as where nothing is stated) or at most ten principal
    components of them (`components`); `splines` or `bins` of each number; some `products` of two
    columns; or both; a Gaussian `kernel` of all columns by random features. `best`: whichever of
    these but `kernel` has the smallest total error by forecast, of what it misses, what few records
    miss, noise and clipping. Where it is stated, the learner's own alternative is the kind that is
    best for its own rows alone."""
    frequencies: Annotated[int, Ge(1), Le(1000)] | None = None
    """Random frequencies of the `kernel`, each with two features: one for 20 public rows, at most
    50, unless given. They are drawn with the scenario's seed."""
    bandwidth: Positive | None = None
    """Width of the `kernel`, in standard deviations of the public rows' columns: unless given, the
    median distance of two public rows."""
    protocol: Literal["best", "published"] | None = None
    """Choice of the parts of the protocol that are not stated. `best` leaves algorithm,
    clipping, mechanism and growth open, and takes the combination with the best forecast, pure
    or at this `delta`, given how far owners may differ by public rows, names and reports.
    `published` is the protocol of the source papers: 100 rounds from 0 with Laplace noise. By
    default each unstated part has its own default; if no part is stated, all are `best`."""
    algorithm: Annotated[str, one_known(lambda: (*ALGORITHMS, BEST))] = DEFAULT_ALGORITHM
    """The training algorithm; `best`: the compared algorithm with the best forecast."""
    weights: Literal["size", "equal", "precision", "observed"] = "size"
    """Weights of the owners' answers: by records, equal, by records and noise (`precision`), or
    by the noise that the answers show, whatever was sold (`observed`)."""
    aggregation: Annotated[Any, NamedTable("learning.aggregation", short=True)] | None = None
    """What is made of the answers of a round, where all owners answer: their weighted mean unless
    given."""
    mechanism: Annotated[str, one_known(lambda: (*MECHANISMS, BEST))] = next(iter(MECHANISMS))
    """The noise on an owner's answers. `laplace` and `l2` are pure, for records bounded in
    1-norm and in 2-norm; `best`: the noise and accounting with the best forecast, at this
    `delta`, or pure if none is stated."""
    accounting: Annotated[str, one_known(known_accountings)] | None = None
    """The accountant. Laplace and l2 noise compose by adding budgets up (`basic`), Gaussian
    noise by `zcdp`; all exactly by privacy-loss distributions (`pld`); `printed`: noise as a
    paper's formula says."""
    delta: Probability | None = None
    """The failure probability of approximate privacy, well below one over the records of an
    owner."""
    regularisation: NonNegative = 0.0
    """λ of the ridge λ/2 ‖θ‖²; above 0 for labels."""
    theta_max: Literal["optimal", "none"] | Positive = "optimal"
    """The radius of the ball that contains all models, ‖φ‖∞; `none`: no ball, which exchanges
    refuse."""
    gradient_bound: Positive | None = None
    """Ξ, the bound on a record's gradient to which noise is scaled, whatever is proved; by
    default the bound that clipping and ball prove. Every claim uses the proved bound."""
    clipping: Literal["best"] | ClippedBy = PARTS
    """The clipped quantity: a record's features and target, once (`parts`), or its gradient, at
    every query (`record`); `best`: the one with the best forecast. A network always clips
    gradients."""
    clip: Literal["optimal", "none"] | Positive = "optimal"
    """Bound on a record's features, or where gradients are clipped on its gradient."""
    overlap: Count = 1
    """κ, the largest number of owners that may hold the same record, or person; joint claims
    hold up to this number."""
    horizon: Annotated[Literal["optimal"] | int, Words('"optimal" or a whole number of rounds')] = (
        "optimal"
    )
    """T, the rounds that a budget is split over."""
    growth: Annotated[
        Literal["optimal"] | Annotated[float, Ge(1), Le(LARGEST)],
        Words(f'"optimal" or a number from 1 to {LARGEST:g}'),
    ] = 1.0
    """Ratio of each answer's share of the budget to that of the one before; 1: equal shares."""
    step_size: Literal["optimal", "printed"] | Positive = "optimal"
    """The step of a round; `printed`: as the algorithm's paper states it, where it does."""
    step_decline: Annotated[float, Ge(0), Le(2)] | None = None
    """The power of the round that steps fall with; as the algorithm's paper has it unless given."""
    returned: Literal["optimal"] | Returned = "optimal"
    """The point that becomes the model: the last, or an average."""
    start: Literal["public", "shrunk", "zero"] | None = None
    """The start of training: by default the model of the public rows, or zero without public
    rows. `shrunk` is the ridge regression of the public rows with the penalty chosen by
    generalised cross-validation, which is more accurate for few rows; it is the default under
    `protocol = "best"` and squared loss without `regularisation`, and excludes that, whose penalty
    shrinks the model already. The start is also the learner's own model. The cost that judges
    models does not change."""
    precondition: bool | None = None
    """Whether features are whitened with the public rows' second moments; so they are where there
    are public rows."""
    exact: bool = False
    """Whether `best` compares only noise that an exchange draws exactly: Laplace noise, l2 noise of
    up to 24 numbers and Gaussian noise accounted by zCDP. `dpmarket exchange` sets it."""
    gossip: Gossip | None = None
    """The graph that answers reach the learner on; without it, the learner hears every owner."""
    clocks: Annotated[Any, DeclaredTable(Clocks)] | None = None
    """The times of answers in asynchronous training."""

    @property
    def by_default(self) -> bool:
        """Test whether the protocol is `best` because no part of one is stated."""
        return self.protocol is None and UNSTATED == BEST and self.model_fields_set <= TASK

    @property
    def takes_the_best(self) -> bool:
        """Test whether the protocol is `best`, stated or by default."""
        return self.algorithm == BEST and (self.protocol == BEST or self.by_default)

    @property
    def closed(self) -> Learning:
        """The same with the default of every part of the protocol in place of `best`.

        Raises
        ------
        InputErrors
            Where that does not go with what is stated.
        """
        defaults = {key: type(self).model_fields[key].default for key in OPEN}
        one = self.model_copy(update=defaults)
        one._go_together()
        return one

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
    def widens(self) -> bool:
        """Test whether noise of the named mechanism becomes that of a smaller budget by more."""
        return all_widen(self.mechanism)

    @property
    def one_by_one(self) -> bool:
        """Test whether single records may be asked for."""
        ways = self._list_ways() if self._is_open else [{"algorithm": self.algorithm}]
        able = any(ALGORITHMS[way["algorithm"]].one_by_one for way in ways)
        return able and any(one.trains_by.one_by_one for one in self.decided)

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

        Impossible combinations are left out.

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

    def _list_ways(self) -> Iterator[dict[str, Any]]:
        """Values of each key that is left open."""
        algorithms = compared_algorithms() if self.algorithm == BEST else [self.algorithm]
        for name in algorithms:
            one = ALGORITHMS[name]
            even = self.growth == OPTIMAL and not one.shares_may_grow
            growth = 1.0 if even else self.growth
            left = self.growth == OPTIMAL or "growth" not in self.model_fields_set
            if one.growth is not None and left:
                growth = one.growth
            for how, decline in product(self._list_clippings(one), self._list_declines(one)):
                changes = {"growth": growth, "step_decline": decline}
                yield {"algorithm": name, "clipping": how, **changes}

    def _list_declines(self, algorithm: Algorithm) -> Sequence[float | None]:
        """Declines of the step size to compare."""
        grows = algorithm.shares_may_grow and algorithm.growth is None
        left = self.algorithm == BEST and self.growth == OPTIMAL and self.step_decline is None
        if grows and left and not algorithm.stops_short:
            return (None, 0.0)
        return (self.step_decline,)

    def _list_clippings(self, algorithm: Algorithm) -> Sequence[str]:
        """Clippings to compare; under a loss with kinks, of records alone.

        Each of its gradients that is not 0 is as long as its record: clipping it lowers no bound,
        and what rehearsals told of it was better than what was trained.
        """
        if self.clipping != BEST:
            return [self.clipping]
        return [PARTS] if self.objective.kinked else algorithm.clippings

    @property
    def settings(self) -> Settings:
        """The same as the planner takes it: None is left to it, and a clip of inf cuts nothing."""
        chosen = {one.name: getattr(self, one.name) for one in fields(Settings)}
        left = {OPTIMAL: None, "none": math.inf}
        chosen = {name: left.get(value, value) for name, value in chosen.items()}
        chosen["loss"] = self.objective
        chosen["aggregation"] = self.combines
        chosen["returned"] = (self.returned,)
        if self.returned == OPTIMAL:
            chosen["returned"] = self.trains_by.returned  # as its paper has it
        if self.printed_step:
            chosen["step_size"] = None
        if self.weights == "observed":
            chosen["weights"] = "precision"
        return Settings(**chosen)

    @property
    def printed_step(self) -> bool:
        """Test whether steps are those that the algorithm's paper states."""
        return self.step_size == PRINTED

    @property
    def combines(self) -> Aggregation:
        """Aggregation of the answers of a round."""
        if self.weights == "observed":
            return Observed()
        if self.aggregation is None:
            return MEAN
        made: Aggregation = make_declared(self.aggregation)
        return made

    @model_validator(mode="after")
    def _check_consistent(self) -> Learning:
        self._fill_in_protocol()
        if self._is_open:
            first = self.decided[0]
            self.__dict__.update({key: getattr(first, key) for key in ("accounting", "hidden")})
        else:
            self._go_together()
        return self

    def _fill_in_protocol(self) -> None:
        """Set what a protocol says of keys that are not stated, and refuse what contradicts it."""
        stated = self.model_fields_set
        if self.protocol == BEST or self.by_default:
            left = {key: one for key, one in OPEN.items() if key not in stated}
            self.__dict__.update(left)
        elif self.protocol == PUBLISHED:
            for key, printed in PRINTED_KEYS.items():
                if key in stated and getattr(self, key) != printed:
                    rule = f"must be {format_value(printed)} with {self._says('protocol')}"
                    remedy = f"Leave out learning.{key} or learning.protocol."
                    found = format_value(getattr(self, key))
                    raise InputError(f"learning.{key}", rule, found, remedy)
            self.__dict__.update(PRINTED_KEYS)

    def _go_together(self) -> None:
        collect_errors(
            self._check_loss, self._check_bounds, self._check_algorithm, self._check_accounting
        )

    def _says(self, key: str) -> str:
        """A key and its value, as errors name them."""
        return f"{key} {format_value(getattr(self, key))}"

    def _must_be(self, key: str, what: str, where: str, remedy: str = "") -> InputError:
        """Refusal of the value of a key: ``what`` it must be in the company of what."""
        found = format_value(getattr(self, key))
        return InputError(f"learning.{key}", f"must be {what} with {where}", found, remedy)

    def _goes_with(self, key: str, where: str, found: str = "") -> InputError:
        """Refusal of a key that needs something else."""
        found = found or format_value(getattr(self, key))
        return InputError(f"learning.{key}", f"needs {where}", found, "Leave it out.")

    def _check_loss(self) -> None:
        algorithm = self.trains_by
        self._check_parameters()
        if not algorithm.trains(self.objective):
            able = [name for name, loss in LOSSES.items() if algorithm.trains(loss)]
            raise self._must_be("loss", quote_choices(able), self._says("algorithm"))
        if self.clip == "none" and self.clips_gradients:
            cause = "loss" if self.objective.clips_gradients else "clipping"
            raise self._must_be("clip", '"optimal" or a number above 0', self._says(cause))
        if self.start == "shrunk" and not self.objective.quadratic:
            raise self._must_be("start", '"public" or "zero"', self._says("loss"))
        if self.start == "shrunk" and self.regularisation:
            raise self._must_be("start", '"public" or "zero"', self._says("regularisation"))
        needs = []
        if self.labels:
            needs.append(f"{self._says('loss')}: without it the best model may not exist")
        if algorithm.needs_strong_convexity:
            needs.append(f"{self._says('algorithm')}, which needs a strongly convex cost")
        if self.regularisation == 0 and needs:
            rule = f"must be above 0 with {needs[0]}"
            raise InputError("learning.regularisation", rule, "0", "Set it, such as 0.001.")

    def _check_parameters(self) -> None:
        """Fill in the parameters of the loss, and refuse those of others."""
        own = LOSSES[self.loss].parameters
        for key in {key for loss in LOSSES.values() for key in loss.parameters}:
            given = getattr(self, key)
            if key in own and given is None:
                self.__dict__[key] = getattr(LOSSES[self.loss], key)
            elif key not in own and given is not None:
                having = [name for name, loss in LOSSES.items() if key in loss.parameters]
                found = f"{given} with {self._says('loss')}"
                raise self._goes_with(key, f"loss = {quote_choices(having)}", found)
        for key in ("frequencies", "bandwidth"):
            if getattr(self, key) is not None and self.features != "kernel":
                raise self._goes_with(key, 'features = "kernel"')

    def _check_bounds(self) -> None:
        """Refuse noise without a scale, and bounds that the algorithm does not support."""
        algorithm = self.trains_by
        unbounded = self.theta_max == "none"
        given = self.gradient_bound is not None
        if self.clipping not in algorithm.clippings:
            supported = quote_choices(algorithm.clippings)
            raise self._must_be("clipping", supported, self._says("algorithm"))
        if unbounded and self.objective.quadratic and not (self.clips_gradients or given):
            where = f"{self._says('loss')} has no bound"
            rule = f'must be given with theta_max = "none", under which {where}'
            raise InputError("learning.gradient_bound", rule, "none", "Set it, or theta_max.")
        if not algorithm.takes_steps and (unbounded or given):
            key = "theta_max" if unbounded else "gradient_bound"
            raise self._goes_with(key, "algorithms that take steps along gradients")
        checks = self.aggregation is not None and self.combines.name == NormCheck.name
        if unbounded and checks and not self.clips_gradients:
            where = "a check of norms, which goes by the longest gradient in it"
            raise self._must_be("theta_max", "a ball", where)

    def _check_algorithm(self) -> None:
        named = self._says("algorithm")
        algorithm = self.trains_by
        able = noise_for(algorithm)
        if self.mechanism not in able:
            raise self._must_be("mechanism", quote_choices(able), named, self._suit_noise(able))
        if self.weights != "size" and not algorithm.weighs_owners:
            raise self._must_be("weights", '"size"', named)
        self._check_aggregation()
        for key in ("horizon", "step_size", "step_decline", "returned"):
            if not algorithm.takes_steps and getattr(self, key) not in (OPTIMAL, None):
                rule = f"{named}, which asks once and takes no steps"
                raise self._must_be(key, 'left at "optimal"', rule)
        self._check_rounds()
        self._check_growth()
        if algorithm.clocked and self.clocks is None:
            self.__dict__["clocks"] = Clocks()
        if self.clocks is not None and not algorithm.clocked:
            clocked = f"algorithm = {names_with(ALGORITHMS, 'clocked')}"
            raise self._goes_with("clocks", clocked, f"a table with {named}")

    def _suit_noise(self, able: Sequence[str]) -> str:
        """Remedy for noise that the algorithm is not trained with: other noise, or its algorithm.

        A delta is asked for where all noise that goes with the algorithm needs one.
        """
        if self.delta is None and all(needs_delta(name) for name in able):
            return "Set it, and learning.delta."
        goes_with = [name for name, one in ALGORITHMS.items() if self.mechanism in noise_for(one)]
        if "mechanism" in self.model_fields_set and len(goes_with) in (1, 2):
            return f"Set it, or algorithm = {quote_choices(goes_with)}."
        return "Set it."

    def _check_aggregation(self) -> None:
        """Refuse aggregations of rounds in which not all owners answer, and two of them."""
        if not (self.combines.sums or self.trains_by.aggregates):
            able = names_with(ALGORITHMS, "aggregates")
            where = f"algorithm = {able}, under which all owners answer in a round"
            if self.aggregation is None:
                raise self._goes_with("weights", where)
            raise self._goes_with("aggregation", where, format_value(self.combines.name))
        if self.weights == "observed" and self.aggregation is not None:
            rule = 'must be left out with weights "observed"'
            raise InputError("learning.aggregation", rule, format_value(self.aggregation.kind))

    def _check_rounds(self) -> None:
        """Refuse steps that no paper states, and numbers of rounds that the algorithm cannot go."""
        low, high = self.trains_by.rounds
        if self.printed_step and not self.trains_by.prints_step:
            able = names_with(ALGORITHMS, "prints_step")
            where = f"algorithm = {able}; the other papers leave it open"
            raise self._goes_with("step_size", where)
        if self.printed_step and self.horizon == OPTIMAL:
            raise self._must_be("horizon", "a number of rounds", self._says("step_size"))
        if isinstance(self.horizon, int) and not low <= self.horizon <= high:
            what = f'"optimal" or a whole number of rounds from {low} to {high}'
            raise self._must_be("horizon", what, self._says("algorithm"))
        rounds = self.horizon if isinstance(self.horizon, int) else high
        if self.returned == "averaged" and not self.trains_by.trial_points(["averaged"], rounds):
            where = f"{self._says('horizon')}, of which the mean is the start itself"
            raise self._must_be("returned", '"last"', where)

    def _check_growth(self) -> None:
        """Refuse shares that grow where answers must be equal, or that grow too fast."""
        own = self.trains_by.growth
        if own is not None:
            if "growth" in self.model_fields_set and self.growth not in (own, OPTIMAL):
                raise self._must_be("growth", f"{own:g}", self._says("algorithm"))
            self.__dict__["growth"] = own
        if self.growth == 1:
            return
        if not self.trains_by.shares_may_grow:
            able = names_with(ALGORITHMS, "shares_may_grow")
            where = f"algorithm = {able}, whose owners answer in every round"
            raise self._goes_with("growth", where)
        if self.printed_step:
            where = f"{self._says('step_size')}, which takes answers to be alike"
            raise self._must_be("growth", "1", where)
        if not any(kind.share_power is not None for kind in self._kinds_by(self.accounting)):
            how = f" and {self._says('accounting')}" if self.accounting else ""
            where = f"{self._says('mechanism')}{how}, of which all answers are alike"
            raise self._must_be("growth", "1", where)
        asked = self.trains_by.queries(self.horizon) if isinstance(self.horizon, int) else 1
        if not isinstance(self.growth, str) and share_ratio(self.growth, asked) > STEEPEST:
            most = f"at most {STEEPEST:g} times the first"
            what = f"a growth under which the last of {asked} answers gets {most}"
            raise self._must_be("growth", what, f"horizon {self.horizon}")

    def _kinds_by(self, accounting: str | None) -> list[type[Mechanism]]:
        """Mechanisms left open whose spending may be counted so; all of them where None."""
        kinds = kinds_of(self.mechanism)
        return [kind for kind in kinds if accounting in (None, *kind.accountings)]

    def _check_accounting(self) -> None:
        able = list_accountings(self.mechanism, self.trains_by.published_formula)
        if self.mechanism == BEST and self.accounting is not None:
            rule = 'must be left out with mechanism "best", which compares all accountings'
            raise InputError("learning.accounting", rule, format_value(self.accounting))
        if self.accounting is not None and self.accounting not in able:
            where = self._says("mechanism")
            remedy = self._about_published()
            raise self._must_be("accounting", quote_choices(able), where, remedy)
        self._check_overlap(able)
        self._check_delta(able)
        if self.mechanism != BEST:
            self.__dict__["accounting"] = self.accounting or able[0]

    def _check_overlap(self, able: Sequence[str]) -> None:
        """Refuse an overlap that the noise does not count."""
        if self.overlap == 1 or counts_overlap(self._kinds_by(self.accounting)):
            return
        counting = [how for how in able if counts_overlap(self._kinds_by(how))]
        cause = "mechanism"
        remedy = ""
        if counting:
            cause = "accounting"
            remedy = f"Set accounting = {format_value(counting[0])}, which counts them."
        where = f"{self._says(cause)}, which counts no record that sits with several owners"
        raise self._must_be("overlap", "1", where, remedy)

    def _check_delta(self, able: Sequence[str]) -> None:
        """Refuse a failure probability that nothing needs, or a missing one."""
        approximate = needs_delta(self.mechanism, self.accounting)
        if self.delta is not None and not approximate and self.mechanism != BEST:
            noises = [*(name for name in MECHANISMS if needs_delta(name)), BEST]
            counts = [name for name in able if needs_delta(self.mechanism, name)]
            counted = f", or with accounting = {quote_choices(counts)}" if counts else ""
            raise self._goes_with("delta", f"mechanism = {quote_choices(noises)}{counted}")
        if self.delta is None and approximate:
            why = self._says("accounting")
            if needs_delta(self.mechanism):
                why = title_of(self.mechanism)
            rule = f"is needed with {why}, whose guarantee may fail with a small probability"
            remedy = "Set it well below one over the records of an owner, such as 1e-6."
            raise InputError("learning.delta", rule, "none", remedy)

    def _about_published(self) -> str:
        """Remedy: algorithms and mechanisms for which the papers' own formulas exist."""
        published = [name for name in MECHANISMS if self.accounting in published_accountings(name)]
        if not published:
            return ""
        able = names_with(ALGORITHMS, "published_formula")
        known = f"mechanism = {quote_choices(published)} and algorithm = {able}"
        return f"The papers' own formulas go with {known}."

    def ticks(self, names: Sequence[str], left_out: Sequence[str] = ()) -> Clocks:
        """The clocks of owners called ``names``, in their order, as training takes them.

        Raises
        ------
        InputError
            If a list has not one entry per owner, or a table not one for each name, others than
            those left out.
        """
        clocks = self.clocks or Clocks()
        listed = {
            key: in_order(getattr(clocks, key), names, f"learning.clocks.{key}", left_out)
            for key in ("rates", "dropout", "delay")
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
        check_known("learning.clocks.groups", grouped, names)
        joined = [tuple(sorted(place[name] for name in group)) for group in given]
        alone = [(place[name],) for name in names if name not in grouped]
        return tuple(sorted([*joined, *alone]))


def names_with(plug_ins: Mapping[str, Any], trait: str) -> str:
    """Quoted names of the plug-ins that have a trait."""
    return quote_choices([name for name, one in plug_ins.items() if getattr(one, trait)])


def known_accountings() -> list[str]:
    """Every way to count what answers spend, of any mechanism."""
    every = (kind for kinds in MECHANISMS.values() for kind in kinds)
    return list(dict.fromkeys(how for kind in every for how in kind.accountings))


def published_accountings(mechanism: str) -> set[str]:
    """The accountings of a mechanism under which its noise is what a paper's formula says."""
    return {how for kind in kinds_of(mechanism) if kind.published_for for how in kind.accountings}


def counts_overlap(kinds: Sequence[type[Mechanism]]) -> bool:
    """Test whether any mechanism counts records that sit with several owners."""
    return any("overlap" in field_types(kind) for kind in kinds)


def noise_for(algorithm: Algorithm) -> list[str]:
    """The mechanisms that an algorithm may be trained with.

    "best" where one that is compared is among them.
    """
    moments = algorithm.scores or algorithm.moments
    asked = NoiseSettings((1,), single_record=algorithm.one_by_one, moments=moments)
    able = []
    compared = False
    for name, kinds in MECHANISMS.items():
        fitting = [kind for kind in kinds if kind.suits_settings(asked)]
        if algorithm.moments:
            fitting = [kind for kind in fitting if kind.apart]
        if fitting and algorithm.noise_norm in (None, norm_of(name)):
            able.append(name)
            compared |= any(kind.compared for kind in fitting)
    return [*able, BEST] if compared else able
