"""Programs side by side: whatever happens, none is left, nor what it started; and the commands that are started."""

import os
import time
import tomllib
from pathlib import Path

import pytest

from exchange.flower import loopback
from exchange.flower.__main__ import __doc__ as usage
from exchange.flower.app import write_app
from exchange.flower.loopback import (
    Keys,
    Loopback,
    end_programs,
    free_port,
    start_program,
    supernode_command,
)
from learning import extras
from learning.errors import InputError


def alive(number):
    """Whether a process runs; one that ended and that nobody has looked at is no more."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("deaf", ["", "trap '' INT; "])
def test_a_program_is_ended_with_all_that_it_started_even_if_it_does_not_listen(tmp_path, deaf):
    log = tmp_path / "log"
    program = start_program(
        ["sh", "-c", f"{deaf}sleep 50 & echo $!; wait; sleep 50"], log, os.environ
    )
    while not log.read_text().strip():
        time.sleep(0.01)
    child = int(log.read_text())
    assert alive(child)
    end_programs([program], patience=0.05)
    while alive(child):
        time.sleep(0.01)
    assert program.poll() is not None


def test_a_federation_that_cannot_start_leaves_nothing_and_says_where_to_look(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(extras, "find_spec", lambda name: True)
    monkeypatch.setattr(loopback, "superlink_command", lambda at: ["sh", "-c", "exit 3"])
    with pytest.raises(
        InputError, match="flower: must start; found no SuperLink. See .*superlink.log"
    ):
        loopback.run_over_flower(tmp_path, {}, tmp_path / "flower")


def test_without_flower_one_line_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(
        InputError,
        match=r"flower: needs the extra federated; found no flwr. Install it, in the checkout: pip install",
    ):
        loopback.run_over_flower(tmp_path, {}, tmp_path / "flower")
    assert not (tmp_path / "flower").exists()


def test_connections_are_open_only_where_there_are_no_keys(tmp_path):
    keys = Keys(
        Path("ca.crt"), Path("server.crt"), Path("server.key"), {"Saint Mary's": Path("node.key")}
    )
    at = Loopback(tmp_path, free_port(), keys)
    assert "--insecure" not in loopback.superlink_command(
        at
    ) and "--enable-supernode-auth" in loopback.superlink_command(at)
    assert "--insecure" in loopback.superlink_command(
        Loopback(tmp_path, 1)
    ) and "--insecure" in supernode_command(Loopback(tmp_path, 1), "a", tmp_path)
    assert f'owner="Saint Mary\'s" mailbox="{tmp_path}"' in supernode_command(
        at, "Saint Mary's", tmp_path
    )
    with pytest.raises(InputError, match='no " or backslash'):
        supernode_command(at, 'Saint "Mary"', tmp_path)


def test_the_app_is_the_same_for_all_exchanges_and_only_names_what_is_installed(tmp_path):
    first, second = (write_app(tmp_path / name) for name in ("relay", "again"))
    files = {file.name: file.read_bytes() for file in first.iterdir()}
    assert files == {file.name: file.read_bytes() for file in second.iterdir()}
    project = tomllib.loads(files["pyproject.toml"].decode())
    for reference in project["tool"]["flwr"]["app"]["components"].values():
        module, _, name = reference.partition(":")
        text = files[f"{module}.py"].decode()
        assert name == "app" and len(text.splitlines()) < 6 and "from exchange.flower.apps." in text
    assert (
        set(project["tool"]["flwr"]["app"]["config"]) == {"folder", "wait", "rest", "farewell"}
        and "FOLDER" in usage
    )
