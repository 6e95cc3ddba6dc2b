"""Settlement: whether the files of an exchange hang together, what each owner delivered, and what it is to be paid.

Everything follows from the contract, the questions and the answers. An answer is delivered if it is to the question that
the chain holds and a later question, or the model, was made with it; one to a question that is still open counts too. An
owner is paid its payment times the share of its budget that its delivered answers spend. Later questions and the closing
name answers by digest: a file that was lost or altered since takes nothing from its owner. Where questions do not hang
together, nobody's payment can be told, and none is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from learning.arrays import Array
from learning.exchange.contract import Contract
from learning.exchange.messages import Answer, Query
from learning.privacy.shares import shares

ROUNDING = 1e-12
Taken = Mapping[str, str]  # owner -> digest of the answer that was used


@dataclass(frozen=True)
class Fault:
    """What does not fit: where, what rule it breaks, what was found instead."""

    where: str
    rule: str
    found: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}" + (f"; found {self.found}" if self.found else "") + "."


@dataclass(frozen=True)
class Delivery:
    """What an owner delivered, and what that comes to.

    Parameters
    ----------
    owner: its name.
    rounds: the questions, by number, to which its answer was used, or came while the question is still open.
    unused: those to which it sent an answer that was not used: too late, or for another question of that number.
    missed: those that it was asked and did not answer.
    share: of what answers to all questions spend that those delivered do, in [0, 1]; exactly 1 if it answered all; None
        where that cannot be told.
    payment: what all its answers were to earn.
    paid: what those delivered earn, payment times share; None where that cannot be told.
    epsilon: what all answers that it sent or charged spend, used or not, as a budget over them alone; the delta is the
        contract's.
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
    """The questions of an exchange as they hang together.

    Parameters
    ----------
    queries: the questions from the first on, as far as each names the one before and the answers that it rests on.
    taken: of each of them, owner -> digest of the answer that was used; of the last, what is there.
    faults: what does not fit.
    whole: whether questions hang together, so that it can be told which answers were used.
    lost: (owner, round) of answers that were used and whose file is not there, or no longer as it was.
    named: (owner, round) of all answers that any question, or the end, says were used.
    """

    queries: tuple[Query, ...] = field(repr=False)
    taken: tuple[Taken, ...] = field(repr=False)
    faults: tuple[Fault, ...]
    whole: bool = True
    lost: frozenset[tuple[str, int]] = frozenset()
    named: frozenset[tuple[str, int]] = frozenset()

    def without(self, missing: Iterable[str]) -> Chain:
        """The same without answers of some owners to the last question, as they do not count."""
        if not self.taken:
            return self
        kept = {name: at for name, at in self.taken[-1].items() if name not in set(missing)}
        return replace(self, taken=(*self.taken[:-1], kept))


def budget_shares(contract: Contract) -> Array:
    """The share of a budget that the answer to each question spends, (rounds,).

    They sum to less than 1 where a budget covers more answers than are asked.
    """
    return shares(contract.plan.growth, contract.plan.priced)[: contract.rounds]


def chained(
    contract: Contract, queries: Iterable[Query], answers: Iterable[Answer], last: Taken | None = None
) -> Chain:
    """The questions that hang together, with the answers that each next one rests on.

    Parameters
    ----------
    queries, answers: all that there are, in any order.
    last: the answers to the last question that the model was made of, as its end names them; all that are there unless
        given.
    """
    held = {one.digest: one for one in answers}
    by_round, faults = _by_round(contract, queries)
    whole, lost, chain, taken = not faults, set[tuple[str, int]](), list[Query](), list[Taken]()
    answered = [] if last is not None else [one.round for one in held.values() if one.round <= contract.rounds]
    for number in range(1, max([*by_round, *answered], default=0) + 1):
        found = by_round.get(number)
        if found is None:
            wrong = [Fault(f"question {number}", "must be there, as later ones or answers rest on it", "none")]
        else:
            wrong = _unlinked(found, chain[-1] if chain else None)
        if found is None or wrong:
            faults, whole = faults + wrong, False
            break
        if chain:
            taken.append(dict(found.answers))
        chain.append(found)
    closed = last is not None and whole
    if chain and not closed:
        taken.append(_open(chain[-1], held))
        wrong = _misnamed(chain[-1], held) if whole else []
        faults, whole = faults + wrong, whole and not wrong
    elif chain and last is not None:
        taken.append(dict(last))
    for query, used in zip(chain, taken, strict=True):
        after = "the model" if query.round == contract.rounds else f"question {query.round + 1}"
        gone, wrong = _unproved(contract, query, used, held, after, made=query is not chain[-1] or closed)
        lost |= {(name, query.round) for name in gone}
        faults, whole = faults + list(gone.values()) + wrong, whole and not wrong
    named = {(name, query.round - 1) for query in by_round.values() for name in query.answers}
    named |= {(name, contract.rounds) for name in last or ()}
    return Chain(tuple(chain), tuple(taken), tuple(faults), whole, frozenset(lost), frozenset(named))


def _open(query: Query, held: Mapping[str, Answer]) -> Taken:
    """The answers to a question that are there."""
    there = {one.owner: one.digest for one in held.values() if one.query == query.digest}
    return {name: there[name] for name in query.asked if name in there}


