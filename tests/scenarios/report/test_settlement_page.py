"""The page of a settlement: it stands alone, and says who is paid, what was missing and what cannot be known."""

import json

import pytest
from exchanges import small_contract
from quick import quick_module
from reports import Balanced, plain
from settlements import played
from told import differing

from exchange.learner.exchange_files import read_exchange
from exchange.learner.seen import OwnRows
from exchange.learner.settling import own_rows_part, settle_exchange
from learning.canonical import encode_canonical
from learning.forecast.own_check import Seen
from scenarios.report.figure_settlement import improvement_figure, settlement_page
from scenarios.report.phrases import render_lines, render_phrase

__all__ = ["quick_module"]  # a fixture of every test

BAD = ("<script>alert(1)</script>", '"><img src=x>', "{{ 7 * 7 }} & </svg><b>")


def content_of(folder, contract, **options):
    return settle_exchange(
        read_exchange(played(folder, contract, **options), contract), unfinished=True
    )


def read(content):
    parser = Balanced()
    text = settlement_page(content)
    parser.feed(text)
    assert parser.open == [] and len(parser.ids) == len(set(parser.ids))
    assert "http" not in text.replace("http-equiv", "") and "<script" not in text
    return plain(" ".join(parser.words))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    contract = small_contract(2, rule="without", currency="EUR")
    return content_of(tmp_path_factory.mktemp("whole") / "shared", contract)


@pytest.fixture(scope="module")
def partial(tmp_path_factory):
    contract = small_contract(3, rule="without", currency="EUR")
    folder = tmp_path_factory.mktemp("partial") / "shared"
    return content_of(folder, contract, late={("Gamma", 2)}, missing={("Beta", 3)})


def seen(amount, error, *, aside=True, fits=True):
    return own_rows_part(
        OwnRows(
            100,
            aside,
            fits,
            Seen(amount, error),
            None if aside else Seen(amount + 0.1, error),
            0.4,
            (0.3, 0.45),
        )
    )


def test_a_whole_exchange_in_one_sentence(whole):
    text = read(whole | {"own_rows": seen(0.38, 0.02)})
    assert "All 3 owners answered all 2 questions: 15.00 EUR is to be paid." in text
    assert "The model, computed again from the answers, is the same" in text
    assert "pure differential privacy" in text and "The claims are not simulated" in text
    assert (
        "By the forecast, the model makes 10 % more error than the best possible model, and the learner's own 50 % more"
        in text
    )
    assert (
        "error is 38 % below" in text
        and "The forecast was 40 % below (30 to 45 %). This agrees" in text
    )
    assert ", as agreed" in text and "No owner has handed in a statement" in text


def test_what_was_not_delivered_is_not_paid_and_said(partial):
    text = read(partial)
    assert (
        "1 owner of 3 answered all 3 questions: 10.00 EUR of the 15.00 EUR agreed is to be paid."
        in text
    )
    assert (
        "Beta delivered 2 of 3 answers; none to question 3; this is 66.7 % of its planned spending."
        in text
    )
    assert (
        "Gamma delivered 1 of 3 answers; its answers to question 2 came too late or twice" in text
    )
    assert "The learner keeps 5.00 EUR for answers that were not delivered" in text
    assert "times that with all answers" in text and "none to question 2;" not in text


def test_faults_are_told_before_anything_else(whole):
    fault = {"where": "question 2", "rule": "must follow", "found": "another"}
    text = read(whole | {"holds": False, "faults": [fault]})
    assert (
        "Some files contradict the contract or other files. The rest of this page leaves them out. question 2: must follow; found another."
        in text
    )


def on_rows(whole, part):
    return plain(" ".join(render_lines("settlement", "own_rows", whole | {"own_rows": part})))


def test_few_rows_are_said_to_tell_nothing_and_many_that_disagree_to_disagree(whole):
    assert "in so few rows only a difference above 50 % can be told" in on_rows(
        whole, seen(0.1, 0.25)
    )
    assert "disagrees with the forecast" in on_rows(whole, seen(0.1, 0.01))
    favoured = on_rows(whole, seen(0.28, 0.02, aside=False))
    assert (
        "error is 38 % below" in favoured
        and "Without a correction the difference would be 28 %" in favoured
    )
    others = seen(0.3, 0.02, aside=False, fits=False) | {"crossed": None}
    assert "These rows do not reproduce" in on_rows(whole, others)


