"""A rehearsal: a scenario's market settled, and the exchange played by separate programs.

Every party is a process of the installed program that is given its own files and the exchange's
folder, nothing else. Noise is that of a release, so no two rehearsals are the same. The person who
runs it holds everybody's records: that is the simulator's privilege, and measurements by it are
named so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from exchange.contract import Contract, read_contract
from exchange.flower.relay import check_carried
from exchange.folder import (
    CONTRACT,
    acceptance_name,
    answer_name,
    find_closing,
    owner_slug,
    query_name,
)
from exchange.learner.agreed import contract_from_result, read_protocol
from exchange.learner.collecting import build_model
from exchange.learner.collector import collect_answers
from exchange.learner.opening import read_opened
from exchange.limits import claimed_budget, round_up
from exchange.messages import Query
from exchange.rehearsal.division import OWN, PUBLIC, write_party_files
from exchange.rehearsal.measured import (
    LEARNER,
    compare_with_law,
    find_secrets,
    list_seen,
    public_bytes,
    search_wire,
)
from exchange.rehearsal.processes import Program, run_all
from exchange.rehearsal.wire import Wire
from exchange.signing import make_key_file, read_key
from exchange.terms import parse_message
from learning.canonical import check_place, encode_canonical, write_atomically
from learning.errors import InputError
from learning.privacy.registry import VARIABLE
from learning.progress import Progress, ignore_progress
from scenarios.report.figures import read_table
from scenarios.report.memo import write_pages
from scenarios.result import load_result, save_result
from scenarios.runner import run as run_scenario
from scenarios.schema.scenario import Scenario, sha256
from scenarios.tables.dataset import market_data

FACTS = "rehearsal.json"
SEEN = "wire.json"
SHARED = "shared"
MARKET = "market"
KEPT = "wire"
DOUBTED = 3  # the status of a settlement in which something does not fit
LEDGER = "bank.ledger"
KEY = "key"
LOG = "log.txt"
STATEMENT = "statement.json"
REGISTRY = "registry"
PRIVILEGED = (
    "exchanges[].relative_fitness",
    "exchanges[].wire",
    "mean",
    "law",
    "simulated",
    "z_score",
    "p_value",
)


@dataclass(frozen=True)
class Places:
    """Paths of one exchange.

    Parameters
    ----------
    folder: the rehearsal's folder, with the contract and everybody's tables.
    exchange: the exchange's part of it: the folder itself for the first, another for each that
        follows.
    """

    folder: Path
    exchange: Path

    @property
    def contract(self) -> Path:
        """The signed contract."""
        return self.folder / CONTRACT

    @property
    def shared(self) -> Path:
        """The folder of messages."""
        return self.exchange / SHARED

    @property
    def public(self) -> Path:
        """The learner's own rows."""
        return self.folder / "learner" / PUBLIC

    def key_of(self, owner: str | None) -> Path:
        """An owner's key, or the learner's."""
        return self.folder / _party_folder(owner) / KEY

    def owner_mailbox(self, owner: str) -> Path:
        """The folder that an owner's node puts questions into."""
        return self.exchange / "mailboxes" / owner_slug(owner)

    def owner_table(self, owner: str) -> Path:
        """An owner's records."""
        return self.folder / "owners" / owner_slug(owner) / OWN

    def kept_by(self, owner: str | None, name: str) -> Path:
        """A file of an owner's in this exchange; of the learner's without an owner."""
        return self.exchange / _party_folder(owner) / name


def _party_folder(owner: str | None) -> Path:
    return Path("learner") if owner is None else Path("owners") / owner_slug(owner)


@dataclass(frozen=True)
class Played:
    """One exchange that was carried through.

    Parameters
    ----------
    places: its paths.
    seconds: its duration, from the first question to the model.
    theta: the model's parameters, (p,).
    seen: for each party, all files that ever stood in the folder that it read.
    """

    places: Places
    seconds: float
    theta: np.ndarray
    seen: dict[str, dict[str, bytes]]

    @property
    def files(self) -> dict[str, bytes]:
        """All files that anybody saw."""
        return {name: raw for files in self.seen.values() for name, raw in files.items()}


