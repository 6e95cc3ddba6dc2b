"""The ledger on disk: nothing that was spent comes back, whatever is killed, damaged, or done at the same time."""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from learning.errors import InputError
from learning.privacy import sealed as module
from learning.privacy.ledger import Budget, BudgetExceeded, Entry, Ledger
from learning.privacy.ledger_file import LedgerFile

ROOT = Path(__file__).parents[3]
BANK = Budget(
    "bank",
    1 / 3,
    5,
    1e-6,
    "gaussian (zcdp)",
    2,
    "loans 2014",
    100,
    "a person's year",
    bounds="record 0.1",
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "bank.ledger"
    LedgerFile.create(path).open(BANK)
    return path


def test_what_was_spent_stays_spent_when_the_program_starts_again(path):
    """A new Ledger() started afresh."""
    LedgerFile(path).charge(BANK, "first", 2)
    LedgerFile(path).charge(BANK, "second", 3)
    again = LedgerFile(path).open(BANK)
    assert again.budget == BANK and again.answers_remaining == 0
    assert again.entries == (Entry("first", 1, 2), Entry("second", 3, 5))
    with pytest.raises(BudgetExceeded, match=r"bank.ledger: bank has answered 5 of the 5"):
        LedgerFile(path).charge(BANK, "third")
    assert path.stat().st_mode & 0o077 == 0 and sorted(p.name for p in path.parent.iterdir()) == [
        "bank.ledger",
        "bank.ledger.lock",
    ]


def test_two_openings_of_one_file_share_its_budget(path):
    one = LedgerFile(path)
    other = LedgerFile(path)
    one.charge(BANK, "query", 3)
    with pytest.raises(BudgetExceeded):
        other.charge(BANK, "query", 3)
    link = path.with_name("link")
    link.symlink_to(path)
    LedgerFile(link).charge(BANK, "query", 2)
    assert link.is_symlink() and one.account("bank", "loans 2014").remaining == 0


SHIFTED = (
    b'{"budget": {"owner": "a", "epsilon": 1.0, "horizon": 9, "data": "d"}, "lines": [[5, 6]]}'
)
OTHERS = (
    SHIFTED,
    b"{}",
    b"not json",
    b'{"budget": [], "lines": []}',
    b'{"budget": {"owner": 1}, "lines": 2}',
)


@pytest.mark.parametrize("line", OTHERS)
def test_a_whole_ledger_of_other_content_is_refused(path, line):
    body = b"dpmarket ledger 1\n" + line + b"\n"
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode() + b"\n")
    with pytest.raises(InputError, match="must be a ledger of this version; found other content"):
        LedgerFile(path)


@pytest.mark.parametrize("found", ["nothing", "folder", "pipe"])
def test_a_ledger_that_is_not_there_is_not_made(tmp_path, found):
    path = tmp_path / "bank.ledger"
    if found != "nothing":
        (os.mkdir if found == "folder" else os.mkfifo)(path)
        with pytest.raises(InputError, match="must be new"):
            LedgerFile.create(path)
    with pytest.raises(InputError, match="must be a ledger; found no file. LedgerFile.create"):
        LedgerFile(path)
    with pytest.raises(InputError, match='read and written; found the system error "No such file'):
        LedgerFile.create(tmp_path / "nowhere" / "bank.ledger")


def test_a_damaged_ledger_is_refused_and_left_as_it_is(path):
    """Cut off anywhere, with any one bit turned over, or something else altogether: never reset, in one line."""
    ledger = LedgerFile(path)
    ledger.charge(BANK, "query")
    whole = path.read_bytes()
    turned = [
        whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(0, len(whole), 3)
    ]
    cut = [whole[:i] for i in range(0, len(whole), 7)]
    for damaged in (*turned, *cut, b"{}", whole + b"\n", whole * 2, bytes(len(whole))):
        path.write_bytes(damaged)
        with pytest.raises(
            InputError, match="must be a whole ledger; found one that was changed or cut off"
        ) as refused:
            ledger.charge(BANK, "query")
        assert "\n" not in str(refused.value) and path.read_bytes() == damaged
    path.write_bytes(whole)
    ledger.charge(BANK, "query")


def test_a_ledger_deleted_in_use_is_not_made_anew(path):
    ledger = LedgerFile(path)
    path.unlink()
    with pytest.raises(InputError, match="no file"):
        ledger.charge(BANK, "query")
    assert not path.exists()


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_charge_that_was_stopped_is_whole_or_not_there(path, call, stop, monkeypatch):
    """At each call to the system in turn, the stop comes before or after what it does."""
    budget = Budget("long", 1.0, 1000)
    told = 0
    real = getattr(os, call)
    LedgerFile(path).open(budget)
    for number, done in product(range(4), (False, True)):
        calls = count()

        def stopping(*arguments, calls=calls, number=number, done=done, **more):
            if str(arguments[0]).endswith(".lock") or next(calls) != number:
                return real(*arguments, **more)
            if done and call != "open":
                real(*arguments, **more)
            raise stop

        with monkeypatch.context() as patch, suppress(KeyboardInterrupt, InputError):
            patch.setattr(os, call, stopping)
            LedgerFile(path).charge(budget, "query")
            told += 1
        found = LedgerFile(path).account("long").answered
        assert told <= found <= told + 1
        told = found
    assert 0 < told <= 8


def test_who_waits_too_long_is_told(path, monkeypatch):
    monkeypatch.setattr(module, "WAIT", 0.01)
    with (
        module.locked_file(path),
        pytest.raises(InputError, match="locked by another program for 0.01 seconds"),
    ):
        LedgerFile(path).charge(BANK, "query")
    LedgerFile(path).charge(BANK, "query")


