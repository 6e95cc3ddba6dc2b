"""Flower on one machine: a SuperLink, a SuperNode for each owner, and the relay."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from exchange.flower.app import write_app
from exchange.flower.relay import Settings
from exchange.folder import MODEL
from learning.errors import InputError
from learning.extras import check_extra

HOST = "127.0.0.1"
CONNECTION = "exchange"
PROGRAMS = Path(sys.executable).parent
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True)
class Keys:
    """Files of safe connections, as on the page `docs/how_to/exchange_over_flower.md`.

    Parameters
    ----------
    authority: certificate that all check the learner's server by.
    certificate, key: of the learner's server, for the address 127.0.0.1.
    nodes: owner -> its node's private key; the public one lies beside it, with .pub.
    """

    authority: Path
    certificate: Path
    key: Path
    nodes: Mapping[str, Path]


@dataclass(frozen=True)
class Loopback:
    """A federation on this machine.

    Parameters
    ----------
    work: a folder for Flower's own files and everybody's logs.
    port: the port of the learner's SuperLink.
    keys: files of safe connections; None where every user of this machine may connect.
    settings: the relay's.
    """

    work: Path
    port: int
    keys: Keys | None = None
    settings: Settings = field(default_factory=Settings)

    @property
    def address(self) -> str:
        """Address of the SuperLink."""
        return f"{HOST}:{self.port}"

    def party_environment(self, who: str) -> dict[str, str]:
        """Environment of a party, with a Flower home of its own."""
        path = os.pathsep.join([str(PROGRAMS), os.environ.get("PATH", "")])
        return {**os.environ, **QUIET, "PATH": path, "FLWR_HOME": str(self.work / who)}

    def start_program(
        self, command: Sequence[str], who: str, log: str = ""
    ) -> subprocess.Popen[bytes]:
        """Start a program of a party, which logs its output, by the party's name unless given."""
        path = self.work / f"{log or who}.log"
        return start_program(command, path, self.party_environment(who))


def free_port() -> int:
    """Find a port of this machine that is free."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def start_program(
    command: Sequence[str], log: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own; its output goes into a log."""
    with open(log, "ab") as lines:
        return subprocess.Popen(
            command,
            stdout=lines,
            stderr=lines,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )


def end_programs(programs: Sequence[subprocess.Popen[bytes]], patience: float = 5.0) -> None:
    """End programs and whatever they started: first asked, all at once, then killed.

    A second Ctrl-C kills them at once.
    """
    try:
        for program in programs:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGINT)
        until = time.monotonic() + patience
        for program in programs:
            with suppress(subprocess.TimeoutExpired):
                program.wait(max(until - time.monotonic(), 0.0))
    finally:
        for program in programs:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()


def superlink_command(at: Loopback) -> list[str]:
    """Command of the learner's SuperLink."""
    command = ["flower-superlink", "--host", HOST, "--port", str(at.port)]
    command.append("--disable-runtime-dependency-installation")
    if at.keys is None:
        return [*command, "--insecure"]
    files = {
        "--ssl-ca-certfile": at.keys.authority,
        "--ssl-certfile": at.keys.certificate,
        "--ssl-keyfile": at.keys.key,
    }
    command += [str(part) for pair in files.items() for part in pair]
    return [*command, "--enable-supernode-auth"]


def supernode_command(at: Loopback, owner: str, mailbox: Path) -> list[str]:
    """Command of an owner's SuperNode."""
    settings = f"owner={_quote(owner)} mailbox={_quote(str(mailbox.resolve()))}"
    command = ["flower-supernode", "--superlink", at.address, "--host", HOST]
    command += ["--port", str(free_port()), "--node-config", settings]
    if at.keys is None:
        return [*command, "--insecure"]
    command += ["--root-certificates", str(at.keys.authority)]
    return [*command, "--auth-supernode-private-key", str(at.keys.nodes[owner])]


def _quote(text: str) -> str:
    """Quote a text for Flower's settings; an InputError if they cannot take it."""
    if set(text) & set('"\\\n'):
        rule = "may have no \" or backslash in its name or its folder's"
        raise InputError("owner", rule, repr(text))
    return f'"{text}"'


def relay_command(at: Loopback, folder: Path) -> list[str]:
    """Command of the relay; it needs `configure_link`."""
    app = write_app(at.work / "relay")
    given = {"folder": _quote(str(folder.resolve()))}
    given |= {key: str(float(value)) for key, value in vars(at.settings).items()}
    settings = " ".join(f"{key}={value}" for key, value in given.items())
    return ["flwr", "run", str(app), CONNECTION, "--stream", "--run-config", settings]


