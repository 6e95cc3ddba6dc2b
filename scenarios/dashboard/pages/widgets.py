"""The parts of the page as Solara has them; what they look like in the browser stands in ``parts/*.vue``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import solara

from scenarios.dashboard.stops import Control

Event = Callable[[Any], None] | None


@solara.component_vue("parts/controls.vue")
def Controls(groups: list[dict[str, Any]], done: int, event_move: Event = None) -> None:
    """Sliders and choices; ``event_move`` is called with a name and its new stop, and again when ``done`` has risen."""


@solara.component_vue("parts/buttons.vue")
def Buttons(
    title: str,
    buttons: list[dict[str, Any]],
    said: str = "",
    share: float | None = None,
    every: int = 0,
    event_press: Event = None,
) -> None:
    """Buttons in a row; ``event_press`` is called with the name of one, and with "tick" every so many milliseconds."""


@solara.component_vue("parts/panel.vue")
def Panel(
    html: str, title: str = "", caption: str = "", kind: str = "", live: bool = False
) -> None:
    """A picture or a few words under a title; ``live`` where it is read out when it changes."""


@solara.component_vue("parts/source.vue")
def Source(lines: list[tuple[str, bool]], command: str, changes: int) -> None:
    """A scenario as text to copy, what was changed marked."""


def grouped(controls: Sequence[Control]) -> list[dict[str, Any]]:
    """Controls as the page takes them, those of one group together."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in controls:
        told = {
            "name": one.name,
            "title": one.title,
            "texts": one.texts,
            "at": one.at,
            "was": one.was,
        }
        groups.setdefault(one.group, []).append(told | {"words": one.words})
    return [{"title": title, "controls": found} for title, found in groups.items()]


def button(name: str, title: str, *, disabled: bool = False, kind: str = "") -> dict[str, Any]:
    """A button as the page takes it."""
    return {"name": name, "title": title, "disabled": disabled, "kind": kind}
