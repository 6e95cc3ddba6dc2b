"""Rules of other data markets, read from their papers' abstracts and their authors' programs.

* martFL (Li, Liu, Li and Xu 2023): updates are scored by their cosine with a baseline, scores are
  grouped, the low group is left out, and owners are paid by weight.
* DAVED (Lu et al. 2024): records are picked by a design for a buyer's queries, targets unseen, and
  paid for at their prices.
* Wasserstein markets (Chhachhi and Teng 2024): owners are picked by a bound on the distance of
  their mean from a target distribution, within a budget of virtual prices.
"""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar

from learning.arrays import Array

GROUPS, REFERENCES = 4, 50  # of scores at most; draws of even scores that they are compared with
NARROW = 0.05  # scores that differ by less are one group
STEPS, LONGEST = 500, 0.9  # of a design


def group_scores(scores: Array, groups: int) -> tuple[Array, float]:
    """Best grouping of numbers (n,): the group of each, 0 the lowest, and its squared error."""
    order = np.argsort(scores, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(scores[order] - scores.mean())])
    cuts = combinations(range(1, len(scores)), groups - 1)
    edges = np.array([(0, *cut, len(scores)) for cut in cuts])
    sizes = np.diff(edges)
    kept = (np.diff(reached[edges]) ** 2 / sizes).sum(axis=1)
    best = int(np.argmax(kept))
    grouped = np.empty(len(scores), dtype=int)
    grouped[order] = np.repeat(np.arange(groups), sizes[best])
    return grouped, max(0.0, float(len(scores) * scores.var() - kept[best]))


def count_groups(scores: Array, *, rng: np.random.Generator) -> int:
    """Count groups by the gap statistic, the error beside that of evenly spread scores."""
    even = rng.uniform(scores.min(), scores.max(), size=(REFERENCES, len(scores)))

    def gap(groups: int) -> float:
        errors = [group_scores(row, groups)[1] for row in (scores, *even)]
        found, *expected = np.log(np.array(errors) + 1e-12)
        return float(np.mean(expected) - found)

    return 1 + int(np.argmax([gap(k) for k in range(1, min(GROUPS + 1, len(scores)))]))


def weigh_updates(scores: Array, *, rng: np.random.Generator) -> Array:
    """martFL's weights (n,) of updates by their scores, adding up to 1.

    The lower of two groups has none, the top group the same each, those between less with their
    distance from its centre. The program's clipping of updates is left out.
    """
    groups = count_groups(scores, rng=rng)
    if groups == 1 and np.ptp(scores) <= NARROW:
        return np.full(len(scores), 1 / len(scores))
    grouped, _ = group_scores(scores, max(groups, 2))
    high = group_scores(scores, 2)[0] == 1
    top = grouped == grouped.max()
    away = np.abs(scores - scores[top].mean())
    weights = np.where(top, 1.0, np.where(high, 1 - away / (away[high].max() + 1e-6), 0.0))
    return np.asarray(weights / weights.sum())


def design_weights(x: Array, queries: Array, price: Array) -> Array:
    """DAVED's weights (n,) of records x (n, p) with prices (n,), by Frank-Wolfe steps.

    They reduce the mean of q' (sum w x x')^-1 q over queries q (m, p).
    """
    weights = np.full(len(x), 1 / len(x))
    asked = queries.T @ queries / len(queries)
    inverse = np.linalg.pinv(x.T @ x / len(x))
    for _ in range(STEPS):
        gains = np.einsum("ij,ij->i", x @ (inverse @ asked @ inverse), x)
        best = int(np.argmax(gains / price))
        moved = inverse @ x[best]
        length = float(x[best] @ moved)
        step = _find_step(float(np.sum(inverse * asked)), float(gains[best]), length)
        weights *= 1 - step
        weights[best] += step
        shrunk = step * np.outer(moved, moved) / (1 - step + step * length)
        inverse = (inverse - shrunk) / (1 - step)
    return weights


def _find_step(now: float, gain: float, length: float) -> float:
    def error(step: float) -> float:
        return (now - step * gain / (1 - step + step * length)) / (1 - step)

    return float(minimize_scalar(error, bounds=(0, LONGEST), method="bounded").x)


def buy_in_order(order: Array, price: Array, budget: float) -> Array:
    """Numbers of the items bought in an order, as far as the money lasts."""
    return np.asarray(order[np.cumsum(price[order]) <= budget * (1 + 1e-12)])


def choose_owners(distance: Array, virtual: Array, budget: float) -> Array:
    """Mask (n,) of the owners that a Wasserstein market buys from, by their virtual prices.

    They have the least root of their sum of squared distances over their number.
    """
    sets = (np.arange(1, 2 ** len(virtual))[:, None] >> np.arange(len(virtual))) & 1
    bound = np.sqrt(sets @ distance**2) / sets.sum(axis=1)
    able = sets @ virtual <= budget * (1 + 1e-12)
    chosen = sets[np.argmin(np.where(able, bound, np.inf))] > 0
    return np.asarray(chosen & able.any())