def _misnamed(query: Query, held: Mapping[str, Answer]) -> list[Fault]:
    """Where all answers to the open question are to another one of its number: that question was changed."""
    named = [one.query for one in held.values() if one.round == query.round]
    if not named or query.digest in named:
        return []
    return [Fault(f"question {query.round}", "must be the one that the answers to it name", "another")]


def _by_round(contract: Contract, queries: Iterable[Query]) -> tuple[dict[int, Query], list[Fault]]:
    """The question of each round; of the contract alone, and one for each."""
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


def _unlinked(query: Query, before: Query | None) -> list[Fault]:
    """Where a question does not follow from the one before it."""
    where = f"question {query.round}"
    if query.previous != (None if before is None else before.digest):
        stated = "none" if query.previous is None else query.previous[:16]
        return [Fault(where, "must name the digest of the question before it", stated)]
    if before is None:
        return [Fault(where, "must rest on no answers", "some")] if query.answers else []
    return []


def _unproved(
    contract: Contract, query: Query, used: Taken, held: Mapping[str, Answer], after: str, *, made: bool
) -> tuple[dict[str, Fault], list[Fault]]:
    """Of the answers that something was made from: those whose file is gone, by owner; and those that cannot have been used.

    Parameters
    ----------
    after: what was made from them.
    made: whether it was; else answers may still come.
    """
    gone, wrong = dict[str, Fault](), []
    there = {one.owner for one in held.values() if one.round == query.round}
    for owner, digest in used.items():
        told = f"the answer of {owner} to question {query.round}, on which {after} rests"
        answer = held.get(digest)
        if owner not in query.asked:
            wrong.append(Fault(told, "must be of an owner that was asked"))
        elif answer is None:
            found = "another" if owner in there else "none of its digest"
            gone[owner] = Fault(told, "must be there", found)
        elif (answer.owner, answer.query) != (owner, query.digest):
            wrong.append(Fault(told, "must be that owner's to that question", f"one of {answer.owner}"))
    if made and contract.missing.rule == "wait" and set(used) != set(query.asked):
        wrong.append(Fault(after, f"must rest on everybody's answer to question {query.round}", "fewer"))
    return gone, wrong


def deliveries(
    contract: Contract, chain: Chain, answers: Sequence[Answer], charged: Mapping[str, Collection[int]] | None = None
) -> tuple[Delivery, ...]:
    """What each owner of the contract delivered, in its order.

    Parameters
    ----------
    charged: owner -> the questions, by number, whose answers its ledger says were charged.
    """
    spent_on = charged or {}
    return tuple(_delivery(contract, one.name, chain, answers, spent_on.get(one.name, ())) for one in contract.owners)


def _delivery(
    contract: Contract, name: str, chain: Chain, answers: Sequence[Answer], charged: Collection[int]
) -> Delivery:
    terms, parts = contract.owner(name), budget_shares(contract)
    given = [query.round for query, taken in zip(chain.queries, chain.taken, strict=True) if name in taken]
    used = {taken[name] for taken in chain.taken if name in taken}
    sent = {one.round for one in answers if one.owner == name and one.digest not in used}
    named = {number for owner, number in chain.named if owner == name}
    away = {number for number in {*given, *sent, *named, *charged} if 1 <= number <= contract.rounds}
    epsilon = spent(contract, terms.epsilon, _sum(parts, away))
    if not chain.whole:
        shown = {number for number in {*given, *sent, *named} if 1 <= number <= contract.rounds}
        return Delivery(name, tuple(sorted(shown)), (), (), None, terms.payment, None, epsilon)
    others = {number for number in sent if number <= contract.rounds and (name, number) not in chain.lost}
    asked = [query.round for query in chain.queries if name in query.asked]
    share = 1.0 if len(given) == contract.rounds else _sum(parts, given) / float(parts.sum())
    return Delivery(
        owner=name,
        rounds=tuple(given),
        unused=tuple(sorted(others)),
        missed=tuple(number for number in asked if number not in given and number not in others),
        share=share,
        payment=terms.payment,
        paid=terms.payment * share,
        epsilon=epsilon,
    )


def _sum(parts: Array, questions: Iterable[int]) -> float:
    """What the answers to some questions, by number, spend of a budget."""
    return float(sum(parts[number - 1] for number in sorted(questions)))


def spent(contract: Contract, epsilon: float, share: float) -> float:
    """What a share of a budget comes to as a budget of its own, at the same delta.

    The scale of an answer's noise falls with the power p of its share (`Mechanism.share_power`), so that a share s of epsilon
    spends what an epsilon' with noise_term(epsilon') = noise_term(epsilon) s^(-2p) does: s epsilon where budgets add.
    """
    if share == 0 or share > 1 - ROUNDING:
        return epsilon * round(share)
    mechanism = contract.mechanism
    assert mechanism.share_power is not None
    term = float(mechanism.noise_term(epsilon)) * share ** (-2 * mechanism.share_power)
    return float(
        f"{mechanism.budget(term):.12g}"
    )  # what powers and sums of shares leave in the last digits is no budget
