"""What an owner accepted with a contract: kept with the account in its ledger, and in the registry of the machine's user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from learning.privacy.budget import visible
from learning.privacy.fingerprints import Fingerprint, nearly_same


@dataclass(frozen=True)
class Accepted:
    """Records that were accepted into a ledger under a contract.

    Parameters
    ----------
    ledger: the identity of the ledger, which its copies share.
    path: where the ledger lay.
    owner, data: the names that the account is kept under.
    contract: the digest of the contract.
    epsilon, delta: what the contract may spend, against whoever sees most.
    sold_before: whether the owner said that these records were accepted elsewhere too, and that budgets add up.
    fingerprints: kind -> the fingerprint of the records, under the key of the file that keeps it.
    """

    ledger: str
    path: str
    owner: str
    data: str
    contract: str
    epsilon: float
    delta: float
    sold_before: bool
    fingerprints: Mapping[str, Fingerprint] = field(repr=False)

    @property
    def account(self) -> tuple[str, str, str]:
        """What tells accounts apart, over all ledgers."""
        return self.ledger, visible(self.owner), visible(self.data)

    def same_records(self, fingerprints: Mapping[str, Fingerprint]) -> bool:
        """Whether it is of nearly the same records, by any kind of fingerprint."""
        kinds = self.fingerprints.keys() & fingerprints.keys()
        return any(nearly_same(self.fingerprints[kind], fingerprints[kind]) for kind in kinds)

    def kept(self) -> dict[str, Any]:
        """The content of a file that keeps it."""
        return {**vars(self), "fingerprints": {kind: one.kept() for kind, one in self.fingerprints.items()}}

    @classmethod
    def restored(cls, kept: Mapping[str, Any]) -> Accepted:
        """The same from a file's content; a ValueError, TypeError, KeyError or AttributeError where there is none."""
        prints = {kind: Fingerprint.restored(one) for kind, one in kept["fingerprints"].items()}
        return cls(**{**kept, "fingerprints": prints})
