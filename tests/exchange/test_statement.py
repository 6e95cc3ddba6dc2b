"""An owner's statement says what its ledger charged under a contract, and no more; it fits what was delivered or not."""

from dataclasses import replace

import numpy as np
import pytest
from exchanges import small_contract

from exchange.learner.comparison import compare_statement
from exchange.messages import Gradient, Query, parse_signed
from exchange.owner.answers import ledger_purpose
from exchange.statement import (
    Charge,
    Statement,
    make_statement,
    read_statement,
)
from learning.errors import InputError
from learning.privacy.ledger import Budget
from learning.privacy.ledger_file import LedgerFile


@pytest.fixture(scope="module")
def contract():
    return small_contract(2)


@pytest.fixture
def given(contract):
    """Alpha's answers to both questions."""
    queries = [Query(contract.digest, number, np.zeros(4), contract.names) for number in (1, 2)]
    return [
        Gradient(contract.digest, one.digest, one.round, "Alpha", np.ones(4)) for one in queries
    ]


@pytest.fixture
def ledger(tmp_path, contract, given):
    """Alpha's ledger after both answers, with another account that is nobody's business."""
    made = LedgerFile.create(tmp_path / "alpha.ledger")
    budget = contract.terms("Alpha").budget
    made.open(Budget("Alpha", 1.0, 3, data="secret project"))
    made.open(budget)
    for answer in given:
        made.charge(budget, ledger_purpose(answer), first=answer.round)
    return made


def held(answers):
    return {one.round: (one.query, one.digest) for one in answers}


def test_a_statement_reads_back_and_agrees_with_what_was_delivered(
    tmp_path, contract, ledger, given
):
    made = make_statement(contract, "Alpha", ledger)
    assert (made.answered, made.counted, made.spent, made.remaining) == (2, "epsilon", 2.0, 0.0)
    (tmp_path / "told").write_bytes(made.raw)
    assert read_statement(tmp_path / "told", contract) == made
    assert compare_statement(contract, made, held(given)).status == "agrees"


def test_a_statement_says_nothing_of_other_accounts_and_no_word_of_other_charges(
    tmp_path, contract, given
):
    ledger = LedgerFile.create(tmp_path / "alpha.ledger")
    budget = contract.terms("Alpha").budget
    ledger.open(Budget("Alpha", 1.0, 3, data="secret project"))
    ledger.open(budget)
    ledger.charge(budget, "sold to a friend", first=1)
    ledger.charge(budget, ledger_purpose(replace(given[1], contract="0" * 64)), first=2)
    made = make_statement(contract, "Alpha", ledger)
    assert b"secret" not in made.raw and b"friend" not in made.raw
    assert made.charges == (Charge(1, None, None), Charge(2, None, None))
    found = compare_statement(contract, made, held(given))
    assert found.status == "disagrees" and "question 1 is another answer" in found.why[0]


def test_a_charge_without_an_answer_is_a_kill_and_an_answer_without_a_charge_a_contradiction(
    contract, ledger, given
):
    made = make_statement(contract, "Alpha", ledger)
    found = compare_statement(contract, made, held(given[:1]))
    assert (found.status, found.undelivered, found.why) == ("charged but not delivered", (2,), ())
    short = replace(made, answered=1, charges=made.charges[:1], spent=1.0, remaining=1.0)
    assert compare_statement(contract, short, held(given)).why == (
        "its answer to question 2 was never charged",
    )
    assert compare_statement(contract, replace(made, answered=1), held(given)).why == (
        "it does not list every charge",
    )
    other = replace(made, budget={**made.budget, "epsilon": 9.0})
    assert compare_statement(contract, other, held(given)).why == (
        "its account was opened for another budget",
    )
    assert compare_statement(small_contract(3), made, held(given)).why == (
        "it is of another contract",
    )


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"spent": 0.1, "remaining": 1.9}, "what it says is spent and left"),
        ({"spent": 1e308}, "what it says is spent and left"),
        ({"remaining": 1.0}, "what it says is spent and left"),
        ({"counted": "answers"}, "what it says is spent and left"),
        ({"answered": 4, "charges": (0, 1, 0, 1)}, "once each and in turn"),
        ({"charges": (1, 0)}, "once each and in turn"),
        ({"answered": 3, "charges": (0, 1, Charge(3, None, None))}, "of the 2 agreed"),
        ({"answered": 3, "charges": (0, 1, Charge(10**9, None, None))}, "of the 2 agreed"),
    ],
)
def test_a_statement_that_cannot_be_right_disagrees(contract, ledger, given, changes, told):
    made = make_statement(contract, "Alpha", ledger)
    if "charges" in changes:
        charges = tuple(
            made.charges[one] if isinstance(one, int) else one for one in changes["charges"]
        )
        changes = changes | {"charges": charges}
    found = compare_statement(contract, replace(made, **changes), held(given))
    assert found.status == "disagrees" and told in " ".join(found.why)


def test_a_ledger_without_the_account_of_this_contract_makes_no_statement(
    tmp_path, contract, ledger
):
    with pytest.raises(
        InputError, match='must hold the account of Beta for "claims 2019"; found none'
    ):
        make_statement(contract, "Beta", ledger)
    with pytest.raises(InputError, match="under contract"):
        make_statement(small_contract(3), "Alpha", ledger)
    with pytest.raises(InputError, match="must be an owner of the contract"):
        make_statement(contract, "Delta", ledger)


def test_a_file_that_is_no_statement_is_refused_in_one_line(contract, ledger):
    raw = make_statement(contract, "Alpha", ledger).raw
    for changed in (
        raw.replace(b"statement 2", b"statement 1"),
        raw.replace(b'"answered": 2', b'"answered": -2'),
        raw.replace(b'"counted": "epsilon"', b'"counted": "money"'),
        raw.replace(b'"round": 1', b'"round": "1"'),
        raw.replace(b'"spent"', b'"spend"'),
        raw[:-9],
    ):
        with pytest.raises(InputError) as told:
            parse_signed(Statement, changed, "told", contract)
        assert str(told.value).startswith("told") and "\n" not in str(told.value)
