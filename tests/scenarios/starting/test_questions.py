"""Questions of `dpmarket init --ask`: money by hand, nothing invented, and what a run makes of the ranges."""

import io
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from learning.errors import InputError
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.starting.first import write_first
from scenarios.starting.guesses import Wanted
from scenarios.starting.questions import (
    QUESTIONS,
    Answer,
    Stated,
    published_valuations,
    questions_of,
)
from tests.scenarios.starting.test_init import banks, regression

pytestmark = pytest.mark.coarse

COST = QUESTIONS[0]


@pytest.fixture
def terminal(monkeypatch):
    """Types lines on what passes for a terminal."""

    def type_lines(*lines):
        screen = SimpleNamespace(isatty=lambda: True)
        monkeypatch.setattr(
            "scenarios.command.init.sys", SimpleNamespace(stdin=screen, stderr=screen)
        )
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_lines


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", None),
        ("  ", None),
        ("20", (20, 20)),
        ("1,500.5", (1500.5, 1500.5)),
        ("20-50", (20, 50)),
        ("2,000 – 9,000", (2000, 9000)),
        ("1e-3-2e-3", (0.001, 0.002)),
        ("3 to 4", (3, 4)),
    ],
)
def test_numbers_ranges_and_nothing_are_answers(text, answer):
    assert COST.read(text) == answer


@pytest.mark.parametrize(
    "text", ["0", "-5", "50-20", "1,5", "nan", "inf", "1e400", "2-3-4", "0-3", "about 3", "1_0"]
)
def test_other_texts_are_refused_in_one_line(text):
    with pytest.raises(InputError, match="must be a number") as caught:
        COST.read(text)
    assert "\n" not in str(caught.value)


def test_a_chance_is_at_most_a_hundred_percent():
    with pytest.raises(InputError, match="to 100"):
        QUESTIONS[-1].read("101")


def test_a_percent_sign_is_read_where_the_question_asks_for_percent():
    years, chance = (one for one in QUESTIONS if one.key in ("years", "leak_chance"))
    assert [*chance.read("1 %")] == [1.0, 1.0] and [*chance.read("1% - 2.5 %")] == [1.0, 2.5]
    with pytest.raises(InputError):
        years.read("1 %")


def test_each_table_has_its_own_questions():
    common = ["decisions", "years", "leak", "leak_chance"]
    assert [one.key for one in questions_of("rmse")] == ["unit_cost", *common]
    assert [one.key for one in questions_of("wrong_label")] == ["wrong_cost", *common]


def test_the_likely_value_of_a_range_is_its_geometric_middle():
    assert Answer(2, 8).likely == 4 and Answer(1000, 2000).likely == 1414
    assert Answer(1 / 3, 1 / 3).likely == 1 / 3
    narrow = Answer(1.00001, 1.00002)
    assert narrow.low <= narrow.likely <= narrow.high


def test_money_is_the_product_that_one_writes_by_hand():
    known = {"unit_cost": Answer(4.5, 4.5), "decisions": Answer(20_000, 20_000)}
    assert Stated(known).money is None and not Stated(known).ranges
    whole = Stated(known | {"years": Answer(3, 3)})
    assert whole.money == (270_000, 270_000) and not whole.ranges and whole.cases is None
    wide = Stated(known | {"unit_cost": Answer(2, 8), "years": Answer(1, 4)})
    assert wide.ranges == {"learner.value.money": [40_000, 640_000]}
    assert wide.money.likely == 160_000
    leaks = Stated({"leak": Answer(50, 200), "leak_chance": Answer(0.1, 0.1)})
    assert leaks.harm == pytest.approx((0.05, 0.2)) and leaks.assumed == ["policy.price"]


def test_labels_take_the_cost_of_each_and_count_the_cases():
    cases = {"decisions": Answer(1000, 4000), "years": Answer(3, 3)}
    stated = Stated(cases | {"wrong_cost": Answer(250, 250)}, "wrong_label")
    assert stated.money == (250, 250) and stated.cases == (3000, 12_000)
    assert stated.ranges == {"learner.value.cases": [3000, 12_000]} and stated.cases.likely == 6000
    assert Stated(cases, "wrong_label").money is None
    alone = Stated({"wrong_cost": Answer(250, 250)}, "wrong_label")
    assert alone.money is None and alone.cases is None


