"""The loop as a whole: identities, limits, and the claims of the library scenarios."""

from pathlib import Path

import numpy as np
import pytest
from sizes import thinned

from scenarios.planning import prepare
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.training import train_at

SHARED = Path(__file__).parents[3] / "shared" / "data"
LOANS = SHARED / "lending_club" / "loans_2007_2014.csv.gz"
needs_loans = pytest.mark.skipif(not LOANS.is_file(), reason=f"the loans are not there: {LOANS}")
QUICK = ("market.starts=1", "validation.runs=20")


def insurers(*changes):
    return run(load("three_insurers", [*QUICK, *changes]))


def test_three_insurers_settle_are_certified_and_the_forecast_holds():
    result = run(load("three_insurers"))
    found = result["equilibrium"]
    trained = result["validation"]
    assert found["converged"] and found["max_relative_regret"] <= 1e-8
    assert trained["agrees"] and abs(trained["z_score"]) <= 3
    # linear costs c, budget R, equal sizes: x_i = X (1 - 2 c_i/sum c), X = 2R/sum c (Tullock)
    costs = np.array([300.0, 400.0, 550.0])
    contest = 2 * 2000 / costs.sum() * (1 - 2 * costs / costs.sum())
    np.testing.assert_allclose([o["epsilon"] for o in result["owners"]], contest, rtol=1e-6)


@pytest.mark.slow
@needs_loans
def test_lending_banks_settle_are_certified_and_the_forecast_holds():
    result = run(load("lending_banks", [f"data.path={LOANS}"]))
    assert result["equilibrium"]["max_relative_regret"] <= 1e-8
    assert result["validation"]["agrees"] and abs(result["validation"]["z_score"]) <= 3
    assert result["data"]["dropped_rows"] == 16 and result["data"]["filled_cells"] == 2051
    held = result["validation"]["holdout"]
    assert held["records"] == 11287 - 217  # 2,284 loans have no rate
    assert held["mse_nonprivate"] < held["mse_trained"] < held["mse_outside"] < held["variance"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned([1, 2, 3], [2]))
def test_shuffled_insurers_agree_under_other_seeds_too(seed):
    result = insurers(f"seed={seed}", "validation.runs=100")
    assert result["validation"]["agrees"] and abs(result["validation"]["z_score"]) <= 3


@pytest.mark.slow
def test_money_adds_up():
    result = insurers(
        "owners.benefit=[50.0, 0.0, 2000.0]", "policy.kind=marginal", "policy.share=0.7"
    )
    owners = result["owners"]
    learner = result["learner"]
    for row in owners:
        assert row["surplus"] == pytest.approx(
            row["payment"] + row["benefit"] - row["privacy_cost"], rel=1e-12
        )
    assert learner["payments"] == pytest.approx(sum(row["payment"] for row in owners), rel=1e-12)
    assert learner["surplus"] == pytest.approx(
        learner["gross_value"] - learner["payments"], rel=1e-12
    )
    total = learner["surplus"] + sum(row["surplus"] for row in owners)
    assert result["welfare"]["total"] == pytest.approx(total, rel=1e-9)
    assert result["welfare"]["optimum"] >= total * (1 - 1e-12)
    gain = result["outside_option"]["relative_fitness"] - result["forecast"]["relative_fitness"]
    assert learner["gross_value"] == pytest.approx(learner["value"] * gain, rel=1e-12)
    assert sum(row["weight"] for row in owners) == pytest.approx(1.0)
    part = result["forecast"]
    assert part["bias"] + part["noise"] == pytest.approx(part["relative_fitness"], rel=1e-12)


@pytest.mark.slow
def test_every_owners_budget_changes_the_executed_training_not_only_the_bill():
    scenario = load("three_insurers", QUICK)
    data, planner = prepare(scenario)
    base = np.array([1.0, 1.0, 1.0])
    theta = train_at(scenario, planner, base).theta
    for owner in range(3):
        moved = base.copy()
        moved[owner] = 1.01
        assert not np.array_equal(train_at(scenario, planner, moved).theta, theta)


@pytest.mark.slow
def test_more_runs_change_no_earlier_run():
    scenario, longer = (load("three_insurers", [f"validation.runs={n}"]) for n in (5, 9))
    data, planner = prepare(scenario)
    few, many = (train_at(s, planner, np.ones(3)).theta for s in (scenario, longer))
    np.testing.assert_allclose(
        few, many[:5], rtol=1e-12
    )  # a product over more rows may round otherwise


def test_of_very_many_owners_the_first_have_their_path_told(monkeypatch):
    settled = ("market.starts=1",)
    whole = run(load("three_insurers", settled), training=False)
    monkeypatch.setattr("scenarios.summary.market.TRACED", 2)
    part = run(load("three_insurers", settled), training=False)
    assert len(whole.trajectory) == 3 * len(part.trajectory) / 2
    kept = [row for row in whole.trajectory if row["owner"] != "Cedar Life"]
    for row, other in zip(part.trajectory, kept, strict=True):
        assert row == pytest.approx(other, abs=1e-9)


