"""Baselines: the one change that each makes to a market's training, and its economics."""

from dataclasses import replace

import numpy as np
import pytest
from populations import bounded_coordinates, generated

from learning.data.owner_data import OwnerData
from learning.errors import InputError
from learning.losses.losses import LOSSES
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Ledger
from learning.randomness import Streams
from learning.training.baselines import BASELINES
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task

SIZES = (300, 900, 1800)
ROUNDING = 1e-13  # between a product of 60 runs and of one: the library may sum in another order
PLAN = Plan("averaged", "last", 12, 0.2)


@pytest.fixture(scope="module")
def held():
    x, y = generated(sum(SIZES), 4, np.random.default_rng(5))
    edges = np.cumsum([0, *SIZES])
    return [
        OwnerData(name, x[a:b], y[a:b])
        for name, a, b in zip("abc", edges[:-1], edges[1:], strict=True)
    ]


@pytest.fixture(scope="module")
def market(held):
    x, y = (np.concatenate([getattr(one, part) for one in held]) for part in "xy")
    coordinates = bounded_coordinates(x, y)
    records = [coordinates.oracle(one.x, one.y) for one in held]
    bound = coordinates.gradient_bound
    owners = make_clients("abc", records, [1.0, 2.0, 3.0], Laplace(), bound, PLAN.horizon)
    return Task(owners, coordinates, PLAN, Laplace(), 60, Streams(1, "noise"))


def test_without_noise_all_runs_are_one(market):
    runs = train(BASELINES["nonprivate"].change(market)).theta
    assert runs == pytest.approx(np.tile(runs[:1], (60, 1)), rel=ROUNDING, abs=ROUNDING)


def test_an_owner_alone_has_the_best_model_on_its_own_records(held):
    for owner, alone in zip(
        held, LOSSES["squared"].fit_each([(one.x, one.y) for one in held], 0.0), strict=True
    ):
        best = np.linalg.lstsq(owner.x, owner.y, rcond=None)[0]
        assert alone == pytest.approx(best, rel=1e-9)


def test_central_noise_is_that_of_all_records_in_one_hand(market):
    (one,) = BASELINES["central"].change(market).owners
    bound = market.coordinates.gradient_bound
    assert one.records.n_records == sum(SIZES) and one.epsilon == 2.0
    assert one.scale == pytest.approx(2 * bound * 12 / (sum(SIZES) * 2.0))
    records = [owner.records for owner in market.owners]
    equal = make_clients("abc", records, [2.0] * 3, Laplace(), bound, 12)
    power = sum((s / sum(SIZES)) ** 2 * o.scale**2 for s, o in zip(SIZES, equal, strict=True))
    assert power == pytest.approx(3 * one.scale**2)
    assert np.isfinite(train(BASELINES["central"].change(market)).theta).all()


def test_equal_weights_change_no_noise_but_a_papers_own(market):
    plain = BASELINES["plain"].change(market)
    assert plain.owners == market.owners and (plain.shares == 1).all()
    assert BASELINES["weighted"].change(market).shares == pytest.approx(
        np.array(SIZES) / sum(SIZES)
    )


def test_copies_spend_what_was_sold_over_all_of_them(market):
    """One ledger holds every copy: each owner answers the two others, and nothing is left for a third."""
    ledger = Ledger()
    copies = BASELINES["copies"].change(market)
    trained = {name: train(copy, ledger) for name, copy in copies.items()}
    bound = market.coordinates.gradient_bound
    for owner in market.owners:
        account = ledger.account(owner.name)
        answers = 2 * len(PLAN.steps)
        assert account.answered == answers and account.spent <= owner.epsilon + 1e-12
        assert account.spent == pytest.approx(owner.epsilon * answers / (2 * PLAN.horizon))
        scale = 2 * bound * 2 * PLAN.horizon / (owner.records.n_records * owner.epsilon)
        asked = [one for copy in copies.values() for one in copy.owners if one.name == owner.name]
        assert len(asked) == 2 and all(one.scale == pytest.approx(scale) for one in asked)
        assert copies[owner.name].owners["abc".index(owner.name)].silent
    assert len({one.theta.tobytes() for one in trained.values()}) == 3


def test_a_copy_is_the_exact_law_without_the_noise_of_its_owner(market):
    """Second route: spread over S is one constant for the market and for each copy, whose S is by hand."""
    often = replace(market, runs=4000)
    trainings = [often, *BASELINES["copies"].change(often).values()]
    shares = np.array(SIZES) / sum(SIZES)
    bound = market.coordinates.gradient_bound
    still = train(BASELINES["nonprivate"].change(market)).theta[0]
    spread = []
    for left_out, one in zip((None, 0, 1, 2), trainings, strict=True):
        answers = PLAN.horizon * (1 if left_out is None else 2)
        scales = 2 * bound * answers / (np.array(SIZES) * np.array([1.0, 2.0, 3.0]))
        power = 2 * (shares * scales) ** 2
        power = power.sum() if left_out is None else np.delete(power, left_out).sum()
        found = train(one).theta - still
        spread.append(float((found**2).sum(axis=1).mean() / power))
    assert spread == pytest.approx([np.mean(spread)] * 4, rel=0.06)


def test_copies_that_would_share_unevenly_are_refused(market):
    growing = replace(market, plan=replace(PLAN, growth=2.0))
    with pytest.raises(InputError, match="learning.growth: must be 1 with .*; found 2"):
        BASELINES["copies"].change(growing)