def test_only_a_claim_has_an_account_on_disk(path):
    for epsilon in (None, np.inf):
        with pytest.raises(InputError, match="must state a finite budget"):
            LedgerFile(path).open(Budget("b", epsilon, 3))


def test_threads_with_a_file_of_their_own_cannot_overspend(path):
    def work(_):
        try:
            LedgerFile(path).charge(BANK, "query")
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(24))) == 5


KILLS = """
import os, random, signal, sys, time
from learning.privacy.ledger import Budget
from learning.privacy.ledger import BudgetExceeded
from learning.privacy.ledger_file import LedgerFile

path, lots = sys.argv[1], random.Random(7)
budget = Budget("bank", 1.0, 100_000, data="loans")
LedgerFile.create(path).open(budget)

def child(work):
    seen, told = os.pipe()
    one = os.fork()
    if one == 0:
        os.close(seen)
        work(told)
        os._exit(0)
    os.close(told)
    return one, seen

def charging(told):
    while True:
        LedgerFile(path).charge(budget, "query")
        os.write(told, b"1")

before = 0
for _ in range(20):
    one, seen = child(charging)
    answers = len(os.read(seen, 1))  # at work
    time.sleep(lots.random() * 0.006)
    os.kill(one, signal.SIGKILL)
    os.waitpid(one, 0)
    answers += len(os.read(seen, 100_000))
    found = LedgerFile(path).account("bank", "loans").answered
    assert before + answers <= found <= before + answers + 1, (before, answers, found)
    before = found

def racing(told):
    try:
        while True:
            LedgerFile(path).charge(small, "query")
            os.write(told, b"1")
    except BudgetExceeded:
        pass

small = Budget("bank", 1.0, 50, data="cards")
LedgerFile(path).open(small)
races = [child(racing) for _ in range(8)]
for one, _ in races:
    assert os.waitpid(one, 0)[1] == 0
assert sum(len(os.read(seen, 1000)) for _, seen in races) == 50 == LedgerFile(path).account("bank", "cards").answered
print("kept", before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_kills_and_rivals_give_nothing_back(tmp_path):
    """Twenty programs killed while they charge: what one was told is charged is. Eight at once get 50 answers from 50."""
    command = [sys.executable, "-c", KILLS, str(tmp_path / "bank.ledger")]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0 and int(done.stdout.split()[1]) >= 20, done.stderr


BUDGETS = [
    Budget("a", 1.0, 3),
    Budget("a", 1.0, 3, data="cards"),
    Budget("b", 2.0, 5, 1e-6, "gaussian (zcdp)"),
]
OTHERS = [
    Budget("a", 1.0, 4),
    Budget("a ", 1.0, 3),
    Budget("b", 2.0, 5, 0.1, "gaussian (zcdp)"),
    Budget("c", 1.0, 1),
]


class Bookkeeping(RuleBasedStateMachine):
    """A ledger beside a dict of counts; it may be opened anew at any time."""

    ledger: Ledger
    again = staticmethod(lambda ledger: ledger)

    def __init__(self):
        super().__init__()
        self.model = {}

    @rule(budget=st.sampled_from(BUDGETS))
    def open(self, budget):
        self.model.setdefault(budget, 0)
        assert self.ledger.open(budget).answered == self.model[budget]

    @rule(
        budgets=st.lists(st.sampled_from(BUDGETS), min_size=1, max_size=3),
        answers=st.integers(1, 3),
    )
    def charge(self, budgets, answers):
        asked = dict.fromkeys(budgets, 0)
        for one in budgets:
            asked[one] += answers
        try:
            self.ledger.charge_all([(one, answers) for one in budgets], f"query {answers}")
        except BudgetExceeded:
            assert any(self.model[one] + count > one.horizon for one, count in asked.items())
        except InputError:
            assert any(one not in self.model for one in budgets)
        else:
            for one, count in asked.items():
                self.model[one] += count

    @rule(budget=st.sampled_from(OTHERS))
    def charge_another(self, budget):
        with pytest.raises(InputError):
            self.ledger.charge(budget, "query")

    @rule()
    def restart(self):
        self.ledger = self.again(self.ledger)

    @invariant()
    def the_books_agree(self):
        assert {account.budget: account.answered for account in self.ledger.accounts} == self.model
        for account in self.ledger.accounts:
            assert [one.first for one in account.entries[1:]] == [
                one.last + 1 for one in account.entries[:-1]
            ]
            assert (
                account.entries == ()
                or account.entries[-1].last == account.answered <= account.budget.horizon
            )


@pytest.mark.parametrize("kept", [False, True])
def test_a_ledger_agrees_with_a_plain_count(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    made = iter(range(10**6))

    class Machine(Bookkeeping):
        again = staticmethod(
            (lambda ledger: LedgerFile(ledger.path)) if kept else (lambda ledger: ledger)
        )

        def __init__(self):
            super().__init__()
            self.ledger = LedgerFile.create(tmp_path / str(next(made))) if kept else Ledger()

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=10,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_file_can_be_read_by_a_person(path):
    """A line per account with everything its budget rests on."""
    LedgerFile(path).charge(BANK, "query", 2)
    header, line, seal, end = path.read_text().split("\n")
    kept = json.loads(line)
    assert (
        header == "dpmarket ledger 1"
        and len(seal) == 64
        and end == ""
        and kept["lines"] == [["query", 2]]
    )
    assert kept["budget"]["epsilon"] == 1 / 3 and kept["budget"]["bounds"] == "record 0.1"
