"""Settlement: a chain of questions holds or is broken by name; payments follow what was delivered."""

import numpy as np
import pytest
from exchanges import small_contract

from exchange.learner.collector import noise_scales
from exchange.learner.settlement import (
    budget_shares,
    compute_deliveries,
    link_questions,
    spent_epsilon,
)
from exchange.messages import Gradient, Query


def asked(contract, missing=(), rounds=None):
    """Questions and answers of an exchange in which the (owner, round) of ``missing`` do not answer."""
    queries = []
    answers = []
    taken = {}
    before = None
    for number in range(1, (rounds or contract.rounds) + 1):
        query = Query(
            contract.digest, number, np.full(4, 0.01 * number), contract.names, before, taken
        )
        given = [
            Gradient(contract.digest, query.digest, number, name, np.full(4, float(place)))
            for place, name in enumerate(contract.names)
            if (name, number) not in missing
        ]
        queries.append(query)
        answers += given
        taken = {one.owner: one.digest for one in given}
        before = query.digest
    return queries, answers


def paid(contract, queries, answers, last=None):
    given = compute_deliveries(contract, link_questions(contract, queries, answers, last), answers)
    return {one.owner: one for one in given}


def test_who_answers_all_is_paid_all_and_nothing_more():
    contract = small_contract(3)
    queries, answers = asked(contract)
    chain = link_questions(contract, queries[::-1], answers[::-1])
    assert chain.faults == () and [query.round for query in chain.queries] == [1, 2, 3]
    for one in compute_deliveries(contract, chain, answers):
        assert (one.share, one.paid, one.rounds, one.missed, one.unused) == (
            1.0,
            5.0,
            (1, 2, 3),
            (),
            (),
        )
        assert one.epsilon == contract.owner(one.owner).epsilon


@pytest.mark.parametrize("growth", [1.0, 2.0])
def test_a_payment_falls_with_the_share_of_the_budget_that_was_not_delivered(growth):
    contract = small_contract(3, growth=growth, rule="without")
    found = paid(contract, *asked(contract, {("Beta", 3), ("Gamma", 2), ("Gamma", 3)}))
    parts = growth ** np.arange(3)
    parts /= parts.sum()
    assert found["Alpha"].paid == 5.0
    assert found["Beta"].paid == round(float(5 * (parts[0] + parts[1])), 2) and found[
        "Beta"
    ].missed == (3,)
    assert found["Gamma"].paid == round(float(5 * parts[0]), 2) and found["Gamma"].missed == (2, 3)


def test_a_budget_that_covers_more_answers_than_are_asked_is_paid_in_full_and_not_spent_in_full():
    contract = small_contract(2, training={"answers": 4})
    found = paid(contract, *asked(contract))
    assert found["Alpha"].share == 1.0 and found["Alpha"].epsilon == pytest.approx(
        1.0
    )  # of the 2 it sold
    assert budget_shares(contract).sum() == pytest.approx(0.5)
    half = paid(contract, *asked(contract, {("Beta", 2)}))["Beta"]
    assert half.paid == pytest.approx(2.5) and half.epsilon == pytest.approx(0.75)


def test_an_answer_that_came_too_late_is_not_paid_but_was_given_away():
    contract = small_contract(2, rule="without")
    queries, answers = asked(contract, {("Gamma", 1), ("Gamma", 2)})
    late = Gradient(contract.digest, queries[0].digest, 1, "Gamma", np.ones(4))
    found = paid(contract, queries, [*answers, late])["Gamma"]
    assert (found.rounds, found.unused, found.missed, found.paid) == ((), (1,), (2,), 0.0)
    assert found.epsilon == pytest.approx(2.0)  # half of the 4 it sold


def test_the_last_answers_are_those_that_the_model_was_made_of():
    contract = small_contract(2, rule="without")
    queries, answers = asked(contract)
    used = {one.owner: one.digest for one in answers if one.round == 2 and one.owner != "Beta"}
    found = paid(contract, queries, answers, used)
    assert found["Beta"].rounds == (1,) and found["Beta"].unused == (2,)
    chain = link_questions(
        contract, queries, answers[:-1], {one.owner: one.digest for one in answers[3:]}
    )
    assert [str(fault) for fault in chain.faults] == [
        "the answer of Gamma to question 2, on which the model rests: must be there; found none of its digest."
    ]


def test_a_file_that_is_lost_or_changed_takes_nothing_from_its_owner():
    contract = small_contract(2)
    queries, answers = asked(contract)
    used = {one.owner: one.digest for one in answers if one.round == 2}
    for number in (0, 3):  # Alpha's two
        kept = [one for one in answers if one is not answers[number]]
        gone = answers[number]
        changed = Gradient(gone.contract, gone.query, gone.round, "Alpha", gone.gradient + 1)
        for files in (kept, [*kept, changed]):
            alpha = paid(contract, queries, files, used)["Alpha"]
            assert (alpha.paid, alpha.rounds, alpha.unused, alpha.epsilon) == (5.0, (1, 2), (), 2.0)


