"""Newton's steps: where they end without noise, what their answers spend, and what an audit sees of them."""

from dataclasses import replace

import numpy as np
import pytest

from learning.audit.accountant import moments_epsilon
from learning.audit.checks import check_training
from learning.forecast.ways import list_open_ways
from learning.losses.coordinates import Coordinates
from learning.losses.first_moments import Moments
from learning.losses.records import ClippedRecords
from learning.privacy.composition import AccountedL2
from learning.privacy.l2 import L2
from learning.privacy.noise import answer_shares
from learning.privacy.wishart import Wishart
from learning.privacy.wrapped import SharedNoise
from learning.randomness import Streams
from learning.training import newton
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.noisy_solving import invert_held
from learning.training.plan import Plan
from learning.training.task import Task
from scenarios.planning import planning_inputs
from scenarios.report.phrases import render_phrase
from scenarios.schema.loading import load
from scenarios.tables.dataset import market_data

P = 3
SIZES = (40, 25)
EPSILON = (1.0, 2.0)
SHARE = 0.5
FIRST = float(answer_shares(newton.GROWTH, 2)[0])
WHOLE = Moments(1e6, SHARE, 1e9)  # the learner's own moments count for nothing
BOUNDED = Moments(2.0, SHARE, 0.2)
MECHANISMS = {
    "l2": L2(P),
    "l2 (pld)": AccountedL2(1e-5, 2, P, growth=newton.GROWTH),
    "wishart": Wishart(P),
}


def table(size, seed):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(size, P - 1)), np.ones(size)])
    return x, 3 * x @ np.linspace(1, -1, P) + rng.normal(size=size)


def training(moments=BOUNDED, mechanism=None, epsilon=EPSILON, radius=0.8, runs=4):
    coordinates = Coordinates(
        np.array([0.7, -0.4, 0.2]),
        np.diag([1.0, 0.8, 1.2]),
        radius,
        norm=2,
        clipping="record",
        moments=moments,
    )
    mechanism = mechanism or L2(P)
    mechanism = mechanism.with_moments(SHARE, 1, FIRST)
    tables = [table(size, number) for number, size in enumerate(SIZES)]
    owners = make_clients(
        ("a", "b"),
        [coordinates.oracle(*one) for one in tables],
        epsilon,
        mechanism,
        coordinates.gradient_bound,
        2,
        growth=newton.GROWTH,
    )
    plan = Plan("newton", "last", 2, 0.5, growth=newton.GROWTH)
    task = Task(owners, coordinates, plan, mechanism, runs, Streams(0, "noise"))
    return task, dict(zip(("a", "b"), tables, strict=True))


@pytest.mark.parametrize("alike", [False, True])
def test_without_noise_it_ends_at_least_squares_of_weighted_records(alike):
    """Whole records end at the optimum; shortened ones at that of the weights min(1, R^2/|x|^2)."""
    moments = replace(BOUNDED, radius=1.5, spread=1e9) if alike else WHOLE
    task, tables = training(moments, epsilon=(np.inf, np.inf), radius=1e6)
    x, y = (np.concatenate(each) for each in zip(*tables.values(), strict=True))
    weights = np.ones(len(y))
    if alike:
        lengths = np.linalg.norm(x @ task.coordinates.transform, axis=1)
        weights = np.minimum(1, 1.5**2 / lengths**2)
        assert weights.min() < 0.8
    best = np.linalg.solve((x.T * weights) @ x, (x.T * weights) @ y)
    assert train(task).theta[0] == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("name", MECHANISMS)
def test_answers_and_moments_spend_the_budget_and_no_more(name):
    """Counted anew from the scales of the noise that is added."""
    task, _ = training(mechanism=MECHANISMS[name])
    mechanism = task.mechanism
    width = P * (P + 1) // 2
    for owner, epsilon, size in zip(task.owners, EPSILON, SIZES, strict=True):
        scales = owner.scale * mechanism.relative_scales(newton.GROWTH, 2)
        gradients = (2 * task.coordinates.radius / size / scales).tolist()
        deviation = float(newton.release_moments(task, owner)[1][0])
        scale = deviation / np.sqrt(width + 1)
        if name == "wishart":
            scale = deviation / (2 * np.sqrt(mechanism.freedom))
        given = (task.coordinates, gradients, scale * size, mechanism.delta)
        spent = moments_epsilon(*given, traces=name == "wishart", overlap=1)
        assert spent == pytest.approx(epsilon, rel=2e-3)


def test_replacing_a_record_moves_the_moments_by_the_root_of_two_at_most():
    """Orthogonal records attain it, and their trace norm is twice the bound."""
    coordinates = training()[0].coordinates
    x = 50 * np.linalg.inv(coordinates.transform)[:2]
    one, other = (
        coordinates.oracle(x[i : i + 1], np.zeros(1)).second_moments(BOUNDED.radius)
        for i in range(2)
    )
    assert np.linalg.norm(one - other) == pytest.approx(np.sqrt(2) * BOUNDED.radius**2)
    traces = np.abs(np.linalg.eigvalsh(one - other)).sum()
    assert traces == pytest.approx(2 * BOUNDED.radius**2)


