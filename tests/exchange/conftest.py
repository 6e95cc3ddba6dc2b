"""Fixtures of the tests of exchanges."""

import os

import pytest


@pytest.fixture
def quick_disk(monkeypatch):
    """A disk that confirms nothing: for tests that no machine is to survive."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
