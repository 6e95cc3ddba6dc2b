"""The market as a Mesa user meets it: seeds, frames, batch_run, SolaraViz, memory; and where its owners settle."""

from __future__ import annotations

import gc
import hashlib
import inspect
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import mesa
import numpy as np
import pandas as pd
import pytest
from markets import market
from mesa.batchrunner import batch_run
from sizes import sized
from toys import LinearLaw

from agents import DataMarket, Learner
from agents.traders import DataOwner, MarketCollector
from market.costs.functions import Linear, Quadratic
from market.equilibrium.activation import ACTIVATIONS
from market.equilibrium.solver import solve
from market.game.game import Game
from market.policies.base import Policy
from market.policies.contributions import Marginal
from market.policies.posted import Posted
from market.policies.proportional import Proportional

GAME = market(Linear([1.0, 1.2, 1.5, 4.0]), Proportional(10.0, "epsilon"), 4)


# Where owners settle


def random_game(seed: int) -> Game:
    """Two or three owners of many prices and sizes under one of five policies; concave, so that it has one equilibrium."""
    draw = np.random.default_rng(seed)
    n, (cost, policy) = int(draw.integers(2, 4)), UNIQUE[seed % len(UNIQUE)]
    return market(
        cost(draw.uniform(0.3, 3, n)), policy, n, low=0.05, high=10.0, sizes=draw.uniform(0.5, 2, n),
        forecast=LinearLaw(1.0, 0.1, 0.02), value=20.0,
    )  # fmt: skip


UNIQUE = [
    (Quadratic, Proportional(9.0, "epsilon")),
    (Linear, Proportional(9.0, "records_epsilon")),
    (Quadratic, Posted(2.0)),
    (Quadratic, Marginal(0.6)),
    (Linear, Marginal(1.0)),
]


