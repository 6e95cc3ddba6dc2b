"""Who talks when, from a scenario: groups, rates and dropouts of owners, by list or by name."""

import numpy as np
import pytest
from pairs import OWNERS, laid, refused, scenario
from quick import quick_module
from sizes import thinned

from learning.errors import InputError
from scenarios.planning import planning_inputs
from scenarios.runner import run
from scenarios.tables.dataset import market_data

__all__ = ["quick_module"]  # a fixture of every test


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return laid(tmp_path_factory.mktemp("market"))


@pytest.mark.slow
def test_a_group_answers_as_one_and_all_its_members_are_promised_something(folder):
    """Ash and Cedar talk together: N is two, each talks more often, and every owner has its own claim."""
    grouped = (
        'learning.clocks.groups=[["Ash", "Cedar"]]',
        "learning.clocks.dropout=0.2",
        "learning.clocks.talk=broadcast",
    )
    result = run(scenario(folder, "squared", "asynchronous", *grouped))
    apart = run(scenario(folder, "squared", "asynchronous", *grouped[1:]))
    assert [claim["party"] for claim in result["claims"]] == ["Ash", "Birch", "Cedar"]
    assert apart["forecast"]["answers"] < result["forecast"]["answers"] < 30
    assert np.isfinite(result["validation"]["z_score"]) and result["validation"]["agrees"]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["rates=[1.0, 3.0", "dropout=[0.1, 0.3"])
def test_groups_may_have_rates_and_dropouts_of_their_own(folder, key):
    grouped = 'learning.clocks.groups=[["Ash", "Cedar"]]'
    told = []
    for ending in ("]", ", 1.0]" if "rates" in key else ", 0.1]"):
        try:
            run(
                scenario(
                    folder, "squared", "asynchronous", grouped, f"learning.clocks.{key}{ending}"
                )
            )
        except InputError as error:
            told.append(str(error))
    assert len(told) < 2, told


@pytest.mark.slow
@pytest.mark.parametrize("key", ["rates=[1.0, 3.0, 2.0]", "dropout=[0.1, 0.3, 0.2]"])
def test_clocks_of_those_who_share_are_kept_where_another_stays_out(folder, key):
    """An owner that settles at 0 is no error of the user: its rate and dropout leave with it."""
    out = "owners.epsilon=[[0.0, 0.0], [20.0, 20.0], [20.0, 20.0]]"
    result = run(scenario(folder, "squared", "asynchronous", f"learning.clocks.{key}", out))
    assert [claim["party"] for claim in result["claims"]] == ["Birch", "Cedar"]


CLOCKED = [(loss, talk) for loss in ("squared", "logistic") for talk in ("request", "broadcast")]


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "talk"), thinned(CLOCKED, CLOCKED[::3]))
def test_clocks_with_rates_and_dropouts(folder, loss, talk):
    changes = (
        "learning.clocks.rates=[1.0, 2.0, 3.0]",
        "learning.clocks.dropout=[0.3, 0.0, 0.1]",
        f"learning.clocks.talk={talk}",
    )
    result = run(scenario(folder, loss, "asynchronous", *changes))
    assert result["forecast"]["answers"] < result["forecast"]["horizon"] == 30
    assert len(result["claims"]) == OWNERS and np.isfinite(result["validation"]["z_score"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "delay", [("delay={Ash=0, Birch=5, Cedar=12}",), ("delay=3.5", "delay_law=geometric")]
)
def test_answers_in_flight_are_forecast_and_charged_like_others(folder, delay):
    """Rehearsals train with the same delays; what is promised, and for how many answers, does not change."""
    whole = "squared", "asynchronous", "learning.horizon=100"
    late = run(scenario(folder, *whole, *(f"learning.clocks.{key}" for key in delay)))
    at_once = run(scenario(folder, *whole))
    assert late["claims"] == at_once["claims"]
    assert late["forecast"]["answers"] == at_once["forecast"]["answers"]
    assert late["validation"]["agrees"] and abs(late["validation"]["z_score"]) < 4
    unmet = [one["forecast"]["published_bound"]["unmet"] for one in (late, at_once)]
    assert ["delays" in codes for codes in unmet] == [True, False]
    trained = [one["validation"]["relative_fitness"]["mean"] for one in (late, at_once)]
    assert trained[0] != trained[1]


def test_a_group_waits_for_the_slowest_of_its_members(folder):
    """And delays by name are those of a list; who stays out takes its delay along."""
    keys = [
        'learning.clocks.groups=[["Ash", "Cedar"]]',
        "learning.clocks.delay={Cedar=7, Ash=1, Birch=2}",
    ]
    owners = planning_inputs(
        one := scenario(folder, "squared", "asynchronous", *keys), market_data(one)
    ).owners
    assert owners.clocks.delay == (1.0, 2.0, 7.0)
    assert owners.clocks_among([True, True, True]).delay == (7.0, 2.0)
    assert owners.clocks_among([True, True, False]).delay == (1.0, 2.0)


def test_clocks_by_the_owners_names_are_those_of_a_list(folder):
    changes = ["owners.cost.price=1", "learning.clocks.dropout={Cedar=0.1, Ash=0.3, Birch=0.0}"]
    named = scenario(
        folder,
        "squared",
        "asynchronous",
        *changes,
        "learning.clocks.rates={Birch=2, Cedar=3, Ash=1}",
    )
    ticks = named.learning.ticks(["Ash", "Birch", "Cedar"])
    assert ticks.rates == (1.0, 2.0, 3.0) and ticks.dropout == (0.3, 0.0, 0.1)
    assert named.in_order_of(["Birch", "Ash"], ["Cedar"]).learning.clocks.rates == (
        2.0,
        1.0,
    )  # Cedar has too few records
    assert planning_inputs(named, market_data(named)).owners.clocks == ticks


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        (("learning.clocks.rates=[1.0, 2.0]",), "one entry per owner"),
        (
            ("learning.clocks.rates={Ash=1, Birch=2}",),
            'rates: must have one entry per owner; found none for "Cedar"',
        ),
        (
            ("learning.clocks.dropout={Ash=0.1, Birch=0, Elm=0}",),
            'dropout: must name owners; found "Elm"',
        ),
        (("learning.clocks.dropout=[0.1, 0.2]",), "one entry per owner"),
        (('learning.clocks.groups=[["Ash", "Elm"]]',), "Elm"),
        (("learning.clocks.delay=2.5",), "learning.clocks.delay: must be whole ticks; found 2.5"),
        (("learning.clocks.delay={Ash=0.5, Birch=0, Cedar=1}",), "whole ticks; found 0.5"),
        (
            ("learning.clocks.delay=-1",),
            "learning.clocks.delay: must be a number from 0 to below 1e+06",
        ),
        (("learning.clocks.delay=[1, 2]",), "one entry per owner"),
    ],
)
def test_clocks_that_do_not_fit_are_refused(folder, changes, word):
    assert word in refused(folder, "squared", "asynchronous", *changes)
