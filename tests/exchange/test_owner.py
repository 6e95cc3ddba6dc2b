"""The owner's side: what a learner asks beyond the contract is refused by its name, and a round has one answer at most."""

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from exchanges import records, small_contract
from kills import forks, kill_at_random, killed, measure_work

from exchange.contract import Contract, compute_claims
from exchange.learner.collector import collect_answers
from exchange.messages import Query, open_for, parse_answer, parse_query, utc_text
from exchange.owner import answers as owner
from exchange.owner import kept
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.answers import answer_query
from exchange.owner.preview import preview_contract
from exchange.owner.table import Records
from learning.errors import InputError
from learning.privacy import release
from learning.privacy.ledger import Ledger
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Registry

pytestmark = pytest.mark.usefixtures("quick_disk")

ROUNDS = 3
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@dataclass
class House:
    """An owner's machine, with what the learner sends it."""

    contract: Contract
    path: Path
    name: str = "Alpha"

    def __post_init__(self):
        self.own = Records(*records(self.contract, self.name))
        said = Permissions(
            max_epsilon=1e12, registry=Registry(self.path.with_name(f"{self.path.name}.registry"))
        )
        accept_contract(self.contract, self.name, self.own, LedgerFile.create(self.path), said)

    @property
    def ledger(self):
        return LedgerFile(self.path)

    @property
    def answered(self):
        return self.ledger.account(self.name, self.contract.records).answered

    def query(self, number=1, before=None, **change):
        """The question of a round, after the answer to the one before."""
        names = self.contract.names
        asked = Query(self.contract.digest, number, np.full(4, 0.1 * (number - 1)), names)
        if before is not None:
            told = dict.fromkeys(names, "0" * 64) | {self.name: before.digest}
            asked = replace(asked, previous=before.query, answers=told)
        return replace(asked, **change)

    def answer(self, query, **more):
        given = {
            "contract": self.contract,
            "name": self.name,
            "records": self.own,
            "ledger": self.ledger,
        } | more
        return answer_query(query=query, **given)


@pytest.fixture
def house(tmp_path):
    return House(small_contract(ROUNDS), tmp_path / "bank.ledger")


def altered(contract, **parts):
    """A contract with another text, its claims with it."""
    content = json.loads(contract.raw)
    for part, new in parts.items():
        content[part] = content[part] | new if isinstance(content[part], dict) else new
    return Contract.model_validate(
        content | {"claims": compute_claims(Contract.model_validate(content))}
    )


def changed_owner(contract, **change):
    """The first owner's terms, changed."""
    first, *others = contract.model_dump()["owners"]
    return altered(contract, owners=[first | change, *others])


def test_every_round_is_answered_once_and_charged(house):
    made = None
    for number in range(1, ROUNDS + 1):
        query = house.query(number, made)
        given = house.answer(query)
        made = given.answer
        assert (given.again, given.account.answered, house.answered) == (False, number, number)
        assert (
            parse_answer(made.raw, "answer", house.contract).gradient.tobytes()
            == made.gradient.tobytes()
        )
        assert given.account.entries[-1].purpose == owner.ledger_purpose(made)
    assert given.account.remaining == 0


def test_the_same_question_gets_the_same_bytes_and_costs_nothing_more(house):
    query = house.query()
    first = house.answer(query).answer
    again = house.answer(parse_query(query.raw, "query", house.contract))
    assert again.again and again.answer.raw == first.raw and house.answered == 1
    late = house.answer(query, now=NOON + timedelta(days=99999))
    assert late.answer.raw == first.raw


