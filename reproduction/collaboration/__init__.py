"""Figures of The Value of Collaboration in Convex Machine Learning with Differential Privacy."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from reproduction.collaboration import four, grids, paths
from reproduction.collaboration.setups import FRAUD, LENDING, Setup
from reproduction.specification import read_items


def _law(module: ModuleType, kind: str, setup: Setup) -> tuple[Any, Any, Any]:
    """Computation, checks and figure of one kind on one table."""
    compute, check, draw = module.KINDS[kind]
    return partial(compute, setup), partial(check, setup), partial(draw, setup)


KINDS = (
    (paths, "path"),
    (grids, "surface"),
    (grids, "epsilon"),
    (grids, "records"),
    (four, "scenarios"),
)
ITEMS = read_items(
    Path(__file__).parent,
    {
        f"VC-{number}": _law(*kind, setup)
        for first, setup in ((2, LENDING), (7, FRAUD))
        for number, kind in enumerate(KINDS, first)
    },
)
