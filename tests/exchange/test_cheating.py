"""Who cheats in a signed exchange, how, and who sees it when: nothing is charged, and nobody is paid wrongly."""

import json
import os
import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from exchanges import key_of, signed_contract
from signed import Parties

from exchange.contract import Contract, parse_contract
from exchange.folder import (
    CLOSING,
    CONTRACT,
    MODEL,
    acceptance_name,
    answer_name,
    has_ended,
    latest_query,
    query_name,
)
from exchange.learner.exchange_files import read_exchange
from exchange.learner.opening import read_opened
from exchange.learner.settling import settle_exchange, sign_settlement
from exchange.messages import (
    Acceptance,
    Closing,
    Query,
    open_for,
    parse_signed,
    read_answer,
    sign_message,
)
from exchange.owner.answering import follow_questions
from exchange.owner.kept import kept_folder
from exchange.signing import BadSignature, check_signature
from exchange.statement import Statement, make_statement, read_statement
from learning.canonical import encode_canonical, sha256_digest
from learning.errors import InputError
from learning.privacy.ledger_file import KEYED, LedgerFile
from learning.privacy.sealed import write_sealed

pytestmark = pytest.mark.usefixtures("quick_disk")


@pytest.fixture
def parties(tmp_path):
    """Everybody has accepted, and question 1 is asked."""
    made = Parties(signed_contract(2), tmp_path)
    made.collect()
    return made


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        made = Parties(signed_contract(2), tmp_path_factory.mktemp("played"))
        made.play()
    for name, party in made.owners.items():
        said = Acceptance(made.contract.digest, name)
        stated = make_statement(made.contract, name, party.ledger)
        for one, place in ((said, acceptance_name(name)), (stated, f"{name}.statement.json")):
            raw = sign_message(one, made.contract, party.key).raw
            (made.shared / place).write_bytes(raw)
    return made


def forge(message, party):
    """A message as somebody with another key writes it, or nobody with a key."""
    if party is None:
        return replace(message, signature=None)
    return replace(message, signature=key_of(party).sign(message.content["format"], message.body))


def charged(parties):
    return [party.find_account().answered for party in parties.owners.values()]


def settled(parties, *statements):
    exchange = read_exchange(parties.shared, parties.contract, key_of("learner"))
    return settle_exchange(exchange, statements, unfinished=True)


def paid(content):
    return {one["name"]: one["paid"] for one in content["owners"]}


@pytest.mark.parametrize("forger", [None, "Alpha", "stranger"])
def test_a_forged_question_is_passed_over_by_owners_and_named_to_the_learner(parties, forger):
    asked = latest_query(parties.shared, parties.contract)
    left_out = Query(
        parties.contract.digest, 2, np.zeros(4), ("Beta", "Gamma"), asked.digest, {"Beta": "0" * 64}
    )
    (parties.shared / query_name(2)).write_bytes(forge(left_out, forger).raw)
    assert latest_query(parties.shared, parties.contract).digest == asked.digest
    assert parties.answer("Alpha").is_new and charged(parties) == [1, 0, 0]
    with pytest.raises(BadSignature, match=query_name(2)):
        parties.collect()


@pytest.mark.parametrize("forger", [None, "Beta"])
def test_a_forged_closing_ends_no_owners_program(parties, forger):
    asked = latest_query(parties.shared, parties.contract)
    model = b"{}\n"
    closing = Closing(parties.contract.digest, asked.digest, {}, sha256_digest(model))
    (parties.shared / MODEL).write_bytes(model)
    (parties.shared / CLOSING).write_bytes(forge(closing, forger).raw)
    assert not has_ended(parties.shared, parties.contract)
    for look in (parties.collect, lambda: read_exchange(parties.shared, parties.contract)):
        with pytest.raises(BadSignature, match=CLOSING):
            look()


