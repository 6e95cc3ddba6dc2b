"""The learner's side: the whole path of training, computed anew from questions and answers each time; nothing else is kept.

Which answers a question was made from stands in that question, and of the last one in the closing. So the files alone say
what was done, anybody who has them can check every step, and a learner killed at any moment goes on from them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.exchange.closing import Closing
from learning.exchange.contract import Contract
from learning.exchange.messages import Answer, Query
from learning.exchange.sorting import Came, sorted_answers
from learning.exchange.suspicions import Sold, Told, suspicions
from learning.randomness import Streams
from learning.training.aggregation import MEAN
from learning.training.descent import Walk
from learning.training.task import Task

Used = Mapping[str, Answer]  # owner -> the one answer that counts, owners in the order of the contract
SAME = 1e-9  # points that differ by less, relative to the larger, differ by the rounding of two processors


@dataclass(frozen=True)
class Collected:
    """How far an exchange is.

    Parameters
    ----------
    query: the question of the round that is open; where it was not among those given, it is the next to send. None when
        all rounds are done.
    phi: array (p,), the point that training returns; None before all rounds are done.
    missing: the owners whose answers to the open question are still needed.
    doubted: those of them who answered numbers that are suspicious.
    told: what is told of owners.
    path: array (rounds done + 1, p), the points from the start on.
    used: for each round that is done, the answers that were used.
    """

    query: Query | None
    phi: Array | None = field(repr=False)
    missing: tuple[str, ...]
    doubted: tuple[str, ...]
    told: tuple[Told, ...]
    path: Array = field(repr=False)
    used: tuple[Used, ...] = field(repr=False)

    @property
    def owners(self) -> tuple[str, ...]:
        """Whose answers were used: in the first round everybody's who is in any, as who is left out stays out."""
        return tuple(self.used[0]) if self.used else ()


def collect(
    contract: Contract,
    queries: Sequence[Query],
    answers: Sequence[Answer],
    *,
    close: bool = False,
    accepted: Collection[str] = (),
    closing: Closing | None = None,
) -> Collected:
    """Check questions and answers, step along the answers, and say what comes next.

    phi[k+1] = Pi[phi[k] - rho_k (grad g_1 + sum_l q_l answer_l(phi[k]))], where the weights q of those whose answers are
    used are made to sum to 1. Who is gone on without is asked no more.

    Parameters
    ----------
    contract: what was agreed.
    queries: the questions so far.
    answers: all answers that came, in any order.
    close: whether to go on without the owners that are missing, where the contract lets the learner.
    accepted: owners whose answers to the open question count though they are suspicious.
    closing: what the end of the exchange says was used of the last round, where it has ended.

    Raises
    ------
    InputError
        If a question is not the one that follows from those before and their answers; if an answer that one was made from
        is gone; if the learner wants to go on, and the contract does not let it.
    """
    queries = _in_turn(contract, queries)
    _check_end(contract, queries, close, closing)
    came, told = sorted_answers(contract, queries, answers)
    settled = [query.answers for query in queries[1:]] + ([] if closing is None else [closing.answers])
    walk, used = _walk(contract), list[Used]()
    follows = Query(contract.digest, 1, walk.phi[0], contract.names)
    for query, chosen in zip(queries, settled, strict=False):
        _check_question(query, follows)
        used.append(_settled(contract, query, came[query.round - 1], chosen, told))
        follows = _step(contract, walk, query, used[-1])
    given, missing = dict[str, Answer](), tuple[str, ...]()
    for query in queries[len(settled) :]:  # the one, if any, that nothing was made from yet
        _check_question(query, follows)
        given, follows = _only(query, came[-1], told), query
    seen = suspicions(_numbers([*used, given] if given else used), sold(contract))
    counted, doubted = _trusted(given, seen, len(used) + 1, accepted)
    if len(queries) > len(settled):
        missing = tuple(name for name in follows.asked if name not in counted)
        if not missing or (close and len(counted) >= contract.missing.at_least):
            used.append(counted)
            follows, missing = _step(contract, walk, follows, counted), ()
    done, told = len(used) == contract.rounds, list(dict.fromkeys([*told, *seen]))
    phi = _returned(contract, walk) if done else None
    path = walk.path[: len(used) + 1]
    return Collected(None if done else follows, phi, missing, doubted, tuple(told), path, tuple(used))


def sold(contract: Contract) -> Sold:
    """What the owners of a contract sold, as far as their answers can be held against it."""
    scales = noise_scales(contract)
    named = {name: scales[place] for place, name in enumerate(contract.names)}
    return Sold(contract.mechanism, contract.coordinates.longest_gradient, named)


def noise_scales(contract: Contract) -> Array:
    """Scale of each owner's noise in each round, (n_owners, rounds): as wide as for release, to some parts in 10^7."""
    plan, mechanism = contract.plan, contract.mechanism
    epsilon, sizes = ([getattr(one, name) for one in contract.owners] for name in ("epsilon", "records"))
    even = mechanism.scale(epsilon, sizes, contract.coordinates.gradient_bound, plan.priced)
    return np.outer(even, plan.relative_scales(mechanism))


def noise_in_mean(contract: Contract, names: Collection[str], round: int) -> float:
    """Standard deviation of the noise on each number of the weighted mean of a round, if these owners answer.

    sqrt(sum_l q_l^2 v_l), the weights q made to sum to 1.
    """
    spread = np.sqrt(contract.mechanism.unit_variance) * noise_scales(contract)[:, round - 1]
    chosen = [place for place, name in enumerate(contract.names) if name in names]
    return float(np.linalg.norm(_weights(contract, names) * spread[chosen]))


