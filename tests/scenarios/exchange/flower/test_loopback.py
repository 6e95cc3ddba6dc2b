"""Real programs of Flower on loopback: a SuperLink, three SuperNodes; a node is killed, connections are encrypted."""

import os
import signal
from dataclasses import replace

import pytest

pytest.importorskip("flwr", reason="Flower is not installed: the extra federated brings it (make federated)")

from federated import Parties, made_keys, tools  # noqa: E402

from scenarios.exchange.flower.loopback import Loopback, end, federation, free_port, run_over_flower, start, supernode  # noqa: E402
from scenarios.exchange.flower.relay import Settings  # noqa: E402
from scenarios.exchange.folder import MODEL, query_name  # noqa: E402

pytestmark = pytest.mark.federated
QUICK = Settings(wait=5.0, rest=2.0, farewell=60.0)
PATIENCE = 240.0  # seconds


def test_three_owners_over_open_connections(tmp_path):
    parties = Parties(tmp_path)
    with parties.at_work():
        run_over_flower(parties.folder, parties.boxes, tmp_path / "flower", settings=QUICK)
    parties.answered()
    assert all((box / MODEL).read_bytes() == (parties.folder / MODEL).read_bytes() for box in parties.boxes.values())


@pytest.mark.skipif(not tools(), reason="needs openssl and ssh-keygen")
def test_over_tls_with_node_keys_a_killed_node_comes_back_and_nobody_answers_twice(tmp_path):
    parties = Parties(tmp_path)
    parties.away.add("Beta")
    at = Loopback(tmp_path / "flower", free_port(), made_keys(tmp_path / "keys", parties.names), QUICK)
    with parties.at_work(), federation(at, parties.folder, parties.boxes) as running:
        parties.wait((parties.boxes["Beta"] / query_name(1)).exists, PATIENCE)
        node = running.nodes["Beta"]
        os.killpg(node.pid, signal.SIGKILL)  # with the question in hand
        node.wait()
        parties.away.clear()
        log = at.work / "relay.log"
        parties.wait(lambda: "the node of Beta is gone" in log.read_text(), PATIENCE)  # until then it is refused
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
    with federation(at, parties.folder, {"Alpha": parties.boxes["Alpha"]}) as running:
        programs = {}
        for what, stranger in strangers.items():
            command = [*supernode(stranger, "Beta", parties.boxes["Beta"]), "--max-retries", "2"]
            programs[what] = start(command, at.work / f"{what}.log", at.environment(what))
        try:
            parties.wait(lambda: all(program.poll() is not None for program in programs.values()), PATIENCE)
        finally:
            end(list(programs.values()))
        known = at.work / "node-1.log"
        parties.wait(lambda: "SuperNode ID" in known.read_text(), PATIENCE)
        assert running.nodes["Alpha"].poll() is None
    for what, program in programs.items():
        assert program.returncode != 0 and "SuperNode ID" not in (at.work / f"{what}.log").read_text(), what
