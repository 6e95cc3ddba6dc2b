"""The learner's Stackelberg problem: the best policy of a family, given the owners' equilibrium."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from market.analysis.design import NEAR, Design, Rank, evaluate_policy, rank_design
from market.columns import Array
from market.equilibrium.starts import entry_points
from market.equilibrium.stopping import upper_ends
from market.game.certificate import GOLDEN
from market.game.game import Game

# Relative width of a bracket at which the objective is flat.
PRECISE = 1e-6
# Relative width of a later bracket, where an earlier one holds a better policy.
COARSE = 0.05
# Every n-th policy of a survey is also started from sets of sharers.
ENTRIES = 4
# Equilibria of neighbouring policies within this part of the upper ends are on one branch.
SAME_BRANCH = 1e-2
# Times that the best policy is evaluated from everywhere, and the search repeated.
CHECKS = 4
# Nearest surveyed policies, from whose equilibria those of a new one are sought.
BRANCHES = 2
# Local maxima of the survey that are refined, and parabolas through the best policies of one.
PEAKS = 3
PARABOLAS = 4

MakePolicy = Callable[[Any], Any]


@dataclass(frozen=True)
class Family:
    """Policies that differ in one parameter.

    Parameters
    ----------
    make : callable(float) -> policy
    low, high : float, above 0, range of the parameter, searched in equal ratios

    Raises
    ------
    ValueError
        Bounds not 0 < low < high.
    """

    make: MakePolicy
    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            found = f"{self.low} and {self.high}"
            raise ValueError(f"bounds must satisfy 0 < low < high; found {found}")


def explore_policies(
    game: Game,
    family: Family,
    *,
    rng: np.random.Generator,
    points: int = 25,
    precision: float = PRECISE,
    **search: Any,
) -> Study:
    """Search a family for the feasible policy that is best for the learner, ``Study.best``.

    ``max V (outside - psi(epsilon*)) - sum of payments`` subject to the budget and to every owner's
    individual rationality, the owners in equilibrium. The objective may jump where the equilibrium
    does: the parameter is searched on a grid of equal ratios, whose best cells are narrowed by
    golden section. Where no policy is feasible, the best is nearest to feasible.

    Parameters
    ----------
    game : Game, its own policy set aside
    family : Family
    rng : numpy.random.Generator, drawn from once, so that all policies have the same starts
    points : int, grid points
    precision : float, relative precision of the parameter
    **search : budget, starts, optimistic and bound, as in `evaluate_policy`

    Raises
    ------
    ValueError
        Fewer than 3 points.

    Source: von Stackelberg (1934), the leader's problem.

    Two owners with cost epsilon^2, price p per unit: each sells p/2; V g 2 (2/p)^2 + p^2 is least
    at p^4 = 8 V g.

    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> class Law:
    ...     outside = 1.0
    ...     def terms(self, epsilon):
    ...         return np.where(epsilon > 0, np.maximum(epsilon, 1e-9) ** -2.0, 0.0)[..., None]
    ...     def excess(self, sums):
    ...         return 0.01 * sums[..., 0]
    >>> game = Game(Owners(("A", "B"), 1, 0.01, 100.0, Quadratic(2.0)), None, Law(), 200.0)
    >>> rng = np.random.default_rng(0)
    >>> best = explore_policies(game, Family(Posted, 1.5, 3.0), rng=rng, points=3).best
    >>> round(float(best.parameters[0]), 5), best.feasible
    (2.0, True)
    """
    study = survey_family(game, family, rng=rng, points=points, precision=precision, **search)
    study.narrow_down()
    return study


def survey_family(
    game: Game,
    family: Family,
    *,
    rng: np.random.Generator,
    points: int = 25,
    precision: float = PRECISE,
    **search: Any,
) -> Study:
    """Survey a family on the grid of `explore_policies`, whose parameters these are."""
    if points < 3:
        raise ValueError(f"points must be at least 3; found {points}")
    study = Study(game, family.make, int(rng.integers(2**63)), search, precision=precision)
    study.survey_policies(np.geomspace(family.low, family.high, points).tolist())
    return study


@dataclass
class Study:
    """The policies tried, each from the same starts and the equilibria of neighbouring policies.

    Attributes
    ----------
    game : Game
    make : callable(float) -> policy
    seed : int, of the starts
    search : budget, starts, optimistic and bound, as in `evaluate_policy`
    tried : list of Design
    surveyed : list of Design, those that were started from everywhere
    precision : float, relative precision of the parameter
    """

    game: Game
    make: MakePolicy
    seed: int
    search: Mapping[str, Any]
    tried: list[Design] = field(default_factory=list)
    surveyed: list[Design] = field(default_factory=list)
    precision: float = PRECISE

    @property
    def best(self) -> Design:
        """The best policy that was surveyed."""
        return max(self.surveyed, key=rank_design)

    def survey_policies(self, parameters: Sequence[float]) -> None:
        """Try policies from everywhere, and from their neighbours' equilibria, there and back."""
        for number, parameter in enumerate(parameters):
            entries = entry_points(self.game) if number % ENTRIES == 0 else []
            near = self.nearby_equilibria(parameter)
            self.surveyed.append(self._evaluate_from(parameter, near, also=entries))
        self.surveyed.sort(key=_parameter_of)
        for at in range(len(self.surveyed) - 2, -1, -1):
            here = self.surveyed[at]
            after = self.surveyed[at + 1]
            if len(after.equilibria) > len(here.equilibria):
                near = [*here.equilibria, *after.equilibria]
                self.surveyed[at] = self._evaluate_from(_parameter_of(here), near, starts=0)
        self.tried = list(self.surveyed)

    def narrow_down(self, least: float = -np.inf) -> None:
        """Narrow the best cells of the survey; a gain below ``least`` within `COARSE` alone."""
        for _ in range(CHECKS):
            _narrow_peaks(self, least)
            if self.best_is_confirmed():
                break

    def best_is_confirmed(self) -> bool:
        """True if the best policy tried is as good from everywhere; it counts as surveyed then.

        Otherwise only surveyed policies count as tried: the others were evaluated without the
        equilibria found now.
        """
        best = max(self.tried, key=rank_design)
        parameter = _parameter_of(best)
        near = [*best.equilibria, *self.nearby_equilibria(parameter)]
        checked = self._evaluate_from(parameter, near, also=entry_points(self.game))
        others = [one for one in self.surveyed if _parameter_of(one) != parameter]
        self.surveyed = [*others, checked]
        self.tried = list(self.surveyed)
        missed, value = rank_design(best)
        missed_now, value_now = rank_design(checked)
        return missed_now >= missed and value_now >= value - NEAR * abs(value)

    def try_policy(self, parameter: float) -> Rank:
        """Rank of a policy, tried from the equilibria of the surveyed policies next to it."""
        near = self.nearby_equilibria(parameter)
        return rank_design(self._evaluate_from(parameter, near, starts=0))

    def nearby_equilibria(self, parameter: float) -> list[Array]:
        """Distinct equilibria of the surveyed policies nearest in logarithms.

        Where each has but one, that of the nearest.
        """

        def distance(one: Design) -> float:
            return abs(float(np.log(_parameter_of(one) / parameter)))

        nearest = sorted(self.surveyed, key=distance)[:BRANCHES]
        if all(len(one.equilibria) == 1 for one in nearest):
            nearest = nearest[:1]
        width = SAME_BRANCH * upper_ends(self.game.owners)
        found: list[Array] = []
        for near in nearest:
            for epsilon in near.equilibria:
                if all((np.abs(epsilon - other) > width).any() for other in found):
                    found.append(epsilon)
        return found

    def _evaluate_from(self, parameter: float, near: Sequence[Array], **changes: Any) -> Design:
        options = {**self.search, **changes, "near": near}
        rng = np.random.default_rng(self.seed)
        posted = replace(self.game, policy=self.make(parameter))
        found = evaluate_policy(posted, rng=rng, **options)
        design = replace(found, parameters=np.array([parameter]))
        self.tried.append(design)
        return design


