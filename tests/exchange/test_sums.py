"""Exchanges of sums: one question, one answer, one charge; what the learner makes of them, suspects, and solves again."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import numpy as np
import pytest
from collecting import give, play
from commands import dpmarket
from exchanges import SUMS, Owners, records, small_contract, table
from kills import forks, kill_at_random, killed, measure_work

from exchange import contract as contracts
from exchange.contract import parse_contract
from exchange.folder import CONTRACT, MODEL, answer_name, owner_slug, query_name
from exchange.learner import sums_suspicions, suspicions
from exchange.learner.collecting import take_step
from exchange.learner.collector import collect_answers
from exchange.learner.comparison import compare_statement
from exchange.learner.exchange_files import read_exchange
from exchange.learner.noise import noise_of
from exchange.learner.settling import settle_exchange
from exchange.learner.sums import gather_sums
from exchange.learner.sums_suspicions import find_sums_suspicions, largest_target, sums_sold
from exchange.learner.withdrawing import withdraw_owners
from exchange.messages import LARGEST, Gradient, Query, Sums, parse_answer
from exchange.owner import kept
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.answers import answer_query
from exchange.owner.preview import preview_contract
from exchange.owner.table import Records
from exchange.sentences import contract_lines
from exchange.statement import make_statement
from learning.errors import InputError
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Registry
from learning.privacy.release_sums import flatten_moments
from learning.training.engine import train
from scenarios.model_file import from_json, to_json

pytestmark = pytest.mark.usefixtures("quick_disk")

__all__ = ["dpmarket"]
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
KINDS = [
    pytest.param({"noise": noise, "sums": SUMS | {"alike": alike}}, id=f"{noise}-{alike}")
    for noise in ("gaussian", "l2")
    for alike in (True, False)
]
RICH = [
    {"name": name, "records": 20_000, "epsilon": 3.0, "payment": 5.0, "weight": 1.0}
    for name in ("Alpha", "Beta", "Gamma")
]


def sums_contract(**given):
    return small_contract(1, **{"noise": "gaussian", "sums": SUMS} | given)


def question(contract):
    return collect_answers(contract, [], []).query


def house(contract, folder, name="Alpha"):
    """An owner's records and ledger, once it has accepted."""
    own = Records(*records(contract, name))
    folder.mkdir(parents=True, exist_ok=True)
    ledger = LedgerFile.create(folder / f"{name}.ledger")
    said = Permissions(max_epsilon=1e3, registry=Registry(folder / f"{name}.registry"))
    accept_contract(contract, name, own, ledger, said)
    return own, ledger


# The owner


@pytest.mark.parametrize("given", KINDS)
def test_one_question_gets_one_answer_and_one_charge(given, tmp_path):
    contract = sums_contract(**given)
    asked = question(contract)
    own, ledger = house(contract, tmp_path)
    made = answer_query(contract, "Alpha", asked, own, ledger)
    answer = parse_answer(made.answer.raw, "answer", contract)
    assert isinstance(answer, Sums) and (len(answer.score), len(answer.moments)) == (4, 10)
    again = answer_query(contract, "Alpha", asked, own, ledger)
    assert again.again and again.answer.raw == made.answer.raw
    (account,) = ledger.accounts
    assert (account.answered, account.answers_remaining) == (1, 0)
    for other, key in (
        (replace(asked, until="2999-01-01T00:00:00+00:00"), "query.round"),
        (replace(asked, point=np.array([0.0, 1e-12, 0.0, 0.0])), "query.point"),
        (replace(asked, round=2), "query.round"),
    ):
        with pytest.raises(InputError, match=key):
            answer_query(contract, "Alpha", other, own, ledger)
    stated = make_statement(contract, "Alpha", ledger)
    assert compare_statement(contract, stated, {1: (asked.digest, answer.digest)}).status == (
        "agrees"
    )
    assert stated.spent == pytest.approx(2.0 if given["noise"] == "l2" else 1)


