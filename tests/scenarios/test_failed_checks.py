"""Trained models that the learner's public rows speak against are named in a result."""

from dataclasses import replace

import numpy as np
import pytest

from reproduction.intervals import open_drawn
from scenarios.planning import prepare
from scenarios.runner import carry_out, result_of
from scenarios.summary.validation import list_failed_checks


@pytest.fixture(scope="module")
def run():
    with open_drawn("averaged, Laplace", 31) as scenario:
        return carry_out(scenario, prepare(scenario), others=False)


def test_a_good_training_has_no_failed_check(run):
    assert not list_failed_checks(run, run.trained)


def test_every_second_model_that_is_far_off_is_told(run):
    theta = run.trained.theta.copy()
    theta[::2, 0] += 30.0
    far = replace(run.trained, theta=theta)
    share = np.mean(np.arange(len(theta)) % 2 == 0)
    rows = run.data.public.n_records
    assert list_failed_checks(run, far) == [
        {"cause": cause, "share": share, "records": rows}
        for cause in ("worse_than_guessing", "worse_than_own")
    ]
    assert not list_failed_checks(run, replace(far, task=None))  # nothing was trained
    told = result_of(replace(run, trained=far)).content["validation"]["explanation"]
    assert [one["cause"] for one in told][-2:] == ["worse_than_guessing", "worse_than_own"]