@pytest.mark.slow
@pytest.mark.in_full
def test_one_owner_alone():
    result = run(
        load(
            "three_insurers",
            [*QUICK, "data.split=[20000]", "data.names=['Only']", "owners.cost.price=100.0"],
        )
    )
    assert len(result["owners"]) == 1 and result["equilibrium"]["converged"]
    # alone in a contest it gets the whole budget for any epsilon at which it is asked: it shares
    # the least of use
    assert 0.01 < result["owners"][0]["epsilon"] < 0.02 and result["forecast"]["step_size"] > 0
    forecast = result["forecast"]["relative_fitness"]
    alone = result["outside_option"]["relative_fitness"]
    assert forecast < alone and forecast == pytest.approx(alone, rel=1e-6)
    assert result["learner"]["payments"] == pytest.approx(2000)
    assert result["owners"][0]["isolated_relative_fitness"] == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
def test_nobody_may_share():
    result = insurers("owners.epsilon=[0.0, 0.0]")
    assert [o["epsilon"] for o in result["owners"]] == [0, 0, 0]
    assert result["claims"] == []
    assert result["forecast"]["relative_fitness"] == result["outside_option"]["relative_fitness"]
    assert result["forecast"]["horizon"] == 1 and not result["learner"]["buying_pays"]
    assert result["validation"]["relative_fitness"]["std_error"] == pytest.approx(0, abs=1e-15)
    assert result["validation"]["z_score"] is None


@pytest.mark.slow
def test_an_owner_that_stays_out_is_not_trained_on_and_gets_no_claim():
    result = insurers("owners.epsilon=[[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]]")
    assert [c["party"] for c in result["claims"]] == ["Aurora Health", "Cedar Life"]
    assert result["owners"][1]["weight"] == 0 and result["owners"][1]["payment"] == 0
    assert abs(result["validation"]["z_score"]) <= 3  # the oracle law is told who takes part


@pytest.mark.slow
def test_budgets_too_small_to_beat_the_learners_own_rows_are_said_not_to_pay():
    result = insurers("owners.epsilon=[0.001, 0.002]")
    assert result["forecast"]["relative_fitness"] == result["outside_option"]["relative_fitness"]
    assert not result["learner"]["buying_pays"] and result["claims"] == []
    measured = result["outside_option"]["measured"]
    assert result["validation"]["relative_fitness"]["mean"] == pytest.approx(measured, rel=1e-9)


@pytest.mark.slow
def test_where_nothing_is_asked_nothing_is_charged():
    """No answer is given: nobody is paid, taxed or loses privacy, and the market as a whole loses nothing."""
    result = insurers(
        "owners.epsilon=[0.001, 0.002]",
        "owners.fixed_cost=5.0",
        "owners.benefit=9.0",
        "regulation.leakage_tax=0.1",
    )
    assert result["forecast"]["step_size"] == 0
    for row in result["owners"]:
        charged = ("payment", "privacy_cost", "tax", "benefit", "surplus", "leakage_bits", "weight")
        assert (
            row["epsilon"] > 0
            and [row[key] for key in charged] == [0.0] * len(charged)
            and not row["gains"]
        )
    learner = result["learner"]
    welfare = result["welfare"]
    assert (
        learner["promised"] == pytest.approx(2000)
        and learner["payments"] == learner["surplus"] == 0
    )
    assert [welfare[key] for key in ("total", "owners", "learner", "treasury", "gini")] == [0.0] * 5
    assert (
        result["regulation"]["after"]["spending"] == 0 and result["validation"]["agrees_on_money"]
    )
    assert all(row["payment"] == 0 for row in result.trajectory) and all(
        row["payoff"] == 0 for row in result.payoff_curves
    )
    assert result["equilibrium"]["converged"] and result["equilibrium"]["max_regret"] == 0


@pytest.mark.slow
def test_without_public_rows_the_basis_is_oracle_and_named_so():
    bounds = {
        "lncoins": (0, 5),
        "idp": (0, 1),
        "lpi": (0, 8),
        "fmde": (0, 9),
        "physlm": (0, 1),
        "disea": (0, 60),
        "hlthg": (0, 1),
        "hlthf": (0, 1),
        "hlthp": (0, 1),
    }
    stated = [f"data.bounds.{name}=[{low}, {high}]" for name, (low, high) in bounds.items()]
    result = insurers("data.public_rows=0", "learning.theta_max=4.0", *stated)
    assert result["forecast"]["basis"] == "oracle"
    low, high = result["forecast"]["interval"]
    assert low <= result["forecast"]["relative_fitness"] <= high < 1.2 * low
    assert result["validation"]["agrees"]


