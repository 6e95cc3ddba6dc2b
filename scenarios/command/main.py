"""The `dpmarket` command.

Faults of the input are one line. Status: 0 done, 1 nobody reads the output, 2 bad input, 3 not
certified (--strict) or refuted (audit), 130 interrupted.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import time
import warnings
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from exchange.command.collect import collect
from exchange.command.contract import contract
from exchange.command.exchange import exchange
from exchange.command.owner import accept, answer, state
from exchange.command.settle import settle
from learning.errors import InputError, check_current_folder, explain_fault
from reproduction.command import reproduce
from scenarios.command.compare import compare
from scenarios.command.dashboard import dashboard
from scenarios.command.design import design
from scenarios.command.init import init
from scenarios.command.mechanisms import mechanisms
from scenarios.command.options import (
    AllowCode,
    DataFolder,
    Overrides,
    ScenarioArg,
    Seed,
    changes,
    naming,
)
from scenarios.command.progress import stages
from scenarios.command.sweep import sweep

UNREAD = 1
INTERRUPTED = 130
UNPRINTED = (
    errno.EPIPE,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
)  # writing to standard output
LONGEST = 1000  # characters of a message
GARBAGE = 500_000  # objects between two searches for cycles, which take a seventh of a short command at Python's own pace
NUMPY = "(overflow|divide by zero|invalid value) encountered"  # what is computed from a number lost is not told

HELP = "A simulator of markets for differentially private data."
app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # what stands in brackets is text
    context_settings={"max_content_width": 110},
)


def main() -> None:
    """Run the command; every fault of the input ends as one line on stderr with status 2."""
    gc.set_threshold(GARBAGE)
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
            status = app(sys.argv[1:] or ["--help"], prog_name="dpmarket", standalone_mode=False)
        print(end="", flush=True)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except OSError as error:
        if error.errno not in UNPRINTED:
            fail(str(explain_fault(error)))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what was not printed goes nowhere
        if error.errno != errno.EPIPE:
            fail(f"standard output: must take what is printed; found {error.strerror}.")
        status = UNREAD
    except Exception as error:
        if hasattr(error, "format_message"):  # a fault in the command line itself
            fail(error.format_message())
        fault = explain_fault(error)
        if fault is None:
            raise
        fail(str(fault))
    if status == INTERRUPTED:  # some versions of typer swallow the interrupt and give its status
        print("interrupted", file=sys.stderr)
    sys.exit(status if isinstance(status, int) else 0)


def fail(*messages: str) -> NoReturn:
    """A line on stderr for each fault, status 2."""
    from learning.phrases import escape_control

    half = LONGEST // 2
    try:
        check_current_folder()
    except InputError as error:  # whatever else was found, this comes first
        messages = (str(error),)
    with suppress(OSError):  # standard error takes nothing either
        for message in messages:
            line = escape_control(" ".join(message.split()))
            print(
                "dpmarket:",
                line if len(line) <= LONGEST else f"{line[:half]} ... {line[-half:]}",
                file=sys.stderr,
            )
    sys.exit(2)


def tell_version(wanted: bool) -> None:
    """Print the version and stop, where that is all that is wanted."""
    if wanted:
        print("dpmarket", version("dpmarket"))
        raise typer.Exit


@app.callback(help=HELP)
def options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=tell_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command()
def run(
    scenario: ScenarioArg,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Result folder [default: results/NAME, changes by --set or --seed in its name]."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Write into a result folder with other files, which are kept."
        ),
    ] = False,
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
    no_train: Annotated[bool, typer.Option("--no-train", help="Stop at the equilibrium.")] = False,
    allow_code: AllowCode = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Status 3 when not certified, or training contradicts the forecast or the money.",
        ),
    ] = False,
) -> int:
    """Settle the market of a scenario, train at its equilibrium, and check the forecast."""
    from scenarios.output.places import check_folder
    from scenarios.result import FILES, default_folder, save_result
    from scenarios.schema.loading import is_game_file, load

    changed = changes(overrides, seed)
    folder = out or default_folder(scenario, changed)
    if is_game_file(scenario):
        from scenarios.command.game import run_game

        return run_game(scenario, changed, folder, force=force, strict=strict)
    check_folder(folder, FILES, force=force)
    chosen = load(scenario, changed, allow_code=allow_code, data_folder=data_folder)
    from scenarios.report.page import write_report
    from scenarios.runner import run as run_scenario
    from scenarios.summary.verdict import promises_kept

    with naming(scenario, changed), stages() as progress:
        result = run_scenario(chosen, training=not no_train, progress=progress)
        progress("writing the report")
        save_result(result, folder, partial(write_report, result=result.content), force=force)
    from scenarios.command.console import print_result

    print_result(result.content, folder)
    return 3 if strict and not promises_kept(result.content) else 0


@app.command()
def forecast(
    scenario: ScenarioArg,
    epsilon: Annotated[
        str, typer.Option(help="Budgets, one per owner or one for all: 1,1,1 (inf: no noise).")
    ],
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
) -> None:
    """Forecast the model at given budgets, without any game."""
    from scenarios.schema.loading import load

    changed = changes(overrides, seed)
    chosen = load(scenario, changed, data_folder=data_folder)
    from scenarios.command.console import print_forecast
    from scenarios.planning import prepare
    from scenarios.summary.forecast import forecast_part
    from scenarios.tables.dataset import market_data

    with naming(scenario, changed), stages() as progress:
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

    from learning.phrases import format_value
    from scenarios.schema.fields import BUDGET_RULE, is_budget

    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            "--epsilon", "must be numbers with commas between, such as 1,1,1", format_value(text)
        ) from None
    if any(not value >= 0 for value in values):
        raise InputError("--epsilon", "must not hold negative numbers or nan", format_value(text))
    if not all(value == np.inf or is_budget(value) for value in values):
        raise InputError("--epsilon", f"{BUDGET_RULE}, or be inf", format_value(text))
    if any(0 < value <= spent for value in values):
        rule = f"must be above owners.report, {spent:g}, which is spent before, or 0"
        raise InputError("--epsilon", rule, format_value(text))
    if len(values) not in (1, n_owners):
        raise InputError(
            "--epsilon",
            f"must have one number, or one per owner ({n_owners})",
            f"{len(values)} numbers",
        )
    return np.array(values * n_owners if len(values) == 1 else values)


@app.command()
def audit(
    scenario: ScenarioArg,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Budgets, one per owner or one for all [default: what the market settles on]."
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(min=100, max=10**7, help="Draws of all answers, per world and half."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for what is found, .json or .md.")] = None,
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
) -> int:
    """Put a scenario's claims to the test: its training is checked, its answers are attacked."""
    from scenarios.command.audit_files import check_out, write_audit
    from scenarios.schema.loading import load

    if out is not None:
        check_out(out)
    changed = changes(overrides, seed)
    chosen = load(scenario, changed, data_folder=data_folder)
    from learning.audit.auditor import DRAWS
    from scenarios.command.audit_tables import print_audit, print_unseen
    from scenarios.studies.audit import audit_scenario

    budgets = (
        None if epsilon is None else partial(parse_budgets, epsilon, spent=chosen.owners.report)
    )
    with naming(scenario, changed), stages() as progress:
        found = audit_scenario(chosen, budgets, draws=draws or DRAWS, progress=progress)
    print_audit(found)
    print_unseen(found)
    if out is not None:
        write_audit(found, scenario, chosen.seed, out)
    return 3 if found.refuted else 0


