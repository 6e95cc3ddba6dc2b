"""What others take the project by: its version, its types, its paper, its install and its hosted checks."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from learning.errors import InputError
from learning.privacy.secure_noise import measurement
from scenarios.sweeping.axes import SobolAxis

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
STUBS = ROOT / "packaging" / "stubs" / "dpmarket-stubs" / "__init__.pyi"


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_project_citation_and_changelog_name_one_version_and_its_day():
    cited = yaml.safe_load(read("CITATION.cff"))
    versions = re.findall(r"^## (\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d)", read("CHANGELOG.md"), re.M)
    assert versions[0] == (PROJECT["project"]["version"], str(cited["date-released"]))
    assert versions[0][0] == str(cited["version"])
    assert versions == sorted(versions, reverse=True)


def test_every_package_says_that_it_has_types():
    packages = {
        name.rstrip("*") for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    assert packages - {"dpmarket-stubs"} == {
        path.parent.name
        for path in ROOT.glob("*/__init__.py")
        if path.parent.name not in ("tests", "benchmarks")
    }
    assert all((ROOT / name / "py.typed").is_file() for name in packages - {"dpmarket-stubs"})
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["*"]


def imported(text):
    """Names that a module takes from others: own name to where it is from."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_stubs_of_dpmarket_have_its_names_from_the_same_places():
    stubs, module = imported(STUBS.read_text(encoding="utf-8")), imported(read("dpmarket.py"))
    assert stubs == {
        name: module[name] for name in module if name not in ("version", "main", "check_packages")
    }


def test_the_paper_cites_what_its_bibliography_defines_and_nothing_else():
    cited = re.findall(r"@(\w+)", read("paper.md").split("---", 2)[2])
    defined = re.findall(r"^@\w+\{(\w+),", read("paper.bib"), re.M)
    assert len(defined) == len(set(defined)) and set(cited) == set(defined)


def test_pages_that_the_paper_names_have_its_numbers():
    body = read("paper.md").split("# Evidence")[1]
    for paragraph in body.split("\n\n"):
        pages = re.findall(r"`((?:docs|scenarios)/[\w/]+\.md|SECURITY\.md)`", paragraph)
        there = " ".join(read(page) for page in pages)
        for number in re.findall(
            r"\b\d+(?:\.\d+)?(?= %| of| simulated| markets| correct| bugs| errors)", paragraph
        ):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.]*\d)", there), (number, pages)


def test_every_dependency_and_extra_is_in_the_pages_on_installing():
    page, lines = read("docs/reference/libraries.md"), PROJECT["project"]
    for line in lines["dependencies"]:
        assert f"| {re.split('[<>=~!]', line)[0]} |" in page, line
    extras = read("docs/how_to/install.md")
    assert all(f"| `{extra}` |" in extras for extra in lines["optional-dependencies"])


@pytest.mark.parametrize("vectors", [0, 3])
def test_noise_for_release_names_the_extra_that_it_lacks(monkeypatch, vectors):
    monkeypatch.setattr("learning.extras.find_spec", lambda name: None)
    measurement.cache_clear()
    with pytest.raises(InputError, match=r'found no opendp.*"\.\[release\]"'):
        measurement(1.0, 2, vectors)


def test_a_sobol_sample_names_the_extra_that_it_lacks(monkeypatch):
    monkeypatch.setattr("learning.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'found no SALib.*"\.\[sobol\]"'):
        SobolAxis(("seed",), (), 2).steps  # noqa: B018


def test_hosted_checks_run_what_ci_runs():
    asked = re.findall(r"^make (\w+)$", read(".ci/run"), re.M)
    hosted = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]["test"]["strategy"]["matrix"]
    assert " ".join(hosted["targets"]).split() == asked
    assert hosted["python"][0] == PROJECT["project"]["requires-python"].removeprefix(">=")
