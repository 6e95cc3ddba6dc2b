"""An owner's preview of a contract: clipping of its records, privacy loss and payment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from exchange.contract import Contract
from exchange.messages import Query
from exchange.owner.accepting import total_spent
from exchange.owner.answering import WrittenAnswer
from exchange.owner.answers import (
    charged_answer,
    check_query,
    check_times,
    check_turn,
    find_account,
)
from exchange.owner.table import OwnTable, Records
from exchange.terms import MASKED
from learning.arrays import Array
from learning.money import format_cents
from learning.phrases import (
    belief_of,
    but_for_words,
    count_noun,
    format_number,
    join_words,
    protection,
    read_limit,
)
from learning.privacy.ledger import Account
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.promises import weakest_claims
from learning.privacy.registry import Accepted
from learning.privacy.release import bare_answer
from learning.privacy.release_sums import count_moments


@dataclass(frozen=True)
class Preview:
    """Consequences of a contract for an owner; for its eyes only, since counts reveal records.

    Parameters
    ----------
    rows: its records.
    cells: number of their cells outside their column's range, which count as its end.
    records: number of records shortened to the radius; 0 where gradients are clipped.
    targets: number of targets moved to their bound; 0 likewise.
    gradients: number of records' gradients shortened, at the question's point or at the start; 0
        where records are clipped. Of sums, the number of scores shortened.
    deviation: the standard deviation of the noise on each number of the next answer; of sums, on
        each of the score.
    claim: the weakest claim for all its answers, as the contract has it.
    payment: for all answers.
    account: its account; None before the contract is accepted.
    """

    rows: int
    cells: int
    records: int
    targets: int
    gradients: int
    deviation: float
    claim: Mapping[str, Any] = field(repr=False)
    payment: float
    account: Account | None = field(repr=False)


def preview_contract(
    contract: Contract,
    name: str,
    records: Records,
    ledger: LedgerFile | None,
    query: Query | None = None,
) -> Preview:
    """Preview an owner's answers under a contract; nothing is charged.

    Parameters
    ----------
    ledger: the owner's; None before there is one.
    query: the question that is asked; that of the first round unless given.

    Raises an InputError if the question would be refused, records are not as agreed, or the ledger
    is of another contract.
    """
    terms = contract.terms(name)
    point = np.zeros(len(contract.bounds.start))
    if query is not None:
        check_query(contract, name, query)
        point = query.point
    bare_answer(records.x, records.y, point, terms, records.persons)
    account = None if ledger is None else find_account(contract, name, ledger)
    following = 1
    if account is not None:
        following = min(account.answered + 1, terms.horizon)
        turns = contract.aggregation is None
        if query is not None and turns and charged_answer(account, query) is None:
            now = datetime.now(UTC)
            check_times(contract, query, now)
            check_turn(account, name, query, now)
    return Preview(
        len(records.y),
        records.clipped,
        *count_clipped(contract, records, point),
        deviation=noise_deviation(contract, name, following),
        claim=weakest_claims(claim for claim in contract.claims if claim["party"] == name)[name],
        payment=contract.owner(name).payment,
        account=account,
    )


def count_clipped(contract: Contract, records: Records, point: Array) -> tuple[int, int, int]:
    """Count records, targets, and gradients at a point (p,), or scores, beyond their bound."""
    coordinates = contract.coordinates
    x = records.x
    y = records.y
    lengths = coordinates.lengths(x @ coordinates.transform)
    if coordinates.scores is not None:
        scores = np.abs(y - x @ coordinates.centre) * lengths
        long = (lengths > coordinates.radius).sum()
        return int(long), 0, int((scores > coordinates.scores.bound).sum())
    if not coordinates.clips_gradients:
        off = np.abs(y - x @ coordinates.centre) > coordinates.target_bound
        return int((lengths > coordinates.radius).sum()), int(off.sum()), 0
    loss = coordinates.loss
    slopes = np.abs(loss.derivative(loss.scores(x, y, coordinates.model(point))))
    return 0, 0, int((slopes * lengths > coordinates.radius).sum())


def noise_deviation(contract: Contract, name: str, round: int) -> float:
    """Standard deviation of the noise on each number of an owner's answer, or score, in a round."""
    scale = contract.terms(name).scales[(contract.charge_number(round) or 1) - 1]
    return float(scale * np.sqrt(contract.mechanism.unit_variance))


# In words

STEP_WORDS = {
    1: "its public keys",
    2: "shares of its secret keys, sealed for the other owners",
    4: "its consent to the owners in the total",
    5: "shares that unmask the total",
}


