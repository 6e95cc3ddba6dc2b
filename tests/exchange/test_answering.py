"""An owner's program over the exchange's folder: every question once, whatever lies there already or comes meanwhile."""

from collections import Counter

import numpy as np
import pytest
from exchanges import records, small_contract
from kills import forks, kill_at_random, killed, measure_work

from exchange.folder import CLOSING, MODEL, answer_name, query_name
from exchange.messages import Closing, Query, read_answer
from exchange.owner import answering
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.answering import (
    Party,
    check_still_open,
    find_question,
    follow_questions,
    open_ledger,
    write_answer,
)
from exchange.owner.table import Records
from learning.canonical import sha256_digest, write_atomically
from learning.errors import InputError
from learning.privacy.registry import Registry

pytestmark = pytest.mark.usefixtures("quick_disk")

ROUNDS = 3
NAME = "Alpha"


@pytest.fixture
def party(tmp_path):
    return made_party(tmp_path)


def made_party(folder, **changes):
    contract = small_contract(ROUNDS, **changes)
    ledger = open_ledger(folder / "bank.ledger", make=True)
    own = Records(*records(contract, NAME))
    accept_contract(
        contract, NAME, own, ledger, Permissions(registry=Registry(folder / "registry"))
    )
    return Party(contract, NAME, own, ledger)


@pytest.fixture
def shared(tmp_path):
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


def ask(party, folder, number, **change):
    """The learner's question of a round, after the owner's answer in the folder."""
    told = {}
    if number > 1:
        before = read_answer(folder / answer_name(number - 1, NAME), party.contract)
        answers = dict.fromkeys(party.contract.names, "0" * 64) | {NAME: before.digest}
        told = {"previous": before.query, "answers": answers}
    given = {"point": np.full(4, 0.1 * (number - 1)), "asked": party.contract.names} | told | change
    query = Query(party.contract.digest, number, **given)
    write_atomically(folder / query_name(number), query.raw)
    return query


def followed(party, folder, awaits=None, **more):
    """How it ended, and what was given."""
    gave = []
    ended = follow_questions(
        party,
        folder,
        gave=gave.append,
        awaits=awaits or (lambda k: ask(party, folder, k)),
        every=0,
        **more,
    )
    return ended, gave


def test_each_question_is_answered_as_it_comes_until_the_last(party, shared):
    ended, gave = followed(party, shared)
    assert ended == "answered" and [one.is_new for one in gave] == [True] * ROUNDS
    assert gave[-1].answered.account.remaining == 0
    assert [read_answer(shared / answer_name(k, NAME), party.contract).raw for k in (1, 2, 3)] == [
        g.answered.answer.raw for g in gave
    ]
    assert (shared / answer_name(1, NAME)).stat().st_mode & 0o044  # others read it


def test_who_starts_again_finds_what_it_gave_and_gives_again_what_was_lost(party, shared):
    followed(party, shared)
    last = shared / answer_name(ROUNDS, NAME)
    raw = last.read_bytes()
    assert [one.is_new for one in followed(party, shared)[1]] == [False]
    last.unlink()
    ended, (given,) = followed(party, shared)
    assert given.answered.again and last.read_bytes() == raw and ended == "answered"
    assert given.answered.account.answered == ROUNDS


def test_it_ends_when_the_model_is_there_and_when_the_learner_goes_on_without(tmp_path, shared):
    party = made_party(tmp_path, rule="without")
    others = party.contract.names[1:]

    def left_out(number):
        if number == 1:
            return ask(party, shared, 1)
        query = Query(
            party.contract.digest, 2, np.zeros(4), others, "0" * 64, dict.fromkeys(others, "0" * 64)
        )
        return (shared / query_name(2)).write_bytes(query.raw)

    assert followed(party, shared, left_out)[0] == "left out"
    (shared / MODEL).write_text("{}")  # anybody may have put it there
    assert followed(party, shared)[0] == "left out"
    model = sha256_digest(b"{}")
    for named, ended in (
        ("0" * 64, "left out"),
        (model, "finished"),
    ):  # the model is another, or it
        closing = Closing(party.contract.digest, "0" * 64, {}, named)
        (shared / CLOSING).write_bytes(closing.raw)
        assert followed(party, shared)[0] == ended
    assert followed(party, shared) == ("finished", [])


