"""What every page has: its title in the browser, its style, its head with the way to the other, its foot."""

from __future__ import annotations

from html import escape
from importlib.resources import files

import solara

from scenarios.dashboard.pages.widgets import Panel

WAYS = {"/": "Market", "/lesson": "The game in four steps"}
FOOTER = (
    "<footer>Everything on this page is computed on this machine and shown by it: nothing is "
    "fetched from elsewhere, "
    "nothing is sent anywhere. Noise comes from a seeded generator: for study, not for "
    "release.</footer>"
)
STYLE = "\n".join(
    (files("scenarios") / place).read_text(encoding="utf-8")
    for place in ("report/templates/style.css.j2", "dashboard/pages/style.css")
)


def framed(path: str, title: str) -> None:
    """The title in the browser, the style, and the head of the page at a path."""
    solara.Title(f"{title} · dpmarket")
    solara.Style(STYLE)
    links = (
        f'<a href="{to}"{" aria-current=page" if to == path else ""}>{name}</a>'
        for to, name in WAYS.items()
    )
    Panel(
        html=(
            f"<header><h1>{escape(title)}</h1><nav "
            f"aria-label='Pages'>{''.join(links)}</nav></header>"
        )
    )
