"""A signed exchange: every message is its party's, or it is refused before anything is charged or paid."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from exchanges import key_of, signed_contract
from signed import Parties

from exchange.contract import parse_contract
from exchange.folder import (
    MODEL,
    has_ended,
    latest_query,
    query_name,
    read_folder,
)
from exchange.messages import Query, parse_query, sign_message
from exchange.signing import BadSignature


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def parties(tmp_path):
    return Parties(signed_contract(2), tmp_path)


def test_a_signed_exchange_ends_with_a_model_and_all_its_files_are_signed(parties):
    parties.play()
    assert has_ended(parties.shared, parties.contract)
    queries, answers, unreadable = read_folder(parties.shared, parties.contract)
    assert (len(queries), len(answers), unreadable) == (2, 6, [])
    for path in parties.shared.glob("*.json"):
        if path.name != MODEL:
            assert len(json.loads(path.read_bytes())["signature"]) == 128
    assert parse_contract(parties.contract.raw, "c").digest == parties.contract.digest


def test_the_digest_is_that_of_the_content_without_the_signature(parties):
    query = Query(parties.contract.digest, 1, np.zeros(4), parties.contract.names)
    made = sign_message(query, parties.contract, key_of("learner"))
    assert made.digest == query.digest and made.raw != query.raw
    assert made.raw == sign_message(made, parties.contract, key_of("learner")).raw
    assert parse_query(made.raw, "q", parties.contract).raw == made.raw


@pytest.mark.parametrize("forger", [None, "Alpha", "stranger"])
def test_a_question_that_the_learner_has_not_signed_is_no_question(parties, forger):
    """Unsigned (a downgrade), signed by an owner, or by nobody's key: the owner goes on waiting."""
    contract = parties.contract
    query = Query(contract.digest, 1, np.zeros(4), contract.names)
    if forger is not None:
        signature = key_of(forger).sign("dpmarket query 1", query.body)
        query = replace(query, signature=signature)
    (parties.shared / query_name(1)).write_bytes(query.raw)
    assert latest_query(parties.shared, contract) is None
    with pytest.raises(BadSignature, match="must be signed"):
        parse_query(query.raw, "q", contract)
    with pytest.raises(BadSignature, match=query_name(1)):
        parties.collect()
    for party in parties.owners.values():
        assert party.find_account().answered == 0
