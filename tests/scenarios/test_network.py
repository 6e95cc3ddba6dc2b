"""Networks from a scenario file to the result, the page and GraphML, beside the same market without them."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from commands import lay
from quick import quick_module
from told import differing

from agents.networks.files import result_graph
from learning.errors import InputError
from scenarios.checking import check_scenario
from scenarios.command.console import summary_lines
from scenarios.report import figure_network
from scenarios.report.figures import FIGURES
from scenarios.report.page import render
from scenarios.result import save_result
from scenarios.runner import run
from scenarios.schema.loading import load

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # as the fixtures of this module

RIVAL = "learners=[{name='Rival', value=50.0, policy={kind='proportional', budget=200.0}}]"
PATH = "network.trade={kind='edges', edges=[['A','learner'],['B','learner'],['B','Rival'],['C','Rival']]}"
SIGHT = "network.sight={kind='%s'}"
NEIGHBOURS = "behaviours=[{kind='neighbours'}]"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Three owners of forty records with linear costs 1, 2 and 3; what is shared out goes by epsilon."""
    changes = {
        "split = [40, 40]": 'split = [40, 40, 40]\nnames = ["A", "B", "C"]',
        "price = 1.0": "price = [1.0, 2.0, 3.0]",
        "epsilon = [0.1, 5.0]": "epsilon = [0.01, 50.0]",
        "budget = 10.0": "budget = 90.0",
    }
    return lay(tmp_path_factory.mktemp("network"), 160, changes)


@pytest.fixture(scope="module")
def contest(path):
    """Two learners with one captive owner each, and B between them."""
    return run(load(path, [RIVAL, PATH]))


def test_owners_sell_to_whom_they_are_linked_and_as_the_closed_form_says(contest):
    """Tullock's contests of two with linear costs: ``R c_other / (c + c_other)^2``."""
    sold = {
        (edge["owner"], edge["learner"]): edge["epsilon"]
        for edge in contest["network"]["trade"]["edges"]
    }
    expected = {
        ("A", "learner"): 20.0,
        ("B", "learner"): 10.0,
        ("B", "Rival"): 24.0,
        ("C", "Rival"): 16.0,
    }
    assert sold == pytest.approx(expected, rel=1e-6)
    first, rival = contest["learners"]
    assert (
        first["owners"][2]["epsilon"] == 0 == first["owners"][2]["payment"]
        and rival["owners"][0]["payment"] == 0
    )


def test_claims_add_up_over_the_learners_that_an_owner_is_linked_to(contest):
    told = {name: [one for one in contest["claims"] if one["party"] == name] for name in "ABC"}
    assert [len(told[name]) for name in "ABC"] == [1, 3, 1]
    assert (
        told["B"][2]["epsilon"]
        == pytest.approx(34.0, rel=1e-6)
        == sum(one["epsilon"] for one in told["B"][:2])
    )
    assert told["B"][2]["protects_against"] == "anyone who sees all answers to all learners"
    assert told["A"][0]["protects_against"].endswith("of learner") and told["C"][0][
        "protects_against"
    ].endswith("of Rival")
    assert [owner["claimed_epsilon"] for owner in contest["owners"]] == pytest.approx(
        [20.0, 34.0, 16.0], rel=1e-6
    )


def test_the_part_adds_up_with_the_rest_of_the_result(contest):
    part = contest["network"]
    owners = contest["owners"]
    for owner, row in zip(owners, part["trade"]["owners"], strict=True):
        mine = [edge for edge in part["trade"]["edges"] if edge["owner"] == owner["name"]]
        for key in ("epsilon", "payment"):
            assert (
                row[key] == owner[key] == pytest.approx(sum(edge[key] for edge in mine), rel=1e-12)
            )
        assert row["degree"] == len(mine) and row["surplus"] == owner["surplus"]
    for learner, row in zip(contest["learners"], part["trade"]["learners"], strict=True):
        assert (row["payments"], row["surplus"]) == pytest.approx(
            (learner["payments"], learner["surplus"]), rel=1e-9
        )
    assert part["here"]["total"] == pytest.approx(contest["welfare"]["total"], rel=1e-12)
    assert part["here"]["owners"] == pytest.approx(contest["welfare"]["owners"], rel=1e-12)
    surplus = [
        90 * 4 / 9,
        90 / 9 + 200 * 9 / 25,
        200 * 4 / 25,
    ]  # a contest is worth ``R c_other^2 / (c + c_other)^2``
    assert [row["surplus"] for row in part["trade"]["owners"]] == pytest.approx(surplus, rel=1e-6)
    ranks = {
        "centrality": "degree",
        "spearman": pytest.approx(np.sqrt(3) / 2),
        "owners": 3,
    }  # of 2, 3, 1 and 1.5, 3, 1.5
    assert part["trade"]["rank_correlations"][0] == ranks
    assert not differing("result.json", contest.content)[0] and "network" in contest[
        "privileged"
    ].keys() | {"network"}


