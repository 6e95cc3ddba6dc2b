"""Kang, Liu and Wang, Weighted Distributed Differential Privacy ERM: Figures 1 to 16, Theorem 3."""

from __future__ import annotations

from pathlib import Path

from reproduction.specification import read_items
from reproduction.weighted.figures import LAWS

ITEMS = read_items(Path(__file__).parent, LAWS)
