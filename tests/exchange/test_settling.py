"""Settling a folder: money by what was delivered, faults by name, and what the learner's own rows show."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from exchanges import cells, small_contract
from reports import plain
from settlements import played

from exchange.folder import CLOSING, MODEL, answer_name, query_name
from exchange.learner.collector import noise_scales
from exchange.learner.exchange_files import read_exchange
from exchange.learner.seen import judge_on_own_rows
from exchange.learner.settling import own_rows_part, settle_exchange
from exchange.statement import Charge, Statement
from learning.canonical import encode_canonical, parse_canonical
from learning.errors import InputError
from learning.losses.losses import LOSSES
from learning.privacy.ledger import spent_budget
from scenarios.report.figure_settlement import settlement_page
from scenarios.report.phrases import render_lines


@pytest.fixture(scope="module")
def contract():
    return small_contract(3, rule="without")


@pytest.fixture
def folder(tmp_path, contract):
    """A whole exchange in which Gamma is too late for the second question, and so out of the third."""
    return played(tmp_path / "shared", contract, late={("Gamma", 2)})


def found(folder, contract, *statements, unfinished=False):
    return settle_exchange(read_exchange(folder, contract), statements, unfinished=unfinished)


def named(content):
    return [f"{one['where']}: {one['rule']}; {one['found']}" for one in content["faults"]]


def test_a_whole_exchange_holds_and_money_is_conserved(folder, contract):
    content = found(folder, contract)
    assert content["holds"] and content["finished"] and content["model"]["follows"]
    alpha, _, gamma = content["owners"]
    assert (alpha["delivered"], alpha["paid"], alpha["epsilon_given"]) == ([1, 2, 3], 5.0, 2.0)
    assert (gamma["delivered"], gamma["unused"]) == ([1], [2]) and gamma["paid"] == 1.67
    assert gamma["epsilon_given"] == pytest.approx(
        4 * 2 / 3
    )  # the late answer was seen all the same
    money = content["money"]
    assert money["promised"] == 15 and money["paid"] == 11.67
    assert money["kept"] == 3.33 and sum(one["paid"] for one in content["owners"]) == 11.67
    assert all(claim["simulation"] is False for claim in content["claims"])
    assert [one["kind"] for one in content["told"]] == ["late"]
    assert parse_canonical(encode_canonical(content), "settlement.json") == json.loads(
        json.dumps(content)
    )


def test_noise_is_counted_again_where_owners_are_missing(folder, contract):
    first, second, third = found(folder, contract)["questions"]["asked"]
    assert first["noise"] == pytest.approx(first["noise_if_all"])
    alpha, beta, _ = noise_scales(contract)[:, 1]
    assert second["noise"] == pytest.approx(np.sqrt(2) * np.hypot(40 * alpha, 60 * beta) / 100)
    assert second["noise"] == third["noise"] != second["noise_if_all"]


def test_an_exchange_that_is_not_finished_is_settled_only_when_asked(tmp_path):
    contract = small_contract(2)
    folder = played(tmp_path / "shared", contract, missing={("Beta", 2)})
    with pytest.raises(InputError, match="question 2 of 2, unanswered by Beta"):
        found(folder, contract)
    content = found(folder, contract, unfinished=True)
    assert content["holds"] and content["model"] is None and not content["finished"]
    assert [one["paid"] for one in content["owners"]] == [5.0, 2.5, 5.0]


def test_nothing_delivered_and_nothing_asked(tmp_path):
    contract = small_contract(2)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no question that was asked"):
        found(tmp_path / "empty", contract)
    assert found(tmp_path / "empty", contract, unfinished=True)["money"] == {
        "promised": 15.0,
        "paid": 0.0,
        "kept": 15.0,
    }
    with pytest.raises(InputError, match="must be the folder of"):
        read_exchange(tmp_path / "none", contract)


def test_an_answer_to_the_open_question_that_is_there_twice_does_not_count_yet(tmp_path):
    contract = small_contract(2)
    folder = played(tmp_path / "shared", contract, missing={("Beta", 2)})
    exchange = read_exchange(folder, contract)
    again = exchange.answers[-1]
    assert (again.owner, again.round) == ("Gamma", 2)
    other = type(again)(again.contract, again.query, 2, "Gamma", again.gradient + 1)
    twice = type(exchange)(contract, exchange.queries, (*exchange.answers, other))
    content = settle_exchange(twice, unfinished=True)
    assert [one["paid"] for one in content["owners"]] == [5.0, 2.5, 2.5]


def edit(path, **changes):
    path.write_bytes(encode_canonical(json.loads(path.read_bytes()) | changes))


@pytest.mark.parametrize(
    "spoil, told",
    [
        (
            lambda at, c: (at / answer_name(2, "Alpha")).unlink(),
            "the answer of Alpha to question 2, on which question 3",
        ),
        (
            lambda at, c: edit(at / query_name(2), point=[0.0] * 4),
            "question 3: must name the digest",
        ),
        (
            lambda at, c: edit(at / answer_name(1, "Beta"), gradient=[0.5] * 4),
            "the answer of Beta to question 1",
        ),
        (
            lambda at, c: edit(at / query_name(3), point=[0.0] * 4),
            "the question of round 3: must follow from",
        ),
        (lambda at, c: (at / query_name(1)).unlink(), "question 1: must be there"),
        (
            lambda at, c: (at / answer_name(1, "Beta")).write_text("{}"),
            "must be an answer of this exchange",
        ),
        (
            lambda at, c: (at / CLOSING).unlink(),
            "model.json: must be the one that closing.json names; no such file",
        ),
        (
            lambda at, c: edit(at / CLOSING, query="0" * 64),
            "closing.json: must be of the last question",
        ),
    ],
)
def test_what_does_not_fit_is_told_by_name(folder, contract, spoil, told):
    spoil(folder, contract)
    content = found(folder, contract)
    assert not content["holds"] and any(told in line for line in named(content)), named(content)


def test_a_model_that_does_not_follow_from_the_answers_is_told(folder, contract):
    made = json.loads((folder / MODEL).read_bytes())
    moved = [value + 1e-3 for value in made["theta"]]
    other = made | {"theta": moved, "asked": ["Alpha"], "claims": [], "mean": [0.0] * 4, "more": 1}
    (folder / MODEL).write_text(json.dumps(other))
    content = found(folder, contract)
    assert not content["model"]["follows"]
    assert {one["where"] for one in content["faults"]} == {
        "model.json",
        "model.json: asked",
        "model.json: claims",
        "model.json: mean",
        "model.json: more",
        "model.json: theta",
    }
    assert len(content["claims"]) == 3  # those of the contract


def test_a_model_computed_on_another_machine_may_differ_in_the_last_digits(folder, contract):
    exchange = read_exchange(folder, contract)
    near = [value * (1 + 1e-13) for value in exchange.model_content["theta"]]
    content = settle_exchange(
        replace(exchange, model_content=exchange.model_content | {"theta": near})
    )
    assert near != exchange.model_content["theta"] and content["holds"]


def statement(folder, contract, owner, rounds):
    """A true statement of an owner's answers to some rounds, whose ledger charged all of them."""
    own = {one.round: one for one in read_exchange(folder, contract).answers if one.owner == owner}
    charges = tuple(Charge(k, own[k].query, own[k].digest) for k in rounds)
    budget = contract.terms(owner).budget
    spent = spent_budget(budget, len(rounds))
    left = budget.epsilon - spent
    return Statement(
        contract.digest, owner, asdict(budget), len(rounds), "epsilon", spent, left, charges
    )