def test_where_questions_do_not_hang_together_nobody_is_paid_an_amount():
    contract = small_contract(2)
    queries, answers = asked(contract)
    used = {one.owner: one.digest for one in answers if one.round == 2}
    one, two = queries
    late = Query(one.contract, 1, one.point, one.asked, until="2030-01-02T03:04:05+00:00")
    few = Query(
        two.contract, 2, two.point, two.asked, two.previous, dict(list(two.answers.items())[1:])
    )
    for given in ([two], [late, two], [one, few]):
        found = paid(contract, given, answers, used)
        assert {one.paid for one in found.values()} == {None} and found["Alpha"].unused == ()
        assert {name: one.epsilon for name, one in found.items()} == {
            "Alpha": 2.0,
            "Beta": 3.0,
            "Gamma": 4.0,
        }
    for given in (
        [one],
        [late],
    ):  # not finished: a later question, or the one that was asked, is not there
        assert {one.paid for one in paid(contract, given, answers).values()} == {None}


def test_a_share_of_a_budget_is_told_without_what_computing_leaves_in_the_last_digits():
    contract = small_contract(20)
    given = compute_deliveries(contract, link_questions(contract, *asked(contract, rounds=14)), [])
    assert [one.epsilon for one in given] == [1.4, 2.1, 2.8]


def test_what_was_charged_was_given_away_whether_a_file_shows_it_or_not():
    contract = small_contract(2)
    queries, answers = asked(contract, {("Alpha", 2)})
    given = compute_deliveries(
        contract, link_questions(contract, queries, answers), answers, {"Alpha": [1, 2, 10**9]}
    )
    assert given[0].epsilon == 2.0 and given[0].paid == 2.5


def test_nobody_delivered_and_nothing_was_asked():
    contract = small_contract(2)
    assert {one.paid for one in paid(contract, [], []).values()} == {0.0}
    queries, _ = asked(contract, rounds=1)
    assert {
        (one.paid, one.missed, one.epsilon) for one in paid(contract, queries, []).values()
    } == {(0.0, (1,), 0.0)}


def test_one_owner_alone():
    contract = small_contract(1, names=("Only",))
    found = paid(contract, *asked(contract))
    assert found["Only"].paid == 5.0 and len(found) == 1


def broken(contract, queries, answers):
    """What does not fit, in words."""
    return " ".join(str(fault) for fault in link_questions(contract, queries, answers).faults)


def test_what_does_not_fit_is_named():
    contract = small_contract(3)
    queries, answers = asked(contract)
    one, two, three = queries
    other = small_contract(3, title="another")
    foreign = Query(other.digest, 2, two.point, two.asked)
    far = Query(contract.digest, 4, two.point, two.asked)
    moved = Query(contract.digest, 2, two.point + 0.1, two.asked, one.digest, two.answers)
    lost = [answer for answer in answers if (answer.owner, answer.round) != ("Beta", 1)]
    swapped = Query(
        contract.digest,
        2,
        two.point,
        two.asked,
        one.digest,
        two.answers | {"Beta": two.answers["Alpha"]},
    )
    assert "question 2: must be of this contract" in broken(contract, [one, foreign], answers)
    assert "question 4: must be one of the 3 agreed" in broken(contract, [*queries, far], answers)
    assert "question 2: must be there" in broken(contract, [one, three], answers)
    assert "question 2: must be the only one of its number" in broken(
        contract, [*queries, moved], answers
    )
    assert "question 3: must name the digest of the question before it" in broken(
        contract, [one, moved, three], answers
    )
    assert "the answer of Beta to question 1" in broken(contract, queries, lost)
    assert "must be that owner's to that question; found one of Alpha" in broken(
        contract, [one, swapped], answers
    )
    two_asked = Query(contract.digest, 1, one.point, ("Alpha", "Beta"))
    unasked = [
        Gradient(contract.digest, two_asked.digest, 1, name, np.ones(4)) for name in contract.names
    ]
    after = Query(
        contract.digest,
        2,
        two.point,
        two.asked,
        two_asked.digest,
        {a.owner: a.digest for a in unasked},
    )
    assert "the answer of Gamma to question 1" in broken(contract, [two_asked, after], unasked)
    begun = Query(contract.digest, 1, one.point, one.asked, None, two.answers)
    assert "question 1: must rest on no answers" in broken(contract, [begun], answers)


@pytest.mark.parametrize(
    "noise, growth", [("laplace", 2.0), ("gaussian", 2.0), ("gaussian", 1.0), ("l2", 2.0)]
)
def test_what_is_left_of_a_budget_is_the_budget_of_the_noise_that_was_drawn(noise, growth):
    """The first two answers of three, as a budget of their own over two answers, have noise of the same scales."""
    contract = small_contract(3, noise=noise, growth=growth)
    epsilon = spent_epsilon(contract, 2.0, float(budget_shares(contract)[:2].sum()))
    alone = (
        small_contract(2, noise=noise, growth=growth)
        .owners[0]
        .model_copy(update={"epsilon": epsilon})
    )
    again = small_contract(2, noise=noise, growth=growth, owners=[alone.model_dump()])
    assert noise_scales(again)[0] == pytest.approx(noise_scales(contract)[0, :2], rel=1e-6)
    assert spent_epsilon(contract, 2.0, 1.0) == 2.0 and spent_epsilon(contract, 2.0, 0.0) == 0.0
