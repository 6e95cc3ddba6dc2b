"""`dpmarket dashboard`: a market in the browser."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from learning.display import show_stages
from learning.extras import check_extra
from learning.program import declare_command
from scenarios.command.options import Changes, ScenarioArg

APP = "solara", "starlette", "uvicorn", "ipyvuetify"  # what the extra brings, as it is imported


@declare_command
def dashboard(
    scenario: ScenarioArg = "three_insurers",
    *,
    port: Annotated[int, Option(min=0, max=65535)] = 8765,
    host: str = "127.0.0.1",
    no_browser: bool = False,
    changes: Changes,
) -> None:
    """Show a market in the browser, with sliders, the owners' moves and training. Stop it with
    Ctrl-C.

    Parameters
    ----------
    scenario [SCENARIO] : A scenario file, or a name of the library.
    port : Port of the page; 0 chooses a free one.
    host : Address of the page; by default only this machine can open it.
    no_browser : Open no browser; print the address of the page.
    """
    check_extra("dashboard", "app", *APP)
    chosen = changes.load_scenario(scenario)
    from scenarios.dashboard.serve import address, application, listening, serve

    made = listening(host, port)
    app = application(host)
    from scenarios.dashboard.screen import open_screen, put_up
    from scenarios.dashboard.state import Opened, check_shown
    from scenarios.planning import prepare

    with changes.placing_faults(scenario), show_stages() as progress:
        check_shown(chosen)
        chosen.learner.check_value("the dashboard")
        prepared = prepare(chosen, progress=progress)
        progress("settling the market")
        put_up(open_screen(Opened(scenario, chosen, prepared)))
    url = address(made, host)
    shown = f"{chosen.title or scenario} is shown at {url} (Ctrl-C ends it)"
    serve(app, made, url, f"{shown}. Nothing leaves this machine.", browser=not no_browser)
