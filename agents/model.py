"""The market as a Mesa model: agents decide, the model orders their moves, the collector records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import mesa
import networkx as nx
import numpy as np

from agents.learner import Learner, Train
from agents.owner import Behaviour, DataOwner, choices, rational
from market.equilibrium.paths import Path, StoppingRule, moved, part_way, patience, rings, upper_ends
from market.equilibrium.solver import Equilibrium, certify, start_points
from market.game.game import Game


def sequential(market: DataMarket) -> None:
    """Owners move one after another in their own order, each seeing what the ones before it chose."""
    for owner in market.owners:
        owner.move()


def shuffled(market: DataMarket) -> None:
    """As `sequential`, in an order drawn afresh every round."""
    for number in market.rng.permutation(len(market.owners)):
        market.owners[number].move()


def poisson(market: DataMarket) -> None:
    """Owners move when their own clocks ring, at unit rate, during one unit of time."""
    for number in rings(len(market.owners), rng=market.rng):
        market.owners[number].move()


def simultaneous(market: DataMarket) -> None:
    """All owners choose at the same profile and go ``damping`` of the way; those who behave alike in one search.

    Who wants to share nothing leaves at once: going half the way for ever, it would keep adding ever noisier answers.
    """
    groups: dict[Behaviour, list[int]] = {}
    for owner in market.owners:
        groups.setdefault(owner.respond, []).append(owner.number)
    chosen = np.empty_like(market.epsilon)
    for respond, numbers in groups.items():
        chosen[numbers] = choices(market.game.deviations(market.epsilon, np.array(numbers)), respond, market.rng)
    market.epsilon[:] = part_way(market.epsilon, chosen, market.damping)


ACTIVATIONS: dict[str, Callable[[DataMarket], None]] = {
    "sequential": sequential,
    "simultaneous": simultaneous,
    "random": shuffled,
    "poisson": poisson,
}


class DataMarket(mesa.Model):
    """Data owners and a learner who play a game round by round until no one moves.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator or int
        Draws the order of moves and whatever behaviours draw.
    train : callable(epsilon), optional
        What the learner trains with once the market has ended.
    respond : Behaviour or one per owner
        How owners choose.
    activation : str
        A name in ACTIVATIONS: "sequential", "simultaneous", "random" or "poisson" (a round is one unit of time).
    damping : float
        Part of the way owners go in "simultaneous", in (0, 1]; 1 is undamped.
    tol : float
        The market rests when no owner moves by more than this part of its upper end.
    patience : int
        For so many rounds in a row at least; above 1 where a behaviour may sit out a round.
    max_rounds : int
        Rounds at most.
    start : (n_owners,), optional
        Where owners start, brought into their intervals; otherwise in the middle (of the logarithm).

    Attributes
    ----------
    epsilon, payments, surplus : (n_owners,)
    max_change : float, the largest move of the last round, as a part of the owner's upper end; to join is a whole move
    owners : list of DataOwner; learner : Learner

    Raises
    ------
    ValueError
        An unknown activation, a number out of range, or one column that does not fit the owners.
    TypeError
        No generator.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.payments import Proportional
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 3.0]))
    >>> outcome = DataMarket(Game(owners, Proportional(12.0, "epsilon"), None, 0.0), rng=1).run()
    >>> outcome.epsilon.round(6).tolist(), outcome.reason
    ([2.666667, 1.333333, 0.0], 'certified')
    """

    def __init__(
        self,
        game: Game,
        *,
        rng: np.random.Generator | int,
        train: Train | None = None,
        respond: Behaviour | Sequence[Behaviour] = rational,
        activation: str = "sequential",
        damping: float = 0.5,
        tol: float = 1e-9,
        patience: int = 1,
        max_rounds: int = 1000,
        start: np.ndarray | None = None,
    ) -> None:
        if rng is None:
            raise TypeError("rng must be a numpy.random.Generator or a seed; found None")
        super().__init__(rng=rng)
        self.game, self.activation, self.damping = game, activation, damping
        self.tol, self.patience, self.max_rounds = tol, patience, max_rounds
        _check_rules(self)
        self.epsilon = _start(self, start)
        self.width = upper_ends(game)
        behaviours = [respond] * len(game.owners) if callable(respond) else list(respond)
        if len(behaviours) != len(game.owners):
            raise ValueError(f"respond must be one or {len(game.owners)} behaviours; found {len(behaviours)}")
        self.owners = [DataOwner(self, number, behaviour) for number, behaviour in enumerate(behaviours)]
        self.learner = Learner(self, train)
        self.open(game.policy)
        self.datacollector = mesa.DataCollector(
            model_reporters=MODEL_REPORTERS, agenttype_reporters={DataOwner: OWNER_REPORTERS}
        )
        self.datacollector.collect(self)

    def open(self, policy: Any) -> None:
        """Open the market under a policy, from where it stands; its rounds count from here."""
        self.game = replace(self.game, policy=policy)
        quiet = max(self.patience, patience(self.activation, len(self.epsilon)))
        self.watch = StoppingRule(self.tol, self.max_rounds, quiet, self.width, self.epsilon, self._drawn())
        self.end, self.running, self.max_change = "", True, 0.0
        self._settle()

    def step(self) -> None:
        """One round: owners choose in the order of the activation, the learner forecasts and pays."""
        before, self.epsilon = self.epsilon, self.epsilon.copy()
        ACTIVATIONS[self.activation](self)
        self._settle()
        self.max_change = float(moved(before, self.epsilon, self.width).max())
        self.end = self.watch.see(before, self.epsilon, self._drawn())
        self.running = not self.end
        self.datacollector.collect(self)

    def run(self) -> Equilibrium:
        """Rounds until the market ends, then its certificate; the learner trains at what was settled on.

        Returns
        -------
        Equilibrium
            Where owners stand, ``converged = False`` with a reason where that is no equilibrium; ``iterations`` are
            rounds since the policy was posted, ``trajectory`` all that was recorded. Never raises for non-convergence.
        """
        self.run_model()
        path = Path(self.epsilon.copy(), self.watch.rounds, self.end)
        outcome = certify(self.game, path.epsilon, path=path, method=self.activation)
        self.learner.train()
        return replace(outcome, trajectory=self.trajectory())

    def trajectory(self) -> tuple[tuple[int, np.ndarray, np.ndarray, np.ndarray], ...]:
        """What the collector recorded: (round, epsilon, payments, surplus), the last three (n_owners,)."""
        table = self.datacollector.get_agenttype_vars_dataframe(DataOwner)
        rounds = table.index.get_level_values("Step").to_numpy()[:: len(self.owners)]
        columns = [table[name].to_numpy(dtype=float).reshape(len(rounds), -1) for name in OWNER_REPORTERS]
        return tuple((int(k), *row) for k, *row in zip(rounds, *columns, strict=True))

    @property
    def graph(self) -> nx.Graph:
        """Who deals with whom now: a star, agents by unique_id, each edge with its ``epsilon`` and ``payment``.

        Nodes carry ``name`` and ``bipartite`` (0 an owner, 1 the learner).
        """
        graph = nx.Graph()
        graph.add_node(self.learner.unique_id, name="learner", bipartite=1)
        for owner in self.owners:
            graph.add_node(owner.unique_id, name=owner.name, bipartite=0)
            graph.add_edge(owner.unique_id, self.learner.unique_id, epsilon=owner.epsilon, payment=owner.payment)
        return graph

    def _settle(self) -> None:
        self.fitness = self.learner.forecast()
        self.payments = self.learner.pay()
        self.surplus = self.payments + self.game.benefits(self.epsilon) - self.game.costs(self.epsilon)

    def _drawn(self) -> str:
        return str(self.rng.bit_generator.state)


def _check_rules(market: DataMarket) -> None:
    if market.activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; found {market.activation!r}")
    if not 0 < market.damping <= 1:
        raise ValueError(f"damping must be above 0 and at most 1; found {market.damping}")
    if not market.tol >= 0:
        raise ValueError(f"tol must not be negative; found {market.tol}")
    for name in ("patience", "max_rounds"):
        if getattr(market, name) < 1:
            raise ValueError(f"{name} must be at least 1; found {getattr(market, name)}")


def _start(market: DataMarket, start: np.ndarray | None) -> np.ndarray:
    if start is not None:
        start = np.asarray(start, dtype=float)
        if start.shape != (len(market.game.owners),) or np.isnan(start).any():
            raise ValueError(f"start must be {len(market.game.owners)} numbers, one per owner; found {start.tolist()}")
    return start_points(market.game, rng=market.rng, starts=1, start=start)[0]


def _round(market: DataMarket) -> int:
    return market.steps


def _fitness(market: DataMarket) -> float:
    return market.fitness


def _total_payments(market: DataMarket) -> float:
    return float(market.payments.sum())


def _max_change(market: DataMarket) -> float:
    return market.max_change


def _epsilon(owner: DataOwner) -> float:
    return owner.epsilon


def _payment(owner: DataOwner) -> float:
    return owner.payment


def _surplus(owner: DataOwner) -> float:
    return owner.surplus


# Functions, never names: for a name it does not know, Mesa's collector records None without a word.
MODEL_REPORTERS: dict[str, Callable[[DataMarket], float]] = {
    "round": _round,
    "fitness": _fitness,
    "total_payments": _total_payments,
    "max_change": _max_change,
}
OWNER_REPORTERS: dict[str, Callable[[DataOwner], float]] = {
    "epsilon": _epsilon,
    "payment": _payment,
    "surplus": _surplus,
}
