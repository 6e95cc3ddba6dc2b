"""The same in a terminal: what is printed of a result."""

import math

import pytest
from reports import CASES
from result_folders import result

from scenarios.command.console import print_result, summary_lines
from scenarios.command.terminal import plain as terminal


@pytest.mark.parametrize(
    ("case", "line"),
    [
        (
            "agreeing",
            "forecast     2.1 % above the best possible mean squared error [1.4 to 3.1 %], public basis, exact law",
        ),
        ("logistic", "above the best possible mean logistic loss [1.4 to 3.1 %], public basis, rehearsed"),
        ("network", "above the best mean logistic loss found [1.4 to 3.1 %]"),
        ("hinge, nothing to gain", "forecast     0 % above the best possible mean hinge loss [0 %]"),
        ("printed", "protects less: against who sees most, epsilon is 9.5 where 3.21 was sold."),
        ("asynchronous", "plan         asynchronous, T = 300 ticks, weights by records, laplace noise"),
        (
            "asks nothing",
            "training     nothing was trained, and the model kept, measured on all records, is at 11 %, inside",
        ),
        (
            "agreeing",
            "training     100 trainings with fresh noise came out at 2.21 % on average, inside the forecast's",
        ),
    ],
)
def test_what_the_terminal_shows(case, line):
    assert line in terminal("\n".join(summary_lines(CASES[case])))


def test_the_terminal_shows_owners_without_protection_and_names_in_brackets(tmp_path, capsys):
    print_result(result(("[red]A", "B", "C"), epsilon=[math.inf, 0.0, 2.0]), tmp_path)
    rows = capsys.readouterr().out.splitlines()
    assert rows[2].split()[:3] == ["[red]A", "6,680", "inf"] and rows[3].split()[:3] == ["B", "6,680", "0"]
