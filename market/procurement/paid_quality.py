"""A posted price for quality, the logarithm of the information in noisy answers (PAID-FD)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from learning.declaration import Positive
from market.columns import Array, Pair
from market.procurement.mechanism import Budgeted

# Prices among which the learner's best is searched.
TRIED = 2000
# Prices tried at most until the budget is spent; eight are usual.
TURNS = 100
# Relative precision of the budget.
EXACT = 1e-13
# Newton's steps at most, from above, where the function is convex.
NEWTON = 60


class Response(NamedTuple):
    """Owners' responses to a price, any shape: volume of the upload, its epsilon, and utility."""

    volume: Array
    epsilon: Array
    utility: Array


def upload_quality(volume: Any, epsilon: Any) -> Array:
    """Quality of an upload: ``log(1 + s g)`` with ``g = epsilon / (1 + epsilon)``, any shape.

    Source: PAID-FD, equation (10).

    >>> upload_quality(3.0, np.array([0.0, 1.0, np.inf])).round(4).tolist()
    [0.0, 0.9163, 1.3863]
    """
    return np.log1p(np.asarray(volume) * information_kept(epsilon))


def information_kept(epsilon: Any) -> Array:
    """Part of the information that remains under noise, ``epsilon / (1 + epsilon)``, any shape."""
    epsilon = np.asarray(epsilon, dtype=float)
    return 1 - 1 / (1 + epsilon)


def owner_utility(
    price: Any, volume: Any, epsilon: Any, upload_cost: Any, sensitivity: Any
) -> Array:
    """Utility of an owner, ``p q(s, epsilon) - c s - lambda epsilon``, money (equation 12)."""
    paid = price * upload_quality(volume, epsilon)
    return paid - upload_cost * volume - sensitivity * epsilon


def best_response(
    price: Any,
    upload_cost: Any,
    sensitivity: Any,
    *,
    volume_max: float = 5000.0,
    epsilon_max: float = 10.0,
) -> Response:
    """Best upload and epsilon of an owner at a price, or nothing.

    With ``s = p/c - (1 + epsilon)/epsilon`` in the condition for epsilon, ``lambda e^3 + lambda e^2
    + (c - p) e + c = 0``: of its two positive roots the larger is the best and the smaller a
    saddle. Where the upload is at its bound, epsilon is the root of a square.

    Parameters
    ----------
    price : money per unit of quality, above 0
    upload_cost : money per unit of volume, c, above 0
    sensitivity : money per unit of epsilon, lambda, above 0
    volume_max, epsilon_max : float, above 0

    Source: PAID-FD, equation (12). Equation (16) is printed with 1 in the place of c twice
        (`printed_response`), and said to have one positive root, where Descartes' rule of signs
        says two or none.

    >>> best = best_response(5.0, 0.2, 0.4)
    >>> [round(float(one), 3) for one in best]
    [23.664, 2.976, 8.723]
    """
    price, cost, care = _float_arrays(price, upload_cost, sensitivity)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        inner = np.minimum(_larger_root(care, cost - price, cost), epsilon_max)
        outer = np.minimum(epsilon_at(price, care, volume_max), epsilon_max)
        epsilons = np.stack([inner, outer])
        volumes = np.clip(price / cost - 1 / information_kept(epsilons), 0, volume_max)
        gains = owner_utility(price, volumes, epsilons, cost, care)
    gains = np.where(np.isfinite(gains), gains, -np.inf)
    which = gains.argmax(axis=0)[None]
    volume, epsilon = (np.take_along_axis(one, which, axis=0)[0] for one in (volumes, epsilons))
    return _or_nothing(volume, epsilon, gains.max(axis=0))


