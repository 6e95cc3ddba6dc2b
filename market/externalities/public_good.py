"""A market without money: everybody enjoys one public estimate, and each chooses how precisely to disclose its datum.

An owner's choice is the precision x of what it discloses (in the place of epsilon), which costs it ``c x^2``.
The estimate from all has variance ``1 / sum of x``, a loss to everybody, contributor or not. Each owner weighs
its own cost against its own part of the gain, so all disclose too little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.declaration import PerOwner
from learning.errors import InputError
from market.analysis.optimum import social_optimum
from market.columns import as_parameter, column, owners_column
from market.costs.functions import Quadratic
from market.equilibrium.solver import Equilibrium, solve
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy


@dataclass(frozen=True)
class Precision:
    """A forecast: the variance of an estimate from independent disclosures, ``1 / (prior + sum of x)``.

    Parameters
    ----------
    prior : float, precision of what is known before anybody discloses anything
    outside : float or None, variance where nothing is known; ``1 / prior`` unless there is no prior

    Raises
    ------
    InputError
        Neither a prior nor an outside variance, or one that is negative or not finite.

    >>> law = Precision(prior=1.0)
    >>> law.outside, float(law.excess(law.terms(np.array([2.0, 5.0])).sum(axis=0)))
    (1.0, 0.125)
    """

    prior: float = 0.0
    outside: Any = None

    def __post_init__(self) -> None:
        prior = float(as_parameter("forecast.prior", self.prior))
        object.__setattr__(self, "prior", prior)
        if prior == 0 and self.outside is None:
            raise InputError("forecast.outside", "is needed where nothing is known before", "none")
        outside = 1 / prior if prior > 0 else self.outside
        object.__setattr__(self, "outside", float(as_parameter("forecast.outside", outside)))

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """Each owner's precision: (n_owners, ...) -> (n_owners, ..., 1)."""
        return np.asarray(epsilon, dtype=float)[..., None]

    def excess(self, sums: np.ndarray) -> np.ndarray:
        """Variance of the estimate: (..., 1) -> (...)."""
        total = self.prior + sums[..., 0]
        return np.divide(1.0, total, out=np.full(np.shape(total), self.outside), where=total > 0)

    def slopes(self, epsilon: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Derivative of the variance by an owner's own precision, (n_owners, m)."""
        return -(self.excess(sums) ** 2)


@dataclass(frozen=True)
class InKind(Policy):
    """No money: each owner enjoys the model itself, ``valuation_i * (outside - psi)``, whether it shares or not.

    The game is a potential game (`potential`). Up to what an owner cannot change it is the marginal policy with
    share ``valuation_i / V``: who wants a social optimum has to pay everybody the gain of all.

    Parameters
    ----------
    valuation : scalar or (n_owners,), money per unit of relative fitness

    Raises
    ------
    InputError
        A negative or non-finite valuation.
    """

    valuation: PerOwner = 1.0

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """What the model is worth to each owner at each candidate (n_owners, m)."""
        return column(self.valuation, epsilon) * (deviations.game.forecast.outside - deviations.fitness(epsilon))

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Value of a further unit of an owner's own choice (n_owners, m)."""
        return -column(self.valuation, epsilon) * deviations.fitness_slope(epsilon)


def potential(game: Game, epsilon: np.ndarray) -> float:
    """What every owner's move raises in step with its own surplus: ``(outside - psi) - sum cost_i / valuation_i``.

    If owner i alone moves, its surplus changes by ``valuation_i`` times the change of the potential; with valuations of 1
    the potential is exact. Its maximum is an equilibrium.

    Parameters
    ----------
    game : Game
        Under `InKind`, with valuations above 0 and no benefits besides.
    epsilon : (n_owners,)

    Raises
    ------
    ValueError
        Another policy, a valuation of 0, or owners with benefits.

    Source: Monderer and Shapley, Potential Games; Chessa, Grossklags and Loiseau, A game-theoretic study on
    non-monetary incentives in data analytics projects with privacy implications.
    """
    if not isinstance(game.policy, InKind) or not np.all(game.policy.valuation > 0) or game.owners.benefit.any():
        raise ValueError("a potential is known for InKind with valuations above 0 and no benefits; found another game")
    return float(game.forecast.outside - game.fitness(epsilon) - (game.costs(epsilon) / game.policy.valuation).sum())


def public_good(price: Any, *, valuation: Any = 1.0, prior: float = 0.0) -> Game:
    """The game in which each owner bears ``price_i x_i^2 + valuation_i / (prior + sum of x)``, on intervals that bind none.

    With W all valuations together, an owner's best response is at most ``(W / 2c)^(1/3)``, what it would choose alone and on
    everybody's behalf, and at least its response to all others at that; so is the social optimum.

    Parameters
    ----------
    price : (n_owners,), c, money per squared unit of precision, above 0
    valuation : scalar or (n_owners,), money per unit of variance, above 0
    prior : float, precision of what is known before

    Returns
    -------
    Game
        Its ``value`` is W, so that `market.analysis.welfare.welfare` counts what the estimate is worth to all, once. (Its
        `learner_surplus` means nothing: there is no learner.)

    Raises
    ------
    InputError
        No column of prices, or a number out of range.
    """
    price = as_parameter("owners.cost.price", price, strict=True)
    if price.ndim == 0:
        raise InputError("owners.cost.price", "needs one number per owner", f"{float(price):g}")
    valuations = owners_column("policy.valuation", valuation, len(price), strict=True)
    known = float(as_parameter("forecast.prior", prior))
    most = 2 * np.cbrt(valuations.sum() / (2 * price))  # twice, and with that least lower still: nobody is at an end
    least = valuations / (2 * price * (known + most.sum()) ** 2)
    law = Precision(known, None if known > 0 else 1 / least.sum())
    names = tuple(f"owner {i + 1}" for i in range(len(price)))
    people = Owners(names, 1.0, least, most, Quadratic(2 * price))
    return Game(people, InKind(valuations), law, float(valuations.sum()))


@dataclass(frozen=True)
class PublicGood:
    """What owners disclose in equilibrium, what would be best, and what the difference loses.

    Attributes
    ----------
    equilibrium : Equilibrium
        Its ``epsilon`` holds the precisions.
    optimum : (n_owners,), precisions at which all together lose least
    variance, best_variance : of the estimate, at the equilibrium and at the optimum
    loss, best_loss : costs plus valuations times the variance, summed over owners, money
    """

    equilibrium: Equilibrium
    optimum: np.ndarray
    variance: float
    best_variance: float
    loss: float
    best_loss: float

    @property
    def price_of_anarchy(self) -> float:
        """Loss at the equilibrium over the least loss: 1 loses nothing."""
        return self.loss / self.best_loss


def solve_public_good(game: Game, *, rng: np.random.Generator, starts: int = 4) -> PublicGood:
    """The equilibrium and the social optimum of a `public_good` game, by the solvers of every market.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
    starts : int

    Returns
    -------
    PublicGood

    Source: Chessa, Grossklags and Loiseau, as above. Equal owners: equilibrium ``(2 c n^2)^(-1/3)``, optimum
    ``(2 c n)^(-1/3)``, price of anarchy ``n^(1/3) (2 + 1/n) / 3``, which grows without bound.

    >>> result = solve_public_good(public_good([1.0] * 10), rng=np.random.default_rng(0))
    >>> [round(float(x), 6) for x in (result.equilibrium.epsilon[0], result.optimum[0], result.price_of_anarchy)]
    [0.170998, 0.368403, 1.508104]
    """
    found = solve(game, rng=rng, starts=starts)
    best = social_optimum(game, start=found.epsilon).epsilon
    losses = [game.value * game.fitness(at) + float(game.costs(at).sum()) for at in (found.epsilon, best)]
    return PublicGood(found, best, game.fitness(found.epsilon), game.fitness(best), *losses)
