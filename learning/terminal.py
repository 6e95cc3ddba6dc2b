"""Plain text on a terminal; names can do nothing but be read."""

from __future__ import annotations

import re
import textwrap

from rich.console import Console

from learning.phrases import escape_control

TITLE = re.compile(r"(\S{1,20}(?: \S{1,20})?)? {2,}(?=\S)")  # the title of a line
# Not every terminal can show what a page can.
PLAIN = str.maketrans("\u00a0−–⁻⁰¹²³⁴⁵⁶⁷⁸⁹", " ---0123456789", "") | str.maketrans(
    {"ε": "epsilon", "δ": "delta", "κ": "kappa", "∞": "inf", "“": '"', "”": '"'}
)


def plain(text: str) -> str:
    """Replace the signs of a text that a terminal may lack, and escape those that command it.

    >>> plain("1.5\u00a0×\u00a010⁻⁹, −2\u00a0% at ε = ∞")
    '1.5e-9, -2 % at epsilon = inf'
    """
    shown = text.replace("\u00a0×\u00a010", "e").translate(PLAIN)
    return "\n".join(map(escape_control, shown.split("\n")))


def hanging(line: str, width: int) -> str:
    """Break a long line at blanks, the rest under the text behind its title, or indented.

    >>> print(hanging("forecast     1.69 % above the best possible error", 32))
    forecast     1.69 % above the
                 best possible error
    """
    title = TITLE.match(line)
    start = 0
    if title:
        start = title.end()
    parts = textwrap.wrap(
        line[start:],
        max(width, start + 20),
        subsequent_indent=" " * (start or 2),
        initial_indent=" " * start,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return line[:start] + "\n".join(parts)[start:]


def titled(title: str, *lines: str) -> str:
    """Put a title before the first of some lines and indent the others; skip empty lines."""
    titles = [title, *[""] * len(lines)]
    said = zip(titles, filter(None, lines), strict=False)
    return "\n".join(f"{head:12} {line}" for head, line in said)


class Terminal(Console):
    """Standard output; at least as wide as a table when piped, and without markup."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)
        if not self.is_terminal:
            super().__init__(width=120, soft_wrap=True, highlight=False, markup=False, emoji=False)

    def say(self, *texts: str) -> None:
        """Print lines of text, without empty ones."""
        for text in filter(None, texts):
            for line in plain(text).split("\n"):
                if self.is_terminal:
                    line = hanging(line, self.width)
                self.print(line)
