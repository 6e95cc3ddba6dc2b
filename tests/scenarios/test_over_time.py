"""A scenario's market over several periods: records, budgets, claims and trainings of each, from the file to the folder."""

from __future__ import annotations

import json
from functools import reduce

import numpy as np
import pytest
from commands import INSURERS, lay
from dp_accounting.pld import privacy_loss_distribution as pld
from quick import quick_module
from told import differing

from agents.dynamics import draw_arrivals
from learning.collected_errors import InputErrors
from learning.errors import InputError
from learning.privacy.laplace import LaplaceNoise
from learning.privacy.ledger import BudgetExceeded
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.lifetime import LimitedLedger
from scenarios.checking import check_scenario
from scenarios.duration import expected_seconds
from scenarios.planning import prepare
from scenarios.report.phrases import render_phrase
from scenarios.result import save_result
from scenarios.runner import carry_out, result_of, run
from scenarios.schema.loading import load
from scenarios.studies.comparison import Alternative, compare
from scenarios.studies.design import each_for_itself
from scenarios.training import train_at, training_task

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # as the fixtures of this module

LIMIT = 6.0  # of what 2.85 and 2.14 a period are sold


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("time") / "s.toml"
    file.write_text(INSURERS, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def static(path):
    return run(load(path)).content


@pytest.fixture(scope="module")
def limited(path):
    """Three periods with trainings, in the last of which the lifetime budgets run out."""
    scenario = load(path, ["time.periods=3", f"time.lifetime_epsilon={LIMIT}"])
    stages = []
    found = carry_out(
        scenario, prepare(scenario), progress=lambda stage, share=0.0: stages.append((stage, share))
    )
    assert [(stage, round(share, 2)) for stage, share in stages if stage.startswith("period")] == [
        ("period 1 of 3", 0.0),
        ("period 1 of 3", 0.0),
        ("period 2 of 3", 0.33),
        ("period 3 of 3", 0.67),
    ]
    return found


@pytest.fixture(scope="module")
def content(limited):
    return result_of(limited).content


def by_owner(content, key):
    return np.array([owner[key] for owner in content["time"]["owners"]], dtype=float)


@pytest.mark.slow
def test_every_period_of_a_stationary_scenario_is_the_market_held_once(path, static):
    found = run(load(path, ["time.periods=3"]), training=False).content
    once = np.array([owner["epsilon"] for owner in static["owners"]])
    assert (
        np.abs(by_owner(found, "epsilon") - once[:, None]).max() < 1e-9
        and found["time"]["plans"] == 1
    )
    assert {one["relative_fitness"] for one in found["time"]["periods"]} == {
        static["forecast"]["relative_fitness"]
    }
    assert found["equilibrium"] == static["equilibrium"] and static["time"] is None
    assert [claim["epsilon"] for claim in found["claims"]] == pytest.approx(3 * once)
    assert not differing("result.json", json.loads(json.dumps(found)))[
        0
    ]  # the reference tells of every field


def test_what_is_left_is_the_most_that_is_sold_and_claims_are_of_all_periods(content):
    sold = by_owner(content, "epsilon")
    assert sold[:, 0] == pytest.approx(sold[:, 1], rel=1e-9) and (sold[:, 2] < sold[:, 1]).all()
    assert (
        by_owner(content, "spent") == pytest.approx(LIMIT, rel=1e-12)
        and not by_owner(content, "remaining").any()
    )
    assert [claim["epsilon"] for claim in content["claims"]] == by_owner(content, "spent").tolist()
    assert [claim["rounds"] for claim in content["claims"]] == [2 * 3] * 2
    assert [owner["claimed_epsilon"] for owner in content["owners"]] == by_owner(
        content, "spent"
    ).tolist()
    assert not [one for one in content["warnings"] if one["cause"] == "weaker_than_sold"]


def test_claims_are_what_google_counts_of_the_noise_that_was_drawn(limited, content):
    """The privacy loss of every answer, from its noise and how far one record can move it, composed over all periods."""
    planner = limited.planner
    past = limited.history
    for i, claim in enumerate(content["claims"]):
        losses = []
        for sold in past.sold:
            owners, _, plan = planner.clients(sold)
            moves = 2 * planner.coordinates.gradient_bound / owners[i].records.n_records
            one = pld.from_laplace_mechanism(
                float(owners[i].scale) / moves, value_discretization_interval=1e-3
            )
            losses.append(one.self_compose(plan.priced))
        counted = reduce(lambda first, other: first.compose(other), losses).get_epsilon_for_delta(
            1e-10
        )
        assert counted == pytest.approx(claim["epsilon"], rel=2e-3)


def test_the_ledger_has_an_account_for_each_period_and_they_add_up(limited, content, tmp_path):
    kept = LedgerFile.create(tmp_path / "ledger")
    for account in limited.history.ledger.accounts:  # as they were charged
        kept.charge(kept.open(account.budget).budget, "training", account.answered)
    accounts = LedgerFile(tmp_path / "ledger").accounts
    budgets = [account.budget for account in accounts]
    names = limited.data.names
    assert [(one.owner, one.data) for one in budgets] == [
        (name, f"period {t}") for t in (1, 2, 3) for name in names
    ]
    stated = [sum(one.epsilon for one in budgets if one.owner == name) for name in names]
    assert stated == pytest.approx([claim["epsilon"] for claim in content["claims"]])
    assert all(one.answered == one.budget.horizon - 1 for one in accounts)
    assert all(one.spent <= one.budget.epsilon for one in accounts)


def test_a_training_that_would_overspend_is_refused_before_any_noise_is_drawn(limited, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        LaplaceNoise, "draw", lambda self, scale, shape, *, rng: drawn.append(1) or np.zeros(shape)
    )
    past = limited.history
    at = np.array([0.5, 0.5])
    spent = [account.answered for account in past.ledger.accounts]
    with pytest.raises(
        BudgetExceeded, match=f"an epsilon of {LIMIT:g} over all trainings: one more about period 4"
    ):
        train_at(limited.scenario, limited.planner, at, period=4, ledger=past.ledger)
    assert (
        not drawn and [account.answered for account in past.ledger.accounts][: len(spent)] == spent
    )
    train_at(limited.scenario, limited.planner, at, period=4, ledger=LimitedLedger(past.lifetime))
    assert drawn


@pytest.mark.slow
def test_noise_is_another_in_every_period_and_in_the_first_that_of_a_market_held_once(
    content, static
):
    trained = [one["trained"] for one in content["time"]["periods"]]
    once = static["validation"]["relative_fitness"]["mean"]
    assert trained[0] == pytest.approx(once, rel=1e-9) and abs(trained[1] / trained[0] - 1) > 1e-3
    assert (
        content["time"]["shown"] == 3
        and content["validation"]["relative_fitness"]["mean"] == trained[2]
    )


@pytest.mark.slow
def test_each_record_is_asked_about_once_where_only_new_ones_are(path):
    changes = ["periods=3", "growth=0.5", "composition='fresh'", "lifetime_epsilon=2.5"]
    changes += ["entry=[{owner='owner 2', period=2}]"]
    scenario = load(path, [f"time.{change}" for change in changes])
    whole = prepare(scenario)
    run = carry_out(scenario, whole, training=False)
    told = run.history.periods
    there = np.rint(np.array([500, 300]) / 1.5 ** np.array([[2], [1], [0]]))
    asked = np.array([one.outcome["records"] for one in told])
    assert (
        asked[:, 0].tolist() == np.diff(there[:, 0], prepend=0).tolist()
        and asked[:, 0].sum() == 500
    )
    assert asked[1:, 1].tolist() == [
        there[1, 1],
        there[2, 1] - there[1, 1],
    ]  # those from before it came too
    assert [one.joined for one in told] == [("owner 1",), ("owner 2",), ()] and not told[0].sold[1]
    for own, all_of_it in zip(run.data.owners, whole.data.owners, strict=True):
        assert np.array_equal(own.y, all_of_it.y[-own.n_records :])
    claims = result_of(run)["claims"]
    assert [claim["epsilon"] for claim in claims] == run.history.sold.max(
        axis=0
    ).tolist() and claims[0]["epsilon"] == 2.5
    assert all("of the same period" in claim["adjacency"] for claim in claims)


@pytest.mark.slow
def test_records_arrive_as_a_column_says(tmp_path):
    path = lay(tmp_path, 110, {"target =": 'features = ["x", "kind"]\ntarget ='})
    head, *lines = (tmp_path / "t.csv").read_text().splitlines()
    year = np.array([2021 + k * 7 % 3 for k in range(len(lines))])
    target = np.array([float(line.split(",")[2]) for line in lines])
    cells = [f"{head},year", *(f"{cells},{y}" for cells, y in zip(lines, year, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(cells))
    scenario = load(
        path,
        [
            "time.periods=4",
            "time.arrived=year",
            "time.first=['owner 1']",
            "time.arrivals=0.4",
            "seed=3",
        ],
    )
    found = carry_out(scenario, prepare(scenario), training=False)
    asked = np.array([one.outcome["records"] for one in found.history.periods])
    for i, rows in enumerate(found.data.division.owners.values()):
        assert asked[:, i].tolist() == [(year[rows] <= 2021 + min(t, 2)).sum() for t in range(4)]
        low = found.data.encoder.target.low
        high = found.data.encoder.target.high
        assert (np.diff(year[rows]) >= 0).all()
        assert np.allclose(
            np.diff(found.data.owners[i].y), np.diff(np.clip(target[rows], low, high))
        )
    at = draw_arrivals(0.4, 2, seed=3)[1]  # when a clock strikes for who waits outside
    assert 2 <= at <= 4 and [one.present[1] for one in found.history.periods] == [
        t + 1 >= at for t in range(4)
    ]
    assert found.history.plans == 3  # the last two periods have the same records
    for periods, column, said in (
        (2, "year", "at most time.periods = 2 values"),
        (4, "yaer", "must name a column"),
    ):
        with pytest.raises(InputErrors, match=said):
            check_scenario(load(path, [f"time.periods={periods}", f"time.arrived={column}"]))


@pytest.mark.slow
def test_an_owner_that_joins_late_changes_no_draw_of_the_others(path):
    drawn = []
    for changes in (
        [],
        [
            "data.split=[500, 300, 90]",
            "owners.cost.price=3.0",
            "time.entry=[{owner='owner 3', period=3}]",
        ],
    ):
        scenario = load(path, ["time.periods=3", *changes])
        data, planner = prepare(scenario)
        epsilon = np.array([1.0, 1.0, 0.0])[: len(data.owners)]
        task = training_task(scenario, planner, epsilon, period=2)
        drawn.append(
            [
                noise.take(1) / owner.scale
                for noise, owner in zip(task.noises(), task.owners, strict=True)
            ]
        )
    assert np.allclose(*drawn, rtol=1e-9)


@pytest.mark.slow
def test_who_loses_leaves_and_the_folder_tells_who_was_there(path, tmp_path):
    bound = ["owners.epsilon=[4.0, 10.0]", "owners.cost.price=[3.0, 7.0]"]
    found = run(load(path, ["time.periods=3", "time.patience=2", *bound]), training=False)
    free = run(load(path, ["market.participation=free", *bound]), training=False).content
    periods = found.content["time"]["periods"]
    assert [one["left"] for one in periods] == [[], [], ["owner 2"]] and [
        one["present"] for one in periods
    ] == [
        2,
        2,
        1,
    ]
    assert [owner["epsilon"] for owner in found.content["owners"]] == [
        owner["epsilon"] for owner in free["owners"]
    ]
    save_result(found, tmp_path / "r", lambda folder: None)
    table = (tmp_path / "r" / "periods.csv").read_text().splitlines()
    assert (
        table[0].startswith("period,owner,present,records,epsilon,spent,remaining,payment")
        and len(table) == 1 + 3 * 2
    )
    assert table[-1] == "3,owner 2,False,300,0.0,8.0,,0.0,0.0,0.0"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("periods=0", "time.periods: must be a whole number of at least 1"),
        ("composition='fresh'", "time.composition: .* none would be left to ask about"),
        ("saving='even'", "time.saving: needs time.lifetime_epsilon"),
        ("arrivals=0.5", "time.arrivals: needs time.first"),
        ("first=['owner 1']", "time.arrivals: must be above 0 if an owner is neither"),
        ("first=['Owner 1', 'owner 2']", "time.first: must name owners"),
        (
            "entry=[{owner='owner 2', period=9}]",
            "time.entry.period: must be at most time.periods, 3",
        ),
        ("entry=[{owner='x', period=2}]", 'time.entry: must name owners; found "x"'),
        (
            "entry=[{owner='owner 1', period=2}, {owner='owner 1', period=3}]",
            "must name each owner once",
        ),
        ("lifetime_epsilon=[1.0]", "time.lifetime_epsilon: must have one entry per owner, 2"),
        ("lifetime_epsilon=0", "time.lifetime_epsilon: must be a number above 0"),
    ],
)
def test_what_cannot_be_over_time_is_refused(path, change, said):
    with pytest.raises((InputError, InputErrors), match=said):
        load(path, ["time.periods=3", f"time.{change}"])


@pytest.mark.parametrize(
    "change",
    [
        "unions=[{name='N', members=['owner 1']}]",
        "learners=[{name='R', value=1.0}]",
        "externalities.correlation=0.5",
        "owners.report=0.05",
        "market.participation=free",
        "learning.mechanism=best",
    ],
)
def test_what_is_not_known_of_markets_over_time_is_refused(path, change):
    extra = ["learning.delta=1e-6"] if "best" in change else []
    with pytest.raises(InputError, match=r"with \[time\]"):
        load(path, ["time.periods=3", change, *extra])


def test_check_finds_what_records_lack_and_says_what_periods_do(path, capsys):
    scenario = load(path, ["time.periods=4", "time.growth=0.2", "time.lifetime_epsilon=[3.0, 5.0]"])
    data = check_scenario(scenario)
    told = render_phrase("ahead", "steps", scenario, data)
    assert (
        "in each of 4 periods. All periods ask about the same records" in told
        and "at most 3 to 5" in told
    )
    assert "what all its answers of the period together reveal" in render_phrase(
        "ahead", "leaving", scenario, data
    )
    once = expected_seconds(load(path), data, 0.0)
    assert expected_seconds(scenario, data, 0.0) > 2 * (once - 3.5)
    with pytest.raises(
        InputErrors,
        match="time.growth: every owner must have a new record in each of the 50 periods",
    ):
        check_scenario(load(path, ["time.periods=50", "time.growth=0.9", "time.composition=fresh"]))


def test_a_search_for_a_policy_and_a_comparison_look_at_one_period(path):
    scenario = load(path, ["time.periods=2"])
    with pytest.raises(InputError, match="time: must be left out of a search for a policy"):
        each_for_itself(scenario)
    with pytest.raises(InputError, match="time: must be left out of a comparison"):
        compare([Alternative("a", scenario), Alternative("b", scenario)])
