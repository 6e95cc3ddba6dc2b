"""A disclosure: an entry of the registry's form, each text from its sources alone, none without noise."""

import copy
import datetime as dt
import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from quick import quick_module

from learning.errors import InputError
from scenarios.report.disclosure import (
    BASIC,
    FIELDS,
    LABEL,
    NIST,
    SOURCES,
    check_protected,
    make_answers,
    make_entry,
    make_label,
    pick_keys,
    say,
    trace_texts,
    write_yaml,
)
from scenarios.report.document_formats import render_document
from scenarios.runner import run
from scenarios.schema.loading import load

__all__ = ["quick_module"]

DAY = dt.date(2026, 3, 31)
# The published schema, MIT License, Copyright (c) 2025 OpenDP, without its descriptions.
SCHEMA = json.loads((Path(__file__).parent / "registry" / "registry_schema.json").read_text())[
    "schema"
]
TOLD = dict(
    curator="North Bank, South Bank",
    use="Lending: «fast»",
    region="EU 🏦",
    sector="Finance",
    author="A. Clerk",
    source="https://example.org/model",
)


@pytest.fixture(scope="module")
def made():
    """The result of a run, as its file holds it."""
    chosen = load("three_insurers", ["validation.runs=2", "market.starts=1"])
    return json.loads(json.dumps(run(chosen).content, default=str))


def errors_of(entry):
    read = yaml.safe_load(write_yaml(entry))
    assert read == entry
    checker = jsonschema.Draft7Validator.FORMAT_CHECKER
    return [
        one.message
        for one in jsonschema.Draft7Validator(SCHEMA, format_checker=checker).iter_errors(read)
    ]


@pytest.mark.parametrize("stated, tier", [(TOLD, 3), ({}, 1), ({"curator": "B"}, 1)])
def test_the_entry_is_of_the_published_form(made, stated, tier):
    entry, _ = make_entry(made, DAY, stated)
    assert errors_of(entry) == [] and entry["tier"] == tier and entry["status"] == "Draft"
    assert entry["deployment"]["deployment_model"]["model_name"] == "Federated"
    parameters = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert parameters == {"epsilon": max(claim["epsilon"] for claim in made["claims"])}
    broken = copy.deepcopy(entry)
    broken["deployment"]["basic"]["surprise"] = 1
    assert errors_of(broken)


def test_every_field_has_a_source_that_exists(made):
    entry, sources = make_entry(made, DAY, TOLD)
    paths = []

    def walk(tree, above):
        for key, value in tree.items():
            if isinstance(value, dict):
                walk(value, f"{above}.{key}")
            else:
                paths.append(f"{above}.{key}")

    walk(entry["deployment"], "deployment")
    assert set(paths) == set(sources)
    for keys in (*sources.values(), *trace_texts().values()):
        for key in keys:
            assert key.startswith("option --") or pick_keys(made, key)


@pytest.mark.parametrize("name", [*SOURCES, *(one["text"] for one in BASIC.values())])
def test_a_text_changes_with_its_sources_and_says_something(made, name):
    keys = SOURCES.get(name) or next(one["keys"] for one in BASIC.values() if one["text"] == name)
    assert say(made, name, keys)
    with pytest.raises(KeyError):
        say({}, name, keys)


def test_only_fields_that_the_result_has_are_named_as_not_to_be_published(made):
    keys = FIELDS["dp_variant.unprotected_quantities"]
    told = say(made, "unprotected_quantities", keys)
    assert "errors.measured" in told and "owners[].isolated_relative_fitness" in told
    assert "withdrawal" not in told and "learners[]" not in told
    there = made | {"withdrawal": {"owners": ["A"]}, "learners": [{"agrees": True}]}
    assert "withdrawal" in say(there, "unprotected_quantities", keys)
    assert "learners[].agrees" in say(there, "unprotected_quantities", keys)


