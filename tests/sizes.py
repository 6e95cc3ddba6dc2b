"""Sizes of tests by chance and by search: small in `make test`, in full in `make deep`."""

from __future__ import annotations

import os

DEEP = bool(os.environ.get("DEEP"))


def sized(everyday: int, deep: int) -> int:
    """Number of draws, games or tables that a test looks at: ``deep`` where DEEP is set."""
    return deep if DEEP else everyday
