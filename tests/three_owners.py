"""A small market of three owners, and rows of one kind for it."""

from __future__ import annotations

import numpy as np
import pandas as pd

SIZES = {"North": 900, "South": 600, "Harbour": 300}
PUBLIC = 80
SCENARIO = """
[data]
path = "table.csv"
target = "cost"
split = [900, 600, 300]
names = ["North", "South", "Harbour"]
public_rows = 80
order = "as_is"
[owners]
epsilon = [0.1, 5.0]
[owners.cost]
kind = "quadratic"
price = [30.0, 40.0, 50.0]
[policy]
kind = "proportional"
budget = 200.0
[learner]
value = 10000.0
[validation]
runs = 4
"""


def draw_rows(count: int, seed: int) -> pd.DataFrame:
    """Rows of one kind."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, count)
    home = rng.choice(["rent", "own"], count)
    cost = 20 + 0.3 * age + 5 * (home == "own") + rng.normal(0, 6, count)
    late = np.where(cost + rng.normal(0, 6, count) > 40, "yes", "no")
    return pd.DataFrame({"age": age, "home": home, "cost": cost.round(2), "late": late})
