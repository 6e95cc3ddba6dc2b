"""Networks by name, from lists and from files; what cannot be one is refused in one line."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from agents.networks import measures
from agents.networks.base import Parties, linked_graph, trade_links
from agents.networks.files import File
from agents.networks.graphs import NETWORKS, Captive, Complete, Edges
from agents.networks.measures import (
    bonacich_centrality,
    centralities,
    rank_correlations,
    starting_points,
)
from learning.errors import InputError

SIGHT = Parties("sight", tuple("ABCDEF"), ("learner", "Rival"), frozenset({"Tiny"}))
GOSSIP = Parties("gossip", SIGHT.owners)
TRADE = Parties("trade", SIGHT.owners, SIGHT.learners, SIGHT.left_out)
PARAMETERS = {
    "watts_strogatz": {"neighbours": 2, "rewired": 0.3},
    "barabasi_albert": {"links": 2},
    "erdos_renyi": {"chance": 0.5, "directed": True},
    "groups": {"inside": 1.0, "across": 0.0},
    "bipartite_random": {"chance": 0.5},
    "captive": {"bridges": 2},
}
DRAWN = [(use, name) for use in NETWORKS for name in NETWORKS[use] if name not in ("edges", "file")]


def build(network, parties=SIGHT, seed=0):
    return linked_graph(network, parties, rng=np.random.default_rng(seed))


@pytest.mark.parametrize(("use", "name"), DRAWN)
def test_every_network_joins_those_it_may_and_is_the_same_for_a_seed(use, name):
    parties = {"sight": SIGHT, "trade": TRADE, "gossip": GOSSIP}[use]
    one, same, other = (
        build(NETWORKS[use][name](**PARAMETERS.get(name, {})), parties, seed) for seed in (1, 1, 2)
    )
    assert tuple(one) == parties.names and one.edges == same.edges
    assert NETWORKS[use][name].title and not list(nx.selfloop_edges(one))
    if use == "trade":
        assert all((a in SIGHT.owners) != (b in SIGHT.owners) for a, b in one.edges)
    if name in ("erdos_renyi", "bipartite_random"):
        assert one.edges != other.edges


@pytest.mark.parametrize(
    ("name", "edges"),
    [
        ("complete", 15),
        ("empty", 0),
        ("star", 5),
        ("ring", 6),
        ("path", 5),
        ("barabasi_albert", 8),
        ("groups", 6),
    ],
)
def test_graphs_have_the_edges_of_their_kind(name, edges):
    assert build(NETWORKS["sight"][name](**PARAMETERS.get(name, {}))).number_of_edges() == edges


def test_one_owner_sees_nobody_in_any_network():
    for name in ("complete", "empty", "star", "ring", "path"):
        assert build(NETWORKS["sight"][name](), Parties("sight", ("A",))).number_of_edges() == 0


def test_captives_have_one_learner_each_in_turn_and_bridges_all():
    links = trade_links(build(Captive(2), TRADE), TRADE)
    assert links.astype(int).tolist() == [[1, 1], [1, 1], [1, 0], [0, 1], [1, 0], [0, 1]]
    assert trade_links(build(Complete(), TRADE), TRADE).all()


def test_who_sees_need_not_be_seen():
    graph = build(Edges([["A", "B"], ["B", "A"], ["A", "C"]], directed=True, alone=list("DEF")))
    assert sorted(graph.successors("A")) == ["B", "C"] and list(graph.successors("C")) == []


@pytest.fixture(scope="module")
def graph():
    """A graph with names that have blanks and signs of XML, and one who stands alone."""
    made = nx.Graph([("A", "B"), ("B", "C"), ("D", "E")])
    made.add_node("F")
    return made


def test_graphml_and_lists_read_back_as_written(tmp_path, graph):
    nx.write_graphml(graph, tmp_path / "g.graphml")
    numbered = nx.convert_node_labels_to_integers(
        graph, label_attribute="label"
    )  # as other programs write them
    nx.write_graphml(numbered, tmp_path / "n.graphml")
    for file in ("g.graphml", "n.graphml"):
        assert set(build(File(str(tmp_path / file))).edges) == set(graph.edges)
    for sign in ("\t", ",", " "):
        (tmp_path / "g.txt").write_text(
            "# who sees whom\n" + "\n".join(f"{a}{sign}{b}" for a, b in graph.edges)
        )
        assert set(build(File(str(tmp_path / "g.txt"), alone=["F"])).edges) == set(graph.edges)
    assert build(File(str(tmp_path / "g.txt"), directed=True, alone=["F"])).is_directed()


def test_a_list_may_have_names_with_the_sign_of_a_comment(tmp_path):
    parties = Parties("sight", ("Owner #1", "Owner #2", "Owner"))
    (tmp_path / "g.txt").write_text('# who sees whom\nOwner #1,Owner #2\nOwner,"Owner #2"\n')
    found = build(File(str(tmp_path / "g.txt")), parties)
    assert set(found.edges) == {("Owner #1", "Owner #2"), ("Owner #2", "Owner")}


def test_names_of_owners_left_out_and_edges_of_another_use_are_passed_over(tmp_path, graph):
    more = graph.copy()
    more.add_edge("A", "Tiny")
    more.add_edge("A", "learner", use="trade")
    nx.set_edge_attributes(more, {edge: "sight" for edge in graph.edges}, "use")
    nx.write_graphml(more, tmp_path / "g.graphml")
    assert set(build(File(str(tmp_path / "g.graphml"))).edges) == set(graph.edges)
    with pytest.raises(InputError, match='must have everybody; found no "Rival"'):
        build(File(str(tmp_path / "g.graphml")), TRADE)
    more.add_node("Rival")
    more.remove_node("Tiny")
    nx.write_graphml(more, tmp_path / "g.graphml")
    assert list(build(File(str(tmp_path / "g.graphml")), TRADE).edges) == [("A", "learner")]


@pytest.mark.parametrize(
    ("parties", "network", "message"),
    [
        (
            SIGHT,
            Edges([["A", "X"]]),
            r'network\.sight\.edges: must name owners; found "X"\. Known here: A, B',
        ),
        (
            SIGHT,
            Edges([["A", "learner"]]),
            'must join two owners; found the learner "learner"',
        ),
        (SIGHT, Edges([["A", "A"]]), 'must join two different owners; found "A" with itself'),
        (
            SIGHT,
            Edges([["A", "B"], ["B", "A"]]),
            r'must join each pair once; found \["A", "B"\] twice',
        ),
        (SIGHT, Edges([["A", "B"], ["A", "B"]], directed=True), "must join each pair once"),
        (
            SIGHT,
            Edges([["A", "B"]]),
            r'must have everybody; found no "C"\. Add it, or name it in alone',
        ),
        (
            SIGHT,
            Edges([["A", "B"]], alone=["A"]),
            'alone: must name who has no edge; found "A", who has one',
        ),
        (SIGHT, Edges([["A", "B"]], alone=["Bea"]), 'alone: must name owners; found "Bea"'),
        (
            SIGHT,
            NETWORKS["sight"]["star"](centre="Z"),
            r'sight\.centre: must name an owner; found "Z"',
        ),
        (
            SIGHT,
            NETWORKS["sight"]["watts_strogatz"](neighbours=6, rewired=0.0),
            "must be below the number of owners, 6",
        ),
        (
            SIGHT,
            NETWORKS["sight"]["barabasi_albert"](links=6),
            "must be below the number of owners, 6; found 6",
        ),
        (
            SIGHT,
            NETWORKS["sight"]["groups"](inside=1.0, across=0.0, groups=7),
            "must be at most the number of owners",
        ),
        (
            TRADE,
            Edges([["A", "B"]]),
            r'trade\.edges: must join an owner and a learner; found two owners, \["A", "B"\]',
        ),
        (TRADE, Edges([["learner", "Rival"]]), "found two learners"),
        (
            TRADE,
            NETWORKS["trade"]["bipartite_random"](chance=0.0),
            "found no edge: nobody could sell",
        ),
        (TRADE, Captive(7), "bridges: must be at most the number of owners, 6; found 7"),
        (
            Parties("sight", tuple(map(str, range(3000)))),
            Complete(),
            "at most 2,000,000 edges; found 4,498,500",
        ),
        *(
            (
                Parties("sight", tuple(map(str, range(5000)))),
                NETWORKS["sight"][kind](**fields),
                rf"network\.sight: must have at most 2,000,000 edges; found about {found}",
            )
            for kind, fields, found in (
                ("watts_strogatz", {"neighbours": 4999, "rewired": 0.1}, "12,495,000"),
                ("barabasi_albert", {"links": 2500}, "6,250,000"),
                ("groups", {"inside": 0.2, "across": 0.2}, "2,499,500"),
                ("erdos_renyi", {"chance": 0.5}, "6,248,750"),
            )
        ),
        (
            SIGHT,
            File("nowhere.txt"),
            r'network\.sight\.path: must be a file that can be read; found nowhere.txt: the system error "No such',
        ),
    ],
)
def test_networks_that_cannot_be_are_refused_in_one_line(parties, network, message):
    with pytest.raises(InputError, match=message) as told:
        build(network, parties)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.graphml", "<graphml", "must be GraphML; found g.graphml: "),
        ("g.graphml", "<html></html>", "must be GraphML; found g.graphml: "),
        ("g.txt", "A B\nA B C", 'must have two names a line, .* found "A B C"'),
        ("g.txt", "A,B\nB,C,1", 'must have two names a line, .* found "B,C,1"'),
        ("g.txt", b"\xff\xfe\x00", "must be text in UTF-8, or GraphML"),
        ("g.txt", "", 'must have everybody; found no "A"'),
    ],
)
def test_files_that_are_no_network_are_refused_in_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message) as told:
        build(File(str(tmp_path / name)))
    assert "\n" not in str(told.value)


def test_an_owner_and_a_learner_of_one_name_are_refused():
    with pytest.raises(
        InputError, match='must tell owners and learners apart by name; found "A", who is both'
    ):
        Parties("trade", ("A", "B"), ("A",))


def test_centralities_against_networkx_and_a_direct_solution():
    """Betweenness and Bonacich's power of a random graph by other routes: all pairs' paths, and a dense sum of ways."""
    graph = nx.gnp_random_graph(30, 0.15, seed=4)
    found = centralities(graph, rng=np.random.default_rng(0))
    for node in (0, 7, 29):
        share = 0.0
        for s in graph:
            for t in graph:
                if s < t and node not in (s, t) and nx.has_path(graph, s, t):
                    paths = list(nx.all_shortest_paths(graph, s, t))
                    share += sum(node in path for path in paths) / len(paths)
        assert found["betweenness"][node] == pytest.approx(share / (29 * 28 / 2), rel=1e-9)
    matrix = nx.to_numpy_array(graph)
    factor = 0.5 / np.linalg.eigvalsh(matrix).max()
    ways = sum(np.linalg.matrix_power(factor * matrix, k) for k in range(80)) @ matrix.sum(axis=1)
    np.testing.assert_allclose(found["bonacich"], ways / np.sqrt(np.mean(ways**2)), rtol=1e-8)
    assert found["degree"].tolist() == [graph.degree[node] for node in graph]


@pytest.mark.slow
def test_large_graphs_are_measured_from_some_nodes_and_in_sparse_matrices(monkeypatch):
    graph = nx.barabasi_albert_graph(400, 2, seed=1)
    assert starting_points(graph) == 400 and starting_points(nx.empty_graph(10**6)) == 10
    exact = list(nx.betweenness_centrality(graph).values())
    monkeypatch.setattr(measures, "STEPS", 150_000)
    assert starting_points(graph) == 75
    found = centralities(graph, rng=np.random.default_rng(0))
    assert (
        np.corrcoef(found["betweenness"], exact)[0, 1] > 0.97
        and found["betweenness"].tolist() != exact
    )
    adjacency = nx.to_scipy_sparse_array(graph, dtype=float, format="csr")
    power = found["bonacich"]
    factor = 0.5 / np.linalg.norm(adjacency.toarray(), 2)
    left = power - factor * (adjacency @ power)  # the equation that defines it, up to its scale
    np.testing.assert_allclose(left / left[0], found["degree"] / found["degree"][0], rtol=1e-6)
    assert not bonacich_centrality(adjacency * 0).any()


def test_rank_correlations_leave_out_what_has_no_ranks():
    surplus = np.array([1.0, 2.0, 3.0, 3.0 + 1e-13])
    columns = {
        "degree": np.array([1, 2, 3, 3]),
        "near": np.array([1.0, 2.0, 3.0 + 1e-13, 3.0]),
        "same": np.ones(4),
        "down": np.array([4.0, 3.0, 1.0, 1.0]),
    }
    found = {one["centrality"]: one["spearman"] for one in rank_correlations(columns, surplus)}
    assert found == {"degree": 1.0, "near": 1.0, "down": -1.0}
    assert rank_correlations(columns, np.zeros(4)) == []
