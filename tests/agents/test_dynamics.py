"""Markets that repeat, against their static equilibria, sums by hand and a planner who looks ahead."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from markets import market

from agents.dynamics import MarketOverTime, Turnover, draw_arrivals
from agents.model import DataMarket
from learning.privacy.laplace import Laplace
from learning.privacy.lifetime import Lifetime
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.policies.posted import Posted
from market.policies.proportional import Proportional

SIZES = np.array([1.0, 1.0, 50.0])


def contest(costs=(1.0, 2.0, 2.5), budget=12.0, **more):
    """Owners who share a fixed sum by what they sell: with the first two alone, they sell 8/3 and 4/3."""
    return market(
        Linear(np.array(costs)),
        Proportional(budget, more.pop("per", "epsilon")),
        len(costs),
        **more,
    )


def over(game, periods=4, **more):
    model = MarketOverTime(game, periods=periods, rng=1, **more)
    return model, model.run()


def sold(told):
    return np.array([one.sold for one in told])


def spend(limit, n, saving="none", composition="sequential"):
    return Lifetime(Laplace(), np.broadcast_to(np.asarray(limit, float), n), composition, saving)


def test_every_period_of_a_stationary_market_is_its_static_equilibrium():
    game = contest((1.0, 2.0, 3.0))
    model, told = over(game, 6)
    static = DataMarket(game, rng=1).run()
    assert np.allclose(
        sold(told), [[8 / 3, 4 / 3, 0.0]] * 6, atol=1e-6
    )  # by hand: each e = S (1 - c S/b), S = 4
    assert np.abs(sold(told) - static.epsilon).max() < 1e-9
    assert (
        np.allclose(told[-1].total, 6 * static.epsilon)
        and not told[3].joined
        and told[0].joined == game.owners.names
    )
    assert all(one.equilibrium.converged for one in told)


@pytest.mark.parametrize("composition", ["sequential", "fresh"])
def test_what_is_left_of_a_lifetime_budget_is_the_most_that_may_be_sold(composition):
    limit = np.array([5.0, 100.0])
    _, told = over(contest((1.0, 2.0)), 4, lifetime=spend(limit, 2, composition=composition))
    if composition == "fresh":  # no record is asked about twice: the limit never binds here
        assert np.allclose(sold(told), [[8 / 3, 4 / 3]] * 4, atol=1e-6) and np.allclose(
            told[-1].total, [8 / 3, 4 / 3]
        )
        return
    assert sold(told)[:, 0].sum() == 5.0 and told[-1].remaining[0] == 0  # to the last digit
    assert np.allclose(sold(told)[0], [8 / 3, 4 / 3]) and sold(told)[1, 0] == pytest.approx(7 / 3)
    answer = np.sqrt(12 / 2 * 7 / 3) - 7 / 3  # the other's best: (e + 7/3)^2 = b/c * 7/3
    assert sold(told)[1, 1] == pytest.approx(answer, abs=1e-7)
    assert (sold(told)[2:, 0] == 0).all() and all(
        one.present.all() for one in told
    )  # who has nothing left still is there


def best_ahead(price, cost, limit, periods, points=401):
    """What an owner who looks ahead sells period by period: backward induction over what is left, on a grid."""
    left = np.linspace(0, limit, points)
    gain = price * left - cost / 2 * left**2
    value = np.zeros(points)
    moves = []
    for _ in range(periods):
        after = np.arange(points)[:, None] - np.arange(points)
        total = np.where(after >= 0, gain + value[np.maximum(after, 0)], -np.inf)
        moves.insert(0, total.argmax(axis=1))
        value = total.max(axis=1)
    at = points - 1
    path = []
    for move in moves:
        path.append(left[move[at]])
        at -= move[at]
    return np.array(path), value[-1]


def test_even_saving_is_what_an_owner_who_looks_ahead_does_in_a_stationary_market():
    price = 4.0  # alone it would sell 2 a period
    cost = 2.0
    limit = 4.0
    periods = 5
    path, value = best_ahead(price, cost, limit, periods)
    game = market(Quadratic(np.array([cost])), Posted(price), 1)
    told = {how: over(game, periods, lifetime=spend(limit, 1, how))[1] for how in ("none", "even")}
    had = {how: sum(one.surplus[0] for one in some) for how, some in told.items()}
    assert np.allclose(sold(told["even"])[:, 0], limit / periods) and np.allclose(
        path, limit / periods
    )
    assert had["even"] == pytest.approx(value) and np.allclose(
        sold(told["none"])[:, 0], [2, 2, 0, 0, 0]
    )
    assert had["none"] == pytest.approx(8.0) and had["even"] == pytest.approx(
        periods * (price * 0.8 - 0.64)
    )


def test_who_loses_leaves_after_its_patience_and_the_others_settle_as_without_it():
    game = contest((1.0, 2.0, 40.0), low=np.array([0.0, 0.0, 0.5]))
    model, told = over(game, 5, turnover=Turnover(patience=2))
    assert [one.present.tolist() for one in told] == [[True] * 3] * 2 + [[True, True, False]] * 3
    assert told[2].left == ("owner 2",) and told[0].surplus[2] < 0
    two = contest((1.0, 2.0))
    alone = solve(two, rng=np.random.default_rng(0)).epsilon
    assert np.abs(sold(told)[2:, :2] - alone).max() < 1e-6 and (sold(told)[2:, 2] == 0).all()
    assert len(over(game, 5)[0].agents) == 3  # without patience nobody leaves


def test_who_left_comes_back_as_the_same_agent_once_it_would_gain():
    poor, rich = (
        contest((1.0, 2.0, 1.5), budget, low=np.array([0.0, 0.0, 2.0])) for budget in (4.0, 60.0)
    )
    model = MarketOverTime(
        lambda period, before: rich if period > 3 else poor,
        periods=5,
        rng=1,
        turnover=Turnover(patience=1),
    )
    ids = [owner.unique_id for owner in model.everyone]
    told = model.run()
    assert (
        told[1].left == ("owner 2",) and told[3].joined == ("owner 2",) and told[4].surplus[2] > 0
    )
    assert [owner.unique_id for owner in model.everyone] == ids == [1, 2, 3]
    assert [owner.number for owner in model.agents] == [0, 1, 2]
    stays = MarketOverTime(
        lambda period, before: rich if period > 3 else poor,
        periods=5,
        rng=1,
        turnover=Turnover(patience=1, returns=False),
    )
    assert not stays.run()[4].present[2]


def test_a_big_owner_that_joins_late_lowers_what_the_others_are_paid():
    game = contest((1.0, 1.0, 1.0), per="records_epsilon", sizes=SIZES)
    _, told = over(game, 3, turnover=Turnover(np.array([1, 1, 3])))
    paid = np.array([one.equilibrium.payments for one in told])
    assert np.allclose(paid[:2], [[6, 6, 0]] * 2, atol=1e-6) and told[2].joined == ("owner 2",)
    assert (paid[2, :2] < 6).all() and paid[2].sum() == pytest.approx(12)


def test_an_owner_that_joins_late_changes_nothing_before():
    few = contest((1.0, 2.0))
    many = contest((1.0, 2.0, 0.1))
    before, after = (
        sold(over(game, 4, turnover=Turnover(np.array([1, 2, 4][: len(game.owners)])))[1])
        for game in (few, many)
    )
    assert np.abs(after[:3, :2] - before[:3]).max() < 1e-12 and (after[3, :2] != before[3]).all()
    assert (draw_arrivals(0.3, 8, seed=5)[:3] == draw_arrivals(0.3, 3, seed=5)).all()


def test_arrivals_are_those_of_a_poisson_clock():
    """The chance to have joined by the k-th period after the first is 1 - exp(-k rate)."""
    at = draw_arrivals(0.4, 20_000, seed=1)
    rate = 0.4
    assert at.min() == 2
    for k in (1, 2, 5):
        expected = 1 - np.exp(-k * rate)
        assert abs((at <= 1 + k).mean() - expected) < 4 * np.sqrt(
            expected * (1 - expected) / 20_000
        )


def test_the_collector_records_who_is_there_and_nothing_missing():
    model, told = over(
        contest((1.0, 2.0, 3.0)), 3, turnover=Turnover(np.array([1, 2, 3])), lifetime=spend(3.0, 3)
    )
    agents = model.datacollector.get_agent_vars_dataframe()
    frame = model.datacollector.get_model_vars_dataframe()
    assert agents.groupby(level="Step").size().tolist() == frame["present"].tolist() == [1, 2, 3]
    assert (
        frame["period"].tolist() == [1, 2, 3]
        and not agents.isna().any().any()
        and not frame.isna().any().any()
    )
    last = agents.xs(3, level="Step")
    assert np.allclose(last["epsilon"], told[2].sold) and np.allclose(last["total"], told[2].total)


def test_nothing_is_spent_where_the_trade_fails_or_nobody_is_there():
    def refuse(period, game, found):
        raise RuntimeError

    model = MarketOverTime(contest((1.0, 2.0)), periods=2, rng=1, trade=refuse)
    with pytest.raises(RuntimeError):
        model.step()
    assert not model.history and not model.sold_so_far.size
    empty = over(contest((1.0, 2.0)), 2, turnover=Turnover(np.array([2, 2])))[1]
    assert not empty[0].sold.any() and empty[1].sold.all()


@pytest.mark.parametrize(
    "more",
    [
        {"periods": 0},
        {"periods": 2, "turnover": Turnover(patience=0)},
        {"periods": 2, "turnover": Turnover(np.ones(5))},
    ],
)
def test_markets_over_time_that_cannot_be(more):
    with pytest.raises(ValueError, match="found"):
        MarketOverTime(contest(), rng=1, **more)


def test_a_market_over_time_is_freed_when_it_is_dropped():
    model, _ = over(contest((1.0, 2.0)), 2)
    there = weakref.ref(model)
    del model, _
    gc.collect()
    assert there() is None