@pytest.mark.parametrize("number", [1, 3])
def test_an_answer_whose_file_is_lost_or_changed_is_paid_by_the_digest_that_names_it(
    folder, contract, number
):
    told = statement(folder, contract, "Alpha", [1, 2, 3])
    place = folder / answer_name(number, "Alpha")
    for spoil in (lambda: edit(place, gradient=[0.5] * 4), place.unlink):
        spoil()
        content = found(folder, contract, told)
        alpha = content["owners"][0]
        assert not content["holds"] and (
            alpha["paid"],
            alpha["unused"],
            alpha["epsilon_given"],
        ) == (5.0, [], 2.0)
        assert alpha["ledger"]["status"] == "agrees" and content["money"]["paid"] == 11.67
        assert (
            "too late"
            not in " ".join(render_lines("settlement", "delivered", content)).partition("Gamma")[0]
        )
        assert any("answers that are not all here" in line for line in named(content))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda at: (at / query_name(1)).unlink(),
        lambda at: (at / query_name(3)).unlink(),
        lambda at: edit(at / query_name(3), until="2030-01-02T03:04:05+00:00"),
        lambda at: edit(at / CLOSING, query="0" * 64),
        lambda at: [(at / CLOSING).unlink(), (at / answer_name(3, "Alpha")).unlink()],
    ],
)
def test_where_it_cannot_be_told_what_was_used_no_amounts_are_named(folder, contract, spoil):
    told = statement(folder, contract, "Alpha", [1, 2, 3])
    spoil(folder)
    content = found(folder, contract, told)
    assert not content["holds"] and {one["paid"] for one in content["owners"]} == {None}
    assert (content["money"]["paid"], content["money"]["kept"]) == (None, None)
    assert content["owners"][0]["epsilon_given"] == 2.0 and content["told"] == []
    text = plain(settlement_page(content))
    assert (
        "These files do not show which answers were used" in text
        and "Nobody delivered" not in text
        and "too late" not in text
    )


