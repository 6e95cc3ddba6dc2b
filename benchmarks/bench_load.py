"""Load: processor seconds of the command on large generated markets, each in a process of its own.

    python -m benchmarks.bench_load

Tables are made in a temporary folder: thousands of owners with a few dozen records each, and one of few owners with many
columns. What is counted is everything that the process does, from its start to the report on disk, with modules that are
compiled, as an install leaves them (the first run compiles them). The scenario `hospitals` is run where DPMARKET_DATA names
the folder that holds its table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.command import compiled, seconds

PUBLIC_ROWS, WIDE_PUBLIC_ROWS = 300, 4000
MANY, MORE, MOST, COLUMNS = 1000, 10_000, 100_000, 500
SECONDS = {"many": 8.0, "more": 10.0, "most": 40.0, "wide": 10.0, "check": 1.0, "hospitals": 30.0}
# measured from outside on tables of their own, before anything was done about load; the least of what was found
BEFORE = {"many": 32.0, "more": 12.0, "most": 39.0, "wide": 44.0, "check": 3.0, "hospitals": 191.0}

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


def many_owners(folder: Path, n_owners: int, records: int) -> Path:
    """A market of so many owners with so many records each, give or take a half, and a price of its own for each."""
    rng = np.random.default_rng(n_owners)
    names = np.repeat(np.arange(n_owners), rng.integers(records // 2, 2 * records, size=n_owners))
    lines = [f"firm{name},{row}" for name, row in zip(names, _lines(rng, len(names), 4), strict=True)]
    price = np.round(rng.uniform(30, 120, size=n_owners) / n_owners, 5).tolist()
    return _written(folder, f"owners{n_owners}", "owner,a,b,c,d,y", lines, PUBLIC_ROWS, 'owner = "owner"', price)


def many_columns(folder: Path, n_columns: int, public_rows: int) -> Path:
    """A market of three owners whose records have so many columns."""
    rng = np.random.default_rng(n_columns)
    rows = [3 * public_rows // 4] * 3
    lines = _lines(rng, sum(rows) + public_rows, n_columns)
    split = f'split = {rows}\nnames = ["A", "B", "C"]'
    header = ",".join([*(f"x{j}" for j in range(n_columns)), "y"])
    return _written(folder, f"columns{n_columns}", header, lines, public_rows, split, [20, 30, 40])


def _lines(rng: np.random.Generator, rows: int, width: int) -> list[str]:
    x = rng.normal(size=(rows, width))
    y = np.clip(x @ (0.5 ** np.arange(width)) + rng.normal(size=rows), -6, 6)
    return [",".join(f"{v:.4f}" for v in row) for row in np.column_stack([x, y]).tolist()]


def _written(
    folder: Path, name: str, header: str, lines: list[str], public_rows: int, owners: str, price: list
) -> Path:
    (folder / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
    scenario = SCENARIO.format(name=name, public_rows=public_rows, owners=owners, price=price)
    (folder / f"{name}.toml").write_text(scenario)
    return folder / f"{name}.toml"


def cases(folder: Path) -> dict[str, tuple[str, Callable[[], list[str]]]]:
    """What is run: in words, and the arguments of the command, whose table is made when they are asked for."""
    out = ["--out", str(folder / "out")]

    def owners(count: int, records: int, *more: str) -> Callable[[], list[str]]:
        return lambda: ["run", str(many_owners(folder, count, records)), *more, *out]

    made: dict[str, tuple[str, Callable[[], list[str]]]] = {
        "check": ("check three_insurers", lambda: ["check", "three_insurers"]),
        "many": (f"{MANY:,} owners", owners(MANY, 60)),
        "more": (f"{MORE:,} owners, without training", owners(MORE, 30, "--no-train")),
        "most": (f"{MOST:,} owners, without training", owners(MOST, 20, "--no-train")),
        "wide": (
            f"{COLUMNS} columns, {WIDE_PUBLIC_ROWS:,} public rows",
            lambda: ["run", str(many_columns(folder, COLUMNS, WIDE_PUBLIC_ROWS)), *out],
        ),
    }
    if os.environ.get("DPMARKET_DATA"):
        made["hospitals"] = ("hospitals", lambda: ["run", "hospitals", *out])
    return made


def main() -> int:
    """Print the table; 1 if a target is missed."""
    missed = []
    compiled()
    print(f"{'command':<40}{'processor seconds':>18}{'asked':>8}{'before':>8}")
    for name in SECONDS:
        with TemporaryDirectory() as folder:
            found = cases(Path(folder)).get(name)
            if found is None:
                print(f"{name:<40}{'left out: no DPMARKET_DATA':>26}")
                continue
            used = seconds(Path(folder), found[1]()).processor
        missed += [name] if used > SECONDS[name] else []
        print(f"{found[0]:<40}{used:>18.1f}{SECONDS[name]:>8.0f}{BEFORE[name]:>8.0f}", flush=True)
    print(f"targets: {'missed in ' + ', '.join(missed) if missed else 'met'}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
