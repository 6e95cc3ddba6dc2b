"""Where nothing is asked: what would change that, each change tried out by a way of its own."""

from functools import cache

import pytest
from result_folders import without_questions

from scenarios.planning import prepare
from scenarios.report.phrases import render_phrase
from scenarios.run import Run
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.summary.market import remedies_part
from scenarios.summary.remedies import (
    fewer_components,
    fewer_owners,
    first_that_pays,
    more_epsilon,
    more_money,
    other_mechanisms,
)

QUICK = (
    "market.starts=1",
    "learning.clip=4.0",
)  # one clipping bound makes designing a protocol seven times as fast
POOR = ("policy.budget=20.0", *QUICK)
NOISY = ("owners.epsilon=[[0.5, 1.0], [0.5, 1.0], [0.001, 0.003]]", "policy.budget=500.0", *QUICK)


@cache
def settled(*changes):
    scenario = load("three_insurers", changes)
    return played(scenario, *prepare(scenario))


def played(scenario, data, planner):
    game = market_game(scenario, data, planner)
    return Run(scenario, data, planner, game, settle(scenario, game), None)


def gain(run, epsilon=None):
    """The learner's gain by the forecast; None where nothing is asked."""
    epsilon = run.epsilon if epsilon is None else epsilon
    forecast = run.planner.forecast
    asks = forecast.plan(epsilon).asks and epsilon.any()
    return (
        run.game.value * (forecast.outside - forecast.at(epsilon))
        - run.game.payments(epsilon).sum()
        if asks
        else None
    )


def test_where_something_is_asked_nothing_has_to_change():
    assert remedies_part(settled(*QUICK)) == []


@pytest.mark.slow
def test_budgets_and_money_are_raised_as_far_as_it_takes():
    run = settled(*POOR)
    assert gain(run) is None
    (raised,), (money,) = more_epsilon(run), more_money(run)
    factor = raised["factor"]
    assert (
        gain(run, factor * run.epsilon) > 0 and (gain(run, 0.97 * factor * run.epsilon) or -1) <= 0
    )
    assert raised["allowed"] == bool((factor * run.epsilon <= 10).all())
    more = money["factor"]
    scenarios = (
        load("three_insurers", [*POOR, f"policy.budget={20 * k!r}"]) for k in (more, 0.95 * more)
    )
    enough, little = (played(scenario, run.data, run.planner) for scenario in scenarios)
    assert gain(enough) == pytest.approx(money["gain"], rel=1e-4) and gain(enough) > 0
    assert (gain(little) or -1) <= 0


@pytest.mark.slow
def test_another_mechanism_is_tried_with_a_protocol_of_its_own():
    changes = (
        "owners.epsilon=[0.01, 0.05]",
        "owners.cost.price=1e6",
        *POOR[:2],
        "learning.clip=2.5",
    )
    run = settled(*changes)
    assert gain(run) is None
    others = {one["label"]: one for one in other_mechanisms(run)}
    _, planner = prepare(
        load("three_insurers", [*changes, "learning.mechanism=gaussian", "learning.delta=1e-6"])
    )
    other = others[planner.mechanism.label]
    assert other["delta"] == 1e-6 and {label.partition(" ")[0] for label in others} == {
        "gaussian",
        "l2",
    }
    worth = run.game.value * (planner.forecast.outside - planner.forecast.at(run.epsilon))
    assert worth > other["gain"] > 0 and worth - other["gain"] == pytest.approx(20, rel=1e-6)


@pytest.mark.slow
def test_planners_of_the_same_rows_share_their_resamples(monkeypatch):
    """Each drew and fitted its own: half of the time that a market of 500 columns took."""
    run = settled(*NOISY)
    told = fewer_owners(run), other_mechanisms(run)
    monkeypatch.delattr("learning.forecast.doubts.draw_bootstrap")
    assert (fewer_owners(run), other_mechanisms(run)) == told and told[0]


def test_owners_whose_noise_outweighs_their_records_are_named():
    run = settled(*NOISY)
    (found,) = fewer_owners(run)
    assert gain(run) is None and found["left_out"] == ["Cedar Life"]
    _, planner = prepare(
        load("three_insurers", [NOISY[0].replace("0.001, 0.003", "0.0, 0.0"), *NOISY[1:]])
    )
    psi = planner.forecast.at(run.epsilon * [1, 1, 0])
    worth = run.game.value * (planner.forecast.outside - psi)
    assert worth > found["gain"] > 0 and worth - found["gain"] == pytest.approx(500)


@pytest.mark.slow
def test_fewer_components_are_those_that_the_scenario_could_ask_for():
    changes = ("data.components=9", "owners.epsilon=[0.012, 0.02]", "policy.budget=10.0", *QUICK)
    run = settled(*changes)
    assert gain(run) is None
    (less,) = fewer_components(run)
    _, planner = prepare(load("three_insurers", [*changes, f"data.components={less['count']}"]))
    alone = min((1 + one.forecast.outside) * one.optimum for one in (planner, run.planner))
    made = (1 + planner.forecast.at(run.epsilon)) * planner.optimum
    worth = run.game.value * (alone - made) / run.planner.optimum
    assert 0 < less["gain"] <= worth and worth - less["gain"] == pytest.approx(10, rel=1e-4)


@pytest.mark.slow
def test_a_result_names_every_change_that_pays():
    named = [fact["change"] for fact in remedies_part(settled(*POOR))]
    assert named[:2] == ["epsilon", "money"] and all(
        render_phrase("gain", "remedy", fact, {}) for fact in remedies_part(settled(*POOR))
    )


def test_a_factor_that_never_pays_is_not_told():
    assert first_that_pays(lambda factor: -1.0) is None
    assert first_that_pays(lambda factor: 1.0) == 1.0


def test_every_change_has_its_words():
    made = [
        {"change": "epsilon", "factor": 4.21, "epsilon": [1.0], "allowed": False},
        {"change": "money", "key": "budget", "factor": 2.0, "epsilon": [1.0], "gain": 3.0},
        {"change": "owners", "left_out": ["Cedar Life"], "gain": 4.0},
        {"change": "mechanism", "label": "gaussian (pld)", "delta": 1e-6, "gain": 1234.0},
        {"change": "components", "count": 4, "gain": 50.0},
    ]
    told = render_phrase(
        "gain", "what_would_help", without_questions(learner__remedies=made)
    ).replace("\u00a0", " ")
    assert told == (
        "By the forecast, buying would pay with all privacy budgets 4.21 times as high (more than the owners may choose); or "
        "with a budget twice as high, in the new equilibrium; or without Cedar Life, whose noise outweighs its records; or "
        "under gaussian (pld) noise with δ = 1 × 10⁻⁶ (a gain of 1,230); or with 4 components (a gain of 50), each change by "
        "itself."
    )
    assert render_phrase("gain", "what_would_help", without_questions()) == ""
