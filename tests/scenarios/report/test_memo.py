"""A memo: two pages, sums that add up, the same bytes for the same result, whatever owners are called."""

import datetime as dt
import io
import json
import re
import zipfile

import docx
import pytest
from reports import CASES
from result_folders import result

from scenarios.report.document_formats import render_document
from scenarios.report.memo import date_of, make_memo, money_columns

DAY = dt.date(2026, 3, 31)
WILD = (
    "<script>alert(1)</script> & Söhne",
    "Ω-Klinik | *Nord* [x](http://evil)",
    "東京病院",
    "a" * 300,
    "line\nbreak\x00\u202e",
    "=cmd()",
)


def count_pages(pdf):
    return len(re.findall(rb"/Type /Page\b", pdf))


def word_text(raw):
    file = docx.Document(io.BytesIO(raw))
    cells = [cell.text for table in file.tables for row in table.rows for cell in row.cells]
    return "\n".join([one.text for one in file.paragraphs] + cells)


@pytest.fixture(scope="module")
def wild():
    """A result with forty owners, some of them with names that a format may stumble over."""
    names = (*WILD, *(f"Owner {i}" for i in range(34)))
    return result(names=names, scenario__currency="EUR")


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_result_has_a_memo_of_all_parts(name):
    made = make_memo(CASES[name], DAY)
    text = render_document(made, "html").decode()
    for part in ("Question", "Money", "Assumptions", "Who is asked what", "2026-03-31"):
        assert part in text
    assert made.lead and made.lead[0].endswith(".") and "None" not in text


@pytest.mark.parametrize("kind", ["html", "docx", "pdf", "md"])
def test_the_same_result_gives_the_same_bytes_at_any_time(wild, kind, monkeypatch):
    first = render_document(make_memo(wild, DAY), kind)
    real = dt.datetime

    class Later(real):
        @classmethod
        def now(cls, tz=None):
            return real.now(tz) + dt.timedelta(days=400)

    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 1, 1, 1, 1, 1, 0, 1, 0))
    assert render_document(make_memo(wild, DAY), kind) == first
    assert render_document(make_memo(wild, DAY + dt.timedelta(1)), kind) != first


def test_forty_owners_of_wild_names_fill_two_pages(wild):
    pdf = render_document(make_memo(wild, DAY), "pdf")
    assert count_pages(pdf) == 2 and b"D:20260331" in pdf
    assert count_pages(render_document(make_memo(result(), DAY), "pdf")) <= 2


def test_names_are_text_in_every_format(wild):
    made = make_memo(wild, DAY)
    page = render_document(made, "html").decode()
    assert "<script" not in page and "&lt;script&gt;" in page and "a" * 130 not in page
    plain = render_document(made, "md").decode()
    assert "\\<script>" in plain and r"\|" in plain and r"\[x](http" in plain
    text = word_text(render_document(made, "docx"))
    assert "<script>alert(1)</script> & Söhne" in text and "東京病院" in text
    for whole in (page, plain, text):
        assert "\x00" not in whole and "\u202e" not in whole and "28 other owners" in whole


def test_word_files_carry_the_date_of_the_memo():
    raw = render_document(make_memo(result(), DAY), "docx")
    told = docx.Document(io.BytesIO(raw)).core_properties
    assert told.created.date() == told.modified.date() == DAY and told.title == "Three insurers"
    assert {one.date_time[0] for one in zipfile.ZipFile(io.BytesIO(raw)).infolist()} == {1980}


def test_the_note_before_the_table_names_its_last_models():
    """After a sentence that ends with guessing, "the last two" would be the wrong ones."""
    alone = result()
    alone["errors"]["measured"]["every_column"] = None
    for content, last in ((result(), "two models"), (alone, "model")):
        model = make_memo(content, DAY).sections[1]
        assert "guessing" in model.paragraphs[0]
        assert f"can train the last {last} of the table:" in model.paragraphs[1]


