"""The ledger: every answer counted, the one that would overspend refused before any noise is drawn."""

import threading
import time
from dataclasses import fields, replace
from typing import ClassVar

import numpy as np
import pytest
from populations import bounded_coordinates, generated

from learning.errors import InputError
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Budget, BudgetExceeded, Entry, Ledger
from learning.randomness import Streams
from learning.training.client import Client, make_clients
from learning.training.engine import train, untrained_result
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


def training(
    market,
    mechanism,
    *,
    horizon=4,
    asked=None,
    epsilon=(1.0, 2.0, 3.0),
    runs=3,
    ledger=None,
    norm=1,
):
    coordinates, statistics = market
    coordinates = replace(coordinates, norm=norm)
    owners = make_clients(
        NAMES, statistics, epsilon, mechanism, coordinates.gradient_bound, horizon
    )
    plan = Plan("averaged", "last", asked or horizon, 0.1)
    return train(
        Task(owners, coordinates, plan, mechanism, runs=runs, streams=Streams(0, "noise")), ledger
    )


def answered(ledger, names=NAMES):
    return [ledger.account(name).answered for name in names]


@pytest.mark.parametrize("runs", [1, 50])
def test_training_charges_its_rounds_once_however_often_it_is_simulated(market, runs):
    ledger = training(market, Laplace(), runs=runs).ledger
    assert answered(ledger) == [3, 3, 3]
    assert [a.spent for a in ledger.accounts] == pytest.approx([0.75, 1.5, 2.25], rel=1e-15)
    assert [a.remaining for a in ledger.accounts] == pytest.approx([0.25, 0.5, 0.75], rel=1e-15)
    assert [a.entries for a in ledger.accounts] == [(Entry("training", 1, 3),)] * 3
    assert [one.budget.owner for one in ledger.accounts] == list(NAMES)


def test_a_second_training_overspends_and_is_refused_before_any_noise(market):
    ledger = training(market, Counting()).ledger
    before = ledger.accounts
    Counting.drawn.clear()
    with pytest.raises(
        BudgetExceeded, match=r"a has answered 3 of the 4 queries its budget of 1 covers: 3 more"
    ):
        training(market, Counting(), ledger=ledger)
    assert Counting.drawn == [] and ledger.accounts == before


def test_one_owner_without_budget_keeps_all_from_being_charged(market):
    """The last of three cannot answer: the first two, asked before it, are not charged either."""
    ledger = training(market, Laplace(), asked=2).ledger
    ledger.charge(ledger.account("c").budget, "elsewhere", 2)
    with pytest.raises(BudgetExceeded, match="c has answered 3"):
        training(market, Laplace(), asked=3, ledger=ledger)
    assert answered(ledger) == [1, 1, 3]


def test_what_is_left_may_still_be_asked(market):
    """T = 4 covers four answers, training asks three: one more fits, and it spends the budget exactly."""
    ledger = training(market, Laplace()).ledger
    training(market, Laplace(), asked=2, ledger=ledger)
    assert [(a.remaining, a.spent) for a in ledger.accounts] == [(0, 1.0), (0, 2.0), (0, 3.0)]
    with pytest.raises(BudgetExceeded, match="1 more .* is refused"):
        ledger.charge(ledger.account("b").budget, "more")


@pytest.mark.parametrize("accounting", ["zcdp", "pld"])
def test_where_budgets_do_not_add_answers_are_counted(market, accounting):
    mechanism = Gaussian(1e-6, accounting)
    ledger = training(market, mechanism, norm=2).ledger
    assert [(one.budget.counted, one.spent, one.remaining) for one in ledger.accounts] == [
        ("answers", 3.0, 1.0)
    ] * 3
    with pytest.raises(BudgetExceeded):
        training(market, mechanism, norm=2, ledger=ledger)


def test_no_answer_is_counted_at_two_prices(market):
    """Another horizon, budget, mechanism, delta, overlap or bound is another account, and an owner has but one."""
    ledger = training(market, Laplace()).ledger
    coordinates, statistics = market
    for change in (
        {"horizon": 8},
        {"epsilon": (1.5, 2.0, 3.0)},
        {"mechanism": Laplace(overlap=2)},
        {"mechanism": Gaussian(1e-6), "norm": 2},
        {"market": (replace(coordinates, theta_max=1.0), statistics)},
        {"market": (coordinates, statistics[::-1])},
    ):
        with pytest.raises(InputError, match="the account of a is of .*two prices"):
            training(
                **{"market": market, "mechanism": Laplace(), "ledger": ledger, "asked": 2} | change
            )
    assert answered(ledger) == [3, 3, 3]


def test_who_adds_no_noise_is_promised_nothing_and_who_shares_nothing_has_no_account(market):
    ledger = training(market, Laplace(), epsilon=(0.0, np.inf, 1.0)).ledger
    assert [a.budget.owner for a in ledger.accounts] == ["b", "c"]
    free = ledger.account("b")
    assert free.spent == np.inf and free.answers_remaining == np.inf and not free.budget.limited
    with pytest.raises(InputError, match="a must have an account"):
        ledger.account("a")
    assert not Client("d", market[1][0], 0.0, 4).budget(Gaussian(1e-6)).limited
    unstated = Client("e", market[1][0], 0.1, 4).budget(
        Laplace()
    )  # noise of a budget that nobody stated
    assert (unstated.counted, unstated.claimed, Ledger().open(unstated).answers_remaining) == (
        "answers",
        False,
        4,
    )
    training(market, Laplace(), epsilon=(0.0, np.inf, 0.0), ledger=ledger)
    assert answered(ledger, "bc") == [6, 3]


