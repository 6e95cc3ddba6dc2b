"""Secure aggregation between owners and learner: totals, drop-outs at every question, refusals, what nobody sees."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from aggregations import (
    House,
    ask,
    collect,
    play,
    question,
    secrets_of,
    secure_contract,
    settle_in,
)
from exchanges import key_of, records, training
from scipy import stats

from exchange.contract import compute_claims, parse_contract
from exchange.flower.relay import Relay
from exchange.folder import answer_name, latest_query, query_name
from exchange.learner.aggregation import price_part
from exchange.learner.exchange_files import read_exchange
from exchange.learner.noise import noise_of
from exchange.learner.settling import settle_exchange
from exchange.learner.unmasking import (
    gather_total,
    read_total,
    total_deviations,
    total_noise,
    unmask_total,
)
from exchange.learner.withdrawing import withdraw_owners
from exchange.messages import Masked, Unmasking, parse_answer, read_answer, sign_message
from exchange.owner import kept
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.aggregating import own_answers, root_place
from exchange.owner.answers import follow_head, ledger_purpose
from exchange.owner.table import Records
from exchange.secure.combining import combine_shares
from exchange.secure.masks import own_mask, pair_mask, pairs_of
from exchange.secure.shamir import PRIME
from exchange.sentences import contract_lines
from exchange.statement import make_statement
from learning.errors import InputError
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Registry
from learning.privacy.release import bare_answer
from learning.privacy.release_sums import flatten_moments
from learning.privacy.wrapped import SharedNoise
from learning.training.noisy_statistics import release_statistics

pytestmark = pytest.mark.usefixtures("quick_disk")

STEPS = (1, 2, 3, 4, 5)
LOST = [
    pytest.param(3, 1, 0, {}, id="3-none"),
    *(pytest.param(3, 0, 1, {k: ["Beta"]}, id=f"3-one-at-{k}") for k in STEPS),
    pytest.param(5, 2, 1, {}, id="5-none"),
    *(pytest.param(5, 1, 1, {k: ["Alpha"]}, id=f"5-one-at-{k}") for k in STEPS),
    *(pytest.param(5, 0, 2, {k: ["Beta", "Epsilon"]}, id=f"5-two-at-{k}") for k in STEPS),
    pytest.param(5, 0, 2, {2: ["Beta"], 3: ["Delta"]}, id="5-at-2-and-3"),
    pytest.param(5, 0, 2, {1: ["Gamma"], 5: ["Alpha"]}, id="5-at-1-and-5"),
    pytest.param(5, 0, 2, {3: ["Epsilon"], 4: ["Alpha"]}, id="5-at-3-and-4"),
]
assert len(LOST) == 20


def words_under_masks(house, shared):
    """An owner's words before masks, by its own secrets."""
    asked = question(shared, 3, house.contract)
    keys = {
        name: read_answer(shared / answer_name(1, name), house.contract) for name in asked.asked
    }
    words = read_answer(shared / answer_name(3, house.name), house.contract).masked
    secrets = secrets_of(house, shared)
    words = words - own_mask(secrets.seed, asked.digest, len(words))
    for pair in pairs_of(house.name, asked.asked):
        other = pair[0] if pair[1] == house.name else pair[1]
        public = keys[other].masking
        mask = pair_mask(secrets.masking, public, asked.digest, pair, len(words))
        words = words - mask if pair[0] == house.name else words + mask
    return words


def bare_total(contract, houses, names):
    point = np.zeros(len(contract.bounds.start))
    held = [(houses[name].records, contract.terms(name)) for name in names]
    return sum(bare_answer(own.x, own.y, point, terms) for own, terms in held)


