"""A market that was opened, read and planned with once for all tests of the dashboard."""

import pytest
from quick import quickly

from scenarios.dashboard.state import Opened
from scenarios.planning import prepare
from scenarios.schema.loading import load

SMALL = ["market.starts=1", "validation.runs=5"]


@pytest.fixture(scope="session")
def insurers():
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch.setattr)
        scenario = load("three_insurers", SMALL)
        return Opened("three_insurers", scenario, prepare(scenario))


@pytest.fixture
def changed(insurers):
    """The same records and plan under another scenario."""
    return lambda *changes: Opened(
        "three_insurers", load("three_insurers", [*SMALL, *changes]), insurers.prepared
    )
