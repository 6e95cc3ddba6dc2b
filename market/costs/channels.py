"""Private answers as channels, and how much each tells: leakage and utility from the channel itself, beside the bounds.

A channel is a row-stochastic matrix: row x holds the odds of each answer where x is true. The channels of CHANNELS
take v values; two neighbouring ones are told apart no better than ``e^(epsilon / sensitivity)`` allows, so with the
default sensitivity, the largest distance between two values, any two are hidden by the whole epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from learning.declaration import Positive, TwoOrMore, checked

ChannelName = Literal["truncated_geometric", "geometric", "discrete_laplace", "ring_geometric", "randomised_response"]
Law = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]
BLOCK = 2**16  # entries of channels held at once


def _line(scaled: np.ndarray, values: int, margin: int) -> tuple[np.ndarray, np.ndarray]:
    """Values 0..v-1 under discrete Laplace noise; answers from -margin to v-1+margin, the tails on the two ends.

    The whole number k is added with odds ``(1-a)/(1+a) a^|k|``, ``a = e^(-epsilon / sensitivity)``.

    Source: Wu, MRes thesis, section 2.4 (the geometric mechanism of Ghosh, Roughgarden and Sundararajan).
    """
    scaled = scaled[..., None, None]
    answers = np.arange(-margin, values + margin)
    steps = np.abs(np.arange(values)[:, None] - answers)
    factor = np.exp(-scaled)
    decay, height = factor**steps, np.tanh(scaled / 2)
    end = (answers == answers[0]) | (answers == answers[-1])
    matrix = np.where(end, decay / (1 + factor), height * decay)
    end_slope = decay * (factor / (1 + factor) - steps) / (1 + factor)
    return matrix, np.where(end, end_slope, ((1 - height**2) / 2 - height * steps) * decay)


def truncated_geometric(scaled: np.ndarray, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Discrete Laplace noise, answers outside 0..v-1 moved to the nearer end: (..., v, v).

    Source: Ghosh, Roughgarden and Sundararajan, Universally utility-maximizing privacy mechanisms.
    """
    return _line(scaled, values, 0)


