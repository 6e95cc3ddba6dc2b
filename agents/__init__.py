"""The market as a Mesa model: data owners who choose, a learner who pays, and their moves."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agents.behaviours import BEHAVIOURS, Behaviour

if TYPE_CHECKING:
    from agents.contest import ContestMarket
    from agents.model import DataMarket
    from agents.traders import DataOwner, Learner

__all__ = ["BEHAVIOURS", "Behaviour", "ContestMarket", "DataMarket", "DataOwner", "Learner"]

# Imported at first use: Mesa takes half a second, which readers of scenarios need not wait for.
LATER = {
    "ContestMarket": "agents.contest",
    "DataMarket": "agents.model",
    "DataOwner": "agents.traders",
    "Learner": "agents.traders",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
