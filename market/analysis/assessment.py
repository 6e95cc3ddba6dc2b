"""What rules of a market do to owners, learner and treasury, and which owners leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from market.analysis.optimum import Optimum, social_optimum
from market.analysis.regulation import cap_epsilon
from market.analysis.united import best_for_union, unite
from market.analysis.welfare import SLACK, gini, learner_surplus, participation, taxes, welfare
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game


def leave(game: Game, gone: Sequence[int]) -> Game:
    """Some owners have left: they share nothing."""
    most = np.array(game.owners.epsilon_max)
    most[list(gone)] = 0.0
    return cap_epsilon(game, most)


def stay_or_leave(game: Game, settle: Callable[[Game], Equilibrium]) -> tuple[Equilibrium, tuple[int, ...]]:
    """Where a market settles whose owners may leave, and come back: who stays gains, and who has left would lose.

    From everybody on, while any is below its outside option in equilibrium, the one most below it goes (of very many below, a
    tenth of them at a time), since a departure changes what the others are paid. Then, while any who has left would gain by
    coming back to the others as they are, the one that would gain most does.

    Parameters
    ----------
    game : Game
    settle : callable(Game) -> Equilibrium

    Returns
    -------
    Equilibrium, tuple of int
        The regret of who has left is what it could gain by coming back; above 0, and not converged ("cycle found"), where who
        comes back makes the same set as before. And the numbers of those gone, in the order they went.
    """
    gone: list[int] = []
    seen: set[frozenset[int]] = set()
    while True:
        now = leave(game, gone)
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
            return _counting_entry(found, entry), tuple(gone)
        seen.add(frozenset(gone))
        gone.remove(int(np.argmax(entry)))


def gain_by_coming_back(game: Game, epsilon: np.ndarray, gone: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Money that each of those gone (k,) would have by coming back alone, at its best; and the same, 0 where it is a loss."""
    moves = game.deviations(epsilon, gone)
    best = moves.best_responses()[:, None]
    gain, money = moves.payoffs(best)[:, 0], np.abs(moves.payments(best)[:, 0]) + np.abs(moves.costs(best)[:, 0])
    return gain, np.where(gain > SLACK * money, gain, 0.0)


def _counting_entry(found: Equilibrium, entry: np.ndarray) -> Equilibrium:
    """The equilibrium of those who stay with what others could gain by coming back (n_owners,) as their regret."""
    if not entry.any():
        return found
    regret, ratio = np.maximum(found.regret, entry), np.where(entry > 0, 1.0, found.relative_regret)
    return replace(found, regret=regret, relative_regret=ratio, converged=False, reason="cycle found")


def settle_with_exit(
    game: Game, *, rng: np.random.Generator, starts: int = 4
) -> tuple[Game, Equilibrium, tuple[int, ...]]:
    """`stay_or_leave`, every equilibrium searched from the same starts.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
        Drawn from once.
    starts : int

    Returns
    -------
    the game of those who stay, its equilibrium, and the numbers of those gone in the order they went
    """
    seed = int(rng.integers(2**63))
    found, gone = stay_or_leave(game, lambda now: solve(now, rng=np.random.default_rng(seed), starts=starts))
    return leave(game, gone), found, gone


@dataclass(frozen=True)
class Groups:
    """Who has what at a profile, in money.

    Attributes
    ----------
    owners : (n_owners,), each owner's surplus, after tax
    learner, treasury : float
    spending : float, what the learner pays
    fitness : float, relative fitness psi
    total : float, welfare: the sum of all three groups
    gini : float, of the owners' surplus
    price_of_anarchy : float, the best welfare found without rules over ``total``
    anarchy_at_most : float, what that can be at most; inf where no bound is known
    equilibrium : Equilibrium, the profile with its certificate
    """

    owners: np.ndarray
    learner: float
    treasury: float
    spending: float
    fitness: float
    total: float
    gini: float
    price_of_anarchy: float
    anarchy_at_most: float
    equilibrium: Equilibrium


def groups(game: Game, equilibrium: Equilibrium, best: Optimum) -> Groups:
    """Welfare by group at an equilibrium of ``game``; ``best`` is what could be had."""
    epsilon = equilibrium.epsilon
    surplus, total, fitness = game.payoffs(epsilon), welfare(game, epsilon), game.fitness(epsilon)
    learner, treasury = learner_surplus(game, epsilon), float(taxes(game, epsilon).sum())
    paid, inequality = float(game.payments(epsilon).sum()), gini(surplus)
    return Groups(surplus, learner, treasury, paid, fitness, total, inequality, *best.anarchy(total), equilibrium)


@dataclass(frozen=True)
class Assessment:
    """A market before and after its rules, and the owners (numbers) that left."""

    before: Groups
    after: Groups
    gone: tuple[int, ...] = ()


def assess(
    game: Game,
    rule: Callable[[Game], Game] = lambda game: game,
    *,
    rng: np.random.Generator,
    union: Sequence[int] = (),
    may_leave: bool = False,
    starts: int = 4,
) -> Assessment:
    """What rules do to owners, learner and treasury, the owners in equilibrium before and after.

    Parameters
    ----------
    game : Game, without rules
    rule : callable(Game) -> Game
        A composition of the rules of `market.analysis.regulation`.
    rng : numpy.random.Generator
    union : numbers of the owners that bargain as one afterwards; none if empty
    may_leave : bool
        Whether owners below their outside option leave afterwards.
    starts : int, starts of each equilibrium search

    Returns
    -------
    Assessment
        With several equilibria, each side is the one found first, except that a union picks its own best.

    Raises
    ------
    ValueError
        Members that `market.analysis.united.unite` refuses, or a union whose members may leave.

    >>> from market.analysis.regulation import cap_epsilon
    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> game = Game(Owners(("A", "B"), 1, 0.0, 9.0, Quadratic([1.0, 2.0])), Posted(4.0), None, 0.0)
    >>> found = assess(game, lambda g: cap_epsilon(g, 1.0), rng=np.random.default_rng(0))
    >>> found.before.owners.round(6).tolist(), found.after.owners.round(6).tolist()
    ([8.0, 4.0], [3.5, 3.0])
    """
    if len(union) and may_leave:
        raise ValueError("a union decides for its members: union and may_leave do not go together")
    before, _, after = rng.spawn(3)
    free = solve(game, rng=before, starts=starts)
    best = social_optimum(game, start=free.epsilon)
    ruled = rule(game)
    gone: tuple[int, ...] = ()
    if may_leave:
        ruled, found, gone = settle_with_exit(ruled, rng=after, starts=starts)
    elif len(union):
        found = best_for_union(ruled, union, solve(unite(ruled, union), rng=after, starts=starts))
    else:
        found = solve(ruled, rng=after, starts=starts)
    return Assessment(groups(game, free, best), groups(ruled, found, best), gone)
