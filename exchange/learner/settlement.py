"""Settlement: the consistency of an exchange's files, each owner's deliveries, and its payment.

Everything follows from the contract, the questions and the answers. An answer is delivered if it is
to the question that the chain holds and a later question, or the model, was made with it; one to a
question that is still open counts too. An owner is paid its payment times the share of its budget
that its delivered answers spend. Later questions and the closing name answers by digest: a file
that was lost or altered since takes nothing from its owner. Where questions are not linked, no
payment can be determined, and none is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from exchange.contract import Contract
from exchange.learner.collector import agreed_plan
from exchange.learner.noise import noise_of
from exchange.messages import Answer, Query
from exchange.terms import MASKED
from learning.arrays import Array
from learning.privacy.shares import answer_shares
from learning.rounding import round_to_cent

ROUNDING = 1e-12
Taken = Mapping[str, str]  # owner -> digest of the answer that was used


@dataclass(frozen=True)
class Fault:
    """An inconsistency: where, what rule it breaks, what was found instead."""

    where: str
    rule: str
    found: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}" + (f"; found {self.found}" if self.found else "") + "."


@dataclass(frozen=True)
class Delivery:
    """An owner's deliveries and its payment.

    Parameters
    ----------
    owner: its name.
    rounds: the questions, by number, to which its answer was used, or came while the question is
        still open.
    unused: those to which it sent an answer that was not used: too late, or for another question of
        that number.
    missed: those that it was asked and did not answer.
    share: of the budget spent by answers to all questions, the part of those delivered, in [0, 1];
        exactly 1 if it answered all; None where that cannot be determined.
    payment: for all its answers.
    paid: for those delivered, payment times share; None where that cannot be determined.
    epsilon: budget spent by all answers that it sent or charged, used or not, as a budget over them
        alone; the delta is the contract's.
    """

    owner: str
    rounds: tuple[int, ...]
    unused: tuple[int, ...]
    missed: tuple[int, ...]
    share: float | None
    payment: float
    paid: float | None
    epsilon: float


@dataclass(frozen=True)
class Chain:
    """The linked questions of an exchange.

    Parameters
    ----------
    queries: the questions from the first on, as far as each names the one before and the answers
        that it rests on.
    taken: for each of them, owner -> digest of the answer that was used; for an open last question,
        of the answer that is there.
    faults: inconsistencies.
    whole: whether all questions are linked, so that the answers used are known.
    lost: (owner, round) of answers that were used and whose file is gone or altered.
    named: (owner, round) of all answers that any question, or the end, names as used.
    """

    queries: tuple[Query, ...] = field(repr=False)
    taken: tuple[Taken, ...] = field(repr=False)
    faults: tuple[Fault, ...]
    whole: bool = True
    lost: frozenset[tuple[str, int]] = frozenset()
    named: frozenset[tuple[str, int]] = frozenset()

    @property
    def pairs(self) -> list[tuple[Query, Taken]]:
        """Each question with the answers used."""
        return list(zip(self.queries, self.taken, strict=True))

    def without(self, missing: Iterable[str]) -> Chain:
        """Leave out the answers of some owners to the last question."""
        if not self.taken:
            return self
        kept = {name: at for name, at in self.taken[-1].items() if name not in set(missing)}
        return replace(self, taken=(*self.taken[:-1], kept))


def budget_shares(contract: Contract) -> Array:
    """Share of a budget that the answer to each question spends, (rounds,).

    They sum to less than 1 where a budget covers more answers than are asked. Under secure
    aggregation the masked sums spend it all.
    """
    if contract.aggregation is not None:
        return np.eye(contract.rounds)[MASKED - 1]
    plan = agreed_plan(contract)
    return answer_shares(plan.growth, plan.priced)[: contract.rounds]


def link_questions(
    contract: Contract,
    queries: Iterable[Query],
    answers: Iterable[Answer],
    last: Taken | None = None,
) -> Chain:
    """Link the questions by the digests that each names, with the answers that it rests on.

    Parameters
    ----------
    queries, answers: all that there are, in any order.
    last: the answers to the last question that the model was made of, as the closing names them;
        all that are there unless given.
    """
    held = {one.digest: one for one in answers}
    by_round, faults = _sort_questions(contract, queries)
    end = max(by_round, default=0)
    if last is None:
        rounds = [one.round for one in held.values() if one.round <= contract.rounds]
        end = max([end, *rounds])
    chain, broken = _longest_chain(by_round, end)
    faults += broken
    taken: list[Taken] = [dict(query.answers) for query in chain[1:]]
    closed = last is not None and not faults
    if chain and closed:
        taken.append(dict(last or {}))
    elif chain:
        taken.append(_open_answers(chain[-1], held))
        faults += [] if faults else _misnamed_question(chain[-1], held)
    whole = not faults
    lost = set[tuple[str, int]]()
    for query, used in zip(chain, taken, strict=True):
        is_used = query is not chain[-1] or closed
        gone, wrong = _check_used(contract, query, used, held, is_used=is_used)
        lost |= {(name, query.round) for name in gone}
        faults += [*gone.values(), *wrong]
        whole = whole and not wrong
    named = {(name, query.round - 1) for query in by_round.values() for name in query.answers}
    named |= {(name, contract.rounds) for name in last or ()}
    return Chain(
        tuple(chain), tuple(taken), tuple(faults), whole, frozenset(lost), frozenset(named)
    )


def _sort_questions(
    contract: Contract, queries: Iterable[Query]
) -> tuple[dict[int, Query], list[Fault]]:
    """Sort the questions of the contract by round, one for each."""
    found: dict[int, Query] = {}
    faults = []
    for query in sorted(queries, key=lambda one: (one.round, one.digest)):
        where = f"question {query.round}"
        if query.contract != contract.digest:
            faults.append(Fault(where, "must be of this contract", f"one of {query.contract[:16]}"))
        elif query.round > contract.rounds:
            faults.append(Fault(where, f"must be one of the {contract.rounds} agreed"))
        elif query.round in found:
            faults.append(Fault(where, "must be the only one of its number", "another"))
        else:
            found[query.round] = query
    return found, faults


def _longest_chain(by_round: Mapping[int, Query], end: int) -> tuple[list[Query], list[Fault]]:
    """Follow the questions up to a round, or to the first that is missing or not linked."""
    chain: list[Query] = []
    for number in range(1, end + 1):
        query = by_round.get(number)
        if query is None:
            rule = "must be there, as later ones or answers rest on it"
            return chain, [Fault(f"question {number}", rule, "none")]
        broken = _broken_link(query, chain[-1] if chain else None)
        if broken:
            return chain, broken
        chain.append(query)
    return chain, []


def _broken_link(query: Query, before: Query | None) -> list[Fault]:
    """Find the fault of a question that does not follow from the one before it."""
    where = f"question {query.round}"
    if query.previous != (before and before.digest):
        stated = "none" if query.previous is None else query.previous[:16]
        return [Fault(where, "must name the digest of the question before it", stated)]
    if before is None and query.answers:
        return [Fault(where, "must rest on no answers", "some")]
    return []


def _open_answers(query: Query, held: Mapping[str, Answer]) -> Taken:
    """Answers to a question that are there."""
    there = {one.owner: one.digest for one in held.values() if one.query == query.digest}
    return {name: there[name] for name in query.asked if name in there}


def _misnamed_question(query: Query, held: Mapping[str, Answer]) -> list[Fault]:
    """Find the fault of a changed question: all answers of its round name another one."""
    named = [one.query for one in held.values() if one.round == query.round]
    if not named or query.digest in named:
        return []
    rule = "must be the one that the answers to it name"
    return [Fault(f"question {query.round}", rule, "another")]


def _check_used(
    contract: Contract, query: Query, used: Taken, held: Mapping[str, Answer], *, is_used: bool
) -> tuple[dict[str, Fault], list[Fault]]:
    """Check the answers that something was made from.

    Parameters
    ----------
    is_used: whether a later question or the model was made; else answers may still come.

    Returns
    -------
    Faults of answers whose file is gone, by owner; and of those that cannot have been used.
    """
    last = query.round == contract.rounds
    after = "the model" if last else f"question {query.round + 1}"
    gone = dict[str, Fault]()
    wrong = []
    there = {one.owner for one in held.values() if one.round == query.round}
    for owner, digest in used.items():
        where = f"the answer of {owner} to question {query.round}, on which {after} rests"
        answer = held.get(digest)
        if owner not in query.asked:
            wrong.append(Fault(where, "must be of an owner that was asked"))
        elif answer is None:
            found = "another" if owner in there else "none of its digest"
            gone[owner] = Fault(where, "must be there", found)
        elif (answer.owner, answer.query) != (owner, query.digest):
            rule = "must be that owner's to that question"
            wrong.append(Fault(where, rule, f"one of {answer.owner}"))
    if is_used and contract.missing.rule == "wait" and set(used) != set(query.asked):
        rule = f"must rest on everybody's answer to question {query.round}"
        wrong.append(Fault(after, rule, "fewer"))
    return gone, wrong


def compute_deliveries(
    contract: Contract,
    chain: Chain,
    answers: Sequence[Answer],
    charged: Mapping[str, Collection[int]] | None = None,
) -> tuple[Delivery, ...]:
    """Compute the delivery of each owner, in the order of the contract.

    Parameters
    ----------
    charged: owner -> the questions, by number, whose answers its ledger says were charged.
    """
    known = charged or {}
    names = contract.names
    return tuple(_delivery_of(contract, n, chain, answers, known.get(n, ())) for n in names)


def _delivery_of(
    contract: Contract, name: str, chain: Chain, answers: Sequence[Answer], charged: Collection[int]
) -> Delivery:
    terms = contract.owner(name)
    parts = budget_shares(contract)
    numbers = range(1, contract.rounds + 1)
    given = [query.round for query, taken in chain.pairs if name in taken]
    used = {taken[name] for taken in chain.taken if name in taken}
    sent = {one.round for one in answers if one.owner == name and one.digest not in used}
    named = {number for owner, number in chain.named if owner == name}
    shown = {*given, *sent, *named}.intersection(numbers)
    spent = shown.union(charged).intersection(numbers)
    sold = terms.epsilon if contract.aggregation is None else contract.terms(name).epsilon
    epsilon = spent_epsilon(contract, sold, _sum_shares(parts, spent))
    if not chain.whole:
        shown_rounds = tuple(sorted(shown))
        return Delivery(name, shown_rounds, (), (), None, terms.payment, None, epsilon)
    unused = {number for number in sent.intersection(numbers) if (name, number) not in chain.lost}
    asked = [query.round for query in chain.queries if name in query.asked]
    share = 1.0
    if len(given) < contract.rounds:
        share = _sum_shares(parts, given) / float(parts.sum())
    return Delivery(
        owner=name,
        rounds=tuple(given),
        unused=tuple(sorted(unused)),
        missed=tuple(number for number in asked if number not in {*given, *unused}),
        share=share,
        payment=terms.payment,
        paid=round_to_cent(terms.payment * share),
        epsilon=epsilon,
    )


def _sum_shares(parts: Array, questions: Iterable[int]) -> float:
    return float(sum(parts[number - 1] for number in sorted(questions)))


def spent_epsilon(contract: Contract, epsilon: float, share: float) -> float:
    """Budget that a share of a budget comes to, at the same delta.

    The scale of an answer's noise falls with the power p of its share (`Mechanism.share_power`), so
    that a share s of epsilon spends the epsilon' with noise_term(epsilon') = noise_term(epsilon)
    s^(-2p): s epsilon where budgets add.
    """
    if share == 0 or share > 1 - ROUNDING:
        return epsilon * round(share)
    mechanism = noise_of(contract)
    assert mechanism.share_power is not None
    term = float(mechanism.noise_term(epsilon)) * share ** (-2 * mechanism.share_power)
    return float(f"{mechanism.budget(term):.12g}")  # without rounding errors of powers and sums
