"""A program of commands: their declaration, and every fault of the input one line on stderr."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, getdoc, signature
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn, get_args, get_origin

import typer

from learning.errors import InputError, check_current_folder, describe_system_error, explain_fault

UNREAD = 1
INTERRUPTED = 130
# errors in writing to standard output
UNPRINTED = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
LONGEST = 1000  # characters of a message
PARAMETERS = "\n\nParameters\n----------\n"  # begins a section of a docstring
ENTRY = re.compile(r"^(\w+)(?: (\S+))? : ", re.MULTILINE)  # of that section
# warnings of lost numbers, which end a command: nothing computed from them is shown
NUMPY = "(overflow|divide by zero|invalid value) encountered"


def declare_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare a function to typer as a command.

    Positional parameters are arguments, keyword-only ones are options, a bool without a --no. Each
    is described in the docstring under Parameters, as ``name : help`` or ``name METAVAR : help``;
    so are the fields of a dataclass among the parameters, which is a group of options, shown one
    by one. Everything else about a parameter is in its annotation, as with typer itself.
    """
    own = signature(function, eval_str=True).parameters
    groups = {name: one.annotation for name, one in own.items() if is_dataclass(one.annotation)}
    shown = list(_describe_parameters(function))

    @wraps(function)
    def call(**given: Any) -> Any:
        for name, group in groups.items():
            taken = {field.name: given.pop(field.name) for field in fields(group)}
            given[name] = group(**taken)  # type: ignore[operator]
        return function(**given)

    call.__doc__ = _read_docstring(function)[0]
    call.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in shown}
    return call


def _describe_parameters(owner: Any) -> Iterator[Parameter]:
    """Parameters of a command or a group of options, as typer takes them."""
    described = _read_docstring(owner)[1]
    for name, one in signature(owner, eval_str=True).parameters.items():
        kind = one.annotation
        if is_dataclass(kind):
            yield from _describe_parameters(kind)
            continue
        info = typer.Argument()
        if one.kind is Parameter.KEYWORD_ONLY:
            info = typer.Option(*[f"--{name.replace('_', '-')}"] * (kind is bool))
        if get_origin(kind) is Annotated:
            kind, info = get_args(kind)
            info = copy(info)
        for key, text in described.get(name, {}).items():
            setattr(info, key, text)
        annotation: Any = Annotated[kind, info]  # type: ignore[valid-type]
        yield one.replace(kind=Parameter.KEYWORD_ONLY, annotation=annotation)


def _read_docstring(owner: Any) -> tuple[str, dict[str, dict[str, str | None]]]:
    """Read what a command does, and of each parameter its metavar and help."""
    text, _, section = (getdoc(owner) or "").partition(PARAMETERS)
    parts = iter(ENTRY.split(section)[1:])
    described = {
        name: {"metavar": metavar, "help": " ".join(said.split())}
        for name, metavar, said in zip(parts, parts, parts, strict=True)
    }
    return text, described


def make_app(**settings: Any) -> typer.Typer:
    """Make a program without commands yet; brackets in its help texts are no markup."""
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
            found = describe_system_error(error)
            fail(name, f"standard output: must take what is printed; found {found}.")
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
