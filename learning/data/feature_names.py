"""Names of encoded features, as results and tables of coefficients show them."""

from __future__ import annotations

from collections.abc import Sequence

from learning.data.encoding import Categories, Encoder
from learning.data.expansion import Expansion, count_columns
from learning.data.targets import SeveralTargets


def feature_names(encoder: Encoder) -> tuple[str, ...]:
    """Names of the encoded features (p,), the last of them "1"; those of each target in turn."""
    if isinstance(encoder, SeveralTargets):
        names = feature_names(encoder.one)
        return tuple(f"{target.name}: {name}" for target in encoder.each for name in names)
    if encoder.components is not None:
        return (*(f"component {i + 1}" for i in range(len(encoder.components.low))), "1")
    coded = coded_names(encoder)
    return (*(coded if encoder.expansion is None else _made_names(encoder.expansion, coded)), "1")


def coded_names(encoder: Encoder) -> tuple[str, ...]:
    """Names of the coded columns (d,), numbers first."""
    return (*encoder.numbers.names, *category_names(encoder.categories))


def category_names(categories: Categories) -> tuple[str, ...]:
    """Names of the coded columns of texts."""
    if categories.places:
        return categories.names
    columns = zip(categories.names, categories.categories, strict=True)
    return tuple(f"{name}_{one}" for name, known in columns for one in known[1:])


def _made_names(expansion: Expansion, coded: Sequence[str]) -> tuple[str, ...]:
    """Names of the features (k,) that are made of coded columns (d,)."""
    made: list[str] = []
    piece = "spline" if expansion.degree else "bin"
    for name, knots in zip(coded, expansion.knots, strict=False):
        count = count_columns(knots, expansion.degree)
        made += [f"{name} {piece} {i + 1}" for i in range(count)] if len(knots) else [name]
    made += coded[len(expansion.knots) :]
    made += [f"{coded[one]} * {coded[other]}" for one, other in expansion.pairs]
    waves = range(1, len(expansion.frequencies) + 1)
    made += [f"kernel {wave} {number}" for wave in ("cos", "sin") for number in waves]
    return tuple(made[place] for place in expansion.kept)
