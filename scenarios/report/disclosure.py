"""Disclosure of a result's privacy: a label, answers to guidelines, a registry's entry, a dossier.

Every text is made from the keys that are named as its sources and sees no others, so each can
be traced. The result says nothing of curator, use or region: these are asked for, or not stated.

Sources: NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025), whose
    parts the answers follow in our own words; OpenDP, deployments-registry-data,
    schemas/deployments-schema.yaml.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from learning.errors import InputError
from learning.phrases import escape_control
from scenarios.report.document import Document, Section, Table
from scenarios.report.facts_outcome import privileged_fields
from scenarios.report.facts_owners import Content
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import format_number

MOST = 12  # claims of the table of a label
NOT_STATED = "Not stated"
TABLES = tomllib.loads(Path(__file__).with_name("disclosure.toml").read_text(encoding="utf-8"))
FIELDS: dict[str, str] = TABLES["fields"]
BASIC: dict[str, dict[str, str]] = TABLES["basic"]
SOURCES = {path.split(".")[-1]: keys for path, keys in FIELDS.items()} | TABLES["texts"]
LABEL: dict[str, str] = TABLES["label"]
NIST: dict[str, str] = TABLES["nist"]


def pick_keys(content: Content, keys: str) -> dict[str, Any]:
    """Keep of a result what some keys name, separated by blanks; ``[]`` stands for every row.

    >>> pick_keys({"a": [{"b": 1, "c": 2}], "d": 3}, "a[].b")
    {'a': [{'b': 1}]}
    """
    tree: dict[str, Any] = {}
    for key in keys.split():
        node = tree
        for part in key.replace("[]", ".[]").split("."):
            node = node.setdefault(part, {})
    kept: dict[str, Any] = _keep(content, tree)
    return kept


def _keep(value: Any, tree: Mapping[str, Any]) -> Any:
    if not tree or value is None:
        return value
    if "[]" in tree:
        return [_keep(one, tree["[]"]) for one in value]
    return {key: _keep(value[key], below) for key, below in tree.items()}


def say(content: Content, name: str, keys: str | None = None) -> str:
    """Render a text of the disclosure from its sources alone."""
    content = {**content, "privileged": privileged_fields(content)}
    chosen = pick_keys(content, keys or SOURCES[name])
    return render_phrase("disclosure", name, chosen)


def check_protected(content: Content) -> None:
    """Refuse a label for what no guarantee covers.

    Raises
    ------
    InputError
        If nothing is claimed, an owner adds no noise, a claim is unbounded, or an owner cheats.
    """
    key, remedy = "disclose", "A label states a guarantee, and none holds here."
    open_owners = [row["name"] for row in content["owners"] if row["epsilon"] is None]
    if open_owners:
        rule = "needs noise at every owner"
        raise InputError(key, rule, f"{open_owners[0]}, which adds none", remedy)
    if not content["claims"]:
        raise InputError(key, "needs a training under noise", "no claim", remedy)
    if any(claim["epsilon"] is None for claim in content["claims"]):
        raise InputError(key, "needs a finite ε", "a claim that no ε bounds", remedy)
    for row in content.get("behaviours") or ():
        if (row.get("exposure") or 0) > 1:
            rule = "needs owners who answer with the noise that they sold"
            raise InputError(key, rule, f"exposure {row['exposure']:g}", remedy)


def make_entry(
    content: Content, date: dt.date, stated: Mapping[str, str | None]
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Make an entry in the form of the registry, and the sources of each of its fields.

    Tier 3 where all of its tier 1 is stated, else 1. What no result holds is stated by the options
    of ``dpmarket disclose``: curator, use, region, sector, author and source.
    """
    deployment: dict[str, Any] = {}
    sources = {}
    for path, value, named in [*_computed_fields(content), *_stated_fields(stated, date)]:
        _put(deployment, path, value)
        sources[f"deployment.{path}"] = named
    complete = all(map(stated.get, ("curator", "use", "region")))
    entry = {
        "url_slug": _slug(deployment["basic"]),
        "status": "Draft",
        "tier": 3 if complete else 1,
        "deployment": deployment,
    }
    return entry, sources


Field = tuple[str, Any, list[str]]  # its path in the entry, its value, its sources


def _computed_fields(content: Content) -> Iterator[Field]:
    """Fields that the result fills."""
    for path, one in BASIC.items():
        yield path, say(content, one["text"], one["keys"]), one["keys"].split()
    for path, keys in FIELDS.items():
        yield path, say(content, path.split(".")[-1], keys), keys.split()
    for name, key in TABLES["numbers"].items():
        worst = max(claim[name] for claim in content["claims"])
        if worst or name == "epsilon":
            yield f"privacy_loss.privacy_parameters.{name}", worst, [key]
    yield "deployment_model.model_name", "Federated", ["owners[].records"]


