"""What an owner's program says to its owner: what the contract means for it, what was given away, what remains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from learning.exchange.accepting import in_all
from learning.exchange.contract import Contract
from learning.exchange.foreseen import Foreseen, deviation
from learning.exchange.messages import Query
from learning.privacy.accepted import Accepted
from learning.privacy.ledger import Account
from scenarios.command.console import titled
from scenarios.command.terminal import Terminal
from scenarios.exchange.answering import Ending, Given
from scenarios.exchange.records import OwnTable
from scenarios.report.sentences_privacy import belief_of, but_for_words, protection
from scenarios.report.wording import counted, limit, listed, money, number

ENDINGS: dict[Ending, str] = {
    "answered": "That was the last question of the contract.",
    "finished": "The model is there: nothing more is asked.",
    "left out": "The learner goes on without: it is not asked any more. What was delivered is paid: keep a statement.",
}


def print_foreseen(
    contract: Contract, name: str, seen: Foreseen, table: OwnTable, ledger: Path, query: Query | None = None
) -> None:
    """What the contract means for an owner, before it answers; for its eyes alone."""
    claim, asked = seen.claim, counted(contract.rounds, "question")
    delta = f", but for delta = {number(claim['delta'])}," if claim["delta"] else ""
    sure, chance = belief_of(claim, contract.owner(name).records)
    lines = {
        "digest": [contract.digest, "Who signed must have read the same digest."],
        "contract": [contract.title or "a data market"],
        "asked": [
            f"{asked}, each answered by a mean gradient, {counted(len(contract.bounds.start), 'number')}, under noise",
            f"This is question {query.round}: its point is in the ball." if query else "",
        ],
        "records": records_words(seen, table),
        "noise": [f"standard deviation {number(seen.deviation)} of each number of the next answer"],
        "loses": [
            f"epsilon = {number(limit(claim['epsilon']))}{delta} by all answers together, of {claim['unit']} "
            f"({claim['adjacency']}), {protection(claim['epsilon'], sure)}{but_for_words(chance)}",
            "A record is a row of the table: no column says whose it is." if contract.columns.person is None else "",
            f"by {claim['protects_against']}",
        ],
        "earns": [f"{money(seen.payment, contract.currency or '')} for all answers"],
        "ledger": [
            f"{ledger}: {ledger_words(name, seen.account)}",
            f'It keeps these records under the name "{contract.records}".',
        ],
    }
    Terminal().say(*(titled(title, *said) for title, said in lines.items()))


def records_words(seen: Foreseen, table: OwnTable) -> list[str]:
    """What becomes of an owner's table, with names of columns and counts."""
    changes = {
        "of their cells moved to the end of the column's range": seen.cells,
        "of the records shortened": seen.records,
        "of the targets moved to the bound": seen.targets,
        "of the gradients shortened": seen.gradients,
    }
    changed = [f"{count:,} {what}" for what, count in changes.items() if count]
    return [
        f"{counted(seen.rows, 'record')}, as many as agreed",
        f"clipping: {', '.join(changed) or 'nothing is changed'}",
        f"left out, beyond the most of one person: {counted(table.left_out, 'row')}" if table.left_out else "",
        f"empty cells, which count as the contract says: {_by_column(table.missing)}" if table.missing else "",
        f"cells that are nothing the column may hold, which count as empty: {_by_column(table.unread)}"
        if table.unread
        else "",
        f"columns passed over: {listed(table.passed_over)}" if table.passed_over else "",
        "(for your eyes only: none of this may be sent)",
    ]


def _by_column(counts: Mapping[str, int]) -> str:
    return listed([f"{count:,} in {name}" for name, count in counts.items()])


def ledger_words(name: str, account: Account | None) -> str:
    """What an owner's ledger says of a contract."""
    if account is None:
        return f"no account yet; {name} accepts the contract by dpmarket accept"
    if not account.answered:
        return f"open, nothing was answered; {remains(account)}"
    return f"{given_away(account)}, {remains(account)}"


def print_accepted(accepted: Sequence[Accepted]) -> None:
    """Print where else nearly the same records were accepted, and what all of it adds up to; nothing where nowhere."""
    others = accepted[1:]
    if not others:
        return
    elsewhere = [f'{one.owner} for "{one.data}" in {one.path}, epsilon {number(one.epsilon)}' for one in others]
    epsilon, delta = in_all(*accepted)
    total = f"epsilon {number(epsilon)} and delta {number(delta)} together"
    Terminal().say(titled("adds up", f"Nearly the same records were accepted by {listed(elsewhere)}: {total}."))


def given_away(account: Account) -> str:
    """What an owner has given away so far."""
    budget = account.budget
    if budget.counted == "epsilon":
        return f"{number(account.spent)} of its epsilon of {number(budget.epsilon)} is given away"
    whole = f"epsilon {number(budget.epsilon)} and delta {number(budget.delta)}"
    return f"{account.answered} of the {counted(budget.horizon, 'answer')} that {whole} cover is given away"


def remains(account: Account) -> str:
    """What is left of an owner's budget."""
    left = counted(int(account.answers_remaining), "answer")
    if not account.answers_remaining:
        return "nothing remains"
    if account.budget.counted == "epsilon":
        return f"{number(account.remaining)} remains for {left}"
    return f"{left} {'remains' if account.answers_remaining == 1 else 'remain'}"


def given_words(contract: Contract, name: str, given: Given) -> str:
    """One sentence: what was given away, and what remains."""
    answer, account = given.answered.answer, given.answered.account
    question = f"question {answer.round} of {contract.rounds}"
    so_far = f"{given_away(account)}, {remains(account)}"
    if not given.new:
        return f"{name} has answered {question}, in {given.path}; {so_far}."
    if given.answered.again:
        return f"{name} had answered {question}: the same answer is in {given.path} again, nothing more was spent; {so_far}."
    noise = f"noise of standard deviation {number(deviation(contract, name, answer.round))}"
    width = counted(len(answer.gradient), "number")
    return f"{name} answered {question} by {width} under {noise}, in {given.path}; {so_far}."
