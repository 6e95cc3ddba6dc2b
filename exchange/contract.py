"""The contract: everything that was settled, all of it public, in bytes that all parties can sign.

Nothing in it is computed from an owner's records. The installed program carries out what it says.
The account that an owner opens in its ledger names the contract's digest, so a text that was
changed is another contract.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from exchange.columns import check_columns
from exchange.secure.agreement import (
    aggregation_claims,
    charged_epsilon,
    check_aggregation,
    noise_part,
)
from exchange.signing import PartyKey, check_signature, read_key
from exchange.terms import (
    MASKED,
    STEPS,
    AggregationTerms,
    Bounds,
    Columns,
    Form,
    GoTerms,
    LossTerms,
    MissingRule,
    Name,
    Noise,
    OwnerTerms,
    Promise,
    PublicKeys,
    Signable,
    SumsTerms,
    Text,
    TrainingTerms,
    parse_message,
)
from learning.arrays import Array
from learning.canonical import parse_canonical, read_bytes
from learning.data.encoding import Encoder, read_encoder
from learning.data.rows import describe_neighbours, unit_of_privacy
from learning.errors import InputError
from learning.losses.clipping import PublicCoordinates
from learning.losses.moment_bounds import Scores
from learning.losses.slopes import SLOPES
from learning.privacy.accounting import (
    Accounting,
    GaussianAccounting,
    L2Accounting,
    LaplaceAccounting,
)
from learning.privacy.claims import REPLACE
from learning.privacy.ledger import visible_name
from learning.privacy.promises import make_claims
from learning.privacy.release_sums import WIDEST_MODEL
from learning.privacy.release_terms import ReleaseTerms

CONTRACT = "dpmarket contract 3"
OLDER = ("dpmarket contract 1", "dpmarket contract 2")
MECHANISMS: dict[str, type[Accounting]] = {
    "laplace": LaplaceAccounting,
    "gaussian": GaussianAccounting,
    "l2": L2Accounting,
}
# The algorithms of `learning.training.algorithms` that step along a weighted mean of answers.
ALGORITHMS = ("synchronous", "averaged", "sgd2")
SUMS = "one_step"  # the algorithm that solves sums which owners release once
TOLERANCE = 1e-7  # relative, of claims: processors differ in the last digits


class Contract(Form, Signable):
    """The terms of an exchange.

    Parameters
    ----------
    format: the form of the file.
    program: the version of dpmarket that made it.
    title: of the scenario.
    currency: the currency of payments, if the scenario names one.
    scenario_sha256: of the scenario's text.
    records: the name that owners' ledgers keep their account under; the same records under two
        names have two budgets.
    remark: the learner's own description of a record; nothing is promised by it.
    columns, loss, bounds, noise, training, owners, missing, forecast: the parts (`exchange.terms`).
    claims: the privacy claims for each owner's answers.
    public_keys: of the parties, which sign every message; None where nothing is signed.
    signature: the learner's, over all else; the file has no such key where nothing is signed.
    sums: the bounds where owners release sums; the file has no such key where they answer with
        gradients.
    go: the rule of buying the model or not; the file has no such key where it is always bought.
    aggregation: secure aggregation of the sums; the file has no such key where the learner sees
        each owner's.
    """

    format: Literal["dpmarket contract 3"]
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
    public_keys: PublicKeys | None = None
    sums: SumsTerms | None = None
    aggregation: AggregationTerms | None = None
    go: GoTerms | None = None
    signature: str | None = Field(default=None, pattern="^[0-9a-f]{128}$")

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        width = len(self.bounds.start)
        if [len(row) for row in self.bounds.scale] != [width] * width:
            raise ValueError(f"bounds.scale must be {width} by {width} numbers")
        if len(self.columns.mean) != width:
            raise ValueError(f"columns.mean must be {width} numbers")
        names = [visible_name(owner.name) for owner in self.owners]
        if not all(names) or len(set(names)) != len(names):
            raise ValueError("names of owners must be readable and differ")
        marks = {hashlib.sha256(owner.name.encode()).hexdigest()[:8] for owner in self.owners}
        if len(marks) != len(names):  # names of files end with these
            rule = "names of owners must differ in the first eight digits of their SHA-256"
            raise ValueError(rule)
        if self.public_keys is not None and set(self.public_keys.owners) != set(self.names):
            raise ValueError(
                "public_keys.owners must be the keys of all owners, and of nobody else"
            )
        if self.missing.at_least > len(names):
            raise ValueError(f"missing.at_least may be at most the {len(names)} owners")
        answers = self.training.answers
        if len(self.training.steps) > answers:
            rule = f"training.steps may be at most the {answers} answers that budgets cover"
            raise ValueError(rule)
        if not self.rounds:
            raise ValueError("training must ask something that the model is made from")
        if self.loss.name not in SLOPES or self.noise.name not in MECHANISMS:
            raise ValueError("loss and mechanism must be known to this program")
        return self

    @cached_property
    def content(self) -> dict[str, Any]:
        """Everything that is agreed."""
        unused: dict[str, Any] = {"signature": True}
        for key in ("sums", "aggregation", "go"):
            if getattr(self, key) is None:
                unused[key] = True
        if self.columns.expansion is None:
            unused["columns"] = {"expansion"}
        elif self.columns.expansion.frequencies is None:
            unused["columns"] = {"expansion": {"frequencies"}}
        return self.model_dump(exclude=unused)

    @property
    def is_signed(self) -> bool:
        """True where all parties have keys, and every message must be signed."""
        return self.public_keys is not None

    def public_key(self, owner: str | None, where: str = "owner") -> str | None:
        """Public key of an owner, or of the learner; None where nothing is signed.

        Raises an InputError if the exchange is signed, and there is no owner of that name.
        """
        if self.public_keys is None:
            return None
        if owner is None:
            return self.public_keys.learner
        if owner not in self.public_keys.owners:
            raise InputError(where, "must be of an owner of the contract", "another one")
        return self.public_keys.owners[owner]

    @cached_property
    def coordinates(self) -> PublicCoordinates:
        """Start, scale and bounds of records and questions."""
        at = self.bounds
        return PublicCoordinates(
            np.array(at.start),
            np.array(at.scale),
            at.radius,
            np.inf if at.target_bound is None else at.target_bound,
            at.theta_max,
            norm=at.norm,
            loss=SLOPES[self.loss.name],
            rows_per_person=at.rows_per_person,
            clipping=at.clipping,
            scores=None if self.sums is None else Scores(**self.sums.model_dump()),
        )

    @cached_property
    def mechanism(self) -> Accounting:
        """The mechanism of the answers; an InputError if it needs a delta and has none."""
        kind: Any = MECHANISMS[self.noise.name]
        known = self.noise.model_dump() | {"width": len(self.bounds.start)}
        facts = {one.name: known[one.name] for one in fields(kind) if one.name in known}
        if facts.get("delta") == 0:
            raise InputError("noise.delta", "must be a number above 0 and below 1", 0)
        made: Accounting = kind(**facts)
        if self.sums is None:
            return made
        repriced: Accounting = made.with_moments(self.sums.share, self.bounds.rows_per_person)
        return repriced

    @cached_property
    def encoder(self) -> Encoder:
        """Encoder of an owner's columns."""
        return read_encoder(self.columns.model_dump(exclude={"written", "person"}))

    @property
    def unit(self) -> str:
        """The unit of privacy, which follows from the columns and the bounds."""
        return unit_of_privacy(self.columns.person is not None, self.bounds.rows_per_person)

    @property
    def rounds(self) -> int:
        """Number of questions: one for each step, except a last one that the mean ignores.

        Secure aggregation asks one after another for keys, shares, masked sums, consent, and what
        unmasks the total.
        """
        if self.aggregation is not None:
            return STEPS
        return len(self.training.steps) - (self.training.returned == "averaged")

    def charge_number(self, round: int) -> int | None:
        """Number of the charge for the answer to a question; None where it costs nothing."""
        if self.aggregation is None:
            return round
        return 1 if round == MASKED else None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the owners."""
        return tuple(owner.name for owner in self.owners)

    @property
    def weights(self) -> Array:
        """Weight of each owner's answers where all answer, (n_owners,), sum 1."""
        weights = np.array([owner.weight for owner in self.owners])
        return weights / weights.sum()

    def owner(self, name: str) -> OwnerTerms:
        """Find the terms of an owner; an InputError where there is none of that name."""
        for owner in self.owners:
            if owner.name == name:
                return owner
        remedy = f"There are {', '.join(self.names)}."
        raise InputError("owner", "must be an owner of the contract", repr(name), remedy)

    def terms(self, name: str) -> ReleaseTerms:
        """Terms of an owner's account and answers; an InputError if nothing can be released."""
        owner = self.owner(name)
        agreed = self.aggregation
        count = len(self.owners)
        epsilon = owner.epsilon
        if agreed is not None:
            delta = self.noise.delta
            epsilon = charged_epsilon(self.coordinates, owner, count, agreed, delta)
        return ReleaseTerms(
            owner.name,
            self.records,
            owner.records,
            epsilon,
            self.training.answers,
            self.coordinates,
            self.mechanism,
            self.columns.person is not None,
            self.training.growth,
            self.digest,
            None if agreed is None else noise_part(agreed, count),
        )

    def check_key(self, key: PartyKey | None, owner: str | None) -> None:
        """Refuse a key other than the one that the contract names for an owner, or the learner."""
        public = self.public_key(owner)
        if (key and key.public) == public:
            return
        party = owner or "the learner"
        if public is None:
            rule = "must be left out: the contract has no keys"
            remedy = "If keys were agreed on, it is another contract: compare its digest."
            raise InputError("--key", rule, "a key", remedy)
        rule = f"must be the key of {party}, as the contract has keys"
        found = "none" if key is None else f"another key, {key.public}"
        raise InputError("--key", rule, found, "Name the file that dpmarket key made for it.")