def printed_response(
    price: Any,
    upload_cost: Any,
    sensitivity: Any,
    *,
    volume_max: float = 5000.0,
    epsilon_max: float = 10.0,
) -> Response:
    """Response as printed: the larger root of ``lambda e^3 + lambda e^2 + (1 - p) e + 1 = 0``.

    Parameters and result as of `best_response`.

    Source: PAID-FD, Theorem 1, equations (16) and (17), and Algorithm 1.

    >>> [round(float(one), 3) for one in printed_response(5.0, 0.2, 0.4)]
    [23.607, 2.544, 8.698]
    """
    price, cost, care = _float_arrays(price, upload_cost, sensitivity)
    with np.errstate(invalid="ignore", divide="ignore"):
        epsilon = np.minimum(_larger_root(care, 1 - price, np.ones_like(price)), epsilon_max)
        volume = np.clip(price / cost - 1 / information_kept(epsilon), 0, volume_max)
        utility = owner_utility(price, volume, epsilon, cost, care)
    return _or_nothing(volume, epsilon, np.where(np.isfinite(utility), utility, -np.inf))


def _float_arrays(*given: Any) -> list[Array]:
    return [np.array(one, dtype=float) for one in np.broadcast_arrays(*given)]


def _or_nothing(volume: Array, epsilon: Array, utility: Array) -> Response:
    """Response, or zeros where its utility is not above 0."""
    return Response(*(np.where(utility > 0, one, 0.0) for one in (volume, epsilon, utility)))


def _larger_root(lead: Array, slope: Array, constant: Array) -> Array:
    """Larger positive root of ``lead (e^3 + e^2) + slope e + constant``, nan without one.

    With lead and constant above 0 the function is convex there, so Newton's steps from above come
    down to the root.
    """
    lowest = (np.sqrt(1 - 3 * slope / lead) - 1) / 3
    exists = (slope < 0) & (lead * (lowest**3 + lowest**2) + slope * lowest + constant <= 0)
    root = np.where(exists, np.sqrt(np.maximum(-slope, 0) / lead) + 1.0, np.nan)
    for _ in range(NEWTON):
        value = lead * (root**3 + root**2) + slope * root + constant
        step = value / (lead * (3 * root**2 + 2 * root) + slope)
        root = np.where(step > 0, root - step, root)
        if not np.any(step > 1e-15 * root):
            break
    return root