CHEATS = {
    "outside the ball": (
        {"point": np.array([0, 0.800001, 0, 0])},
        "query.point: must lie in the ball of 0.8",
    ),
    "a point of other length": (
        {"point": np.zeros(5)},
        "query.point: must be 4 finite numbers; found 5",
    ),
    "no number": ({"point": np.array([0, np.nan, 0, 0])}, "query.point: must be 4 finite numbers"),
    "infinite": ({"point": np.array([0, np.inf, 0, 0])}, "query.point: must be 4 finite numbers"),
    "another start": ({"point": np.full(4, 0.1)}, "query.point: must be the start"),
    "another contract": (
        {"contract": "a" * 64},
        "query.contract: must be .*, which was accepted; found aaaa",
    ),
    "more rounds": (
        {"round": ROUNDS + 1},
        "query.round: must be one of the 3 that the contract agrees on; found 4",
    ),
    "round 0": ({"round": 0}, "query.round: must be one of the 3"),
    "a round ahead": (
        {
            "round": 2,
            "previous": "0" * 64,
            "answers": dict.fromkeys(("Alpha", "Beta", "Gamma"), "0" * 64),
        },
        "query.round: must be 1, the next that Alpha is to answer; found 2",
    ),
    "not asked": ({"asked": ("Beta", "Gamma")}, "query.asked: must name Alpha"),
    "somebody left out": ({"asked": ("Alpha", "Beta")}, "query.asked: must be all 3 owners"),
    "a stranger asked": (
        {"asked": ("Alpha", "Beta", "Gamma", "Eve")},
        "query.asked: must be owners of the contract",
    ),
    "another order": (
        {"asked": ("Beta", "Alpha", "Gamma")},
        "query.asked: must be in the order of the contract",
    ),
    "a chain before its start": (
        {"previous": "0" * 64},
        "query.previous: must be null in the first round",
    ),
    "a time that nobody agreed": (
        {"until": utc_text(NOON)},
        "query.until: must be null, since the contract sets no hours; found 2030-01-01T12:00:00",
    ),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_question_beyond_the_contract_is_refused_by_name_and_costs_nothing(house, cheat):
    change, said = CHEATS[cheat]
    with pytest.raises(InputError, match=said):
        house.answer(house.query(**change), now=NOON)
    assert house.answered == 0 and not list(kept.kept_folder(house.ledger).glob("*.json"))
    house.answer(house.query(), now=NOON)


HOURS = 24.0
AGREED = open_for(HOURS, NOON)


@pytest.fixture
def timed(tmp_path):
    """An owner whose contract leaves a day for each answer."""
    contract = small_contract(ROUNDS, rule="without", hours=HOURS, missing={"at_least": 2})
    return House(contract, tmp_path / "timed.ledger")


@pytest.mark.parametrize(
    ("times", "after", "said"),
    [
        (AGREED, 24.001, "query.until: must not have passed; found 2030-01-02T12:00:00"),
        (
            {},
            0,
            "query.issued: must be a time: the contract leaves 24 hours for an answer; found null",
        ),
        ({"issued": AGREED["issued"]}, 0, "query.until: must be a time"),
        ({"until": AGREED["until"]}, 0, "query.issued: must be a time"),
        (
            AGREED | {"until": "9999-01-01T00:00:00+00:00"},
            0,
            "query.until: must be 2030-01-02T12:00:00",
        ),
        (
            AGREED | {"until": utc_text(NOON + timedelta(seconds=3))},
            0,
            "the contract's 24 hours later",
        ),
        (
            open_for(HOURS, NOON + timedelta(hours=1)),
            0,
            "query.issued: must not lie ahead of this machine's clock",
        ),
    ],
)
def test_a_question_is_open_for_the_hours_that_were_agreed(timed, times, after, said):
    with pytest.raises(InputError, match=re.escape(said)):
        timed.answer(timed.query(**times), now=NOON + timedelta(hours=after))
    assert timed.answered == 0
    timed.answer(timed.query(**AGREED), now=NOON + timedelta(hours=HOURS))
    assert timed.answered == 1


def test_a_round_is_not_answered_to_a_question_of_another_time(timed):
    timed.answer(timed.query(**AGREED), now=NOON)
    later = NOON + timedelta(hours=1)
    with pytest.raises(InputError, match="has answered this one to another question"):
        timed.answer(timed.query(**open_for(HOURS, later)), now=later)
    assert timed.answered == 1


def test_an_answer_that_was_charged_is_given_again_after_its_time(timed):
    query = timed.query(**AGREED)
    given = timed.answer(query, now=NOON)
    again = timed.answer(query, now=NOON + timedelta(hours=30))
    assert again.again and again.answer.digest == given.answer.digest and timed.answered == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"previous": "b" * 64},
            "query.previous: must be the question that Alpha answered before; found bbbb",
        ),
        (
            {"answers": dict.fromkeys(("Alpha", "Beta", "Gamma"), "b" * 64)},
            "must be those that were given, Alpha's too",
        ),
        (
            {"answers": {"Beta": "b" * 64}},
            "query.previous: must name the question before and the answer that Alpha",
        ),
        ({"previous": None}, "query.previous: must name the question before"),
        (
            {"answers": dict.fromkeys(("Alpha", "Beta", "Gamma", "Eve"), "b" * 64)},
            "query.answers: must be those of exactly the owners",
        ),
        (
            {"answers": dict.fromkeys(("Alpha", "Beta"), "b" * 64)},
            "query.answers: must be those of exactly the owners that are asked",
        ),
    ],
)
def test_a_question_that_does_not_follow_from_what_was_answered_is_refused(house, change, said):
    first = house.answer(house.query()).answer
    with pytest.raises(InputError, match=said):
        house.answer(house.query(2, first, **change))
    assert house.answered == 1
    house.answer(house.query(2, first))


