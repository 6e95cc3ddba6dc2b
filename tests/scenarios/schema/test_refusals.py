"""Scenario files: what goes together, and every bad input told in one line."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from minimal import ADASSP, CLOCKS, GAUSSIAN, HINGE, LOGISTIC, MINIMAL, SGD1, message

from learning.errors import InputError
from learning.phrases import toml_text
from learning.training.clocks import Clocks
from scenarios.schema.fields import Interval, suggest_name, values_per_owner
from scenarios.schema.loading import load

REFUSALS = Path(__file__).parent / "refusals.txt"


def test_networks_have_hidden_units_and_nothing_else_has(file: Path) -> None:
    network = ["learning.loss=network", "learning.regularisation=0.1"]
    assert load(file, network).learning.hidden == 8
    assert load(file, [*network, "learning.hidden=1"]).learning.hidden == 1
    assert load(file).learning.hidden is None
    assert [load(file, loss).learning.labels for loss in (network, HINGE, LOGISTIC, ())] == [
        True,
        True,
        True,
        False,
    ]


ACCOUNTED: list[tuple[tuple[str, ...], str | None]] = [
    ((), "basic"),
    (("learning.accounting=pld", "learning.delta=1e-6"), "pld"),
    (GAUSSIAN, "pld"),
    ((*GAUSSIAN, "learning.accounting=zcdp"), "zcdp"),
    ((*GAUSSIAN, "learning.algorithm=weighted"), "pld"),
    ((*GAUSSIAN, "learning.algorithm=weighted", "learning.accounting=printed"), "printed"),
    ((*GAUSSIAN, "learning.algorithm=sgd2", "learning.accounting=printed"), "printed"),
    ((*SGD1, "learning.accounting=printed"), "printed"),
    (ADASSP, "pld"),
    ((*ADASSP, "learning.accounting=zcdp"), "zcdp"),
    (("learning.mechanism=best", "learning.delta=1e-6"), None),
    (("learning.algorithm=weighted",), "basic"),
]


@pytest.mark.parametrize(
    ("overrides", "accounting"), ACCOUNTED, ids=[" ".join(a[0])[-60:] for a in ACCOUNTED]
)
def test_accounting_follows_mechanism_and_algorithm(
    file: Path, overrides: tuple[str, ...], accounting: str | None
) -> None:
    learning = load(file, overrides).learning
    assert learning.accounting == learning.settings.accounting == accounting


@pytest.mark.parametrize("horizon", [1, 2, 100_001, 1_000_000, "optimal"])
def test_one_record_a_round_allows_more_rounds(file: Path, horizon: int | str) -> None:
    assert load(file, [*SGD1, f"learning.horizon={horizon}"]).learning.horizon == horizon


def test_clocks_are_alike_unless_told(file: Path) -> None:
    assert load(file).learning.clocks is None
    assert load(file, CLOCKS).learning.clocks == Clocks()
    assert load(file, CLOCKS).learning.ticks(["A", "B"]) == Clocks()
    given = ["rates=[1, 2]", "dropout=0.25", "talk=broadcast", "scaled=false", "reading=printed"]
    learning = load(file, [*CLOCKS, *(f"learning.clocks.{key}" for key in given)]).learning
    assert learning.ticks(["A", "B"]) == Clocks((1.0, 2.0), 0.25, "broadcast", False, "printed")
    with pytest.raises(
        InputError, match="learning.clocks.rates: must have one entry per owner, 3; found 2 entries"
    ):
        learning.ticks(["A", "B", "C"])


def test_groups_cover_everybody_once(file: Path) -> None:
    owned = MINIMAL.replace("split = [10, 20]", 'owner = "bank"')
    file.write_text(owned)
    learning = load(file, [*CLOCKS, 'learning.clocks.groups=[["D", "B"], ["E"]]']).learning
    assert learning.groups(["A", "B", "C", "D", "E"]) == ((0,), (1, 3), (2,), (4,))
    assert (
        load(file, CLOCKS).learning.groups(["A", "B"])
        == ((0,), (1,))
        == load(file).learning.groups(["A", "B"])
    )
    with pytest.raises(InputError, match='learning.clocks.groups: must name owners; found "D".'):
        learning.groups(["A", "B"])


SETS = {
    "SGD1": SGD1,
    "ADASSP": ADASSP,
    "CLOCKS": CLOCKS,
    "HINGE": HINGE,
    "LOGISTIC": LOGISTIC,
    "GAUSSIAN": GAUSSIAN,
}


def read_refusals() -> Iterator[Any]:
    """The cases of refusals.txt: changes, the key that is refused, and words of the message."""
    for line in REFUSALS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            given, *named, words = line.split(" => ")
            changes = tuple(one for part in given.split(" & ") for one in SETS.get(part, (part,)))
            key = named[0] if named else changes[-1].partition("=")[0]
            yield pytest.param(changes, key, words, id=" ".join(changes)[-60:])


@pytest.mark.parametrize(("changes", "key", "words"), list(read_refusals()))
def test_bad_values_name_the_change_key_rule_and_finding(
    file: Path, changes: tuple[str, ...], key: str, words: str
) -> None:
    text = message(file, changes)
    change = f"{changes[0][:80]}: " if len(changes) == 1 else ""
    assert text.startswith(f"--set {change}") and f": {key}: " in text
    for part in words.split("|"):
        assert part in text, text


def test_a_misspelt_key_is_told_before_the_one_it_leaves_missing(file: Path) -> None:
    file.write_text(MINIMAL.replace("target", "targt"))
    assert 'data.targt: is not a known key; found "targt". Did you mean "target"?' in message(file)
    file.write_text(MINIMAL.replace("target", "# target"))
    assert "data.target: is required; found nothing. Name the column to predict." in message(file)


def test_names_go_with_split_only(file: Path) -> None:
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "bank"\nnames = ["A", "B"]'))
    assert "data.names: needs data.split" in message(file)
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "cost"'))
    assert 'data.owner: must differ from target; found "cost"' in message(file)
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "bank"'))
    assert load(file, ["owners.benefit=[1, 2, 3]"]).owners.benefit == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("section", ["data", "owners", "policy", "learner"])
def test_a_missing_section_is_named(file: Path, section: str) -> None:
    parts = MINIMAL.split("\n[")
    file.write_text(
        "\n[".join(part for part in parts if not part.startswith((f"{section}]", f"{section}.")))
    )
    assert f"{file}: {section}: is required; found nothing. Add a table [{section}]" in message(
        file
    )


def test_files_that_are_no_scenarios(tmp_path: Path, file: Path) -> None:
    assert message(tmp_path / "none.toml").startswith(
        f"{tmp_path}/none.toml: must be a scenario file"
    )
    assert 'Did you mean "three_insurers"?' in message("three_insurer")
    assert "found a folder" in message(tmp_path)
    assert "must be" in message("x" * 5000)
    file.write_text("seed = = 3")
    assert f"{file}: must be TOML; found Invalid value (at line 1" in message(file)
    file.write_text("seed = 1\nseed = 2")
    assert "must be TOML; found Cannot overwrite a value" in message(file)
    file.write_bytes(b'title = "\xff"')
    assert "must be TOML in UTF-8; found a stray byte in place 9" in message(file)
    file.write_text("")
    assert "data: is required" in message(file)


def test_windows_files_load(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    assert load(file).data.target == "cost"


@pytest.mark.parametrize("override", ["seed", "=3", "", "a b=3", "seed.=3", "x=1\ny"])
def test_overrides_must_be_key_and_value(file: Path, override: str) -> None:
    text = message(file, (override,))
    assert text.startswith("--set: must be key=value") or "is not a known key" in text


def test_an_override_cannot_reach_into_a_value(file: Path) -> None:
    text = message(file, ("data.target.x=1",))
    assert '--set data.target.x=1: data.target: must be a table to take keys; found "cost"' in text


def test_texts_that_try_to_break_the_line_are_escaped(file: Path) -> None:
    assert '"a\\nb"' in message(file, ('data.order="a\\nb"',))
    odd = '\x00\x7f\u2028\n"\\é\U0001f600\U000e0001'
    assert tomllib.loads(f"x = {toml_text(odd)}")["x"] == odd
    assert len(toml_text(odd).splitlines()) == 1


def test_per_owner() -> None:
    assert values_per_owner(2.0, 3, "k").tolist() == [2.0, 2.0, 2.0]
    assert values_per_owner((1.0, 2.0), 2, "k").tolist() == [1.0, 2.0]
    assert values_per_owner(Interval(0.0, 1.0), 2, "k").tolist() == [[0.0, 1.0]] * 2
    assert values_per_owner((Interval(0.0, 1.0), Interval(0.0, 2.0)), 2, "k")[1].tolist() == [
        0.0,
        2.0,
    ]
    with pytest.raises(
        InputError, match="owners.benefit: must have one entry per owner, 3; found 2 entries"
    ):
        values_per_owner((1.0, 2.0), 3, "owners.benefit")


def test_nearest() -> None:
    assert suggest_name("Mdvis", ["mdvis", "idp"]) == 'Did you mean "mdvis"?'
    assert suggest_name("zzz", ["mdvis", "idp"]) == "Known here: mdvis, idp."
