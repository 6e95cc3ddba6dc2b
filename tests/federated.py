"""Parties of an exchange over Flower for tests: owners with real ledgers in threads, a learner that asks without learning."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from exchanges import records, small_contract

from exchange.contract import Contract
from exchange.flower.loopback import Keys
from exchange.folder import CONTRACT, MODEL, answer_name, query_name
from exchange.messages import Query, read_answer, read_query
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.answers import answer_query
from exchange.owner.table import Records
from learning.canonical import write_atomically
from learning.privacy.ledger_file import LedgerFile

LOOK = 0.1  # seconds

LIFTED = Permissions(max_epsilon=4.0)


class Parties:
    """Folders of all parties, and what they do; ``seen`` holds every answer that ever lay in any folder, by name."""

    def __init__(self, place: Path, rounds: int = 2) -> None:
        self.contract: Contract = small_contract(rounds)
        self.folder, self.names = place / "shared", self.contract.names
        self.boxes = {name: place / name / "mailbox" for name in self.names}
        self.ledgers = {
            name: LedgerFile.create(self._made(place / name) / "bank.ledger") for name in self.names
        }
        self.seen: dict[str, set[bytes]] = {}
        self.away: set[str] = set()  # owners whose program does not run
        self.over = threading.Event()
        for box in (self.folder, *self.boxes.values()):
            write_atomically(self._made(box) / CONTRACT, self.contract.raw)
        for name in self.names:
            accept_contract(
                self.contract,
                name,
                Records(*records(self.contract, name)),
                self.ledgers[name],
                LIFTED,
            )

    @staticmethod
    def _made(folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def owner(self, name: str) -> None:
        """What ``dpmarket answer --follow`` does in an owner's mailbox."""
        held = Records(*records(self.contract, name))
        box = self.boxes[name]
        for k in range(1, self.contract.rounds + 1):
            while not (box / query_name(k)).exists() or name in self.away:
                if self.over.wait(LOOK):
                    return
            given = answer_query(
                self.contract,
                name,
                read_query(box / query_name(k), self.contract),
                held,
                self.ledgers[name],
            )
            write_atomically(box / answer_name(k, name), given.answer.raw)

    def learner(self) -> None:
        """What ``dpmarket collect --follow`` does in the learner's folder, at points that depend on nothing."""
        before = None
        answers = {}
        for k in range(1, self.contract.rounds + 1):
            point = np.full(4, 0.1 * (k - 1))
            query = Query(self.contract.digest, k, point, tuple(self.names), before, answers)
            write_atomically(self.folder / query_name(k), query.raw)
            places = {name: self.folder / answer_name(k, name) for name in self.names}
            while not all(place.exists() for place in places.values()):
                if self.over.wait(LOOK):
                    return
            before = query.digest
            answers = {
                name: read_answer(place, self.contract).digest for name, place in places.items()
            }
        write_atomically(self.folder / MODEL, b"{}\n")

    def watch(self) -> None:
        """Look at every answer that lies anywhere."""
        while not self.over.wait(LOOK):
            for file in (
                file
                for box in (self.folder, *self.boxes.values())
                for file in box.glob("*.answer.json")
            ):
                self.seen.setdefault(file.name, set()).add(file.read_bytes())

    @contextmanager
    def at_work(self):
        """All of them at work within the block."""
        jobs = [*((self.owner, name) for name in self.names), (self.learner,), (self.watch,)]
        threads = [threading.Thread(target=job, args=given, daemon=True) for job, *given in jobs]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            time.sleep(2 * LOOK)
            self.over.set()
            for thread in threads:
                thread.join(5)

    def wait(self, there, seconds: float) -> None:
        """Until something is there; the test fails if it does not come."""
        until = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < until, "it took too long"
            time.sleep(LOOK)

    def answered(self) -> None:
        """Everything of an exchange that came to its end: nobody gave two answers, every ledger has each round once."""
        rounds = self.contract.rounds
        assert set(self.seen) == {
            answer_name(k, name) for k in range(1, rounds + 1) for name in self.names
        }
        assert all(len(given) == 1 for given in self.seen.values())
        for name in self.names:
            (account,) = self.ledgers[name].accounts
            assert account.answered == rounds and len(account.entries) == rounds


def made_keys(place: Path, names) -> Keys:
    """An authority, the learner's certificate by it, and a key for each owner's node: the commands of the how-to page."""
    place.mkdir(parents=True)
    curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30"
    (place / "san.txt").write_text("subjectAltName=IP:127.0.0.1\n")
    run(place, f"openssl req -x509 {curve} -keyout ca.key -out ca.crt -subj /CN=consortium")
    run(
        place,
        f"openssl req {curve.replace(' -days 30', '')} -keyout server.key -out server.csr -subj /CN=learner",
    )
    signed = "-CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile san.txt"
    run(place, f"openssl x509 -req -in server.csr {signed} -out server.crt")
    for name in names:
        run(place, f"ssh-keygen -q -t ecdsa -b 384 -N  -f {name}.key".split(" "))
    nodes = {name: place / f"{name}.key" for name in names}
    return Keys(place / "ca.crt", place / "server.crt", place / "server.key", nodes)


def run(place: Path, command: str | list[str]) -> None:
    """A command that must end well."""
    words = command.split() if isinstance(command, str) else command
    done = subprocess.run(words, cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def tools() -> bool:
    """Whether what makes keys is there."""
    return all(map(shutil.which, ("openssl", "ssh-keygen")))
