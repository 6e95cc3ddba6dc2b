"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from learning.collected_errors import InputErrors
from learning.errors import InputError

if TYPE_CHECKING:
    from scenarios.schema.scenario import Scenario


UNMET = 3  # exit status with --strict


def library_names() -> list[str]:
    """List the scenarios of the library, for completion in a shell."""
    from scenarios.schema.loading import library_games, library_scenarios

    return [*library_scenarios(), *library_games()]


ScenarioArg = Annotated[
    str,
    Argument(
        metavar="SCENARIO",
        help="A scenario file, or a name of the library.",
        autocompletion=library_names,
    ),
]
Overrides = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Change a key, such as policy.budget=500."),
]
DataFolder = Annotated[
    Path | None,
    Option("--data", help="Folder with data sets that are not bundled [default: $DPMARKET_DATA]."),
]
AllowCode = Annotated[
    bool, Option("--allow-code", help="Run the Python file of a policy of kind user.")
]
Workers = Annotated[
    int | None, Option(min=1, max=1000, help="Processes [default: one per processor].")
]
Force = Annotated[
    bool, Option("--force", help="Write into a folder that has other files; they are kept.")
]


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Changes of a scenario by the command line, and the folder of its data.

    Parameters
    ----------
    seed : Change the scenario's seed.
    """

    overrides: Overrides = None
    seed: Annotated[int | None, Option(min=0, max=10**15)] = None
    data_folder: DataFolder = None

    @property
    def assignments(self) -> list[str]:
        """Changes as assignments to keys."""
        changed = list(self.overrides or [])
        if self.seed is not None:
            changed.append(f"seed={self.seed}")
        return changed

    def load_scenario(self, scenario: str, **options: Any) -> Scenario:
        """Load a scenario with these changes."""
        from scenarios.schema.loading import load

        return load(scenario, self.assignments, data_folder=self.data_folder, **options)

    @contextmanager
    def placing_faults(self, scenario: str) -> Iterator[None]:
        """Put its place before a fault: a change of the command line, or the scenario's name."""
        from scenarios.schema.loading import place_error

        try:
            yield
        except InputError as error:
            placed = [place_error(one, scenario, self.assignments) for one in error.all]
            raise InputErrors(placed) from None
