"""The study of forecast intervals on drawn markets."""

from dataclasses import replace

import numpy as np
import pytest

from learning.progress import ignore_progress
from reproduction import intervals
from reproduction.intervals import KINDS, PROTOCOLS, draw_records, open_drawn, run_intervals
from reproduction.study import Options
from tests.reproduction.test_calibration import ONE


def test_rows_tell_share_width_and_scores(tmp_path, monkeypatch):
    """Intervals [0.01, 0.04] about 0.02: three hold, of four, and one misses by 0.01."""

    def made(name, seed, data):
        out = seed == 3004
        return [replace(ONE, market=name, seed=seed, trained=0.05 if out else 0.03, agrees=not out)]

    monkeypatch.setattr(intervals, "_measure_one", made)
    options = Options(out=tmp_path, seeds=4, workers=1)
    study = run_intervals(options, ignore_progress)
    logs = np.log(4) + 40 * np.log(5 / 4) / 4
    expected = ("4", "75.0%", "4.0", f"{logs:.2f}", f"{(0.03 + 40 * 0.01 / 4) / 0.02:.2f}")
    assert [row.name for row in study.rows] == [*PROTOCOLS, "all"]
    assert study.rows[0].values == expected and study.rows[0].holds is False
    assert sum("missed:" in note for note in study.notes) == len(PROTOCOLS)
    assert run_intervals(options, ignore_progress) == study


@pytest.mark.parametrize("kind", KINDS)
def test_a_population_is_what_its_kind_says(kind):
    x, y = draw_records(kind, 20_000, 3, np.random.default_rng(5))
    column = np.column_stack([x, np.ones(len(x))])
    missed = y - column @ np.linalg.lstsq(column, y, rcond=None)[0]
    kurtosis = np.mean(missed**4) / np.mean(missed**2) ** 2
    assert (kurtosis > 3.5) == (kind in ("tails", "skewed", "spread"))
    assert (x.min() > 0) == (kind == "skewed")
    curved = abs(np.corrcoef(missed, (x[:, 0] - x[:, 0].mean()) ** 2)[0, 1])
    assert (curved > 0.2) == (kind == "curved")


def test_protocols_share_the_market_that_a_seed_draws():
    facts = []
    for protocol in PROTOCOLS:
        with open_drawn(protocol, 3001) as scenario:
            assert scenario.validation.runs == 60
            facts.append((scenario.data.public_rows, scenario.data.split, scenario.owners.epsilon))
    assert len({repr(one) for one in facts}) == 1
    assert 100 <= facts[0][0] <= 500