def test_nobody_is_left_out_where_the_contract_waits(party, shared):
    def left_out(number):
        return (
            ask(party, shared, 1)
            if number == 1
            else ask(party, shared, 2, asked=party.contract.names[1:])
        )

    with pytest.raises(InputError, match="query.asked: must name Alpha"):
        followed(party, shared, left_out)


def test_what_is_still_on_its_way_or_away_is_waited_for_and_an_answer_that_is_lost_given_again(
    party, shared, monkeypatch
):
    steps = []
    away = shared.parent / "away"

    def step(_):
        steps.append(len(steps))
        if steps[-1] == 0:
            sound = ask(party, shared, 1).raw
            (shared / query_name(1)).write_bytes(sound[:9])
            steps.append(sound)
        elif steps[-1] == 2:
            (shared / query_name(1)).write_bytes(steps[1])
            for name in ("round-0001", "round-999"):
                (shared / f"{name}.query.json").write_text("nobody's")
            shared.rename(away)
        elif steps[-1] == 3:
            away.rename(shared)
        elif steps[-1] == 4:
            (shared / answer_name(1, NAME)).unlink()
        elif steps[-1] == 5:
            (shared / MODEL).write_text("{}")
            (shared / CLOSING).write_bytes(
                Closing(party.contract.digest, "0" * 64, {}, sha256_digest(b"{}")).raw
            )

    monkeypatch.setattr(answering.time, "sleep", step)
    ended, gave = followed(party, shared, lambda number: None)
    assert ended == "finished" and [one.answered.again for one in gave] == [False, True]
    (shared / CLOSING).unlink()
    (shared / query_name(1)).write_text("{")
    monkeypatch.setattr(answering, "PATIENCE", -1.0)
    with pytest.raises(InputError, match="must be a JSON object"):
        followed(party, shared)


def test_a_question_that_is_refused_ends_it_and_costs_nothing(party, shared):
    with pytest.raises(InputError, match="query.point"):
        followed(party, shared, lambda number: ask(party, shared, number, point=np.ones(4)))
    assert party.ledger.accounts[0].answered == 0 and not list(shared.glob("*.answer.json"))


def test_a_file_of_somebody_else_in_its_place_is_told_before_anything_is_charged(party, shared):
    query = ask(party, shared, 1)
    place = shared / answer_name(1, NAME)
    place.write_text("not its own")
    with pytest.raises(InputError, match="must not be there: Alpha has not answered this question"):
        write_answer(party, query, place)
    assert party.ledger.accounts[0].answered == 0
    place.unlink()
    first = write_answer(party, query, place)
    place.write_text("not its own")
    with pytest.raises(InputError, match="must be what Alpha answered; found another file"):
        write_answer(party, query, place)
    place.unlink()
    place.symlink_to(shared.parent / "elsewhere")
    assert write_answer(party, query, place).answered.answer.raw == first.answered.answer.raw
    assert not place.is_symlink() and not (shared.parent / "elsewhere").exists()


