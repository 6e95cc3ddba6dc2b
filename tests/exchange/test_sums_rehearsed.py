"""Twenty whole exchanges of sums over a folder, each party a program of its own: noise and models have the simulation's law."""

import random
import signal
from time import monotonic, sleep

import numpy as np
import pytest
from exchanges import SUMS, records, small_contract, table, training
from exchanging import Child
from scipy.stats import chi2, f, gamma, kstest, norm

from exchange.folder import MODEL, answer_name
from exchange.learner.sums_suspicions import sums_sold
from exchange.messages import parse_answer
from exchange.rehearsal.measured import find_secrets, search_wire
from learning.data.owner_data import OwnerData
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import VARIABLE
from learning.privacy.release import bare_answer
from learning.training.engine import train
from scenarios.model_file import from_json

pytestmark = pytest.mark.exchange
EXCHANGES = 20
LATEST = 120.0  # seconds after which a test gives up
OWNERS = [
    {"name": name, "records": n, "epsilon": 3.0, "payment": 5.0, "weight": float(n)}
    for name, n in (("Alpha", 400), ("Beta", 600), ("Gamma", 900))
]


def contract_of(noise):
    return small_contract(1, noise=noise, sums=SUMS, owners=OWNERS)


def play(contract, folder, monkeypatch, kills=0, rng=None):
    """All parties' programs until the model is there; some are killed, by the clock or at a change of the disk."""
    shared = folder / "shared"
    for part in (shared, folder / "copies"):
        part.mkdir(parents=True)
    (folder / "contract.json").write_bytes(contract.raw)
    monkeypatch.setenv(VARIABLE, str(folder / "registry"))
    agreed = str(folder / "contract.json")
    commands = {"learner": ["collect", agreed, str(shared), "--follow", "--every=0.05"]}
    for name in contract.names:
        (folder / f"{name}.csv").write_text(table(contract, name))
        own = [f"--owner={name}", f"--data={folder / name}.csv", f"--ledger={folder / name}.ledger"]
        assert (
            Child(["accept", agreed, *own, "--max-epsilon=4"], folder / f"{name}.txt").wait() == 0
        )
        commands[name] = ["answer", agreed, str(shared), *own, "--follow", "--every=0.05"]

    def start(name, dies=None):
        return Child(commands[name], folder / f"{name}.txt", folder / "copies", dies)

    died = 0
    for _ in range(kills):
        victim = start(name := rng.choice(list(commands)), dies=rng.choice([None, *range(1, 13)]))
        until = monotonic() + rng.uniform(0, 0.4)
        while victim.poll() is None and monotonic() < until:
            sleep(0.005)
        died += victim.poll() in (None, -signal.SIGKILL)
        victim.kill()
    running = {name: start(name) for name in commands}
    until = monotonic() + LATEST
    try:
        while any(child.poll() is None for child in running.values()):
            assert monotonic() < until, [(folder / f"{name}.txt").read_text() for name in commands]
            sleep(0.01)
    finally:
        for child in running.values():
            child.kill()
    assert {child.status for child in running.values()} == {0}
    return died


def answers_of(contract, folder):
    """Each owner's sums, and that its ledger has one charge, for these bytes."""
    made = {}
    for name in contract.names:
        answer = parse_answer(
            (folder / "shared" / answer_name(1, name)).read_bytes(), name, contract
        )
        (account,) = LedgerFile(folder / f"{name}.ledger").accounts
        (entry,) = account.entries
        assert account.answered == 1 and entry.purpose.endswith(answer.digest)
        made[name] = answer.numbers
    return made


@pytest.mark.parametrize("noise", ["gaussian", "l2"])
def test_twenty_exchanges_have_the_law_of_the_simulation(tmp_path, noise, monkeypatch):
    """60 draws of noise on each part, and 20 models against 2,000; sound exchanges fail once in 500 runs.

    Six tests of lengths and six of means at 1e-4, and for each of four parameters one of the mean and
    one of the variance at 1e-4: 2e-3 in all.
    """
    contract = contract_of(noise)
    given = []
    models = []
    for number in range(EXCHANGES):
        play(contract, tmp_path / f"{number}", monkeypatch)
        given.append(answers_of(contract, tmp_path / f"{number}"))
        models.append(from_json(tmp_path / f"{number}" / "shared" / MODEL).model.theta)
    for owner in contract.owners:
        x, y = records(contract, owner.name)
        bare = bare_answer(x, y, np.zeros(4), contract.terms(owner.name))
        drawn = np.array([one[owner.name] for one in given]) - bare
        for part, sold in zip((slice(4), slice(4, 14)), sums_sold(contract), strict=True):
            scale = sold.scales[owner.name][0] * owner.records
            count = drawn[:, part].shape[1]
            lengths = np.linalg.norm(drawn[:, part], axis=1) / scale
            law = gamma(count).cdf if noise == "l2" else lambda r, k=count: chi2(k).cdf(r**2)
            assert kstest(lengths, law).pvalue > 1e-4
            spread = scale * (np.sqrt(count + 1) if noise == "l2" else 1.0) / np.sqrt(EXCHANGES)
            assert np.abs(drawn[:, part].mean(axis=0)).max() < spread * norm.isf(1e-4 / count / 2)
    simulated = train(training(contract, runs=2000)).theta
    models = np.array(models)
    spread = simulated.std(axis=0, ddof=1)
    apart = (models.mean(axis=0) - simulated.mean(axis=0)) / (spread * np.sqrt(1 / 20 + 1 / 2000))
    assert np.abs(apart).max() < norm.isf(1e-4 / 2), apart
    ratio = models.var(axis=0, ddof=1) / spread**2
    if (
        noise == "gaussian"
    ):  # models of l2 noise have longer tails than the test of variances allows
        low, high = f(19, 1999).ppf([5e-5, 1 - 5e-5])
        assert ((ratio > low) & (ratio < high)).all(), ratio


def test_killed_before_and_while_they_answer_nothing_is_lost_or_doubled_or_shown(
    tmp_path, monkeypatch
):
    """Every version of every file that was ever put in place is searched for values of records."""
    contract = contract_of("gaussian")
    rng = random.Random(7)
    kills = 0
    for number in range(4):
        folder = tmp_path / f"{number}"
        kills += play(contract, folder, monkeypatch, kills=6, rng=rng)
        answers_of(contract, folder)
        copies = {path.name: path.read_bytes() for path in (folder / "copies").iterdir()}
        given = [
            raw
            for name, raw in copies.items()
            if name.startswith("round-001.") and "answer" in name
        ]
        assert {parse_answer(raw, "copy", contract).owner for raw in given} == set(contract.names)
        assert len(set(given)) == 3
        shared = {path.name: path.read_bytes() for path in (folder / "shared").iterdir()}
        owners = [OwnerData(name, *records(contract, name)) for name in contract.names]
        tables = {name: folder / f"{name}.csv" for name in contract.names}
        secrets = find_secrets(contract, owners, tables, [], np.zeros((1, 4)))
        assert search_wire(shared | dict(enumerate_names(given)), secrets)["found"] == []
    assert kills > 8


def enumerate_names(given):
    return ((f"copy {number}", raw) for number, raw in enumerate(given))
