"""README and docs/: Python examples run, commands exist, links lead somewhere, no page is left alone."""

import doctest
import re
from pathlib import Path

import pytest

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
    seen, to_see = set(), [ROOT / "README.md"]
    while to_see:
        page = to_see.pop()
        if page.suffix == ".md" and page not in seen:
            seen.add(page)
            to_see += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"]
    assert seen >= set(PAGES)


def test_every_command_of_the_pages_exists_and_the_reference_has_them_all():
    from scenarios.command.main import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = {
        page: set(re.findall(r"^dpmarket (\w+)|`dpmarket (\w+)", page.read_text(), re.MULTILINE)) for page in PAGES
    }
    named = {page: {one or other for one, other in found} for page, found in named.items()}
    assert set().union(*named.values()) == known
    assert named[ROOT / "docs" / "reference" / "command.md"] == known
