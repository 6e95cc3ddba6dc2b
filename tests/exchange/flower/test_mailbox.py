"""An owner's mailbox: questions in, its own program's answers out, and nothing told but fixed words."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from exchanges import SUMS, key_of, signed_contract, small_contract

from exchange.flower.mailbox import (
    CODES,
    await_answer,
    check_contract,
    deliver_model,
    deliver_question,
    find_answer,
)
from exchange.folder import CLOSING, CONTRACT, MODEL, answer_name, query_name
from exchange.messages import LARGEST, Closing, Gradient, Query, Sums, sign_message, utc_text
from learning.canonical import sha256_digest, write_atomically

AGREED = small_contract(2)
ALL = tuple(AGREED.names)


def question(**changes):
    given = dict(contract=AGREED.digest, round=1, point=np.zeros(4), asked=ALL)
    return Query(**(given | changes))


def reply(asked, owner="Beta", **changes):
    given = dict(
        contract=AGREED.digest,
        query=asked.digest,
        round=asked.round,
        owner=owner,
        gradient=np.full(4, 0.5),
    )
    return Gradient(**(given | changes))


@pytest.fixture
def mailbox(tmp_path):
    write_atomically(tmp_path / CONTRACT, AGREED.raw)
    return tmp_path


def test_a_question_is_put_once_and_its_answer_found_where_the_owners_program_put_it(mailbox):
    asked = question()
    looks = []

    def answers(seconds):
        looks.append(seconds)
        write_atomically(mailbox / answer_name(1, "Beta"), reply(asked).raw)

    assert await_answer(mailbox, "Beta", asked.raw, 5.0, answers) == ("", reply(asked).raw)
    assert len(looks) == 1 and (mailbox / query_name(1)).read_bytes() == asked.raw
    before = (mailbox / query_name(1)).stat().st_mtime_ns
    assert await_answer(mailbox, "Beta", asked.raw, 5.0, answers) == ("", reply(asked).raw)
    assert len(looks) == 1 and (mailbox / query_name(1)).stat().st_mtime_ns == before


def test_without_an_answer_in_time_the_learner_is_told_to_come_again(mailbox):
    looks = []
    assert await_answer(mailbox, "Beta", question().raw, 1.0, looks.append) == ("waiting", b"")
    assert sum(looks) == pytest.approx(0.8)


LATE = utc_text(datetime.now(UTC) - timedelta(seconds=5))


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"no json", "no question"),
        (question(point=np.full(LARGEST // 20, 1 / 3)).raw, "no question"),
        (question(contract="0" * 64).raw, "other contract"),
        (question(asked=("Alpha",)).raw, "not asked"),
        (question(until=LATE).raw, "expired"),
    ],
)
def test_what_is_no_question_to_this_owner_never_reaches_the_mailbox(mailbox, raw, code):
    assert deliver_question(mailbox, "Beta", raw) == (code, None)
    assert [file.name for file in mailbox.iterdir()] == [CONTRACT]


def test_another_question_of_the_same_round_does_not_take_the_firsts_place(mailbox):
    first = question()
    second = question(point=np.ones(4))
    assert deliver_question(mailbox, "Beta", first.raw)[0] == ""
    assert deliver_question(mailbox, "Beta", second.raw) == ("other question", None)
    assert (mailbox / query_name(1)).read_bytes() == first.raw


@pytest.mark.parametrize(
    "changes",
    [
        {"owner": "Alpha"},
        {"query": "0" * 64},
        {"round": 2},
        {"contract": "0" * 64},
        {"gradient": np.ones(3)},
    ],
)
def test_an_answer_that_is_not_to_this_question_is_not_carried(mailbox, changes):
    write_atomically(mailbox / answer_name(1, "Beta"), reply(question(), **changes).raw)
    assert find_answer(mailbox, "Beta", question()) == ("other answer", b"")


def test_the_owners_own_contract_is_compared_and_never_written(mailbox, tmp_path):
    assert (
        check_contract(mailbox, AGREED.digest) == ""
        and check_contract(mailbox, "0" * 64) == "other contract"
    )
    assert check_contract(tmp_path / "none", AGREED.digest) == "no mailbox"
    (mailbox / CONTRACT).unlink()
    assert (
        deliver_question(mailbox, "Beta", question().raw)[0]
        == deliver_model(mailbox, AGREED.digest, b"{}\n")
        == "no contract"
    )
    assert not list(mailbox.iterdir())


def test_the_model_is_taken_once_after_what_closes_the_books(mailbox):
    assert deliver_model(mailbox, AGREED.digest, b"{}\n", b'{\n "a": 1\n}\n') == ""
    assert (mailbox / MODEL).exists() and (mailbox / CLOSING).exists()
    assert deliver_model(mailbox, AGREED.digest, b"[]\n") == "other model"
    assert (mailbox / MODEL).read_bytes() == b"{}\n"


def test_nothing_but_fixed_words_is_told_when_the_mailbox_breaks(mailbox):
    (mailbox / query_name(1)).mkdir()
    code, answer = await_answer(mailbox, "Beta", question().raw, 0.0)
    assert code in CODES and not answer


def test_sums_are_the_answer_where_both_parts_have_the_lengths_of_the_model(tmp_path):
    agreed = small_contract(1, noise="gaussian", sums=SUMS)
    write_atomically(tmp_path / CONTRACT, agreed.raw)
    asked = Query(agreed.digest, 1, np.zeros(4), tuple(agreed.names))
    head = agreed.digest, asked.digest, 1, "Beta"
    for numbers, code in ((14, ""), (9, "other answer")):
        sums = Sums.of(*head, np.full(numbers, 0.5))
        write_atomically(tmp_path / answer_name(1, "Beta"), sums.raw)
        assert find_answer(tmp_path, "Beta", asked) == (code, sums.raw if not code else b"")
    short = Sums(*head, np.ones(4), np.ones(9))
    write_atomically(tmp_path / answer_name(1, "Beta"), short.raw)
    assert find_answer(tmp_path, "Beta", asked)[0] == "other answer"


def test_in_a_signed_exchange_nothing_forged_is_put_and_no_forged_closing_ends_it(tmp_path):
    contract = signed_contract(2)
    write_atomically(tmp_path / CONTRACT, contract.raw)
    asked = Query(contract.digest, 1, np.zeros(4), contract.names)
    signed = sign_message(asked, contract, key_of("learner"))
    other = sign_message(
        Gradient(contract.digest, asked.digest, 1, "Alpha", np.ones(4)), contract, key_of("Alpha")
    )
    stolen = replace(asked, signature=other.signature)
    for forged in (asked, stolen):
        assert deliver_question(tmp_path, "Beta", forged.raw) == ("forged", None)
    assert deliver_question(tmp_path, "Beta", signed.raw)[0] == ""
    model = b"{}\n"
    closing = Closing(contract.digest, asked.digest, {}, sha256_digest(model))
    true = sign_message(closing, contract, key_of("learner"))
    for given, end in ((model, closing), (b"[]\n", true)):
        assert deliver_model(tmp_path, contract.digest, given, end.raw) == "forged"
    assert not (tmp_path / MODEL).exists() and not (tmp_path / CLOSING).exists()
    assert deliver_model(tmp_path, contract.digest, model, true.raw) == ""
