"""Outside private learners on the same rows: what every learner must do, and each by itself."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learning.progress import ignore_progress
from reproduction.beside import measuring, page
from reproduction.beside.known import KNOWN
from reproduction.beside.learners import LEARNERS, halve
from reproduction.beside.libraries import choose_freedom, pack_sums, unpack_sums
from reproduction.beside.measuring import BUDGETS, Cell, group_cells, list_asked, measure_learner
from reproduction.beside.ours import prepare_market
from reproduction.beside.page import describe_gap, list_contests, render_page, run_beside
from reproduction.beside.rows import TABLES, Rows, collect_rows, find_scale, open_table
from reproduction.beside.written import choose_deep_model, choose_scale, replaced_noise
from reproduction.study import Options
from scenarios.schema.data import DATA_VARIABLE
from scenarios.tables.dataset import market_data

OUTSIDE = ("diffprivlib", "opacus", "interpret")
RIVALS = [
    pytest.param(
        name,
        marks=[pytest.mark.beside] * (one.needs in OUTSIDE)
        + [pytest.mark.slow] * (one.needs in ("opendp", "sklearn")),
    )
    for name, one in LEARNERS.items()
    if one.fit
]


@pytest.fixture
def data_folder():
    place = os.environ.get(DATA_VARIABLE)
    return Path(place) if place else None


def toy_rows(labels: bool, n: int = 4500) -> Rows:
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.uniform(-1, 1, (n + 1500, 3)), np.ones(n + 1500)])
    score = x @ [2.0, -1.0, 0.5, 0.3]
    y = score + 0.5 * rng.standard_normal(len(x))
    if labels:
        y = np.where(y > 0, 1.0, -1.0)
    parts = [(x[i : i + 500], y[i : i + 500]) for i in range(0, len(x), 500)]
    own = tuple((x[i : i + n // 3], y[i : i + n // 3]) for i in range(0, n, n // 3))
    ends = (-1.0, 1.0) if labels else (-5.0, 5.0)
    fresh = tuple(np.concatenate(part) for part in zip(*parts[-2:], strict=True))
    return Rows(own, parts[n // 500], fresh, ends, labels, np.ones(4))


def error_of(name: str, labels: bool, epsilon: float, seed: int = 1) -> float:
    rows = toy_rows(labels)
    return rows.measure(LEARNERS[name].train(rows, epsilon, np.random.default_rng(seed)))[0]


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("labels", [False, True])
def test_a_learner_is_accurate_with_a_large_budget_and_its_noise_shows_with_a_small_one(
    name, labels
):
    learner = LEARNERS[name]
    if not (learner.labels if labels else learner.numbers):
        pytest.skip("not for such targets")
    best = error_of("no privacy: linear", labels, np.inf)
    large = error_of(name, labels, 20.0)
    worst = error_of("public mean", labels, np.inf)
    if name != "public mean":
        assert large < best + 0.35 * (worst - best)
    small = [error_of(name, labels, 0.05, seed) for seed in range(3)]
    if learner.private:
        assert np.mean(small) > large + 0.01 * (worst - best)
    else:
        assert small == [large] * 3


def test_replacing_a_record_moves_sums_by_what_noise_is_scaled_to():
    rng = np.random.default_rng(5)
    radius, bound, most = 1.5, 2.0, np.zeros(4)
    noise = np.array(replaced_noise(radius, bound, np.sqrt(3)))
    for trial in range(4000):
        x = rng.standard_normal((2, 3))
        if trial % 2:
            x[1] = -x[0]
        elif trial % 3:
            x[1] -= x[0] * (x[1] @ x[0]) / (x[0] @ x[0])
        x *= radius / np.linalg.norm(x, axis=1, keepdims=True)
        y = np.full(2, bound)
        base = np.diag([0.0, 5.0, 9.0])
        ends = [np.linalg.eigvalsh(base + np.outer(one, one))[0] for one in x]
        packed = np.array([pack_sums(x[[i]], y[[i]]) for i in range(2)])
        squares, products = packed[:, :-3], packed[:, -3:]
        moved = [np.linalg.norm(squares[0] - squares[1]), np.linalg.norm(products[0] - products[1])]
        most = np.maximum(
            most, [*moved, abs(ends[0] - ends[1]), np.linalg.norm(packed[0] - packed[1])]
        )
    assert (most[:3] <= noise + 1e-9).all()
    assert (most[:2] > 0.99 * noise[:2]).all()
    assert most[3] <= np.sqrt(2 * radius**4 + 4 * radius**2 * bound**2) + 1e-9


def test_sums_come_back_from_one_vector():
    x = np.random.default_rng(1).standard_normal((20, 4))
    xx, xy = unpack_sums(pack_sums(x, x[:, 0]), 4)
    assert np.allclose(xx, x.T @ x) and np.allclose(xy, x.T @ x[:, 0])


def test_a_removal_and_an_addition_make_a_replacement():
    epsilon, delta = halve(3.0, 1e-6)
    assert 2 * epsilon == 3.0 and delta * (1 + np.exp(epsilon)) == pytest.approx(1e-6)


def test_deep_models_are_refused_where_volumes_are_unstable():
    rng = np.random.default_rng(2)
    models = rng.standard_normal((1000, 3))
    assert choose_deep_model(models, 0.1, 1e-6, rng) is None
    found = [choose_deep_model(models, 5.0, 1e-6, rng) for _ in range(50)]
    assert np.abs(np.median(found, axis=0)).max() < 0.2


def test_units_come_from_public_rows_alone():
    rows = toy_rows(labels=False)
    other = replace(rows, owners=tuple((3 * x, y + 9) for x, y in rows.owners))
    first, second = find_scale(rows), find_scale(other)
    assert (first.radius, first.bound, first.middle) == (second.radius, second.bound, second.middle)
    x, y = second.change_records(other.pooled)
    assert np.linalg.norm(x, axis=1).max() <= second.radius + 1e-9
    assert np.abs(y).max() <= second.bound


@pytest.mark.parametrize("labels", [False, True])
def test_units_are_tried_on_public_rows_alone(labels):
    rows = toy_rows(labels)
    other = replace(rows, owners=tuple((3 * x, -y) for x, y in rows.owners))
    chosen = [choose_scale(one, 1e-6, 0.02, np.random.default_rng(4)) for one in (rows, other)]
    assert chosen[0].radius == chosen[1].radius < find_scale(rows).radius
    assert chosen[0].middle == chosen[1].middle


def test_labels_are_centred_within_their_bound():
    scale = find_scale(toy_rows(labels=True), centred=True)
    assert scale.middle != 0
    assert np.allclose(scale.change_target(np.array([-1.0, 1.0])), np.array([-1, 1]) - scale.middle)


def test_a_quarter_of_the_budget_pays_for_curvature():
    radius, epsilon = 5.0, 3.0
    ridge = 1 / choose_freedom(radius, epsilon)
    assert 2 * np.log1p(0.25 * np.sqrt(radius**2 + 1) / ridge) == pytest.approx(epsilon / 4)


@pytest.mark.parametrize("table", ["insurers", "health"])
def test_no_person_is_both_trained_on_and_held_out(table):
    facts = TABLES[table]
    with open_table(table, 9001, None) as scenario:
        raw = pd.read_csv(scenario.locate(str(scenario.data.path)), dtype=str)
        division = market_data(scenario).division
    person = raw.groupby(facts["persons"]).ngroup().to_numpy()
    used = np.concatenate([*division.owners.values(), division.public])
    assert len(used) == facts["owners"] + facts["public"]
    assert not set(person[used]) & set(person[division.holdout])
    assert 3100 < len(division.holdout) <= 20190 - len(used)


@pytest.mark.slow
@pytest.mark.in_full
@pytest.mark.parametrize("table", ["insurers", "generated"])
def test_ours_and_rivals_have_the_same_rows(table, as_for_users):
    with open_table(table, 9001, None) as scenario:
        rows = collect_rows(market_data(scenario))
    _, prepared, _ = prepare_market(table, 9001, None, LEARNERS["ours, δ"])
    again = collect_rows(prepared.data)
    for one, two in zip(
        (*rows.owners, rows.public, rows.held),
        (*again.owners, again.public, again.held),
        strict=True,
    ):
        assert np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])
    assert (np.abs(rows.pooled[0]) <= rows.reach).all()
    cells = measure_learner(f"{table}: ours, δ", 9001, None)
    plain = measure_learner(f"{table}: no privacy: linear", 9001, None)[0]
    assert [one.epsilon for one in cells] == list(BUDGETS)
    assert 0.99 * plain.error < cells[-1].error < 1.01 * plain.error
    assert cells[-1].error < cells[0].error


def made_cells(gap: float) -> list[Cell]:
    found = []
    for seed, shift in ((9001, 0.0), (9002, 0.3), (9003, 0.1)):
        for epsilon in BUDGETS:
            one = Cell("insurers: ours, δ", seed, epsilon, 3 + shift + gap, np.nan, 1.0)
            weaker = replace(one, market="insurers: TukeyEM, weaker", error=1.0)
            found += [one, weaker, replace(one, market="insurers: AdaSSP", error=3 + shift)]
    return found


def test_a_contest_is_between_common_seeds_at_the_same_guarantee():
    lost = list_contests(
        group_cells([*made_cells(0.2), Cell("insurers: AdaSSP", 9004, 1.0, 3.2, 0, 0)])
    )
    assert [one.epsilon for one in lost] == list(BUDGETS)
    assert {one.rival for one in lost} == {"AdaSSP"}
    assert lost[2].gap == pytest.approx(0.2) and lost[2].lost and lost[2].sure and lost[2].rank == 2
    won = list_contests(group_cells(made_cells(-0.2)))
    assert not any(one.lost for one in won) and won[0].rank == 1
    assert all(one.sure for one in won)
    assert not any(replace(one, half=0.3).sure for one in (*won, *lost))


@pytest.mark.parametrize(
    ("gap", "half", "said"),
    [
        (0.1838, 0.1507, "+0.184 ± 0.151"),
        (-1.8e-05, 4e-04, "-0.000018 ± 0.000400"),
        (-1e-9, 0.02, "+0.0000 ± 0.0200"),
        (-0.25, np.nan, "-0.25"),
    ],
)
def test_a_difference_has_digits_enough_to_set_it_beside_its_interval(gap, half, said):
    one = replace(list_contests(group_cells(made_cells(0.2)))[0], gap=gap, half=half)
    assert describe_gap(one) == said


def test_the_page_says_where_a_rival_wins():
    groups = group_cells(made_cells(0.2))
    text = render_page(groups, list_contests(groups), None)
    assert "* insurers, ε = 1: AdaSSP has 3.133, ours 3.333 (+0.2 ± " in text
    assert "| 3.133 AdaSSP (central) |" in text and "**+0.2 ± 0** \\* |" in text
    assert "smallest error in 0 of 5 cells" in text and "in the other 5; in 5 of these" in text
    groups = group_cells(made_cells(-0.2))
    text = render_page(groups, list_contests(groups), None)
    assert "* Nowhere" in text and "in 5 of 5 cells of the table below; in 5 of these" in text


def test_the_page_sets_ours_with_features_chosen_beside_the_rest():
    chosen = "ours, δ, features chosen"
    added = [
        replace(
            one, market=f"insurers: {chosen}", error=one.error + (0.1 if one.epsilon < 1 else -0.4)
        )
        for one in made_cells(0.2)
        if one.market == "insurers: ours, δ"
    ]
    groups = group_cells([*made_cells(0.2), *added])
    contests = list_contests(groups)
    assert [one.rival for one in contests] == ["AdaSSP"] * 5  # it is no rival
    assert [one.chosen_wins for one in contests] == [False, False, True, True, True]
    text = render_page(groups, contests, None)
    assert "has the smallest error of all in 3 of 5 cells" in text
    assert "| | ours, features chosen | 3.433 | 3.433 | 2.933 | 2.933 | 2.933 |" in text
    assert "Ours with features chosen has 2.933." in text
    assert LEARNERS[chosen].features == "best" and not LEARNERS[chosen].pure


def test_the_command_writes_page_and_figure_and_goes_on_from_its_table(tmp_path, monkeypatch):
    asked = []

    def made(market, seed, data):
        asked.append(market)
        return [one for one in made_cells(0.2) if (one.market, one.seed) == (market, seed)]

    monkeypatch.setattr(measuring, "measure_learner", made)
    monkeypatch.setattr(page, "KNOWN", KNOWN[-1:])
    options = Options(out=tmp_path, seeds=2, workers=1)
    names = {market.partition(": ")[0] for market, _ in list_asked(options)}
    assert names == {"insurers", "generated", "health"}  # the others need --data
    study = run_beside(options, ignore_progress)
    assert len(study.rows) == len(BUDGETS) and study.rows[0].values[2] == "AdaSSP"
    assert {one.name for one in tmp_path.iterdir()} == {"beside.csv", "beside.md", "beside.svg"}
    first = len([one for one in asked if one.startswith("insurers: ours, δ")])
    assert run_beside(options, ignore_progress) == study
    assert len([one for one in asked if one == "insurers: ours, δ"]) == 2 <= first


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(
            one, id=f"{one.rival} {i}", marks=[pytest.mark.beside] * (one.needs in OUTSIDE)
        )
        for i, one in enumerate(KNOWN)
    ],
)
def test_a_rival_gives_the_answer_that_its_authors_print(known, data_folder):
    if known.lacks(data_folder):
        pytest.skip(f"needs {known.lacks(data_folder)}")
    assert known.compute(data_folder) == pytest.approx(known.published, abs=known.within)
