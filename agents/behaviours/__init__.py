"""Behaviours of data owners (BEHAVIOURS): each is one frozen dataclass with ``choose``.

>>> make_behaviour("rational"), BEHAVIOURS["inertial"](stays=0.9).stays
(Rational(), 0.9)
"""

from agents.behaviours.base import (
    Behaviour,
    Memory,
    Seen,
    checked_choice,
    expected_surplus,
    own_epsilon,
)
from agents.behaviours.best_response import Fundamentalist, Indifferent, Inertial, Rational
from agents.behaviours.colluders import Colluders
from agents.behaviours.dishonest import FreeRider, JunkSeller, Poisoner
from agents.behaviours.learning import Aspiration, FictitiousPlay, RegretMatching, Stale
from agents.behaviours.logit import Logit
from agents.behaviours.partial import Neighbours
from learning.errors import InputError

__all__ = [
    "BEHAVIOURS",
    "Behaviour",
    "Memory",
    "Rational",
    "Seen",
    "checked_choice",
    "expected_surplus",
    "make_behaviour",
    "own_epsilon",
]

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "rational": Rational,
    "logit": Logit,
    "inertial": Inertial,
    "aspiration": Aspiration,
    "regret_matching": RegretMatching,
    "fictitious_play": FictitiousPlay,
    "stale": Stale,
    "fundamentalist": Fundamentalist,
    "indifferent": Indifferent,
    "colluders": Colluders,
    "free_rider": FreeRider,
    "poisoner": Poisoner,
    "junk_seller": JunkSeller,
    "neighbours": Neighbours,
}


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
    return BEHAVIOURS[behaviour]()
