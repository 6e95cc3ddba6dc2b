"""Gain functions of guesses at a true answer, and the expected gain through a channel.

A gain is a matrix: row y holds the gain of each guess where y is true, at least 0. A right guess
is one gain function; where near guesses count, a distance makes another.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np

from learning.declaration import ListOf
from learning.errors import InputError
from market.columns import Array, Pair
from market.costs.channels import CHANNELS, block_pairs, prior_odds, value_diameter
from market.costs.leakage import leakage_bits

GainName = Literal["right", "near", "near_squared"]
GainRows = Annotated[
    tuple[Annotated[tuple[float, ...], ListOf("a list of numbers")], ...],
    ListOf("a list of rows, one per value, of what each guess brings"),
]
# Gain of a guess, 1 where it is right, by its distance as a part (0 to 1) of the largest.
GAINS: dict[str, Callable[[Array], Array]] = {
    "right": lambda part: np.where(part == 0, 1.0, 0.0),
    "near": lambda part: 1 - part,
    "near_squared": lambda part: 1 - part**2,
}


def value_distances(channel: str, values: int) -> Array:
    """Steps between values (v, v): round the ring of a ring channel, along a line elsewhere."""
    apart = np.abs(np.arange(values)[:, None] - np.arange(values))
    return np.minimum(apart, values - apart) if channel == "ring_geometric" else apart


def gain_matrix(gain: str | Any, values: int, channel: str = "") -> Array:
    """Gain of each guess at each true value, (v, guesses).

    Parameters
    ----------
    gain : str or (v, guesses), a name in GAINS, or the gains themselves
    values : int, number v of values
    channel : str, whose values lie on a ring or on a line

    Raises
    ------
    InputError
        Gains that are not one row per value, all of one length, none below 0 and not all 0.

    >>> gain_matrix("near", 3).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    if isinstance(gain, str):
        steps = value_distances(channel, values)
        return GAINS[gain](steps / steps.max())
    if len(gain) != values or len({len(row) for row in gain}) != 1:
        found = f"{len(gain)} rows of {', '.join(str(len(row)) for row in gain[:5])} numbers"
        rule = f"needs one row per value, {values} in all, of the same length"
        raise InputError("gain", rule, found)
    rows = np.asarray(gain, dtype=float)
    if rows.min() < 0 or not rows.max() > 0:
        found = f"{rows.min():g} to {rows.max():g}"
        raise InputError("gain", "must hold no number below 0, and one above", found)
    return rows


def known_gain(gain: Array, prior: Any = None) -> float:
    """Expected gain of the best guess without any answer: ``max_g sum_y prior_y gain_yg``."""
    return float((prior_odds(gain, prior) @ gain).max())


def expected_gain(matrix: Array, gain: Array, prior: Any = None) -> Array:
    """Expected gain of the best guess from the answer: ``sum_z max_g sum_y prior_y H_yz gain_yg``.

    Parameters
    ----------
    matrix : (..., v, answers), a channel
    gain : (v, guesses), of `gain_matrix`, or any other
    prior : (v,), optional, prior probability of each value; uniform by default

    Source: Wu, MRes thesis, section 2.4.1.2, with the guess remapped as in 4.4; Alvim,
        Chatzikokolakis, Palamidessi and Smith, Measuring Information Leakage Using Generalized
        Gain Functions. With a distance in the place of the gain the thesis adds up the error of
        the answer itself; `answered_distance` is that.

    >>> from market.costs.channels import channel_matrix
    >>> float(expected_gain(channel_matrix("randomised_response", np.log(3), 2), np.eye(2)))
    0.75
    """
    joint = (prior_odds(gain, prior)[:, None] * gain).T @ matrix
    return joint.max(axis=-2).sum(axis=-1)


def answered_distance(matrix: Array, distance: Array, prior: Any = None) -> Array:
    """Mean distance of the answer from the truth, without a remap.

    ``sum_yz prior_y H_yz distance_yz``, with distance (v, answers) and the rest as in
    `expected_gain`.

    Source: Wu, MRes thesis, section 2.4.1.2, the utility "for generic situations", which is a loss.
    """
    return (prior_odds(distance, prior)[:, None] * matrix * distance).sum(axis=(-2, -1))


def gain_bound(epsilon: Array, gain: Array, prior: Any = None) -> Array:
    """Bound on the expected gain from any epsilon-private answer, whatever the prior.

    ``known * v e^epsilon / (v-1+e^epsilon)``, and at most the gain of certainty: an answer raises
    a gain by at most the factor by which it raises the probability of a right guess under a
    uniform prior.

    Parameters
    ----------
    epsilon : (...), by which any two values are hidden from each other, 0 to inf
    gain, prior : as in `expected_gain`

    Source: Alvim, Chatzikokolakis, Palamidessi and Smith (min-capacity bounds every leakage by a
        gain); Wu, MRes thesis, equation 2.2.

    Without any answer the gain is 2/3:

    >>> gain_bound(np.array([0.0, np.inf]), gain_matrix("near", 3)).round(3).tolist()
    [0.667, 1.0]
    """
    certain = float((prior_odds(gain, prior) * gain.max(axis=1)).sum())
    return np.minimum(known_gain(gain, prior) * 2 ** leakage_bits(epsilon, len(gain)), certain)


def gain_and_slope(
    channel: str,
    epsilon: Array,
    sensitivity: float | None,
    gain: Array,
    prior: Any = None,
) -> Pair:
    """`expected_gain` through a channel of CHANNELS at each epsilon (...), and its derivative.

    The derivative is that of the best guesses at this epsilon (envelope theorem); where another
    guess becomes best, it is one-sided.
    """
    values = len(gain)
    step = sensitivity or value_diameter(channel, values)
    weighed = (prior_odds(gain, prior)[:, None] * gain).T

    def evaluate_block(some: Array) -> Pair:
        matrix, change = CHANNELS[channel](some, values)
        joint = weighed @ matrix
        best = joint.argmax(axis=-2)[..., None, :]
        pair = (joint, weighed @ change)
        found, slope = (np.take_along_axis(one, best, -2).sum(axis=(-2, -1)) for one in pair)
        return found, slope

    scaled = np.asarray(epsilon, dtype=float) / step
    found, slope = block_pairs(evaluate_block, scaled, 3 * values * max(gain.shape))
    return found, slope / step