def test_digests_count_to_their_last_digit(house):
    first = house.answer(house.query()).answer
    sound = house.query(2, first)
    for change in (
        {"previous": sound.previous[:16] + "0" * 48},
        {"answers": {**sound.answers, "Alpha": first.digest[:16] + "0" * 48}},
    ):
        with pytest.raises(InputError, match="query"):
            house.answer(replace(sound, **change))
    with pytest.raises(InputError, match=f"must be {house.contract.digest}, which"):
        house.answer(replace(sound, contract=house.contract.digest[:16] + "0" * 48))


def test_a_round_is_not_answered_at_two_points(house):
    first = house.answer(house.query()).answer
    second = house.query(2, first)
    house.answer(second)
    with pytest.raises(
        InputError, match="query.round: Alpha answers each round once, and has answered this one"
    ):
        house.answer(replace(second, point=np.full(4, -0.1)))
    assert house.answered == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: altered(c, bounds={"radius": 200.0}), "found contract [0-9a-f]{16}. Answer"),
        (lambda c: altered(c, bounds={"theta_max": 8.0}), "found contract"),
        (
            lambda c: altered(
                c, columns={"numbers": c.columns.numbers.model_dump() | {"high": [700.0, 1e3]}}
            ),
            "contract",
        ),
        (
            lambda c: altered(
                c, columns={"written": {"age": "comma", "income": "comma", "claims": "comma"}}
            ),
            "contract",
        ),
        (
            lambda c: changed_owner(c, epsilon=200.0),
            "found contract [0-9a-f]{16}, epsilon 200.0 for 2.0",
        ),
        (
            lambda c: changed_owner(c, records=41),
            "found contract [0-9a-f]{16}, n_records 41 for 40",
        ),
        (lambda c: changed_owner(c, payment=0.0), "found contract [0-9a-f]{16}. Answer"),
        (lambda c: altered(c, missing={"rule": "without"}), "found contract"),
    ],
)
def test_an_altered_contract_is_not_answered(house, change, said):
    """Its question names it rightly: the ledger knows what was accepted."""
    other = change(house.contract)
    assert other.digest != house.contract.digest
    rule = f'holds the account of Alpha for "claims 2019" under contract {house.contract.digest[:16]}; '
    with pytest.raises(InputError, match=rule + ".*" + said):
        house.answer(replace(house.query(), contract=other.digest), contract=other)
    with pytest.raises(InputError, match=rule):
        accept_contract(other, "Alpha", house.own, house.ledger)
    assert house.answered == 0


def test_another_owners_ledger_or_none_is_refused(house, tmp_path):
    beta = House(house.contract, tmp_path / "beta.ledger", "Beta")
    with pytest.raises(
        InputError, match='must hold the account of Alpha for "claims 2019"; found none. Accept'
    ):
        house.answer(house.query(), ledger=beta.ledger)
    with pytest.raises(InputError, match="must be a ledger; found no file"):
        house.answer(house.query(), ledger=LedgerFile(tmp_path / "no.ledger"))
    with pytest.raises(InputError, match="owner: must be an owner of the contract"):
        house.answer(house.query(), name="Eve")
    with pytest.raises((TypeError, AttributeError)):
        house.answer(house.query(), ledger=Ledger())
    raw = house.path.read_bytes()
    ledger = house.ledger
    house.path.write_bytes(raw.replace(b'"epsilon": 2.0', b'"epsilon": 9.0'))
    with pytest.raises(InputError, match="must be a whole ledger"):
        house.answer(house.query(), ledger=ledger)
    house.path.write_bytes(raw)
    assert house.answered == beta.answered == 0


