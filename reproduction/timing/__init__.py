"""The Cost of Privacy in Asynchronous DP Machine Learning (Farokhi et al.): figures 2 to 11."""

from __future__ import annotations

from pathlib import Path

from reproduction.specification import read_items
from reproduction.timing import collaboration, fraud, hospitals, lending

ITEMS = read_items(
    Path(__file__).parent,
    {
        "AS-2": lending.PATHS,
        "AS-3": lending.TALKS,
        "AS-4": lending.SURFACE,
        "AS-5": lending.SLOPES,
        "AS-6": collaboration.VALUE,
        "AS-7": hospitals.PATHS,
        "AS-8": hospitals.TALKS,
        "AS-9": hospitals.BUDGETS_LAW,
        "AS-10": hospitals.GAINS,
        "AS-11": fraud.SURFACE,
    },
)
