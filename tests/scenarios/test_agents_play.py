"""What a result says of agents' own play: at rest, in a cycle though an equilibrium is there, or not played at all."""

from __future__ import annotations

import pytest
from commands import lay
from quick import quick_module

from scenarios.command.console import summary_lines
from scenarios.report.page import render
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.settling.settle import rounds_for

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # as the fixtures of this module

AT_ONCE = [
    "data.split=[20, 20, 20, 20, 20, 20]",
    "market.activation=simultaneous",
    "market.damping=1.0",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return lay(tmp_path_factory.mktemp("play"), 150)


def told(result):
    return " ".join(render(result.content, {}, "").split()), " ".join(
        "\n".join(summary_lines(result.content)).split()
    )


def test_where_agents_go_round_and_the_solver_finds_an_equilibrium_both_are_said(path):
    """Six equal owners at once, undamped: each answers much with nothing and nothing with something, for ever."""
    result = run(load(path, AT_ONCE), training=False)
    found = result["equilibrium"]
    assert (
        found["converged"] and found["max_relative_regret"] <= 1e-8 and found["agents"] == "cycle"
    )
    words = "Agents who moved to their best responses round by round ended in a cycle. A direct solver found the equilibrium"
    assert all(words in text for text in told(result))
    calm = run(load(path, [*AT_ONCE[:2], "market.damping=0.3"]), training=False)
    assert calm["equilibrium"]["agents"] == "rest" and not any(
        "Agents who" in text for text in told(calm)
    )
    for one, two in zip(calm["owners"], result["owners"], strict=True):
        assert one["epsilon"] == pytest.approx(two["epsilon"], rel=1e-6)


def test_a_market_too_large_for_agents_says_so(path):
    result = run(load(path, [AT_ONCE[0], "market.agents=5"]), training=False)
    assert result["equilibrium"]["converged"] and result["equilibrium"]["agents"] is None
    assert all(
        "With 6 owners no agents played. A solver computed the fixed point" in text
        for text in told(result)
    )


def test_many_owners_stop_after_a_million_moves():
    assert [rounds_for(n_owners, 2000) for n_owners in (3, 1000, 10_000, 100_000)] == [
        2000,
        2000,
        100,
        10,
    ]
    assert rounds_for(100_000, 4) == 4
