"""Kang, Liu and Wang, Weighted Distributed Differential Privacy ERM: Figures 1 to 16, and the condition of Theorem 3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from scenarios.reproduce.item import Check, Item
from scenarios.reproduce.weighted import checks, figures, lojasiewicz, methods
from scenarios.reproduce.weighted.rows import ONE_HOT, TABLES

BUDGETS = {"WD-1": (32, "1 and 3"), "WD-4": (2, "4 and 5"), "WD-6": (4, "6 and 7")}
BUDGETS |= {"WD-8": (8, "8 and 9"), "WD-10": (16, "10 and 11")}
SKEWS = {"WD-2": (16, 0.05, "2 and 12"), "WD-13": (32, 0.1, "13 and 14"), "WD-15": (8, 0.01, "15 and 16")}
LINES = "dotted: the best model without noise; dashed: always guessing the commoner label"
READINGS = (
    "The paper's figures carry no numbers that can be read, so its words are what is checked. It leaves open the constant c "
    "of its noise (we take 16, as its proof needs; another c is another epsilon: c = 1 at epsilon is c = 16 at 4 epsilon), "
    "how texts are coded (whole numbers), how records come to norm 1 (columns standardised over public rows, each record "
    "divided by its own length), the ridge (1e-4), the start (zero), the test rows (a fifth) and on what the step is chosen "
    "(mean loss on the public tenth of the table, which is nobody's, anew for every point). "
)
CODING = (
    "An independent run on Adult had .825 to .822 for WD-DP as u goes from 1 to 9, and .825 to .760 for plain averaging. "
    "So do we with a column for each category and numbers scaled to their public ranges, not standardised (94 columns in "
    "all), as earlier papers on these tables have it; with categories as whole numbers there are 15 columns, less noise "
    "in all, and plain averaging falls to .793 only. "
)
ERRATUM = (
    "WD-DP does better than the centralised method, and the better the more owners there are, because it promises less: "
    "(4) takes the weighted sum of the owners' independent noises for noise of the same variance, while it is smaller "
    "by the sum of the squared weights. Against the server, which sees each owner's own model, the smallest owner's epsilon "
    "is what the column server_epsilon says, beyond 30 where the axis says 0.25 and 32 owners take part (E-4)."
)


def of_budgets(key: str) -> Item:
    """One item for accuracy and optimal gap against epsilon, which are one computation."""
    owners, numbers = BUDGETS[key]
    title = f"Accuracy and optimal gap against the privacy budget: {owners} owners of random size"

    def draw(frame: pd.DataFrame, note: str) -> Figure:
        return figures.draw(frame, title, f"{note}\n{LINES}", "epsilon", "privacy budget ε")

    return Item(
        key,
        f"Kang et al., Figures {numbers}",
        title,
        f"With {owners} owners of unequal size, logistic models averaged by the owners' records, with noise scaled to all "
        "records, are better than models averaged alike with noise scaled to the smallest owner, and similar to one party's "
        "with all records; accuracy rises and the optimal gap falls with epsilon.",
        partial(methods.over_budgets, owners),
        checks.against_budgets,
        draw,
        f"{READINGS}Sizes are drawn at random above a quarter of an equal share. {ERRATUM}",
        tuple(TABLES),
        30.0,
    )


def of_skews(key: str) -> Item:
    """One item for accuracy and optimal gap against u."""
    owners, epsilon, numbers = SKEWS[key]
    title = f"Accuracy and optimal gap against the skew of sizes: {owners} owners, ε = {epsilon:g}"

    def draw(frame: pd.DataFrame, note: str) -> Figure:
        return figures.draw(frame, title, f"{note}\n{LINES}", "skew", "u = n_max/n_min")

    def checked(frame: pd.DataFrame) -> Sequence[Check]:
        return checks.against_skews(frame) + (checks.on_adult(frame) if key == "WD-2" else [])

    return Item(
        key,
        f"Kang et al., Figures {numbers}",
        title,
        f"Where half of {owners} owners have u times the records of the other half, averaging by records stays steady as u "
        "grows, while averaging alike loses accuracy rapidly or fluctuates sharply.",
        partial(methods.over_skews, owners, epsilon, (*TABLES, ONE_HOT) if key == "WD-2" else tuple(TABLES)),
        checked,
        draw,
        f"{READINGS}{CODING if key == 'WD-2' else ''}A step chosen anew for every u softens how the gap of plain averaging "
        "grows; beside it stands the step that is best for equal owners. Where noise leaves a model little better than "
        "guessing (the small tables at small budgets), differences between values of u are chance. WD-DP beats the "
        "centralised method for the reason told at WD-1.",
        tuple(TABLES),
        105.0 if key == "WD-2" else 45.0,
    )


ITEMS = (*map(of_budgets, BUDGETS), *map(of_skews, SKEWS), lojasiewicz.ITEM)
ITEMS = tuple(sorted(ITEMS, key=lambda item: item.key.split("-")[1].zfill(3)))
