"""Alternatives side by side: equal spending is met, differences are paired, the vote is counted, the page is whole."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import INSURERS
from quick import quick_module
from told import differing

import dpmarket as dpm
from learning.errors import InputError
from market.analysis.welfare import count_votes
from scenarios.command.studies import split_values
from scenarios.features.pricing import scale_money
from scenarios.planning import prepare
from scenarios.report.comparison_page import render_comparison, save_comparison
from scenarios.report.facts_outcome import alternative_name
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.schema.kinds import KINDS
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.studies.comparison import Aim, Alternative, compare, comparison, read_alternatives
from scenarios.studies.offers import at_fitness, at_spending, of_kind

__all__ = ["quick_module"]  # a fixture of every test

NOT_FOR_GRADIENTS = ("user", "procured", "contribution")  # contributions need released sums
VARIED = [("policy.kind", "marginal"), ("regulation.epsilon_cap", "1.0")]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def insurers(tmp_path_factory):
    file = tmp_path_factory.mktemp("compare") / "insurers.toml"
    file.write_text(INSURERS, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def made(insurers):
    aim = Aim(spending=40.0)
    carried = compare(read_alternatives([insurers]), VARIED, aim)
    return carried, comparison(carried, aim)


def test_every_policy_spends_what_is_asked_or_says_that_it_cannot(made):
    _, content = made
    assert differing("comparison.json", content) == (set(), set())
    names = ["proportional", "marginal", "regulation.epsilon_cap = 1.0"]
    assert [row["name"] for row in content["alternatives"]] == names
    for row in content["alternatives"]:
        assert row["certified"] and row["payments"] == pytest.approx(
            sum(owner["payment"] for owner in row["owners"])
        )
        assert row["scaled"]["met"] and row["payments"] == pytest.approx(40, rel=1e-5)
    assert max(owner["epsilon"] for owner in content["alternatives"][-1]["owners"]) <= 1.0


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS["policy"] if kind not in NOT_FOR_GRADIENTS]
)
def test_every_kind_of_policy_can_be_put_in_place_and_its_money_scaled(kind, insurers, market_of):
    scenario, prepared, game = market_of
    other = scenario if scenario.policy.kind == kind else of_kind(scenario, kind, game)
    one, twice = (market_game(scale_money(other, factor), *prepared) for factor in (1.0, 2.0))
    epsilon = np.array([1.0, 2.0])
    assert other.policy.kind == kind and (twice.promised(epsilon) >= one.promised(epsilon)).all()


@pytest.fixture(scope="module")
def market_of(insurers):
    scenario = load(insurers)
    prepared = prepare(scenario)
    return scenario, prepared, market_game(scenario, *prepared)


def test_the_money_of_an_aim_is_found_by_settling_anew(market_of):
    scenario, prepared, _ = market_of
    marginal = of_kind(scenario, "marginal", market_of[2])
    for find, aim, measure in (
        (at_spending, 25.0, lambda game, at: game.payments(at).sum()),
        (at_fitness, 0.13, lambda game, at: game.fitness(at)),
    ):
        found = find(marginal, prepared, aim)
        game = market_game(found.scenario, *prepared)
        assert found.met and measure(game, settle(found.scenario, game).epsilon) == pytest.approx(
            aim, rel=1e-4
        )
    assert at_spending(scenario, prepared, 25.0).scenario.policy.budget == pytest.approx(25.0)
    beyond = at_fitness(marginal, prepared, 1e-12)
    assert not beyond.met


def test_a_jump_over_the_aim_is_told(market_of):
    scenario, prepared, game = market_of
    found = at_spending(of_kind(scenario, "posted", game), prepared, 40.0)
    below = market_game(found.scenario, *prepared)
    above = market_game(scale_money(found.scenario, 1 + 1e-6), *prepared)
    assert not found.met and found.jumps_to > 1
    paid = [offered.payments(settle(scenario, offered).epsilon).sum() for offered in (below, above)]
    assert paid[0] < 40 and paid[1] == pytest.approx(40 * found.jumps_to, rel=1e-4)


def test_differences_are_counted_on_the_same_draws(made):
    carried, content = made
    found, (first, other) = content["differences"][0], carried[:2]
    runs = [
        np.array([row["relative_fitness"] for row in one.result.validation])
        for one in (first, other)
    ]
    paid = [one.result["learner"]["payments"] for one in (first, other)]
    by_run = 1000.0 * (runs[0] - runs[1]) - (paid[1] - paid[0])
    assert found["paired"] and found["learner_trained"]["median"] == pytest.approx(
        np.median(by_run)
    )
    by_world = 1000.0 * (first.run.prediction.trained - other.run.prediction.trained) - (
        paid[1] - paid[0]
    )
    chance = (np.sum(by_world > 0) + 0.5) / (len(by_world) + 1)
    assert len(by_world) >= 60 and found["learner_by_world"]["chance_better"] == pytest.approx(
        chance
    )
    assert found["welfare"] == pytest.approx(
        found["learner"] + sum(found["owners"]) + found["treasury"]
    )


def test_an_alternative_beside_itself_differs_by_nothing(insurers):
    scenario = load(insurers, ["market.starts=1"])
    carried = compare([Alternative("one", scenario), Alternative("other", scenario)])
    found = comparison(carried)["differences"][0]
    assert found["learner"] == found["welfare"] == 0 and found["owners"] == [0, 0]
    assert found["learner_by_world"]["interval"] == [0, 0] == found["learner_trained"]["interval"]
    assert comparison(carried)["vote"]["votes"] == {"one": 0, "other": 0}
    assert "All owners are indifferent" in render_phrase("comparison", "vote", comparison(carried))


def test_what_is_on_other_records_is_not_paired(insurers):
    scenario = load(insurers, ["market.starts=1"])
    other = load(insurers, ["market.starts=1", "data.split=[400, 300]"])
    content = comparison(
        compare([Alternative("one", scenario), Alternative("other", other)], training=False)
    )
    assert (
        not content["differences"][0]["paired"]
        and content["differences"][0]["learner_by_world"] is None
    )
    assert (
        "no interval, because records or protocol differ"
        in render_lines("comparison", "against_first", content)[0]
    )


def test_a_majority_may_have_no_winner():
    cycle = count_votes(np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [2.0, 1.0, 3.0]]))
    assert cycle.winner is None and cycle.first.tolist() == [0, 1, 2]
    assert count_votes(np.array([[1.0, 1.0 + 1e-12]])).first.tolist() == [-1]
    assert count_votes(np.zeros((0, 2))).winner is None


def test_the_page_and_the_memo_are_whole(made, tmp_path):
    _, content = made
    page = render_comparison(content)
    memo = dpm.Comparison(content).memo
    assert page.count("<svg") == 1 and "cap on ε of 1.0" in page and "<script" not in page
    for row in content["alternatives"]:
        assert alternative_name(row) in memo.lower() or alternative_name(row) in memo
    hostile = json.loads(json.dumps(content).replace("proportional", "=cmd()<b>"))
    hostile["alternatives"][0]["policy"] = content["alternatives"][0]["policy"]
    assert "<b>" not in render_comparison(hostile)
    save_comparison(hostile, tmp_path / "c")
    assert "'=cmd()" in (tmp_path / "c" / "comparison.csv").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="--out"):
        (tmp_path / "c" / "mine.txt").write_text("x")
        save_comparison(content, tmp_path / "c")


def test_in_python(made, insurers):
    found = dpm.Comparison(made[1])
    assert (
        found.alternatives.loc["marginal", "payments"] == pytest.approx(40)
        and len(found.owners) == 6
    )
    assert found.memo.startswith("#") and found._repr_html_().startswith("<svg")
    with pytest.raises(dpm.InputError, match="policy.kind"):
        dpm.compare([insurers], {"policy.kind": ["barter"]})


def test_the_command(dpmarket, insurers):
    status, out, err = dpmarket(
        "compare",
        insurers,
        "--vary",
        "policy.kind=posted_channel",
        "--no-train",
        "--set",
        "market.starts=1",
        "--out",
        "made",
    )
    assert (status, err) == (0, "") and "proportional" in out and "made/report.html" in out
    content = json.loads(Path("made/comparison.json").read_text(encoding="utf-8"))
    assert (
        content["aim"] == {"spending": None, "fitness": None}
        and content["alternatives"][1]["scaled"]["met"] is not None
    )


@pytest.mark.parametrize(
    "arguments, told",
    [
        ((), "needs two to 50 alternatives"),
        (("--vary", "policy.kind=barter"), "policy.kind: must be one of"),
        (("--vary", "policy.budgte=3"), "policy.budgte"),
        (("--vary", "policy.kind"), "--vary: must be KEY=V1,V2"),
        (("--vary", "policy.kind=user"), "parameters can be filled in"),
        (("--at-spending", "0", "--vary", "seed=2"), "--at-spending: must be a number above 0"),
        (("--at-spending", "5", "--at-fitness", "0.1"), "must not be given together"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(arguments, told, dpmarket, insurers):
    status, out, err = dpmarket("compare", insurers, *arguments)
    assert status == 2 and not out and told in err and err.count("\n") == 1


def test_values_are_split_outside_brackets_and_quotes():
    assert split_values('a.b=[1, 2],"x,y",{c = 1, d = 2}') == [
        ("a.b", "[1, 2]"),
        ("a.b", '"x,y"'),
        ("a.b", "{c = 1, d = 2}"),
    ]


def test_noise_that_protects_less_than_what_is_sold_is_cautioned_of(insurers):
    """Scaled to a bound that is given, the model is better, and the promise worse: the one is not told without the other."""
    content = comparison(
        compare(read_alternatives([insurers]), [("learning.gradient_bound", "0.5")], Aim()), Aim()
    )
    plain, given = content["alternatives"]
    assert plain["weaker"] is None and given["weaker"]["given_bound"] == 0.5
    assert any(
        "a bound on a record's gradient that the scenario states and nothing proves" in said
        for said in render_lines("comparison", "cautions", content)
    )
