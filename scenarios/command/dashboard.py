"""`dpmarket dashboard`: a market in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from learning.errors import check_extra
from scenarios.command.options import DataFolder, Overrides, Seed, changes, library_names, naming
from scenarios.command.progress import stages

PORT = 8765
APP = "solara", "starlette", "uvicorn", "ipyvuetify"  # what the extra brings, as it is imported


def dashboard(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="[SCENARIO]",
            help="A scenario file, or a name of the library.",
            autocompletion=library_names,
        ),
    ] = "three_insurers",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page; 0 is any that is free.")
    ] = PORT,
    host: Annotated[
        str, typer.Option(help="Address that the page is shown at: this machine alone.")
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Open no browser; print where the page is.")
    ] = False,
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
) -> None:
    """Show a market in the browser: move sliders, watch owners answer each other, train; until Ctrl-C."""
    from scenarios.schema.loading import load

    check_extra("dashboard", "app", *APP)
    changed = changes(overrides, seed)
    chosen = load(scenario, changed, data_folder=data_folder)
    from scenarios.dashboard.serve import address, application, listening, serve

    made = listening(host, port)
    app = application(host)
    from scenarios.dashboard.screen import open_screen, put_up
    from scenarios.dashboard.state import Opened, check_shown
    from scenarios.planning import prepare

    with naming(scenario, changed), stages() as progress:
        check_shown(chosen)
        prepared = prepare(chosen, progress=progress)
        progress("settling the market")
        put_up(open_screen(Opened(scenario, chosen, prepared)))
    url = address(made, host)
    told = (
        f"{chosen.title or scenario} is shown at {url} (Ctrl-C ends it). Nothing leaves this "
        "machine."
    )
    serve(app, made, url, told, browser=not no_browser)
