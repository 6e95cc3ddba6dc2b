"""Gossip from a scenario file to the model, beside the messages themselves."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from quick import quickly, shared_plans

from learning.errors import InputError
from learning.training.noisy_solving import solve_newton_step
from learning.training.noisy_statistics import release_statistics
from scenarios.checking import check_scenario
from scenarios.command.console import summary_lines
from scenarios.planning import prepare
from scenarios.runner import run
from scenarios.schema.loading import load

__all__ = ["shared_plans"]  # a fixture of every test

SCENARIO = """
title = "Passed on"
seed = 4
[data]
path = "rows.csv"
target = "y"
split = [900, 500, 300, 200]
names = ["A", "B", "C", "D"]
public_rows = 200
[learning]
algorithm = "one_step"
mechanism = "l2"
[owners]
epsilon = [0.5, 5.0]
cost = { kind = "linear", price = 1.0 }
[policy]
kind = "posted"
price = 10.0
[learner]
value = 10000.0
[validation]
runs = 40
[market]
starts = 1
"""
EDGES = [["A", "B"], ["B", "C"], ["C", "D"], ["D", "A"], ["B", "learner"]]
GRAPH = f"graph={{kind='edges', edges={EDGES}}}"
PLAIN = ("learning.algorithm=averaged", "learning.mechanism=laplace")
SOLD = np.full(4, 2.0)


@pytest.fixture
def scenario(tmp_path):
    rng = np.random.default_rng(1)
    x, z, noise = rng.normal(size=(3, 2500))
    pd.DataFrame({"x": x, "z": z, "y": x - 0.5 * z + noise}).to_csv(
        tmp_path / "rows.csv", index=False
    )
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return lambda *changes: load(file, ["data.features=['x', 'z']", *changes])


def pass_on(graph, held, rounds):
    """Gossip itself, message by message, of arrays that nodes hold."""
    for _ in range(rounds):
        after = {name: held[name].copy() for name in graph}
        for one, other in graph.edges:
            share = 1 / (1 + max(graph.degree(one), graph.degree(other)))
            after[one] += share * (held[other] - held[one])
            after[other] += share * (held[one] - held[other])
        held = after
    return held


@pytest.mark.parametrize("rounds", [3, 12])
def test_the_trained_model_is_that_of_the_messages(scenario, rounds):
    planner = prepare(scenario(f"learning.gossip={{rounds={rounds}, {GRAPH}}}")).planner
    trained = planner.trained(SOLD, 3, "messages")
    task = trained.task
    runs = range(3)
    graph = nx.Graph(EDGES)
    sums = {owner.name: release_statistics(task, owner, runs) for owner in task.owners}
    sizes = {owner.name: float(owner.records.n_records) for owner in task.owners}
    nothing = {"learner": 0.0}
    zero = 0 * sums["A"].xx, 0 * sums["A"].xu
    xx = pass_on(graph, {k: sums[k].xx if k in sums else zero[0] for k in graph}, rounds)
    xu = pass_on(graph, {k: sums[k].xu if k in sums else zero[1] for k in graph}, rounds)
    mass = pass_on(graph, {k: np.array((sizes | nothing)[k]) for k in graph}, rounds)
    units = {k: np.array([float(k == one) for one in sizes]) for k in graph}
    heard = pass_on(graph, units, rounds)["learner"] / mass["learner"]
    spread = np.array([sums[name].matrix_deviation for name in sizes])
    deviation = np.linalg.norm(heard[:, None] * spread, axis=0)
    mean = xx["learner"] / mass["learner"], xu["learner"] / mass["learner"]
    phi = task.coordinates.project(solve_newton_step(*mean, deviation))
    np.testing.assert_allclose(task.coordinates.model(phi), trained.theta, rtol=1e-9)


@pytest.mark.parametrize("changes", [(), PLAIN])
def test_one_round_on_the_complete_graph_is_the_market_without_gossip(
    scenario, changes, monkeypatch
):
    quickly(monkeypatch.setattr)
    whole = "learning.gossip={rounds=1, graph={kind='complete'}}"
    direct, passed = (run(scenario(*changes, *more)).content for more in ((), (whole,)))
    for part in (
        lambda content: [one["epsilon"] for one in content["owners"]],
        lambda content: content["forecast"]["relative_fitness"],
        lambda content: content["validation"]["relative_fitness"]["mean"],
    ):
        assert part(passed) == pytest.approx(part(direct), rel=1e-7)


def test_what_gossip_costs_is_told_and_claims_are_those_without_it(scenario, monkeypatch):
    quickly(monkeypatch.setattr)
    changes = (*PLAIN, "owners.epsilon=[2.0, 2.001]", "validation.runs=300")
    plain = run(scenario(*changes)).content
    passed = f"learning.gossip={{rounds=3, {GRAPH}}}"
    chosen = scenario(*changes, passed)
    result = run(chosen)
    made = result.content
    found = made["gossip"]
    assert plain["gossip"] is None and made["claims"] == plain["claims"]
    assert [one["links"] for one in found["owners"]] == [2, 1, 2, 3]
    assert (found["links"], found["messages"]) == (5, 30)
    assert found["error"] <= found["bound"] == pytest.approx(found["modulus"] ** 3)
    assert found["relative_fitness"] == made["forecast"]["relative_fitness"]
    assert found["relative_fitness"] > 1.05 * found["heard_directly"]
    measured = made["validation"]["relative_fitness"]
    assert measured["mean"] == pytest.approx(found["relative_fitness"], rel=0.25)
    weights = np.array([one["weight"] for one in found["owners"]])
    sold = np.array([one["epsilon"] for one in made["owners"]])
    planner = prepare(chosen).planner
    noise = weights**2 * planner.mechanism.noise_term(sold) / planner.inputs.owners.sizes**2
    assert planner.forecast.noise_at(sold) == pytest.approx(noise.sum(), rel=1e-12)
    assert "by 3 rounds of gossip on a graph of 5 links" in " ".join(summary_lines(made))
    refused = [one["key"] for one in result.protocol["unsupported"]]
    assert refused == ["learning.gossip"]


@pytest.mark.parametrize(
    ("gossip", "changes", "said"),
    [
        (f"{{rounds=2, {GRAPH}}}", (), "learning.gossip.rounds: must be at least 3"),
        (
            "{rounds=9, graph={kind='edges', edges=[['A','B'],['C','D'],['D','learner']]}}",
            (),
            "learning.gossip.graph: must be a connected graph without directions; found one in",
        ),
        (
            "{rounds=9, graph={kind='erdos_renyi', chance=1.0, directed=true}}",
            (),
            "without directions; found a directed one",
        ),
        (
            "{rounds=9, graph={kind='edges', edges=[['A','E']]}}",
            (),
            'learning.gossip.graph.edges: must name owners; found "E"',
        ),
        (
            "{rounds=9, graph={kind='ring'}}",
            ('data.names=["A", "B", "C", "learner"]',),
            'must have no owner called "learner"',
        ),
        (
            "{rounds=9, graph={kind='ring'}}",
            (*PLAIN, "learning.weights=precision"),
            'learning.weights: must be "size"',
        ),
        (
            "{rounds=9, graph={kind='ring'}}",
            (
                "learning.algorithm=asynchronous",
                "learning.mechanism=laplace",
                "learning.regularisation=0.1",
            ),
            "learning.algorithm: must ask all owners in a round",
        ),
        (
            "{rounds=9, graph={kind='ring'}}",
            ("trust={aggregation='secure'}",),
            "because owners see",
        ),
    ],
)
def test_what_does_not_go_is_refused_in_one_line(scenario, gossip, changes, said):
    with pytest.raises(InputError) as error:
        check_scenario(scenario(f"learning.gossip={gossip}", *changes))
    assert said in str(error.value) and "\n" not in str(error.value)
