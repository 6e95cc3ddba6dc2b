"""Equilibria of up to three owners by brute force: payoffs on a grid of whole profiles, then first-order conditions.

A second route for what `market.equilibrium` finds: payoffs are written here from the definitions of
the policies, every profile of the grid is looked at, and no code of the solver takes part.
"""

from __future__ import annotations

from itertools import product

import numpy as np

POINTS = {1: 200, 2: 120, 3: 32}  # of each interval
DEEP = 1e-4  # where an owner may stay out, its grid starts at this part of its upper end
NEWTON = 16  # steps from the middle of a cell
SLOPE = 1e-5  # relative steps of differences
CURVE = 1e-4
REFUSAL = 1e-4  # so much less of every budget makes a learner refuse that stands on the edge
CELLS = 400  # cells of a grid that are polished at most
REGRET = (
    1e-7  # largest regret, as a part of what an owner's best move brings it over its least budget
)
ROUNDING = 1e-13  # gains below this part of the money that changes hands are none
SAME = 1e-4  # equilibria closer than this part of the upper ends are one


def payments(game, e):
    """What each owner is promised at whole profiles (n, ...), from the definition of the policy."""
    policy = game.policy
    sizes = column(game.owners.sizes, e)
    kind = type(game.policy).__name__
    if kind == "Posted":
        if policy.per == "bit":
            grown = np.exp(e)
            values = policy.values
            sold = np.log2(values * grown / (values - 1 + grown))
        else:
            sold = e
        return column(policy.price, e) * sold * (1 if policy.per == "epsilon" else sizes)
    if kind == "Proportional":
        bases = {"epsilon": e, "records_epsilon": sizes * e, "records_epsilon2": sizes * e**2}
        total = bases[policy.basis].sum(axis=0)
        return policy.budget * bases[policy.basis] / np.where(total > 0, total, 1.0)
    if kind == "Marginal":
        psi = fitness(game, e)
        without = []
        for i in range(len(e)):
            absent = e.copy()
            absent[i] = 0.0 if policy.reference == "absent" else game.owners.epsilon_min[i]
            without.append(fitness(game, absent))
        return column(policy.share, e) * game.value * (np.array(without) - psi)
    if kind == "Tiers":
        steps = zip(policy.thresholds, np.diff(policy.amounts, prepend=0.0), strict=True)
        return sum(amount * (e >= threshold) for threshold, amount in steps)
    if kind == "Shapley":
        return np.array([shapley(game, e, i) for i in range(len(e))])
    raise NotImplementedError(kind)


def shapley(game, e, i):
    """The average over all orders of joining of what one owner adds to the learner's gain."""
    from math import factorial

    rest = [j for j in range(len(e)) if j != i]
    n = len(e)
    total = 0.0
    for there in product([False, True], repeat=n - 1):
        before = e.copy()
        size = sum(there)
        before[[j for j, one in zip(rest, there, strict=True) if not one]] = 0.0
        without = before.copy()
        without[i] = 0.0
        weight = factorial(size) * factorial(n - 1 - size) / factorial(n)
        total = total + weight * (fitness(game, without) - fitness(game, before))
    return game.policy.share * game.value * total


def column(values, e):
    """A number or one per owner (n,) beside profiles (n, ...)."""
    return np.broadcast_to(values, (len(e),)).reshape(-1, *[1] * (e.ndim - 1))


def fitness(game, e):
    """Relative fitness at whole profiles (n, ...)."""
    return game.forecast.excess(game.forecast.terms(e).sum(axis=0))


def surplus(game, e):
    """Surplus of each owner at whole profiles (n, ...), no gain where the learner asks nothing."""
    owners = game.owners
    lost = owners.cost.value(e.reshape(len(e), -1), owners.sizes).reshape(e.shape)
    kept = payments(game, e) - lost - column(owners.fixed_cost, e) * (e > 0)
    if owners.benefit.any():
        better = np.maximum(column(owners.isolated, e) - fitness(game, e), 0.0)
        kept = kept + column(owners.benefit, e) * better * (e > 0)
    if game.may_decline:
        asked = game.forecast.asks(game.forecast.terms(e).sum(axis=0))
        kept = np.where(asked, kept, np.minimum(kept, 0.0))
    return kept


def grids(game):
    """Points of each owner's interval, its ends and where payments may jump among them."""
    found = []
    for low, high in zip(game.owners.epsilon_min, game.owners.epsilon_max, strict=True):
        points = POINTS[len(game.owners)] - (low == 0)
        found.append(
            np.concatenate([[0.0] * int(low == 0), np.geomspace(low or DEEP * high, high, points)])
        )
        found[-1][-1] = high
    jumps = game.policy.payment_jumps(game.owners)
    return [np.unique([*grid, *jumps[i][jumps[i] <= grid[-1]]]) for i, grid in enumerate(found)]


