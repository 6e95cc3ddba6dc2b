"""Every pair of features and settings: refused where one excludes the other, and used together elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from minimal import MINIMAL

from learning.errors import InputError
from scenarios.features import choices
from scenarios.reference.keys import exclusion_lines
from scenarios.schema.loading import load

BASE = ('data.names=["A", "B"]', "data.public_rows=5")
CHOICES = choices()
# Pairs that rules of the [learning] table refuse, or whose examples change the same key.
OTHER_RULES = {
    ("trust", "learning.accounting"),
    ("trust", "learning.one_record"),
    ("pricing", "policy.user"),
    ("pricing", "bargaining"),
    ("contributions", "malicious"),
    ("withdrawal", "malicious"),
    ("go", "malicious"),
    ("trust", "go"),
    ("go", "learning.aggregation"),
    ("go", "learning.accounting"),
    ("go", "learning.gradient_bound"),
    ("go", "learning.one_record"),
    ("go", "validation.baselines"),
    ("gossip", "learning.one_record"),
    ("owners.round_cost", "learning.one_record"),
    ("owners.round_cost", "learner.value.unknown"),
    ("owners.cost_at", "learning.accounting"),
    ("learning.aggregation", "learning.accounting"),
    ("learning.aggregation", "learning.one_record"),
    ("learning.accounting", "learning.overlap"),
    ("learning.accounting", "learning.mechanism=best"),
    ("learning.one_record", "learning.algorithm=best"),
    ("learning.one_record", "learning.mechanism=best"),
    ("learning.one_record", "validation.baselines"),
    ("behaviours.dishonest", "behaviours.neighbours"),
    ("policy.user", "policy.whole"),
    ("public_good", "learner.value.unknown"),
    ("personal", "learner.value.unknown"),
    ("owners.benefit", "learner.value.unknown"),
    ("policy.whole", "learner.value.unknown"),
}
# Sums are released under one algorithm, which these say other things of, or name another than.
WITHOUT_SUMS = (
    "learning.aggregation",
    "learning.accounting",
    "learning.gradient_bound",
    "learning.one_record",
    "learning.algorithm=best",
    "validation.baselines",
)
for other in (*WITHOUT_SUMS, "learning.mechanism=best", "learner.value.unknown"):
    OTHER_RULES |= {("targets", other)}
for other in ("contributions", "malicious"):  # whose examples keep rows aside
    OTHER_RULES |= {(other, "targets")}
for needs_sums in ("contributions", "withdrawal"):
    OTHER_RULES |= {("trust", needs_sums), *((needs_sums, other) for other in WITHOUT_SUMS)}


@pytest.fixture(scope="module")
def scenario_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "minimal.toml"
    path.write_text(MINIMAL)
    return path


@pytest.fixture(scope="module")
def used(scenario_file):
    """The choices that each choice's own example makes."""
    return {name: made_in(scenario_file, choice.example) for name, choice in CHOICES.items()}


def made_in(path: Path, changes: tuple[str, ...]) -> set[str]:
    scenario = load(path, [*BASE, *changes])
    return {name for name, choice in CHOICES.items() if choice.is_used(scenario)}


def exclusions(names: set[str]) -> list[tuple[str, str, str]]:
    """Excluded key, rule and remedy, for each exclusion among some choices."""
    return [
        (
            CHOICES[other].key,
            f"{CHOICES[other].refusal} in a scenario with {CHOICES[name].title}, {why}",
            f"To keep it, change or remove {CHOICES[name].key}.",
        )
        for name in names
        for other, why in CHOICES[name].excludes.items()
        if other in names
    ]


@pytest.mark.parametrize("name", CHOICES)
def test_an_example_makes_the_choice(used, name):
    assert name in used[name]
    assert not exclusions(used[name]), "an example must not contradict itself"


@pytest.mark.parametrize("first", CHOICES)
def test_a_pair_is_refused_where_one_excludes_the_other(scenario_file, used, first):
    """With every choice that stands below the first one."""
    names = list(CHOICES)
    for pair in ((first, other) for other in names[names.index(first) + 1 :]):
        if pair in OTHER_RULES:
            continue
        changes = tuple(change for name in pair for change in CHOICES[name].example)
        rules = exclusions(used[pair[0]] | used[pair[1]])
        if not rules:
            assert made_in(scenario_file, changes) >= set(pair)
            continue
        message = refusal_of(scenario_file, changes)
        assert any(
            f"{key}: {rule}" in message and message.endswith(remedy) for key, rule, remedy in rules
        ), pair


def refusal_of(path: Path, changes: tuple[str, ...]) -> str:
    """The one line in which changes are refused; empty where they are not."""
    try:
        load(path, [*BASE, *changes])
    except InputError as error:
        assert "\n" not in str(error)
        return str(error)
    return ""


@pytest.mark.parametrize("pair", sorted(OTHER_RULES), ids=" and ".join)
def test_other_rules_refuse_in_one_line_or_the_later_change_holds(scenario_file, used, pair):
    changes = tuple(change for name in pair for change in CHOICES[name].example)
    try:
        made = made_in(scenario_file, changes)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert pair[1] in made and pair[0] not in made


def test_every_name_that_is_excluded_is_a_choice():
    assert not {name for one in CHOICES.values() for name in one.excludes} - set(CHOICES)


def test_the_page_lists_every_exclusion():
    page = "\n".join(exclusion_lines())
    for choice in CHOICES.values():
        assert all(why in page for why in choice.excludes.values())