def rehearse_exchange(
    scenario: Scenario,
    folder: Path,
    *,
    repeat: int = 1,
    flower: bool = False,
    signed: bool = True,
    progress: Progress = ignore_progress,
) -> dict[str, Any]:
    """Settle a scenario's market, make its contract, divide its table, and carry the exchange out.

    Parameters
    ----------
    scenario: the scenario.
    folder: the folder of the rehearsal; an earlier one of the same contract there is continued.
    repeat: number of exchanges; each with ledgers of its own.
    flower: whether files go over Flower, between a folder of the learner's and one of each owner's,
        not through one folder.
    signed: whether every party has a key and signs.
    progress: called with each stage.

    Returns
    -------
    dict
        The content of rehearsal.json.

    Raises
    ------
    InputError
        If the scenario breaks a rule, if its market cannot be exchanged, or if a party's program
        fails.
    """
    result = settle_market(scenario, folder, progress)
    contract = agree_contract(folder, signed=signed)
    if flower:
        check_carried(contract)
    progress("dividing the table")
    write_party_files(scenario, folder)
    played = []
    for number in range(1, repeat + 1):
        stage = "exchanging" if repeat == 1 else f"exchange {number} of {repeat}"
        place = folder if number == 1 else folder / "again" / f"{number:02}"
        show = partial(progress, stage)
        played.append(play_exchange(contract, Places(folder, place), show, flower=flower))
    progress("settling what was delivered")
    settle_deliveries(contract, played[0].places)
    progress("measuring")
    facts = measure_exchanges(scenario, contract, result, played)
    for one in played:
        seen = {party: list_seen(files) for party, files in one.seen.items()}
        write_atomically(one.places.exchange / SEEN, encode_canonical(seen))
    write_atomically(folder / FACTS, encode_canonical(facts))
    return facts


def check_place_of(folder: Path) -> None:
    """Refuse a folder that a rehearsal cannot be written into, or that holds something else."""
    place = check_place(folder)
    if not place.exists() or (place / MARKET).is_dir():
        return
    if not place.is_dir() or any(place.iterdir()):
        rule = "must be a new folder, an empty one, or an earlier rehearsal's"
        raise InputError("--out", rule, folder, "Name another.")


def settle_market(
    scenario: Scenario, folder: Path, progress: Progress = ignore_progress
) -> dict[str, Any]:
    """Settle the market, or load its result from the rehearsal's folder."""
    market = folder / MARKET
    if market.exists():
        result = load_result(market)
        if result["scenario_sha256"] != sha256(scenario):
            rule = "must be new, empty, or hold a rehearsal of this scenario"
            found = f"another scenario's in {folder}"
            raise InputError("--out", rule, found, "Name another folder.")
        return result
    made = run_scenario(scenario, progress=progress)
    progress("writing the report")
    save_result(made, market, partial(write_pages, result=made.content))
    return made.content


def agree_contract(folder: Path, *, signed: bool = True) -> Contract:
    """Read the contract in the folder; it is made of the market's result where there is none."""
    place = folder / CONTRACT
    if not place.exists():
        keys: dict[str, Any] = {"rehearsal": True}
        if signed:
            keys |= make_keys(folder)
        write_atomically(place, contract_from_result(folder / MARKET, **keys).raw)
    return read_contract(place)


def make_keys(folder: Path) -> dict[str, Any]:
    """Make the keys of all parties, or read those that are there."""
    places = Places(folder, folder)
    made = {}
    for party in (None, *(one["name"] for one in read_protocol(folder / MARKET)["owners"])):
        place = places.key_of(party)
        place.parent.mkdir(0o700, parents=True, exist_ok=True)
        made[party] = read_key(place) if place.exists() else make_key_file(place)
    learner = made.pop(None)
    return {"key": learner, "owner_keys": {name: key.public for name, key in made.items()}}


def play_exchange(
    contract: Contract, places: Places, show: Callable[[float], object], *, flower: bool = False
) -> Played:
    """Play one exchange: owners accept, then all follow their folders until the model is there."""
    shared = places.shared
    folders = {name: places.owner_mailbox(name) if flower else shared for name in contract.names}
    for folder in {shared, *folders.values()}:
        folder.mkdir(parents=True, exist_ok=True)
        if flower:
            write_atomically(folder / CONTRACT, contract.raw)
    for party in (None, *folders):
        places.kept_by(party, LOG).parent.mkdir(parents=True, exist_ok=True)
    kept = places.exchange / KEPT
    wires = {
        folder: Wire(folder, kept / folder.name if flower else kept)
        for folder in {shared, *folders.values()}
    }
    began = monotonic()

    def watch() -> None:
        for wire in wires.values():
            wire.look()
        asked = sum((shared / query_name(k)).exists() for k in range(1, contract.rounds + 1))
        show(asked / (contract.rounds + 1))

    run_all([_accept_program(places, contract, name) for name in contract.names])
    carry = partial(carry_over_flower, places, folders) if flower else None
    run_all(_follow_programs(places, contract, folders), watch, carry)
    theta = trained_model(contract, shared)
    seen = {LEARNER: wires[shared].files}
    seen |= {name: wires[folder].files for name, folder in folders.items()}
    return Played(places, monotonic() - began, theta, seen)


def trained_model(contract: Contract, shared: Path) -> np.ndarray:
    """Model that the answers in a folder make, (p,), handed over or not."""
    closing = find_closing(shared, contract)
    given = read_opened(shared, contract, closing)
    found = collect_answers(contract, given.queries, given.answers, closing=closing)
    return build_model(contract, found).model.theta


def _accept_program(places: Places, contract: Contract, name: str) -> Program:
    out = f"--out={places.shared / acceptance_name(name)}"
    options = [*lifted_limits(contract, name), *["--rehearsal"] * (not contract.is_signed)]
    return owner_program(places, contract, name, "accept", out, *options)


