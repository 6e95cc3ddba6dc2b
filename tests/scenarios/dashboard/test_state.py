"""Sliders: what they stand at, which scenario that is, and which controls there are; without a browser."""

import numpy as np
import pytest
from quick import quick_module

from agents.behaviours import BEHAVIOURS
from learning.errors import InputError
from scenarios.dashboard.controls import behaviour_numbers, stops_of
from scenarios.dashboard.rounds import play
from scenarios.dashboard.state import Sliders, check_shown
from scenarios.runner import carry_out, result_of, run
from scenarios.schema.loading import load

__all__ = ["quick_module"]
pytestmark = pytest.mark.designed  # as the fixtures of this module
SMALL = ["market.starts=1", "validation.runs=5"]


@pytest.fixture(scope="module")
def told(insurers):
    """What a run of it tells."""
    return result_of(carry_out(insurers.scenario, insurers.prepared, training=False))


@pytest.fixture
def sliders(insurers):
    return Sliders(insurers)


def control(sliders, name):
    return next(one for one in sliders.controls if one.name == name)


def test_sliders_stand_where_the_scenario_was_opened_and_change_nothing(sliders):
    assert all(one.at == one.was for one in sliders.controls)
    assert sliders.overrides == [] and sliders.scenario is sliders.opened.scenario
    assert sliders.command == "dpmarket run three_insurers"
    assert not any(other for _, other in sliders.toml())


def test_a_moved_slider_is_a_key_of_the_scenario_and_a_line_that_is_marked(sliders):
    moved = sliders.to("money", 3000.0)
    assert moved.scenario.policy.budget == 3000.0
    assert moved.overrides == ["policy.budget=3000.0"]
    assert [line for line, other in moved.toml() if other] == ["budget = 3000.0"]
    assert load("three_insurers", [*SMALL, *moved.overrides]).policy.budget == 3000.0


def test_a_slider_put_back_counts_as_not_moved(sliders):
    assert sliders.to("money", 3000.0).to("value", 5e4).to("money", 2000.0).moved == (
        ("value", 5e4),
    )
    assert sliders.to("policy", "posted").to("policy", "proportional").overrides == []


def test_what_privacy_costs_is_moved_for_one_owner_and_for_all(sliders):
    moved = sliders.to("price.2", 600.0).to("price", 0.5)
    assert moved.scenario.owners.cost.price == (150.0, 200.0, 300.0)
    alike = sliders.to("price.0", 550.0).to("price.1", 550.0)
    assert alike.scenario.owners.cost.price == 550.0


@pytest.mark.slow
def test_bounds_of_epsilon_plan_anew_and_only_they_do(sliders):
    moved = sliders.to("high", 5.0)
    assert (
        moved.prepared is not sliders.prepared
        and moved.to("money", 100.0).prepared is moved.prepared
    )
    assert sliders.to("money", 100.0).prepared is sliders.prepared
    found = play(moved).run
    alone = run(load("three_insurers", [*SMALL, "owners.epsilon=[0.01, 5.0]"]), training=False)
    assert found.epsilon.tolist() == [row["epsilon"] for row in alone["owners"]]
    assert found.planner.forecast.at(found.epsilon) == pytest.approx(
        alone["forecast"]["relative_fitness"], rel=1e-12
    )


def test_another_policy_pays_about_as_much_in_all(sliders):
    moved = sliders.to("money", 3000.0).to("policy", "marginal")
    assert moved.scenario.policy.kind == "marginal" and "money" not in dict(moved.moved)
    assert play(moved).run.accounts.payments.sum() == pytest.approx(3000.0, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(set(BEHAVIOURS) - {"rational"}))
def test_every_behaviour_has_its_sliders_and_its_scenario_or_needs_what_the_scenario_lacks(
    sliders, kind
):
    if kind not in control(sliders, "behaviour").stops:
        with pytest.raises(InputError):
            load("three_insurers", [f'behaviours=[{{kind="{kind}", share=1.0}}]'])
        return
    moved = sliders.to("behaviour", kind).to("share", 0.7)
    for name, (hint, default) in behaviour_numbers(kind).items():
        stops = stops_of(hint, default)
        assert default in stops and len(stops) > 3
        moved = moved.to(f"behaviour.{name}", stops[1])
        assert getattr(moved.scenario.behaviours[0], name) == stops[1]
    assert moved.scenario.behaviours[0].kind == kind and moved.scenario.behaviours[0].share == 0.7
    assert moved.to("behaviour", "rational").moved == ()


def test_most_behaviours_are_offered(sliders):
    assert {"logit", "inertial", "indifferent", "free_rider"} < set(
        control(sliders, "behaviour").stops
    )


def test_orders_that_the_scenario_does_not_take_are_not_offered(changed):
    damped = Sliders(changed("market.activation=simultaneous", "market.damping=0.4"))
    assert "sequential" not in control(damped, "order").stops
    assert "sequential" in control(Sliders(changed()), "order").stops


def test_owners_with_bounds_of_their_own_have_no_common_slider(changed):
    apart = Sliders(changed("owners.epsilon=[[0.01, 10], [0.01, 10], [0, 0]]"))
    assert not {"low", "high"} & {one.name for one in apart.controls}


def test_money_in_terms_of_the_learner_is_moved_in_them(changed):
    worth = Sliders(changed('learner.value={per="rmse", money=50000.0}'))
    assert worth.to("value", 60000.0).overrides == ["learner.value.money=60000.0"]


@pytest.mark.parametrize("extra", ['learners=[{name="rival", value=1.0}]', "time={periods=2}"])
def test_a_market_of_another_kind_is_refused_in_one_line(extra):
    with pytest.raises(InputError, match="must be left out: the dashboard shows the market of one"):
        check_shown(load("three_insurers", [*SMALL, extra]))


def test_the_path_that_is_shown_is_the_one_of_a_run(sliders, told):
    played = play(sliders)
    assert played.last == max(row["round"] for row in told.trajectory)
    assert np.array_equal(played.path[-1], [row["epsilon"] for row in told["owners"]])
    rows = [row["epsilon"] for row in told.trajectory if row["round"] == 1]
    assert np.array_equal(played.path[1], rows)


def test_a_round_tells_what_a_result_tells_of_the_end(sliders, told):
    facts = play(sliders).rounds[-1].facts
    for part in ("gain", "surplus", "gross_value", "payments", "buying_pays"):
        assert facts["learner"][part] == told["learner"][part]
    assert list(facts["forecast"]["interval"]) == told["forecast"]["interval"]
    for own, row in zip(facts["owners"], told["owners"], strict=True):
        assert own["surplus"] == row["surplus"] and own["privacy_cost"] == row["privacy_cost"]


def test_a_curve_peaks_at_the_best_answer_and_at_rest_that_is_where_owners_stand(insurers):
    played = play(Sliders(insurers))
    for one in played.rounds[-1].curves:
        assert one.surplus.max() == pytest.approx(one.best[1], rel=1e-9)
        assert one.chosen == pytest.approx(one.best, rel=1e-4)
    first = played.rounds[0].curves[0]
    assert first.best[1] > 1.2 * first.chosen[1] and first.best[0] > 2 * first.chosen[0]
