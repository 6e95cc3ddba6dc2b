"""Parquet in parts: a folder is one table, and what is too large to hold gives the same as from memory."""

import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from quick import quick_module

from learning import partitions
from learning.data.feature_names import feature_names
from learning.errors import InputError
from learning.forecast.pooled import PooledSums, some_records
from learning.losses.coordinates import Coordinates
from learning.losses.loss import UNBOUNDED
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.sweeping.cells import _hash_table
from scenarios.tables import parts
from scenarios.tables.dataset import market_data
from scenarios.tables.paths import open_table
from scenarios.tables.reading import read_table

__all__ = ["quick_module"]  # a fixture of every test

ROWS = 900
PUBLIC = 80
SCENARIO = """
seed = 3
[data]
path = "whole.parquet"
target = "y"
owner = "bank"
public_rows = 80
missing = "fill"
[owners]
epsilon = [0.1, 5.0]
[owners.cost]
kind = "linear"
price = 0.01
[policy]
kind = "proportional"
budget = 10.0
[learner]
value = 100.0
[market]
starts = 1
[validation]
runs = 3
"""
SETTINGS = {
    "plain": [],
    "as it lies, dropped, bounds": [
        "data.order=as_is",
        "data.missing=drop",
        "data.bounds.x=[-1, 1]",
    ],
    "held out": ["data.holdout=0.2", "data.check_rows=10", "data.min_records=220"],
    "split": ["data.split=[300, 200]", "data.holdout=rest"],
    "persons, components": ["data.person=who", "data.rows_per_person=2", "data.components=3"],
}