@pytest.mark.parametrize("forger", [None, "Alpha"])
def test_a_forged_answer_is_not_used_and_its_owner_writes_its_own_over_it(parties, forger):
    mine = parties.answer("Alpha").answered.answer
    place = parties.shared / answer_name(1, "Beta")
    place.write_bytes(forge(replace(mine, owner="Beta"), forger).raw)
    step = parties.collect()
    assert [one.name for one in step.unreadable] == [place.name] and "signed" in step.unreadable[
        0
    ].reason
    assert step.found.missing == ("Beta", "Gamma") and charged(parties) == [1, 0, 0]
    assert parties.answer("Beta").is_new and read_answer(place, parties.contract).owner == "Beta"
    assert parties.collect().unreadable == () and charged(parties) == [1, 1, 0]


@pytest.mark.parametrize("before", [False, True])
def test_an_answer_with_a_good_signature_in_anothers_place_is_written_over(parties, before):
    """A copy of Alpha's, or of Beta's own earlier answer: signed, and not Beta's to this question."""
    for name in parties.owners if before else ("Alpha",):
        parties.answer(name)
    if before:
        parties.collect()
    round = 1 + before
    copied = answer_name(1, "Beta" if before else "Alpha")
    place = parties.shared / answer_name(round, "Beta")
    shutil.copy(parties.shared / copied, place)
    assert parties.collect().unreadable[0].name == place.name
    assert parties.answer("Beta").is_new
    assert read_answer(place, parties.contract).round == round
    assert parties.collect().unreadable == ()


def test_a_forged_statement_is_refused_by_the_settlement(played, tmp_path):
    party = played.owners["Beta"]
    made = make_statement(played.contract, "Beta", party.ledger)
    for forger in (None, "Alpha", "learner"):
        (tmp_path / "s").write_bytes(forge(made, forger).raw)
        with pytest.raises(BadSignature):
            read_statement(tmp_path / "s", played.contract)
    true = sign_message(made, played.contract, party.key)
    content = settled(played, true)
    assert content["holds"] and content["owners"][1]["ledger"]["status"] == "agrees"
    assert paid(content) == {"Alpha": 5.0, "Beta": 5.0, "Gamma": 5.0}


def test_a_copied_answer_cannot_be_opened_and_the_original_counts(parties):
    """Beta signs Alpha's sealed numbers as its own: it has not seen them, and is alone not used."""
    mine = parties.answer("Alpha").answered.answer
    parties.answer("Gamma")
    beta = parties.answer("Beta").answered.answer
    copy = sign_message(replace(beta, sealed=mine.sealed), parties.contract, key_of("Beta"))
    (parties.shared / answer_name(1, "Beta")).write_bytes(copy.raw)
    step = parties.collect()
    assert step.found.missing == ("Beta",) and step.found.doubted == ()
    assert "sealed for something else" in step.unreadable[0].reason
    assert paid(settled(parties))["Beta"] == 0.0 and paid(settled(parties))["Alpha"] == 2.5


def test_nobody_but_the_learner_opens_an_answer_before_the_closing(parties, played):
    parties.answer("Alpha")
    with pytest.raises(InputError, match="--key"):
        read_opened(parties.shared, parties.contract, None)
    with pytest.raises(InputError, match="--key: must be the key of the learner"):
        read_opened(parties.shared, parties.contract, None, key_of("Beta"))
    everybody = read_exchange(played.shared, played.contract)  # without any key
    assert settle_exchange(everybody)["holds"]


def test_a_question_that_was_dated_back_shows_by_the_owners_first_sight(tmp_path):
    contract = signed_contract(2, rule="without", hours=2.0)
    parties = Parties(contract, tmp_path)
    now = datetime.now(UTC)
    early = parties.collect(now=now - timedelta(hours=1.5)).open
    answer = parties.answer("Alpha").answered.answer
    assert (early.issued, early.until) == tuple(open_for(2.0, now - timedelta(hours=1.5)).values())
    seen = datetime.fromisoformat(answer.seen)
    assert seen > datetime.fromisoformat(early.issued) + timedelta(hours=1.4)
    later = replace(early, **open_for(2.0, now), signature=None)  # nobody else can move its time
    with pytest.raises(BadSignature):
        parse_signed(Query, forge(later, "Beta").raw, "q", contract)


