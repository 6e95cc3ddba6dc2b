"""Every learner: where its records lie, what it must be told, what it guarantees."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.random import Generator

from reproduction.beside.rows import Predict, Rows

Fit = Callable[[Rows, float, float, Generator], Predict]
DELTA = 1e-6


@dataclass(frozen=True)
class Learner:
    """One learner.

    Parameters
    ----------
    source : where it comes from.
    told : what it must be given besides epsilon and delta.
    counts : what its guarantee is about.
    fit : module and function; empty for ours.
    where : central, one party holds all records; or federated, every owner adds noise.
    numbers, labels : kinds of targets that it is for.
    private : False of models without noise.
    pure : True where delta is 0.
    shared : True where owners make one noise together.
    halved, weaker : True of a guarantee for a record added or removed, at budgets that give the
        stated ones for a replacement, or at the stated ones.
    needs : package to be installed; empty for none.
    features : `learning.features` of ours; empty for the columns as they are.
    """

    source: str
    told: str = "public rows (units, and quantiles to clip at)"
    counts: str = "one record replaced"
    fit: str = ""
    where: str = "central"
    numbers: bool = True
    labels: bool = True
    private: bool = True
    pure: bool = False
    shared: bool = False
    halved: bool = False
    weaker: bool = False
    needs: str = ""
    features: str = ""

    @property
    def missing(self) -> bool:
        """Test whether its package is missing."""
        return bool(self.needs) and find_spec(self.needs) is None

    @property
    def promise(self) -> str:
        """What its guarantee is about, and how it is converted."""
        if self.weaker:
            return "a record added or removed, at ε and δ: **a weaker promise**"
        if self.halved:
            return "a record added or removed, at ε/2 and δ/(1 + e^(ε/2)): ε and δ if replaced"
        return self.counts

    def train(self, rows: Rows, epsilon: float, rng: Generator) -> Predict:
        """Train a rival at a guarantee for one record replaced; weaker ones as they are."""
        module, _, name = self.fit.partition(":")
        fit: Fit = getattr(import_module(f"reproduction.beside.{module}"), name)
        budget = halve(epsilon, DELTA) if self.halved else (epsilon, DELTA)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages about seeds and their own dependencies
            return fit(rows, *budget, rng)


def halve(epsilon: float, delta: float) -> tuple[float, float]:
    """Guarantee for a record added or removed that gives (epsilon, delta) for one replaced.

    A replacement is a removal and an addition: (e, d) twice gives (2e, d (1 + exp e)).

    >>> [round(one, 8) for one in halve(2.0, 1e-6)]
    [1.0, 2.7e-07]
    """
    return epsilon / 2, float(delta / (1 + np.exp(epsilon / 2)))


LEARNERS = {
    name: Learner(**facts)
    for name, facts in tomllib.loads(
        (Path(__file__).parent / "learners.toml").read_text(encoding="utf-8")
    ).items()
}
