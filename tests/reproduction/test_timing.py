"""Asynchronous training as published: all budgets at once, the step that settles, what is read off, and who gains."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reproduction.book import BY_KEY
from reproduction.checks import log_slope
from reproduction.item import NotPossible, Setting
from reproduction.tables.records import Table
from reproduction.timing import banks, hospitals
from reproduction.timing.paths import (
    BUDGETS,
    compute_paths,
    compute_talks,
    measure_paths,
    measure_talks,
)
from reproduction.timing.training import (
    PRINTED,
    PROVED,
    SETTLED,
    TICKS,
    first_paying,
    fit_bound,
    isolated_fitness,
    make_market,
    make_plan,
    mean_fitness,
    noise_aggregate,
    noisy_slopes,
    slopes_along,
    train_at,
)

QUICK = Setting(quick=True)


def loans(rows=1200, unlike=0.0, owners=3):
    """Records of two features, of which later ones may follow another rule."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(rows + 500, 2)) * [2.0, 1.0]
    drift = unlike * np.linspace(-1, 1, rows + 500)
    y = x @ [1.0, -0.5] + drift * x[:, 1] + 0.5 * rng.normal(size=len(x))
    owner = np.arange(rows) % owners
    names = tuple(f"owner {i}" for i in range(owners))
    bounds = np.abs(x).max(axis=0), float(np.abs(y).max())
    return Table(
        "lending",
        x[:rows],
        y[:rows],
        x[rows:],
        y[rows:],
        owner,
        names,
        False,
        "some records",
        *bounds,
    )


TABLE = loans()
MARKET = make_market(TABLE, TABLE.slices([300, 300, 300]))


def fitness(epsilon, market=MARKET, clocks=PRINTED, **more):
    return mean_fitness(
        market,
        train_at(market, make_plan(TABLE, market, clocks=clocks), epsilon, QUICK, **more),
        QUICK,
    )[0]


@pytest.fixture(scope="module")
def measured():
    """At several budgets and step lengths at once."""
    return fitness([1.0, 10.0, np.inf], factors=(1.0, 0.3)).reshape(2, 3)


def test_budgets_and_steps_trained_at_once_are_those_trained_apart(measured):
    np.testing.assert_allclose(fitness([10.0]), measured[0, 1], rtol=1e-9)
    np.testing.assert_allclose(fitness([10.0], factors=(0.3,)), measured[1, 1], rtol=1e-9)


def test_without_noise_training_settles_and_no_later_than_it_must(measured):
    start = float(MARKET.cost.relative(np.zeros(2)))
    full, third = measured[:, 2] / start
    slow = 0.5**2 / (
        2.0**2 + 0.5**2
    )  # its part of the start's fitness; the other direction is soon done with
    assert full < 1e-4 and third == pytest.approx(slow * np.exp(-2 * 0.3 * SETTLED), rel=0.3)


def test_noise_goes_by_the_square_of_budget_and_records_whatever_the_reading(measured):
    assert measured[0, 0] / measured[0, 1] == pytest.approx(100, rel=0.05)
    twice = make_market(TABLE, [(np.tile(x, (2, 1)), np.tile(y, 2)) for x, y in MARKET.records])
    np.testing.assert_allclose(fitness([0.5, 5.0], twice), measured[0, :2], rtol=1e-6)
    np.testing.assert_allclose(fitness([1.0], clocks=PROVED), measured[0, :1], rtol=1e-3)


def test_budgets_split_over_talks_cost_less_noise_by_their_square(measured):
    clocks = replace(PRINTED, priced="talks")
    talks = make_plan(TABLE, MARKET, clocks=clocks).priced
    assert TICKS / 3 < talks < 400
    found = fitness([1.0], clocks=clocks)[0]
    assert found == pytest.approx(
        measured[0, 0] * (talks / TICKS) ** 2, rel=0.05
    )  # who falls silent is rare


def test_laws_are_read_off_where_noise_rules():
    epsilon, n_records = np.meshgrid([0.1, 1.0, 10.0, 100.0], [10.0, 100.0])
    frame = pd.DataFrame({"epsilon": epsilon.ravel(), "n_records": n_records.ravel()})
    a = noise_aggregate(frame["epsilon"], frame["n_records"], 4)
    assert a[0] == pytest.approx(4 / 0.1**2 / 40**2)
    frame["relative_fitness"] = 7 * a + 1e-6
    frame["noiseless"] = 1e-6
    assert fit_bound(7 * a, a) == pytest.approx((0, 7))
    found = noisy_slopes(frame, "epsilon", "n_records")
    assert found[10.0] == pytest.approx(-2, abs=0.03) and found[100.0] == pytest.approx(
        -2, abs=0.03
    )
    assert (
        slopes_along(frame, "epsilon", "n_records")[100.0] > -1.9
    )  # with points where it does not
    assert np.isnan(log_slope([1.0], [2.0]))


