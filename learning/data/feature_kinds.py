"""Kinds of features that a linear model can be fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LINEAR = "linear"
MOST_PRODUCTS = 40  # that are chosen
MOST_FREQUENCIES = 50  # where none are stated


@dataclass(frozen=True)
class FeatureKind:
    """Kind of features that a linear model is fitted to.

    Parameters
    ----------
    says : what it makes of the columns, in words.
    pieces : number of pieces that a column of numbers is cut into, with about as many public rows
        in each; 0 leaves it as it is.
    degree : degree of the polynomial on each piece; 0 for bins.
    products : whether products of two columns are added, those that public rows call for.
    components : number of principal components that all is reduced to; None for no reduction.
    encoding : "onehot" or "integer" (the papers' coding of categories).
    kernel : whether a Gaussian kernel of all columns takes their place, by random features.
    frequencies : number of its frequencies, with two features each; None for as many as the public
        rows are enough for.
    bandwidth : its width in standard deviations; None for the median distance of public rows.
    seed : public seed of the frequencies.
    """

    says: str
    pieces: int = 0
    degree: int = 0
    products: bool = False
    components: int | None = None
    encoding: str = "onehot"
    kernel: bool = False
    frequencies: int | None = None
    bandwidth: float | None = None
    seed: int = 0


KINDS: Mapping[str, FeatureKind] = {
    "linear": FeatureKind("the columns as they are"),
    "components": FeatureKind("at most ten principal components of the columns", components=10),
    "splines": FeatureKind("cubic splines of the columns", pieces=4, degree=3),
    "bins": FeatureKind("bins of the columns", pieces=8),
    "products": FeatureKind("the columns and some products of two", products=True),
    "splines_and_products": FeatureKind(
        "cubic splines and some products of two columns", pieces=4, degree=3, products=True
    ),
    "kernel": FeatureKind("a Gaussian kernel by random features", kernel=True),
}