def _weights(contract: Contract, names: Collection[str]) -> Array:
    """Weights of some owners, in the order of the contract, made to sum to 1."""
    weights = np.array([owner.weight for owner in contract.owners if owner.name in names])
    return weights / weights.sum()


def _walk(contract: Contract) -> Walk:
    """The training of the contract at its start: one run, whose answers come from elsewhere."""
    nothing_drawn = Streams(0, "noise")
    task = Task((), contract.coordinates, contract.plan, contract.mechanism, 1, nothing_drawn)
    return Walk(replace(task, regularisation=contract.training.regularisation))


def _step(contract: Contract, walk: Walk, query: Query, used: Used) -> Query:
    """Step along the answers of a round; returns the question that follows."""
    task = replace(walk.task, weights=_weights(contract, used))
    combine = MEAN.begin(task)
    walk.move(combine(task.own_gradient(walk.phi), (answer.gradient[None] for answer in used.values())))
    told = {name: answer.digest for name, answer in used.items()}
    return Query(contract.digest, query.round + 1, walk.phi[0], tuple(used), query.digest, told)


def _returned(contract: Contract, walk: Walk) -> Array:
    """The point that training returns, as `learning.training.engine.train` has it.

    The running mean takes in the point before each step, and so nothing of the last step: that one is taken without answers.
    """
    if contract.plan.returned == "last":
        return walk.trajectory().last[0]
    walk.move(np.zeros_like(walk.phi))
    return walk.trajectory().mean[0]


def _in_turn(contract: Contract, queries: Sequence[Query]) -> list[Query]:
    """The questions by round; refused unless there is one of each round, from the first."""
    ordered = sorted(queries, key=lambda query: query.round)
    for number, query in enumerate(ordered, start=1):
        if query.contract != contract.digest:
            raise InputError(_place(query.round), "must be of this contract", f"one of {query.contract[:16]}")
        if query.round != number:
            found = f"two of round {query.round}" if query.round < number else f"none of round {number}"
            raise InputError("questions", "must be one of each round, from the first", found, "Put the files back.")
        if number > contract.rounds:
            raise InputError(_place(number), f"must be one of the {contract.rounds} that the contract has")
    return ordered


def _check_end(contract: Contract, queries: Sequence[Query], close: bool, closing: Closing | None) -> None:
    """Refuse to go on without anybody where the contract waits; and a closing that is not of the last question."""
    if close and contract.missing.rule != "without":
        rule = "must be left out where the contract waits for everybody"
        raise InputError("--close", rule, f'missing.rule "{contract.missing.rule}"')
    last = queries[-1].digest if len(queries) == contract.rounds else ""
    if closing is not None and (closing.contract != contract.digest or closing.query != last):
        rule, found = "must be of this contract and its last question", f"one of question {closing.query[:16]}"
        raise InputError("the closing", rule, found, "Put back the files as they were.")


def _check_question(query: Query, expected: Query) -> None:
    """Refuse a question that is not the one that follows; its time is the learner's own to choose."""
    wrong = [name for name in ("previous", "asked", "answers") if getattr(query, name) != getattr(expected, name)]
    if len(query.point) != len(expected.point) or not np.allclose(query.point, expected.point, rtol=SAME, atol=SAME**2):
        wrong.append("point")
    if wrong:
        rule = "must be the one that follows from the contract and the answers before"
        remedy = "Somebody changed it, or an answer before it. Put back the files as they were; nothing was written."
        raise InputError(_place(query.round), rule, f"another {' and '.join(wrong)}", remedy)


def _place(round: int) -> str:
    return f"the question of round {round}"


def _settled(contract: Contract, query: Query, came: Came, chosen: Mapping[str, str], told: list[Told]) -> Used:
    """The answers that what comes after a question names; what else came is told.

    Raises
    ------
    InputError
        If one of them is gone, or the contract does not let the learner go on with these.
    """
    after = f"what was made from the answers to round {query.round}"
    everybody = contract.missing.rule == "wait"
    if not set(chosen) <= set(query.asked) or len(chosen) < (
        len(query.asked) if everybody else contract.missing.at_least
    ):
        rule = "must go on as the contract says" + (", with everybody's answer" if everybody else "")
        raise InputError(after, rule, f"answers of {', '.join(chosen) or 'nobody'}")
    used = {}
    for name in (one for one in contract.names if one in chosen):
        for answer in came.get(name, ()):
            if answer.digest == chosen[name]:
                used[name] = answer
            else:
                told.append(Told(name, query.round, "two answers", "is not used: another one had been used before"))
        if name not in used:
            where = f"{name}'s answer to round {query.round}"
            rule = f"must be the one that was used, {chosen[name][:16]}"
            raise InputError(where, rule, "another one" if name in came else "none", "Put the file back.")
    late = "came when the learner had gone on without it, and is not used"
    told += [Told(name, query.round, "late", late) for name in came if name not in chosen]
    return used


def _only(query: Query, came: Came, told: list[Told]) -> dict[str, Answer]:
    """The answers of those who gave one."""
    several = "is there twice, with different numbers: neither is used"
    told += [Told(name, query.round, "two answers", several) for name, given in came.items() if len(given) > 1]
    return {name: given[0] for name, given in came.items() if len(given) == 1}


def _trusted(
    given: Used, seen: Sequence[Told], round: int, accepted: Collection[str]
) -> tuple[dict[str, Answer], tuple[str, ...]]:
    """Of answers to a round those that count; and whose do not, because they are suspicious."""
    suspects = {one.owner for one in seen if one.round == round} - {*accepted}
    counted = {name: answer for name, answer in given.items() if name not in suspects}
    return counted, tuple(name for name in given if name in suspects)


def _numbers(rounds: Sequence[Used]) -> list[dict[str, Array]]:
    return [{name: answer.gradient for name, answer in one.items()} for one in rounds]
