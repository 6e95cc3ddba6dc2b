"""Exchanges whose model is not handed over: by the contract's rule of buying, or by the learner's own rows."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from collecting import give
from commands import dpmarket
from exchanges import SUMS, Owners, records, small_contract, table

from exchange.contract import parse_contract
from exchange.folder import CLOSING, CONTRACT, MODEL, answer_name, query_name
from exchange.learner.buying import decide_by_contract, fails_on_rows
from exchange.learner.collecting import ROWS, RULE, own_model, take_step
from exchange.learner.collector import collect_answers
from exchange.learner.exchange_files import read_exchange
from exchange.learner.settling import settle_exchange
from exchange.learner.sums import gather_sums
from exchange.learner.withdrawing import withdraw_owners
from exchange.messages import Sums
from exchange.owner.table import Records
from exchange.sentences import contract_lines
from learning.canonical import parse_canonical, sha256_digest
from learning.errors import InputError
from learning.forecast.gain_seen import see_gain_of_sums
from learning.phrases import HARD_SPACE
from scenarios.model_file import from_json, to_json
from scenarios.report.figure_settlement import settlement_page

pytestmark = pytest.mark.usefixtures("quick_disk")

__all__ = ["dpmarket"]
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
RICH = [
    {"name": name, "records": 5000, "epsilon": 3.0, "payment": 5.0, "weight": 1.0}
    for name in ("Alpha", "Beta", "Gamma")
]
GO = {"worth": 40.0, "margin": 0.1, "forecast": 0.3, "deviation": 0.1, "otherwise": 0.25}


def buying_contract(owners=RICH, **changes):
    """A contract with the rule; the answers show the model to be worth about 15."""
    given = {"noise": "gaussian", "sums": SUMS, "owners": owners, "go": GO | changes}
    return small_contract(1, **given)


def finish(contract, folder, *answers, rows=None):
    """Carry an exchange out in a folder; its last step."""
    folder.mkdir()
    (folder / CONTRACT).write_bytes(contract.raw)
    asked = take_step(contract, folder, now=NOON).open
    give(folder, *(answers or Owners(contract).all(asked)))
    return take_step(contract, folder, now=NOON, accepted=contract.names, rows=rows)


def settled(contract, folder):
    return settle_exchange(read_exchange(folder, contract))


def lost_model(contract):
    """Sums of everybody that make a model far from any that suits the rows."""
    digest = collect_answers(contract, [], []).query.digest
    width = len(contract.bounds.start)
    moments = 0.2 * np.eye(width)[np.triu_indices(width)]
    return [
        Sums.of(
            contract.digest, digest, 1, one.name, one.records * np.append(np.ones(width), moments)
        )
        for one in contract.owners
    ]


def test_a_model_that_the_rule_finds_worth_it_is_bought(tmp_path):
    contract = buying_contract(worth=1000.0)
    step = finish(contract, tmp_path / "x")
    assert step.kept == "" and from_json(tmp_path / "x" / MODEL).asked == contract.names
    content = settled(contract, tmp_path / "x")
    assert content["holds"] and content["go"]["bought"] and content["model"]["own"] is None
    assert content["money"] == {"promised": 15.0, "paid": 15.0, "kept": 0.0}
    assert content["go"]["expected"] > content["go"]["least"] == pytest.approx(16.5)


def test_a_model_that_the_rule_does_not_find_worth_it_is_not(tmp_path):
    contract = buying_contract()
    folder = tmp_path / "x"
    assert finish(contract, folder).kept == RULE
    made = from_json(folder / MODEL)
    assert (made.model.theta == contract.bounds.start).all() and made.asked == made.claims == ()
    content = settled(contract, folder)
    assert content["holds"] and content["model"] | {"digest": ""} == {
        "digest": "",
        "follows": True,
        "own": "rule",
    }
    assert [one["paid"] for one in content["owners"]] == [1.25] * 3
    assert content["money"] == {"promised": 15.0, "paid": 3.75, "kept": 11.25}
    assert all(one["epsilon_given"] == pytest.approx(3) for one in content["owners"])
    page = settlement_page(content).replace(HARD_SPACE, " ")
    assert "it is not bought, and 3.75 of the 15.00 agreed is to be paid" in page
    assert "answers that were not delivered" not in page
    with pytest.raises(InputError, match="the learner's own: it bought none"):
        withdraw_owners(contract, folder, ["Beta"])


def test_the_decision_is_the_rule_by_hand(tmp_path):
    noisy = [owner | {"epsilon": 0.3} for owner in RICH]
    contract = buying_contract(noisy, deviation=0.02)
    found = finish(contract, tmp_path / "x").found
    decision = decide_by_contract(contract, found)
    seen = see_gain_of_sums(gather_sums(contract, found.used[0]))
    worth, error = 40 * seen.cost[0], 40 * seen.std_error[0]
    share = error**2 / (error**2 + 0.8**2)
    expected = (1 - share) * worth + share * 12.0
    assert 0.2 < share < 0.8 and decision.expected[0] == pytest.approx(expected)
    assert decision.payments == 15.0 and not decision.bought[0]
    assert (decision.seen[0], decision.std_error[0]) == pytest.approx((worth, error))


def test_a_learner_who_keeps_to_the_rule_neither_way_is_found_out(tmp_path):
    for number, (worth, kept) in enumerate(((40.0, True), (1000.0, False))):
        contract = buying_contract(worth=worth)
        folder = tmp_path / str(number)
        finish(contract, folder)
        other = own_model(contract)
        if kept:  # the trained model, which the rule does not let it have
            bought = tmp_path / "bought"
            finish(small_contract(1, noise="gaussian", sums=SUMS, owners=RICH), bought)
            other = from_json(bought / MODEL)
        raw = to_json(other).encode()
        closing = read_exchange(folder, contract).closing
        (folder / MODEL).write_bytes(raw)
        (folder / CLOSING).write_bytes(replace(closing, model=sha256_digest(raw)).raw)
        content = settled(contract, folder)
        assert content["holds"] == (not kept)
        assert content["money"]["paid"] == (3.75 if kept else 15.0)  # by the rule, whatever it took


def test_what_is_paid_is_not_known_where_answers_that_decide_are_gone(tmp_path):
    contract = buying_contract()
    folder = tmp_path / "x"
    finish(contract, folder)
    (folder / answer_name(1, "Beta")).unlink()
    content = settled(contract, folder)
    assert not content["holds"] and content["go"] is None
    assert content["money"]["paid"] is None and content["owners"][0]["paid"] is None
    with pytest.raises(InputError, match="--unfinished: cannot settle a contract by which"):
        (folder / MODEL).unlink()
        settle_exchange(read_exchange(folder, contract), unfinished=True)


def test_a_contract_says_the_rule_in_one_sentence_and_has_no_key_without_it():
    lines = dict(contract_lines(buying_contract()))
    said = lines["bought"].replace(HARD_SPACE, " ")
    assert "worth 16.50 more than its own" in said and said.count(". ") == 0
    assert "each owner is paid 25 % of its payment" in said
    assert lines["paid"].endswith("that it delivers, and only if the model is bought.")
    assert "nobody is paid" in dict(contract_lines(buying_contract(otherwise=0.0)))["bought"]
    plain = small_contract(1, noise="gaussian", sums=SUMS)
    assert "go" not in parse_canonical(plain.raw, "") and "bought" not in dict(
        contract_lines(plain)
    )
    assert parse_contract(buying_contract().raw, "c").go.margin == 0.1
    with pytest.raises(
        InputError, match="c: go: must be left out unless the learner sees the sums"
    ):
        parse_contract(small_contract(1, go=GO).raw, "c")


@pytest.fixture
def own_start():
    """A contract that starts from the model of the learner's rows, and these."""
    plain = small_contract(1, noise="gaussian", sums=SUMS, owners=RICH)
    x, y = (part[:300] for part in records(plain, "Alpha", seed=7))
    start = np.linalg.solve(2 * x.T @ x / 300 + 0.01 * np.eye(4), 2 * x.T @ y / 300)
    contract = small_contract(
        1,
        noise="gaussian",
        sums=SUMS,
        owners=RICH,
        bounds={"start": start.tolist(), "theta_max": 4.0},
    )
    return contract, Records(x, y)


