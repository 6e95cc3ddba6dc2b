"""The `dpmarket` command.

Faults of the input are one line. Status: 0 done, 1 nobody reads the output, 2 bad input, 3 not certified (--strict) or
refuted (audit), 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from learning.errors import InputError
from scenarios.command.mechanisms import mechanisms
from scenarios.command.progress import stages

UNREAD, INTERRUPTED = 1, 130
UNPRINTED = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # writing to standard output

HELP = "A simulator of markets for differentially private data."
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=HELP)

ScenarioArg = Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario file, or a name of the library.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as policy.budget=500.")
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with the data sets that do not come along [default: $DPMARKET_DATA]."),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Change the scenario's seed.")]


def main() -> None:
    """Run the command; every fault of the input ends as one line on stderr with status 2."""
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = app(standalone_mode=False)
        print(end="", flush=True)
    except InputError as error:
        fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except OSError as error:
        if error.errno not in UNPRINTED:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what was not printed goes nowhere
        if error.errno != errno.EPIPE:
            fail(f"standard output: must take what is printed; found {error.strerror}.")
        status = UNREAD
    except Exception as error:
        if hasattr(error, "format_message"):  # a fault in the command line itself
            fail(error.format_message())
        raise
    if status == INTERRUPTED:  # some versions of typer swallow the interrupt and give its status
        print("interrupted", file=sys.stderr)
    sys.exit(status if isinstance(status, int) else 0)


def fail(message: str) -> None:
    """One line on stderr, status 2."""
    with suppress(OSError):  # standard error takes nothing either
        print("dpmarket: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


def read_scenario(
    source: str, overrides: list[str] | None, data: Path | None, seed: int | None = None, allow_code: bool = False
):
    """The scenario with what the command line changes."""
    from scenarios.schema.loading import load

    return load(source, changes(overrides, seed), allow_code=allow_code, data_folder=data)


def changes(overrides: list[str] | None, seed: int | None) -> list[str]:
    """What the command line changes of a scenario, as ``--set`` takes it."""
    return [*(overrides or []), *([] if seed is None else [f"seed={seed}"])]


@contextmanager
def naming(source: str):
    """Puts the scenario's name before a fault that does not name a file yet."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(("/", ".", "--")) or ": " in error.key:
            raise
        raise InputError(f"{source}: {error.key}", error.rule, error.found, error.remedy) from None


@app.command()
def run(
    scenario: ScenarioArg,
    out: Annotated[
        Path | None, typer.Option(help="Result folder [default: results/NAME, changes by --set or --seed in its name].")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a result folder with other files, which are kept.")
    ] = False,
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
    no_train: Annotated[bool, typer.Option("--no-train", help="Stop at the equilibrium.")] = False,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Run the Python file that a policy of kind user names.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Status 3 when not certified, or training contradicts the forecast or the money."
        ),
    ] = False,
) -> int:
    """Settle the market of a scenario, train at its equilibrium, and check the forecast."""
    from scenarios.output.places import check_folder
    from scenarios.result import FILES, default_folder, save

    folder = out or default_folder(scenario, changes(overrides, seed))
    check_folder(folder, FILES, force=force)
    chosen = read_scenario(scenario, overrides, data_folder, seed, allow_code)
    from scenarios.report.page import write_report
    from scenarios.runner import run as run_scenario
    from scenarios.verdict import promises_kept

    with naming(scenario), stages() as progress:
        result = run_scenario(chosen, training=not no_train, progress=progress)
        progress("writing the report")
        save(result, folder, write_report, force=force)
    from scenarios.command.console import print_result

    print_result(result.content, folder)
    return 3 if strict and not promises_kept(result.content) else 0


@app.command()
def forecast(
    scenario: ScenarioArg,
    epsilon: Annotated[str, typer.Option(help="Budgets, one per owner or one for all: 1,1,1 (inf: no noise).")],
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
) -> None:
    """Forecast the model at given budgets, without any game."""
    chosen = read_scenario(scenario, overrides, data_folder, seed)
    from scenarios.command.console import print_forecast
    from scenarios.planning import prepare
    from scenarios.summary import forecast_part
    from scenarios.tables.dataset import market_data

    with naming(scenario), stages() as progress:
        progress("reading the records")
        data = market_data(chosen)
        budgets = parse_budgets(epsilon, len(data.owners), spent=chosen.owners.report)
        planner = prepare(chosen, data, progress).planner
        prediction = planner.predict(budgets)
        part = forecast_part(data, planner, budgets, prediction)
    print_forecast(data, planner, budgets, part, prediction)


