"""Our protocol on the papers' markets, and how it is set beside their figures."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from learning.randomness import Streams
from reproduction import second as column
from reproduction import training as ours
from reproduction.drawing import make_page
from reproduction.item import Check, Item, NotPossible, Setting
from reproduction.second import SECOND, add_second_column, markets
from reproduction.tables import load_table

QUICK = Setting(quick=True)


@pytest.fixture(scope="module")
def loans():
    """Generated loans; y are numbered, so that each record can be told."""
    made = load_table("lending", QUICK)
    return replace(made, y=np.arange(made.n_records, dtype=float))


@pytest.fixture(scope="module")
def banks():
    """Five banks with 10,000 generated loans each."""
    return ours.deal_market(
        load_table("lending", QUICK), [10_000] * 5, 1, shuffled=True, regularisation=2e-5
    )


@pytest.mark.parametrize("shuffled", [False, True])
def test_what_the_learner_knows_is_nobodys_and_of_the_same_stretch(loans, shuffled):
    """Consecutive owners hold the first rows in order, but for those that the learner knows."""
    owners, (_, known) = ours.deal_records(
        loans, [300, 200], Streams(1, "t").rng("dealt"), shuffled=shuffled
    )
    held = np.concatenate([y for _, y in owners])
    assert [len(y) for _, y in owners] == [300, 200] and len(known) == ours.KNOWN
    assert len(np.union1d(held, known)) == 500 + ours.KNOWN
    assert bool(np.all(np.diff(held) > 0)) is not shuffled
    assert (max(held.max(), known.max()) < 1500) is not shuffled


def test_owners_who_differ_keep_all_but_what_the_learner_knows(loans):
    """Each record is with its owner or with the learner."""
    parts = loans.slices([700, 900, 400])
    owners, (_, known) = ours.spare_records(parts, np.random.default_rng(1))
    for (_, before), (x, after) in zip(parts, owners, strict=True):
        assert np.array_equal(np.setdiff1d(before, known), after) and len(x) == len(after)
    assert len(np.unique(known)) == ours.KNOWN


def test_too_few_records_are_not_possible(loans):
    """The learner's own count too."""
    with pytest.raises(
        NotPossible, match="120,001 records are needed, and lending has 120,000 here"
    ):
        ours.deal_records(loans, [loans.n_records - ours.KNOWN + 1], np.random.default_rng(1))
    with pytest.raises(NotPossible, match="more than 1,000 records are needed, and there are 900"):
        ours.spare_records(loans.slices([500, 400]), np.random.default_rng(1))


@pytest.mark.parametrize("compute", [markets.compute_grid, markets.compute_scenarios])
def test_owners_that_cannot_have_a_hundred_records_each_are_not_possible(
    loans, monkeypatch, compute
):
    few = replace(loans, x=loans.x[:1299], y=loans.y[:1299])
    monkeypatch.setattr(markets, "load_table", lambda name, setting: few)
    with pytest.raises(NotPossible, match="1,300 records are needed, and lending has 1,299 here"):
        compute(markets.LENDING, replace(QUICK, seed=99))


def test_the_noise_is_that_of_the_pure_budget(banks):
    """Scale 2 Xi T/(n epsilon) on each of both answers, Xi the bound that records are clipped to."""
    clients, weights, plan = banks.planner.clients(np.full(5, 0.5))
    assert plan.horizon == 2 and len(plan.steps) == 2 and plan.asks
    assert clients[0].scale == pytest.approx(
        2 * banks.planner.coordinates.gradient_bound * 2 / (10_000 * 0.5)
    )
    assert weights == pytest.approx(np.full(5, 0.2))


def test_training_comes_to_what_is_forecast_and_beats_the_learners_own_model(banks):
    """Within the factor that a thousand rows leave open; and more budget is better."""
    told = ours.measure_budgets(banks, [0.3, 1.0, 10.0], 20)
    assert np.all(np.abs(np.log(told["relative_fitness"] / told["law"])) < np.log(2.5))
    assert np.all(np.diff(told["relative_fitness"]) < 0) and np.all(
        told["relative_fitness"] < told["alone"]
    )


def test_where_nothing_is_asked_the_learner_keeps_its_own_model(banks):
    """A budget so small that all is noise."""
    assert not banks.planner.asks(np.full(5, 1e-4)) and banks.train_models(
        1e-4, 3
    ) == pytest.approx(np.full(3, banks.learner_fitness))


