"""Keys of the parties of an exchange, and their signatures, which the contract's holders can check.

A party has one secret of 32 bytes. Its Ed25519 key signs; other keys are derived from the secret
for one purpose each. The contract names the public keys, so its digest fixes them.

Source: RFC 8032 (Ed25519), RFC 5869 (HKDF); both as the library cryptography has them.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from learning.canonical import (
    check_place,
    encode_canonical,
    parse_canonical,
    read_bytes,
    write_atomically,
)
from learning.errors import InputError

DOMAIN = b"dpmarket exchange\n"
FORMAT = "dpmarket key 1"
BYTES = 32  # of a secret, and of a public key
HEX = re.compile("[0-9a-f]{64}")
UNSIGNED = "This exchange is not signed: whoever can write to its folder can write in any name."


class BadSignature(InputError):
    """A message that is not signed by the party that it names."""


@dataclass(frozen=True)
class PartyKey:
    """The secret of a party.

    Parameters
    ----------
    secret: 32 bytes from the system's secure random source.
    """

    secret: bytes = field(repr=False)

    @classmethod
    def make(cls) -> PartyKey:
        """Make a new key."""
        return cls(secrets.token_bytes(BYTES))

    @cached_property
    def public(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self._signer.public_key().public_bytes_raw().hex()

    @property
    def _signer(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.derive(b"sign"))

    def derive(self, purpose: bytes) -> bytes:
        """Derive 32 bytes for one purpose, which tell nothing about those for another."""
        return HKDF(SHA256(), BYTES, salt=None, info=DOMAIN + purpose).derive(self.secret)

    def sign(self, format: str, body: bytes) -> str:
        """Sign the bytes of a message of some format, 128 hexadecimal digits."""
        return self._signer.sign(bytes_to_sign(format, body)).hex()


def bytes_to_sign(format: str, body: bytes) -> bytes:
    """Bytes that a signature covers: no message of one format can pass for one of another."""
    return DOMAIN + format.encode() + b"\n" + body


def check_signature(
    public: str | None, signature: str | None, format: str, body: bytes, where: str
) -> None:
    """Refuse a message without the signature of its party; every reader goes through here.

    Parameters
    ----------
    public: the party's public key; None where the contract has no keys.
    signature: of the message; None where it has none.
    format, body: as `PartyKey.sign` was given them.
    where: the place of the message, for errors.

    Raises a BadSignature if there is another signature or none; or one where the exchange is not
    signed.
    """
    if public is None and signature is None:
        return
    if public is None:
        raise BadSignature(where, "must have no signature: the contract has no keys", "one")
    if signature is None:
        raise BadSignature(where, "must be signed, as the contract has keys", "no signature")
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), bytes_to_sign(format, body))
    except (InvalidSignature, ValueError):
        rule = "must be signed by the party that it names"
        raise BadSignature(where, rule, "another signature") from None


def make_key_file(path: Path) -> PartyKey:
    """Make a key in a new file that its user alone can read; its public part goes beside it.

    Raises an InputError if a file is there, or the disk refuses.
    """
    place = check_place(path, "FILE")
    if place.exists():
        raise InputError(str(path), "must be a new file", "another file", "Name another one.")
    made = PartyKey.make()
    content = {"format": FORMAT, "secret": made.secret.hex()}
    write_atomically(place, encode_canonical(content), private=True)
    write_atomically(public_place(place), f"{made.public}\n".encode())
    return made


def public_place(path: Path) -> Path:
    """Place of the public part of a key, ``<key>.pub``."""
    return path.with_name(f"{path.name}.pub")


def read_key(path: Path) -> PartyKey:
    """Read the key in a file.

    Raises an InputError if there is none, or others can read the file.
    """
    where = str(path)
    content = parse_canonical(read_bytes(path, private=True), where)
    secret = str(content.get("secret"))
    known = content.keys() == {"format", "secret"} and content["format"] == FORMAT
    if not known or not HEX.fullmatch(secret):
        raise InputError(where, "must be a key that dpmarket key made", "something else")
    return PartyKey(bytes.fromhex(secret))