@pytest.mark.parametrize(("owners", "colluders", "dropouts", "lost"), LOST)
def test_the_learner_reads_the_exact_total_of_all_that_sent_sums_and_nothing_shows_one(
    owners, colluders, dropouts, lost, tmp_path
):
    contract = secure_contract(owners, colluders, dropouts)
    assert parse_contract(contract.raw, "contract").digest == contract.digest
    houses, shared = settle_in(contract, tmp_path)
    step = play(contract, houses, shared, lost)
    before = {name for number in (1, 2, 3) for name in lost.get(number, ())}
    there = tuple(name for name in contract.names if name not in before)
    assert step.found.owners == there
    total = unmask_total(contract, step.found.used)
    each = {name: words_under_masks(houses[name], shared) for name in there}
    assert (total == sum(each.values(), start=np.zeros_like(total))).all()  # to the last bit
    sums = gather_total(contract, step.found.used)
    numbers = np.concatenate([sums.xu[0], flatten_moments(sums.xx[0])])
    noise = (numbers - bare_total(contract, houses, there)) * total_noise(contract).weights
    deviation = total_deviations(contract, len(there))[0]
    assert stats.kstest(noise / deviation, "norm").pvalue > 1e-4
    assert 0.15 < (noise / deviation).std() < 2.2
    wire = b"".join(path.read_bytes() for path in shared.iterdir())
    numbers = {*map(int, re.findall(rb"(?<![\w.])-?\d+(?![\w.])", wire))}
    assert int(step.found.used[2][there[0]].masked[0]) in numbers
    for name, words in each.items():
        house = houses[name]
        secrets = secrets_of(house, shared)
        for secret in (secrets.sealing, secrets.masking):
            assert secret.hex().encode() not in wire
        for word in words.tolist():
            assert not numbers.intersection([word, word - 2**64])
            for order in ("little", "big"):
                assert word.to_bytes(8, order).hex().encode() not in wire
        assert house.ledger.accounts[0].answered == 1
        unmasked = name in step.found.used[4]
        assert root_place(contract, name, house.ledger).exists() != unmasked


def test_masks_are_gone_only_from_the_whole_total(tmp_path):
    contract = secure_contract(3, 1, 0)
    houses, shared = settle_in(contract, tmp_path)
    step = play(contract, houses, shared)
    each = {name: words_under_masks(houses[name], shared) for name in contract.names}
    masked = {name: one.masked for name, one in step.found.used[2].items()}
    asked = question(shared, 3, contract).digest
    for count in (1, 2):
        for some in combinations(contract.names, count):
            part = sum((masked[name] for name in some), start=np.zeros(14, dtype=np.uint64))
            for name in some:
                part = part - own_mask(secrets_of(houses[name], shared).seed, asked, 14)
            bare = sum((each[name] for name in some), start=np.zeros(14, dtype=np.uint64))
            assert not (part == bare).any()  # all seeds known: pair masks still hide the part


def test_the_noise_of_totals_has_the_distribution_of_the_simulation():
    contract = secure_contract(3, 1, 0)
    runs = 300
    task = training(contract, runs=runs)
    shared = SharedNoise(noise_of(contract), 3, 1)
    sizes = np.array([owner.records for owner in contract.owners])
    whole = max(n * one.scale for n, one in zip(sizes, task.owners, strict=True))
    task = replace(task, mechanism=shared)
    simulated = np.zeros((runs, 14))
    for n, owner in zip(sizes, task.owners, strict=True):
        made = release_statistics(task, replace(owner, scale=whole / n), range(runs))
        flat = [np.append(u, flatten_moments(x)) for u, x in zip(made.xu, made.xx, strict=True)]
        simulated += np.array(flat)
    simulated -= simulated.mean(axis=0)
    noise = total_noise(contract)
    zeros = np.zeros(14)
    drawn = np.array(
        [
            read_total(noise, sum((noise.add(zeros) for _ in range(3)), start=np.uint64(0)))
            for _ in range(runs)
        ]
    )
    for column in range(14):
        assert stats.ks_2samp(drawn[:, column], simulated[:, column]).pvalue > 1e-4
    ratio = drawn.var(axis=0) / simulated.var(axis=0)
    assert np.abs(np.log(ratio)).max() < 5 * np.sqrt(4 / runs)
    assert (drawn.var() / simulated.var()) == pytest.approx(1, abs=0.15)
    for sample in (drawn, simulated):
        correlations = np.corrcoef(sample.T) - np.eye(14)
        assert np.abs(correlations).max() < 5 / np.sqrt(runs)


