"""What all tests have in common."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from commands import dpmarket, write

__all__ = ["dpmarket", "write"]  # fixtures of every test


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Among several workers the slow tests go first, so that none of them is left for one worker at the end."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(autouse=True)
def _kind_of_game_unlooked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What kind of game a market is takes a third of a small run: only tests marked ``diagnosed`` wait for it."""
    if request.node.get_closest_marker("diagnosed") is None:
        monkeypatch.setattr("scenarios.summary_market.DIAGNOSED", 0)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Results are kept in a folder of this run alone, which its workers share: no test reads or fills the user's cache."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPMARKET_CACHE", str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"))
        yield