def test_an_owner_reads_what_it_is_about_to_do_and_no_digit_of_its_disk_tells_an_answer(tmp_path):
    contract = sums_contract()
    own, ledger = house(contract, tmp_path)
    seen = preview_contract(contract, "Alpha", own, ledger, question(contract))
    coordinates = contract.coordinates
    lengths = np.linalg.norm(own.x @ coordinates.transform, axis=1)
    long = np.abs(own.y - own.x @ coordinates.centre) * lengths > SUMS["bound"]
    assert (seen.records, seen.targets, seen.gradients) == (
        int((lengths > coordinates.radius).sum()),
        0,
        int(long.sum()),
    )
    assert 0 < long.sum() < len(long)
    lines = dict(contract_lines(contract))
    assert "a score, 4 numbers that say" in lines["question"]
    assert "second moments, 10 numbers that say how fast" in lines["question"]
    assert "its score to 1.5, with one weight in both sums" in lines["clipping"]
    assert "its budget stays spent" in lines["withdrawal"] and "one Newton step" in lines["model"]
    assert "withdrawal" not in dict(contract_lines(small_contract(2)))


def tell(contract, folder, given):
    """Answer as a program does that was just started, and write what it gives."""
    own = Records(*records(contract, "Alpha"))
    made = answer_query(
        contract, "Alpha", question(contract), own, LedgerFile(folder / "Alpha.ledger")
    )
    (given / made.answer.digest).write_bytes(made.answer.raw)


@pytest.mark.exchange
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@forks
@pytest.mark.parametrize("noise", ["gaussian", "l2"])
def test_killed_at_any_step_sums_are_drawn_once_charged_once_and_given(tmp_path, noise):
    contract = sums_contract(noise=noise)
    step = 0
    ended = False
    while not ended:
        step += 1
        folder = tmp_path / f"{step}"
        (given := folder / "given").mkdir(parents=True)
        _, ledger = house(contract, folder)
        ended = killed(lambda: tell(contract, folder, given), at=step)  # noqa: B023 (called at once)
        killed(lambda: tell(contract, folder, given), at=1 + step % 7)  # noqa: B023
        tell(contract, folder, given)
        assert len(list(given.iterdir())) == 1, step
        assert ledger.accounts[0].answered == 1
    assert step > 7


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@forks
def test_killed_at_random_moments_sums_are_given_once(tmp_path):
    contract = sums_contract()
    house(contract, tmp_path / "measured")
    (given := tmp_path / "given").mkdir()
    tell(contract, tmp_path / "measured", given)
    house(contract, tmp_path / "again")
    seconds = measure_work(lambda: tell(contract, tmp_path / "again", given))
    kills = 0
    for number in range(4):
        folder = tmp_path / f"{number}"
        _, ledger = house(contract, folder)
        (shown := folder / "given").mkdir()
        work = lambda: tell(contract, folder, shown)  # noqa: B023, E731
        for _ in kill_at_random(work, np.random.default_rng(number), seconds):
            kills += 1
            assert len(list(shown.iterdir())) <= ledger.accounts[0].answered <= 1
        assert len(list(shown.iterdir())) == ledger.accounts[0].answered == 1
    assert kills > 10


# The learner


@pytest.mark.parametrize("given", KINDS)
def test_the_model_is_that_of_the_simulated_training(given):
    contract = sums_contract(**given)
    owners = Owners(contract)
    asked = question(contract)
    assert not asked.point.any() and asked.round == contract.rounds == 1
    found = collect_answers(contract, [asked], owners.all(asked), accepted=contract.names)
    simulated = train(owners.task).theta[0]
    np.testing.assert_allclose(contract.coordinates.model(found.phi), simulated, rtol=1e-9)
    assert found.query is None and len(found.path) == 2 and not found.told