def test_more_drop_outs_than_agreed_stop_the_exchange_at_every_question(tmp_path):
    contract = secure_contract(3, 0, 1)
    for number in STEPS:
        houses, shared = settle_in(contract, tmp_path / str(number))
        with pytest.raises(AssertionError, match=f"stuck at {number}"):
            play(contract, houses, shared, {number: ["Alpha", "Beta"]})
        assert not (shared / "model.json").exists()
        answered = [house.ledger.accounts[0].answered for house in houses.values()]
        assert sum(answered) == {1: 0, 2: 0, 3: 1}.get(number, 3)


def test_an_owner_answers_each_question_once_and_the_same_again_at_no_charge(tmp_path):
    contract = secure_contract(3, 0, 1)
    houses, shared = settle_in(contract, tmp_path)
    play(contract, houses, shared)
    for number in STEPS:
        query = question(shared, number, contract)
        again = houses["Alpha"].answer(query, shared)
        assert (
            again.again and again.answer.raw == (shared / answer_name(number, "Alpha")).read_bytes()
        )
        with pytest.raises(InputError, match="answers each round once"):
            houses["Alpha"].answer(replace(query, issued=None, until="x"), shared)
    assert houses["Alpha"].ledger.accounts[0].answered == 1


def played_to(contract, folder, number):
    """Houses and folder of an exchange whose last question is of a number."""
    houses, shared = settle_in(contract, folder)
    while True:
        collect(contract, shared)
        query = latest_query(shared, contract)
        if query.round == number:
            return houses, shared, query
        for name in query.asked:
            houses[name].write(query, shared)


def test_an_owner_unmasks_one_total_of_enough_owners_and_gives_one_share_of_each(tmp_path):
    contract = secure_contract(5, 0, 2)
    houses, shared, query = played_to(contract, tmp_path, 4)
    alpha = houses["Alpha"]
    few = dict(list(query.answers.items())[:2])
    with pytest.raises(InputError, match="at least 3 owners"):
        alpha.answer(replace(query, asked=tuple(few), answers=few), shared)
    left = {name: query.answers[name] for name in contract.names if name != "Beta"}
    first = ask(contract, replace(query, asked=tuple(left), answers=left))
    (shared / query_name(4)).write_bytes(first.raw)
    alpha.write(first, shared)
    with pytest.raises(InputError, match="answers each round once"):
        alpha.answer(query, shared)  # the other list of survivors
    for name in left:
        houses[name].write(first, shared)
    step = collect(contract, shared)
    last = step.open
    assert last.round == 5
    given = alpha.write(last, shared)
    assert isinstance(given, Unmasking)
    assert set(given.keys) == {"Beta"} and set(given.seeds) == set(left)
    with pytest.raises(InputError, match="answers each round once"):
        fewer = {name: last.answers[name] for name in last.asked[:3]}
        alpha.answer(replace(last, asked=tuple(fewer), answers=fewer), shared)


