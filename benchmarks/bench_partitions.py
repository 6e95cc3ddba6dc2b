"""A table shared out: owners' sums by two Dask workers, their seconds and memory, and bare reads.

    python -m benchmarks.bench_partitions [ROWS]

Seconds of all processes, and by the clock: of a bare read of every cell by the same workers; of the
owners' sums, with all that is read for them; and of the same in one process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.bench_table import NUMBERS, write_table
from benchmarks.measuring import Targets, call_module, peak_memory
from learning.workers import find_client, keep_workers, share_out
from scenarios.tables.parts import open_parts

ROWS = 10_000_000
WORKERS = 2
TIMES_ALONE = 2.5
PEAK_GIB = 1.0  # in a worker, and in the command
SAME = 1e-12


class Timed:
    """Seconds of this process and its workers, and of the clock, from now on."""

    def __init__(self, workers: int | None) -> None:
        self.workers = workers
        self.began = self._now()

    def took(self) -> dict[str, float]:
        """Seconds until now."""
        processor, clock = self._now()
        return {"processor": processor - self.began[0], "clock": clock - self.began[1]}

    def _now(self) -> tuple[float, float]:
        worked = sum(on_workers(self.workers, process_time))
        return process_time() + worked, perf_counter()


def on_workers(workers: int | None, asked: Callable[[], Any]) -> list[Any]:
    """What each worker answers."""
    return [] if workers is None else list(find_client(workers).run(asked).values())


def load_reader() -> None:
    """Import what a worker reads with, so that no measurement counts it."""
    import scenarios.tables.away  # noqa: F401


def read_partition(partition: Any, written: dict[str, str]) -> int:
    """Read every cell of a partition, and keep nothing."""
    return sum(batch.num_rows for _, batch in partition.read_batches(list(written.values())))


def read_table(folder: str, workers: int) -> dict[str, float]:
    """Read every cell by the workers."""
    table = open_parts(Path(folder) / "parts")
    began = Timed(workers)
    read = share_out(workers, partial(read_partition, written=table.written), table.partitions)
    assert sum(read) == table.n_rows
    return began.took()


def sum_table(folder: str, workers: int | None) -> dict[str, Any]:
    """Sum up the owners' records in the learner's coordinates; forecasting does not count."""
    from learning.forecast.choice import make_planner
    from scenarios.planning import planning_inputs
    from scenarios.schema.loading import load
    from scenarios.tables.dataset import market_data

    changes = [] if workers is None else [f"data.workers={workers}"]
    scenario = load(f"{folder}/market.toml", changes)
    whole = Timed(workers)
    data = market_data(scenario)
    between = Timed(workers)
    planner = make_planner(planning_inputs(scenario, data))
    forecast = between.took()
    data.pooled.expect(planner.coordinates)
    took = {name: one - forecast[name] for name, one in whole.took().items()}
    sums = [{"xx": one.xx.tolist()} for one in data.pooled.oracles(planner.coordinates)]
    held = max(on_workers(workers, peak_memory), default=0)
    return took | {"peak": peak_memory(), "worker": held, "sums": sums}


def measure(folder: str, workers: int | None = None) -> dict[str, Any]:
    """Sums of a table, after bare reads by the workers if there are any."""
    with keep_workers():
        found: dict[str, Any] = {}
        if workers is not None:
            on_workers(workers, load_reader)
            read_table(folder, workers)  # from here on the files lie in the system's memory
            found["bare"] = read_table(folder, workers)
        return found | {"sum": sum_table(folder, workers)}


def largest_difference(ones: list[Any], others: list[Any]) -> float:
    """Largest difference of sums xx', as a part of the lengths of the two columns."""
    found = []
    for one, other in zip(ones, others, strict=True):
        xx = np.array(one["xx"])
        lengths = np.sqrt(np.diag(xx))
        found.append(np.max(np.abs(xx - other["xx"]) / np.outer(lengths, lengths)))
    return float(max(found))


def main(n_rows: int = ROWS) -> int:
    """Print the cost of owners' sums by two workers, with bare reads; 1 if a target is missed."""
    with TemporaryDirectory() as folder:
        write_table(Path(folder), n_rows, np.float32)
        ways = [folder, str(WORKERS)], [folder]
        shared, alone = (call_module("benchmarks.bench_partitions", "child", *way) for way in ways)
    targets = Targets()
    print(f"{n_rows:,} rows of {NUMBERS + 2} columns in partitions, {WORKERS} Dask workers")
    bare = shared["bare"]
    one, other = shared["sum"], alone["sum"]
    named = {"bare read by the workers": bare, "sums by the workers": one, "sums without": other}
    for name, found in named.items():
        targets.show(f"{name}: processor", found["processor"])
        targets.show(f"{name}: clock", found["clock"])
    targets.show("sums over the bare read", one["processor"] / bare["processor"], "times")
    times = one["processor"] / other["processor"]
    targets.show("sums by the workers over those without", times, "times", most=TIMES_ALONE)
    for name, peak in (("a worker", one["worker"]), ("the command", one["peak"])):
        targets.show(f"peak of {name}", peak / 2**30, "GiB", most=PEAK_GIB)
    apart = largest_difference(one["sums"], other["sums"])
    targets.show("relative difference of the sums", apart, "", most=SAME)
    return targets.report()


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        print(json.dumps(measure(sys.argv[2], *map(int, sys.argv[3:4]))))
    else:
        sys.exit(main(*map(int, sys.argv[1:2])))
