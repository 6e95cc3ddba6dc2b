"""Tables of many kinds under the default: it asks, promises no nonsense, and trains better than guessing and than alone."""

import numpy as np
import pandas as pd
import pytest
from quick import quick_module
from sizes import thinned

from scenarios.runner import run
from scenarios.schema.loading import load

__all__ = ["quick_module"]  # a fixture of every test

ROWS = 9000
SCENARIO = """
seed = 1
[data]
path = "t.csv"
target = "y"
split = [2500, 2500, 2500]
holdout = "rest"
public_rows = {public}
[owners]
epsilon = [1.0, 1.0]
[owners.cost]
kind = "linear"
price = 1.0
[policy]
kind = "posted"
price = 10.0
[learner]
value = 1e6
[market]
starts = 1
[validation]
runs = 3
"""


def heavy(draw):
    """Log-normal columns, near copies of two of them, and a column that is 0 in most rows."""
    x = draw.lognormal(0, 1.5, (ROWS, 4))
    made = {f"x{k}": column for k, column in enumerate(x.T)}
    made |= {f"copy{k}": 2 * x[:, k] + 1e-4 * draw.normal(size=ROWS) for k in range(2)}
    made["spike"] = np.where(draw.random(ROWS) < 0.9, 0, draw.geometric(0.01, ROWS))
    y = np.log(x) @ [1.0, -1.0, 0.5, 0.2] + 2 * (made["spike"] > 0) + draw.normal(size=ROWS)
    return pd.DataFrame(made).assign(y=y)


def categories(draw):
    """Two columns of thirty levels, most of them rare: more than 150 rows allow."""
    rate = 1 / np.arange(1, 31) ** 0.8
    codes = draw.choice(30, (ROWS, 2), p=rate / rate.sum())
    worth = draw.normal(size=(30, 2))
    y = worth[codes, [0, 1]].sum(axis=1) + draw.normal(size=ROWS)
    return pd.DataFrame({"a": codes[:, 0], "b": codes[:, 1]}).map("k{}".format).assign(y=y)


@pytest.mark.slow
@pytest.mark.usefixtures("as_for_users")
@pytest.mark.parametrize(
    ("make", "public"), thinned([(heavy, 80), (categories, 150)], [(heavy, 80)])
)
def test_the_default_holds(tmp_path, make, public):
    make(np.random.default_rng(3)).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.toml").write_text(SCENARIO.format(public=public))
    result = run(load(tmp_path / "s.toml")).content
    outside = result["outside_option"]["relative_fitness"]
    assert result["forecast"]["relative_fitness"] < outside < 10
    held_out = result["validation"]["holdout"]
    trained = held_out["mse_trained"]
    assert trained < min(held_out["mse_outside"], held_out["variance"])
    assert trained < 1.1 * held_out["mse_nonprivate"]
