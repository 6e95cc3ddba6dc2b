"""Several parties' programs at once, each a process of its own: all end well, or all are ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep

from learning.errors import InputError

# The installed program under this Python. With -P no file of the current folder is imported.
COMMAND = (sys.executable, "-P", "-m", "scenarios.command.main")
PAUSE = 0.05  # seconds between two looks
PATIENCE = 5.0  # seconds that a program has to end when it is asked to, before it is killed
SHOWN = 300  # characters of a program's last words
Look = Callable[[], object]


@dataclass(frozen=True)
class Program:
    """One party's command, with the file of its output.

    Parameters
    ----------
    who: the party, as errors name it.
    arguments: what follows `dpmarket` on its command line.
    log: the file that takes all it prints; earlier output stays.
    well: the statuses that it may end with.
    settings: variables of its environment, added to this program's own.
    """

    who: str
    arguments: tuple[str, ...]
    log: Path
    well: tuple[int, ...] = (0,)
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)


def run_all(
    programs: Sequence[Program],
    watch: Look = lambda: None,
    carry: Callable[[Look], object] | None = None,
) -> None:
    """Run programs in parallel until every one of them has ended well.

    Parameters
    ----------
    programs: the programs.
    watch: is called again and again meanwhile.
    carry: carries files between the programs where they share no folder; it calls its argument
        again and again.

    Raises
    ------
    InputError
        As soon as one ends badly: its party, its last words, and the place of its log. The others
        are then ended, as they are on Ctrl-C and on whatever ``watch`` or ``carry`` raises.
    """
    with run_processes(programs) as processes:
        running = dict(zip(programs, processes, strict=True))

        def look() -> None:
            watch()
            for program in [one for one in running if has_ended_well(one, running[one])]:
                del running[program]

        if carry is not None:
            carry(look)
        while running:
            look()
            if running:
                sleep(PAUSE)
        watch()


def has_ended_well(program: Program, process: subprocess.Popen[bytes]) -> bool:
    """Test whether a program has ended; an InputError if it ended badly."""
    status = process.poll()
    if status is None or status in program.well:
        return status is not None
    remedy = f"Its output is in {program.log}."
    found = describe_ending(program, status)
    raise InputError(program.who, "must finish without an error", found, remedy)


@contextmanager
def run_processes(programs: Sequence[Program]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run a process for each program; all are ended with the block, however it ends."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for program in programs:
            processes.append(start_process(program))
        yield processes
    finally:
        end_processes(processes)


def start_process(program: Program) -> subprocess.Popen[bytes]:
    """Start a process that runs a program and writes into its log."""
    with program.log.open("ab") as log:
        return subprocess.Popen(
            [*COMMAND, *program.arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **program.settings},
        )


def end_processes(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ask processes to end, and kill those that do not; a second Ctrl-C kills them at once."""
    try:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def describe_ending(program: Program, status: int) -> str:
    """Describe the end of a program: the signal that killed it, or its last line."""
    if status < 0:
        return f"killed by signal {-status}"
    lines = program.log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    said = last.removeprefix("dpmarket: ").rstrip(".")
    return f"status {status}: {said[:SHOWN]}" if said else f"status {status}"
