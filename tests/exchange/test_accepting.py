"""What an owner accepts: within its own limits, and each record in one ledger, under whatever name or contract."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from exchanges import records, small_contract
from kills import forks, killed

from exchange.contract import Contract, compute_claims
from exchange.limits import claimed_budget, exceeded_limits, limits_for
from exchange.messages import Query
from exchange.owner.accepting import Permissions, accept_contract, check_records, total_spent
from exchange.owner.answers import answer_query
from exchange.owner.table import Records
from learning.errors import InputError
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Registry, digest_rows

pytestmark = pytest.mark.usefixtures("quick_disk")

NAME = "Alpha"
AGAIN = Permissions(max_epsilon=20.0, sold_before=True)


def sold(epsilon=2.0, **changes):
    """A contract in which Alpha sells epsilon."""
    contract = small_contract(**changes)
    owners = [one.model_dump() | {"epsilon": epsilon} for one in contract.owners]
    content = json.loads(contract.raw) | {"owners": owners}
    return Contract.model_validate(
        content | {"claims": compute_claims(Contract.model_validate(content))}
    )


def own(seed=0, contract=None, written=None):
    return Records(*records(contract or sold(), NAME, seed), written=written)


def ledger(folder, name="bank"):
    path = folder / f"{name}.ledger"
    return LedgerFile(path) if path.exists() else LedgerFile.create(path)


def test_default_limits_are_three_and_a_tenth_of_one_over_the_records():
    assert limits_for(40) == (3.0, 1e-4) and limits_for(10**6) == pytest.approx((3.0, 1e-7))
    for n in (1, 10, 999, 10**6):
        assert limits_for(n)[1] < 1 / n and 1 - (1 - limits_for(n)[1]) ** n < 0.1
    for wrong in (
        {"max_epsilon": 0.0},
        {"max_epsilon": np.inf},
        {"max_epsilon": np.nan},
        {"max_delta": 1.0},
    ):
        with pytest.raises(InputError, match="--max-"):
            limits_for(40, **wrong)


@pytest.mark.parametrize(
    ("contract", "option", "lifted"),
    [
        (sold(3.1), "--max-epsilon", {"max_epsilon": 3.1}),
        (sold(1e6), "--max-epsilon", {"max_epsilon": 1e6}),
        (sold(noise="gaussian"), "--max-delta", {"max_delta": 1e-3}),
    ],
)
def test_beyond_a_limit_nothing_is_accepted_unless_it_is_said(tmp_path, contract, option, lifted):
    if option == "--max-delta":
        content = json.loads(contract.raw)
        content["noise"]["delta"] = 1e-3
        contract = Contract.model_validate(
            content | {"claims": compute_claims(Contract.model_validate(content))}
        )
    book = ledger(tmp_path)
    with pytest.raises(
        InputError, match=f"{option}: allows at most .* If the owner agrees to more: {option}"
    ) as told:
        accept_contract(contract, NAME, own(), book)
    assert not book.accounts and "\n" not in str(told.value)
    accept_contract(contract, NAME, own(), book, Permissions(**lifted))
    accept_contract(contract, NAME, own(), book)  # what was said stays said
    check_records(contract, NAME, own(), book)
    limit = (
        Permissions(max_epsilon=1.0) if option == "--max-epsilon" else Permissions(max_delta=1e-6)
    )
    for again in (accept_contract, check_records):
        with pytest.raises(InputError, match=option):
            again(contract, NAME, own(), book, limit)


def test_joint_claims_count_where_records_sit_with_several_owners():
    contract = sold(2.9)
    content = json.loads(contract.raw)
    content["noise"]["overlap"] = 2
    owners = content["owners"]
    owners[1]["epsilon"] = 9.0
    joint = Contract.model_validate(
        content | {"claims": compute_claims(Contract.model_validate(content))}
    )
    assert claimed_budget(contract, NAME) == (2.9, 0.0) and claimed_budget(joint, NAME)[
        0
    ] == pytest.approx((2.9 + 9.0) / 2)


def permuted(held, rng):
    order = rng.permutation(len(held.y))
    return Records(held.x[order], held.y[order])


def touched(held, rng):
    """One cell of nearly nine in ten rows changed."""
    x = held.x.copy()
    x[: int(0.87 * len(x)), 0] += 0.01
    return Records(x, held.y)


@pytest.mark.parametrize(
    "change", [lambda held, rng: held, permuted, touched], ids=["same", "permuted", "touched"]
)
@pytest.mark.parametrize(
    "other", [{"title": "other"}, {"records": "other name"}], ids=["contract", "name"]
)
def test_the_same_records_in_a_second_ledger_are_refused_unless_said_and_then_add_up(
    tmp_path, change, other
):
    first = sold(1.0)
    second = sold(1.5, **other)
    accept_contract(first, NAME, own(), ledger(tmp_path))
    held = change(own(), np.random.default_rng(0))
    book = ledger(tmp_path, "second")
    with pytest.raises(InputError, match="must hold the only account of these records") as told:
        accept_contract(second, NAME, held, book)
    assert (
        first.digest[:16] in str(told.value)
        and "bank.ledger" in str(told.value)
        and not book.accounts
    )
    accepted = accept_contract(second, NAME, held, book, Permissions(sold_before=True))
    assert [one.contract for one in accepted] == [second.digest, first.digest] and total_spent(
        *accepted
    ) == (2.5, 0.0)
    check_records(second, NAME, held, book)
    check_records(first, NAME, own(), ledger(tmp_path))  # the first goes on: the second was said
    with pytest.raises(InputError, match="--max-epsilon: allows at most epsilon = 3 .* found 3.5"):
        accept_contract(
            sold(1.0, title="third"),
            NAME,
            held,
            ledger(tmp_path, "third"),
            Permissions(sold_before=True),
        )


def test_the_same_records_under_another_name_in_the_same_ledger_are_refused_without_a_registry_too(
    tmp_path,
):
    book = ledger(tmp_path)
    accept_contract(sold(), NAME, own(), book)
    lost = Registry(tmp_path / "registry of another machine")
    with pytest.raises(InputError, match="must hold the only account"):
        accept_contract(sold(records="others"), NAME, own(), book, Permissions(registry=lost))
    accept_contract(sold(records="others"), NAME, own(seed=1), book, Permissions(registry=lost))
    assert len(book.accounts) == 2


def test_rows_of_the_owners_file_are_recognised_under_other_columns(tmp_path):
    rows = digest_rows(b"row %d" % number for number in range(40))
    accept_contract(sold(), NAME, own(written=rows), ledger(tmp_path))
    other = own(seed=1, written=rows[::-1])  # encoded otherwise
    with pytest.raises(InputError, match="must hold the only account"):
        accept_contract(sold(records="others"), NAME, other, ledger(tmp_path, "second"))


def test_other_records_are_accepted_without_a_word(tmp_path):
    accept_contract(sold(), NAME, own(), ledger(tmp_path))
    assert (
        len(accept_contract(sold(title="other"), NAME, own(seed=1), ledger(tmp_path, "second")))
        == 1
    )


def test_records_that_were_not_accepted_are_not_answered_about(tmp_path):
    book = ledger(tmp_path)
    accept_contract(sold(), NAME, own(), book)
    held = own()
    few = Records(
        np.vstack([own(seed=1).x[:4], held.x[4:]]), np.concatenate([own(seed=1).y[:4], held.y[4:]])
    )
    check_records(sold(), NAME, few, book)
    with pytest.raises(
        InputError, match="must be the records that Alpha accepted the contract for"
    ):
        check_records(sold(), NAME, own(seed=1), book)


def test_an_account_that_nobody_accepted_is_not_answered_on(tmp_path):
    contract = sold()
    book = ledger(tmp_path)
    book.open(contract.terms(NAME).budget)
    query = Query(contract.digest, 1, np.zeros(4), contract.names)
    with pytest.raises(InputError, match="Accept the contract first"):
        answer_query(contract, NAME, query, own(), book)
    with pytest.raises(InputError, match="Accept the contract first"):
        check_records(contract, NAME, own(), book)


def test_a_copy_of_a_ledger_is_refused_and_one_that_was_moved_goes_on(tmp_path):
    book = ledger(tmp_path)
    accept_contract(sold(), NAME, own(), book)
    copy = tmp_path / "copy.ledger"
    shutil.copyfile(book.path, copy)
    for again in (accept_contract, check_records):
        with pytest.raises(
            InputError, match="must be the ledger itself; found a copy of .*bank.ledger"
        ):
            again(sold(), NAME, own(), LedgerFile(copy))
    book.path.rename(tmp_path / "moved.ledger")
    check_records(sold(), NAME, own(), LedgerFile(tmp_path / "moved.ledger"))
    with pytest.raises(InputError, match="a copy of .*moved.ledger"):
        check_records(sold(), NAME, own(), LedgerFile(copy))


def test_a_ledger_carried_to_another_machine_is_entered_there(tmp_path):
    book = ledger(tmp_path)
    there = Permissions(registry=Registry(tmp_path / "there"))
    accept_contract(sold(), NAME, own(), book)
    check_records(sold(), NAME, own(), book, there)
    with pytest.raises(InputError, match="must hold the only account"):
        accept_contract(sold(title="other"), NAME, own(), ledger(tmp_path, "second"), there)


def test_a_ledger_carried_to_where_the_records_belong_to_another_one_is_not_answered_on(tmp_path):
    here, there = (Permissions(registry=Registry(tmp_path / name)) for name in ("here", "there"))
    book = ledger(tmp_path)
    accept_contract(sold(), NAME, own(), book, here)
    accept_contract(sold(title="other"), NAME, own(), ledger(tmp_path, "second"), there)
    with pytest.raises(InputError, match="must hold the only account of these records"):
        check_records(sold(), NAME, own(), book, there)
    check_records(sold(), NAME, own(), book, here)


def test_of_clerks_who_accept_at_the_same_time_one_may(tmp_path):
    books = [ledger(tmp_path, str(number)) for number in range(6)]

    def ask(book):
        try:
            accept_contract(sold(), NAME, own(), book)
        except InputError as error:
            return error.rule
        return ""

    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(ask, books))
    assert sorted(map(bool, said)) == [False, *[True] * 5]
    assert sum(len(book.accounts) for book in books) == 1


@pytest.mark.parametrize("damage", [b"", b"other\n", None], ids=["empty", "other", "cut"])
def test_with_a_damaged_registry_nothing_is_accepted_or_answered(tmp_path, damage):
    registry = Registry()
    book = ledger(tmp_path)
    accept_contract(sold(), NAME, own(), book)
    raw = registry.path.read_bytes()
    registry.path.write_bytes(raw[:-10] if damage is None else damage)
    ledgers = book.path.read_bytes()
    for work in (
        lambda: accept_contract(sold(records="b"), NAME, own(seed=1), book),
        lambda: check_records(sold(), NAME, own(), book),
    ):
        with pytest.raises(InputError, match="must be a whole registry of accepted records"):
            work()
    assert book.path.read_bytes() == ledgers


@forks
def test_killed_at_any_step_of_accepting_the_same_command_goes_on_and_a_second_ledger_is_refused(
    tmp_path,
):
    """The registry is written first: an account that is open is always registered."""
    contract = sold()
    step = 0
    ended = False
    assert contract.terms(NAME).scale > 0
    while not ended:
        step += 1
        place = tmp_path / str(step)
        place.mkdir()
        said = Permissions(registry=Registry(place / "registry"))
        book = ledger(place)
        ended = killed(lambda: accept_contract(contract, NAME, own(), book, said), at=step)  # noqa: B023 (called at once)
        if book.accounts:
            with pytest.raises(InputError, match="only account"):
                accept_contract(contract, NAME, own(), ledger(place, "second"), said)
        accept_contract(contract, NAME, own(), LedgerFile(book.path), said)
        check_records(contract, NAME, own(), book, said)
        with pytest.raises(InputError, match="only account"):
            accept_contract(contract, NAME, own(), ledger(place, "second"), said)
    assert step > 5


@forks
def test_a_contract_that_a_kill_kept_from_being_opened_gives_way_to_another(tmp_path):
    book = ledger(tmp_path)
    assert not killed(lambda: _die_after_registering(book))
    with Registry().opened() as (_, entries):
        assert len(entries) == 1 and not book.accounts
    accept_contract(sold(title="changed", records="new"), NAME, own(), book)
    with Registry().opened() as (_, entries):
        assert [one.data for one in entries] == ["new"]


def _die_after_registering(book):
    LedgerFile.open_accepted = lambda *given: os.kill(os.getpid(), 9)
    accept_contract(sold(), NAME, own(), book)


def test_neither_file_holds_a_value_or_a_public_hash_and_both_are_the_owners_alone(tmp_path):
    book = ledger(tmp_path)
    held = own()
    accept_contract(sold(), NAME, held, book)
    for path in (book.path, Registry().path):
        assert path.stat().st_mode & 0o077 == 0
        text = path.read_text()
        for value in np.unique(np.concatenate([held.x[:, :-1].ravel(), held.y])):
            assert len(repr(float(value))) < 6 or repr(float(value)) not in text


@pytest.mark.parametrize("value", [6.2, 6.2041, 1.000000004, 10.00000004, 0.1 + 0.2, 999.9999])
def test_the_option_that_a_refusal_names_lifts_the_limit(value):
    (error,) = exceeded_limits((0.1, 1.0), (value, 0.0))
    named = float(error.remedy.split()[-1].removesuffix("."))
    assert exceeded_limits((named, 1.0), (value, 0.0)) == []