def preview_words(
    contract: Contract, name: str, seen: Preview, table: OwnTable, query: Query | None = None
) -> dict[str, list[str]]:
    """Describe a preview, by title."""
    claim = seen.claim
    each = "each answer is" if contract.aggregation is None else "one answer is masked"
    asked = f"{count_noun(contract.rounds, 'question')}; {each} {content_words(contract)}"
    sure, chance = belief_of(claim, contract.owner(name).records)
    delta = f" and delta = {format_number(claim['delta'])}" if claim["delta"] else ""
    spent = f"epsilon = {format_number(read_limit(claim['epsilon']))}{delta} in all answers"

    unit = f"{claim['unit']} ({claim['adjacency']})"
    meaning = f"{protection(claim['epsilon'], sure)}{but_for_words(chance)}"
    lines = {
        "digest": [contract.digest, "Compare it with the digest that the other parties read."],
        "contract": [contract.title or "a data market"],
        "asked": [f"{asked}, with noise"],
        "records": [*_records_lines(seen, table, "score" if contract.sums else "gradient")],
        "noise": [
            f"standard deviation {format_number(seen.deviation)} on each number of the "
            f"{'score' if contract.sums else 'next answer'}"
        ],
        "loses": [f"{spent} together, for {unit}; {meaning}"],
        "earns": [f"{format_cents(seen.payment, contract.currency or '')} for all answers"],
    }
    if query is not None:
        lines["asked"].append(f"This is question {query.round}, within the contract's bounds.")
    if contract.columns.person is None:
        lines["loses"].append("A record is a row of the table; no column names its person.")
    lines["loses"].append(f"This holds against {claim['protects_against']}.")
    return lines


def content_words(contract: Contract) -> str:
    """Name the content of an answer, with the number of its numbers."""
    width = len(contract.bounds.start)
    if contract.sums is None:
        return f"a mean gradient, {count_noun(width, 'number')}"
    count = count_noun(count_moments(width), "number")
    return f"sums: a score, {count_noun(width, 'number')}, and second moments, {count}"


def _records_lines(seen: Preview, table: OwnTable, noun: str) -> Iterator[str]:
    """Describe the clipping of an owner's table, with names of columns and counts."""
    changes = {
        ("cell", "set to the nearer end of the column's range"): seen.cells,
        ("record", "shortened"): seen.records,
        ("target", "set to its bound"): seen.targets,
        (noun, "shortened"): seen.gradients,
    }
    changed = [f"{count_noun(n, one)} {change}" for (one, change), n in changes.items() if n]
    yield f"{count_noun(seen.rows, 'record')}, as many as agreed"
    yield f"clipping: {', '.join(changed) or 'nothing is changed'}"
    if table.left_out:
        yield f"left out, since one person has too many: {count_noun(table.left_out, 'row')}"
    for words, counts in (
        ("empty cells, replaced as the contract states", table.missing),
        ("unreadable cells, which count as empty", table.unread),
    ):
        if counts:
            yield f"{words}: {join_words([f'{n:,} in {name}' for name, n in counts.items()])}"
    if table.passed_over:
        yield f"columns that are ignored: {join_words(table.passed_over)}"
    yield "These counts depend on your records. Do not send them to anybody."


def ledger_words(name: str, account: Account | None) -> str:
    """Describe an owner's account of a contract."""
    if account is None:
        return f"no account yet; {name} opens one with dpmarket accept"
    if not account.answered:
        return f"open, no answer given yet; {remaining_words(account)}"
    return f"{spent_words(account)}, {remaining_words(account)}"


def spent_words(account: Account) -> str:
    """Describe the part of an owner's budget that is spent."""
    budget = account.budget
    if budget.counted == "epsilon":
        spent = format_number(account.spent)
        return f"{spent} of its epsilon of {format_number(budget.epsilon)} spent"
    whole = f"epsilon {format_number(budget.epsilon)} and delta {format_number(budget.delta)}"
    answers = f"{account.answered} of {count_noun(budget.horizon, 'answer')}"
    return f"{answers} given ({whole} for all answers together)"


def remaining_words(account: Account) -> str:
    """Describe the part of an owner's budget that remains."""
    count = int(account.answers_remaining)
    if not count:
        return "nothing remains"
    left = count_noun(count, "answer")
    if account.budget.counted == "epsilon":
        return f"{format_number(account.remaining)} remains for {left}"
    return f"{left} {'remains' if count == 1 else 'remain'}"


def others_words(accepted: Sequence[Accepted]) -> str:
    """Describe the other accounts of nearly the same records, and their sum; empty without any."""
    if len(accepted) == 1:
        return ""
    elsewhere = [
        f'{one.owner} for "{one.data}" in {one.path}, epsilon {format_number(one.epsilon)}'
        for one in accepted[1:]
    ]
    epsilon, delta = total_spent(*accepted)
    total = f"epsilon {format_number(epsilon)} and delta {format_number(delta)} together"
    return f"Nearly the same records have other accounts: {join_words(elsewhere)}. {total}."


def answer_words(contract: Contract, name: str, written: WrittenAnswer) -> str:
    """Describe an answer, the budget spent and the budget that remains."""
    answer = written.answered.answer
    account = written.answered.account
    path = written.path
    question = f"question {answer.round} of {contract.rounds}"
    so_far = f"{spent_words(account)}, {remaining_words(account)}"
    if not written.is_new:
        return f"{name} has answered {question} already, in {path}. {so_far}."
    if written.answered.again:
        again = f"The same answer is again in {path}; nothing more was spent"
        return f"{name} had answered {question}. {again}. {so_far}."
    if contract.aggregation is not None and answer.round != MASKED:
        return f"{name} answered {question} with {STEP_WORDS[answer.round]}, in {path}. {so_far}."
    deviation = format_number(noise_deviation(contract, name, answer.round))
    noise = f"noise of standard deviation {deviation}"
    if contract.sums is None:
        width = count_noun(len(contract.bounds.start), "number")
    else:
        width = content_words(contract)
        noise += " on the score"
    if contract.aggregation is not None:
        noise += ", one part of several, under masks"
    return f"{name} answered {question} with {width} and {noise}, in {path}. {so_far}."
