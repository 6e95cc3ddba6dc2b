"""Flower on one machine: a SuperLink, a SuperNode for each owner, the relay between them; all ended whatever happens."""

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

from learning.errors import InputError, check_extra
from scenarios.exchange.flower.app import write_app
from scenarios.exchange.flower.relay import Settings
from scenarios.exchange.folder import MODEL

HOST, CONNECTION = "127.0.0.1", "exchange"
PROGRAMS = Path(sys.executable).parent
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True)
class Keys:
    """What makes connections safe: files as on the page `docs/how_to/exchange_over_flower.md`.

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
    port: of the learner's SuperLink.
    keys: as above; None: connections are open to whoever is on this machine.
    settings: of the relay.
    """

    work: Path
    port: int
    keys: Keys | None = None
    settings: Settings = field(default_factory=Settings)

    @property
    def address(self) -> str:
        """Of the SuperLink."""
        return f"{HOST}:{self.port}"

    def environment(self, who: str) -> dict[str, str]:
        """A Flower home of its own for each party; Flower starts its programs by their names."""
        path = os.pathsep.join([str(PROGRAMS), os.environ.get("PATH", "")])
        return {**os.environ, **QUIET, "PATH": path, "FLWR_HOME": str(self.work / who)}


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def start(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program in a group of its own, with all that it starts; what it says goes into a log."""
    with open(log, "ab") as lines:
        return subprocess.Popen(
            command, stdout=lines, stderr=lines, stdin=subprocess.DEVNULL, env=dict(environment), start_new_session=True
        )


def end(programs: Sequence[subprocess.Popen[bytes]], patience: float = 5.0) -> None:
    """End programs and whatever they started: asked first, all at once, then made to; a second Ctrl-C makes them at once."""
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


def superlink(at: Loopback) -> list[str]:
    """The command of the learner's SuperLink."""
    command = ["flower-superlink", "--host", HOST, "--port", str(at.port), "--disable-runtime-dependency-installation"]
    if at.keys is None:
        return [*command, "--insecure"]
    files = {
        "--ssl-ca-certfile": at.keys.authority,
        "--ssl-certfile": at.keys.certificate,
        "--ssl-keyfile": at.keys.key,
    }
    return [*command, *(str(part) for pair in files.items() for part in pair), "--enable-supernode-auth"]


def supernode(at: Loopback, owner: str, mailbox: Path) -> list[str]:
    """The command of an owner's SuperNode."""
    settings = f"owner={_quoted(owner)} mailbox={_quoted(str(mailbox.resolve()))}"
    command = ["flower-supernode", "--superlink", at.address, "--host", HOST, "--port", str(free_port())]
    command += ["--node-config", settings]
    if at.keys is None:
        return [*command, "--insecure"]
    return [
        *command,
        *("--root-certificates", str(at.keys.authority), "--auth-supernode-private-key", str(at.keys.nodes[owner])),
    ]


def _quoted(text: str) -> str:
    """A text as Flower's settings take it; an InputError if they cannot."""
    if set(text) & set('"\\\n'):
        raise InputError("owner", "may have no \" or backslash in its name or its folder's", repr(text))
    return f'"{text}"'


def relay_command(at: Loopback, folder: Path) -> list[str]:
    """The command that starts the relay; it needs `connected`."""
    app, settings = write_app(at.work / "relay"), at.settings
    given = {"folder": _quoted(str(folder.resolve()))}
    given |= {key: str(float(value)) for key, value in vars(settings).items()}
    said = " ".join(f"{key}={value}" for key, value in given.items())
    return ["flwr", "run", str(app), CONNECTION, "--stream", "--run-config", said]


def connected(at: Loopback) -> None:
    """Tell the learner's ``flwr`` where its SuperLink is, and register the owners' nodes where they have keys."""
    home = at.work / "learner"
    home.mkdir(parents=True, exist_ok=True)
    safety = "insecure = true" if at.keys is None else f'root-certificates = "{at.keys.authority.resolve()}"'
    text = f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\naddress = "{at.address}"\n{safety}\n'
    (home / "config.toml").write_text(text, encoding="utf-8")
    for owner, key in (at.keys.nodes if at.keys else {}).items():
        command = ["flwr", "supernode", "register", f"{key}.pub", CONNECTION, "--name", owner]
        done = subprocess.run(command, env=at.environment("learner"), capture_output=True, text=True)
        if done.returncode:
            raise InputError(str(key), "must be a node's key that the SuperLink takes", done.stderr[-200:])


def listening(at: Loopback, program: subprocess.Popen[bytes], seconds: float = 60.0) -> None:
    """Wait until the SuperLink takes connections; an InputError if it does not come up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and program.poll() is None:
        with suppress(OSError), socket.create_connection((HOST, at.port), 1.0):
            return
        time.sleep(0.2)
    raise InputError("flower", "must start", "no SuperLink", f"See {at.work / 'superlink.log'}.")


@dataclass
class Federation:
    """Programs that run: the SuperLink, the SuperNode of each owner, the relay."""

    at: Loopback
    folder: Path
    mailboxes: Mapping[str, Path]
    link: subprocess.Popen[bytes]
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    relay: subprocess.Popen[bytes] | None = None

    def start_node(self, owner: str) -> None:
        """Start an owner's SuperNode, or start it again."""
        who = f"node-{list(self.mailboxes).index(owner) + 1}"
        command = supernode(self.at, owner, self.mailboxes[owner])
        self.nodes[owner] = start(command, self.at.work / f"{who}.log", self.at.environment(who))

    def start_relay(self) -> subprocess.Popen[bytes]:
        """Start the relay, or start it again."""
        command = relay_command(self.at, self.folder)
        self.relay = start(command, self.at.work / "relay.log", self.at.environment("learner"))
        return self.relay

    def end(self) -> None:
        """End all of it, the SuperLink last: nodes say goodbye to it."""
        running = [*self.nodes.values(), *([self.relay] if self.relay else [])]
        try:
            end(running)
        finally:
            end([self.link])


@contextmanager
def federation(at: Loopback, folder: Path, mailboxes: Mapping[str, Path]) -> Iterator[Federation]:
    """A federation that runs within the block, and that nothing is left of afterwards."""
    check_extra("flower", "federated", "flwr")
    at.work.mkdir(parents=True, exist_ok=True)
    running = Federation(
        at, folder, mailboxes, start(superlink(at), at.work / "superlink.log", at.environment("superlink"))
    )
    try:
        listening(at, running.link)
        connected(at)
        for owner in mailboxes:
            running.start_node(owner)
        running.start_relay()
        yield running
    finally:
        running.end()


def run_over_flower(
    folder: Path,
    mailboxes: Mapping[str, Path],
    work: Path,
    watch: Callable[[], object] = lambda: None,
) -> None:
    """Carry an exchange over Flower on this machine, by open connections, until its model is there.

    The learner's ``dpmarket collect --follow`` works in ``folder`` and each owner's ``dpmarket answer --follow`` in its
    mailbox, both started by the caller; this moves the files between.

    Parameters
    ----------
    folder: the learner's folder, with contract.json.
    mailboxes: owner -> its mailbox, with its own copy of contract.json.
    work: a folder for Flower's own files and logs; made if it is not there.
    watch: is called meanwhile; what it raises ends all.

    Raises
    ------
    InputError
        If Flower is not installed, or a part of it ends before the model is there.
    """
    at = Loopback(work.resolve(), free_port())
    with federation(at, folder, mailboxes) as running:
        while running.relay is not None and running.relay.poll() is None:
            watch()
            for owner, node in running.nodes.items():
                if node.poll() is not None:
                    raise InputError("flower", "must run to the end", f"the node of {owner} ended", f"See {at.work}.")
            time.sleep(0.2)
        if not (folder / MODEL).is_file():
            log = at.work / "relay.log"
            raise InputError("flower", "must carry the exchange to its end", "a relay that ended", f"See {log}.")
