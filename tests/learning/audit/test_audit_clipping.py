"""The audit of clipped gradients: the worst pair attains the radius, and a radius that is not kept is refuted."""

import numpy as np
import pytest
from planting.bugs import AMONG, BUGS
from planting.planted import planted

from learning.audit.auditor import audit_owner
from learning.audit.observations import AuditTarget
from learning.audit.worst_pairs import worst_pair
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.plan import Plan
from learning.training.task import Task

P = 3
ROUNDS = 3
RADIUS = 0.8
DRAWS = 3000
MIXING = np.random.default_rng(0).normal(size=(P, P))
SCALE = MIXING @ MIXING.T / P + 0.3 * np.eye(P)


def public(loss, norm, theta_max=np.inf):
    centre = np.array([0.7, -0.4, 0.2])
    return Coordinates(
        centre, SCALE, RADIUS, theta_max=theta_max, norm=norm, loss=loss, clipping="record"
    )


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES.values() if loss.linear], ids=lambda loss: loss.name
)
def test_the_worst_pair_attains_twice_the_radius_whatever_the_ball(loss, norm):
    for ball in (np.inf, 0.01):
        pair = worst_pair(public(loss, norm, ball))
        assert pair.share == pytest.approx(1, abs=1e-5) and pair.bound == pytest.approx(2 * RADIUS)
        assert np.linalg.norm(pair.query, ord=np.inf if norm == 1 else 2) <= ball


def training(loss, mechanism):
    rng = np.random.default_rng(1)
    coordinates = public(loss, mechanism.norm)
    oracles = []
    for size in (40, 25):
        x = np.column_stack([rng.normal(size=(size, P - 1)), np.ones(size)])
        y = 3 * x @ np.linspace(1, -1, P) + rng.normal(size=size)
        oracles.append(coordinates.oracle(x, np.sign(y) if coordinates.loss.labels else y))
    owners = make_clients(
        ("a", "b"), oracles, (1.0, 2.0), mechanism, coordinates.gradient_bound, ROUNDS
    )
    plan = Plan("sgd2", "last", ROUNDS, 0.3)
    return Task(owners, coordinates, plan, mechanism, 10, Streams(0, "noise")), (
        x[:AMONG],
        np.sign(y)[:AMONG],
    )


@pytest.mark.parametrize(
    ("loss", "mechanism"),
    [("squared", Gaussian(1e-4)), pytest.param("hinge", Laplace(), marks=pytest.mark.slow)],
    ids=lambda one: getattr(one, "name", one),
)
def test_a_radius_that_is_not_kept_is_refuted_and_the_right_one_is_not(
    loss, mechanism, monkeypatch
):
    """Not by record but in the mean, at twice the radius, in another norm, or for one owner not at all."""
    monkeypatch.setattr("learning.audit.transcript.NUMBERS", 2000)
    names = ("unclipped", "norm", "radius", "mean", "one")
    for name in set(BUGS) - set(names):
        monkeypatch.delitem(BUGS, name)
    task, record = training(loss, mechanism)
    found = planted(task, 1, record, seed=0, draws=DRAWS, error=0.005)
    assert [one.bug for one in found] == list(names)
    assert all(one.attacked and one.checks for one in found), found
    sound = audit_owner("", *record, 2.0, AuditTarget.of(task), seed=0, draws=DRAWS)
    assert (
        not sound.refuted and sound.verdict == "not refuted" and sound.bound > 0.5 * sound.charged
    )
