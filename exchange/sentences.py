"""A contract in plain words: questions, noise, payments and promises, a sentence a line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from exchange.contract import Contract
from exchange.limits import claimed_budget, exceeded_limits, limits_for
from exchange.signing import UNSIGNED
from exchange.terms import Expansion
from learning.errors import InputError
from learning.losses.losses import LOSSES
from learning.money import format_cents
from learning.phrases import (
    NOTHING_PROMISED,
    belief_of,
    but_for_words,
    count_noun,
    format_interval,
    format_number,
    format_percent,
    format_value,
    join_words,
    strength,
    sure_words,
)
from learning.privacy.noise import answer_shares
from learning.privacy.promises import weakest_claims
from learning.privacy.release_sums import count_moments

NORMS = {1: "the sum of its numbers' sizes", 2: "the root of the sum of its numbers' squares"}
ACCOUNTINGS = {"basic": "budgets add up", "zcdp": "counted by zCDP"}
CATEGORIES = 12  # of one column that are named
HEADS = ("", "records", "epsilon", "noise", "is paid", "weight", "an even guess becomes")
UNSEEN = (
    "Nobody can see whether an owner's records are true, nor whether it added more noise than "
    "agreed; nor whether the learner shows the model to others."
)
Line = tuple[str, str]  # its title and its text


def contract_lines(contract: Contract) -> Iterator[Line]:
    """Describe a contract line by line, after the table of its owners."""
    yield "the table", table_words(contract)
    yield from (("joint", one) for one in joint_words(contract))
    yield "question", question_words(contract)
    yield "", rounds_words(contract)
    yield "", refusal_words(contract)
    yield "predicted", target_words(contract)
    for place, line in enumerate(column_lines(contract)):
        yield "" if place else "columns", line
    yield "clipping", clipping_words(contract)
    yield "noise", noise_words(contract)
    yield "promise", promise_words(contract)
    if contract.remark != contract.unit:
        called = f"The learner calls a record {format_value(contract.remark)}"
        yield "", f"{called}: a remark, by which nothing more is promised."
    yield (
        "account",
        f"Ledgers keep the records under the name {contract.records}: whatever else was, or will "
        "be, sold of the same records adds to it, under this name or another.",
    )
    yield "missing", missing_words(contract)
    for place, line in enumerate(key_lines(contract)):
        yield "" if place else "keys", line
    yield "model", model_words(contract)
    if contract.sums:
        yield "withdrawal", withdrawal_words()
    yield "forecast", forecast_words(contract)
    total = format_cents(sum(owner.payment for owner in contract.owners), contract.currency or "")
    yield "paid", f"{total} in all, each for as many of its answers as it delivers."
    yield "unseen", UNSEEN


def party_words(contract: Contract) -> str:
    """Describe the parties."""
    answers = "answers" if len(contract.names) == 1 else "answer"
    return (
        f"{join_words(contract.names, 12)} {answers}, each with its own program on its own "
        "records, which stay where they are. One learner asks, pays, and has the model."
    )


def signed_words(contract: Contract) -> str:
    """Describe the signatures of an exchange."""
    if not contract.is_signed:
        return UNSIGNED
    return (
        "The learner has signed this contract. Every question, answer, statement and the closing "
        "is signed by its party; whatever is not is refused."
    )


def key_lines(contract: Contract) -> Iterator[str]:
    """List the public keys of all parties, for comparison by another channel."""
    if contract.public_keys is not None:
        yield f"{contract.public_keys.learner}, the learner"
        yield from (f"{key}, {name}" for name, key in contract.public_keys.owners.items())


def digest_words() -> str:
    """Explain the digest."""
    return (
        "Whoever signs, signs this digest of the file: where two parties read the same one, they "
        "have the same contract. An owner's ledger keeps it with the account, so that no other "
        "text is ever answered for."
    )


def owner_rows(
    contract: Contract, refused: Mapping[str, Sequence[InputError]]
) -> list[tuple[str, ...]]:
    """Rows of a table of owners, with the columns of `HEADS`.

    Parameters
    ----------
    refused: name -> the limits that its budget exceeds.
    """
    beliefs = compute_beliefs(contract)
    spread = math.sqrt(contract.mechanism.unit_variance)
    rows: list[tuple[str, ...]] = []
    for owner, weight in zip(contract.owners, contract.weights, strict=True):
        belief, _ = beliefs[owner.name]
        budget = format_number(owner.epsilon) + (" (beyond limits)" if refused[owner.name] else "")
        noise = format_number(spread * contract.terms(owner.name).scale)
        paid = format_cents(owner.payment, contract.currency or "")
        guess = f"{sure_words(belief)} ({strength(belief)})"
        rows.append(
            (owner.name, f"{owner.records:,}", budget, noise, paid, format_percent(weight), guess)
        )
    return rows


def compute_beliefs(contract: Contract) -> dict[str, tuple[float, float]]:
    """Bound an observer's belief about each owner's records, with the probability of failure."""
    claims = weakest_claims(contract.claims)
    return {owner.name: belief_of(claims[owner.name], owner.records) for owner in contract.owners}


def find_exceeded(
    contract: Contract, max_epsilon: float | None = None, max_delta: float | None = None
) -> dict[str, list[InputError]]:
    """Find the limits that each owner's budget exceeds, those of `limits_for` unless given."""
    found = {}
    for owner in contract.owners:
        limits = limits_for(owner.records, max_epsilon, max_delta)
        found[owner.name] = exceeded_limits(limits, claimed_budget(contract, owner.name))
    return found


