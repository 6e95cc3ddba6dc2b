"""Real programs of Flower on loopback: a SuperLink, three SuperNodes; a node is killed, connections are encrypted."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip(
    "flwr", reason="Flower is not installed: the extra federated brings it (make federated)"
)

from federated import Parties, made_keys, tools  # noqa: E402

from exchange.flower.loopback import (
    Loopback,
    end_programs,
    free_port,
    run_federation,
    start_program,
    supernode_command,
)  # noqa: E402
from exchange.flower.relay import Settings  # noqa: E402
from exchange.folder import MODEL, query_name  # noqa: E402

pytestmark = pytest.mark.federated
QUICK = Settings(wait=5.0, rest=2.0, farewell=60.0)
PATIENCE = 240.0  # seconds


def test_three_insurers_over_open_connections_each_party_a_program_of_its_own(tmp_path):
    command = [
        sys.executable,
        "-P",
        "-m",
        "scenarios.command.main",
        "exchange",
        "three_insurers",
        "--set",
        "learning.algorithm=averaged",  # which asks once
        "--flower",
    ]
    done = subprocess.run(
        [*command, "--out", tmp_path / "out"], capture_output=True, text=True, timeout=2 * PATIENCE
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out" / "rehearsal.json").read_text())
    boxes = sorted((tmp_path / "out" / "mailboxes").iterdir())
    model = (tmp_path / "out" / "shared" / MODEL).read_bytes()
    assert len(boxes) == 3 and all((box / MODEL).read_bytes() == model for box in boxes)
    assert all(len(list(box.glob("*.answer.json"))) == 1 for box in boxes)  # nobody sees another's
    (exchange,) = told["exchanges"]
    assert exchange["wire"]["found"] == [] and 0 < exchange["relative_fitness"] < 0.5


@pytest.mark.skipif(not tools(), reason="needs openssl and ssh-keygen")
def test_over_tls_with_node_keys_a_killed_node_comes_back_and_nobody_answers_twice(tmp_path):
    parties = Parties(tmp_path)
    parties.away.add("Beta")
    at = Loopback(
        tmp_path / "flower", free_port(), made_keys(tmp_path / "keys", parties.names), QUICK
    )
    with parties.at_work(), run_federation(at, parties.folder, parties.boxes) as running:
        parties.wait((parties.boxes["Beta"] / query_name(1)).exists, PATIENCE)
        node = running.nodes["Beta"]
        os.killpg(node.pid, signal.SIGKILL)  # with the question in hand
        node.wait()
        parties.away.clear()
        log = at.work / "relay.log"
        parties.wait(
            lambda: "the node of Beta is gone" in log.read_text(), PATIENCE
        )  # until then it is refused
        running.start_node("Beta")
        parties.wait((parties.folder / MODEL).exists, PATIENCE)
        running.relay.wait(PATIENCE)
    parties.answered()
    assert "question 2: Beta has answered" in log.read_text()


@pytest.mark.skipif(not tools(), reason="needs openssl and ssh-keygen")
def test_a_node_without_a_registered_key_or_with_another_authority_is_refused(tmp_path):
    parties = Parties(tmp_path)
    keys, others = (made_keys(tmp_path / name, parties.names) for name in ("keys", "others"))
    at = Loopback(tmp_path / "flower", free_port(), keys, QUICK)
    strangers = {
        "an unknown key": replace(at, keys=replace(keys, nodes=others.nodes)),
        "another authority": replace(at, keys=replace(keys, authority=others.authority)),
        "no encryption": replace(at, keys=None),
    }
    with run_federation(at, parties.folder, {"Alpha": parties.boxes["Alpha"]}) as running:
        programs = {}
        for what, stranger in strangers.items():
            command = [
                *supernode_command(stranger, "Beta", parties.boxes["Beta"]),
                "--max-retries",
                "2",
            ]
            programs[what] = start_program(
                command, at.work / f"{what}.log", at.party_environment(what)
            )
        try:
            parties.wait(
                lambda: all(program.poll() is not None for program in programs.values()), PATIENCE
            )
        finally:
            end_programs(list(programs.values()))
        known = at.work / "node-1.log"
        parties.wait(lambda: "SuperNode ID" in known.read_text(), PATIENCE)
        assert running.nodes["Alpha"].poll() is None
    for what, program in programs.items():
        assert (
            program.returncode != 0 and "SuperNode ID" not in (at.work / f"{what}.log").read_text()
        ), what
