"""README and docs/: Python examples run, commands exist, links lead somewhere, no page is left alone."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from scenarios.command.console import print_result
from scenarios.command.main import COMMANDS, app
from scenarios.runner import run
from scenarios.schema.loading import library_games, library_scenarios, load
from scenarios.sweeping.study import studies

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")]


def name(page):
    return str(page.relative_to(ROOT))


def anchors(page):
    """The headings of a page as a code host names them in links."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]


@pytest.mark.slow
@pytest.mark.designed
@pytest.mark.usefixtures("as_for_users")
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name)
def test_the_examples_give_what_a_page_says(page):
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted and not result.failed


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_a_file_and_a_heading_that_are_there(page):
    for link in links(page):
        file, _, anchor = link.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), link
        assert not anchor or anchor in anchors(there), link


def test_every_page_can_be_reached_from_the_readme():
    seen = set()
    to_see = [ROOT / "README.md"]
    while to_see:
        page = to_see.pop()
        if page.suffix == ".md" and page not in seen:
            seen.add(page)
            to_see += [
                (page.parent / link.partition("#")[0]).resolve()
                for link in links(page)
                if link[0] != "#"
            ]
    assert seen >= set(PAGES)


def command_lines(page):
    """The lines of its shell blocks that call the program, as lists of arguments, up to a comment or a pipe."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [
        line for block in blocks for line in block.splitlines() if line.startswith("dpmarket ")
    ]
    called = [shlex.split(line, comments=True) for line in lines]
    return [line[1 : line.index("|") if "|" in line else None] for line in called]


WITH_COMMANDS = [page for page in PAGES if command_lines(page)]


def test_every_command_of_the_pages_exists_and_the_reference_has_them_all():
    known = set(COMMANDS)
    named = {
        page: set(re.findall(r"^dpmarket (\w+)|`dpmarket (\w+)", page.read_text(), re.MULTILINE))
        for page in PAGES
    }
    named = {page: {one or other for one, other in found} for page, found in named.items()}
    assert set().union(*named.values()) == known
    assert named[ROOT / "docs" / "reference" / "command.md"] == known


def test_every_scenario_and_study_of_the_library_is_told_of():
    pages = "reference/scenario.md", "reference/game.md", "reference/studies.md"
    scenarios, told, answers = (ROOT / "docs" / page for page in pages)
    assert all(f"`{one}`" in told.read_text(encoding="utf-8") for one in library_games())
    assert all(f"`{one}`" in scenarios.read_text(encoding="utf-8") for one in library_scenarios())
    assert all(f"`{one}`" in answers.read_text(encoding="utf-8") for one in studies())


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_every_command_line_of_a_page_is_one_that_the_program_takes(page):
    """Its options are known and well formed, and what it changes of a scenario of the library may be so."""
    commands = get_command(app).commands
    for called, *arguments in command_lines(page):
        taken = commands[called].make_context(called, list(arguments)).params
        first = taken.get("scenario") or (taken.get("scenarios") or [""])[0]
        changes = [
            taken.get("overrides") or [],
            *([one.partition(",")[0]] for one in taken.get("vary") or () if "kind" not in one),
        ]
        if first in library_scenarios():
            load(first, [one for change in changes for one in change if "{" not in one])


@pytest.mark.skipif(
    "DOCS" not in os.environ, reason="takes minutes: DOCS=1 types every shell block of every page"
)
@pytest.mark.parametrize("page", [page for page in WITH_COMMANDS if page.parent != ROOT], ids=name)
def test_every_shell_block_of_a_page_runs(page, tmp_path):
    """In a folder of its own, from beginning to end, but what installs the program; the README's table is the reader's."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    typed = re.sub(
        r"^make run.*$", "dpmarket run three_insurers", "\n".join(blocks), flags=re.MULTILINE
    )
    typed = re.sub(r"^(make |\. \.venv|\S*pip ).*$", "", typed, flags=re.MULTILINE)
    called = f'dpmarket() {{ {shlex.quote(sys.executable)} -m scenarios.command.main "$@"; }}\n'
    called += f'python3() {{ {shlex.quote(sys.executable)} "$@"; }}\n'
    made = subprocess.run(
        ["bash", "-e", "-c", called + typed],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert made.returncode == 0


def as_shown(shown, value):
    """Whether a number that a page shows is the value, to a digit that another kernel of products may round otherwise."""
    digits = len(shown.partition(".")[2])
    return abs(float(shown.replace(",", "").replace("−", "-")) - value) <= 0.6 * 10**-digits


NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?")


@pytest.mark.slow
@pytest.mark.in_full
@pytest.mark.usefixtures("as_for_users")
def test_the_first_market_is_what_the_tutorial_and_the_readme_show(capsys):
    result = run(load("three_insurers"))
    print_result(result.content, Path("results/three_insurers"))
    printed = " ".join(capsys.readouterr().out.partition("report:")[0].split())
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = " ".join(("Root mean" + page.split("```\nRoot mean")[1].split("```")[0]).split())
    assert NUMBER.sub("#", shown) == NUMBER.sub("#", printed)
    for ours, theirs in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        assert as_shown(ours, float(theirs.replace(",", ""))) or float(
            ours.replace(",", "")
        ) == pytest.approx(float(theirs.replace(",", "")), rel=2e-3), (ours, theirs)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    told = readme.split("The root mean squared error is")[1].split("The forecast chance")[0]
    measured = result["errors"]["measured"]
    values = [measured["outside"], 150, measured["trained"]["mean"]]
    values += [100 * result["outside_option"]["measured"]]
    values += [100 * result["validation"]["relative_fitness"]["mean"]]
    ahead = result["forecast"]
    values += [100 * ahead["relative_fitness"], 95, *(100 * end for end in ahead["interval"])]
    numbers = NUMBER.findall(told)
    assert len(numbers) == len(values)
    assert all(map(as_shown, numbers, values)), (numbers, values)
