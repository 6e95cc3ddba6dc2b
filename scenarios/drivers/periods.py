"""A market over several periods, each planned, settled, trained and charged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from learning.privacy.lifetime import Lifetime, LimitedLedger
from learning.progress import Progress
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.drivers.arrivals import Arrivals, arriving
from scenarios.drivers.market import train_market
from scenarios.features.behaviours import play_market
from scenarios.features.time import Time, collect_outcome
from scenarios.planning import Prepared, prepare
from scenarios.run import History, Run
from scenarios.schema.fields import values_per_owner
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.summary.forecast import claims_made


@dataclass(eq=False)
class Periods:
    """Each period of a market over time, and its outcome.

    The learner plans once for each set of records that have arrived. It plans for all owners, in
    the market or not: it knows the names and sizes of all, and those outside sell nothing.

    Parameters
    ----------
    scenario : the scenario.
    time : its table of that name.
    prepared : its records and planner with all records.
    arrivals : which records are there when.
    training : whether to train in each period.
    others : whether to look for further equilibria.
    progress : called with the name of each stage, and the share of it that is done.
    """

    scenario: Scenario
    time: Time
    prepared: Prepared
    arrivals: Arrivals
    training: bool
    others: bool
    progress: Progress
    lifetime: Lifetime = field(init=False)
    ledger: LimitedLedger = field(init=False)
    span: np.ndarray = field(default_factory=lambda: np.empty(0))
    plans: int = 0
    settled: tuple[Any, Any] = (None, None)
    claims: list[tuple[Any, ...]] = field(default_factory=list)
    now: Prepared = field(init=False)
    same: Game = field(init=False)
    top: tuple[int, Run] | None = None

    def __post_init__(self) -> None:
        names = self.prepared.data.names
        time = self.time
        stated = np.inf if time.lifetime_epsilon is None else time.lifetime_epsilon
        limit = values_per_owner(stated, len(names), "time.lifetime_epsilon")
        self.lifetime = Lifetime(
            self.prepared.planner.mechanism, limit, time.composition, time.saving, names
        )
        self.ledger = LimitedLedger(self.lifetime)

    def game(self, period: int, sold: Any) -> Game:
        """The game of all owners with the records that a period asks about."""
        self.stage("", (period - 1) / self.time.periods)
        span = self.arrivals.span(np.array(sold).reshape(-1, len(self.prepared.data.names)))
        if not np.array_equal(span, self.span):
            data = self.arrivals.of(span)
            self.span = span
            self.plans += 1
            self.now = self.prepared
            if data is not self.prepared.data:
                self.now = prepare(self.scenario, data, self.stage)
            self.same = market_game(self.scenario, *self.now)
        return self.same

    def stage(self, stage: str, share: float = 0.0, /) -> None:
        """Tell whoever listens which period it is in."""
        period = f"period {len(self.claims) + 1} of {self.time.periods}"
        self.progress(f"{period}: {stage}".removesuffix(": "), share)

    def settle(self, game: Game) -> Equilibrium:
        """Equilibrium of a period.

        Behaviours that draw do so anew in each period. Rational owners in the same game as in the
        period before settle as they did then.
        """
        if self.scenario.behaviours:
            keys = [f"period {len(self.claims) + 1}"] * bool(self.claims)
            return play_market(self.scenario, game, *keys)
        if game is not self.settled[0]:
            self.settled = game, settle(self.scenario, game, others=self.others)
        return self.settled[1]

    def trade(self, period: int, game: Game, found: Equilibrium) -> dict[str, Any]:
        """Train at what was settled on, charge for it, and keep the facts."""
        data, planner = self.now
        run = train_market(
            self.scenario,
            self.now,
            game,
            found,
            training=self.training,
            period=period,
            ledger=self.ledger,
        )
        if self.top is None or run.asks:
            self.top = period, run
        self.claims.append(tuple(claims_made(self.scenario, data, planner, found.epsilon)))
        return collect_outcome(run)


def run_periods(
    scenario: Scenario, prepared: Prepared, *, training: bool, others: bool, progress: Progress
) -> Run:
    """Run of the last period in which any owner was asked, with the history of all periods.

    Parameters are those of `scenarios.drivers.market.run_market`.
    """
    # Mesa and what it loads take half a second
    from agents.dynamics import MarketOverTime, Turnover, draw_arrivals

    time = scenario.time
    data = prepared.data
    assert time is not None
    arrived = arriving(scenario, time, data)
    now = Prepared(arrived.data, prepared.planner)
    inside = Periods(scenario, time, now, arrived, training, others, progress)
    entry = time.joins(data.names)
    count = len(data.names)
    if time.arrivals:
        entry = np.where(entry > 0, entry, draw_arrivals(time.arrivals, count, seed=scenario.seed))
    market = MarketOverTime(
        inside.game,
        periods=time.periods,
        rng=scenario.seed,
        turnover=Turnover(entry, time.patience, time.returns),
        lifetime=inside.lifetime,
        settle=inside.settle,
        trade=inside.trade,
    )
    periods = tuple(market.run())
    assert inside.top is not None
    shown, run = inside.top
    history = History(
        periods, tuple(inside.claims), inside.lifetime, inside.ledger, inside.plans, shown, time
    )
    progress("counting up")
    return replace(run, history=history)
