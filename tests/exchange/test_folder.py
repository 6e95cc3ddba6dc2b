"""The exchange's folder: names that cannot collide, files under their own names, others' broken files told and not fatal."""

import errno
import os

import numpy as np
import pytest
from exchanges import small_contract

from exchange.folder import (
    CLOSING,
    MODEL,
    answer_name,
    has_model,
    latest_query,
    owner_slug,
    query_name,
    write_new,
)
from exchange.learner.opening import read_folder
from exchange.messages import Closing, Gradient, Query, read_closing
from learning.errors import InputError

CONTRACT = small_contract()
QUERY = Query(CONTRACT.digest, 1, np.zeros(4), CONTRACT.names)
ANSWER = Gradient(CONTRACT.digest, QUERY.digest, 1, "Alpha", np.ones(4))


def lay(folder, *messages):
    for one in messages:
        name = (
            answer_name(one.round, one.owner)
            if isinstance(one, Gradient)
            else query_name(one.round)
        )
        (folder / name).write_bytes(one.raw)


def test_names_of_owners_become_names_of_files_that_differ():
    names = [
        "A",
        "a",
        "Ä",
        "A ",
        "../../etc/passwd",
        "保険",
        "",
        "CON",
        "x" * 200,
        "x" * 199 + "y",
        "a\nb",
    ]
    slugs = [owner_slug(name) for name in names]
    assert len({slug.lower() for slug in slugs}) == len(names)
    assert all(
        slug.replace("-", "").isalnum() and slug.isascii() and len(slug) < 60 for slug in slugs
    )


def test_messages_come_back_and_what_is_none_of_them_is_nobodys_concern(tmp_path):
    second = Query(
        CONTRACT.digest, 2, np.ones(4), CONTRACT.names, QUERY.digest, {"Alpha": ANSWER.digest}
    )
    lay(tmp_path, second, QUERY, ANSWER)
    for name in (
        ".round-001.query.json.x.part",
        "notes.txt",
        "contract.json",
        "round-1.query.json",
        "round-0003.query.json",
        CLOSING,
    ):
        (tmp_path / name).write_text("{}")
    queries, answers, faults = read_folder(tmp_path, CONTRACT)
    assert [one.raw for one in queries] == [QUERY.raw, second.raw] and not faults
    assert [one.raw for one in answers] == [ANSWER.raw]
    latest = latest_query(tmp_path, CONTRACT)
    assert latest is not None and latest.raw == second.raw and not has_model(tmp_path)
    (tmp_path / "round-\u0660\u0660\u0663.query.json").write_text(
        "{}"
    )  # digits, though none that names are made of
    assert latest_query(tmp_path, CONTRACT).round == 2
    (tmp_path / MODEL).write_text("{}")
    assert has_model(tmp_path)


def test_an_answer_that_cannot_be_read_is_told_by_its_file(tmp_path):
    lay(tmp_path, QUERY)
    (tmp_path / answer_name(1, "Beta")).write_bytes(ANSWER.raw)
    (tmp_path / answer_name(1, "Gamma")).write_bytes(ANSWER.raw.replace(b"1.0", b"NaN"))
    (tmp_path / answer_name(2, "Gamma")).mkdir()
    queries, answers, faults = read_folder(tmp_path, CONTRACT)
    assert len(queries) == 1 and not answers
    assert [fault.name for fault in faults] == [
        answer_name(1, "Beta"),
        answer_name(1, "Gamma"),
        answer_name(2, "Gamma"),
    ]
    assert answer_name(1, "Alpha") in faults[0].reason and "a folder" in faults[2].reason


def test_a_question_of_another_contract_or_under_another_name_is_refused(tmp_path):
    assert latest_query(tmp_path, CONTRACT) is None
    lay(tmp_path, QUERY)
    other = small_contract(title="other")
    for reading in (read_folder, latest_query):
        with pytest.raises(InputError, match="must be of this contract"):
            reading(tmp_path, other)
    (tmp_path / query_name(1)).rename(tmp_path / query_name(2))
    for reading in (read_folder, latest_query):
        with pytest.raises(InputError, match=r"found round-002\.query"):
            reading(tmp_path, CONTRACT)
    with pytest.raises(InputError, match="the folder of the exchange"):
        read_folder(tmp_path / "none", CONTRACT)


def test_a_closing_reads_back_from_its_bytes(tmp_path):
    closing = Closing(CONTRACT.digest, QUERY.digest, {"Alpha": ANSWER.digest}, "0" * 64)
    (tmp_path / CLOSING).write_bytes(closing.raw)
    again = read_closing(tmp_path / CLOSING, CONTRACT)
    assert again.raw == closing.raw and again.answers == closing.answers
    (tmp_path / CLOSING).write_bytes(closing.raw.replace(b"closing 1", b"closing 2"))
    with pytest.raises(InputError, match="format"):
        read_closing(tmp_path / CLOSING, CONTRACT)


@pytest.mark.parametrize("links", [True, False])
def test_a_file_is_never_written_over_on_disks_with_links_and_without(tmp_path, monkeypatch, links):
    if not links:

        def none(one, other):
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", none)
    assert write_new(tmp_path / "a.json", b"first") and not write_new(
        tmp_path / "a.json", b"second"
    )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.json": b"first"}