def test_ledgers_in_words(whole):
    told = {"status": "charged but not delivered", "undelivered": [2]}
    owners = [one | {"ledger": told if one["name"] == "Beta" else None} for one in whole["owners"]]
    said = " ".join(render_lines("settlement", "ledgers", whole | {"owners": owners}))
    assert (
        "The entries in the ledger of Beta show a charge for more than was delivered. Beta charged its answer to question 2"
        in said
    )
    assert "No statement of Alpha and Gamma." in said and "An owner can forge its ledger" in said


def test_nothing_delivered_nobody_paid(tmp_path):
    contract = small_contract(2, names=("Only",))
    content = content_of(tmp_path / "shared", contract, missing={("Only", 1)})
    assert "Nobody delivered anything, so nothing of the 5.00 agreed is to be paid." in read(
        content
    )
    one = content_of(tmp_path / "other", small_contract(1, names=("Only",)))
    assert "The one owner answered the one question: 5.00 is to be paid." in read(one)


def test_names_can_do_nothing_but_be_read(tmp_path):
    text = read(
        content_of(tmp_path / "shared", small_contract(1, names=BAD, title="<script>x</script>"))
    )
    assert BAD[0] in text and "{{ 7 * 7 }}" in text


def test_many_owners_and_many_questions_still_make_a_page(whole):
    row = whole["owners"][0]
    owners = [
        row | {"name": f"Owner {k}", "payment": float(k), "delivered": [*range(1, 201)]}
        for k in range(60)
    ]
    content = whole | {"owners": owners, "questions": whole["questions"] | {"agreed": 200}}
    assert "Owner 59" in read(content)


def test_a_budget_that_covers_more_than_is_asked_is_said_to_be_kept_in_part(whole):
    text = read(whole | {"questions": whole["questions"] | {"covered": 4}})
    assert (
        "A budget covers 4 answers, but the learner asks only 2. An owner that gives these 2 is paid in full"
        in text
    )
    assert render_phrase("settlement", "covered", whole) == ""


def test_what_was_told_of_answers_and_joint_claims_are_said(whole):
    told = {"owner": "Beta", "round": 2, "kind": "long", "said": "is longer than it may be"}
    joint = whole["claims"][0] | {"joint": True, "epsilon": 9.0}
    text = read(
        whole | {"told": [told, told | {"kind": "late"}], "claims": [*whole["claims"], joint]}
    )
    assert text.count("Beta's answer to question 2 is longer than it may be.") == 1
    assert (
        "For a record that several owners hold, all their answers together have an ε of up to 9."
        in text
    )


def test_the_picture_shows_what_rows_show_beside_the_forecast(whole):
    def texts(part):
        figure = improvement_figure(whole | {"own_rows": part})
        return {plain(one.get_text()) for one in figure.axes[0].texts}

    judged = {"the learner's own", "by the forecast", "40 %", "on the learner's own rows", "38 %"}
    assert texts(seen(0.28, 0.02, aside=False)) == judged | {
        "without correction, which",
        "favours the learner's own",
        "28 %",
    }
    assert texts(seen(0.38, 0.02)) == judged and texts(None) == {
        "the learner's own",
        "by the forecast",
        "40 %",
    }
    assert improvement_figure(whole | {"model": None}) is None


def test_the_reference_tells_of_every_field(partial):
    part = seen(0.28, 0.02, aside=False)
    fault = {"where": "", "rule": "", "found": ""}
    ledger = dict.fromkeys(
        ("status", "answered", "counted", "spent", "remaining", "undelivered", "why")
    )
    owners = [partial["owners"][0] | {"ledger": ledger}]
    content = json.loads(
        encode_canonical(partial | {"own_rows": part, "faults": [fault], "owners": owners})
    )
    assert differing("settlement.json", content) == (set(), set())
