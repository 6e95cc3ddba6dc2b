"""Tasks shared out: results come in the order of the tasks, whatever workers do and whichever of them die; what goes wrong is told in one line."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from shared_out import two_threads

from learning import workers
from learning.errors import InputError
from learning.workers import keep_workers, share_out

ROOT = Path(__file__).resolve().parents[2]


def square_late(number):
    """Later tasks are done first."""
    time.sleep(0.02 * (number % 3 == 0))
    return number**2


def fail_at(place, number):
    if number == place:
        raise InputError("data.path", "must be whole", number)
    return number


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def address():
    with two_threads() as found:
        yield found


def test_results_come_in_the_order_of_the_tasks(address):
    drawn = []
    tasks = (drawn.append(number) or number for number in range(20))
    results = share_out(address, square_late, tasks)
    assert next(results) == 0 and len(drawn) < 8  # a few at a time, that memory is bounded
    assert [0, *results] == [number**2 for number in range(20)]


def test_nothing_is_done_that_nobody_asks_for(address):
    results = share_out(address, square_late, range(1000))
    assert next(results) == 0
    results.close()
    assert not workers._clients and not workers._open


def test_workers_are_kept_for_all_work_within(address, monkeypatch):
    begun = []
    real = workers.connect
    monkeypatch.setattr(workers, "connect", lambda *asked: begun.append(asked) or real(*asked))
    with keep_workers():
        for _ in range(3):
            assert list(share_out(address, square_late, [2])) == [4]
        assert len(workers._clients) == 1
    assert len(begun) == 1 and not workers._clients


def test_a_task_may_take_longer_than_the_patience_with_workers(address, monkeypatch):
    with keep_workers():
        assert list(share_out(address, square_late, [1])) == [1]  # connected by now
        monkeypatch.setattr(workers, "PATIENCE", 0.0001)  # it ends in the midst of transfers too
        assert list(share_out(address, square_late, range(40))) == [k**2 for k in range(40)]


def run_into_a_timeout(number):
    raise TimeoutError(f"the disk of task {number}")


def test_a_timeout_of_a_task_is_its_own(address):
    with pytest.raises(TimeoutError, match="the disk of task 1"):
        list(share_out(address, run_into_a_timeout, [1]))


def test_an_error_of_a_task_is_that_of_its_input(address):
    said = refused(lambda: list(share_out(address, partial(fail_at, 3), range(9))))
    assert said == "data.path: must be whole; found 3."


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("nowhere", "data.workers: must be the address of a running Dask scheduler; found nowhere"),
        ("tcp://127.0.0.1:1", "found tcp://127.0.0.1:1: "),
    ],
)
def test_an_address_without_a_scheduler_is_told(monkeypatch, asked, words):
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    assert words in refused(lambda: list(share_out(asked, square_late, [1])))


def test_a_scheduler_without_workers_is_told(monkeypatch):
    distributed = pytest.importorskip("distributed")
    ports = {"protocol": "tcp://", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=0, processes=False, **ports) as cluster:
        said = refused(lambda: list(share_out(cluster.scheduler_address, square_late, [1])))
    assert "data.workers: must have workers; found none at" in said


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setattr("learning.extras.find_spec", lambda module: None)
    for asked in (2, "tcp://127.0.0.1:1"):
        said = refused(lambda asked=asked: list(share_out(asked, square_late, [1])))
        assert (
            said
            == 'data.workers: needs the extra cluster; found no distributed. Install it, in the checkout: pip install ".[cluster]".'
        )


def test_a_process_of_another_one_starts_no_workers(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("multiprocessing.parent_process", lambda: object())
    said = refused(lambda: list(share_out(2, square_late, [1])))
    assert "may be a number in a program's first process only" in said


def test_workers_that_are_gone_before_the_end_are_told(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    ports = {"protocol": "tcp://", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=1, processes=False, **ports) as cluster:
        results = share_out(cluster.scheduler_address, square_late, range(1000))
        assert next(results) == 0
        cluster.scale(0)
        said = refused(lambda: list(results))
    assert "data.workers: must run until their work is done; found workers that were ended" in said


def test_a_worker_that_cannot_be_joined_does_not_replace_the_error(monkeypatch):
    class Cluster:
        def close(self):
            raise AssertionError("can only join a started process")

    def work(task):
        raise InputError("key", "must be so", task, "Do so.")

    def start(count):
        workers._held.callback(workers._close, Cluster())
        return None

    monkeypatch.setattr(workers, "_start", start)
    with pytest.raises(InputError, match="must be so"), workers.keep_workers():
        workers.find_client(1)
        work("not so")


PROCESSES = """
import os, signal, sys
from functools import partial
from learning.errors import InputError
from learning.workers import keep_workers, share_out

def work(folder, number):
    place = os.path.join(folder, str(number))
    if number in (1, 4) and (always or not os.path.exists(place)):
        open(place, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return number, os.getpid()

always = len(sys.argv) > 2
if __name__ == "__main__":
    always = len(sys.argv) > 2
    try:
        with keep_workers():
            done = list(share_out(2, partial(work, sys.argv[1]), range(6)))
        print([number for number, _ in done], len({pid for _, pid in done} - {os.getpid()}) >= 2)
    except InputError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills by signals")
@pytest.mark.parametrize(
    ("always", "words"),
    [
        ([], "[0, 1, 2, 3, 4, 5] True"),
        pytest.param(
            ["always"],
            "data.workers: must run until their work is done; found workers that were ended. ",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_a_killed_process_costs_its_task_again_and_no_more(tmp_path, always, words):
    pytest.importorskip("distributed")
    script = tmp_path / "script.py"
    script.write_text(PROCESSES)
    done = subprocess.run(
        [sys.executable, script, str(tmp_path), *always],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert words in done.stdout
    assert (
        "learning" not in done.stderr
    )  # Dask may log what it lost, and this program says one line
