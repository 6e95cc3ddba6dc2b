"""Output of `dpmarket audit`: on the terminal, and as a file of all numbers or of what is printed."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from textwrap import indent

import numpy as np

from learning.audit.auditor import CONFIDENCE
from learning.audit.checks import detectable_noise
from learning.audit.verdicts import Check
from learning.errors import InputError
from learning.terminal import PlainTable, Terminal, list_names
from scenarios.output.places import check_file
from scenarios.output.unfinished import put_file
from scenarios.report.wording import format_number
from scenarios.result import to_plain
from scenarios.studies.audit import Audit

# The first line of a file of either kind, by which an earlier audit is known.
FIRST = {".json": '{"dpmarket audit": 1,', ".md": "# Audit of a data market"}
CHECKED = {
    "rows": ("rows of an owner that are not its own, met twice, or too many of a person", ""),
    "public": ("public facts that change with private rows", ""),
    "carried out": ("trainings that end in an error", ""),
    "asked": ("answers asked too often or too rarely", ""),
    "ledger": ("answers that the ledger does not have, or has too often", ""),
    "answers": ("answers without noise of their own, or not paid for", ""),
    "sensitivity": ("records of all lengths move an answer", "x its bound"),
    "gradients": ("records' gradients are as long as", "x the radius"),
    "clipping": ("clipped records answer off their definition", "x its rounding"),
    "records": ("owners answer off their own records", "x its rounding"),
    "ball": ("points asked lie within", "x the ball"),
    "price": ("the noise stated gives away, by the audit's accountant", "x the claim"),
    "twice": ("answers with noise that was seen before, in any order", ""),
    "grid": ("numbers of noise on one grid", "of an owner's"),
    "turns": ("owners asked as often as lots should have it", ""),
    "picks": ("records picked evenly, in no order", "(count or deviations)"),
    "noise": ("noise of an owner", "x that stated"),
    "parts": ("noise on a coordinate or in a round", "x that stated"),
    "law": ("distance of its distribution from the law stated", ""),
    "tails": ("numbers of noise beyond a quantile of its law", ""),
    "zeros": ("numbers without noise", ""),
    "repeats": ("numbers of noise that are met again", ""),
    "rounds": ("dependence of noise on earlier rounds", "deviations"),
    "coordinates": ("dependence of coordinates", "deviations"),
    "owners": ("dependence of owners", "deviations"),
    "pairs": ("dependence of any two numbers of a run", "deviations"),
    "mixes": ("deviation of a mix of all noise, the least or largest", "x that stated"),
}


def print_audit(found: Audit) -> None:
    """Print the claim and the evidence for each owner, the checks, and the leaks not seen."""
    out = Terminal()
    if found.findings:
        _print_findings(out, found)
        _print_checks(out, found.checks)
    elif found.asks:
        out.say("nothing to audit: no owner answers under a promise")
    else:
        out.say("nothing to audit: no query is worth its noise, so none is asked")
    out.say(
        list_names("not attacked, but checked", found.not_attacked),
        list_names("add no noise, so nothing is promised about their records", found.without_noise),
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
    first = found.findings[0]
    delta = f" at delta = {format_number(first.delta)}" * bool(first.delta)
    out.say(
        f"epsilon{delta}, T = {first.horizon} ({first.answers} asked), {first.draws:,} draws of "
        f"all answers in each of two neighbouring worlds; with {CONFIDENCE:.1%} confidence "
        "nothing here or below is wrongly refuted, and nothing is proved"
    )
    weakest = min(one.share for one in found.findings)
    if weakest < 0.995:
        out.say(
            f"the worst pair of records found moves answers by {weakest:.0%} of what noise is "
            "added for: the attack is that much weaker"
        )


def _print_checks(out: Terminal, checks: Sequence[Check]) -> None:
    """Print each check of the training, at its worst place."""
    heads = ("checked in the training that a run does", "places", "worst", "fails at", "verdict")
    table = PlainTable("", *heads)
    for check in checks:
        name, unit = CHECKED[check.kind]
        verdict = "holds"
        if not check.passed:
            verdict = f"FAILS ({check.place})".removesuffix(" ()")
        cells = (f"{check.found:.4g} {unit}".strip(), f"{check.limit:.4g}")
        table.add_row(name, f"{check.tested:,}", *cells, verdict)
    out.print(table)
    least = detectable_noise(checks)
    said = f"had an owner added {least:.3g} of its noise or less, that would have shown"
    if np.isnan(least):
        said = "the audit has no accountant of its own for noise of this law: "
        said += "how much there is was attacked only"
    out.say(said)


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
    write = _to_json if out.suffix == ".json" else _to_markdown
    put_file(out, f"{FIRST[out.suffix]}\n{write(found, scenario, seed)}\n")


def _to_json(found: Audit, scenario: str, seed: int) -> str:
    """Everything that an audit found, as JSON without its first line."""
    says = {kind: " ".join(words).strip() for kind, words in CHECKED.items()}
    content = to_plain(
        {
            "scenario": scenario,
            "seed": seed,
            "refuted": found.refuted,
            "confidence": CONFIDENCE,
            "attacks": [{**asdict(one), "verdict": one.verdict} for one in found.findings],
            "checks": [{**asdict(one), "says": says[one.kind]} for one in found.checks],
            "not_attacked": found.not_attacked,
            "without_noise": found.without_noise,
            "cannot_see": found.unseen,
        }
    )
    return json.dumps(content, indent=1, allow_nan=False)[2:]


def _to_markdown(found: Audit, scenario: str, seed: int) -> str:
    """Everything that is printed, as Markdown without its first line: text without markup."""
    text = io.StringIO()
    with redirect_stdout(text):
        print_audit(found)
    verdict = "refuted" if found.refuted else "not refuted"
    return "\n" + indent(f"{scenario}, seed {seed}: {verdict}\n\n{text.getvalue()}", "    ")
