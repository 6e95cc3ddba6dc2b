"""The contract: everything that was settled, all of it public, in bytes that all parties can sign.

Nothing in it is computed from an owner's records. What it says is what the installed program then does: the account that an
owner opens in its ledger names the contract's digest, so that another text is another contract.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from learning.arrays import Array
from learning.data.described import encoder_of
from learning.data.encoding import Encoder
from learning.data.persons import neighbours, unit_of_privacy
from learning.errors import InputError
from learning.exchange.canonical import canonical, digest, parse, read
from learning.exchange.columns import check_columns
from learning.exchange.forms import modelled, same_bytes
from learning.exchange.terms import (
    Bounds,
    Columns,
    Form,
    LossTerms,
    MissingRule,
    Name,
    Noise,
    OwnerTerms,
    Promise,
    Text,
    TrainingTerms,
)
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES, make_loss
from learning.privacy.budget import visible
from learning.privacy.claims import REPLACE
from learning.privacy.mechanism import Mechanism
from learning.privacy.mechanisms import MECHANISMS, candidates
from learning.privacy.noise_settings import NoiseSettings
from learning.privacy.promises import promises
from learning.privacy.release_terms import ReleaseTerms
from learning.training.algorithms import ALGORITHMS
from learning.training.task import Schedule

CONTRACT, OLDER = "dpmarket contract 2", "dpmarket contract 1"


@dataclass(frozen=True)
class AgreedPlan(Schedule):
    """A plan whose steps are those of the contract, to the last bit, whatever computes it."""

    agreed: tuple[float, ...] = ()

    @property
    def steps(self) -> Array:
        """Step size of each question, (questions,)."""
        return np.array(self.agreed)


class Contract(Form):
    """Everything that was settled; see the classes of its parts.

    Parameters
    ----------
    format: the form of the file.
    program: the version of dpmarket that made it.
    title: of the scenario.
    currency: what money is counted in, if the scenario says so.
    scenario_sha256: of the scenario's text.
    records: the name that owners' ledgers keep their account under; the same records under two names have two budgets.
    remark: what the learner says that a record is; nothing is promised by it.
    columns, loss, bounds, noise, training, owners, missing, forecast: the parts (`learning.exchange.terms`).
    claims: what is claimed of each owner's answers, against whom.
    """

    format: Literal["dpmarket contract 2"]
    program: Text
    title: Text
    currency: Text | None
    scenario_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    records: Name
    remark: Text
    columns: Columns
    loss: LossTerms
    bounds: Bounds
    noise: Noise
    training: TrainingTerms
    owners: list[OwnerTerms] = Field(min_length=1)
    claims: list[dict[str, Any]]
    missing: MissingRule
    forecast: Promise

    @model_validator(mode="after")
    def _fits(self) -> Self:
        width, names = len(self.bounds.start), [visible(owner.name) for owner in self.owners]
        if [len(row) for row in self.bounds.scale] != [width] * width:
            raise ValueError(f"bounds.scale must be {width} by {width} numbers")
        if len(self.columns.mean) != width:
            raise ValueError(f"columns.mean must be {width} numbers")
        if not all(names) or len(set(names)) != len(names):
            raise ValueError("names of owners must be readable and differ")
        marks = {hashlib.sha256(owner.name.encode()).hexdigest()[:8] for owner in self.owners}
        if len(marks) != len(names):  # files are told apart by these
            raise ValueError("names of owners must differ in the first eight digits of their SHA-256")
        if self.missing.at_least > len(names):
            raise ValueError(f"missing.at_least may be at most the {len(names)} owners")
        if len(self.training.steps) > self.training.answers:
            raise ValueError(f"training.steps may be at most the {self.training.answers} answers that budgets cover")
        if not self.rounds:
            raise ValueError("training must ask something that the model is made from")
        if self.loss.name not in LOSSES or self.noise.name not in MECHANISMS:
            raise ValueError("loss and mechanism must be known to this program")
        return self

    @cached_property
    def raw(self) -> bytes:
        """Its bytes, which parties sign."""
        return canonical(self.model_dump())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its bytes: what names it."""
        return digest(self.raw)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Start, scale and bounds that records and questions are held to."""
        at, loss = self.bounds, make_loss(**self.loss.model_dump())
        target_bound = np.inf if at.target_bound is None else at.target_bound
        return Coordinates(
            np.array(at.start),
            np.array(at.scale),
            at.radius,
            target_bound,
            at.theta_max,
            norm=at.norm,
            loss=loss,
            rows_per_person=at.rows_per_person,
            clipping=at.clipping,
        )

    @cached_property
    def mechanism(self) -> Mechanism:
        """What makes answers noisy.

        Raises
        ------
        InputError
            If there is none of that name with that accounting.
        """
        agreed, plan = self.noise, self.training
        settings = NoiseSettings(
            tuple(owner.records for owner in self.owners),
            agreed.delta or None,
            agreed.accounting,
            agreed.overlap,
            horizon=plan.answers,
            width=len(self.bounds.start),
            growth=plan.growth,
        )
        return candidates(agreed.name, settings)[0]

    @cached_property
    def plan(self) -> AgreedPlan:
        """What is asked, and what is made of it."""
        plan = self.training
        return AgreedPlan(
            plan.algorithm,
            plan.returned,
            plan.horizon,
            plan.step_size,
            answers=plan.answers,
            decline=plan.decline,
            growth=plan.growth,
            agreed=tuple(plan.steps),
        )

    @cached_property
    def encoder(self) -> Encoder:
        """What turns an owner's columns into records."""
        return encoder_of(self.columns.model_dump(exclude={"written", "person"}))

    @property
    def unit(self) -> str:
        """The unit that privacy is promised to, which follows from the columns and the bounds."""
        return unit_of_privacy(self.columns.person is not None, self.bounds.rows_per_person)

    @property
    def rounds(self) -> int:
        """How many questions are asked: one a step, but for a last one that the running mean would not hear of."""
        return len(self.training.steps) - (self.training.returned == "averaged")

    @property
    def names(self) -> tuple[str, ...]:
        """The owners."""
        return tuple(owner.name for owner in self.owners)

    @property
    def weights(self) -> Array:
        """How much each owner's answers count where all answer, (n_owners,), sum 1."""
        weights = np.array([owner.weight for owner in self.owners])
        return weights / weights.sum()

    def owner(self, name: str) -> OwnerTerms:
        """The terms of an owner; an InputError where there is none of that name."""
        for owner in self.owners:
            if owner.name == name:
                return owner
        raise InputError("owner", "must be an owner of the contract", repr(name), f"There are {', '.join(self.names)}.")

    def terms(self, name: str) -> ReleaseTerms:
        """What an owner's account is opened for, and its answers are made by; an InputError if it cannot be released."""
        owner = self.owner(name)
        return ReleaseTerms(
            owner.name,
            self.records,
            owner.records,
            owner.epsilon,
            self.training.answers,
            self.coordinates,
            self.mechanism,
            self.columns.person is not None,
            self.training.growth,
            self.digest,
        )


