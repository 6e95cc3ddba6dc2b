"""The reproduction book: what is computed is kept, checked and told; what others wrote is spared."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learning.errors import InputError
from learning.progress import ignore_progress
from reproduction import book
from reproduction.checks import REACH, make_check
from reproduction.drawing import add_caption, make_page, plot_series
from reproduction.item import (
    COUNTED,
    DERIVED,
    SHOWN,
    Check,
    Item,
    NotPossible,
    Setting,
    limited_checks,
    report_number,
)
from reproduction.pages import TEXT, weigh_own
from reproduction.pages import render_page as page_of


def numbers(setting):
    """A quantity that falls with the square of epsilon, with errors."""
    epsilon = np.geomspace(0.1, 10, 3 if setting.quick else 7)
    return pd.DataFrame(
        {"epsilon": epsilon, "fitness": epsilon**-2, "std_error": 0.1 * epsilon**-2}
    )


def checks(frame):
    slope = np.polyfit(np.log(frame.epsilon), np.log(frame.fitness), 1)[0]
    return [
        Check("slope", slope, -2.05, -1.95, "-2", tolerance=0.01),
        Check("points", len(frame), 7, 7, "7"),
    ]


def draw(frame, note):
    figure, axes = make_page("Fitness", note)
    plot_series(axes[0], frame, "epsilon", "fitness")
    add_caption(axes[0], "as published")
    return figure


def impossible(setting):
    raise NotPossible("no file bank.csv")


@pytest.fixture
def items(monkeypatch):
    """Two items, and the list of settings they were computed in."""
    asked = []

    def compute(setting):
        asked.append(setting)
        return numbers(setting)

    made = (
        Item(
            "VC-4",
            "Figure 4",
            "Slope",
            "It falls.",
            compute,
            checks,
            draw,
            "Another year.",
            cost=2.0,
        ),
        Item("WD-1", "Figure 1", "Accuracy", "It rises.", impossible, lambda frame: []),
    )
    monkeypatch.setattr(book, "ITEMS", made)
    monkeypatch.setattr(book, "BY_KEY", {item.key: item for item in made})
    return made, asked


def computed(items, folder, **setting):
    return book.compute_items(items[0], Setting(**setting), folder, 1, ignore_progress)


def test_each_item_has_its_status(items, tmp_path):
    first, second = computed(items, tmp_path)
    assert first.status == "reproduced" and [check.holds for check in first.checks] == [True, True]
    assert second.status == "not possible here" and second.reason == "no file bank.csv"
    assert sorted(path.name for path in (tmp_path / "reproduction").iterdir()) == [
        "VC-4.csv",
        "VC-4.json",
        "VC-4.svg",
        "WD-1.json",
    ]


def test_what_is_kept_is_not_computed_again(items, tmp_path):
    """Unless what was asked for is another thing: a finer grid, another seed."""
    once = computed(items, tmp_path)
    assert computed(items, tmp_path) == once and len(items[1]) == 1
    computed(items, tmp_path, quick=True)
    computed(items, tmp_path, quick=True, seed=2)
    assert [(one.quick, one.seed) for one in items[1]] == [(False, 1), (True, 1), (True, 2)]


@pytest.mark.parametrize("end", ["json", "svg", "csv"])
def test_what_was_not_finished_is_computed_again(items, tmp_path, monkeypatch, end):
    """A kill between any two of an item's files, or a full disk, leaves what the next run goes on from."""
    put = book.put_file

    def until(path, content):
        if path.name == f"VC-4.{end}":
            raise OSError(28, "No space left on device")
        return put(path, content)

    monkeypatch.setattr(book, "put_file", until)
    with pytest.raises(InputError, match=f"VC-4.{end}.*No space.*start the same command again"):
        computed(items, tmp_path)
    assert [one.item.key for one in book.all_kept(tmp_path)] == ["WD-1"]
    monkeypatch.setattr(book, "put_file", put)
    assert computed(items, tmp_path)[0].status == "reproduced" and len(items[1]) == 2


@pytest.mark.parametrize("name", ["VC-4.csv", "VC-4.svg"])
@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_damaged_numbers_and_lost_figures_are_computed_again(items, tmp_path, name, damage):
    """Half of the numbers might hold the law as well, and say that all is reproduced."""
    computed(items, tmp_path)
    path = tmp_path / "reproduction" / name
    whole = path.read_text()
    path.unlink()
    if damage == "cut" and name == "VC-4.csv":
        path.write_text("".join(whole.splitlines(keepends=True)[:4]))
    assert [one.item.key for one in book.all_kept(tmp_path)] == ["WD-1"]
    computed(items, tmp_path)
    assert path.read_text() == whole and len(items[1]) == 2


