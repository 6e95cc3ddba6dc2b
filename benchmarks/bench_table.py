"""A table on disk: a market on a folder of Parquet files, its seconds and memory, and bare reads.

    python -m benchmarks.bench_table [ROWS]

Seconds of processors and of the clock, each way in a process of its own; a market's with everything
that it imports.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

from benchmarks.measuring import Targets, call_module, peak_memory

ROWS = 20_000_000
FEW_ROWS = 10_000
PART = 1_000_000
NUMBERS = 8
BANKS = 5
TABLE_GIB = 2.0
TIMES_BARE = 3.0
TURNS = 3
MARKET = """
seed = 1
[data]
path = "parts"
target = "y"
owner = "bank"
public_rows = 1000
[owners]
epsilon = [0.01, 1.0]
[owners.cost]
kind = "linear"
price = 1e-5
[policy]
kind = "proportional"
budget = 1000
[learner]
value = 100000
"""


def write_table(folder: Path, n_rows: int, dtype: type = float) -> None:
    """Write Parquet files of a bank's name, numbers and a target, and their scenario."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "parts").mkdir()
    (folder / "market.toml").write_text(MARKET)
    rng = np.random.default_rng(0)
    names = np.array([f"bank {number}" for number in range(BANKS)])
    for part, first in enumerate(range(0, n_rows, PART)):
        x = rng.normal(size=(min(PART, n_rows - first), NUMBERS)).astype(dtype)
        columns = {f"x{number}": column for number, column in enumerate(x.T)}
        y = x @ np.linspace(1, -1, NUMBERS) + rng.normal(size=len(x))
        columns |= {"y": y.astype(dtype)}
        columns |= {"bank": pa.array(names[rng.integers(BANKS, size=len(x))])}
        pq.write_table(pa.table(columns), folder / "parts" / f"{part:03d}.parquet")


def read_batches(folder: str) -> None:
    """Read every cell, and keep nothing."""
    from pyarrow.dataset import dataset

    sum(batch.num_rows for batch in dataset(f"{folder}/parts").to_batches())


def read_whole(folder: str) -> None:
    """Read the table into memory."""
    from pyarrow.dataset import dataset

    dataset(f"{folder}/parts").to_table()


def run_market(folder: str) -> None:
    """Run the market, from its file to its result."""
    from scenarios.runner import run
    from scenarios.schema.loading import load

    run(load(f"{folder}/market.toml"))


WAYS = {"batches": read_batches, "whole": read_whole, "market": run_market}


def measure_way(way: str, folder: str) -> dict[str, float]:
    """Seconds of processor and clock, and peak bytes, of one way; of a market with its imports."""
    clock = perf_counter()
    processor = 0.0 if way == "market" else process_time()
    WAYS[way](folder)
    processor = process_time() - processor
    return {"processor": processor, "clock": perf_counter() - clock, "peak": peak_memory()}


def main(n_rows: int = ROWS) -> int:
    """Print the cost of a market on a table on disk, with bare reads; 1 if a target is missed."""
    with TemporaryDirectory() as large, TemporaryDirectory() as small:
        write_table(Path(large), n_rows)
        write_table(Path(small), FEW_ROWS)
        read_batches(large)  # from here on the files lie in the system's memory, as far as they fit
        ways = {
            "bare read, batch by batch": ("batches", large),
            "bare read into memory": ("whole", large),
            "market, from its file to its result": ("market", large),
            f"the same on {FEW_ROWS:,} rows": ("market", small),
        }
        turns = [
            [call_module("benchmarks.bench_table", "child", *way) for way in ways.values()]
            for _ in range(TURNS)
        ]
    found = [min(one, key=lambda turn: turn["processor"]) for one in zip(*turns, strict=True)]
    targets = Targets()
    print(f"{n_rows:,} rows of {NUMBERS + 2} columns in Parquet, {BANKS} owners, training included")
    for name, one in zip(ways, found, strict=True):
        targets.show(f"{name}: processor", one["processor"])
        targets.show(f"{name}: clock", one["clock"])
        targets.show(f"{name}: peak", one["peak"] / 2**30, "GiB")
    bare, whole, market, few = (one["processor"] for one in found)
    targets.show("market over the bare read", market / bare, "times", most=TIMES_BARE)
    targets.show("market over the read into memory", market / whole, "times")
    targets.show("its rows alone over the bare read", (market - few) / bare, "times")
    targets.show("peak of the market", found[2]["peak"] / 2**30, "GiB", most=TABLE_GIB)
    return targets.report()


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        print(json.dumps(measure_way(*sys.argv[2:4])))
    else:
        sys.exit(main(*map(int, sys.argv[1:2])))
