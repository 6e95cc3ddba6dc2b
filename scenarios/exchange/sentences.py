"""A contract in plain words: who answers what, under which noise, for how much, and what nobody may change afterwards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from learning.errors import InputError
from learning.exchange.contract import Contract
from learning.exchange.limits import beyond, budget_of, limits_for
from learning.losses.losses import LOSSES
from learning.losses.squared import Squared
from learning.privacy.mechanisms import title_of
from learning.privacy.promises import weakest
from learning.privacy.shares import shares
from scenarios.report.sentences_learning import best_error, measure_of
from scenarios.report.sentences_privacy import NOTHING_PROMISED, belief_of, but_for_words, strength, sure_words
from scenarios.report.wording import between, counted, listed, money, number, percent
from scenarios.schema.toml import show

NORMS = {1: "the sum of its numbers' sizes", 2: "the root of the sum of its numbers' squares"}
CATEGORIES = 12  # of one column that are named
Line = tuple[str, str]  # its title, and what it says


def contract_lines(contract: Contract) -> list[Line]:
    """What a contract says, line by line, after the table of its owners."""
    return [
        ("the table", common_terms(contract)),
        *(("joint", one) for one in jointly(contract)),
        ("question", question(contract)),
        ("", how_often(contract)),
        ("", refused(contract)),
        *columns(contract),
        ("clipping", clipping(contract)),
        ("noise", noise(contract)),
        ("promise", promise(contract)),
        *(("", one) for one in remark(contract)),
        ("account", account(contract)),
        ("missing", missing(contract)),
        ("model", model(contract)),
        ("forecast", forecast(contract)),
        ("paid", paid(contract)),
        ("unseen", UNSEEN),
    ]


def parties(contract: Contract) -> str:
    """Who takes part."""
    return (
        f"{listed(contract.names, 12)} {'answers' if len(contract.names) == 1 else 'answer'}, each with its own program on "
        "its own records, which stay where they are. One learner asks, pays, and has the model."
    )


def signed(contract: Contract) -> str:
    """What the digest is for."""
    return (
        "Whoever signs, signs this digest of the file: where two parties read the same one, they have the same contract. An "
        "owner's ledger keeps it with the account, so that no other text is ever answered for."
    )


def owner_rows(contract: Contract, refused: Mapping[str, Sequence[InputError]]) -> list[tuple[str, ...]]:
    """A row for each owner: records, epsilon, noise, payment, weight, and how sure an onlooker can become.

    Parameters
    ----------
    refused: name -> what of its budget lies beyond its limits.
    """
    sure = {name: belief for name, (belief, _) in beliefs(contract).items()}
    spread = math.sqrt(contract.mechanism.unit_variance)
    rows: list[tuple[str, ...]] = []
    for owner, weight in zip(contract.owners, contract.weights, strict=True):
        scale, belief = contract.terms(owner.name).scale, sure[owner.name]
        told = f"{sure_words(belief)} ({strength(belief)})"
        noisy = number(spread * scale)
        paid = money(owner.payment, contract.currency or "")
        budget = number(owner.epsilon) + (" (beyond limits)" if refused[owner.name] else "")
        rows.append((owner.name, f"{owner.records:,}", budget, noisy, paid, percent(weight), told))
    return rows


def beliefs(contract: Contract) -> dict[str, tuple[float, float]]:
    """How sure who sees most can become of each owner's records, and but for what chance."""
    made = weakest(contract.claims)
    return {owner.name: belief_of(made[owner.name], owner.records) for owner in contract.owners}


def beyond_limits(
    contract: Contract, max_epsilon: float | None = None, max_delta: float | None = None
) -> dict[str, list[InputError]]:
    """What of each owner's budget lies beyond limits, those of `limits_for` unless given."""
    return {
        owner.name: beyond(limits_for(owner.records, max_epsilon, max_delta), budget_of(contract, owner.name))
        for owner in contract.owners
    }


def limits_words(refused: Mapping[str, Sequence[InputError]], sure: Mapping[str, tuple[float, float]]) -> list[str]:
    """Say whose program accepts this contract only where its owner lifts a limit, and where delta promises nothing."""
    said = [f"{name}: dpmarket accept {one}" for name, found in refused.items() for one in found]
    hollow = [name for name, (belief, _) in sure.items() if belief >= 1]
    if hollow:
        said.append(f"Delta is not below one over the records of {listed(hollow)}: {NOTHING_PROMISED}.")
    return said or ["Every budget lies within what an owner's program accepts."]


HEADS = ("", "records", "epsilon", "noise", "is paid", "weight", "an even guess becomes")


