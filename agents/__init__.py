"""The market as a Mesa model: data owners who choose, a learner who pays, a model that orders their moves."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agents.behaviours import BEHAVIOURS, Behaviour

if TYPE_CHECKING:
    from agents.contest import ContestMarket
    from agents.learner import Learner
    from agents.model import DataMarket
    from agents.owner import DataOwner

__all__ = ["BEHAVIOURS", "Behaviour", "ContestMarket", "DataMarket", "DataOwner", "Learner"]

# Made when first asked for: Mesa and what it loads take half a second, which who reads a scenario need not wait for.
LATER = {
    "ContestMarket": "agents.contest",
    "DataMarket": "agents.model",
    "DataOwner": "agents.owner",
    "Learner": "agents.learner",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
