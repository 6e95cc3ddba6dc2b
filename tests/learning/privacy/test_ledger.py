"""The ledger: every answer counted, the one that would overspend refused before any noise is drawn."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from populations import bounded_coordinates, generated

from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Account, BudgetExceeded, Entry, Ledger
from learning.randomness import Streams
from learning.training.engine import Client, make_clients, train, untrained
from learning.training.plan import Plan
from learning.training.task import Task

NAMES = ("a", "b", "c")


class Counting(Laplace):
    """Laplace noise that counts how often it is drawn."""

    drawn: ClassVar[list] = []

    def draw(self, scale, shape, *, rng):
        self.drawn.append(shape)
        return super().draw(scale, shape, rng=rng)


@pytest.fixture
def market():
    x, y = generated(260, 4, np.random.default_rng(0))
    coordinates = bounded_coordinates(x[-60:], y[-60:])
    return coordinates, [coordinates.statistics(x[i:200:3], y[i:200:3]) for i in range(3)]


def training(market, mechanism, *, horizon=4, asked=None, epsilon=(1.0, 2.0, 3.0), runs=3, ledger=None, norm=1):
    coordinates, statistics = market
    coordinates = replace(coordinates, norm=norm)
    owners = make_clients(NAMES, statistics, epsilon, mechanism, coordinates.gradient_bound, horizon)
    plan = Plan("averaged", "last", asked or horizon, 0.1)
    return train(Task(owners, coordinates, plan, mechanism, runs=runs, streams=Streams(0, "noise")), ledger)


@pytest.mark.parametrize("runs", [1, 50])
def test_training_charges_its_rounds_once_however_often_it_is_simulated(market, runs):
    ledger = training(market, Laplace(), runs=runs).ledger
    assert [ledger[n].answered for n in NAMES] == [3, 3, 3]
    assert [ledger[n].spent for n in NAMES] == pytest.approx([0.75, 1.5, 2.25], rel=1e-15)
    assert [ledger[n].remaining for n in NAMES] == pytest.approx([0.25, 0.5, 0.75], rel=1e-15)
    assert ledger.entries == [Entry(n, "training", 1, 3) for n in NAMES]


def test_a_second_training_overspends_and_is_refused_before_any_noise(market):
    ledger = training(market, Counting()).ledger
    before, entries = dict(ledger.accounts), list(ledger.entries)
    Counting.drawn.clear()
    with pytest.raises(BudgetExceeded, match=r"a has answered 3 of the 4 queries its budget of 1 covers: 3 more"):
        training(market, Counting(), ledger=ledger)
    assert Counting.drawn == [] and ledger.accounts == before and ledger.entries == entries


def test_one_owner_without_budget_keeps_all_from_being_charged(market):
    """The last of three cannot answer: the first two, asked before it, are not charged either."""
    ledger = Ledger()
    for name, budget in zip(NAMES, (1.0, 2.0, 3.0), strict=True):
        ledger.open(name, budget, 4)
    ledger.charge("c", "before", 2)
    with pytest.raises(BudgetExceeded, match="c has answered 2"):
        training(market, Laplace(), ledger=ledger)
    assert [ledger[n].answered for n in NAMES] == [0, 0, 2]


def test_what_is_left_may_still_be_asked(market):
    """T = 4 covers four answers, training asks three: one more fits, and it spends the budget exactly."""
    ledger = training(market, Laplace()).ledger
    training(market, Laplace(), asked=2, ledger=ledger)
    assert [ledger[n].remaining for n in NAMES] == [0, 0, 0]
    assert [ledger[n].spent for n in NAMES] == [1.0, 2.0, 3.0]
    with pytest.raises(BudgetExceeded, match="1 more .* is refused"):
        ledger.charge("b", "more")


@pytest.mark.parametrize("accounting", ["zcdp", "pld"])
def test_where_budgets_do_not_add_answers_are_counted(market, accounting):
    mechanism = Gaussian(1e-6, accounting)
    ledger = training(market, mechanism, norm=2).ledger
    assert {a.unit for a in ledger.accounts.values()} == {"answers"}
    assert [(row["spent"], row["remaining"]) for row in ledger.rows()] == [(3.0, 1.0)] * 3
    with pytest.raises(BudgetExceeded):
        training(market, mechanism, norm=2, ledger=ledger)


def test_no_answer_is_counted_at_two_prices(market):
    ledger = training(market, Laplace()).ledger
    for change in ({"horizon": 8}, {"epsilon": (1.5, 2.0, 3.0)}):
        with pytest.raises(ValueError, match="priced"):
            training(market, Laplace(), ledger=ledger, **change)


def test_who_adds_no_noise_is_promised_nothing_and_who_shares_nothing_has_no_account(market):
    ledger = training(market, Laplace(), epsilon=(0.0, np.inf, 1.0)).ledger
    assert set(ledger.accounts) == {"b", "c"}
    assert ledger["b"].spent == np.inf and ledger["b"].answers_remaining == np.inf and not ledger["b"].limited
    unknown = Ledger()
    Client("d", market[1][0], 0.0, 4).open_account(unknown, Gaussian(1e-6))
    Client("e", market[1][0], 0.1, 4).open_account(unknown, Laplace())  # noise of a budget that nobody stated
    assert not unknown["d"].limited and (unknown["e"].unit, unknown["e"].answers_remaining) == ("answers", 4)
    training(market, Laplace(), epsilon=(0.0, np.inf, 0.0), ledger=ledger)
    assert ledger["b"].answered == 6 and ledger["c"].answered == 3


def test_no_training_spends_nothing():
    trained = untrained(np.zeros(3), Plan("averaged", "last", 1, 0.0), runs=2)
    assert trained.ledger.accounts == {} and trained.ledger.entries == []


def test_spent_never_passes_the_budget_in_the_last_bit():
    """T answers of epsilon/T, whatever T: exactly the budget, as T additions of a rounded epsilon/T are not."""
    assert 0.1 * 3 / 3 != 0.1 and 1 / 49 * 49 != 1
    for epsilon, horizon in ((0.1, 3), (1.0, 49), (1.0, 10), (0.7, 1000)):
        ledger = Ledger()
        ledger.open("a", epsilon, horizon)
        for _ in range(horizon):
            ledger.charge("a", "round")
        assert ledger["a"].spent == epsilon and ledger["a"].remaining == 0.0
        assert ledger.entries == [Entry("a", "round", 1, horizon)]


@pytest.mark.parametrize(("epsilon", "horizon"), [(0.0, 3), (-1.0, 3), (np.nan, 3), (1.0, 0)])
def test_an_account_needs_a_budget(epsilon, horizon):
    with pytest.raises(ValueError, match="a: an account needs"):
        Account("a", epsilon, horizon)


def test_a_charge_is_never_taken_back():
    ledger = Ledger()
    ledger.open("a", 1.0, 5)
    for answers in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            ledger.charge("a", "refund", answers)
    assert ledger["a"].answered == 0
