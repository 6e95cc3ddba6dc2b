"""Options that several commands have."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from learning.errors import InputError, InputErrors


def library_names() -> list[str]:
    """Scenarios of the library, for completion in a shell."""
    from scenarios.schema.loading import library_games, library_scenarios

    return [*library_scenarios(), *library_games()]


ScenarioArg = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file, or a name of the library.",
        autocompletion=library_names,
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as policy.budget=500."),
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder with the data sets that do not come along [default: $DPMARKET_DATA]."
    ),
]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Run the Python file that a policy of kind user names.")
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, max=10**15, help="Change the scenario's seed.")
]


@contextmanager
def naming(source: str, overrides: list[str]):
    """Puts where it is before a fault: a change of the command line, or the scenario's name where none is told yet."""
    from scenarios.schema.loading import place_error

    try:
        yield
    except InputError as error:
        raise InputErrors([place_error(one, source, overrides) for one in error.all]) from None


def changes(overrides: list[str] | None, seed: int | None = None) -> list[str]:
    """What the command line changes of a scenario."""
    return [*(overrides or []), *([] if seed is None else [f"seed={seed}"])]
