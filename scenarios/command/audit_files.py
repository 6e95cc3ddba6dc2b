"""The file of `dpmarket audit --out`: all numbers that were found, as JSON, or what is printed, as Markdown."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from textwrap import indent

from learning.audit.auditor import CONFIDENCE
from learning.errors import InputError
from scenarios.command.audit_tables import CHECKED, print_audit, print_unseen
from scenarios.output.places import check_file
from scenarios.output.unfinished import put_file
from scenarios.result import to_plain
from scenarios.studies.audit import Audit

# The first line of a file of either kind, by which an earlier audit is known.
FIRST = {".json": '{"dpmarket audit": 1,', ".md": "# Audit of a data market"}


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
    write = in_json if out.suffix == ".json" else in_markdown
    put_file(out, f"{FIRST[out.suffix]}\n{write(found, scenario, seed)}\n")


def in_json(found: Audit, scenario: str, seed: int) -> str:
    """Everything that an audit found, as JSON without its first line."""
    content = to_plain(
        {
            "scenario": scenario,
            "seed": seed,
            "refuted": found.refuted,
            "confidence": CONFIDENCE,
            "attacks": [{**asdict(one), "verdict": one.verdict} for one in found.findings],
            "checks": [
                {**asdict(one), "says": " ".join(CHECKED[one.kind]).strip()} for one in found.checks
            ],
            "not_attacked": found.not_attacked,
            "without_noise": found.without_noise,
            "cannot_see": found.unseen,
        }
    )
    return json.dumps(content, indent=1, allow_nan=False)[2:]


def in_markdown(found: Audit, scenario: str, seed: int) -> str:
    """Everything that is printed, as Markdown without its first line: a block of text in which no name is markup."""
    text = io.StringIO()
    with redirect_stdout(text):
        print_audit(found)
        print_unseen(found)
    verdict = "refuted" if found.refuted else "not refuted"
    return "\n" + indent(f"{scenario}, seed {seed}: {verdict}\n\n{text.getvalue()}", "    ")
