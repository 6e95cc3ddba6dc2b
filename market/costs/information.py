"""Information of private answers beside min-entropy: of an order, and by differential entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from market.columns import Array, Pair
from market.costs.channels import CHANNELS, block_pairs, prior_odds, value_diameter

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)
ALIKE = 0.1  # largest part by which answers differ that counts as nearly alike
SERIES = 0.02  # epsilon below which a power series is closer, to 1e-8 of itself


def order_leakage(matrix: Array, prior: Any = None, order: float = 1.0) -> Array:
    """Leakage of an order, bits (...): what an answer takes from the entropy of a value.

    ``a/(a-1) log2 sum_z (sum_x w_x C_xz^a)^(1/a)`` with ``w_x = prior_x^a / sum prior^a`` for an
    order a above 1; Shannon's mutual information for 1. Towards infinity it is
    `market.costs.channels.min_entropy_leakage`. Under a uniform prior it grows with the order.

    Parameters
    ----------
    matrix : (..., v, answers), a channel
    prior : (v,), optional, prior probability of each value; uniform by default
    order : float, 1 to inf, without inf

    Source: Arimoto, Information measures and capacity of order alpha; Wu, MRes thesis, section
        2.4.1, which defines the entropy of an order and uses that of infinity.

    >>> float(order_leakage(np.eye(8)))
    3.0
    """
    return _leakage_and_slope(matrix, np.zeros_like(matrix), prior_odds(matrix, prior), order)[0]


def order_and_slope(
    channel: str, epsilon: Array, sensitivity: float | None, prior: Array, order: float
) -> Pair:
    """`order_leakage` of a channel of CHANNELS at each epsilon (...), and its derivative.

    The prior (v,) says how many values there are. Without information both are exactly 0.
    """
    values = len(prior)
    step = sensitivity or value_diameter(channel, values)
    scaled = np.asarray(epsilon, dtype=float) / step

    def evaluate_block(some: Array) -> Pair:
        bits, slope = _leakage_and_slope(*CHANNELS[channel](some, values), prior, order)
        return np.where(some > 0, np.maximum(bits, 0.0), 0.0), np.maximum(slope, 0.0)

    bits, slope = block_pairs(evaluate_block, scaled, 6 * values**2)
    return bits, slope / step


def _leakage_and_slope(matrix: Array, change: Array, odds: Array, order: float) -> Pair:
    """`order_leakage` of a channel (..., v, answers), and its derivative by a change of it.

    Where answers to all values are nearly alike, it is computed from how far each is from their
    mean, whose parts of the first degree cancel.
    """
    weights = (odds / odds.max()) ** order
    weights = weights / weights.sum()
    mean = weights @ matrix
    seen = mean[..., None, :]
    off = np.divide(matrix - seen, seen, out=np.zeros_like(matrix), where=seen > 0)
    alike = np.abs(off).max(axis=(-2, -1)) < ALIKE
    near = np.where(alike[..., None, None], off, 0.0)
    if order == 1:
        logs = np.log2(np.divide(matrix, seen, out=np.ones_like(matrix), where=matrix > 0))
        bits, slope = ((odds @ (one * logs)).sum(axis=-1) for one in (matrix, change))
        second = (1 + near) * np.log1p(near) - near
        close = (mean * (odds @ second)).sum(axis=-1) / np.log(2)
        return np.where(alike, close, bits), slope
    largest = matrix.max(axis=-2, keepdims=True)
    part = np.divide(matrix, largest, out=np.zeros_like(matrix), where=largest > 0)
    power = weights @ part**order
    safe = np.where(power > 0, power, 1.0)
    total = (largest[..., 0, :] * power ** (1 / order)).sum(axis=-1)
    rise = (safe ** (1 / order - 1) * (weights @ (part ** (order - 1) * change))).sum(axis=-1)
    scale = order / (order - 1) / np.log(2)
    with np.errstate(over="ignore"):  # of an order so high that few answers are alike
        second = weights @ (np.expm1(order * np.log1p(near)) - order * near)
    close = np.log1p((mean * np.expm1(np.log1p(second) / order)).sum(axis=-1))
    alike = alike & (order * ALIKE < 100)
    return scale * np.where(alike, close, np.log(total)), scale * rise / total


def hamming_distortion(matrix: Array, prior: Any = None) -> Array:
    """Chance that the answer of a square channel (..., v, v) is not the true value, (...).

    Remapped to the best guess it is one less `market.costs.channels.bayes_utility`.

    Source: Kalantari, Sankar and Sarwate, Robust Privacy-Utility Tradeoffs Under Differential
        Privacy and Hamming Distortion (in Wu, MRes thesis, section 2.4).
    """
    right = np.diagonal(matrix, axis1=-2, axis2=-1)
    return np.asarray(1 - right @ prior_odds(matrix, prior))


def worst_hamming(matrix: Array) -> Array:
    """Largest `hamming_distortion` over all priors: that of the value told most rarely."""
    return np.asarray(1 - np.diagonal(matrix, axis1=-2, axis2=-1).min(axis=-1))


def laplace_information(epsilon: Array) -> Pair:
    """Information of a number plus Laplace noise, bits (...): h(answer) - h(noise); and its slope.

    The number is uniform over a range of length 1 and the noise has scale 1/epsilon, so that
    epsilon hides any two numbers. h is differential entropy, that of the noise log2(2e/epsilon). It
    is 0 at epsilon = 0 and grows without bound: enough answers tell all digits.

    Parameters
    ----------
    epsilon : (...), privacy budget, 0 to inf

    Source: Wu, MRes thesis, which announces leakage by differential entropy and uses another; the
        formula is ours.

    >>> [round(float(bits), 3) for bits in laplace_information(np.array([0.0, 1.0, 10.0]))[0]]
    [0.0, 0.049, 1.247]
    """
    epsilon = np.asarray(epsilon, dtype=float)
    low = np.where(epsilon < SERIES, epsilon, 0.0)
    bits, slope = _integrate_answer(
        np.where((epsilon >= SERIES) & np.isfinite(epsilon), epsilon, 1)
    )
    few = low**2 / 24 * (1 - low / 5 + 19 / 840 * low**2)
    steep = low / 12 * (1 - 0.3 * low + 19 / 420 * low**2)
    bits = np.where(epsilon < SERIES, few, bits) / np.log(2)
    slope = np.where(epsilon < SERIES, steep, slope) / np.log(2)
    certain = np.isinf(epsilon)
    return np.where(certain, np.inf, bits), np.where(certain, 0.0, slope)


def _integrate_answer(e: Array) -> Pair:
    """`laplace_information` in nats (...) and its slope, by quadrature.

    Outside the range the answer's density falls exponentially; inside, nodes crowd within 1/epsilon
    of the ends.
    """
    wide = e[..., None]
    reach = np.log1p(wide)
    spot = (NODES + 1) / 2
    at = np.expm1(reach * spot) / np.expm1(reach) / 2
    width = WEIGHTS * reach * np.exp(reach * spot) / np.expm1(reach) / 2
    near, far = np.exp(-wide * at), np.exp(-wide * (1 - at))
    density = -(np.expm1(-wide * at) + np.expm1(-wide * (1 - at))) / 2
    change = (at * near + (1 - at) * far) / 2
    logs = np.log(density)
    inside = -(width * density * logs).sum(axis=-1)
    inside_slope = -(width * change * (1 + logs)).sum(axis=-1)
    height = -np.expm1(-e) / 2
    fall = np.exp(-e) / 2
    unit = 1 - np.log(height)
    outside = 2 * height / e * unit
    outside_slope = 2 * ((fall - height / e) * unit - fall) / e
    nats = inside + outside - 1 - np.log(2 / e)
    return nats, inside_slope + outside_slope + 1 / e
