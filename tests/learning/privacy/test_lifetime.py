"""Budgets for many trainings against Google's accountant, sums by hand, and a ledger that refuses what is too much."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from learning.errors import InputError
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Budget, BudgetExceeded
from learning.privacy.lifetime import Lifetime, LimitedLedger, compose_trainings
from learning.privacy.promises import make_claims
from learning.privacy.wrapped import GivenBound

SOLD = np.array([0.5, 2.0, 0.0, 1.0])
ROUNDS = (3, 5, 4, 2)
DELTA = 1e-6


def accounted(one, delta):
    """Epsilon of all answers of all trainings, each answer's privacy-loss distribution composed with all others'."""
    answers = [
        one(epsilon, rounds)
        for epsilon, rounds in zip(SOLD, ROUNDS, strict=True)
        if epsilon
        for _ in range(rounds)
    ]
    return reduce(lambda first, other: first.compose(other), answers).get_epsilon_for_delta(delta)


def test_several_laplace_trainings_spend_the_sum_as_google_counts_it():
    def one(epsilon, rounds):
        scale = float(
            Laplace().scale(epsilon, 1, 0.5, rounds)
        )  # of an answer that moves by at most 1
        return pld.from_laplace_mechanism(scale, value_discretization_interval=1 / 600)

    total = Lifetime(Laplace(), np.inf).total(SOLD[:, None])[0]
    assert total == 3.5 and accounted(one, 1e-10) == pytest.approx(3.5, rel=1e-5)


@pytest.mark.parametrize("accounting", ["pld", "zcdp"])
def test_several_gaussian_trainings_compose_as_google_counts_them(accounting):
    mechanism = Gaussian(DELTA, accounting)

    def one(epsilon, rounds):
        deviation = np.sqrt(
            mechanism.variance(epsilon, 1, 0.5, rounds)
        )  # of an answer that moves by at most 1
        return pld.from_gaussian_mechanism(float(deviation), value_discretization_interval=1e-3)

    life = Lifetime(mechanism, np.inf)
    exact = accounted(one, DELTA)
    total = life.total(SOLD[:, None])[0]
    assert life.delta(SOLD[:, None])[0] == DELTA and total < SOLD.sum()
    assert total == pytest.approx(exact, rel=2e-3) if accounting == "pld" else exact < total


@pytest.mark.parametrize(
    "mechanism", [Laplace(), Gaussian(DELTA), Gaussian(DELTA, "zcdp")], ids=lambda one: one.label
)
@pytest.mark.parametrize("saving", ["none", "even"])
@pytest.mark.parametrize("limit", [0.5, 3.0, 20.0])
def test_who_sells_all_that_is_left_spends_its_limit_and_no_more(mechanism, saving, limit):
    life = Lifetime(mechanism, np.array([limit, np.inf]), saving=saving)
    sold = np.zeros((0, 2))
    for trainings in range(9, 0, -1):
        wanted = np.inf if saving == "even" else limit / 4
        most = life.most(sold, trainings)
        sold = np.vstack([sold, np.minimum(most, [wanted, 1.0])])
        assert most[1] == np.inf and life.total(sold)[0] <= limit * (1 + 1e-9)
    if saving == "even":
        assert np.allclose(sold[:, 0], sold[0, 0]) and life.total(sold)[0] == pytest.approx(
            limit, rel=1e-9
        )
    elif mechanism.delta == 0:
        assert sold[:, 0].tolist() == [limit / 4] * 4 + [0.0] * 5
    else:
        assert (sold[:4, 0] == limit / 4).all() and sold[
            4, 0
        ] > 0  # distances add in squares: more is left


def test_records_asked_about_once_spend_the_largest_budget():
    life = Lifetime(Laplace(), np.array([2.0]), "fresh")
    assert (
        life.most(SOLD[:, None], 1) == [2.0]
        and life.total(SOLD[:, None]) == [2.0]
        and life.delta(SOLD[:, None]) == [0.0]
    )


def test_a_ledger_refuses_a_training_that_would_overspend_a_lifetime():
    life = Lifetime(Laplace(), np.array([1.0, np.inf]), names=("A", "B b"))
    ledger = LimitedLedger(life)

    def sell(*epsilons, data):
        budgets = [
            Budget(name, epsilon, 2, data=data)
            for name, epsilon in zip(life.names, epsilons, strict=False)
        ]
        for budget in budgets:
            ledger.open(budget)
        ledger.charge_all([(budget, 2) for budget in budgets], "training")

    sell(0.6, 5.0, data="period 1")
    with pytest.raises(
        BudgetExceeded,
        match="A may spend an epsilon of 1 over all trainings: one more about period 2",
    ):
        sell(0.5, 1.0, data="period 2")
    assert ledger.account("B b", "period 2").answered == 0  # nobody is charged
    sell(0.4, 9.0, data="period 3")
    assert ledger.account("A", "period 3").answered == 2
    with pytest.raises(InputError, match="nothing of C"):
        budget = ledger.open(Budget("C", 0.1, 1)).budget
        ledger.charge(budget, "training")


def test_two_accounts_of_an_owner_cannot_overspend_at_once():
    ledger = LimitedLedger(Lifetime(Laplace(), np.array([1.0]), names=("A",)))
    both = [ledger.open(Budget("A", 0.6, 1, data=data)).budget for data in "xy"]
    with pytest.raises(BudgetExceeded):
        ledger.charge_all([(budget, 1) for budget in both], "training")


def test_claims_over_all_trainings_say_what_they_cover():
    sold = np.array([[1.0, 0.5], [0.0, 2.0]])
    made = [make_claims(Gaussian(DELTA), "AB", [50, 50], one, 3, "one record") for one in sold]
    life = Lifetime(Gaussian(DELTA), np.inf, names="AB")
    a, b = compose_trainings(made, sold, life)
    assert (a.epsilon, a.delta, a.rounds, a.surest) == (1.0, DELTA, 3, made[0][0].surest)
    assert (
        b.epsilon == pytest.approx(float(life.total(sold)[1]))
        and 2.0 < b.epsilon < 2.5
        and b.rounds == 6
    )
    assert "in all periods" in b.protects_against and b.adjacency == "replace one record"
    fresh = compose_trainings(
        made, sold, Lifetime(Gaussian(DELTA), np.inf, "fresh", names="AB"), arriving=True
    )
    assert [one.epsilon for one in fresh] == [1.0, 2.0] and "of the same period" in fresh[
        0
    ].adjacency
    shared = [make_claims(Laplace(overlap=2), "AB", [50, 50], one, 3, "one record") for one in sold]
    joint = [
        one
        for one in compose_trainings(shared, sold, Lifetime(Laplace(overlap=2), np.inf, names="AB"))
        if one.joint
    ]
    assert [one.epsilon for one in joint] == [
        0.75,
        0.75 + 1.0,
    ]  # each record's owners in each period, added up


@pytest.mark.parametrize(("short", "spent"), [(3.0, 4.5), (np.inf, np.inf)])
def test_claims_above_what_was_sold_add_up_as_claimed(short, spent):
    """Of noise scaled to a third of the proved bound, three times what was sold is lost in every training."""
    mechanism = GivenBound(Laplace(), short)
    sold = np.array([[1.0], [0.5]])
    made = [make_claims(mechanism, "A", [50], one, 3, "one record") for one in sold]
    (whole,) = compose_trainings(made, sold, Lifetime(mechanism, np.inf, names="A"))
    assert whole.epsilon == pytest.approx(spent)
    assert whole.surest == pytest.approx(1 / (1 + np.exp(-spent)))


@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(DELTA), Gaussian(DELTA, "pld")])
def test_a_training_without_noise_spends_all_and_leaves_no_claim(mechanism):
    sold = np.array([[1.0, 1.0], [np.inf, 0.5], [0.5, 0.0]])
    life = Lifetime(mechanism, np.array([2.0, 2.0]), names="AB")
    assert np.isinf(life.total(sold)[0]) and np.isfinite(life.total(sold)[1])
    assert life.most(sold, 1)[0] == 0 and life.most(sold, 1)[1] > 0
    assert life.exceeded_limit("A", sold[:, 0]) == 2.0
    made = [make_claims(mechanism, "AB", [50, 50], one, 3, "one record") for one in sold]
    assert {claim.party for claim in compose_trainings(made, sold, life)} == {"B"}


def test_a_budget_that_was_not_stated_exceeds_every_limit():
    ledger = LimitedLedger(Lifetime(Laplace(), np.array([1.0]), names=("A",)))
    budget = ledger.open(Budget("A", None, 3)).budget
    with pytest.raises(BudgetExceeded, match="no stated budget"):
        ledger.charge(budget, "training")


@pytest.mark.parametrize("composition", ["sequential", "fresh"])
def test_the_chance_of_failure_is_of_owners_that_sold(composition):
    life = Lifetime(Gaussian(DELTA, "zcdp"), np.inf, composition)
    sold = np.array([[1.0, 0.0, 1.0], [2.0, 0.0, 0.0]])
    assert np.array_equal(life.delta(sold), [DELTA, 0.0, DELTA])
