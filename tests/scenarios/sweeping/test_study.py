"""Study files: what varies, and what is refused before anything is computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sizes import sized

from learning.errors import InputError
from scenarios.features import FEATURES
from scenarios.schema.loading import load
from scenarios.sweeping import cells as laid_out
from scenarios.sweeping.axes import Range
from scenarios.sweeping.cells import cells, groups, planned_on
from scenarios.sweeping.study import Study, read_study, studies

BUDGETS = {"policy": {"budget": [20, 40]}}


def study(**tables):
    return read_study({"scenario": "three_insurers"} | tables)


def changes(**tables):
    """What every cell changes, in the order of the table."""
    return [cell.changes for cell in cells(study(**tables))]


def test_a_grid_is_every_combination_and_the_last_key_changes_first():
    made = changes(grid={"policy": {"budget": [500, 1000.5]}, "learner.value": [1, 2]})
    assert made == [
        ("policy.budget=500", "learner.value=1"),
        ("policy.budget=500", "learner.value=2"),
        ("policy.budget=1000.5", "learner.value=1"),
        ("policy.budget=1000.5", "learner.value=2"),
    ]


def test_columns_that_are_zipped_go_together_and_points_are_as_they_stand():
    zipped = {"policy": {"kind": ["posted", "marginal"], "price": [300, 300]}, "seed": [1, 1]}
    assert changes(zip={"policy.budget": [1, 2], "seed": [3, 3]})[1] == (
        "policy.budget=2",
        "seed=3",
    )
    assert study(zip=zipped).study.n_cells == 2
    points = [
        {"policy": {"kind": "posted", "price": 3.0}},
        {"policy.price": 4.0, "policy.kind": "posted"},
    ]
    assert changes(points=points, set={"learner.value": 7})[1] == (
        "learner.value=7",
        'policy.kind="posted"',
        "policy.price=4.0",
    )


def test_points_and_grids_of_different_keys_leave_the_others_as_they_are():
    kinds = [
        {"policy.kind": ["posted"], "policy.price": [1, 2]},
        {"policy.budget": [5]},
        {"learner.value": [7]},
    ]
    made = study(grid=kinds)
    assert made.study.keys == ("policy.kind", "policy.price", "policy.budget", "learner.value")
    told = [cell.changes for cell in cells(made)]
    assert told[1] == ('policy.kind="posted"', "policy.price=2") and told[2:] == [
        ("policy.budget=5",),
        ("learner.value=7",),
    ]
    points = [{"policy.budget": 5}, {"learner": {"value": 7}}]
    assert [cell.key for cell in cells(study(points=points))] == [
        cell.key for cell in cells(made)[2:]
    ]


def test_ranges_are_even_in_numbers_or_in_their_logarithm_and_hold_their_ends():
    assert Range(1e4, 1e6, log=True).at(np.linspace(0, 1, 3)) == [1e4, 1e5, 1e6]
    assert Range(0.1, 0.7).at(np.linspace(0, 1, 4)) == pytest.approx([0.1, 0.3, 0.5, 0.7])
    assert Range(1, 9, whole=True).at(np.array([0.0, 0.3, 1.0])) == [1, 3, 9]
    made = study(grid={"market.starts": {"low": 1, "high": 5, "points": 3, "whole": True}})
    assert [cell.values for cell in cells(made)] == [(1,), (3,), (5,)]


def test_a_sobol_sample_fills_its_ranges_and_is_the_same_each_time():
    table = {
        "samples": 8,
        "policy.budget": [500, 5000],
        "learner.value": {"low": 1e4, "high": 1e6, "scale": "log"},
    }
    made = study(sobol=table).study.sobol
    again = study(sobol=table).study.sobol
    assert len(made.steps) == len(made) == 8 * 4 and made.steps == again.steps
    budget, value = np.array(made.steps).T
    assert 500 <= budget.min() < 1100 and 4400 < budget.max() <= 5000
    assert 1e4 <= value.min() < 3e4 and abs(np.median(np.log10(value)) - 5) < 0.3


def test_replications_have_the_same_seeds_at_every_point():
    made = cells(study(replications=3, grid=BUDGETS))
    assert [(cell.number, cell.replication) for cell in made] == [
        (n, r) for n in (1, 2) for r in (1, 2, 3)
    ]
    seeds = [cell.changes[-1] for cell in made if cell.replication > 1]
    assert seeds == ["seed=41", "seed=42"] * 2  # after the scenario's own, 40
    assert len(groups(made)) == 3 and {len(group) for group in groups(made)} == {2}


def test_cells_are_told_apart_by_what_they_are_and_not_by_how_they_are_written(monkeypatch):
    one, two = (cells(study(grid={"policy.budget": [value, 7]}))[0] for value in (500, 500.0))
    assert one.key == two.key and one.shares == two.shares
    kept = one.key
    for other in (
        study(grid={"policy.budget": [501]}),
        study(grid={"policy.budget": [500]}, training=True),
        study(grid={"policy.budget": [500]}, owners=True),
        study(grid={"policy.budget": [500]}, facts=["learner.gain.median"]),
    ):
        assert cells(other)[0].key != kept
    monkeypatch.setattr(laid_out, "code_version", lambda: "another")
    assert cells(study(grid={"policy.budget": [500]}))[0].key != kept


def test_a_table_that_changed_makes_another_cell(write):
    path = write()
    made = {"scenario": str(path), "grid": BUDGETS}
    first = [cell.key for cell in cells(read_study(made))]
    assert first == [cell.key for cell in cells(read_study(made))]
    table = path.parent / "t.csv"
    table.write_text(table.read_text().replace("a", "c"))
    assert not set(first) & {cell.key for cell in cells(read_study(made))}


def test_every_part_of_a_result_may_be_kept_of_a_cell():
    """Those of all features too, whichever there are."""
    parts = [feature.result for feature in FEATURES.values() if feature.result]
    asked = [f"{part}.any" for part in (*parts, "learner", "claims", "protocol", "warnings")]
    assert {"time.any", "trust.any", "audit.any"} < set(asked)
    assert study(facts=asked).study.facts == tuple(asked)
    with pytest.raises(InputError, match="must name facts"):
        study(facts=["scenario.seed"])


def test_the_rooms_that_compute_no_fact_are_there():
    assert all((laid_out.ROOT / "scenarios" / room).is_dir() for room in laid_out.SHOWING)


class Unseen:
    """A table of the scenario that nobody may look into, but for the order of its lists."""

    def listed(self, *arguments):
        return self

    def model_copy(self, update):
        return self


def test_what_is_planned_on_is_all_that_planning_looks_at(write):
    """A scenario whose other tables cannot be read is planned all the same; each key in question makes another plan."""
    from scenarios.planning import prepare

    path = write()
    scenario = load(path)

    class Half(Unseen):
        epsilon = scenario.owners.epsilon
        report = scenario.owners.report
        records = None
        spread = scenario.owners.spread
        round_cost = scenario.owners.round_cost
        cost = Unseen()

    class Learner(Unseen):
        go = scenario.learner.go
        pilot = scenario.learner.pilot

    hidden = dict.fromkeys(("policy", "regulation", "market", "validation"), Unseen())
    hidden["learner"] = Learner()
    blind = prepare(scenario.model_copy(update=hidden | {"owners": Half()})).planner
    budgets = np.array([1.0, 2.0])
    assert blind.forecast.at(budgets) == prepare(scenario).planner.forecast.at(budgets)
    for change in (
        "seed=9",
        "data.public_rows=20",
        "learning.clip=0.5",
        "owners.epsilon=[0.1, 4.0]",
        "owners.report=0.01",
        "owners.round_cost=0.5",
    ):
        assert planned_on(load(path, [change])) != planned_on(scenario)
    dearer, worthier = (
        load(path, ["owners.round_cost=0.5", f"learner.value={value}"]) for value in (10, 20)
    )
    assert planned_on(dearer) != planned_on(worthier)
    assert planned_on(load(path, ["policy.budget=3", "owners.cost.price=2.0"])) == planned_on(
        scenario
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"gird": {}}, 'study: gird: is not a known key; found {}. Did you mean "grid"?'),
        ({"scenario": "three_insurer"}, 'must be a scenario file or a library name; found neither. Did you mean "three_'),
        ({"grid": {"policy.budget": 500}}, "study: policy.budget: must be a list of values, or a range such as"),
        ({"grid": {"policy.budget": []}}, "study: policy.budget: must be a list of values"),
        ({"grid": {"policy.budget": [1, 2, 1.0]}}, "study: policy.budget: must hold different values; found 1.0 twice"),
        ({"grid": {"policy.budget": {"low": 1, "high": 2}}}, "policy.budget.points: must be a whole number of at least 2"),
        ({"grid": {"policy.budget": {"low": 2, "high": 1, "points": 3}}}, "must go from a number to a higher one"),
        ({"grid": {"policy.budget": {"low": 0, "high": 1, "points": 3, "scale": "log"}}}, "must be above 0 on a log scale"),
        ({"grid": {"policy.budget": {"low": 1, "high": 2, "step": 3}}}, "policy.budget.step: is not a known key"),
        ({"grid": [1]}, "study: grid: must be a table of keys of the scenario"),
        ({"zip": {"seed": [1, 2], "learner.value": [1]}}, "zip: must have equally many values for every key; found 2 for seed"),
        ({"zip": {"seed": [1, 1], "learner.value": [3, 3]}}, "study: zip: must hold different values; found [1, 3] twice"),
        ({"grid": [{"seed": [*range(2000)], "learner.value": [*range(2000)]}]}, "grid: must have at most 1,000,000 points"),
        ({"grid": [{"seed": [1, 2]}, {"seed": [2]}]}, "study: grid: must hold different values; found [2] twice"),
        ({"along": "seed"}, "study: along: must be a key that varies, or a fact that is kept of every cell"),
        ({"show": []}, "study: show: must name facts of result.json by their place in it"),
        ({"show": ["validation.agrees"]}, "study: show: needs training; found validation.agrees. Set training = true."),
        ({"zip": {}}, "zip: must have equally many values for every key"),
        ({"points": [{}]}, "points: must give at least one key in every table"),
        ({"grid": {"seed": [1]}, "zip": {"seed": [2]}}, "study: seed: must be given once; found it in two places"),
        ({"grid": {"seed": [1]}, "set": {"seed": 2}}, "study: seed: must be given once; found it in [set] and varies"),
        ({"sobol": {"samples": 10, "seed": [1, 2]}}, "study: sobol.samples: must be a power of 2, such as 64; found 10"),
        ({"sobol": {"samples": 8}}, "study: sobol: must give a range to draw from"),
        ({"sobol": {"samples": 8, "learner.value": [1, float("nan")]}}, "study: sobol.learner.value: must go from a number"),
        ({"sobol": {"samples": 2**40, "learner.value": [1, 2]}}, "must have at most 100,000 cells; found 3,298,534,883,328"),
        ({"replications": 0}, "study: replications: must be a whole number of at least 1"),
        ({"facts": ["lerner.surplus"]}, 'study: facts: must name facts of result.json by their place in it, such as'),
        ({"training": "yes"}, "study: training: must be true or false"),
        ({"title": 3}, "study: title: must be a text"),
    ],
)  # fmt: skip
def test_studies_that_cannot_be(tables, message):
    with pytest.raises(InputError) as error:
        study(**tables)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_ten_million_cells_are_refused_with_their_count():
    wide = {"low": 1, "high": 2, "points": 10_000}
    with pytest.raises(
        InputError, match=r"at most 100,000 cells; found 10,000,000 \(10,000 x 1,000, 1 times\)"
    ):
        study(grid={"policy.budget": wide, "learner.value": wide | {"points": 1000}})


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (
            {"policy.budgte": [1, 2]},
            'study: policy.budgte: is not a known key; found "budgte". Did you mean "budget"?',
        ),
        ({"policy.budget": [-1, float("nan")]}, "study: policy.budget: must be"),
        ({"learner.value": [float("inf")]}, "study: learner.value: must be"),
        ({"seed": [10**400, 10**401]}, "study: seed: must be a whole number"),
    ],
)
def test_a_study_without_one_scenario_is_refused(grid, message):
    with pytest.raises(InputError) as error:
        cells(study(grid=grid))
    assert str(error.value).startswith(message)


def test_a_cell_that_is_no_scenario_says_why_and_the_others_stay(capsys):
    made = cells(
        study(grid={"policy.budget": [500, -5, float("nan"), float("inf")]}, replications=2)
    )
    assert [bool(cell.fault) for cell in made] == [False] * 2 + [True] * 6
    assert str(made[2].fault).startswith("policy.budget: must be") and "-5" in str(made[2].fault)
    assert len({cell.key for cell in made}) == 8


def test_files_are_meant_from_the_folder_of_the_study_wherever_the_command_is_called(
    write, tmp_path, monkeypatch
):
    write()
    (tmp_path / "other.csv").write_text((tmp_path / "t.csv").read_text())
    (tmp_path / "my.toml").write_text(
        'scenario = "s.toml"\n[grid]\ndata.path = ["t.csv", "other.csv"]\n'
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    made = read_study("../my.toml")
    paths = [made.base.under(cell.changes).data.path for cell in cells(made)]
    assert paths == [str(tmp_path / "t.csv"), str(tmp_path / "other.csv")]


def test_studies_of_the_library_are_whole_and_their_scenarios_are_there(monkeypatch):
    """At eight points of each, from the first to the last, or at all."""
    whole = Study.steps.fget

    def some_steps(study):
        steps = list(whole(study))
        taken = np.linspace(0, len(steps) - 1, min(len(steps), sized(8, 100_000)))
        return [steps[at] for at in np.unique(taken.astype(int))]

    monkeypatch.setattr(Study, "steps", property(some_steps))
    assert "price_of_fitness" in studies()
    for name in studies():
        made = read_study(name)
        assert made.study.title and made.study.n_cells > 1
        assert not any(cell.fault for cell in cells(made))
        assert made.text.startswith("# ") and made.text.splitlines()[0].endswith("?")


def test_every_study_of_the_library_has_its_answer_in_the_documentation():
    told = (Path(__file__).parents[3] / "docs" / "reference" / "studies.md").read_text()
    rows = [line for line in told.splitlines() if line.startswith("| `")]
    for name in studies():
        (row,) = [line for line in rows if line.startswith(f"| `{name}` |")]
        assert row.count("?") >= 1 and any(digit in row.split("|")[3] for digit in "0123456789")


def test_a_table_with_low_and_high_is_no_range_where_nothing_varies():
    fixed = {"learner.pricing": {"kind": "golden_section", "low": 0.01, "high": 100.0}}
    study = {"scenario": "three_insurers", "set": fixed}
    assert read_study(study).study.set == tuple(
        (f"learner.pricing.{key}", one) for key, one in fixed["learner.pricing"].items()
    )
    with pytest.raises(InputError, match="learner.pricing.kind: must be given once"):
        read_study(study | {"grid": {"learner.pricing.kind": ["tatonnement", "bayesian"]}})
