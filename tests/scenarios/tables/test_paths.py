"""Where tables lie: those that come with the program, and those of the folder that the user names."""

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from commands import SCENARIO
from written import message, select

from scenarios.schema.data import PUBLISHED
from scenarios.schema.loading import library_scenarios, load
from scenarios.tables.paths import bundled_table, table_exists, table_path
from scenarios.tables.reading import read_table
from scenarios.tables.selection import Selection

# Data that comes with the program


def test_randhie_is_whole() -> None:
    path = bundled_table("randhie")
    readme = path.with_name("README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(path.read_bytes()).hexdigest() in readme
    table = read_table(path)
    assert table.n_rows == 20_190 and len(table.columns) == 10
    assert all(f"`{name}`" in readme for name in table.columns)
    assert all(np.isfinite(column).all() for column in table.columns.values())
    visits = table.columns["mdvis"]
    assert visits.sum() == 57_752 and visits.max() == 77 and (visits > 20).sum() == 205
    assert (
        "gzip.GzipFile" in readme and path.read_bytes()[4:8] == b"\0\0\0\0"
    )  # no time stamp in the bytes


def test_the_library_finds_its_tables(tmp_path: Path) -> None:
    insurers = load("three_insurers")
    got = select(read_table(table_path(insurers)), insurers.data)
    assert isinstance(got, Selection) and got.n_dropped == 0 and got.labels is None
    assert len(got.target) == 20_190 and len(got.features) == 9
    assert table_path(load("lending_banks", [f"data.path={tmp_path}/x.csv"])) == tmp_path / "x.csv"
    health = load("three_insurers_health")
    got = select(read_table(table_path(health)), health.data, labels=True)
    assert got.labels == ("0", "1") and (got.target == 1).sum() == 1560 and len(got.features) == 7


# Data that the user has


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPMARKET_DATA", raising=False)


@pytest.mark.parametrize(
    "name",
    [
        "adult_income",
        "bank_calls",
        "cancer_clinics",
        "fraud_detection",
        "hospitals",
        "lending_banks",
    ],
)
def test_tables_that_do_not_come_along_are_found_in_the_data_folder(
    name: str, tmp_path: Path, no_folder: None
) -> None:
    scenario = load(name, data_folder=tmp_path)
    file = PUBLISHED[str(scenario.data.source)]
    assert not table_exists(scenario)
    (tmp_path / file).mkdir(parents=True)  # a folder of that name is no table
    assert not table_exists(scenario)
    assert f"found no such file in {tmp_path}" in message(lambda: table_path(scenario))
    (tmp_path / file).rmdir()
    (tmp_path / file).write_bytes(b"x")
    assert table_exists(scenario) and table_path(scenario) == tmp_path / file


def test_a_table_that_is_not_there_is_told_with_file_place_and_remedy(
    tmp_path: Path, no_folder: None
) -> None:
    remedy = "Give the folder that holds it with --data DIR or DPMARKET_DATA=DIR, or the file with --set data.path=FILE."
    rule = 'data.source: "lending_club" needs lending_club/loans_2007_2014.csv.gz, which is not bundled'
    for folder, found in (
        (None, "no data folder"),
        (tmp_path, f"no such file in {tmp_path}"),
        (tmp_path / "x", f"no such folder: {tmp_path}/x"),
    ):
        text = message(lambda folder=folder: table_path(load("lending_banks", data_folder=folder)))
        assert text == f"{rule}; found {found}. {remedy}"


def test_a_table_named_by_its_path_needs_no_data_folder(tmp_path: Path, no_folder: None) -> None:
    path = tmp_path / "x.csv"
    scenario = load("lending_banks", [f"data.path={path}"], data_folder=tmp_path / "none")
    assert table_path(scenario) == path and not table_exists(scenario)
    path.write_text("a,b\n1,2\n")
    assert table_exists(scenario)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("forecast", "--epsilon", "1"),
        ("run", "--no-train", "--out", "r"),
        ("audit", "--draws", "100"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_take_the_data_folder_as_an_option_or_a_variable(
    tmp_path: Path,
    no_folder: None,
    monkeypatch: pytest.MonkeyPatch,
    dpmarket: Callable[..., tuple[int, str, str]],
    arguments: tuple[str, ...],
) -> None:
    scenario = SCENARIO.replace('path = "{table}"', 'source = "adult"').replace(
        "[40, 40]", "[20, 20]"
    )
    (tmp_path / "s.toml").write_text(scenario.replace("public_rows = 30", "public_rows = 20"))
    name, *options = arguments
    call = (name, "s.toml", *options)
    status, out, err = dpmarket(*call)
    assert status == 2 and out == "" and err.count("\n") == 1
    assert (
        's.toml: data.source: "adult" needs adult/adult_train.csv.gz' in err and "--data DIR" in err
    )
    file = tmp_path / "d" / PUBLISHED["adult"]
    file.parent.mkdir(parents=True)
    draw = np.random.default_rng(0)
    x, noise = draw.normal(size=(2, 60))
    rows = "".join(f"{a},{a + b}\n" for a, b in zip(x, noise, strict=True))
    file.write_bytes(gzip.compress(("x,y\n" + rows).encode()))
    assert dpmarket(*call, "--data", "d")[0] == 0
    monkeypatch.setenv("DPMARKET_DATA", "d")
    assert dpmarket(*call)[0] == 0


def test_the_list_of_scenarios_tells_whose_data_is_not_there(
    tmp_path: Path,
    no_folder: None,
    monkeypatch: pytest.MonkeyPatch,
    dpmarket: Callable[..., tuple[int, str, str]],
) -> None:
    def marks(*options: object) -> dict[str, str]:
        status, out, _ = dpmarket("scenarios", *options)
        assert status == 0
        lines = [line.split() for line in out.splitlines()]
        return {words[0]: words[1] for words in lines if words and words[0] in library_scenarios()}

    own = {"three_insurers", "three_insurers_health"}
    assert marks() == {name: "here" if name in own else "MISSING" for name in library_scenarios()}
    for file in PUBLISHED.values():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    assert set(marks("--data", tmp_path).values()) == {"here"}
    (tmp_path / PUBLISHED["adult"]).unlink()
    monkeypatch.setenv("DPMARKET_DATA", str(tmp_path))
    assert [name for name, mark in marks().items() if mark == "MISSING"] == ["adult_income"]
