"""Owners who differ in kind: what each could train alone, and what is seen of it before anything is asked."""

import numpy as np
import pytest
from commands import TRADE

from learning.errors import InputError
from learning.forecast.own_check import compare_models
from scenarios.opened import as_overrides
from scenarios.planning import isolated_as_known, prepare
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.summary.content import warnings_part
from scenarios.summary.forecast import between_owners_part
from scenarios.tables.dataset import market_data
from scenarios.training import train_at

SCENARIO = (
    """
[data]
path = "{table}"
target = "y"
owner = "owner"
public_rows = 120
[learning]
horizon = 3
clip = 3.0
[owners]
epsilon = [0.1, 5.0]
benefit = 40.0
"""
    + TRADE
    + """\
[market]
starts = 2
[validation]
runs = 5
"""
)


def table(slopes, each=400, seed=0):
    """Records of owners a, b, ... whose target follows x with their own slopes."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(2, len(slopes), each))
    names = "abcdefgh"
    return [
        f"{a:.6g},{names[i]},{s * a + b:.6g}"
        for i, s in enumerate(slopes)
        for a, b in zip(x[i], noise[i], strict=True)
    ]


def scenario(write, slopes, *changes, each=400, seed=0):
    return load(str(write(table(slopes, each, seed), "x,owner,y", SCENARIO)), changes)


def judged_on_all(data):
    """Excess mean squared error of each owner's least squares on all records, relative to the best of all."""

    def fit(x, y):
        return np.linalg.lstsq(x, y, rcond=None)[0]

    x, y = (np.concatenate([getattr(owner, part) for owner in data.owners]) for part in ("x", "y"))
    best = np.mean((y - x @ fit(x, y)) ** 2)
    return np.array(
        [np.mean((y - x @ fit(owner.x, owner.y)) ** 2) / best - 1 for owner in data.owners]
    )


def test_an_own_model_is_judged_by_its_optimum_on_all_records(write):
    made = scenario(write, (1.0, 1.0, 4.0), "owners.benefit=0.0", "market.starts=1")
    result = run(made)
    expected = judged_on_all(market_data(made))
    assert expected.min() > 0.2  # by numbers of records alone it would be 0.01
    alone = np.array([owner["isolated_relative_fitness"] for owner in result["owners"]])
    np.testing.assert_allclose(alone, expected, rtol=1e-9)
    trained = result["validation"]["relative_fitness"]["mean"]
    assert [owner["gains"] for owner in result["owners"]] == [bool(trained < one) for one in alone]


@pytest.mark.parametrize("slopes", [(1.0, 1.0, 4.0), (2.0, 2.0, 2.0)])
def test_owners_decide_by_what_their_model_does_on_the_public_rows(write, slopes):
    made = scenario(write, slopes)
    data, planner = prepare(made)
    known = market_game(made, data, planner).owners.isolated
    true = judged_on_all(data)
    np.testing.assert_array_equal(known, isolated_as_known(data, planner))
    if len(set(slopes)) > 1:
        assert (
            np.abs(np.log(known / true)) < np.log(2)
        ).all()  # 120 public rows: standard error about 0.2
    else:
        alike = planner.forecast.dispersion * (1 / data.sizes - 1 / data.sizes.sum())
        np.testing.assert_allclose(known, alike, rtol=1e-12)


def test_without_public_rows_an_owner_takes_itself_for_one_like_the_others(write):
    made = scenario(
        write,
        (1.0, 1.0, 4.0),
        "data.public_rows=0",
        "learning.theta_max=5.0",
        "data.bounds.x=[-5,5]",
        "data.bounds.y=[-20,20]",
    )
    data, planner = prepare(made)
    alike = planner.forecast.dispersion * (1 / data.sizes - 1 / data.sizes.sum())
    np.testing.assert_allclose(isolated_as_known(data, planner), alike, rtol=1e-12)


@pytest.mark.slow
def test_an_owner_like_the_others_rarely_takes_itself_for_another_and_one_of_another_kind_hardly_errs(
    write,
):
    apart = []
    ratio = []
    for seed in range(6):
        for slopes in ((2.0, 2.0, 2.0), (1.0, 1.0, 2.0)):
            data, planner = prepare(scenario(write, slopes, f"seed={seed}", seed=seed))
            known = isolated_as_known(data, planner)
            if len(set(slopes)) == 1:
                alike = planner.forecast.dispersion * (1 / data.sizes - 1 / data.sizes.sum())
                apart += (known > 1.01 * alike).tolist()
            else:
                ratio += (known / judged_on_all(data))[2:].tolist()
    assert np.mean(apart) <= 0.05 + 3 * np.sqrt(
        0.05 * 0.95 / 6
    )  # the three of one seed share its public rows
    assert abs(np.mean(ratio) - 1) <= 3 * np.std(ratio) / np.sqrt(len(ratio))