def candidate_cells(game, axes):
    """Numbers of the cells (m, n) in which every owner's best answer may meet where it stands."""
    kept = surplus(game, np.stack(np.meshgrid(*axes, indexing="ij")))
    n = len(axes)
    possible = True
    for i in range(n):
        best = np.expand_dims(kept[i].argmax(axis=i), i)
        ahead = np.sign(
            best - np.arange(len(axes[i])).reshape([-1 if j == i else 1 for j in range(n)])
        )
        cells = [ahead[tuple(slice(b, b + len(axis) - 1) for b, axis in zip(corner, axes, strict=True))]
                 for corner in product([0, 1], repeat=n)]  # fmt: skip
        possible = possible & (np.min(cells, axis=0) <= 0) & (np.max(cells, axis=0) >= 0)
    return np.argwhere(possible)


def polished(game, axes, cells, pinned):
    """Profiles (n, m) in or near cells (m, n) at which owners pinned to an end (0 or 1) stand there and others on no slope.

    Newton's method in log epsilon by differences, all cells at once; those that end elsewhere are
    left out.
    """
    n = len(axes)
    m = len(cells)
    ends = np.array(
        [[axis[at], axis[at + 1]] for axis, at in zip(axes, cells.T, strict=True)]
    )  # (n, 2, m)
    free = [i for i in range(n) if pinned[i] is None]
    at = np.array(
        [ends[i].mean(axis=0) if pinned[i] is None else ends[i, pinned[i]] for i in range(n)]
    )

    def slopes(e):
        moved = np.repeat(e[:, None], 2 * len(free), axis=1)
        for k, i in enumerate(free):
            moved[i, [2 * k, 2 * k + 1]] *= np.array([[1 + SLOPE], [1 - SLOPE]])
        kept = surplus(game, moved)
        return np.array([kept[i, 2 * k] - kept[i, 2 * k + 1] for k, i in enumerate(free)])

    for _ in range(NEWTON if free else 0):
        slope = slopes(at)
        matrix = np.empty((len(free), len(free), m))
        for k, i in enumerate(free):
            ahead = at.copy()
            behind = at.copy()
            ahead[i] *= 1 + CURVE
            behind[i] *= 1 - CURVE
            matrix[:, k] = (slopes(ahead) - slopes(behind)) / (2 * CURVE)
        size = np.abs(matrix).max(axis=(0, 1)) + 1e-300
        matrix = np.moveaxis(np.nan_to_num(matrix / size), -1, 0)
        step = -(
            np.linalg.pinv(matrix, rcond=1e-12)
            @ np.moveaxis(np.nan_to_num(slope / size), -1, 0)[..., None]
        )[..., 0].T
        at[free] *= np.exp(np.clip(step, -0.3, 0.3))
        at = np.minimum(at, 10 * game.owners.epsilon_max[:, None])
    width = ends[:, 1] - ends[:, 0]
    inside = ((at >= ends[:, 0] - 2 * width) & (at <= ends[:, 1] + 2 * width)).all(axis=0)
    return at[:, inside]


def regret(game, e):
    """What each owner could gain by moving alone, as a part of what its best move brings over its least (n,)."""
    found = []
    for i, high in enumerate(game.owners.epsilon_max):
        low = game.owners.epsilon_min[i]
        near = np.clip(e[i] * np.linspace(0.9, 1.1, 401), low, high)
        tried = np.concatenate([[e[i], low], np.geomspace(low or 1e-6 * high, high, 1000), near,
                                game.policy.payment_jumps(game.owners)[i]])  # fmt: skip
        whole = np.repeat(e[:, None], len(tried), axis=1)
        whole[i] = np.clip(tried, low, high)
        kept = surplus(game, whole)[i]
        money = np.abs(kept).min() + np.abs(payments(game, e[:, None])[i, 0])
        gain = max(kept.max() - kept[0] - ROUNDING * money, 0.0)
        found.append(gain / max(kept.max() - kept[1], 1e-300))
    return np.array(found)


def dense_equilibria(game):
    """Every equilibrium that the grid shows, polished and checked against 1,400 moves of each owner: list of (n,)."""
    axes = grids(game)
    found = []
    cells = candidate_cells(game, axes)
    patterns = {}
    for cell in cells[np.linspace(0, len(cells) - 1, min(len(cells), CELLS)).astype(int)]:
        ends = [[None, *([0] if at == 0 or leaps(game, i, axis[at]) else []),
                 *([1] if at == len(axis) - 2 or leaps(game, i, axis[at + 1]) else [])]
                for i, (axis, at) in enumerate(zip(axes, cell, strict=True))]  # fmt: skip
        for pinned in product(*ends):
            patterns.setdefault(pinned, []).append(cell)
    low = game.owners.epsilon_min
    high = game.owners.epsilon_max
    for pinned, members in patterns.items():
        for e in polished(game, axes, np.array(members), pinned).T:
            at = np.clip(e, low, high)
            near = any((np.abs(at - one) <= SAME * high).all() for one in found)
            if (
                not near
                and not (at.any() and refused(game, at))
                and regret(game, at).max() <= REGRET
            ):
                found.append(at)
    return found


def refused(game, e):
    """Whether the learner asks nothing at a profile (n,), or would with a little less: such equilibria are a continuum."""
    return game.may_decline and not bool(
        game.forecast.asks(game.forecast.terms(e * (1 - REFUSAL)).sum(axis=0))
    )


def leaps(game, i, at):
    """Whether payments may jump where owner i stands at a point of its grid."""
    return bool(np.isin(at, game.policy.payment_jumps(game.owners)[i]).any())
