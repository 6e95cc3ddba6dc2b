"""The [learning] table of a scenario file: which loss, algorithm, weights and noise, and what goes with what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import model_validator

from learning.errors import InputError
from learning.losses.loss import Loss
from learning.losses.losses import make_loss
from learning.training.clocks import Clocks as Ticks
from learning.training.plan import AlgorithmName
from scenarios.schema import fields as check
from scenarios.schema.fields import either, nearest, refuse, show
from scenarios.schema.kinds import OPTIMAL, Count, Flag, NonNegative, PositiveOrOptimal, Section

LABELLED = ("hinge", "logistic", "network")  # losses whose target is one of two values, -1 and +1
PRINTED = ("sgd1", "sgd2", "weighted")  # algorithms whose papers print a formula for the noise
ALGORITHMS = ("synchronous", "averaged", "asynchronous", *PRINTED, "adassp")
GAUSSIAN_ONLY = ("sgd1", "adassp")  # algorithms that are defined, and proved private, with Gaussian noise
HIDDEN = 8
ROUNDS = (2, 100_000)
ROUNDS_SGD1 = (1, 1_000_000)  # one record a round


class Clocks(Section):
    """Who talks when in asynchronous training; lists have one entry per owner."""

    rates: (
        Annotated[tuple[float, ...], check.numbers("must be a list of numbers above 0, one per owner", lambda x: x > 0)]
        | None
    ) = None
    dropout: Annotated[
        float | tuple[float, ...],
        check.amount("must be a number from 0 to below 1, or a list with one per owner", lambda x: 0 <= x < 1),
    ] = 0.0
    talk: Annotated[Literal["request", "broadcast"], check.choice("request", "broadcast")] = "request"
    scaled: Flag = True
    reading: Annotated[Literal["proved", "printed"], check.choice("proved", "printed")] = "proved"
    priced: Annotated[Literal["talks", "horizon"], check.choice("talks", "horizon")] = "talks"
    # Owners of one group answer as one: their records count as one owner's.
    groups: Annotated[tuple[tuple[str, ...], ...], check.groups()] | None = None


class Learning(Section):
    """How the model is trained, and how its answers are made private."""

    loss: Annotated[str, check.choice("squared", *LABELLED)] = "squared"
    hidden: Count | None = None  # units of a network
    algorithm: Annotated[AlgorithmName, check.choice(*ALGORITHMS)] = "averaged"
    weights: Annotated[str, check.choice("size", "equal", "precision")] = "size"
    # Best: whichever noise and accounting promise the best model at this delta.
    mechanism: Annotated[str, check.choice("laplace", "gaussian", "best")] = "laplace"
    # Laplace noise composes by adding budgets up, Gaussian noise by zcdp; both exactly by privacy-loss distributions.
    accounting: Annotated[str, check.choice("basic", "zcdp", "pld", "printed")] | None = None
    delta: Annotated[float, check.number("must be a number above 0 and below 1", lambda x: 0 < x < 1)] | None = None
    regularisation: NonNegative = 0.0
    theta_max: PositiveOrOptimal = "optimal"
    # Bound on a record's features, or under a network on its gradient.
    clip: Annotated[
        float | Literal["optimal", "none"],
        check.number('must be "optimal", "none" or a number above 0', lambda x: x > 0, OPTIMAL, "none"),
    ] = "optimal"
    overlap: Count = 1
    horizon: Annotated[
        int | Literal["optimal"],
        check.whole('must be "optimal" or a whole number of rounds', lambda x: True, OPTIMAL),
    ] = "optimal"
    step_size: PositiveOrOptimal = "optimal"
    returned: Annotated[Literal["optimal", "last", "averaged"], check.choice(OPTIMAL, "last", "averaged")] = "optimal"
    # Without public rows there is nothing to start from or to whiten with, so the default depends on them.
    start: Annotated[str, check.choice("public", "zero")] | None = None
    precondition: Flag | None = None
    clocks: Clocks | None = None

    @property
    def objective(self) -> Loss:
        """The loss that is trained, with its parameters."""
        return make_loss(self.loss, hidden=self.hidden)

    @property
    def labels(self) -> bool:
        """Whether targets are labels, -1 and +1."""
        return self.objective.labels

    @model_validator(mode="after")
    def _loss(self) -> Learning:
        if self.hidden is not None and self.loss != "network":
            raise _apart("hidden", f"{self.hidden} with loss {show(self.loss)}", 'loss = "network"')
        if self.loss == "network" and self.hidden is None:
            self.__dict__["hidden"] = HIDDEN
        if self.algorithm == "adassp" and self.loss != "squared":
            raise _must("loss", '"squared"', 'algorithm "adassp"', self.loss)
        if self.regularisation == 0 and self.labels:
            raise _unregularised(f"loss {show(self.loss)}: without it the best model may not exist")
        if self.regularisation == 0 and self.algorithm == "asynchronous":
            raise _unregularised('algorithm "asynchronous", which needs a strongly convex cost')
        return self

    @model_validator(mode="after")
    def _algorithm(self) -> Learning:
        named = f"algorithm {show(self.algorithm)}"
        if self.algorithm in GAUSSIAN_ONLY:
            if self.mechanism != "gaussian":
                raise _must("mechanism", '"gaussian"', named, self.mechanism, "Set it, and learning.delta.")
            if self.weights != "size":
                raise _must("weights", '"size"', named, self.weights)
        if self.algorithm == "adassp":
            for name in ("horizon", "step_size", "returned"):
                if getattr(self, name) != OPTIMAL:
                    rule = f"{named}, which asks once and takes no steps"
                    raise _must(name, 'left at "optimal"', rule, getattr(self, name))
        low, high = ROUNDS_SGD1 if self.algorithm == "sgd1" else ROUNDS
        if isinstance(self.horizon, int) and not low <= self.horizon <= high:
            raise refuse(
                f'must be "optimal" or a whole number of rounds from {low} to {high} with {named}',
                key="learning.horizon",
                found=show(self.horizon),
            )
        if self.algorithm == "asynchronous" and self.clocks is None:
            self.__dict__["clocks"] = Clocks()
        if self.algorithm != "asynchronous" and self.clocks is not None:
            raise _apart("clocks", f"a table with {named}", 'algorithm = "asynchronous"')
        return self

    @model_validator(mode="after")
    def _accounting(self) -> Learning:
        able = self._accountings()
        if self.mechanism == "best" and self.accounting is not None:
            raise refuse(
                'must be left out with mechanism "best", which compares them all',
                key="learning.accounting",
                found=show(self.accounting),
            )
        if self.accounting is not None and self.accounting not in able:
            raise refuse(
                f"must be {either(able)} with mechanism {show(self.mechanism)}",
                key="learning.accounting",
                found=show(self.accounting),
                remedy=self._about_printed(),
            )
        if self.accounting == "printed" and self.overlap > 1:
            raise refuse(
                'must be 1 with accounting "printed": the papers count no record that sits with several owners',
                key="learning.overlap",
                found=show(self.overlap),
                remedy='Set accounting = "pld", which counts them.',
            )
        approximate = self.mechanism != "laplace" or self.accounting == "pld"
        if self.delta is not None and not approximate:
            raise _apart("delta", show(self.delta), 'mechanism = "gaussian" or "best", or with accounting = "pld"')
        if self.delta is None and approximate:
            what = {"gaussian": "Gaussian noise", "best": 'mechanism "best"'}.get(self.mechanism, 'accounting "pld"')
            raise refuse(
                f"is needed with {what}, which protects except with a small probability",
                key="learning.delta",
                found="none",
                remedy="Set it well below one over the records of an owner, such as 1e-6.",
            )
        if self.mechanism != "best":
            self.__dict__["accounting"] = self.accounting or able[0]
        return self

    def _accountings(self) -> tuple[str, ...]:
        """What the mechanism can be accounted by, the default first."""
        if self.mechanism == "laplace":
            return "basic", "pld"
        return ("pld", "zcdp", "printed") if self.algorithm in PRINTED else ("pld", "zcdp")

    def _about_printed(self) -> str:
        if self.accounting != "printed":
            return ""
        return f'The papers\' own formulas go with mechanism = "gaussian" and algorithm = {either(PRINTED)}.'

    def ticks(self, names: Sequence[str]) -> Ticks:
        """The clocks of owners called ``names``, in their order, as training takes them.

        Raises
        ------
        InputError
            If a list has not one entry per owner.
        """
        clocks = self.clocks or Clocks()
        for key in ("rates", "dropout"):
            given = getattr(clocks, key)
            if isinstance(given, tuple) and len(given) != len(names):
                rule = f"must have one entry per owner, {len(names)}"
                raise InputError(f"learning.clocks.{key}", rule, f"{len(given)} entries")
        return Ticks(clocks.rates, clocks.dropout, clocks.talk, clocks.scaled, clocks.reading, clocks.priced)

    def groups(self, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Who answers as one: numbers of the owners in each group, in the order of their first; one alone is a group.

        Raises
        ------
        InputError
            If a group names somebody who is no owner.
        """
        given = (self.clocks.groups if self.clocks else None) or ()
        for name in (name for group in given for name in group):
            if name not in names:
                raise InputError(
                    "learning.clocks.groups", "must name owners", show(name), nearest(name, [str(n) for n in names])
                )
        place = {name: i for i, name in enumerate(names)}
        grouped = {name for group in given for name in group}
        joined = [tuple(sorted(place[name] for name in group)) for group in given]
        return tuple(sorted([*joined, *((place[name],) for name in names if name not in grouped)]))


def _must(key: str, what: str, where: str, found: object, remedy: str = "") -> Exception:
    return refuse(f"must be {what} with {where}", key=f"learning.{key}", found=show(found), remedy=remedy)


def _apart(key: str, found: str, where: str) -> Exception:
    return refuse(f"goes with {where}", key=f"learning.{key}", found=found, remedy="Leave it out.")


def _unregularised(why: str) -> Exception:
    return refuse(
        f"must be above 0 with {why}", key="learning.regularisation", found="0", remedy="Set it, such as 0.001."
    )
