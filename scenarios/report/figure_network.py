"""Network of a market: who deals with whom, and who sees whom; owners coloured by their budgets."""

from __future__ import annotations

from typing import Any

import matplotlib
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

from agents.networks import SIGHT, TRADE
from agents.networks.files import result_graph
from scenarios.report.facts_owners import Content, by_stake, epsilon_of
from scenarios.report.figure_page import (
    FAINT,
    INK,
    MUTED,
    PAPER,
    WIDTH,
    add_note,
    add_panel,
    new_page,
    shorten,
)
from scenarios.report.figure_scale import Scale

Places = dict[str, np.ndarray]
MOST = 300  # owners drawn
NAMED = 30  # owners up to which all are named; of more, how many are
FEW = 5
HEIGHT = 4.8  # inches: of the drawing, and of one with few nodes
FEW_HIGH = 3.2
SMALLEST = 26.0  # square points of a node
LARGEST = 420.0
WIDEST = 4.5  # points of an edge
CROWDED = 60  # edges from which they are drawn thinner
PER_ROW = 40  # owners without a link in a row
COLOURS = matplotlib.colormaps["viridis"].resampled(32)
SEED = 1  # of the drawing, which no result rests on
ARROW: dict[str, Any] = {
    "angles": "xy",
    "scale": 60,
    "width": 0.0012,
    "headwidth": 7,
    "headlength": 8,
    "headaxislength": 8,
    "pivot": "tip",
}


def network_figure(result: dict[str, Any]) -> Figure | None:
    """Draw owners and learners as nodes, edges as wide as payments. None: no network.

    Owners are coloured by epsilon and sized by records.
    """
    if not result.get("network"):
        return None
    graph = result_graph(result)
    owners = result["owners"]
    drawn = owners
    if len(owners) > MOST:
        drawn = by_stake(owners, MOST)
    learners = _learners_of(graph)
    kept = {owner["name"] for owner in drawn} | set(learners)
    graph = graph.subgraph([node for node in graph if node in kept])
    note = _network_note(result, len(drawn))
    down = 0.15 * note.count("\n")
    height = FEW_HIGH
    named = list(graph)
    if len(graph) > NAMED:
        height = HEIGHT
        named = [*learners, *(owner["name"] for owner in by_stake(drawn, FEW))]
    figure = new_page(height + 1.1 + down, "Who is linked to whom", note)
    axes = add_panel(figure, 0.1, 0.6 + down, WIDTH - 0.2, height - 0.1)
    places = _place_nodes(graph)
    _draw_edges(axes, graph, places)
    scale = Scale.over([epsilon_of(owner) for owner in drawn])
    points = _draw_nodes(axes, graph, places, {owner["name"]: owner for owner in drawn}, scale)
    _write_names(axes, graph, places, [node for node in graph if node in named])
    axes.margins(0.08, 0.1)
    axes.axis("off")
    _draw_colours(add_panel(figure, WIDTH - 2.6, height + 0.62 + down, 2.3, 0.12), points, scale)
    return figure


def _learners_of(graph: Any) -> list[str]:
    return [node for node, role in graph.nodes(data="role") if role == "learner"]


def _network_note(result: dict[str, Any], drawn: int) -> str:
    note = "Circles: owners, larger with more records"
    if result["network"][TRADE]:
        note += "; squares: learners; lines: who may trade, wider for more money"
    if result["network"][SIGHT]:
        note += "\nThin lines: who sees whom"
    if drawn < len(result["owners"]):
        note += f"\nThe {MOST} of {len(result['owners']):,} with most money at stake"
    return note


def _place_nodes(graph: Any) -> Places:
    """Place nodes near those they are linked to, and those without a link in rows below."""
    alone = [node for node in graph if not graph.degree[node]]
    linked = [node for node in graph if graph.degree[node]]
    places = _place_by_springs(graph, linked)
    taken = np.array(list(places.values()) or [np.zeros(2)])
    least = 1e-9 if places else 1.0
    width, height = np.maximum(np.ptp(taken, axis=0), least)
    low = taken[:, 1].min()
    for at, node in enumerate(alone):
        row, column = divmod(at, PER_ROW)
        count = min(PER_ROW, len(alone) - row * PER_ROW)
        right = taken[:, 0].mean() + (column - (count - 1) / 2) * width / max(count, 8)
        places[node] = np.array([right, low - (0.2 + 0.08 * row) * height])
    return places


