"""A node's budget gate: updates of any training app, clipped, noised and charged to a ledger.

An app that somebody else wrote may make anything of the records, so one record can change its whole
update. The gate therefore knows one unit: all records of the node together. Replaced by any other
data set, they move a clipped update by at most 2 C in 2-norm (C the clipping norm). Each of T
updates gets Gaussian noise of rho(epsilon, delta)/T at that distance by OpenDP, so together they
are (epsilon, delta)-DP (zCDP) against all who see them, also where messages depend on replies.

``python -m exchange.flower.gate SETTINGS FOLDER`` opens the account and writes the program that a
SuperNode starts in place of Flower's own (`exchange.flower.apps.gate`).
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from learning.arrays import Array
from learning.canonical import read_bytes, write_atomically
from learning.declaration import Count, Declaration, Positive, Probability
from learning.errors import InputError
from learning.privacy.accounting import GaussianAccounting
from learning.privacy.ledger import Budget
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.secure_noise import add_noise, measurement, rounding_factor, scale_for

LARGEST = 100_000  # numbers in an update: their noise takes about 15 seconds
UNIT = "all records of the node together"
ADJACENCY = "replace all records of the node by any others"
PROGRAM = "flwr-clientapp"  # the name by which a SuperNode starts apps
SCRIPT = """\
#!{python}
from exchange.flower.apps.gate import run_gated_clientapp

run_gated_clientapp({settings!r})
"""


@dataclass(frozen=True)
class Gate(Declaration):
    """Terms on which a node lets updates out.

    Parameters
    ----------
    owner: the name of the node's owner in its ledger.
    ledger: path of the ledger file.
    epsilon: the budget over all updates.
    delta: the failure probability over all updates; with that chance, all records may be lost.
    rounds: T, the updates that the budget is split over.
    clipping_norm: C, the largest 2-norm of an update, over all its arrays together.
    data: the name of the data set in the ledger.

    Raises an InputError if a number is NaN or out of range.
    """

    where = "gate"
    owner: str
    ledger: str
    epsilon: Positive
    delta: Annotated[Probability, Le(1e-3)]
    rounds: Count
    clipping_norm: Annotated[float, Ge(1e-6), Le(1e6)]
    data: str = ""

    @cached_property
    def mechanism(self) -> GaussianAccounting:
        """Gaussian noise under zCDP, which OpenDP's own map confirms."""
        return GaussianAccounting(delta=self.delta, accounting="zcdp")

    @property
    def sensitivity(self) -> float:
        """Largest distance of two clipped updates in 2-norm, 2 C and rounding."""
        return 2 * self.clipping_norm * rounding_factor(LARGEST) ** 2

    @cached_property
    def scale(self) -> float:
        """Deviation of the noise on each number of an update."""
        rho = self.mechanism.release_budget(self.epsilon, self.rounds)
        if rho is None:
            raise InputError("gate", "needs accounting that OpenDP confirms", "none")
        return scale_for(rho, self.sensitivity, norm=2)

    @property
    def spent(self) -> float:
        """Cost of one update in rho of zCDP, by OpenDP's own map."""
        return float(measurement(self.scale, 2).map(self.sensitivity))

    @property
    def budget(self) -> Budget:
        """Account of the updates in the ledger."""
        return Budget(
            self.owner,
            self.epsilon,
            self.rounds,
            delta=self.delta,
            mechanism=self.mechanism.label,
            data=self.data,
            unit=UNIT,
            adjacency=ADJACENCY,
            bounds=f"updates of at most {LARGEST:,} numbers, 2-norm {self.clipping_norm!r}",
        )

    def open_account(self) -> None:
        """Open the account in the ledger, which is made if it is not there: to be done once."""
        path = Path(self.ledger)
        ledger = LedgerFile(path) if path.exists() else LedgerFile.create(path)
        ledger.open(self.budget)

    def charge_update(self, purpose: str) -> None:
        """Charge one update on the disk; raises a `BudgetExceeded` if none is left."""
        LedgerFile(self.ledger).charge(self.budget, purpose)

    def cover_update(self, update: Array) -> Array:
        """Clip an update (p,) and add noise; one that is not finite counts as zeros."""
        return add_noise(clip_update(update, self.clipping_norm), self.scale, norm=2)


def clip_update(update: Array, bound: float) -> Array:
    """Shorten an update (p,) to a 2-norm; zeros if it is not finite or still measures more."""
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(update))
        shortened = update * (bound / length) if length > bound else update
        within = float(np.linalg.norm(shortened)) <= bound * rounding_factor(len(update))
    return shortened if within else np.zeros(len(update))


def read_gate(path: Path) -> Gate:
    """Read the terms from a TOML file; a relative ledger lies in the file's folder."""
    try:
        given = tomllib.loads(read_bytes(path).decode())
    except ValueError as error:
        raise InputError(str(path), "must be a TOML file", str(error)) from None
    known = Gate.__dataclass_fields__
    needed = [name for name in known if name != "data"]
    strange = [name for name in given if name not in known]
    missing = [name for name in needed if name not in given]
    if strange or missing:
        rule = f"must have the keys {', '.join(needed)}, and may have data"
        raise InputError(str(path), rule, ", ".join(given) or "nothing")
    gate = Gate(**given)
    return Gate(**{**given, "ledger": str(path.resolve().parent / gate.ledger)})


def write_program(settings: Path, folder: Path) -> Path:
    """Write the program that a SuperNode starts for each message."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PROGRAM
    text = SCRIPT.format(python=sys.executable, settings=str(settings.resolve()))
    write_atomically(path, text.encode())
    path.chmod(0o755)
    return path


def main(arguments: list[str]) -> int:
    """Open the account and write the program."""
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print("python -m exchange.flower.gate SETTINGS.toml FOLDER", file=sys.stderr)
        return 2
    try:
        gate = read_gate(Path(arguments[0]))
        gate.open_account()
        path = write_program(Path(arguments[0]), Path(arguments[1]))
    except (InputError, OSError) as error:
        print("dpmarket:", error, file=sys.stderr)
        return 2
    print(f"{gate.rounds} updates of 2-norm {gate.clipping_norm:g} get noise of {gate.scale:.4g}.")
    print(f"Start the SuperNode with: PATH={path.parent.resolve()}:$PATH flower-supernode ...")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
