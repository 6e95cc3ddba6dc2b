"""The command in a process of its own, timed, with modules compiled, as an install leaves them."""

from __future__ import annotations

import os
import subprocess
import sys
from compileall import compile_dir
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-c", "from scenarios.command.main import main; main()"]
PACKAGES = ("learning", "market", "agents", "scenarios")


class Seconds(NamedTuple):
    """What a command took: by the clock, and of processors."""

    wall: float
    processor: float


def compiled() -> None:
    """Compile all modules: the first command would do it for all others."""
    for package in PACKAGES:
        compile_dir(ROOT / package, quiet=2)


def seconds(folder: Path, arguments: list[str]) -> Seconds:
    """What the command takes in a process of its own in this folder, on one thread; its output is dropped."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    alone = {"PYTHONPATH": paths, "DPMARKET_CACHE": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": ""}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    began = perf_counter()
    with open(folder / "messages.txt", "w+") as messages:
        child = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=folder,
            env=os.environ | alone | threads,
            stdout=subprocess.DEVNULL,
            stderr=messages,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            messages.seek(0)
            raise RuntimeError(f"{' '.join(arguments)}: exit status {child.returncode}: {messages.read()[-500:]}")
    return Seconds(perf_counter() - began, used.ru_utime + used.ru_stime)
