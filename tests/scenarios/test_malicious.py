"""A learner that does not follow the protocol: leaks by closed forms and an own solver, answers averaged by an own loop."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from commands import INSURERS
from quick import quick_module
from scipy import optimize, stats

from learning.errors import InputError
from learning.privacy.ledger import Ledger
from learning.training.engine import train
from scenarios.features.malicious import charge_repeats, count_leak, measure_gain
from scenarios.planning import prepare
from scenarios.report.page import write_report
from scenarios.report.phrases import render_phrase
from scenarios.result import save_result
from scenarios.runner import carry_out, result_of, with_protocol
from scenarios.schema.loading import load

__all__ = ["quick_module"]  # a fixture of every test
DELTA = 1e-5
AVERAGED = "learning.algorithm=averaged"
GAUSSIAN = ("learning.mechanism=gaussian", f"learning.delta={DELTA}", "learning.accounting=pld")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("malicious") / "malicious.toml"
    file.write_text(INSURERS.replace("[500, 300]", "[2500, 2000]").replace("1000.0", "20000.0"))
    return file


@pytest.fixture(scope="module")
def prepared(path):
    return {
        noise: prepare(load(path, [AVERAGED, *changes]))
        for noise, changes in (("laplace", ()), ("gaussian", GAUSSIAN))
    }


def done(path, prepared, rule, noise="laplace", *, training=False):
    changes = GAUSSIAN if noise == "gaussian" else ()
    scenario = load(path, [AVERAGED, f"malicious={rule}", *changes])
    return carry_out(scenario, prepared[noise], training=training)


def column(content, key, of="owners"):
    found = content[of] if of == "owners" else content["malicious"]["owners"]
    return np.array([owner[key] for owner in found])


def test_repeated_laplace_answers_add_up_and_the_contract_refuses_them(path, prepared):
    run = done(path, prepared, "{repeats=4}", training=True)
    content = result_of(run).content
    sold = column(content, "epsilon")
    np.testing.assert_allclose(column(content, "leaked", "malicious"), 4 * sold)
    np.testing.assert_allclose(
        column(content, "harm", "malicious"), 3 * sold * [3.0, 4.0]
    )  # linear costs
    asked = len(run.trained.task.plan.steps)
    assert column(content, "answers", "malicious").tolist() == [4 * asked] * 2
    refusal = content["malicious"]["refusal"]
    assert refusal.startswith("ledger: owner 1 may spend an epsilon of") and "repeat 2" in refusal
    said = render_phrase("malicious", "terminal", content)
    assert "asks every query 4 times" in said and "where it sold" in said


def gaussian_epsilon(distance):
    """Epsilon of Gaussian noise that a record moves by a distance, by its own law and solver."""

    def missed(epsilon):
        there = np.array([distance / 2 - epsilon / distance, -distance / 2 - epsilon / distance])
        one, two = stats.norm.cdf(there)
        return one - np.exp(epsilon) * two - DELTA

    return optimize.brentq(missed, 1e-6, 200.0)


def test_repeated_gaussian_answers_are_one_gaussian_answer_with_less_noise(path, prepared):
    content = result_of(done(path, prepared, "{repeats=9}", "gaussian")).content
    for sold, leaked, delta in zip(
        column(content, "epsilon"),
        column(content, "leaked", "malicious"),
        column(content, "delta", "malicious"),
        strict=True,
    ):
        distance = optimize.brentq(lambda m, at=sold: gaussian_epsilon(m) - at, 1e-3, 8.0)
        assert leaked == pytest.approx(gaussian_epsilon(3 * distance), rel=1e-3)
        assert delta == DELTA


@pytest.mark.parametrize("expected", [0.25, 1.0])
def test_owners_of_a_contest_sell_less_in_proportion_to_the_cost_they_expect(
    path, prepared, expected
):
    """Under linear costs and a fixed budget, epsilon is inverse to the scale of all costs."""
    content = result_of(done(path, prepared, f"{{repeats=5,expected={expected}}}")).content
    trusting = np.array(content["malicious"]["trusting"]["epsilon"])
    assert (trusting < 10).all() and content["malicious"]["gain"] is None  # nothing was trained
    np.testing.assert_allclose(column(content, "epsilon"), trusting / (1 + 4 * expected), rtol=1e-5)
    assert content["equilibrium"]["converged"]


def test_programs_that_refuse_leave_nothing_to_expect(path, prepared):
    rule = "{repeats=5,expected=1.0,programs='refuse',reach=2.0}"
    content = result_of(done(path, prepared, rule, training=True)).content
    made = content["malicious"]
    assert column(content, "epsilon") == pytest.approx(made["trusting"]["epsilon"], rel=1e-6)
    assert made["deterred"] and made["gain"]["mean"] == 0 and made["refusal"]
    np.testing.assert_allclose(column(content, "leaked", "malicious"), column(content, "epsilon"))


def test_outside_the_ball_a_record_moves_an_answer_by_its_longest_gradient_there(path, prepared):
    """Laplace: epsilon grows with the sensitivity. The longest gradient by a grid of records and queries."""
    content = result_of(done(path, prepared, "{repeats=2,reach=3.0}")).content
    coordinates = prepared["laplace"].planner.coordinates
    reach = coordinates.theta_max
    longest = [
        max(
            abs(scale * (scale * size * sign - target)) * 1.0
            for scale in np.linspace(0, coordinates.radius, 60)
            for target in np.linspace(-1, 1, 3) * coordinates.target_bound
            for sign in (-1, 1)
        )
        for size in (reach, 3 * reach)
    ]
    factor = content["malicious"]["bound_factor"]
    assert factor == pytest.approx(longest[1] / longest[0], rel=1e-6) and factor > 1
    np.testing.assert_allclose(
        column(content, "leaked", "malicious"), 2 * factor * column(content, "epsilon")
    )
    assert content["malicious"]["deterred"] is None


def test_outside_the_ball_gaussian_distances_grow_with_the_gradient(path, prepared):
    content = result_of(done(path, prepared, "{repeats=4,reach=3.0}", "gaussian")).content
    factor = content["malicious"]["bound_factor"]
    sold, leaked = (column(content, key, "malicious")[0] for key in ("epsilon", "leaked"))
    distance = optimize.brentq(lambda m: gaussian_epsilon(m) - sold, 1e-3, 8.0)
    assert factor > 1 and leaked == pytest.approx(gaussian_epsilon(2 * factor * distance), rel=1e-3)


def test_accounting_that_does_not_scale_refuses_queries_outside_the_ball(path, prepared):
    scenario = load(path, ["malicious={reach=2.0}", AVERAGED])
    other = SimpleNamespace(mechanism=object(), coordinates=prepared["laplace"].planner.coordinates)
    with pytest.raises(
        InputError, match=r"^malicious.reach: must be 1 under this noise; .*found 2"
    ):
        count_leak(scenario, other)


@pytest.fixture(scope="module")
def trained(path, prepared):
    return done(path, prepared, "{repeats=4,found=0.5,penalty=1.0}", "gaussian", training=True)


def test_averaged_answers_train_as_half_the_gaussian_noise_does(trained):
    task = trained.trained.task
    again = task.owners[0].ask_again(4)
    noise = again.noise(task.mechanism, 4000, task.streams).take(1)[0]
    single = task.owners[0].noise(task.mechanism, 4000, task.streams).take(1)[0]
    assert noise.std() == pytest.approx(single.std() / 2, rel=0.02)
    own = [
        task.mechanism.draw(1.0, (1, task.width), rng=task.streams.rngs(*key, count=1)[0])
        for key in ((again.name,), *((again.name, f"repeat {i}") for i in (1, 2, 3)))
    ]
    averaged = again.noise(task.mechanism, 1, task.streams).take(1)[0]
    np.testing.assert_allclose(averaged, again.scale * np.mean(own, axis=0))


def test_the_gain_is_that_of_trainings_with_less_noise_and_sets_the_penalty(trained):
    from dataclasses import replace

    task = replace(trained.trained.task, runs=400)
    halved = tuple(replace(one, scale=one.scale / 2) for one in task.owners)
    many = replace(trained, trained=train(task))
    gain, error = measure_gain(many, 4)
    less = many.counted(train(replace(task, owners=halved)).theta)
    assert less.mean() < many.counted(many.trained.theta).mean()
    content = result_of(trained).content["malicious"]
    found, spread = measure_gain(trained, 4)
    assert content["gain"] == {"mean": found, "std_error": spread}
    assert content["least_penalty"] == max(0.0, found) / 0.5
    value = trained.game.value
    expected = value * (many.counted(many.trained.theta).mean() - less.mean())
    assert gain == pytest.approx(expected, abs=5 * (error + value * less.std() / 20))


def test_the_page_has_the_leaks(trained, tmp_path):
    save_result(with_protocol(trained), tmp_path / "out", write_report)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "A learner that asks more than agreed" in page and "ε given away" in page


def test_the_ledger_has_an_account_for_each_repeat(trained):
    ledger, refusal = charge_repeats(trained.trained.task, trained.scenario.malicious)
    assert isinstance(ledger, Ledger) and refusal
    one = [account for account in ledger.accounts if account.budget.owner == "owner 1"]
    assert [account.budget.data for account in one] == [f"repeat {i}" for i in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["malicious={repeats=0}"], "malicious.repeats: must be"),
        (["malicious={expected=1.5}"], "malicious.expected: must be"),
        (
            ["malicious={}", "time.periods=2"],
            "time: must be left out in a scenario with [malicious]",
        ),
        (
            ["malicious={}", "learning.algorithm=one_step", "learning.mechanism=l2"],
            "malicious: needs an algorithm that asks",
        ),
    ],
)
def test_refusals_are_one_line(path, changes, told):
    with pytest.raises(InputError) as caught:
        load(path, changes)
    assert told in str(caught.value) and "\n" not in str(caught.value)