def limit_words(
    refused: Mapping[str, Sequence[InputError]], beliefs: Mapping[str, tuple[float, float]]
) -> list[str]:
    """Name the options that owners must accept with, and owners whose delta promises nothing."""
    said = [f"{name}: dpmarket accept {one}" for name, found in refused.items() for one in found]
    hollow = [name for name, (belief, _) in beliefs.items() if belief >= 1]
    if hollow:
        owners = f"Delta is not below one over the records of {join_words(hollow)}"
        said.append(f"{owners}: {NOTHING_PROMISED}.")
    return said or ["Every budget lies within what an owner's program accepts."]


def table_words(contract: Contract) -> str:
    """Explain the columns of the table of owners."""
    delta = contract.noise.delta
    approximate = f", but for delta = {format_number(delta)}," if delta else ""
    chances = [chance for _, chance in compute_beliefs(contract).values()]
    chance = but_for_words(max(chances, default=0.0))
    first = "of an answer" if contract.training.growth == 1 else "of its first answer"
    if contract.sums:
        first = "of the score"
    return (
        f"epsilon is what all of an owner's answers together{approximate} may give away of "
        f"{contract.unit}. Noise is the standard deviation of it in each number {first}. What is "
        "paid is for all answers, before any tax. Weight is how much an owner's answers count "
        "where all answer. An even guess: of two versions of a record that look equally likely, "
        f"whoever sees every answer can become so sure of one{chance}."
    )


def joint_words(contract: Contract) -> list[str]:
    """Describe the privacy loss of a record that several owners hold."""
    joint = [claim["epsilon"] for claim in contract.claims if claim["joint"]]
    if not joint:
        return []
    owners = f"A record may sit with {contract.noise.overlap} of the owners"
    ends = format_interval(min(joint), max(joint))
    return [f"{owners}. Who sees the answers of all of them learns of it as at epsilon = {ends}."]


def question_words(contract: Contract) -> str:
    """Describe a question and its answer."""
    width = len(contract.bounds.start)
    measure = error_words(contract)
    if contract.sums:
        score = count_noun(width, "number")
        moments = count_noun(count_moments(width), "number")
        return (
            f"An owner sums up its records once, at the start: a score, {score} that say how the "
            f"{measure} would change with each parameter, and second moments, {moments} that say "
            "how fast, with noise on each. Nothing else ever leaves it."
        )
    return (
        f"At a model that the learner states, {count_noun(width, 'public number')}, an owner says "
        f"how the {measure} of its records would change with each of these numbers: the mean "
        f"gradient, {count_noun(width, 'number')}, with noise on each. Nothing else ever leaves it."
    )


def rounds_words(contract: Contract) -> str:
    """Describe the number of questions, and the division of a budget among them."""
    asked = contract.rounds
    priced = contract.training.answers
    growth = contract.training.growth
    said = f"It is asked {'once' if asked == 1 else f'{asked} times'} of each owner"
    if growth != 1:
        parts = answer_shares(growth, priced)[:asked].tolist()
        spent = format_interval(parts[0], parts[-1], format_percent)
        return f"{said}; its answers spend {spent} of its budget, each more than the one before."
    if priced > asked:
        unspent = format_percent(1 - asked / priced)
        split = f"a budget is split over {priced} answers"
        return f"{said}; {split}, so that {unspent} of it is not spent."
    if asked > 1:
        return f"{said}, and each answer spends the same part of its budget."
    return f"{said}."


