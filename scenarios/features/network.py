"""Networks: who may sell to which learner, and who sees whose budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import model_validator

from learning.errors import InputError
from learning.phrases import format_value
from learning.randomness import Streams
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.features.settings import sees_neighbours
from scenarios.schema.fields import Section
from scenarios.schema.kinds import NamedTable, make_declared
from scenarios.schema.market import FIRST

if TYPE_CHECKING:
    from agents.networks.base import Parties
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

TRADE = "trade"
SIGHT = "sight"


class Network(Section):
    """The trade links between owners and learners, and the sight links between owners. Without a
    table, all links exist."""

    trade: Annotated[Any, NamedTable("network.trade")] | None = None
    sight: Annotated[Any, NamedTable("network.sight")] | None = None

    @model_validator(mode="after")
    def _check_given(self) -> Network:
        if self.trade is None and self.sight is None:
            rule = "must have a table, [network.trade] or [network.sight]"
            raise InputError("network", rule, "none", "Add one, or leave it out.")
        return self


class Networks(Feature):
    """Networks of trade and of sight among owners and learners."""

    key = "network"
    title = "[network]"
    table = Network | None
    example = ("network.trade={kind='complete'}",)
    result = "network"
    sentence = "network.txt.j2"
    topic = Topic("network", 17, "network", "Who is linked to whom", 6)

    def check_unused(self, scenario: Scenario) -> None:
        """Refuse owners who see their neighbours without a network of sight."""
        if sees_neighbours(scenario):
            rule = "needs [network.sight] for owners who see only their neighbours"
            raise InputError("behaviours", rule, "none", 'Add it, such as kind = "ring".')

    def check(self, scenario: Scenario) -> None:
        """Refuse a network of sight that no owner looks at, and the reverse."""
        if not scenario.network.sight:
            self.check_unused(scenario)
        elif not sees_neighbours(scenario):
            rule = "needs [[behaviours]] of owners who look at others, such as neighbours"
            found = f"kind = {format_value(scenario.network.sight.kind)}"
            raise InputError("network.sight", rule, found, "Add one, or leave it out.")

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Centrality and outcome of each party, and the same market without the network.

        Returns
        -------
        network.trade.kind : The network of who may sell to whom, by its kind; trade is null where
            all may sell to all, network is null where the scenario has none.
        network.trade.directed : False: owner and learner deal with each other.
        network.trade.starting_points : Nodes that shortest ways are looked for from; all but in
            large networks.
        network.trade.edges[].owner : An owner who may sell.
        network.trade.edges[].learner : To this learner.
        network.trade.edges[].epsilon : The ε that it sells it.
        network.trade.edges[].payment : Money that it is paid for it.
        network.trade.owners[].name : An owner.
        network.trade.owners[].degree : How many learners it may sell to.
        network.trade.owners[].betweenness : The part of all pairs' shortest ways that it lies on
            (Freeman).
        network.trade.owners[].bonacich : Bonacich's centrality, mean square 1 over the network:
            who is linked to the well linked is central.
        network.trade.owners[].scarcity : One over how many owners each of its learners is linked
            to, added up.
        network.trade.owners[].epsilon : The ε that it sells.
        network.trade.owners[].payment : Money that it is paid.
        network.trade.owners[].surplus : Money that it has in the end.
        network.trade.rank_correlations[].centrality : How central is counted; only where neither
            it nor surplus is the same for all.
        network.trade.rank_correlations[].spearman : Spearman's rank correlation of it with the
            owners' surplus.
        network.trade.rank_correlations[].owners : The owners that it is over.
        network.trade.learners[].name : A learner.
        network.trade.learners[].degree : As of owners.
        network.trade.learners[].betweenness : As of owners.
        network.trade.learners[].bonacich : As of owners.
        network.trade.learners[].scarcity : As of owners.
        network.trade.learners[].payments : Money that it pays.
        network.trade.learners[].surplus : Money that it has left, by the forecast.
        network.sight.kind : The network of who sees whose budget, by its kind; null where all see
            all.
        network.sight.directed : Whether one may see another without being seen.
        network.sight.starting_points : Nodes that shortest ways are looked for from; all but in
            large networks.
        network.sight.edges[].from : Who sees.
        network.sight.edges[].to : Who is seen; and sees, where the network is not directed.
        network.sight.owners[].name : An owner.
        network.sight.owners[].degree : How many owners it sees.
        network.sight.owners[].betweenness : The part of all pairs' shortest ways that it lies on
            (Freeman).
        network.sight.owners[].bonacich : Bonacich's centrality, mean square 1 over the network:
            who sees the well linked is central.
        network.sight.owners[].scarcity : One over how many see each of those that it sees, added
            up.
        network.sight.owners[].epsilon : The ε that it sells.
        network.sight.owners[].payment : Money that it is paid.
        network.sight.owners[].surplus : Money that it has in the end.
        network.sight.rank_correlations[].centrality : How central is counted; only where neither
            it nor surplus is the same for all.
        network.sight.rank_correlations[].spearman : Spearman's rank correlation of it with the
            owners' surplus.
        network.sight.rank_correlations[].owners : The owners that it is over.
        network.here.converged : Whether an equilibrium was found in this market.
        network.here.epsilon : What each owner sells there.
        network.here.relative_fitness : ψ of each learner's model there, by the forecast.
        network.here.payments : Money paid there.
        network.here.owners : Money that owners have together there.
        network.here.learners : Money that each learner has there.
        network.here.total : Money that all have together there.
        network.complete.converged : Whether an equilibrium was found in the same market on the
            complete graph: all may sell to all, and all see all.
        network.complete.epsilon : What each owner sells there.
        network.complete.relative_fitness : ψ of each learner's model there, by the forecast.
        network.complete.payments : Money paid there.
        network.complete.owners : Money that owners have together there.
        network.complete.learners : Money that each learner has there.
        network.complete.total : Money that all have together there.
        """
        whole = loop.carry_out(remove_network(run.scenario))
        return {
            "trade": describe_graph(run, TRADE),
            "sight": describe_graph(run, SIGHT),
            "here": describe_sides(run),
            "complete": describe_sides(whole),
        }


