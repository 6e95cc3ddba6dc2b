"""Settling an exchange: out of its folder, owners' statements and the learner's own rows, all that settlement.json says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.exchange.canonical import digest, read
from learning.exchange.closing import Closing, read_closing
from learning.exchange.collector import Collected, collect, noise_in_mean
from learning.exchange.contract import Contract
from learning.exchange.messages import Answer, Query
from learning.exchange.settlement import Chain, Delivery, Fault, chained, deliveries
from learning.exchange.statement import Statement, compared
from scenarios.exchange.collecting import handed_over
from scenarios.exchange.folder import CLOSING, MODEL, read_folder
from scenarios.exchange.seen import OwnRows
from scenarios.model_file import HandedOver, from_json, to_json

FORMAT = "dpmarket settlement 1"
REMEDY = "Go on with dpmarket collect; or settle what was delivered, with --unfinished."
SAME = 1e-9  # relative, of numbers that two machines computed


@dataclass(frozen=True)
class Exchange:
    """What is there of an exchange.

    Parameters
    ----------
    contract: its contract.
    queries, answers: all that its folder holds.
    faults: files that are none of it, in words.
    model: the model that came out; None where there is none yet.
    model_content: what its file says.
    model_digest: SHA-256 of its file.
    closing: what the learner said that the model was made of; None where it said nothing.
    """

    contract: Contract
    queries: tuple[Query, ...] = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)
    faults: tuple[Fault, ...] = ()
    model: HandedOver | None = field(default=None, repr=False)
    model_content: Mapping[str, Any] = field(default_factory=dict, repr=False)
    model_digest: str = ""
    closing: Closing | None = field(default=None, repr=False)


def exchange_in(folder: Path, contract: Contract) -> Exchange:
    """What a folder holds of an exchange.

    Raises
    ------
    InputError
        If the folder or the model cannot be read.
    """
    queries, answers, wrong = read_folder(folder, contract)
    faults = tuple(Fault(one.name, "must be an answer of this exchange", one.said) for one in wrong)
    path, end = folder / MODEL, folder / CLOSING
    closing = read_closing(end) if end.is_file() else None
    if not path.is_file():
        return Exchange(contract, tuple(queries), tuple(answers), faults, closing=closing)
    try:
        model, raw = from_json(path), read(path)
    except InputError as error:
        raise InputError(
            error.key, error.rule, error.found, "Put the file back as dpmarket collect wrote it."
        ) from None
    return Exchange(contract, tuple(queries), tuple(answers), faults, model, json.loads(raw), digest(raw), closing)


def settled(exchange: Exchange, statements: Sequence[Statement] = (), *, unfinished: bool = False) -> dict[str, Any]:
    """All that can be said of an exchange, as settlement.json has it.

    Parameters
    ----------
    statements: what owners' ledgers say, one for an owner at most.
    unfinished: whether to settle what was delivered although there is no model.

    Raises
    ------
    InputError
        If there is no model yet, unless ``unfinished``.
    """
    contract, closing, faults = exchange.contract, exchange.closing, list(exchange.faults)
    chain = chained(contract, exchange.queries, exchange.answers, None if closing is None else closing.answers)
    charged = {
        one.owner: {charge.round for charge in one.charges} for one in statements if one.contract == contract.digest
    }
    if exchange.model is None and not unfinished:
        raise InputError("settle", "needs an exchange that is finished", _waiting(chain, contract), REMEDY)
    faults += chain.faults
    chain = _ended(exchange, chain, faults)
    exchange, chain = _without_invented(exchange, chain, faults)
    followed = _followed(exchange, chain, faults)
    chain = chain if closing is not None or followed is None else chain.without(followed.missing)
    model = None if exchange.model is None else _model_part(exchange, chain, followed, faults)
    unproved = closing is None and model is not None and not model["follows"]
    if unproved or (followed is None and not chain.lost):
        chain = replace(chain, whole=False)
    given = deliveries(contract, chain, exchange.answers, charged)
    delivered = {one.owner for one in given if one.rounds or one.unused}
    ledgers = {one.owner: _ledger_part(exchange, chain, one, faults) for one in statements}
    return {
        "format": FORMAT,
        "program": version("dpmarket"),
        "title": contract.title,
        "currency": contract.currency,
        "contract": contract.digest,
        "finished": exchange.model is not None,
        "holds": not faults,
        "faults": [asdict(one) for one in faults],
        "questions": _questions_part(contract, chain),
        "owners": [_owner_part(contract, one) | {"ledger": ledgers.get(one.owner)} for one in given],
        "money": _money_part(given),
        "model": model,
        "told": [asdict(one) for one in followed.told] if followed is not None and chain.whole else [],
        "claims": [claim for claim in contract.claims if claim["party"] in delivered],
        "forecast": contract.forecast.model_dump(),
        "own_rows": None,
    }


def _waiting(chain: Chain, contract: Contract) -> str:
    """What an exchange that is not finished waits for."""
    if not chain.queries:
        return "no question that was asked"
    query, there = chain.queries[-1], chain.taken[-1]
    missing = [name for name in query.asked if name not in there]
    told = f"question {query.round} of {contract.rounds}"
    return f"{told}, unanswered by {', '.join(missing)}" if missing else f"no model after {told}"


def _ended(exchange: Exchange, chain: Chain, faults: list[Fault]) -> Chain:
    """The chain, which is not whole where the closing is of another question than its last."""
    closing, contract = exchange.closing, exchange.contract
    if closing is None or not chain.whole:
        return chain
    last = chain.queries[-1].digest if len(chain.queries) == contract.rounds else ""
    if (closing.contract, closing.query) == (contract.digest, last):
        return chain
    faults.append(Fault(CLOSING, "must be of the last question", "another"))
    return replace(chain, whole=False)


def _without_invented(exchange: Exchange, chain: Chain, faults: list[Fault]) -> tuple[Exchange, Chain]:
    """The exchange and its chain without answers that the closing names and that the model was made without.

    No later file rests on the closing: whoever can write to the folder can enter an answer there that was never given.
    """
    contract, closing = exchange.contract, exchange.closing
    if (
        closing is None
        or exchange.model is None
        or not chain.whole
        or {at for _, at in chain.lost} != {contract.rounds}
    ):
        return exchange, chain
    names = {name for name, _ in chain.lost}
    rest = replace(closing, answers={name: at for name, at in closing.answers.items() if name not in names})
    try:
        followed = collect(contract, chain.queries, exchange.answers, closing=rest)
    except InputError:  # the contract does not let the learner go on with these
        return exchange, chain
    theta = json.loads(to_json(handed_over(contract, followed)))["theta"]
    if not _alike(exchange.model_content.get("theta"), theta):
        return exchange, chain
    found = f"that of {', '.join(sorted(names))} too, without which the model is this one"
    faults.append(Fault(CLOSING, "must name the answers that the model was made of", found))
    return replace(exchange, closing=rest), replace(chain.without(names), lost=frozenset())


def _followed(exchange: Exchange, chain: Chain, faults: list[Fault]) -> Collected | None:
    """The exchange computed again from its answers; None where a question does not follow, which joins the faults.

    Also where answers that were used are gone, which the chain tells.
    """
    if chain.lost:
        return None
    try:
        closing = exchange.closing if chain.whole else None
        return collect(exchange.contract, chain.queries, exchange.answers, closing=closing)
    except InputError as error:
        faults.append(Fault(error.key, error.rule, str(error.found)))
        return None


def _model_part(exchange: Exchange, chain: Chain, followed: Collected | None, faults: list[Fault]) -> dict[str, Any]:
    """What is said of the model; whatever of it does not follow from contract and answers joins the faults."""
    closing, whole = exchange.closing, followed is not None and followed.phi is not None
    if closing is None or closing.model != exchange.model_digest:
        faults.append(
            Fault(MODEL, f"must be the one that {CLOSING} names", "no such file" if closing is None else "another")
        )
    if followed is None or not whole:
        found = "answers that are not all here" if chain.lost or not chain.whole else "answers that make none"
        faults.append(Fault(MODEL, "must be the model that the answers make", found))
        return {"digest": exchange.model_digest, "follows": False}
    stated, made = exchange.model_content, json.loads(to_json(handed_over(exchange.contract, followed)))
    other = [key for key in sorted(stated.keys() | made.keys()) if not _alike(stated.get(key), made.get(key))]
    faults += [
        Fault(f"{MODEL}: {key}", "must be what the contract and the answers make of it", "another") for key in other
    ]
    return {"digest": exchange.model_digest, "follows": not other}


def _alike(one: Any, other: Any) -> bool:
    """Whether two parts of a model's file say the same; lists of numbers to what machines differ by."""
    if one == other or not (isinstance(one, list) and isinstance(other, list)):
        return bool(one == other)
    with suppress(TypeError, ValueError):
        return _same(np.array(one, dtype=float), np.array(other, dtype=float))
    return False