def test_a_question_that_does_not_follow_is_refused_and_nothing_is_charged(tmp_path):
    contract = secure_contract(3, 0, 1)
    houses, shared, query = played_to(contract, tmp_path, 3)
    alpha = houses["Alpha"]
    answers = dict(query.answers)
    wrong = {
        "query.previous": replace(query, previous="0" * 64),
        "query.answers": replace(query, answers=answers | {"Alpha": "0" * 64}),
        "query.point": replace(query, point=np.full(4, 0.1)),
        "query.contract": replace(query, contract="0" * 64),
        "query.asked": replace(query, asked=("Beta", "Gamma")),
    }
    for key, one in wrong.items():
        with pytest.raises(InputError, match=key):
            alpha.answer(one, shared)
    with pytest.raises(InputError, match="those of Beta"):
        alpha.answer(replace(query, answers=answers | {"Beta": "0" * 64}), shared)
    with pytest.raises(InputError, match="answered before"):  # no questions are skipped
        late = House(contract, "Alpha", tmp_path / "late")
        late.answer(query, shared)
    assert alpha.ledger.accounts[0].answered == 0
    assert isinstance(alpha.answer(query, shared).answer, Masked)


def test_a_kill_between_keeping_and_charging_costs_once_and_gives_the_same_bytes(
    tmp_path, monkeypatch
):
    contract = secure_contract(3, 1, 0)
    houses, shared, query = played_to(contract, tmp_path, 3)
    alpha = houses["Alpha"]

    def killed(*given, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(alpha.ledger), "charge", killed)
        with pytest.raises(KeyboardInterrupt):
            alpha.answer(query, shared)
    assert alpha.ledger.accounts[0].answered == 0
    drawn = own_answers(contract, "Alpha", alpha.ledger)[3]
    made = alpha.answer(query, shared)
    assert made.answer.raw == drawn.raw and not made.again
    assert alpha.ledger.accounts[0].answered == 1
    folder = kept.kept_folder(alpha.ledger)
    (folder / f"{drawn.digest}.answer.json").unlink()
    with pytest.raises(InputError, match="must hold the answer"):  # it is never made anew
        alpha.answer(query, shared)


def value_at(x, points):
    """Value at x of the polynomial through some points."""
    total = 0
    for at, value in points.items():
        for other in points:
            if other != at:
                value = value * (x - other) * pow(at - other, -1, PRIME) % PRIME
        total += value
    return total % PRIME


def test_one_false_share_is_left_out_where_enough_are_true_and_named_otherwise(tmp_path):
    contract = secure_contract(5, 0, 2)
    houses, shared, query = played_to(contract, tmp_path, 5)
    given = {name: houses[name].write(query, shared) for name in query.asked}
    for planted in (None, 7):  # noise, and a share that makes another secret with the next two
        false = {name: "0" * 131 + "1" for name in given["Alpha"].seeds}
        if planted is not None:
            others = {k: given[name] for k, name in ((2, "Beta"), (3, "Gamma"))}
            for name in false:
                points = {k: int(one.seeds[name], 16) for k, one in others.items()}
                false[name] = value_at(1, {0: planted} | points).to_bytes(66).hex()
                shares = {k: value.to_bytes(66) for k, value in points.items()}
                shares[1] = bytes.fromhex(false[name])
                assert combine_shares(shares) == planted.to_bytes(32)
        altered = sign_message(replace(given["Alpha"], seeds=false), contract, key_of("Alpha"))
        path = shared / answer_name(5, "Alpha")
        path.write_bytes(altered.raw)
        for name in ("model.json", "closing.json"):
            (shared / name).unlink(missing_ok=True)
        step = collect(contract, shared)
        assert step.wrote == "model.json"
        total = unmask_total(contract, step.found.used)
        words = [words_under_masks(houses[name], shared) for name in contract.names]
        assert (total == sum(words, start=np.zeros_like(total))).all()
        few = [dict(list(one.items())[:3]) for one in step.found.used]
        with pytest.raises(InputError, match="secret of Alpha"):
            unmask_total(contract, [*step.found.used[:4], few[4]])


