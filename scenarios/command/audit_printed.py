"""Output of `dpmarket audit` on the terminal, and as a file of all numbers or the same words."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from textwrap import indent

from learning.audit.auditor import CONFIDENCE
from learning.audit.checks import detectable_noise
from learning.audit.verdicts import Check
from learning.display import PlainTable, list_names
from learning.errors import InputError
from learning.terminal import Terminal
from scenarios.output.places import check_file
from scenarios.output.unfinished import put_file
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import format_number
from scenarios.result import to_plain
from scenarios.studies.audit import Audit

# The first line of a file of either kind, by which an earlier audit is known.
FIRST = {".json": '{"dpmarket audit": 1,', ".md": "# Audit of a data market"}


def print_audit(found: Audit) -> None:
    """Print the claim and the evidence for each owner, the checks, and the leaks not seen."""
    out = Terminal()
    if found.findings:
        _print_findings(out, found)
        _print_checks(out, found.checks)
    else:
        out.say(render_phrase("audit", "nothing", found.asks))
    out.say(
        list_names("not attacked, but checked", found.not_attacked),
        list_names("add no noise, so their records have no guarantee", found.without_noise),
    )
    if found.unseen:
        out.say("this audit cannot see:", *(f"  {one}" for one in found.unseen))


def _print_findings(out: Terminal, found: Audit) -> None:
    heads = ("owner", "records", "claimed", "seen >=", "one answer", "seen >=", "verdict")
    table = PlainTable("", *heads)
    for one in found.findings:
        cells = (one.claimed, one.shown, one.answer_charged, one.answer_bound)
        table.add_row(one.owner, f"{one.records:,}", *map(format_number, cells), one.verdict)
    out.print(table)
    out.say(
        render_phrase("audit", "attacked", found.findings, CONFIDENCE),
        render_phrase("audit", "weaker", found.findings),
    )


def _print_checks(out: Terminal, checks: Sequence[Check]) -> None:
    """Print each check of the training, at its worst place."""
    heads = ("checked in the training that a run does", "places", "worst", "fails at", "verdict")
    table = PlainTable("", *heads)
    for check in checks:
        verdict = "holds"
        if not check.passed:
            verdict = f"FAILS ({check.place})".removesuffix(" ()")
        unit = render_phrase("audit", "unit", check.kind)
        cells = (f"{check.found:.4g} {unit}".strip(), f"{check.limit:.4g}")
        name = render_phrase("audit", "checked", check.kind)
        table.add_row(name, f"{check.tested:,}", *cells, verdict)
    out.print(table)
    out.say(render_phrase("audit", "noticed", detectable_noise(checks)))


def check_out(out: Path) -> None:
    """Refuse a place where no audit may be written, before any work.

    Raises
    ------
    InputError
    """
    if out.suffix not in FIRST:
        raise InputError("--out", "must be a file that ends in .json or .md", out)
    check_file(out, FIRST[out.suffix])


def write_audit(found: Audit, scenario: str, seed: int, out: Path) -> None:
    """Write an audit of a scenario, whole or not at all, in the place of an earlier one."""
    check_out(out)
    write = {".json": _to_json, ".md": _to_markdown}[out.suffix]
    put_file(out, f"{FIRST[out.suffix]}\n{write(found, scenario, seed)}\n")


def _to_json(found: Audit, scenario: str, seed: int) -> str:
    """Everything that an audit found, as JSON without its first line."""
    checks = [asdict(one) | {"says": _describe_check(one)} for one in found.checks]
    content = to_plain(
        {
            "scenario": scenario,
            "seed": seed,
            "refuted": found.refuted,
            "confidence": CONFIDENCE,
            "attacks": [{**asdict(one), "verdict": one.verdict} for one in found.findings],
            "checks": checks,
            "not_attacked": found.not_attacked,
            "without_noise": found.without_noise,
            "cannot_see": found.unseen,
        }
    )
    return json.dumps(content, indent=1, allow_nan=False)[2:]


def _describe_check(check: Check) -> str:
    words = (render_phrase("audit", name, check.kind) for name in ("checked", "unit"))
    return " ".join(words).strip()


def _to_markdown(found: Audit, scenario: str, seed: int) -> str:
    """Everything that is printed, as Markdown without its first line: text without markup."""
    text = io.StringIO()
    with redirect_stdout(text):
        print_audit(found)
    verdict = "not " * (not found.refuted) + "refuted"
    return "\n" + indent(f"{scenario}, seed {seed}: {verdict}\n\n{text.getvalue()}", "    ")