def test_a_memo_says_what_errors_are_against_targets_that_training_cuts():
    content = result()
    uncut = {"trained": {"mean": 5.917}, "outside": 5.915, "constant": {"error": 6.936}}
    content["errors"]["measured"] |= {"cut": 0.0118, "uncut": uncut}
    told = make_memo(content, DAY).sections[1].paragraphs[1].replace("\u00a0", " ")
    assert told.startswith("In 1.18 % of the rows on which errors are measured, the target")
    assert "the market's model has 5.917, the learner's own 5.915 and guessing 6.936." in told
    content["errors"]["measured"] |= {"cut": 0.0, "uncut": None}
    assert not any("as they are" in one for one in make_memo(content, DAY).sections[1].paragraphs)


def test_money_adds_up_down_each_column_and_along_each_row():
    owners = [
        {"payment": 2000 / 3, "privacy_cost": 100 / 7 * i, "benefit": 1 / 3, "tax": i / 11}
        for i in range(1, 8)
    ]
    columns = money_columns(owners)
    assert list(columns) == ["Paid", "Privacy cost", "Benefit less taxes", "Surplus"]
    for paid, cost, other, left in zip(*columns.values(), strict=True):
        assert round(paid - cost + other, 2) == left
    exact = {"Paid": 14000 / 3, "Privacy cost": 400.0}
    for head, total in exact.items():
        assert round(sum(columns[head]), 2) == round(total, 2)


def test_rows_of_the_table_add_up_to_its_totals(wild):
    table = make_memo(wild, DAY).sections[-1].table
    rows = [
        [float(cell.replace(",", "").replace("−", "-") or 0) for cell in row[1:]]
        for row in table.rows
    ]
    parts = [round(sum(column), 2) for column in zip(*rows[:-1], strict=True)]
    assert parts[0] == rows[-1][0] == 40 * 6680 and parts[2:] == rows[-1][2:]
    assert rows[-1][2] == 2000.0 and len(rows) == 14


def test_the_recommendation_follows_from_the_result():
    def advice(**changes):
        return make_memo(result(**changes), DAY).lead[0]

    assert advice() == "Buy on these terms."
    assert advice(equilibrium__converged=False).startswith("Do not decide")
    assert advice(epsilon=0.0).startswith("Do not buy")
    assert advice(outside_option__measured=0.01) == "Do not buy on these terms."
    weak = {"median": 100.0, "interval": [-900.0, 900.0], "level": 0.9, "chance_pays": 0.6}
    assert advice(validation=None, learner__gain=weak).startswith("Buy only if")


def test_a_date_comes_from_the_file_or_from_the_environment(tmp_path, monkeypatch):
    import os

    (tmp_path / "result.json").write_text("{}")
    os.utime(tmp_path / "result.json", (86400.0, 86400.0))
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert date_of(tmp_path / "result.json") == dt.date(1970, 1, 2)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1774915200")
    assert date_of(tmp_path / "result.json") == DAY


def test_the_command_writes_a_memo_and_replaces_no_other_file(dpmarket, tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "result.json").write_text(json.dumps(result()))
    for kind in ("html", "docx", "pdf", "md"):
        status, out, err = dpmarket("memo", "r", "--as", kind, "--date", "2026-03-31")
        assert (status, out, err) == (0, f"memo: r-memo.{kind}\n", "")
    assert dpmarket("memo", "r", "--date", "2026-03-31")[0] == 0
    status, _, err = dpmarket("memo", "r", "--date", "2026-04-01")
    assert status == 2 and "--force replaces it" in err
    assert dpmarket("memo", "r", "--date", "2026-04-01", "--force")[0] == 0
    for wrong, word in ((("r", "--date", "today"), "--date"), (("none",), "result.json")):
        status, _, err = dpmarket("memo", *wrong)
        assert status == 2 and word in err and err.count("\n") == 1
    monkeypatch.setattr("learning.extras.find_spec", lambda name: None)
    status, _, err = dpmarket("memo", "r", "--as", "pdf", "--out", "x.pdf")
    assert status == 2 and 'pip install ".[documents]"' in err


def test_a_stated_value_that_contradicts_the_advice_is_named():
    """The value rests on the loss: it may praise a model that one answer for every row equals."""

    def lead(error):
        made = result()
        made["errors"]["measured"]["constant"]["error"] = error
        return make_memo(made, DAY).lead

    poor = lead(0.0)
    assert "at least as well as the market's model" in poor[0]
    assert "is worth more than the payments" in poor[1] and poor[2].startswith("Buying pays")
    assert not any("opposite" in said for said in lead(1e9))
