"""What the learner should offer: the best money is met by a search of its own, and who harms is left out."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import INSURERS
from quick import quick_module
from sizes import sized
from told import differing

import dpmarket as dpm
from market.analysis.design import evaluate_policy
from market.analysis.welfare import learner_surplus
from market.equilibrium.solver import solve
from scenarios.features.pricing import scale_money
from scenarios.planning import Prepared, prepare
from scenarios.report.design_page import render_design
from scenarios.report.phrases import render_phrase
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.studies.design import design_scenario
from scenarios.studies.design_part import design_part

__all__ = ["quick_module"]  # a fixture of every test

QUICK = ["market.starts=1"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def insurers(tmp_path_factory):
    file = tmp_path_factory.mktemp("design") / "insurers.toml"
    file.write_text(INSURERS, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def found(insurers):
    return design_scenario(load(insurers, QUICK), kinds=["proportional", "posted"])


def test_no_other_amount_of_money_is_better(found):
    best = found.tried[0]
    prepared = Prepared(found.run.data, found.run.planner)

    def gain(factor):
        offered = scale_money(best.stated, factor * best.best.parameters[0])
        game = market_game(offered, *prepared)
        known = best.best.equilibria  # of several the learner counts on the worst
        return evaluate_policy(game, rng=np.random.default_rng(0), starts=1, also=known).surplus

    assert gain(1.0) == pytest.approx(best.gain, rel=1e-6)
    assert max(map(gain, np.geomspace(0.2, 5.0, sized(7, 15)))) <= best.gain + 2e-3 * abs(best.gain)
    assert found.result["learner"]["surplus"] >= best.gain - 1e-6 * abs(best.gain)


def test_what_an_owner_adds_is_that_under_the_offer_chosen():
    found = design_scenario(load("three_insurers", QUICK), kinds=["proportional"])
    prepared = Prepared(found.run.data, found.run.planner)
    game = market_game(found.scenario, *prepared)
    owners = game.owners
    assert sum(one.joins for one in found.joining) >= 2
    for at, one in enumerate(found.joining):
        if not one.joins:
            continue
        most = np.where(np.arange(len(owners)) == at, 0.0, owners.epsilon_max)
        least = np.minimum(owners.epsilon_min, most)
        less = replace(game, owners=replace(owners, epsilon_min=least, epsilon_max=most))
        without = learner_surplus(less, solve(less, rng=np.random.default_rng(0), starts=1).epsilon)
        expected = learner_surplus(game, found.run.epsilon) - without
        assert one.adds == pytest.approx(expected, rel=1e-4)


def test_the_frontier_holds_no_policy_that_another_beats(found):
    content = design_part(found)
    assert differing("design.json", content) == (set(), set())
    efficient = [row for row in content["frontier"] if row["efficient"]]
    assert len(efficient) >= 3
    for row in efficient:
        better = [
            other
            for other in content["frontier"]
            if other["feasible"]
            and other["payments"] <= row["payments"]
            and other["relative_fitness"] < row["relative_fitness"] * (1 - 1e-9)
        ]
        assert not better
    kept = [row["gain"] for row in content["policies"] if "gain" in row]
    assert kept == sorted(kept, reverse=True)


def test_in_python(found, tmp_path):
    made = dpm.Design(design_part(found), found.scenario)
    (row,) = [row for row in made["policies"] if row.get("chosen")]
    learner = found.result["learner"]
    assert row["payments"] == pytest.approx(learner["payments"])
    assert row["gain"] == pytest.approx(learner["gain"]["mean"])
    assert row["chance_pays"] == learner["gain"]["chance_pays"]
    assert row["error"] == pytest.approx(found.result["errors"]["forecast"]["trained"])
    assert made.frontier["efficient"].any()
    assert "the default" in made.answer and made._repr_html_().startswith("<svg")
    assert (
        dpm.load_scenario(made.save(tmp_path / "d") / "chosen.toml").policy == found.scenario.policy
    )
    with pytest.raises(dpm.InputError, match="policy.kind"):
        dpm.design(found.scenario, policies=["barter"])


def test_an_owner_whose_noise_harms_is_not_asked(insurers):
    cost = ["owners.cost.price=[0.5, 300.0]", "owners.epsilon=[0.05, 10.0]", *QUICK]
    made = design_scenario(load(insurers, cost), kinds=["posted_channel"])
    content = design_part(made)
    assert [owner["joins"] for owner in content["owners"]] == [True, False]
    assert made.run.epsilon[1] == 0 and made.result["learner"]["surplus"] > 0
    (row,) = [row for row in content["policies"] if row.get("chosen")]
    assert row["left_out"] == ["owner 2"] and "all but owner 2" in render_design(content)


def test_where_nothing_is_worth_buying_it_says_what_would_help(insurers):
    made = design_scenario(load(insurers, ["learner.value=0", *QUICK]), kinds=["proportional"])
    content = design_part(made)
    assert made.scenario is None and not content["buys"] and content["policies"][0]["refused"]
    assert "The design recommends no offer" in render_phrase(
        "design", "answer", content
    ) and "The design recommends no offer" in render_design(content)


def test_the_command_writes_a_scenario_that_runs(dpmarket, insurers):
    told = (
        "--policies",
        "proportional",
        "--budget",
        "1000",
        "--set",
        "market.starts=1",
        "--out",
        "d",
    )
    status, out, err = dpmarket("design", insurers, *told)
    assert (status, err) == (0, "") and "run it: dpmarket run" in out
    content = json.loads(Path("d/design.json").read_text(encoding="utf-8"))
    again = load("d/chosen.toml")
    prepared = prepare(again)
    game = market_game(again, *prepared)
    paid = game.payments(settle(again, game).epsilon).sum()
    assert 10 < paid < 100 and paid == pytest.approx(
        content["chosen"]["learner"]["payments"], rel=1e-6
    )
    assert Path("d/report.html").read_text(encoding="utf-8").count("<svg") == 1


@pytest.mark.parametrize(
    "arguments, told",
    [
        (("--policies", "barter"), "policy.kind: must be one of"),
        (("--at-least", "1.5"), "--at-least: must lie between 0 and 1"),
        (("--at-least", "0.9", "--quantile", "0.1"), "--at-least: must not be given together"),
        (("--budget", "0"), "--budget: must be a number above 0"),
        (("--policies", "user"), "parameters can be filled in"),
    ],
)
def test_what_cannot_be_designed_is_refused_in_one_line(arguments, told, dpmarket, insurers):
    status, out, err = dpmarket("design", insurers, *arguments)
    assert status == 2 and not out and told in err and err.count("\n") == 1