def epsilon_at(price: Any, sensitivity: Any, volume: float) -> Array:
    """Best epsilon of an owner that uploads ``volume`` in any case, any shape; 0 where none pays.

    ``p s = lambda (1 + e)(1 + (1 + s) e)``, from ``p s g'/(1 + s g) = lambda``. Here 6 = (1 + e)(1
    + 2e):

    >>> float(epsilon_at(6.0, 1.0, 1.0))
    1.0
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        worth = price * volume / np.asarray(sensitivity, dtype=float)
        # ps / lambda - 1 = (2 + s) e + (1 + s) e^2.
        inner = np.maximum(np.where(np.asarray(price) > 0, worth, 0.0) - 1, 0.0)
        root = np.sqrt((2 + volume) ** 2 + 4 * (1 + volume) * inner)
        return np.where(np.isinf(inner), np.inf, 2 * inner / (2 + volume + root))


class PriceSet(NamedTuple):
    """A learner's best price, the owners' responses, and its gain."""

    price: float
    response: Response
    gain: float


def best_price(
    value: float, upload_cost: Array, sensitivity: Array, *, respond: Any = best_response
) -> PriceSet:
    """Price below ``value`` of the largest gain, ``(value - p) sum of qualities``, by search.

    Parameters
    ----------
    value : float, money per unit of quality, gamma
    upload_cost, sensitivity : (n_owners,)
    respond : `best_response` or `printed_response`

    Source: PAID-FD, equation (22). Algorithm 2 assumes one peak; entering owners make several, so
        we try 2,000 prices.
    """
    prices = value * (np.arange(TRIED) + 0.5) / TRIED
    answers = respond(prices[:, None], upload_cost, sensitivity)
    gains = (value - prices) * upload_quality(answers.volume, answers.epsilon).sum(axis=1)
    best = int(gains.argmax())
    response = Response(*(part[best] for part in answers))
    return PriceSet(float(prices[best]), response, float(gains[best]))


@dataclass(frozen=True)
class PaidQuality(Budgeted):
    """One price for quality, ``p log(1 + s epsilon / (1 + epsilon))``, that spends a budget.

    Each owner sells the best epsilon for its report at that price: ``p s = c (1 + e)(1 + (1 + s)
    e)``. An owner answers with all its records here, so of the paper's two choices epsilon is left:
    volume is at its bound s and costs nothing.

    Not truthful: the paper's proof (Theorem 5) assumes a price that no report moves, while its
    Algorithm 2 computes the price from the owners' costs. A higher report makes privacy dearer, and
    the price rises until the money is spent again.

    Parameters
    ----------
    budget : float, at least 0, money; all of it is spent unless every owner is at its bound for
        less
    volume : float, above 0, s, what an owner uploads; by default about what owners of the paper's
        costs do at its prices
    epsilon_max : float, above 0, the most that is bought of one owner

    Source: PAID-FD: Privacy-Aware Incentive-Driven Federated Distillation (manuscript, 2026),
        equations (10) to (14) and Algorithm 2, for a budget that binds (C5).

    Two owners of cost 1 and s = 1: at p = 6 each sells e = 1 and is paid 6 log 1.5 = 2.433.

    >>> rule = PaidQuality(12 * np.log(1.5), volume=1.0)
    >>> epsilon, payments = rule.settle(np.array([1.0, 1.0]), np.empty(0))
    >>> epsilon.round(9).tolist(), payments.round(3).tolist()
    ([1.0, 1.0], [2.433, 2.433])
    """

    title = (
        "one price for the logarithm of what noisy answers tell, as high as the money allows "
        "(PAID-FD)"
    )
    volume: Positive = 20.0
    epsilon_max: Positive = 10.0

    def settle(self, reports: Array, chances: Array) -> Pair:
        markets = reports.reshape(-1, reports.shape[-1])
        price = self.market_prices(markets)[:, None]
        epsilon = np.minimum(epsilon_at(price, markets, self.volume), self.epsilon_max)
        payments = price * upload_quality(self.volume, epsilon)
        over = payments.sum(axis=1, keepdims=True) / max(self.budget, np.finfo(float).tiny)
        # The root is known to rounding.
        payments = payments / np.maximum(over, 1.0)
        return epsilon.reshape(reports.shape), payments.reshape(reports.shape)

    def market_prices(self, markets: Array) -> Array:
        """Price that spends the budget in each market: (n_markets, n_owners) -> (n_markets,).

        It lies between a price that does not spend it even on the most quality possible, and one
        at which the cheapest owner alone, at epsilon 1 or its bound, is paid that much; by Newton's
        method for logarithms, and by bisection where that leaves the bracket.
        """
        if self.budget == 0:
            return np.zeros(len(markets))
        one = min(1.0, self.epsilon_max)
        least = self.budget / (markets.shape[1] * upload_quality(self.volume, self.epsilon_max))
        dear = markets.min(axis=1) * (1 + one) * (1 + (1 + self.volume) * one) / self.volume
        most = np.maximum(dear, self.budget / upload_quality(self.volume, one))
        low = np.full(len(markets), np.log(least) - 1e-9)
        high = np.log(most) + 1e-9
        at = high
        for _ in range(TURNS):
            price = np.exp(at)[:, None]
            inner = epsilon_at(price, markets, self.volume)
            epsilon = np.minimum(inner, self.epsilon_max)
            each = upload_quality(self.volume, epsilon)
            more = self.volume / ((2 + self.volume) + 2 * (1 + self.volume) * epsilon)
            more = np.where((inner > 0) & (inner < self.epsilon_max), more, 0.0)
            # Some prices buy nothing.
            with np.errstate(divide="ignore", invalid="ignore"):
                missing = np.log((price * each).sum(axis=1) / self.budget)
                newton = at - missing / (1 + more.sum(axis=1) / each.sum(axis=1))
            moves = np.abs(missing) > EXACT
            if not moves.any():
                break
            low = np.where(missing < 0, at, low)
            high = np.where(missing > 0, at, high)
            inside = (newton > low) & (newton < high)
            at = np.where(moves, np.where(inside, newton, 0.5 * (low + high)), at)
        return np.exp(at)
