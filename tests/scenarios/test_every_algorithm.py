"""Every loss under every algorithm, from a table on disk to a trained model; and what is refused on the way."""

import re
from functools import cache

import numpy as np
import pytest
from pairs import OWNERS, PLANS, PUBLIC, RECORDS, laid, refused, scenario
from sizes import thinned

from learning.errors import InputError
from learning.forecast.ways import open_mechanisms, planner_under
from market.costs.leakage import leakage_bits
from scenarios.planning import Prepared, planning_inputs, prepare
from scenarios.runner import run
from scenarios.schema.learning import Learning
from scenarios.tables.dataset import market_data
from scenarios.training import train_at

EXACT = ("synchronous", "averaged", "sgd2")  # under squared loss
ALGORITHMS = (
    "synchronous",
    "averaged",
    "asynchronous",
    "sgd1",
    "sgd2",
    "weighted",
    "adassp",
    "one_step",
    "newton",
)
ONCE = ("adassp", "one_step")
LOSSES = ("squared", "hinge", "logistic", "network")
SOLVED = {
    "adassp": ("squared",),
    "newton": ("squared",),
    "one_step": ("squared", "hinge", "logistic"),
}
PAIRS = [(loss, name) for loss in LOSSES for name in ALGORITHMS if loss in SOLVED.get(name, LOSSES)]
OFTEN = ("averaged",)  # algorithms tried under every loss in every run of the tests
# every algorithm under one loss, and every loss under one algorithm
EVERYDAY = [
    (loss, name)
    for loss, name in PAIRS
    if name in (*OFTEN, *ONCE) or LOSSES.index(loss) == ALGORITHMS.index(name) % len(LOSSES)
]
TRIED = thinned(PAIRS, EVERYDAY)

TRAININGS = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return laid(tmp_path_factory.mktemp("market"))


@cache
def run_once(*given):
    """A run that several tests compare theirs with."""
    return run(scenario(*given))


@cache
def prepared(folder, loss, algorithm, *changes):
    made = scenario(folder, loss, algorithm, f"validation.runs={TRAININGS}", *changes)
    return made, *prepare(made)


@pytest.fixture
def run_as_prepared(monkeypatch):
    """Runs a scenario with the planner that another test of it made: how many runs are trained does not matter to it."""

    def run_it(folder, loss, algorithm, *changes):
        ready = Prepared(*prepared(folder, loss, algorithm, *changes)[1:])
        monkeypatch.setattr("scenarios.runner.prepare", lambda made, progress: ready)
        return run(scenario(folder, loss, algorithm, *changes))

    return run_it