@pytest.mark.slow
def test_a_planner_left_free_takes_two_rounds():
    """The book's setting is what the planner chooses, and forecasts the same."""
    loans = load_table("lending", QUICK)
    free, fixed = (
        ours.deal_market(
            loans, [10_000] * 5, 1, shuffled=True, settings=replace(ours.SETTINGS, horizon=rounds)
        )
        for rounds in (None, 2)
    )
    assert free.planner.forecast.plan(np.ones(5)).horizon == 2
    assert free.forecast_fitness(1.0) == pytest.approx(fixed.forecast_fitness(1.0))


def published(rows):
    """An item with some rows that looks at all it is given."""

    def draw(frame, note):
        drawn, axes = make_page("Title", note, columns=2)
        axes[0].plot(frame["x"])
        return drawn

    return Item(
        "VC-4",
        "",
        "Title",
        "",
        lambda setting: rows,
        lambda frame: [Check(f"{len(frame)} rows", frame["x"].sum(), 0, 9)],
        draw,
    )


def test_a_second_column_leaves_the_published_one_as_it_is(monkeypatch):
    """Its checks and drawing see its own rows, whole numbers as such; its panels stay where they were, in inches."""
    monkeypatch.setitem(
        column.TEXTS,
        "toy",
        {"says": "better.", "cost": 1.0, "figure": {"rows": 2, "panels": [{}, {}]}},
    )
    second = column.Second(
        "toy",
        lambda setting: pd.DataFrame({"z": [0.5], "x": [7]}),
        lambda theirs, mine: [Check("ours", float(mine["x"].iloc[0] - theirs["x"].max()), 5, 5)],
        lambda axes, frame: [one.plot(frame["z"]) for one in axes],
    )
    item = published(pd.DataFrame({"x": [1, 2], "w": [3, 4]}))
    both = column.join_column(item, second)
    frame = both.compute(QUICK)
    assert frame["protocol"].tolist() == ["published", "published", "ours"]
    assert column.select_protocol(frame, "published")["w"].dtype == np.int64
    assert [(check.what, check.found, check.holds) for check in both.checks(frame)] == [
        ("2 rows", 3, True),
        ("ours", 5, True),
    ]
    before = item.draw(column.select_protocol(frame, "published"), "")
    after = both.draw(frame, "")
    assert len(after.axes) == len(before.axes) + 2
    for old, new in zip(before.axes, after.axes, strict=False):
        sizes = [figure.get_size_inches() for figure in (before, after)]
        places = [
            axes.get_position().get_points() * size
            for axes, size in zip((old, new), sizes, strict=True)
        ]
        assert places[0] == pytest.approx(places[1])
    assert (
        after.axes[-1].get_position().x1 < 1
        and both.cost == item.cost + 1
        and both.differs.endswith("better.")
    )


def test_a_figure_without_records_for_ours_stays_as_published():
    """No second panel where the learner would have no rows of its own."""

    def too_few(setting):
        raise NotPossible("too few")

    item = published(pd.DataFrame({"x": [1, 2]}))
    both = column.join_column(
        item, column.Second("AS-6", too_few, lambda *of: [1 / 0], lambda *of: 1 / 0)
    )
    frame = both.compute(QUICK)
    assert len(both.checks(frame)) == 1 and len(both.draw(frame, "").axes) == 2


def test_other_items_have_no_second_column():
    """Only those named."""
    item = replace(published(pd.DataFrame({"x": [1]})), key="VC-2")
    assert add_second_column(item) is item and set(SECOND) >= {"VC-4", "VC-11", "AS-6", "AS-10"}


def test_it_pays_from_as_many_owners_on_as_all_more_of_them_gain():
    """Owners gain beyond chance with 2, 4 and 7, not with 3: it pays from 4 on."""
    gains = {2: (0.5, 0.6), 3: (-0.5, 0.6), 4: (0.5, 0.6), 7: (0.8, 0.9)}
    rows = [
        {
            "owners": number,
            "epsilon": 1.0,
            "order": "shuffled",
            "mean_isolated": 1.0,
            "alone": 2.0,
            "law": 1.0 - gain,
        }
        for number, both in gains.items()
        for gain in both
    ]
    frame = pd.DataFrame(rows)
    assert markets.least_owners(frame, "law") == 4
    assert markets.least_owners(frame.assign(law=1.5), "law") == 8
