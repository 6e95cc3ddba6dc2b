"""Owners whose decision is a report, as a Mesa model."""

from __future__ import annotations

import numpy as np

from agents.reporting import ReportingMarket, ReportingOwner
from market.procurement.auctions import PayAsBid
from market.procurement.cost_laws import Uniform
from market.procurement.played import Learning, learn_reports, play_reporting_game
from market.procurement.strategies import ReportingGame

LAW = Uniform(0.0, 1.0)
BUYS = PayAsBid(1, 1.0, 1.0)


def test_owners_play_what_they_learn_without_a_model():
    market = ReportingMarket(BUYS, LAW, 3, seed=4, max_rounds=3)
    found = market.run(searched=10_000)
    game = ReportingGame(BUYS, LAW, 3)
    assert (
        market.learning.strategy.markups.tobytes()
        == learn_reports(Learning(game, seed=4), 3).markups.tobytes()
    )
    assert (
        found.certificate
        == play_reporting_game(
            game, seed=4, learning=["best_response"], rounds=3, searched=10_000
        ).certificate
    )
    assert found.certificate.loss < found.truth.loss


def test_every_round_is_collected():
    market = ReportingMarket(BUYS, LAW, 3, seed=4, max_rounds=3)
    market.run_model()
    owners = market.datacollector.get_agenttype_vars_dataframe(ReportingOwner)
    rounds = market.datacollector.get_model_vars_dataframe()
    assert owners.shape == (9, 5) and rounds.shape == (3, 3)
    assert not owners.isna().any(axis=None) and not rounds.isna().any(axis=None)
    assert np.allclose(owners["surplus"], owners["payment"] - owners["cost"] * owners["epsilon"])
    assert np.allclose(owners["report"][:3], owners["cost"][:3]) and np.all(
        owners["report"][3:] > owners["cost"][3:]
    )


def test_an_owner_more_changes_no_others_costs():
    few, many = (ReportingMarket(BUYS, LAW, n, seed=4, max_rounds=1) for n in (3, 5))
    few.step(), many.step()
    assert np.array_equal(few.costs, many.costs[:3]) and np.array_equal(few.mixing, many.mixing[:3])
