"""Accepting a contract: within the owner's limits, and of records that no other ledger or contract has.

The same records, or nearly the same, are recognised by their fingerprints: in the ledger, and in the registry of the
machine's user. The registry is written first, then the ledger, both under the registry's lock: a kill in between leaves
records that are registered and an account that is not open, and the same command goes on. All of it happens in the owner's
own terminal, before any question is looked at: no question of the learner changes what is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from learning.errors import InputError
from learning.exchange.contract import Contract
from learning.exchange.limits import beyond, budget_of, limits_for
from learning.exchange.owner import SHOWN, accepted_account, account_of
from learning.exchange.records import Records
from learning.privacy.accepted import Accepted
from learning.privacy.fingerprints import Fingerprint, digest_records, share_in_common, take_fingerprint
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Registry

UNCHANGED = 0.9  # of the rows that were accepted: fewer are another table


@dataclass(frozen=True)
class Permissions:
    """What an owner says of its own when it accepts or answers.

    Parameters
    ----------
    max_epsilon, max_delta: limits on all contracts about the same records; unless given, the defaults of `limits_for`, and
        for an account that is open what was accepted.
    sold_before: whether these records were accepted elsewhere too, and budgets add up; said when accepting.
    registry: what this machine's user has accepted; the user's own unless given.
    """

    max_epsilon: float | None = None
    max_delta: float | None = None
    sold_before: bool = False
    registry: Registry | None = None


def accept(
    contract: Contract, name: str, records: Records, ledger: LedgerFile, said: Permissions | None = None
) -> tuple[Accepted, ...]:
    """Open an owner's account for a contract, or find it open.

    Returns
    -------
    The account as it was accepted, then the others of the same records.

    Raises
    ------
    InputError
        If the contract has no such owner, or no release is possible under it; if the ledger holds an account under other
        terms; if records were accepted elsewhere and that is not said; if a limit is exceeded; if ledger or registry are
        damaged or cannot be written. No account is opened then.
    """
    said = said or Permissions()
    registry = said.registry or Registry()
    account_of(contract, name, ledger)
    budget = contract.terms(name).budget
    before = ledger.accepted(budget)
    aloud = said.sold_before or (before is not None and before.sold_before)
    spent = budget_of(contract, name)
    named = (ledger.identity, ledger.where, budget.owner, budget.data, contract.digest)
    rows = _digests(records)
    own = Accepted(*named, *spent, aloud, _fingerprints(rows, ledger.key))
    with registry.opened() as (key, entries):
        others, wanted = _compare(own, _fingerprints(rows, key), ledger, entries)
        if before is None:
            _check_only_account(own, others)
        _check_limits(contract.owner(name).records, said, in_all(own, *others), given=before is not None)
        registry.keep(key, wanted)
        ledger.open_accepted(budget, own)
    return own, *others


def check_records(
    contract: Contract, name: str, records: Records, ledger: LedgerFile, said: Permissions | None = None
) -> None:
    """Refuse to begin answering with records that were not accepted, or that belong to another ledger or contract.

    To be called at the start of an owner's program, before a question is looked at. Where the registry does not know the
    account yet, as on another machine, it is entered.

    Raises
    ------
    InputError
        As `accept`; or if the contract was not accepted, or fewer than nine in ten rows are those that were accepted.
    """
    said = said or Permissions()
    registry = said.registry or Registry()
    _, accepted = accepted_account(contract, name, ledger)
    rows = _digests(records)
    own = replace(accepted, path=ledger.where, fingerprints=_fingerprints(rows, ledger.key))
    kinds = accepted.fingerprints.keys() & own.fingerprints.keys()
    if max(share_in_common(accepted.fingerprints[kind], own.fingerprints[kind]) for kind in kinds) < UNCHANGED:
        rule = f"must be the records that {name} accepted the contract for"
        raise InputError(ledger.where, rule, "a table with other rows", "Answer from that table.")
    with registry.opened() as (key, entries):
        others, wanted = _compare(own, _fingerprints(rows, key), ledger, entries)
        _check_only_account(own, [one for one in others if not one.sold_before])
        _check_limits(contract.owner(name).records, said, in_all(own, *others), given=True)
        if (own.account, own.path) not in [(one.account, one.path) for one in entries]:
            registry.keep(key, wanted)


def in_all(*accepted: Accepted) -> tuple[float, float]:
    """What contracts about the same records spend together: epsilons and deltas add up."""
    return sum(one.epsilon for one in accepted), sum(one.delta for one in accepted)


def _digests(records: Records) -> dict[str, list[bytes]]:
    encoded = {"encoded": digest_records(records.x, records.y)}
    return encoded if records.written is None else encoded | {"written": records.written}


def _fingerprints(rows: Mapping[str, list[bytes]], key: bytes) -> Mapping[str, Fingerprint]:
    return {kind: take_fingerprint(digests, key) for kind, digests in rows.items()}


def _compare(
    own: Accepted, under_key: Mapping[str, Fingerprint], ledger: LedgerFile, entries: Sequence[Accepted]
) -> tuple[list[Accepted], list[Accepted]]:
    """Find other accounts of nearly the same records, in this ledger and in others, and the registry's entries with this.

    Parameters
    ----------
    under_key: the fingerprints of the records under the registry's key.
    entries: what the registry holds. Accounts that a kill kept from being opened are left out.

    Raises
    ------
    InputError
        If this ledger is a copy of one that still lies where it was.
    """
    for place in {Path(one.path) for one in entries if one.ledger == own.ledger}:
        if place.exists() and not place.samefile(ledger.path) and LedgerFile(place).identity == own.ledger:
            remedy = "Use that one, and put the copy away: each of them would answer as if the other had not."
            raise InputError(ledger.where, "must be the ledger itself", f"a copy of {place}", remedy)
    opened = [one for account in ledger.accounts if (one := ledger.accepted(account.budget)) is not None]
    elsewhere = [one for one in entries if one.ledger != own.ledger]
    others = [one for one in opened if one.same_records(own.fingerprints) and one.account != own.account]
    others += [one for one in elsewhere if one.same_records(under_key)]
    names = {one.account for one in opened} - {own.account}
    here = [replace(one, path=own.path) for one in entries if one.account in names]
    return others, [*elsewhere, *here, replace(own, fingerprints=under_key)]


def _check_limits(n_records: int, said: Permissions, spent: tuple[float, float], *, given: bool) -> None:
    """Refuse what lies beyond the owner's limits; of an account that was accepted, beyond those that are ``given`` now."""
    limits = limits_for(n_records, said.max_epsilon, said.max_delta)
    found = beyond(limits, spent)
    if given:
        stated = {"--max-epsilon": said.max_epsilon, "--max-delta": said.max_delta}
        found = [one for one in found if stated[one.key] is not None]
    if found:
        raise found[0]


def _check_only_account(own: Accepted, others: Sequence[Accepted]) -> None:
    """Refuse records that were accepted elsewhere, unless the owner said so."""
    if own.sold_before or not others:
        return
    other = others[0]
    rule = f'must hold the only account of these records, {own.owner} for "{own.data}"'
    contract = f'contract {other.contract[:SHOWN]} ({other.owner} for "{other.data}") in {other.path}'
    remedy = "Use that ledger and contract; or say dpmarket accept --sold-before, and what both spend adds up."
    raise InputError(own.path, rule, f"nearly the same accepted under {contract}", remedy)
