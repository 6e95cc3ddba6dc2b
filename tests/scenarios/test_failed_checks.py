"""Trained models that the learner's public rows speak against are named and not handed over."""

from dataclasses import replace

import numpy as np
import pytest

from reproduction.intervals import open_drawn
from scenarios.planning import prepare
from scenarios.runner import carry_out, result_of
from scenarios.summary.content import handed_over
from scenarios.summary.validation import list_failed_checks
from scenarios.summary.verdict import summarise_runs


@pytest.fixture(scope="module")
def run():
    with open_drawn("averaged, Laplace", 31) as scenario:
        return carry_out(scenario, prepare(scenario), others=False)


def shifted(run, first):
    """The run with every second model far off, from the first or the second on."""
    theta = run.trained.theta.copy()
    theta[first::2, 0] += 30.0
    return replace(run, trained=replace(run.trained, theta=theta))


def test_a_good_training_has_no_failed_check(run):
    assert not list_failed_checks(run) and not run.keeps_own.any()
    assert (run.theta == run.trained.theta).all()
    assert handed_over(run).model.theta == pytest.approx(run.trained.theta[0], abs=0)


def test_every_second_model_that_is_far_off_is_told(run):
    far = shifted(run, 0)
    share = np.mean(np.arange(len(run.trained.theta)) % 2 == 0)
    rows = run.data.public.n_records
    assert list_failed_checks(far) == [
        {"cause": cause, "share": share, "records": rows, "first": True}
        for cause in ("worse_than_guessing", "worse_than_own")
    ]
    assert not list_failed_checks(shifted(run, 1))[0]["first"]
    nothing_asked = replace(far, trained=replace(far.trained, task=None))
    assert not list_failed_checks(nothing_asked)


def test_the_own_model_is_handed_over_in_place_of_one_that_fails(run):
    far = shifted(run, 0)
    own = run.planner.own_model
    assert (far.theta[::2] == own).all() and (far.theta[1::2] == run.trained.theta[1::2]).all()
    assert far.fitness[::2] == pytest.approx(far.own_fitness)
    assert (far.fitness[1::2] == run.fitness[1::2]).all()
    made = handed_over(far)
    assert (made.model.theta == own).all() and made.asked == ()
    assert handed_over(shifted(run, 1)).asked == handed_over(run).asked != ()


def test_a_result_counts_what_is_handed_over(run):
    far = shifted(run, 0)
    content = result_of(far).content
    checked = content["validation"]
    assert [one["cause"] for one in checked["explanation"]][-2:] == [
        "worse_than_guessing",
        "worse_than_own",
    ]
    found = content["errors"]["measured"]
    assert found["handed_over"] == pytest.approx(found["outside"])
    expected = np.where(np.arange(len(run.fitness)) % 2, run.fitness, run.own_fitness).mean()
    assert checked["relative_fitness"]["mean"] == pytest.approx(expected)
    law = summarise_runs(far.trained_fitness)  # of the trainings themselves
    z = (law["mean"] - content["forecast"]["oracle"]["relative_fitness"]) / law["std_error"]
    assert checked["z_score"] == pytest.approx(z) and z > 3
