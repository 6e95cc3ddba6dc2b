"""Why a model is trained as it is, where the scenario leaves that open: what was compared, and by how much it won."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from learning.losses.coordinates import RECORD
from scenarios.report.sentences_learning import algorithm_of
from scenarios.report.wording import counted, number, percent

Content = Mapping[str, Any]
TOLD = 2  # beside the one taken, in a line


def compared(result: Content) -> Sequence[Content]:
    """The ways to train that were compared, the one taken first; none where the scenario names one."""
    return result["forecast"].get("choices") or ()


def way(choice: Content) -> str:
    """One of them in a few words.

    >>> way({"algorithm": "sgd2", "clipping": "record", "mechanism": "gaussian", "accounting": "pld"})
    'sgd2, clipped gradients, gaussian (pld) noise'
    """
    return f"{trained(choice)}, clipped {clipped(choice)}, {noise(choice)} noise"


def why(result: Content) -> str:
    """Why it is trained so: a sentence; empty where nothing was compared."""
    tried = compared(result)
    if not tried:
        return ""
    taken, rest = tried[0], tried[1:]
    first = (
        f"Before anything was asked, {counted(len(tried), 'way')} to train were compared by rehearsal on the public facts, "
        f"at the customary budget of ε = 1 or as near to it as each owner goes. "
    )
    if not rest:
        return f"{first}Only this one goes with what the scenario asks for."
    best, next_best = taken["relative_fitness"], rest[0]["relative_fitness"]
    return (
        f"{first}This one is taken because it promises the least error: {percent(best)} above the best possible, where "
        f"the next, {way(rest[0])}, promises {percent(next_best)}{_farther(best, next_best)}."
    )


def _farther(best: float, other: float) -> str:
    """How many times as much, where that says something."""
    return f", {number(other / best, 2)} times as much" if 0 < 1.1 * best < other else ""


def line(result: Content) -> str:
    """The same in a line of a terminal."""
    tried = compared(result)
    if len(tried) < 2:
        return ""
    others = [f"{way(one)} {percent(one['relative_fitness'])}" for one in tried[1 : 1 + TOLD]]
    more = f" and {len(tried) - 1 - TOLD} more" if len(tried) > 1 + TOLD else ""
    return f"at epsilon = 1 it promises {percent(tried[0]['relative_fitness'])}; {'; '.join(others)}{more}"


def trained(choice: Content) -> str:
    """The algorithm, and its steps where these do not fall as its paper has them.

    >>> trained({"algorithm": "sgd2", "step_decline": 0.0, "horizon": 5})
    'sgd2, equal steps'
    """
    declined = algorithm_of(choice).decline
    even = choice.get("step_decline", declined) == 0 != declined and choice["horizon"] > 1
    return f"{choice['algorithm']}, equal steps" if even else str(choice["algorithm"])


def clipped(choice: Content) -> str:
    """What is clipped, in a word."""
    return "gradients" if choice["clipping"] == RECORD else "records"


def noise(choice: Content) -> str:
    """The noise, with the accounting where that is not the basic one.

    >>> noise({"mechanism": "gaussian", "accounting": "pld"})
    'gaussian (pld)'
    """
    accounting = "" if choice["accounting"] == "basic" else f" ({choice['accounting']})"
    return f"{choice['mechanism']}{accounting}"
