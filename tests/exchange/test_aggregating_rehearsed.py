"""Secure aggregations by the real commands, each party a process: drop-outs, kills, and the total's noise."""

import random
import signal

import numpy as np
import pytest
from aggregations import secure_contract
from exchanges import key_of, records, table
from exchanging import Child
from scipy import stats

from exchange.folder import MODEL, answer_name, query_name
from exchange.learner.exchange_files import read_exchange
from exchange.learner.settling import settle_exchange
from exchange.learner.unmasking import read_total, total_deviations, total_noise, unmask_total
from exchange.messages import read_answer
from learning.canonical import encode_canonical
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import VARIABLE
from learning.privacy.release import bare_answer

pytestmark = pytest.mark.exchange
PLAYS = [
    (3, 1, 0, {}),
    (3, 0, 1, {3: ["Beta"]}),
    (3, 0, 1, {4: ["Alpha"]}),
    (5, 0, 2, {2: ["Beta"], 3: ["Delta"]}),
    (5, 0, 2, {3: ["Alpha", "Epsilon"]}),
    (5, 1, 1, {5: ["Gamma"]}),
]


class Parties:
    """The parties' commands in a folder."""

    def __init__(self, contract, folder):
        self.contract = contract
        self.folder = folder
        self.shared = folder / "shared"
        (folder / "copies").mkdir(parents=True)
        self.shared.mkdir()
        self.agreed = folder / "contract.json"
        self.agreed.write_bytes(contract.raw)
        for party in ("learner", *contract.names):
            content = {"format": "dpmarket key 1", "secret": key_of(party).secret.hex()}
            (folder / f"{party}.key").write_bytes(encode_canonical(content))
            (folder / f"{party}.key").chmod(0o600)
        for name in contract.names:
            (folder / f"{name}.csv").write_text(table(contract, name))
            out = f"--out={folder / name}.accepted"
            assert self.run(name, "accept", "--max-epsilon=9", "--max-delta=0.01", out) == 0

    def run(self, name, command, *words, dies=None):
        """A command of an owner, or of the learner."""
        own = [f"--key={self.folder / name}.key"]
        if name != "learner":
            own += [f"--owner={name}", f"--data={self.folder / name}.csv"]
            own += [f"--ledger={self.folder / name}.ledger"]
        arguments = [command, str(self.agreed), *words, *own]
        copies = self.folder / "copies"
        return Child(arguments, self.folder / f"{name}.txt", copies, dies).wait()

    def play(self, lost, kills):
        """All questions, owners of ``lost`` answering from theirs on no more; some are killed first."""
        gone = set()
        died = 0
        for number in range(1, 6):
            words = [str(self.shared), *["--close"] * bool(gone)]
            assert self.run("learner", "collect", *words) == 0, self.said("learner")
            gone |= set(lost.get(number, ()))
            for name in self.contract.names:
                if name in gone:
                    continue
                ask = str(self.shared / query_name(number))
                if kills is not None and kills.random() < 0.4:
                    dies = kills.randrange(1, 9)
                    died += self.run(name, "answer", ask, dies=dies) == -signal.SIGKILL
                if not (self.shared / answer_name(number, name)).exists():
                    assert self.run(name, "answer", ask) == 0, self.said(name)
        assert self.run("learner", "collect", str(self.shared), *["--close"] * bool(gone)) == 0
        assert (self.shared / MODEL).exists()
        return died

    def said(self, name):
        return (self.folder / f"{name}.txt").read_text()[-2000:]


@pytest.mark.parametrize("given", range(len(PLAYS)))
def test_commands_read_the_total_whoever_drops_out_or_is_killed(given, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "registry"))
    count, colluders, dropouts, lost = PLAYS[given]
    contract = secure_contract(count, colluders, dropouts)
    parties = Parties(contract, tmp_path / "exchange")
    died = parties.play(lost, random.Random(given))
    there = [n for n in contract.names if n not in {*lost.get(2, ()), *lost.get(3, ())}]
    used = []
    for number in range(1, 6):
        paths = {n: parties.shared / answer_name(number, n) for n in contract.names}
        used.append({n: read_answer(p, contract) for n, p in paths.items() if p.exists()})
    assert list(used[2]) == there
    bare = sum(
        bare_answer(*records(contract, name), np.zeros(4), contract.terms(name)) for name in there
    )
    noise = total_noise(contract)
    drawn = (read_total(noise, unmask_total(contract, used)) - bare) * noise.weights
    drawn /= total_deviations(contract, len(there))[0]
    assert stats.kstest(drawn, "norm").pvalue > 1e-4
    assert settle_exchange(read_exchange(parties.shared, contract))["holds"]
    for name in there:
        ledger = LedgerFile(parties.folder / f"{name}.ledger")
        assert ledger.accounts[0].answered == 1, died
    masked = [one for one in (parties.folder / "copies").rglob("round-003*answer*")]
    assert len({one.read_bytes() for one in masked}) <= len(there)  # no answer was drawn twice
