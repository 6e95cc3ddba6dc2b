"""Withdrawal: the model of a finished exchange, solved again without the sums of some owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exchange.contract import Contract
from exchange.folder import MODEL, find_closing, has_model
from exchange.learner.collecting import build_model
from exchange.learner.collector import collect_answers
from exchange.learner.opening import read_opened
from exchange.learner.sums import gather_sums
from exchange.messages import Closing, sign_message
from exchange.signing import PartyKey
from learning.canonical import sha256_digest
from learning.errors import InputError
from scenarios.model_file import HandedOver, from_json


def withdraw_owners(contract: Contract, folder: Path, names: Sequence[str]) -> HandedOver:
    """Solve the sums of an exchange for the model without some owners'; nobody is asked.

    It is the model, to the last bit, that a collection without their answers makes.

    Parameters
    ----------
    contract: the contract.
    folder: the exchange's, with its model.
    names: the owners that withdraw.

    Raises
    ------
    InputError
        If owners answered by gradients, the exchange is not finished, one of them has no sums in
        the model, or nobody else has.
    """
    if contract.sums is None:
        rule = "must use sums, which can be removed from the model later"
        gradients = "gradients, each of which depends on the answers before it"
        raise InputError("CONTRACT", rule, gradients, "Make a new exchange without the owner.")
    if contract.aggregation is not None:
        rule = "must show the sums of each owner, which can be removed from the model later"
        raise InputError("CONTRACT", rule, "secure aggregation", "Make a new exchange without it.")
    closing = find_closing(folder, contract)
    if closing is None or not has_model(folder):
        remedy = "Finish it with dpmarket collect; --close leaves out owners who do not answer."
        raise InputError(str(folder), f"must hold {MODEL} and its closing", "none", remedy)
    if not from_json(folder / MODEL).asked:
        rule = "must hold a model made of sums"
        raise InputError(str(folder), rule, "the learner's own: it bought none")
    given = read_opened(folder, contract, closing)
    found = collect_answers(contract, given.queries, given.answers, closing=closing)
    (used,) = found.used
    for name in names:
        contract.owner(name)
        if name not in used:
            raise InputError("--owner", "must have sums in the model", f"none of {name}")
    kept = {name: answer for name, answer in used.items() if name not in names}
    if not kept:
        rule = "must leave the sums of at least one owner"
        remedy = "Without any the learner has its own model."
        raise InputError("--owner", rule, "everybody", remedy)
    phi = gather_sums(contract, kept).step()
    return build_model(contract, replace(found, phi=phi, used=(kept,), owners=tuple(kept)))


def close_without(
    contract: Contract, folder: Path, names: Sequence[str], model: bytes, key: PartyKey
) -> Closing:
    """Sign the closing of a model without some owners: the answers left, and its digest."""
    before = find_closing(folder, contract)
    assert before is not None
    left = {name: digest for name, digest in before.answers.items() if name not in names}
    closing = replace(before, answers=left, model=sha256_digest(model), signature=None)
    return sign_message(closing, contract, key)
