"""The [learning] table of a scenario file: loss, algorithm, weights and noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import model_validator

from learning.collected_errors import collect_errors
from learning.data.feature_kinds import KINDS
from learning.declaration import Count, NonNegative, Positive, Probability, Words
from learning.errors import InputError
from learning.forecast.inputs import Settings
from learning.losses.clipping import PARTS, RECORD, ClippedBy
from learning.losses.loss import Loss
from learning.losses.losses import DEFAULT as DEFAULT_LOSS
from learning.losses.losses import LOSSES, make_loss
from learning.phrases import format_value
from learning.privacy.mechanisms import (
    BEST,
    MECHANISMS,
    all_widen,
)
from learning.privacy.noise import LARGEST
from learning.training.aggregation import MEAN, Aggregation, Observed
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
)
from scenarios.schema.gossip import Gossip
from scenarios.schema.kinds import DeclaredTable, NamedTable, make_declared
from scenarios.schema.learning_refusals import says
from scenarios.schema.noise_rules import check_accounting, known_accountings
from scenarios.schema.training_rules import check_algorithm, check_bounds, check_loss

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
    """Whether features are whitened with the public rows' second moments, under logistic loss with
    those weighted by records' curvature; so they are where there are public rows."""
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
        """Test whether more noise of the mechanism is what it adds at a smaller budget."""
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
        """Test whether an exact law forecasts training, under every way that is left open."""
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

        There a gradient is 0 or as long as its record, so that clipping it lowers no bound, and
        rehearsals promised more of it than training kept.
        """
        if self.clipping != BEST:
            return [self.clipping]
        return [PARTS] if self.objective.kinked else algorithm.clippings

    @property
    def settings(self) -> Settings:
        """Settings of the planner: None is left to the planner, and a clip of inf cuts nothing."""
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
                    rule = f"must be {format_value(printed)} with {says(self, 'protocol')}"
                    remedy = f"Leave out learning.{key} or learning.protocol."
                    found = format_value(getattr(self, key))
                    raise InputError(f"learning.{key}", rule, found, remedy)
            self.__dict__.update(PRINTED_KEYS)

    def _go_together(self) -> None:
        rules = (check_loss, check_bounds, check_algorithm, check_accounting)
        collect_errors(*(partial(check, self) for check in rules))

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