def test_answers_of_another_form_size_or_length_are_told_of_and_not_used():
    contract = sums_contract()
    asked = question(contract)
    honest = Owners(contract).all(asked)
    head = contract.digest, asked.digest, 1
    score, moments = honest[1].score, honest[1].moments
    for answer, kind in (
        (Gradient(*head, "Beta", np.ones(4)), "form"),
        (Sums(*head, "Beta", score[:3], moments), "width"),
        (Sums(*head, "Beta", score, moments[:9]), "width"),
        (Sums(*head, "Beta", moments, score), "width"),
        (Sums(*head, "Beta", score, 1e101 + moments), "size"),
        (Sums("0" * 64, asked.digest, 1, "Beta", score, moments), "contract"),
        (Sums(*head, "Nobody", score, moments), "owner"),
    ):
        given = [honest[0], answer, honest[2]]
        found = collect_answers(contract, [asked], given, accepted=["Beta"])
        assert found.missing == ("Beta",) and [one.kind for one in found.told] == [kind]
    other = small_contract(1, noise="gaussian")
    asked = question(other)
    sums = Sums(other.digest, asked.digest, 1, "Beta", score, moments)
    assert [one.kind for one in collect_answers(other, [asked], [sums]).told] == ["form"]
    for bad in (b"NaN", b"1e999", b"null", b'"1"'):
        raw = replace(honest[1], score=np.array([0.5, 1, 2, 3])).raw.replace(b"0.5", bad)
        with pytest.raises(InputError):
            parse_answer(raw, "answer", contract)


@pytest.mark.parametrize("given", KINDS)
def test_the_largest_sums_that_may_be_sent_never_break_the_learner(given):
    contract = sums_contract(**given)
    asked = question(contract)
    honest = Owners(contract).all(asked)
    rng = np.random.default_rng(3)
    for size in (1e100, -1e100, 1e60, 1e-300, 0.0):
        wild = size * rng.uniform(0, 1, 14)
        sums = Sums.of(contract.digest, asked.digest, 1, "Beta", wild)
        found = collect_answers(
            contract, [asked], [honest[0], sums, honest[2]], accepted=contract.names
        )
        assert np.isfinite(found.phi).all() and "Beta" in {one.owner for one in found.told}
        assert np.linalg.norm(found.phi) <= contract.bounds.theta_max * (1 + 1e-12)


# Suspicions


def released(contract, bare, rng, silent=()):
    """Sums of all owners, noise of the law that was sold around given ones, (p + p (p + 1)/2,)."""
    sold = sums_sold(contract)
    used = {}
    for place, name in enumerate(contract.names):
        numbers = np.array(bare, dtype=float)
        for part, rows in zip(sold, (slice(4), slice(4, 14)), strict=True):
            scale = part.scales[name][0] * contract.owners[place].records
            drawn = noise_of(contract).draw(scale, (len(numbers[rows]),), rng=rng)
            numbers[rows] += drawn * (name not in silent)
        used[name] = Sums.of(contract.digest, "0" * 64, 1, name, numbers)
    return gather_sums(contract, used)


def extreme(contract, kind, n):
    """Sums of n records at an edge of what is possible."""
    h, r = contract.sums.bound, contract.bounds.radius
    along = np.eye(4)[0]
    if kind == "nothing":
        return np.zeros(14)
    if kind == "all alike":  # the longest score, the largest trace
        return np.concatenate([n * h * along, flatten_moments(n * r**2 * np.outer(along, along))])
    largest = min(largest_target(contract), h / 1e-3)  # the shortest records that make the score
    short = h / largest
    return np.concatenate([n * h * along, flatten_moments(n * short**2 * np.outer(along, along))])


@pytest.mark.parametrize("given", KINDS[::3])
@pytest.mark.parametrize("kind", ["nothing", "all alike", "short and badly predicted"])
def test_honest_owners_are_suspected_as_rarely_as_is_said(given, kind, monkeypatch):
    """Of 60 exchanges at a chance of 20 %, by kind; a sound test fails this once in 1,000."""
    monkeypatch.setattr(suspicions, "CHANCE", 0.2)
    monkeypatch.setattr(sums_suspicions, "CHANCE", 0.2)
    contract = sums_contract(**given)
    rng = np.random.default_rng(1)
    found = []
    for _ in range(60):
        made = released(contract, extreme(contract, kind, 40), rng)
        found.append({told.kind for told in find_sums_suspicions(made, contract)})
    for each in suspicions.SUSPICIOUS:
        assert sum(each in one for one in found) <= 60 * 0.2 + 3.1 * np.sqrt(60 * 0.16), each
    if kind == "nothing":
        assert sum("near zero" in one for one in found) >= 3


