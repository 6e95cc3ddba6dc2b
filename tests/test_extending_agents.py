"""A behaviour of owners and a procurement mechanism from outside the packages."""

from __future__ import annotations

import numpy as np
import pytest
from extending import EqualSplit, Gradual, enter
from markets import market

from agents import DataMarket
from market.costs.functions import Quadratic
from market.policies.posted import Posted


@pytest.mark.parametrize(
    "behaviour", [Gradual(), Gradual(0.2), "gradual", ["gradual", Gradual(0.9), "rational"]]
)
def test_a_behaviour_of_ones_own_settles_the_market(monkeypatch, behaviour):
    enter(monkeypatch, "gradual")
    model = DataMarket(
        market(Quadratic([1.0, 2.0, 4.0]), Posted(6.0), 3), rng=1, behaviour=behaviour
    )
    outcome = model.run()
    assert outcome.reason == "certified" and np.allclose(
        outcome.epsilon, [6.0, 3.0, 1.5], atol=1e-6
    )
    assert outcome.iterations > 5  # rational owners are there after one round
    with pytest.raises(
        ValueError, match="behaviours.pace: must be a number above 0 and below 1; found 2"
    ):
        Gradual(2.0)


def test_a_mechanism_of_ones_own_is_a_row_of_the_command(monkeypatch, dpmarket, tmp_path):
    enter(monkeypatch, "equal_split")
    out = tmp_path / "table.csv"
    asked = ["--only", "equal_split,posted", "--owners", "10", "--markets", "2", "--out", str(out)]
    status, printed, _ = dpmarket("mechanisms", *asked)
    assert status == 0 and EqualSplit.title in printed
    rows = {line.split(",")[0]: line.split(",") for line in out.read_text().splitlines()}
    assert set(rows) == {"name", "equal_split", "posted"}
    row = dict(zip(rows["name"], rows["equal_split"], strict=True))
    assert (
        row["truthful"] == row["equal"] == "True"
        and float(row["lie"]) == 0
        and float(row["spend"]) > 25
    )
