"""How data owners choose (BEHAVIOURS): a behaviour is one frozen dataclass with a ``choose``.

>>> make_behaviour("rational"), BEHAVIOURS["inertial"](stays=0.9).stays
(Rational(), 0.9)
"""

from agents.behaviours.aspiration import Aspiration
from agents.behaviours.attitudes import Fundamentalist, Indifferent
from agents.behaviours.base import Behaviour, Memory, Seen, chosen_by, own, weighed
from agents.behaviours.colluders import Colluders
from agents.behaviours.dishonest import FreeRider, JunkSeller, Poisoner
from agents.behaviours.inertial import Inertial
from agents.behaviours.learning import FictitiousPlay, RegretMatching, Stale
from agents.behaviours.logit import Logit
from agents.behaviours.partial import Neighbours
from agents.behaviours.rational import Rational
from learning.errors import InputError

__all__ = ["BEHAVIOURS", "Behaviour", "Memory", "Seen", "chosen_by", "make_behaviour", "own", "weighed"]

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
    """A behaviour, or the one of that name in BEHAVIOURS.

    Raises
    ------
    InputError
        An unknown name, or something else that is no behaviour.
    """
    if isinstance(behaviour, Behaviour):
        return behaviour
    if behaviour not in BEHAVIOURS:
        raise InputError("behaviour", f"must be a Behaviour or one of {', '.join(BEHAVIOURS)}", repr(behaviour))
    return BEHAVIOURS[behaviour]()
