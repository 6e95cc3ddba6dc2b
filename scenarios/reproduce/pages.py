"""The page of the reproduction book: a status for each item, then claim, checks, reasons and figure of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from scenarios.reproduce.book import FOLDER, HEADER, Outcome
from scenarios.reproduce.item import STATUSES, Check, compared

SOURCES = {
    "VC": (
        "The Value of Collaboration",
        "Wu, Farokhi, Smith and Kaafar: The Value of Collaboration in Convex Machine Learning with Differential Privacy. "
        "Synchronous training. Chapter 3 of Wu's thesis has the same figures: 3.1 to 3.10 there are VC-2 to VC-11 here.",
    ),
    "AS": (
        "The Cost of Privacy",
        "Farokhi, Wu, Smith and Kaafar: The Cost of Privacy in Asynchronous Differentially-Private Machine Learning.",
    ),
    "WD": (
        "Weighted distributed training",
        "Kang, Liu and Wang: Weighted Distributed Differential Privacy ERM: Convex and Non-convex.",
    ),
    "TH": (
        "The thesis",
        "Wu: Privacy Preserving Distributed Data Processing and Game Theoretic Methods for Data Utility and Privacy "
        "Tradeoffs. Measures of leakage and utility (chapter 2) and compensation games (chapter 4).",
    ),
    "MP": (
        "The multi-party write-up",
        "Multi-party DP write-up 2: the algorithms SGD1 and SGD2, theorems without figures.",
    ),
    "B": ("Bounds", "Every published bound beside what the exact law says and what was measured."),
    "JKY": (
        "The l2 mechanism",
        "Joseph, Kulesza and Yu: Approximate Differential Privacy of the l2 Mechanism.",
    ),
    "N2": (
        "Procurement and rivals",
        "Mechanisms that buy from owners with private costs, with the numbers that their papers print, and other markets' "
        "rules on the same owners, seeds and budget.",
    ),
    "E": (
        "Errata",
        "Where the sources are wrong or silent: what they print, what holds, and a demonstration that anyone can run. Here "
        "*reproduced* says that the error shows; what the source would have found stands beside it.",
    ),
}
INTRODUCTION = """
No public code is known for the papers of the first four parts. Each item below is a figure, table, theorem or erratum of a
source, computed by this program: `dpmarket reproduce ID` computes one, `dpmarket reproduce all --data DIR` all of them, and
writes this page with its figures and numbers. Claims are told in our words. What a check must lie between follows from a
number or a word of the source (how far a word like *steady* reaches is our choice), from an exact law, or from an
independent program, which is then named; where the source says nothing of it, its column is empty. The program's own
promises are checked by `dpmarket reproduce calibration` and `dpmarket reproduce protocol`.

ψ is relative fitness, how far a model's cost lies above the best possible one, as a share of that; ε the privacy budget that
an owner sells; n the records of all owners, n_i those of one; Ξ the bound on a record's gradient that noise is scaled to.
"""


def page(outcomes: Sequence[Outcome]) -> str:
    """The page as Markdown; figures and numbers lie in a folder "reproduction" beside it.

    Parameters
    ----------
    outcomes : of the items, sorted by source.
    """
    stood_in = any(one.stand_in for one in outcomes)
    parts = [
        f"{HEADER}\n{INTRODUCTION}",
        "\n".join(f"* **{status}**: {meaning}." for status, meaning in STATUSES.items()) + "\n",
        *(["Some items were computed on generated **stand-ins**, and say so.\n"] if stood_in else []),
        *_statuses(outcomes),
    ]
    for source, group in groupby(outcomes, lambda one: one.item.source):
        title, about = SOURCES[source]
        parts += [f"## {title}\n", f"{about}\n", *(_section(one) for one in group)]
    return "\n".join(parts)


def _statuses(outcomes: Iterable[Outcome]) -> list[str]:
    rows = [
        (f"[{key}](#{key.lower().replace('.', '')})", one.item.title, _mark(one), _held(one.checks), why(one))
        for one in outcomes
        for key in [one.item.key]
    ]
    return _table(("item", "what", "status", "checks that hold", "what does not"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table; a bar in a cell is no end of it."""
    lines = [heads, ["---"] * len(heads), *rows]
    return [*("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines), ""]


def why(one: Outcome) -> str:
    """Why an item is not reproduced whole: the first check that fails, and how many others do."""
    failed = [check for check in one.checks if not check.holds]
    if one.reason or not failed:
        return one.reason
    first = f"{failed[0].what}: {digits(failed[0].found)}, not {must(failed[0])}"
    return first + (f"; and {len(failed) - 1} more" if failed[1:] else "")


def _mark(one: Outcome) -> str:
    return f"**{one.status}**" + (", on a stand-in" if one.stand_in and not one.reason else "")


def _held(checks: Sequence[Check]) -> str:
    limited = compared(checks)
    return f"{sum(check.holds for check in limited)} of {len(limited)}" if limited else ""


def _section(one: Outcome) -> str:
    item = one.item
    parts = [
        f"### {item.key}\n",
        f"**{item.title}.** {item.where}. Status: {_mark(one)}.\n",
        f"*The source:* {item.claim}\n",
    ]
    if one.reason:
        parts.append(f"*Not possible here:* {one.reason}\n")
    if one.checks:
        rows = [(check.what, check.published, digits(check.found), must(check), word(check)) for check in one.checks]
        parts += _table(("checked", "source", "found", "must lie in", ""), rows)
    if item.differs:
        parts.append(f"*Why ours differs, and readings taken:* {item.differs}\n")
    if one.note:
        parts.append(f"*Data:* {one.note}\n")
    if not one.reason:
        if item.draw is not None:
            parts.append(f"![{item.title}]({FOLDER}/{item.key}.svg)\n")
        parts.append(f"Every number: [{item.key}.csv]({FOLDER}/{item.key}.csv).\n")
    return "\n".join(parts)


def word(check: Check) -> str:
    """Whether it holds, in a word."""
    return "told" if check.kind == "told" else "holds" if check.holds else "fails"


def must(check: Check) -> str:
    """Where what was found must lie, in words; empty of what is only told."""
    if check.kind == "told":
        return ""
    low, high = digits(check.low), digits(check.high)
    if check.low == check.high:
        return low
    if check.high == float("inf"):
        return f"at least {low}"
    return f"at most {high}" if check.low == -float("inf") else f"{low} to {high}"


def digits(value: float) -> str:
    """A number with as many digits as a reader needs.

    >>> digits(-2.0031), digits(0.98), digits(3.0), digits(12345.6)
    ('-2.003', '0.98', '3', '1.235e+04')
    """
    return f"{value:.4g}"