def list_parties(scenario: Scenario, names: Sequence[str], use: str) -> Parties:
    """Parties of a network, whose owners are called ``names``."""
    from agents.networks.base import Parties

    learners = (FIRST, *(rival.name for rival in scenario.learners or ()))
    return Parties(use, tuple(names), learners, frozenset(scenario.left_out))


def make_graph(scenario: Scenario, names: Sequence[str], use: str) -> Any:
    """Graph of networkx for a use, nodes by name in the order of the market; None without.

    Parameters
    ----------
    scenario : the scenario, in the order of its data.
    names : of its owners.
    use : "trade" or "sight".

    Raises
    ------
    InputError
        As of `agents.networks.base.linked_graph`.
    """
    table: Any = scenario.network and getattr(scenario.network, use)
    if table is None:
        return None
    from agents.networks.base import linked_graph

    network = make_declared(table).located(scenario.locate)
    rng = Streams(scenario.seed, "graph").rng(use)
    return linked_graph(network, list_parties(scenario, names, use), rng=rng)


def find_links(scenario: Scenario, names: Sequence[str]) -> np.ndarray | None:
    """Test whether each owner may sell to each learner, bool (n_owners, n_learners).

    None if all may.
    """
    graph = make_graph(scenario, names, TRADE)
    if graph is None:
        return None
    from agents.networks.base import trade_links

    return trade_links(graph, list_parties(scenario, names, TRADE))


def find_sight(scenario: Scenario, names: Sequence[str]) -> Any:
    """Test whether the row's owner sees the column's, sparse (n_owners, n_owners).

    None if all see all.
    """
    graph = make_graph(scenario, names, SIGHT)
    if graph is None:
        return None
    import networkx as nx  # loaded only where there is a network

    return nx.to_scipy_sparse_array(graph, dtype=float, format="csr")


def remove_network(scenario: Scenario) -> Scenario:
    """The same scenario on the complete graph, without behaviours that look at their neighbours."""
    others = [table for table in scenario.behaviours or () if not make_declared(table).watches]
    return scenario.model_copy(update={"network": None, "behaviours": tuple(others) or None})


def describe_graph(run: Run, use: str) -> dict[str, Any] | None:
    """Edges, centralities and their rank correlation with the surplus; None without a network."""
    graph = make_graph(run.scenario, run.data.names, use)
    if graph is None:
        return None
    from agents.networks.measures import centralities, rank_correlations, starting_points

    accounts = run.accounts
    count = len(run.data.names)
    central = centralities(graph, rng=Streams(run.scenario.seed, "graph").rng(use, "betweenness"))
    of_owners = {name: column[:count] for name, column in central.items()}
    money = {
        "epsilon": accounts.epsilon,
        "payment": accounts.payments,
        "surplus": accounts.surplus,
    }
    part: dict[str, Any] = {
        "kind": getattr(run.scenario.network, use).kind,
        "directed": graph.is_directed(),
        "starting_points": starting_points(graph),
        "owners": rows_of({"name": run.data.names} | of_owners | money),
        "rank_correlations": rank_correlations(of_owners, accounts.surplus),
    }
    if use == SIGHT:
        return part | {"edges": [{"from": one, "to": other} for one, other in graph.edges]}
    names, _, paid = sales_of(run)
    learners = {"name": names} | {name: column[count:] for name, column in central.items()}
    outcome = {"payments": paid.sum(axis=0), "surplus": run.learner_surpluses}
    return part | {"edges": list_trades(run, graph), "learners": rows_of(learners | outcome)}


def sales_of(run: Run) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the learners, and budgets and payments, both (n_owners, n_learners)."""
    if run.contest is None:
        return [FIRST], run.epsilon[:, None], run.accounts.payments[:, None]
    return run.contest.names, run.contest.found.epsilon, run.contest.found.payments


def list_trades(run: Run, graph: Any) -> list[dict[str, Any]]:
    """Budget and payment along each edge of trade."""
    names, sold, paid = sales_of(run)
    pairs = list(product(run.data.names, names))
    columns = {
        "owner": [owner for owner, _ in pairs],
        "learner": [learner for _, learner in pairs],
        "epsilon": sold.ravel(),
        "payment": paid.ravel(),
    }
    return [row for row in rows_of(columns) if graph.has_edge(row["owner"], row["learner"])]


def describe_sides(run: Run) -> dict[str, Any]:
    """Outcome of a market for its owners and learners."""
    accounts = run.accounts
    runs = (run, *(run.contest.others if run.contest else ()))
    found = run.contest.found if run.contest else run.equilibrium
    return {
        "converged": found.converged,
        "epsilon": accounts.epsilon,
        "relative_fitness": [one.planner.forecast.at(one.epsilon) for one in runs],
        "payments": float(accounts.payments.sum()),
        "owners": float(accounts.surplus.sum()),
        "learners": run.learner_surpluses,
        "total": accounts.welfare,
    }
