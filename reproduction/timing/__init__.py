"""The Cost of Privacy in Asynchronous DP Machine Learning (Farokhi et al.): figures 2 to 11."""

from __future__ import annotations

from pathlib import Path

from reproduction.specification import read_items
from reproduction.timing import banks, hospitals

LAWS = banks.LAWS | hospitals.LAWS
ITEMS = read_items(
    Path(__file__).parent, {f"AS-{number}": LAWS[f"AS-{number}"] for number in range(2, 12)}
)
