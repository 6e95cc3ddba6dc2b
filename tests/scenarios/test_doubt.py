"""Whether buying is said to pay, where owners differ or may differ: one function, and doubt that never helps."""

import numpy as np
import pytest

from scenarios.planning import prepare
from scenarios.report.phrases import render_phrase
from scenarios.schema.loading import load
from scenarios.summary.verdict import buying_pays, chance_above, gain_part
from scenarios.training import train_at
from tests.scenarios.test_loss_reports import REPORT, SCENARIO
from tests.scenarios.test_loss_reports import scenario as nameless
from tests.scenarios.test_owners_who_differ import scenario as named

SOLD = np.array([1.0, 1.5, 0.8])
VALUES = (300.0, 1000.0, 3000.0, 1e4, 1e5)


def chances(planner):
    """Of several values of the model, 20 being paid: the chance in doubt, and the chance were there none."""
    told = planner.predict(SOLD)
    sure = told.without_doubt
    while sure is not None and sure.without_doubt is not None:
        sure = sure.without_doubt
    pairs = [(told.gain(value, 20.0), (sure or told).gain(value, 20.0)) for value in VALUES]
    return np.array([[chance_above(one) for one in pair] for pair in pairs]).T


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slopes", "weights"),
    [
        ((2.0, 2.0, 2.0), "size"),
        ((1.0, 3.0, 6.0), "precision"),
        pytest.param((6.0, 3.0, 1.0), "size", marks=pytest.mark.deep),
        pytest.param((2.0, 2.0, 4.0), "precision", marks=pytest.mark.deep),
        pytest.param((2.0, 2.0, 2.0), "precision", marks=pytest.mark.deep),
        pytest.param((1.0, 3.0, 6.0), "size", marks=pytest.mark.deep),
        pytest.param((6.0, 3.0, 1.0), "precision", marks=pytest.mark.deep),
        pytest.param((2.0, 2.0, 4.0), "size", marks=pytest.mark.deep),
    ],
)
def test_the_chance_with_doubt_is_never_above_the_chance_without(write, slopes, weights):
    """With names and without, in order and shuffled, with reports and without: and a report that finds never raises it."""
    told = {}
    for order in ("as_is", "shuffled"):
        for more in ([], [REPORT]):
            changes = (f"data.order={order}", f"learning.weights={weights}", *more)
            planner = prepare(nameless(write, slopes, *changes)).planner
            doubted, sure = told[order, bool(more)] = chances(planner)
            assert (doubted <= sure).all()
            reports = planner.inputs.reports
            found = reports is not None and reports.differ
            if found:
                assert (doubted <= told[order, False][0]).all()
            if order == "as_is" or found:
                assert doubted.max() < sure.max()
        doubted, sure = chances(
            prepare(named(write, slopes, f"learning.weights={weights}")).planner
        )
        assert (doubted <= sure).all()


def test_rows_in_the_order_of_the_file_are_in_doubt_and_shuffled_ones_are_not(write):
    made = {
        order: prepare(nameless(write, (2.0, 2.0, 2.0), f"data.order={order}"))
        for order in ("as_is", "shuffled")
    }
    assert made["shuffled"].data.public.drawn and not made["as_is"].data.public.drawn
    assert made["shuffled"].planner.predict(SOLD).without_doubt is None
    assert made["as_is"].planner.predict(SOLD).without_doubt is not None
    assert "split" in SCENARIO


@pytest.mark.slow
def test_insurers_in_file_order_come_to_what_is_forecast():
    """By loss reports; were they of one kind, a quarter of it would be forecast. The learner's own model is worse than it seems, too."""
    way = ["learning.algorithm=one_step", "learning.mechanism=wishart", "learning.start=shrunk"]
    reported = ["owners.report=0.02", "owners.epsilon=[0.05, 10.0]"]
    asked = ["seed=54", "data.order=as_is", "validation.runs=30", *reported]
    scenario = load("three_insurers", [*way, *asked])
    data, planner = prepare(scenario)
    trained = data.fitness.relative(train_at(scenario, planner, np.ones(3)).theta).mean()
    own = data.fitness.relative(planner.own_model)
    assert 0.5 < trained / planner.at(np.ones(3)) < 2
    assert planner.bootstrap.relative_outside < own
    assert 0.5 < planner.forecast.outside / own < 2


@pytest.mark.parametrize(
    ("worlds", "surplus", "pays"),
    [
        ([-1.0, 2.0, 3.0], 1.0, True),
        ([-1.0, -2.0, 30.0], 1.0, False),  # likelier not
        ([-10.0, 2.0, 3.0], 1.0, False),  # not on average
        ([-1.0, 2.0, 3.0], -1.0, False),  # not by the forecast that the market is played on
        ([0.0, 0.0], 0.0, False),
    ],
)
def test_buying_is_said_to_pay_where_it_is_likelier_than_not_and_gains_on_average(
    worlds, surplus, pays
):
    gain = gain_part(np.array(worlds))
    assert buying_pays(gain, surplus) is pays
    learner = {"gain": gain, "surplus": surplus, "buying_pays": pays, "kinds_in_doubt": False}
    said = render_phrase("buying", "why_not_said", {"learner": learner})
    assert bool(said) is (not pays and surplus > 0)
    if said:
        assert ("on average" in said) is (gain["chance_pays"] > 0.5)
