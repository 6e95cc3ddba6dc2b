"""A rehearsal: a scenario's market settled, its table divided into files, and the exchange played by separate programs.

Every party is a process of the installed program that is given its own files and the exchange's folder, nothing else. Noise
is that of a release, so no two rehearsals are alike. Whoever runs it holds everybody's records: that is the simulator's
privilege, and what is measured by it is named so.
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

from learning.errors import InputError
from learning.exchange.canonical import canonical, put
from learning.exchange.contract import Contract, read_contract
from learning.exchange.limits import budget_of, round_up
from learning.exchange.messages import query_of
from learning.privacy.registry import VARIABLE
from learning.progress import Progress, silent
from scenarios.exchange.agreed import contract_of
from scenarios.exchange.division import divided_files
from scenarios.exchange.folder import CONTRACT, MODEL, owner_slug, query_name
from scenarios.exchange.measured import LEARNER, against_the_law, on_the_wire, rows_in_public, secrets, seen
from scenarios.exchange.processes import Program, run_all
from scenarios.exchange.wire import Wire
from scenarios.model_file import from_json
from scenarios.output.places import check_place
from scenarios.report.figures import read_table
from scenarios.report.page import write_report
from scenarios.result import load_result, save
from scenarios.runner import run as run_scenario
from scenarios.schema.loading import Scenario, sha256
from scenarios.tables.dataset import market_data

FACTS, SEEN, SHARED, MARKET, KEPT = "rehearsal.json", "wire.json", "shared", "market", "wire"
DOUBTED = 3  # the status of a settlement in which something does not fit
OWN, LEDGER, LOG, STATEMENT, PUBLIC = "own.csv", "bank.ledger", "log.txt", "statement.json", "public.csv"
REGISTRY = "registry"
PRIVILEGED = ("exchanges[].relative_fitness", "exchanges[].wire", "mean", "law", "simulated", "z_score", "p_value")


@dataclass(frozen=True)
class Places:
    """Where everything of one exchange lies.

    Parameters
    ----------
    folder: the rehearsal's folder, with the contract and everybody's tables.
    exchange: the exchange's part of it: the folder itself for the first, another for each that follows.
    """

    folder: Path
    exchange: Path

    @property
    def contract(self) -> Path:
        """What all have signed."""
        return self.folder / CONTRACT

    @property
    def shared(self) -> Path:
        """The folder that messages are put into."""
        return self.exchange / SHARED

    @property
    def public(self) -> Path:
        """The learner's own rows."""
        return self.folder / "learner" / PUBLIC

    def mailbox(self, owner: str) -> Path:
        """The folder that an owner's node puts questions into."""
        return self.exchange / "mailboxes" / owner_slug(owner)

    def table(self, owner: str) -> Path:
        """An owner's records."""
        return self.folder / "owners" / owner_slug(owner) / OWN

    def kept_by(self, owner: str | None, name: str) -> Path:
        """A file of an owner's in this exchange; of the learner's, where it is None."""
        whose = Path("learner") if owner is None else Path("owners") / owner_slug(owner)
        return self.exchange / whose / name


@dataclass(frozen=True)
class Played:
    """One exchange that was carried through.

    Parameters
    ----------
    places: where it lies.
    seconds: how long it took, from the first question to the model.
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


def rehearse(
    scenario: Scenario, folder: Path, *, repeat: int = 1, flower: bool = False, progress: Progress = silent
) -> dict[str, Any]:
    """Settle a scenario's market, make its contract, divide its table, and carry the exchange out, ``repeat`` times.

    Parameters
    ----------
    scenario: the scenario.
    folder: where all of it goes; an earlier rehearsal of the same contract there is gone on with.
    repeat: how many exchanges; each with ledgers of its own, as if the others had never been.
    flower: whether files go over Flower, between a folder of the learner's and one of each owner's, not through one folder.
    progress: called with each stage.

    Returns
    -------
    dict
        The content of rehearsal.json.

    Raises
    ------
    InputError
        If the scenario breaks a rule, if its market cannot be exchanged, or if a party's program fails.
    """
    result = settled(scenario, folder, progress)
    contract = agreed(folder)
    progress("dividing the table")
    divided_files(scenario, folder)
    played = []
    for number in range(1, repeat + 1):
        places = Places(folder, folder if number == 1 else folder / "again" / f"{number:02}")
        stage = "exchanging" if repeat == 1 else f"exchange {number} of {repeat}"
        played.append(play(contract, places, partial(progress, stage), flower=flower))
    progress("settling what was delivered")
    settle_up(contract, played[0].places)
    progress("measuring")
    facts = measured(scenario, contract, result, played)
    for one in played:
        put(one.places.exchange / SEEN, canonical({party: seen(files) for party, files in one.seen.items()}))
    put(folder / FACTS, canonical(facts))
    return facts


def check_place_of(folder: Path) -> None:
    """Refuse a folder that a rehearsal cannot be written into, or that holds something else.

    Raises
    ------
    InputError
    """
    place = check_place(folder)
    if place.exists() and not (place / MARKET).is_dir() and (not place.is_dir() or any(place.iterdir())):
        raise InputError(
            "--out", "must be a new folder, an empty one, or an earlier rehearsal's", folder, "Name another."
        )


def settled(scenario: Scenario, folder: Path, progress: Progress = silent) -> dict[str, Any]:
    """The market's result, from the rehearsal's folder where it lies there already."""
    market = folder / MARKET
    if market.exists():
        result = load_result(market)
        if result["scenario_sha256"] != sha256(scenario):
            rule = "must be new, empty, or hold a rehearsal of this very scenario"
            raise InputError("--out", rule, f"another scenario's in {folder}", "Name another folder.")
        return result
    made = run_scenario(scenario, progress=progress)
    progress("writing the report")
    save(made, market, partial(write_report, result=made.content))
    return made.content


def agreed(folder: Path) -> Contract:
    """The contract, as it lies in the folder; made of the market's result where there is none."""
    place = folder / CONTRACT
    if not place.exists():
        put(place, contract_of(folder / MARKET).raw)
    return read_contract(place)