def claims_of(contract: Contract) -> list[dict[str, Any]]:
    """What this program claims of every owner's answers under a contract, as the contract must say it.

    Each owner's own, with how sure an onlooker can become; of records that several owners hold, the joint ones too.
    """
    terms = [contract.terms(name) for name in contract.names]
    sizes, epsilon = (np.array([getattr(one, name) for one in terms]) for name in ("n_records", "epsilon"))
    rows, growth = contract.bounds.rows_per_person, contract.training.growth
    made = promises(
        contract.mechanism, contract.names, sizes, epsilon, contract.training.answers, contract.unit, growth
    )
    label = f"{contract.mechanism.label}, {terms[0].source}"
    told = [asdict(replace(claim, mechanism=label, simulation=False)) for claim in made]
    if rows == 1:
        return told
    return [claim | {"adjacency": claim["adjacency"].replace(REPLACE, neighbours(rows))} for claim in told]


def contract_of(raw: bytes, where: str) -> Contract:
    """The contract in some bytes, which this program can carry out.

    Raises
    ------
    InputError
        If they are of another form, or the claims are not what this program makes of the rest.
    """
    content = parse(raw, where)
    if content.get("format") == OLDER:
        remedy = "Make the contract anew of the market's result, and have it signed."
        raise InputError(f"{where}: format", f"must be {CONTRACT}", f"{OLDER}, of an earlier dpmarket", remedy)
    made = same_bytes(modelled(Contract, content, where), raw, where)
    check_columns(made.columns, len(made.bounds.start), where)
    _check_sense(made, where)
    if not same_claims(made.claims, claims_of(made)):
        remedy = f"It was made by dpmarket {made.program}; all parties need one version."
        raise InputError(f"{where}: claims", "must be what follows from the other terms", "other claims", remedy)
    return made


def read_contract(path: Path) -> Contract:
    """The contract in a file; an InputError as `contract_of`."""
    return contract_of(read(path), str(path))


def same_claims(stated: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]]) -> bool:
    """Whether claims say the same; numbers to seven digits: processors differ in the last."""
    if len(stated) != len(made):
        return False
    pairs = zip(stated, made, strict=True)
    return all(a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a) for a, b in pairs)


def _alike(a: Any, b: Any) -> bool:
    numbers = isinstance(a, float) and isinstance(b, float)
    return bool(np.isclose(a, b, rtol=1e-7, atol=0)) if numbers else a == b


def _check_sense(contract: Contract, where: str) -> None:
    """Refuse what says something else than what is carried out under it."""
    stated, drawn, columns = contract.noise, contract.mechanism, contract.columns
    if (drawn.name, drawn.accounting, drawn.delta, drawn.overlap) != tuple(stated.model_dump().values()):
        raise InputError(f"{where}: noise", "must be the mechanism that is drawn, with its own accounting and delta")
    able = [name for name, one in ALGORITHMS.items() if one.aggregates]
    if contract.training.algorithm not in able:
        raise InputError(f"{where}: training.algorithm", f"must be one of {', '.join(able)}")
    if (columns.target.labels is not None) != contract.coordinates.loss.labels:
        raise InputError(
            f"{where}: columns.target", "must be two labels where the loss takes such, and a number elsewhere"
        )
    if columns.person is None and contract.bounds.rows_per_person > 1:
        rule = "must name the column that says whose a row is, where one person may have several"
        raise InputError(f"{where}: columns.person", rule, "none")
    if columns.person in (*columns.numbers.names, *columns.categories.names, columns.target.name):
        raise InputError(f"{where}: columns.person", "must be a column of its own")
