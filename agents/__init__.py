"""The market as a Mesa model: data owners who choose, a learner who pays, and their moves."""

from importlib import import_module
from typing import Any

from agents.behaviours import BEHAVIOURS, Behaviour

__all__ = ["BEHAVIOURS", "Behaviour", "DataMarket", "DataOwner", "Learner"]

# Mesa takes half a second, which readers of scenarios need not wait for.
MODULES = {"DataMarket": "agents.model", "DataOwner": "agents.traders", "Learner": "agents.traders"}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name]), name)
