"""Parties killed at random moments and started again: one answer a round, no ledger overspent, and the model comes out."""

import random
import signal
from time import monotonic, sleep

import pytest
from exchanges import small_contract, table
from exchanging import Child

from exchange.folder import MODEL, answer_name, query_name
from exchange.messages import parse_answer, read_query
from learning.privacy.ledger_file import LedgerFile
from scenarios.model_file import from_json

pytestmark = pytest.mark.exchange
KILLS = 20
LATEST = 240.0  # seconds after which a test gives up


def exchange(folder, contract):
    """The commands of all parties, by name, once owners have accepted."""
    shared = folder / "shared"
    for part in ("shared", "copies"):
        (folder / part).mkdir()
    (folder / "contract.json").write_bytes(contract.raw)
    agreed = str(folder / "contract.json")
    commands = {"learner": ["collect"]}
    commands["learner"] += [agreed, str(shared), "--follow", "--every=0.05"]
    for name in contract.names:
        (folder / f"{name}.csv").write_text(table(contract, name))
        own = [f"--owner={name}", f"--data={folder / name}.csv", f"--ledger={folder / name}.ledger"]
        assert (
            Child(["accept", agreed, *own, "--max-epsilon=4"], folder / f"{name}.txt").wait() == 0
        )
        commands[name] = ["answer", agreed, str(shared), *own, "--follow", "--every=0.05"]
    return commands


def killed(folder, contract, victims, rng):
    """Carry an exchange out while parties are killed and started again: by the clock, or where they change the disk."""
    commands = exchange(folder, contract)
    kills = 0
    end = monotonic() + LATEST

    def start(name, dies=None):
        return Child(commands[name], folder / f"{name}.txt", folder / "copies", dies)

    running = {name: start(name) for name in commands}
    try:
        while kills < KILLS and not (folder / "shared" / MODEL).exists():
            name = rng.choice(victims)
            running[name].kill()
            running[name] = start(name, dies := rng.choice([None, *range(1, 13)]))
            latest = monotonic() + (
                rng.uniform(0, 0.4) if dies is None else 1.0
            )  # from its start until it waits again
            while running[name].poll() is None and monotonic() < latest:
                sleep(0.005)
            kills += running[name].poll() in (None, -signal.SIGKILL)
            running[name].kill()
            running[name] = start(name)
        while any(child.poll() is None for child in running.values()):
            assert monotonic() < end, {
                name: (folder / f"{name}.txt").read_text()[-300:] for name in commands
            }
            sleep(0.02)
    finally:
        for child in running.values():
            child.kill()
    assert {child.status for child in running.values()} == {0}
    return kills


def answers_that_appeared(folder, contract):
    """Every answer that was ever put in place anywhere: owner and round -> different bytes."""
    appeared = {}
    for path in (folder / "copies").glob("round-*.answer.json.*"):
        answer = parse_answer(raw := path.read_bytes(), str(path), contract)
        appeared.setdefault((answer.owner, answer.round), set()).add(raw)
    return appeared


@pytest.mark.parametrize("side", ["owners", "learner", "all"])
def test_killed_at_twenty_random_moments_nobody_answers_twice_and_the_model_comes_out(
    tmp_path, side
):
    contract = small_contract(30)
    rounds = 30
    victims = {
        "owners": contract.names,
        "learner": ["learner"],
        "all": ["learner", *contract.names],
    }[side]
    assert killed(tmp_path, contract, list(victims), random.Random(side)) == KILLS
    appeared = answers_that_appeared(tmp_path, contract)
    assert set(appeared) == {(name, k) for name in contract.names for k in range(1, rounds + 1)}
    assert {len(versions) for versions in appeared.values()} == {1}
    for name in contract.names:
        (account,) = LedgerFile(tmp_path / f"{name}.ledger").accounts
        assert (account.answered, account.budget.epsilon) == (rounds, contract.owner(name).epsilon)
        for k, entry in enumerate(account.entries, 1):
            (raw,) = appeared[name, k]
            query = read_query(tmp_path / "shared" / query_name(k), contract)
            answer = parse_answer(raw, "", contract)
            assert (tmp_path / "shared" / answer_name(k, name)).read_bytes() == raw
            assert answer.query == query.digest
            assert entry.purpose.endswith(answer.digest)
    assert len(from_json(tmp_path / "shared" / MODEL).model.theta) == len(contract.bounds.start)
