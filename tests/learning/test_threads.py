"""BLAS on one thread, our own over blocks: what is set, for how long, and that no number depends on it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.threads import one_blas_thread, over_blocks


def blas_threads():
    return {
        library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()
    }


def test_blas_has_one_thread_inside_and_what_it_had_before_outside():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread() as pool:
            assert blas_threads() == {1}
            with one_blas_thread() as inner:
                assert inner is pool
            assert blas_threads() == {1}  # the outermost alone ends it
        assert blas_threads() == before
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            raise ZeroDivisionError
        assert blas_threads() == before
    assert one_blas_thread()(blas_threads)() == {1}


def test_a_block_that_outlives_the_one_around_it_keeps_its_threads():
    """As on the dashboard, where a training in the background goes on after the page is drawn."""
    with threadpool_limits(2, user_api="blas"):
        page = one_blas_thread()
        training = one_blas_thread()
        page.__enter__()
        training.__enter__()
        page.__exit__(None, None, None)
        assert blas_threads() == {1}
        assert list(over_blocks(sum, [[1], [2]])) == [1, 2]
        training.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_blocks_are_worked_on_by_as_many_threads_as_blas_had():
    """Each of two blocks waits until the other is under way: one thread alone would wait for good."""
    both = threading.Barrier(2, timeout=30)
    with threadpool_limits(2, user_api="blas"):
        assert list(over_blocks(lambda block: (both.wait(), blas_threads(), block)[1:], "ab")) == [
            ({1}, "a"),
            ({1}, "b"),
        ]
    with threadpool_limits(1, user_api="blas"):
        assert len({name for name in over_blocks(lambda _: threading.get_ident(), range(9))}) == 1


@pytest.mark.parametrize("loss", ["hinge", "logistic", "network"])
def test_gradients_and_losses_are_the_same_to_the_last_bit_on_one_thread_and_two(loss):
    rng = np.random.default_rng(0)
    n = 9001
    p = 31
    runs = 12
    x = rng.uniform(-1, 1, (n, p))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    width = 8 * (p + 1) + 1 if loss == "network" else p  # eight hidden units
    records = Coordinates(np.zeros(width), np.eye(p), 4.0, loss=loss).oracle(x, y)
    phi = rng.normal(size=(runs, width))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append((records.gradient(phi), LOSSES[loss].loss_sum(x, y, phi)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
