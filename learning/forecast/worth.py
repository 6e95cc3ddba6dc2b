"""How much privacy is worth buying: the budget beyond which an owner's noise lies under its own sampling noise."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.forecast.fitness import FitnessForecast
from learning.privacy.mechanism import Mechanism

MOST_STEPS = 200  # of the fixed point; each lowers budgets, and ten do where plans do not change
CLOSE = 1e-9  # relative change at which it is reached
NODES = 256  # more owners of different sizes are read off a curve through so many, which is within 1e-6


def epsilon_worth(forecast: FitnessForecast, epsilon: ArrayLike) -> Array:
    """The budget of each owner beyond which its noise adds less to the model's error than its few records do, (n_owners,).

    With q the owner's weight, its noise adds K q^2 v(epsilon) to the forecast and its sampling noise (C/f*) q^2/n, so that
    more than the epsilon with K v(epsilon) = (C/f*)/n moves the model by less than another sample of its records would. K
    is what a unit of noise costs under the plan in use at the profile (`FitnessForecast.noise_slope`). What noise is left
    beyond adds no more than sampling does, and under pure privacy falls as 1/epsilon^2.

    Parameters
    ----------
    forecast : exact or calibrated.
    epsilon : array (n_owners,), the profile, such as the one that owners settle on. Of an owner that shares nothing, what
        would be worth buying beside the others.

    Returns
    -------
    array (n_owners,); nan where nothing is asked, inf where no budget brings the noise down so far.

    Source: ours; the same threshold stands in the best weights, q proportional to 1/(K v + C/n) (`Weighting`).

    >>> from learning.forecast.envelope import Envelope
    >>> from learning.forecast.plan_set import PlanSet
    >>> from learning.privacy.laplace import Laplace
    >>> from learning.training.plan import Plan
    >>> bias, slope = np.array([0.01]), np.array([5.0])
    >>> lines = PlanSet((Plan("averaged", "last", 2, 0.5),), bias, slope), Envelope.of(bias, slope, ceiling=np.inf)
    >>> made = FitnessForecast(np.array([1e3, 1e4]), Laplace(), *lines, 1.0, dispersion=2.0, basis="oracle")
    >>> epsilon_worth(made, [1.0, 1.0]).round(4)  # 5 * 8/(n epsilon)^2 = 2/n
    array([0.1414, 0.0447])
    """
    epsilon = np.asarray(epsilon, dtype=float)
    asked = forecast.asks(forecast.terms(epsilon).sum(axis=0))
    slope = forecast.noise_slope(epsilon) if asked else 0.0
    if slope <= 0:
        return np.full(len(forecast.sizes), np.nan)
    return _budgets(forecast.mechanism, forecast.worth_term(epsilon, slope))


def _budgets(mechanism: Mechanism, terms: Array) -> Array:
    """`Mechanism.budget` of terms (n,), of many by a curve through some: in logs it is all but straight."""
    distinct, index = np.unique(terms, return_inverse=True)
    if len(distinct) <= NODES or distinct[0] == 0:
        return mechanism.budget(distinct)[index]
    nodes = np.geomspace(distinct[0], distinct[-1], NODES)
    budgets = mechanism.budget(nodes)
    if not np.isfinite(budgets).all() or budgets.min() == 0:
        return mechanism.budget(distinct)[index]
    curve = scipy.interpolate.PchipInterpolator(np.log(nodes), np.log(budgets))
    return np.asarray(np.exp(curve(np.log(distinct)))[index])


def worth_of_all(forecast: FitnessForecast, least: ArrayLike, most: ArrayLike) -> Array:
    """The budgets that are worth buying where everybody sells just that, (n_owners,): what can be announced beforehand.

    The more others sell, the more a unit of noise matters, and the more of an owner's budget is worth buying. So from the
    most that anybody may sell, `epsilon_worth` of what it said before falls to a fixed point, the largest there is.

    Parameters
    ----------
    forecast : as there.
    least, most : arrays (n_owners,), the ends of the owners' intervals.

    Returns
    -------
    array (n_owners,), not cut to the intervals; inf where no budget is enough, or nothing would be asked.
    """
    least, most = np.asarray(least, dtype=float), np.asarray(most, dtype=float)
    now, at = np.full(len(forecast.sizes), np.inf), most
    for _ in range(MOST_STEPS):
        found = epsilon_worth(forecast, at)
        found = np.where(np.isnan(found), np.inf, found)
        if np.allclose(found, now, rtol=CLOSE, atol=0):
            break
        now, at = found, np.clip(found, least, most)
    return now