def test_settlement_pays_who_sent_sums_and_needs_no_single_answer(tmp_path):
    contract = secure_contract(5, 0, 2)
    houses, shared = settle_in(contract, tmp_path)
    play(contract, houses, shared, {3: ["Beta"], 4: ["Delta"]})
    statements = [make_statement(contract, name, house.ledger) for name, house in houses.items()]
    settled = settle_exchange(read_exchange(shared, contract), statements)
    assert settled["holds"], settled["faults"]
    paid = {one["name"]: one["paid"] for one in settled["owners"]}
    assert paid == {"Alpha": 5.0, "Beta": 0.0, "Gamma": 5.0, "Delta": 5.0, "Epsilon": 5.0}
    assert {one["ledger"]["status"] for one in settled["owners"]} == {"agrees"}
    assert settled["told"] == [] and settled["aggregated"]
    answer = read_answer(shared / answer_name(3, "Alpha"), contract)
    assert follow_head(answer.head, ledger_purpose(answer, 1)) == statements[0].head
    another = [replace(statements[0], head="0" * 64), *statements[1:]]
    doubted = settle_exchange(read_exchange(shared, contract), another)
    assert doubted["owners"][0]["ledger"]["status"] == "disagrees"
    with pytest.raises(InputError, match="secure aggregation"):
        withdraw_owners(contract, shared, ["Alpha"])
    masked = shared / answer_name(3, "Alpha")
    answer = parse_answer(masked.read_bytes(), "answer", contract)
    other = replace(answer, masked=answer.masked + np.uint64(1))
    masked.write_bytes(sign_message(other, contract, key_of("Alpha")).raw)
    assert not settle_exchange(read_exchange(shared, contract))["holds"]


def test_keys_that_a_relay_replaces_are_refused_and_unsigned_aggregations_are_not_accepted(
    tmp_path,
):
    contract = secure_contract(3, 0, 1)
    houses, shared, query = played_to(contract, tmp_path / "signed", 2)
    path = shared / answer_name(1, "Beta")
    beta = parse_answer(path.read_bytes(), "answer", contract)
    path.write_bytes(replace(beta, masking="9" + "0" * 63).raw)
    with pytest.raises(InputError, match="signed by the party"):
        houses["Alpha"].answer(query, shared)
    for owner in ("Beta", "Alpha"):  # Beta's name under another's signature
        forged = sign_message(replace(beta, owner=owner), contract, key_of(owner))
        path.write_bytes(replace(forged, owner="Beta", masking="9" + "0" * 63).raw)
        with pytest.raises(InputError, match="signed by the party"):
            houses["Alpha"].answer(query, shared)
    assert houses["Alpha"].ledger.accounts[0].answered == 0
    plain = secure_contract(3, 0, 1, signed=False)
    ledger = LedgerFile.create(tmp_path / "ledger")
    own = Records(*records(plain, "Alpha"))
    said = Permissions(max_epsilon=1e3, registry=Registry(tmp_path / "registry"))
    with pytest.raises(InputError, match="must be signed under secure aggregation"):
        accept_contract(plain, "Alpha", own, ledger, said)
    assert not ledger.accounts
    accept_contract(plain, "Alpha", own, ledger, replace(said, rehearsal=True))


# Contracts


def test_claims_by_onlooker_grow_with_the_parts_that_it_knows():
    sold = 2.0
    for owners, colluders, dropouts in ((3, 1, 0), (5, 2, 1), (5, 0, 2), (3, 0, 0)):
        contract = secure_contract(owners, colluders, dropouts)
        own = [claim for claim in contract.claims if claim["party"] == "Alpha"]
        epsilon = {claim["protects_against"][:12]: claim["epsilon"] for claim in own}
        learner = epsilon.pop("anyone who s")
        if colluders:
            assert learner < sold and epsilon.pop("the learner ") == pytest.approx(sold, rel=1e-9)
        else:
            assert learner == pytest.approx(sold, rel=1e-9)
        known = epsilon.pop("any one othe")
        assert (known > sold * 1.1) == (colluders == 0) and known > learner
        worst = max(claim["epsilon"] for claim in own)
        assert contract.terms("Alpha").budget.epsilon == worst
        distance = float(noise_of(contract).distance(sold))
        unknown = owners - dropouts - 1
        expected = noise_of(contract).epsilon_at(
            np.array(distance * np.sqrt((owners - colluders - dropouts) / unknown))
        )
        assert known == pytest.approx(float(expected), rel=1e-6)


