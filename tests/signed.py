"""A small signed exchange in a folder, by the parties' own programs in one process."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from exchanges import key_of, records

from exchange.contract import Contract
from exchange.folder import MODEL, answer_name, latest_query
from exchange.learner.collecting import Step, prepare_folder, take_step
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.answering import Party, open_ledger, write_answer
from exchange.owner.table import Records
from learning.privacy.registry import Registry


class Parties:
    """The learner and all owners, each with its key and its ledger; the folder that they share."""

    def __init__(self, contract: Contract, folder: Path) -> None:
        self.contract = contract
        self.folder = folder
        self.shared = folder / "shared"
        prepare_folder(contract, self.shared)
        self.owners = {name: self.accept(name) for name in contract.names}

    def accept(self, name: str) -> Party:
        """An owner that has accepted the contract."""
        ledger = open_ledger(self.folder / f"{name}.ledger", make=True)
        own = Records(*records(self.contract, name))
        permissions = Permissions(9.0, 0.1, registry=Registry(self.folder / f"{name}.registry"))
        accept_contract(self.contract, name, own, ledger, permissions)
        return Party(self.contract, name, own, ledger, self.key(name))

    def key(self, party: str):
        """The key of a party, where the exchange is signed."""
        return key_of(party) if self.contract.is_signed else None

    def collect(self, **given) -> Step:
        """The learner looks at the folder."""
        given = {"now": datetime.now(UTC), "key": self.key("learner")} | given
        return take_step(self.contract, self.shared, **given)

    def answer(self, name: str):
        """An owner answers the latest question."""
        query = latest_query(self.shared, self.contract)
        assert query is not None
        return write_answer(self.owners[name], query, self.shared / answer_name(query.round, name))

    def play(self) -> None:
        """Everybody answers until the model is there."""
        while not (self.shared / MODEL).exists():
            step = self.collect()
            for name in step.open.asked if step.open else ():
                self.answer(name)
