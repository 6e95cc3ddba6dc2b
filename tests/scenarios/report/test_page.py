"""The page: it stands alone, names cannot break it, and it says what was asked and left out."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from reports import CASES, Balanced, page, plain, told
from result_folders import result, write

from scenarios.report.page import write_report


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.slow if i % 6 else pytest.mark.in_full)
        for i, case in enumerate(CASES)
    ],
)
def test_every_report_is_well_formed_and_needs_nothing_else(case, tmp_path):
    text = page(CASES[case], tmp_path)
    parser = Balanced()
    parser.feed(text)
    assert parser.open == [] and len(parser.ids) == len(set(parser.ids))
    assert "<script" not in text and "http://" not in text and "https://" not in text
    for tag, name, value in parser.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href", "action", "data"):
            assert (
                value.startswith("#")
                and value[1:] in parser.ids
                or (tag, value) == ("link", "data:,")
            )
    assert all(target in parser.ids for target in re.findall(r"url\(#([^)]+)\)", text))
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(svg)
    words = plain(" ".join(parser.words))
    assert not re.search(r"\b(nan|None|inf|NaN|True|False)\b", words), words
    for title in (
        "The question",
        "Who sells what",
        "Is there an equilibrium?",
        "The model",
        "Can the forecast be trusted?",
        "Privacy guarantees",
        "Small print",
    ):
        assert title in words


def test_a_page_lists_some_hundred_owners_and_says_where_the_others_stand():
    made = result(tuple(f"Owner {i:04d}" for i in range(1000)))
    text = told(made, "sells")
    assert text.count("Owner 0") == 300
    assert "The next 288 owners" in text and "The other 700 owners are only in owners.csv." in text


def test_malicious_names_are_shown_and_not_obeyed(tmp_path):
    bad = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }} & </svg><b>")
    units = {"scenario__currency": "<b>&", "scenario__labels": {"<i>y</i>": "<i>name</i>, <b>unit"}}
    made = result(bad, title="<script>x</script>", data__target="<i>y</i>", **units)
    text = page(made, tmp_path)
    parser = Balanced()
    parser.feed(text)
    assert (
        parser.open == []
        and "<script" not in text
        and "<img" not in text
        and "<b>" not in text
        and "<i>" not in text
    )
    assert not any(name.startswith("on") for _, name, _ in parser.attributes)
    words = "".join(parser.words)
    assert bad[0] in words and bad[2] in words


@pytest.mark.slow
def test_a_report_is_the_same_twice_and_comes_from_saved_files_alone(tmp_path):
    folder = write(tmp_path / "r", result())
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first
    (folder / "figures" / "forecast.svg").unlink()
    assert "Forecast, training and the learner" not in write_report(folder).read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_the_resolved_scenario_is_there_but_folded(tmp_path):
    text = page(result(), tmp_path)
    assert re.search(r"<details><summary>The scenario in full.*?seed = 1", text, re.DOTALL)
    assert "ab" * 32 in text


def test_a_folder_without_its_scenario_file_shows_what_the_result_says_of_it(tmp_path):
    folder = write(tmp_path / "r", result())
    (folder / "scenario.toml").unlink(missing_ok=True)
    assert "three insurers" in write_report(folder).read_text(encoding="utf-8").lower()
