"""The program's commands in processes that begin with everything loaded, so that a kill finds them at work."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from importlib import import_module
from itertools import count
from pathlib import Path

from scenarios.command.main import main

LOADED = (
    "exchange.command.collect",
    "exchange.owner.program",
    "exchange.learner.collecting",
    "exchange.owner.table",
)


class Child:
    """A command in a process of its own, whose every file that it puts in place is copied first.

    Parameters
    ----------
    arguments: its command line, without the program's name.
    log: what it prints.
    copies: the folder of copies; None for none.
    dies: at which change of the disk it kills itself, from 1: before it where that is odd, else
        right after; None: at none.
    """

    def __init__(
        self, arguments: list[str], log: Path, copies: Path | None = None, dies: int | None = None
    ) -> None:
        self.arguments = arguments
        self.log = log
        self.copies = copies
        self.dies = dies
        self.status: int | None = None
        for module in (*LOADED, "opendp.prelude"):
            import_module(module)
        self.pid = os.fork()
        if self.pid == 0:
            self._run()

    def _run(self) -> None:
        status = 70
        try:
            out = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.dup2(out, 1)
            os.dup2(out, 2)
            sys.stdout, sys.stderr = (
                os.fdopen(handle, "w", buffering=1, closefd=False) for handle in (1, 2)
            )
            sys.argv = ["dpmarket", *self.arguments]
            if self.copies is not None:
                copy_before_replacing(self.copies)
            if self.dies is not None:
                die_at(self.dies)
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
        finally:
            os._exit(status)

    def poll(self) -> int | None:
        """The status where it has ended."""
        if self.status is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def wait(self) -> int:
        """Its status, in the end."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def kill(self) -> None:
        """Kill it where it still runs, and wait until it is gone."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


def copy_before_replacing(copies: Path) -> None:
    """From here on, whatever is put in place of a file by its name is first copied under that name: no version is lost."""
    replace = os.replace
    number = count()

    def kept(source, target, **where):
        shutil.copyfile(source, copies / f"{Path(target).name}.{os.getpid()}.{next(number)}")
        replace(source, target, **where)

    os.replace = kept


def die_at(number: int) -> None:
    """Kill this process at its so many-th change of the disk: before that where the number is odd, else right after."""
    changes = count(1)

    def dying(change):
        def changed(*given, **named):
            last = next(changes) == number
            if last and number % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            made = change(*given, **named)
            if last:
                os.kill(os.getpid(), signal.SIGKILL)
            return made

        return changed

    for name in ("replace", "link", "fsync"):
        setattr(os, name, dying(getattr(os, name)))
