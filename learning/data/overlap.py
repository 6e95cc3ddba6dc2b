"""Records that sit with several owners, found without showing a record: the kappa that a budget is divided by."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from learning.data.owner_data import OwnerData

DECIMALS = 9  # the same record encoded in two batches may differ in its last bits
DIGEST = 16  # bytes: two different rows of a million meet with a chance below 1e-26


@dataclass(frozen=True)
class Overlap:
    """How far owners hold the same records.

    Parameters
    ----------
    rows: the number of records, over all owners, that are identical to a record of another owner.
    kappa: the largest number of owners that one identical record sits with, >= 1.
    """

    rows: int
    kappa: int


def fingerprints(owner: OwnerData, salt: bytes) -> Counter[bytes]:
    """Salted hash of each of an owner's records -> how often it holds it; computed by the owner, on its side.

    The salt is shared by the owners and by nobody else: who counts the hashes learns which are equal, and cannot try
    out what a record might be. An owner that knows the salt can; between distrustful owners use private set
    intersection.
    """
    records = np.column_stack([owner.x, owner.y])
    rounded = np.ascontiguousarray(np.round(records, DECIMALS) + 0.0)  # + 0.0: minus zero is zero
    return Counter(blake2b(row.tobytes(), key=salt, digest_size=DIGEST).digest() for row in rounded)


def overlap(owners: Sequence[OwnerData], *, salt: bytes | None = None) -> Overlap:
    """Count the records that several owners hold: kappa = max over records of the owners that hold it.

    Two records are the same when all their encoded cells are. That is neither necessary nor sufficient for being the
    same person's: a person may be coded differently by two hospitals, and in coded data (few columns, few categories)
    different people often share a row. So a kappa found here is a warning to look, never a reason to refuse a run, and
    never enters a price by itself: noise scaled to what the records show would itself tell about the records. Who may
    have the same person's record with several owners states it as ``learning.data.overlap``.

    Parameters
    ----------
    owners: the owners, whose records are encoded alike.
    salt: a secret of the owners, at most 64 bytes; a fresh one unless given. The result does not depend on it.

    Returns
    -------
    Overlap; measured with access to the records.

    Source: Wu et al., The Value of Collaboration, remark after Assumption 1 (a record that sits with kappa owners is
    protected by epsilon when each of them spends epsilon/kappa).

    >>> a = OwnerData("a", np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 1.0]]), np.array([0.0, 5.0, 5.0]))
    >>> b = OwnerData("b", np.array([[2.0, 1.0], [3.0, 1.0]]), np.array([5.0, 0.0]))
    >>> overlap([a, b]), overlap([a])
    (Overlap(rows=3, kappa=2), Overlap(rows=0, kappa=1))
    """
    salt = secrets.token_bytes(32) if salt is None else salt
    holders: Counter[bytes] = Counter()
    records: Counter[bytes] = Counter()
    for owner in owners:
        prints = fingerprints(owner, salt)
        holders.update(prints.keys())
        records.update(prints)
    shared = [print_ for print_, count in holders.items() if count > 1]
    return Overlap(sum(records[print_] for print_ in shared), max(holders.values(), default=1))
