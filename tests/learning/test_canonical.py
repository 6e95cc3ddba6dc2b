"""Bytes of a content: one text for one content, written whole, read as written or refused."""

import os
from functools import partial

import numpy as np
import pytest
from exchanges import small_contract

from exchange.contract import read_contract
from exchange.messages import (
    Gradient,
    Query,
    parse_answer,
    parse_query,
    read_answer,
    read_closing,
    read_query,
)
from exchange.statement import read_statement
from learning.canonical import (
    encode_canonical,
    lock_file,
    parse_canonical,
    read_bytes,
    sha256_digest,
    write_atomically,
)
from learning.errors import InputError

CONTRACT = "0" * 64
AGREED = small_contract()
DIGEST = "a" * 64


def query(**changes):
    given = dict(contract=CONTRACT, round=1, point=np.array([0.1, -0.0]), asked=("a", "b"))
    return Query(**(given | changes))


def test_every_double_comes_back_to_the_last_bit():
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal(1000) * 10.0 ** rng.integers(-300, 300, 1000)
    made = parse_answer(Gradient(CONTRACT, DIGEST, 1, "a", numbers).raw, "answer", AGREED)
    assert made.gradient.tobytes() == numbers.tobytes()


@pytest.mark.parametrize(
    "raw",
    [
        b'{"b":1,"a":2}',
        b'{\n "a": 1,\n "a": 1\n}\n',
        b"[]",
        b"",
        b"\xff\xfe",
        b'{\n "a": NaN\n}\n',
        b'{\n "a": 1e400\n}\n',
        b'{\n "a": 1.00\n}\n',
        b"[" * 100_000,
        encode_canonical({"a": 1})[:-1],
    ],
)
def test_other_bytes_than_the_canonical_ones_are_refused(raw):
    with pytest.raises(InputError, match="must be"):
        parse_canonical(raw, "file")


def test_keys_in_any_order_have_one_digest():
    assert sha256_digest(encode_canonical({"a": 1, "b": {"c": None, "d": "ü"}})) == sha256_digest(
        encode_canonical({"b": {"d": "ü", "c": None}, "a": 1})
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b' "contract"', b' "clip": "none",\n "contract"', "clip: is no key"),
        (b'"round": 1', b'"round": 0', "round: "),
        (b'"round": 1', b'"round": true', "round: "),
        (b"0.1", b'"0.1"', "point.0"),
        (b"0.1", b"1", "numbers in the form that this program writes"),
        (b' "until": null\n', b' "until": "soon"\n', "UTC time"),
        (b'"a",\n  "b"', b'"a",\n  "a"', "once"),
        (b"dpmarket query 1", b"dpmarket query 2", "format"),
    ],
)
def test_a_question_of_another_form_is_refused_by_its_key(old, new, said):
    raw = query().raw
    assert old in raw
    changed = raw.replace(old, new)
    with pytest.raises(InputError, match=said):
        parse_query(changed, "query", AGREED)


def test_an_answer_of_no_numbers_is_refused():
    raw = Gradient(CONTRACT, DIGEST, 1, "a", np.array([0.5])).raw
    for other in (b"NaN", b"Infinity", b"1e999", b"null"):
        with pytest.raises(InputError):
            parse_answer(raw.replace(b"0.5", other), "answer", AGREED)


def test_the_digest_names_everything_in_a_question():
    names = {
        query(**change).digest
        for change in (
            {},
            {"round": 2},
            {"point": np.array([0.1, 0.0])},
            {"asked": ("a",)},
            {"until": "2030-01-01T00:00:00+00:00"},
            {"previous": DIGEST},
            {"answers": {"a": DIGEST}},
        )
    }
    assert len(names) == 7


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    place = tmp_path / "file.json"
    write_atomically(place, b"old")
    for broken in ("replace", "fsync"):
        with monkeypatch.context() as broke:
            broke.setattr(
                os, broken, lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
            )
            with pytest.raises(InputError, match="No space left"):
                write_atomically(place, b"new")
        assert read_bytes(place) == b"old" or broken == "fsync"
        assert [one.name for one in tmp_path.iterdir()] == ["file.json"]


def test_what_is_no_file_or_too_large_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * (2**20 + 1))
    for name, said in (
        ("pipe", "a pipe"),
        ("none", "No such file"),
        (".", "a folder"),
        ("large", "no larger than"),
    ):
        with pytest.raises(InputError, match=said):
            read_answer(tmp_path / name, AGREED)


def test_each_kind_of_file_has_a_limit_that_is_looked_at_before_it_is_read(tmp_path):
    """The files are sparse: one that was read would take gigabytes."""
    place = tmp_path / "large"
    messages = (read_query, read_answer, read_closing)
    readers = [partial(one, contract=AGREED) for one in (*messages, read_statement)]
    readers.append(read_contract)
    for reader in readers:
        place.write_bytes(b"{")
        os.truncate(place, 2**40)
        with pytest.raises(InputError, match="must be no larger than"):
            reader(place)
    os.truncate(place, 2**20 + 1)
    for reader in messages:
        with pytest.raises(
            InputError, match="must be no larger than 1,048,576 bytes; found 1,048,577"
        ):
            reader(place, AGREED)


def test_what_is_looked_at_is_what_is_read(tmp_path, monkeypatch):
    """A file that another takes the place of, between the look and the reading, is the one that was opened."""
    place = tmp_path / "file.json"
    place.write_bytes(b"first")
    look = os.fstat

    def exchanged(handle):
        found = look(handle)
        place.unlink(missing_ok=True)
        os.mkfifo(place)
        return found

    monkeypatch.setattr(os, "fstat", exchanged)
    assert read_bytes(place) == b"first"


def test_a_file_is_locked_while_it_is_written(tmp_path, monkeypatch):
    seen = []

    def look(handle):
        for path in tmp_path.glob(".*.part"):
            with path.open("rb") as other, pytest.raises(BlockingIOError):
                lock_file(other.fileno())
            seen.append(handle)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(tmp_path / "file.json", b"new")
    assert seen
