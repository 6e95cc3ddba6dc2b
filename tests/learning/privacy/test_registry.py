"""The user's registry: its place and modes, damage refused in one line, nothing lost by programs at the same time."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from learning.errors import InputError
from learning.privacy.registry import Accepted, Registry, take_fingerprint, user_folder


def entry(number, key):
    prints = {"encoded": take_fingerprint([b"%d" % (number * 100 + row) for row in range(50)], key)}
    return Accepted(
        f"{number:032x}", f"/{number}.ledger", "bank", "loans", "c" * 64, 1.0, 0.0, False, prints
    )


def add(registry, number):
    with registry.opened() as (key, entries):
        registry.replace_entries(key, [*entries, entry(number, key)])


def test_it_lies_where_the_user_says_or_in_the_users_data_folder(monkeypatch, tmp_path):
    assert user_folder() == Path(os.environ["DPMARKET_REGISTRY"])
    monkeypatch.delenv("DPMARKET_REGISTRY")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert user_folder() == tmp_path / "dpmarket"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_folder() == tmp_path / ".local" / "share" / "dpmarket"


def test_no_test_uses_the_users_own_registry():
    assert (
        "registry " in os.environ["DPMARKET_REGISTRY"] and Path.home() not in user_folder().parents
    )


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_only_the_user_may_read_it(tmp_path):
    registry = Registry(tmp_path / "data" / "dpmarket")
    add(registry, 1)
    assert stat.S_IMODE(registry.path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(registry.path.stat().st_mode) == 0o600


def test_what_is_kept_is_read_back_under_one_secret_key(tmp_path):
    add(Registry(tmp_path), 1)
    add(Registry(tmp_path), 2)
    with Registry(tmp_path).opened() as (key, entries):
        assert len(key) == 32 and [one.path for one in entries] == ["/1.ledger", "/2.ledger"]
        assert entries[1].same_records(entry(2, key).fingerprints) and not entries[0].same_records(
            entries[1].fingerprints
        )
    with Registry(tmp_path / "other").opened() as (other, _):
        assert other != key


def test_programs_at_the_same_time_lose_nothing(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add(Registry(tmp_path), number), range(24)))
    with Registry(tmp_path).opened() as (_, entries):
        assert sorted(one.path for one in entries) == sorted(
            f"/{number}.ledger" for number in range(24)
        )


def test_a_damaged_registry_is_refused_in_one_line_and_never_replaced(tmp_path):
    registry = Registry(tmp_path)
    rng = np.random.default_rng(0)
    add(registry, 1)
    whole = registry.path.read_bytes()
    damaged = [b"", whole[:-1], whole[: len(whole) // 2], b"other\n", whole + b"x"]
    for place in rng.integers(0, len(whole), 30):
        damaged.append(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    for raw in damaged:
        registry.path.write_bytes(raw)
        with pytest.raises(
            InputError, match="must be a whole registry of accepted records"
        ) as refused:
            add(registry, 2)
        assert "\n" not in str(refused.value) and "Put back the file" in str(refused.value)
        assert registry.path.read_bytes() == raw


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="the system's own user may write anywhere"
)
def test_a_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="Permission denied"):
            add(Registry(tmp_path), 1)
        with pytest.raises(
            InputError,
            match='DPMARKET_REGISTRY must name one; found the system error "Permission denied',
        ):
            add(Registry(tmp_path / "new"), 1)
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk_is_told_in_one_line_and_what_was_there_stays(tmp_path, monkeypatch):
    registry = Registry(tmp_path)
    add(registry, 1)
    whole = registry.path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        InputError,
        match='registry of accepted records that can be read and written; found the system error "No space left',
    ):
        add(registry, 2)
    assert registry.path.read_bytes() == whole
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="must be a folder for the registry"):
        add(Registry(tmp_path / "file"), 1)