@pytest.mark.slow
def test_the_complete_graph_is_the_market_without_a_network(path, contest):
    whole = contest["network"]["complete"]
    complete = run(load(path, [RIVAL]), training=False)
    assert complete["network"] is None
    assert whole["epsilon"] == pytest.approx(
        [owner["epsilon"] for owner in complete["owners"]], rel=1e-6
    )
    assert whole["total"] == pytest.approx(complete["welfare"]["total"], rel=1e-6)
    assert whole["relative_fitness"] == pytest.approx(
        [one["relative_fitness"] for one in complete["learners"]], rel=1e-6
    )


def test_graphml_holds_the_result(contest, tmp_path):
    save_result(contest, tmp_path / "out", lambda folder: None)
    graph = nx.read_graphml(tmp_path / "out" / "network.graphml")
    told = result_graph(contest.content)
    assert dict(graph.nodes(data=True)) == dict(told.nodes(data=True)) and nx.utils.edges_equal(
        graph.edges(data=True), told.edges(data=True)
    )
    for owner in contest["owners"]:
        node = graph.nodes[owner["name"]]
        assert all(
            node[key] == owner[key]
            for key in ("records", "epsilon", "payment", "privacy_cost", "surplus")
        )
    assert graph.edges["B", "Rival"]["payment"] == contest["learners"][1]["owners"][1]["payment"]
    values = [
        value
        for *_, data in [*graph.nodes(data=True), *graph.edges(data=True)]
        for value in data.values()
    ]
    assert all(type(value) in (str, float, int, bool) for value in values)


@pytest.mark.slow
def test_the_graphml_of_a_result_can_be_the_network_again(path, contest, tmp_path):
    save_result(contest, tmp_path / "out", lambda folder: None)
    (path.parent / "again.graphml").write_bytes((tmp_path / "out" / "network.graphml").read_bytes())
    scenario = load(path, [RIVAL, "network.trade={kind='file', path='again.graphml'}"])
    assert f'"{path.parent}/again.graphml"' in scenario.to_toml(absolute=True)
    again = run(scenario, training=False)
    assert again["network"]["trade"]["edges"] == contest["network"]["trade"]["edges"]


@pytest.mark.slow
def test_who_is_linked_to_no_learner_is_not_in_the_market(path):
    """With one learner it is as if it had nothing to sell, though others are bound to sell a little."""
    edges = "network.trade={kind='edges', edges=[['A','learner'],['B','learner']], alone=['C']}"
    alone = run(load(path, [edges]), training=False)
    nothing = run(
        load(path, ["owners.epsilon={A=[0.01, 50.0], B=[0.01, 50.0], C=[0.0, 0.0]}"]),
        training=False,
    )
    for one, other in zip(alone["owners"], nothing["owners"], strict=True):
        assert [one[key] for key in ("epsilon", "payment")] == [
            other[key] for key in ("epsilon", "payment")
        ]
    assert alone["owners"][2]["surplus"] == 0 and [claim["party"] for claim in alone["claims"]] == [
        "A",
        "B",
    ]
    assert alone["network"]["trade"]["owners"][2]["degree"] == 0
    assert "C is linked to no learner and cannot sell" in render(alone.content, {}, "")