@pytest.mark.slow
def test_rational_agents_settle_where_the_direct_solver_does_in_random_markets():
    """Every order with every policy, in `make deep` four times.

    A contest under linear costs may send agents round in a cycle: said so.
    """
    rested = 0
    games = sized(12, 100)
    for seed in range(games):
        game = random_game(seed)
        activation = list(ACTIVATIONS)[seed // 5 % len(ACTIVATIONS)]
        direct = solve(game, rng=np.random.default_rng(1), starts=3)
        outcome = DataMarket(game, seed=seed, activation=activation, tol=1e-8, max_rounds=300).run()
        rested += outcome.agents == "rest"
        assert (
            direct.converged
            and direct.reason != "several"
            and outcome.converged == (outcome.agents == "rest")
        )
        if outcome.converged:
            np.testing.assert_allclose(outcome.epsilon, direct.epsilon, rtol=0, atol=1e-6)
        else:
            assert UNIQUE[seed % len(UNIQUE)][0] is Linear and outcome.reason in (
                "cycle found",
                "not converged",
            )
    assert rested >= 0.9 * games


# Seeds and draws


def test_seed_and_rng_are_one_thing_and_without_either_a_seed_is_drawn_and_told():
    one, two = (
        DataMarket(GAME, activation="random", **given) for given in ({"seed": 3}, {"rng": 3})
    )
    assert np.array_equal(one.run().epsilon, two.run().epsilon) and one.draws == two.draws
    free = DataMarket(GAME, activation="random")
    again = DataMarket(GAME, activation="random", seed=free.draws.seed)
    free.run(), again.run()
    pd.testing.assert_frame_equal(frame(free), frame(again))
    with pytest.raises(ValueError, match="seed or rng, not both"):
        DataMarket(GAME, seed=1, rng=1)
    with pytest.raises(TypeError, match="seed must be a whole number"):
        DataMarket(GAME, seed="one")


def frame(model: DataMarket) -> pd.DataFrame:
    return model.datacollector.get_agent_vars_dataframe()


BYTES = """
import hashlib, sys
sys.path.insert(0, "tests")
from agents import BEHAVIOURS
from agents import DataMarket
from market.costs.functions import Linear
from market.policies.proportional import Proportional
from markets import market
game = market(Linear([1.0, 1.2, 1.5, 4.0]), Proportional(10.0, "epsilon"), 4)
for activation in ("random", "poisson", "partial"):
    model = DataMarket(game, seed=5, activation=activation, behaviour=["rational", "inertial"] * 2, max_rounds=20)
    model.run()
    table = model.datacollector.get_agent_vars_dataframe().drop(columns="owner")
    print(hashlib.sha256(table.to_numpy(dtype=float).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_another_process():
    root = Path(__file__).parents[2]
    told = [
        subprocess.run(
            [sys.executable, "-c", BYTES], cwd=root, check=True, capture_output=True, text=True
        ).stdout
    ]
    model = DataMarket(
        GAME, seed=5, activation="poisson", behaviour=["rational", "inertial"] * 2, max_rounds=20
    )
    model.run()
    here = hashlib.sha256(
        frame(model).drop(columns="owner").to_numpy(dtype=float).tobytes()
    ).hexdigest()
    assert told[0].split()[1] == here and len(set(told[0].split())) == 3


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_owner_at_the_end_changes_nobodys_draws(activation):
    """Posted prices: nobody depends on others, so that whoever was there before moves as before, round by round."""
    costs = np.array([1.0, 2.0, 4.0, 3.0, 5.0])
    paths = []
    for n in (4, 5):
        game = market(Quadratic(costs[:n]), Posted(6.0), n)
        behaviour = ["rational", "inertial", "inertial", "rational", "inertial"][:n]
        model = DataMarket(
            game, seed=9, activation=activation, behaviour=behaviour, max_rounds=12, patience=12
        )
        model.run()
        paths.append(np.array([row[1][:4] for row in model.trajectory()]))
    np.testing.assert_array_equal(*paths)
    assert len(np.unique(paths[0][:, 1])) > 1


def test_partial_moves_the_part_of_the_owners_that_is_asked_for():
    game = market(Quadratic(np.full(2000, 2.0)), Posted(6.0), 2000)
    for part in (0.2, 0.7):
        model = DataMarket(
            game, seed=1, activation="partial", part=part, damping=1.0, start=np.full(2000, 1.0)
        )
        model.step()
        assert np.mean(model.epsilon == 3.0) == pytest.approx(
            part, abs=0.04
        )  # four standard deviations
        assert set(model.epsilon) == {1.0, 3.0}


# What is recorded


def test_frames_have_mesas_shape_and_no_column_holds_none():
    model = DataMarket(
        GAME, seed=1, behaviour=["rational", "inertial", "rational", "rational"], max_rounds=6
    )
    model.run()
    rounds = model.steps
    collector = model.datacollector
    assert isinstance(collector, mesa.DataCollector) and rounds == 6
    owners = frame(model)
    learner = collector.get_agenttype_vars_dataframe(Learner)
    markets = None
    markets = collector.get_model_vars_dataframe()
    assert list(owners) == ["round", "owner", "epsilon", "payment", "cost", "surplus", "regret"]
    assert list(learner) == ["round", "price", "forecast", "spend"]
    assert list(markets) == ["round", "fitness", "total_payments", "max_change"]
    pd.testing.assert_frame_equal(owners, collector.get_agenttype_vars_dataframe(DataOwner))
    assert (
        owners.index.names == ["Step", "AgentID"] == learner.index.names
        and len(markets) == rounds + 1
    )
    assert owners.index.tolist() == list(
        product(range(rounds + 1), [one.unique_id for one in model.owners])
    )
    assert learner.index.tolist() == [(k, model.learner.unique_id) for k in range(rounds + 1)]
    for table in (owners.drop(columns="owner"), learner, markets):
        assert np.isfinite(table.to_numpy(dtype=float)).all() and not table.isna().any().any()
    np.testing.assert_allclose(owners["surplus"], owners["payment"] - owners["cost"], atol=1e-12)
    last = owners.loc[rounds]
    assert (
        last["owner"].tolist() == list(GAME.owners.names)
        and last["epsilon"].tolist() == model.epsilon.tolist()
    )
    np.testing.assert_allclose(last["regret"], GAME.regret(model.epsilon), atol=1e-12)
    assert (
        learner["spend"].tolist() == markets["total_payments"].tolist()
        and (learner["price"] == 10.0).all()
    )


@dataclass(frozen=True)
class Unpaid(Policy):
    """Asks, and pays nothing: it has no price."""

    def payments(self, epsilon, deviations):
        return np.zeros_like(epsilon)


def test_a_learner_that_once_had_no_price_has_no_column_of_it():
    model = DataMarket(replace(GAME, policy=Unpaid()), seed=1)
    model.learner.post(Posted(2.0))
    model.step()
    table = model.datacollector.get_agenttype_vars_dataframe(Learner)
    assert list(table) == ["round", "forecast", "spend"] and not table.isna().any().any()


def test_a_reporter_of_ones_own_is_a_column_and_may_not_be_silent():
    model = DataMarket(GAME, seed=1)
    model.datacollector = MarketCollector(
        {"sharing": lambda market: int((market.epsilon > 0).sum())}
    )
    model.step()
    assert model.datacollector.get_model_vars_dataframe()["sharing"].tolist() == [3]
    model.datacollector = MarketCollector({"sharing": lambda market: None})
    with pytest.raises(
        ValueError, match="model reporter 'sharing' must give a value; found None in round 2"
    ):
        model.step()
    with pytest.warns(UserWarning, match="No agent-type reporters"):
        assert model.datacollector.get_agenttype_vars_dataframe(mesa.Agent).empty


def test_agents_are_mesas_and_show_their_rows():
    model = DataMarket(GAME, seed=1)
    assert len(model.agents) == 5 and list(model.agents_by_type[DataOwner]) == model.owners
    model.step()
    assert model.agents_by_type[DataOwner].get("epsilon") == model.epsilon.tolist()
    owner = model.owners[0]
    assert owner.cost == pytest.approx(GAME.costs(model.epsilon)[0])
    before = model.epsilon.copy()
    owner.move()
    assert owner.epsilon == GAME.best_responses(before)[0] and np.array_equal(
        model.epsilon[1:], before[1:]
    )


# Mesa's own tools


class Insurers(DataMarket):
    """Three owners under a budget that a page or a batch varies."""

    def __init__(
        self, budget: float = 12.0, activation: str = "sequential", seed: int | None = None
    ) -> None:
        game = market(Linear([1.0, 2.0, 3.0]), Proportional(budget, "epsilon"), 3)
        super().__init__(game, activation=activation, seed=seed)


def test_batch_run_varies_a_market():
    """Mesa's batch_run tells the round before the last; at rest it is the same."""
    rows = pd.DataFrame(
        batch_run(Insurers, {"budget": [6.0, 12.0], "seed": range(2)}, display_progress=False)
    )
    assert len(rows) == 2 * 2 * 3 and not rows.isna().any().any()
    for budget, each in rows.groupby("budget"):
        found = each.sort_values("AgentID")["epsilon"].to_numpy().reshape(3, 2)
        np.testing.assert_allclose(
            found, np.outer([2 / 9, 1 / 9, 0.0], [budget, budget]), atol=1e-6
        )
    path = pd.DataFrame(
        batch_run(Insurers, {"seed": 1}, data_collection_period=1, display_progress=False)
    )
    model = Insurers(seed=1)
    model.run()
    known = frame(model).reset_index().query("Step < @model.steps")
    np.testing.assert_array_equal(path["epsilon"], known["epsilon"])
    assert path["Step"].tolist() == known["Step"].tolist() == path["round"].tolist()
    assert (
        pd.DataFrame(batch_run(DataMarket, {"game": GAME}, display_progress=False))["regret"].max()
        < 1e-6
    )


@pytest.mark.parametrize("model", [DataMarket, Insurers])
def test_solara_viz_can_make_the_model_again(model):
    """What `mesa.visualization.solara_viz._check_model_params` asks of ``__init__``, from its source (3.3)."""
    given = {"game": GAME} if model is DataMarket else {"budget": 9.0, "seed": "42"}
    parameters = inspect.signature(model.__init__).parameters
    assert not [one for one in parameters.values() if one.kind == inspect.Parameter.VAR_POSITIONAL]
    missing = [
        name
        for name, one in parameters.items()
        if one.default is inspect.Parameter.empty and name not in given
    ]
    assert set(missing) <= {"self", "kwargs"}
    made = model(**given)
    made.step()
    again = made.__class__(**given)  # what its reset button does
    assert again.steps == 0 and again.running and len(again.agents) == len(made.agents)


@pytest.mark.slow
def test_five_hundred_models_built_and_dropped_leave_memory_flat():
    def live() -> int:
        gc.collect()
        return sum(isinstance(thing, (DataMarket, DataOwner)) for thing in gc.get_objects())

    def build(count: int) -> int:
        for seed in range(count):
            DataMarket(GAME, seed=seed, behaviour=["inertial", "rational"] * 2)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    DataMarket(GAME, seed=1).step()
    before = live()
    tracemalloc.start()
    try:
        first = build(50)
        last = build(500)
    finally:
        tracemalloc.stop()
    assert (
        live() == before and last - first < 100_000
    )  # bytes, of 500; one alone takes about 20,000