# ---- every pair
# -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "algorithm"), TRIED)
def test_from_market_to_trained_model(folder, run_as_prepared, loss, algorithm):
    result = run_as_prepared(folder, loss, algorithm)
    predicted = result["forecast"]
    checked = result["validation"]
    assert predicted["kind"] == (
        "exact" if loss == "squared" and algorithm in EXACT else "calibrated"
    )
    assert predicted["basis"] == "public" and predicted["algorithm"] == algorithm
    if algorithm not in ONCE:
        assert (predicted["horizon"], predicted["step_size"]) == PLANS[algorithm]
    low, high = predicted["interval"]
    assert np.isfinite([low, high]).all() and low < predicted["relative_fitness"] < high
    assert (
        predicted["bias"] + predicted["noise"] == pytest.approx(predicted["relative_fitness"])
        and predicted["noise"] > 0
    )
    assert result["equilibrium"]["converged"] and result["equilibrium"]["max_regret"] <= 1e-6
    selling = [owner for owner in result["owners"] if owner["epsilon"] > 0]
    assert len(selling) == OWNERS and sum(owner["weight"] for owner in selling) == pytest.approx(1)
    assert [claim["party"] for claim in result["claims"]] == [owner["name"] for owner in selling]
    for claim, owner in zip(result["claims"], selling, strict=True):
        assert (
            claim["epsilon"] == pytest.approx(owner["epsilon"])
            and claim["rounds"] == predicted["answers"]
        )
        assert (
            claim["simulation"]
            and claim["adjacency"] == "replace one record"
            and claim["protects_against"]
        )
        assert (claim["delta"] > 0) == (claim["mechanism"] != "laplace")
    assert checked["runs"] == 6 and np.isfinite(checked["z_score"]) and checked["explanation"]
    assert isinstance(checked["agrees"], bool)
    runs = [row["relative_fitness"] for row in result.validation]
    assert len(set(runs)) == 6 and np.isfinite(runs).all()
    assert loss == "network" or min(runs) >= 0
    assert checked["nonprivate_fitness"] > 0 and result["outside_option"]["measured"] > (
        -1 if loss == "network" else 0
    )


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "algorithm"), TRIED)
def test_every_budget_changes_the_executed_training(folder, loss, algorithm):
    """Each owner's alone changes every model trained, not only the bill; 20 times less for all makes a worse one."""
    made, data, planner = prepared(folder, loss, algorithm)
    base = np.full(OWNERS, 10.0)
    before = train_at(made, planner, base)
    assert before.plan.asks
    for owner in range(OWNERS):
        moved = np.where(np.arange(OWNERS) == owner, 9.0, base)
        after = train_at(made, planner, moved)
        changed = (after.theta != before.theta).any(axis=1)
        assert changed.all() if algorithm not in ("sgd1", "asynchronous") else changed.mean() > 0.9
    worse = train_at(made, planner, base / 20)
    assert data.fitness.relative(worse.theta).mean() > data.fitness.relative(before.theta).mean()
    again = train_at(made, planner, base)
    np.testing.assert_array_equal(again.theta, before.theta)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "algorithm"), TRIED)
def test_noise_is_at_the_level_that_the_mechanism_prices(folder, loss, algorithm):
    """Each owner's scale is the mechanism's for its budget, its records and the answers that are priced; epsilon = inf
    adds none, and then all runs that ask alike are alike."""
    made, data, planner = prepared(folder, loss, algorithm)
    epsilon = np.array([2.0, 5.0, 20.0])
    owners, weights, plan = planner.clients(epsilon)
    expected = planner.mechanism.scale(
        epsilon, data.sizes, planner.coordinates.gradient_bound, plan.priced
    )
    np.testing.assert_allclose([owner.scale for owner in owners], expected, rtol=1e-12)
    np.testing.assert_allclose(weights, data.sizes / data.sizes.sum())
    silent = train_at(made, planner, np.full(OWNERS, np.inf))
    if algorithm not in ("sgd1", "asynchronous"):
        np.testing.assert_allclose(
            silent.theta, np.tile(silent.theta[:1], (TRAININGS, 1)), rtol=1e-12
        )
    counts = [owner.records.n_records for owner in owners]
    assert counts == [RECORDS] * OWNERS


NEWTON = {"mechanism": "l2", "clipping": "record"}  # Gaussian noise is not priced for it


def test_pairs_are_all_that_the_schema_allows():
    found = []
    for loss in LOSSES:
        for name in ALGORITHMS:
            noise = NEWTON if name == "newton" else {"mechanism": "gaussian", "delta": 1e-5}
            stated = {"loss": loss, "algorithm": name, "regularisation": 0.1, **noise}
            try:
                Learning.model_validate(stated)
            except ValueError:
                continue
            found.append((loss, name))
    assert found == PAIRS


