"""WD's figures: accuracy above, optimal gap below, a column of panels for each table."""

from __future__ import annotations

import textwrap

import matplotlib.ticker
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.reproduce import drawing
from scenarios.reproduce.weighted.rows import TITLES

WIDTH, HEIGHT = 11.5, 2.0
LETTERS = 170  # in a line of a note
MEASURES = {"accuracy": "accuracy on test rows", "optimal_gap": "optimal gap, nats"}


def draw(frame: pd.DataFrame, title: str, note: str, x: str, says: str) -> Figure:
    """Accuracy and optimal gap of every method on every table against one column.

    Parameters
    ----------
    frame : of `methods`.
    title, note : above the figure.
    x, says : the column along the bottom, and in words.
    """
    names = [name for name in TITLES if name in set(frame["data"])]
    told = "\n".join(textwrap.fill(line, LETTERS) for line in note.split("\n"))
    figure, panels = drawing.page(title, told, len(names), 2, width=WIDTH, height=HEIGHT)
    for place, axes in enumerate(panels):
        measure, name = list(MEASURES)[place // len(names)], names[place % len(names)]
        _panel(axes, frame[frame["data"] == name], x, measure)
        if measure == "accuracy":
            drawing.say(axes, TITLES[name])
        else:
            axes.set_xlabel(says)
        if place % len(names) == 0:
            axes.set_ylabel(MEASURES[measure])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncol=len(labels), frameon=False, fontsize=8)
    return figure


def _panel(axes: Axes, part: pd.DataFrame, x: str, measure: str) -> None:
    """One measure on one table, with what is reached without noise and by guessing."""
    logs = ("x" if x == "epsilon" else "") + ("" if measure == "accuracy" else "y")
    errors = part.assign(std_error=part[f"{measure}_std_error"])
    drawing.lines(axes, errors, x, measure, "method", law=measure, logs=logs)
    axes.set_xticks(sorted(part[x].unique()))
    if measure == "accuracy":
        axes.axhline(part["best_accuracy"].iloc[0], color=drawing.MUTED, lw=0.8, ls=":")
        axes.axhline(part["commonest"].iloc[0], color=drawing.MUTED, lw=0.8, ls="--")
    else:
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
