"""A program of commands: options in groups, every fault of the input one line on stderr."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from io import TextIOWrapper
from typing import Any, NoReturn

import typer

from learning.errors import InputError, check_current_folder, explain_fault

UNREAD = 1
INTERRUPTED = 130
# Writing to standard output.
UNPRINTED = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
LONGEST = 1000  # characters of a message
# What is computed from a number lost is not told.
NUMPY = "(overflow|divide by zero|invalid value) encountered"


def expand_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show typer the fields of each dataclass among a command's parameters, one by one.

    Such a class is a group of options that several commands have. Its fields are annotated as
    parameters of commands are, and the command takes an instance of it.
    """
    own = signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {}
    shown: list[Parameter] = []
    for name, one in own.items():
        group = [one]
        if is_dataclass(one.annotation):
            groups[name] = one.annotation
            group = list(signature(groups[name], eval_str=True).parameters.values())
        shown += [part.replace(kind=Parameter.KEYWORD_ONLY) for part in group]

    @wraps(command)
    def call(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    call.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in shown}
    return call


def make_app(**settings: Any) -> typer.Typer:
    """Make a program without commands yet; what stands in brackets in its helps is text."""
    return typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, **settings)


def run_program(app: typer.Typer, name: str) -> NoReturn:
    """Run the command of a command line; every fault of the input ends as one line, status 2.

    Status 1: nobody reads what is printed; 130: interrupted.
    """
    if sys.stderr is None:  # closed; what is printed there would go to standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal cannot show ends no command
            stream.reconfigure(errors="backslashreplace")
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", NUMPY, RuntimeWarning)
            status = app(sys.argv[1:] or ["--help"], prog_name=name, standalone_mode=False)
        print(end="", flush=True)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except OSError as error:
        if error.errno not in UNPRINTED:
            fail(name, str(explain_fault(error)))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what was not printed goes nowhere
        if error.errno != errno.EPIPE:
            fail(name, f"standard output: must take what is printed; found {error.strerror}.")
        status = UNREAD
    except Exception as error:
        fault = explain_fault(error)
        if hasattr(error, "format_message"):  # a fault in the command line itself
            fail(name, error.format_message())
        if fault is None:
            raise
        fail(name, str(fault))
    if status == INTERRUPTED:  # some versions of typer swallow the interrupt and give its status
        print("interrupted", file=sys.stderr)
    sys.exit(status if isinstance(status, int) else 0)


def fail(program: str, *messages: str) -> NoReturn:
    """Print a line on stderr for each fault, and stop with status 2."""
    from learning.phrases import escape_control

    try:
        check_current_folder()
    except InputError as error:  # whatever else was found, this comes first
        messages = (str(error),)
    with suppress(OSError):  # standard error takes nothing either
        for message in messages:
            line = escape_control(" ".join(message.split()))
            if len(line) > LONGEST:
                line = f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
            print(f"{program}: {line}", file=sys.stderr)
    sys.exit(2)
