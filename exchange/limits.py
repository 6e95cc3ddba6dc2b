"""The owner's limits on its total privacy loss; a contract beyond them needs an explicit option."""

from __future__ import annotations

import math

from exchange.contract import Contract
from learning.errors import InputError

MOST_EPSILON = 3.0
MOST_DELTA = 1e-4  # of any table, however small
CHANCE = 0.1  # that any record is published, by a mechanism that publishes each with chance delta
ROUNDING = 1e-9  # part of a limit that sums may miss it by


def limits_for(
    n_records: int, max_epsilon: float | None = None, max_delta: float | None = None
) -> tuple[float, float]:
    """Limits on the epsilon and delta that all contracts about the same records spend together.

    The defaults: epsilon = 3, at which an even guess becomes 95 % sure, one error in twenty; and
    delta = min(1e-4, 1/(10 n)).

    Parameters
    ----------
    n_records: n, the records of the owner.
    max_epsilon, max_delta: the owner's own limits; the defaults unless given.

    Raises an InputError if a limit is out of range.

    Source: for delta, Dwork and Roth, The Algorithmic Foundations of Differential Privacy, section
        2.3: a delta of the order of 1/n permits publishing the complete records of a few. For
        epsilon, Ponomareva et al., How to DP-fy ML (2023), section 5.2: up to 1 is strong, up to 10
        reasonable.

    >>> limits_for(5000), limits_for(200, max_epsilon=6.0)
    ((3.0, 2e-05), (6.0, 0.0001))
    """
    epsilon = MOST_EPSILON if max_epsilon is None else max_epsilon
    delta = min(MOST_DELTA, CHANCE / n_records) if max_delta is None else max_delta
    if not 0 < epsilon < math.inf:
        raise InputError("--max-epsilon", "must be a finite number above 0", f"{epsilon:g}")
    if not 0 <= delta < 1:
        raise InputError("--max-delta", "must be a number from 0 to below 1", f"{delta:g}")
    return epsilon, delta


def claimed_budget(contract: Contract, name: str) -> tuple[float, float]:
    """Largest epsilon and delta that a contract claims for an owner."""
    own = [claim for claim in contract.claims if claim["party"] == contract.owner(name).name]
    return max(claim["epsilon"] for claim in own), max(claim["delta"] for claim in own)


def exceeded_limits(limits: tuple[float, float], spent: tuple[float, float]) -> list[InputError]:
    """Find the limits on epsilon and delta that are exceeded, with the option that lifts each."""
    found = []
    for name, limit, value in zip(("epsilon", "delta"), limits, spent, strict=True):
        if value > limit * (1 + ROUNDING):
            rule = f"allows at most {name} = {limit:g} for the same records"
            remedy = f"If the owner agrees to more: --max-{name} {round_up(value)}."
            found.append(InputError(f"--max-{name}", rule, f"{value:.6g}", remedy))
    return found


def round_up(value: float) -> str:
    """Format the least limit of three digits that a value does not exceed.

    >>> round_up(6.2), round_up(6.2041), round_up(0.5)
    ('6.2', '6.21', '0.5')
    """
    if value == 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(round(value / step, 7)) * step:.3g}"
