"""Dossier of evidence for a disclosure: claims, an audit if there is one, versions and digests."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from learning.errors import InputError
from scenarios.output.manifest import MANIFEST, file_checksum
from scenarios.report.facts_owners import Content
from scenarios.result import FACTS

SAME = 1e-6  # relative, of the budgets of an audit and of a result


def make_dossier(folder: Path, content: Content, audit: Content | None) -> dict[str, Any]:
    """Collect the evidence of a result folder; tests are null, as no result records any."""
    names = [name for name in (*FACTS, MANIFEST) if (folder / name).is_file()]
    return {
        "title": content["title"],
        "program": {"name": "dpmarket", "version": content["version"]},
        "seed": content["seed"],
        "scenario_sha256": content["scenario_sha256"],
        "claims": content["claims"],
        "warnings": content["warnings"],
        "audit": audit,
        "tests": None,
        "sha256": {name: file_checksum(folder / name) for name in names},
    }


def read_audit(path: Path, content: Content) -> dict[str, Any]:
    """Read an audit, and check that it is of the market of a result.

    Raises
    ------
    InputError
        If the file is no audit, or of another seed, other owners or other budgets.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        attacks = {one["owner"]: float(one["claimed"]) for one in found["attacks"]}
        kept = {key: found[key] for key in ("refuted", "confidence", "attacks", "checks", "seed")}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        rule = "must be a file of dpmarket audit --out FILE.json"
        raise InputError("--audit", rule, path) from None
    sold = {row["name"]: row["claimed_epsilon"] for row in content["owners"]}
    if found["seed"] != content["seed"] or not attacks or not _agree(attacks, sold):
        rule = "must be of the same market: its seed, owners and claims"
        raise InputError("--audit", rule, "another market", "Audit scenario.toml of the folder.")
    return kept | {"sha256": file_checksum(path)}


def _agree(attacks: Mapping[str, float], claims: Mapping[str, float | None]) -> bool:
    return all(
        math.isclose(claimed, claims.get(name) or math.nan, rel_tol=SAME)
        for name, claimed in attacks.items()
    )
