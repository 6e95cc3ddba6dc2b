"""Private answers as channels, and their exact leakage and utility.

A channel is a row-stochastic matrix: row x holds the probabilities of each answer where x is
true. The channels of CHANNELS take v values; two neighbouring ones differ by at most a factor
``e^(epsilon / sensitivity)``, so with the default sensitivity, the largest distance between two
values, the whole epsilon hides any two.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from learning.declaration import Positive, TwoOrMore, check_value
from market.columns import Array, Pair

ChannelName = Literal[
    "truncated_geometric", "geometric", "discrete_laplace", "ring_geometric", "randomised_response"
]
Law = Callable[[Array, int], Pair]
# Entries of channels held at once.
BLOCK = 2**16


def _line_channel(scaled: Array, values: int, margin: int) -> Pair:
    """Values 0..v-1 under discrete Laplace noise; answers from -margin to v-1+margin.

    The whole number k is added with probability ``(1-a)/(1+a) a^|k|``, ``a = e^(-epsilon /
    sensitivity)``; the tails are on the two ends.

    Source: Wu, MRes thesis, section 2.4 (the geometric mechanism of Ghosh, Roughgarden and
        Sundararajan).
    """
    scaled = scaled[..., None, None]
    answers = np.arange(-margin, values + margin)
    steps = np.abs(np.arange(values)[:, None] - answers)
    factor = np.exp(-scaled)
    decay = factor**steps
    height = np.tanh(scaled / 2)
    end = (answers == answers[0]) | (answers == answers[-1])
    matrix = np.where(end, decay / (1 + factor), height * decay)
    end_slope = decay * (factor / (1 + factor) - steps) / (1 + factor)
    return matrix, np.where(end, end_slope, ((1 - height**2) / 2 - height * steps) * decay)


def truncated_geometric(scaled: Array, values: int) -> Pair:
    """Discrete Laplace noise, answers outside 0..v-1 moved to the nearer end: (..., v, v).

    Source: Ghosh, Roughgarden and Sundararajan, Universally utility-maximizing privacy mechanisms.
    """
    return _line_channel(scaled, values, 0)


def geometric_channel(scaled: Array, values: int) -> Pair:
    """Discrete Laplace noise, with one answer "below" and one "above": (..., v, v + 2).

    No information is lost: answers on one side outside have proportional columns.
    """
    return _line_channel(scaled, values, 1)


def discrete_laplace(scaled: Array, values: int) -> Pair:
    """Discrete Laplace noise, answers listed up to v - 1 beyond 0..v-1: (..., v, 3v-2)."""
    return _line_channel(scaled, values, max(1, values - 1))


def _graph_channel(scaled: Array, steps: Array) -> Pair:
    """Probabilities in proportion to ``a^steps``, for a vertex-transitive graph of steps (v, v)."""
    decay = np.exp(-scaled)[..., None, None] ** steps
    matrix = decay / decay.sum(axis=-1, keepdims=True)
    return matrix, matrix * ((matrix * steps).sum(axis=-1, keepdims=True) - steps)


def ring_geometric(scaled: Array, values: int) -> Pair:
    """Values on a ring, probabilities in proportion to ``a^distance``: (..., v, v).

    With v odd it attains the utility bound of distance (v-1)/2 and border 2, which the truncated
    geometric channel cannot from three values on.

    Source: Alvim et al., Differential Privacy: on the Trade-off between Utility and Information
        Leakage.
    """
    apart = np.abs(np.arange(values)[:, None] - np.arange(values))
    return _graph_channel(scaled, np.minimum(apart, values - apart))


def randomised_response(scaled: Array, values: int) -> Pair:
    """The true value with probability ``e^epsilon / (v-1+e^epsilon)``, else any other: (..., v, v).

    With a uniform prior it attains the bound on min-entropy leakage.

    Source: Warner; Kairouz, Oh and Viswanath, Extremal mechanisms for local differential privacy.
    """
    return _graph_channel(scaled, 1 - np.eye(values))


# Channel and its derivative by the scaled budget epsilon / sensitivity (...), for v values.
CHANNELS: dict[str, Law] = {
    "truncated_geometric": truncated_geometric,
    "geometric": geometric_channel,
    "discrete_laplace": discrete_laplace,
    "ring_geometric": ring_geometric,
    "randomised_response": randomised_response,
}


def value_diameter(name: str, values: int) -> int:
    """Largest distance between two values: the sensitivity that hides any two of them."""
    return {"ring_geometric": values // 2, "randomised_response": 1}.get(name, values - 1)


def channel_matrix(
    name: str, epsilon: Array, values: int, sensitivity: float | None = None
) -> Array:
    """The channel ``name`` of CHANNELS as row-stochastic matrices (..., v, answers).

    Parameters
    ----------
    name : str
    epsilon : (...), privacy budget, 0 to inf
    values : int, number v of values, at least 2
    sensitivity : float, optional, steps between two values that epsilon hides, 1 for neighbours
        only; by default any two

    Raises
    ------
    InputError
        An unknown name, fewer than two values, or a sensitivity not above 0.

    >>> channel_matrix("truncated_geometric", np.log(2), 3, sensitivity=1).round(3).tolist()
    [[0.667, 0.167, 0.167], [0.333, 0.333, 0.333], [0.167, 0.167, 0.667]]
    """
    for key, hint, given in (("name", ChannelName, name), ("values", TwoOrMore, values)):
        check_value(hint, given, f"channel.{key}")
    check_value(Positive | None, sensitivity, "channel.sensitivity")
    step = sensitivity or value_diameter(name, values)
    return CHANNELS[name](np.asarray(epsilon, dtype=float) / step, values)[0]


def prior_odds(rows: Array, prior: Any) -> Array:
    """Prior probability of each value (v,) of rows (..., v, m); uniform if None."""
    n_values = rows.shape[-2]
    return np.full(n_values, 1 / n_values) if prior is None else np.asarray(prior, dtype=float)


def bayes_utility(matrix: Array, prior: Array | None = None) -> Array:
    """Probability of a right guess from the answer: ``sum_z max_y prior_y H_yz``.

    Parameters
    ----------
    matrix : (..., v, answers), a channel
    prior : (v,), optional, prior probability of each value; uniform by default

    Source: Wu, MRes thesis, section 4.4 (the Bayes remap of Alvim et al.).

    >>> float(bayes_utility(channel_matrix("randomised_response", np.log(3), 2)))
    0.75
    """
    return (prior_odds(matrix, prior)[:, None] * matrix).max(axis=-2).sum(axis=-1)


def guess_rise(matrix: Array, prior: Array | None = None) -> Array:
    """Rise of the probability of a right guess: `bayes_utility` less ``max prior``, at least 0.

    Summed over answers as the gain over the prior's best guess, so that a channel without
    information gives exactly 0.
    """
    odds = prior_odds(matrix, prior)
    joint = odds[:, None] * matrix
    return (joint.max(axis=-2) - joint[..., odds.argmax(), :]).sum(axis=-1)


def min_entropy_leakage(matrix: Array, prior: Array | None = None) -> Array:
    """Min-entropy leakage, bits: ``log2(sum_z max_x prior_x C_xz / max_x prior_x) <= log2 v``.

    Source: Smith, On the foundations of quantitative information flow; Wu, MRes thesis, section
        2.4.1.

    >>> float(min_entropy_leakage(np.eye(8)))
    3.0
    """
    known = prior_odds(matrix, prior).max()
    return np.log1p(guess_rise(matrix, prior) / known) / np.log(2)


def block_pairs(function: Callable[[Array], Pair], scaled: Array, entries: int) -> Pair:
    """Evaluate a pair of functions of scaled budgets (...), each needing ``entries``, in blocks."""
    flat = scaled.ravel()
    first = np.empty_like(flat)
    second = np.empty_like(flat)
    width = max(1, BLOCK // entries)
    for at in range(0, len(flat), width):
        block = slice(at, at + width)
        first[block], second[block] = function(flat[block])
    return first.reshape(scaled.shape), second.reshape(scaled.shape)


def rise_and_slope(
    name: str,
    epsilon: Array,
    values: int,
    sensitivity: float | None,
    prior: tuple[float, ...] | None,
) -> Pair:
    """`guess_rise` of a channel of CHANNELS at each epsilon (...), and its derivative.

    The derivative is that of the best guesses at this epsilon (envelope theorem); at a kink, where
    another guess becomes best, it is one-sided. A uniform prior has closed forms.
    """
    step = sensitivity or value_diameter(name, values)
    scaled = np.asarray(epsilon, dtype=float) / step
    if prior is None:
        rise, slope = _uniform_rise(name, scaled, values)
        return rise, slope / step
    odds = np.asarray(prior, dtype=float)

    def evaluate_block(some: Array) -> Pair:
        matrix, change = CHANNELS[name](some, values)
        best = (odds[:, None] * matrix).argmax(axis=-2)[..., None, :]
        slope = np.take_along_axis(odds[:, None] * change, best, -2).sum(axis=(-2, -1))
        return guess_rise(matrix, odds), slope

    rise, slope = block_pairs(evaluate_block, scaled, 3 * values**2)
    return rise, slope / step


def _uniform_rise(name: str, scaled: Array, values: int) -> Pair:
    """Rise under a uniform prior: ``(v-1)/v tanh(s/2)`` on a line, whatever answers lie outside.

    On a ring and for randomised response the guess is right with probability 1 / sum a^distance.
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
        lies = lies + decay
        slope = slope + distance * decay
        rise = rise - count * np.expm1(-distance * scaled)
    return rise / values / (1 + lies), slope / (1 + lies) ** 2