@pytest.mark.slow
def test_with_the_horizon_envelope_owners_interact_and_with_a_fixed_plan_they_do_not():
    """Marginal policy: under one straight line best responses are dominant, under the envelope they are not."""
    rounds = {}
    for name, changes in (
        ("envelope", ()),
        ("fixed", ("learning.horizon=4", "learning.step_size=0.4", "learning.returned=last")),
    ):
        scenario = load(
            "three_insurers",
            [
                "policy.kind=marginal",
                "policy.share=1.0",
                "owners.cost.kind=quadratic",
                "owners.cost.price=[300.0, 600.0, 900.0]",
                "market.starts=1",
                *changes,
            ],
        )
        rounds[name] = settle(scenario, market_game(scenario, *prepare(scenario))).iterations
    assert rounds["fixed"] <= 2  # one sweep to settle, one to see that nobody moves
    assert rounds["envelope"] > 2


@pytest.mark.slow
def test_owners_in_another_order_settle_alike():
    first = insurers("market.activation=random")
    names = ["Cedar Life", "Aurora Health", "Beacon Mutual"]
    second = insurers(
        "market.activation=simultaneous",
        f"data.names={names}",
        "owners.cost.price=[550.0, 300.0, 400.0]",
    )
    budgets = [{o["name"]: o["epsilon"] for o in r["owners"]} for r in (first, second)]
    for name in names:
        assert budgets[0][name] == pytest.approx(budgets[1][name], rel=1e-6)


@pytest.mark.slow
def test_claims_name_everything():
    for claim in insurers()["claims"]:
        assert claim["unit"] == "one record" and claim["adjacency"] == "replace one record"
        assert (
            claim["delta"] == 0 and claim["mechanism"] == "laplace" and claim["simulation"] is True
        )
        assert claim["rounds"] >= 2 and claim["protects_against"] and np.isfinite(claim["epsilon"])


@pytest.mark.slow
def test_the_outside_option_is_the_public_model_wherever_training_starts():
    alone = {}
    for start in ("public", "zero"):
        scenario = load(
            "three_insurers", [*QUICK, f"learning.start={start}", "owners.epsilon=[0.0, 0.0]"]
        )
        result = run(scenario)
        outside = result["outside_option"]
        alone[start] = (outside["relative_fitness"], outside["measured"])
        assert result["validation"]["relative_fitness"]["mean"] == pytest.approx(
            outside["measured"]
        )
    assert alone["zero"] == pytest.approx(alone["public"])


@pytest.mark.slow
def test_the_kind_of_game_stands_in_the_result(monkeypatch):
    """The contest is dominance solvable; VCG is a potential game with several equilibria, so it is not."""
    monkeypatch.setattr("scenarios.summary.market.DIAGNOSED", 12)
    contest = insurers()["equilibrium"]["diagnosis"]
    assert contest["dominance_solvable"] and not contest["potential_game"]
    pivot = insurers("policy.kind=marginal", "policy.share=1.0")["equilibrium"]["diagnosis"]
    assert pivot["potential_game"] and not pivot["dominance_solvable"]


@pytest.mark.slow
def test_money_realised_is_what_the_trained_models_are_worth_less_what_was_paid():
    result = insurers("owners.benefit=[50000.0, 0.0, 2000.0]", "market.starts=1")
    money = result["validation"]["money"]
    learner = result["learner"]
    alone = result["outside_option"]["measured"]
    runs = np.array([row["relative_fitness"] for row in result.validation])
    surplus = learner["value"] * (alone - runs) - learner["payments"]
    told = money["learner_surplus"]
    assert told["mean"] == pytest.approx(surplus.mean())
    assert told["std_error"] == pytest.approx(surplus.std(ddof=1) / np.sqrt(len(runs)))
    assert [told["q05"], told["q95"]] == pytest.approx(np.quantile(surplus, [0.05, 0.95]))
    assert money["pays"] and money["chance_of_loss"] == np.mean(surplus < 0)
    for row, had in zip(result["owners"], money["owners"], strict=True):
        gain = max(0.0, row["isolated_relative_fitness"] - runs.mean())
        benefit = {"Aurora Health": 50000.0, "Cedar Life": 2000.0}.get(row["name"], 0.0) * gain
        assert had["name"] == row["name"] and had["benefit"] == pytest.approx(benefit)
        assert had["surplus"] == pytest.approx(row["payment"] + benefit - row["privacy_cost"])


@pytest.mark.slow
def test_where_nothing_is_bought_the_learner_has_neither_gain_nor_loss():
    checked = insurers("owners.epsilon=[0.0, 0.0]", "market.starts=1")["validation"]
    assert checked["money"]["learner_surplus"] == dict.fromkeys(checked["relative_fitness"], 0.0)
    assert (
        not checked["money"]["pays"]
        and checked["money"]["chance_of_loss"] == 0
        and checked["agrees_on_money"]
    )
