"""What an error or a gain takes: the reverse of a forecast."""

from __future__ import annotations

import numpy as np
import pytest
from three_owners import SCENARIO, draw_rows

from dpmarket import need
from learning.errors import InputError
from scenarios.planning import prepare
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.studies.need import (
    Search,
    Target,
    chance_within,
    count_fewest,
    find_need,
    kept_loss,
    make_target,
    need_part,
)
from scenarios.studies.offers import solved


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("need")
    draw_rows(1880, 3).drop(columns="late").to_csv(place / "table.csv", index=False)
    (place / "market.toml").write_text(SCENARIO.replace('"as_is"', '"shuffled"'))
    return place


@pytest.fixture(scope="module")
def search(folder):
    scenario = load(folder / "market.toml")
    prepared = prepare(scenario)
    return Search(prepared.data.in_order(scenario), prepared, Target("fitness", 0.02, 0.8))


def reached_by_hand(search: Search, epsilon: np.ndarray, limit: float) -> float:
    """Share of the worlds below a limit, by counting."""
    losses = search.prepared.planner.predict(epsilon).trained
    return (sum(one <= limit for one in losses.tolist()) + 0.5) / (len(losses) + 1)


@pytest.mark.parametrize("chance", [0.5, 0.8, 0.9])
def test_the_loss_kept_to_is_the_least_with_its_chance(chance):
    losses = np.random.default_rng(1).gamma(2.0, size=61)
    kept = kept_loss(losses, chance)
    assert chance_within(losses, kept) >= chance
    assert chance_within(losses, np.nextafter(kept, 0)) < chance


def test_no_loss_is_kept_to_with_more_certainty_than_worlds_tell():
    losses = np.arange(10.0)
    assert np.isinf(kept_loss(losses, 0.99))
    assert kept_loss(np.full(5, 3.0), 0.99) == 3.0


def test_the_policy_is_answered_at_its_least_money(folder):
    found, _, ways = find_need(load(folder / "market.toml"), Target("fitness", 0.02, 0.8))
    policy = ways[0]
    assert policy.name == "policy" and found.reaches(policy)
    change = need_part(found, policy, ways)["ways"][0]["set"]
    again = load(folder / "market.toml", [change])
    game = market_game(again, *found.prepared)
    epsilon = solved(again, game)
    assert epsilon == pytest.approx(policy.epsilon)
    assert game.payments(epsilon).sum() == pytest.approx(policy.money)
    assert reached_by_hand(found, policy.epsilon, 0.02) == policy.chance >= 0.8
    less = load(folder / "market.toml", [f"policy.budget={0.97 * policy.money}"])
    there = solved(less, market_game(less, *found.prepared))
    assert reached_by_hand(found, there, 0.02) < 0.8


def test_an_equal_budget_is_the_least_of_a_fine_grid(search):
    way = search.least("equal", lambda point: (np.full(3, 0.1 * 50**point), 0.0))
    grid = 0.1 * 50 ** np.linspace(0, 1, 120)
    good = [e for e in grid if reached_by_hand(search, np.full(3, e), 0.02) >= 0.8]
    assert way.epsilon[0] == pytest.approx(good[0], rel=0.04)
    assert search.reaches(way)


def test_the_fewest_owners_are_the_fewest(search):
    order = np.argsort(-search.game.owners.sizes)
    count = count_fewest(search, order)
    most = search.game.owners.epsilon_max
    few = np.where(np.isin(np.arange(3), order[: count - 1]), most, 0.0)
    assert reached_by_hand(search, few, 0.02) < 0.8
    if count < 3:
        enough = np.where(np.isin(np.arange(3), order[:count]), most, 0.0)
        assert reached_by_hand(search, enough, 0.02) >= 0.8


def test_a_gain_is_after_paying(folder):
    found, _, ways = find_need(load(folder / "market.toml"), Target("gain", 50.0, 0.6))
    for way in (one for one in ways if found.reaches(one)):
        planner = found.prepared.planner
        gains = planner.predict(way.epsilon).gain(found.game.value, way.money)
        assert (np.sum(gains > 50.0) + 0.5) / (len(gains) + 1) == way.chance >= 0.6
    paid = found.game.costs(ways[-1].epsilon).sum()
    assert ways[-1].money == pytest.approx(paid)


def test_what_cannot_be_reached_is_refused_with_the_best(folder):
    with pytest.raises(InputError) as refused:
        find_need(load(folder / "market.toml"), Target("error", 5.0))
    said = str(refused.value)
    assert said.startswith("--error: must be at least") and "\n" not in said
    best = float(said.split("at least ")[1].split(":")[0])
    found, alone, _ = find_need(load(folder / "market.toml"), Target("error", best + 0.02))
    assert found.reaches(alone) or alone.chance < 0.9


def test_nothing_is_bought_that_is_there(folder):
    found, alone, ways = find_need(load(folder / "market.toml"), Target("error", 60.0))
    assert ways == [] and alone.chance >= 0.9
    said = need(folder / "market.toml", error=60.0)
    assert said.answer.startswith("The learner need not buy anything")
    assert said.ways.empty


def test_a_chance_alone_asks_for_any_gain():
    assert make_target(chance=0.8) == Target("gain", 0.0, 0.8)
    assert Target("gain", 0.0).limit < 0


WRONG = [
    ({}, "need"),
    ({"error": 1.0, "gain": 2.0}, "need"),
    ({"error": 0.0}, "--error"),
    ({"fitness": float("nan")}, "--fitness"),
    ({"gain": float("inf")}, "--gain"),
    ({"error": 1.0, "chance": 1.0}, "--chance"),
    ({"chance": 0.0}, "--chance"),
]


@pytest.mark.parametrize(("given", "key"), WRONG)
def test_targets_out_of_range_are_refused(given, key):
    with pytest.raises(InputError) as refused:
        make_target(**given)
    assert refused.value.key == key


def test_the_command_answers_first(folder, dpmarket):
    status, out, _ = dpmarket(
        "need", str(folder / "market.toml"), "--fitness", "0.02", "--chance", "0.8"
    )
    assert status == 0
    first = out.splitlines()[0]
    assert first.startswith("To reach an error that is at most") and "North" in first
    assert "run it: dpmarket run" in out


def test_a_market_of_sizes_alone_is_asked_too(folder):
    draw_rows(80, 5).drop(columns="late").to_csv(folder / "own.csv", index=False)
    changes = ["owners.records={A=900, B=600, C=300}", f"data.path={folder / 'own.csv'}"]
    scenario = load(
        folder / "market.toml", [*changes, "owners.cost.price=30", "data.public_rows=all"]
    )
    _, _, ways = find_need(scenario, Target("fitness", 0.005, 0.6))
    assert ways
