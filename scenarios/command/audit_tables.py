"""The tables of `dpmarket audit`: attacks, checks, and what neither sees."""

from __future__ import annotations

from collections.abc import Sequence

from learning.audit.auditor import CONFIDENCE
from learning.audit.checks import power
from learning.audit.verdicts import Check
from scenarios.command.terminal import PlainTable, Terminal, noted
from scenarios.report.wording import number
from scenarios.studies.audit import Audit

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
    """Per owner, what is claimed and what its answers were seen to give away at least; then what was checked in training."""
    out = Terminal()
    if found.findings:
        heads = ("owner", "records", "claimed", "seen >=", "one answer", "seen >=", "verdict")
        rows = PlainTable("", *heads)
        for f in found.findings:
            cells = (f.claimed, f.shown, f.answer_charged, f.answer_bound)
            rows.add_row(f.owner, f"{f.records:,}", *map(number, cells), f.verdict)
        out.print(rows)
        first, weakest = found.findings[0], min(f.share for f in found.findings)
        out.say(
            f"epsilon{f' at delta = {number(first.delta)}' if first.delta else ''}, T = {first.horizon} ({first.answers} "
            f"asked), {first.draws:,} draws of all answers in each of two neighbouring worlds; with {CONFIDENCE:.1%} "
            "confidence nothing here or below is wrongly refuted, and nothing is proved"
        )
        if weakest < 0.995:
            moves = f"the worst pair of records found moves answers by {weakest:.0%} of what noise is added for"
            out.say(f"{moves}: the attack is that much weaker")
        print_checks(out, found.checks)
    else:
        why = "no owner answers under a promise" if found.asks else "no query is worth its noise, so none is asked"
        out.say(f"nothing to audit: {why}")
    out.say(
        noted("not attacked, but checked", found.not_attacked),
        noted("add no noise, so nothing is promised about their records", found.without_noise),
    )


def print_checks(out: Terminal, checks: Sequence[Check]) -> None:
    """What was checked of the training, each at its worst place."""
    rows = PlainTable("", "checked in the training that a run does", "places", "worst", "fails at", "verdict")
    for check in checks:
        what, unit = CHECKED[check.kind]
        verdict = "holds" if check.passed else f"FAILS{f' ({check.place})' if check.place else ''}"
        cells = (f"{check.found:.4g} {unit}".strip(), f"{check.limit:.4g}")
        rows.add_row(what, f"{check.tested:,}", *cells, verdict)
    out.print(rows)
    least = power(checks)
    if least == least:
        out.say(f"had an owner added {least:.3g} of its noise or less, that would have shown")
    else:
        out.say("the audit has no accountant of its own for noise of this law: how much there is was attacked only")


def print_unseen(found: Audit) -> None:
    """Print what this audit cannot see."""
    if found.unseen:
        Terminal().say("this audit cannot see:", *(f"  {one}" for one in found.unseen))