def test_answers_on_a_terminal_become_the_scenario(dpmarket, terminal, tmp_path):
    regression().to_csv("t.csv", index=False)
    terminal("", "", "2-8", "about 9", "20,000", "3", "50-200", "0.1")
    status, out, err = dpmarket("init", "t.csv", "--ask")
    assert status == 0 and "429 USD: a patient's record" in err
    assert 'found "about 9"' in err and '"sales" is off by 1' in err
    assert "wrong decision" not in err and "120,000 to 480,000" in out
    written = tomllib.loads(Path("t.toml").read_text())
    assert written["learner"]["value"] == {"per": "rmse", "money": 240_000.0}
    assert written["owners"]["cost"]["price"] == pytest.approx(0.1)
    ranges = {"learner.value.money": [120_000.0, 480_000.0], "owners.cost.price": [0.05, 0.2]}
    assert written["inputs"] == {"assumed": ["policy.price"], "ranges": ranges}
    text = Path("t.toml").read_text()
    assert "the likely value is the geometric" in text and "# ranges = " not in text


def test_labels_are_asked_for_wrong_decisions_and_half_an_answer_stays_unknown(dpmarket, terminal):
    banks(2400).to_csv("t.csv", index=False)
    terminal("", "", "250", "1000-2000", "3", "40", "")
    status, out, err = dpmarket("init", "t.csv", "--ask")
    assert status == 0 and "one wrong decision" in err and "off by 1" not in err
    assert "needed together" in out
    written = tomllib.loads(Path("t.toml").read_text())
    value = {"per": "wrong_label", "money": 250.0, "cases": 4243.0}
    assert written["learner"]["value"] == value
    assert written["inputs"]["assumed"] == ["owners.cost.price", "policy.price"]
    assert load("t.toml").learner.knows_value


def test_no_answer_at_all_writes_what_init_writes_without_questions(dpmarket, terminal, tmp_path):
    regression().to_csv("t.csv", index=False)
    assert dpmarket("init", "t.csv")[0] == 0
    plain = Path("t.toml").read_bytes()
    terminal(*[""] * 7)
    assert dpmarket("init", "t.csv", "--ask", "--force")[0] == 0
    assert Path("t.toml").read_bytes() == plain


def test_where_nobody_can_answer_nothing_is_written(dpmarket, terminal, monkeypatch):
    regression(200).to_csv("t.csv", index=False)
    status, out, err = dpmarket("init", "t.csv", "--ask")
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert "--ask: needs a terminal" in err and "Leave it out" in err
    terminal("", "", "2")  # and then the input ends
    assert dpmarket("init", "t.csv", "--ask")[0] == 130 and not Path("t.toml").exists()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("scenarios.command.init.ask_money", interrupt)
    terminal("", "")
    assert dpmarket("init", "t.csv", "--ask")[0] == 130 and not Path("t.toml").exists()


def test_a_run_gains_at_the_end_above_the_break_even_only(tmp_path, monkeypatch):
    """Second route: gain = money x fall of the error - payments, with both ends around the break-even."""
    monkeypatch.chdir(tmp_path)
    regression().to_csv("t.csv", index=False)
    price = {"leak": Answer(1000, 1000), "leak_chance": Answer(0.1, 0.1)}

    def settle(answers):
        stated = Stated(price | answers)
        write_first(Path("t.csv"), Path("t.toml"), Wanted(), interview=lambda _: stated, force=True)
        scenario = load("t.toml", ["market.starts=2"])
        return run(scenario, training=False), scenario

    unknown, scenario = settle({})
    assert not scenario.learner.knows_value
    even = unknown["learner"]["break_even"]
    years = {"decisions": Answer(500, 500), "years": Answer(2, 2)}
    known, scenario = settle(
        years | {"unit_cost": Answer(even["amount"] / 2000, even["amount"] / 250)}
    )
    assert scenario.learner.value.money == pytest.approx(even["amount"] * 2**0.5, rel=1e-3)
    ends = [row for row in known["inputs"]["answers"] if row["key"] == "learner.value.money"]
    assert len(ends) == 2 and ends[0]["surplus"] < 0 < ends[1]["surplus"]
    for row, times in zip(ends, (0.5, 4), strict=True):
        money = row["at"]["learner.value.money"]
        assert money == pytest.approx(times * even["amount"])
        assert row["surplus"] == pytest.approx(money * even["fall"] - row["payments"], rel=1e-6)
    assert [round(owner["epsilon"], 2) for owner in known["owners"]] == [0.5] * 3
    paid = sum(one["records"] * one["epsilon"] for one in known["owners"])
    assert known["learner"]["payments"] == pytest.approx(paid * scenario.policy.price)


def test_published_valuations_stand_in_the_manual_with_their_sources():
    page = Path(__file__).parents[3] / "docs" / "reference" / "inputs.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    written = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows[1:]]
    assert written == [tuple(one) for one in published_valuations()] and len(written) >= 5
    assert all("20" in one.source for one in published_valuations())
