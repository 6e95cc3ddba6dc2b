"""Behaviours of data owners (BEHAVIOURS): each is one frozen dataclass with ``choose``.

>>> make_behaviour("rational"), BEHAVIOURS["inertial"](stays=0.9).stays
(Rational(), 0.9)
"""

from agents.behaviours.base import Behaviour, Seen
from learning.errors import InputError
from learning.registry import Registry

__all__ = ["BEHAVIOURS", "Behaviour", "Seen", "make_behaviour"]

BEHAVIOURS = Registry(
    {
        "rational": "agents.behaviours.best_response:Rational",
        "logit": "agents.behaviours.logit:Logit",
        "inertial": "agents.behaviours.best_response:Inertial",
        "aspiration": "agents.behaviours.learning:Aspiration",
        "regret_matching": "agents.behaviours.learning:RegretMatching",
        "fictitious_play": "agents.behaviours.learning:FictitiousPlay",
        "stale": "agents.behaviours.learning:Stale",
        "fundamentalist": "agents.behaviours.best_response:Fundamentalist",
        "indifferent": "agents.behaviours.best_response:Indifferent",
        "colluders": "agents.behaviours.colluders:Colluders",
        "free_rider": "agents.behaviours.dishonest:FreeRider",
        "poisoner": "agents.behaviours.dishonest:Poisoner",
        "junk_seller": "agents.behaviours.dishonest:JunkSeller",
        "neighbours": "agents.behaviours.partial:Neighbours",
    }
)


def make_behaviour(behaviour: str | Behaviour) -> Behaviour:
    """Return a behaviour, or make the one of a name in BEHAVIOURS.

    Raises
    ------
    InputError
        For an unknown name, or anything else that is no behaviour.
    """
    if isinstance(behaviour, Behaviour):
        return behaviour
    if behaviour not in BEHAVIOURS:
        rule = f"must be a Behaviour or one of {', '.join(BEHAVIOURS)}"
        raise InputError("behaviour", rule, repr(behaviour))
    made: Behaviour = BEHAVIOURS[behaviour]()
    return made
