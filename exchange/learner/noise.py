"""The noise of a contract as the simulation draws and prices it."""

from __future__ import annotations

from dataclasses import fields
from functools import cache

from exchange.contract import Contract
from learning.privacy.accounting import Accounting
from learning.privacy.mechanism import Mechanism
from learning.privacy.mechanisms import MECHANISMS


def noise_of(contract: Contract) -> Mechanism:
    """Law and price of the noise that the owners of a contract draw."""
    return _simulate_noise(contract.mechanism)


@cache
def _simulate_noise(agreed: Accounting) -> Mechanism:
    facts = {one.name: getattr(agreed, one.name) for one in fields(agreed)}  # type: ignore[arg-type]
    return MECHANISMS[agreed.name][0](**facts)
