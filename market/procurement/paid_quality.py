"""A posted price for quality: owners are paid for the logarithm of what their noisy answers tell (PAID-FD)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from learning.declaration import NonNegative, Positive, parameter
from market.procurement.mechanism import ProcurementMechanism

TRIED = 2000  # prices among which the learner's best is looked for
TURNS = 100  # prices tried at most until the budget is spent; eight are usual
EXACT = 1e-13  # relative, of the budget
CONVEX = 60  # Newton's steps at most, from above, where the function is convex


class Response(NamedTuple):
    """What owners answer to a price, any shape: how much they upload, at which epsilon, and what that leaves them with."""

    volume: np.ndarray
    epsilon: np.ndarray
    utility: np.ndarray


def quality(volume: Any, epsilon: Any) -> np.ndarray:
    """What an upload is worth: ``log(1 + s g)`` with ``g = epsilon / (1 + epsilon)``, any shape.

    Source: PAID-FD, equation (10).

    >>> quality(3.0, np.array([0.0, 1.0, np.inf])).round(4).tolist()
    [0.0, 0.9163, 1.3863]
    """
    return np.log1p(np.asarray(volume) * told(epsilon))


def told(epsilon: Any) -> np.ndarray:
    """The part of the information that noise leaves, ``epsilon / (1 + epsilon)``, any shape."""
    epsilon = np.asarray(epsilon, dtype=float)
    return 1 - 1 / (1 + epsilon)


def utility(price: Any, volume: Any, epsilon: Any, upload_cost: Any, sensitivity: Any) -> np.ndarray:
    """What an owner is left with, ``p q(s, epsilon) - c s - lambda epsilon``, money, any shape (equation 12)."""
    return price * quality(volume, epsilon) - upload_cost * volume - sensitivity * epsilon


def best_response(
    price: Any, upload_cost: Any, sensitivity: Any, *, volume_max: float = 5000.0, epsilon_max: float = 10.0
) -> Response:
    """The upload and epsilon that are best for an owner at a price, or nothing at all.

    With ``s = p/c - (1 + epsilon)/epsilon`` put into the condition for epsilon,
    ``lambda e^3 + lambda e^2 + (c - p) e + c = 0``: of its two positive roots the larger is the best and the smaller a
    saddle. Where the upload is at its bound, epsilon is the root of a square.

    Parameters
    ----------
    price : money per unit of quality, above 0
    upload_cost : money per unit of volume, c, above 0
    sensitivity : money per unit of epsilon, lambda, above 0
    volume_max, epsilon_max : float, above 0

    Returns
    -------
    Response, of the common shape; zeros where nothing is best

    Source: PAID-FD, equation (12). Equation (16) is printed with 1 in the place of c twice (`printed_response`), and said
    to have one positive root, where Descartes' rule of signs says two or none.

    >>> best = best_response(5.0, 0.2, 0.4)
    >>> [round(float(one), 3) for one in best]
    [23.664, 2.976, 8.723]
    """
    price, cost, care = (np.array(one, dtype=float) for one in np.broadcast_arrays(price, upload_cost, sensitivity))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        inner = np.minimum(_larger_root(care, cost - price, cost), epsilon_max)
        outer = np.minimum(epsilon_at(price, care, volume_max), epsilon_max)
        candidates = [(np.clip(price / cost - 1 / told(e), 0, volume_max), e) for e in (inner, outer)]
        gains = np.stack([utility(price, s, e, cost, care) for s, e in candidates])
    gains = np.where(np.isfinite(gains), gains, -np.inf)
    which, rises = gains.argmax(axis=0)[None], gains.max(axis=0) > 0
    volume, epsilon = (np.take_along_axis(np.stack(part), which, axis=0)[0] for part in zip(*candidates, strict=True))
    return Response(*(np.where(rises, one, 0.0) for one in (volume, epsilon, gains.max(axis=0))))


def printed_response(
    price: Any, upload_cost: Any, sensitivity: Any, *, volume_max: float = 5000.0, epsilon_max: float = 10.0
) -> Response:
    """The same by the equations as printed: the larger root of ``lambda e^3 + lambda e^2 + (1 - p) e + 1 = 0``.

    Parameters and result as of `best_response`.

    Source: PAID-FD, Theorem 1, equations (16) and (17), and Algorithm 1.

    >>> [round(float(one), 3) for one in printed_response(5.0, 0.2, 0.4)]
    [23.607, 2.544, 8.698]
    """
    price, cost, care = (np.array(one, dtype=float) for one in np.broadcast_arrays(price, upload_cost, sensitivity))
    with np.errstate(invalid="ignore", divide="ignore"):
        epsilon = np.minimum(_larger_root(care, 1 - price, np.ones_like(price)), epsilon_max)
        volume = np.clip(price / cost - 1 / told(epsilon), 0, volume_max)
        left = utility(price, volume, epsilon, cost, care)
    takes = np.isfinite(left) & (left > 0)
    return Response(*(np.where(takes, one, 0.0) for one in (volume, epsilon, left)))


def _larger_root(lead: np.ndarray, slope: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """The larger positive root e of ``lead (e^3 + e^2) + slope e + constant``, nan without one; lead, constant above 0.

    The function is convex there, so Newton's steps from above the root come down to it and never pass it.
    """
    lowest = (np.sqrt(1 - 3 * slope / lead) - 1) / 3
    exists = (slope < 0) & (lead * (lowest**3 + lowest**2) + slope * lowest + constant <= 0)
    root = np.where(exists, np.sqrt(np.maximum(-slope, 0) / lead) + 1.0, np.nan)
    for _ in range(CONVEX):
        value = lead * (root**3 + root**2) + slope * root + constant
        step = value / (lead * (3 * root**2 + 2 * root) + slope)
        root = np.where(step > 0, root - step, root)
        if not np.any(step > 1e-15 * root):
            break
    return root


def epsilon_at(price: Any, sensitivity: Any, volume: float) -> np.ndarray:
    """The epsilon that is best for who uploads ``volume`` anyway, any shape; 0 where none pays.

    ``p s = lambda (1 + e)(1 + (1 + s) e)``, from ``p s g'/(1 + s g) = lambda``.

    >>> float(epsilon_at(6.0, 1.0, 1.0))  # 6 = (1 + e)(1 + 2e)
    1.0
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        worth = np.where(np.asarray(price) > 0, price * volume / np.asarray(sensitivity, dtype=float), 0.0)
        inner = np.maximum(worth - 1, 0.0)  # ps / lambda - 1 = (2 + s) e + (1 + s) e^2
        return np.where(
            np.isinf(inner), np.inf, 2 * inner / (2 + volume + np.sqrt((2 + volume) ** 2 + 4 * (1 + volume) * inner))
        )


