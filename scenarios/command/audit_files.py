"""The files of `dpmarket audit --out`: everything that it prints, as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from learning.audit.auditor import CONFIDENCE
from learning.audit.verdicts import Check
from scenarios.command.audit_tables import CHECKED
from scenarios.output.folders import replacing
from scenarios.output.places import check_file, check_folder
from scenarios.output.unfinished import put
from scenarios.result import plain
from scenarios.studies.audit import Audit

FILES = ("audit.json", "audit.md")
SCHEMA = '{"dpmarket audit": 1,'  # the first line of a file, by which it is known
TITLE = "# Audit of a data market"


def check_out(out: Path, *, force: bool) -> None:
    """Refuse a place where nothing may be written, before any work.

    Parameters
    ----------
    out: a file that ends in .json or .md, or a folder.
    force: whether others' files may lie in the folder.

    Raises
    ------
    InputError
    """
    if out.suffix in (".json", ".md"):
        check_file(out, SCHEMA if out.suffix == ".json" else TITLE)
    else:
        check_folder(out, FILES, force=force)


def write_audit(found: Audit, scenario: str, seed: int, out: Path, *, force: bool) -> None:
    """Write an audit to a file or a folder, whole or not at all.

    Parameters
    ----------
    found: the audit.
    scenario, seed: what was audited.
    out, force: as in `check_out`.
    """
    content = audit_content(found, scenario, seed)
    texts = {".json": in_json(content), ".md": in_markdown(content)}
    if out.suffix in texts:
        check_out(out, force=force)
        put(out, texts[out.suffix])
        return
    with replacing(out, FILES, force=force) as folder:
        for suffix, text in texts.items():
            (folder / f"audit{suffix}").write_text(text, encoding="utf-8")


def audit_content(found: Audit, scenario: str, seed: int) -> dict[str, Any]:
    """Everything that an audit found, as plain values."""
    return plain(
        {
            "scenario": scenario,
            "seed": seed,
            "refuted": found.refuted,
            "confidence": CONFIDENCE,
            "attacks": [{**asdict(one), "verdict": one.verdict} for one in found.findings],
            "checks": [{**asdict(one), "says": _said(one)} for one in found.checks],
            "not_attacked": found.not_attacked,
            "without_noise": found.without_noise,
            "cannot_see": found.unseen,
        }
    )


def _said(check: Check) -> str:
    return " ".join(CHECKED[check.kind]).strip()


def in_json(content: dict[str, Any]) -> str:
    """The content as JSON, on a first line of its own what it is."""
    return SCHEMA + json.dumps(content, indent=1, allow_nan=False)[1:] + "\n"


def in_markdown(content: dict[str, Any]) -> str:
    """The content as a page of tables."""
    verdict = "**REFUTED**" if content["refuted"] else "not refuted"
    lines = [
        TITLE,
        "",
        f"{_cell(content['scenario'])}, seed {content['seed']}: {verdict} at {content['confidence']:.1%}",
        "",
    ]
    attacks = ("owner", "records", "claimed", "shown", "answer_charged", "answer_bound", "verdict")
    lines += _table("Attacks", attacks, content["attacks"])
    lines += _table("Checks", ("says", "tested", "place", "found", "limit", "passed"), content["checks"])
    lines += ["## What this audit cannot see", "", *(f"* {_cell(one)}" for one in content["cannot_see"]), ""]
    return "\n".join(lines)


def _table(title: str, names: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    heads = "| " + " | ".join(name.replace("_", " ") for name in names) + " |"
    cells = ["| " + " | ".join(_cell(row[name]) for name in names) + " |" for row in rows]
    return [f"## {title}", "", heads, "|---" * len(names) + "|", *cells, ""]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