PRECISE = (
    "learning.weights=precision",
    "owners.epsilon=[0.05, 5.0]",
    "owners.benefit=0.0",
    "learning.clip=6.0",
)
GIVEN = np.array([5.0, 0.2, 0.2])


@pytest.mark.parametrize("slopes", [(1.0, 2.0, 3.0), (2.0, 2.0, 2.0)])
def test_precision_weights_of_owners_who_differ_keep_what_is_promised(write, slopes):
    made = scenario(write, slopes, *PRECISE, "validation.runs=40", each=1000)
    data, planner = prepare(made)
    trained = data.fitness.relative(train_at(made, planner, GIVEN).theta)
    low, high = planner.predict(GIVEN).interval()
    assert low <= planner.forecast.at(GIVEN) <= high
    assert trained.mean() <= high + 3 * trained.std() / np.sqrt(40)
    assert (planner.forecast.weights(GIVEN)[0] > 0.5) == (
        len(set(slopes)) == 1
    )  # concentrates only where that is no harm


def test_it_is_told_before_money_moves(write):
    made = scenario(write, (1.0, 1.0, 4.0), *PRECISE)
    data, planner = prepare(made)
    (fact,) = warnings_part(made, data, planner)
    assert fact["cause"] == "owners_unlike" and fact["p_value"] <= 0.01
    found = between_owners_part(planner, GIVEN)
    assert found["interval"][0] <= found["relative_fitness"] <= found["interval"][1]
    in_order = SCENARIO.replace('owner = "owner"', 'order = "as_is"\nsplit = [300, 300, 300]')
    made = load(str(write(table((1.0, 1.0, 4.0)), "x,owner,y", in_order)))
    data, planner = prepare(made)
    causes = [fact["cause"] for fact in warnings_part(made, data, planner)]
    assert causes == [
        "order_as_is",
        "benefit_tells",
    ]  # budgets then depend on the owners' own models
    assert between_owners_part(planner, GIVEN) is None


def test_rows_kept_aside_are_nobodys_but_the_check_and_tell_what_the_model_gained(write):
    made = scenario(
        write, (2.0, 2.0, 2.0), "data.check_rows=60", "validation.runs=5", "owners.benefit=0.0"
    )
    data, planner = prepare(made)
    without = market_data(scenario(write, (2.0, 2.0, 2.0)))
    assert data.aside.n_records == 60 and data.sizes.sum() == without.sizes.sum() - 60
    np.testing.assert_array_equal(
        data.public.x, without.public.x
    )  # the same public rows, the last ones
    models = np.stack([planner.own_model, data.fitness.minimiser])
    found = compare_models(data.public, data.aside.x, data.aside.y, models)
    errors = [np.mean((data.aside.y - data.aside.x @ model) ** 2) for model in models]
    assert found.relative_fitness * data.public.fitness.optimum == pytest.approx(
        errors[0] - errors[1], rel=1e-9
    )
    with pytest.raises(InputError, match="check_rows"):
        scenario(write, (2.0, 2.0), "data.check_rows=60", "data.public_rows=0")


def planned(**changes):
    """The planner of the three insurers under changes."""
    return prepare(load("three_insurers", as_overrides(changes))).planner


@pytest.mark.parametrize("split, strict", [([6680, 6680, 6680], 0.1), ([6680, 100, 100], 0.01)])
def test_strict_owners_do_not_spoil_a_model_weighted_by_precision(split, strict):
    """One at an epsilon of 10 beside two that may sell next to nothing: no worse than without them, to 10 % of the error."""
    budgets = [10, strict, strict]
    precise = {"learning.weights": "precision", "owners.cost.price": 300.0}
    intervals = [[budget, budget] for budget in budgets]
    beside = planned(**precise, **{"data.split": split, "owners.epsilon": intervals})
    alone = planned(
        **precise, **{"data.split": split[:1], "data.names": ["A"], "owners.epsilon": [10, 10]}
    )
    forecast = beside.forecast.at(budgets)
    # The best of all owners' records is the measure; of some, the model is at most this much from
    # that of all.
    apart = beside.forecast.dispersion * (1 / split[0] - 1 / sum(split))
    assert forecast <= 1.1 * (alone.forecast.at([10]) + apart) < 0.5 * beside.forecast.outside