def test_checks_are_made_from_what_is_kept(items, tmp_path, monkeypatch):
    computed(items, tmp_path)
    other = replace(items[0][0], checks=lambda frame: [Check("points", len(frame), 8, 8)])
    assert (
        book.compute_items([other], Setting(), tmp_path, 1, ignore_progress)[0].status
        == "not reproduced"
        and len(items[1]) == 1
    )


def test_a_quick_run_says_so(items, tmp_path):
    first, _ = computed(items, tmp_path, quick=True)
    assert (
        "coarse" in first.note and "coarse" in (tmp_path / "reproduction" / "VC-4.svg").read_text()
    )


def test_an_impossible_item_leaves_no_old_figure(items, tmp_path, monkeypatch):
    computed(items, tmp_path)
    gone = Item("VC-4", "Figure 4", "Slope", "", impossible, checks, draw)
    monkeypatch.setattr(book, "ITEMS", (gone,))
    monkeypatch.setattr(book, "BY_KEY", {"VC-4": gone})
    book.compute_items([gone], Setting(seed=2), tmp_path, 1, ignore_progress)
    assert [path.name for path in (tmp_path / "reproduction").glob("VC-4.*")] == ["VC-4.json"]


@pytest.mark.parametrize("name", ["reproduction", "reproduction/VC-4.csv", "reproduction/VC-4.svg"])
def test_others_files_are_spared(items, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(InputError, match="--out"):
        computed(items, tmp_path)
    assert path.read_text() == "mine" and not items[1]


@pytest.mark.parametrize(
    "change", [{"seconds": "x"}, {"reason": [1]}, {"item": "VC-5"}, {"note": None}, None]
)
def test_damaged_facts_are_one_line_whose_remedy_helps(items, tmp_path, change):
    computed(items, tmp_path)
    path = tmp_path / "reproduction" / "VC-4.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change) if change else "[]")
    with pytest.raises(InputError, match=r"Remove all files VC-4\.\* there"):
        computed(items, tmp_path)
    for file in path.parent.glob("VC-4.*"):
        file.unlink()
    assert computed(items, tmp_path)[0].status == "reproduced"


def test_numbers_of_another_kind_are_one_line(items, tmp_path):
    """Another item's, for one that has changed since."""
    computed(items, tmp_path)
    other = replace(items[0][0], checks=lambda frame: frame["gain"])
    with pytest.raises(InputError, match=r"VC-4.csv.*gain"):
        book.compute_items([other], Setting(), tmp_path, 1, ignore_progress)


def test_what_another_version_left_stays_on_the_page_and_says_so(items, tmp_path, monkeypatch):
    was = book.version("dpmarket")
    before = computed(items, tmp_path)
    monkeypatch.setattr(book, "version", lambda name: "9.9")
    kept = list(book.all_kept(tmp_path))
    assert [one.checks for one in kept] == [one.checks for one in before]
    assert all(one.note.endswith(f"Computed by version {was}.") for one in kept)
    folder = tmp_path / book.FOLDER
    assert not any(book.is_stored(one.item, book.USUAL, folder) for one in kept)


def test_the_page_tells_each_item_and_links_its_figure(items, tmp_path):
    computed(items, tmp_path)
    text = page_of(list(book.all_kept(tmp_path)))
    assert text.startswith(book.HEADER) and "ψ is relative fitness" in text
    for words in (
        "| slope | value | -2 | -2 | -2.05 to -1.95 | holds |",
        "(reproduction/VC-4.svg)",
        "no file bank.csv",
        "It falls.",
    ):
        assert words in text
    assert "(reproduction/WD-1.svg)" not in text


def test_facts_name_what_they_depend_on(items, tmp_path):
    computed(items, tmp_path, seed=3)
    facts = json.loads((tmp_path / "reproduction" / "VC-4.json").read_text())
    assert (
        facts["seed"] == 3
        and facts["quick"] is False
        and facts["data"] is None
        and facts["dpmarket"]
    )


def test_the_table_of_checks_has_a_row_for_each(items, tmp_path):
    frame = book.table_of_checks(computed(items, tmp_path))
    assert list(frame.columns) == book.CHECKS.split(",") and list(frame["what"]) == [
        "slope",
        "points",
    ]


def test_another_folder_of_tables_has_another_fingerprint(tmp_path):
    """A file that is added or grows is noticed; where the folder lies is not told."""
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "a.csv").write_text("1")
    before = book.fingerprint_folder(tmp_path)
    (tmp_path / "adult" / "a.csv").write_text("12")
    grown = book.fingerprint_folder(tmp_path)
    (tmp_path / "b.csv").write_text("")
    assert len({before, grown, book.fingerprint_folder(tmp_path)}) == 3
    assert book.fingerprint_folder(tmp_path) == book.fingerprint_folder(tmp_path / "adult" / "..")