def common_terms(contract: Contract) -> str:
    """What the columns of the table are."""
    delta = contract.noise.delta
    approximate = f", but for delta = {number(delta)}," if delta else ""
    chance = but_for_words(max((chance for _, chance in beliefs(contract).values()), default=0.0))
    first = " of its first answer" if contract.training.growth != 1 else " of an answer"
    return (
        f"epsilon is what all of an owner's answers together{approximate} may give away of {contract.unit}. Noise is the "
        f"standard deviation of it in each number{first}. What is paid is for all answers, before any tax. Weight is how "
        "much an owner's answers count where all answer. An even guess: of two versions of a record that look equally "
        f"likely, whoever sees every answer can become so sure of one{chance}."
    )


def jointly(contract: Contract) -> list[str]:
    """What a record that several owners hold may lose to who sees all their answers."""
    joint = [claim for claim in contract.claims if claim["joint"]]
    if not joint:
        return []
    ends = between(min(c["epsilon"] for c in joint), max(c["epsilon"] for c in joint))
    return [
        f"A record may sit with {contract.noise.overlap} of the owners. Who sees the answers of all of them learns of it as "
        f"at epsilon = {ends}."
    ]


def question(contract: Contract) -> str:
    """What is asked."""
    width, loss = len(contract.bounds.start), contract.coordinates.loss
    return (
        f"At a model that the learner states, {counted(width, 'public number')}, an owner says how the {measure_of(loss)} of "
        f"its records would change with each of these numbers: the mean gradient, {counted(width, 'number')}, with noise on "
        "each. Nothing else ever leaves it."
    )


def how_often(contract: Contract) -> str:
    """How often it is asked, and how a budget is divided."""
    asked, priced, growth = contract.rounds, contract.training.answers, contract.training.growth
    said = f"It is asked {'once' if asked == 1 else f'{asked} times'} of each owner"
    if growth != 1:
        parts = shares(growth, priced)[:asked].tolist()
        said += (
            f"; its answers spend {between(parts[0], parts[-1], percent)} of its budget, each more than the one before"
        )
    elif priced > asked:
        said += f"; a budget is split over {priced} answers, so that {percent(1 - asked / priced)} of it is not spent"
    elif asked > 1:
        said += ", and each answer spends the same part of its budget"
    return said + "."


def refused(contract: Contract) -> str:
    """What an owner's program refuses to answer."""
    where = " in any coordinate" if contract.bounds.norm == 1 else ""
    outside = f"a point further than {number(contract.bounds.theta_max)} from the start{where}"
    return (
        f"Its program refuses a question of another contract, {outside}, a round out of turn, one that was answered, and any "
        "beyond these. What its records hold decides no refusal."
    )


def columns(contract: Contract) -> list[Line]:
    """Which columns are looked at, and how they are read."""
    told, encoder = contract.columns, contract.encoder
    numbers, texts, target = told.numbers, told.categories, told.target
    ranges = zip(numbers.names, numbers.low, numbers.high, numbers.fill, strict=True)
    lines = []
    if numbers.names:
        each = ", ".join(f"{name} {between(low, high)} ({number(fill)})" for name, low, high, fill in ranges)
        lines.append(
            f"numbers, with the range outside of which its end counts (and what a cell that is none counts as): {each}"
        )
    for name, known in zip(texts.names, texts.categories, strict=True):
        shown = listed([show(text) for text in known], CATEGORIES)  # one line each, whatever it holds
        other = "as the place before the first" if texts.places else "as none of them"
        lines.append(f"{name}: {shown}; any other text counts {other}")
    if told.constant_columns:
        lines.append(f"not used, since they are constant in public: {listed(told.constant_columns, CATEGORIES)}")
    if encoder.components is not None:
        lines.append(
            f"all of these are reduced to {counted(len(encoder.components.low), 'component')} of the public rows"
        )
    if told.person is not None:
        most = contract.bounds.rows_per_person
        lines.append(f"{told.person} says whose a row is: an owner keeps at most {counted(most, 'row')} of a person")
    lines.append("any other column of an owner's file is passed over")
    goal = (
        f"{target.name}: {show(target.labels[0])} or {show(target.labels[1])}"
        if target.labels
        else f"{target.name}, {between(target.low, target.high)}; outside of that its end counts"
    )
    return [("predicted", goal), *(("" if i else "columns", line) for i, line in enumerate(lines))]


def clipping(contract: Contract) -> str:
    """How far one record can move an answer."""
    at, coordinates = contract.bounds, contract.coordinates
    measure, rows = NORMS[at.norm], at.rows_per_person
    if coordinates.clips_gradients:
        said = f"Each record's gradient is shortened to {number(at.radius)} ({measure}), at every question"
    else:
        kept = (
            "" if at.target_bound is None else f", and its target held within {number(at.target_bound)} of the start's"
        )
        said = (
            f"Each record is shortened to {number(at.radius)} ({measure}){kept}; so no gradient is longer than "
            f"{number(coordinates.longest_gradient)}"
        )
    persons = f" One person has {rows} rows at most." if rows > 1 else ""
    return f"{said}. All of that is public and the same for every owner.{persons}"


