"""The learner's side: the model of the simulation from the same answers, missing owners, and whatever does not fit."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from exchanges import Owners, small_contract, training

from exchange.learner.collector import (
    _gradients_shrink,
    collect_answers,
    noise_in_mean,
    noise_scales,
)
from exchange.messages import Closing, Gradient, Query
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.training import train

DIGEST = "0" * 64


def carried_out(contract, seed=0, until=None):
    """All questions, all answers and what came of them."""
    owners = Owners(contract, seed)
    queries = []
    answers = []
    while (found := collect_answers(contract, queries, answers)).query is not None:
        queries.append(replace(found.query, until=until))
        answers += owners.all(queries[-1])
    return queries, answers, found


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"rounds": 5, "returned": "averaged"},
        {"noise": "gaussian", "clipping": "record", "growth": 1.5, "rounds": 3},
        {"noise": "l2", "rounds": 1, "names": ("A",)},
        {"loss": "logistic", "clipping": "record", "rounds": 4},
    ],
)
def test_from_the_answers_that_a_simulation_draws_its_model_comes_out(given):
    contract = small_contract(**given)
    queries, _, found = carried_out(contract)
    simulated = train(training(contract))
    model = contract.coordinates.model(found.phi)
    assert len(queries) == contract.rounds and not found.told and found.owners == contract.names
    assert model.tobytes() == simulated.theta[0].tobytes()
    path = simulated.path[
        : len(found.path)
    ]  # the last step, of which the running mean hears nothing, is not asked for
    np.testing.assert_allclose(contract.coordinates.model(found.path), path, rtol=1e-12)


CONTRACT = small_contract(rounds=3)
QUERIES, ANSWERS, FOUND = carried_out(CONTRACT)
WITHOUT = small_contract(rounds=3, rule="without", missing={"at_least": 2})


def test_answers_in_any_order_and_come_twice_make_the_same_model():
    for order in itertools.islice(itertools.permutations(range(9)), 0, None, 40_000):
        found = collect_answers(CONTRACT, QUERIES[::-1], [ANSWERS[place] for place in (*order, 3)])
        assert found.phi.tobytes() == FOUND.phi.tobytes() and not found.told


def test_it_waits_for_everybody_who_is_asked():
    first = collect_answers(CONTRACT, [], []).query
    assert first.raw == QUERIES[0].raw and first.previous is None
    waiting = collect_answers(CONTRACT, QUERIES[:1], ANSWERS[1:2])
    assert (
        waiting.missing == ("Alpha", "Gamma")
        and waiting.query is QUERIES[0]
        and waiting.phi is None
    )
    with pytest.raises(InputError, match="--close: must be left out if the contract waits"):
        collect_answers(CONTRACT, QUERIES[:1], ANSWERS[1:2], close=True)


def test_without_who_is_missing_the_others_weigh_more_and_it_stays_out():
    owners = Owners(WITHOUT)
    asked = collect_answers(WITHOUT, [], []).query
    answers = [owners.answer(asked, name) for name in ("Alpha", "Gamma")]
    assert collect_answers(WITHOUT, [asked], answers).missing == ("Beta",)
    alone = collect_answers(WITHOUT, [asked], answers[:1], close=True)
    assert alone.missing == ("Beta", "Gamma") and alone.query is asked, (
        "fewer than the contract asks for"
    )
    second = collect_answers(WITHOUT, [asked], answers, close=True).query
    assert (
        second.asked == ("Alpha", "Gamma") == tuple(second.answers)
        and second.previous == asked.digest
    )
    at = Coordinates.of(WITHOUT.coordinates)
    regularisation = WITHOUT.training.regularisation
    penalty, pull = at.penalty(regularisation)
    gradient = (
        asked.point @ penalty - pull + (40 * answers[0].gradient + 80 * answers[1].gradient) / 120
    )
    np.testing.assert_allclose(
        second.point, at.project(asked.point - WITHOUT.training.steps[0] * gradient)
    )
    late = owners.answer(asked, "Beta")
    found = collect_answers(WITHOUT, [asked, second], [*answers, late])
    assert found.query is second and [(told.owner, told.kind) for told in found.told] == [
        ("Beta", "late")
    ]
    again = Gradient(WITHOUT.digest, second.digest, 2, "Beta", late.gradient)
    assert [
        told.kind for told in collect_answers(WITHOUT, [asked, second], [*answers, again]).told
    ] == ["not asked"]


def test_the_closing_says_who_is_in_the_model():
    owners = Owners(WITHOUT)
    queries = []
    answers = []
    for _ in range(3):
        queries.append(collect_answers(WITHOUT, queries, answers).query)
        answers += owners.all(queries[-1])
    late = answers[-1]
    answers = answers[:-1]
    made = collect_answers(WITHOUT, queries, answers, close=True)
    names = {answer.owner: answer.digest for answer in answers[-2:]}
    closing = Closing(WITHOUT.digest, queries[-1].digest, names, DIGEST)
    again = collect_answers(WITHOUT, queries, [*answers, late], closing=closing)
    assert again.phi.tobytes() == made.phi.tobytes() and made.owners == WITHOUT.names
    assert [told.kind for told in again.told] == ["late"]
    assert collect_answers(WITHOUT, queries, [*answers, late]).phi.tobytes() != made.phi.tobytes()
    with pytest.raises(InputError, match="the closing: must be of this contract and its last"):
        collect_answers(WITHOUT, queries[:2], answers, closing=closing)


def test_noise_is_counted_over_who_answers():
    scales = noise_scales(WITHOUT)
    for names, weights in ((WITHOUT.names, [40, 60, 80]), (("Alpha", "Gamma"), [40, 0, 80])):
        shares = np.array(weights) / sum(weights)
        expected = np.sqrt((shares**2 * 2 * scales[:, 0] ** 2).sum())
        assert noise_in_mean(WITHOUT, names, 1) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"point": QUERIES[1].point + 1e-6}, "another point"),
        ({"point": QUERIES[1].point[:3]}, "another point"),
        ({"asked": ("Alpha", "Beta")}, "another asked"),
        ({"previous": DIGEST}, "another previous"),
        ({"answers": {}}, "with everybody's answer; found answers of nobody"),
        (
            {"answers": QUERIES[1].answers | {"Beta": DIGEST}},
            "Beta's answer to round 1: must be the one that was used",
        ),
        ({"contract": DIGEST}, "must be of this contract"),
    ],
)
def test_a_question_that_does_not_follow_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        collect_answers(CONTRACT, [QUERIES[0], replace(QUERIES[1], **changes)], ANSWERS)


def test_questions_are_one_of_each_round():
    fourth = Query(CONTRACT.digest, 4, QUERIES[2].point, CONTRACT.names)
    for queries, said in (
        (QUERIES[1:], "none of round 1"),
        ([QUERIES[0], QUERIES[0]], "two of round 1"),
        ([*QUERIES, fourth], "one of the 3 that the contract has"),
    ):
        with pytest.raises(InputError, match=said):
            collect_answers(CONTRACT, queries, ANSWERS)


def test_answers_that_a_question_was_made_from_must_stay():
    rule = f"Gamma's answer to round 1: must be the one that was used, {ANSWERS[2].digest[:16]}; found "
    with pytest.raises(InputError, match=rule + "none"):
        collect_answers(CONTRACT, QUERIES, ANSWERS[:2])
    with pytest.raises(InputError, match=rule + "another one"):
        collect_answers(
            CONTRACT, QUERIES, [*ANSWERS[:2], replace(ANSWERS[2], gradient=ANSWERS[2].gradient + 1)]
        )


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"contract": DIGEST}, "contract", "is of another contract, 0000000000000000"),
        ({"query": DIGEST}, "query", "answers another question"),
        ({"round": 3}, "query", "a question that was not asked"),
        ({"round": 1}, "query", "answers another question"),
        ({"owner": "Delta"}, "owner", "nobody in the contract"),
        ({"gradient": np.ones(3)}, "width", "has 3 numbers, not 4"),
    ],
)
def test_what_is_no_answer_to_the_question_is_told_by_name_and_not_used(changes, kind, said):
    wrong = replace(ANSWERS[4], **changes)
    found = collect_answers(CONTRACT, QUERIES[:2], [*ANSWERS[:4], wrong, ANSWERS[5]])
    assert found.missing == ("Beta",) and found.query is QUERIES[1]
    (told,) = found.told
    assert told.owner == changes.get("owner", "Beta") and told.kind == kind and said in str(told)


def test_two_different_answers_of_one_owner_are_told_and_neither_is_used():
    other = replace(ANSWERS[4], gradient=ANSWERS[4].gradient + 1)
    found = collect_answers(CONTRACT, QUERIES[:2], [*ANSWERS[:6], other])
    assert found.missing == ("Beta",) and [told.kind for told in found.told] == ["two answers"]
    later = collect_answers(CONTRACT, QUERIES, [*ANSWERS, other])
    assert later.phi.tobytes() == FOUND.phi.tobytes() and [told.kind for told in later.told] == [
        "two answers"
    ]


def test_suspicious_numbers_wait_until_they_are_accepted():
    wild = replace(ANSWERS[5], gradient=np.full(4, 1e3))
    found = collect_answers(CONTRACT, QUERIES[:2], [*ANSWERS[:5], wild])
    assert found.missing == found.doubted == ("Gamma",) and found.query is QUERIES[1]
    (told,) = found.told
    assert (told.owner, told.round, told.kind) == ("Gamma", 2, "long")
    taken = collect_answers(CONTRACT, QUERIES[:2], [*ANSWERS[:5], wild], accepted={"Gamma"})
    assert (
        not taken.missing and taken.query.round == 3 and taken.query.answers["Gamma"] == wild.digest
    )
    later = collect_answers(CONTRACT, [*QUERIES[:2], taken.query], [*ANSWERS[:5], wild])
    assert (
        not later.doubted
        and [told.kind for told in later.told] == ["long"]
        and later.query is taken.query
    )
    third = [replace(one, query=taken.query.digest) for one in ANSWERS[6:]]
    done = collect_answers(CONTRACT, [*QUERIES[:2], taken.query], [*ANSWERS[:5], wild, *third])
    assert done.phi is not None and not done.doubted, "what was accepted once is in the past"


def test_numbers_as_large_as_any_end_nothing():
    for value in (1e308, -1e308, 5e-324):
        found = collect_answers(
            CONTRACT, QUERIES[:1], [*ANSWERS[:2], replace(ANSWERS[2], gradient=np.full(4, value))]
        )
        assert found.doubted == ("Gamma",)


def test_where_answers_grow_the_start_is_the_model_and_what_follows_is_asked_there():
    """Answers that are short in the first round, and far longer than noise in the others."""
    contract = small_contract(rounds=3)
    queries = []
    answers = []
    for number, size in ((1, 1e-3), (2, 1e9), (3, 1e9)):
        queries.append(collect_answers(contract, queries, answers, accepted=contract.names).query)
        asked = queries[-1]
        answers += [
            Gradient(
                contract.digest, asked.digest, number, name, np.full(len(asked.point), size * i)
            )
            for i, name in enumerate(contract.names, start=1)
        ]
    found = collect_answers(contract, queries, answers, accepted=contract.names)
    assert found.stopped and not found.phi.any() and not queries[2].point.any()
    assert queries[1].point.any() and not FOUND.stopped


def test_only_short_steps_in_whitened_features_under_squared_loss_are_checked():
    task = training(CONTRACT)
    assert _gradients_shrink(task)
    scale = np.eye(task.width)
    plain = replace(task, coordinates=replace(task.coordinates, transform=scale))
    logistic = replace(task, coordinates=replace(task.coordinates, loss="logistic"))
    long = replace(task, step_scale=np.full((task.runs, 1), 100.0))
    assert not any(_gradients_shrink(one) for one in (plain, logistic, long))
