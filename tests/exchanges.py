"""Small contracts made by hand, with tables of owners that fit them; and the same training in one process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from exchange.contract import CONTRACT, Contract, compute_claims
from exchange.learner.agreed import sign_contract
from exchange.learner.collector import agreed_plan
from exchange.learner.noise import noise_of
from exchange.messages import Gradient, Sums
from exchange.signing import PartyKey
from learning.losses.coordinates import Coordinates
from learning.privacy.release_sums import flatten_moments
from learning.randomness import Streams
from learning.training import Plan, Task, make_clients
from learning.training.noisy_statistics import release_statistics

NOISE = {"laplace": ("basic", 1), "gaussian": ("zcdp", 2), "l2": ("basic", 2)}  # accounting, norm
START = [0.1, -0.2, 0.05, 0.0]
KINDS = ["private", "public"]
SUMS = {"bound": 1.5, "share": 0.5, "alike": True}
TARGETS = {
    False: {"name": "claims", "low": 0.0, "high": 10.0, "centre": 4.0, "fill": 4.0, "labels": None},
    True: {
        "name": "claims",
        "low": -1.0,
        "high": 1.0,
        "centre": 0.0,
        "fill": -1.0,
        "labels": ["no", "yes"],
    },
}


def small_contract(
    rounds: int = 2,
    *,
    names: Sequence[str] = ("Alpha", "Beta", "Gamma"),
    noise: str = "laplace",
    loss: str = "squared",
    clipping: str = "parts",
    growth: float = 1.0,
    returned: str = "last",
    rule: str = "wait",
    hours: float | None = None,
    **changes,
) -> Contract:
    """A contract of some owners (40, 60, 80 ... records), so many questions, four parameters.

    noise: "laplace", "gaussian" (zCDP) or "l2". loss: "squared", or "logistic" and "hinge" with
        clipping "record".
    changes: parts of the contract by their names, such as ``title="other"``; parts that are dicts
        are updated. ``sums``: bounds on sums, which owners then release in the one round.
    """
    accounting, norm = NOISE[noise]
    labels = loss != "squared"
    gaussian = noise == "gaussian"
    plan = Plan(
        "averaged", returned, rounds + 1, 0.2, answers=rounds, growth=growth
    )  # nothing is asked in the last round
    content = {
        "format": CONTRACT,
        "program": "0",
        "title": "Small exchange",
        "currency": None,
        "scenario_sha256": "0" * 64,
        "records": "claims 2019",
        "remark": "one record",
        "columns": {
            "numbers": {
                "names": ["age", "income"],
                "low": [20.0, 0.0],
                "high": [70.0, 100.0],
                "fill": [45.0, 30.0],
                "reach": [1.0, 1.0],
            },
            "categories": {"names": ["kind"], "categories": [KINDS], "places": False},
            "target": TARGETS[labels],
            "components": None,
            "constant_columns": [],
            "mean": [0.0, -0.4, 0.5, 1.0],
            "written": {"age": "point", "income": "point"}
            | ({} if labels else {"claims": "point"}),
            "person": None,
        },
        "loss": {"name": loss},
        "bounds": {
            "start": START,
            "scale": (0.5 * np.eye(4) + 0.1).tolist(),
            "radius": 2.0,
            "target_bound": 3.0,
            "theta_max": 0.8,
            "norm": norm,
            "clipping": clipping,
            "rows_per_person": 1,
        },
        "noise": {
            "name": noise,
            "accounting": accounting,
            "delta": 1e-6 if gaussian else 0.0,
            "overlap": 1,
        },
        "training": {
            "algorithm": "averaged",
            "returned": returned,
            "horizon": rounds + 1,
            "step_size": 0.2,
            "decline": 0.5,
            "growth": growth,
            "answers": rounds,
            "regularisation": 0.01,
            "steps": plan.steps.tolist(),
        },
        "owners": [
            {
                "name": name,
                "records": 40 + 20 * k,
                "epsilon": 2.0 + k,
                "payment": 5.0,
                "weight": 40.0 + 20 * k,
            }
            for k, name in enumerate(names)
        ],
        "claims": [],
        "missing": {"rule": rule, "at_least": 1, "hours": hours},
        "forecast": {
            "kind": "exact",
            "basis": "public",
            "relative_fitness": 0.1,
            "interval": [0.05, 0.2],
            "optimum": 1.0,
            "outside": 0.5,
        },
        "public_keys": None,
    }
    if "sums" in changes:
        once = {"algorithm": "one_step", "horizon": 1, "step_size": 1.0, "steps": [1.0]}
        content["training"] |= once
        content["bounds"] |= {"target_bound": None}
        content["sums"] = {}
    for part, new in changes.items():
        old = content.get(part)
        content[part] = old | new if isinstance(old, dict) else new
    return Contract.model_validate(
        content | {"claims": compute_claims(Contract.model_validate(content))}
    )


def key_of(party: str) -> PartyKey:
    """The key of a party, the same each time; the learner's is that of "learner"."""
    return PartyKey(hashlib.sha256(party.encode()).digest())