@app.command()
def check(
    scenario: ScenarioArg,
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
    allow_code: AllowCode = False,
) -> None:
    """Check all that a run would refuse, without running anything: a line for each fault."""
    from scenarios.checking import check_scenario
    from scenarios.schema.loading import is_game_file, load

    changed = changes(overrides, seed)
    began = time.process_time()
    try:
        if is_game_file(scenario):
            from scenarios.command.game import check_game

            return check_game(scenario, changed)
        chosen = load(scenario, changed, allow_code=allow_code, data_folder=data_folder)
        with naming(scenario, changed):
            data = check_scenario(chosen)
    except InputError as error:
        fail(*map(str, error.all))
    from scenarios.command.check_printed import print_check

    print_check(chosen, data, time.process_time() - began)


@app.command()
def scenarios(data_folder: DataFolder = None) -> None:
    """List the scenarios, studies and games that come with the program, and say whose data is not there."""
    from exchange.terminal import Terminal
    from scenarios.command.terminal import PlainTable
    from scenarios.schema.loading import library_games, library_scenarios, load
    from scenarios.sweeping.study import studies
    from scenarios.tables.paths import table_exists

    rows = PlainTable("", "scenario", "data")
    rows.add_column("", justify="left")
    lacking = False
    for name, path in library_scenarios().items():
        here = table_exists(load(path, data_folder=data_folder))
        lacking |= not here
        first = path.read_text(encoding="utf-8").splitlines()[0]
        rows.add_row(name, "here" if here else "MISSING", first.lstrip("# "))
    asked = PlainTable("", "study", "")
    asked.columns[1].justify = "left"
    played = PlainTable("", "game without a table", "")
    played.columns[1].justify = "left"
    for listed, known in ((asked, studies()), (played, library_games())):
        for name, path in known.items():
            listed.add_row(name, path.read_text(encoding="utf-8").splitlines()[0].lstrip("# "))
    out = Terminal()
    out.print(rows)
    out.print(asked)
    out.print(played)
    if lacking:
        out.say("MISSING: give the folder that holds the data with --data DIR or DPMARKET_DATA=DIR")


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A result folder.")]) -> None:
    """Draw the figures and write the report of a saved result again."""
    from learning.phrases import escape_control
    from scenarios.output.folders import write_together
    from scenarios.output.manifest import MANIFEST, write_manifest
    from scenarios.report.figures import draw_figures
    from scenarios.report.page import write_report
    from scenarios.result import FILES, REPORT, changed_facts, load_result, naming_damage

    if (folder / "game.json").is_file():
        from scenarios.command.game import draw_again

        draw_again(folder)
        print(escape_control(str(folder / REPORT)))
        return
    load_result(folder)
    with write_together(folder, (*FILES, MANIFEST)) as new, naming_damage(folder):
        write_manifest(new, [*draw_figures(new), write_report(new)])
    if changed := changed_facts(folder):
        print(f"changed by hand since the run: {', '.join(changed)}")
    print(escape_control(str(folder / REPORT)))


app.command()(accept)
app.command()(answer)
app.command()(collect)
app.command()(compare)
app.command()(contract)
app.command()(dashboard)
app.command()(exchange)
app.command()(init)
app.command()(design)
app.command()(mechanisms)
app.command()(reproduce)
app.command()(settle)
app.command()(state)
app.command()(sweep)


if __name__ == "__main__":
    main()
