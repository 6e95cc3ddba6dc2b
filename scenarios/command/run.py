"""Commands on one market: run it, forecast its model, write its report again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from learning.display import show_stages
from learning.errors import InputError
from learning.program import declare_command
from scenarios.command.options import UNMET, AllowCode, Changes, ScenarioArg

if TYPE_CHECKING:
    import numpy as np


@declare_command
def run(
    scenario: ScenarioArg,
    *,
    out: Path | None = None,
    force: bool = False,
    changes: Changes,
    no_train: bool = False,
    allow_code: AllowCode = False,
    strict: bool = False,
) -> int:
    """Compute a market's equilibrium, train the model there, and test the forecast.

    Parameters
    ----------
    out : Result folder [default: results/NAME, changes by --set or --seed in its name].
    force : Write into a result folder with other files, which are kept.
    no_train : Compute the equilibrium only; train nothing.
    strict : Exit with status 3 if no equilibrium is certified, or if training contradicts the
        forecast or the money.
    """
    from scenarios.output.places import check_folder
    from scenarios.result import FILES, default_folder, save_result
    from scenarios.schema.loading import is_game_file

    folder = out or default_folder(scenario, changes.assignments)
    if is_game_file(scenario):
        from scenarios.command.game import run_game

        return run_game(scenario, changes, folder, force=force, strict=strict)
    check_folder(folder, FILES, force=force)
    chosen = changes.load_scenario(scenario, allow_code=allow_code)
    import agents.model  # noqa: F401  # first, as Mesa goes through all modules loaded before it
    from scenarios.report.memo import write_pages
    from scenarios.runner import run as run_scenario
    from scenarios.summary.verdict import promises_kept

    with changes.placing_faults(scenario), show_stages() as progress:
        result = run_scenario(chosen, training=not no_train, progress=progress)
        progress("writing the report")
        save_result(result, folder, partial(write_pages, result=result.content), force=force)
    from scenarios.command.console import print_result

    print_result(result.content, folder)
    return UNMET * (strict and not promises_kept(result.content))


@declare_command
def forecast(scenario: ScenarioArg, *, epsilon: str, changes: Changes) -> None:
    """Forecast the model's error at stated budgets, without a game.

    Parameters
    ----------
    epsilon : Budgets, one per owner or one for all, such as 1,1,1 (inf: no noise).
    """
    chosen = changes.load_scenario(scenario)
    from learning.workers import keep_workers
    from scenarios.command.console import print_forecast
    from scenarios.planning import prepare
    from scenarios.summary.forecast import forecast_part
    from scenarios.tables.dataset import market_data

    with changes.placing_faults(scenario), show_stages() as progress, keep_workers():
        progress("reading the records")
        data = market_data(chosen)
        budgets = parse_budgets(epsilon, len(data.owners), spent=chosen.owners.report)
        planner = prepare(chosen, data, progress).planner
        prediction = planner.predict(budgets)
        part = forecast_part(data, planner, budgets, prediction)
    print_forecast(data, planner, budgets, part, prediction)


def parse_budgets(text: str, n_owners: int, *, spent: float = 0.0) -> np.ndarray:
    """Read budgets from text, one per owner or one for all.

    inf means no noise, 0 nothing shared; others are above ``spent``.
    """
    import numpy as np

    from learning.phrases import format_value
    from scenarios.schema.fields import BUDGET_RULE, is_budget

    found = format_value(text)
    try:
        values = np.array([float(part) for part in text.split(",")])
    except ValueError:
        rule = "must be numbers with commas between, such as 1,1,1"
        raise InputError("--epsilon", rule, found) from None
    if not (values >= 0).all():
        raise InputError("--epsilon", "must not hold negative numbers or nan", found)
    if not all(value == np.inf or is_budget(value) for value in values):
        raise InputError("--epsilon", f"{BUDGET_RULE}, or be inf", found)
    if ((values > 0) & (values <= spent)).any():
        rule = f"must be 0, or above owners.report, {spent:g}, which is spent first"
        raise InputError("--epsilon", rule, found)
    if len(values) not in (1, n_owners):
        rule = f"must have one number, or one per owner ({n_owners})"
        raise InputError("--epsilon", rule, f"{len(values)} numbers")
    return np.broadcast_to(values, n_owners).copy()


@declare_command
def report(folder: Path) -> None:
    """Write the report and figures of a saved result again.

    Parameters
    ----------
    folder DIR : A result folder.
    """
    from learning.phrases import escape_control
    from scenarios.output.folders import write_together
    from scenarios.output.manifest import MANIFEST, write_manifest
    from scenarios.report.figures import draw_figures
    from scenarios.report.memo import write_pages
    from scenarios.result import FILES, REPORT, changed_facts, load_result, naming_damage

    if (folder / "game.json").is_file():
        from scenarios.command.game import draw_again

        draw_again(folder)
    else:
        load_result(folder)
        with write_together(folder, (*FILES, MANIFEST)) as new, naming_damage(folder):
            write_manifest(new, [*draw_figures(new), *write_pages(new)])
        if changed := changed_facts(folder):
            print(f"changed by hand since the run: {', '.join(changed)}")
    print(escape_control(str(folder / REPORT)))
