"""WD's figures: accuracy above, optimal gap below, a column of panels for each table."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from scenarios.reproduce import drawing
from scenarios.reproduce.weighted.rows import TABLES

WIDTH, HEIGHT = 11.5, 2.0
MEASURES = {"accuracy": "accuracy on test rows", "optimal_gap": "optimal gap, nats"}


def draw(frame: pd.DataFrame, title: str, note: str, x: str, says: str, logs: str) -> Figure:
    """Accuracy and optimal gap of every method on every table against one column.

    Parameters
    ----------
    frame : of `methods`.
    title, note : above the figure.
    x, says : the column along the bottom, and in words.
    logs : "x" where it is drawn by its logarithm.
    """
    names = [name for name in TABLES if name in set(frame["data"])]
    figure, panels = drawing.page(title, note, len(names), 2, width=WIDTH, height=HEIGHT)
    for place, axes in enumerate(panels):
        measure, name = list(MEASURES)[place // len(names)], names[place % len(names)]
        part = frame[frame["data"] == name].assign(std_error=lambda own, m=measure: own[f"{m}_std_error"])
        drawing.lines(axes, part, x, measure, "method", law=measure, logs=logs + ("" if measure == "accuracy" else "y"))
        if measure == "accuracy":
            drawing.say(axes, TABLES[name])
            axes.axhline(part["best_accuracy"].iloc[0], color=drawing.MUTED, lw=0.8, ls=":")
            axes.axhline(part["commonest"].iloc[0], color=drawing.MUTED, lw=0.8, ls="--")
        else:
            axes.set_xlabel(says)
        if place % len(names) == 0:
            axes.set_ylabel(MEASURES[measure])
    drawing.legend(panels[0], loc="lower right")
    return figure
