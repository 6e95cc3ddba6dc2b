"""Commands declared by functions: arguments, options, groups of options, and their descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from learning.program import declare_command, make_app


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much is taken.

    Parameters
    ----------
    at_most N : The most,
        of all.
    """

    at_most: Annotated[int | None, typer.Option(min=1)] = None
    strict: bool = False


@declare_command
def take(place: str, *, limits: Limits, name: str = "x", all_of_it: bool = False) -> int:
    """Take something.

    It is taken once.

    Parameters
    ----------
    place PLACE : Where from.
    name : Whose it is.
    """
    print(place, limits, name, all_of_it)
    return 3


@pytest.fixture
def called():
    app = make_app(add_completion=False)
    app.command()(take)
    return lambda *arguments: CliRunner().invoke(app, arguments, standalone_mode=False)


def test_a_group_of_options_is_given_as_one(called):
    found = called("here", "--at-most", "2", "--strict", "--name", "y")
    assert found.output == f"here {Limits(at_most=2, strict=True)} y False\n"
    assert found.return_value == 3
    assert called("here", "--all-of-it").output == f"here {Limits()} x True\n"


def test_help_is_what_the_docstrings_say(called):
    shown = called("--help").output
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "Take something." in lines and "It is taken once." in lines
    assert "Parameters" not in shown
    for start, end in (
        ("PLACE", "Where from. [required]"),
        ("--name", "Whose it is. [default: x]"),
        ("--at-most N", "The most, of all. [x>=1]"),
        ("--strict", ""),
    ):
        assert any(line.startswith(start) and line.endswith(end) for line in lines), start
    assert "--no-strict" not in shown


@pytest.mark.parametrize("wrong", [(), ("here", "--at-most", "0"), ("here", "--no-strict")])
def test_what_is_missing_out_of_range_or_unknown_is_refused(called, wrong):
    assert hasattr(called(*wrong).exception, "format_message")
