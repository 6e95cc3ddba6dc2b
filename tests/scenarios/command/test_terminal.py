"""What a terminal of 80 columns shows: every number whole, every column there, lines set in behind their titles."""

import pytest
from rich.console import Console

from learning.display import PlainTable
from learning.terminal import Terminal, hanging

LINE = "learner      alone 6.04 %; buying is worth 4,350, costs 2,000: it pays, by the forecast, and there is more to say"


def shown(table, width, capsys):
    Console(width=width).print(table)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_table_too_wide_goes_on_below_with_every_number_whole(width, capsys):
    """Cells of nine columns were cut to "virtua…", numbers broken over lines."""
    heads = [f"heading {i}" for i in range(8)]
    cells = [f"{i},234,567.8" for i in range(8)]
    table = PlainTable("Title", "alternative", *heads)
    table.add_row("a long name of an alternative, and more of it", *cells)
    lines = shown(table, width, capsys)
    assert max(map(len, lines)) <= width
    assert all(any(cell in line for line in lines) for cell in (*heads, *cells))
    assert (
        sum(line.startswith("alternative") for line in lines) > 1
        and sum("Title" in line for line in lines) == 1
    )


def test_a_table_that_fits_is_printed_once_and_texts_are_broken_at_blanks(capsys):
    table = PlainTable("", "scenario", "data", "", left=3)
    table.add_row(
        "three_insurers",
        "here",
        "Three health insurers and one learner: how often does a person see a doctor?",
    )
    lines = shown(table, 80, capsys)
    assert (
        len(lines) == 3
        and lines[1].startswith("three_insurers  here  Three health")
        and max(map(len, lines)) <= 80
    )


def test_a_line_goes_on_behind_its_title_and_a_path_is_never_broken():
    lines = hanging(LINE, 60).split("\n")
    assert (
        len(lines) == 3
        and lines[1].startswith(" " * 13 + "2,000: it pays")
        and max(map(len, lines)) <= 60
    )
    assert " ".join(hanging(LINE, 60).split()) == " ".join(LINE.split())
    assert (
        hanging("x" * 90, 80) == "x" * 90
        and hanging("", 80) == ""
        and hanging("short", 80) == "short"
    )
    assert hanging("a sentence without a title " * 5, 80).split("\n")[1].startswith("  ")


def test_what_is_piped_stays_on_one_line(capsys):
    Terminal().say(LINE * 3, "", "\nreport: here")
    assert capsys.readouterr().out == f"{LINE * 3}\n\nreport: here\n"