def parse_budgets(text: str, n_owners: int, *, spent: float = 0.0):
    """Budgets from text: one per owner, or one for all; inf means no noise, 0 nothing shared; others are above ``spent``."""
    import numpy as np

    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError("--epsilon", "must be numbers with commas between, such as 1,1,1", repr(text)) from None
    if any(not value >= 0 for value in values):
        raise InputError("--epsilon", "must not hold negative numbers or nan", repr(text))
    if any(0 < value <= spent for value in values):
        raise InputError(
            "--epsilon", f"must be above owners.report, {spent:g}, which is spent before, or 0", repr(text)
        )
    if len(values) not in (1, n_owners):
        raise InputError("--epsilon", f"must have one number, or one per owner ({n_owners})", f"{len(values)} numbers")
    return np.array(values * n_owners if len(values) == 1 else values)


@app.command()
def audit(
    scenario: ScenarioArg,
    epsilon: Annotated[
        str | None, typer.Option(help="Budgets, one per owner or one for all [default: what the market settles on].")
    ] = None,
    draws: Annotated[int | None, typer.Option(min=100, help="Draws of all answers, per world and half.")] = None,
    bugs: Annotated[bool, typer.Option("--planted", help="Plant known bugs too, and say which are seen.")] = False,
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
) -> int:
    """Put a scenario's claims to the test: its training is checked, its answers are attacked."""
    chosen = read_scenario(scenario, overrides, data_folder, seed)
    from learning.audit.auditor import DRAWS
    from scenarios.command.audit_tables import print_audit, print_caught
    from scenarios.studies.audit import audit_scenario

    budgets = None if epsilon is None else partial(parse_budgets, epsilon, spent=chosen.owners.report)
    with naming(scenario), stages() as progress:
        found = audit_scenario(chosen, budgets, draws=draws or DRAWS, bugs=bugs, progress=progress)
    print_audit(found)
    if found.caught:
        print_caught(found.caught)
    return 3 if found.refuted else 0


@app.command()
def check(scenario: ScenarioArg, overrides: Overrides = None, data_folder: DataFolder = None) -> None:
    """Check a scenario file and its table, without running anything."""
    chosen = read_scenario(scenario, overrides, data_folder)
    from scenarios.command.console import print_check
    from scenarios.tables.dataset import market_data

    with naming(scenario):
        data = market_data(chosen)
    print_check(chosen, data)


@app.command()
def scenarios(data_folder: DataFolder = None) -> None:
    """List the scenarios that come with the program, and say whose data is not there."""
    from scenarios.command.console import PlainTable, Terminal
    from scenarios.schema.loading import library, load
    from scenarios.tables.paths import table_exists

    rows = PlainTable("", "scenario", "data")
    rows.add_column("", justify="left")
    lacking = False
    for name, path in library().items():
        here = table_exists(load(path, data_folder=data_folder))
        lacking |= not here
        first = path.read_text(encoding="utf-8").splitlines()[0]
        rows.add_row(name, "here" if here else "MISSING", first.lstrip("# "))
    out = Terminal()
    out.print(rows)
    if lacking:
        out.say("MISSING: give the folder that holds the data with --data DIR or DPMARKET_DATA=DIR")


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A result folder.")]) -> None:
    """Draw the figures and write the report of a saved result again."""
    from scenarios.output.manifest import seal
    from scenarios.report.figures import draw_figures
    from scenarios.report.page import write_report
    from scenarios.result import load_result

    load_result(folder)
    try:
        drawn = [*draw_figures(folder), write_report(folder)]
        seal(folder, drawn)
    except OSError as error:
        raise InputError(str(folder), "must be a folder that can be written to", error.strerror or error) from None
    except Exception as error:  # a damaged result may raise almost anything
        found = f"{type(error).__name__}: {error}"
        raise InputError(str(folder), "must be a whole result", found, "Run the scenario again.") from error
    print(drawn[-1])


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(metavar="[ID]", help="What to reproduce, or all.")] = "all",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets that do not come along.")] = None,
    out: Annotated[Path, typer.Option(help="Folder where calibration keeps what it has done.")] = Path("reproduced"),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of each market, for calibration.")] = 40,
    workers: Annotated[int, typer.Option(min=1, help="Processes, for calibration.")] = os.cpu_count() or 1,
) -> int:
    """Reproduce published tables, and check the program's own promises, with a status for each."""
    from scenarios.reproduce import STUDIES
    from scenarios.reproduce.calibration import check_kept
    from scenarios.reproduce.study import Options

    if study != "all" and study not in STUDIES:
        from scenarios.schema.fields import nearest

        raise InputError("reproduce", "must be a known study or all", study, nearest(study, list(STUDIES)))
    chosen = list(STUDIES) if study == "all" else [study]
    if "calibration" in chosen:
        check_kept(out)
    with stages() as progress:
        options = Options(data, out, seeds, workers)
        tables = [STUDIES[name](options, progress) for name in chosen]
    from scenarios.command.console import print_study

    for table in tables:
        print_study(table)
    return 0 if all(row.holds is not False for table in tables for row in table.rows) else 3


app.command()(mechanisms)


if __name__ == "__main__":
    main()