class PriceSet(NamedTuple):
    """A learner's best price, and what comes of it."""

    price: float
    response: Response
    gain: float


def best_price(
    value: float, upload_cost: np.ndarray, sensitivity: np.ndarray, *, respond: Any = best_response
) -> PriceSet:
    """The price below ``value`` that leaves a learner with the most, ``(value - p) sum of qualities``, by search.

    Parameters
    ----------
    value : float, money per unit of quality, gamma
    upload_cost, sensitivity : (n_owners,)
    respond : `best_response` or `printed_response`

    Returns
    -------
    PriceSet; response (n_owners,) each

    Source: PAID-FD, equation (22). Algorithm 2 narrows in on one peak; owners who join make several, so we try 2,000 prices.
    """
    prices = value * (np.arange(TRIED) + 0.5) / TRIED
    answers = respond(prices[:, None], upload_cost, sensitivity)
    gains = (value - prices) * quality(answers.volume, answers.epsilon).sum(axis=1)
    best = int(gains.argmax())
    return PriceSet(float(prices[best]), Response(*(part[best] for part in answers)), float(gains[best]))


@dataclass(frozen=True)
class PaidQuality(ProcurementMechanism):
    """One price for quality, ``p log(1 + s epsilon / (1 + epsilon))``, as high as the reported costs and a budget allow.

    Each owner sells what is best for its report at that price: ``p s = c (1 + e)(1 + (1 + s) e)``. Here an owner answers
    with all its records anyway, so that of the paper's two choices epsilon is left: volume is at its bound s and costs
    nothing.

    Not truthful: the paper's proof (Theorem 5) holds a price that no report moves, while its Algorithm 2 computes the price
    from the owners' costs. Who reports more makes privacy dearer, and the price rises until the money is spent again.

    Parameters
    ----------
    budget : float, at least 0, money; all of it is spent unless every owner is at its bound for less
    volume : float, above 0, s, what an owner uploads; by default about what owners of the paper's costs do at its prices
    epsilon_max : float, above 0, the most that is bought of one owner

    Raises
    ------
    InputError
        A number not finite or out of range.

    Source: PAID-FD: Privacy-Aware Incentive-Driven Federated Distillation (manuscript, 2026), equations (10) to (14) and
    Algorithm 2, for a budget that binds (C5).

    Two owners of cost 1 and s = 1: at p = 6 each sells e = 1 and is paid 6 log 1.5 = 2.433.

    >>> epsilon, payments = PaidQuality(12 * np.log(1.5), volume=1.0).settle(np.array([1.0, 1.0]), np.empty(0))
    >>> epsilon.round(9).tolist(), payments.round(3).tolist()
    ([1.0, 1.0], [2.433, 2.433])
    """

    title = "one price for the logarithm of what noisy answers tell, as high as the money allows (PAID-FD)"
    budget: NonNegative = parameter("Give the money to spend.")
    volume: Positive = 20.0
    epsilon_max: Positive = 10.0

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        markets = reports.reshape(-1, reports.shape[-1])
        price = self.prices(markets)[:, None]
        epsilon = np.minimum(epsilon_at(price, markets, self.volume), self.epsilon_max)
        payments = price * quality(self.volume, epsilon)
        over = payments.sum(axis=1, keepdims=True) / max(self.budget, np.finfo(float).tiny)
        payments = payments / np.maximum(over, 1.0)  # the root is known to rounding
        return epsilon.reshape(reports.shape), payments.reshape(reports.shape)

    def prices(self, markets: np.ndarray) -> np.ndarray:
        """The price at which the budget is spent in each market: (n_markets, n_owners) -> (n_markets,).

        Between a price at which it is not spent even on the most quality there is, and one at which the cheapest owner
        alone, at epsilon 1 or its bound, is paid so much; by Newton's method for logarithms, and by halves where that errs.
        """
        if self.budget == 0:
            return np.zeros(len(markets))
        one = min(1.0, self.epsilon_max)
        least = self.budget / (markets.shape[1] * quality(self.volume, self.epsilon_max))
        dear = markets.min(axis=1) * (1 + one) * (1 + (1 + self.volume) * one) / self.volume
        most = np.maximum(dear, self.budget / quality(self.volume, one))

        low, high = np.log(least) - 1e-9, np.log(most) + 1e-9
        low, at = np.full(len(markets), low), high
        for _ in range(TURNS):
            price = np.exp(at)[:, None]
            inner = epsilon_at(price, markets, self.volume)
            epsilon = np.minimum(inner, self.epsilon_max)
            each = quality(self.volume, epsilon)
            more = self.volume / ((2 + self.volume) + 2 * (1 + self.volume) * epsilon)
            more = np.where((inner > 0) & (inner < self.epsilon_max), more, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):  # at prices that nobody sells for
                missing = np.log((price * each).sum(axis=1) / self.budget)
                newton = at - missing / (1 + more.sum(axis=1) / each.sum(axis=1))
            moves = np.abs(missing) > EXACT
            if not moves.any():
                break
            low, high = np.where(missing < 0, at, low), np.where(missing > 0, at, high)
            inside = (newton > low) & (newton < high)
            at = np.where(moves, np.where(inside, newton, 0.5 * (low + high)), at)
        return np.exp(at)