def _place_by_springs(graph: Any, linked: list[str]) -> Places:
    """Place linked nodes near each other, with the longest way across along the page."""
    plain = nx.Graph()
    plain.add_nodes_from(sorted(linked))
    plain.add_edges_from((a, b) for a, b in graph.edges)
    length = 2.2 / np.sqrt(max(len(plain), 1))
    near = nx.spring_layout(plain, k=length, seed=SEED, iterations=120, method="force")
    across = np.array([near[node] for node in linked])
    if len(across) > 2:
        across = (across - across.mean(axis=0)) @ np.linalg.svd(across - across.mean(axis=0))[2].T
    return dict(zip(linked, across, strict=True))


def _draw_edges(axes: Axes, graph: Any, places: Places) -> None:
    """Draw edges of sight thin, those of trade as wide as the payment along them."""
    edges = list(graph.edges(data=True))
    sight = [(places[a], places[b]) for a, b, edge in edges if edge["use"] == SIGHT]
    trade = [(a, b, edge) for a, b, edge in edges if edge["use"] == TRADE]
    paid = np.abs([edge.get("payment", 0.0) for _, _, edge in trade])
    style: dict[str, Any] = {"colors": MUTED, "linewidths": 0.5, "alpha": 0.6}
    axes.add_collection(LineCollection(sight, zorder=1, **style))
    if graph.is_directed() and sight:
        _draw_heads(axes, np.array(sight))
    most = max(paid, default=0.0) or 1.0
    widths = 0.5 + (WIDEST - 0.5) * np.sqrt(paid / most)
    crowd = max(min(1.0, CROWDED / max(len(trade), 1)), 0.3)
    lines = [(places[a], places[b]) for a, b, _ in trade]
    thinner = 0.4 + (widths - 0.4) * crowd
    axes.add_collection(LineCollection(lines, colors=FAINT, linewidths=list(thinner), zorder=2))


def _draw_heads(axes: Axes, edges: np.ndarray) -> None:
    """Draw an arrow's head two thirds on the way from observer to observed.

    Parameters
    ----------
    edges: start and end of each, (n_edges, 2, 2).
    """
    start = edges[:, 0]
    way = edges[:, 1] - start
    x, y = (start + way * 2 / 3).T
    way = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-12)
    axes.quiver(x, y, way[:, 0], way[:, 1], color=MUTED, zorder=1, **ARROW)


def _draw_nodes(
    axes: Axes, graph: Any, places: Places, owners: dict[str, Content], scale: Scale
) -> PathCollection:
    """Draw nodes; budgets dark for a small one, light for a large one, distinct in grey as well."""
    names = [node for node in graph if node in owners]
    records = np.array([owners[name]["records"] for name in names], dtype=float)
    room = LARGEST * min(1.0, 12 / max(len(names), 1)) + SMALLEST
    sizes = np.maximum(room * records / records.max(), SMALLEST)
    x, y = np.array([places[name] for name in names]).T
    budgets = scale.place([epsilon_of(owners[name]) for name in names])
    low, high = scale.limits(0.0)
    edge: dict[str, Any] = {"edgecolors": INK}
    style = edge | {"cmap": COLOURS, "vmin": low, "vmax": high, "linewidths": 0.7}
    points = axes.scatter(x, y, s=sizes, c=budgets, zorder=3, **style)
    learners = [places[node] for node in graph if node not in owners]
    if learners:
        x, y = np.array(learners).T
        axes.scatter(x, y, s=150, marker="s", c=PAPER, linewidths=1.4, zorder=4, **edge)
    return points


def _write_names(axes: Axes, graph: Any, places: Places, named: list[str]) -> None:
    """Write names under their nodes."""
    below: dict[str, Any] = {"textcoords": "offset points", "xytext": (0, -11), "zorder": 5}
    learners = _learners_of(graph)
    for node in named:
        weight = {True: "bold", False: "normal"}[node in learners]
        style: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 8, "weight": weight}
        axes.annotate(shorten(node), tuple(places[node]), **style, **below)


def _draw_colours(axes: Axes, points: PathCollection, scale: Scale) -> None:
    """Draw the scale of budgets in their colours."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(points, cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)  # type: ignore[operator]
    scale.rule(axes, "x", 0.0)
    axes.grid(visible=False)
    add_note(axes, -0.04, 0.5, scale.named("privacy budget ε"), ha="right", va="center")
