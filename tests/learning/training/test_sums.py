"""Released sums give the trained model again, and the one that an owner never had a part in."""

from dataclasses import replace

import numpy as np
import pytest
from releases import market

from learning.training.engine import train
from learning.training.sums import released_sums


@pytest.mark.parametrize("regularisation", [0.0, 0.3])
def test_sums_solve_for_the_trained_model(regularisation):
    task, _ = market(2.0, regularisation=regularisation)
    trained = train(task)
    for run in range(3):
        solved = released_sums(task, run).solve()
        assert solved == pytest.approx(trained.theta[run], rel=1e-12, abs=1e-12)
    assert np.ptp(trained.theta, axis=0).min() > 1e-6  # each run has noise of its own


def test_sums_without_an_owner_are_those_of_a_market_that_never_had_it():
    task, _ = market(2.0)
    left = released_sums(task).without("b")
    never = released_sums(replace(task, owners=[task.owners[0], task.owners[2]]))
    assert left.names == never.names == ("a", "c")
    assert np.array_equal(left.solve(), never.solve())
    assert not np.allclose(left.solve(), released_sums(task).solve())
    assert np.array_equal(left.keep([]).solve(), task.coordinates.centre)
    with pytest.raises(ValueError, match="d released no sums"):
        left.without("d")