@pytest.mark.parametrize("rows", [39, 41])
def test_a_row_too_few_or_too_many_is_not_answered(house, rows):
    x = np.resize(house.own.x, (rows, 4))
    y = np.resize(house.own.y, rows)
    with pytest.raises(InputError, match="must be 40 by 4 numbers") as refused:
        house.answer(house.query(), records=Records(x, y))
    assert house.answered == 0 and str(rows) not in str(refused.value)


def test_a_ledger_that_another_program_holds_is_waited_for_and_then_refused(house, monkeypatch):
    from learning.privacy import sealed

    monkeypatch.setattr(sealed, "WAIT", 0.01)
    for path in (house.path, kept.kept_folder(house.ledger)):
        ledger = house.ledger
        with (
            sealed.locked_file(path),
            pytest.raises(InputError, match="locked by another program"),
        ):
            house.answer(house.query(), ledger=ledger)
    assert house.answered == 0


def test_programs_at_the_same_time_give_one_answer(house):
    query = house.query()
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda _: house.answer(query), range(6)))
    assert len({one.answer.raw for one in made}) == 1 and Counter(one.again for one in made) == {
        True: 5,
        False: 1,
    }
    assert house.answered == 1


def test_an_answer_that_was_charged_and_lost_is_not_made_anew(house):
    query = house.query()
    house.answer(query)
    (path,) = kept.kept_folder(house.ledger).glob("*.json")
    raw = path.read_bytes()
    assert (path.stat().st_mode & 0o077, path.parent.stat().st_mode & 0o077) == (0, 0)
    for damage in (lambda: path.write_bytes(raw[:-9]), path.unlink):
        damage()
        with pytest.raises(InputError, match="must"):
            house.answer(query)
    assert house.answered == 1


def test_an_older_ledger_put_back_gives_the_kept_answers_again(house):
    older = house.path.read_bytes()
    query = house.query()
    first = house.answer(query).answer
    house.path.write_bytes(older)
    assert house.answer(query).answer.raw == first.raw and house.answered == 1


PRIVATE = 4321.5


def test_nothing_that_is_said_or_given_shows_a_record(house):
    x = house.own.x.copy()
    x[3, 1] = PRIVATE
    with pytest.raises(InputError) as refused:
        house.answer(house.query(), records=Records(x[:-1], house.own.y))
    assert "4321" not in str(refused.value)
    made = house.answer(house.query(), records=Records(x, house.own.y)).answer
    exact = release.bare_answer(x, house.own.y, np.zeros(4), house.contract.terms("Alpha"))
    assert not set(made.gradient.tolist()) & set(exact.tolist()) and set(made.content) <= {
        "contract", "query", "round", "owner", "gradient", "format", "raw", "digest"
    }  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"noise": "gaussian"},
        {"noise": "l2", "growth": 1.5},
        {"loss": "logistic", "clipping": "record"},
        {"noise": "gaussian", "clipping": "record", "growth": 2.0},
    ],
    ids=str,
)
def test_what_is_given_is_the_mean_gradient_under_the_noise_agreed(tmp_path, changes):
    """At budgets so large that the noise is a thousandth of the gradient."""
    contract = small_contract(2, **changes)
    contract = changed_owner(contract, epsilon=1e6 if contract.noise.delta == 0 else 1e9)
    house = House(contract, tmp_path / "bank.ledger")
    first = house.answer(house.query()).answer
    second = house.answer(house.query(2, first)).answer
    for made, point in ((first, np.zeros(4)), (second, np.full(4, 0.1))):
        exact = release.bare_answer(house.own.x, house.own.y, point, contract.terms("Alpha"))
        assert np.abs(made.gradient - exact).max() < 2e-2 * np.abs(exact).max()
    assert house.ledger.account("Alpha", "claims 2019").answers_remaining == 0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"noise": "gaussian", "rule": "without"},
        {"loss": "hinge", "clipping": "record", "growth": 1.5},
    ],
    ids=str,
)
def test_owners_answer_what_a_learner_that_keeps_to_the_contract_asks(tmp_path, changes):
    """Where the contract goes on without who is missing, the last owner misses the second round."""
    contract = small_contract(ROUNDS, **changes)
    houses = [House(contract, tmp_path / name, name) for name in contract.names]
    queries = []
    answers = []
    while (found := collect_answers(contract, queries, answers)).phi is None:
        queries.append(found.query)
        late = contract.missing.rule == "without" and found.query.round >= 2
        answers += [house.answer(found.query).answer for house in houses[: 3 - late]]
        if late and found.query.round == 2:
            found = collect_answers(contract, queries, answers, close=True)
            with pytest.raises(InputError, match="query.asked: must name Gamma"):
                houses[2].answer(found.query)
            queries.append(found.query)
            answers += [house.answer(found.query).answer for house in houses[:2]]
    assert len(queries) == ROUNDS and [house.answered for house in houses] == [
        3,
        3,
        1 if late else 3,
    ]


