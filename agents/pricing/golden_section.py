"""Golden section: the range of prices in which the best one lies, narrowed by one post at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.pricing.base import Posts, Pricing

GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class GoldenSection(Pricing):
    """Of two prices inside the range, the part of it beyond the worse one is given up: each post narrows it to 0.618.

    Finds the best price where profit rises up to it and falls beyond, in the logarithm of the price; where it has several
    peaks, one of them; and what is seen must be exact, since a part once given up is never looked at again. Of two prices
    that do as well, as where nobody sells at either, the higher part is kept.

    Source: Kiefer, Sequential Minimax Search for a Maximum (1953): no search by as many posts narrows further.
    """

    title = "narrows the range of prices by the golden section"

    def posts(self) -> Posts:
        left, right = self.ends
        inner = yield float(np.exp(right - GOLDEN * (right - left)))
        outer = yield float(np.exp(left + GOLDEN * (right - left)))
        best = max(inner, outer, key=lambda seen: seen.rank)
        for _ in range(self.prices - 2):
            if inner.rank > outer.rank or outer.over:
                right, outer = float(np.log(outer.price)), inner
                seen = inner = yield float(np.exp(right - GOLDEN * (right - left)))
            else:
                left, inner = float(np.log(inner.price)), outer
                seen = outer = yield float(np.exp(left + GOLDEN * (right - left)))
            best = max(best, seen, key=lambda seen: seen.rank)
            if right - left <= self.close:
                break
        return best.price
