"""A contract's table of owners, in words: budgets, the limits that they exceed, and beliefs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from exchange.contract import Contract
from exchange.limits import claimed_budget, exceeded_limits, limits_for
from learning.errors import InputError
from learning.money import format_cents
from learning.phrases import (
    NOTHING_PROMISED,
    belief_of,
    format_number,
    format_percent,
    join_words,
    strength,
    sure_words,
)
from learning.privacy.promises import weakest_claims

HEADS = ("", "records", "epsilon", "noise", "is paid", "weight", "an even guess rises to")


def owner_rows(
    contract: Contract, refused: Mapping[str, Sequence[InputError]]
) -> list[tuple[str, ...]]:
    """Rows of a table of owners, with the columns of `HEADS`.

    Parameters
    ----------
    refused: name -> the limits that its budget exceeds.
    """
    beliefs = compute_beliefs(contract)
    spread = math.sqrt(contract.mechanism.unit_variance)
    rows: list[tuple[str, ...]] = []
    for owner, weight in zip(contract.owners, contract.weights, strict=True):
        belief, _ = beliefs[owner.name]
        budget = format_number(owner.epsilon) + (" (beyond limits)" if refused[owner.name] else "")
        noise = format_number(spread * contract.terms(owner.name).scale)
        paid = format_cents(owner.payment, contract.currency or "")
        guess = f"{sure_words(belief)} ({strength(belief)})"
        rows.append(
            (owner.name, f"{owner.records:,}", budget, noise, paid, format_percent(weight), guess)
        )
    return rows


def compute_beliefs(contract: Contract) -> dict[str, tuple[float, float]]:
    """Bound an observer's belief about each owner's records, with the probability of failure."""
    claims = weakest_claims(contract.claims)
    return {owner.name: belief_of(claims[owner.name], owner.records) for owner in contract.owners}


def find_exceeded(
    contract: Contract, max_epsilon: float | None = None, max_delta: float | None = None
) -> dict[str, list[InputError]]:
    """Find the limits that each owner's budget exceeds, those of `limits_for` unless given."""
    found = {}
    for owner in contract.owners:
        limits = limits_for(owner.records, max_epsilon, max_delta)
        found[owner.name] = exceeded_limits(limits, claimed_budget(contract, owner.name))
    return found


def limit_words(
    refused: Mapping[str, Sequence[InputError]], beliefs: Mapping[str, tuple[float, float]]
) -> list[str]:
    """Name the options that owners must accept with, and owners whose delta guarantees nothing."""
    said = [f"{name}: dpmarket accept {one}" for name, found in refused.items() for one in found]
    hollow = [name for name, (belief, _) in beliefs.items() if belief >= 1]
    if hollow:
        owners = f"Delta is not below one over the records of {join_words(hollow)}"
        said.append(f"{owners}: {NOTHING_PROMISED}.")
    return said or ["Every budget lies within the limits of the owners' programs."]
