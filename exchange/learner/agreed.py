"""From a result folder to a contract: the settled terms, in bytes that all parties can sign."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exchange.contract import CONTRACT, Contract, compute_claims, parse_contract
from exchange.learner.aggregation import agree_aggregation, least_owners
from exchange.learner.opening import derive_opening, public_opening
from exchange.signing import HEX, PartyKey
from exchange.terms import LONGEST, AggregationTerms, MissingRule, naming_fault
from learning.canonical import parse_canonical, read_bytes
from learning.collected_errors import InputErrors
from learning.errors import InputError
from learning.phrases import read_limit
from learning.privacy.ledger import visible_name
from scenarios.output.manifest import MANIFEST
from scenarios.result import PROTOCOL, changed_facts, load_result
from scenarios.summary.announced import FORMAT

LONGEST_NAME = 200
AGAIN = "Run the scenario again."
APART = ("format", "unsupported", "left_out")  # keys of a protocol that no contract has
# Errors of a damaged protocol; a RuntimeWarning where a program turns warnings into errors.
DAMAGE = (KeyError, TypeError, ValueError, ArithmeticError, RuntimeWarning)


def missing_rule(
    rule: str, owners: int, at_least: int | None = None, hours: float | None = None
) -> MissingRule:
    """Make the rule for missing answers.

    Parameters
    ----------
    rule: "wait": nothing goes on until all have answered; "without": the learner may go on without
        the missing owners.
    owners: number of owners.
    at_least: number that must have answered for that; more than half unless given.
    hours: how long a question may be answered; without end unless given.

    Raises
    ------
    InputError
        For another rule, a number or time out of range, or one that the rule does not take.

    >>> missing_rule("without", 3).at_least, missing_rule("wait", 3).at_least
    (2, 3)
    """
    waits = rule == "wait"
    if rule not in ("wait", "without"):
        raise InputError("--missing", 'must be "wait" or "without"', repr(rule))
    if waits and at_least not in (None, owners):
        key_rule = "needs --missing without: otherwise all must answer"
        remedy = "Leave it out, or set --missing without."
        raise InputError("--at-least", key_rule, at_least, remedy)
    if at_least is not None and not 1 <= at_least <= owners:
        key_rule = f"must be from 1 to {owners}, the number of owners that answer"
        raise InputError("--at-least", key_rule, at_least)
    if hours is not None and waits:
        key_rule = "needs --missing without: "
        key_rule += "a question whose time is over is neither answered nor asked again"
        found = f"{hours:g} with --missing wait"
        raise InputError("--hours", key_rule, found, "Leave it out.")
    if hours is not None and not 1 / 60 <= hours <= LONGEST:
        key_rule = f"must be a minute at least, and {LONGEST:,} hours at most"
        raise InputError("--hours", key_rule, f"{hours:g}")
    least = owners if waits else at_least or owners // 2 + 1
    terms = {"rule": rule, "at_least": least, "hours": hours and float(hours)}
    return MissingRule.model_validate(terms)


def contract_from_result(
    folder: Path,
    *,
    missing: str = "wait",
    at_least: int | None = None,
    hours: float | None = None,
    records: str | None = None,
    key: PartyKey | None = None,
    owner_keys: Mapping[str, str] | None = None,
    rehearsal: bool = False,
) -> Contract:
    """Make the contract of a result, signed by the learner if there are keys.

    Owners that sold nothing are left out of it. The same result makes the same bytes.

    Parameters
    ----------
    folder: the result folder.
    missing, at_least, hours: the rule for missing answers, as `missing_rule` has it.
    records: the name of the records in owners' ledgers; unless given, that of the scenario's table.
        Contracts about records of one name share an account, so that what is spent is spent.
    key: the learner's key; None where the exchange is not to be signed.
    owner_keys: owner -> its public key.
    rehearsal: whether secure aggregation may go without keys.

    Raises
    ------
    InputError
        If the folder is no result, if nothing is asked in it, or with what cannot be exchanged, by
        its key.
    """
    protocol = read_protocol(folder)
    place = str(folder / PROTOCOL)
    _check_name(records)
    terms = {key: value for key, value in protocol.items() if key not in APART}
    terms |= {"format": CONTRACT, "claims": []}
    terms["records"] = protocol.get("records") if records is None else records
    owners = len(protocol["owners"])
    if "aggregation" in protocol and missing == "without" and at_least is None:
        at_least = least_owners(owners, protocol["aggregation"]["colluders"])
    missing_terms = missing_rule(missing, owners, at_least, hours)
    terms["missing"] = missing_terms.model_dump()
    aggregation = terms.pop("aggregation", None)
    if aggregation is not None and key is None and not rehearsal:
        rule = 'must be given with trust.aggregation = "secure", whose keys must be signed'
        raise InputError("--key", rule, "none", "Use --key, and --owner-key for each owner.")
    try:
        with naming_fault(place):
            if aggregation is not None:
                colluders = aggregation["colluders"]
                terms["aggregation"] = _agree_aggregation(terms, colluders).model_dump()
            terms["claims"] = compute_claims(Contract.model_validate(terms))
            made = Contract.model_validate(terms)
            made = sign_contract(made, key, owner_keys or {})
        _check_released(made)
        return parse_contract(made.raw, place)  # as every party reads it
    except InputError:
        raise
    except DAMAGE:
        raise _damaged(place) from None


def _check_name(records: str | None) -> None:
    """Refuse a name of records that cannot be shown."""
    if records is not None and not (visible_name(records) and len(records) <= LONGEST_NAME):
        rule = f"must be a name with visible characters, at most {LONGEST_NAME} characters"
        raise InputError("--records", rule, f"{len(records)} characters")


def _agree_aggregation(terms: Mapping[str, Any], colluders: int) -> AggregationTerms:
    """Price the parts of the noise of terms without them."""
    plain = Contract.model_validate(terms)
    return agree_aggregation(
        plain.coordinates, plain.owners, plain.mechanism, colluders, plain.missing.at_least
    )


def sign_contract(made: Contract, key: PartyKey | None, owners: Mapping[str, str]) -> Contract:
    """Enter the public keys of all parties, and the learner's signature.

    Parameters
    ----------
    key: the learner's; None where the exchange is not to be signed.
    owners: owner -> its public key.

    Raises
    ------
    InputError
        If some parties have a key and others not.
    """
    names = made.names
    if key is None and not owners:
        return made
    if key is None:
        raise InputError("--key", "must be the learner's key if owners have keys", "none")
    if set(owners) != set(names):
        lacking = [f"none for {name}" for name in names if name not in owners]
        foreign = [f"one for {name!r}" for name in owners if name not in names]
        rule = f"must be one key for each owner of the contract, {', '.join(names)}"
        found = [*lacking, *foreign][0]
        raise InputError("--owner-key", rule, found, "Use --owner-key NAME=FILE.pub.")
    public = {
        "learner": key.public,
        "opening": public_opening(derive_opening(made, key)),
        "owners": {name: owners[name] for name in names},
    }
    keyed = Contract.model_validate(made.content | {"public_keys": public})
    return Contract.model_validate(keyed.content | {"signature": key.sign(CONTRACT, keyed.body)})


def _check_released(made: Contract) -> None:
    """Refuse, before anybody signs, noise that no sampler can draw."""
    for name in made.names:
        try:
            made.terms(name).scales  # noqa: B018
        except InputError:
            raise
        except ValueError as error:
            rule = "must have noise that can be drawn exactly"
            raise InputError(f"owners.{name}", rule, str(error)) from None


def read_protocol(folder: Path) -> dict[str, Any]:
    """Read a result's training terms for an exchange.

    Raises
    ------
    InputErrors
        As `contract_from_result`.
    """
    result = load_result(folder)
    place = folder / PROTOCOL
    if not place.exists():
        raise _explain_none(folder, result)
    changed = changed_facts(folder)
    if changed or not (folder / MANIFEST).is_file():
        found = f"{changed[0]}, changed since" if changed else f"no {MANIFEST}, which shows changes"
        raise InputError(str(folder), "must be a result just as it was written", found, AGAIN)
    protocol = parse_canonical(read_bytes(place), str(place))
    if protocol.get("format") != FORMAT:
        raise InputError(str(place), f"must be a {FORMAT}", "one of an earlier version", AGAIN)
    if protocol.get("scenario_sha256") != result.get("scenario_sha256"):
        rule = "must be of the result beside it"
        raise InputError(str(place), rule, "one of another scenario", AGAIN)
    try:
        keys = ("key", "rule", "found", "remedy")
        refused = [InputError(*(one[key] for key in keys)) for one in protocol["unsupported"]]
        whole = bool(refused or (isinstance(protocol["owners"], list) and protocol["owners"]))
    except (KeyError, TypeError):
        whole = False
    if not whole:
        raise _damaged(str(place))
    if refused:
        first, *others = refused
        if others:
            also = ", ".join(one.key for one in others)
            remedy = f"{first.remedy} Change these, too: {also}."
            first = InputError(first.key, first.rule, first.found, remedy)
        raise InputErrors([first, *others])
    return protocol


def _damaged(place: str) -> InputError:
    return InputError(place, "must be a whole protocol", "one that is damaged", AGAIN)


def _explain_none(folder: Path, result: Mapping[str, Any]) -> InputError:
    """Explain a result without a protocol."""
    place = str(folder)
    if not any(read_limit(owner["epsilon"]) > 0 for owner in result["owners"]):
        rule = "must be a result in which an owner sells"
        return InputError(place, rule, "one in which no owner sells")
    if result["forecast"].get("step_size") == 0:
        rule = "must be a result in which the learner asks owners"
        found = "one in which no answer is worth its noise, and the learner keeps its own model"
        return InputError(place, rule, found)
    return InputError(place, f"must hold {PROTOCOL}", "a result of an earlier version", AGAIN)


def read_public(text: str, where: str) -> str:
    """Read a public key: 64 hexadecimal digits, or a file that holds them."""
    if HEX.fullmatch(text):
        return text
    digits = read_bytes(Path(text), 200).decode("ascii", "replace").strip()
    if not HEX.fullmatch(digits):
        raise InputError(where, "must be a public key that dpmarket key shows", "something else")
    return digits
