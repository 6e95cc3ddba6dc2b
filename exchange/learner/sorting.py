"""Answers sorted into those that count and those that are refused, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exchange.contract import Contract
from exchange.learner.suspicions import Told
from exchange.messages import (
    SECURE_FORMS,
    Answer,
    Gradient,
    Masked,
    Query,
    Sums,
)
from exchange.widths import answer_lengths, expected_lengths
from learning.privacy.release import LIMIT

Came = Mapping[str, Sequence[Answer]]  # owner -> its answers to one question: one, unless it cheats


def sort_answers(
    contract: Contract, queries: Sequence[Query], answers: Sequence[Answer]
) -> tuple[list[Came], list[Told]]:
    """Sort answers by question, owners in the order of the contract, with notices about the rest.

    Parameters
    ----------
    contract: the contract.
    queries: the questions of rounds 1, 2 ...
    answers: in any order; the same one may have come twice.
    """
    came: list[dict[str, dict[str, Answer]]] = [{} for _ in queries]
    told = []
    for answer in answers:
        fault = _find_fault(contract, queries, answer)
        if fault is not None:
            told.append(Told(answer.owner, answer.round, *fault))
        else:
            came[answer.round - 1].setdefault(answer.owner, {})[answer.digest] = answer
    ordered: list[Came] = [
        {name: [*one[name].values()] for name in contract.names if name in one} for one in came
    ]
    return ordered, told


def _find_fault(
    contract: Contract, queries: Sequence[Query], answer: Answer
) -> tuple[str, str] | None:
    """Find the kind and words of an answer's fault; None where it belongs to a question."""
    if answer.contract != contract.digest:
        return "contract", f"is of another contract, {answer.contract[:16]}"
    if answer.owner not in contract.names:
        return "owner", "comes from nobody in the contract"
    if answer.round > len(queries):
        return "query", "answers a question that was not asked"
    query = queries[answer.round - 1]
    if answer.query != query.digest:
        return "query", f"answers another question, {answer.query[:16]}"
    if answer.owner not in query.asked:
        return "not asked", "is not used: the exchange had gone on without this owner"
    return _find_misfit(contract, answer)


def _find_misfit(contract: Contract, answer: Answer) -> tuple[str, str] | None:
    """Find the fault of an answer's content."""
    if contract.aggregation is not None:
        return _find_secure_misfit(contract, answer)
    form, other = (Sums, "a gradient") if contract.sums else (Gradient, "sums")
    if not isinstance(answer, form):
        return "form", f"has another form than was asked for: {other}"
    asked = expected_lengths(form, len(contract.bounds.start))
    given = answer_lengths(answer)
    if given != asked:
        return "width", f"has {_lengths(given)} numbers, not {_lengths(asked)}"
    if contract.sums and np.abs(answer.numbers).max() > LIMIT:
        return "size", f"has numbers beyond {LIMIT:g}"
    return None


def _find_secure_misfit(contract: Contract, answer: Answer) -> tuple[str, str] | None:
    """Find the fault of an answer's content under secure aggregation."""
    if type(answer) is not SECURE_FORMS[answer.round - 1]:
        return "form", "has another form than was asked for"
    asked = sum(expected_lengths(Sums, len(contract.bounds.start)))
    if isinstance(answer, Masked) and len(answer.masked) != asked:
        return "width", f"has {len(answer.masked)} numbers, not {asked}"
    return None


def _lengths(lengths: Sequence[int]) -> str:
    return " and ".join(map(str, lengths))
