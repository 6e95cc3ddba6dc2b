"""Pairs of neighbouring tables at the edges of floating point, under terms of every kind, with hostile questions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.privacy import release, secure_noise
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace

MAX = np.finfo(float).max
TINY = 5e-324
PAYLOADS = np.array(
    [0x7FF0000000000001, 0x7FF8DEADBEEF0001, 0xFFFFFFFFFFFFFFFF], dtype=np.uint64
).view(float)
EDGES = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        MAX,
        -MAX,
        np.inf,
        -np.inf,
        TINY,
        -TINY,
        2.3e-308,
        1e-170,
        1e-155,
        1.34e154,
        -1.35e154,
    ]
    + [1e100, -1e100, 1.1e100, 1e200, 2.96185, np.nan, *PAYLOADS]
)
NO_NUMBERS = (
    None,
    "a text",
    b"bytes",
    10**400,
    -(10**309),
    1j,
    np.datetime64("2020-01-01"),
    float("nan"),
)
LINEAR = [loss for loss in LOSSES.values() if loss.linear]


def many(everyday: int) -> int:
    """Count the pairs that a test looks at; the variable DPMARKET_PAIRS of the environment sets another number."""
    return int(os.environ.get("DPMARKET_PAIRS", everyday))


@dataclass(frozen=True)
class Pair:
    """Two tables of n records that differ in one person's rows, and whose each row is."""

    first: tuple[object, object]
    second: tuple[object, object]
    persons: list[str] | None
    n_records: int


def numbers(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw ordinary numbers, edges of floating point, and numbers of any size, mixed."""
    if rng.random() < 0.3:
        return rng.choice(EDGES, count)
    anything = rng.choice([-1.0, 1.0], count) * 10 ** rng.uniform(-323, 308, count)
    return np.choose(
        rng.integers(3, size=count), [rng.choice(EDGES, count), anything, rng.normal(size=count)]
    )


def size(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a bound: an ordinary one, or one at the edge of what may be announced."""
    return float(rng.choice([10 ** rng.uniform(-2, 2), low, high], p=[0.7, 0.15, 0.15]))


def bounds(rng: np.random.Generator, width: int, mechanism, *, ball: bool = True) -> Coordinates:
    """Draw announced bounds of any loss and clipping that is released."""
    clipping = str(rng.choice(["parts", "record"]))
    loss = LOSSES["squared"] if clipping == "parts" else LINEAR[rng.integers(len(LINEAR))]
    scale = rng.normal(size=(width, width)) * rng.choice(
        [1.0, 1e15 / 6, 1e-30, 0.0], p=[0.6, 0.15, 0.15, 0.1]
    )
    transform = np.eye(width) if rng.random() < 0.4 else np.clip(scale, -1e15, 1e15)
    return Coordinates(
        rng.choice([0.0, 1.0, 1e15]) * rng.uniform(-1, 1, width),
        transform,
        size(rng, 1e-50, 1e15),
        size(rng, 1e-50, 1e15) if clipping == "parts" else np.inf,
        size(rng, 1e-50, 1e15) if ball else np.inf,
        norm=mechanism.norm,
        loss=loss,
        rows_per_person=int(rng.choice([1, 1, 1, 2, 3])),
        clipping=clipping,
    )


def mechanism_of(rng: np.random.Generator, width: int):
    """Draw a mechanism that is released on so many numbers."""
    able = [Laplace(), Gaussian(1e-6, "zcdp"), Laplace(2), *([L2(width)] if width <= 24 else [])]
    return able[rng.integers(len(able))]


def pair(
    rng: np.random.Generator, width: int, coordinates: Coordinates, n_records: int | None = None
) -> Pair:
    """Draw neighbouring tables of a few records; a part of them hold cells that are no numbers."""
    count = int(rng.integers(1, 7)) if n_records is None else n_records
    most = coordinates.rows_per_person
    persons = (
        None if most == 1 else [f"person {k}" for k in rng.integers(max(1, count - 1), size=count)]
    )
    x = numbers(rng, count * width).reshape(count, width)
    y = numbers(rng, count)
    if coordinates.loss.labels and rng.random() < 0.7:
        y = rng.choice([-1.0, 1.0], count)
    at = int(rng.integers(count))
    rows = [at] if persons is None else [k for k, name in enumerate(persons) if name == persons[at]]
    other_x = x.copy()
    other_y = y.copy()
    other_x[rows] = numbers(rng, len(rows) * width).reshape(len(rows), width)
    other_y[rows] = numbers(rng, len(rows))
    second: tuple[object, object] = (other_x, other_y)
    if rng.random() < 0.3:  # as far apart as bounds let gradients be
        x[rows], y[rows] = rng.normal(size=width) * 1e60, 1e90
        other_x[rows], other_y[rows] = x[rows], -1e90
    elif rng.random() < 0.3:
        cells = other_x.tolist()
        targets = other_y.tolist()
        held = cells[at] if rng.random() < 0.7 else targets
        place = int(rng.integers(width)) if held is not targets else at
        held[place] = NO_NUMBERS[rng.integers(len(NO_NUMBERS))]
        second = (cells, targets)
    return Pair((x, y), second, persons, count)


def question(
    rng: np.random.Generator, coordinates: Coordinates, *, numeric: bool = False
) -> object:
    """Draw a point to ask about: in the ball, at its edge, beyond it, or, unless ``numeric``, no point at all."""
    width = len(coordinates.centre)
    ball = min(coordinates.theta_max, MAX)
    signs = rng.choice([-1.0, 1.0], width)
    with np.errstate(over="ignore"):
        inside = ball / (1 if coordinates.norm == 1 else np.sqrt(width)) * (1 - 1e-12)
        attack = np.zeros(width)
        attack[: min(2, width)] = np.array([MAX, -MAX])[: min(2, width)] / rng.uniform(1, 8)
        drawn = [
            np.zeros(width),
            inside * signs,
            inside * rng.uniform(-1, 1, width),
            inside * signs * (np.arange(width) < 2),
            np.full(width, TINY) * signs,
            np.full(width, -0.0),
            attack,
            ball * 1.001 * signs,
            np.where(np.arange(width) == 0, rng.choice(EDGES), 0.0),
            np.zeros(width + 1),
            ["a"] * width,
            None,
        ]
    drawn = drawn[:10] + [np.zeros(width)] * 2 if numeric else drawn
    return drawn[
        rng.choice(
            len(drawn), p=[0.05, 0.25, 0.15, 0.15, 0.05, 0.05, 0.1, 0.05, 0.05, 0.03, 0.03, 0.04]
        )
    ]


class FixedNoise:
    """OpenDP's map, and in place of its sampler one answer for all values, which must be finite."""

    true = staticmethod(secure_noise.measurement)

    def __init__(self, *given):
        self.map = self.true(*given).map

    def invoke(self, values: list[float]) -> list[float]:
        """Give as many numbers, whatever the values are."""
        assert all(isinstance(value, float) and np.isfinite(value) for value in values)
        return [0.1234567890123 * (1 + place) for place in range(len(values))]


@pytest.fixture
def fixed_noise(monkeypatch) -> Iterator[None]:
    """Every answer has the same digits, so that whatever differs between two tables is not noise."""
    monkeypatch.setattr(secure_noise, "measurement", FixedNoise)
    monkeypatch.setattr(release, "measurement", FixedNoise)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    yield


def files_in(folder) -> list[tuple[str, bytes]]:
    """List every file below a folder, with its bytes."""
    return sorted(
        (path.relative_to(folder).as_posix(), path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    )
