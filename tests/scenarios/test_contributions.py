"""Contributions and withdrawal, from a scenario file to the page, on records of the insurers."""

from __future__ import annotations

import numpy as np
import pytest
from commands import INSURERS
from quick import quick_module
from told import differing

from learning.errors import InputError
from learning.training.coalitions import list_coalitions
from learning.training.engine import train
from scenarios.command.console import summary_lines
from scenarios.planning import prepare
from scenarios.report.page import render
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.training import training_task

__all__ = ["quick_module"]  # a fixture of every test

SUMS = ["learning.algorithm=one_step", "learning.mechanism=l2", "data.split=[6000,4000]"]
CHECKED = ["data.check_rows=3000", "data.public_rows=100", "learner.value=100000.0"]
PAID = 'policy={kind="contribution",budget=200.0}'


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("contributions") / "insurers.toml"
    path.write_text(INSURERS)
    return path


@pytest.fixture(scope="module")
def paid(path):
    leave = 'withdrawal={owners=["owner 2"],payment="returned"}'
    return run(load(path, [*SUMS, *CHECKED, PAID, leave]))


@pytest.mark.slow
def test_contributions_of_a_run(paid):
    found = paid["contributions"]
    owners = found["owners"]
    assert [one["name"] for one in owners] == ["owner 1", "owner 2"]
    assert found["rows"] == 3000
    assert found["trainings"] == 5
    assert sum(one["answer"] for one in owners) == pytest.approx(found["worth"])
    assert sum(one["expected"] for one in owners) == pytest.approx(200)
    for one, row in zip(owners, paid["owners"], strict=True):
        assert one["settled"] == 0 or one["cosine"] > found["least_cosine"]
        assert one["settled"] in (0, one["offered"])
        assert one["offered"] * one["odds"] == pytest.approx(one["expected"])
        assert one["settled_mean"] == pytest.approx(one["accepted_in"] * one["offered"])
        assert one["expected"] == pytest.approx(row["payment"])
        assert abs(one["answer"] - one["measured"]) < 3 * one["answer_std_error"]
        assert one["records_std_error"] > one["answer_std_error"] > 0
    assert paid["equilibrium"]["max_relative_regret"] < 1e-8
    assert paid["privileged"]["contributions"] == "measured"


@pytest.mark.slow
def test_withdrawal_of_a_run(paid):
    found = paid["withdrawal"]
    (leaver,) = found["owners"]
    row = paid["owners"][1]
    assert leaver["payment"] == leaver["returned"] == pytest.approx(row["payment"])
    assert leaver["epsilon_spent"] == pytest.approx(row["epsilon"])
    before = paid["validation"]["relative_fitness"]["mean"]
    assert found["error_before"]["mean"] == pytest.approx(before)
    rise = found["error_after"]["mean"] - before
    assert found["rise"]["mean"] == pytest.approx(rise)
    assert found["learner"] == pytest.approx(100_000 * rise - row["payment"])


@pytest.mark.slow
def test_both_on_page_and_console(paid):
    assert not differing("result.json", paid.content)[0]  # the reference tells of every field
    page = render(paid.content, {}, "")
    lines = "\n".join(summary_lines(paid.content))
    for words in (
        "check rows",
        "was promised",
        "When owner 2 withdraws",
        "the payment is returned",
        "Released answers stay released",
    ):
        assert words in page
        assert words in lines


@pytest.mark.slow
def test_withdrawn_models_are_those_of_trainings_without_the_owner(path):
    from dataclasses import replace

    from scenarios.features.withdrawal import models_without

    scenario = load(path, [*SUMS, "policy.budget=400.0", "learner.value=100000.0"])
    prepared = prepare(scenario)
    task = training_task(scenario, prepared.planner, np.array([2.0, 3.0]))
    trained = train(task)

    class Made:
        """The part of a run that is looked at."""

    made = Made()
    made.trained = trained
    never = train(replace(task, owners=task.owners[:1], weights=None))
    solved = models_without(made, ["owner 2"])
    assert solved == pytest.approx(never.theta, rel=1e-10, abs=1e-12)
    assert not np.allclose(solved, trained.theta)
    nobody = models_without(made, ["owner 1", "owner 2"])
    assert np.array_equal(nobody, np.tile(prepared.planner.own_model, (5, 1)))


@pytest.mark.slow
def test_without_training_or_pay_for_contributions(path):
    asked = ["validation.contributions=true", 'withdrawal={owners=["owner 1"]}']
    planned = run(load(path, [*SUMS, *CHECKED, *asked]), training=False)
    assert planned["contributions"] is None
    assert planned["withdrawal"]["rise"] is None
    assert planned["withdrawal"]["owners"][0]["epsilon_spent"] is None
    done = run(load(path, [*SUMS, *CHECKED, *asked]))
    if done["contributions"] is not None:
        assert {one["settled"] for one in done["contributions"]["owners"]} == {None}
    assert done["withdrawal"]["payment"] == "kept"
    assert len(list_coalitions(2).members) == 4


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ([PAID], 'learning.algorithm: must be "one_step" with contributions'),
        ([PAID, *SUMS], "data.check_rows: must be 2 or more with contributions"),
        ([PAID, *SUMS, *CHECKED, "learning.weights=equal"], 'learning.weights: must be "size"'),
        ([PAID, *SUMS, *CHECKED, "learning.start=zero"], 'learning.start: must be "public"'),
        (
            ["withdrawal={owners=['A']}"],
            r'learning.algorithm: must be "one_step" with \[withdrawal\]',
        ),
    ],
)
def test_markets_without_sums_or_check_rows_are_refused(path, changes, refused):
    with pytest.raises(InputError, match=refused):
        load(path, changes)


@pytest.mark.slow
def test_withdrawal_of_nobody_is_refused(path):
    with pytest.raises(InputError, match="withdrawal.owners: .*North"):
        run(load(path, [*SUMS, "withdrawal={owners=['North']}"]), training=False)
