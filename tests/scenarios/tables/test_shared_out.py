"""Owners whose sums are made by Dask workers: to the bit the same as without them; what needs the records is refused in one line."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from quick import quick_module
from shared_out import two_threads

from learning import partitions
from learning.errors import InputError
from learning.forecast.pooled import some_records
from learning.losses.clipping import Scores
from learning.losses.coordinates import Coordinates
from learning.workers import keep_workers
from scenarios.planning import planning_inputs
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.tables import parts
from scenarios.tables.dataset import market_data

__all__ = ["quick_module"]  # a fixture of every test

ROWS = 2000
SCENARIO = """
seed = 3
[data]
path = "parts"
target = "y"
owner = "bank"
public_rows = 80
missing = "fill"
[learning]
algorithm = "one_step"
mechanism = "gaussian"
delta = 1e-6
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
PERSONS = ["data.person=who", "data.rows_per_person=2"]


def table():
    """Rows of two owners, of persons with some in every partition."""
    draw = np.random.default_rng(2)
    x = draw.normal(size=(ROWS, 3)).astype(np.float32)
    columns = {f"x{k}": column for k, column in enumerate(x.T)}
    columns["kind"] = draw.choice(["a", "b", None], ROWS)
    columns["who"] = draw.integers(0, 900, ROWS)
    columns["bank"] = draw.choice(["A", "B"], ROWS)
    columns["y"] = x @ [1.0, -0.5, 0.2] + draw.normal(size=ROWS)
    return pa.table(columns)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A scenario with its table in four files of several row groups each, one of which has no rows."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "s.toml").write_text(SCENARIO)
    (folder / "parts").mkdir()
    whole = table()
    for number, (i, j) in enumerate([(0, 700), (700, 700), (700, 1500), (1500, ROWS)]):
        file = folder / "parts" / f"{number}.parquet"
        pq.write_table(whole.slice(i, j - i), file, row_group_size=300)
    return folder


@pytest.fixture(scope="module")
def address():
    with two_threads() as found:
        yield found


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Partitions of two row groups or one, read in blocks that end nowhere else."""
    monkeypatch.setattr(partitions, "PARTITION", 500)
    monkeypatch.setattr(partitions, "BLOCK", 128)


def read(place, *changes):
    return market_data(load(place / "s.toml", list(changes)))


def bounds_for(data):
    width = data.encoder.n_parameters
    transform = np.eye(width) + 0.1
    return Coordinates(
        np.full(width, 0.1), transform, 1.5, theta_max=1.0, norm=2, scores=Scores(0.8, 0.4)
    )


@pytest.mark.parametrize("changes", [[], PERSONS, ["data.holdout=0.2", "data.order=as_is"]])
def test_workers_change_no_bit_of_any_sum(place, address, monkeypatch, changes):
    shares = []
    with keep_workers():
        shared = read(place, f"data.workers={address}", *changes)
        bounds = bounds_for(shared)
        shared.pooled.expect(bounds, lambda stage, share=0.0: shares.append(share))
        drawn = some_records(shared.pooled, np.random.default_rng(0), 50)
    monkeypatch.setattr(parts, "WHOLE", 0)
    alone = read(place, *changes)
    for one, other in zip(shared.pooled.oracles(bounds), alone.pooled.oracles(bounds), strict=True):
        assert one.n_records == other.n_records > 100
        assert np.array_equal(one.xx, other.xx) and np.array_equal(one.xy, other.xy)
    assert (shared.filled, shared.overlap, shared.persons) == (
        alone.filled,
        alone.overlap,
        alone.persons,
    )
    assert np.array_equal(shared.fitness.minimiser, alone.fitness.minimiser)
    assert np.array_equal(shared.public.x, alone.public.x)
    assert all(map(np.array_equal, drawn, some_records(alone.pooled, np.random.default_rng(0), 50)))
    assert shares[0] == 0 and shares[-1] == 1 and len(shares) == 6  # each partition that has rows


def test_sums_are_those_of_the_whole_table_in_memory(place, address):
    shared = read(place, f"data.workers={address}", *PERSONS)
    whole = read(place, *PERSONS)
    assert shared.persons == whole.persons and whole.persons.left_out > 50
    bounds = bounds_for(whole)
    for one, other in zip(shared.pooled.oracles(bounds), whole.pooled.oracles(bounds), strict=True):
        np.testing.assert_allclose(one.xx, other.xx, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.xy, other.xy, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("as_for_users")
@pytest.mark.parametrize("protocol", ["", 'protocol = "best"'])
def test_workers_compare_protocols_that_ask_for_sums(place, address, protocol):
    """By default, and under `best`, gradients that are clipped by record are left out."""
    (place / "best.toml").write_text(
        SCENARIO.replace('algorithm = "one_step"\nmechanism = "gaussian"\n', f"{protocol}\n")
    )
    scenario = load(place / "best.toml", [f"data.workers={address}"])
    inputs = planning_inputs(scenario, market_data(scenario))
    assert inputs.among and {one.clipping for one in inputs.among} == {"parts"}
    assert any(one.algorithm == "one_step" for one in inputs.among)


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["owners.report=0.05"], "data.workers: needs settings that use sums over an owner's records only; found owners.report"),
        (["learning.clipping=record", "learning.algorithm=synchronous"], "squared loss, algorithm synchronous, clipping record"),
        (["data.path=t.csv"], "data.workers: needs a table of Parquet"),
        (["data.path=gone"], "data.path: must be a file that exists"),
        (["data.public_rows=0"], "data.public_rows: must be above 0"),
        (["data.workers=0"], "data.workers: must be a whole number of at least 1, or an address"),
        (["data.workers=true"], "data.workers: must be a whole number of at least 1, or an address"),
    ],
)  # fmt: skip
def test_what_workers_cannot_do_is_refused_in_one_line(place, changes, words):
    (place / "t.csv").write_text("y,x0,bank\n1,2,A\n")
    changes = [change.replace("path=", f"path={place}/") for change in changes]
    assert words in refused(lambda: read(place, "data.workers=2", *changes))


@pytest.mark.parametrize("change", ["rows", "column", "gone"])
def test_a_file_that_changes_meanwhile_is_told(place, tmp_path, address, change):
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "parts").mkdir()
    file = tmp_path / "parts" / "0.parquet"
    pq.write_table(table(), file, row_group_size=500)
    with keep_workers():
        data = read(tmp_path, f"data.workers={address}")
        other = {
            "rows": table().slice(0, ROWS - 1),
            "column": table().drop_columns("x1"),
            "gone": None,
        }[change]
        if other is None:
            file.unlink()
        else:
            pq.write_table(other, file, row_group_size=500)
        said = refused(lambda: data.pooled.expect(bounds_for(data)))
    assert "data.path: must be a whole Parquet file; found" in said and "0.parquet" in said


@pytest.mark.deep
def test_a_whole_run_by_two_processes_is_that_without_them(place, monkeypatch):
    pytest.importorskip("distributed")
    shared = run(load(place / "s.toml", ["data.workers=2"])).content
    monkeypatch.setattr(parts, "WHOLE", 0)
    alone = run(load(place / "s.toml")).content
    for part in ("owners", "forecast", "validation", "data", "claims", "learner"):
        assert_same(shared[part], alone[part])


def assert_same(one, other):
    """Parts of results are the same, numbers up to the rounding of sums in another process."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list):
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-10)
    else:
        assert one == other