@pytest.mark.parametrize(
    ("psi", "begins"),
    [
        ([9.0, 0.9, 0.3], 1.0),
        ([0.1, 0.1, 0.1], 0.1),
        ([9.0, 9.0, 9.0], np.inf),
        ([0.5, 2.0, 0.5], 3.162278),
    ],
)
def test_collaboration_pays_from_the_budget_after_which_it_always_does(psi, begins):
    frame = pd.DataFrame(
        {"epsilon": [0.1, 1.0, 10.0], "psi": psi, "own": 0.9 if psi[0] != 0.5 else 1.0}
    )
    assert first_paying(frame, "epsilon", "psi", "own") == pytest.approx(begins, rel=1e-6)


def test_own_models_are_judged_on_all_records_and_the_formula_takes_owners_for_alike():
    alike = loans(4000)
    drifting = loans(4000, unlike=1.0)
    own, formula = isolated_fitness(alike.slices([100] * 40))
    assert own.shape == formula.shape == (40,)
    assert own.mean() == pytest.approx(
        formula.mean(), rel=0.4
    )  # 40 draws of a chi-square of 2, over its mean
    parts = drifting.slices([100] * 40)
    own, formula = isolated_fitness(parts)
    assert own[0] > 20 * formula[0]
    x, y = (np.concatenate(one) for one in zip(*parts, strict=True))
    models = [np.linalg.lstsq(*part, rcond=None)[0] for part in (parts[0], (x, y))]
    errors = [np.mean((x @ model - y) ** 2) for model in models]
    assert own[0] == pytest.approx(errors[0] / errors[1] - 1, rel=1e-3)  # but for the ridge


def test_the_value_of_collaboration_is_told_for_any_training_by_the_number_of_owners():
    parts = TABLE.slices([100] * 6)
    seen = []

    def train(some):
        seen.append(len(some))
        return pd.DataFrame(
            {"epsilon": [1.0, 2.0], "relative_fitness": [0.1, 0.05], "std_error": 0.0}
        )

    frame = banks.compare_by_number(parts, [2, 6], train)
    assert seen == [2, 6] and frame["owners"].tolist() == [2, 2, 6, 6]
    assert frame["isolated"].iloc[-1] == pytest.approx(isolated_fitness(parts)[0][0])


def test_paths_and_talks_hold_what_their_checks_and_figures_need():
    noises = {"here": 1.0, "paper": 10.0, "paper, another bound": 20.0}
    frame = compute_paths(TABLE, MARKET, noises, QUICK)
    end = frame[frame["round"] == TICKS].set_index(["noise", "epsilon"])["median"]
    assert end["here", 10.0] == pytest.approx(end["paper", 1.0])  # by records times epsilon
    found = {name: value for name, value, *_ in measure_paths(frame)}
    _, _, serves, *falls = measure_paths(frame, BUDGETS[-1:])
    assert [(name, words["noise"]) for name, _, words in falls] == [
        ("last", "paper"),
        ("last", "paper, another bound"),
    ]
    least = min(falls, key=lambda one: one[1])
    assert serves == ("serves", *least[1:]) and serves[2]["choices"] == 2
    assert len(list(measure_paths(frame[frame["noise"] == "here"], BUDGETS[-1:]))) == 4
    assert found["nearer"] and found["narrower"]
    talks = compute_talks(TABLE, MARKET, QUICK)
    assert (
        len(talks) == TICKS
        and talks.groupby("owner")["talks_of_all_runs"].first().sum() == TICKS * QUICK.runs
    )
    found = {name: value for name, *value in measure_talks(talks)}
    assert found["share"] == [1] and found["furthest"][0] < 4
    rate, low, high = found["rate"]
    assert low <= rate <= high


def test_too_few_loans_are_no_collaboration(monkeypatch):
    monkeypatch.setattr(banks, "load_table", lambda name, setting: TABLE)
    for setting, needed in ((Setting(), "30,000"), (QUICK, "50,000")):
        words = f"{needed} records are needed, and lending has 1,200 here"
        with pytest.raises(NotPossible, match=words):
            banks.compute_value(setting)


@pytest.mark.parametrize(
    ("compute", "needed"), [(banks.compute_bank_paths, "300"), (banks.compute_sizes, "3,000")]
)
def test_banks_with_too_few_records_are_not_possible(monkeypatch, compute, needed):
    few = replace(TABLE, x=TABLE.x[:299], y=TABLE.y[:299])
    monkeypatch.setattr(banks, "load_table", lambda name, setting: few)
    words = f"{needed} records are needed, and lending has 299 here"
    with pytest.raises(NotPossible, match=words):
        compute(QUICK)


