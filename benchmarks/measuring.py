"""Measurements: fastest of a few calls, modules and commands in their own processes, targets."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from compileall import compile_dir
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from dpmarket_packages import PACKAGES

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-c", "from scenarios.command.main import main; main()"]


def time_actions(
    *actions: Callable[[], object],
    repeats: int = 4,
    clock: Callable[[], float] = process_time,
) -> list[float]:
    """Seconds of the fastest of a few calls of each action, in turns: other load slows them all."""
    best = [np.inf] * len(actions)
    for _ in range(repeats):
        for number, action in enumerate(actions):
            start = clock()
            action()
            best[number] = min(best[number], clock() - start)
    return best


def time_wall(action: Callable[[], object], repeats: int = 3) -> float:
    """Seconds by the clock of the fastest of a few calls."""
    return time_actions(action, repeats=repeats, clock=perf_counter)[0]


def peak_memory() -> int:
    """Peak resident bytes of this process.

    Linux includes the memory of the parent in ru_maxrss, so that the process status is read there.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line[:6] == "VmHWM:")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def call_module(module: str, *arguments: str) -> dict[str, Any]:
    """Call a module with arguments in a process of its own, and read the JSON that it prints."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return json.loads(done.stdout)


class Seconds(NamedTuple):
    """Seconds of a command: by the clock, and of processors."""

    wall: float
    processor: float


def compile_packages() -> None:
    """Compile all modules, as an install leaves them; else the first command would."""
    for package in PACKAGES:
        compile_dir(ROOT / package, quiet=2)


def time_command(folder: Path, arguments: Sequence[str]) -> Seconds:
    """Time the command in a process of its own in this folder, on one thread."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "DPMARKET_CACHE": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    began = perf_counter()
    with open(folder / "messages.txt", "w+") as messages:
        streams = {"stdout": subprocess.DEVNULL, "stderr": messages}
        child = subprocess.Popen([*COMMAND, *arguments], cwd=folder, env=environment, **streams)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            messages.seek(0)
            said = f"exit status {child.returncode}: {messages.read()[-500:]}"
            raise RuntimeError(f"{' '.join(arguments)}: {said}")
    return Seconds(perf_counter() - began, used.ru_utime + used.ru_stime)


class Targets:
    """Figures of a benchmark, a line each, and those that miss what is asked of them."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def show(
        self, name: str, value: float, unit: str = "s", *, most: float = np.inf, least: float = 0
    ) -> None:
        """Print a figure, which should be from ``least`` to ``most``."""
        asked = f", asked at most {most:g}" * (
            most < np.inf
        ) + f", asked at least {least:g}" * bool(least)
        print(f"  {name:<64}{value:>10.4g} {unit}{asked}", flush=True)
        self.missed += [name] * (not least <= value <= most)

    def report(self) -> int:
        """Print which targets are missed; 1 if any is."""
        print(f"targets: missed in {', '.join(self.missed)}" if self.missed else "targets: met")
        return int(bool(self.missed))
