"""The table that sets chances of buying beside how often it paid, and the markets that it is made on."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from chances import reliability
from chances.reliability import KEPT, Purchase
from chances.varied_markets import GENERATED, OWNERS, varied_market
from learning.errors import InputError
from learning.progress import ignore_progress
from reproduction.study import Options, append_rows, read_rows
from scenarios.tables.dataset import market_data
from tests.reproduction.test_calibration import ONE


def study(folder, monkeypatch, paid, *, differ=False, chance=0.3):
    """The study on 30 made-up outcomes, of which so many pay."""
    seen = []

    def made(market, seed, data):
        seen.append(market)
        gain = 1.0 if len(seen) <= paid else -1.0
        one = replace(ONE, market=market, seed=seed, chance_pays=chance, gain=gain)
        return Purchase(**vars(one), said=False, differ=differ)

    monkeypatch.setattr(reliability, "purchase", made)
    monkeypatch.setattr(reliability, "TABLES", GENERATED[:1])
    monkeypatch.setattr(reliability, "_markets", lambda table: [f"{table}/{i}" for i in range(30)])
    found = reliability.study(Options(out=folder, seeds=1, workers=1), ignore_progress)
    return {row.name: row for row in found.rows}


@pytest.mark.parametrize(("paid", "holds"), [(4, False), (5, True), (13, True), (14, False)])
def test_a_bin_holds_where_said_and_paid_lie_close(tmp_path, monkeypatch, paid, holds):
    rows = study(tmp_path, monkeypatch, paid)
    assert rows["owners alike, 20% to 40%"].values[:3] == ("30", "30%", f"{paid / 30:.0%}")
    assert rows["owners alike, 20% to 40%"].holds is holds
    assert (
        rows["owners differ, 20% to 40%"].holds is None and rows["all, 40% to 60%"].values[0] == "0"
    )


def test_markets_whose_owners_differ_are_counted_apart_and_certainty_has_a_bin(
    tmp_path, monkeypatch
):
    rows = study(tmp_path, monkeypatch, 30, differ=True, chance=1.0)
    assert (
        rows["owners differ, 80% to 100%"].values[0] == "30"
        and rows["owners alike"].values[0] == "0"
    )
    assert rows["owners differ, 80% to 100%"].holds


def test_what_is_no_market_is_listed_with_its_reason(tmp_path, monkeypatch):
    def refuse(market, seed, data):
        raise InputError("data.target", "must have two labels")

    monkeypatch.setattr(reliability, "purchase", refuse)
    found, refused = reliability._purchases(
        [("tails/alike", 5001)], Options(out=tmp_path, workers=1), ignore_progress
    )
    assert found == [] and refused == [("tails/alike", 5001, "data.target: must have two labels.")]


@pytest.mark.slow
def test_a_purchase_is_that_of_a_run_and_is_kept(tmp_path):
    one = reliability.purchase("diabetes/named", 5001, None)
    append_rows(tmp_path / KEPT, [one])
    assert (
        one.market == "diabetes/named"
        and 0 <= one.chance_pays <= 1
        and read_rows(tmp_path / KEPT, Purchase) == [one]
    )


def made_market(name, seed=3):
    with varied_market(name, seed, None) as made:
        table = pd.read_csv(made.locate(str(made.data.path)))
        return made, table, market_data(made)


@pytest.mark.parametrize("table", ["tails", "diabetes", "randhie"])
def test_owners_differ_as_their_market_is_named(table):
    made, rows, data = made_market(f"{table}/sorted")
    features = rows.drop(columns="target")
    assert made.data.order == "as_is" and any(
        features[name].is_monotonic_increasing or features[name].is_monotonic_decreasing
        for name in features
    )
    assert not data.public.drawn and data.public.owner is None and len(data.owners) == OWNERS
    made, rows, data = made_market(f"{table}/named")
    assert (
        data.public.drawn
        and set(data.public.owner) <= set(data.names)
        and len(data.names) == OWNERS
    )
    assert any(rows.groupby("owner")[name].mean().std() > rows[name].std() / 2 for name in features)
    made, _, data = made_market(f"{table}/alike/reports")
    assert data.public.drawn and made.owners.report > 0


def test_owners_have_slopes_of_their_own():
    _, rows, data = made_market("normal/slopes")
    x = rows[["x0", "x1"]].to_numpy() - rows[["x0", "x1"]].to_numpy().mean(axis=0)
    fits = [
        np.linalg.lstsq(
            x[(rows.owner == name).to_numpy()], rows.target[rows.owner == name], rcond=None
        )[0]
        for name in data.names
    ]
    assert np.ptp(fits, axis=0).max() > 0.02


def test_another_seed_is_another_market():
    one, other = (made_market("rare/mixed", seed)[1] for seed in (1, 2))
    assert len(one) != len(other) or not np.allclose(one.to_numpy(float), other.to_numpy(float))
    assert one.equals(made_market("rare/mixed", 1)[1])