# ---- mechanisms and weights
# -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "algorithm"),
    [
        ("squared", "averaged"),
        pytest.param("logistic", "averaged", marks=pytest.mark.deep),
        pytest.param("squared", "weighted", marks=pytest.mark.deep),
    ],
)
def test_best_is_a_mechanism_with_about_the_smallest_forecast(
    folder, run_as_prepared, loss, algorithm
):
    best = ("learning.mechanism=best", "learning.delta=1e-4")
    made, _, planner = prepared(folder, loss, algorithm, *best)
    inputs = planning_inputs(made, market_data(made))
    at = inputs.owners.reference
    candidates = open_mechanisms(inputs)
    assert len({repr(candidate) for candidate in candidates}) == len(candidates) >= 3
    heights = [planner_under(inputs, candidate).forecast.at(at) for candidate in candidates]
    taken = heights[[repr(candidate) for candidate in candidates].index(repr(planner.mechanism))]
    assert (
        planner.forecast.at(at) == taken <= 1.1 * min(heights)
    )  # compared by a quick look: a few percent are chance
    assert run_as_prepared(folder, loss, algorithm, *best)["validation"]["z_score"] is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        ("learning.mechanism=laplace", "learning.accounting=pld", "learning.delta=1e-4"),
        ("learning.mechanism=gaussian", "learning.accounting=pld", "learning.delta=1e-4"),
        ("learning.mechanism=gaussian", "learning.accounting=zcdp", "learning.delta=1e-4"),
    ],
    ids=["laplace pld", "gaussian pld", "gaussian zcdp"],
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_every_accounting_runs_and_claims_delta(folder, loss, changes):
    result = run(scenario(folder, loss, "averaged", *changes))
    assert len(result["claims"]) == OWNERS and all(
        claim["delta"] == 1e-4 for claim in result["claims"]
    )
    assert result["validation"]["explanation"] and result["warnings"] == []


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["sgd1", "sgd2", "weighted"])
def test_noise_as_printed_claims_what_it_gives_and_to_whom(folder, algorithm):
    """What an accountant says of the noise, which is not the epsilon that the formula is asked for."""
    changes = ("learning.mechanism=gaussian", "learning.accounting=printed", "learning.delta=1e-4")
    result = run(scenario(folder, "logistic", algorithm, *changes))
    assert {claim["party"] for claim in result["claims"]} == {"Ash", "Birch", "Cedar"}
    assert all(np.isfinite(claim["epsilon"]) for claim in result["claims"])
    stated = [owner["epsilon"] for owner in result["owners"]]
    assert not set(stated) & {
        claim["epsilon"] for claim in result["claims"]
    }  # the accountant's, not the formula's
    sold = {owner["name"]: owner["epsilon"] for owner in result["owners"]}
    worst = max(result["claims"], key=lambda claim: claim["epsilon"] / sold[claim["party"]])
    told = {"cause": "weaker_than_sold", "epsilon": worst["epsilon"], "sold": sold[worst["party"]]}
    assert result["warnings"] == ([told] if told["epsilon"] > told["sold"] else [])


@pytest.mark.parametrize("ball", ["8.0", "none"])
def test_noise_scaled_to_a_given_bound_claims_what_is_proved(folder, ball):
    """Half of the bound proved: twice the budget sold. No ball: nothing is proved, and nothing claimed."""
    ranges = [f"data.bounds.{name}=[-1, 1]" for name in "abc"]
    changes = ("learning.clip=2", "data.public_rows=0", "validation.runs=50", *ranges)
    bound = 2 * (8.0 * 2 + 4) * 2
    plain = run(scenario(folder, "squared", "averaged", *changes, "learning.theta_max=8"))
    given = (f"learning.theta_max={ball}", f"learning.gradient_bound={bound / 2}")
    made = run(scenario(folder, "squared", "averaged", *changes, *given))
    assert [plain["protocol"][key] for key in ("gradient_bound", "given_bound", "theta_max")] == [
        bound,
        None,
        8.0,
    ]
    proved = [None, None] if ball == "none" else [bound, 8.0]
    assert [made["protocol"][key] for key in ("gradient_bound", "theta_max")] == proved
    held = {claim["party"]: claim["epsilon"] for claim in made["claims"]}
    for owner in made["owners"]:
        expected = None if ball == "none" else pytest.approx(2 * owner["epsilon"])
        assert held[owner["name"]] == owner["claimed_epsilon"] == expected
    assert [(one["cause"], one.get("given_bound")) for one in made["warnings"]][-1] == (
        "weaker_than_sold",
        bound / 2,
    )
    for result in (plain, made):
        assert result["forecast"]["kind"] == "exact" and abs(result["validation"]["z_score"]) < 4
    assert made["forecast"]["noise"] == pytest.approx(plain["forecast"]["noise"] / 4)


