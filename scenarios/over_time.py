"""A scenario's market over several periods: planned where facts are new, settled, trained and charged in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from learning.privacy.ledger import Ledger
from learning.privacy.lifetime import Lifetime
from learning.progress import Progress
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.arrivals import Arrivals, arriving
from scenarios.planning import Prepared, prepare
from scenarios.run import History, Run
from scenarios.schema.fields import per_owner
from scenarios.schema.loading import Scenario
from scenarios.schema.time import Time
from scenarios.summary.content import claims_made
from scenarios.summary.periods import facts_of


class Holds(Protocol):
    """Trains at what a period settled on, or only charges for it, and gives the run that this makes."""

    def __call__(self, now: Prepared, game: Game, found: Equilibrium, /, *, period: int, ledger: Ledger) -> Run: ...


@dataclass(frozen=True)
class Steps:
    """How a period of a scenario is made into a game, settled, and held."""

    game: Callable[[Prepared], Game]
    settle: Callable[[Game, int], Equilibrium]
    hold: Holds


@dataclass(eq=False)
class Periods:
    """What a market over time asks for in each period, and what came of it.

    The learner plans once for each set of records that is there; so too if some owners are not in the market, whose names and
    sizes it knows, and who sell nothing to it.

    Parameters
    ----------
    scenario : the scenario.
    time : its table of that name.
    prepared : its records and planner with all records.
    arrivals : which records are there when.
    steps : how a period is settled and trained.
    progress : called with the name of each stage, and the share of it that is done.
    """

    scenario: Scenario
    time: Time
    prepared: Prepared
    arrivals: Arrivals
    steps: Steps
    progress: Progress
    lifetime: Lifetime = field(init=False)
    ledger: Ledger = field(init=False)
    span: np.ndarray = field(default_factory=lambda: np.empty(0))
    plans: int = 0
    settled: tuple[Any, Any] = (None, None)
    claims: list[tuple[Any, ...]] = field(default_factory=list)
    now: Prepared = field(init=False)
    same: Game = field(init=False)
    top: tuple[int, Run] | None = None

    def __post_init__(self) -> None:
        names, time = self.prepared.data.names, self.time
        stated = np.inf if time.lifetime_epsilon is None else time.lifetime_epsilon
        limit = per_owner(stated, len(names), "time.lifetime_epsilon")
        self.lifetime = Lifetime(self.prepared.planner.mechanism, limit, time.composition, time.saving, names)
        self.ledger = Ledger(self.lifetime)

    def game(self, period: int, sold: Any) -> Game:
        """The game of all owners with the records that a period asks about."""
        self.stage("", (period - 1) / self.time.periods)
        span = self.arrivals.span(np.array(sold).reshape(-1, len(self.prepared.data.names)))
        if not np.array_equal(span, self.span):
            data = self.arrivals.of(span)
            whole = data is self.prepared.data
            self.span, self.plans = span, self.plans + 1
            self.now = self.prepared if whole else prepare(self.scenario, data, self.stage)
            self.same = self.steps.game(self.now)
        return self.same

    def stage(self, stage: str, share: float = 0.0, /) -> None:
        """Tell whoever listens which period it is in."""
        period = f"period {len(self.claims) + 1} of {self.time.periods}"
        self.progress(f"{period}: {stage}" if stage else period, share)

    def settle(self, game: Game) -> Equilibrium:
        """Where a period settles: rational owners in the same game as before where they did then."""
        if self.scenario.behaviours or game is not self.settled[0]:
            self.settled = game, self.steps.settle(game, len(self.claims) + 1)
        return self.settled[1]

    def trade(self, period: int, game: Game, found: Equilibrium) -> dict[str, Any]:
        """Train at what was settled on, charge for it, and keep the facts."""
        data, planner = self.now
        run = self.steps.hold(self.now, game, found, period=period, ledger=self.ledger)
        if self.top is None or run.asks:
            self.top = period, run
        self.claims.append(tuple(claims_made(self.scenario, data, planner, found.epsilon)))
        return facts_of(run)


def over_time(scenario: Scenario, prepared: Prepared, steps: Steps, progress: Progress) -> Run:
    """All periods of a scenario's market: the run of the last in which anybody was asked anything, with what came before.

    Parameters
    ----------
    scenario : the scenario, in the order of the data.
    prepared : its data, with all records, and its planner.
    steps : how a period is settled and trained.
    progress : called with the name of each stage, and the share of it that is done.
    """
    from agents.dynamics import MarketOverTime, arrivals  # Mesa and what it loads take half a second

    time, data = scenario.time, prepared.data
    assert time is not None
    arrived = arriving(scenario, time, data)
    inside = Periods(scenario, time, Prepared(arrived.data, prepared.planner), arrived, steps, progress)
    entry, count = time.joins(data.names), len(data.names)
    if time.arrivals:
        entry = np.where(entry > 0, entry, arrivals(time.arrivals, count, seed=scenario.seed))
    market = MarketOverTime(
        inside.game,
        periods=time.periods,
        rng=scenario.seed,
        entry=entry,
        patience=time.patience,
        returns=time.returns,
        lifetime=inside.lifetime,
        settle=inside.settle,
        trade=inside.trade,
    )
    periods = tuple(market.run())
    assert inside.top is not None
    shown, run = inside.top
    history = History(periods, tuple(inside.claims), inside.lifetime, inside.ledger, inside.plans, shown, time)
    return replace(run, history=history)
