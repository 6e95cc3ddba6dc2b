"""Load: processor seconds of the command on large generated markets, each in a process of its own.

    python -m benchmarks.bench_load

Tables are made in a temporary folder: thousands of owners with a few dozen records each, and one of
few owners with many columns. Seconds cover the whole process, from its start to the report on disk,
with compiled modules, as an install leaves them. The scenario `hospitals` is run where
DPMARKET_DATA names the folder of its table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measuring import Targets, compile_packages, time_command

PUBLIC_ROWS = 300
WIDE_PUBLIC_ROWS = 4000
MANY = 1000
MORE = 10_000
MOST = 100_000
COLUMNS = 500
SECONDS = {"many": 8.0, "more": 10.0, "most": 40.0, "wide": 10.0, "check": 1.0, "hospitals": 30.0}

SCENARIO = """
title = "Load"
[data]
path = "{name}.csv"
target = "y"
public_rows = {public_rows}
{owners}
[data.bounds]
y = [-6, 6]
[owners]
epsilon = [0.1, 10.0]
[owners.cost]
kind = "linear"
price = {price}
[policy]
kind = "proportional"
budget = 300
[learner]
value = 30000.0
"""


def write_owners(folder: Path, n_owners: int, records: int) -> str:
    """Write a market of many owners with records, give or take a half, and a price of each."""
    rng = np.random.default_rng(n_owners)
    sizes = rng.integers(records // 2, 2 * records, size=n_owners)
    names = np.repeat(np.arange(n_owners), sizes)
    rows = make_rows(rng, len(names), 4)
    lines = [f"firm{name},{row}" for name, row in zip(names, rows, strict=True)]
    price = np.round(rng.uniform(30, 120, size=n_owners) / n_owners, 5).tolist()
    fields = {"public_rows": PUBLIC_ROWS, "owners": 'owner = "owner"', "price": price}
    return write_market(folder, f"owners{n_owners}", ["owner,a,b,c,d,y", *lines], fields)


def write_columns(folder: Path, n_columns: int, public_rows: int) -> str:
    """Write a market of three owners whose records have many columns."""
    rng = np.random.default_rng(n_columns)
    rows = [3 * public_rows // 4] * 3
    header = ",".join([*(f"x{j}" for j in range(n_columns)), "y"])
    lines = [header, *make_rows(rng, sum(rows) + public_rows, n_columns)]
    owners = f'split = {rows}\nnames = ["A", "B", "C"]'
    fields = {"public_rows": public_rows, "owners": owners, "price": [20, 30, 40]}
    return write_market(folder, f"columns{n_columns}", lines, fields)


def make_rows(rng: np.random.Generator, rows: int, width: int) -> Iterator[str]:
    """Make rows of a table: inputs and a target."""
    x = rng.normal(size=(rows, width))
    y = np.clip(x @ (0.5 ** np.arange(width)) + rng.normal(size=rows), -6, 6)
    for row in np.column_stack([x, y]).tolist():
        yield ",".join(f"{value:.4f}" for value in row)


def write_market(folder: Path, name: str, lines: list[str], fields: dict[str, object]) -> str:
    """Write the table and the scenario of a market, and give the path of the latter."""
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    file = folder / f"{name}.toml"
    file.write_text(SCENARIO.format(name=name, **fields))
    return str(file)


def list_cases(folder: Path) -> dict[str, tuple[str, Callable[[], list[str]]]]:
    """Descriptions and arguments of the commands, whose tables are made on demand."""
    out = ["--out", str(folder / "out")]
    made: dict[str, tuple[str, Callable[[], list[str]]]] = {
        "check": ("check three_insurers", lambda: ["check", "three_insurers"])
    }

    def add_owners(key: str, count: int, records: int, *options: str) -> None:
        text = f"{count:,} owners" + (", without training" if options else "")
        write = partial(write_owners, folder, count, records)
        made[key] = (text, lambda: ["run", write(), *options, *out])

    add_owners("many", MANY, 60)
    add_owners("more", MORE, 30, "--no-train")
    add_owners("most", MOST, 20, "--no-train")
    wide = partial(write_columns, folder, COLUMNS, WIDE_PUBLIC_ROWS)
    text = f"{COLUMNS} columns, {WIDE_PUBLIC_ROWS:,} public rows"
    made["wide"] = (text, lambda: ["run", wide(), *out])
    if os.environ.get("DPMARKET_DATA"):
        made["hospitals"] = ("hospitals", lambda: ["run", "hospitals", *out])
    return made


def main() -> int:
    """Time all commands; 1 if a target is missed."""
    targets = Targets()
    compile_packages()
    print("processor seconds of a command")
    for name, asked in SECONDS.items():
        with TemporaryDirectory() as folder:
            case = list_cases(Path(folder)).get(name)
            if case is None:
                print(f"  {name}: left out, no DPMARKET_DATA")
                continue
            text, arguments = case
            used = time_command(Path(folder), arguments()).processor
        targets.show(text, used, most=asked)
    return targets.report()


if __name__ == "__main__":
    sys.exit(main())
