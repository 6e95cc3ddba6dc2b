"""What all tests have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from commands import dpmarket, write

__all__ = ["dpmarket", "write"]  # fixtures of every test


@pytest.fixture(scope="session", autouse=True)
def _cache_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Results are kept in a folder of this session alone: no test reads or fills the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPMARKET_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
