"""Second moments and scores of records: bounds hold for any record, and what replacing one moves is what is counted."""

import numpy as np
import pytest

from learning.losses.coordinates import Coordinates
from learning.losses.moment_bounds import Scores, distance_frontier, noise_stretch
from learning.privacy.composition import AccountedL2
from learning.privacy.l2 import L2

R = 1.5
H = 2.0


def raw(count, width, rng):
    """Records from far within the bounds to far beyond them."""
    x = rng.normal(size=(count, width)) * np.exp(rng.normal(scale=3.0, size=(count, 1)))
    return x, rng.normal(size=count) * np.exp(rng.normal(scale=3.0, size=count))


@pytest.mark.parametrize("alike", [True, False])
def test_moments_and_scores_of_every_record_keep_to_their_bounds(alike):
    coordinates = Coordinates(
        np.ones(3), np.diag([1.0, 2.0, 0.5]), R, norm=2, scores=Scores(H, 0.3, alike)
    )
    x, u = coordinates.records(*raw(5000, 3, np.random.default_rng(0)))
    lengths = np.linalg.norm(x, axis=1)
    assert lengths.max() == pytest.approx(R) and (lengths * np.abs(u)).max() == pytest.approx(H)
    assert lengths.max() <= R * (1 + 1e-12) and (lengths * np.abs(u)).max() <= H * (1 + 1e-12)


def test_records_within_both_bounds_are_left_as_they_are_and_others_count_less_in_both_or_in_one():
    x = np.array([[0.6, 0.8], [3.0, 4.0], [0.6, 0.8]])
    u = np.array([1.0, 0.1, 10.0])
    lengths = np.linalg.norm(x, axis=1)
    together, targets = Scores(H, 0.3).records(x, u, lengths, R)
    weight = np.array([1.0, (R / 5) ** 2, H / 10])
    assert together == pytest.approx(np.sqrt(weight)[:, None] * x)
    assert together * targets[:, None] == pytest.approx(weight[:, None] * u[:, None] * x)
    apart, targets = Scores(H, 0.3, alike=False).records(x, u, lengths, R)
    assert apart == pytest.approx(np.array([[0.6, 0.8], [0.9, 1.2], [0.6, 0.8]]))
    assert apart * targets[:, None] == pytest.approx(
        np.array([1.0, 1.0, H / 10])[:, None] * u[:, None] * x
    )


def test_alike_the_step_is_a_weighted_least_squares_solution():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 3)) * np.exp(rng.normal(size=(400, 1)))
    phi = np.array([0.3, -0.2, 0.1])
    for alike, exact in ((True, True), (False, False)):
        short, u = Scores(H, 0.3, alike).records(x, x @ phi, np.linalg.norm(x, axis=1), R)
        assert np.allclose(np.linalg.solve(short.T @ short, u @ short), phi) is exact


@pytest.mark.parametrize("share", [0.1, 0.4, 0.66, 1.2])
def test_no_two_records_move_a_release_further_than_counted_and_some_as_far(share):
    """A search over pairs of bounded records: lengths, angle and scores; the joint distance in units of 2 h."""
    rng = np.random.default_rng(1)
    count = 200_000
    r, s = (
        R * np.where(rng.random(count) < 0.4, 1.0, 1e-6 + 0.99 * rng.random(count))
        for _ in range(2)
    )
    s[: count // 4] = 1e-9
    angle = np.where(rng.random(count) < 0.2, 0.0, rng.uniform(0, np.pi / 2, count))
    x = r[:, None] * np.eye(2)[0]
    z = s[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    score, other = (H * np.where(rng.random(count) < 0.7, 1.0, rng.random(count)) for _ in range(2))
    moments = np.einsum("ri,rj->rij", x, x) - np.einsum("ri,rj->rij", z, z)
    matrix = np.linalg.norm(moments, axis=(1, 2))
    vector = np.linalg.norm((score / r)[:, None] * x + (other / s)[:, None] * z, axis=1)
    moved = np.hypot(vector, 2 * H * share / R**2 * matrix) / (2 * H)
    assert 0.99 * noise_stretch(share) < moved.max() <= noise_stretch(share) * (1 + 1e-9)
    pairs = np.array(distance_frontier(6))
    exceeds = (vector[:, None] > pairs[:, 0] * 2 * H * (1 + 1e-9)) | (
        matrix[:, None] > pairs[:, 1] * R**2 * (1 + 1e-9)
    )
    assert not exceeds.all(axis=1).any()


def test_several_rows_of_a_person_may_lie_between_the_pairs_and_are_counted_at_the_worst_of_each_part():
    """Half of them opposite, half at an angle: further than any pair in scores or in moments, never beyond both worsts."""
    opposite = np.array([1.0, 1.0])
    angled = np.array([np.sqrt((1 + 0.62) / 2), np.sqrt(2 * (1 - 0.62**2))])
    between = (opposite + angled) / 2
    assert (between > distance_frontier(40)).any(axis=1).all()
    for mechanism in (L2(4), AccountedL2(1e-6, 1, 4)):
        (((score, _), (moments, _)),) = mechanism.with_moments(0.3, rows=2).pairs
        factor = moments / np.sqrt(2)
        assert score == 1.0 and len(mechanism.with_moments(0.3).pairs) > 1
        assert all(b <= s for b, s in zip(between, (score, moments / factor), strict=True))


def test_a_score_without_end_counts_as_nothing():
    """Canaries of an audit have some; where moments and scores are clipped apart one became no number."""
    for alike in (True, False):
        scores = Scores(1.0, 0.5, alike)
        x, u = scores.records(np.array([[3.0, 4.0]]), np.array([np.inf]), np.array([5.0]), 1.0)
        assert u == 0 and np.isfinite(x).all()
