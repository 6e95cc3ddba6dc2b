"""The market as a Mesa model: agents decide, the model orders their moves, the collector records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import mesa
import networkx as nx
import numpy as np

from agents.behaviours import Behaviour, Memory, Seen, chosen_by, make_behaviour
from agents.draws import Draws
from agents.learner import Learner, Train
from agents.owner import DataOwner
from market.equilibrium.activation import ACTIVATIONS, damped
from market.equilibrium.solver import Equilibrium, certify
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, moved, upper_ends
from market.game.game import Game


class DataMarket(mesa.Model):
    """Data owners and a learner who play a game round by round until no one moves.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator or int
        Draws the order of moves and whatever behaviours draw.
    train : callable(epsilon), optional
        What the learner trains with once the market has ended.
    behaviour : str, Behaviour, or a list with one per owner
        How owners choose: a name in BEHAVIOURS or a behaviour of your own.
    activation : str
        A name in ACTIVATIONS: the order in which owners move within a round.
    start : (n_owners,), optional
        Where owners start, brought into their intervals; otherwise in the middle (of the logarithm).
    **rules
        Of `market.equilibrium.stopping.PlayRules`: damping, tol, patience, max_rounds.

    Attributes
    ----------
    epsilon, payments, surplus : (n_owners,)
    max_change : float, the largest move of the last round, as a part of the owner's epsilon; to join is a whole move
    owners : list of DataOwner
    learner : Learner

    Raises
    ------
    ValueError
        An unknown activation, a number out of range, or one column that does not fit the owners.
    TypeError
        No generator.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
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
        behaviour: str | Behaviour | Sequence[str | Behaviour] = "rational",
        activation: str = "sequential",
        start: np.ndarray | None = None,
        **rules: Any,
    ) -> None:
        if rng is None:
            raise TypeError("rng must be a numpy.random.Generator or a seed; found None")
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; found {activation!r}")
        super().__init__(rng=rng)
        draws = Draws(seed_of(self.rng))
        self._uniform = lru_cache(4)(lambda round_, m: draws.uniform("behaviour", round_, len(game.owners), m))
        self.game, self.activation, self.rules = game, activation, PlayRules(**rules)
        if start is not None and (np.shape(start) != (len(game.owners),) or np.isnan(start).any()):
            found = np.asarray(start, dtype=float).tolist()
            raise ValueError(f"start must be {len(game.owners)} numbers, one per owner; found {found}")
        self.epsilon = start_points(game, rng=self.rng, starts=1, start=start)[0]
        each: list[Any] = list(behaviour) if isinstance(behaviour, list | tuple) else [behaviour] * len(game.owners)
        if len(each) != len(game.owners):
            raise ValueError(f"behaviour must be one or {len(game.owners)} behaviours; found {len(each)}")
        self.owners = [DataOwner(self, number, make_behaviour(given)) for number, given in enumerate(each)]
        self.learner = Learner(self, train)
        self.open(game.policy)
        self.datacollector = mesa.DataCollector(
            model_reporters=MODEL_REPORTERS, agenttype_reporters={DataOwner: OWNER_REPORTERS}
        )
        self.datacollector.collect(self)

    def open(self, policy: Any) -> None:
        """Open the market under a policy, from where it stands; its rounds count from here."""
        self.game = replace(self.game, policy=policy)
        self.groups = self._grouped()
        self.minds: dict[Behaviour, Memory] = {
            behaviour: behaviour.begin(self.game.deviations(self.epsilon, numbers))
            for behaviour, numbers in self.groups.items()
        }
        silent = ACTIVATIONS[self.activation].patience(len(self.epsilon))
        patience = max(silent, *(one.patience for one in self.groups))
        width = upper_ends(self.game.owners)
        self.monitor = ConvergenceMonitor(self.rules, patience, width, self.epsilon, self._drawn())
        self.end, self.running, self.max_change = "", True, 0.0
        self._settle()

    def step(self) -> None:
        """One round: owners choose in the order of the activation, the learner forecasts and pays."""
        before, self.epsilon = self.epsilon, self.epsilon.copy()
        order = ACTIVATIONS[self.activation].order
        if order is None:
            self._move_at_once()
        else:
            for number in order(len(self.owners), self.rng):
                self.owners[number].move()
        self._remember()
        self._settle()
        self.max_change = float(moved(before, self.epsilon, self.monitor.width).max())
        self.end = self.monitor.update(before, self.epsilon, drawn=self._drawn())
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
        path = Path(self.epsilon.copy(), self.monitor.rounds, self.end)
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

    def seen(self, behaviour: Behaviour, numbers: np.ndarray) -> Seen:
        """What the owners of those ``numbers`` (n,), who share a behaviour, know in this round beside their moves."""
        rows = np.searchsorted(self.groups[behaviour], numbers)
        kept = {name: values[rows] for name, values in self.minds[behaviour].items()}
        now = self.monitor.rounds + 1
        return Seen(lambda m: self._uniform(now, m)[numbers], kept, now)

    def _remember(self) -> None:
        """Those who keep anything in mind take note of where the round has ended."""
        for behaviour in [one for one, mind in self.minds.items() if mind]:
            numbers = self.groups[behaviour]
            seen, moves = self.seen(behaviour, numbers), self.game.deviations(self.epsilon, numbers)
            self.minds[behaviour] = behaviour.remember(moves, seen)

    def _grouped(self) -> dict[Behaviour, np.ndarray]:
        """The numbers of the owners of each behaviour (k,), in order."""
        groups: dict[Behaviour, list[int]] = {}
        for owner in self.owners:
            groups.setdefault(owner.behaviour, []).append(owner.number)
        return {behaviour: np.array(numbers) for behaviour, numbers in groups.items()}

    def _move_at_once(self) -> None:
        """All owners choose at the same profile, those who behave alike in one search; who draws goes all the way."""
        before = self.epsilon.copy()
        for behaviour, numbers in self.groups.items():
            moves = self.game.deviations(before, numbers)
            chosen = chosen_by(behaviour, moves, self.seen(behaviour, numbers))
            self.epsilon[numbers] = chosen if behaviour.draws else damped(before[numbers], chosen, self.rules.damping)

    def _settle(self) -> None:
        self.fitness = self.learner.forecast()
        self.payments = self.learner.pay()
        self.surplus = self.payments + self.game.benefits(self.epsilon) - self.game.costs(self.epsilon)

    def _drawn(self) -> str:
        """What tells rounds apart in which other numbers were drawn, or other things kept in mind."""
        changes = any(one.draws or mind for one, mind in self.minds.items())
        return str(self.steps if changes else self.rng.bit_generator.state)


def seed_of(rng: np.random.Generator) -> int:
    """A seed that follows from a generator's state, which is left as it is."""
    return int.from_bytes(blake2b(str(rng.bit_generator.state).encode(), digest_size=8).digest(), "little")


# Functions, never names: for a name it does not know, Mesa's collector records None without a word.
MODEL_REPORTERS: dict[str, Callable[[DataMarket], float]] = {
    "round": lambda market: market.steps,
    "fitness": lambda market: market.fitness,
    "total_payments": lambda market: float(market.payments.sum()),
    "max_change": lambda market: market.max_change,
}
OWNER_REPORTERS = {name: attrgetter(name) for name in ("epsilon", "payment", "surplus")}
