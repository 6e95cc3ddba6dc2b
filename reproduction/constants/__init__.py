"""Constants that the papers leave open, fitted on one of their figures and tried on others."""

from __future__ import annotations

from pathlib import Path

from reproduction.constants.fits import LAWS
from reproduction.specification import read_items

ITEMS = read_items(Path(__file__).parent, LAWS)