def geometric(scaled: np.ndarray, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Discrete Laplace noise, with one answer "below" and one "above" for all outside 0..v-1: (..., v, v + 2).

    Nothing is lost: answers on one side outside have proportional columns, so they tell the same.
    """
    return _line(scaled, values, 1)


def discrete_laplace(scaled: np.ndarray, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Discrete Laplace noise, answers listed up to v - 1 beyond 0..v-1, the rest with the outermost: (..., v, 3v-2)."""
    return _line(scaled, values, max(1, values - 1))


def _graph(scaled: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Odds in proportion to ``a^steps``, from steps (v, v) between values that all have the same place in a graph."""
    decay = np.exp(-scaled)[..., None, None] ** steps
    matrix = decay / decay.sum(axis=-1, keepdims=True)
    return matrix, matrix * ((matrix * steps).sum(axis=-1, keepdims=True) - steps)


def ring_geometric(scaled: np.ndarray, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Values on a ring, odds in proportion to ``a^distance``: (..., v, v).

    With v odd it meets the utility bound of distance (v-1)/2 and border 2, as the truncated geometric channel, whose
    ends have fewer neighbours, cannot from three values on.

    Source: Alvim et al., Differential Privacy: on the Trade-off between Utility and Information Leakage.
    """
    apart = np.abs(np.arange(values)[:, None] - np.arange(values))
    return _graph(scaled, np.minimum(apart, values - apart))


def randomised_response(scaled: np.ndarray, values: int) -> tuple[np.ndarray, np.ndarray]:
    """The true value with odds ``e^epsilon / (v-1+e^epsilon)``, else any other: (..., v, v).

    With a uniform prior it meets the bound on min-entropy leakage.

    Source: Warner; Kairouz, Oh and Viswanath, Extremal mechanisms for local differential privacy.
    """
    return _graph(scaled, 1 - np.eye(values))


CHANNELS: dict[str, Law] = {
    "truncated_geometric": truncated_geometric,
    "geometric": geometric,
    "discrete_laplace": discrete_laplace,
    "ring_geometric": ring_geometric,
    "randomised_response": randomised_response,
}
"""Channel and its derivative by the scaled budget epsilon / sensitivity (...), for a number of values."""


def diameter(name: str, values: int) -> int:
    """Largest distance between two of ``values`` values: the sensitivity that hides any two of them alike."""
    return {"ring_geometric": values // 2, "randomised_response": 1}.get(name, values - 1)


def channel(name: str, epsilon: np.ndarray, values: int, sensitivity: float | None = None) -> np.ndarray:
    """The channel ``name`` of CHANNELS as row-stochastic matrices.

    Parameters
    ----------
    name : str
    epsilon : (...), privacy budget, 0 to inf
    values : int, number v of values, at least 2
    sensitivity : float, optional, steps between two values that epsilon hides, 1 for neighbours only; by default any two

    Returns
    -------
    (..., v, answers)

    Raises
    ------
    InputError
        An unknown name, fewer than two values, or a sensitivity not above 0.

    >>> channel("truncated_geometric", np.log(2), 3, sensitivity=1).round(3).tolist()
    [[0.667, 0.167, 0.167], [0.333, 0.333, 0.333], [0.167, 0.167, 0.667]]
    """
    for key, hint, given in (("name", ChannelName, name), ("values", TwoOrMore, values)):
        checked(hint, given, f"channel.{key}")
    checked(Positive | None, sensitivity, "channel.sensitivity")
    return CHANNELS[name](np.asarray(epsilon, dtype=float) / (sensitivity or diameter(name, values)), values)[0]


def _prior(matrix: np.ndarray, prior: np.ndarray | None) -> np.ndarray:
    n_values = matrix.shape[-2]
    return np.full(n_values, 1 / n_values) if prior is None else np.asarray(prior, dtype=float)


def bayes_utility(matrix: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """Probability that the best guess from the answer is right: ``sum_z max_y prior_y H_yz``.

    Parameters
    ----------
    matrix : (..., v, answers), a channel
    prior : (v,), optional, odds of each value before the answer; uniform by default

    Returns
    -------
    (...), probability

    Source: Wu, MRes thesis, section 4.4 (the Bayes remap of Alvim et al.).

    >>> float(bayes_utility(channel("randomised_response", np.log(3), 2)))
    0.75
    """
    return (_prior(matrix, prior)[:, None] * matrix).max(axis=-2).sum(axis=-1)


def guess_rise(matrix: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """By how much the answer raises the probability of a right guess: `bayes_utility` less ``max prior``, not below 0.

    Summed over answers as the gain over always guessing what is likeliest beforehand, so that a channel without
    information gives exactly 0. Parameters and source as there.
    """
    odds = _prior(matrix, prior)
    joint = odds[:, None] * matrix
    return (joint.max(axis=-2) - joint[..., odds.argmax(), :]).sum(axis=-1)


def min_entropy_leakage(matrix: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """Bits by which the answer lowers the uncertainty of a guess: ``log2(sum_z max_x prior_x C_xz / max_x prior_x)``.

    Parameters as in `bayes_utility`. Returns bits (...), at most ``log2 v``.

    Source: Smith, On the foundations of quantitative information flow; Wu, MRes thesis, section 2.4.1.

    >>> float(min_entropy_leakage(np.eye(8)))
    3.0
    """
    return np.log1p(guess_rise(matrix, prior) / _prior(matrix, prior).max()) / np.log(2)


def rise_and_slope(
    name: str, epsilon: np.ndarray, values: int, sensitivity: float | None, prior: tuple[float, ...] | None
) -> tuple[np.ndarray, np.ndarray]:
    """`guess_rise` of a channel of CHANNELS at each epsilon (...), and its derivative by epsilon.

    By the envelope theorem the derivative is that of the guesses that are best at this epsilon; with a prior that is
    not uniform there are kinks where another guess becomes best, and there it is that of one side. A uniform prior has
    closed forms.
    """
    step = sensitivity or diameter(name, values)
    scaled = np.asarray(epsilon, dtype=float) / step
    if prior is None:
        rise, slope = _uniform_rise(name, scaled, values)
        return rise, slope / step
    odds, flat = np.asarray(prior, dtype=float), scaled.ravel()
    rise, slope = np.empty_like(flat), np.empty_like(flat)
    width = max(1, BLOCK // (3 * values**2))
    for at in range(0, len(flat), width):
        matrix, change = CHANNELS[name](flat[at : at + width], values)
        joint = odds[:, None] * matrix
        best = joint.argmax(axis=-2)[..., None, :]
        rise[at : at + width] = guess_rise(matrix, odds)
        slope[at : at + width] = np.take_along_axis(odds[:, None] * change, best, -2).sum(axis=(-2, -1))
    return rise.reshape(scaled.shape), slope.reshape(scaled.shape) / step


def _uniform_rise(name: str, scaled: np.ndarray, values: int) -> tuple[np.ndarray, np.ndarray]:
    """With a uniform prior each value is guessed from itself: ``(v-1)/v tanh(s/2)`` on a line, whatever lies outside.

    On a ring and for randomised response the guess is right with odds 1 / sum a^distance.
    """
    rest = (values - 1) / values
    if name not in ("ring_geometric", "randomised_response"):
        height = np.tanh(scaled / 2)
        return rest * height, rest * (1 - height**2) / 2
    apart = np.arange(1, values)
    steps = np.minimum(apart, values - apart) if name == "ring_geometric" else np.ones(values - 1)
    lies, slope, rise = (np.zeros_like(scaled) for _ in range(3))
    for distance, count in zip(*np.unique(steps, return_counts=True), strict=True):
        decay = count * np.exp(-distance * scaled)
        lies, slope = lies + decay, slope + distance * decay
        rise = rise - count * np.expm1(-distance * scaled)
    return rise / values / (1 + lies), slope / (1 + lies) ** 2
