"""Mechanisms around another one, whose noise they add at other budgets or with other claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from learning.privacy.mechanism import Mechanism


def forward_member(name: str) -> Any:
    """Make a member that reads the same member of the mechanism inside."""
    return property(lambda wrapper: getattr(wrapper.mechanism, name))


def forward_repricing(name: str) -> Callable[..., Any]:
    """Make a method that reprices the mechanism inside by its own method."""

    def reprice(wrapper: Any, *arguments: Any) -> Any:
        return replace(wrapper, mechanism=getattr(wrapper.mechanism, name)(*arguments))

    return reprice


@dataclass(frozen=True)
class Wrapped(Mechanism):
    """Noise of another mechanism, at the budgets that it is sold for.

    Parameters
    ----------
    mechanism : the other mechanism.
    """

    mechanism: Any

    name = forward_member("name")
    title = forward_member("title")
    norm = forward_member("norm")
    unit_variance = forward_member("unit_variance")
    length_power = forward_member("length_power")
    share_power = forward_member("share_power")
    accounting = forward_member("accounting")
    pairs = forward_member("pairs")
    delta = forward_member("delta")
    overlap = forward_member("overlap")
    horizon = forward_member("horizon")
    growth = forward_member("growth")
    largest = forward_member("largest")
    single_record = forward_member("single_record")
    but_for = forward_member("but_for")

    draw = forward_member("draw")
    draw_release = forward_member("draw_release")
    beside_moments = forward_member("beside_moments")
    length_law = forward_member("length_law")
    length_quantile = forward_member("length_quantile")
    deviation_quantile = forward_member("deviation_quantile")
    noise_term = forward_member("noise_term")
    noise_term_slope = forward_member("noise_term_slope")
    horizon_factor = forward_member("horizon_factor")
    noise_denominator = forward_member("noise_denominator")
    noise_among = forward_member("noise_among")
    scale = forward_member("scale")
    epsilon = forward_member("epsilon")

    with_moments = forward_repricing("with_moments")
    for_rounds = forward_repricing("for_rounds")
    for_owners = forward_repricing("for_owners")
    for_weights = forward_repricing("for_weights")
