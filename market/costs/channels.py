"""Private answers as channels, and their exact leakage and utility.

A channel is a row-stochastic matrix: row x holds the probabilities of each answer where x is
true. The channels of CHANNELS take v values; two neighbouring ones differ by at most a factor
``e^(epsilon / sensitivity)``, so with the default sensitivity, the largest distance between two
values, the whole epsilon hides any two.

A gain of guesses at a true answer is a matrix: row y holds the gain of each guess where y is true,
at least 0. A right guess is one gain function; where near guesses count, a distance makes another.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np

from learning.declaration import ListOf, Positive, TwoOrMore, check_value
from learning.errors import InputError
from market.columns import Array, Pair
from market.costs.leakage import leakage_bits

ChannelName = Literal[
    "truncated_geometric", "geometric", "discrete_laplace", "ring_geometric", "randomised_response"
]
Law = Callable[[Array, int], Pair]
# Entries of channels held at once.
BLOCK = 2**16
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
    return _line_channel(scaled, values, values - 1)


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
