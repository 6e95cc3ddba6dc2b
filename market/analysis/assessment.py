"""Exit and entry of owners, and welfare by group."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from market.analysis.optimum import Optimum
from market.analysis.regulation import cap_epsilon
from market.analysis.welfare import SLACK, gini, learner_surplus, participation, welfare
from market.columns import Array, Pair
from market.equilibrium.solver import Equilibrium
from market.game.game import Game


def remove_owners(game: Game, gone: Sequence[int]) -> Game:
    """Game in which some owners have left: they share nothing."""
    most = np.array(game.owners.epsilon_max)
    most[list(gone)] = 0.0
    return cap_epsilon(game, most)


def stay_or_leave(
    game: Game, settle: Callable[[Game], Equilibrium]
) -> tuple[Equilibrium, tuple[int, ...]]:
    """Equilibrium of a market that owners may leave and re-enter.

    While any owner is below its outside option in equilibrium, the one furthest below leaves (a
    tenth of them at a time where they are many), since a departure changes the others' payments.
    Then, while any owner that left would gain by re-entry, the others' budgets fixed, the one that
    would gain most returns.

    Parameters
    ----------
    game : Game
    settle : callable(Game) -> Equilibrium

    Returns
    -------
    Equilibrium, tuple of int
        The regret of an owner that left is its gain by re-entry: above 0, and not converged
        ("cycle found"), where re-entry makes the same set as before. And the numbers of the owners
        that left, in order.
    """
    gone: list[int] = []
    seen: set[frozenset[int]] = set()
    while True:
        now = remove_owners(game, gone)
        found = settle(now)
        part = participation(now, found.epsilon)
        below = np.flatnonzero(~part.rational & (found.epsilon > 0))
        if below.size:
            worst = below[np.argsort(part.surplus[below], kind="stable")]
            gone += [int(owner) for owner in worst[: max(1, len(worst) // 10)]]
            continue
        entry = np.zeros(len(game.owners))
        if gone:
            entry[gone] = gain_by_coming_back(game, found.epsilon, np.array(gone))[1]
        if not entry.any() or frozenset(gone) in seen:
            return _with_entry_regret(found, entry), tuple(gone)
        seen.add(frozenset(gone))
        gone.remove(int(np.argmax(entry)))


def gain_by_coming_back(game: Game, epsilon: Array, gone: Array) -> Pair:
    """Gain (k,) of each owner that left by its best re-entry alone; and that, 0 unless it gains."""
    moves = game.deviations(epsilon, gone)
    best = moves.best_responses()[:, None]
    gain = moves.payoffs(best)[:, 0]
    money = np.abs(moves.payments(best)[:, 0]) + np.abs(moves.costs(best)[:, 0])
    return gain, np.where(gain > SLACK * money, gain, 0.0)


def _with_entry_regret(found: Equilibrium, entry: Array) -> Equilibrium:
    """Add the gains by re-entry (n_owners,) to the regret of an equilibrium."""
    if not entry.any():
        return found
    regret = np.maximum(found.regret, entry)
    ratio = np.where(entry > 0, 1.0, found.relative_regret)
    return replace(
        found, regret=regret, relative_regret=ratio, converged=False, reason="cycle found"
    )


@dataclass(frozen=True)
class WelfareGroups:
    """Welfare by group at a profile, in money.

    Attributes
    ----------
    owners : (n_owners,), each owner's surplus, after tax
    learner, treasury : float
    spending : float, the learner's payments
    fitness : float, relative fitness psi
    total : float, welfare: the sum of all three groups
    gini : float, of the owners' surplus
    price_of_anarchy : float, the best welfare found without rules over ``total``
    anarchy_at_most : float, bound on that; inf where none is known
    equilibrium : Equilibrium, the profile with its certificate
    """

    owners: Array
    learner: float
    treasury: float
    spending: float
    fitness: float
    total: float
    gini: float
    price_of_anarchy: float
    anarchy_at_most: float
    equilibrium: Equilibrium


def welfare_groups(game: Game, equilibrium: Equilibrium, best: Optimum) -> WelfareGroups:
    """Welfare by group at an equilibrium of ``game``, compared with the optimum ``best``."""
    epsilon = equilibrium.epsilon
    surplus = game.payoffs(epsilon)
    total = welfare(game, epsilon)
    anarchy = best.price_of_anarchy(total)
    return WelfareGroups(
        owners=surplus,
        learner=learner_surplus(game, epsilon),
        treasury=float(game.taxes(epsilon).sum()),
        spending=float(game.payments(epsilon).sum()),
        fitness=game.fitness(epsilon),
        total=total,
        gini=gini(surplus),
        price_of_anarchy=anarchy[0],
        anarchy_at_most=anarchy[1],
        equilibrium=equilibrium,
    )
