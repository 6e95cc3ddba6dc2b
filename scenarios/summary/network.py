"""What a result holds of a network: how central each is beside what it has, and the same market without the network."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.networks.base import SIGHT, TRADE
from agents.networks.measures import centralities, rank_correlations, starting_points
from learning.randomness import Streams
from scenarios.run import Run
from scenarios.schema.kinds import made
from scenarios.schema.market import FIRST
from scenarios.schema.scenario import Scenario
from scenarios.settling.network import graph_of
from scenarios.summary.market import rows_of


def without_network(scenario: Scenario) -> Scenario:
    """The same scenario on the complete graph: all may sell to all, and who saw its neighbours alone sees everybody."""
    others = [table for table in scenario.behaviours or () if not made(table).watches]
    return scenario.model_copy(update={"network": None, "behaviours": tuple(others) or None})


def network_part(run: Run, whole: Run) -> dict[str, Any]:
    """The networks of a run.

    Parameters
    ----------
    run : the run of a scenario with a network.
    whole : a run of the same scenario without.
    """
    return {
        "trade": _use_part(run, TRADE),
        "sight": _use_part(run, SIGHT),
        "here": _sides(run),
        "complete": _sides(whole),
    }


def _use_part(run: Run, use: str) -> dict[str, Any] | None:
    """One network: its edges, how central owners and learners are, and whether who is central has more; None without."""
    graph = graph_of(run.scenario, run.data.names, use)
    if graph is None:
        return None
    have, count = run.accounts, len(run.data.names)
    central = centralities(graph, rng=Streams(run.scenario.seed, "graph").rng(use, "betweenness"))
    of_owners = {name: column[:count] for name, column in central.items()}
    money = {"epsilon": have.epsilon, "payment": have.payments, "surplus": have.surplus}
    part: dict[str, Any] = {
        "kind": getattr(run.scenario.network, use).kind,
        "directed": graph.is_directed(),
        "starting_points": starting_points(graph),
        "edges": _trades(run, graph) if use == TRADE else [{"from": one, "to": other} for one, other in graph.edges],
        "owners": rows_of({"name": run.data.names} | of_owners | money),
        "rank_correlations": rank_correlations(of_owners, have.surplus),
    }
    if use == TRADE:
        part["learners"] = _learners(run, {name: column[count:] for name, column in central.items()})
    return part


def _sold(run: Run) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The learners' names; what each owner sells each of them, and is paid by it, both (n_owners, n_learners)."""
    if run.contest is None:
        return [FIRST], run.epsilon[:, None], run.accounts.payments[:, None]
    return run.contest.names, run.contest.found.epsilon, run.contest.found.payments


def _trades(run: Run, graph: Any) -> list[dict[str, Any]]:
    """What is sold and paid along each edge of trade."""
    names, sold, paid = _sold(run)
    return [
        {"owner": owner, "learner": names[j], "epsilon": float(sold[i, j]), "payment": float(paid[i, j])}
        for i, owner in enumerate(run.data.names)
        for j in range(len(names))
        if graph.has_edge(owner, names[j])
    ]


def _learners(run: Run, central: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """How central each learner is, and what it pays and has."""
    names, _, paid = _sold(run)
    return rows_of({"name": names} | central | {"payments": paid.sum(axis=0), "surplus": _left(run)})


def _left(run: Run) -> np.ndarray:
    """What each learner has after paying (n_learners,), money."""
    if run.contest is not None:
        return run.contest.market.learner_surplus(run.contest.found.epsilon)
    return np.array([run.accounts.worth - run.accounts.payments.sum()])


def _sides(run: Run) -> dict[str, Any]:
    """What the market of a run comes to."""
    have, each = run.accounts, (run, *(run.contest.others if run.contest else ()))
    found = run.contest.found if run.contest else run.equilibrium
    return {
        "converged": found.converged,
        "epsilon": have.epsilon,
        "relative_fitness": [one.planner.forecast.at(one.epsilon) for one in each],
        "payments": float(have.payments.sum()),
        "owners": float(have.surplus.sum()),
        "learners": _left(run),
        "total": have.welfare,
    }
