"""A signed exchange: every message is its party's, or it is refused before anything is charged or paid."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.bindings._rust import openssl
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from exchanges import SUMS, key_of, signed_contract, small_contract
from signed import Parties

from exchange.contract import open_key, parse_contract
from exchange.folder import (
    MODEL,
    acceptance_name,
    has_ended,
    latest_query,
    query_name,
)
from exchange.learner.agreed import read_public
from exchange.learner.opening import find_accepted, read_folder
from exchange.learner.withdrawing import close_without, withdraw_owners
from exchange.messages import Acceptance, Closing, Query, parse_query, parse_signed, sign_message
from exchange.sealing import SUITE
from exchange.signing import BadSignature, make_key_file, public_place, read_key
from learning.canonical import sha256_digest
from learning.errors import InputError
from scenarios.model_file import to_json

pytestmark = pytest.mark.usefixtures("quick_disk")


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
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key_of("learner").public))
    covered = (
        b"dpmarket exchange\ndpmarket query 1\n" + query.raw
    )  # the bytes that the reference states
    public.verify(bytes.fromhex(made.signature), covered)


def test_an_acceptance_counts_where_its_owner_has_signed_it_for_this_contract(parties):
    contract = parties.contract
    made = sign_message(Acceptance(contract.digest, "Alpha"), contract, key_of("Alpha"))
    other = sign_message(Acceptance("0" * 64, "Beta"), contract, key_of("Beta"))
    forged = replace(Acceptance(contract.digest, "Gamma"), signature=made.signature)
    for one in (made, other, forged):
        (parties.shared / acceptance_name(one.owner)).write_bytes(one.raw)
    assert find_accepted(parties.shared, contract) == ("Alpha",)


def test_a_key_is_its_users_alone_and_no_other_key_passes_for_it(parties, tmp_path):
    made = make_key_file(tmp_path / "own.key")
    assert (tmp_path / "own.key").stat().st_mode & 0o777 == 0o600
    assert read_key(tmp_path / "own.key").public == made.public
    assert read_public(str(public_place(tmp_path / "own.key")), "k") == made.public
    with pytest.raises(InputError, match="must be a new file"):
        make_key_file(tmp_path / "own.key")
    with pytest.raises(InputError, match="must be the key of Alpha"):
        open_key(tmp_path / "own.key", parties.contract, "Alpha")
    with pytest.raises(InputError, match="must be left out"):
        open_key(tmp_path / "own.key", small_contract(), "Alpha")
    os.chmod(tmp_path / "own.key", 0o640)
    with pytest.raises(InputError, match="by its user alone; found mode 640"):
        read_key(tmp_path / "own.key")
    os.chmod(tmp_path / "own.key", 0o600)
    (tmp_path / "own.key").write_bytes(b"{}")
    with pytest.raises(InputError, match="as this program|byte for byte|that dpmarket key made"):
        read_key(tmp_path / "own.key")


def test_primitives_give_the_known_answers_of_their_rfcs():
    """RFC 8032, 7.1, test 2; RFC 5869, A.3; RFC 9180, A.2.1 in base mode, which opens what others sealed."""
    signer = Ed25519PrivateKey.from_private_bytes(
        bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    )
    assert signer.public_key().public_bytes_raw().hex() == (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    )
    assert signer.sign(b"r").hex() == (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    derived = HKDF(SHA256(), 42, salt=b"", info=b"").derive(b"\x0b" * 22)
    assert derived.hex() == (
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    )
    private = X25519PrivateKey.from_private_bytes(
        bytes.fromhex("8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb")
    )
    enc = "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
    sealed = (
        "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28"
    )
    given = SUITE, bytes.fromhex(enc + sealed), private, b"Ode on a Grecian Urn", b"Count-0"
    assert openssl.hpke._decrypt_with_aad(*given) == b"Beauty is truth, truth beauty"
    sealed = SUITE.encrypt(b"numbers", private.public_key(), b"bound")
    assert SUITE.decrypt(sealed, private, b"bound") == b"numbers"
    with pytest.raises(InvalidTag):
        SUITE.decrypt(sealed, private, b"other")


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


def test_the_model_of_a_withdrawal_is_closed_by_the_learner(tmp_path):
    parties = Parties(signed_contract(1, noise="gaussian", sums=SUMS), tmp_path)
    parties.play()
    model = to_json(withdraw_owners(parties.contract, parties.shared, ["Beta"])).encode()
    made = close_without(parties.contract, parties.shared, ["Beta"], model, key_of("learner"))
    again = parse_signed(Closing, made.raw, "closing", parties.contract)
    assert again.model == sha256_digest(model) and set(again.answers) == {"Alpha", "Gamma"}
    with pytest.raises(InputError, match="--key"):
        close_without(parties.contract, parties.shared, ["Beta"], model, key_of("Beta"))
