"""What a scenario's training is compared with, and the Polyak-Lojasiewicz ratios: in the result, the report, the terminal."""

import numpy as np
import pytest
from minimal import MINIMAL, message
from quick import quick_module

from scenarios.command.console import summary_lines
from scenarios.report.page import render
from scenarios.runner import run
from scenarios.schema.loading import load

__all__ = ["quick_module"]  # a fixture of every test

TABLE = """
title = "Rivals"
seed = 5
[data]
path = "label.csv"
target = "label"
split = [300, 60, 60]
holdout = "rest"
public_rows = 100
[learning]
loss = "logistic"
regularisation = 0.01
algorithm = "weighted"
mechanism = "gaussian"
accounting = "printed"
delta = 1e-3
horizon = 20
step_size = 0.5
[owners]
epsilon = [8.0, 8.0]
[owners.cost]
kind = "linear"
price = 1.0
[policy]
kind = "proportional"
budget = 100.0
[learner]
value = 1000.0
[market]
starts = 1
[validation]
runs = 10
baselines = ["plain", "central", "nonprivate", "copies"]
lojasiewicz = true
paths = true
"""


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    place = tmp_path_factory.mktemp("rivals")
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (720, 2))
    label = np.where(x @ [2.0, -1.0] + rng.logistic(size=720) > 0, "yes", "no")
    rows = "".join(f"{a:.5f},{b:.5f},{c}\n" for (a, b), c in zip(x, label, strict=True))
    (place / "label.csv").write_text("a,b,label\n" + rows)
    (place / "s.toml").write_text(TABLE)
    return run(load(place / "s.toml")).content


@pytest.mark.slow
def test_the_rivals_stand_on_one_table_with_the_market(content):
    rows = {row["name"]: row for row in content["validation"]["baselines"]}
    assert list(rows) == ["market", "plain", "central", "nonprivate", "copies"]
    assert rows["market"]["relative_fitness"] == content["validation"]["relative_fitness"]
    assert rows["market"]["holdout_error"] == content["validation"]["holdout"]["error_trained"]
    gaps = {name: row["optimal_gap"] for name, row in rows.items()}
    assert (
        gaps["nonprivate"] < gaps["market"] < gaps["plain"]
    )  # 420 records where plain averaging counts 180
    assert rows["nonprivate"]["claimed_epsilon"] is None and rows["nonprivate"]["epsilon"] is None
    claims = [claim["epsilon"] for claim in content["claims"]]
    assert rows["market"]["claimed_epsilon"] == max(claims) > rows["plain"]["claimed_epsilon"] > 8
    assert rows["central"]["claimed_epsilon"] < 8 and rows["central"]["epsilon"] == [8.0]
    assert rows["central"]["seen_by"] == "anyone but that party" and rows["plain"][
        "seen_by"
    ].startswith("the server")
    found = content["validation"]["lojasiewicz"]
    assert list(found) == ["path", "trained", "cloud"]
    assert all(one["mu_at_most"] > 0.01 for one in found.values())  # the ridge


@pytest.mark.slow
def test_each_owner_has_a_copy_of_its_own(content):
    """Half as much for each of two copies claims as much as the market does."""
    rows = [row for row in content["validation"]["baselines"] if row["name"] == "copies"]
    assert [row["owner"] for row in rows] == [one["name"] for one in content["owners"]]
    assert all(row["epsilon"] == [8.0, 8.0] for row in rows)
    market, *_, exact = content["validation"]["baselines"][:4]
    assert all(row["optimal_gap"] > exact["optimal_gap"] for row in rows)
    claimed = max(claim["epsilon"] for claim in content["claims"])
    assert [row["claimed_epsilon"] for row in rows] == pytest.approx([claimed] * 3, rel=1e-9)


@pytest.mark.slow
def test_they_are_told(content):
    said = "\n".join(summary_lines(content))
    assert "every owner a learner, " + content["owners"][0]["name"] + ": " in said
    assert (
        "all weighed alike: " in said and "Nothing proves that it holds for a smaller one" in said
    )
    shown = render(content, {}, "")
    assert "one party with all records" in shown and "The smallest ratio" in shown


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (
            'validation.baselines=["plane"]',
            'a list of "weighted", "plain", "central", "nonprivate" or "copies"',
        ),
        ('validation.baselines=["plain"]', "needs algorithm = "),
    ],
)
def test_what_is_refused(change, rule, tmp_path):
    (tmp_path / "s.toml").write_text(MINIMAL)
    lots = ("learning.algorithm=asynchronous", "learning.regularisation=1e-5")
    assert rule in message(tmp_path / "s.toml", (change, *lots))


def test_without_the_keys_nothing_is_added(tmp_path):
    (tmp_path / "s.toml").write_text(MINIMAL)
    assert "baselines" not in load(tmp_path / "s.toml").to_toml()
