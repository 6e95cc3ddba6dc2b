"""Market as it settles, round by round, with the facts of a result for every round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from learning.threads import one_blas_thread
from scenarios.dashboard.state import Sliders
from scenarios.features.base import rows_of
from scenarios.report.facts_owners import by_name, by_stake
from scenarios.result import to_plain
from scenarios.run import Run
from scenarios.runner import carry_out
from scenarios.studies.offers import solved
from scenarios.summary.market import certificate_part, money_columns, promised_part
from scenarios.summary.worth import terms_part, worth_columns

CURVES = 12  # owners whose payoff curves are drawn; points of each
POINTS = 80


@dataclass(frozen=True)
class Curve:
    """Surplus of one owner at each budget, everyone else as they are.

    Parameters
    ----------
    name: the owner.
    epsilon, surplus: budgets (n,) in order, and its surplus at each, money.
    chosen: the budget and surplus where it stands.
    best: the budget and surplus of its best response.
    worth: the budget that is worth buying of it; inf or nan where there is none.
    """

    name: str
    epsilon: np.ndarray
    surplus: np.ndarray
    chosen: tuple[float, float]
    best: tuple[float, float]
    worth: float = np.inf


@dataclass(frozen=True)
class Round:
    """A market after so many rounds of moves.

    Parameters
    ----------
    number: how many rounds were played; 0 where owners start.
    run: the run as if owners had come to rest there.
    last: whether it is the last round, in which owners settled or were given up on.
    """

    number: int
    run: Run
    last: bool

    @cached_property
    def owners(self) -> list[dict[str, Any]]:
        """A row for each owner: its name, records, budget, and its money by part."""
        columns = {
            "name": self.run.data.names,
            "records": self.run.data.sizes.astype(int),
            "epsilon": to_plain(self.run.accounts.epsilon),
            **money_columns(self.run),
        }
        return rows_of(columns)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Facts of a result as far as pictures and sentences ask, by the forecast alone."""
        run = self.run
        plan = run.planner.forecast.plan(run.epsilon)
        learner = promised_part(run) | {"terms": terms_part(run)}
        forecast = {
            "relative_fitness": run.planner.forecast.at(run.epsilon),
            "interval": run.prediction.interval(),
            "step_size": plan.step_size,
            "reports": None,
        }
        outside = {
            "relative_fitness": run.planner.forecast.outside,
            "interval": run.prediction.outside_interval(),
        }
        return {
            "scenario": {"currency": run.scenario.currency},
            "owners": self.owners,
            "equilibrium": certificate_part(run),
            "learner": learner,
            "forecast": forecast,
            "outside_option": outside,
            "validation": None,
        }

    @cached_property
    def curves(self) -> list[Curve]:
        """The payoff curves of the owners with most money at stake."""
        place = {name: i for i, name in enumerate(self.run.data.names)}
        shown = np.array([place[row["name"]] for row in by_name(by_stake(self.owners, CURVES))])
        game = self.run.playing
        epsilon = self.run.epsilon
        best = game.deviations(epsilon, shown).best_responses()
        low = game.owners.epsilon_min[shown]
        high = game.owners.epsilon_max[shown]
        start = np.maximum(np.maximum(low, 1e-3 * high), 1e-12)
        steps = np.geomspace(start, np.maximum(high, start), POINTS, axis=1)
        grid = np.sort(np.column_stack([low, steps, best, epsilon[shown]]), axis=1)
        heights = game.deviation_payoffs(epsilon, grid, shown)
        worth = worth_columns(self.run)["epsilon_worth"]
        found: list[Curve] = []
        for i, at, top, aim in zip(shown, grid, heights, best, strict=True):
            chosen, peak = (
                (float(e), float(top[np.searchsorted(at, e)])) for e in (epsilon[i], aim)
            )
            found.append(Curve(self.run.data.names[i], at, top, chosen, peak, float(worth[i])))
        return found


@dataclass(frozen=True)
class Played:
    """A market played from its start to its end.

    Parameters
    ----------
    run: the run as it ended, not trained.
    rounds: every round that was played, the first where owners start.
    """

    run: Run
    rounds: tuple[Round, ...]

    @property
    def last(self) -> int:
        """The number of the last round that is there to see."""
        return len(self.rounds) - 1

    @cached_property
    def path(self) -> np.ndarray:
        """Everyone's budget by round, (rounds, n_owners)."""
        return np.array([one.run.epsilon for one in self.rounds])

    @cached_property
    def rational(self) -> np.ndarray | None:
        """Everyone's budget (n_owners,) were all owners rational; None where they are."""
        if not self.run.scenario.behaviours:
            return None
        return solved(self.run.scenario, self.run.game)


@one_blas_thread()
def play(sliders: Sliders) -> Played:
    """Play the market of some sliders, as ``dpmarket run`` would.

    Raises
    ------
    InputError
        Where the sliders make a scenario that cannot be.
    """
    run = carry_out(sliders.scenario, sliders.prepared, training=False, others=False)
    found = run.equilibrium
    path: tuple[Any, ...] = found.trajectory or (
        (found.iterations, found.epsilon, found.payments, None),
    )
    ends = np.array_equal(path[-1][1], found.epsilon)
    if not ends:  # agents did not come to rest; what the solver found is one step more
        path = (*path, (path[-1][0] + 1, found.epsilon, found.payments, None))
    where = [(number, replace(found, epsilon=at, payments=paid)) for number, at, paid, *_ in path]
    last = len(where) - 1
    rounds = (
        Round(number, replace(run, equilibrium=at), k == last)
        for k, (number, at) in enumerate(where)
    )
    return Played(run, tuple(rounds))
