"""Which answers belong to which question; of all others, what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from learning.exchange.contract import Contract
from learning.exchange.messages import Answer, Query
from learning.exchange.suspicions import Told

Came = Mapping[str, Sequence[Answer]]  # owner -> its answers to one question: one, unless it gave several


def sorted_answers(
    contract: Contract, queries: Sequence[Query], answers: Sequence[Answer]
) -> tuple[list[Came], list[Told]]:
    """For each question the answers to it, owners in the order of the contract; and what was told of the rest.

    Parameters
    ----------
    contract: what was agreed.
    queries: the questions of rounds 1, 2 ...
    answers: in any order; the same one may have come twice.
    """
    came: list[dict[str, dict[str, Answer]]] = [{} for _ in queries]
    told = []
    for answer in answers:
        wrong = _wrong(contract, queries, answer)
        if wrong is not None:
            told.append(wrong)
        else:
            came[answer.round - 1].setdefault(answer.owner, {})[answer.digest] = answer
    ordered: list[Came] = [{name: [*one[name].values()] for name in contract.names if name in one} for one in came]
    return ordered, told


def _wrong(contract: Contract, queries: Sequence[Query], answer: Answer) -> Told | None:
    """Why an answer belongs to no question; None where it does."""

    def told(kind: str, said: str) -> Told:
        return Told(answer.owner, answer.round, kind, said)

    width = len(contract.coordinates.centre)
    if answer.contract != contract.digest:
        return told("contract", f"is of another contract, {answer.contract[:16]}")
    if answer.owner not in contract.names:
        return told("owner", "comes from nobody in the contract")
    if answer.round > len(queries):
        return told("query", "answers a question that was not asked")
    query = queries[answer.round - 1]
    if answer.query != query.digest:
        return told("query", f"answers another question, {answer.query[:16]}")
    if answer.owner not in query.asked:
        return told("not asked", "is not used: the exchange had gone on without this owner")
    if len(answer.gradient) != width:
        return told("width", f"has {len(answer.gradient)} numbers, not {width}")
    return None