@pytest.mark.slow
def test_neighbours_on_the_complete_graph_are_rational_and_elsewhere_not(path):
    everybody = run(load(path, [SIGHT % "complete", NEIGHBOURS]), training=False)
    assert [o["epsilon"] for o in everybody["owners"]] == pytest.approx(
        everybody["equilibrium"]["benchmark"]["epsilon"], rel=1e-8
    )
    blind = run(load(path, [SIGHT % "empty", NEIGHBOURS]), training=False)
    assert [one["degree"] for one in blind["network"]["sight"]["owners"]] == [0, 0, 0]
    assert blind["network"]["complete"]["epsilon"] == pytest.approx(
        everybody["network"]["here"]["epsilon"], rel=1e-6
    )
    assert (
        blind["behaviours"][0]["parameters"] == {"prior": "seen"}
        and not blind["equilibrium"]["converged"]
    )
    assert not differing("result.json", blind.content)[0]
    json.dumps(blind.content, allow_nan=False)
    assert "0 of 3 pairs see each other. A, B and C see nobody" in render(blind.content, {}, "")


@pytest.mark.in_full
def test_page_and_figure_show_the_network(contest):
    page = render(contest.content, {}, "")
    lines = "\n".join(summary_lines(contest.content))
    for words in (
        "Who is linked to whom",
        "4 of 6 pairs are linked",
        "B has most links, 2.",
        "too few to show much",
        "in both, and the first learner",
    ):
        assert words in page and (words in lines or words.startswith("Who"))
    figure = FIGURES["network"](contest.content, {})
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert {"A", "B", "C", "learner", "Rival"} <= set(texts)
    assert FIGURES["network"](contest.content | {"network": None}, {}) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            [RIVAL, PATH.replace("'C'", "'D'")],
            r'network\.trade\.edges: must name owners and learners; found "D"',
        ),
        ([PATH], r'network\.trade\.edges: must name owners and learners; found "Rival"'),
        (
            [RIVAL.replace("Rival", "A"), PATH.replace("Rival", "A")],
            'must tell owners and learners apart .* "A"',
        ),
        (
            ["network.trade={kind='ring'}"],
            r'network\.trade\.kind: must be "complete", .* found "ring"',
        ),
        (
            ["network.trade={kind='captive', brdges=1}"],
            r'network\.trade\.brdges: is not a known key; .* "bridges"',
        ),
        (
            ["network.trade={kind='edges', edges=[['A']]}"],
            r"network\.trade\.edges: must be a list of pairs",
        ),
        (["network={}"], "network: must have a table"),
        (
            ["network.trade={kind='file', path='none.graphml'}"],
            r"network\.trade\.path: must be a file that can be read",
        ),
        (
            ["network.trade={kind='captive'}", "owners.report=0.005"],
            r"owners\.report: must be left out in a scenario with \[network",
        ),
        (
            [SIGHT % "ring"],
            r"network\.sight: needs \[\[behaviours\]\] of owners who look at others",
        ),
        ([NEIGHBOURS], r"behaviours: needs \[network\.sight\]"),
        (
            [SIGHT % "ring", NEIGHBOURS, "policy.kind=shapley"],
            r"policy\.kind: must be one under which owners meet in sums",
        ),
        (
            [SIGHT % "ring", NEIGHBOURS, "regulation.price_floor=1.0"],
            r"regulation\.price_floor: must be left out",
        ),
        (
            [SIGHT % "star', centre='Z", NEIGHBOURS],
            r'network\.sight\.centre: must name an owner; found "Z"',
        ),
        (
            ["behaviours=[{kind='neighbours', prior='guess'}]"],
            r'behaviours\.1\.prior: must be "seen", "published" or a num',
        ),
    ],
)
def test_networks_that_cannot_be(path, changes, message):
    with pytest.raises(InputError, match=message) as told:
        check_scenario(load(path, changes))
    assert "\n" not in str(told.value)


@pytest.mark.in_full
def test_of_many_owners_a_few_are_named_and_all_stand_around_their_learners(contest, monkeypatch):
    monkeypatch.setattr(figure_network, "NAMED", 2)
    monkeypatch.setattr(figure_network, "FEW", 1)
    axes = figure_network.network_figure(contest.content).axes[0]
    assert {text.get_text() for text in axes.texts} == {"B", "learner", "Rival"}
    owners, learners = (np.asarray(drawn.get_offsets())[:, 0] for drawn in axes.collections[-2:])
    assert (
        owners[0] < learners[0] < owners[1] < learners[1] < owners[2]
    )  # bound to one, between, bound to the other