def compute_claims(contract: Contract) -> list[dict[str, Any]]:
    """Compute the claims for every owner's answers, with bounds on an observer's belief.

    Records that several owners hold have joint claims too.
    """
    if contract.aggregation is not None:
        return _aggregation_claims(contract, contract.aggregation)
    terms = [contract.terms(name) for name in contract.names]
    made = make_claims(
        contract.mechanism,
        contract.names,
        np.array([one.n_records for one in terms]),
        np.array([one.epsilon for one in terms]),
        contract.training.answers,
        contract.unit,
        contract.training.growth,
    )
    label = f"{contract.mechanism.label}, {terms[0].source}"
    claims = [asdict(replace(claim, mechanism=label, simulation=False)) for claim in made]
    rows = contract.bounds.rows_per_person
    for claim in claims:
        if rows > 1:
            claim["adjacency"] = claim["adjacency"].replace(REPLACE, describe_neighbours(rows))
    return claims


def _aggregation_claims(contract: Contract, agreed: AggregationTerms) -> list[dict[str, Any]]:
    """Compute claims where the learner sees totals only."""
    claim = contract.terms(contract.names[0]).claim
    mechanism = contract.mechanism
    made = aggregation_claims(contract.coordinates, contract.owners, mechanism, agreed, claim)
    return [asdict(one) for one in made]


