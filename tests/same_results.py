"""Compare the results of two checkouts: python tests/same_results.py OLD NEW [--data DIR] [--only NAME ...].

Every scenario, game and study of the library runs from both checkouts, each result in a folder of
its own. Folders that are already there are kept, so that the first checkout runs once. Sentences
may differ; numbers and names of keys may not.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas

COMMAND = "from dpmarket_packages import main; main()"
VERSIONED = {"version", "code"}  # keys that name the program, not what it found
TOLERANCE = 1e-12  # relative, where sums are reordered


def list_jobs(checkout: Path) -> dict[str, list[str]]:
    """Arguments of the command for each entry of the library, by name."""
    library = checkout / "scenarios" / "library"
    jobs = {path.stem: ["run", path.stem] for path in sorted(library.glob("*.toml"))}
    jobs |= {
        f"game {path.stem}": ["run", path.stem] for path in sorted(library.glob("games/*.toml"))
    }
    jobs |= {
        f"study {path.stem}": ["sweep", path.stem]
        for path in sorted(library.glob("studies/*.toml"))
    }
    jobs["design"] = ["design", "three_insurers"]
    return jobs


def carry_out(checkout: Path, arguments: list[str], folder: Path, data: Path | None) -> str:
    """Run one command of a checkout into a folder, and return its output."""
    printed = folder.with_suffix(".txt")
    if printed.exists():
        return printed.read_text(encoding="utf-8")
    tables = [] if data is None or arguments[0] == "design" else ["--data", str(data)]
    registry = {"DPMARKET_REGISTRY": str(folder.with_suffix(".registry"))}
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(checkout)}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments, "--out", str(folder), *tables],
        env=os.environ | registry | threads,
        cwd=folder.parent,
        capture_output=True,
        text=True,
    )
    print(
        f"  {' '.join(arguments)}: status {done.returncode}, {time.monotonic() - began:.1f} s",
        flush=True,
    )
    output = f"status {done.returncode}\n{done.stdout}{done.stderr}"
    printed.write_text(output, encoding="utf-8")
    return output


def read_facts(path: Path) -> Any:
    """Content of a table or of a JSON file, as nested lists and dicts."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return [[_number_or_text(cell) for cell in row] for row in csv.reader(file)]
    if path.suffix == ".parquet":
        return pandas.read_parquet(path).to_dict("list")
    return json.loads(path.read_text(encoding="utf-8"))


def _number_or_text(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def differences(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Places at which two nested values differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if key not in VERSIONED:
                yield from differences(
                    old.get(key, "absent"), new.get(key, "absent"), f"{place}.{key}"
                )
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif old != new and not (old != old and new != new):
        yield place, old, new


def is_rounding(old: Any, new: Any) -> bool:
    """Whether two values are numbers within the tolerance of each other."""
    both = isinstance(old, float | int) and isinstance(new, float | int)
    return both and abs(old - new) <= TOLERANCE * max(abs(old), abs(new))


def compare_folders(old: Path, new: Path) -> tuple[int, list[str]]:
    """How many files of facts two folders share, and what differs in them."""
    names = {
        p.relative_to(f)
        for f in (old, new)
        for kind in ("json", "csv", "parquet")
        for p in f.rglob(f"*.{kind}")
    }
    found = []
    for name in sorted(names):
        if not ((old / name).exists() and (new / name).exists()):
            found.append(f"{name}: in one folder only")
            continue
        if (old / name).read_bytes() == (new / name).read_bytes() or name.name in (
            "manifest.json",
            "timing.json",
        ):
            continue
        rounded = 0
        for place, one, other in differences(read_facts(old / name), read_facts(new / name)):
            if is_rounding(one, other):
                rounded += 1
            else:
                found.append(f"{name}{place}: {str(one)[:60]} became {str(other)[:60]}")
        if rounded:
            print(f"    {name}: {rounded} numbers within {TOLERANCE:g}")
    return len(names), found


def main() -> int:
    """Compare two checkouts and return 1 where any number differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--data", type=Path, help="folder of the published tables")
    parser.add_argument("--only", nargs="*", help="names of the library entries to compare")
    parser.add_argument(
        "--results", type=Path, default=Path("/tmp/same_results"), help="folder of both results"
    )
    given = parser.parse_args()
    failed = 0
    for name, arguments in list_jobs(given.old.resolve()).items():
        if given.only and name.split()[-1] not in given.only:
            continue
        folders = []
        outputs = []
        for checkout in (given.old.resolve(), given.new.resolve()):
            folder = given.results / checkout.name / name.replace(" ", "_")
            folder.parent.mkdir(parents=True, exist_ok=True)
            outputs.append(
                carry_out(
                    checkout, arguments, folder.resolve(), given.data and given.data.resolve()
                )
            )
            folders.append(folder)
        compared, found = compare_folders(*folders)
        status = (
            "same status"
            if outputs[0].split("\n")[0] == outputs[1].split("\n")[0]
            else "OTHER STATUS"
        )
        verdict = "equal" if not found else f"{len(found)} DIFFERENCES"
        print(f"{name}: {compared} files of numbers, {verdict}, {status}", flush=True)
        print(*(f"    {line}" for line in found[:10]), sep="\n", end="\n" if found else "")
        failed += bool(found) or status != "same status"
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