@pytest.mark.slow
def test_costs_may_be_counted_on_what_is_claimed(folder):
    """Under a paper's formula that is more than what is sold; nobody who is paid the same then sells as much."""
    printed = ("learning.mechanism=gaussian", "learning.accounting=printed", "learning.delta=1e-4")
    changes = (
        *printed,
        "learning.horizon=6",
        "owners.epsilon=[0.05, 2.0]",
        "owners.cost.price=[40, 50, 60]",
    )
    sold = run(scenario(folder, "logistic", "weighted", *changes), training=False)
    made = scenario(folder, "logistic", "weighted", *changes, "owners.cost_at=claimed")
    claimed = run(made, training=False)
    for result, counted in ((sold, "epsilon"), (claimed, "claimed_epsilon")):
        assert result["equilibrium"]["converged"]
        for price, owner in zip((40, 50, 60), result["owners"], strict=True):
            assert owner["claimed_epsilon"] > owner["epsilon"]
            assert owner["privacy_cost"] == pytest.approx(price * owner[counted], rel=1e-4)
            assert owner["leakage_bits"] == leakage_bits(owner["claimed_epsilon"], 10, 1e-4)
    for one, other in zip(sold["owners"], claimed["owners"], strict=True):
        assert other["epsilon"] < one["epsilon"] < 2
    with pytest.raises(
        InputError, match=r"learning\.horizon: must be a number of rounds with owners\.cost_at"
    ):
        scenario(
            folder,
            "logistic",
            "weighted",
            *printed,
            "learning.horizon=optimal",
            "owners.cost_at=claimed",
        )


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["equal", "precision"])
@pytest.mark.parametrize(
    ("loss", "algorithm"),
    thinned(
        [("squared", "averaged"), ("hinge", "averaged"), ("logistic", "weighted")],
        [("squared", "averaged"), ("logistic", "weighted")],
    ),
)
def test_weights_are_those_trained_with(folder, loss, algorithm, weights):
    unequal = (
        "data.split=[100, 300, 500]",
        "owners.epsilon=[[2.0, 2.0], [5.0, 5.0], [20.0, 20.0]]",
    )
    made = scenario(folder, loss, algorithm, f"learning.weights={weights}", *unequal)
    result = run(made)
    q = np.array([owner["weight"] for owner in result["owners"]])
    assert q.sum() == pytest.approx(1)
    if weights == "equal":
        np.testing.assert_allclose(q, 1 / 3)
    else:
        size = np.array([100, 300, 500]) / 900
        assert (
            q[0] < size[0] and q[2] > size[2]
        )  # the noisiest counts for less than its size, the quietest for more
    by_size = run_once(folder, loss, algorithm, *unequal)
    assert by_size.validation[0]["relative_fitness"] != result.validation[0]["relative_fitness"]


@pytest.mark.slow
def test_without_public_rows_labels_under_precision_weights_still_have_a_forecast(folder):
    """What a part of the owners costs is then taken as nothing, and the balance is beyond all numbers."""
    bounds = [f"data.bounds.{name}=[-1, 1]" for name in "abc"]
    made = scenario(
        folder,
        "logistic",
        "averaged",
        "data.public_rows=0",
        'data.labels=["no", "yes"]',
        "learning.theta_max=2.0",
        "learning.weights=precision",
        *bounds,
    )
    result = run(made)
    assert result["forecast"]["basis"] == "oracle" and np.isfinite(
        result["forecast"]["relative_fitness"]
    )
    assert sum(owner["weight"] for owner in result["owners"]) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm",
    thinned(
        ["asynchronous", "weighted", "sgd1", "averaged"], ["asynchronous", "weighted", "averaged"]
    ),
)
def test_an_owner_that_stays_out_gets_no_claim_and_the_others_train(folder, algorithm):
    out = "owners.epsilon=[[0.0, 0.0], [20.0, 20.0], [20.0, 20.0]]"
    result = run(scenario(folder, "squared", algorithm, out))
    assert [claim["party"] for claim in result["claims"]] == ["Birch", "Cedar"]
    assert [owner["weight"] for owner in result["owners"]] == pytest.approx([0, 0.5, 0.5])
    assert np.isfinite(result["validation"]["z_score"])


