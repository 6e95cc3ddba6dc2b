"""The learner's side: the path of training, computed anew from questions and answers each time.

A question names the answers that it was made from, and the closing those to the last one. So the
files alone are the state: anybody who has them can check every step, and a learner that is killed
goes on from them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from exchange.contract import Contract
from exchange.learner.noise import noise_of
from exchange.learner.sorting import Came, sort_answers
from exchange.learner.sums import gather_sums, sums_noise
from exchange.learner.sums_suspicions import find_sums_suspicions
from exchange.learner.suspicions import Sold, Told, find_suspicions
from exchange.learner.unmasking import gather_total, masked_owners, total_deviations
from exchange.messages import (
    Answer,
    Closing,
    Query,
)
from learning.arrays import Array
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.randomness import Streams
from learning.training.aggregation import MEAN
from learning.training.descent import GrowthCheck, Walk
from learning.training.plan import Plan
from learning.training.task import Task

Used = Mapping[str, Answer]  # owner -> the answer that counts, in the order of the contract
SAME = 1e-9  # relative difference of points that is rounding, of two processors
UNTOUCHED = "Put back the files as they were; nothing was written."


@dataclass(frozen=True)
class AgreedPlan(Plan):
    """A plan with the steps of the contract, to the last bit."""

    agreed: tuple[float, ...] = ()

    @property
    def steps(self) -> Array:
        """Step size of each question, (questions,)."""
        return np.array(self.agreed)


def agreed_plan(contract: Contract) -> AgreedPlan:
    """Plan of the questions and the use of their answers."""
    terms = contract.training
    return AgreedPlan(
        terms.algorithm,
        terms.returned,
        terms.horizon,
        terms.step_size,
        answers=terms.answers,
        decline=terms.decline,
        growth=terms.growth,
        agreed=tuple(terms.steps),
    )


@dataclass(frozen=True)
class Collected:
    """The state of an exchange.

    Parameters
    ----------
    query: the question of the open round; where it was not among those given, it is the next to
        send. None when all rounds are done.
    phi: array (p,), the point that training returns; None before all rounds are done.
    missing: the owners whose answers to the open question are still needed.
    doubted: those of them whose answers are suspicious.
    told: notices about owners' answers.
    path: array (rounds done + 1, p), the points from the start on.
    used: for each round that is done, the answers that were used.
    stopped: whether answers grew from round to round, and the start is the model.
    owners: owners whose answers were used: those of the first round, or in the total.
    """

    query: Query | None
    phi: Array | None = field(repr=False)
    missing: tuple[str, ...]
    doubted: tuple[str, ...]
    told: tuple[Told, ...]
    path: Array = field(repr=False)
    used: tuple[Used, ...] = field(repr=False)
    stopped: bool = False
    owners: tuple[str, ...] = ()


def collect_answers(
    contract: Contract,
    queries: Sequence[Query],
    answers: Sequence[Answer],
    *,
    close: bool = False,
    accepted: Collection[str] = (),
    closing: Closing | None = None,
) -> Collected:
    """Check questions and answers, step along the answers, and make the next question.

    Sums are solved for the model (`exchange.learner.sums`). Gradients are stepped along:

    phi[k+1] = Pi[phi[k] - rho_k (grad g_1 + sum_l q_l answer_l(phi[k]))], where the weights q of
    the answers used are made to sum to 1. An owner that is left out is asked no more.

    Parameters
    ----------
    contract: the contract.
    queries: the questions so far.
    answers: all answers that came, in any order.
    close: whether to go on without missing owners, where the contract lets the learner.
    accepted: owners whose suspicious answers to the open question count.
    closing: the answers used in the last round, where the exchange has ended.

    Raises
    ------
    InputError
        If a question is not the one that follows from those before and their answers; if an answer
        that one was made from is gone; if the learner wants to go on, and the contract does not let
        it.
    """
    queries = _in_order(contract, queries)
    _check_end(contract, queries, close, closing)
    came, told = sort_answers(contract, queries, answers)
    walk = _start_walk(contract)
    follows, used = _retrace_steps(contract, walk, queries, closing, came, told)
    is_open = len(queries) > len(used)
    given = _single_answers(follows, came[-1], told) if is_open else {}
    told += _find_suspicions(contract, [*used, given])
    suspects = {one.owner for one in told if one.is_suspicious and one.round == len(used) + 1}
    doubted = tuple(name for name in given if name in suspects - {*accepted})
    counted = {name: answer for name, answer in given.items() if name not in doubted}
    missing = tuple(name for name in follows.asked if is_open and name not in counted)
    goes_on = close and len(counted) >= contract.missing.at_least
    if is_open and (goes_on or not missing):
        used.append(counted)
        follows = _take_step(contract, walk, follows, used)
        missing = ()
    phi = None
    if len(used) == contract.rounds:
        phi = _returned_point(contract, walk)
    return Collected(
        query=follows if phi is None else None,
        phi=phi,
        missing=missing,
        doubted=doubted,
        told=tuple(dict.fromkeys(told)),
        path=walk.path[: len(used) + 1],
        used=tuple(used),
        stopped=bool(walk.stopped[0]),
        owners=tuple(next(iter(used), ())) if contract.aggregation is None else masked_owners(used),
    )


def _retrace_steps(
    contract: Contract,
    walk: Walk,
    queries: Sequence[Query],
    closing: Closing | None,
    came: Sequence[Came],
    told: list[Told],
) -> tuple[Query, list[Used]]:
    """Retrace the steps whose answers the next question, or the closing, names.

    Returns
    -------
    The open question, or the one to ask next; and the answers of each step.
    """
    settled = [query.answers for query in queries[1:]]
    if closing is not None:
        settled.append(closing.answers)
    used = list[Used]()
    follows = Query(contract.digest, 1, walk.phi[0], contract.names)
    for query, chosen in zip(queries, settled, strict=False):
        _check_question(query, follows)
        used.append(_settled_answers(contract, query, came[query.round - 1], chosen, told))
        follows = _take_step(contract, walk, query, used)
    if len(queries) > len(settled):  # nothing was made from the answers to the last question yet
        _check_question(queries[-1], follows)
        follows = queries[-1]
    return follows, used


def noise_sold(contract: Contract) -> Sold:
    """Noise that the owners of a contract sold."""
    scales = dict(zip(contract.names, noise_scales(contract), strict=True))
    return Sold(noise_of(contract), Coordinates.of(contract.coordinates).longest_gradient, scales)


def noise_scales(contract: Contract) -> Array:
    """Scale of each owner's noise in each round, (n_owners, rounds), to about 1e-7 of itself."""
    plan = agreed_plan(contract)
    mechanism = noise_of(contract)
    epsilon = [owner.epsilon for owner in contract.owners]
    sizes = [owner.records for owner in contract.owners]
    even = mechanism.scale(epsilon, sizes, contract.coordinates.gradient_bound, plan.priced)
    return np.outer(even, plan.relative_scales(mechanism))


