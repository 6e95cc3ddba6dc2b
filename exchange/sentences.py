"""A contract in plain words: questions, noise, payments and promises, a sentence a line."""

from __future__ import annotations

from collections.abc import Iterator
from math import frexp
from typing import Any

from exchange.contract import Contract
from exchange.owner_rows import compute_beliefs
from exchange.secure.agreement import noise_part
from exchange.signing import UNSIGNED
from exchange.terms import Expansion
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.phrases import count_noun, format_number, format_value, join_words
from learning.privacy.release_sums import count_moments
from learning.privacy.shares import answer_shares
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.report.wording import format_interval

CATEGORIES = 12  # of one column that are named
BEFORE_COLUMNS = ("table", "joint", "question")  # macros of `phrases/contract.txt.j2`
BEHIND_COLUMNS = (
    *("clipping", "noise", "promise", "aggregation", "account", "missing", "keys", "model"),
    *("withdrawal", "forecast", "bought", "paid", "unseen"),
)
TITLES = {"table": "the table"}


def contract_lines(contract: Contract) -> Iterator[tuple[str, str]]:
    """Describe a contract line by line, with a title at the first of each topic."""
    facts = contract_facts(contract)
    said = {name: render_lines("contract", name, contract, facts) for name in BEFORE_COLUMNS}
    said |= {"predicted": [target_words(contract)], "columns": list(column_lines(contract))}
    said |= {name: render_lines("contract", name, contract, facts) for name in BEHIND_COLUMNS}
    for topic, lines in said.items():
        for place, line in enumerate(lines):
            yield "" if place else TITLES.get(topic, topic), line


def contract_words(contract: Contract) -> dict[str, str]:
    """Describe the parties, the digest and the signatures of a contract."""
    names = ("parties", "digest", "signed")
    words = {name: render_phrase("contract", name, contract) for name in names}
    return words if contract.is_signed else words | {"signed": UNSIGNED}


def contract_facts(contract: Contract) -> dict[str, Any]:
    """Compute what sentences need beside the contract's own terms."""
    agreed = contract.aggregation
    training = contract.training
    facts = {
        "loss": LOSSES[contract.loss.name],
        "moments": count_moments(len(contract.bounds.start)),
        "coordinates": Coordinates.of(contract.coordinates),
        "shares": answer_shares(training.growth, training.answers)[: contract.rounds].tolist(),
        "source": contract.terms(contract.names[0]).source,
        "chance": max(chance for _, chance in compute_beliefs(contract).values()),
        "payments": sum(owner.payment for owner in contract.owners),
    }
    if agreed is not None:
        facts["power"] = frexp(agreed.step)[1] - 1
        facts["parts"] = noise_part(agreed, len(contract.names)).parts
    return facts


def target_words(contract: Contract) -> str:
    """Describe the column that is predicted."""
    target = contract.columns.target
    if target.labels:
        return (
            f"{target.name}: {format_value(target.labels[0])} or {format_value(target.labels[1])}"
        )
    return (
        f"{target.name}, {format_interval(target.low, target.high)}; a value outside counts as the "
        "nearer end"
    )


def column_lines(contract: Contract) -> Iterator[str]:
    """Describe the columns that are read, and their encoding."""
    columns = contract.columns
    numbers = columns.numbers
    texts = columns.categories
    if numbers.names:
        ranges = zip(numbers.names, numbers.low, numbers.high, numbers.fill, strict=True)
        each = (
            f"{name} {format_interval(low, high)} ({format_number(fill)})"
            for name, low, high, fill in ranges
        )
        yield (
            "numbers with their range (a value outside counts as the nearer end) and, in brackets, "
            f"the number that stands for a missing or unreadable cell: {', '.join(each)}"
        )
    other = "like one before the first" if texts.places else "as none of them"
    for name, known in zip(texts.names, texts.categories, strict=True):
        shown = join_words(list(map(format_value, known)), CATEGORIES)
        yield f"{name}: {shown}; any other text counts {other}"
    if columns.constant_columns:
        constant = join_words(columns.constant_columns, CATEGORIES)
        yield f"not used, because they add nothing on the public rows: {constant}"
    if columns.expansion is not None:
        yield describe_expansion(columns.expansion)
    if columns.components is not None:
        count = count_noun(len(columns.components.low), "component")
        yield f"these columns are reduced to {count}, computed from the public rows"
    if columns.person is not None:
        most = count_noun(contract.bounds.rows_per_person, "row")
        yield f"{columns.person} names the person of a row; at most {most} of a person count"
    yield "the owner's program ignores any other column of its file"


def describe_expansion(parts: Expansion) -> str:
    """Describe the splines, bins, products and kernel features that are made of the columns."""
    made = []
    count = sum(map(bool, parts.knots))
    if count:
        kind = f"splines of degree {parts.degree}" if parts.degree else "bins"
        made.append(f"{count_noun(count, 'column')} of numbers as {kind} with public knots")
    if parts.pairs:
        made.append(count_noun(len(parts.pairs), "product") + " of two columns")
    if parts.frequencies:
        count = len(parts.frequencies)
        noun = count_noun(count, "random frequency", "random frequencies")
        made.append(f"a Gaussian kernel by {noun}")
    made = made or ["the columns as they are"]
    return f"the model uses {count_noun(len(parts.kept), 'feature')}: {' and '.join(made)}"