def parse_contract(raw: bytes, where: str) -> Contract:
    """Parse a contract that this program can carry out.

    Raises an InputError if the bytes are of another form, or the claims do not follow from the
    rest.
    """
    content = parse_canonical(raw, where)
    if content.get("format") in OLDER:
        remedy = "Make a new contract from the market's result, and have it signed."
        found = f"{content['format']}, of an earlier dpmarket"
        raise InputError(f"{where}: format", f"must be {CONTRACT}", found, remedy)
    contract = parse_message(Contract, raw, where)
    public = contract.public_key(None)
    check_signature(public, contract.signature, CONTRACT, contract.body, where)
    check_columns(contract.columns, len(contract.bounds.start), where)
    _check_consistency(contract, where)
    if not same_claims(contract.claims, compute_claims(contract)):
        rule = "must follow from the other terms"
        remedy = f"It was made by dpmarket {contract.program}; all parties need one version."
        raise InputError(f"{where}: claims", rule, "other claims", remedy)
    return contract


def read_contract(path: Path) -> Contract:
    """Read the contract in a file; an InputError as `parse_contract`."""
    return parse_contract(read_bytes(path), str(path))


def open_key(path: Path | None, contract: Contract, owner: str | None) -> PartyKey | None:
    """Read the key of an owner, or of the learner; None where the contract has no keys.

    Raises an InputError if it cannot be read, or is not the key that the contract names.
    """
    key = None if path is None else read_key(path)
    contract.check_key(key, owner)
    return key