def test_an_answer_that_was_entered_in_the_closing_and_never_given_is_not_paid(folder, contract):
    closing = json.loads((folder / CLOSING).read_bytes())
    assert set(closing["answers"]) == {"Alpha", "Beta"}
    (folder / answer_name(3, "Beta")).unlink()  # was used: the model does not follow without it
    assert found(folder, contract)["owners"][1]["paid"] == 5.0
    late = played(folder.parent / "late", contract, missing={("Beta", 3)})
    edit(
        late / CLOSING,
        answers=json.loads((late / CLOSING).read_bytes())["answers"] | {"Beta": "a" * 64},
    )
    content = found(late, contract)
    assert content["owners"][1]["paid"] == 3.33
    assert any(
        "closing.json: must name the answers that the model was made of" in line
        for line in named(content)
    )


def test_the_closing_gone_from_an_exchange_whose_model_follows_leaves_payments(folder, contract):
    (folder / answer_name(2, "Gamma")).unlink()
    (folder / CLOSING).unlink()
    assert [one["paid"] for one in found(folder, contract)["owners"]][:2] == [5.0, 5.0]


def test_a_damaged_model_is_to_be_put_back(folder, contract):
    (folder / MODEL).write_text("{}")
    with pytest.raises(InputError, match="Put the file back") as told:
        read_exchange(folder, contract)
    assert "Run the scenario" not in str(told.value)


def test_payments_beyond_numbers_and_a_forecast_without_interval(folder, contract):
    exchange = read_exchange(folder, contract)
    rich = [one.model_copy(update={"payment": 1.7e308}) for one in contract.owners]
    dear = replace(exchange, contract=contract.model_copy(update={"owners": rich}))
    with pytest.raises(InputError, match="must sum to a number"):
        settle_exchange(dear)
    content = settle_exchange(exchange)
    content["forecast"]["interval"] = []
    assert "<svg" in settlement_page(content)


def test_statements_are_held_against_what_was_delivered(folder, contract):
    answered = {"Alpha": [1, 2, 3], "Beta": [1, 2, 3], "Gamma": [1, 2]}
    true = {name: statement(folder, contract, name, rounds) for name, rounds in answered.items()}
    content = found(folder, contract, *true.values())
    assert content["holds"] and {one["ledger"]["status"] for one in content["owners"]} == {"agrees"}
    wrong = replace(true["Beta"], charges=true["Alpha"].charges)
    content = found(folder, contract, wrong)
    assert not content["holds"] and content["owners"][1]["ledger"]["status"] == "disagrees"
    (folder / answer_name(2, "Gamma")).unlink()
    content = found(folder, contract, true["Gamma"])
    assert content["holds"] and content["owners"][2]["ledger"]["undelivered"] == [2]


# What the learner's own rows show


def own_rows(contract, rows, seed):
    """Rows like the owners', coded."""
    wide = contract.model_copy(
        update={"owners": [contract.owners[0].model_copy(update={"records": rows})]}
    )
    x, y, _ = contract.encoder.records(cells(wide, "Alpha", seed), np.arange(rows))
    return x, y


def started(contract, x, y):
    """The contract with the start that rows make, and the optimum and own model's error that they show."""
    start, _ = LOSSES[contract.loss.name].fit(x, y, 0.01)
    return small_contract(3, rule="without", bounds={"start": start.tolist()})