def _same(one: Array, other: Array) -> bool:
    """Whether two models are one, to what machines differ by."""
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=SAME, atol=SAME * float(np.abs(other).max())))


def _questions_part(contract: Contract, chain: Chain) -> dict[str, Any]:
    """The questions that hang together, and the noise that was left in what each was answered with."""
    rows = [
        {
            "round": query.round,
            "digest": query.digest,
            "asked": list(query.asked),
            "answers": dict(taken),
            "noise": noise_in_mean(contract, taken, query.round) if taken else None,
            "noise_if_all": noise_in_mean(contract, contract.names, query.round),
        }
        for query, taken in zip(chain.queries, chain.taken, strict=True)
    ]
    return {"agreed": contract.rounds, "covered": contract.plan.priced, "asked": rows}


def _owner_part(contract: Contract, one: Delivery) -> dict[str, Any]:
    """What one owner sold, delivered, gave away and is paid."""
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
    """What was promised in all, what is paid of it, and what the learner keeps: the first is the sum of the others.

    The last two are None where they cannot be told.

    Raises
    ------
    InputError
        If payments sum to more than any number.
    """
    promised, amounts = sum(one.payment for one in given), [one.paid for one in given]
    if not np.isfinite(promised):
        raise InputError("owners: payment", "must sum to a number", "more than any", "Agree in a larger currency unit.")
    told = [one for one in amounts if one is not None]
    if len(told) < len(amounts):
        return {"promised": promised, "paid": None, "kept": None}
    return {"promised": promised, "paid": sum(told), "kept": promised - sum(told)}


