"""The network of a market: who deals with whom, and who sees whom; owners coloured by what they sell."""

from __future__ import annotations

from typing import Any

import matplotlib
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from agents.networks.base import SIGHT, TRADE
from agents.networks.export import exported
from scenarios.report.figure_page import FAINT, INK, MUTED, PAPER, WIDTH, _page, _panel
from scenarios.report.figure_scale import Scale
from scenarios.report.sentences_market import by_stake, epsilon_of

MOST = 300  # owners drawn
NAMED, FEW = 30, 5  # owners up to which all are named; of more, how many are
HEIGHT, FEW_HIGH = 4.8, 3.2  # inches: of the drawing, and of one with few nodes
SMALLEST, LARGEST = 26.0, 420.0  # square points of a node
WIDEST = 4.5  # points of an edge
PER_ROW = 40  # owners without a link in a row
SEED = 1  # of the drawing, which no result rests on


def network(result: dict[str, Any]) -> Figure | None:
    """Owners and learners as nodes, coloured by epsilon and sized by records; edges as wide as payments. None: no network."""
    if not result.get("network"):
        return None
    graph, owners = exported(result), result["owners"]
    drawn = by_stake(owners, MOST) if len(owners) > MOST else owners
    kept = {owner["name"] for owner in drawn} | {node for node, role in graph.nodes(data="role") if role == "learner"}
    graph = graph.subgraph([node for node in graph if node in kept])
    note = "Circles: owners, larger with more records"
    note += "; squares: learners; lines: who may trade, wider for more money" if result["network"][TRADE] else ""
    note += "\nThin lines: who sees whom" if result["network"][SIGHT] else ""
    note += f"\nThe {MOST} of {len(owners):,} with most money at stake" if len(drawn) < len(owners) else ""
    lines = note.count("\n")
    height = HEIGHT if len(graph) > NAMED else FEW_HIGH
    figure = _page(height + 1.1 + 0.15 * lines, "Who is linked to whom", note)
    axes = _panel(figure, 0.1, 0.6 + 0.15 * lines, WIDTH - 0.2, height - 0.1)
    places = _places(graph)
    _edges(axes, graph, places)
    scale = Scale.over([epsilon_of(owner) for owner in drawn])
    _nodes(axes, graph, places, {owner["name"]: owner for owner in drawn}, scale)
    named = list(graph) if len(graph) <= NAMED else [*(kept - {o["name"] for o in drawn}), *_first(drawn)]
    _names(axes, graph, places, [node for node in graph if node in named])
    axes.margins(0.08, 0.1)
    axes.axis("off")
    _colours(_panel(figure, WIDTH - 2.6, height + 0.62 + 0.15 * lines, 2.3, 0.12), scale)
    return figure


def _first(owners: Any) -> list[str]:
    return [owner["name"] for owner in by_stake(owners, FEW)]


def _places(graph: Any) -> dict[str, np.ndarray]:
    """Where nodes lie: many owners around the learners that they may sell to, others near those they are linked to."""
    learners = [node for node, role in graph.nodes(data="role") if role == "learner"]
    alone = [node for node in graph if not graph.degree[node]]
    linked = [node for node in graph if graph.degree[node]]
    places = _around(graph, learners, linked) if learners and len(graph) > NAMED else _near(graph, linked)
    taken = np.array(list(places.values())) if places else np.zeros((1, 2))
    low, (width, height) = taken[:, 1].min(), np.maximum(np.ptp(taken, axis=0), 1e-9 if places else 1.0)
    for at, node in enumerate(alone):  # in rows below
        row, column = divmod(at, PER_ROW)
        count = min(PER_ROW, len(alone) - row * PER_ROW)
        right = taken[:, 0].mean() + (column - (count - 1) / 2) * width / max(count, 8)
        places[node] = np.array([right, low - (0.2 + 0.08 * row) * height])
    return places


def _near(graph: Any, linked: list[str]) -> dict[str, np.ndarray]:
    """Linked nodes near each other, as by springs; the longest way across lies along the page."""
    plain = nx.Graph()
    plain.add_nodes_from(sorted(linked))
    plain.add_edges_from((a, b) for a, b in graph.edges)
    near = nx.spring_layout(plain, k=2.2 / np.sqrt(max(len(plain), 1)), seed=SEED, iterations=120, method="force")
    across = np.array([near[node] for node in linked])
    if len(across) > 2:
        across = (across - across.mean(axis=0)) @ np.linalg.svd(across - across.mean(axis=0))[2].T
    return dict(zip(linked, across, strict=True))


