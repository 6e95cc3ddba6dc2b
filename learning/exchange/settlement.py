"""Settlement: whether the files of an exchange hang together, what each owner delivered, and what it is to be paid.

Everything follows from the contract, the questions and the answers. An answer is delivered if it is to the question that
the chain holds and a later question, or the model, was made with it; one to a question that is still open counts too. An
owner is paid its payment times the share of its budget that its delivered answers spend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    share: of what answers to all questions spend that those delivered do, in [0, 1]; exactly 1 if it answered all.
    payment: what all its answers were to earn.
    paid: what those delivered earn, payment times share.
    epsilon: what all answers that it sent spend, used or not, as a budget over them alone; the delta is the contract's.
    """

    owner: str
    rounds: tuple[int, ...]
    unused: tuple[int, ...]
    missed: tuple[int, ...]
    share: float
    payment: float
    paid: float
    epsilon: float


@dataclass(frozen=True)
class Chain:
    """The questions of an exchange as they hang together.

    Parameters
    ----------
    queries: the questions from the first on, as far as each names the one before and the answers that it rests on.
    taken: of each of them, owner -> digest of the answer that was used; of the last, what is there.
    faults: what does not fit.
    """

    queries: tuple[Query, ...] = field(repr=False)
    taken: tuple[Taken, ...] = field(repr=False)
    faults: tuple[Fault, ...]

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
    last: the answers to the last question that the model was made of; all that are there unless given.
    """
    held = {one.digest: one for one in answers}
    by_round, faults = _by_round(contract, queries)
    chain: list[Query] = []
    taken: list[Taken] = []
    for number in range(1, max(by_round, default=0) + 1):
        found = by_round.get(number)
        if found is None:
            faults.append(Fault(f"question {number}", "must be there, as later ones rest on it", "none"))
            break
        wrong = _broken(contract, found, chain[-1] if chain else None, held)
        if wrong:
            faults += wrong
            break
        if chain:
            taken.append(dict(found.answers))
        chain.append(found)
    if chain:
        open_to = {one.owner: one.digest for one in held.values() if one.query == chain[-1].digest}
        known = {name: open_to[name] for name in chain[-1].asked if name in open_to}
        taken.append(known if last is None else {name: at for name, at in last.items() if known.get(name) == at})
        if last is not None and taken[-1] != dict(last):
            lost = ", ".join(sorted(set(last) - set(taken[-1])))
            faults.append(Fault("model", "rests on answers to the last question that are not there", f"none of {lost}"))
    return Chain(tuple(chain), tuple(taken), tuple(faults))


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


def _broken(contract: Contract, query: Query, before: Query | None, held: Mapping[str, Answer]) -> list[Fault]:
    """Where a question does not follow from the one before it and from the answers to that."""
    where = f"question {query.round}"
    if query.previous != (None if before is None else before.digest):
        stated = "none" if query.previous is None else query.previous[:16]
        return [Fault(where, "must name the digest of the question before it", stated)]
    if before is None:
        return [Fault(where, "must rest on no answers", "some")] if query.answers else []
    faults = []
    for owner, digest in query.answers.items():
        answer = held.get(digest)
        told = f"the answer of {owner} to question {before.round}, on which question {query.round} rests"
        if answer is None:
            faults.append(Fault(told, "must be there", "none of its digest"))
        elif (answer.owner, answer.query) != (owner, before.digest) or owner not in before.asked:
            faults.append(Fault(told, "must be that owner's to that question", f"one of {answer.owner}"))
    return faults


def deliveries(contract: Contract, chain: Chain, answers: Sequence[Answer]) -> tuple[Delivery, ...]:
    """What each owner of the contract delivered, in its order."""
    return tuple(_delivery(contract, one.name, chain, answers) for one in contract.owners)


def _delivery(contract: Contract, name: str, chain: Chain, answers: Sequence[Answer]) -> Delivery:
    terms, parts = contract.owner(name), budget_shares(contract)
    given = [query.round for query, taken in zip(chain.queries, chain.taken, strict=True) if name in taken]
    used = {taken[name] for taken in chain.taken if name in taken}
    sent = [one.round for one in answers if one.owner == name and one.digest not in used]
    others = {number for number in sent if number <= contract.rounds}
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
        epsilon=spent(contract, terms.epsilon, _sum(parts, others.union(given))),
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
    return float(mechanism.budget(term))