def _stated_fields(stated: Mapping[str, str | None], date: dt.date) -> Iterator[Field]:
    """Fields that only a person can fill."""
    yield "basic.data_curators", _split(stated.get("curator")), ["option --curator"]
    yield "basic.intended_use", stated.get("use") or NOT_STATED, ["option --use"]
    yield "basic.data_product_region", stated.get("region") or NOT_STATED, ["option --region"]
    day = "option --date, or the day that result.json was written"
    yield "basic.publication_date", date.isoformat(), [day]
    if stated.get("sector"):
        yield "basic.data_product_sector", stated.get("sector"), ["option --sector"]
    if stated.get("author"):
        yield "administrative.registry_authors", _split(stated.get("author")), ["option --author"]
        if stated.get("source"):
            yield "administrative.sources", stated.get("source"), ["option --source"]


def _split(text: str | None) -> list[str]:
    parts = escape_control(text or NOT_STATED).split(",")
    return [part.strip() for part in parts if part.strip()] or [NOT_STATED]


def _put(tree: dict[str, Any], path: str, value: Any) -> None:
    *tables, last = path.split(".")
    for name in tables:
        tree = tree.setdefault(name, {})
    tree[last] = escape_control(value) if isinstance(value, str) else value


def _slug(basic: Content) -> str:
    parts = (basic["name"], "-".join(basic["data_curators"]), basic["publication_date"][:4])
    return "_".join(re.sub(r"\W+", "_", part.lower()) for part in parts).replace("_", "-")


def write_yaml(tree: Mapping[str, Any], depth: int = 0) -> str:
    """Write tables, lists and plain values as YAML, with texts quoted as in JSON."""
    lines = []
    for key, value in tree.items():
        head = "  " * depth + f"{key}:"
        if isinstance(value, Mapping):
            lines += [head, write_yaml(value, depth + 1).rstrip("\n")]
        elif isinstance(value, list):
            lines += [head, *("  " * depth + f"  - {_quote(one)}" for one in value)]
        elif key == "url_slug" and re.fullmatch(r"[a-z][a-z0-9-]*", value):
            lines.append(f"{head} {value}")
        else:
            lines.append(f"{head} {_quote(value)}")
    return "\n".join(lines) + "\n"


def _quote(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "." not in text:  # 1e-06 is a text to YAML
        return text.replace("e", ".0e")
    return text


def make_label(content: Content, date: dt.date, audit: Content | None = None) -> Document:
    """Make a privacy label of one page."""
    items = [f"{head}: {say(content, name)}" for head, name in LABEL.items()]
    if audit is not None:
        items.append("Audit: " + render_phrase("disclosure", "audited", audit))
    claims = content["claims"]
    rows = [
        (
            claim["party"],
            format_number(claim["epsilon"], 6),
            format_number(claim["delta"]),
            f"{claim['rounds']}",
        )
        for claim in claims[:MOST]
    ]
    if len(claims) > MOST:
        rows.append((f"{len(claims) - MOST:,} more claims in dossier.json", "", "", ""))
    table = Table(("Whose records", "ε", "δ", "Answers"), tuple(rows))
    return _document(
        content, date, "Privacy label", (Section("Guarantee", (), tuple(items), table),)
    )


def make_answers(content: Content, date: dt.date) -> Document:
    """Make answers in the order of the pyramid of NIST SP 800-226, in words of our own."""
    sections = tuple(
        Section(head, tuple(say(content, name) for name in names.split()))
        for head, names in NIST.items()
    )
    return _document(content, date, "Answers after NIST SP 800-226", sections)


def _document(content: Content, date: dt.date, kind: str, sections: Sequence[Section]) -> Document:
    digest = content["scenario_sha256"][:12]
    byline = f"{kind}, {date.isoformat()}. dpmarket {content['version']}, scenario {digest}."
    return Document(
        title=content["title"] or "A data market",
        byline=byline,
        date=date,
        notices=(say(content, "simulated"),),
        lead=(say(content, "epsilon") + " " + say(content, "meaning"),),
        sections=tuple(sections),
        pages=1 if kind == "Privacy label" else 2,
    )


def trace_texts() -> dict[str, list[str]]:
    """Name the sources of each text of label and answers."""
    label = {f"label: {head}": SOURCES[name].split() for head, name in LABEL.items()}
    for head, names in NIST.items():
        keys = " ".join(SOURCES[name] for name in names.split())
        label[f"nist_sp_800_226: {head}"] = list(dict.fromkeys(keys.split()))
    return label
