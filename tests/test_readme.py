"""The README's Python examples run, and its commands exist."""

import doctest
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.slow
def test_the_examples_give_what_the_readme_says():
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted >= 8 and result.failed == 0


def test_every_command_of_the_readme_exists():
    from scenarios.command.main import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = set(re.findall(r"`dpmarket (\w+)", README.read_text()))
    assert named == known
