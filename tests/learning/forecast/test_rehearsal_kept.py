"""What is kept of a rehearsal: whatever it depends on is in the key, and what is kept is what was computed."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from rehearsals import GAUSSIAN, plan_of, stage

import learning.forecast.calibration as calibration_module
from learning.forecast.calibration import calibrate
from learning.forecast.inputs import Settings
from learning.forecast.kept import source_identity
from learning.forecast.rehearsal import Rehearsal
from learning.losses.coordinates import Coordinates
from learning.losses.first_moments import Moments
from learning.losses.losses import LOSSES, as_loss
from learning.losses.moment_bounds import Scores
from learning.privacy.laplace import Laplace
from learning.training.aggregation import AGGREGATIONS, Median, TrimmedMean
from learning.training.algorithms import ALGORITHMS
from learning.training.clocks import Clocks

LEVEL_GRID = np.array([0.0, 1e-6, 1e-5, 1e-4])


def changed_world(of, **bounds):
    return replace(of, starts=(replace(of.starts[0], **bounds), *of.starts[1:]))


CHANGES = {
    "aggregation": lambda of: replace(of, aggregation=Median()),
    "how much is trimmed": lambda of: replace(of, aggregation=TrimmedMean(0.3)),
    "noises": lambda of: replace(of, noises=np.array([1.0, 2.0, 3.0])[: len(of.sizes)]),
    "a record": lambda of: replace(of, x=np.where(of.x == of.x[5, 0], of.x + 1e-12, of.x)),
    "a target": lambda of: replace(of, y=np.concatenate([of.y[:-1], of.y[-1:] + 1e-12])),
    "one start more": lambda of: replace(of, starts=(*of.starts, of.starts[0])),
    "a world's start": lambda of: changed_world(of, centre=np.array([0.0, 0.0, 1e-12])),
    "a world's scale": lambda of: changed_world(of, transform=1.001 * np.eye(3)),
    "a world's radius": lambda of: changed_world(of, radius=2.4),
    "a world's target bound": lambda of: changed_world(of, target_bound=2.9),
    "a world's ball": lambda of: changed_world(of, theta_max=2.9),
    "a world's rows of a person": lambda of: changed_world(of, rows_per_person=2),
    "a world's norm": lambda of: changed_world(of, norm=2),
    "a world's loss": lambda of: changed_world(of, loss="hinge"),
    "a world's scores": lambda of: replace(
        of, starts=tuple(replace(one, scores=Scores(1.0, 1.0)) for one in of.starts)
    ),
    "a world's moments": lambda of: changed_world(of, moments=Moments(1.0, 1.0, 0.1)),
    "a world's targets": lambda of: changed_world(of, targets=2),
    "a world's clipping": lambda of: changed_world(of, clipping="record"),
    "given_bound": lambda of: replace(
        of, starts=tuple(replace(one, given_bound=2.0) for one in of.starts)
    ),
    "regularisation": lambda of: replace(of, cost=as_loss("squared").fitness([(of.x, of.y)], 0.03)),
    "sizes": lambda of: replace(of, sizes=of.sizes + np.array([1.0, 0.0, 0.0])),
    "weights": lambda of: replace(of, weights=np.full(3, 1 / 3)),
    "mechanism": lambda of: replace(of, mechanism=GAUSSIAN),
    "overlap": lambda of: replace(of, mechanism=Laplace(2)),
    "algorithm": lambda of: replace(of, algorithm="weighted"),
    "clocks": lambda of: replace(of, clocks=Clocks(dropout=0.1)),
    "rates": lambda of: replace(of, clocks=Clocks(rates=(1.0, 1.0, 1.5))),
    "bias": lambda of: replace(of, bias=np.array([0.0, 0.0, 1e-6])),
    "seed": lambda of: replace(of, seed=4),
    "decline": lambda of: replace(of, decline=1.0),
    "in doubt": lambda of: replace(of, in_doubt=True),
    "steepest": lambda of: replace(of, steepest=1e-6),
}
CALLS = {
    "levels": {"levels": np.array([0.0, 1e-6, 1e-5, 1.1e-4])},
    "horizon": {"settings": Settings(horizon=7, step_size=0.4)},
    "step": {"settings": Settings(horizon=6, step_size=0.41)},
    "growth": {"settings": Settings(horizon=6, step_size=0.4, growth=2.0)},
    "returned": {"settings": Settings(horizon=6, step_size=0.4, returned=("last",))},
    "repeats": {"measured": 3},
    "plans unscreened": {"also": (plan_of("averaged"),)},
}


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """How often something was computed; nothing is, but remembered by its key."""
    monkeypatch.setenv("DPMARKET_CACHE", str(tmp_path))
    made = []

    def instead(*given):
        made.append(given)
        return {
            "plans": np.array([[0.0, 6.0, 0.4, 1.0]]),
            "values": np.array([[0.1, 0.2, 0.3, 0.4]]),
            "errors": np.zeros((1, 4)),
        }

    monkeypatch.setattr(calibration_module, "_screen_plans", lambda *given: [])
    monkeypatch.setattr(calibration_module, "_measure_plans", instead)
    return made


CALL = {"levels": LEVEL_GRID, "settings": Settings(horizon=6, step_size=0.4), "measured": 2}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_a_rehearsal_depends_on_is_in_its_key(counted, what):
    of = stage("averaged")
    calibrate(of, **CALL)
    calibrate(
        replace(stage("averaged"), did=lambda work: None),
        **CALL,
        progress=lambda stage, share=0.0: None,
    )
    assert len(counted) == 1  # the same again, from other objects, whoever listens
    calibrate(CHANGES[what](of), **CALL)
    assert len(counted) == 2


def test_no_plug_in_is_named_by_where_it_lies_in_memory():
    """So that a key is the same in another process."""
    kinds = (ALGORITHMS.values(), LOSSES.values(), (one() for one in AGGREGATIONS.values()))
    named = [source_identity(one) for one in (*chain(*kinds), GAUSSIAN, Laplace())]
    assert not [name for name in named if " at 0x" in name]
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("what", CALLS)
def test_whatever_is_asked_of_a_rehearsal_is_in_its_key(counted, what):
    of = stage("averaged")
    calibrate(of, **CALL)
    calibrate(of, **{**CALL, **CALLS[what]})
    assert len(counted) == 2


def test_the_ceiling_is_no_part_of_the_key_and_still_counts(counted):
    """It only chooses which levels are fitted, after what is kept."""
    of = stage("averaged")
    levels = np.array([0.0, *np.geomspace(1e-6, 1e-1, 3)])
    for ceiling in (np.inf, 0.2):
        calibrate(of, **{**CALL, "levels": levels, "ceiling": ceiling})
    assert len(counted) == 1


def test_fields_of_a_rehearsal_and_of_its_world_are_all_tried():
    """A field that is added must be thought of: each is changed by one of the cases above."""
    tried = {
        "x",
        "y",
        "cost",
        "starts",
        "sizes",
        "weights",
        "mechanism",
        "algorithm",
        "clocks",
        "seed",
    }
    tried |= {"aggregation", "noises", "decline", "bias", "in_doubt", "steepest"}
    # who is told how far it is, and what was computed from the fields above
    assert set(Rehearsal.__dataclass_fields__) == tried | {"did", "kept"}
    bounds = {
        "centre",
        "transform",
        "radius",
        "target_bound",
        "theta_max",
        "norm",
        "loss",
        "rows_per_person",
    }
    bounds |= {"given_bound", "clipping", "scores", "moments", "targets"}
    assert set(Coordinates.__dataclass_fields__) == bounds


def test_what_is_kept_is_what_was_computed(tmp_path, monkeypatch):
    of = stage("weighted")
    answers = []
    for kept in ("", str(tmp_path), str(tmp_path)):
        monkeypatch.setenv("DPMARKET_CACHE", kept)
        answers.append(
            calibrate(
                of, LEVEL_GRID, Settings(horizon=5, step_size=0.3, returned=("last",)), measured=3
            )
        )
    for other in answers[1:]:
        assert other.plans == answers[0].plans
        np.testing.assert_array_equal(other.curves[0].values, answers[0].curves[0].values)
        np.testing.assert_array_equal(
            other.curves[0].coefficients, answers[0].curves[0].coefficients
        )


def test_a_population_is_held_once_for_each_start_and_not_for_another_population(monkeypatch):
    held = []
    true = Rehearsal._hold_population
    monkeypatch.setattr(
        Rehearsal,
        "_hold_population",
        lambda self, start: held.append(1) or true(self, start),
    )
    of = stage("averaged", starts=2)
    plan = plan_of("averaged")
    first = of.rehearse_plan(plan, LEVEL_GRID, 2)
    assert np.array_equal(of.rehearse_plan(plan, LEVEL_GRID, 2), first)
    assert len(held) == len(of.starts)
    others = replace(of, y=of.y + 1.0)
    afresh = replace(others, kept={})
    found = [one.rehearse_plan(plan, LEVEL_GRID, 2) for one in (others, afresh)]
    assert np.array_equal(*found) and not np.array_equal(found[0], first)