def configure_link(at: Loopback) -> None:
    """Write the address of the SuperLink for the learner's ``flwr``, and register owners' nodes."""
    home = at.work / "learner"
    home.mkdir(parents=True, exist_ok=True)
    safety = "insecure = true"
    if at.keys is not None:
        safety = f'root-certificates = "{at.keys.authority.resolve()}"'
    text = f'[superlink]\ndefault = "{CONNECTION}"\n\n'
    text += f'[superlink.{CONNECTION}]\naddress = "{at.address}"\n{safety}\n'
    (home / "config.toml").write_text(text, encoding="utf-8")
    environment = at.party_environment("learner")
    for owner, key in (at.keys.nodes if at.keys else {}).items():
        command = ["flwr", "supernode", "register", f"{key}.pub", CONNECTION, "--name", owner]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            rule = "must be a node's key that the SuperLink accepts"
            raise InputError(str(key), rule, done.stderr[-200:])


def wait_for_link(at: Loopback, program: subprocess.Popen[bytes], seconds: float = 60.0) -> None:
    """Wait until the SuperLink takes connections; an InputError if it does not come up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and program.poll() is None:
        with suppress(OSError), socket.create_connection((HOST, at.port), 1.0):
            return
        time.sleep(0.2)
    raise InputError("flower", "must start", "no SuperLink", f"See {at.work / 'superlink.log'}.")


@dataclass
class Federation:
    """Running programs: the SuperLink, the SuperNode of each owner, the relay."""

    at: Loopback
    folder: Path
    mailboxes: Mapping[str, Path]
    link: subprocess.Popen[bytes]
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    relay: subprocess.Popen[bytes] | None = None

    def start_node(self, owner: str) -> None:
        """Start an owner's SuperNode, or start it again."""
        who = f"node-{list(self.mailboxes).index(owner) + 1}"
        command = supernode_command(self.at, owner, self.mailboxes[owner])
        self.nodes[owner] = self.at.start_program(command, who)

    def start_relay(self) -> None:
        """Start the relay, or start it again."""
        command = relay_command(self.at, self.folder)
        self.relay = self.at.start_program(command, "learner", "relay")

    def end_all(self) -> None:
        """End all of it, the SuperLink last: nodes say goodbye to it."""
        running = [*self.nodes.values(), *([self.relay] if self.relay else [])]
        try:
            end_programs(running)
        finally:
            end_programs([self.link])


@contextmanager
def run_federation(
    at: Loopback, folder: Path, mailboxes: Mapping[str, Path]
) -> Iterator[Federation]:
    """Run a federation within the block; nothing of it runs on afterwards."""
    check_extra("flower", "federated", "flwr")
    at.work.mkdir(parents=True, exist_ok=True)
    link = at.start_program(superlink_command(at), "superlink")
    running = Federation(at, folder, mailboxes, link)
    try:
        wait_for_link(at, running.link)
        configure_link(at)
        for owner in mailboxes:
            running.start_node(owner)
        running.start_relay()
        yield running
    finally:
        running.end_all()


def run_over_flower(
    folder: Path,
    mailboxes: Mapping[str, Path],
    work: Path,
    watch: Callable[[], object] = lambda: None,
) -> None:
    """Carry an exchange over Flower on this machine, by open connections, until its model is there.

    The learner's ``dpmarket collect --follow`` works in ``folder`` and each owner's ``dpmarket
    answer --follow`` in its mailbox, both started by the caller; this moves the files between.

    Parameters
    ----------
    folder: the learner's folder, with contract.json.
    mailboxes: owner -> its mailbox, with its own copy of contract.json.
    work: a folder for Flower's own files and logs; made if it is not there.
    watch: is called meanwhile; its exceptions end all.

    Raises
    ------
    InputError
        If Flower is not installed, or a part of it ends before the model is there.
    """
    at = Loopback(work.resolve(), free_port())
    with run_federation(at, folder, mailboxes) as running:
        while running.relay is not None and running.relay.poll() is None:
            watch()
            for owner, node in running.nodes.items():
                if node.poll() is not None:
                    found = f"the node of {owner} ended"
                    raise InputError("flower", "must run to the end", found, f"See {at.work}.")
            time.sleep(0.2)
        if not (folder / MODEL).is_file():
            rule = "must carry the exchange to its end"
            log = at.work / "relay.log"
            raise InputError("flower", rule, "a relay that stopped", f"See {log}.")
