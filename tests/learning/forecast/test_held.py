"""Predictions held to the target's range: what is left of squared errors, by a second route."""

import numpy as np
import pytest

from learning.forecast.held import HeldShares, divide, find_held_shares
from learning.forecast.public_sample import OtherKind, PublicSample
from learning.losses.loss import UNBOUNDED

ENDS = (-1.5, 1.5)
ALL = np.arange(2000)[None]


def curved(rows, seed):
    """Two columns, one of heavy tails, of a target that cannot leave its range."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.standard_t(5, rows), rng.normal(size=rows), np.ones(rows)])
    return x, np.clip(x @ [0.8, 0.3, 0.1] + 0.3 * rng.normal(size=rows), *ENDS)


def lost(x, y, models, ends):
    """Mean squared error over models (k, p) of predictions held to a range."""
    return float(np.mean((np.clip(x @ models.T, *ends) - y[:, None]) ** 2))


def test_shares_left_by_holding_are_those_of_many_fresh_rows():
    sample = PublicSample(*curved(20_000, 1), ends=ENDS, made=True)
    found = find_held_shares(sample, ALL)
    x, y = curved(100_000, 2)
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    moments = x.T @ x / len(y)
    inverse = np.linalg.inv(moments)
    crossed = (x * (y - x @ best)[:, None] ** 2).T @ x / len(y)
    rng = np.random.default_rng(3)

    def share_of(covariance):
        away = 0.05 * rng.normal(size=(30, 3)) @ np.linalg.cholesky(covariance).T
        models = best + np.concatenate([away, -away])
        added = [
            lost(x, y, models, ends) - lost(x, y, best[None], ends) for ends in (ENDS, UNBOUNDED)
        ]
        return added[0] / added[1]

    missed = [lost(x, y, best[None], ends) for ends in (ENDS, UNBOUNDED)]
    assert found.best == pytest.approx(missed[0] / missed[1], rel=0.05) and found.best < 0.8
    assert found.noise == pytest.approx(share_of(inverse), abs=0.05) and found.noise < 0.85
    assert found.few == pytest.approx(share_of(inverse @ crossed @ inverse), abs=0.1)
    assert found.few < found.noise  # the rows beyond are those with large residuals


def test_a_range_that_holds_nothing_back_leaves_everything():
    x, y = curved(2000, 1)
    shares = find_held_shares(PublicSample(x, y, ends=(-1e3, 1e3)), ALL)
    assert shares == HeldShares((-1e3, 1e3)) and shares.best == shares.noise == shares.few == 1
    assert find_held_shares(PublicSample(x, y), ALL).ends == UNBOUNDED


def test_worlds_are_reflected_and_the_learners_own_kind_is_compared_row_by_row():
    x, y = curved(2000, 1)
    rng = np.random.default_rng(4)
    losses, held = rng.exponential(size=(2, 2, 2000))
    sample = PublicSample(x, y, ends=ENDS, other_kind=OtherKind(losses, losses, held))
    rows = rng.integers(2000, size=(5, 2000))
    found = find_held_shares(sample, np.concatenate([ALL, rows]))
    assert found.worlds[0] == pytest.approx(found.best, rel=1e-12)
    assert np.ptp(found.worlds) > 0
    assert found.own_held[0] == pytest.approx(held[0].mean() / held[1].mean())
    assert found.own_lost[1][1] == pytest.approx(
        losses[0, rows[0]].mean() / losses[1, rows[0]].mean()
    )
    assert divide(np.array([1.0, 3.0]), np.array([2.0, 2.0]), np.array([[0, 0]]))[1] == [0.5]
