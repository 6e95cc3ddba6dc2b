"""Records' gradients clipped, from a scenario to a trained model, an audit and a report: every loss and algorithm."""

import re

import numpy as np
import pytest
from pairs import laid, scenario
from quick import quick_module

from learning.errors import InputError
from learning.losses.records import ClippedRecords
from scenarios.planning import prepare
from scenarios.report.facts_outcome import clips_gradients
from scenarios.runner import run
from scenarios.studies.audit import audit_scenario
from scenarios.training import training_task

__all__ = ["quick_module"]  # a fixture of every test

RECORD = "learning.clipping=record"
TRIED = [("hinge", "averaged"), ("squared", "asynchronous")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return laid(tmp_path_factory.mktemp("market"))


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "algorithm"), TRIED)
def test_from_a_scenario_to_a_model_and_an_audit(folder, loss, algorithm):
    result = run(scenario(folder, loss, algorithm, RECORD))
    told = result["forecast"]
    rules = result["protocol"]
    assert (
        told["kind"] == "calibrated"
        and rules["clipping"] == "record"
        and clips_gradients(result.content)
    )
    assert (
        rules["gradient_bound"] == pytest.approx(rules["radius"]) and rules["target_bound"] is None
    )
    assert abs(result["validation"]["z_score"]) < 4
    sold = [owner["epsilon"] for owner in result["owners"] if owner["epsilon"] > 0]
    assert [claim["epsilon"] for claim in result["claims"]] == pytest.approx(sold)
    found = audit_scenario(
        scenario(folder, loss, algorithm, RECORD), lambda owners: np.ones(owners), draws=1000
    )
    assert not found.refuted and {"gradients", "sensitivity"} <= {
        check.kind for check in found.checks
    }
    assert all(finding.share > 0.999 for finding in found.findings)


def test_noise_hides_the_radius_and_nothing_else(folder):
    """Announced in the ledger's own words; a given bound below the radius is told, and what it truly gives is claimed."""
    made = scenario(
        folder,
        "squared",
        "sgd2",
        RECORD,
        "learning.clip=0.5",
        "learning.horizon=2",
        "learning.step_size=0.3",
    )
    data, planner = prepare(made)
    bounds = planner.coordinates
    owners = len(data.owners)
    assert bounds.gradient_bound == bounds.radius == 0.5 and not planner.inputs.settings.keeps_sums
    task = training_task(made, planner, np.ones(owners))
    assert all(isinstance(owner.records, ClippedRecords) for owner in task.owners)
    sizes = data.sizes.astype(float)
    assert [owner.scale for owner in task.owners] == pytest.approx(
        task.mechanism.scale(np.ones(owners), sizes, 0.5, 2)
    )
    clipped = [bounds.gradient_lengths(owner.x, owner.y) > 0.5 for owner in data.owners]
    assert 0 < np.concatenate(clipped).sum() < sizes.sum()
    start = np.zeros((1, len(bounds.centre)))
    for owner, long in zip(task.owners, clipped, strict=True):
        each = [owner.records.record_gradient(start, [row])[0] for row in range(len(long))]
        norms = np.linalg.norm(each, ord=bounds.norm, axis=1)
        assert np.array_equal(np.isclose(norms, 0.5, rtol=1e-5), long)
    given = scenario(
        folder, "squared", "sgd2", RECORD, "learning.clip=0.5", "learning.gradient_bound=0.25"
    )
    mechanism = prepare(given, data).planner.mechanism
    assert mechanism.claims("a", 1.0, 2)[0].epsilon == pytest.approx(2.0)


def test_without_public_rows_the_radius_is_stated_and_no_ball_is_needed(folder):
    alone = [f"data.bounds.{name}=[-1, 1]" for name in "abc"]
    alone += [RECORD, "data.public_rows=0", "learning.start=zero", "learning.precondition=false"]
    with pytest.raises(
        InputError, match="learning.clip: must be a number where gradients are clipped"
    ):
        prepare(scenario(folder, "squared", "averaged", *alone))
    made = (*alone, "learning.clip=2", "learning.horizon=3", "learning.step_size=0.2")
    coordinates = prepare(scenario(folder, "squared", "averaged", *made)).planner.coordinates
    assert coordinates.radius == 2 and np.isinf(coordinates.theta_max)


def test_what_does_not_go_with_clipped_gradients_is_refused(folder):
    rules = [
        (
            ("squared", "adassp", RECORD),
            'learning.clipping: must be "parts" with algorithm "adassp"; found "record"',
        ),
        (
            ("squared", "sgd2", RECORD, "learning.clip=none"),
            'learning.clip: .*with clipping "record"; found "none"',
        ),
    ]
    for given, rule in rules:
        with pytest.raises(InputError, match=re.compile(rule)):
            scenario(folder, *given)
    free = (RECORD, "learning.theta_max=none", "learning.aggregation=norm_check")
    assert scenario(folder, "squared", "sgd2", *free).learning.settings.clips_gradients
