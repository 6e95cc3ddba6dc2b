"""A contract in plain words: questions, noise, payments and promises, a sentence a line."""

from __future__ import annotations

from collections.abc import Iterator
from math import frexp

from exchange.contract import Contract
from exchange.owner_rows import table_words
from exchange.secure.agreement import noise_part
from exchange.signing import UNSIGNED
from exchange.terms import Expansion
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.money import format_cents
from learning.phrases import (
    count_noun,
    format_number,
    format_percent,
    format_value,
    join_words,
)
from learning.privacy.release_sums import count_moments
from learning.privacy.shares import answer_shares
from scenarios.report.wording import format_interval

NORMS = {1: "the sum of its numbers' sizes", 2: "the root of the sum of its numbers' squares"}
ACCOUNTINGS = {"basic": "budgets add up", "zcdp": "counted by zCDP"}
CATEGORIES = 12  # of one column that are named
UNSEEN = (
    "Nobody can check whether an owner's records are true, whether an owner added more noise than "
    "agreed, or whether the learner shows the model to others."
)
INSEPARABLE = (
    "The learner holds no owner's sums by themselves, so nobody's can be left out later, and no "
    "single answer is looked at for a suspicion."
)
QUESTIONS = (
    "Each owner is asked five questions: for public keys, for shares of its secret ones, sealed "
    "for the other owners, for its masked sums, for its consent to the owners in the total, and "
    "for the shares that unmask this total. The masked sums alone spend its budget."
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
    for place, line in enumerate(aggregation_lines(contract)):
        yield "" if place else "aggregation", line
    if contract.remark != contract.unit:
        called = f"The learner calls a record {format_value(contract.remark)}"
        yield "", f"{called}. This remark guarantees nothing more."
    yield (
        "account",
        f"Ledgers call these records {contract.records}. Add up the epsilon of every sale "
        "of the same records, earlier or later, under any name, whoever sold them.",
    )
    yield "missing", missing_words(contract)
    for place, line in enumerate(key_lines(contract)):
        yield "" if place else "keys", line
    yield "model", model_words(contract)
    if contract.sums:
        alone = contract.aggregation is None
        yield "withdrawal", withdrawal_words() if alone else INSEPARABLE
    yield "forecast", forecast_words(contract)
    if contract.go is not None:
        yield "bought", go_words(contract)
    total = format_cents(sum(owner.payment for owner in contract.owners), contract.currency or "")
    paid = "An owner is paid only for the answers that it delivers"
    if contract.go is not None:
        paid += ", and only if the model is bought"
    yield "paid", f"{total} in all. {paid}."
    yield "unseen", UNSEEN


def party_words(contract: Contract) -> str:
    """Describe the parties."""
    answers = "answers" if len(contract.names) == 1 else "answer"
    return (
        f"{join_words(contract.names, 12)} {answers} questions about their own records. Each owner "
        "runs its own program, and no record leaves it. One learner asks the questions, pays, and "
        "receives the model."
    )


def signed_words(contract: Contract) -> str:
    """Describe the signatures of an exchange."""
    if not contract.is_signed:
        return UNSIGNED
    return (
        "The learner has signed this contract. Each party signs its questions, answers, statement "
        "or closing, and the programs refuse a file without its signature."
    )


def key_lines(contract: Contract) -> Iterator[str]:
    """List the public keys of all parties, for comparison by another channel."""
    if contract.public_keys is not None:
        yield f"{contract.public_keys.learner}, the learner"
        yield from (f"{key}, {name}" for name, key in contract.public_keys.owners.items())


def digest_words() -> str:
    """Explain the digest."""
    return (
        "Two parties that read the same digest have the same contract. Compare it before you "
        "sign. An owner's ledger stores the digest and answers under no other text."
    )


def joint_words(contract: Contract) -> list[str]:
    """Describe the privacy loss of a record that several owners hold."""
    joint = [claim["epsilon"] for claim in contract.claims if claim["joint"]]
    if not joint:
        return []
    owners = f"A record may sit with {contract.noise.overlap} of the owners"
    ends = format_interval(min(joint), max(joint))
    return [f"{owners}. All their answers together then have epsilon = {ends} for it."]


def question_words(contract: Contract) -> str:
    """Describe a question and its answer."""
    width = len(contract.bounds.start)
    measure = error_words(contract)
    if contract.sums:
        score = count_noun(width, "number")
        moments = count_noun(count_moments(width), "number")
        masked = ", and masks hide all of it" * (contract.aggregation is not None)
        return (
            f"Each owner sums up its records once, at the start. Its answer has a score, {score} "
            f"that say how the {measure} would change with each parameter, and second moments, "
            f"{moments} that say how fast. Each number has noise{masked}. Nothing else about "
            "records leaves an owner."
        )
    return (
        f"The learner states a model, {count_noun(width, 'public number')}. An owner answers with "
        f"the mean gradient of its records: how their {measure} would change with each of these "
        f"numbers. Each of its {count_noun(width, 'number')} has noise. Nothing else leaves an "
        "owner."
    )


def rounds_words(contract: Contract) -> str:
    """Describe the number of questions, and the division of a budget among them."""
    if contract.aggregation is not None:
        return QUESTIONS
    asked = contract.rounds
    priced = contract.training.answers
    growth = contract.training.growth
    said = f"The learner asks each owner {'once' if asked == 1 else f'{asked} times'}"
    if growth != 1:
        parts = answer_shares(growth, priced)[:asked].tolist()
        spent = format_interval(parts[0], parts[-1], format_percent)
        return f"{said}. The answers spend {spent} of its budget, each more than the one before."
    if priced > asked:
        unspent = format_percent(1 - asked / priced)
        split = f"An owner's budget would cover {priced} such answers"
        return f"{said}. {split}, so {unspent} of the budget is never spent."
    if asked > 1:
        return f"{said}, and each answer spends the same part of its budget."
    return f"{said}."


def refusal_words(contract: Contract) -> str:
    """Describe the questions that an owner's program refuses."""
    if contract.sums:
        return (
            "The owner's program refuses a question of another contract, a question at any other "
            "point than the start, and a second question. No refusal depends on a record, so a "
            "refusal reveals nothing about records."
        )
    where = " in any coordinate" * (contract.bounds.norm == 1)
    ball = format_number(contract.bounds.theta_max)
    return (
        "The owner's program refuses a question of another contract, a point further than "
        f"{ball} from the start{where}, a round out of turn, a round that it has answered, and any "
        "further question. No refusal depends on a record, so a refusal reveals nothing about "
        "records."
    )


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


def clipping_words(contract: Contract) -> str:
    """Describe the bound on one record's part in an answer."""
    at = contract.bounds
    coordinates = contract.coordinates
    radius = f"shortened to {format_number(at.radius)} ({NORMS[at.norm]})"
    if coordinates.scores is not None:
        longest = format_number(coordinates.scores.bound)
        both = "with one weight in both sums" if coordinates.scores.alike else "independently"
        said = f"Each record is {radius}, and its score to {longest}, {both}"
    elif coordinates.clips_gradients:
        said = f"In every answer, each record's gradient is {radius}"
    else:
        kept = ""
        if at.target_bound is not None:
            bound = format_number(at.target_bound)
            kept = f", and its target is moved to within {bound} of the start model's prediction"
        longest = format_number(Coordinates.of(coordinates).longest_gradient)
        said = f"Each record is {radius}{kept}; so no gradient is longer than {longest}"
    rows = at.rows_per_person
    persons = f" At most {rows} rows of one person count." * (rows > 1)
    return f"{said}. These bounds are public and the same for every owner.{persons}"


def noise_words(contract: Contract) -> str:
    """Describe the noise."""
    accounting = contract.noise.accounting
    source = contract.terms(contract.names[0]).source
    both = " on score and second moments, priced together" if contract.sums else ""
    return (
        f"{contract.mechanism.title}{both}, {ACCOUNTINGS.get(accounting, accounting)}; {source}. "
        "It is exact and comes from the system's secure random source, so nobody can draw it "
        "again."
    )


def promise_words(contract: Contract) -> str:
    """Describe the guarantee of differential privacy."""
    own = [claim for claim in contract.claims if not claim["joint"]]
    adjacency = join_words(sorted({claim["adjacency"] for claim in own}))
    against = join_words(sorted({claim["protects_against"] for claim in own}))
    assumed = sorted({claim["assumes"] for claim in own if claim["assumes"]})
    supposed = f" It assumes that {join_words(assumed)}." if assumed else ""
    limits = "epsilon and delta limit" if contract.noise.delta else "epsilon limits"
    return (
        f"Differential privacy of {contract.unit}: {limits} how well anybody can distinguish two "
        f"tables that differ by it ({adjacency}). The guarantee holds against {against}.{supposed}"
    )


def aggregation_lines(contract: Contract) -> Iterator[str]:
    """Describe secure aggregation; nothing where there is none."""
    agreed = contract.aggregation
    if agreed is None:
        return
    owners = len(contract.names)
    part = noise_part(agreed, owners)
    yield (
        "The learner sees the total of the owners' sums, and no owner's by themselves: masks that "
        "each two owners agree on hide them, and cancel in the total."
    )
    yield (
        f"Sums are counted in steps of 2^{frexp(agreed.step)[1] - 1}, modulo 2^{agreed.bits}. To "
        "each number every owner adds discrete Gaussian noise of standard deviation "
        f"{format_number(agreed.scale)} steps; the parts of {part.parts} owners suffice for what "
        "the strictest of them sold."
    )
    epsilon = {one["protects_against"]: 0.0 for one in contract.claims}
    for claim in contract.claims:
        epsilon[claim["protects_against"]] = max(
            epsilon[claim["protects_against"]], claim["epsilon"]
        )
    for whom, most in epsilon.items():
        yield f"The largest epsilon against {whom}: {format_number(most)}."
    gone = "No owner may drop out"
    if agreed.dropouts:
        gone = f"Up to {count_noun(agreed.dropouts, 'owner')} may drop out, at any question"
    stay = f"{agreed.threshold} of the {owners} must answer the last one, or nothing is read"
    yield f"{gone}: {stay}."
    yield (
        "Not defended: an owner that adds less noise than its part leaves the others with less; "
        "one that sends false sums spoils the model; one that sends false shares may stop the "
        "exchange. The learner may leave out whom it likes, as far as drop-outs are allowed for."
    )


def missing_words(contract: Contract) -> str:
    """Describe the rule for missing answers."""
    rule = contract.missing
    if rule.rule == "wait":
        return (
            "If an owner does not answer, everybody waits for it without a time limit. The next "
            "question comes only after all have answered."
        )
    until = f" within {format_number(rule.hours)} hours" if rule.hours else ""
    enough = f"{rule.at_least} of the {len(contract.names)} owners"
    return (
        f"If an owner does not answer{until}, the learner may go on without it, provided that "
        f"{enough} have answered. That owner takes no part in any later round. The others' "
        "weights grow in proportion, and the model becomes worse."
    )


def model_words(contract: Contract) -> str:
    """Describe the model and its training."""
    agreed = contract.training
    charge = ""
    if agreed.regularisation:
        charge = f" and {format_number(agreed.regularisation)}/2 times the squared parameters"
    start = "the learner's own model" if any(contract.bounds.start) else "zero"
    if contract.sums:
        return (
            f"A linear model with the least {error_words(contract)}{charge}. Training starts from "
            f"{start} and makes one Newton step from the owners' sums, with allowance for noise."
        )
    point = "the last point"
    if agreed.returned == "averaged":
        point = "the mean of the start and the points after each step, with more weight later"
    return (
        f"A linear model with the least {error_words(contract)}{charge}. Training starts from "
        f"{start} and makes {count_noun(contract.rounds, 'step')} along the weighted mean of the "
        f"answers. The model is {point}."
    )


def withdrawal_words() -> str:
    """Describe the withdrawal of an owner's sums."""
    return (
        "An owner may withdraw its sums later. The learner then solves the model again from the "
        "other owners' sums, without a new question. The result is the model that would exist "
        "without that owner. The withdrawn answer remains released: its budget stays spent, and "
        "copies that were handed on remain."
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
        f"{error}{span}. The learner's own model: {format_percent(forecast.outside)} above it. "
        f"This forecast uses {forecast.basis} rows. Nobody guarantees it."
    )


def go_words(contract: Contract) -> str:
    """Describe the rule of buying the model or not."""
    rule = contract.go
    assert rule is not None
    unit = contract.currency or ""
    least = format_cents((1 + rule.margin) * sum(one.payment for one in contract.owners), unit)
    otherwise = "nobody is paid"
    if rule.otherwise:
        otherwise = f"each owner is paid {format_percent(rule.otherwise)} of its payment"
    forecast = format_cents(rule.worth * rule.forecast, unit)
    return (
        f"The learner buys the model only if it expects it to be worth {least} more than its own "
        f"(the payments to who answered and {format_percent(rule.margin)} more), by the released "
        f"sums and the forecast of {forecast}, each weighted by its precision; otherwise it keeps "
        f"its own model, {otherwise}, and the answers remain given."
    )


def error_words(contract: Contract) -> str:
    """Name the error that the model minimises."""
    loss = LOSSES[contract.loss.name]
    return loss.measure or f"mean {loss.name} loss"
