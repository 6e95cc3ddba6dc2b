"""Settling an exchange: the content of settlement.json, from its folder and owners' statements."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from exchange.contract import Contract
from exchange.folder import CLOSING, MODEL
from exchange.learner.buying import decide_by_contract
from exchange.learner.collecting import ROWS, RULE, build_model, own_model
from exchange.learner.collector import (
    Collected,
    agreed_plan,
    closes_exchange,
    collect_answers,
    noise_in_mean,
)
from exchange.learner.comparison import compare_statement
from exchange.learner.exchange_files import Exchange
from exchange.learner.opening import used_heads
from exchange.learner.seen import OwnRows
from exchange.learner.settlement import (
    Chain,
    Delivery,
    Fault,
    compute_deliveries,
    link_questions,
)
from exchange.messages import Sealed
from exchange.signing import PartyKey
from exchange.statement import Statement
from exchange.terms import MASKED
from learning.canonical import encode_canonical
from learning.errors import InputError
from learning.rounding import round_to_cent
from scenarios.features.go import Decision
from scenarios.model_file import HandedOver, to_json

FORMAT = "dpmarket settlement 1"
REMEDY = "Go on with dpmarket collect; or settle what was delivered, with --unfinished."
SAME = 1e-9  # relative, of numbers that two machines computed


def settle_exchange(
    exchange: Exchange, statements: Sequence[Statement] = (), *, unfinished: bool = False
) -> dict[str, Any]:
    """Settle an exchange: the content of settlement.json.

    Parameters
    ----------
    statements: owners' statements, one for an owner at most.
    unfinished: whether to settle what was delivered although there is no model.

    Raises
    ------
    InputError
        If there is no model yet, unless ``unfinished``.
    """
    contract = exchange.contract
    closing = exchange.closing
    last = None if closing is None else closing.answers
    chain = link_questions(contract, exchange.queries, exchange.answers, last)
    if unfinished and exchange.model is None and contract.go is not None:
        rule = "cannot settle a contract by which all answers decide what is paid"
        raise InputError("--unfinished", rule, "", "Go on with dpmarket collect.")
    if exchange.model is None and not unfinished:
        rule = "needs an exchange that is finished"
        raise InputError("settle", rule, _waiting_words(chain, contract), REMEDY)
    faults = [*exchange.faults, *chain.faults]
    chain = _check_closing(exchange, chain, faults)
    exchange, chain = _drop_invented(exchange, chain, faults)
    followed = _follow_chain(exchange, chain, faults)
    if closing is None and followed is not None:
        chain = chain.without(followed.missing)
    model = None
    if exchange.model is not None:
        model = _model_part(exchange, chain, followed, faults)
    unproved = closing is None and model is not None and not model["follows"]
    if unproved or (followed is None and not chain.lost):
        chain = replace(chain, whole=False)
    return _settlement_content(exchange, chain, statements, followed, model, faults)


def sign_settlement(content: dict[str, Any], key: PartyKey | None) -> dict[str, Any]:
    """Sign the content of a settlement, where the learner settles; others have no key for it."""
    if key is None:
        return content
    return content | {"signature": key.sign(FORMAT, encode_canonical(content))}


def _settlement_content(
    exchange: Exchange,
    chain: Chain,
    statements: Sequence[Statement],
    followed: Collected | None,
    model: Mapping[str, Any] | None,
    faults: list[Fault],
) -> dict[str, Any]:
    contract = exchange.contract
    counted = followed if chain.whole else None
    decision = None if counted is None else decide_by_contract(contract, counted)
    given = _pay_by_rule(contract, _compute_given(exchange, chain, statements), decision)
    ledgers = {one.owner: _ledger_part(exchange, chain, one, faults) for one in statements}
    delivered = {one.owner for one in given if one.rounds or one.unused}
    return {
        "format": FORMAT,
        "program": version("dpmarket"),
        "title": contract.title,
        "currency": contract.currency,
        "contract": contract.digest,
        "signed": contract.is_signed,
        "aggregated": contract.aggregation is not None,
        "finished": exchange.model is not None,
        "holds": not faults,
        "faults": [asdict(one) for one in faults],
        "questions": _questions_part(contract, chain),
        "owners": [
            _owner_part(contract, one)
            | {"ledger": ledgers.get(one.owner), "times": _list_times(exchange, statements, one)}
            for one in given
        ],
        "money": _money_part(given),
        "go": _go_part(decision),
        "model": model,
        "told": [] if counted is None else [asdict(one) for one in counted.told],
        "claims": [claim for claim in contract.claims if claim["party"] in delivered],
        "forecast": contract.forecast.model_dump(),
        "own_rows": None,
    }


def _list_times(
    exchange: Exchange, statements: Sequence[Statement], one: Delivery
) -> list[dict[str, Any]]:
    """When an owner first saw each question, and answered it, by its own signed word."""
    times: dict[int, dict[str, str | None]] = {
        sealed.round: {"seen": sealed.seen, "answered": sealed.answered}
        for sealed in exchange.sealed
        if isinstance(sealed, Sealed) and sealed.owner == one.owner
    }
    asked = {query.digest for query in exchange.queries}
    own = [statement for statement in statements if statement.owner == one.owner]
    for sight in (sight for statement in own for sight in statement.unanswered):
        if sight.query in asked:
            times.setdefault(sight.round, {"seen": sight.seen, "answered": None})
    return [{"round": number, **times[number]} for number in sorted(times)]


def _compute_given(
    exchange: Exchange, chain: Chain, statements: Sequence[Statement]
) -> tuple[Delivery, ...]:
    """Compute deliveries, with the charges that owners' statements list."""
    contract = exchange.contract
    charged = {
        one.owner: {_question_of(contract, charge.round) for charge in one.charges}
        for one in statements
        if one.contract == contract.digest
    }
    return compute_deliveries(contract, chain, exchange.answers, charged)