def test_numbers_of_the_label_follow_from_the_claims(made):
    other = copy.deepcopy(made)
    other["claims"][1] |= {"epsilon": 7.25, "delta": 3e-6, "surest": 0.97, "rounds": 4}
    entry, _ = make_entry(other, DAY, {})
    loss = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert loss == {"epsilon": 7.25, "delta": 3e-6} and not errors_of(entry)
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"
    text = render_document(make_label(other, DAY), "md").decode()
    for found in ("7.25", "97", "at most 4", "3 × 10⁻⁶"):
        assert found in text.replace("\u202f", " ").replace("\u00a0", " ")


def test_nothing_without_noise_has_a_label(made):
    for part, change in (
        (("owners", 0), {"epsilon": None}),
        (("claims", 1), {"epsilon": None}),
    ):
        other = copy.deepcopy(made)
        other[part[0]][part[1]] |= change
        with pytest.raises(InputError, match="disclose: needs"):
            check_protected(other)
    for change in ({"claims": []}, {"behaviours": [{"exposure": 3.0}]}):
        with pytest.raises(InputError, match="disclose: needs"):
            check_protected(made | change)
    check_protected(made)


def test_label_and_answers_keep_to_their_pages(made):
    label = render_document(make_label(made, DAY), "pdf")
    answers = render_document(make_answers(made, DAY), "pdf")
    pages = [len(re.findall(rb"/Type /Page\b", raw)) for raw in (label, answers)]
    assert pages[0] == 1 and pages[1] <= 2
    text = render_document(make_answers(made, DAY), "html").decode()
    assert "Simulation" in text and all(head in text for head in NIST) and LABEL and FIELDS


def test_the_command_writes_all_parts_or_refuses_in_one_line(dpmarket, made, tmp_path):
    from scenarios.output.manifest import write_manifest

    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "result.json").write_text(json.dumps(made))
    write_manifest(tmp_path / "r")
    audit = {"seed": made["seed"], "refuted": False, "confidence": 0.999, "checks": []}
    attacks = [{"owner": one["name"], "claimed": one["claimed_epsilon"]} for one in made["owners"]]
    (tmp_path / "a.json").write_text(json.dumps(audit | {"attacks": attacks}))
    typed = ("disclose", "r", "--date", "2026-03-31", "--audit", "a.json", "--sector", "Finance")
    assert dpmarket(*typed) == (0, "disclosure: r-disclosure\n", "")
    folder = tmp_path / "r-disclosure"
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert dpmarket(*typed)[0] == 0
    assert first == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert not errors_of(yaml.safe_load(first["registry_entry.yaml"]))
    dossier = json.loads(first["dossier.json"])
    assert dossier["claims"] == made["claims"] and dossier["tests"] is None
    assert dossier["audit"]["refuted"] is False and "refuted none" in first["label.html"].decode()
    attacks[0]["claimed"] = 9.0
    (tmp_path / "a.json").write_text(json.dumps(audit | {"attacks": attacks}))
    status, _, err = dpmarket(*typed)
    assert status == 2 and "--audit" in err and err.count("\n") == 1
    (tmp_path / "r" / "result.json").write_text(json.dumps(made | {"claims": []}))
    status, _, err = dpmarket("disclose", "r")
    assert status == 2 and "as it was written" in err
    write_manifest(tmp_path / "r")
    status, _, err = dpmarket("disclose", "r", "--force")
    assert status == 2 and "no claim" in err and err.count("\n") == 1


def test_the_citation_has_what_its_format_requires():
    root = Path(__file__).parents[3]
    found = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert found["cff-version"] == "1.2.0" and found["type"] == "software"
    assert found["message"] and found["title"] and found["license"] == "Apache-2.0"
    assert isinstance(found["date-released"], dt.date)
    assert all(one.keys() & {"name", "family-names", "given-names"} for one in found["authors"])
    assert (
        found["version"]
        == re.search(r'^version = "(.*)"', (root / "pyproject.toml").read_text(), re.M)[1]
    )