def noise_in_mean(contract: Contract, names: Collection[str], round: int) -> float:
    """Standard deviation of the noise on each number of the weighted mean of a round.

    sqrt(sum_l q_l^2 v_l) over the owners that answer, the weights q made to sum to 1. Of sums it is
    that on the mean score.
    """
    if contract.aggregation is not None:
        records = sum(contract.owner(name).records for name in names)
        return total_deviations(contract, len(names))[0] / records
    if contract.sums is not None:
        some = [owner for owner in contract.owners if owner.name in names]
        on_scores, _ = sums_noise(contract, some)
        return float(np.linalg.norm(on_scores) / sum(owner.records for owner in some))
    spread = np.sqrt(noise_of(contract).unit_variance) * noise_scales(contract)[:, round - 1]
    chosen = [place for place, name in enumerate(contract.names) if name in names]
    return float(np.linalg.norm(_weights(contract, names) * spread[chosen]))


def _weights(contract: Contract, names: Collection[str]) -> Array:
    """Weights of some owners, in the order of the contract, made to sum to 1."""
    weights = np.array([owner.weight for owner in contract.owners if owner.name in names])
    return weights / weights.sum()


def _start_walk(contract: Contract) -> Walk:
    """Start the training of the contract: one run, whose answers come from elsewhere."""
    nothing_drawn = Streams(0, "noise")
    plan = agreed_plan(contract)
    task = Task(
        (), Coordinates.of(contract.coordinates), plan, noise_of(contract), 1, nothing_drawn
    )
    rounds = range(1, contract.rounds + 1)
    noise = [noise_in_mean(contract, contract.names, number) for number in rounds]
    check = None
    if _gradients_shrink(task):
        check = GrowthCheck(np.array([*noise, noise[-1]]))  # the running mean takes one step more
    return Walk(replace(task, regularisation=contract.training.regularisation), check=check)


def _gradients_shrink(task: Task) -> bool:
    """Test whether gradients shrink from step to step if the plan suits the owners' records.

    So they do under squared loss with steps of at most 2 over the largest curvature. A contract
    does not state it; in whitened features it is that of the loss itself.
    """
    loss = task.coordinates.loss
    whitened = not np.array_equal(task.coordinates.transform, np.eye(task.width))
    return bool(loss.quadratic and whitened and np.all(task.steps * loss.curvature <= 2))


def _take_step(contract: Contract, walk: Walk, query: Query, rounds: Sequence[Used]) -> Query:
    """Step along the answers of a round, or solve them; returns the question that follows.

    Parameters
    ----------
    rounds: the answers used in all rounds so far; the last is that of the question.
    """
    used = rounds[-1]
    if contract.aggregation is not None:
        if len(rounds) == contract.rounds:
            walk.reach(gather_total(contract, rounds).step()[None])
    elif contract.sums is not None:
        walk.reach(gather_sums(contract, used).step()[None])
    else:
        task = replace(walk.task, weights=_weights(contract, used))
        combine = MEAN.make_combiner(task)
        gradients = (answer.numbers[None] for answer in used.values())
        walk.move(combine(task.own_gradient(walk.phi), gradients))
    digests = {name: answer.digest for name, answer in used.items()}
    number = query.round + 1
    return Query(contract.digest, number, walk.phi[0], tuple(used), query.digest, digests)


