"""Secure aggregation from a scenario to its result: the noise of one, claims apart, and what is refused."""

import numpy as np
import pytest
from planting.bugs import BUGS
from quick import quick_module
from sizes import sized

from learning.audit.auditor import audit_owner
from learning.audit.checks import check_training
from learning.audit.observations import AuditTarget
from learning.errors import InputError
from learning.privacy.wrapped import SharedNoise
from scenarios.checking import check_scenario
from scenarios.planning import prepare
from scenarios.report.facts_owners import protection_of
from scenarios.report.phrases import render_phrase
from scenarios.runner import carry_out, result_of
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.training import train_at, training_task

__all__ = ["quick_module"]  # a fixture of every test

BASE = [
    "trust.aggregation=secure",
    "learning.algorithm=sgd2",
    "learning.horizon=3",
    "validation.runs=300",
]
BUDGETS = np.array([2.0, 1.0, 0.5])


@pytest.fixture(scope="module")
def secure():
    scenario = load("three_insurers", [*BASE, "trust.colluders=1", "market.starts=2"])
    return scenario, prepare(scenario)


@pytest.fixture(scope="module")
def result(secure):
    return result_of(carry_out(secure[0], secure[1], training=False)).content


def test_training_has_the_noise_that_is_forecast(secure):
    scenario, (data, planner) = secure
    trained = train_at(scenario, planner, BUDGETS)
    psi = data.fitness.relative(trained.theta)
    oracle = planner.oracle(BUDGETS).relative_fitness
    assert abs(psi.mean() - oracle) < 4 * psi.std() / np.sqrt(len(psi))


@pytest.mark.slow
def test_a_rehearsed_forecast_is_compared_with_the_noise_that_training_has():
    clipped = [
        *BASE,
        "learning.mechanism=l2",
        "learning.clipping=record",
        "learning.growth=2",
        "trust.colluders=1",
    ]
    scenario = load("three_insurers", [*clipped, "validation.runs=60"])
    data, planner = prepare(scenario)
    strict = np.array([0.2, 0.1, 0.1])  # so that noise is what spoils the model
    psi = data.fitness.relative(train_at(scenario, planner, strict).theta)
    oracle = planner.oracle(strict)
    error = np.hypot(psi.std() / np.sqrt(len(psi)), oracle.std_error)
    assert (
        planner.forecast.kind == "calibrated"
        and abs(psi.mean() - oracle.relative_fitness) < 4 * error
    )
    task = planner.trained(strict, 2, "oracle").task
    assert task is not None and task.mechanism == planner.mechanism_at(strict)


def test_owners_are_charged_what_they_sold_and_hidden_by_all_of_the_noise(secure):
    scenario, (_, planner) = secure
    assert planner.hidden(BUDGETS) == pytest.approx([0.5, 0.5, 0.5])
    trained = train_at(scenario, planner, BUDGETS)
    assert [account.budget.epsilon for account in trained.ledger.accounts] == BUDGETS.tolist()
    task = training_task(scenario, planner, BUDGETS)
    noise = sum(q * one.scale for q, one in zip(task.shares, task.owners, strict=True)) / 3
    bound = planner.coordinates.noise_bound
    priced = task.plan.priced
    strictest = task.shares[2] * planner.mechanism.scale(0.5, 6680, bound, priced)
    assert isinstance(task.mechanism, SharedNoise) and noise == pytest.approx(float(strictest))


def test_a_result_tells_each_claim_and_what_it_rests_on(result):
    assert result["trust"]["owners"] == 3 and result["trust"]["colluders"] == 1
    claims = [claim for claim in result["claims"] if claim["party"] == "Cedar Life"]
    assert len(claims) == 3 and {claim["unit"] for claim in claims} == {"one record"}
    sold = {owner["name"]: owner["epsilon"] for owner in result["owners"]}
    assert {round(claim["epsilon"], 6) for claim in claims} == {round(min(sold.values()), 6)}
    assert all("drops out" in claim["assumes"] for claim in claims)
    assert result["trust"]["against_owners"] == pytest.approx(min(sold.values()))