def test_parts_of_the_moments_noise_add_up():
    """Three owners make it together: the sum of their parts has the variance of one owner's whole noise."""
    alone, _ = training(mechanism=L2(P), runs=4000)
    shared = SharedNoise(alone.mechanism, 2)
    together = replace(alone, mechanism=shared)
    deviations = [newton.release_moments(together, owner)[1][0] for owner in together.owners]
    whole = [newton.release_moments(alone, owner)[1][0] for owner in alone.owners]
    assert deviations == pytest.approx(np.array(whole) / np.sqrt(2))
    released, deviation = newton.release_moments(together, together.owners[0])
    spread = (released - released.mean(axis=0))[:, 0, 0].std()
    assert spread == pytest.approx(deviation[0], rel=0.1)


@pytest.fixture(autouse=True)
def _fewer_numbers(monkeypatch):
    monkeypatch.setattr("learning.audit.transcript.NUMBERS", 3000)


def failed(task, tables):
    return {one.kind for one in check_training(task, records=tables) if not one.passed}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_audit_lets_sound_answers_pass_and_can_say_what_it_checked(name):
    task, tables = training(mechanism=MECHANISMS[name])
    checks = check_training(task, records=tables)
    assert all(one.passed for one in checks) and "moments" in {one.kind for one in checks}
    assert all(render_phrase("audit", "checked", one.kind) for one in checks)


def test_the_audit_lets_noise_of_several_owners_pass():
    task, tables = training()
    assert failed(replace(task, mechanism=SharedNoise(task.mechanism, 2)), tables) == set()


def release_half(task, owner, release=newton.release_moments):
    released, deviation = release(task, owner)
    held = owner.records.second_moments(task.coordinates.moments.radius)
    return held + (released - held) / 2, deviation


def release_without(task, owner, release=newton.release_moments):
    released, deviation = release(task, owner)
    held = owner.records.second_moments(task.coordinates.moments.radius)
    return np.tile(held, (len(released), 1, 1)), deviation


def release_quieter(task, owner, release=newton.release_moments):
    """Noise as for a budget four times as large, and told so."""
    return release(task, replace(owner, scale=owner.scale / 4))


@pytest.mark.parametrize(
    ("bug", "noticed"),
    [(release_half, "noise"), (release_without, "zeros"), (release_quieter, "price")],
)
def test_the_audit_sees_moments_with_too_little_noise(bug, noticed, monkeypatch):
    monkeypatch.setattr("learning.audit.transcript.release_moments", bug)
    assert noticed in failed(*training())


@pytest.mark.parametrize("far", [True, False])
def test_the_audit_sees_records_that_are_not_shortened(far, monkeypatch):
    """Neither those far out, nor those that are hardly too long."""
    task, tables = training(replace(BOUNDED, alike=False))
    shortened = ClippedRecords.second_moments

    def leave_long(self, radius):
        lengths = np.linalg.norm(self.lines[:, :-1], axis=1)
        left = lengths > 100 * radius if far else lengths < 1.1 * radius
        return shortened(self, 1e9 if left.any() else radius)

    monkeypatch.setattr(ClippedRecords, "second_moments", leave_long)
    assert "moments" in failed(task, tables)


def test_best_takes_it_in_a_run_and_never_where_an_exchange_is_asked():
    """An exchange carries out no moments beside a gradient."""
    market = load("three_insurers", ["learning.protocol=best", "learning.delta=1e-6"])
    inputs = planning_inputs(market, market_data(market))
    asked = tuple(replace(one, exact=True) for one in inputs.among)
    among = [
        {way.inputs.settings.algorithm for way in list_open_ways(one)}
        for one in (inputs, replace(inputs, among=asked))
    ]
    assert "newton" in among[0] and "newton" not in among[1]
    open_to = [way for way in list_open_ways(inputs) if way.inputs.settings.trains_by.moments]
    assert {way.mechanism.name for way in open_to} == {"l2", "wishart"}
    assert {way.inputs.settings.growth for way in open_to} == {newton.GROWTH}


def test_runs_that_repeat_are_inverted_once_and_the_same():
    rng = np.random.default_rng(3)
    matrix = np.tile(np.cov(rng.normal(size=(3, 9))), (2, 1, 1)) + np.arange(2)[:, None, None]
    deviation = np.array([0.1, 0.3])
    repeated = np.tile(matrix, (4, 1, 1)), np.tile(deviation, 4)
    assert np.array_equal(invert_held(*repeated, 2), invert_held(*repeated))
    other = repeated[0], np.append(repeated[1][:-1], 0.5)  # the last run has more noise
    assert np.array_equal(invert_held(*other, 2), invert_held(*other))