def frame() -> pd.DataFrame:
    """Numbers and texts of every kind that Parquet has, with holes, and rows that owners share."""
    draw = np.random.default_rng(1)
    x = draw.normal(size=ROWS).round(1)
    count = draw.integers(0, 9, ROWS)
    made = pd.DataFrame(
        {
            "bank": draw.choice(["A", "B ", "C", None], ROWS, p=[0.4, 0.3, 0.28, 0.02]),
            "who": draw.integers(0, 300, ROWS),
            "x": np.where(draw.random(ROWS) < 0.05, np.nan, x),
            "count": pd.array(count, dtype="Int64"),
            "city": draw.choice(["bonn", "kiel", "ulm", None], ROWS),
            "written": [
                *draw.choice(["1", "2.5", "junk"], ROWS - 300, p=[0.5, 0.49, 0.01]),
                *[None] * 300,
            ],
            "yes": draw.random(ROWS) < 0.5,
            "code": draw.choice([1, 2, 2**53 + 1], ROWS, p=[0.6, 0.39, 0.01]),
            "y": (x + 0.1 * count + draw.normal(size=ROWS)).round(1),
        }
    )
    made.loc[draw.choice(ROWS, 15), "y"], made.loc[draw.choice(ROWS, 15), "x"] = np.nan, np.inf
    return pd.concat([made[:800], made[:100].assign(bank="A")], ignore_index=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A scenario beside one file, and beside a folder of the same rows in four parts, one of which has none."""
    folder = tmp_path_factory.mktemp("parted")
    whole = pa.Table.from_pandas(frame())
    pq.write_table(whole, folder / "whole.parquet")
    (folder / "parts").mkdir()
    for name, (i, j) in {"a": (0, 130), "b": (130, 130), "c": (130, 137), "d": (137, ROWS)}.items():
        pq.write_table(
            whole.slice(i, j - i), folder / "parts" / f"{name}.parquet", row_group_size=97
        )
    (folder / "parts" / "_SUCCESS").touch()
    return folder


@pytest.fixture
def in_parts(monkeypatch):
    """No table is small enough to be read at once; blocks are of so many rows."""
    monkeypatch.setattr(parts, "WHOLE", 0)
    monkeypatch.setattr(partitions, "BLOCK", 64)


def scenario(place, *changes, table="parts"):
    """A scenario for a table in a folder; one that splits rows has no owner column."""
    splits = any(change.startswith("data.split") for change in changes)
    (place / "s.toml").write_text(SCENARIO.replace('owner = "bank"\n', "") if splits else SCENARIO)
    return load(place / "s.toml", [f"data.path={place / table}", *changes])


def test_a_folder_is_one_table(place):
    folder = open_table(place / "parts")
    file = open_table(place / "whole.parquet")
    assert folder.n_rows == ROWS and not folder.is_large
    known = read_table(place / "whole.parquet").columns
    for table in (folder.read_whole(), file.read_whole()):
        assert list(table.columns) == list(known)
        for name, column in known.items():
            assert table.columns[name].dtype == column.dtype and pd.Series(column).equals(
                pd.Series(table.columns[name])
            )
    some = np.array([700, 3, 131, 131, 899])
    assert np.array_equal(
        folder.read_rows(some, ["x", "y"]).columns["y"], known["y"][some], equal_nan=True
    )


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
def test_read_in_parts_it_gives_the_same_as_from_memory(place, monkeypatch, changes):
    whole = market_data(scenario(place, *changes, table="whole.parquet"))
    monkeypatch.setattr(parts, "WHOLE", 0)
    monkeypatch.setattr(partitions, "BLOCK", 64)
    away = market_data(scenario(place, *changes))
    assert isinstance(away.pooled, PooledSums) and away.names == whole.names and away.n_rows == ROWS
    assert (
        away.sizes.tolist() == whole.sizes.tolist()
        and away.division.left_over == whole.division.left_over
    )
    assert (away.division.too_small, away.persons) == (whole.division.too_small, whole.persons)
    assert (
        feature_names(away.encoder) == feature_names(whole.encoder)
        and away.table.n_dropped == whole.table.n_dropped
    )
    for sample in ("public", "aside"):
        one = getattr(away, sample)
        other = getattr(whole, sample)
        assert (one is None) == (other is None)
        assert one is None or (np.array_equal(one.x, other.x) and np.array_equal(one.y, other.y))

    width = len(whole.fitness.minimiser)
    bounds = Coordinates(np.full(width, 0.1), np.eye(width) + 0.1, 1.5, 0.7, 1.0)
    away.pooled.expect(bounds)
    for one, other in zip(away.pooled.oracles(bounds), whole.pooled.oracles(bounds), strict=True):
        assert (
            np.allclose(one.xx, other.xx, rtol=1e-12, atol=1e-12)
            and one.n_records == other.n_records
        )
        assert np.allclose(one.xy, other.xy, rtol=1e-12, atol=1e-12)
    assert away.fitness.optimum == pytest.approx(whole.fitness.optimum, rel=1e-12)
    assert np.allclose(away.own_models, whole.own_models, rtol=1e-9, atol=1e-9)
    assert (away.filled, away.overlap) == (whole.filled, whole.overlap) and whole.filled > 1
    assert whole.overlap.kappa > 1 or len(whole.names) == 1
    if whole.holdout:
        assert away.holdout.n_records == whole.holdout.n_records > 0
        unheld = replace(whole.holdout, ends=UNBOUNDED)  # sums cannot hold predictions
        assert away.holdout.error(away.loss, np.ones((2, width))) == pytest.approx(
            unheld.error(whole.loss, np.ones((2, width))), rel=1e-12
        )
        assert away.holdout.baseline_error(away.loss) == pytest.approx(
            whole.holdout.baseline_error(whole.loss), rel=1e-9
        )
    assert np.allclose(away.owners[0].x, whole.owners[0].x, rtol=1e-12, atol=1e-12)
    assert np.array_equal(away.owners[0].y, whole.owners[0].y)
    for one, other in zip(
        *(some_records(m.pooled, np.random.default_rng(0), 50) for m in (away, whole)), strict=True
    ):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-12)


LABELLED = [
    "data.target=yes",
    "data.holdout=0.2",
    "learning.regularisation=0.05",
    "learning.horizon=3",
    "learning.step_size=1.0",
    "learning.clip=2.0",
    "learning.theta_max=2.0",
]
ONE_BY_ONE = [
    "learning.algorithm=sgd1",
    "learning.mechanism=gaussian",
    "learning.delta=1e-5",
    "learning.horizon=3",
]
ON_DISK = {
    "hinge": [*LABELLED, "learning.loss=hinge"],
    "logistic": [*LABELLED, "learning.loss=logistic", "data.order=as_is"],
    "network": [*LABELLED, "learning.loss=network", "learning.hidden=2"],
    "sgd1": [*ONE_BY_ONE, "data.order=as_is"],
    "loss reports": ["owners.report=0.05"],
    "clipped gradients": ["learning.clipping=record"],
}


@pytest.mark.parametrize("changes", ON_DISK.values(), ids=ON_DISK)
def test_records_on_disk_are_those_of_memory(place, monkeypatch, changes):
    whole = market_data(scenario(place, *changes, table="whole.parquet"))
    monkeypatch.setattr(parts, "WHOLE", 0)
    monkeypatch.setattr(partitions, "BLOCK", 64)
    monkeypatch.setattr("learning.losses.records.HELD", 50)
    away = market_data(scenario(place, *changes))
    assert (away.filled, away.overlap) == (whole.filled, whole.overlap)
    for one, other in zip(away.owners, whole.owners, strict=True):
        assert isinstance(one.x, np.memmap) and isinstance(one.y, np.memmap)
        rows, known = (np.column_stack([owner.x, owner.y]) for owner in (one, other))
        assert np.array_equal(*(part[np.lexsort(part.T)] for part in (rows, known)))
        assert "as_is" not in str(changes) or np.array_equal(rows, known)
    if not whole.loss.costly:
        assert away.fitness.optimum == pytest.approx(whole.fitness.optimum, rel=1e-9)
    theta = np.random.default_rng(0).normal(size=(3, len(whole.fitness.minimiser)))
    assert np.allclose(away.fitness.value(theta), whole.fitness.value(theta), rtol=1e-12)
    if whole.holdout:
        assert away.holdout.error(away.loss, theta) == pytest.approx(
            whole.holdout.error(whole.loss, theta), rel=1e-12
        )
        assert away.holdout.baseline_error(away.loss) == whole.holdout.baseline_error(whole.loss)
    width = len(theta[0])
    bounds = Coordinates(np.full(width, 0.1), np.eye(width), 1.5, 0.7, 1.0, loss=whole.loss)
    answers = (
        [one.gradient(theta) for one in data.pooled.oracles(bounds)] for data in (away, whole)
    )
    assert np.allclose(*answers, rtol=1e-5, atol=1e-6)  # sums of single precision, in another order
    assert np.array_equal(
        *(sorted(some_records(data.pooled, np.random.default_rng(0))[1]) for data in (away, whole))
    )


def test_a_full_disk_is_told_in_one_line(place, in_parts, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=100))
    words = f"TMPDIR: must have room for the encoded records; found 0.0 of 0.0 GiB in {tmp_path}"
    assert words in refused(lambda: market_data(scenario(place, *ON_DISK["hinge"])))
    monkeypatch.undo()


def test_no_file_is_left_of_records_on_disk(place, in_parts, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    data = market_data(scenario(place, *ON_DISK["logistic"]))
    assert data.owners[0].x.sum() != 0 and not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        ["data.holdout=0.2", "owners.benefit=1.0"],
        pytest.param([*ON_DISK["hinge"], "learning.regularisation=0.2"], marks=pytest.mark.deep),
        ON_DISK["loss reports"],
    ],
)
def test_a_whole_run_is_the_same(place, monkeypatch, changes):
    whole = run(scenario(place, *changes, table="whole.parquet")).content
    monkeypatch.setattr(parts, "WHOLE", 0)
    away = run(scenario(place, *changes)).content
    for block in ("owners", "forecast", "validation", "data", "claims", "learner"):
        assert flat(away[block]) == pytest.approx(
            flat(whole[block]), rel=1e-5, abs=1e-6, nan_ok=True
        )


def flat(part, name=""):
    """The numbers of a part of a result by their place."""
    if isinstance(part, dict | list):
        items = part.items() if isinstance(part, dict) else enumerate(part)
        return {k: v for key, value in items for k, v in flat(value, f"{name}.{key}").items()}
    return {name: part} if isinstance(part, int | float) else {}


def test_no_private_cell_moves_anything_public(place, in_parts, tmp_path):
    """Neither what columns hold nor how they are encoded: private rows of other numbers and of texts that nobody knows."""
    before = market_data(scenario(place))
    other = frame()
    private = np.setdiff1d(np.arange(ROWS), before.division.public)
    other.loc[private, ["x", "y"]] = (
        np.random.default_rng(5).standard_cauchy((len(private), 2)) * 1e9
    )
    other.loc[private, "city"], other.loc[private, "written"], other.loc[private, "code"] = (
        "elsewhere",
        "4?x",
        2**60,
    )
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(ROWS), 2)):
        pq.write_table(
            pa.Table.from_pandas(other.iloc[rows]), tmp_path / "parts" / f"{number}.parquet"
        )
    after = market_data(scenario(tmp_path))
    assert after.sizes.tolist() == before.sizes.tolist() and after.filled > before.filled
    assert (
        feature_names(after.encoder) == feature_names(before.encoder)
        and after.table.n_dropped == before.table.n_dropped
    )
    assert np.array_equal(after.public.x, before.public.x) and np.array_equal(
        after.public.y, before.public.y
    )
    ends = [
        (one.encoder.numbers.low.tolist(), one.encoder.numbers.high.tolist())
        for one in (before, after)
    ]
    assert ends[0] == ends[1] and before.encoder.target == after.encoder.target


@pytest.mark.parametrize("whole", [0, 2**25], ids=["in parts", "in memory"])
def test_held_out_rows_without_a_target_try_nothing(place, monkeypatch, tmp_path, whole):
    monkeypatch.setattr(parts, "WHOLE", whole)
    made = frame()
    held_out = market_data(scenario(place, "data.holdout=0.1")).division.holdout
    made.loc[held_out, "y"] = np.nan
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.Table.from_pandas(made), tmp_path / "parts" / "0.parquet")
    assert market_data(scenario(tmp_path, "data.holdout=0.1")).holdout is None


def test_one_pass_does_for_all_sums(place, in_parts, monkeypatch):
    data = market_data(scenario(place))
    passes = []
    monkeypatch.setattr(
        partitions.Partition,
        "read_batches",
        lambda self, *asked, read=partitions.Partition.read_batches: (
            passes.append(self.first) or read(self, *asked)
        ),
    )
    bounds = Coordinates(
        np.zeros(len(data.public.x.T)), np.eye(len(data.public.x.T)), 1.0, 1.0, 1.0
    )
    data.pooled.expect(bounds)
    _ = (
        data.fitness.optimum,
        data.own_models,
        data.overlap,
        data.filled,
        data.pooled.oracles(bounds),
    )
    assert passes == [0, 130, 137]  # each partition that has rows


def test_memory_does_not_grow_with_the_table(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    rows = 30_000
    (tmp_path / "parts").mkdir()
    for part in range(4):
        made = {f"x{j}": draw.normal(size=rows) for j in range(9)} | {
            "bank": draw.integers(0, 3, rows)
        }
        made["y"] = made["x0"] + draw.normal(size=rows)
        pq.write_table(pa.table(made), tmp_path / "parts" / f"{part}.parquet")
    monkeypatch.setattr(parts, "WHOLE", 0)
    monkeypatch.setattr(partitions, "BLOCK", 1024)
    chosen = scenario(tmp_path)
    tracemalloc.start()
    try:
        data = market_data(chosen)
        data.pooled.expect(Coordinates(np.zeros(10), np.eye(10), 1.0, 1.0, 1.0))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    cells = 8 * 11 * 4 * rows  # the table itself
    assert data.sizes.sum() == 4 * rows - PUBLIC and most < cells / 2


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_folders_that_are_no_table(tmp_path):
    good = pa.table({"a": [1.0, 2.0], "b": ["x", "y"]})
    other = pa.table({"a": [1, 2], "b": ["x", "y"]})
    folder = tmp_path / "parts"
    folder.mkdir()
    assert "an empty folder" in refused(lambda: open_table(folder))
    pq.write_table(good.slice(0, 0), folder / "p0.parquet")
    assert "0 rows, 2 columns" in refused(lambda: open_table(folder))
    pq.write_table(good, folder / "p1.parquet")
    assert open_table(folder).n_rows == 2
    pq.write_table(other, folder / "p2.parquet")
    said = refused(lambda: open_table(folder))
    assert (
        'double in p0.parquet and int64 in p2.parquet for column "a"' in said
        and "Write p2.parquet again" in said
    )
    pq.write_table(good.drop_columns("b"), folder / "p2.parquet")
    assert 'none called "b" in p2.parquet' in refused(lambda: open_table(folder))
    (folder / "p2.parquet").write_bytes(b"PAR1")
    assert "must be a whole Parquet file" in refused(lambda: open_table(folder))
    (folder / "p2.parquet").unlink()
    (folder / "notes.txt").touch()
    assert 'a file that is none: "notes.txt"' in refused(lambda: open_table(folder))
    (folder / "notes.txt").unlink()
    (folder / "year=2020").mkdir()
    assert 'a folder: "year=2020"' in refused(lambda: open_table(folder))


def test_a_part_that_is_damaged_inside_is_told(tmp_path, in_parts):
    pq.write_table(
        pa.table({"a": np.random.default_rng(0).normal(size=5000)}),
        tmp_path / "t.parquet",
        compression="zstd",
    )
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    content[4:40] = bytes(36)
    (tmp_path / "t.parquet").write_bytes(content)
    assert "must be a whole Parquet file" in refused(
        lambda: open_table(tmp_path / "t.parquet").read_whole()
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            ["data.public_rows=0"],
            "data.public_rows: must be above 0 for a table that is read in parts",
        ),
        (["data.owner=shop"], 'data.owner: must name a column of the table; found "shop"'),
        (["data.features=['x', 'z']"], "data.features: must name a column of the table"),
        (ONE_BY_ONE, 'data.order: must be "as_is" if single records are asked for'),
    ],
)
def test_what_parts_cannot_do_is_refused_in_one_line(place, in_parts, changes, words):
    assert words in refused(lambda: market_data(scenario(place, *changes)))


def test_a_study_tells_folders_apart_by_what_is_in_them(place, tmp_path):
    one = _hash_table(scenario(place))
    assert (
        one == _hash_table(scenario(place)) != _hash_table(scenario(place, table="whole.parquet"))
    )
