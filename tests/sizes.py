"""Sizes of tests by chance and by search: small in `make test`, in full in `make deep`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

DEEP = bool(os.environ.get("DEEP"))


def sized(everyday: int, deep: int) -> int:
    """Number of draws, games or tables that a test looks at: ``deep`` where DEEP is set."""
    return deep if DEEP else everyday


def thinned(cases: Iterable[Any], everyday: Collection[Any]) -> list[Any]:
    """Cases of a test, all but the ``everyday`` ones marked for `make deep` alone."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
        for case in cases
        for marks in [[] if any(case is one for one in everyday) else pytest.mark.deep]
    ]
