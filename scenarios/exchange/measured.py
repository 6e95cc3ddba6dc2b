"""What only a simulator can say of exchanges: how good their models are on all records, and whether a record got out."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from learning.arrays import Array
from learning.data.owner_data import Holding
from learning.exchange.canonical import digest
from learning.exchange.contract import Contract
from learning.exchange.messages import answer_of
from learning.forecast.public_sample import PublicSample
from learning.privacy.release import mean_gradient
from learning.privacy.release_terms import ReleaseTerms
from scenarios.exchange.wire import SPELLINGS, Found, Secrets, search, secrets_of

LEARNER, ANSWER = "the learner", ".answer.json"


def against_the_law(fitness: Array, result: Mapping[str, Any], simulated: Array) -> dict[str, Any]:
    """Relative fitness of exchanged models (n,), held against what the simulator says of the same plan.

    z = (mean - law) / sqrt(s^2/n + error of the law^2), s that of the simulated trainings; where there is no law but these
    trainings, their mean and its error stand for it. The p-value is that of ranks: exchanged and simulated models of one law
    give a smaller one as often as it says (Mann and Whitney).

    Parameters
    ----------
    result: the content of the market's result.json.
    simulated: relative fitness of its trainings, (runs,).
    """
    oracle, n = result["forecast"]["oracle"], len(fitness)
    spread = float(np.std(simulated, ddof=1)) if len(simulated) > 1 else 0.0
    error = float(np.hypot(spread / np.sqrt(n), oracle["std_error"] or 0.0))
    law, mean = oracle["relative_fitness"], float(np.mean(fitness))
    return {
        "mean": mean,
        "law": law,
        "simulated": {"runs": len(simulated), "mean": float(np.mean(simulated)), "deviation": spread},
        "z_score": (mean - law) / error if error else None,
        "p_value": float(mannwhitneyu(fitness, simulated).pvalue) if spread else None,
    }


def secrets(
    contract: Contract, owners: Sequence[Holding], tables: Mapping[str, Path], public: Sequence[bytes], points: Array
) -> list[Secrets]:
    """What is looked for of each owner: its cells, its encoded records, their sums, their gradients at the points asked.

    Parameters
    ----------
    contract: what stands in it is public.
    owners: everybody's records, as encoded.
    tables: each owner's table.
    public: what else is public, byte by byte.
    points: all points that were asked about, (rounds, p).
    """
    made = []
    for owner in owners:
        if owner.name in contract.names:
            terms, x, y = contract.terms(owner.name), owner.x, owner.y
            gradients = [gradient for point in points for gradient in without_noise(x, y, point, terms)]
            known = [contract.raw, points.tobytes(), *public]
            made.append(secrets_of(owner.name, cells_of(tables[owner.name]), x, y, gradients, known))
    return made


def rows_in_public(sample: PublicSample | None, table: Path) -> list[bytes]:
    """The learner's own rows: as encoded, and as they are written."""
    encoded = [] if sample is None else [np.ascontiguousarray(part).tobytes() for part in (sample.x, sample.y)]
    return encoded + ([table.read_bytes()] if table.exists() else [])


def without_noise(x: Array, y: Array, point: Array, terms: ReleaseTerms) -> Iterator[Array]:
    """Mean gradients at a point (p,) that noise was to hide: in the contract's coordinates, and in those of the table."""
    each_its_own = np.arange(len(y))
    mean = mean_gradient(x, y, point, terms, each_its_own)
    yield mean
    yield np.linalg.pinv(terms.coordinates.transform).T @ mean


def cells_of(table: Path) -> Iterator[str]:
    """Every cell of a table, as it is written."""
    with table.open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            yield from row


def on_the_wire(files: Mapping[str, bytes], looked_for: Sequence[Secrets]) -> dict[str, Any]:
    """What a search of an exchange's files comes to; without the values, so that it may be shown."""
    found: list[Found] = search(files, looked_for)
    return {
        "files": len(files),
        "bytes": sum(map(len, files.values())),
        "values": sum(one.count for one in looked_for),
        "spellings": list(SPELLINGS),
        "found": [{"file": one.file, "owner": one.owner, "kind": one.kind} for one in found],
    }


def seen(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """What stood in a folder that a party could read: every file, and who put it there."""
    return [
        {
            "file": name,
            "bytes": len(raw),
            "sha256": digest(raw),
            "put_by": answer_of(raw, name).owner if name.endswith(ANSWER) else LEARNER,
        }
        for name, raw in sorted(files.items())
    ]
