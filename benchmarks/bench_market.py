"""How long a market of 100,000 different owners takes to solve and certify; the aim is 3 s on two cores.

Run with ``python -m benchmarks.bench_market``.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from market.costs import COSTS
from market.equilibrium import solve
from market.game import Game
from market.owners import Owners
from market.policies import Proportional

N_OWNERS = 100_000
AIM = 3.0  # seconds


def large_market(kind: str) -> Game:
    """Owners with different prices and sizes who share a fixed budget in proportion to records * epsilon."""
    draw = np.random.default_rng(0)
    cost = COSTS[kind](draw.uniform(1, 3, N_OWNERS))
    sizes = draw.uniform(0.5, 2, N_OWNERS)
    owners = Owners(tuple(f"owner {i}" for i in range(N_OWNERS)), sizes, 0.0, 20.0, cost)
    return Game(owners, Proportional(1e5), None, 0.0)


def main() -> None:
    """Time one start for each kind of cost, the certificate included, and print it beside the aim."""
    for kind in COSTS:
        game = large_market(kind)
        began = perf_counter()
        found = solve(game, rng=np.random.default_rng(1), starts=1)
        took = perf_counter() - began
        print(
            f"proportional market, {N_OWNERS:,} owners, {kind} costs: {took:.2f} s, {took / AIM:.0%} of the aim; "
            f"{found.reason}, relative regret {found.max_relative_regret:.0e}"
        )


if __name__ == "__main__":
    main()