def test_another_seed_says_so(items, tmp_path):
    first, _ = computed(items, tmp_path, seed=7)
    assert first.note == "Seed 7."


def test_what_is_only_told_counts_for_nothing(items, tmp_path):
    """It has no limits, so it neither holds nor fails; it stands in the table all the same."""
    computed(items, tmp_path)
    first = next(book.all_kept(tmp_path))
    with_told = replace(first, checks=(*first.checks, report_number("median", 3.0)))
    assert (
        with_told.status == first.status
        and replace(first, checks=(report_number("median", 3.0),)).status == "undecided"
    )
    text = page_of([with_told])
    assert "| 2 of 2 |" in text and "| median |  |  | 3 |  | reported |" in text


def test_each_kind_of_item_is_counted_apart(items, tmp_path):
    """An erratum that shows is not reproduced, nor are numbers of a paper that nobody read."""
    computed(items, tmp_path)
    first = replace(next(book.all_kept(tmp_path)), checks=())
    holding = replace(first, checks=(Check("slope", -2, -2.05, -1.95),))
    error = replace(holding, item=replace(holding.item, group="error"))
    unread = replace(holding, item=replace(holding.item, group="other", paper_read=False))
    assert [one.status for one in (error, unread)] == ["shown", "derived, paper not read"]
    text = page_of([holding, first, error, unread])
    assert "of the sources' own items, 2 in all: 1 reproduced, 1 undecided." in text
    assert "of the errors that we see in them, 1 in all: 1 shown." in text
    assert "of the items of other papers, 1 in all: 1 derived, paper not read." in text


def test_our_own_protocol_has_no_part_in_the_status_of_a_source(items, tmp_path):
    computed(items, tmp_path)
    first = next(book.all_kept(tmp_path))
    ours = replace(first.checks[0], what="with our protocol", found=9.0, kind="ours")
    joined = replace(first, checks=(*first.checks, ours))
    assert joined.status == "reproduced" and replace(first, checks=(ours,)).status != "reproduced"
    assert "| with our protocol | 9 | -2.05 to -1.95 | fails |" in page_of([joined])


def test_a_control_is_shown_and_counts_for_nothing(items, tmp_path):
    """It is of our computation; nor does a reading count, since one choice that serves is enough."""
    computed(items, tmp_path)
    first = next(book.all_kept(tmp_path))
    law = Check("falls", 1, 1, 1, kind="law")
    failing = {kind: Check("other", 9, 0, 1, "0", kind) for kind in ("control", "reading", "law")}
    status = {kind: replace(first, checks=(law, one)).status for kind, one in failing.items()}
    assert status == {"control": "reproduced", "reading": "reproduced", "law": "not reproduced"}
    text = page_of([replace(first, checks=(law, failing["control"]))])
    assert "| 1 of 1 |" in text and "| other | control | 0 | 9 | 0 to 1 | fails |" in text
    assert make_check(["ratio", 0, 1, "", "law"], 9.0).kind == "control"
    assert all(f"* **{kind}**: " in text for kind in COUNTED)


def test_every_status_on_the_page_is_explained_and_follows_from_one_rule(items, tmp_path):
    """Where no law fails and something holds, it has the shape, with laws or without."""
    computed(items, tmp_path)
    first = next(book.all_kept(tmp_path))
    holding, failing = Check("level", 1, 1, 1, "1"), Check("other", 9, 0, 1, "0")
    error = replace(first.item, group="error")
    cases = ((holding,), (holding, failing), (failing,))
    found = [replace(first, item=error, checks=checks).status for checks in cases]
    assert found == list(SHOWN.values())
    text = page_of([first])
    assert all(
        f"**{words.partition(',')[0]}**" in text for words in (*SHOWN.values(), *DERIVED.values())
    )


