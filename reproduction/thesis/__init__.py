"""The thesis: bounds on leakage and utility (chapter 2), and the compensation games (chapter 4)."""

from __future__ import annotations

from pathlib import Path

from reproduction.specification import read_items
from reproduction.thesis import games, harm, leakage, utility

ITEMS = read_items(Path(__file__).parent, leakage.LAWS | utility.LAWS | harm.LAWS | games.LAWS)
