"""The study of owners that differ."""

from pathlib import Path

import numpy as np
import pytest

from learning.progress import ignore_progress
from reproduction import differing
from reproduction.differing import (
    INSURERS,
    KINDS,
    PUBLIC,
    RECORDS,
    UNEQUAL,
    WIDTH,
    Purchase,
    divide_table,
    draw_owners,
    run_differing,
)
from reproduction.study import Options
from tests.reproduction.test_calibration import ONE


def purchase(**fields):
    given = dict(algorithm="one_step", sums=0.01, lost=0.5, prevented=0.5, missed=0.0)
    return Purchase(**vars(ONE) | given | dict(seen=1.0, seen_low=0.01, seen_high=0.05) | fields)


def test_a_kind_fails_by_its_intervals_its_chances_or_its_losses(tmp_path, monkeypatch):
    changed = {
        "slopes": {"agrees": False},
        "labels": {"chance_pays": 0.6, "gain": -1.0},
        "scales": {"prevented": 0.4},
    }

    def made(name, seed, data):
        usual = {"agrees": True, "chance_pays": 0.4, "gain": -1.0}
        return [purchase(market=name, seed=seed, **usual | changed.get(name, {}))]

    monkeypatch.setattr(differing, "_measure_one", made)
    options = Options(out=tmp_path, seeds=2, workers=1)
    study = run_differing(options, ignore_progress)
    failing = [row.name for row in study.rows if row.holds is False]
    assert sorted(failing) == sorted([*changed, "all"])
    assert {row.name for row in study.rows} == {*KINDS, INSURERS, "all"}
    assert study.rows[0].name in changed  # the worst first
    alike = next(row for row in study.rows if row.name == "alike")
    assert alike.values[-6:] == ("100%", alike.values[-5], "100%", "5.0", "0", "100%")
    assert run_differing(options, ignore_progress) == study


@pytest.mark.parametrize("kind", KINDS)
def test_owners_differ_as_their_kind_says(kind):
    frame, sizes = draw_owners(kind, np.random.default_rng(4))
    assert tuple(sizes) == (UNEQUAL if kind == "sizes" else RECORDS)
    assert len(frame) == sum(sizes) + PUBLIC
    ends = np.cumsum(sizes)
    parts = np.split(frame.to_numpy(), ends)
    fits = []
    for rows in parts:
        x = np.column_stack([rows[:, :WIDTH], np.ones(len(rows))])
        model = np.linalg.lstsq(x, rows[:, -1], rcond=None)[0]
        spread = np.std(rows[:, -1] - x @ model)
        fits.append((model[:WIDTH], model[-1], spread, rows[:, :WIDTH].mean(0), rows[:, :WIDTH].std(0)))
    slopes, shift, spread, middle, scale = (np.array(one) for one in zip(*fits, strict=True))
    apart = {
        "slopes": np.ptp(slopes[:-1], axis=0).max() > 0.4,
        "labels": np.ptp(shift[:-1]) > 0.3,
        "noise": np.ptp(spread[:-1]) > 1.5,
        "covariates": np.ptp(middle[:-1], axis=0).max() > 0.8,
        "scales": np.ptp(scale[:-1], axis=0).max() > 0.4,
    }
    as_slopes = ("slopes", "public from one", "reversed", "mixture")
    if kind != "sizes":
        assert apart["slopes"] == (kind in as_slopes)
        assert all(apart[name] == (kind == name) for name in list(apart)[1:])
    if kind == "public from one":
        assert np.abs(slopes[-1] - slopes[0]).max() < 0.4 < np.abs(slopes[-1] - slopes[1]).max()
    if kind == "reversed":
        assert slopes[0] == pytest.approx(-slopes[1], abs=0.15)


def test_a_table_is_divided_by_a_column(tmp_path: Path):
    rng = np.random.default_rng(1)
    lines = [f"{'AB'[i % 3 == 0]}{i % 5},{i % 7},{rng.normal():.3f}" for i in range(1600)]
    (tmp_path / "t.csv").write_text("\n".join(["grade,x,rate", *lines]))
    table = {"file": "t.csv", "target": "rate", "by": "grade", "letters": "1", "features": "x"}
    frame, sizes, public = divide_table(tmp_path, table, rng)
    assert list(frame) == ["x", "y"] and len(frame) == 1600
    assert sum(sizes) + public == 1600 and sizes[0] > 1.5 * sizes[1]
