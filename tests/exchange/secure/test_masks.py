"""Known answers of every primitive that secure aggregation and signatures use, and what masks do with them."""

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from exchange.secure.masks import (
    OwnSecrets,
    agree_key,
    derive_key,
    open_shares,
    own_mask,
    pair_mask,
    pairs_of,
    public_key,
    seal_shares,
    stretch_key,
)
from learning.errors import InputError

BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB_PUBLIC = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
ALICE_PUBLIC = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
SHARED = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
SUNSCREEN = (
    b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
    b"sunscreen would be it."
)


def test_x25519_gives_the_known_answers_of_rfc_7748():
    scalar = "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"
    point = "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"
    product = "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    for secret, public, found in ((scalar, point, product), (BOB.hex(), ALICE_PUBLIC, SHARED)):
        key = X25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
        made = key.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(public)))
        assert made.hex() == found
    assert public_key(BOB) == BOB_PUBLIC
    assert agree_key(BOB, ALICE_PUBLIC, "x") == derive_key(bytes.fromhex(SHARED), "x")


def test_hkdf_gives_the_known_answers_of_rfc_5869():
    secret = bytes([0x0B] * 22)
    salt = bytes(range(13))
    info = bytes(range(0xF0, 0xFA))
    first = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    third = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    assert HKDF(SHA256(), 42, salt, info).derive(secret).hex() == first
    assert HKDF(SHA256(), 42, None, b"").derive(secret).hex() == third


def test_a_key_is_hkdf_of_its_purpose_and_context_by_hand():
    secret = bytes(range(32))
    root = hmac.digest(bytes(32), secret, hashlib.sha256)
    made = hmac.digest(root, b"dpmarket\nshares\nquestion\nAlpha\x01", hashlib.sha256)
    assert derive_key(secret, "shares", "question", "Alpha") == made
    other = {derive_key(secret, *words) for words in (("a",), ("a", "b"), ("b", "a"), ("a", "c"))}
    assert len(other) == 4


def test_chacha20_gives_the_known_keystream_of_rfc_8439():
    block = (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    words = stretch_key(bytes(32), 8)
    assert words.dtype == np.uint64 and words.astype("<u8").tobytes().hex() == block
    assert (stretch_key(bytes(32), 20)[:8] == words).all()


def test_chacha20_poly1305_gives_the_known_answer_of_rfc_8439():
    cipher = ChaCha20Poly1305(bytes(range(0x80, 0xA0)))
    nonce = bytes.fromhex("070000004041424344454647")
    context = bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
    sealed = (
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
        "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
        "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
        "3ff4def08e4b7a9de576d26586cec64b6116"
        "1ae10b594f09e26a7e902ecbd0600691"
    )
    assert cipher.encrypt(nonce, SUNSCREEN, context).hex() == sealed
    with pytest.raises(InvalidTag):
        cipher.decrypt(nonce, bytes.fromhex(sealed), context[:-1])


def test_ed25519_gives_the_known_answer_of_rfc_8032():
    secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    signed = (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
        "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
    assert key.public_key().public_bytes_raw().hex() == public
    assert key.sign(b"").hex() == signed
    key.public_key().verify(bytes.fromhex(signed), b"")


def test_both_of_a_pair_make_one_mask_and_no_other_pair_or_question_the_same():
    own = [OwnSecrets.derive(bytes([k] * 32), "first") for k in range(3)]
    pair = ("A", "B")
    public = [public_key(one.masking) for one in own]
    mask = pair_mask(own[0].masking, public[1], "q", pair, 5)
    assert (mask == pair_mask(own[1].masking, public[0], "q", pair, 5)).all()
    others = [
        pair_mask(own[0].masking, public[2], "q", pair, 5),
        pair_mask(own[0].masking, public[1], "p", pair, 5),
        pair_mask(own[0].masking, public[1], "q", ("A", "C"), 5),  # C shows B's key as its own
        own_mask(own[0].seed, "q", 5),
        own_mask(own[0].seed, "p", 5),
    ]
    assert len({one.tobytes() for one in [mask, *others]}) == 6
    assert pairs_of("B", ("A", "B", "C")) == [("A", "B"), ("B", "C")]


def test_a_key_that_agrees_on_nothing_is_refused():
    for public in ("00" * 32, "01" + "00" * 31):
        with pytest.raises(InputError, match="public keys"):
            agree_key(BOB, public, "x")


def test_shares_open_for_their_holder_alone_and_unaltered():
    writer, reader, other = (OwnSecrets.derive(bytes([k] * 32), "first").sealing for k in range(3))
    shares = bytes(range(132))
    context = ("q", "A", "B")
    sealed = seal_shares(shares, writer, public_key(reader), *context)
    assert len(sealed) == 296 and shares.hex() not in sealed
    assert open_shares(sealed, reader, public_key(writer), *context) == shares
    assert open_shares(sealed, other, public_key(writer), *context) is None
    assert open_shares(sealed, reader, public_key(writer), "q", "B", "A") is None
    altered = ("0" if sealed[0] != "0" else "1") + sealed[1:]
    assert open_shares(altered, reader, public_key(writer), *context) is None