def test_a_question_whose_time_was_over_at_first_sight_is_refused_and_stands_in_the_statement(
    tmp_path,
):
    contract = signed_contract(2, rule="without", hours=1.0)
    parties = Parties(contract, tmp_path)
    asked = parties.collect(now=datetime.now(UTC) - timedelta(hours=3)).open
    with pytest.raises(InputError, match="query.until"):
        parties.answer("Alpha")
    party = parties.owners["Alpha"]
    made = sign_message(make_statement(contract, "Alpha", party.ledger), contract, party.key)
    (sight,) = made.unanswered
    assert (sight.round, sight.query, made.answered) == (1, asked.digest, 0)
    (lateness,) = settled(parties, made)["owners"][0]["times"]
    assert lateness["round"] == 1 and lateness["seen"] == sight.seen > asked.until
    assert lateness["answered"] is None


def put_back(party, ledger, kept=True):
    """The ledger as it was before; its folder of answers, too."""
    party.ledger.path.write_bytes(ledger)
    if kept:
        shutil.rmtree(kept_folder(party.ledger))


def test_a_ledger_that_was_put_back_is_refused_by_the_next_question_and_by_the_closing(tmp_path):
    parties = Parties(signed_contract(2), tmp_path)
    parties.collect()
    party = parties.owners["Alpha"]
    before = party.ledger.path.read_bytes()
    for name in parties.contract.names:
        parties.answer(name)
    parties.collect()
    put_back(party, before)
    with pytest.raises(InputError, match="query.round"):
        parties.answer("Alpha")
    assert party.find_account().answered == 0


def test_an_answer_from_a_ledger_that_was_put_back_or_doubled_is_seen_by_the_learner(
    parties, tmp_path
):
    """An owner whose program was changed answers question 2 from another state of its ledger."""
    for name in parties.contract.names:
        parties.answer(name)
    parties.collect()
    for name in parties.contract.names:
        parties.answer(name)
    place = parties.shared / answer_name(2, "Alpha")
    true = read_answer(place, parties.contract)
    for head in (
        read_answer(parties.shared / answer_name(1, "Alpha"), parties.contract).head,
        "0" * 64,
    ):
        other = sign_message(replace(true, head=head), parties.contract, key_of("Alpha"))
        place.write_bytes(other.raw)
        step = parties.collect()
        assert step.found.missing == ("Alpha",)
        assert "put back" in step.unreadable[0].reason
    place.write_bytes(true.raw)
    assert parties.collect().is_done


def test_a_ledger_that_was_resealed_disagrees_in_its_statement(tmp_path):
    parties = Parties(signed_contract(2), tmp_path)
    parties.play()
    party = parties.owners["Alpha"]
    lines = party.ledger.path.read_bytes().splitlines()[1:-1]
    account = json.loads(lines[1])
    del account["lines"][-1]
    write_sealed(party.ledger.path, KEYED, [lines[0].decode(), json.dumps(account)])
    made = make_statement(parties.contract, "Alpha", party.ledger)
    content = settled(parties, sign_message(made, parties.contract, party.key))
    assert not content["holds"] and content["owners"][0]["ledger"]["status"] == "disagrees"
    with pytest.raises(InputError, match="must have charged the answer"):
        follow_questions(party, parties.shared, gave=print, awaits=print, every=0)


def test_a_second_ledger_disagrees_in_its_statement(played, tmp_path):
    """It has the same charges, and another identity: its head is another."""
    first = make_statement(played.contract, "Alpha", played.owners["Alpha"].ledger)
    second = LedgerFile.create(tmp_path / "second.ledger")
    account = played.owners["Alpha"].find_account()
    second.open(account.budget)
    for entry in account.entries:
        second.charge(account.budget, entry.purpose, first=entry.first)
    other = make_statement(played.contract, "Alpha", second)
    assert other.charges == first.charges and other.head != first.head
    content = settled(played, sign_message(other, played.contract, key_of("Alpha")))
    assert "another ledger" in content["owners"][0]["ledger"]["why"][0] and not content["holds"]