@pytest.mark.parametrize("given", KINDS)
def test_sums_that_no_records_give_are_told_by_kind(given):
    contract = sums_contract(owners=RICH, **given)
    rng = np.random.default_rng(2)
    n = 20_000
    usual = Owners(contract).task.owners[1].records
    bare = np.concatenate([usual.xy, flatten_moments(usual.xx)])
    assert find_sums_suspicions(released(contract, bare, rng), contract) == []
    r, h = contract.bounds.radius, contract.sums.bound
    turned = usual.xx - 2 * np.trace(usual.xx) * np.outer(np.eye(4)[1], np.eye(4)[1])
    long = np.concatenate([np.zeros(4), flatten_moments(n * r**2 * np.eye(4) / 3)])
    alone = np.concatenate([0.99 * n * h * np.eye(4)[0], np.zeros(10)])
    for numbers, kind in (
        (np.concatenate([bare[:4], flatten_moments(turned)]), "negative"),
        (long, "trace"),
        (alone, "mismatched"),
        (np.concatenate([1.3 * n * h * np.eye(4)[0], bare[4:]]), "long"),
        (np.concatenate([bare[:4], 40 * bare[4:]]), "long"),
    ):
        told = find_sums_suspicions(released(contract, numbers, rng), contract)
        assert {one.owner for one in told} == set(contract.names), kind
        assert kind in {one.kind for one in told}, (kind, {one.kind for one in told})
    silent = released(contract, np.zeros(14), rng, silent=["Beta"])
    told = find_sums_suspicions(silent, contract)
    assert {(one.owner, one.kind) for one in told} == {("Beta", "near zero")}
    copied = released(contract, bare, rng)
    copied.xx[2] = copied.xx[0]
    told = find_sums_suspicions(copied, contract)
    assert {(one.owner, one.kind) for one in told} == {("Gamma", "alike"), ("Alpha", "alike")}
    assert "has a matrix of second moments that hardly differs from" in str(told[0])


def test_sums_that_are_suspicious_wait_until_the_learner_says_so(laid_out):
    contract, folder, owners = laid_out()
    asked = question(contract)
    (folder / query_name(1)).write_bytes(asked.raw)
    bad = Sums.of(contract.digest, asked.digest, 1, "Beta", np.full(14, 1e6))
    give(folder, owners.answer(asked, "Alpha"), bad, owners.answer(asked, "Gamma"))
    step = take_step(contract, folder, now=NOON)
    assert step.found.doubted == ("Beta",) and step.is_stuck and step.wrote is None
    step = take_step(contract, folder, now=NOON, accepted=["Beta"])
    assert step.is_done and (folder / MODEL).exists()


# Withdrawal


@pytest.fixture
def laid_out(tmp_path):
    def lay(**given):
        contract = sums_contract(**given)
        (folder := tmp_path / "x").mkdir()
        (folder / CONTRACT).write_bytes(contract.raw)
        return contract, folder, Owners(contract)

    return lay


@pytest.mark.parametrize("given", KINDS)
def test_a_withdrawal_is_to_the_last_bit_a_collection_that_never_had_the_owner(given, tmp_path):
    contract = sums_contract(rule="without", **given)
    owners = Owners(contract)
    folders = [tmp_path / "all", tmp_path / "two"]
    for folder, names in zip(folders, (contract.names, ("Alpha", "Gamma")), strict=True):
        folder.mkdir()
        take_step(contract, folder, now=NOON)
        asked = question(contract)
        give(folder, *(owners.answer(asked, name) for name in names))
        step = take_step(contract, folder, now=NOON, close=True, accepted=contract.names)
        assert step.is_done and step.found.owners == names
    before = (folders[0] / MODEL).read_bytes()
    left = to_json(withdraw_owners(contract, folders[0], ["Beta"])).encode()
    assert left == (folders[1] / MODEL).read_bytes() != before
    assert (folders[0] / MODEL).read_bytes() == before
    answers = {name: owners.answer(asked, name) for name in contract.names}
    theta = gather_sums(contract, answers).without("Beta").solve()
    assert withdraw_owners(contract, folders[0], ["Beta"]).model.theta.tobytes() == theta.tobytes()
    alone = withdraw_owners(contract, folders[0], ["Beta", "Alpha"])
    assert alone.asked == ("Gamma",) and {one["party"] for one in alone.claims} == {"Gamma"}


