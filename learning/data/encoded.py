"""Public bounds on encoded features, and counts of cells that the public fill replaces."""

from __future__ import annotations

import numpy as np

from learning.arrays import Array
from learning.data.encoding import Categories, Columns, Encoder, stack_texts
from learning.data.expansion import Expansion, count_columns
from learning.data.rows import Rows


def feature_bound(encoder: Encoder) -> Array:
    """Public bound on each encoded |x_j|, (p,); the same again for each of several targets."""
    coded = np.concatenate([encoder.numbers.reach, category_bound(encoder.categories)])
    made = coded if encoder.expansion is None else expansion_bound(encoder.expansion, coded)
    if encoder.components is not None:
        made = np.maximum(np.abs(encoder.components.low), np.abs(encoder.components.high))
    return np.tile(np.append(made, 1.0), len(encoder.targets))


def category_bound(coder: Categories) -> Array:
    """Bound on the size of each coded column (d,); places run from -1 to the last category."""
    if coder.places:
        return np.array([max(1.0, len(categories) - 1.0) for categories in coder.categories])
    return np.ones(coder.width)


def expansion_bound(made: Expansion, coded: Array) -> Array:
    """Bound on the size of each feature (k,), from those of the coded columns (d,)."""
    sizes = [np.ones(count_columns(knots, made.degree)) for knots in made.knots]
    sizes.append(coded[len(made.knots) :])
    sizes += [coded[[one]] * coded[[other]] for one, other in made.pairs]
    waves = 2 * len(made.frequencies)
    sizes.append(np.full(waves, (waves / 2) ** -0.5 if waves else 0.0))
    return np.concatenate(sizes)[made.kept]


def count_filled(encoder: Encoder, columns: Columns, rows: Rows) -> int:
    """Count the cells of the given rows that count as the public fill."""
    missing = 0
    for name in (*encoder.numbers.names, *(one.name for one in encoder.targets)):
        holes = np.isnan(columns[name].astype(float, copy=False))
        if holes.any():
            missing += int(holes[rows].sum())
    coder = encoder.categories
    places = coder.find_places(stack_texts(columns, coder.names, rows))
    return missing + sum(int((at < 0).sum()) for at in places)
