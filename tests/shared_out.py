"""Dask workers for tests: two threads behind a scheduler of their own."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def two_threads() -> Iterator[str]:
    """A scheduler with two workers in this process, over TCP: its address."""
    distributed = pytest.importorskip("distributed")
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    ports = {"protocol": "tcp://", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**workers, **ports) as cluster:
        yield cluster.scheduler_address