def _around(graph: Any, learners: list[str], linked: list[str]) -> dict[str, np.ndarray]:
    """Owners in discs, one for each set of learners: outside of the one that they are bound to, or between several."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for node in linked:
        if node not in learners:
            groups.setdefault(tuple(one for one in learners if graph.has_edge(node, one)), []).append(node)
    between = 1.5 + max((np.sqrt(len(group)) for to, group in groups.items() if len(to) != 1), default=0.0)
    turns = np.pi + 2 * np.pi * np.arange(len(learners)) / len(learners)
    ways = dict(zip(learners, np.column_stack([np.cos(turns), np.sin(turns)]), strict=True))
    places = {name: between * way * (len(learners) > 1) for name, way in ways.items()}
    for to, group in groups.items():
        middle = np.mean([places[one] for one in to or learners], axis=0)
        first = 0.0
        if len(learners) == 1:
            first = 2.5  # the learner stands in the middle
        elif len(to) == 1:
            middle = middle + (1.5 + np.sqrt(len(group))) * ways[to[0]]
        count = first + np.arange(len(group)) + 0.5
        turn = count * np.pi * (3 - np.sqrt(5))  # as seeds of a sunflower
        disc = np.sqrt(count)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
        places |= dict(zip(group, middle + disc, strict=True))
    return places


def _edges(axes: Axes, graph: Any, places: dict[str, np.ndarray]) -> None:
    """Edges of sight thin, those of trade as wide as what is paid along them."""
    told = list(graph.edges(data=True))
    sight = [(places[a], places[b]) for a, b, edge in told if edge["use"] == SIGHT]
    trade = [(places[a], places[b], edge.get("payment", 0.0)) for a, b, edge in told if edge["use"] == TRADE]
    axes.add_collection(LineCollection(sight, colors=MUTED, linewidths=0.5, alpha=0.6, zorder=1))
    if graph.is_directed():
        _heads(axes, sight)
    most = max((abs(paid) for *_, paid in trade), default=0.0) or 1.0
    widths = [0.5 + (WIDEST - 0.5) * np.sqrt(abs(paid) / most) for *_, paid in trade]
    crowd = min(1.0, 60 / max(len(trade), 1))
    widths = [0.4 + (width - 0.4) * max(crowd, 0.3) for width in widths]
    axes.add_collection(LineCollection([pair[:2] for pair in trade], colors=FAINT, linewidths=widths, zorder=2))


def _heads(axes: Axes, edges: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """An arrow's head two thirds on the way from who sees to who is seen."""
    if edges:
        start, end = (np.array(side) for side in zip(*edges, strict=True))
        at, way = start + (end - start) * 2 / 3, end - start
        way = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-12)
        heads: dict[str, Any] = dict(
            angles="xy", scale=60, width=0.0012, headwidth=7, headlength=8, headaxislength=8, pivot="tip"
        )
        axes.quiver(at[:, 0], at[:, 1], way[:, 0], way[:, 1], color=MUTED, zorder=1, **heads)


def _colour(scale: Scale, epsilon: Any) -> list[str]:
    """Dark for a small budget, light for a large one, told apart in grey as well."""
    low, high = scale.limits(0.0)
    part = (scale.place(np.atleast_1d(np.asarray(epsilon, dtype=float))) - low) / (high - low)
    return [to_hex(colour) for colour in matplotlib.colormaps["viridis"](0.08 + 0.9 * np.clip(part, 0, 1))]


def _nodes(axes: Axes, graph: Any, places: dict[str, np.ndarray], owners: dict[str, Any], scale: Scale) -> None:
    names = [node for node in graph if node in owners]
    records = np.array([owners[name]["records"] for name in names], dtype=float)
    room = LARGEST * min(1.0, 12 / max(len(names), 1)) + SMALLEST
    sizes = np.maximum(room * records / records.max(), SMALLEST)
    at = np.array([places[name] for name in names])
    colours = _colour(scale, [epsilon_of(owners[name]) for name in names])
    axes.scatter(at[:, 0], at[:, 1], s=sizes, c=colours, edgecolors=INK, linewidths=0.7, zorder=3)
    learners = [places[node] for node in graph if node not in owners]
    if learners:
        squares = np.array(learners)
        axes.scatter(squares[:, 0], squares[:, 1], s=150, marker="s", c=PAPER, edgecolors=INK, linewidths=1.4, zorder=4)


def _names(axes: Axes, graph: Any, places: dict[str, np.ndarray], named: list[str]) -> None:
    """Names under their nodes."""
    for node in named:
        learner = graph.nodes[node].get("role") == "learner"
        told = node if len(node) <= 22 else node[:21].rstrip() + "…"
        near: dict[str, Any] = dict(textcoords="offset points", xytext=(0, -11), ha="center", va="top", zorder=5)
        axes.annotate(told, tuple(places[node]), fontsize=8, weight="bold" if learner else "normal", **near)


def _colours(axes: Axes, scale: Scale) -> None:
    """What the colours mean: the scale of budgets."""
    ends = np.linspace(*scale.limits(0.0), 33)
    middle = 0.5 * (ends[1:] + ends[:-1])
    values = 10.0**middle if scale.log else middle
    axes.bar(middle, np.ones(32), np.diff(ends), color=_colour(scale, values), linewidth=0)
    scale.rule(axes, "x", 0.0)
    axes.grid(visible=False)
    axes.set(ylim=(0, 1), yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)
    axes.text(
        -0.04, 0.5, scale.named("privacy budget ε"), transform=axes.transAxes, ha="right", va="center", color=MUTED
    )
