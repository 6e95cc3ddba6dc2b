"""HTML and SVG of the page, from the templates beside this file."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from learning.phrases import surest
from scenarios.report.phrases import make_environment, render_lines
from scenarios.report.wording import format_percent


def render_part(name: str, *values: Any, of: str = "words.html.j2", **named: Any) -> Markup:
    """Render a macro of a template.

    Parameters
    ----------
    name: the macro.
    values, named: its arguments.
    of: the template.
    """
    return Markup(getattr(_environment().get_template(of).module, name)(*values, **named))


def sure_of(epsilon: float) -> str:
    """Bound on how sure an even guess becomes that a record is there."""
    return format_percent(surest(epsilon))


@cache
def _environment() -> Environment:
    environment = make_environment("templates", autoescape=lambda name: True)
    environment.loader = PackageLoader("scenarios.dashboard", "templates")
    environment.globals |= {"lines": render_lines, "sure_of": sure_of}
    environment.filters["points"] = lambda points: " ".join(f"{x:g},{y:g}" for x, y in points)
    return environment
