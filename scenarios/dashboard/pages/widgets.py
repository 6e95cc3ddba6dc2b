"""Parts of every page as Solara has them; ``parts/*.vue`` and ``style.css`` are their looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import solara

from scenarios.dashboard.controls import Control
from scenarios.dashboard.rendering import render_part
from scenarios.dashboard.screen import Screen

Event = Callable[[Any], None] | None
Show = Callable[[Callable[[Screen], Screen]], None]
WAYS = {"/": "Market", "/lesson": "The game in four steps"}
STYLES = ("report/templates/style.css.j2", "dashboard/pages/style.css")
SHOWN = ("name", "title", "texts", "at", "was", "words")  # of a control


@solara.component_vue("parts/controls.vue")
def Controls(groups: list[dict[str, Any]], done: int, event_move: Event = None) -> None:
    """Sliders and choices.

    ``event_move`` is called with a name and its new stop, and again when ``done`` has risen.
    """


@solara.component_vue("parts/buttons.vue")
def Buttons(
    title: str,
    buttons: list[dict[str, Any]],
    said: str = "",
    share: float | None = None,
    every: int = 0,
    event_press: Event = None,
) -> None:
    """Buttons in a row.

    ``event_press`` is called with the name of one, and with "tick" every so many milliseconds.
    """


@solara.component_vue("parts/panel.vue")
def Panel(
    html: str, title: str = "", caption: str = "", kind: str = "", live: bool = False
) -> None:
    """A picture or a few words under a title; ``live``: it is read out when it changes."""


@solara.component_vue("parts/source.vue")
def Source(lines: list[tuple[str, bool]], command: str, changes: int) -> None:
    """A scenario as text to copy, changed lines marked."""


def frame_page(path: str, title: str) -> None:
    """Show the title in the browser, the style, and the head of the page at a path."""
    solara.Title(f"{title} · dpmarket")
    solara.Style(
        "\n".join((files("scenarios") / place).read_text(encoding="utf-8") for place in STYLES)
    )
    Panel(html=render_part("header", title, path, WAYS))


def show_controls(screen: Screen, show: Show, controls: Sequence[Control]) -> None:
    """Show controls of the market."""
    Controls(
        groups=group_controls(controls),
        done=screen.done,
        event_move=lambda moved: show(lambda old: old.moved(moved["name"], moved["at"])),
    )


def show_rounds(screen: Screen, show: Show, *, beat: int | None = None) -> None:
    """Show the buttons that play the market; with a ``beat`` in milliseconds, by itself."""
    last = screen.played.last
    ended = screen.at == last
    buttons = [
        make_button("reset", "Reset", disabled=screen.at == 0),
        make_button("step", "Step", disabled=ended, kind="main" * (beat is None)),
        make_button("end", "To the end", disabled=ended),
    ]
    if beat is not None:
        title = {True: "Pause", False: "Play"}[screen.playing]
        buttons.insert(2, make_button("play", title, disabled=not last, kind="main"))
    Buttons(
        title="Rounds",
        buttons=buttons,
        said=f"round {screen.now.number} of {screen.played.rounds[-1].number}",
        every=(beat or 0) * screen.playing,
        event_press=lambda name: show(lambda old: old.pressed(name)),
    )


def group_controls(controls: Sequence[Control]) -> list[dict[str, Any]]:
    """Write controls as the page takes them, those of one group together."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in controls:
        groups.setdefault(one.group, []).append({name: getattr(one, name) for name in SHOWN})
    return [{"title": title, "controls": found} for title, found in groups.items()]


def make_button(name: str, title: str, *, disabled: bool = False, kind: str = "") -> dict[str, Any]:
    """Write a button as the page takes it."""
    return {"name": name, "title": title, "disabled": disabled, "kind": kind}