def test_what_an_owner_foresees_is_counted_and_costs_nothing(house):
    own = Records(house.own.x, house.own.y, clipped=7)
    before = preview_contract(house.contract, "Alpha", own, house.ledger)
    lengths = np.abs(own.x @ house.contract.coordinates.transform).sum(axis=1)
    assert (before.rows, before.cells, before.records) == (
        40,
        7,
        (lengths > 2.0).sum(),
    ) and before.records > 0
    assert before.payment == 5.0 and before.claim["epsilon"] == 2.0 and before.account.answered == 0
    assert 0.5 < before.claim["surest"] < 1
    shortened = House(
        small_contract(loss="logistic", clipping="record", bounds={"radius": 0.6}),
        house.path.with_name("b"),
    )
    seen = preview_contract(shortened.contract, "Alpha", shortened.own, None)
    assert 0 < seen.gradients < 40 and seen.records == seen.targets == 0 and seen.account is None
    with pytest.raises(InputError, match="query.point"):
        preview_contract(house.contract, "Alpha", own, house.ledger, house.query(point=np.ones(4)))
    assert house.answered == 0


def told(house, given):
    """Answers every round as a program does that was just started, and writes what it gives into a folder."""
    before = None
    for number in range(1, ROUNDS + 1):
        before = house.answer(house.query(number, before)).answer
        (given / f"{number}.{before.digest}").write_bytes(before.raw)


def check_once(house, given):
    rounds = Counter(path.name.split(".")[0] for path in given.iterdir())
    assert max(rounds.values(), default=1) == 1, "a round was answered twice"
    assert len(rounds) <= house.answered <= ROUNDS


@pytest.mark.exchange
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@forks
def test_killed_at_any_step_twice_a_round_has_one_answer_and_all_are_given(tmp_path):
    """The second kill strikes the program that was started again."""
    contract = small_contract(ROUNDS)
    assert contract.terms("Alpha").scale > 0  # all is loaded before forking
    step = 0
    ended = False
    while not ended:
        step += 1
        folder = tmp_path / f"{step}"
        (given := folder / "given").mkdir(parents=True)
        house = House(contract, folder / "bank.ledger")
        ended = killed(lambda: told(house, given), at=step)  # noqa: B023 (called at once)
        check_once(house, given)
        killed(lambda: told(house, given), at=1 + step % 7)  # noqa: B023
        check_once(house, given)
        told(house, given)
        check_once(house, given)
        assert house.answered == ROUNDS and len(list(given.iterdir())) == ROUNDS
    assert step > 20


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@forks
def test_killed_at_random_moments_a_round_has_one_answer(house, tmp_path):
    def tell_elsewhere(name):
        (folder := tmp_path / name).mkdir()
        told(House(house.contract, folder / "bank.ledger"), folder)

    tell_elsewhere("imports")
    seconds = measure_work(lambda: tell_elsewhere("measured"))
    (given := tmp_path / "given").mkdir()
    kills = 0
    for _ in kill_at_random(lambda: told(house, given), np.random.default_rng(5), seconds):
        kills += 1
        check_once(house, given)
    check_once(house, given)
    assert house.answered == ROUNDS and kills > 5


def test_the_same_records_under_other_capitals_are_refused(house):
    other = altered(house.contract, records=house.contract.records.swapcase())
    with pytest.raises(InputError, match="more than capitals"):
        accept_contract(other, house.name, house.own, house.ledger)


def test_an_older_ledger_answers_no_other_question_of_a_round_that_was_answered(timed):
    before = timed.path.read_bytes()
    timed.answer(timed.query(**AGREED), now=NOON)
    timed.path.write_bytes(before)
    later = NOON + timedelta(hours=1)
    with pytest.raises(
        InputError, match="to another question of round 1 that the ledger has not charged"
    ):
        timed.answer(timed.query(**open_for(HOURS, later)), now=later)
    assert timed.answered == 0