def test_rows_kept_aside_show_the_difference_of_two_models_without_favour(contract):
    """Over many samples the mean gain is that of the population, and two standard errors hold it as often as they should."""
    x, y = own_rows(contract, 60, 1)
    start = started(contract, x, y)
    far_x, far_y = own_rows(contract, 20_000, 2)
    better, _ = LOSSES[contract.loss.name].fit(far_x, far_y, 0.01)
    whole = judge_on_own_rows(start, better, far_x, far_y, kept_aside=True).better.relative_fitness
    seen = [
        judge_on_own_rows(start, better, *own_rows(contract, 40, 100 + k), kept_aside=True).better
        for k in range(150)
    ]
    z = np.array([(one.relative_fitness - whole) / one.std_error for one in seen])
    assert abs(z.mean()) < 0.35 and 0.8 < z.std() < 1.35
    assert whole > 0


def test_rows_that_the_start_was_fitted_to_favour_it_and_refitting_takes_the_favour_off(contract):
    """As it stands the difference is too small on average; crossed it is about that of the population."""
    far_x, far_y = own_rows(contract, 3_000, 2)
    fit = LOSSES[contract.loss.name].fit
    better = fit(far_x, far_y, 0.01)[0]
    found = []
    for seed in range(25):
        x, y = own_rows(contract, 40, 200 + seed)
        start = started(contract, x, y)
        seen = judge_on_own_rows(start, better, x, y)
        assert seen.start_fits and seen.crossed is not None
        lost = [
            np.mean((far_y - far_x @ one) ** 2) + 0.005 * one @ one
            for one in (start.coordinates.centre, better)
        ]
        found.append(
            [one.relative_fitness - (lost[0] - lost[1]) for one in (seen.better, seen.crossed)]
        )
    plain, crossed = np.mean(found, axis=0)
    error = np.std(found, axis=0)[1] / np.sqrt(25)
    assert plain < -5 * error and abs(crossed) < 4 * error


def test_what_is_compared_is_the_training_cost_with_the_charge_for_large_parameters(contract):
    x, y = own_rows(contract, 60, 1)
    charged = small_contract(3, training={"regularisation": 2.0}, forecast={"optimum": 4.0})
    models = charged.coordinates.centre, np.array([1.0, -1.0, 0.5, 2.0])
    first, second = ((y - x @ one) ** 2 + one @ one for one in models)
    seen = judge_on_own_rows(charged, models[1], x, y, kept_aside=True).better
    assert seen.relative_fitness == pytest.approx(np.mean(first - second) / 4)
    assert seen.std_error == pytest.approx(np.std(first - second, ddof=1) / np.sqrt(60) / 4)


def test_what_few_rows_show_does_not_hang_on_their_order(contract):
    x, y = own_rows(contract, 60, 1)
    start = started(contract, x, y)
    other = np.random.default_rng(0).permutation(60)
    seen = [
        judge_on_own_rows(start, np.zeros(4), x[rows], y[rows]).crossed
        for rows in (slice(None), other)
    ]
    assert seen[0].relative_fitness == pytest.approx(seen[1].relative_fitness, rel=1e-9)


def test_rows_that_do_not_make_the_start_are_not_refitted(contract):
    x, y = own_rows(contract, 60, 1)
    seen = judge_on_own_rows(started(contract, x, y), np.zeros(4), *own_rows(contract, 50, 3))
    assert seen.start_fits is False and seen.crossed is None
    none = small_contract(3, bounds={"start": [0.0] * 4})
    assert judge_on_own_rows(none, np.zeros(4), x, y).start_fits is None
    with pytest.raises(InputError, match="needs the learner's own"):
        judge_on_own_rows(none, np.zeros(4), x, y, kept_aside=True)
    with pytest.raises(InputError, match="must hold at least 20 rows"):
        judge_on_own_rows(none, np.zeros(4), x[:19], y[:19])
    with pytest.raises(InputError, match="forecast.optimum: must be above 0"):
        judge_on_own_rows(small_contract(3, forecast={"optimum": 0.0}), np.zeros(4), x, y)


def test_the_forecast_is_met_within_its_interval_widened_by_three_standard_errors(contract):
    x, y = own_rows(contract, 400, 1)
    start = started(contract, x, y)
    better, _ = LOSSES[contract.loss.name].fit(*own_rows(contract, 20_000, 2), 0.01)
    seen = judge_on_own_rows(start, better, x, y, kept_aside=True)
    assert seen.forecast == pytest.approx(0.4) and seen.interval == pytest.approx((0.3, 0.45))
    assert own_rows_part(seen)["agrees"] == (
        0.3 - 3 * seen.better.std_error <= seen.better.relative_fitness
    )