def test_a_withdrawal_is_refused_where_it_is_not_possible(tmp_path):
    with pytest.raises(InputError, match="must use sums, which can be removed"):
        withdraw_owners(small_contract(1), tmp_path, ["Beta"])
    contract = sums_contract(rule="without")
    (folder := tmp_path / "sums").mkdir()
    with pytest.raises(InputError, match="must hold model.json and its closing"):
        withdraw_owners(contract, folder, ["Beta"])
    owners = Owners(contract)
    take_step(contract, folder, now=NOON)
    asked = question(contract)
    give(folder, owners.answer(asked, "Alpha"), owners.answer(asked, "Gamma"))
    take_step(contract, folder, now=NOON, close=True)
    for names, rule in (
        (["Beta"], "must have sums in the model; found none of Beta"),
        (["Delta"], "must be an owner of the contract"),
        (["Alpha", "Gamma"], "must leave the sums of at least one owner"),
    ):
        with pytest.raises(InputError, match=rule):
            withdraw_owners(contract, folder, names)


def test_the_command_writes_the_model_beside_the_old_one_and_the_settlement_stays(
    laid_out, dpmarket
):
    contract, folder, owners = laid_out()
    play(contract, folder, lambda: dpmarket("collect", folder / CONTRACT, "--accept", "Alpha"))
    status, out, _ = dpmarket("withdraw", folder / CONTRACT, "--owner", "Beta")
    path = folder / f"model.without-{owner_slug('Beta')}.json"
    assert status == 0 and "is the model of Alpha and Gamma" in out
    assert "Its ledger gets no budget back" in out
    assert from_json(path).asked == ("Alpha", "Gamma")
    assert dpmarket("withdraw", folder / CONTRACT, folder, "--owner", "Beta")[0] == 0
    path.write_bytes(b"{}")
    status, _, err = dpmarket("withdraw", folder / CONTRACT, "--owner", "Beta")
    assert status == 2 and "must be a new file, or the same model" in err
    settled = settle_exchange(read_exchange(folder, contract))
    assert settled["holds"] and settled["questions"]["content"] == "score"
    assert [one["share"] for one in settled["owners"]] == [1.0, 1.0, 1.0]


# The contract


def test_a_contract_of_sums_is_read_as_it_was_written_and_one_of_gradients_knows_no_sums():
    for given in ({}, {"noise": "l2"}):
        contract = sums_contract(**given)
        assert parse_contract(contract.raw, "contract.json") == contract
        assert contract.terms("Alpha").sums
        assert "score" in contract.terms("Alpha").budget.bounds.lower()
    assert b'"sums"' not in small_contract(2).raw


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"training": {"algorithm": "averaged"}}, "training.algorithm: must be one_step"),
        ({"training": {"answers": 2}}, "get one answer, to bound scores; found 2 answers"),
        ({"training": {"growth": 2.0}}, "must have one question"),
        ({"training": {"returned": "averaged", "steps": [1.0, 1.0], "answers": 2}}, "one answer"),
        ({"bounds": {"clipping": "record"}}, "clip records"),
        ({"bounds": {"norm": 1}}, "must be Laplace noise .* or pure l2 noise"),
        ({"noise": "laplace"}, "clip records in 2-norm"),
        ({"sums": SUMS | {"share": 1e-60}}, "sums.share"),
    ],
)
def test_contracts_whose_sums_do_not_hold_together_are_refused(change, rule):
    with pytest.raises((InputError, ValueError), match=rule):
        contract = sums_contract(**change)
        parse_contract(contract.raw, "contract.json")


def test_weights_that_sums_do_not_have_are_refused():
    owners = [one | {"weight": 1.0 + (one["name"] == "Beta")} for one in RICH]
    with pytest.raises(InputError, match="owners: must have weights in proportion to records"):
        parse_contract(sums_contract(owners=owners).raw, "contract.json")


