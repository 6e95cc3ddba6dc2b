"""Text of a first scenario, each entry with its reason and how to change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Any

from learning.phrases import escape_control, toml_value
from scenarios.report.phrases import make_environment, render_phrase
from scenarios.schema.toml import toml_key
from scenarios.starting.guesses import Guesses
from scenarios.starting.money import RANGE, Offer
from scenarios.starting.shares import HOLDOUT, SEED

NAMED = 12  # owners and columns whose names are written out
WIDTH = 112  # characters of a line
BESIDE = 35  # where a comment beside a short entry begins
TEMPLATE = "first.toml.j2"
FINDINGS = {  # what is printed of a draft, and how to change it
    "target": "--target COLUMN",
    "loss": "learning.loss",
    "owners": "--owner COLUMN, --owners N",
    "public": "data.public_rows",
    "features": "data.features",
    "left_out": "data.features",
    "range": "data.bounds",
    "noise": "learning.delta",
    "money": "owners.cost.price, policy.price",
    "value": "learner.value.money",
    "protected": "data.features",
}
NO_MONEY = "data.features, data.public_rows"


def render_scenario(guesses: Guesses, offer: Offer, privacy: str, **values: Any) -> str:
    """Render a first scenario, with a comment beside or above each entry.

    Parameters
    ----------
    guesses: what is taken of the table.
    offer: its money.
    privacy: "pure", or "approximate" with a delta.
    values: title, table and its path, name of the file, and names of the owners.
    """
    environment = make_environment("templates").overlay(trim_blocks=True)
    environment.filters["comments"] = write_comments
    constants = {"NAMED": NAMED, "SEED": SEED, "HOLDOUT": HOLDOUT, "RANGE": RANGE}
    template = environment.get_template(TEMPLATE, globals=constants | {"entry": write_entry})
    return template.render(guesses=guesses, offer=offer, privacy=privacy, **values).lstrip()


def list_findings(guesses: Guesses, offer: Offer, privacy: str) -> list[tuple[str, str, str]]:
    """List what was guessed, for the terminal: what of, what, and how to change it."""
    ways = FINDINGS if offer.trades else FINDINGS | {"money": NO_MONEY}
    found = {name: render_phrase("first", name, guesses, offer, privacy) for name in ways}
    return [(name.replace("_", " "), text, ways[name]) for name, text in found.items() if text]


def write_entry(key: str, value: Any, caller: Callable[[], str], *, used: bool = True) -> str:
    """Write an entry with its comment beside it where there is room, else above.

    Parameters
    ----------
    key: its name in the table.
    value: its value.
    caller: gives the comment.
    used: whether it holds; else the entry is a comment itself, to be taken in.
    """
    lines = list(_wrap_value(f"{toml_key(key)} = ", value))
    if not used:
        lines = [f"# {line}" for line in lines]
    comment = escape_control(" ".join(caller().split()))
    if comment:
        beside = f"{lines[-1]:<{BESIDE}}" if len(lines[-1]) < BESIDE else f"{lines[-1]}  "
        beside += f"# {comment}"
        if len(lines) == 1 and len(beside) <= WIDTH:
            return beside + "\n"
        lines = [*(f"# {line}" for line in _wrap_words(comment)), *lines]
    return "\n".join(lines) + "\n"


def write_comments(text: str) -> str:
    """Write paragraphs as comments; an indented one keeps its lines."""
    lines: list[str] = []
    for paragraph in text.strip("\n").split("\n\n"):
        kept = paragraph.startswith("    ")
        lines += [*(paragraph.split("\n") if kept else _wrap_words(paragraph)), ""]
    return "".join(f"# {escape_control(line)}".rstrip() + "\n" for line in lines[:-1])


def _wrap_words(text: str) -> list[str]:
    return wrap(text, WIDTH - 2, break_long_words=False, break_on_hyphens=False)


def _wrap_value(before: str, value: Any) -> Iterator[str]:
    """Write a value on one line, or a long list over several."""
    line = before + toml_value(value)
    if len(line) > WIDTH and isinstance(value, (list, tuple)):
        yield f"{before}["
        line = "   "
        for item in value:
            part = f" {toml_value(item)},"
            if len(line) + len(part) > WIDTH and line.strip():
                yield line
                line = "   "
            line += part
        yield line
        line = "]"
    yield line
