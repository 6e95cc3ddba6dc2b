"""The market as a Mesa model: data owners who choose, a learner who pays, and their moves."""

from agents.behaviours import BEHAVIOURS, Behaviour
from learning.lazy import lazy_names

__all__ = ["BEHAVIOURS", "Behaviour", "DataMarket", "DataOwner", "Learner"]

# Mesa takes half a second, which readers of scenarios need not wait for.
__getattr__ = lazy_names(
    "agents",
    {
        "model": ("DataMarket",),
        "traders": ("DataOwner", "Learner"),
    },
)