def refusal_words(contract: Contract) -> str:
    """Describe the questions that an owner's program refuses."""
    if contract.sums:
        return (
            "Its program refuses a question of another contract, any point but the start, and a "
            "second question. What its records hold decides no refusal."
        )
    where = " in any coordinate" * (contract.bounds.norm == 1)
    ball = format_number(contract.bounds.theta_max)
    return (
        f"Its program refuses a question of another contract, a point further than {ball} from the "
        f"start{where}, a round out of turn, one that was answered, and any beyond these. What its "
        "records hold decides no refusal."
    )


def target_words(contract: Contract) -> str:
    """Describe the column that is predicted."""
    target = contract.columns.target
    if target.labels:
        return (
            f"{target.name}: {format_value(target.labels[0])} or {format_value(target.labels[1])}"
        )
    return (
        f"{target.name}, {format_interval(target.low, target.high)}; outside of that its end counts"
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
            "numbers, with the range outside of which its end counts "
            f"(and what a cell that is none counts as): {', '.join(each)}"
        )
    other = "as the place before the first" if texts.places else "as none of them"
    for name, known in zip(texts.names, texts.categories, strict=True):
        shown = join_words(list(map(format_value, known)), CATEGORIES)
        yield f"{name}: {shown}; any other text counts {other}"
    if columns.constant_columns:
        constant = join_words(columns.constant_columns, CATEGORIES)
        yield f"not used, since they add nothing to the others in public: {constant}"
    if columns.expansion is not None:
        yield describe_expansion(columns.expansion)
    if columns.components is not None:
        count = count_noun(len(columns.components.low), "component")
        yield f"all of these are reduced to {count} of the public rows"
    if columns.person is not None:
        most = count_noun(contract.bounds.rows_per_person, "row")
        yield f"{columns.person} says whose a row is: an owner keeps at most {most} of a person"
    yield "any other column of an owner's file is passed over"


def describe_expansion(parts: Expansion) -> str:
    """Describe the splines, bins and products that are made of the columns."""
    made = []
    count = sum(map(bool, parts.knots))
    if count:
        kind = f"splines of degree {parts.degree}" if parts.degree else "bins"
        made.append(f"{count_noun(count, 'column')} of numbers as {kind} with public knots")
    if parts.pairs:
        made.append(count_noun(len(parts.pairs), "product") + " of two columns")
    made = made or ["the columns as they are"]
    return f"of these are made {count_noun(len(parts.kept), 'feature')}: {' and '.join(made)}"


def clipping_words(contract: Contract) -> str:
    """Describe the bound on one record's part in an answer."""
    at = contract.bounds
    coordinates = contract.coordinates
    radius = f"shortened to {format_number(at.radius)} ({NORMS[at.norm]})"
    if coordinates.scores is not None:
        longest = format_number(coordinates.scores.bound)
        both = "by one weight in both sums" if coordinates.scores.alike else "each by itself"
        said = f"Each record is {radius}, and its score to {longest}, {both}"
    elif coordinates.clips_gradients:
        said = f"Each record's gradient is {radius}, at every question"
    else:
        kept = ""
        if at.target_bound is not None:
            kept = f", and its target held within {format_number(at.target_bound)} of the start's"
        longest = format_number(coordinates.longest_gradient)
        said = f"Each record is {radius}{kept}; so no gradient is longer than {longest}"
    rows = at.rows_per_person
    persons = f" One person has {rows} rows at most." * (rows > 1)
    return f"{said}. All of that is public and the same for every owner.{persons}"


def noise_words(contract: Contract) -> str:
    """Describe the noise."""
    accounting = contract.noise.accounting
    source = contract.terms(contract.names[0]).source
    both = " on score and second moments, priced together" if contract.sums else ""
    return (
        f"{contract.mechanism.title}{both}, {ACCOUNTINGS.get(accounting, accounting)}; {source}, "
        "exact and from the system's secure random source: no seed can draw it again."
    )


