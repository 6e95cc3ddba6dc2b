"""How long a market of 100,000 different owners takes to solve and certify; the aim is under 3 s on two cores.

Run with ``pytest benchmarks/bench_market.py``.
"""

from __future__ import annotations

import numpy as np
import pytest

from market.costs import COSTS
from market.equilibrium import Equilibrium, solve
from market.game import Game
from market.owners import Owners
from market.policies import Proportional

N_OWNERS = 100_000


def large_market(kind: str) -> Game:
    """Owners with different prices and sizes who share a fixed budget in proportion to records * epsilon."""
    draw = np.random.default_rng(0)
    cost = COSTS[kind](draw.uniform(1, 3, N_OWNERS))
    sizes = draw.uniform(0.5, 2, N_OWNERS)
    owners = Owners(tuple(f"owner {i}" for i in range(N_OWNERS)), sizes, 0.0, 20.0, cost)
    return Game(owners, Proportional(1e5), None, 0.0)


def solved(game: Game) -> Equilibrium:
    """One start, the certificate included."""
    return solve(game, rng=np.random.default_rng(1), starts=1)


@pytest.mark.parametrize("kind", COSTS)
def test_proportional_market_of_100000_owners(benchmark, kind: str) -> None:
    found = benchmark.pedantic(solved, args=(large_market(kind),), rounds=3)
    assert found.converged and found.max_relative_regret <= 1e-8