def test_a_folder_that_is_not_there_is_told_before_and_a_full_disk_after_the_charge(
    party, shared, monkeypatch
):
    query = ask(party, shared, 1)
    with pytest.raises(InputError, match="Nothing was charged"):
        write_answer(party, query, shared / "none" / "a.json")
    assert party.ledger.accounts[0].answered == 0

    def full(path, raw):
        raise InputError(str(path), "must be a file that can be written", "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(answering, "write_atomically", full)
        with pytest.raises(
            InputError, match="No space left on device. The answer is charged and kept"
        ):
            write_answer(party, query, shared / answer_name(1, NAME))
    again = write_answer(party, query, shared / answer_name(1, NAME))
    assert again.answered.again and party.ledger.accounts[0].answered == 1


def test_a_ledger_that_is_gone_is_not_made_anew(party, tmp_path, shared):
    with pytest.raises(
        InputError, match="must be a ledger; found no file. dpmarket accept makes one"
    ):
        open_ledger(tmp_path / "other.ledger")
    write_answer(party, ask(party, shared, 1), shared / answer_name(1, NAME))
    party.ledger.path.unlink()
    with pytest.raises(InputError, match="must be the ledger that was here"):
        open_ledger(party.ledger.path, make=True)


def test_a_question_is_taken_from_its_file_or_from_the_folder(party, shared):
    assert find_question(party.contract, shared) == (None, shared)
    query = ask(party, shared, 1)
    for path in (shared, shared / query_name(1)):
        found, folder = find_question(party.contract, path)
        assert found.raw == query.raw and folder == shared
    with pytest.raises(InputError, match="must be a file that can be read"):
        find_question(party.contract, shared / "nothing")
    assert Counter(path.name for path in shared.iterdir()) == {query_name(1): 1}


def left_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.answer.json")}


@pytest.mark.exchange
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@forks
def test_killed_before_any_change_of_the_disk_it_never_gives_two_answers(tmp_path):
    """Restarted, it is killed again, and then ends; what was in the folder at any time is there in the end."""
    step = 0
    ended = False
    while not ended:
        step += 1
        (shared := tmp_path / f"{step}" / "shared").mkdir(parents=True)
        party = made_party(shared.parent)
        ended = killed(lambda: followed(party, shared), at=step)  # noqa: B023 (called at once)
        seen = left_in(shared)
        killed(lambda: followed(party, shared), at=1 + step % 11)  # noqa: B023
        seen |= left_in(shared)
        assert followed(party, shared)[0] == "answered"
        assert len(left_in(shared)) == ROUNDS == party.ledger.accounts[0].answered
        assert seen.items() <= left_in(shared).items()
        assert not list(party.ledger.path.parent.glob("*.answers/.*.part"))
    assert step > 30


@pytest.mark.exchange
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@forks
def test_killed_at_random_moments_it_answers_each_question_once(party, shared, tmp_path):
    def follow_elsewhere(name):
        (folder := tmp_path / name / "shared").mkdir(parents=True)
        followed(made_party(folder.parent), folder)

    follow_elsewhere("imports")
    seconds = measure_work(lambda: follow_elsewhere("measured"))
    rng = np.random.default_rng(1)
    seen = {}
    kills = 0
    for _ in kill_at_random(lambda: followed(party, shared), rng, seconds):
        kills += 1
        now = left_in(shared)
        assert seen.items() <= now.items() and len(now) <= party.ledger.accounts[0].answered
        seen = now
    assert kills > 5 and seen.items() <= left_in(shared).items()
    assert len(left_in(shared)) == ROUNDS == party.ledger.accounts[0].answered


def test_who_was_gone_on_without_is_told_so_and_spends_nothing(tmp_path, shared):
    party = made_party(tmp_path, rule="without")
    first = ask(party, shared, 1)
    others = party.contract.names[1:]
    later = Query(
        party.contract.digest, 2, np.zeros(4), others, first.digest, dict.fromkeys(others, "0" * 64)
    )
    write_atomically(shared / query_name(2), later.raw)
    with pytest.raises(InputError, match="went on to question 2 without Alpha"):
        check_still_open(party, first, shared)
    write_answer(party, first, shared / answer_name(1, NAME))
    check_still_open(party, first, shared)
    with pytest.raises(
        InputError,
        match="which answered question 1; found only others. The learner went on without it",
    ):
        write_answer(party, later, shared / answer_name(2, NAME))