def test_no_training_spends_nothing():
    assert (
        untrained_result(np.zeros(3), Plan("averaged", "last", 1, 0.0), runs=2).ledger.accounts
        == ()
    )


def test_spent_never_passes_the_budget_in_the_last_bit():
    """T answers of epsilon/T, whatever T: exactly the budget, as T additions of a rounded epsilon/T are not."""
    assert 0.1 * 3 / 3 != 0.1 and 1 / 49 * 49 != 1
    for epsilon, horizon in ((0.1, 3), (1.0, 49), (1.0, 10), (0.7, 1000)):
        ledger = Ledger()
        budget = Budget("a", epsilon, horizon)
        ledger.open(budget)
        for _ in range(horizon):
            ledger.charge(budget, "round")
        account = ledger.account("a")
        assert account.spent == epsilon and account.remaining == 0.0
        assert account.entries == (Entry("round", 1, horizon),)


ODD = (np.nan, np.inf, -np.inf, 0, -1, True, "1", 10**400)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("horizon", "overlap", "n_records") for value in (*ODD[:-1], 2.5)]
    + [("epsilon", value) for value in ODD if value != np.inf]
    + [("delta", value) for value in (*ODD[:3], -1, True, 1.0, None)]
    + [("owner", value) for value in ("", " ", "\u00a0\u200b")],
)
def test_a_budget_is_of_numbers_in_their_range(name, value):
    with pytest.raises(InputError, match=f"budget.{name}: must be"):
        Budget(**{"owner": "a", "epsilon": 1.0, "horizon": 3} | {name: value})


@pytest.mark.parametrize("answers", [*ODD[:-1], 1.5])
def test_a_charge_is_of_whole_answers_and_never_taken_back(answers):
    """NaN was never more than what remains, and inf was charged to who adds no noise."""
    for epsilon in (1.0, np.inf):
        ledger = Ledger()
        budget = Budget("a", epsilon, 5)
        ledger.open(budget)
        with pytest.raises(
            InputError, match="ledger.answers: must be a whole number of at least 1"
        ):
            ledger.charge(budget, "refund", answers)
        assert answered(ledger, "a") == [0]


@pytest.mark.parametrize("other", ["b ", " b", "b\u00a0", "b\u200b", "\tb"])
def test_a_name_that_differs_by_blanks_is_no_second_budget(other):
    ledger = Ledger()
    budget = Budget("b", 1.0, 5)
    ledger.open(budget)
    for refused in (
        lambda: ledger.open(Budget(other, 1.0, 5)),
        lambda: ledger.charge(Budget(other, 1.0, 5), "more"),
    ):
        with pytest.raises(InputError, match="the account of b is of owner"):
            refused()


def test_a_charge_names_the_very_budget_of_its_account():
    """Gaussian delta 1e-9 and then 0.1 were both taken on one account."""
    budget = Budget(
        "a",
        1.0,
        5,
        1e-9,
        "gaussian (zcdp)",
        1,
        "loans",
        100,
        "one record",
        "replace one record",
        "none",
    )
    other = dict(
        zip(
            [f.name for f in fields(Budget)],
            ("b", 2.0, 6, 0.1, "laplace", 2, "cards", 90, *"uvw", 2.0),
            strict=True,
        )
    )
    ledger = Ledger()
    with pytest.raises(InputError, match='a must have an account for "loans"'):
        ledger.charge(budget, "query")
    ledger.open(budget)
    for name, value in other.items():
        with pytest.raises(
            InputError,
            match="must have an account" if name in ("owner", "data") else f"is of {name} ",
        ):
            ledger.charge(replace(budget, **{name: value}), "query")
    assert ledger.accounts[0].answered == 0


def test_charges_of_one_account_in_one_go_count_together():
    ledger = Ledger()
    budget = Budget("a", 1.0, 5)
    ledger.open(budget)
    with pytest.raises(BudgetExceeded, match="6 more"):
        ledger.charge_all([(budget, 3), (budget, 3)], "round")
    ledger.charge_all([(budget, 3), (budget, 2)], "round")
    assert ledger.account("a").entries == (Entry("round", 1, 5),)


def overspend(charge, threads=8, each=60):
    """How many charges go through of eight threads that all try to."""
    taken = []
    start = threading.Barrier(threads)

    def work():
        start.wait()
        for _ in range(each):
            try:
                charge()
            except BudgetExceeded:
                return
            taken.append(1)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    return len(taken)


class Hesitating(Ledger):
    """Lets others go on between its look at what remains and its entry."""

    def _check(self, *asked):
        super()._check(*asked)
        time.sleep(1e-4)


def test_threads_cannot_overspend():
    """Eight threads got up to 103 answers from a budget of 50."""
    ledger = Hesitating()
    budget = Budget("a", 1.0, 50)
    ledger.open(budget)
    assert overspend(lambda: ledger.charge(budget, "query")) == 50 == ledger.account("a").answered
