"""The scenario file: every key with its rule and default, and how a file is read."""

from scenarios.schema.loading import library, load
from scenarios.schema.scenario import Scenario, sha256

__all__ = ["Scenario", "library", "load", "sha256"]
