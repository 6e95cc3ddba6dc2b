"""Commands with their arguments and options, as their declarations say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from scenarios.command.main import COMMANDS, find_command
from scenarios.reference.keys import table_row

TAKES = {int: "N", float: "X", Path: "PATH", str: "TEXT", bool: ""}


def command_lines() -> Iterator[str]:
    """Yield a heading for each command, its purpose, and a table of what it takes."""
    for name in sorted(COMMANDS):
        function = find_command(name)
        said = (inspect.getdoc(function) or "").split("\n\n")[0]
        yield from (f"### `dpmarket {name}`", "", " ".join(said.split()), "")
        yield from option_lines(function)
        yield ""


def option_lines(function: Callable[..., Any]) -> Iterator[str]:
    """Yield a table of the arguments and options of one command."""
    hints = get_type_hints(function, include_extras=True)
    given = inspect.signature(function).parameters
    takes = [(name, _plain_type(hints[name]), _find_info(hints[name])) for name in given]
    rows = [
        _option_line(name, kind, info, given[name].default)
        for name, kind, info in takes
        if info is not None
    ]
    yield from ("| takes | |", "|---|---|", *rows) if rows else ["Takes nothing."]


def _option_line(name: str, kind: Any, info: ArgumentInfo | OptionInfo, default: Any) -> str:
    value = info.metavar or TAKES.get(kind, "TEXT")
    stated = [one for one in (info.default, *(info.param_decls or ())) if str(one).startswith("--")]
    flag = next(iter(stated), f"--{name.replace('_', '-')}")
    shown = f"`{value}`"
    if isinstance(info, OptionInfo):
        shown = f"`{flag} {value}`".replace(" `", "`")
    told = info.help or ""
    if default not in (None, False, inspect.Parameter.empty) and "[default" not in told:
        told = f"{told.rstrip('.')} [default: {default}]."
    return table_row(shown, told)


def _find_info(hint: Any) -> ArgumentInfo | OptionInfo | None:
    given = getattr(hint, "__metadata__", ())
    return next((one for one in given if isinstance(one, (ArgumentInfo, OptionInfo))), None)


def _plain_type(hint: Any) -> Any:
    """Find the type of a value: of Annotated, of an optional one, of one that may be repeated."""
    bare = get_args(hint)[0] if getattr(hint, "__metadata__", ()) else hint
    inner = [part for part in get_args(bare) if part is not type(None)]
    if inner and get_origin(bare) is not dict:
        return _plain_type(inner[0])
    return bare
