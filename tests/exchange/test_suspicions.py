"""Suspicions: owners who do not answer as sold are told by name, honest ones hardly ever, whatever their records are."""

from itertools import product

import numpy as np
import pytest
from exchanges import small_contract, training

from exchange.learner import suspicions as module
from exchange.learner.collector import noise_sold
from exchange.learner.suspicions import find_suspicions

VARIANTS = [
    {"rounds": 3},
    {"rounds": 3, "noise": "gaussian"},
    {"rounds": 3, "noise": "l2"},
    {"rounds": 4, "noise": "gaussian", "clipping": "record", "growth": 1.5},
]


def exchange(contract, rng, gradients, silent=()):
    """Answers of all rounds around a gradient of each owner; of silent ones without noise."""
    terms = noise_sold(contract)
    return [
        {
            name: gradients[name]
            + (name not in silent) * terms.mechanism.draw(terms.scales[name][k], (4,), rng=rng)
            for name in contract.names
        }
        for k in range(contract.rounds)
    ]


def of_own_records(contract):
    """Every owner's gradient at the start."""
    return {
        owner.name: owner.records.gradient(np.zeros((1, 4)))[0]
        for owner in training(contract).owners
    }


@pytest.mark.parametrize(
    ("longest", "given"),
    [
        pytest.param(longest, given, marks=[] if place in (0, 3, 6) else pytest.mark.exchange)
        for place, (longest, given) in enumerate(product([False, True], VARIANTS))
    ],
)
def test_honest_owners_are_suspected_as_rarely_as_is_said(given, longest, monkeypatch):
    """Of 80 exchanges at a chance of 20 %, by kind; gradients of 0, and the longest that there are, are worst."""
    monkeypatch.setattr(module, "CHANCE", 0.2)
    contract = small_contract(**given)
    rng = np.random.default_rng(1)
    found = []
    gradient = np.array([noise_sold(contract).longest if longest else 0.0, 0, 0, 0])
    for _ in range(80):
        rounds = exchange(contract, rng, dict.fromkeys(contract.names, gradient))
        found.append({told.kind for told in find_suspicions(rounds, noise_sold(contract))})
    for kind in ("long", "near zero", "alike", "steady"):
        assert sum(kind in one for one in found) <= 80 * 0.2 + 3 * np.sqrt(80 * 0.2), kind
    if not longest:  # noise alone is as near to 0 as is said
        assert sum("near zero" in one for one in found) >= 5


@pytest.mark.parametrize("given", VARIANTS)
def test_an_owner_without_noise_is_told_where_its_gradient_hardly_moves(given):
    contract = small_contract(**given)
    rng = np.random.default_rng(2)
    rounds = exchange(contract, rng, of_own_records(contract), silent=["Beta"])
    told = [one for one in find_suspicions(rounds, noise_sold(contract)) if one.kind == "steady"]
    assert {one.owner for one in told} == {"Beta"} and told[-1].round == contract.rounds
    assert "varies far less from those before than the noise sold (a chance of" in str(told[0])


def test_an_owner_without_noise_whose_gradient_moves_more_than_noise_is_not_told():
    contract = small_contract(3)
    rng = np.random.default_rng(3)
    rounds = exchange(contract, rng, of_own_records(contract), silent=["Beta"])
    reach = noise_sold(contract).scales["Beta"][0]
    moved = [one | {"Beta": one["Beta"] + 3 * k * reach} for k, one in enumerate(rounds)]
    assert not find_suspicions(moved, noise_sold(contract))


@pytest.mark.parametrize("given", VARIANTS)
def test_another_owners_answer_is_told_of_both_in_the_same_round_and_later(given):
    contract = small_contract(**given)
    rng = np.random.default_rng(4)
    honest = exchange(contract, rng, of_own_records(contract))
    assert not find_suspicions(honest, noise_sold(contract))
    for later in (0, 1):
        for shift in (0.0, 1e-4):  # a copy that was touched up is one too
            rounds = [dict(one) for one in honest]
            rounds[later]["Gamma"] = honest[0]["Alpha"] * (1 + shift)
            told = find_suspicions(rounds, noise_sold(contract))
            assert {(one.owner, one.round, one.kind) for one in told} == {
                ("Gamma", later + 1, "alike"),
                ("Alpha", 1, "alike"),
            }
    assert "hardly differs from Gamma's to round 2" in str(told[-1])


def test_the_same_numbers_in_two_rounds_are_told():
    contract = small_contract(3)
    rng = np.random.default_rng(5)
    rounds = exchange(contract, rng, of_own_records(contract))
    rounds[2]["Alpha"] = rounds[0]["Alpha"]
    told = find_suspicions(rounds, noise_sold(contract))
    assert {(one.owner, one.round, one.kind) for one in told} == {("Alpha", 3, "alike")}


@pytest.mark.parametrize("given", VARIANTS)
def test_numbers_that_no_noise_explains_and_numbers_of_nothing_are_told(given):
    contract = small_contract(**given)
    rng = np.random.default_rng(6)
    terms = noise_sold(contract)
    rounds = exchange(contract, rng, of_own_records(contract))
    rounds[1]["Alpha"] = np.zeros(4)
    rounds[1]["Beta"] = np.full(4, terms.longest + 40 * terms.scales["Beta"][1])
    told = [one for one in find_suspicions(rounds, terms) if one.round == 2]
    assert {(one.owner, one.kind) for one in told} == {("Alpha", "near zero"), ("Beta", "long")}


def test_suspicions_do_not_hang_on_the_unit_of_the_target():
    contract = small_contract(3)
    rng = np.random.default_rng(7)
    rounds = exchange(contract, rng, of_own_records(contract), silent=["Beta"])
    terms = noise_sold(contract)
    scaled = module.Sold(
        terms.mechanism, 1e6 * terms.longest, {n: 1e6 * s for n, s in terms.scales.items()}
    )
    found = find_suspicions([{n: 1e6 * v for n, v in one.items()} for one in rounds], scaled)
    assert [(one.owner, one.kind) for one in found] == [
        (one.owner, one.kind) for one in find_suspicions(rounds, terms)
    ]
