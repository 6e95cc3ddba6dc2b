"""From a result folder to a contract: what was settled, in bytes that all parties can sign."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from learning.errors import InputError, InputErrors
from learning.exchange.canonical import parse, read
from learning.exchange.contract import CONTRACT, Contract, MissingRule, claims_of
from learning.exchange.contract import contract_of as contract_in
from learning.exchange.forms import modelled
from learning.exchange.terms import LONGEST
from learning.privacy.budget import visible
from scenarios.output.manifest import MANIFEST
from scenarios.report.sentences_market import anybody_sells
from scenarios.result import PROTOCOL, changed_facts, load_result
from scenarios.summary.announced import FORMAT

LONGEST_NAME = 200
AGAIN = "Run the scenario again."
APART = ("format", "unsupported", "left_out")  # what a protocol says and no contract does


def missing_rule(rule: str, owners: int, at_least: int | None = None, hours: float | None = None) -> MissingRule:
    """What happens when an owner does not answer.

    Parameters
    ----------
    rule: "wait": nothing goes on until all have answered; "without": the learner may go on without who is missing.
    owners: how many there are.
    at_least: how many must have answered for that; more than half unless given.
    hours: how long a question may be answered; without end unless given.

    Raises
    ------
    InputError

    >>> missing_rule("without", 3).at_least, missing_rule("wait", 3).at_least
    (2, 3)
    """
    if rule not in ("wait", "without"):
        raise InputError("--missing", 'must be "wait" or "without"', repr(rule))
    if rule == "wait" and at_least not in (None, owners):
        remedy = "Leave it out, or set --missing without."
        raise InputError("--at-least", "goes with --missing without: else all must answer", at_least, remedy)
    if at_least is not None and not 1 <= at_least <= owners:
        raise InputError("--at-least", f"must be from 1 to {owners}, the owners that answer", at_least)
    if hours is not None and rule == "wait":
        found = f"{hours:g} with --missing wait"
        why = "a question whose time is over is neither answered nor asked again"
        raise InputError("--hours", f"goes with --missing without: {why}", found, "Leave it out.")
    if hours is not None and not 1 / 60 <= hours <= LONGEST:
        raise InputError("--hours", f"must be a minute at least, and {LONGEST:,} hours at most", f"{hours:g}")
    least = owners if rule == "wait" else owners // 2 + 1 if at_least is None else at_least
    told = {"rule": rule, "at_least": least, "hours": None if hours is None else float(hours)}
    return MissingRule.model_validate(told)


def contract_of(
    folder: Path,
    *,
    missing: str = "wait",
    at_least: int | None = None,
    hours: float | None = None,
    records: str | None = None,
) -> Contract:
    """The contract of a result.

    Owners that sold nothing are left out of it. The same result makes the same bytes.

    Parameters
    ----------
    folder: the result folder.
    missing, at_least, hours: what happens when an owner does not answer, as `missing_rule` has it.
    records: what owners' ledgers call the records; unless given, the name of the scenario's table. Contracts about records
        of one name share an account, so that what is spent is spent.

    Raises
    ------
    InputError
        If the folder is no result, if nobody is asked anything in it, or with what cannot be exchanged, by its key.
    """
    told, place = protocol_of(folder), str(folder / PROTOCOL)
    if records is not None and not (visible(records) and len(records) <= LONGEST_NAME):
        rule = f"must be a name that can be seen, of at most {LONGEST_NAME} characters"
        raise InputError("--records", rule, f"{len(records)} characters")
    terms = {key: value for key, value in told.items() if key not in APART}
    terms |= {"format": CONTRACT, "claims": [], "records": told.get("records") if records is None else records}
    terms["missing"] = missing_rule(missing, len(told["owners"]), at_least, hours).model_dump()
    try:
        made = modelled(Contract, terms, place)
        made = modelled(Contract, terms | {"claims": claims_of(made)}, place)
        _check_released(made)
        return contract_in(made.raw, place)  # as every party reads it
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError, RuntimeWarning):  # some run with warnings as errors
        raise _damaged(place) from None


def _check_released(made: Contract) -> None:
    """Refuse, before anybody signs, what no sampler can answer with."""
    for name in made.names:
        try:
            made.terms(name).scales  # noqa: B018
        except InputError:
            raise
        except ValueError as error:
            raise InputError(f"owners.{name}", "must get noise that can be released", str(error)) from None


def protocol_of(folder: Path) -> dict[str, Any]:
    """What a result announces of its training, for an exchange.

    Raises
    ------
    InputErrors
        As `contract_of`.
    """
    result, place = load_result(folder), folder / PROTOCOL
    if not place.exists():
        raise _nothing(folder, result)
    changed = changed_facts(folder)
    if changed or not (folder / MANIFEST).is_file():
        found = f"{changed[0]}, changed since" if changed else f"no {MANIFEST}, which tells"
        raise InputError(str(folder), "must be a result just as it was written", found, AGAIN)
    told = parse(read(place), str(place))
    if told.get("format") != FORMAT:
        raise InputError(str(place), f"must be a {FORMAT}", "one of an earlier version", AGAIN)
    if told.get("scenario_sha256") != result.get("scenario_sha256"):
        raise InputError(str(place), "must be of the result beside it", "one of another scenario", AGAIN)
    try:
        refused = [InputError(one["key"], one["rule"], one["found"], one["remedy"]) for one in told["unsupported"]]
        if not (refused or (isinstance(told["owners"], list) and told["owners"])):
            raise _damaged(str(place))
    except (KeyError, TypeError):
        raise _damaged(str(place)) from None
    if refused:
        first, also = refused[0], ", ".join(one.key for one in refused[1:])
        more = f" Also in the way: {also}." if also else ""
        raise InputErrors([InputError(first.key, first.rule, first.found, first.remedy + more), *refused[1:]])
    return told


def _damaged(place: str) -> InputError:
    return InputError(place, "must be a whole protocol", "one that is damaged", AGAIN)


def _nothing(folder: Path, result: Mapping[str, Any]) -> InputError:
    """Why a result has no protocol."""
    if not anybody_sells(result):
        return InputError(str(folder), "must be a result in which somebody sells", "one in which nobody does")
    if result["forecast"].get("step_size") == 0:
        found = "one in which no answer is worth its noise, and the learner keeps its own model"
        return InputError(str(folder), "must be a result in which something is asked", found)
    return InputError(str(folder), f"must hold {PROTOCOL}", "a result of an earlier version", AGAIN)
