"""How the command prints: plain text and tables, in which names can do nothing but be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from scenarios.report.wording import currency_of
from scenarios.schema.toml import visible

# Not every terminal can show what a page can.
PLAIN = str.maketrans("\u00a0−–⁻⁰¹²³⁴⁵⁶⁷⁸⁹", " ---0123456789", "") | str.maketrans(
    {"ε": "epsilon", "δ": "delta", "κ": "kappa", "∞": "inf"}
)


def plain(text: str) -> str:
    """Text without signs that a terminal may lack, and without any that command it.

    >>> plain("1.5\u00a0×\u00a010⁻⁹, −2\u00a0% at ε = ∞")
    '1.5e-9, -2 % at epsilon = inf'
    """
    return "\n".join(map(visible, text.replace("\u00a0×\u00a010", "e").translate(PLAIN).split("\n")))


class Terminal(Console):
    """Standard output; never narrower than a table when it is no terminal, and names in brackets are no markup."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)
        if not self.is_terminal:
            super().__init__(width=120, soft_wrap=True, highlight=False, markup=False, emoji=False)

    def say(self, *lines: str) -> None:
        """Print lines of text, but for empty ones."""
        for line in filter(None, lines):
            self.print(plain(line))


class PlainTable(Table):
    """A table with the first column left and the rest right."""

    def __init__(self, title: str, *columns: str) -> None:
        super().__init__(
            title=visible(title) or None, title_justify="left", box=None, pad_edge=False, header_style="bold"
        )
        for i, name in enumerate(columns):
            self.add_column(name, justify="left" if i == 0 else "right")

    def add_row(self, *cells: Any, **style: Any) -> None:
        super().add_row(*(visible(plain(str(cell))) for cell in cells), **style)


def in_title(title: str, content: Mapping[str, Any]) -> str:
    """The title of a table, with the currency that its money is in."""
    currency = currency_of(content)
    return f"{title} (money in {currency})" if currency else title


def noted(what: str, names: Sequence[str]) -> str:
    """Names with what they are; empty where there are none."""
    return f"{what}: {', '.join(names)}" if names else ""
