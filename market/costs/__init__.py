"""Costs of privacy, measures of leakage, and answers as channels.

A new cost is a frozen dataclass under `Cost`, with a `value`; in COSTS it can be named in a
scenario file.
"""

from market.costs.base import Cost
from market.costs.functions import (
    Belief,
    ChannelCost,
    DifferentialEntropy,
    ExpectedHarm,
    Exponential,
    Leakage,
    Linear,
    Quadratic,
)

COSTS: dict[str, type[Cost]] = {
    "leakage": Leakage,
    "linear": Linear,
    "quadratic": Quadratic,
    "expected_harm": ExpectedHarm,
    "belief": Belief,
    "exponential": Exponential,
    "channel": ChannelCost,
    "differential_entropy": DifferentialEntropy,
}

__all__ = [
    "COSTS",
    "Belief",
    "ChannelCost",
    "Cost",
    "DifferentialEntropy",
    "ExpectedHarm",
    "Exponential",
    "Leakage",
    "Linear",
    "Quadratic",
]