def play(contract: Contract, places: Places, tell: Callable[[float], object], *, flower: bool = False) -> Played:
    """One exchange: owners accept, then all follow their folders until the model is there."""
    folders = {name: places.mailbox(name) if flower else places.shared for name in contract.names}
    for folder in {places.shared, *folders.values(), *(places.kept_by(who, LOG).parent for who in (None, *folders))}:
        folder.mkdir(parents=True, exist_ok=True)
    if flower:
        for folder in (places.shared, *folders.values()):
            put(folder / CONTRACT, contract.raw)
    kept = places.exchange / KEPT
    wires = {
        folder: Wire(folder, kept / folder.name if flower else kept) for folder in {places.shared, *folders.values()}
    }
    began = monotonic()

    def watch() -> None:
        for wire in wires.values():
            wire.look()
        asked = sum((places.shared / query_name(k)).exists() for k in range(1, contract.rounds + 1))
        tell(asked / (contract.rounds + 1))

    run_all([owner_program(places, name, "accept", *lifted_limits(contract, name)) for name in contract.names])
    collect = "collect", str(places.contract), str(places.shared), "--follow"
    programs = [Program(LEARNER, collect, places.kept_by(None, LOG))]
    programs += [owner_program(places, name, "answer", str(folder), "--follow") for name, folder in folders.items()]
    run_all(programs, watch, partial(over_flower, places, folders) if flower else None)
    theta = from_json(places.shared / MODEL).model.theta
    files = {LEARNER: wires[places.shared].files} | {name: wires[folder].files for name, folder in folders.items()}
    return Played(places, monotonic() - began, theta, files)


def over_flower(places: Places, mailboxes: Mapping[str, Path], watch: Callable[[], object]) -> None:
    """Carry files between the learner's folder and the owners' mailboxes, over Flower on this machine."""
    from scenarios.exchange.flower.loopback import run_over_flower

    run_over_flower(places.shared, mailboxes, places.exchange / "flower", watch=watch)


def lifted_limits(contract: Contract, name: str) -> list[str]:
    """Options by which an owner accepts its budget in a contract, whatever its program's own limits are."""
    epsilon, delta = budget_of(contract, name)
    return [f"--max-epsilon={round_up(epsilon)}", f"--max-delta={round_up(delta)}"]


def owner_program(places: Places, name: str, command: str, *arguments: str) -> Program:
    """A command of an owner's, with its own table, ledger, and registry, as on a machine of its own."""
    own = f"--owner={name}", f"--data={places.table(name)}", f"--ledger={places.kept_by(name, LEDGER)}"
    registry = {VARIABLE: str(places.kept_by(name, REGISTRY).resolve())}
    return Program(
        name, (command, str(places.contract), *arguments, *own), places.kept_by(name, LOG), settings=registry
    )


def settle_up(contract: Contract, places: Places) -> None:
    """Owners state what their ledgers say; the learner settles."""
    statements = {name: places.kept_by(name, STATEMENT) for name in contract.names}
    told = []
    for name, out in statements.items():
        own = f"--owner={name}", f"--ledger={places.kept_by(name, LEDGER)}", f"--out={out}"
        told.append(Program(name, ("settle", str(places.contract), *own), places.kept_by(name, LOG)))
    run_all(told)
    given = (f"--statement={path}" for path in statements.values())
    public = (f"--public={places.public}",) if places.public.exists() else ()
    command = "settle", str(places.contract), str(places.shared), *public, *given
    run_all([Program(LEARNER, command, places.kept_by(None, LOG), well=(0, DOUBTED))])


def measured(
    scenario: Scenario, contract: Contract, result: dict[str, Any], played: Sequence[Played]
) -> dict[str, Any]:
    """What came of all exchanges, by the privilege of who holds everybody's records: the content of rehearsal.json."""
    data, first = market_data(scenario), played[0].places
    fitness = data.fitness.relative(np.array([one.theta for one in played]))
    simulated = read_table(first.folder / MARKET / "validation.csv")["relative_fitness"].to_numpy()
    tables, public = {name: first.table(name) for name in contract.names}, rows_in_public(data.public, first.public)
    exchanges = [
        {
            "folder": one.places.exchange.relative_to(first.folder).as_posix(),
            "seconds": round(one.seconds, 2),
            "relative_fitness": float(value),
            "wire": on_the_wire(one.files, secrets(contract, data.owners, tables, public, points_asked(one.files))),
        }
        for one, value in zip(played, fitness, strict=True)
    ]
    return {
        "dpmarket": version("dpmarket"),
        "scenario": scenario.title,
        "scenario_sha256": sha256(scenario),
        "contract": contract.digest,
        "owners": list(contract.names),
        "rounds": contract.rounds,
        "exchanges": exchanges,
        **against_the_law(fitness, result, simulated),
        "privileged": list(PRIVILEGED),
    }


def points_asked(files: Mapping[str, bytes]) -> np.ndarray:
    """The points of all questions among an exchange's files, (rounds, p)."""
    return np.array([query_of(raw, name).point for name, raw in files.items() if name.endswith(".query.json")])