def test_sums_of_too_many_parameters_are_refused_when_they_are_read(monkeypatch):
    raw = sums_contract().raw
    monkeypatch.setattr(contracts, "WIDEST_MODEL", 3)
    with pytest.raises(InputError, match="at most 3 parameters if owners release sums; found 4"):
        parse_contract(raw, "contract.json")


def test_sums_of_the_widest_model_fit_into_a_message():
    numbers = np.full(256 + 256 * 257 // 2, kept.LONGEST)
    assert len(Sums.of("0" * 64, "0" * 64, 1, "x" * 200, numbers).raw) < LARGEST


def test_sums_without_bounds_are_refused_as_gradients_of_one_step():
    contract = small_contract(1, noise="gaussian", training={"algorithm": "one_step"})
    with pytest.raises(InputError, match="or one_step with bounds on sums"):
        parse_contract(contract.raw, "contract.json")


def test_an_altered_bound_is_another_contract_that_nobody_answers(tmp_path):
    contract = sums_contract()
    own, ledger = house(contract, tmp_path)
    other = sums_contract(sums=SUMS | {"bound": 150.0})
    with pytest.raises(InputError, match="Answer under the contract that was accepted"):
        answer_query(other, "Alpha", question(other), own, ledger)
    asked = Query(contract.digest, 1, np.zeros(4), contract.names)
    assert answer_query(contract, "Alpha", asked, own, ledger).account.answered == 1


def test_tables_go_through_the_programs(tmp_path, dpmarket):
    """Owners' and learner's commands, and the names of files."""
    contract = sums_contract(noise="l2")
    (shared := tmp_path / "shared").mkdir()
    (tmp_path / "contract.json").write_bytes(contract.raw)
    assert dpmarket("collect", tmp_path / "contract.json", "--out", shared)[0] == 0
    for name in contract.names:
        (tmp_path / f"{name}.csv").write_text(table(contract, name))
        own = ["--owner", name, "--data", tmp_path / f"{name}.csv", "--ledger", tmp_path / name]
        status, out, err = dpmarket(
            "accept", tmp_path / "contract.json", *own, "--max-epsilon", "9"
        )
        assert status == 0 and "sums: a score, 4 numbers, and second moments, 10 numbers" in out, (
            err
        )
        status, out, _ = dpmarket("answer", tmp_path / "contract.json", shared, *own)
        assert status == 0 and "on the score" in out and (shared / answer_name(1, name)).exists()
    status, out, _ = dpmarket("collect", tmp_path / "contract.json", shared)
    assert status == 0 and "on each number of their mean score" in out
    assert (shared / MODEL).exists()


@pytest.mark.parametrize("alike", [True, False])
def test_the_largest_target_is_that_of_the_worst_row_that_the_ranges_allow(alike):
    """Brute force over the corners of all ranges; and no clipped record of wild rows has a larger |v|."""
    contract = sums_contract(sums=SUMS | {"alike": alike, "bound": 1e6})
    corners = {"age": [20.0, 70.0], "income": [0.0, 100.0], "claims": [0.0, 10.0]}
    rows = list(product(*corners.values(), ["private", "public"]))
    table_of = dict(zip([*corners, "kind"], map(np.array, zip(*rows, strict=True)), strict=True))
    x, y, _ = contract.encoder.records(table_of, np.arange(len(rows)))
    worst = np.abs(y - x @ contract.coordinates.centre).max()
    bound = largest_target(contract)
    assert bound >= worst * (1 - 1e-12)
    if alike:
        assert bound <= 1.1 * worst
    coordinates = sums_contract(sums=SUMS | {"alike": alike}).coordinates
    moved = x @ coordinates.transform * 3
    lengths = coordinates.lengths(moved)
    missed = y - x @ coordinates.centre
    _, held = coordinates.scores.records(moved, missed, lengths, coordinates.radius)
    assert np.abs(held).max() <= largest_target(sums_contract(sums=SUMS | {"alike": alike}))
