"""The program's commands in processes that begin with everything loaded, so that a kill finds them at work."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path

from scenarios.command.main import main


class Child:
    """A command in a process of its own, whose every file that it puts in place is copied first.

    Parameters
    ----------
    arguments: its command line, without the program's name.
    log: what it prints.
    copies: the folder of copies; None for none.
    """

    def __init__(self, arguments: list[str], log: Path, copies: Path | None = None) -> None:
        self.arguments, self.log, self.copies = arguments, log, copies
        self.status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            self._run()

    def _run(self) -> None:
        status = 70
        try:
            out = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.dup2(out, 1)
            os.dup2(out, 2)
            sys.stdout, sys.stderr = (os.fdopen(handle, "w", buffering=1, closefd=False) for handle in (1, 2))
            sys.argv = ["dpmarket", *self.arguments]
            if self.copies is not None:
                copy_before_replacing(self.copies)
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
    replace, number = os.replace, count()

    def kept(source, target, **where):
        shutil.copyfile(source, copies / f"{Path(target).name}.{os.getpid()}.{next(number)}")
        replace(source, target, **where)

    os.replace = kept
