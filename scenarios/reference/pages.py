"""Pages with generated parts, each between two comments that name it.

What stands around them is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from scenarios.reference.keys import exclusion_lines, key_lines
from scenarios.reference.options import command_lines
from scenarios.reference.results import DESCRIPTIONS, field_lines
from scenarios.schema.game import GameFile
from scenarios.schema.scenario import scenario_model
from scenarios.sweeping.study import Study

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
BEGIN = "<!-- {} (generated: python -m scenarios.reference) -->\n"
END = "<!-- end of {} -->\n"
Lines = Callable[[], Iterable[str]]
PAGES: dict[Path, dict[str, Lines]] = {
    FOLDER / "command.md": {"commands": command_lines},
    FOLDER / "scenario.md": {
        "keys": lambda: key_lines(scenario_model()),
        "exclusions": exclusion_lines,
    },
    FOLDER / "game.md": {"keys": partial(key_lines, GameFile, kinds=False)},
    FOLDER / "study.md": {"keys": partial(key_lines, Study)},
    FOLDER / "result.md": {file: partial(field_lines, file) for file in DESCRIPTIONS},
}


def write_page(page: Path) -> str:
    """Write a page with its generated parts as the code has them now."""
    text = page.read_text(encoding="utf-8")
    for name, lines in PAGES[page].items():
        begin = BEGIN.format(name)
        end = END.format(name)
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{page}: lacks {begin.strip()} ... {end.strip()}")
        made = "\n".join(lines()).strip()
        text = f"{before}{begin}\n{made}\n\n{end}{after}"
    return text