def _follow_programs(
    places: Places, contract: Contract, folders: Mapping[str, Path]
) -> list[Program]:
    """Programs of the learner and of all owners that follow their folders."""
    own = key_options(places, contract, None)
    collect = ["collect", str(places.contract), str(places.shared), "--follow", *own]
    if places.public.exists() and any(contract.bounds.start):
        collect.append(f"--public={places.public}")
    return [
        Program(LEARNER, tuple(collect), places.kept_by(None, LOG)),
        *(
            owner_program(places, contract, name, "answer", str(folder), "--follow")
            for name, folder in folders.items()
        ),
    ]


def carry_over_flower(
    places: Places, mailboxes: Mapping[str, Path], watch: Callable[[], object]
) -> None:
    """Carry files between the learner's folder and the owners' mailboxes, over Flower."""
    from exchange.flower.loopback import run_over_flower

    run_over_flower(places.shared, mailboxes, places.exchange / "flower", watch=watch)


def lifted_limits(contract: Contract, name: str) -> list[str]:
    """Options by which an owner accepts its budget in a contract, whatever its limits are."""
    epsilon, delta = claimed_budget(contract, name)
    return [f"--max-epsilon={round_up(epsilon)}", f"--max-delta={round_up(delta)}"]


def key_options(places: Places, contract: Contract, owner: str | None) -> list[str]:
    """The option that names a party's key, where the exchange is signed."""
    return [] if not contract.is_signed else [f"--key={places.key_of(owner)}"]


def owner_program(
    places: Places, contract: Contract, name: str, command: str, *arguments: str
) -> Program:
    """Program of an owner, with its own table, ledger, and registry, as on a machine of its own."""
    own = (
        f"--owner={name}",
        f"--data={places.owner_table(name)}",
        f"--ledger={places.kept_by(name, LEDGER)}",
        *key_options(places, contract, name),
    )
    registry = {VARIABLE: str(places.kept_by(name, REGISTRY).resolve())}
    words = (command, str(places.contract), *arguments, *own)
    return Program(name, words, places.kept_by(name, LOG), settings=registry)


def settle_deliveries(contract: Contract, places: Places) -> None:
    """Let owners state their ledgers, and the learner settle."""
    statements = {name: places.kept_by(name, STATEMENT) for name in contract.names}
    stating = []
    for name, out in statements.items():
        own = f"--owner={name}", f"--ledger={places.kept_by(name, LEDGER)}", f"--out={out}"
        words = ("state", str(places.contract), *own, *key_options(places, contract, name))
        stating.append(Program(name, words, places.kept_by(name, LOG)))
    run_all(stating)
    given = [f"--statement={path}" for path in statements.values()]
    given += key_options(places, contract, None)
    if places.public.exists():
        given.append(f"--public={places.public}")
    command = "settle", str(places.contract), str(places.shared), *given
    run_all([Program(LEARNER, command, places.kept_by(None, LOG), well=(0, DOUBTED))])


def measure_exchanges(
    scenario: Scenario, contract: Contract, result: dict[str, Any], played: Sequence[Played]
) -> dict[str, Any]:
    """Measure all exchanges by the simulator's privilege: the content of rehearsal.json."""
    data = market_data(scenario)
    first = played[0].places
    fitness = data.fitness.relative(np.array([one.theta for one in played]))
    simulated = read_table(first.folder / MARKET / "validation.csv")["relative_fitness"].to_numpy()
    tables = {name: first.owner_table(name) for name in contract.names}
    public = public_bytes(data.public, first.public)
    exchanges = []
    for one, value in zip(played, fitness, strict=True):
        secrets = find_secrets(contract, data.owners, tables, public, points_asked(one.files))
        exchanges.append(
            {
                "folder": one.places.exchange.relative_to(first.folder).as_posix(),
                "seconds": round(one.seconds, 2),
                "relative_fitness": float(value),
                "wire": search_wire(one.files | opened_answers(contract, one.places), secrets),
            }
        )
    return {
        "dpmarket": version("dpmarket"),
        "scenario": scenario.title,
        "scenario_sha256": sha256(scenario),
        "contract": contract.digest,
        "owners": list(contract.names),
        "rounds": contract.rounds,
        "exchanges": exchanges,
        **compare_with_law(fitness, result, simulated),
        "privileged": list(PRIVILEGED),
    }


def opened_answers(contract: Contract, places: Places) -> dict[str, bytes]:
    """The numbers of all sealed answers, as whoever has the closing can read them."""
    if not contract.is_signed:
        return {}
    closing = find_closing(places.shared, contract)
    opened = read_opened(places.shared, contract, closing).answers
    return {f"{answer_name(one.round, one.owner)} (opened)": one.body for one in opened}


def points_asked(files: Mapping[str, bytes]) -> np.ndarray:
    """Read the points of all questions among an exchange's files, (rounds, p)."""
    queries = {name: raw for name, raw in files.items() if name.endswith(".query.json")}
    return np.array([parse_message(Query, raw, name).point for name, raw in queries.items()])
