"""SGD2: every owner answers in every round, with the sum over its records as the paper has it."""

from __future__ import annotations

from learning.training.descent import Descent


class SGD2(Descent):
    """Step c/sqrt(k) at query k = 1 .. T; means here where the paper has sums, so that c takes up the factor n.

    Source: the multi-party write-up, Algorithm SGD2 and (4).
    """

    name = "sgd2"
    decline = 0.5
    published_formula = "sgd2"
    says = "every owner answers in every round with the sum over its records (sgd2)"
