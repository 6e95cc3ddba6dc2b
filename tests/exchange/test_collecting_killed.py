"""The learner's program killed before any file operation and at random moments: it ends in the same bytes."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from collecting import give
from commands import dpmarket  # noqa: F401
from exchanges import Owners, small_contract

from exchange.folder import CLOSING, MODEL
from exchange.learner.collecting import prepare_folder, take_step

ROOT = Path(__file__).parents[2]
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Killed(BaseException):
    """The program is gone."""


class Disk:
    """Counts what the program does with files, and kills it before the operation of a number: then nothing works, once."""

    def __init__(self, at, monkeypatch):
        self.left = at
        self.dead = False
        self.kills = 0
        for name in ("fsync", "replace", "link", "unlink", "open"):
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))

    def counted(self, real):
        def operation(*arguments, **named):
            self.left -= 1
            if self.left == 0:
                self.dead = True
                self.kills = 1
            if self.dead:
                raise Killed
            return real(*arguments, **named)

        return operation


@pytest.mark.exchange
def test_killed_before_any_file_operation_it_ends_in_the_same_bytes(tmp_path, monkeypatch):
    """Questions, closing and model: whatever a kill leaves, the next start goes on from it."""
    contract = small_contract(rounds=2, rule="without")
    ends = []
    kills = 1
    while kills:
        folder = tmp_path / f"{len(ends)}"
        owners = Owners(contract)
        with monkeypatch.context() as patched:
            disk = Disk(len(ends) + 1, patched)
            done = False
            while not done:
                try:
                    prepare_folder(contract, folder)
                    step = take_step(contract, folder, now=NOW)
                except Killed:
                    disk.dead = False
                else:
                    done = step.is_done
                    give(folder, *([] if done else owners.all(step.open)))
        ends.append(
            {
                path.name: path.read_bytes()
                for path in folder.iterdir()
                if not path.name.startswith(".")
            }
        )
        kills = disk.kills
    assert (
        len(ends) > 30 and all(end == ends[0] for end in ends) and {CLOSING, MODEL} < set(ends[0])
    )


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, "tests")
from exchanges import Owners, small_contract
from exchange.learner import collecting, collector
from exchange.command import collect as command
from scenarios.command import main as cli
from exchange.folder import CONTRACT, MODEL, answer_name, latest_query

contract, draw, kills = small_contract(rounds=12), random.Random(5), 0
owners = Owners(contract)

def follow(folder):
    if child := os.fork():
        return child
    sys.argv = ["dpmarket", "collect", str(folder / CONTRACT), "--follow", "--every", "0.05"]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    cli.main()

def one_more(folder):
    # The next answer that is missing, as an owner's program writes it: whole.
    asked = latest_query(folder, contract)
    for name in asked.asked if asked is not None else ():
        path = folder / answer_name(asked.round, name)
        if not path.exists():
            path.with_suffix(".part").write_bytes(owners.answer(asked, name).raw)
            path.with_suffix(".part").rename(path)
            return

def exchange(folder, most):
    global kills
    folder.mkdir()
    (folder / CONTRACT).write_bytes(contract.raw)
    running, died = follow(folder), 0
    while True:
        one_more(folder)
        time.sleep(draw.uniform(0, 0.03))
        if died < most and draw.random() < 0.5:
            os.kill(running, signal.SIGKILL)
            status = os.waitpid(running, 0)[1]
            if os.WIFSIGNALED(status):
                died += 1
            running = follow(folder)
        done, status = os.waitpid(running, os.WNOHANG)
        if done:
            assert status == 0 and (folder / MODEL).exists(), status
            kills += died
            return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}

place = Path(sys.argv[1])
whole = exchange(place / "whole", 0)
assert exchange(place / "killed", 20) == whole
print(kills, len(whole))
"""


@pytest.mark.exchange
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_at_random_moments_and_started_again_it_ends_in_the_same_bytes(tmp_path):
    """SIGKILL of the program that follows the folder, twenty times while owners answer."""
    command = [sys.executable, "-c", KILLS, str(tmp_path)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["20", f"{1 + 12 + 36 + 2}"]