def promise_words(contract: Contract) -> str:
    """Describe the promise of differential privacy."""
    own = [claim for claim in contract.claims if not claim["joint"]]
    adjacency = join_words(sorted({claim["adjacency"] for claim in own}))
    against = join_words(sorted({claim["protects_against"] for claim in own}))
    assumed = sorted({claim["assumes"] for claim in own if claim["assumes"]})
    supposed = f" It takes for granted that {join_words(assumed)}." if assumed else ""
    allowed = "epsilon and delta allow" if contract.noise.delta else "epsilon allows"
    return (
        f"Differential privacy of {contract.unit}: two tables that differ by that ({adjacency}) "
        f"are told apart no better than {allowed}, by {against}.{supposed}"
    )


def missing_words(contract: Contract) -> str:
    """Describe the rule for missing answers."""
    rule = contract.missing
    if rule.rule == "wait":
        return (
            "When an owner does not answer, all wait for it, however long: nothing is asked before "
            "all have answered."
        )
    until = f" within {format_number(rule.hours)} hours" if rule.hours else ""
    enough = f"{rule.at_least} of the {len(contract.names)}"
    return (
        f"When an owner does not answer{until}, the learner may go on without it, if {enough} "
        "have: it is then out for good, the others' weights grow in proportion, and what the model "
        "is worth falls."
    )


def model_words(contract: Contract) -> str:
    """Describe the model and its training."""
    agreed = contract.training
    charge = ""
    if agreed.regularisation:
        charge = f" and {format_number(agreed.regularisation)}/2 times the squared parameters"
    start = "the model of the learner's public rows" if any(contract.bounds.start) else "zero"
    if contract.sums:
        return (
            f"A linear model of the least {error_words(contract)}{charge}, from {start} by one "
            "Newton step that the sums of all owners make, allowing for their noise."
        )
    point = "the last point"
    if agreed.returned == "averaged":
        point = "a mean of the start and of the points after each step, later ones weighing more"
    return (
        f"A linear model of the least {error_words(contract)}{charge}, from {start}, in "
        f"{count_noun(contract.rounds, 'step')} along the weighted mean of the answers; the model "
        f"is {point}."
    )


def withdrawal_words() -> str:
    """Describe the withdrawal of an owner's sums."""
    return (
        "An owner may have its sums left out later. The model is then solved again from the "
        "others' sums, and nobody is asked: it is the one that would have come without that owner. "
        "What was answered stays answered: no budget comes back, and copies that were handed on "
        "remain."
    )


def forecast_words(contract: Contract) -> str:
    """Describe the forecast of the model."""
    forecast = contract.forecast
    low, high = forecast.interval
    span = ""
    if low is not None and high is not None:
        span = f" ({format_interval(low, high, format_percent)} with a chance of 95 %)"
    best = f"the best possible {error_words(contract)}"
    if not LOSSES[contract.loss.name].certified:
        best = f"the best {error_words(contract)} found"
    error = f"{format_percent(forecast.relative_fitness)} above {best}"
    return (
        f"{error}{span}; the learner's own model: {format_percent(forecast.outside)} above it. "
        f"Made from {forecast.basis} rows; nobody promises it."
    )


def error_words(contract: Contract) -> str:
    """Name the error that the model minimises."""
    loss = LOSSES[contract.loss.name]
    return loss.measure or f"mean {loss.name} loss"


def left_out_words(names: Sequence[str]) -> str:
    """Name the owners that sold nothing; empty where all sold."""
    if not names:
        return ""
    are = "is" if len(names) == 1 else "are"
    return f"{join_words(names)} sold nothing, and {are} no part of it."


def result_warnings(content: Mapping[str, Any]) -> Iterator[str]:
    """Warnings about a result before it becomes a contract."""
    if not content["equilibrium"]["converged"]:
        rest = "the market was not certified to be at rest"
        yield f"{rest}: some owner may gain by selling otherwise"
    if content["learner"]["buying_pays"] is None:
        yield "what a better model is worth is not stated: whether buying pays is not known"
    elif not content["learner"]["buying_pays"]:
        yield "by the forecast, buying does not pay the learner"
    checked = content["validation"]
    if checked is None:
        yield "nothing was trained: whether the forecast holds was not tried"
    elif not checked["agrees"]:
        yield "training disagreed with the forecast"