def test_a_model_that_own_rows_speak_against_is_not_handed_over(own_start, tmp_path):
    contract, rows = own_start
    assert finish(contract, tmp_path / "good", rows=rows).kept == ""
    bad = lost_model(contract)
    assert finish(contract, tmp_path / "blind", *bad).kept == ""
    assert fails_on_rows(contract, from_json(tmp_path / "blind" / MODEL).model.theta, rows)
    folder = tmp_path / "bad"
    assert finish(contract, folder, *bad, rows=rows).kept == ROWS
    assert (from_json(folder / MODEL).model.theta == contract.bounds.start).all()
    content = settled(contract, folder)
    assert content["holds"] and content["model"]["own"] == "rows"
    assert content["money"]["paid"] == 15.0  # answers were delivered
    assert "the trained one is clearly worse on its public rows" in settlement_page(content)
    before = (folder / MODEL).read_bytes()
    (folder / MODEL).unlink()  # killed after the closing; the rows are not named again
    assert take_step(contract, folder, now=NOON, accepted=contract.names).kept == ROWS
    assert (folder / MODEL).read_bytes() == before


def test_the_command_says_why_and_takes_rows_only_with_a_model_to_keep(
    own_start, dpmarket, tmp_path
):
    contract, _ = own_start
    (folder := tmp_path / "x").mkdir()
    (folder / CONTRACT).write_bytes(contract.raw)
    rows = table(contract, "Alpha", seed=7).splitlines()[:301]
    (tmp_path / "own.csv").write_text("\n".join(rows) + "\n")
    assert dpmarket("collect", folder / CONTRACT)[0] == 0
    assert (folder / query_name(1)).exists()
    give(folder, *lost_model(contract))
    options = [part for name in contract.names for part in ("--accept", name)]
    call = ("collect", folder / CONTRACT, *options, "--public", tmp_path / "own.csv")
    status, out, _ = dpmarket(*call)
    assert status == 0 and "model.json is the learner's own model, because" in out
    nowhere = small_contract(1, noise="gaussian", sums=SUMS, bounds={"start": [0.0] * 4})
    with pytest.raises(InputError, match="--public: needs the learner's own model"):
        fails_on_rows(nowhere, np.zeros(4), Records(*records(nowhere, "Alpha")))