def _pay_by_rule(
    contract: Contract, given: Sequence[Delivery], decision: Decision | None
) -> Sequence[Delivery]:
    """Pay a part if the contract's rule leaves the model unbought.

    What is paid is not known where answers that decide are gone.
    """
    rule = contract.go
    if rule is None or (decision is not None and decision.bought[0]):
        return given
    if decision is None:
        return [replace(one, paid=None) for one in given]
    return [replace(one, paid=round_to_cent((one.paid or 0.0) * rule.otherwise)) for one in given]


def _go_part(decision: Decision | None) -> dict[str, Any] | None:
    """What the contract's rule of buying comes to; None without one, or without all answers."""
    if decision is None:
        return None
    return {
        "seen": float(decision.seen[0]),
        "std_error": float(decision.std_error[0]),
        "expected": float(decision.expected[0]),
        "least": (1 + decision.margin) * decision.payments,
        "bought": bool(decision.bought[0]),
    }


def _question_of(contract: Contract, number: int) -> int:
    """Number of the question whose answer a charge was for."""
    return number if contract.aggregation is None else MASKED


def _waiting_words(chain: Chain, contract: Contract) -> str:
    """Describe an exchange that is not finished."""
    if not chain.queries:
        return "no question that was asked"
    query, taken = chain.pairs[-1]
    missing = [name for name in query.asked if name not in taken]
    question = f"question {query.round} of {contract.rounds}"
    if missing:
        return f"{question}, unanswered by {', '.join(missing)}"
    return f"no model after {question}"


def _check_closing(exchange: Exchange, chain: Chain, faults: list[Fault]) -> Chain:
    """Break the chain where the closing is of another question than its last."""
    closing = exchange.closing
    if closing is None or not chain.whole:
        return chain
    if closes_exchange(closing, exchange.contract, chain.queries):
        return chain
    faults.append(Fault(CLOSING, "must be of the last question", "another"))
    return replace(chain, whole=False)


