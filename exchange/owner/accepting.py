"""Accepting a contract: within the owner's limits, and for records without another account.

The same records, or nearly the same, are recognised by their fingerprints: in the ledger, and in
the registry of the machine's user. The registry is written first, then the ledger, both under the
registry's lock: a kill in between leaves records that are registered and an account that is not
open, and the same command goes on. All of it happens in the owner's own terminal, before any
question is looked at: no question of the learner changes what is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exchange.contract import Contract
from exchange.limits import claimed_budget, exceeded_limits, limits_for
from exchange.owner.answers import SHOWN, accepted_account, find_account
from exchange.owner.table import Records
from learning.errors import InputError
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import (
    Accepted,
    Fingerprint,
    Registry,
    digest_records,
    share_in_common,
    take_fingerprint,
)

UNCHANGED = 0.9  # of the rows that were accepted: fewer are another table


@dataclass(frozen=True)
class Permissions:
    """An owner's own settings for accepting and answering.

    Parameters
    ----------
    max_epsilon, max_delta: limits on all contracts about the same records; unless given, the
        defaults of `limits_for`, and for an account that is open what was accepted.
    sold_before: whether these records were accepted elsewhere too, and budgets add up.
    rehearsal: whether secure aggregation may rest on keys that nobody signs.
    registry: the registry of accepted records; that of the machine's user unless given.
    """

    max_epsilon: float | None = None
    max_delta: float | None = None
    sold_before: bool = False
    rehearsal: bool = False
    registry: Registry | None = None


def accept_contract(
    contract: Contract,
    name: str,
    records: Records,
    ledger: LedgerFile,
    permissions: Permissions | None = None,
) -> tuple[Accepted, ...]:
    """Open an owner's account for a contract, or find it open.

    Returns
    -------
    The account as it was accepted, then the others of the same records.

    Raises an InputError if the contract has no such owner, or no release is possible under it; if
    the ledger holds an account under other terms; if records were accepted elsewhere and that is
    not permitted; if a limit is exceeded; if ledger or registry are damaged or cannot be written.
    No account is opened then.
    """
    permissions = permissions or Permissions()
    _check_signed(contract, permissions)
    registry = permissions.registry or Registry()
    find_account(contract, name, ledger)
    budget = contract.terms(name).budget
    before = ledger.accepted(budget)
    rows = _row_digests(records)
    epsilon, delta = claimed_budget(contract, name)
    own = Accepted(
        ledger=ledger.identity,
        path=ledger.where,
        owner=budget.owner,
        data=budget.data,
        contract=contract.digest,
        epsilon=epsilon,
        delta=delta,
        sold_before=permissions.sold_before or (before is not None and before.sold_before),
        fingerprints=_fingerprints(rows, ledger.key),
    )
    with registry.opened() as (key, entries):
        others, wanted = _find_others(own, _fingerprints(rows, key), ledger, entries)
        if before is None:
            _check_only_account(own, others)
        _check_limits(contract, permissions, (own, *others), is_open=before is not None)
        registry.replace_entries(key, wanted)
        ledger.open_accepted(budget, own)
    return own, *others


def _check_signed(contract: Contract, permissions: Permissions) -> None:
    """Refuse secure aggregation without signatures: who relays keys could replace them."""
    if contract.aggregation is None or contract.is_signed or permissions.rehearsal:
        return
    rule = "must be signed under secure aggregation: relays of unsigned keys could read all sums"
    remedy = "Ask for a contract with keys. If the records are made up, add --rehearsal."
    raise InputError("CONTRACT", rule, "no keys", remedy)


def check_records(
    contract: Contract,
    name: str,
    records: Records,
    ledger: LedgerFile,
    permissions: Permissions | None = None,
) -> None:
    """Refuse to answer with records that were not accepted, or that have another account.

    To be called at the start of an owner's program, before a question is looked at. Where the
    registry does not know the account yet, as on another machine, it is entered.

    Raises an InputError as `accept_contract`; or if the contract was not accepted, or fewer than
    nine in ten rows are those that were accepted.
    """
    permissions = permissions or Permissions()
    registry = permissions.registry or Registry()
    _, accepted = accepted_account(contract, name, ledger)
    rows = _row_digests(records)
    own = replace(accepted, path=ledger.where, fingerprints=_fingerprints(rows, ledger.key))
    before = accepted.fingerprints
    kinds = before.keys() & own.fingerprints.keys()
    if max(share_in_common(before[kind], own.fingerprints[kind]) for kind in kinds) < UNCHANGED:
        rule = f"must be the records that {name} accepted the contract for"
        raise InputError(ledger.where, rule, "a table with other rows", "Answer from that table.")
    with registry.opened() as (key, entries):
        others, wanted = _find_others(own, _fingerprints(rows, key), ledger, entries)
        _check_only_account(own, [one for one in others if not one.sold_before])
        _check_limits(contract, permissions, (own, *others), is_open=True)
        if (own.account, own.path) not in [(one.account, one.path) for one in entries]:
            registry.replace_entries(key, wanted)


def total_spent(*accepted: Accepted) -> tuple[float, float]:
    """Epsilon and delta that contracts about the same records spend together: their sums."""
    return sum(one.epsilon for one in accepted), sum(one.delta for one in accepted)


def _row_digests(records: Records) -> dict[str, list[bytes]]:
    digests = {"encoded": digest_records(records.x, records.y)}
    if records.written is not None:
        digests["written"] = records.written
    return digests


def _fingerprints(rows: Mapping[str, list[bytes]], key: bytes) -> Mapping[str, Fingerprint]:
    return {kind: take_fingerprint(digests, key) for kind, digests in rows.items()}


def _find_others(
    own: Accepted,
    under_key: Mapping[str, Fingerprint],
    ledger: LedgerFile,
    entries: Sequence[Accepted],
) -> tuple[list[Accepted], list[Accepted]]:
    """Find other accounts of nearly the same records, and the registry's entries with this one.

    Parameters
    ----------
    under_key: the fingerprints of the records under the registry's key.
    entries: those of the registry. Accounts that a kill kept from being opened are left out.

    Raises an InputError if this ledger is a copy of one that still lies where it was.
    """
    _check_original(own, ledger, entries)
    found = (ledger.accepted(account.budget) for account in ledger.accounts)
    opened = [one for one in found if one is not None and one.account != own.account]
    elsewhere = [one for one in entries if one.ledger != own.ledger]
    others = [one for one in opened if one.same_records(own.fingerprints)]
    others += [one for one in elsewhere if one.same_records(under_key)]
    names = {one.account for one in opened}
    here = [replace(one, path=own.path) for one in entries if one.account in names]
    return others, [*elsewhere, *here, replace(own, fingerprints=under_key)]


def _check_original(own: Accepted, ledger: LedgerFile, entries: Sequence[Accepted]) -> None:
    """Refuse a copy of a ledger that still lies where it was."""
    for place in {Path(one.path) for one in entries if one.ledger == own.ledger}:
        if not place.exists() or place.samefile(ledger.path):
            continue
        if LedgerFile(place).identity == own.ledger:
            remedy = "Use that one, and put the copy away: "
            remedy += "with both, each would answer without counting the other's answers."
            found = f"a copy of {place}"
            raise InputError(ledger.where, "must be the ledger itself", found, remedy)


def _check_limits(
    contract: Contract, permissions: Permissions, accepted: Sequence[Accepted], *, is_open: bool
) -> None:
    """Refuse what exceeds the owner's limits; an open account, only limits that are given now."""
    n_records = contract.owner(accepted[0].owner).records
    limits = limits_for(n_records, permissions.max_epsilon, permissions.max_delta)
    stated = {"--max-epsilon": permissions.max_epsilon, "--max-delta": permissions.max_delta}
    for error in exceeded_limits(limits, total_spent(*accepted)):
        if not is_open or stated[error.key] is not None:
            raise error


def _check_only_account(own: Accepted, others: Sequence[Accepted]) -> None:
    """Refuse records that were accepted elsewhere, unless the owner permits it."""
    if own.sold_before or not others:
        return
    other = others[0]
    rule = f'must hold the only account of these records, {own.owner} for "{own.data}"'
    contract = f'contract {other.contract[:SHOWN]} ({other.owner} for "{other.data}")'
    found = f"nearly the same accepted under {contract} in {other.path}"
    remedy = "Use that ledger and contract; "
    remedy += "or use dpmarket accept --sold-before, which adds up both budgets."
    raise InputError(own.path, rule, found, remedy)
