"""Records that sit with several owners: found by marks, counted, told, and never a reason to refuse."""

import json

import numpy as np
import pytest
from populations import generated

from learning.data import overlap
from learning.data.fitting import fit_encoder
from learning.data.overlap import (
    Marks,
    Overlap,
    chance_of_copies,
    count_overlap,
    overlap_of_marks,
)
from learning.data.owner_data import OwnerData, encode_owners
from scenarios.report.phrases import render_phrase


def owners(*slices, seed=0):
    x, y = generated(300, 4, np.random.default_rng(seed))
    return [OwnerData(f"owner {i}", x[s], y[s]) for i, s in enumerate(slices)]


@pytest.mark.parametrize(
    ("slices", "rows", "kappa"),
    [
        ((slice(0, 100), slice(100, 200)), 0, 1),
        ((slice(0, 100), slice(90, 200)), 20, 2),
        ((slice(0, 100), slice(90, 200), slice(95, 120)), 65, 3),
        ((slice(0, 50), slice(0, 50), slice(0, 50), slice(50, 60)), 150, 3),
        ((slice(0, 100),), 0, 1),
    ],
)
def test_planted_records_are_found(slices, rows, kappa):
    """Distinct records, sliced so that the answer can be counted by hand."""
    assert count_overlap(owners(*slices)) == Overlap(rows, kappa)


def test_marks_in_files_give_the_count_of_those_in_memory(monkeypatch):
    """Marks of partitions, each of which is more than memory is to hold, and of one that is not."""
    draw = np.random.default_rng(5)
    marks = draw.integers(0, 2**63, 400).astype(np.uint64)[draw.integers(0, 400, 1000)]
    whose = draw.integers(0, 4, 1000).astype(np.uint8)
    monkeypatch.setattr(overlap, "HELD", 100)
    gathered = Marks()
    for rows in np.split(np.arange(1000), [300, 310, 700]):
        part = Marks()
        part.add(marks[rows], whose[rows])
        gathered.join(part)
    assert sum(len(one) for one, _ in gathered.held) <= 100 and gathered.files
    expected = overlap_of_marks(marks, whose)
    assert gathered.overlap == expected and expected.kappa == 4 and 300 < expected.rows < 1000


def test_the_count_is_that_of_comparing_every_pair_of_records():
    rng = np.random.default_rng(1)
    held = [
        OwnerData(
            f"owner {i}",
            np.column_stack([rng.integers(0, 3, (40, 2)), np.ones(40)]),
            rng.integers(0, 9, 40) * 1.0,
        )
        for i in range(5)
    ]
    sets = [[(*r, v) for r, v in zip(o.x.tolist(), o.y.tolist(), strict=True)] for o in held]
    holders = {row: sum(row in own for own in sets) for own in sets for row in own}
    expected = Overlap(sum(holders[row] > 1 for own in sets for row in own), max(holders.values()))
    assert count_overlap(held) == expected and 1 < expected.kappa <= 5 and 0 < expected.rows < 200


def test_rows_repeated_within_one_owner_are_not_shared():
    x = np.ones((5, 2))
    assert count_overlap(
        [OwnerData("a", x, np.zeros(5)), OwnerData("b", 2 * x, np.zeros(5))]
    ) == Overlap(0, 1)


def test_the_target_belongs_to_the_record():
    x = np.ones((1, 2))
    assert count_overlap([OwnerData("a", x, np.zeros(1)), OwnerData("b", x, np.ones(1))]).kappa == 1


def test_minus_zero_is_zero():
    zero = [OwnerData(n, np.array([[v, 1.0]]), np.array([v])) for n, v in (("a", 0.0), ("b", -0.0))]
    assert count_overlap(zero).kappa == 2


def test_the_same_row_encoded_in_batches_of_other_sizes_is_the_same():
    """Principal components come from matrix products whose last bits depend on the batch."""
    rng = np.random.default_rng(3)
    columns = {f"c{i}": rng.normal(size=500) for i in range(9)} | {"y": rng.normal(size=500)}
    encoder = fit_encoder(
        columns,
        target="y",
        features=[f"c{i}" for i in range(9)],
        public=np.arange(400, 500),
        bounds={},
        components=6,
    )
    held = [
        encode_owners(encoder, columns, {str(i): rows})[0]
        for i, rows in enumerate((np.arange(300), np.arange(7, 8), [3, 250]))
    ]
    assert count_overlap(held) == Overlap(6, 2)


def test_the_warning_says_what_to_do_and_only_when_there_is_more_than_stated():
    found = {"rows": 20, "kappa": 3}
    assert render_phrase("privacy", "identical_records", found, 3) == ""
    assert render_phrase("privacy", "identical_records", {"rows": 0, "kappa": 1}, 1) == ""
    for part in (
        "20 records",
        "hold only if no record is held by 3 or more owners",
        "set learning.overlap to their number (here at most 3)",
    ):
        assert part in render_phrase("privacy", "identical_records", found, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shared", "stated", "warned"), [(0, 1, False), (5, 1, True), (5, 2, False)]
)
def test_check_and_run_tell_and_go_on(dpmarket, write, tmp_path, shared, stated, warned):
    rng = np.random.default_rng(0)
    x = rng.normal(size=110)
    noise = rng.normal(size=110)
    x[40 : 40 + shared], noise[40 : 40 + shared] = x[:shared], noise[:shared]
    lines = [f"{a:.6g},{a + b:.6g}" for a, b in zip(x, noise, strict=True)]
    scenario = write(lines, header="x,y")
    changes = [
        f"learning.overlap={stated}",
        "data.order=as_is",
        "data.bounds.x=[-9, 9]",
        "data.bounds.y=[-9, 9]",
    ]
    for command in (("check", scenario), ("run", scenario, "--out", "r")):
        status, out, err = dpmarket(
            *command, *(word for change in changes for word in ("--set", change))
        )
        assert status == 0 and err == "" and ("identical to a record of another" in out) == warned
    result = json.loads((tmp_path / "r" / "result.json").read_text())
    found = result["data"]["identical_records"]
    assert (found["rows"], found["kappa"]) == (2 * shared, 2 if shared else 1)
    assert ("Chance does not explain this" in " ".join(out.split())) == warned  # no record is met twice with one owner


def test_copies_dealt_out_at_random_are_as_many_as_chance_says():
    """Deal out coded records over and over, and compare mean and deviation with the formula."""
    rng = np.random.default_rng(5)
    marks = rng.integers(0, 400, size=600).astype(np.uint64)
    shares = np.array([0.6, 0.3, 0.1])
    found = [overlap_of_marks(marks, rng.choice(3, size=600, p=shares)) for _ in range(400)]
    copies = np.unique(marks, return_counts=True)[1]
    mean, spread = chance_of_copies(copies[copies > 1], shares)
    rows = np.array([one.rows for one in found])
    assert rows.mean() == pytest.approx(mean, abs=4 * spread / 20)
    assert rows.std() == pytest.approx(spread, rel=0.15)
    assert np.mean([one.by_chance for one in found]) == pytest.approx(mean, rel=0.01)


def test_records_of_one_person_at_two_owners_are_more_than_chance():
    rng = np.random.default_rng(6)
    own = rng.integers(0, 2**60, size=200).astype(np.uint64)
    marks = np.concatenate([own, own[:40], own[:40] + np.uint64(1)])
    found = overlap_of_marks(marks, np.repeat([0, 1], [200, 80]))
    assert found.rows == 80 > found.by_chance + 2 * found.spread