@pytest.mark.parametrize(
    ("found", "verdict", "status"),
    [
        (0.21, "holds", "reproduced"),
        (0.19, "undecided", "undecided"),
        (-0.19, "undecided", "undecided"),
        (-0.21, "fails", "not reproduced"),
    ],
)
def test_a_law_is_undecided_within_two_standard_errors_of_its_limit(
    items, tmp_path, found, verdict, status
):
    """Where another law fails the item is not reproduced; a value that is undecided leaves the shape."""
    computed(items, tmp_path)
    first = replace(next(book.all_kept(tmp_path)), checks=())
    law = Check("falls", 1, 1, 1, "1", "law")
    near = Check("better", found, 0, np.inf, "better", "law", std_error=0.1)
    assert near.verdict == verdict and replace(first, checks=(law, near)).status == status
    failing = replace(law, found=9.0)
    assert replace(first, checks=(near, failing, law)).status == "not reproduced"
    value = replace(near, kind="value")
    shape = "reproduced" if verdict == "holds" else "shape"
    assert replace(first, checks=(law, value)).status == shape
    text = page_of([replace(first, checks=(law, near))])
    assert f"| better | law | better | {found} ± 0.2 | at least 0 | {verdict} |" in text
    assert ("undecided: at least 0" in text) == (verdict == "undecided")


def test_what_rests_on_our_limits_and_what_can_hardly_fail_is_counted(items, tmp_path):
    """One law that fails by a number of the source is enough not to rest on a word."""
    computed(items, tmp_path)
    first = next(book.all_kept(tmp_path))
    law = Check("falls", 1, 1, 1, "1", "law")
    sure = replace(law, trait="sure")
    word = replace(law, found=9.0, trait="word")
    failing = replace(law, found=9.0)
    value = replace(failing, kind="value")
    checks = {"A": (sure, word), "B": (word, failing), "C": (sure, sure), "D": (sure, law, value)}
    own = [
        replace(first, item=replace(first.item, key=key), checks=found)
        for key, found in checks.items()
    ]
    lines = weigh_own(own)
    assert [line.partition(",")[2].rpartition(" ")[2] for line in lines[:1]] == ["A"]
    assert lines[0].startswith("of the 2 not reproduced, in 1 all laws that fail rest on limits")
    assert lines[1:] == [
        "of the 1 reproduced, 1 can hardly fail: C",
        "of the 2 laws of those that have the shape, 1 can hardly fail",
    ]
    told = replace(first, checks=(replace(law, kind="control"),))
    assert "| **undecided** |  | nothing that it says can fail here |" in page_of([told])


@cache
def kept():
    """Outcomes of the page in the documentation."""
    return list(book.all_kept(Path(__file__).parents[2] / "docs"))


def test_statuses_that_changed_are_those_that_the_page_names():
    """Each row's "now" is what its items have, and no row is left without a change."""
    now = {one.item.key: one.status for one in kept()}
    rows = [line.split(" | ") for line in TEXT["changes"].splitlines() if line.startswith("| ")]
    named = [(key, row) for row in rows[2:] for key in row[0].strip("| ").split(", ")]
    assert len(named) > 20 and len({key for key, _ in named}) == len(named)
    for key, (_, before, after, reason) in named:
        assert now[key] == after != before and reason, key


def test_figures_that_miss_a_level_alone_are_those_that_the_page_names():
    """Their text names them, so a status that rests on copied tick labels is known as such."""
    named = TEXT["sources"]["VC"]["about"].partition("their tags.")[2]
    for one in kept():
        failing = [check for check in limited_checks(one.checks) if not check.holds]
        alone = failing and all("by the labels of" in check.what for check in failing)
        if one.item.source == "VC":
            assert bool(alone) == (f"{one.item.key}," in named or f"{one.item.key} " in named)


def test_slopes_of_all_items_have_one_limit():
    """A power of -2 or -1 that a source states is met within a tenth."""
    published = {
        "-2",
        "−2",
        "−1",
        "(11): −2",
        "-2, but for logarithms",
    }
    powers = [one for each in kept() for one in each.checks if one.published in published]
    assert len(powers) >= 30
    for one in powers:
        power = -1 if "1" in one.published.split(":")[-1] else -2
        assert (one.low, one.high) == pytest.approx((power - REACH, power + REACH)), one.what


def test_a_table_that_is_not_there_is_named(items, tmp_path):
    """An item that goes on without one of its tables says which."""
    item = replace(items[0][0], tables=("bank",))
    facts = book._describe_data(item, Setting(tmp_path))
    assert facts == {
        "note": "Left out: bank-additional-full.csv is not there.",
        "stand_in": False,
    }
