"""The program's own promises, counted over seeds."""

from dataclasses import replace

import pytest

from learning.errors import InputError
from learning.progress import ignore_progress
from reproduction import calibration
from reproduction.calibration import GENERATED, Outcome, measure_market
from reproduction.study import Options, read_rows

ONE = Outcome(GENERATED, 1001, 0.02, 0.01, 0.04, 0.025, True, 0.08, 0.2, 0.1, 0.9, 500.0, 0.5)


@pytest.fixture
def invented(monkeypatch):
    """Outcomes that take no time; the list of those that were computed."""
    asked = []

    def made(name, seed, data):
        asked.append((name, seed))
        return replace(ONE, market=name, seed=seed, rank=(seed - 1001 + 0.5) / 10)

    monkeypatch.setattr(calibration, "measure_market", made)
    monkeypatch.setattr(calibration, "MARKETS", (GENERATED,))
    monkeypatch.setattr(calibration, "FEW_ROWS", ())
    return asked


def study(folder, seeds=10):
    return calibration.run_calibration(Options(out=folder, seeds=seeds, workers=1), ignore_progress)


def test_ranks_spread_evenly_hold(invented, tmp_path):
    """Ten ranks at 0.05, 0.15 ... 0.95: the 90 % interval holds all, eight lie above 20 % and below 80 %."""
    row = study(tmp_path).rows[0]
    assert row.values == ("10", "100%", "100%", "100%", "80%", "80%", "90%", "100%") and row.holds


@pytest.mark.parametrize(
    "change",
    [{"agrees": False}, {"own": 0.3}, {"rank": 0.99}, {"rank": 0.01}],
    ids=lambda change: next(iter(change)),
)
def test_promises_that_do_not_come_true_fail(invented, monkeypatch, tmp_path, change):
    monkeypatch.setattr(
        calibration, "measure_market", lambda name, seed, data: replace(ONE, seed=seed, **change)
    )
    assert study(tmp_path).rows[-1].holds is False


def test_what_was_computed_is_kept(invented, tmp_path):
    """A second call computes what is missing; a line cut off in the middle counts as missing."""
    first = study(tmp_path, seeds=3)
    assert len(invented) == 3 and study(tmp_path, seeds=3) == first and len(invented) == 3
    table = tmp_path / "calibration.csv"
    table.write_text(table.read_text()[:-12])
    assert study(tmp_path, seeds=4).rows[0].values[0] == "4"
    assert invented[3:] == [(GENERATED, 1003), (GENERATED, 1004)]
    assert read_rows(table, Outcome)[-1] == replace(ONE, seed=1004, rank=0.35)


def test_a_line_that_is_no_outcome_is_refused_and_kept(invented, tmp_path):
    study(tmp_path, seeds=2)
    table = tmp_path / "calibration.csv"
    for odd in ("generated,1003,none", "my own notes"):
        table.write_text(f"{table.read_text().splitlines()[0]}\n{odd}\n")
        with pytest.raises(InputError, match="must hold outcomes as they were written"):
            study(tmp_path, seeds=2)
        assert odd in table.read_text()
    table.write_text("")
    assert study(tmp_path, seeds=2).rows[0].values[0] == "2" and len(read_rows(table, Outcome)) == 2


def test_a_loss_that_was_not_told_of_is_named(invented, monkeypatch, tmp_path):
    monkeypatch.setattr(
        calibration, "measure_market", lambda name, seed, data: replace(ONE, seed=seed, gain=-216.0)
    )
    assert (
        "lost: generated, seed 1001: called to pay with 90%, -216 came of it"
        in study(tmp_path, seeds=1).notes
    )


@pytest.mark.slow
def test_an_outcome_is_that_of_a_run():
    """The generated market from its table to what came of it, twice the same."""
    one = measure_market(GENERATED, 7, None)
    assert one == measure_market(GENERATED, 7, None) != measure_market(GENERATED, 8, None)
    assert 0 < one.low < one.forecast < one.high and one.own_low < one.own_high and one.trained > 0
    assert 0 <= one.rank <= 1 and 0 < one.chance_pays < 1


def test_a_market_may_have_other_public_rows():
    with calibration.open_scenario("three_insurers,60", 3, None) as made:
        assert made.data.public_rows == 60 and made.seed == 3