def test_a_part_is_priced_for_the_owner_that_needs_most_and_no_higher():
    distances, budgets = [3.0, 5.0, 4.0], [0.02, 0.05, 0.011]
    part = price_part(distances, budgets, 14, 2)
    spent = [part.rho(apart, 14, 2) for apart in distances]
    assert all(cost <= budget for cost, budget in zip(spent, budgets, strict=True))
    assert spent[2] > budgets[2] * (1 - 1e-12)
    assert 2**24 <= part.scale < 2**26 and np.frexp(part.step)[0] == 0.5
    total = (
        part.scale * part.step * np.sqrt(2)
    )  # of two parts: the Gaussian noise of the same budget
    assert total == pytest.approx(4.0 / np.sqrt(2 * 0.011), rel=1e-6)
    fewer = part.rho(4.0, 14, 1)
    assert fewer == pytest.approx(2 * budgets[2], rel=1e-9)  # half of the noise: twice the cost
    assert part.rho(4.0, 14, 0) == np.inf


def test_contracts_under_which_a_claim_or_a_total_would_not_hold_are_refused():
    contract = secure_contract(3, 1, 0, signed=False)
    agreed = contract.aggregation.model_dump()
    for change, match in (
        ({"scale": agreed["scale"] * 1.001}, "claims"),
        ({"step": agreed["step"] * 0.9}, "power of two"),
        ({"threshold": 2}, "missing.at_least|power of two"),
        ({"colluders": 0}, "claims"),
        ({"colluders": 3}, "more owners"),
        ({"dropouts": 1}, "more owners"),
    ):
        altered = contract.model_copy(
            update={"aggregation": contract.aggregation.model_copy(update=change)}
        )
        with pytest.raises(InputError, match=match):
            parse_contract(altered.raw, "contract")
    less = contract.aggregation.model_copy(update={"scale": agreed["scale"] * 0.999})
    weaker = contract.model_copy(update={"aggregation": less})
    weaker = weaker.model_copy(update={"claims": compute_claims(weaker)})
    with pytest.raises(InputError, match="must hide the records of Alpha"):
        parse_contract(weaker.raw, "contract")
    for owners, colluders, dropouts in ((3, 1, 1), (3, 0, 2), (5, 2, 2), (1, 0, 0)):
        with pytest.raises(InputError, match="more owners than colluders"):
            secure_contract(owners, colluders, dropouts)
    much = {"records": 10**7, "weight": 1.0, "epsilon": 1e14}
    many = [owner.model_dump() | much for owner in contract.owners]
    with pytest.raises(InputError, match="64 bits"):
        parse_contract(secure_contract(3, 1, 0, signed=False, owners=many).raw, "contract")
    with pytest.raises(InputError, match="Gaussian noise accounted by zCDP"):
        secure_contract(3, 1, 0, noise="l2")


def test_flower_does_not_carry_it(tmp_path):
    with pytest.raises(InputError, match="Share a folder"):
        Relay(tmp_path, secure_contract(3, 1, 0), post=None)


def test_the_contract_says_what_is_seen_what_is_charged_and_what_is_not_defended():
    said = " ".join(line for _, line in contract_lines(secure_contract(5, 1, 1)))
    for words in (
        "asked five questions",
        "masked sums alone spend",
        "the total of the owners' sums, and no owner's by themselves",
        "Up to 1 owner may drop out",
        "4 of the 5 must answer the last one",
        "Not defended: an owner that adds less noise",
        "nobody's can be left out later",
    ):
        assert words in said, words
