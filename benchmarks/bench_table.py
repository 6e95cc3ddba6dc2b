"""A table that is never held: a market on a folder of Parquet files, its seconds and memory beside bare reads.

    python -m benchmarks.bench_table [ROWS]

Seconds of processors and of the clock, each way in a process of its own; a market's with everything that it imports.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

from benchmarks.child import in_a_process, peak

ROWS, FEW_ROWS, PART, NUMBERS, BANKS = 20_000_000, 10_000, 1_000_000, 8, 5
TABLE_GIB, TIMES_BARE, TURNS = 2.0, 3.0, 3
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


def write_table(folder: Path, n_rows: int) -> None:
    """Parquet files of a bank's name, `NUMBERS` numbers and a target, and a scenario beside them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "parts").mkdir()
    (folder / "market.toml").write_text(MARKET)
    rng, names = np.random.default_rng(0), np.array([f"bank {number}" for number in range(BANKS)])
    for part, first in enumerate(range(0, n_rows, PART)):
        x = rng.normal(size=(min(PART, n_rows - first), NUMBERS))
        columns = {f"x{number}": column for number, column in enumerate(x.T)}
        columns |= {"y": x @ np.linspace(1, -1, NUMBERS) + rng.normal(size=len(x))}
        columns |= {"bank": pa.array(names[rng.integers(BANKS, size=len(x))])}
        pq.write_table(pa.table(columns), folder / "parts" / f"{part:03d}.parquet")


def read_batches(folder: str) -> None:
    """The bare read: every cell decoded, nothing kept."""
    from pyarrow.dataset import dataset

    sum(batch.num_rows for batch in dataset(f"{folder}/parts").to_batches())


def read_whole(folder: str) -> None:
    """The bare read into memory."""
    from pyarrow.dataset import dataset

    dataset(f"{folder}/parts").to_table()


def run_market(folder: str) -> None:
    """The market, from its file to its result."""
    from scenarios.runner import run
    from scenarios.schema.loading import load

    run(load(f"{folder}/market.toml"))


WAYS = {"batches": read_batches, "whole": read_whole, "market": run_market}


def child(way: str, folder: str) -> dict[str, float]:
    """Seconds of processor and clock, and peak bytes, of one way to go through a table; of a market with all it imports."""
    clock, processor = perf_counter(), 0.0 if way == "market" else process_time()
    WAYS[way](folder)
    return {"processor": process_time() - processor, "clock": perf_counter() - clock, "peak": peak()}


def main(n_rows: int = ROWS) -> int:
    """Print what a market on a table costs that is never held, beside bare reads of it; 1 if a target is missed."""
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
        told = [
            {name: in_a_process("benchmarks.bench_table", "child", *way) for name, way in ways.items()}
            for _ in range(TURNS)
        ]
    found = {name: min((one[name] for one in told), key=lambda one: one["processor"]) for name in ways}
    print(
        f"table: {n_rows:,} rows of {NUMBERS + 2} columns in Parquet, squared loss, {BANKS} owners, training included"
    )
    print(f"  {'the fastest of three, in its own process':<44}{'processor s':>12}{'clock s':>10}{'peak GiB':>10}")
    for name, one in found.items():
        print(f"  {name:<44}{one['processor']:>12.2f}{one['clock']:>10.2f}{one['peak'] / 2**30:>10.2f}")
    bare, whole, market, few = found.values()
    times, held = (market["processor"] / one["processor"] for one in (bare, whole))
    rows = (market["processor"] - few["processor"]) / bare["processor"]
    print(f"  {times:.1f} times the bare read, asked at most {TIMES_BARE:.0f}; {held:.1f} times that into memory;")
    print(f"  what the rows add to a small market is {rows:.1f} times the bare read")
    print(f"  {market['peak'] / 2**30:.2f} GiB, asked under {TABLE_GIB:.0f}")
    return int(times > TIMES_BARE or market["peak"] / 2**30 > TABLE_GIB)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        print(json.dumps(child(*sys.argv[2:4])))
    else:
        sys.exit(main(*map(int, sys.argv[1:2])))
