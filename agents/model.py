"""The market as a Mesa model: agents decide, the model orders their moves, the collector records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import mesa
import networkx as nx
import numpy as np

from agents.behaviours import Behaviour, make_behaviour
from agents.collector import MarketCollector
from agents.draws import draws_of
from agents.learner import Learner, Train
from agents.owner import DataOwner
from agents.players import Players
from market.equilibrium.activation import ACTIVATIONS, Activation, Draw, play_round
from market.equilibrium.solver import Equilibrium, certify
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, moved, upper_ends
from market.equilibrium.turns import in_turn
from market.game.game import Game


class DataMarket(mesa.Model):
    """Data owners and a learner who play a game round by round until no one moves.

    Parameters
    ----------
    game : Game
    seed, rng : int, or a numpy.random.Generator, optional
        One of them, as Mesa has both: draws the order of moves and whatever behaviours draw. Without either, a seed is drawn
        from the operating system; ``draws.seed`` tells it.
    train : callable(epsilon), optional
        What the learner trains with once the market has ended.
    behaviour : str, Behaviour, or a list with one per owner
        How owners choose: a name in BEHAVIOURS or a behaviour of your own.
    activation : str
        A name in ACTIVATIONS: the order in which owners move within a round.
    start : (n_owners,), optional
        Where owners start, brought into their intervals; otherwise in the middle (of the logarithm).
    **kwargs
        Of `market.equilibrium.stopping.PlayRules`: damping, part, tol, patience, max_rounds.

    Attributes
    ----------
    epsilon, payments, surplus : (n_owners,)
    max_change : float, the largest move of the last round, as a part of the owner's epsilon; to join is a whole move
    owners : list of DataOwner
    learner : Learner
    draws : Draws, where all random numbers come from

    Raises
    ------
    ValueError
        An unknown activation, a number out of range, or one column that does not fit the owners.
    TypeError
        A seed that is no number.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 3.0]))
    >>> outcome = DataMarket(Game(owners, Proportional(12.0, "epsilon"), None, 0.0), seed=1).run()
    >>> outcome.epsilon.round(6).tolist(), outcome.reason
    ([2.666667, 1.333333, 0.0], 'certified')
    """

    def __init__(
        self,
        game: Game,
        *,
        seed: int | None = None,
        rng: np.random.Generator | int | None = None,
        train: Train | None = None,
        behaviour: str | Behaviour | Sequence[str | Behaviour] = "rational",
        activation: str = "sequential",
        start: np.ndarray | None = None,
        **kwargs: Any,
    ) -> None:
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; found {activation!r}")
        self.draws = draws_of(seed, rng)
        super().__init__(rng=self.draws.seed)
        self.game, self.activation, self.rules = game, activation, PlayRules(**kwargs)
        if start is not None and (np.shape(start) != (len(game.owners),) or np.isnan(start).any()):
            found = np.asarray(start, dtype=float).tolist()
            raise ValueError(f"start must be {len(game.owners)} numbers, one per owner; found {found}")
        self.epsilon = start_points(game, rng=self.rng, starts=1, start=start)[0]
        each: list[Any] = list(behaviour) if isinstance(behaviour, list | tuple) else [behaviour] * len(game.owners)
        if len(each) != len(game.owners):
            raise ValueError(f"behaviour must be one or {len(game.owners)} behaviours; found {len(each)}")
        named = {given: make_behaviour(given) for given in set(each)}
        self.owners = [DataOwner(self, number, named[given]) for number, given in enumerate(each)]
        self.numbers = np.array([owner.unique_id for owner in self.owners])
        self.learner = Learner(self, train)
        self.open(game.policy)
        self.datacollector = MarketCollector()
        self.datacollector.collect(self)

    def open(self, policy: Any) -> None:
        """Open the market under a policy, from where it stands; its rounds count from here."""
        self.game = replace(self.game, policy=policy)
        self.players = Players([owner.behaviour for owner in self.owners], self.draws)
        self.players.begin(self.game, self.epsilon)
        patience = max(self.order.patience(len(self.epsilon), self.rules), self.players.patience)
        width = upper_ends(self.game.owners)
        self.monitor = ConvergenceMonitor(self.rules, patience, width, self.epsilon, self._drawn())
        self.end, self.running, self.max_change = "", True, 0.0
        self._settle()

    @property
    def order(self) -> Activation:
        """When owners move within a round."""
        return ACTIVATIONS[self.activation]

    def step(self) -> None:
        """One round: owners choose in the order of the activation, the learner forecasts and pays."""
        before, self.players.now = self.epsilon, self.steps
        self.epsilon = play_round(
            self.order,
            self.game,
            before,
            draw=self._draw(),
            rules=self.rules,
            respond=self.players.respond,
            alone=self.players.alone,
            all_the_way=self.players.drawing,
        )
        self.players.remember(self.game, self.epsilon)
        self._settle()
        self.max_change = float(moved(before, self.epsilon, self.monitor.width).max())
        self.end = self.monitor.update(before, self.epsilon, drawn=self._drawn())
        self.running = not self.end
        self.datacollector.collect(self)

    def move(self, numbers: np.ndarray) -> None:
        """The owners of those ``numbers`` (k,) move one after another, outside of any round."""
        self.epsilon = in_turn(self.game, self.epsilon, numbers, self.players.respond, self.players.alone)

    def run(self) -> Equilibrium:
        """Rounds until the market ends, then its certificate; the learner trains at what was settled on.

        Returns
        -------
        Equilibrium
            Where owners stand, ``converged = False`` with a reason where that is no equilibrium; ``iterations`` are
            rounds since the policy was posted, ``trajectory`` all that was recorded. Never raises for non-convergence.
        """
        self.run_model()
        path = Path(self.epsilon.copy(), self.monitor.rounds, self.end)
        outcome = certify(self.game, path.epsilon, path=path, method=self.activation)
        self.learner.train()
        return replace(outcome, trajectory=self.trajectory(), agents=self.end)

    def trajectory(self) -> tuple[tuple[int, np.ndarray, np.ndarray, np.ndarray], ...]:
        """What the collector recorded: (round, epsilon, payments, surplus), the last three (n_owners,)."""
        rounds = self.datacollector.rounds.values()
        return tuple((one.step, one.epsilon, one.payments, one.surplus) for one in rounds)

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

    def _draw(self) -> Draw:
        """Numbers that tell who moves when in this round (n_owners,), further ones at every call."""
        calls = count()
        return lambda: self.draws.uniform(f"turns {next(calls)}", self.steps, len(self.epsilon))[:, 0]

    def _drawn(self) -> str:
        """What tells rounds apart in which other numbers were drawn, or other things kept in mind."""
        return str(self.steps) if self.order.draws or self.players.changing else ""