def _ledger_part(exchange: Exchange, chain: Chain, told: Statement, faults: list[Fault]) -> dict[str, Any]:
    """An owner's statement beside its answers; a disagreement joins the faults."""
    contract = exchange.contract
    asked = {query.digest for query in chain.queries}
    used = {at for taken in chain.taken for at in taken.values()}
    own = [one for one in exchange.answers if one.owner == told.owner and (one.query in asked or not chain.whole)]
    given = {one.round: (one.query, one.digest) for one in sorted(own, key=lambda one: one.digest in used)}
    if chain.whole:  # what was used counts, whatever became of its file
        pairs = zip(chain.queries, chain.taken, strict=True)
        given |= {query.round: (query.digest, taken[told.owner]) for query, taken in pairs if told.owner in taken}
    found = compared(contract, told, given)
    faults += [Fault(f"statement of {told.owner}", "must fit what was delivered", why) for why in found.why]
    return {
        "status": found.status,
        "answered": told.answered,
        "counted": told.counted,
        "spent": told.spent,
        "remaining": told.remaining,
        "undelivered": list(found.undelivered),
        "why": list(found.why),
    }


def own_rows_part(found: OwnRows) -> dict[str, Any]:
    """What the learner's own rows show, as settlement.json has it."""
    return {
        "rows": found.rows,
        "kept_aside": found.kept_aside,
        "start_fits": found.start_fits,
        "better": asdict(found.better),
        "crossed": None if found.crossed is None else asdict(found.crossed),
        "forecast": found.forecast,
        "interval": list(found.interval),
        "agrees": found.agrees,
    }

