"""What sharing costs apart from privacy: each kind under its own key, and rounds fewer the dearer each is."""

import numpy as np
import pytest

from learning.errors import InputError
from scenarios.planning import prepare, weigh_rounds
from scenarios.report.phrases import render_phrase
from scenarios.runner import run
from scenarios.schema.loading import load

PLAIN = (  # many rounds are worth their noise: no whitening, no public start, noise that grows as sqrt(T)
    *("learning.algorithm=sgd2", "learning.mechanism=gaussian", "learning.accounting=zcdp"),
    *("learning.delta=1e-6", "learning.start=zero", "learning.precondition=false"),
    "market.starts=1",
)
APART = (
    *("owners.fixed_cost=3.0", "owners.reputation_cost=[10.0, 0.0, 1.0]"),
    *("owners.legal_cost=5.0", "owners.setup_cost=20.0"),
)


def settled(*changes):
    return run(load("three_insurers", [*PLAIN, *changes]), training=False)


@pytest.mark.slow
def test_rounds_fall_as_each_gets_dearer_and_each_owner_bears_its_own():
    prices = 300.0, 400.0, 550.0
    fewer = []
    for cost in (0.0, 5.0, 100.0):
        made = settled(*APART, f"owners.round_cost={cost}")
        rounds = made["forecast"]["horizon"]
        fewer.append(rounds)
        for row, price, lost in zip(made["owners"], prices, (38.0, 28.0, 29.0), strict=True):
            expected = price * row["epsilon"] + lost + cost * rounds
            assert row["privacy_cost"] == pytest.approx(expected, rel=1e-9)
    assert fewer[0] > fewer[1] > fewer[2]


@pytest.mark.slow
def test_the_price_of_a_round_is_weighed_against_the_worth_of_the_model():
    """Twice the worth and twice the cost are the same choice; the sum over owners counts, not who bears it."""
    asked = [
        prepare(load("three_insurers", [*PLAIN, f"owners.round_cost={cost}", *value])).planner
        for cost, value in (
            ("5.0", ()),
            ("10.0", ("learner.value=200000",)),
            ("[15.0, 0.0, 0.0]", ()),
            ("5.0", ("learner.value=1000000",)),
        )
    ]
    first, doubled, alone, worthier = (one.forecast for one in asked)
    assert first.rounds == doubled.rounds == alone.rounds < worthier.rounds
    budgets = np.array([0.3, 2.0, 4.0])  # agreed before: whatever is sold
    assert first.plan(budgets).horizon == first.rounds


def test_all_kinds_are_told_in_one_sentence():
    owners = load("three_insurers", [*APART, "owners.round_cost=2.0"]).owners.model_dump()
    told = render_phrase("offer", "cost_words", owners)
    assert (
        "Whoever shares also bears a fixed cost of 3, a loss of reputation worth 0 to 10 (each owner "
        "its own), legal costs of 5, set-up costs of 20 and 2 for each answer." in told
    )
    assert "bears" not in render_phrase(
        "offer", "cost_words", load("three_insurers").owners.model_dump()
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("learning.algorithm=asynchronous", "learning.regularisation=0.1"), "whose rounds do not ask every owner; found algorithm"),
        (("learner.value={per='rmse', money=100.0}",), "needs learner.value as money above 0 per unit"),
        (("learner.value=0.0",), "needs learner.value as money above 0 per unit"),
        (("learners=[{name='other', value=50.0}]",), "each learner would ask its own number of rounds"),
    ],
)  # fmt: skip
def test_rounds_that_cannot_be_priced_are_refused(changes, words):
    with pytest.raises(InputError) as error:
        load("three_insurers", ["owners.round_cost=1.0", *changes])
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_stated_number_of_rounds_needs_no_price():
    changes = ("owners.round_cost=1.0", "learner.value={per='rmse', money=100.0}")
    stated = ("learning.algorithm=averaged", "learning.mechanism=laplace", "learning.horizon=7")
    assert load("three_insurers", [*changes, *stated]).learning.horizon == 7
    worthless = load("three_insurers", ["owners.round_cost=1.0", "learner.value=0.0", *stated])
    assert weigh_rounds(worthless, 3) == 0
    open_to_choice = load("three_insurers", ["owners.round_cost=1.0", "learner.value=600.0"])
    assert weigh_rounds(open_to_choice, 3) == pytest.approx(0.005)