def test_sentences_say_whose_word_is_taken(result):
    assert "any 2 of them suffice" in render_phrase("trust", "together", result)
    assert "as long as nobody colludes" in render_phrase("trust", "between_owners", result)
    alone = result | {
        "trust": result["trust"] | {"colluders": 0, "against_owners": None, "after_dropout": None}
    }
    assert "there is no guarantee; with trust.colluders = 1" in render_phrase(
        "trust", "between_owners", alone
    )
    assert "no guarantee is left for anybody" in render_phrase("trust", "between_owners", alone)
    assert (
        "3 owners make together" in render_phrase("trust", "terminal", alone)
        and not render_phrase("trust", "terminal", {})
        and not render_phrase("trust", "together", {})
    )


@pytest.mark.slow
@pytest.mark.parametrize("bug", [None, "part"])
def test_an_audit_sees_a_part_too_few(secure, bug):
    scenario, (data, planner) = secure
    task = training_task(scenario, planner, np.ones(3))
    task = task if bug is None else BUGS[bug].plant(task)
    failed = {check.kind for check in check_training(task) if not check.passed}
    assert failed == (set() if bug is None else {"noise", "parts", "law", "tails"})
    owner = data.owners[0]
    finding = audit_owner(
        "one",
        owner.x[:1],
        owner.y[:1],
        6.0,
        AuditTarget.of(task),
        seed=3,
        draws=sized(8000, 20_000),
    )
    assert finding.refuted == (bug is not None)


@pytest.mark.slow
def test_marginal_pay_under_one_noise_has_many_equilibria_in_which_all_need_as_much():
    starts = sized(1, 4)
    scenario = load("three_insurers", [*BASE, "policy.kind=marginal", f"market.starts={starts}"])
    prepared = prepare(scenario)
    game = market_game(scenario, *prepared)
    found = settle(scenario, game)
    assert bool(found.others) == (starts > 1)
    for one in (found, *found.others):
        assert one.converged and np.ptp(one.epsilon) < 1e-6 * one.epsilon.max()
        moves = game.deviations(one.epsilon)
        have = game.payoffs(one.epsilon)
        grid = np.tile(
            np.geomspace(0.01, 10, 300), (3, 1)
        )  # of each owner's whole interval, the others staying
        assert np.all(moves.payoffs(grid).max(axis=1) <= have + 1e-8 * np.abs(have))


def test_parts_of_uneven_answers_add_up_to_the_noise_of_each():
    scenario = load(
        "three_insurers", [*BASE, "learning.mechanism=l2", "learning.growth=2", "trust.colluders=1"]
    )
    _, planner = prepare(scenario)
    assert all(
        check.passed for check in check_training(training_task(scenario, planner, np.ones(3)))
    )


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        (
            ["learning.algorithm=asynchronous", "learning.regularisation=0.01"],
            'learning.algorithm: must be "synchronous',
        ),
        (["learning.overlap=2"], "learning.overlap: must be left out in a scenario with trust"),
        (
            ["learning.aggregation=median"],
            "learning.aggregation: must be left out in a scenario with trust",
        ),
        (["owners.report=0.005"], "owners.report: must be left out in a scenario with trust"),
        (["trust.colluders=3"], "trust.colluders: must be below 3, the owners"),
        (["trust.colluders=0", "owners.cost.fears=owners"], 'owners.cost.fears: must be "learner"'),
    ],
)
def test_what_rests_on_single_answers_is_refused(given, refused):
    with pytest.raises(InputError, match=refused):
        scenario = load("three_insurers", [*BASE, *given])
        carry_out(scenario, prepare(scenario), training=False)


def test_whom_owners_fear_is_told_apart_under_secure_aggregation_only():
    with pytest.raises(InputError, match="owners.cost.fears: needs trust.aggregation"):
        load("three_insurers", ["owners.cost.fears=colluders"])


def test_a_check_refuses_fears_that_noise_made_together_does_nothing_about():
    with pytest.raises(
        InputError, match=r"^owners\.cost\.fears: must be .learner. with laplace noise"
    ):
        check_scenario(load("three_insurers", [*BASE, "owners.cost.fears=owners"]))
    check_scenario(load("three_insurers", [*BASE, "owners.cost.fears=owners", "trust.colluders=1"]))


def test_what_epsilon_means_is_told_of_those_who_see_sums_alone(result):
    assert "After seeing sums of answers alone at ε = " in render_phrase(
        "protection", "meaning", protection_of(result)
    )
    assert "After seeing all answers at ε = " in render_phrase(
        "protection", "meaning", protection_of({**result, "trust": None})
    )
