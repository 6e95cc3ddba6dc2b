"""Shares of a budget that grow, from the scenario file to the report."""

import numpy as np
import pytest
from pairs import laid, refused, scenario
from quick import quick_module

from learning.privacy.shares import answer_shares
from scenarios.planning import prepare
from scenarios.report.phrases import render_phrase
from scenarios.runner import run

__all__ = ["quick_module"]  # a fixture of every test

LAX = "owners.epsilon=[40, 90]"  # little noise: no ball binds, and the law is exact


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return laid(tmp_path_factory.mktemp("market"))


@pytest.fixture(scope="module")
def grown(folder):
    return run(
        scenario(folder, "squared", "sgd2", "learning.growth=2", "validation.runs=100", LAX)
    ).content


@pytest.mark.slow
def test_the_result_says_how_a_budget_is_shared(grown):
    made = grown["forecast"]
    assert (made["growth"], made["horizon"], made["answers"]) == (2.0, 4, 4)
    np.testing.assert_allclose(made["shares"], answer_shares(2.0, 4))
    assert {claim["growth"] for claim in grown["claims"]} == {2.0} and made[
        "published_bound"
    ] is None
    assert (
        made["kind"] == "exact"
        and abs(grown["validation"]["z_score"]) < 4
        and grown["validation"]["agrees"]
    )
    said = render_phrase("learning", "training_words", grown).replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "each answer spends 2 times as much of the budget as the one before (6.67 %, 13.3 %, 26.7 %, 53.3 %)"
        in said
    )
    assert "T = 4, shares growing by 2" in render_phrase("learning", "plan_line", grown)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["averaged", "synchronous"])
def test_where_the_last_round_is_not_asked_the_budget_is_shared_by_those_before(folder, algorithm):
    for change in ((), ("learning.mechanism=gaussian", "learning.delta=1e-4")):
        made = run(
            scenario(
                folder, "squared", algorithm, "learning.growth=3", "validation.runs=400", *change
            )
        ).content
        assert (made["forecast"]["horizon"], made["forecast"]["answers"]) == (4, 3)
        np.testing.assert_allclose(made["forecast"]["shares"], answer_shares(3.0, 3))
        assert abs(made["validation"]["z_score"]) < 4 and {
            claim["rounds"] for claim in made["claims"]
        } == {3}


@pytest.mark.slow
def test_the_learner_grows_them_where_that_promises_a_better_model(folder):
    found = {}
    for growth in ("1", "2", "optimal"):
        _, planner = prepare(
            scenario(folder, "squared", "sgd2", f"learning.growth={growth}", free=True)
        )[:2]
        found[growth] = planner.forecast.at(np.full(3, 5.0))
    assert found["optimal"] <= min(found["1"], found["2"]) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("algorithm", "changes", "told"),
    [
        ("weighted", ("learning.growth=2",), "needs algorithm = "),
        ("asynchronous", ("learning.growth=optimal",), "whose owners answer in every round"),
        (
            "sgd2",
            ("learning.growth=2", "learning.step_size=printed"),
            'must be 1 with step_size "printed"',
        ),
        ("sgd2", ("learning.growth=0.5",), 'must be "optimal" or a number from 1 to 10'),
        (
            "sgd2",
            ("learning.growth=10", "learning.horizon=9"),
            "the last of 9 answers gets at most 1e+06 times",
        ),
        (
            "sgd2",
            (
                "learning.growth=2",
                "learning.mechanism=gaussian",
                "learning.accounting=printed",
                "learning.delta=1e-5",
            ),
            "of which all answers are alike",
        ),
    ],
)
def test_what_cannot_grow_is_refused_in_one_line(folder, algorithm, changes, told):
    line = refused(folder, "squared", algorithm, *changes)
    assert "learning.growth: " in line and told in line
