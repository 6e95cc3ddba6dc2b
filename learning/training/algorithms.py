"""The training algorithms, by their names in scenario files."""

from __future__ import annotations

from learning.training.adassp import AdaSSP, OneStep
from learning.training.algorithm import Algorithm
from learning.training.asynchronous import Asynchronous
from learning.training.descent import SGD2, Averaged, Synchronous
from learning.training.sgd1 import SGD1
from learning.training.weighted import Weighted

DEFAULT = Averaged.name
ALGORITHMS: dict[str, Algorithm] = {
    kind.name: kind()
    for kind in (Synchronous, Averaged, Asynchronous, SGD1, SGD2, Weighted, AdaSSP, OneStep)
}


def compared_algorithms() -> list[str]:
    """Names of the algorithms that ``learning.algorithm = "best"`` compares."""
    return [name for name, one in ALGORITHMS.items() if one.compared]
