"""A small exchange played into a folder, with answers whose noise is drawn here: what settling finds."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from exchanges import records

from exchange.contract import Contract
from exchange.folder import CLOSING, CONTRACT, MODEL, answer_name, query_name
from exchange.learner.collector import collect_answers, noise_scales
from exchange.messages import Closing, Gradient, Query
from learning.canonical import sha256_digest
from learning.losses.coordinates import Coordinates
from learning.training.model import Model
from scenarios.model_file import HandedOver, to_json

Missing = Collection[tuple[str, int]]


def played(folder: Path, contract: Contract, missing: Missing = (), late: Missing = ()) -> Path:
    """Play an exchange into a folder; of (owner, round) those missing never come, those late come unused."""
    folder.mkdir(exist_ok=True)
    (folder / CONTRACT).write_bytes(contract.raw)
    queries = list[Query]()
    answers = list[Gradient]()
    held = list[Gradient]()
    done = collect_answers(contract, [], [])
    rng = np.random.default_rng(5)
    scales = noise_scales(contract)
    while (query := done.query) is not None:
        queries.append(query)
        (folder / query_name(query.round)).write_bytes(query.raw)
        for place, name in enumerate(contract.names):
            if name not in query.asked or (name, query.round) in missing:
                continue
            exact = (
                Coordinates.of(contract.coordinates)
                .oracle(*records(contract, name))
                .gradient(query.point[None])[0]
            )
            noise = rng.laplace(scale=scales[place, query.round - 1], size=exact.shape)
            answer = Gradient(contract.digest, query.digest, query.round, name, exact + noise)
            (folder / answer_name(query.round, name)).write_bytes(answer.raw)
            (held if (name, query.round) in late else answers).append(answer)
        done = collect_answers(contract, queries, answers, close=contract.missing.rule == "without")
        if done.missing:
            return folder
    assert done.phi is not None
    theta = contract.coordinates.model(done.phi)
    claims = tuple(claim for claim in contract.claims if claim["party"] in done.owners)
    model = HandedOver(
        Model(contract.encoder, Coordinates.of(contract.coordinates).loss, theta),
        None,
        done.owners,
        claims,
        "public",
    )
    raw = to_json(model).encode()
    used = {name: one.digest for name, one in done.used[-1].items()}
    (folder / CLOSING).write_bytes(
        Closing(contract.digest, queries[-1].digest, used, sha256_digest(raw)).raw
    )
    (folder / MODEL).write_bytes(raw)
    return folder