def same_claims(stated: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]]) -> bool:
    """Compare claims, numbers to seven digits."""
    if len(stated) != len(made):
        return False
    pairs = zip(stated, made, strict=True)
    return all(a.keys() == b.keys() and all(_is_same(a[k], b[k]) for k in a) for a, b in pairs)


def _is_same(stated: Any, made: Any) -> bool:
    if isinstance(stated, float) and isinstance(made, float):
        return bool(np.isclose(stated, made, rtol=TOLERANCE, atol=0))
    return stated == made


def _check_consistency(contract: Contract, where: str) -> None:
    """Refuse terms that differ from what is carried out under them."""
    drawn = contract.mechanism
    columns = contract.columns
    noise = Noise.model_construct(
        name=drawn.name, accounting=drawn.accounting, delta=drawn.delta, overlap=drawn.overlap
    )
    if noise != contract.noise:
        rule = "must be the mechanism that is drawn, with its own accounting and delta"
        raise InputError(f"{where}: noise", rule)
    if contract.sums is not None:
        _check_sums(contract, where)
    elif contract.aggregation is not None:
        rule = "must be sums, which each owner releases once, under secure aggregation"
        raise InputError(f"{where}: sums", rule, "none")
    elif contract.training.algorithm not in ALGORITHMS:
        rule = f"must be one of {', '.join(ALGORITHMS)}, or {SUMS} with bounds on sums"
        raise InputError(f"{where}: training.algorithm", rule)
    if contract.go is not None and (contract.sums is None or contract.aggregation is not None):
        rule = "must be left out unless the learner sees the sums of each owner, which decide"
        raise InputError(f"{where}: go", rule)
    if (columns.target.labels is not None) != contract.coordinates.loss.labels:
        rule = "must be two labels if the loss needs labels, and a number otherwise"
        raise InputError(f"{where}: columns.target", rule)
    if columns.person is None and contract.bounds.rows_per_person > 1:
        rule = "must name the column of persons if one person may have several rows"
        raise InputError(f"{where}: columns.person", rule, "none")
    if columns.person in (*columns.numbers.names, *columns.categories.names, columns.target.name):
        raise InputError(f"{where}: columns.person", "must be a column of its own")


def _check_sums(contract: Contract, where: str) -> None:
    """Refuse sums of another algorithm, asked for more than once, or of too many parameters."""
    agreed = contract.training
    if agreed.algorithm != SUMS:
        raise InputError(f"{where}: training.algorithm", f"must be {SUMS} with bounds on sums")
    questions = len(agreed.steps)
    if (agreed.answers, questions, agreed.growth, agreed.returned) != (1, 1, 1, "last"):
        rule = "must have one question, paid by the whole budget, if owners release sums"
        raise InputError(f"{where}: training", rule, f"{questions} and {agreed.answers}")
    sizes = np.array([owner.records for owner in contract.owners])
    if not np.allclose(contract.weights, sizes / sizes.sum(), rtol=TOLERANCE, atol=0):
        rule = "must have weights in proportion to records if owners release sums"
        raise InputError(f"{where}: owners", rule, "others")
    if contract.aggregation is not None:
        if contract.missing.at_least != contract.aggregation.threshold:
            rule = "must be the threshold of the aggregation"
            raise InputError(f"{where}: missing.at_least", rule, contract.missing.at_least)
        check_aggregation(
            contract.coordinates, contract.owners, contract.mechanism, contract.aggregation
        )
    width = len(contract.bounds.start)
    if width > WIDEST_MODEL:
        rule = f"must have at most {WIDEST_MODEL} parameters if owners release sums"
        raise InputError(f"{where}: bounds.start", rule, width)
