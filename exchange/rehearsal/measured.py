"""Measurements by a simulator's privilege: the models' error on all records, and leaks."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from exchange.contract import Contract
from exchange.learner.sums import unflatten_moments
from exchange.rehearsal.wire import SPELLINGS, Secrets, make_secrets, search_files
from learning.arrays import Array
from learning.canonical import parse_canonical, sha256_digest
from learning.data.owner_data import Holding
from learning.forecast.public_sample import PublicSample
from learning.privacy.release import bare_answer
from learning.privacy.release_terms import ReleaseTerms

LEARNER = "the learner"
ANSWER = ".answer.json"
ACCEPTANCE = ".acceptance.json"


def compare_with_law(fitness: Array, result: Mapping[str, Any], simulated: Array) -> dict[str, Any]:
    """Compare the relative fitness of exchanged models (n,) with the simulator's law of the plan.

    z = (mean - law) / sqrt(s^2/n + e^2), with the standard deviation s of the simulated trainings
    and the standard error e of the law, 0 where it has none. The p-value is that of Mann and
    Whitney's test of ranks: it is uniform if exchanged and simulated models have one law.

    Parameters
    ----------
    result: the content of the market's result.json.
    simulated: relative fitness of its trainings, (runs,).
    """
    oracle = result["forecast"]["oracle"]
    law = oracle["relative_fitness"]
    spread = float(np.std(simulated, ddof=1)) if len(simulated) > 1 else 0.0
    error = float(np.hypot(spread / np.sqrt(len(fitness)), oracle["std_error"] or 0.0))
    mean = float(np.mean(fitness))
    runs = {"runs": len(simulated), "mean": float(np.mean(simulated)), "deviation": spread}
    return {
        "mean": mean,
        "law": law,
        "simulated": runs,
        "z_score": (mean - law) / error if error else None,
        "p_value": float(mannwhitneyu(fitness, simulated).pvalue) if spread else None,
    }


def find_secrets(
    contract: Contract,
    owners: Sequence[Holding],
    tables: Mapping[str, Path],
    public: Sequence[bytes],
    points: Array,
) -> list[Secrets]:
    """Find each owner's secrets: cells, encoded records, their sums, bare answers at the points.

    Parameters
    ----------
    contract: its content is public.
    owners: everybody's records, as encoded.
    tables: each owner's table.
    public: all other public bytes.
    points: all points that were asked about, (rounds, p).
    """
    known = [contract.raw, points.tobytes(), *public]
    made = []
    for owner in owners:
        if owner.name in contract.names:
            x = owner.x
            y = owner.y
            terms = contract.terms(owner.name)
            gradients = [one for point in points for one in noiseless_answers(x, y, point, terms)]
            cells = read_cells(tables[owner.name])
            made.append(make_secrets(owner.name, cells, (x, y), gradients, known))
    return made


def public_bytes(sample: PublicSample | None, table: Path) -> list[bytes]:
    """Bytes of the learner's own rows: as encoded, and as written."""
    arrays = [] if sample is None else [sample.x, sample.y]
    encoded = [np.ascontiguousarray(part).tobytes() for part in arrays]
    return encoded + ([table.read_bytes()] if table.exists() else [])


def noiseless_answers(x: Array, y: Array, point: Array, terms: ReleaseTerms) -> Iterator[Array]:
    """Answers at a point (p,) before noise, in the contract's coordinates and in the table's.

    Sums come as they are answered, and as entries of the matrix.
    """
    each_its_own = np.arange(len(y))
    bare = bare_answer(x, y, point, terms, each_its_own)
    width = len(terms.coordinates.centre)
    back = np.linalg.pinv(terms.coordinates.transform)
    yield bare
    yield back.T @ bare[:width]
    if terms.sums:
        moments = unflatten_moments(bare[width:], width)
        yield moments
        yield back.T @ moments @ back


def read_cells(table: Path) -> Iterator[str]:
    """Read every cell of a table, as it is written."""
    with table.open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            yield from row


def search_wire(files: Mapping[str, bytes], secrets: Sequence[Secrets]) -> dict[str, Any]:
    """Summarise a search of an exchange's files; without values, so that it may be shown."""
    found = search_files(files, secrets)
    return {
        "files": len(files),
        "bytes": sum(map(len, files.values())),
        "values": sum(one.count for one in secrets),
        "spellings": list(SPELLINGS),
        "found": [{"file": one.file, "owner": one.owner, "kind": one.kind} for one in found],
    }


def find_author(raw: bytes, name: str) -> str:
    """Find the party that a file names as its author."""
    if not name.endswith((ANSWER, ACCEPTANCE)):
        return LEARNER
    return str(parse_canonical(raw, name)["owner"])


def list_seen(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """List every file of a folder that a party could read, with the party that put it there."""
    return [
        {
            "file": name,
            "bytes": len(raw),
            "sha256": sha256_digest(raw),
            "put_by": find_author(raw, name),
        }
        for name, raw in sorted(files.items())
    ]