def signed_contract(
    *given, names: Sequence[str] = ("Alpha", "Beta", "Gamma"), **changes
) -> Contract:
    """A small contract with everybody's keys, signed by the learner."""
    owners = {name: key_of(name).public for name in names}
    made = small_contract(*given, names=names, **changes)
    return sign_contract(made, key_of("learner"), owners)


def cells(contract: Contract, name: str, seed: int = 0) -> dict[str, np.ndarray]:
    """An owner's rows, column by column; of labels -1 and +1."""
    rng = Streams(seed, "data").rng(name)
    count = contract.owner(name).records
    age = rng.integers(18, 75, count).astype(float)
    income = np.round(rng.gamma(2, 15, count), 2)
    kind = rng.choice(np.array(KINDS, dtype=object), count)
    score = 0.05 * (age - 45) + (kind == "public") + rng.normal(size=count)
    claims = (
        np.where(score > 0, 1.0, -1.0) if contract.columns.target.labels else np.round(4 + score, 2)
    )
    return {"age": age, "income": income, "kind": kind, "claims": claims}


def table(contract: Contract, name: str, seed: int = 0) -> str:
    """The same rows as the owner's own.csv."""
    held = cells(contract, name, seed)
    labels = contract.columns.target.labels
    if labels:
        held["claims"] = np.where(held["claims"] > 0, labels[1], labels[0])
    rows = zip(*(column.tolist() for column in held.values()), strict=True)
    return "\n".join([",".join(held), *(",".join(map(str, row)) for row in rows)]) + "\n"


def records(contract: Contract, name: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The same rows as training sees them: x (n, p) and y (n,)."""
    x, y, _ = contract.encoder.records(
        cells(contract, name, seed), np.arange(contract.owner(name).records)
    )
    return x, y


def training(contract: Contract, *, runs: int = 1, seed: int = 0) -> Task:
    """The training that the contract is about, simulated with everybody's records."""
    coordinates = Coordinates.of(contract.coordinates)
    mechanism = noise_of(contract)
    plan = agreed_plan(contract)
    held = [coordinates.oracle(*records(contract, name, seed)) for name in contract.names]
    epsilon = [owner.epsilon for owner in contract.owners]
    bound = coordinates.gradient_bound
    owners = make_clients(
        contract.names, held, epsilon, mechanism, bound, plan.priced, growth=plan.growth
    )
    return Task(
        owners,
        coordinates,
        plan,
        mechanism,
        runs,
        Streams(seed, "noise"),
        regularisation=contract.training.regularisation,
        weights=contract.weights,
    )


class Owners:
    """Owners who answer with the noise that the simulated training draws."""

    def __init__(self, contract, seed=0):
        self.contract = contract
        self.task = training(contract, seed=seed)
        self.noise = {
            owner.name: owner.noise(self.task.mechanism, 1, self.task.streams)
            for owner in self.task.owners
        }
        self.given = {}

    def answer(self, query, name):
        """The same answer again where the owner has answered."""
        if (query.round, name) not in self.given:
            (owner,) = (one for one in self.task.owners if one.name == name)
            head = self.contract.digest, query.digest, query.round, name
            if self.contract.sums:
                sums = release_statistics(self.task, owner, [0])
                told = Sums(*head, sums.xu[0], flatten_moments(sums.xx[0]))
            else:
                noise = self.noise[name].take(1)[0]
                told = Gradient(*head, owner.answer(query.point[None], noise)[0])
            self.given[query.round, name] = told
        return self.given[query.round, name]

    def all(self, query):
        return [self.answer(query, name) for name in query.asked]
