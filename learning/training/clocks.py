"""Clocks of the owners in asynchronous training: probabilities of a talk, and covered talks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import scipy
from annotated_types import MinLen
from numpy.typing import NDArray
from pydantic import AfterValidator

from learning.arrays import Array
from learning.declaration import ListOf, PerOwnerRule, format_value
from learning.errors import InputError

SPACING = 0.125  # of the quadrature in log time: its error is far below rounding
LONGEST = 1e6  # ticks that a delay stays below


def _refuse_repeats(groups: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    seen = set()
    for name in (name for group in groups for name in group):
        if name in seen:
            raise ValueError(f"{format_value(name)} twice")
        seen.add(name)
    return groups


Groups = Annotated[
    tuple[Annotated[tuple[Annotated[str, MinLen(1)], ...], ListOf("a group")], ...],
    ListOf("a list of groups, each a list of different names of owners"),
    AfterValidator(_refuse_repeats),
]


@dataclass(frozen=True)
class Clocks:
    """Clocks of the owners in asynchronous training: the table [learning.clocks].

    Parameters
    ----------
    rates: relative rate of each owner's Poisson clock, one for all or (n_owners,).
    dropout: probability that an owner that is called does not answer, one for all or (n_owners,);
        the tick is lost then.
    talk: "request" (an owner's own clock ticks and it asks for an update) or "broadcast" (the
        learner's clock ticks, it calls all owners and takes the first answer).
    scaled: whether gradients are scaled by the inverse of how often their owner talks.
    reading: "proved" or "printed": the step of the learner's copy, where the paper's text and proof
        differ.
    priced: what an owner's budget is split over: the "talks" that it hardly ever exceeds, and never
        does since it then falls silent, or the whole "horizon" as the paper has it, of which it
        answers a small part.
    groups: names of the owners that answer as one, their records counting as one owner's; each of
        the others is alone. A group's answer takes as long as the slowest of its members'.
    delay: ticks between an owner's answer and its arrival at the learner, one for all or
        (n_owners,). It is computed, and charged, at the model of the tick at which the owner talks;
        it counts at the model of the tick at which it arrives, if training lasts until then.
    delay_law: "fixed" (every answer takes `delay` ticks, a whole number) or "geometric" (with
        `delay` as its mean).
    """

    rates: Annotated[Any, PerOwnerRule(strict=True)] = 1.0
    dropout: Annotated[Any, PerOwnerRule(below=1)] = 0.0
    talk: Literal["request", "broadcast"] = "request"
    scaled: bool = True
    reading: Literal["proved", "printed"] = "proved"
    priced: Literal["talks", "horizon"] = "talks"
    groups: Groups | None = None
    delay: Annotated[Any, PerOwnerRule(below=LONGEST)] = 0.0
    delay_law: Literal["fixed", "geometric"] = "fixed"

    def __post_init__(self) -> None:
        values = list(self.delay.values()) if isinstance(self.delay, dict) else self.delay
        given = np.asarray(values, dtype=float)
        if self.delay_law == "fixed" and np.any(given != np.floor(given)):
            found = f"{given[given != np.floor(given)].flat[0]:g}"
            remedy = 'Or set delay_law = "geometric", of which it is the mean.'
            raise InputError("learning.clocks.delay", "must be whole ticks", found, remedy)

    @property
    def delayed(self) -> bool:
        """True if any answer may arrive later than it is computed."""
        return bool(np.any(self.delay))


@dataclass(frozen=True)
class Talks:
    """Talks of the owners in one training.

    Parameters
    ----------
    owners: array (ticks,), number of the owner that talked at each tick of the first run, -1 where
        the tick was lost.
    times: array (ticks,), of owners that ask for updates, in the time in which a clock of rate 1
        ticks once; of a broadcast, the number of the call.
    counts: array (runs, n_owners), number of talks of each owner in each independent run.

    Source: Farokhi et al., The Cost of Privacy, Figs 3 and 8.
    """

    owners: NDArray[np.intp] = field(repr=False)
    times: Array = field(repr=False)
    counts: NDArray[np.intp] = field(repr=False)


def talk_probabilities(clocks: Clocks, n_owners: int) -> Array:
    """Probability that each owner talks at a tick; with the rest to 1 the tick is lost.

    Request: r_i/sum(r) (1 - d_i). Broadcast: all are called, i answers first, after an exponential
        delay of rate r_i,

        (1 - d_i) int_0^inf r_i exp(-r_i t) prod_{j != i} (d_j + (1 - d_j) exp(-r_j t)) dt.

    Multiplied out, that is a sum over subsets of owners of integrals of c exp(-a t) with c > 0. The
    trapezoidal rule in log t errs on each by the same tiny share, so the subsets are not counted.

    Parameters
    ----------
    clocks : the clocks of all owners.
    n_owners : the number N of owners, at least 1.

    Returns
    -------
    array (n_owners,)

    Raises
    ------
    InputError
        If there is not one rate above 0, or one dropout from 0 to below 1, for each owner.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, section III (both ways to
        talk); formula ours.

    >>> talk_probabilities(Clocks(rates=(1.0, 3.0), dropout=(0.5, 0.0)), 2)
    array([0.125, 0.75 ])
    >>> clocks = Clocks(rates=(1.0, 3.0), dropout=(0.5, 0.0), talk="broadcast")
    >>> talk_probabilities(clocks, 2).round(12)
    array([0.125, 0.875])
    """
    rates, dropout = _rates_and_dropouts(clocks, n_owners)
    if clocks.talk == "request":
        return rates / rates.sum() * (1 - dropout)
    if not dropout.any():
        return rates / rates.sum()
    rates = rates / (rates * (1 - dropout)).sum()
    logs = np.arange(-40.0, np.log(50 / rates.min()) + SPACING, SPACING)
    aged = np.exp(logs)[:, None] * rates
    with np.errstate(divide="ignore"):
        silent = np.logaddexp(np.log(dropout), np.log1p(-dropout) - aged)  # log, by that time
    others = silent.sum(axis=1, keepdims=True) - silent
    return (SPACING * aged * (1 - dropout) * np.exp(others - aged)).sum(axis=0)


def tick_times(clocks: Clocks, n_owners: int, horizon: int, *, rng: np.random.Generator) -> Array:
    """Draw the times of the ticks, (horizon,): waits are exponential, at the sum of the rates.

    A broadcasting learner calls at regular times, one unit of time between them.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, section III.
    """
    if clocks.talk == "broadcast":
        return np.arange(1.0, horizon + 1)
    rates, _ = _rates_and_dropouts(clocks, n_owners)
    return np.cumsum(rng.exponential(1 / rates.sum(), horizon))


def relative_steps(clocks: Clocks, n_owners: int) -> Array:
    """Factor on each owner's steps for talking less often: (1/N)/(its share of the talks), (N,).

    >>> relative_steps(Clocks(rates=(1.0, 3.0)), 2).round(12)
    array([2.        , 0.66666667])
    """
    talks = talk_probabilities(clocks, n_owners)
    return talks.sum() / (n_owners * talks)


LIMITS = {
    "rates": ("above 0", lambda values: (values > 0) & (values < np.inf)),
    "dropout": ("from 0 to below 1", lambda values: (values >= 0) & (values < 1)),
    "delay": (f"from 0 to below {LONGEST:g}", lambda values: (values >= 0) & (values < LONGEST)),
}


def owners_values(name: str, given: Any, n_owners: int) -> Array:
    """One number of the clocks for each owner, (n_owners,).

    Raises
    ------
    InputError
        If there is not one for each owner, or one lies out of its limits.
    """
    values = np.asarray(given, dtype=float)
    if values.ndim == 0:
        values = np.full(n_owners, values)
    limits, holds = LIMITS[name]
    if values.shape != (n_owners,) or not holds(values).all():
        rule = f"must be one number {limits} for each of {n_owners} owners"
        raise InputError(f"learning.clocks.{name}", rule, values.tolist())
    return values


def _rates_and_dropouts(clocks: Clocks, n_owners: int) -> tuple[Array, Array]:
    """Rates and dropouts, (n_owners,) each."""
    rates = owners_values("rates", clocks.rates, n_owners)
    return rates, owners_values("dropout", clocks.dropout, n_owners)


def covered_talks(clocks: Clocks, n_owners: int, horizon: int) -> int:
    """Talks that budgets cover: each owner would talk more in one training of a hundred at most.

    They are the binomial quantile of T ticks at the largest of the owners' probabilities, or T for
    ``priced = "horizon"``. Clocks are public and do not depend on records. An owner that has
    answered so often falls silent, so its promise never depends on chance.

    Source: ours; the paper splits budgets over T, of which an owner answers about T/N.

    >>> covered_talks(Clocks(), 86, 1000), covered_talks(Clocks(priced="horizon"), 86, 1000)
    (20, 1000)
    """
    if clocks.priced == "horizon":
        return horizon
    largest = talk_probabilities(clocks, n_owners).max()
    return max(1, min(horizon, int(scipy.stats.binom.isf(0.01, horizon, largest))))