# ---- edges
# ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "algorithm"),
    thinned(
        [("squared", "averaged"), ("logistic", "weighted"), ("squared", "asynchronous")],
        [("squared", "averaged"), ("logistic", "weighted")],
    ),
)
def test_one_owner_that_may_stay_out(folder, loss, algorithm):
    """Alone in the market, with budgets from 0: a forecast over all of them, and a settled market."""
    alone = (
        "data.split=[900]",
        'data.names=["Only"]',
        "owners.cost.price=1.0",
        "owners.epsilon=[0.0, 20.0]",
    )
    result = run(scenario(folder, loss, algorithm, *alone))
    (owner,) = result["owners"]
    assert result["equilibrium"]["converged"] and 0 <= owner["epsilon"] <= 20
    assert len(result["claims"]) == (owner["epsilon"] > 0)
    paid = run(scenario(folder, loss, algorithm, *alone, "policy.kind=posted", "policy.price=5.0"))
    assert paid["owners"][0]["epsilon"] == pytest.approx(20) and len(paid["claims"]) == 1
    assert paid["owners"][0]["weight"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "algorithm"), [("squared", "weighted"), ("hinge", "averaged"), ("squared", "adassp")]
)
def test_nobody_may_share(folder, loss, algorithm):
    result = run(scenario(folder, loss, algorithm, "owners.epsilon=[0.0, 0.0]"))
    assert result["claims"] == []
    assert result["forecast"]["relative_fitness"] == result["outside_option"]["relative_fitness"]
    assert result["validation"]["z_score"] is None
    mean = result["validation"]["relative_fitness"]["mean"]
    assert mean == pytest.approx(result["outside_option"]["measured"], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["averaged", "weighted"])
def test_nobody_may_share_and_training_would_start_at_zero(folder, algorithm):
    """The learner still has its public model, as the forecast says."""
    result = run(
        scenario(folder, "squared", algorithm, "owners.epsilon=[0.0, 0.0]", "learning.start=zero")
    )
    mean = result["validation"]["relative_fitness"]["mean"]
    assert mean == pytest.approx(result["outside_option"]["measured"], rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "network"])
def test_public_rows_of_one_label_are_refused(folder, tmp_path, loss):
    """As-is order: the last 120 rows, the public ones, all say yes."""
    lines = (folder / "label.csv").read_text().splitlines()
    yes = [line for line in lines[1:] if line.endswith("yes")]
    rest = [line for line in lines[1:] if line not in set(yes[-PUBLIC:])]
    (tmp_path / "label.csv").write_text("\n".join([lines[0], *rest, *yes[-PUBLIC:]]) + "\n")
    (tmp_path / "label.toml").write_text((folder / "label.toml").read_text())
    told = refused(tmp_path, loss, "averaged", "data.order=as_is")
    assert re.search(r"public|label", told)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in ONCE])
@pytest.mark.parametrize("horizon", [0, -1, 10**9])
def test_horizons_out_of_reach_are_refused(folder, algorithm, horizon):
    told = refused(folder, "squared", algorithm, f"learning.horizon={horizon}")
    assert "learning.horizon" in told and "rounds" in told and str(horizon) in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delta", "warned"), [(1e-4, False), (1 / 300, True), (0.01, True), (0.5, True)]
)
def test_a_delta_that_could_give_away_a_record_is_warned_of(folder, delta, warned):
    made = scenario(
        folder, "squared", "averaged", "learning.mechanism=gaussian", f"learning.delta={delta}"
    )
    result = run(made, training=False)
    assert bool(result["warnings"]) == warned
    assert not warned or result["warnings"] == [
        {"cause": "large_delta", "delta": delta, "records": 300}
    ]