def _parameter_of(design: Design) -> float:
    return float(design.parameters[0])


def _narrow_peaks(study: Study, least: float) -> None:
    """Narrow the best cells between the policies surveyed, in logarithms of the parameter."""
    surveyed = sorted(study.surveyed, key=_parameter_of)
    grid = [float(np.log(_parameter_of(design))) for design in surveyed]
    ranks = [rank_design(design) for design in surveyed]
    last = len(grid) - 1
    order = sorted(range(len(grid)), key=lambda at: ranks[at], reverse=True)
    peaks = [
        at for at in order if ranks[at] >= max(ranks[max(at - 1, 0)], ranks[min(at + 1, last)])
    ]
    known = Ranks(study)
    best = (-np.inf, -np.inf) if least == -np.inf else (0.0, least)
    for at in peaks[:PEAKS]:
        left = grid[max(at - 1, 0)]
        right = grid[min(at + 1, last)]
        best = max(best, _golden_section(known, left, right, best))


class Ranks(dict[float, Rank]):
    """Ranks of the policies of a study by logarithms of their parameter, tried when asked for."""

    def __init__(self, study: Study) -> None:
        super().__init__()
        self.study = study

    def __missing__(self, log: float) -> Rank:
        self[log] = self.study.try_policy(float(np.exp(log)))
        return self[log]


def _golden_section(ranks: Ranks, left: float, right: float, best: Rank) -> Rank:
    """Narrow a cell by golden section, then by parabolas; roughly where ``best`` is better."""
    inner = right - GOLDEN * (right - left)
    outer = left + GOLDEN * (right - left)
    smooth = True
    while True:
        falls = ranks[inner] >= ranks[outer]
        here = max(ranks[inner], ranks[outer])
        width = right - left
        if width <= (COARSE if here < best else ranks.study.precision):
            return here
        if width <= COARSE and smooth:
            smooth = False
            if _climb_parabolas(ranks, left, right):
                return max(ranks[at] for at in ranks if left < at < right)
        if falls:
            right = outer
            outer = inner
            inner = right - GOLDEN * (right - left)
        else:
            left = inner
            inner = outer
            outer = left + GOLDEN * (right - left)


def _climb_parabolas(ranks: Ranks, left: float, right: float) -> bool:
    """Step to the vertex of the parabola through the best policy in a cell and its neighbours.

    True once a step is below the precision; False where the gain is no parabola, or constraints
    bind.
    """
    for _ in range(PARABOLAS):
        logs = sorted(at for at in ranks if left <= at <= right)
        at = max(range(len(logs)), key=lambda place: ranks[logs[place]])
        near = logs[max(at - 1, 0) : at + 2]
        missed = {ranks[one][0] for one in near}
        if len(near) < 3 or len(missed) > 1:
            return False
        curve = np.polyfit(np.array(near) - logs[at], [ranks[one][1] for one in near], 2)
        if not curve[0] < 0:
            return False
        step = float(-curve[1] / (2 * curve[0]))
        if abs(step) <= ranks.study.precision:
            return True
        if ranks[logs[at] + step] < ranks[logs[at]]:
            return False
    return False
