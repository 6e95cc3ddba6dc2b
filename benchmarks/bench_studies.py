"""Commands and studies: a second run, a thousand cells, the best policy, one and two workers.

    python -m benchmarks.bench_studies

Seconds by the clock, each command in a process of its own, and of the processor in that process
alone, without workers. The two sweeps that are compared take turns, and the fastest of each counts,
since other load slows both. Every cell of theirs is a market of its own, with a sample of public
rows and a forecast of its own; the thousand cells share theirs, and are compared with four of them
in processor seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measuring import Targets, compile_packages, time_command

TURNS = 3
MARKETS = 48
OWNERS = 100
RECORDS = 200
TWICE = 1.8
LONGER = 6.0  # processor seconds of a thousand cells of one market over those of four
SECONDS = {"run": 4.0, "cells": 15.0, "design": 10.0, "owners": 120.0, "help": 0.5}

APART = """
title = "Markets of their own"
scenario = "three_insurers"
replications = {markets}
"""
CELLS = """
title = "A thousand cells of one market"
scenario = "three_insurers"
[grid]
policy.budget = { low = 300, high = 5000, points = 40 }
learner.value = { low = 1e4, high = 1e6, points = 25, scale = "log" }
"""
HUNDRED = """
title = "A hundred owners"
[data]
source = "randhie"
target = "mdvis"
public_rows = 150
split = {split}
[data.bounds]
mdvis = [0, 20]
[owners]
epsilon = [0.01, 10.0]
[owners.cost]
kind = "linear"
price = {price}
[policy]
kind = "proportional"
budget = 2000.0
[learner]
value = 100000.0
"""


def speed_of_two_workers(folder: Path) -> float:
    """Speed of two workers, in units of that of one."""
    (folder / "apart.toml").write_text(APART.format(markets=MARKETS))
    best = {1: np.inf, 2: np.inf}
    for turn in range(TURNS):
        for workers in best:
            out = ["--workers", str(workers), "--out", f"apart{turn}{workers}"]
            taken = time_command(folder, ["sweep", "apart.toml", *out])
            best[workers] = min(best[workers], taken.wall)
    return best[1] / best[2]


def cells_over_four(folder: Path) -> float:
    """Processor seconds of a thousand cells of one market over those of four of them.

    A first sweep leaves both with a forecast that was kept.
    """
    (folder / "four.toml").write_text(CELLS.replace("40", "2").replace("25", "2"))
    taken = {}
    for turn, name in enumerate(("four", "four", "cells")):
        out = ["--workers", "1", "--out", f"{name}{turn}"]
        taken[name] = time_command(folder, ["sweep", f"{name}.toml", *out]).processor
    return taken["cells"] / taken["four"]


def write_commands(folder: Path) -> dict[str, list[str]]:
    """Write the studies of the other commands, and give their arguments by their targets."""
    (folder / "cells.toml").write_text(CELLS)
    price = np.random.default_rng(1).uniform(8, 20, OWNERS).round(2).tolist()
    (folder / "owners.toml").write_text(HUNDRED.format(split=[RECORDS] * OWNERS, price=price))
    return {
        "run": ["run", "three_insurers", "--out", "run"],
        "cells": ["sweep", "cells.toml", "--workers", "2", "--out", "cells"],
        "design": ["design", "three_insurers", "--out", "design"],
        "owners": ["design", "owners.toml", "--out", "owners"],
        "help": ["--help"],
    }


def main() -> int:
    """Time all of it; 1 if a target is missed."""
    targets = Targets()
    compile_packages()
    print("seconds by the clock")
    with TemporaryDirectory() as place:
        folder = Path(place)
        commands = write_commands(folder)
        time_command(folder, commands["run"])  # the first, after which its forecast is kept
        for name, asked in SECONDS.items():
            wall = time_command(folder, commands[name]).wall
            targets.show(" ".join(commands[name][:2]), wall, most=asked)
        longer = cells_over_four(folder)
        targets.show("processor of a thousand cells over four", longer, "times", most=LONGER)
        ratio = speed_of_two_workers(folder)
        targets.show("two workers against one", ratio, "times", least=TWICE)
    return targets.report()


if __name__ == "__main__":
    sys.exit(main())