def test_the_market_of_the_library_is_told_of_where_its_table_is_there(tmp_path):
    absent = hospitals.count_market_gains(tmp_path, 2)
    assert list(absent) == list(hospitals.count_market_gains(None, 2)) and all(
        np.isnan(value) for value in absent.values()
    )
    told = {"market_hospitals": 3.0, "market_gains": 3.0, "market_gains_by_formula": 3.0}
    assert list(hospitals.measure_market_gains(pd.Series(absent))) == []
    found = list(hospitals.measure_market_gains(pd.Series(told)))
    assert found == [("gaining_by_own", 3.0, 3.0, 3.0), ("gaining_by_formula", 3.0)]


def test_a_median_falls_from_two_standard_errors_on():
    """The paper leaves the noise open, and one reading must serve at every budget."""
    rows = [
        {"noise": noise, "times_records": times, "epsilon": 10.0, "round": k, "runs": 100}
        | {"q25": value - 0.1, "median": value, "q75": value + 0.1}
        for noise, times, end in (("few", 2.0, 1.3), ("many", 4.0, 0.97))
        for k, value in ((0, 1.0), (9, end))
    ]
    frame = pd.DataFrame(rows)
    verdicts = []
    for quartiles in ((0.87, 1.07), (0.95, 0.99)):  # an error is 0.0186, or 0.0037
        frame.loc[frame["median"] == 0.97, ["q25", "q75"]] = quartiles
        serves, *every = BY_KEY["AS-7"].checks(pd.concat([frame, frame.assign(epsilon=1.0)]))[2:]
        assert serves.kind == "law" and {one.kind for one in every} == {"reading"}
        verdicts.append((serves.verdict, *(one.verdict for one in every)))
    assert verdicts == [("undecided", "fails", "undecided"), ("holds", "fails", "holds")]


def test_the_noise_whose_number_is_nearer_counts_with_its_error():
    """Own models of ψ 1 to 10: of 3.5 ± 0.5 seven gain, and one less or more by two errors."""
    own = pd.DataFrame({"owner": range(1, 11), "isolated": np.arange(1.0, 11)})
    cases = [
        {"noise": noise, "epsilon": epsilon, "relative_fitness": psi, "std_error": 0.5}
        for noise, level in (("few", 9.5), ("many", 3.5))
        for epsilon, psi in ((1.0, 20.0), (10.0, level))
    ]
    found = list(hospitals.count_gaining(pd.DataFrame(cases).merge(own, how="cross")))
    name, many, words = found[0]
    assert (name, many, words["noise"], words["choices"], words["of"]) == (
        "serves",
        7,
        "many",
        2,
        10,
    )
    assert words["std_error"] == pytest.approx(2 / 4)
    assert [one[:2] for one in found[1:]] == [
        ("silent", 0),
        ("silent", 0),
        ("gaining", 1),
        ("gaining", 7),
    ]


def test_claims_count_under_the_bound_of_figure_4_and_ours_is_a_reading():
    rows = [
        {"owners": owners, "epsilon": epsilon, "bound": bound, "relative_fitness": level / epsilon}
        | {"at_one_step": 1.0, "relative_fitness_by_talks": 1.0, "published": 1.0}
        for bound, level in ((banks.OURS, 50.0), (banks.BY_FIGURE, 2.0))
        for owners in (5, 100)
        for epsilon in (0.1, 2.5, 10.0)
    ]
    frame = pd.DataFrame(rows).assign(isolated=1.0, std_error=0.01)
    claims = [one for one in banks.measure_value(frame) if one[0].startswith("claimed")]
    assert [one[:2] for one in claims] == [
        ("claimed", 0.2),
        ("claimed_by_ours", 5.0),
        ("claimed", 0.8),
        ("claimed_by_ours", 20.0),
    ]
    worse = frame.assign(relative_fitness=frame["relative_fitness"] * frame["owners"] / 10)
    (every,) = [one for one in banks.measure_value(worse) if one[0] == "every"]
    assert every[1] == pytest.approx(2.0) and every[2]["owners"] == 100  # no more than 100 there


@pytest.mark.slow
def test_hospitals_that_gain_are_those_whose_own_model_is_worse(monkeypatch):
    setting = replace(QUICK, seed=11)
    monkeypatch.setattr(
        hospitals, "load_table", lambda name, setting: loans(1200, unlike=1.0, owners=6)
    )
    frame = hospitals.compute_gains(setting)
    assert len(frame) == 2 * 3 * 3 * 6  # readings, noises, budgets, owners
    gaining = frame[frame["gains"] == 1]
    assert (gaining["isolated"] > gaining["relative_fitness"]).all()
    assert dict(one[:2] for one in hospitals.measure_gains(frame))["more"]
    paths = hospitals.compute_hospital_paths(setting)
    assert dict(one[:2] for one in measure_paths(paths, falling=BUDGETS[-1:]))["nearer"]
    found = hospitals.measure_budgets(hospitals.compute_budgets(setting))
    assert dict(one[:2] for one in found)["falls"]
