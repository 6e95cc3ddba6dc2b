"""Commands that look before running: at a scenario, and at what comes with the program."""

from __future__ import annotations

import time
from pathlib import Path

from learning.display import PlainTable
from learning.errors import InputError
from learning.program import declare_command, fail
from learning.terminal import Terminal
from scenarios.command.options import AllowCode, Changes, DataFolder, ScenarioArg


@declare_command
def check(scenario: ScenarioArg, *, changes: Changes, allow_code: AllowCode = False) -> None:
    """Check a scenario without running it, and print a line for each error."""
    from scenarios.checking import check_scenario
    from scenarios.schema.loading import is_game_file

    began = time.process_time()
    try:
        if is_game_file(scenario):
            from scenarios.command.game import check_game

            return check_game(scenario, changes)
        chosen = changes.load_scenario(scenario, allow_code=allow_code)
        with changes.placing_faults(scenario):
            data = check_scenario(chosen)
    except InputError as error:
        fail("dpmarket", *map(str, error.all))
    from scenarios.command.check_printed import print_check

    print_check(chosen, data, time.process_time() - began)


@declare_command
def scenarios(*, data_folder: DataFolder = None) -> None:
    """List the bundled scenarios, studies and games, and mark those whose data is missing."""
    from scenarios.schema.loading import library_games, library_scenarios, load
    from scenarios.sweeping.study import studies
    from scenarios.tables.paths import table_exists

    tables = [PlainTable("", "scenario", "data", "", left=3)]
    lacking = False
    for name, path in library_scenarios().items():
        place = "here"
        if not table_exists(load(path, data_folder=data_folder)):
            place = "MISSING"
            lacking = True
        tables[0].add_row(name, place, _first_line(path))
    for head, known in (("study", studies()), ("game without a table", library_games())):
        tables.append(PlainTable("", head, "", left=2))
        for name, path in known.items():
            tables[-1].add_row(name, _first_line(path))
    out = Terminal()
    for table in tables:
        out.print(table)
    if lacking:
        out.say("MISSING: give the folder that holds the data with --data DIR or DPMARKET_DATA=DIR")


def _first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
