"""A learner that bargains, from a scenario file to the result: contracts by a grid of one's own, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from commands import INSURERS
from quick import quick_module

from agents.pricing.negotiation import rubinstein_share
from learning.errors import InputError
from scenarios.planning import prepare
from scenarios.report.page import write_report
from scenarios.report.phrases import render_phrase
from scenarios.result import save_result
from scenarios.runner import carry_out, result_of, with_protocol
from scenarios.schema.loading import load

__all__ = ["quick_module"]  # a fixture of every test
VALUE = 4000.0
PRICES = np.array([3.0, 4.0])  # of INSURERS, per unit of half epsilon squared
NASH = "learner.pricing={kind='nash_in_nash',power=0.3}"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("bargains") / "bargains.toml"
    text = INSURERS.replace("1000.0", str(VALUE)).replace("[500, 300]", "[900, 800]")
    file.write_text(text.replace('"linear"', '"quadratic"'))
    return file


@pytest.fixture(scope="module")
def prepared(path):
    return prepare(load(path))


def result(path, prepared, rule):
    return result_of(carry_out(load(path, [rule]), prepared, training=False)).content


def column(content, key):
    return np.array([owner[key] for owner in content["owners"]])


@pytest.fixture(scope="module")
def done(path, prepared):
    return carry_out(load(path, [NASH]), prepared)


@pytest.fixture(scope="module")
def nash(done):
    return result_of(done).content


def pair_on_grid(prepared, epsilon, owner):
    """Largest joint surplus of a pair by a grid of its own, and the gain there: the other owner stays."""
    forecast = prepared.planner.forecast
    grid = np.concatenate([[0.0], np.geomspace(1e-3, 10.0, 4001)])
    gains = []
    for one in grid:
        profile = epsilon.copy()
        profile[owner] = one
        gains.append(-VALUE * forecast.at(profile))
    gains = np.array(gains) - gains[0]
    joint = gains - PRICES[owner] * grid**2 / 2
    best = int(joint.argmax())
    return grid[best], joint[best], gains[best]


def test_contracts_are_those_of_a_grid_over_every_pair(prepared, nash):
    epsilon = column(nash, "epsilon")
    assert (epsilon > 0).all()
    for owner in range(2):
        best, joint, gain = pair_on_grid(prepared, epsilon, owner)
        assert epsilon[owner] == pytest.approx(best, rel=2.5e-3, abs=1e-9)
        made = nash["bargaining"]["owners"][owner]
        assert made["joint"] == pytest.approx(joint, rel=1e-4, abs=1e-6)
        assert made["fee"] == pytest.approx(0.7 * joint, rel=1e-4, abs=1e-6)
        paid = nash["owners"][owner]["payment"]
        assert paid == pytest.approx(gain - 0.7 * joint, rel=3e-3)  # the grid's ratio


def test_the_contracts_are_a_certified_equilibrium_and_paid_by_the_learner(prepared, done, nash):
    forecast = prepared.planner.forecast
    assert nash["equilibrium"]["converged"] and not done.game.owners.epsilon_min.any()
    assert nash["bargaining"]["profiles"] >= 1
    gain = VALUE * (forecast.outside - forecast.at(column(nash, "epsilon")))
    paid = column(nash, "payment").sum()
    assert nash["learner"]["payments"] == pytest.approx(paid)
    assert nash["learner"]["surplus"] == pytest.approx(gain - paid)
    assert nash["scenario"]["policy"]["kind"] == "proportional"
    assert nash["bargaining"]["policy"]["fee"] == [
        owner["fee"] for owner in nash["bargaining"]["owners"]
    ]


def test_a_result_is_saved_with_the_path_and_a_page(done, tmp_path):
    save_result(with_protocol(done), tmp_path / "out", write_report)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The learner bargained with every owner" in page
    assert "less a fee of" in page


def test_answers_are_charged_at_the_agreed_epsilon(done, nash):
    spent = {one.budget.owner: one.budget.epsilon for one in done.ledger.accounts}
    agreed = {owner["name"]: owner["epsilon"] for owner in nash["owners"] if owner["epsilon"]}
    assert agreed and spent == pytest.approx(agreed)


@pytest.mark.parametrize(("learner", "owners"), [(0.9, 0.9), (0.8, 0.4)])
def test_offers_end_at_rubinsteins_division(path, prepared, nash, learner, owners):
    rule = f"learner.pricing={{kind='alternating_offers',learner={learner},owners={owners}}}"
    content = result(path, prepared, rule)
    share = rubinstein_share(learner, owners)
    for offered, divided in zip(
        content["bargaining"]["owners"], nash["bargaining"]["owners"], strict=True
    ):
        assert offered["joint"] == pytest.approx(divided["joint"])
        assert offered["fee"] == pytest.approx(share * divided["joint"], rel=0.02)
    assert (column(content, "surplus") >= -1e-9).all() and content["equilibrium"]["converged"]


def test_an_owner_without_a_deal_sells_nothing_below_its_lowest_budget(path, prepared):
    scenario = load(path, [NASH, "owners.cost.price=[3.0,40000.0]"])
    content = result_of(carry_out(scenario, prepared, training=False)).content
    epsilon = column(content, "epsilon")
    assert epsilon[0] > 0 and epsilon[1] == 0 and content["owners"][1]["payment"] == 0


def test_a_deal_that_nobody_accepts_is_refused(path, prepared):
    rule = "learner.pricing={kind='alternating_offers',periods=1}"
    with pytest.raises(InputError, match=r"periods: must be long enough .* found 1, and none from"):
        result(path, prepared, rule)


def test_sentences_name_who_agreed(nash):
    said = render_phrase("bargaining", "terminal", nash)
    assert said.startswith("The learner bargained with every owner instead of posting a policy")
    assert render_phrase("bargaining", "terminal", {}) == ""
    nobody = {"bargaining": {"title": "t", "owners": [{"joint": 0.0}], "profiles": 2}}
    said = render_phrase("bargaining", "terminal", nash | nobody)
    assert "It agreed with nobody" in said and "2 profiles of ε" in said


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            ["learner.pricing={kind='nash_in_nash',power=1.5}"],
            "learner.pricing.power: must be from 0 to 1",
        ),
        (
            ["learner.pricing={kind='alternating_offers',learner=1.0}"],
            "learner.pricing.learner: must",
        ),
        (
            [NASH, "owners.benefit=10.0", "owners.model_goes_to=all"],
            'owners.model_goes_to: must be "sellers" in a scenario with a [learner.pricing] that bargains',
        ),
        (
            [NASH, "behaviours=[{kind='stale'}]"],
            "behaviours: must be left out in a scenario with a ",
        ),
    ],
)
def test_refusals_are_one_line(path, changes, told):
    with pytest.raises(InputError) as caught:
        load(path, changes)
    assert told in str(caught.value) and "\n" not in str(caught.value)
