"""What is worth buying, from the scenario to the page: what is paid past it, and prices, designs and words that know it."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from scenarios.planning import Prepared, prepare
from scenarios.report.figures import payoff_figure
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.run import Run
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.studies.comparison import Alternative, compare, comparison
from scenarios.studies.design import not_beyond
from scenarios.studies.design_part import beyond_part
from scenarios.summary.market import owners_part, payoff_rows
from scenarios.summary.worth import past_worth_ahead, past_worth_part, worth_columns

DEAR = 'policy={kind="posted",price=0.3,per="record_epsilon"%s}'
QUICK = ("market.starts=1", "learning.clip=4.0", "owners.epsilon=[0.01,20.0]")


@cache
def prepared():
    return prepare(load("three_insurers", QUICK))


@cache
def run(*changes):
    scenario, (data, planner) = load("three_insurers", (*QUICK, *changes)), prepared()
    game = market_game(scenario, data, planner)
    return Run(scenario, data, planner, game, settle(scenario, game), None)


def content(made):
    owners = [
        row | {"epsilon_worth": None} if np.isnan(row["epsilon_worth"]) else row
        for row in owners_part(made, 0.01)
    ]
    return {
        "owners": owners,
        "learner": {"past_worth": past_worth_part(made)},
        "scenario": made.scenario.model_dump(),
    }


def test_money_past_what_is_worth_buying_is_told():
    dear = run(DEAR % "")
    columns = worth_columns(dear)
    np.testing.assert_array_equal(dear.epsilon, 20.0)
    np.testing.assert_allclose(
        columns["paid_past_worth"], 0.3 * 6680 * (20.0 - columns["epsilon_worth"])
    )
    part = past_worth_part(dear)
    assert part["owners"] == 3 and part["payments"] == pytest.approx(
        columns["paid_past_worth"].sum()
    )
    # a second route to what it buys: the learner's gains over the same payments
    less = dear.game.value * (
        dear.game.forecast.outside - dear.game.fitness(columns["epsilon_worth"])
    )
    assert part["gain"] == pytest.approx(
        dear.game.value * (dear.game.forecast.outside - dear.game.fitness(dear.epsilon)) - less
    )
    assert 0 < part["gain"] < 0.01 * part["payments"]
    told = render_phrase("worth", "past_worth", content(dear))
    assert (
        told.startswith(
            "Aurora Health, Beacon Mutual and Cedar Life sell more ε than is worth buying"
        )
        and "The learner pays " in told
    )


def test_a_price_that_ends_there_buys_no_more():
    ends = run(DEAR % ',until="worth"')
    found = worth_columns(ends)
    np.testing.assert_allclose(ends.epsilon, found["epsilon_worth"], rtol=1e-6)
    assert ends.equilibrium.converged and ends.equilibrium.max_regret == 0
    np.testing.assert_allclose(ends.game.payments(ends.epsilon), 0.3 * 6680 * ends.epsilon)
    assert past_worth_part(ends) == {"owners": 0, "payments": 0.0, "gain": 0.0}
    assert render_phrase(
        "worth", "past_worth", content(ends)
    ) == "" and "Buying more than ε =" in render_phrase("worth", "worth_buying", content(ends))


def test_who_is_bound_to_sell_more_is_told():
    bound = run(DEAR % ',until="worth"', "owners.epsilon=[15.0,20.0]")
    np.testing.assert_array_equal(bound.epsilon, 15.0)
    assert past_worth_part(bound)["owners"] == 3 and past_worth_part(bound)["payments"] == 0
    assert "The excess costs nothing" in render_phrase("worth", "past_worth", content(bound))


def test_under_one_noise_the_reason_is_another():
    told = {
        "owners": [{"epsilon_worth": 2.0}],
        "scenario": {"trust": {"aggregation": "secure", "colluders": 0}},
    }
    assert "hardly reduces the noise that all owners add together" in render_phrase(
        "worth", "worth_buying", told
    )
    for trust in ({"trust": None}, {"trust": {"aggregation": "local"}}, {}):
        assert "the number of its records limits the model" in render_phrase(
            "worth", "worth_buying", told | {"scenario": trust}
        )


def test_nothing_is_told_where_nothing_is_asked():
    idle = run("policy.budget=0.001", "owners.epsilon=[0.0,0.001]")
    assert not idle.asks and np.isnan(worth_columns(idle)["epsilon_worth"]).all()
    assert (
        render_phrase("worth", "worth_buying", content(idle))
        == render_phrase("worth", "past_worth", content(idle))
        == ""
    )


def test_check_tells_before_a_run_what_the_run_tells():
    dear = run(DEAR % "")
    ahead = past_worth_ahead(dear.scenario, prepared().data)
    assert ahead["past_worth"] == past_worth_part(dear)
    assert [row["epsilon"] for row in ahead["owners"]] == [20.0] * 3
    assert 'policy.until = "worth" would pay for no more' in render_phrase(
        "worth", "worth_ahead", dear.scenario, ahead
    )
    assert (
        render_phrase(
            "worth",
            "worth_ahead",
            dear.scenario,
            past_worth_ahead(run(DEAR % ',until="worth"').scenario, prepared().data),
        )
        == ""
    )
    assert (
        past_worth_ahead(load("three_insurers"), prepared().data) is None
    )  # a contest: a run tells


def test_payoff_curves_are_shaded_beyond_it():
    made = run(DEAR % "")
    curves = pd.DataFrame(payoff_rows(made))
    owners = content(made)["owners"]
    figure = payoff_figure(curves, owners)
    worth = worth_columns(made)["epsilon_worth"][0]
    for axes in figure.axes:
        (shade,) = [patch for patch in axes.patches if patch.get_width() > 0]
        assert 10 ** shade.get_x() == pytest.approx(worth) and 10 ** (
            shade.get_x() + shade.get_width()
        ) == pytest.approx(20)
    plain = payoff_figure(curves, [owner | {"epsilon_worth": 21.0} for owner in owners])
    assert not any(axes.patches for axes in plain.axes)


def test_what_one_more_epsilon_earns_under_marginal_pay():
    """Measured on the insurers: up to what is worth buying, and beyond; all beyond together is small."""
    made = run("policy.kind=marginal", "owners.cost.price=100.0")
    worth = worth_columns(made)["epsilon_worth"]
    moves = made.game.deviations(made.epsilon)
    at = worth[:, None] * np.array([0.1, 1.0, 2.0, 4.0, 1e4])
    paid = moves.payments(at)
    rate = made.game.policy.marginal_payments(at, moves)
    assert np.all(rate > 0) and np.all(rate[:, 1] < 0.005 * rate[:, 0])
    assert np.all(rate[:, 2] < 0.15 * rate[:, 1]) and np.all(rate[:, 3] < 0.15 * rate[:, 2])
    assert np.all(paid[:, -1] - paid[:, 1] < 0.02 * (paid[:, 1] - paid[:, 0]))


@pytest.mark.slow
def test_a_design_does_not_buy_past_it_and_a_comparison_names_it():
    cheap = run("owners.cost.price=[0.5, 1.0, 2.0]", DEAR % "")
    assert past_worth_part(cheap)["owners"] == 3
    plans = Prepared(cheap.data, cheap.planner)
    chosen, made, first = not_beyond(cheap, plans, np.inf)
    assert first is cheap and past_worth_part(made)["owners"] == 0
    assert np.all(made.epsilon <= 1.01 * worth_columns(made)["epsilon_worth"])
    told = beyond_part(first)
    assert [owner["name"] for owner in told["owners"]] == list(cheap.data.names)
    assert not_beyond(made, plans, np.inf) == (made.scenario, made, None)
    words = render_phrase(
        "design",
        "not_bought",
        {
            "beyond_worth": told,
            "chosen": {"learner": {"surplus": 1.0}, "scenario": {"currency": None}, "owners": []},
        },
    )
    assert "The learner could buy more ε than is worth buying: Aurora Health 20 instead of" in words
    other = changed_until(cheap)
    rows = comparison(
        compare([Alternative("dear", cheap.scenario), Alternative("ends", other)], training=False)
    )
    said = [line for line in render_lines("comparison", "cautions", rows) if "worth buying" in line]
    assert len(said) == 1 and said[0].startswith("Dear: ")


def changed_until(made):
    return load(
        "three_insurers", (*QUICK, "owners.cost.price=[0.5, 1.0, 2.0]", DEAR % ',until="worth"')
    )