def noise(contract: Contract) -> str:
    """What makes answers noisy."""
    agreed = contract.noise
    counted_by = {"basic": "budgets add up", "zcdp": "counted by zCDP"}.get(agreed.accounting, agreed.accounting)
    source = contract.terms(contract.names[0]).source
    return (
        f"{title_of(agreed.name)}, {counted_by}; {source}, exact and from the system's secure random source: no seed "
        "can draw it again."
    )


def promise(contract: Contract) -> str:
    """What is promised, against whom."""
    own = [claim for claim in contract.claims if not claim["joint"]]
    neighbours = listed(sorted({claim["adjacency"] for claim in own}))
    against = listed(sorted({claim["protects_against"] for claim in own}))
    assumed = sorted({claim["assumes"] for claim in own if claim["assumes"]})
    supposed = f" It takes for granted that {listed(assumed)}." if assumed else ""
    return (
        f"Differential privacy of {contract.unit}: two tables that differ by that ({neighbours}) are told apart no better "
        f"than epsilon{' and delta allow' if contract.noise.delta else ' allows'}, by {against}.{supposed}"
    )


def remark(contract: Contract) -> list[str]:
    """Words of the learner's beside the promise."""
    if contract.remark == contract.unit:
        return []
    return [f"The learner calls a record {show(contract.remark)}: a remark, by which nothing more is promised."]


def account(contract: Contract) -> str:
    """Under which name ledgers keep what is spent."""
    return (
        f"Ledgers keep the records under the name {contract.records}: whatever else was, or will be, sold of the same "
        "records adds to it, under this name or another."
    )


def missing(contract: Contract) -> str:
    """What happens when an owner does not answer."""
    rule, count = contract.missing, len(contract.names)
    if rule.rule == "wait":
        return (
            "When an owner does not answer, all wait for it, however long: nothing is asked before all have answered."
        )
    until = f" within {number(rule.hours)} hours" if rule.hours else ""
    return (
        f"When an owner does not answer{until}, the learner may go on without it, if {rule.at_least} of the {count} have: it "
        "is then out for good, the others' weights grow in proportion, and what the model is worth falls."
    )


def model(contract: Contract) -> str:
    """What model is trained, and how."""
    agreed, loss = contract.training, LOSSES.get(contract.loss.name, Squared())
    charge = f" and {number(agreed.regularisation)}/2 times the squared parameters" if agreed.regularisation else ""
    start = "the model of the learner's public rows" if any(contract.bounds.start) else "zero"
    mean = (
        "a mean of the start and of the points after each step, later ones weighing more"
        if agreed.returned == "averaged"
        else "the last point"
    )
    return (
        f"A linear model of the least {measure_of(loss)}{charge}, from {start}, in "
        f"{counted(contract.rounds, 'step')} along the weighted mean of the answers; the model is {mean}."
    )


def forecast(contract: Contract) -> str:
    """What was forecast of the model."""
    told, loss = contract.forecast, contract.coordinates.loss
    best = best_error(loss)
    ends = told.interval
    proper = len(ends) == 2 and None not in ends
    span = f" ({between(ends[0], ends[1], percent)} with a chance of 95 %)" if proper else ""
    return (
        f"{percent(told.relative_fitness)} above {best}{span}; the learner's own model: {percent(told.outside)} above it. "
        f"Made from {told.basis} rows; nobody promises it."
    )


def paid(contract: Contract) -> str:
    """What is paid in all."""
    total = sum(owner.payment for owner in contract.owners)
    return f"{money(total, contract.currency or '')} in all, each for as many of its answers as it delivers."


UNSEEN = (
    "Nobody can see whether an owner's records are true, nor whether it added more noise than agreed; nor whether the "
    "learner shows the model to others."
)


def left_out(names: Sequence[str]) -> str:
    """Who sold nothing and is no party; empty where all did."""
    one = len(names) == 1
    return f"{listed(names)} sold nothing, and {'is' if one else 'are'} no part of it." if names else ""


def uncertain(content: Mapping[str, Any]) -> list[str]:
    """What to know of a result before it becomes a contract."""
    said = []
    if not content["equilibrium"]["converged"]:
        said.append("the market was not certified to be at rest: some owner may gain by selling otherwise")
    if not content["learner"]["buying_pays"]:
        said.append("by the forecast, buying does not pay the learner")
    checked = content["validation"]
    if checked is None:
        said.append("nothing was trained: whether the forecast holds was not tried")
    elif not checked["agrees"]:
        said.append("training disagreed with the forecast")
    return said