def _drop_invented(exchange: Exchange, chain: Chain, faults: list[Fault]) -> tuple[Exchange, Chain]:
    """Drop answers that the closing names and that the model was made without.

    No later file rests on the closing: whoever can write to the folder can enter an answer there
    that was never given.
    """
    contract = exchange.contract
    closing = exchange.closing
    unchanged = exchange, chain
    if closing is None or exchange.model is None or not chain.whole:
        return unchanged
    if {at for _, at in chain.lost} != {contract.rounds}:
        return unchanged
    names = {name for name, _ in chain.lost}
    rest = {name: digest for name, digest in closing.answers.items() if name not in names}
    closing = replace(closing, answers=rest)
    try:
        followed = collect_answers(contract, chain.queries, exchange.answers, closing=closing)
    except InputError:  # the contract does not let the learner go on with these
        return unchanged
    theta = json.loads(to_json(build_model(contract, followed)))["theta"]
    if not _is_same(exchange.model_content.get("theta"), theta):
        return unchanged
    found = f"that of {', '.join(sorted(names))} too, without which the model is this one"
    faults.append(Fault(CLOSING, "must name the answers that the model was made of", found))
    return replace(exchange, closing=closing), replace(chain.without(names), lost=frozenset())


def _follow_chain(exchange: Exchange, chain: Chain, faults: list[Fault]) -> Collected | None:
    """Compute the exchange again from its answers.

    Returns
    -------
    None where a question does not follow, which joins the faults, or answers used are gone.
    """
    if chain.lost:
        return None
    closing = exchange.closing if chain.whole else None
    try:
        return collect_answers(exchange.contract, chain.queries, exchange.answers, closing=closing)
    except InputError as error:
        faults.append(Fault(error.key, error.rule, str(error.found)))
        return None


def _model_part(
    exchange: Exchange, chain: Chain, followed: Collected | None, faults: list[Fault]
) -> dict[str, Any]:
    """Compare the model with that of contract and answers; differences join the faults."""
    closing = exchange.closing
    if closing is None or closing.model != exchange.model_digest:
        found = "no such file" if closing is None else "another"
        faults.append(Fault(MODEL, f"must be the one that {CLOSING} names", found))
    if followed is None or followed.phi is None:
        found = "answers that make none"
        if chain.lost or not chain.whole:
            found = "answers that are not all here"
        faults.append(Fault(MODEL, "must be the model that the answers make", found))
        return {"digest": exchange.model_digest, "follows": False, "own": None}
    stated = exchange.model_content
    decision = decide_by_contract(exchange.contract, followed)
    not_bought = decision is not None and not decision.bought[0]
    other = _find_differences(stated, own_model(exchange.contract))
    own: str | None = RULE if not_bought else ROWS
    if other and not not_bought:
        other = _find_differences(stated, build_model(exchange.contract, followed))
        own = None
    rule = "must be what the contract and the answers make of it"
    faults += [Fault(f"{MODEL}: {key}", rule, "another") for key in other]
    return {"digest": exchange.model_digest, "follows": not other, "own": own}


def _find_differences(stated: Mapping[str, Any], model: HandedOver) -> list[str]:
    """Keys in which a model's file differs from a model."""
    made = json.loads(to_json(model))
    keys = sorted(stated.keys() | made.keys())
    return [key for key in keys if not _is_same(stated.get(key), made.get(key))]


def _is_same(one: Any, other: Any) -> bool:
    """Compare two parts of a model's file; lists of numbers up to rounding errors."""
    if one == other or not (isinstance(one, list) and isinstance(other, list)):
        return bool(one == other)
    with suppress(TypeError, ValueError):
        first = np.array(one, dtype=float)
        second = np.array(other, dtype=float)
        near = SAME * float(np.abs(second).max())
        return first.shape == second.shape and np.allclose(first, second, rtol=SAME, atol=near)
    return False