def _returned_point(contract: Contract, walk: Walk) -> Array:
    """Point that training returns, as `learning.training.engine.train` has it.

    The running mean takes in the point before each step, and so nothing of the last step: that one
    is taken without answers.
    """
    if contract.training.returned == "last":
        return walk.trajectory().last[0]
    walk.move(np.zeros_like(walk.phi))
    return walk.trajectory().mean[0]


def _in_order(contract: Contract, queries: Sequence[Query]) -> list[Query]:
    """Sort the questions by round; refused unless there is one of each round, from the first."""
    ordered = sorted(queries, key=lambda query: query.round)
    for number, query in enumerate(ordered, start=1):
        if query.contract != contract.digest:
            found = f"one of {query.contract[:16]}"
            raise InputError(_place(query.round), "must be of this contract", found)
        if query.round != number:
            missing = query.round > number
            found = f"none of round {number}" if missing else f"two of round {query.round}"
            rule = "must be one of each round, from the first"
            raise InputError("questions", rule, found, "Put the files back.")
        if number > contract.rounds:
            rule = f"must be one of the {contract.rounds} that the contract has"
            raise InputError(_place(number), rule)
    return ordered


def _check_end(
    contract: Contract, queries: Sequence[Query], close: bool, closing: Closing | None
) -> None:
    """Refuse to leave out owners where the contract waits; and a closing of another question."""
    if close and contract.missing.rule != "without":
        rule = "must be left out if the contract waits for all owners"
        raise InputError("--close", rule, f'missing.rule "{contract.missing.rule}"')
    if closing is not None and not closes_exchange(closing, contract, queries):
        rule = "must be of this contract and its last question"
        found = f"one of question {closing.query[:16]}"
        raise InputError("the closing", rule, found, "Put back the files as they were.")


def closes_exchange(closing: Closing, contract: Contract, queries: Sequence[Query]) -> bool:
    """Test whether a closing is of the contract and its last question."""
    if closing.contract != contract.digest or len(queries) < contract.rounds:
        return False
    return closing.query == queries[-1].digest


def _check_question(query: Query, expected: Query) -> None:
    """Refuse a question other than the one that follows; its time is the learner's own choice."""
    keys = ("previous", "asked", "answers")
    wrong = [key for key in keys if getattr(query, key) != getattr(expected, key)]
    point = query.point
    same_width = len(point) == len(expected.point)
    if not (same_width and np.allclose(point, expected.point, rtol=SAME, atol=SAME**2)):
        wrong.append("point")
    if wrong:
        rule = "must follow from the contract and the earlier answers"
        remedy = f"Somebody changed it, or an answer before it. {UNTOUCHED}"
        raise InputError(_place(query.round), rule, f"another {' and '.join(wrong)}", remedy)


def _place(round: int) -> str:
    return f"the question of round {round}"


# Answers


def _settled_answers(
    contract: Contract, query: Query, came: Came, chosen: Mapping[str, str], told: list[Told]
) -> Used:
    """Find the answers that were used; notices about all others join ``told``.

    Raises
    ------
    InputError
        If one of them is gone, or the contract does not let the learner go on with these.
    """
    waits = contract.missing.rule == "wait"
    least = len(query.asked) if waits else contract.missing.at_least
    if not set(chosen) <= set(query.asked) or len(chosen) < least:
        after = f"what was made from the answers to round {query.round}"
        everybody = ", with everybody's answer" if waits else ""
        rule = f"must go on as the contract says{everybody}"
        raise InputError(after, rule, f"answers of {', '.join(chosen) or 'nobody'}")
    used = {}
    another = "is not used: another one had been used before"
    for name in (one for one in contract.names if one in chosen):
        for answer in came.get(name, ()):
            if answer.digest == chosen[name]:
                used[name] = answer
            else:
                told.append(Told(name, query.round, "two answers", another))
        if name not in used:
            where = f"{name}'s answer to round {query.round}"
            rule = f"must be the one that was used, {chosen[name][:16]}"
            found = "another one" if name in came else "none"
            raise InputError(where, rule, found, "Put the file back.")
    late = "came when the learner had gone on without it, and is not used"
    told += [Told(name, query.round, "late", late) for name in came if name not in chosen]
    return used


def _single_answers(query: Query, came: Came, told: list[Told]) -> dict[str, Answer]:
    """Find the answers of owners that gave a single one; notices about others join ``told``."""
    several = "is there twice, with different numbers: neither is used"
    twice = [name for name, given in came.items() if len(given) > 1]
    told += [Told(name, query.round, "two answers", several) for name in twice]
    return {name: given[0] for name, given in came.items() if len(given) == 1}


def _find_suspicions(contract: Contract, rounds: Sequence[Used]) -> list[Told]:
    """Find suspicious answers of the first rounds; under secure aggregation nobody sees one."""
    if contract.aggregation is not None:
        return []
    if contract.sums is not None:
        return find_sums_suspicions(gather_sums(contract, rounds[0]), contract)
    numbers = [{name: answer.numbers for name, answer in one.items()} for one in rounds]
    return find_suspicions(numbers, noise_sold(contract))
