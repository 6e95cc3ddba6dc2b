"""The `dpmarket` command, each of its commands imported when it is asked for.

Faults of the input are one line. Status: 0 done, 1 nobody reads the output, 2 bad input, 3 not
certified (--strict) or refuted (audit), 130 interrupted.
"""

from __future__ import annotations

import gc
from collections import UserDict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from learning.program import make_app, run_program

# Objects between two searches for cycles, which take a seventh of a short command at Python's own
# pace.
GARBAGE = 500_000
HELP = "A simulator of markets for differentially private data."
# A command -> the file that its function of the same name stands in.
COMMANDS = {
    "run": "scenarios.command.run",
    "forecast": "scenarios.command.run",
    "audit": "scenarios.command.audit",
    "check": "scenarios.command.check",
    "scenarios": "scenarios.command.check",
    "report": "scenarios.command.run",
    "accept": "exchange.command.owner",
    "answer": "exchange.command.owner",
    "collect": "exchange.command.collect",
    "compare": "scenarios.command.studies",
    "contract": "exchange.command.contract",
    "dashboard": "scenarios.command.dashboard",
    "exchange": "exchange.command.exchange",
    "key": "exchange.command.owner",
    "init": "scenarios.command.init",
    "design": "scenarios.command.studies",
    "disclose": "scenarios.command.documents",
    "memo": "scenarios.command.documents",
    "mechanisms": "scenarios.command.mechanisms",
    "need": "scenarios.command.need",
    "reproduce": "reproduction.command",
    "settle": "exchange.command.settle",
    "state": "exchange.command.owner",
    "sweep": "scenarios.command.sweep",
    "withdraw": "exchange.command.withdraw",
}


def find_command(name: str) -> Callable[..., Any]:
    """Import the function of a command."""
    command: Callable[..., Any] = getattr(import_module(COMMANDS[name]), name)
    return command


class LazyCommands(UserDict[str, Any]):
    """Commands by name, each made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        alone = make_app(add_completion=False)
        alone.command(name)(find_command(name))
        return get_command(alone)


class LazyGroup(TyperGroup):
    """All commands of the program."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LazyCommands(COMMANDS)


app = make_app(cls=LazyGroup, context_settings={"max_content_width": 110})


def main() -> None:
    """Run the command."""
    gc.set_threshold(GARBAGE)
    run_program(app, "dpmarket")


def print_version(wanted: bool) -> None:
    """Print the version and stop, where that is all that is wanted."""
    if wanted:
        from importlib.metadata import version

        print("dpmarket", version("dpmarket"))
        raise typer.Exit


@app.callback(help=HELP)
def take_options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Run a Python file with plug-ins; may be repeated."),
    ] = None,
) -> None:
    """Take the options of the program itself."""
    if plugin:
        from scenarios.plugins import load_plugins

        load_plugins(plugin)


if __name__ == "__main__":
    main()
