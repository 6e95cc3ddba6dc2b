"""What all tests have in common."""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from commands import dpmarket, write
from listed import listed_tests
from quick import quickly
from written import write_table

from learning.data import ranges
from learning.privacy.mechanisms import BEST
from scenarios.schema import learning

__all__ = ["dpmarket", "write", "write_table"]  # fixtures of every test


REACH = ranges.REACH
TESTS = Path(__file__).parent
SLOW, LONG = (frozenset(listed_tests(TESTS / name)) for name in ("slow.txt", "long.txt"))


def pytest_collection(session: pytest.Session) -> None:
    """Every second worker of a whole run imports the tests from the last to the first: where none are compiled yet, each of
    two workers compiles half of them."""
    whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if whole and os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:] in ("1", "3", "5", "7"):
        for path in sorted(TESTS.rglob("test_*.py"), reverse=True):
            with suppress(Exception, pytest.skip.Exception):  # told by the collection
                import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what slow.txt and long.txt list, which was measured; and among several workers begin with the modules that have slow tests,
    so that none of them is left for one worker at the end. A module's tests stay together, and share its fixtures."""
    for item in items:
        if item.nodeid.split("[")[0] in SLOW:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.listed)
        if item.nodeid.split("[")[0] in LONG:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.long)
    if "PYTEST_XDIST_WORKER" in os.environ:
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the garbage collector looks at what the tests make alone, in half the time where they
    make thousands of small objects, such as a random stream for every run."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _quick_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process are quick; tests marked ``in_full``, and those that start the command, run as a user does."""
    node = request.node
    if node.get_closest_marker("in_full") is None:
        designed = "tests/learning/" in node.nodeid or node.get_closest_marker("designed")
        coarse = node.get_closest_marker("coarse")
        quickly(monkeypatch.setattr, designed=bool(designed), coarse=bool(coarse))


@pytest.fixture
def as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario that states no protocol gets the best."""
    monkeypatch.setattr(learning, "UNSTATED", BEST)
    monkeypatch.setattr(ranges, "REACH", REACH)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Results are kept in a folder of this run alone, which its workers share: no test reads or fills the user's cache."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "DPMARKET_CACHE",
            str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"),
        )
        yield


def pytest_configure() -> None:
    """From the first import on, nothing reads or writes the user's own registry; and a scenario that states no protocol is
    asked by averaged gradients under Laplace noise, as if it stated them, and ranges that it does not state end where the
    public rows do. Tests of the default are `as_for_users`."""
    os.environ["DPMARKET_REGISTRY"] = os.devnull
    learning.UNSTATED = None
    ranges.REACH = 1.0


@pytest.fixture(autouse=True)
def _registry_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each test is a user of its own, who has accepted nothing."""
    monkeypatch.setenv(
        "DPMARKET_REGISTRY", str(tmp_path_factory.getbasetemp() / f"registry {uuid.uuid4()}")
    )
