"""Page of the reproduction book: status of each item, then its claim, checks and figure."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from math import inf
from pathlib import Path

from jinja2 import Environment

from reproduction.book import FOLDER, HEADER, Outcome
from reproduction.item import COUNTED, GROUPS, STATUSES, SURE, VERDICTS, Check, limited_checks

HERE = Path(__file__).parent
TEXT = tomllib.loads((HERE / "page.toml").read_text(encoding="utf-8"))


def render_page(outcomes: Sequence[Outcome]) -> str:
    """Render the page as Markdown; figures and numbers lie in a folder "reproduction" next to it.

    Parameters
    ----------
    outcomes : outcomes of the items, sorted by source.
    """
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters |= {
        "cell": lambda text: text.replace("|", "\\|"),
        "count_holding": _count_holding,
        "explain": explain_status,
        "found": describe_found,
        "groupby_source": lambda every: groupby(every, lambda one: one.item.source),
        "limits": describe_limits,
        "status": _mark_status,
    }
    template = environment.from_string((HERE / "page.md.j2").read_text(encoding="utf-8"))
    return template.render(
        outcomes=outcomes,
        header=HEADER,
        folder=FOLDER,
        statuses=STATUSES,
        verdicts=VERDICTS,
        kinds=COUNTED,
        headline=count_by_group(outcomes) + weigh_own(outcomes),
        **TEXT,
    )


def count_by_group(outcomes: Sequence[Outcome]) -> list[str]:
    """Count the statuses of each group of items, in a line each; groups are never added up."""
    lines = []
    for group, words in GROUPS.items():
        counts = Counter(one.status for one in outcomes if one.item.group == group)
        if counts:
            ordered = sorted(counts.items(), key=lambda one: (one[0].startswith("not"), one[0]))
            told = ", ".join(f"{count} {status}" for status, count in ordered)
            lines.append(f"{words}, {counts.total()} in all: {told}")
    return lines


def weigh_own(outcomes: Sequence[Outcome]) -> list[str]:
    """Weigh the sources' own items: what rests on a limit of ours, and what can hardly fail.

    Both follow from the traits of their laws.
    """
    laws: dict[str, dict[str, list[Check]]] = {}
    for one in outcomes:
        if one.item.group == "own":
            of_item = [check for check in one.checks if check.kind == "law"]
            laws.setdefault(one.verdict, {})[one.item.key] = of_item
    lines = []
    if missed := laws.get("not reproduced", {}):
        rest = [key for key, found in missed.items() if _all_have("word", found, "fails")]
        lines.append(
            f"of the {len(missed)} not reproduced, in {len(rest)} all laws that fail rest on "
            "limits that are ours alone, where the source has a word and no number"
            f"{_list_keys(rest)}"
        )
    if held := laws.get("reproduced", {}):
        sure = [key for key, found in held.items() if _all_have("sure", found, "holds")]
        lines.append(
            f"of the {len(held)} reproduced, {len(sure)} can hardly fail" + _list_keys(sure)
        )
    if shaped := [check for found in laws.get("shape", {}).values() for check in found]:
        many = sum(check.trait == "sure" for check in shaped)
        lines.append(
            f"of the {len(shaped)} laws of those that have the shape, {many} can hardly fail"
        )
    return lines


def _list_keys(keys: Sequence[str]) -> str:
    """List keys after a colon; empty for none."""
    return f": {', '.join(keys)}" if keys else ""


def _all_have(trait: str, laws: Sequence[Check], verdict: str) -> bool:
    """True where laws with a verdict, of which there are some, have all the same trait."""
    found = [check.trait == trait for check in laws if check.verdict == verdict]
    return bool(found) and all(found)


def explain_status(one: Outcome) -> str:
    """Explain a status: the first check that does not hold, a law that fails before all others."""
    limited = limited_checks(one.checks)
    if one.checks and not limited:
        return "nothing that it says can fail here"
    failed = [check for check in limited if not check.holds]
    failed.sort(key=lambda check: (check.kind != "law", check.verdict != "fails"))
    if one.reason or not failed:
        return one.reason
    return describe_miss(failed[0]) + f"; and {len(failed) - 1} more" * (len(failed) > 1)


def _mark_status(one: Outcome) -> str:
    """Status in bold, with a mark for a remark and for a stand-in."""
    mark = ", a remark" * (one.item.group == "remark")
    return f"**{one.status}**{mark}" + ", on a stand-in" * (one.stand_in and not one.reason)


def _count_holding(checks: Sequence[Check]) -> str:
    """Number of limited checks that hold, of all."""
    limited = limited_checks(checks)
    return f"{sum(check.holds for check in limited)} of {len(limited)}" if limited else ""


def describe_miss(check: Check) -> str:
    """Describe a check that does not hold, by its number and the limits that it misses."""
    word = "not" if check.verdict == "fails" else "undecided:"
    return f"{check.what}: {describe_found(check)}, {word} {describe_limits(check)}"


def describe_found(check: Check) -> str:
    """Describe the number of a check, with two standard errors of what is drawn.

    >>> describe_found(Check("", 1.25, 0, 1)), describe_found(Check("", 1.25, 0, 1, std_error=0.1))
    ('1.25', '1.25 ± 0.2')
    """
    found = format_digits(check.found)
    two = float(f"{SURE * check.std_error:.2g}")
    return f"{found} ± {format_digits(two)}" if two else found


def describe_limits(check: Check) -> str:
    """Describe the limits of a check; empty without limits."""
    if check.kind == "told":
        return ""
    low, high = (format_digits(end) for end in (check.low, check.high))
    if check.low == check.high:
        return low
    if check.high == inf:
        return f"at least {low}"
    return f"at most {high}" if check.low == -inf else f"{low} to {high}"


def format_digits(value: float) -> str:
    """Format a number with four digits.

    >>> format_digits(-2.0031), format_digits(0.98), format_digits(3.0), format_digits(12345.6)
    ('-2.003', '0.98', '3', '1.235e+04')
    """
    return f"{value:.4g}"
