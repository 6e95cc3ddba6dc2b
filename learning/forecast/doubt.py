"""Doubt whether the learner's rows are of the owners' kind: what kinds may cost where nothing shows that there are none.

Rows that were drawn from all records at random are of no kind of their own. Of others nobody knows: a learner with one
hospital's patients has no sample of all hospitals'. What names on the rows, or the owners' loss reports, do not exclude is
counted.
"""

from __future__ import annotations

import numpy as np

from learning.arrays import Array

OWN_KIND = 0.5  # chance, beforehand, that rows not drawn at random are of a kind of their own: nothing is known
SPREADS = np.geomspace(1e-5, 1.0, 61)  # variance of kinds' means over a record's, alike likely beforehand in logs
HIDDEN = 0.25  # of kinds, those that do not show in losses, such as other inputs under the same law


def distance(ratio: Array, sizes: Array) -> Array:
    """Compute by how much 1/m + 1/n is larger where the learner's m rows are one more kind: ratio (1 + sum (n_l/n)^2).

    The optimum of rows that are a group like the others lies as far from that of all records as one group's mean from
    the mean of all.

    Parameters
    ----------
    ratio : array (...), variance of the kinds' means over that of a record.
    sizes : array (n_owners,), records of each owner.
    """
    return np.asarray(ratio * float(1 + np.sum((sizes / sizes.sum()) ** 2)))


def draw_distances(sizes: Array, width: int, worlds: int, *, odds: Array, rng: np.random.Generator) -> Array:
    """Draw how far rows of an unknown kind lie from all records, for a trained model and the learner's own, (2, worlds).

    Both draws are independent: training may take off what the learner's own model misses, or, with steps and bounds that
    were chosen on rows of another kind, add to it.

    Parameters
    ----------
    sizes : array (n_owners,), records of each owner.
    width : p, number of parameters.
    worlds : number of draws.
    odds : array (len(SPREADS),), likelihood of each spread over that of no kind of their own; 1 where nothing is known.
    rng : of the draws.
    """
    chances = OWN_KIND / len(SPREADS) * odds
    total = chances.sum() + 1 - OWN_KIND
    level = np.cumsum(chances / total)
    own = rng.random(worlds) < level[-1]
    spreads = SPREADS[np.searchsorted(level, rng.random((2, worlds)) * level[-1])]
    return own * distance(spreads, sizes) * rng.chisquare(width, (2, worlds)) / width
