"""Secure aggregations in one process: contracts, owners with ledgers, and a learner, in a folder."""

from __future__ import annotations

from datetime import UTC, datetime

from exchanges import SUMS, records, small_contract

from exchange.folder import answer_name, latest_query, query_name
from exchange.learner.collecting import prepare_folder, take_step
from exchange.messages import read_query
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.aggregating import answer_step
from exchange.owner.table import Records
from exchange.secure.agreement import agree_aggregation
from exchange.signing import PartyKey
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Registry

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
KEYS: dict[str, PartyKey] = {}  # of owners, as tests that sign fill it
NAMES = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon")


def secure_contract(count=3, colluders=0, dropouts=0, **given):
    """A contract of so many owners whose sums are aggregated securely; `given` as `small_contract`."""
    least = count - dropouts
    terms = {"noise": "gaussian", "sums": SUMS, "names": NAMES[:count]}
    terms["missing"] = {"rule": "without" if dropouts else "wait", "at_least": least}
    terms |= given
    plain = small_contract(1, **terms)
    agreed = agree_aggregation(plain.coordinates, plain.owners, plain.mechanism, colluders, least)
    return small_contract(1, **terms, aggregation=agreed.model_dump())


class House:
    """An owner with its records, its key if any, and its ledger, once it has accepted."""

    def __init__(self, contract, name, folder):
        self.contract = contract
        self.key = KEYS.get(name) if contract.public_keys else None
        self.name = name
        self.records = Records(*records(contract, name))
        folder.mkdir(parents=True, exist_ok=True)
        self.ledger = LedgerFile.create(folder / f"{name}.ledger")
        said = Permissions(max_epsilon=1e3, registry=Registry(folder / f"{name}.registry"))
        accept_contract(contract, name, self.records, self.ledger, said)

    def answer(self, query, folder):
        return answer_step(
            self.contract,
            self.name,
            query,
            self.records,
            self.ledger,
            folder,
            key=self.key,
            now=NOON,
        )

    def write(self, query, folder):
        made = self.answer(query, folder).answer
        (folder / answer_name(query.round, self.name)).write_bytes(made.raw)
        return made


def settle_in(contract, folder):
    """Houses of all owners, and the folder of an exchange."""
    houses = {name: House(contract, name, folder / "houses") for name in contract.names}
    shared = folder / "shared"
    prepare_folder(contract, shared)
    return houses, shared


def play(contract, houses, shared, lost=None):
    """Play to the model; `lost`: number of the question -> owners that answer it and later ones no more.

    Returns the learner's last step.
    """
    gone = set()
    step = take_step(contract, shared, now=NOON)
    while not step.is_done:
        query = latest_query(shared, contract)
        gone |= set((lost or {}).get(query.round, ()))
        for name in (one for one in query.asked if one not in gone):
            houses[name].write(query, shared)
        close = bool(gone.intersection(query.asked))
        step = take_step(contract, shared, close=close, now=NOON)
        assert step.wrote is not None, f"stuck at {query.round}: {step.found}"
    return step


def question(shared, number, contract):
    """The question of a number."""
    return read_query(shared / query_name(number), contract)