def test_a_swapped_model_ends_nothing_and_is_named(tmp_path):
    parties = Parties(signed_contract(1), tmp_path)
    parties.play()
    place = parties.shared / MODEL
    swapped = json.loads(place.read_bytes())
    swapped["theta"][0] += 1.0
    place.write_text(json.dumps(swapped, indent=1) + "\n")
    assert not has_ended(parties.shared, parties.contract)
    with pytest.raises(InputError, match="the one with which the exchange ended"):
        parties.collect()
    content = settled(parties)
    assert not content["holds"] and any(one["where"].startswith(MODEL) for one in content["faults"])
    assert paid(content) == {"Alpha": 5.0, "Beta": 5.0, "Gamma": 5.0}


def test_messages_of_another_exchange_of_the_same_parties_are_not_used(parties, tmp_path):
    other = Parties(signed_contract(2, title="another"), tmp_path / "other")
    other.play()
    assert other.contract.digest != parties.contract.digest
    asked = (parties.shared / query_name(1)).read_bytes()
    for name in (query_name(1), query_name(2), answer_name(1, "Beta")):
        shutil.copy(other.shared / name, parties.shared / name)
    assert latest_query(parties.shared, parties.contract) is None
    (parties.shared / query_name(1)).write_bytes(asked)
    (parties.shared / query_name(2)).unlink()
    step = parties.collect()
    assert step.found.missing == parties.contract.names
    assert [one.name for one in step.unreadable] == [answer_name(1, "Beta")]
    assert parties.answer("Alpha").is_new and charged(parties) == [1, 0, 0]


def test_a_downgrade_to_unsigned_is_refused_by_every_party(parties):
    signed = parties.contract
    bare = Contract.model_validate(signed.content | {"public_keys": None})
    party = parties.owners["Alpha"]
    with pytest.raises(InputError, match="must be a new file|under contract|holds the account"):
        replace(party, contract=bare, key=None).find_account()
    mine = parties.answer("Alpha").answered.answer
    place = parties.shared / answer_name(1, "Alpha")
    place.write_bytes(replace(mine, signature=None).raw)
    assert "no signature" in parties.collect().unreadable[0].reason
    for key in (None, key_of("Beta")):
        with pytest.raises(InputError, match="--key"):
            parties.collect(key=key) if key else sign_message(mine, signed, key)


def test_a_settlement_is_signed_by_the_learner(played):
    content = settled(played)
    made = sign_settlement(content, key_of("learner"))
    body = encode_canonical({key: made[key] for key in made if key != "signature"})
    check_signature(key_of("learner").public, made["signature"], made["format"], body, "s")
    altered = body.replace(b'"paid": 5.0', b'"paid": 6.0', 1)
    with pytest.raises(BadSignature):
        check_signature(key_of("learner").public, made["signature"], made["format"], altered, "s")
    assert "signature" not in sign_settlement(content, None)


FORMS = {
    CLOSING: Closing,
    ".query.json": Query,
    ".acceptance.json": Acceptance,
    ".statement.json": Statement,
}


def found_in(played, name, raw):
    """Whether a file of a finished exchange with other bytes is refused, or seen by the settlement."""
    place = played.shared / name
    before = place.read_bytes()
    place.write_bytes(raw)
    try:
        if name == CONTRACT:
            parse_contract(raw, "c")
            return False
        if name.endswith(".answer.json"):
            read_answer(place, played.contract)
            return False
        if name == MODEL:
            return not has_ended(played.shared, played.contract)
        form = next(form for ending, form in FORMS.items() if name.endswith(ending))
        parse_signed(form, raw, name, played.contract)
        return False
    except InputError:
        return True
    finally:
        place.write_bytes(before)


def alter_bytes(played, step):
    missed = []
    files = sorted(played.shared.glob("*.json"))
    assert len(files) == 5 + 4 * 3  # of the learner, and of each owner
    for path in files:
        raw = path.read_bytes()
        for at in range(0, len(raw), step):
            other = bytes([raw[at] ^ (1 + random.randrange(255))])
            if not found_in(played, path.name, raw[:at] + other + raw[at + 1 :]):
                missed.append((path.name, at))
    return missed


def test_an_altered_byte_of_any_file_is_found(played):
    assert alter_bytes(played, 97) == []


@pytest.mark.deep
def test_an_altered_byte_at_every_offset_of_every_file_is_found(played):
    assert alter_bytes(played, 1) == []
