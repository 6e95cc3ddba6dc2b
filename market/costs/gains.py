"""What a guess at the true answer is worth, right or only near, and what that comes to through a channel.

A gain is a matrix: row y holds what each guess brings where y is true, at least 0. Guessing right or not is one gain among
others; where it matters how far off a guess is, a distance makes another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np

from learning.declaration import ListOf
from learning.errors import InputError
from market.costs.channels import BLOCK, CHANNELS, diameter
from market.costs.leakage import leakage_bits

GainName = Literal["right", "near", "near_squared"]
GainRows = Annotated[
    tuple[Annotated[tuple[float, ...], ListOf("a list of numbers")], ...],
    ListOf("a list of rows, one per value, of what each guess brings"),
]
GAINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "right": lambda part: np.where(part == 0, 1.0, 0.0),
    "near": lambda part: 1 - part,
    "near_squared": lambda part: 1 - part**2,
}
"""What a guess brings, 1 where it is right, by its distance as a part (0 to 1) of the largest there is."""


def distances(channel: str, values: int) -> np.ndarray:
    """Steps from each value to each other one (v, v): round the ring of a ring channel, along a line elsewhere."""
    apart = np.abs(np.arange(values)[:, None] - np.arange(values))
    return np.minimum(apart, values - apart) if channel == "ring_geometric" else apart


def gain_matrix(gain: str | Any, values: int, channel: str = "") -> np.ndarray:
    """What each guess brings where each value is true.

    Parameters
    ----------
    gain : str or (v, guesses), a name in GAINS, or the gains themselves
    values : int, number v of values
    channel : str, whose values lie on a ring or on a line

    Returns
    -------
    (v, guesses)

    Raises
    ------
    InputError
        Gains that are not one row per value, all of one length, none below 0 and not all 0.

    >>> gain_matrix("near", 3).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    if isinstance(gain, str):
        steps = distances(channel, values)
        return GAINS[gain](steps / steps.max())
    if len(gain) != values or len({len(row) for row in gain}) != 1:
        found = f"{len(gain)} rows of {', '.join(str(len(row)) for row in gain[:5])} numbers"
        raise InputError("gain", f"needs one row per value, {values} in all, of the same length", found)
    rows = np.asarray(gain, dtype=float)
    if rows.min() < 0 or not rows.max() > 0:
        raise InputError("gain", "must hold no number below 0, and one above", f"{rows.min():g} to {rows.max():g}")
    return rows


def _odds(gain: np.ndarray, prior: Any) -> np.ndarray:
    return np.full(len(gain), 1 / len(gain)) if prior is None else np.asarray(prior, dtype=float)


def known_gain(gain: np.ndarray, prior: Any = None) -> float:
    """What the best guess brings on average without any answer: ``max_g sum_y prior_y gain_yg``."""
    return float((_odds(gain, prior) @ gain).max())


def expected_gain(matrix: np.ndarray, gain: np.ndarray, prior: Any = None) -> np.ndarray:
    """What the best guess from the answer brings on average: ``sum_z max_g sum_y prior_y H_yz gain_yg``.

    Parameters
    ----------
    matrix : (..., v, answers), a channel
    gain : (v, guesses), of `gain_matrix`, or any other
    prior : (v,), optional, odds of each value before the answer; uniform by default

    Returns
    -------
    (...), in the unit of the gain

    Source: Wu, MRes thesis, section 2.4.1.2, with the guess remapped as in 4.4; Alvim, Chatzikokolakis, Palamidessi and
    Smith, Measuring Information Leakage Using Generalized Gain Functions. With a distance in the place of the gain the
    thesis adds up what the answer itself is off; `answered_distance` is that.

    >>> from market.costs.channels import channel
    >>> float(expected_gain(channel("randomised_response", np.log(3), 2), np.eye(2)))  # the odds of a right guess
    0.75
    """
    joint = (_odds(gain, prior)[:, None] * gain).T @ matrix
    return joint.max(axis=-2).sum(axis=-1)


def answered_distance(matrix: np.ndarray, distance: np.ndarray, prior: Any = None) -> np.ndarray:
    """How far the answer itself lies from the truth on average, without a remap: ``sum_yz prior_y H_yz distance_yz``.

    Parameters
    ----------
    matrix : (..., v, answers), a channel
    distance : (v, answers), of each answer from each value
    prior : as in `expected_gain`

    Source: Wu, MRes thesis, section 2.4.1.2, the utility "for generic situations", which is a loss.
    """
    return (_odds(distance, prior)[:, None] * matrix * distance).sum(axis=(-2, -1))


def gain_bound(epsilon: np.ndarray, gain: np.ndarray, prior: Any = None) -> np.ndarray:
    """The most that any epsilon-private answer can make of a gain, whatever the prior.

    ``known * v e^epsilon / (v-1+e^epsilon)``, and never more than what certainty brings: the factor by which an answer
    raises a gain is at most that by which it raises the odds of a right guess under a uniform prior.

    Parameters
    ----------
    epsilon : (...), by which any two values are hidden from each other, 0 to inf
    gain, prior : as in `expected_gain`

    Source: Alvim, Chatzikokolakis, Palamidessi and Smith (min-capacity bounds every leakage by a gain); Wu, MRes thesis,
    equation 2.2.

    >>> gain_bound(np.array([0.0, np.inf]), gain_matrix("near", 3)).round(3).tolist()  # 2/3 without any answer
    [0.667, 1.0]
    """
    certain = float((_odds(gain, prior) * gain.max(axis=1)).sum())
    return np.minimum(known_gain(gain, prior) * 2 ** leakage_bits(epsilon, len(gain)), certain)


def gain_and_slope(
    channel: str, epsilon: np.ndarray, sensitivity: float | None, gain: np.ndarray, prior: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """`expected_gain` through a channel of CHANNELS at each epsilon (...), and its derivative by epsilon.

    The derivative is that of the guesses that are best at this epsilon (envelope theorem); where another guess becomes
    best, it is that of one side.
    """
    values = len(gain)
    step = sensitivity or diameter(channel, values)
    flat = np.asarray(epsilon, dtype=float).ravel() / step
    found, slope = np.empty_like(flat), np.empty_like(flat)
    weighed = (_odds(gain, prior)[:, None] * gain).T
    width = max(1, BLOCK // (3 * values * max(gain.shape)))
    for at in range(0, len(flat), width):
        matrix, change = CHANNELS[channel](flat[at : at + width], values)
        joint = weighed @ matrix
        best = joint.argmax(axis=-2)[..., None, :]
        found[at : at + width] = np.take_along_axis(joint, best, -2).sum(axis=(-2, -1))
        slope[at : at + width] = np.take_along_axis(weighed @ change, best, -2).sum(axis=(-2, -1))
    shape = np.shape(epsilon)
    return found.reshape(shape), slope.reshape(shape) / step