def _questions_part(contract: Contract, chain: Chain) -> dict[str, Any]:
    """The linked questions, and the noise in the mean answer to each."""
    rows = [
        {
            "round": query.round,
            "digest": query.digest,
            "asked": list(query.asked),
            "issued": query.issued,
            "until": query.until,
            "answers": dict(taken),
            "noise": noise_in_mean(contract, taken, query.round) if taken else None,
            "noise_if_all": noise_in_mean(contract, contract.names, query.round),
        }
        for query, taken in chain.pairs
    ]
    covered = agreed_plan(contract).priced if contract.aggregation is None else contract.rounds
    content = "gradient" if contract.sums is None else "score"
    return {"agreed": contract.rounds, "covered": covered, "content": content, "asked": rows}


def _owner_part(contract: Contract, one: Delivery) -> dict[str, Any]:
    """An owner's terms, deliveries, spent budget and payment."""
    terms = contract.owner(one.owner)
    return {
        "name": one.owner,
        "records": terms.records,
        "weight": terms.weight,
        "delivered": list(one.rounds),
        "unused": list(one.unused),
        "missed": list(one.missed),
        "share": one.share,
        "epsilon": terms.epsilon,
        "epsilon_given": one.epsilon,
        "delta": contract.noise.delta,
        "payment": one.payment,
        "paid": one.paid,
    }


def _money_part(given: Sequence[Delivery]) -> dict[str, float | None]:
    """Sums of payments promised, paid, and kept by the learner: the first is the sum of the others.

    The last two are None where they cannot be determined.

    Raises
    ------
    InputError
        If payments sum to more than any number.
    """
    promised = round_to_cent(sum(one.payment for one in given))
    if not np.isfinite(promised):
        remedy = "Use a larger unit of money."
        raise InputError("owners: payment", "must sum to a number", "more than any", remedy)
    amounts = [one.paid for one in given if one.paid is not None]
    if len(amounts) < len(given):
        return {"promised": promised, "paid": None, "kept": None}
    paid = round_to_cent(sum(amounts))
    return {"promised": promised, "paid": paid, "kept": round_to_cent(promised - paid)}


def _ledger_part(
    exchange: Exchange, chain: Chain, statement: Statement, faults: list[Fault]
) -> dict[str, Any]:
    """Compare an owner's statement with its answers; a disagreement joins the faults."""
    owner = statement.owner
    asked = {query.digest for query in chain.queries}
    used = {digest for taken in chain.taken for digest in taken.values()}
    own = [one for one in exchange.answers if one.owner == owner]
    own = [one for one in own if one.query in asked or not chain.whole]
    own.sort(key=lambda one: one.digest in used)
    given = {one.round: (one.query, one.digest) for one in own}
    if chain.whole:  # an answer that was used counts, whether its file is there or not
        pairs = [(query, taken) for query, taken in chain.pairs if owner in taken]
        given |= {query.round: (query.digest, taken[owner]) for query, taken in pairs}
    numbers = {at: exchange.contract.charge_number(at) for at in given}
    given = {number: given[at] for at, number in numbers.items() if number is not None}
    first = 1 if exchange.contract.aggregation is None else MASKED
    head = used_heads(exchange.sealed, owner).get(first)
    found = compare_statement(exchange.contract, statement, given, head)
    rule = "must fit what was delivered"
    faults += [Fault(f"statement of {owner}", rule, why) for why in found.why]
    return {
        "status": found.status,
        "answered": statement.answered,
        "counted": statement.counted,
        "spent": statement.spent,
        "remaining": statement.remaining,
        "undelivered": list(found.undelivered),
        "why": list(found.why),
    }


def own_rows_part(found: OwnRows) -> dict[str, Any]:
    """The findings on the learner's own rows, as settlement.json has them."""
    return asdict(found) | {"interval": list(found.interval), "agrees": found.agrees}
