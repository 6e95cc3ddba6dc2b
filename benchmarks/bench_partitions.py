"""A table shared out: owners' sums by two Dask workers, their seconds and memory, and bare reads.

    python -m benchmarks.bench_partitions [ROWS]

Seconds of all processes, and by the clock: of a bare read of every cell by the same workers; of the
owners' sums, with all that is read for them; and of the same in one process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.bench_table import NUMBERS, write_table
from benchmarks.measuring import call_module, peak_memory, report_targets
from learning.workers import share_out
from scenarios.tables.parts import open_parts

ROWS = 10_000_000
WORKERS = 2
TIMES_BARE = 4.0
WORKER_GIB = 1.0
SAME = 1e-12


class Timed:
    """Seconds of this process and of the clock, from now on."""

    def __init__(self) -> None:
        self.began = process_time(), perf_counter()

    def took(self) -> dict[str, float]:
        """Seconds until now."""
        processor, clock = self.began
        return {"processor": process_time() - processor, "clock": perf_counter() - clock}


@contextmanager
def two_workers() -> Iterator[Any]:
    """Start Dask workers, each a process of one thread, and yield their client."""
    from distributed import Client, LocalCluster

    asked = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=WORKERS, **asked) as cluster, Client(cluster) as client:
        client.run(load_reader)
        yield client


def load_reader() -> None:
    """Import what a worker reads with, so that no measurement counts it."""
    import scenarios.tables.away  # noqa: F401


def read_partition(partition: Any, written: dict[str, str]) -> int:
    """Read every cell of a partition, and keep nothing."""
    return sum(batch.num_rows for _, batch in partition.read_batches(list(written.values())))


def sum_table(folder: str, address: str) -> dict[str, Any]:
    """Sum up the owners' records in the learner's coordinates; forecasting does not count."""
    from learning.forecast.choice import make_planner
    from scenarios.planning import planning_inputs
    from scenarios.schema.loading import load
    from scenarios.tables.dataset import market_data

    changes = [f"data.workers={address}"] if address else []
    scenario = load(f"{folder}/market.toml", changes)
    whole = Timed()
    data = market_data(scenario)
    between = Timed()
    planner = make_planner(planning_inputs(scenario, data))
    forecast = between.took()
    data.pooled.expect(planner.coordinates)
    took = {name: one - forecast[name] for name, one in whole.took().items()}
    sums = [{"xx": one.xx.tolist()} for one in data.pooled.oracles(planner.coordinates)]
    return took | {"peak": peak_memory(), "sums": sums}


def read_table(folder: str, address: str) -> dict[str, Any]:
    """Read every cell by the workers."""
    table = open_parts(Path(folder) / "parts")
    began = Timed()
    read = share_out(address, partial(read_partition, written=table.written), table.partitions)
    assert sum(read) == table.n_rows
    return began.took()


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
    with TemporaryDirectory() as folder, two_workers() as client:
        write_table(Path(folder), n_rows, np.float32)

        def measure(way: str, address: str) -> dict[str, Any]:
            before = sum(client.run(process_time).values())
            found = call_module("benchmarks.bench_partitions", "child", way, folder, address)
            found["processor"] += sum(client.run(process_time).values()) - before
            return found

        address = client.scheduler.address
        measure("read", address)  # from here on the files lie in the system's memory
        bare = measure("read", address)
        shared = measure("sum", address)
        peak = max(client.run(peak_memory).values()) / 2**30
        alone = measure("sum", "")
    heads = f"{'processor s':>12}{'clock s':>10}{'peak GiB here':>15}"
    print(f"partitions: {n_rows:,} rows of {NUMBERS + 2} columns, {WORKERS} Dask workers")
    print(f"  {'':<30}{heads}")
    ways = {"bare read by the workers": bare, "sums by the workers": shared}
    for name, one in (ways | {"sums in one process": alone}).items():
        held = one.get("peak", 0.0) / 2**30
        print(f"  {name:<30}{one['processor']:>12.2f}{one['clock']:>10.2f}{held:>15.2f}")
    times = shared["processor"] / bare["processor"]
    apart = largest_difference(shared["sums"], alone["sums"])
    print(f"  {times:.1f} times the bare read, asked at most {TIMES_BARE:.0f}")
    print(f"  {peak:.2f} GiB in a worker, asked under {WORKER_GIB:.0f}")
    print(f"  sums differ by {apart:.0e} of themselves, asked at most {SAME:.0e}")
    return report_targets(times > TIMES_BARE or peak > WORKER_GIB or apart > SAME)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        ways = {"read": read_table, "sum": sum_table}
        print(json.dumps(ways[sys.argv[2]](*sys.argv[3:5])))
    else:
        sys.exit(main(*map(int, sys.argv[1:2])))