BEYOND = [
    (
        "averaged",
        ("learning.mechanism=laplace", "learning.accounting=pld", "learning.delta=1e-4"),
        500,
    ),
    (
        "averaged",
        ("learning.mechanism=gaussian", "learning.accounting=pld", "learning.delta=1e-4"),
        1000,
    ),
    ("sgd1", ("learning.accounting=pld",), 100),
]


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "changes", "most"), BEYOND)
def test_budgets_beyond_the_accountant_are_refused_in_one_line(folder, algorithm, changes, most):
    told = refused(folder, "squared", algorithm, *changes, f"owners.epsilon=[1.0, {1.1 * most}]")
    assert told.startswith("owners.epsilon: must be at most") and str(most) in told


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "changes", "most"), BEYOND)
def test_the_most_that_the_accountant_covers_may_be_stated(folder, algorithm, changes, most):
    """Told "at most 500, found 500.005", a user who wrote 500 does not know what to do."""
    made = scenario(folder, "squared", algorithm, *changes, f"owners.epsilon=[1.0, {most}]")
    assert run(made, training=False)["claims"]


@pytest.mark.slow
def test_budgets_beyond_every_accountant_are_refused_under_best_too(folder):
    changes = ("learning.mechanism=best", "learning.delta=1e-4")
    assert "owners.epsilon" in refused(
        folder, "squared", "averaged", *changes, "owners.epsilon=[1.0, 1e6]"
    )


# ---- protocol free to choose
# ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "algorithm"),
    [
        ("hinge", "averaged"),
        pytest.param("logistic", "weighted", marks=pytest.mark.deep),
        pytest.param("squared", "asynchronous", marks=pytest.mark.deep),
        pytest.param("squared", "sgd1", marks=pytest.mark.deep),
        ("squared", "adassp"),
    ],
)
def test_with_horizon_and_step_free_the_learner_is_never_worse_off_than_alone(
    folder, loss, algorithm
):
    one_by_one = algorithm in (
        "sgd1",
        "asynchronous",
    )  # hundreds of rounds or thousands, each asking one owner
    rounds = ("learning.horizon=30",) if one_by_one else ()
    result = run(
        scenario(folder, loss, algorithm, "owners.epsilon=[5.0, 50.0]", *rounds, free=True)
    )
    assert result["forecast"]["relative_fitness"] <= result["outside_option"]["relative_fitness"]
    assert result["forecast"]["kind"] == "calibrated" and result["validation"]["explanation"]
    tiny = run(
        scenario(folder, loss, algorithm, "owners.epsilon=[0.001, 0.002]", *rounds, free=True),
        training=False,
    )
    alone = tiny["outside_option"]["relative_fitness"]
    assert 0.999 * alone <= tiny["forecast"]["relative_fitness"] <= alone
    if tiny["forecast"]["relative_fitness"] == alone:
        assert tiny["claims"] == [] and not tiny["learner"]["buying_pays"]


def test_a_step_as_its_paper_prints_it(folder):
    """1/Delta of steps c/t under sgd2: what is forecast, and the result says what the theorem gives there."""
    keys = ("learning.step_size=printed", "learning.step_decline=1", "validation.runs=2")
    result = run(scenario(folder, "squared", "sgd2", *keys))
    _, _, planner = prepared(folder, "squared", "sgd2", *keys)
    plan = planner.forecast.plan(np.ones(OWNERS))
    assert plan.steps == pytest.approx(1 / (planner.curvatures[0] * np.arange(1, 5)))
    told = result["forecast"]["published_bound"]
    assert (
        result["forecast"]["step_size"] == plan.step_size
        and told["theorem"] == "Theorem 4"
        and told["unmet"] == []
    )
    assert 0 < result["forecast"]["excess"] < told["corrected"]


def test_a_step_that_no_paper_prints_is_refused(folder):
    assert 'algorithm = "sgd1", "sgd2" or "weighted"' in refused(
        folder, "squared", "averaged", "learning.step_size=printed"
    )
    assert "learning.horizon" in refused(
        folder, "squared", "sgd2", "learning.step_size=printed", "learning.horizon=optimal"
    )
    keys = ("learning.step_size=printed", "learning.step_decline=0.7")
    assert "The paper does not state one" in refused(folder, "squared", "sgd2", *keys)
