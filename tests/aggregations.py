"""Secure aggregations in one process: contracts, owners with ledgers, and a learner, in a folder."""

from __future__ import annotations

from datetime import UTC, datetime

from exchanges import SUMS, key_of, records, signed_contract, small_contract

from exchange.folder import answer_name, latest_query, query_name
from exchange.learner.aggregation import agree_aggregation
from exchange.learner.collecting import prepare_folder, take_step
from exchange.messages import read_query, sign_message
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.aggregating import answer_step, root_place
from exchange.owner.table import Records
from exchange.secure.masks import OwnSecrets
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Registry

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NAMES = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon")


def secure_contract(count=3, colluders=0, dropouts=0, *, signed=True, **given):
    """A contract of so many owners whose sums are aggregated securely; `given` as `small_contract`."""
    least = count - dropouts
    terms = {"noise": "gaussian", "sums": SUMS, "names": NAMES[:count]}
    terms["missing"] = {"rule": "without" if dropouts else "wait", "at_least": least}
    terms |= given
    plain = small_contract(1, **terms)
    agreed = agree_aggregation(plain.coordinates, plain.owners, plain.mechanism, colluders, least)
    make = signed_contract if signed else small_contract
    return make(1, **terms, aggregation=agreed.model_dump())


class House:
    """An owner with its records, its key and its ledger, once it has accepted."""

    def __init__(self, contract, name, folder):
        self.contract = contract
        self.key = key_of(name) if contract.is_signed else None
        self.name = name
        self.records = Records(*records(contract, name))
        folder.mkdir(parents=True, exist_ok=True)
        self.ledger = LedgerFile.create(folder / f"{name}.ledger")
        said = Permissions(
            max_epsilon=1e3, registry=Registry(folder / f"{name}.registry"), rehearsal=True
        )
        accept_contract(contract, name, self.records, self.ledger, said)
        self.root = None

    def answer(self, query, folder):
        place = root_place(self.contract, self.name, self.ledger)
        self.root = place.read_bytes() if place.exists() else self.root
        own = self.contract, self.name, query, self.records, self.ledger, folder
        return answer_step(*own, key=self.key, now=NOON)

    def write(self, query, folder):
        made = self.answer(query, folder).answer
        (folder / answer_name(query.round, self.name)).write_bytes(made.raw)
        return made


def collect(contract, shared, **given):
    """The learner looks at the folder."""
    key = key_of("learner") if contract.is_signed else None
    return take_step(contract, shared, key=key, now=NOON, **given)


def ask(contract, query):
    """A question signed by the learner."""
    return sign_message(query, contract, key_of("learner"))


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
    step = collect(contract, shared)
    while not step.is_done:
        query = latest_query(shared, contract)
        gone |= set((lost or {}).get(query.round, ()))
        for name in (one for one in query.asked if one not in gone):
            houses[name].write(query, shared)
        close = bool(gone.intersection(query.asked))
        step = collect(contract, shared, close=close)
        assert step.wrote is not None, f"stuck at {query.round}: {step.found}"
    return step


def secrets_of(house, shared):
    """An owner's secrets, which its program has removed if it has unmasked."""
    return OwnSecrets.derive(house.root, question(shared, 1, house.contract).digest)


def question(shared, number, contract):
    """The question of a number."""
    return read_query(shared / query_name(number), contract)
