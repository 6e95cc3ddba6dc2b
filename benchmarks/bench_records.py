"""Speed and memory of training on records: hinge, logistic, network, asynchronous, peak memory.

    python -m benchmarks.bench_records

Seconds are processor seconds of one thread, on both sides of every ratio. Loops are timed on a few
runs and scaled up to all of them. Clipping and encoding the records is excluded on all sides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks.measuring import Targets, call_module, peak_memory, time_actions
from learning.data.owner_data import OwnerData
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.losses.network import draw_start
from learning.privacy.laplace import Laplace
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client, make_clients
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task

OWNERS = 3
RECORDS = 30_000
WIDTH = 31
HORIZON = 100
RUNS = 100
EPSILON = 10.0
AGAINST_LOOP = 10
OVER_BARE = {"hinge": 1.5, "logistic": 3.0, "network": 3.0}
HIDDEN = 8
NETWORK_HORIZON = 10
MANY = 86
TICKS = 1000
FEW_COLUMNS = 10
FEW_RUNS = 3
ASYNCHRONOUS_AGAINST_LOOP = 5  # the aim is 10; noise by owner and run is half of the engine's time
LARGE = 890_000
MOST_GIB = 1.0
SHOWN_ROUNDS = 4
BLOCKS = (512, 1024, 4096)  # records at a time that the bare products are tried with
REPEATED = 20  # rounds of bare products at a time: as long a stretch of time as the others
LAPLACE = Laplace()
PLAN = Plan("synchronous", "last", HORIZON, 0.2 * HORIZON**2)


def make_labelled(sizes: Sequence[int]) -> list[OwnerData]:
    """Make owners of float64 records with labels, the constant last, in place to save memory."""
    rng = np.random.default_rng(0)
    owners = []
    for number, size in enumerate(sizes):
        x = np.empty((size, WIDTH))
        rng.random(out=x)
        x *= 2
        x -= 1
        x[:, -1] = 1
        y = np.where(x @ np.linspace(1, -1, WIDTH) + rng.normal(size=size) > 0, 1.0, -1.0)
        owners.append(OwnerData(f"o{number}", x, y))
    return owners


def coordinates_for(loss: str, width: int = WIDTH) -> Coordinates:
    """Coordinates with bounds that no record exceeds."""
    return Coordinates(np.zeros(width), np.eye(width), float(width), 8.0, 1.5, loss=loss)


def clients_for(
    owners: Sequence[OwnerData],
    coordinates: Coordinates,
    horizon: int,
    epsilon: float,
    noise: Mechanism = LAPLACE,
) -> tuple[Client, ...]:
    """Clients of the owners."""
    records = [coordinates.oracle(owner.x, owner.y) for owner in owners]
    names = [owner.name for owner in owners]
    budgets = np.full(len(owners), epsilon)
    return make_clients(names, records, budgets, noise, coordinates.gradient_bound, horizon)


def train_engine(
    clients: Sequence[Client],
    coordinates: Coordinates,
    runs: int,
    plan: Plan,
    noise: Mechanism = LAPLACE,
) -> np.ndarray:
    """Train by the engine: all runs of a round together."""
    streams = Streams(0, "noise")
    return train(Task(clients, coordinates, plan, noise, runs=runs, streams=streams)).theta


def loop_run(
    lines: Sequence[np.ndarray],
    scale: float,
    loss: str,
    plan: Plan,
    ball: float,
    *,
    rng: np.random.Generator,
) -> np.ndarray:
    """Model of one run, round by round in NumPy; lines are y x (n, p) of each owner."""
    theta = np.zeros(lines[0].shape[1], lines[0].dtype)
    total = sum(map(len, lines))
    for step in plan.steps:
        gradient = np.zeros_like(theta)
        for line in lines:
            t = line @ theta
            slope = -(t < 1).astype(t.dtype) if loss == "hinge" else -expit(-t)
            answer = slope @ line / len(line) + rng.laplace(size=len(theta)) * scale
            gradient += (len(line) / total * answer).astype(theta.dtype)
        theta = np.clip(theta - theta.dtype.type(step) * gradient, -ball, ball)
    return theta


def bare_products(lines: np.ndarray, phi: np.ndarray) -> dict[str, Callable[[], np.ndarray]]:
    """The two single-precision products of a round, X phi' and D'X, in both layouts, by blocks."""

    def multiply_blocks(rows: int) -> np.ndarray:
        total = np.zeros(phi.shape)
        held = np.empty((len(phi), rows), np.float32)
        for first in range(0, len(lines), rows):
            block = lines[first : first + rows]
            t = held[:, : len(block)]
            np.matmul(phi, block.T, out=t)
            total += t @ block
        return total

    return {
        "runs by records": lambda: (phi @ lines.T) @ lines,
        "records by runs": lambda: (lines @ phi.T).T @ lines,
        **{f"blocks of {rows}": partial(multiply_blocks, rows) for rows in BLOCKS},
    }


def compare_products(
    loss: str,
    train_all: Callable[[], object],
    products: dict[str, Callable[[], np.ndarray]],
    rounds: int,
    targets: Targets,
) -> float:
    """Show the engine beside the bare products of all its rounds; return its seconds."""

    def repeat(product: Callable[[], object]) -> None:
        for _ in range(REPEATED):
            product()

    engine, *each = time_actions(train_all, *(partial(repeat, one) for one in products.values()))
    targets.show(f"{loss}: engine, through train(...)", engine)
    for name, one in zip(products, each, strict=True):
        targets.show(f"{loss}: two bare float32 products a round, {name}", rounds / REPEATED * one)
    over = engine * REPEATED / (rounds * min(each))
    targets.show(f"{loss}: over the fastest of these", over, "times", most=OVER_BARE[loss])
    return engine


def compare_linear(loss: str, owners: Sequence[OwnerData], targets: Targets) -> None:
    """Compare full-batch training with bare products, and with a loop over runs in NumPy."""
    coordinates = coordinates_for(loss)
    clients = clients_for(owners, coordinates, HORIZON, EPSILON)
    lines = np.concatenate([owner.records.lines for owner in clients])
    phi = np.random.default_rng(1).normal(size=(RUNS, lines.shape[1])).astype(np.float32)
    train_all = partial(train_engine, clients, coordinates, RUNS, PLAN)
    products = bare_products(lines, phi)
    engine = compare_products(loss, train_all, products, len(PLAN.steps), targets)
    rng = np.random.default_rng(1)
    scale = float(clients[0].scale)
    for precision, least in (("float64", AGAINST_LOOP), ("float32", 0)):
        signed = [(owner.y[:, None] * owner.x).astype(precision) for owner in owners]
        run = partial(loop_run, signed, scale, loss, PLAN, coordinates.theta_max, rng=rng)
        (alone,) = time_actions(run)
        told = f"{loss}: against a loop over runs in NumPy, {precision}"
        targets.show(told, RUNS * alone / engine, "times", least=least)


def network_task(owners: Sequence[OwnerData]) -> tuple[tuple[Client, ...], Coordinates, Plan]:
    """Clients, coordinates and plan of training a network with clipped gradients."""
    start = draw_start(HIDDEN, WIDTH, rng=np.random.default_rng(1))
    coordinates = Coordinates(start, np.eye(len(start)), 1.0, loss=LOSSES["network"])
    plan = replace(PLAN, horizon=NETWORK_HORIZON)
    return clients_for(owners, coordinates, plan.horizon, EPSILON), coordinates, plan


def compare_network(owners: Sequence[OwnerData], targets: Targets) -> None:
    """Compare training of a network with its bare products."""
    clients, coordinates, plan = network_task(owners)
    lines = np.concatenate([owner.x for owner in owners]).astype(np.float32)
    phi = np.random.default_rng(1).normal(size=(RUNS * HIDDEN, WIDTH)).astype(np.float32)
    train_all = partial(train_engine, clients, coordinates, RUNS, plan)
    compare_products("network", train_all, bare_products(lines, phi), len(plan.steps), targets)


def asynchronous_task(n_owners: int, ticks: int, runs: int, epsilon: float = EPSILON) -> Task:
    """Task of owners of unequal sizes under squared loss, with sufficient statistics."""
    rng = np.random.default_rng(0)
    owners = []
    for number, size in enumerate(rng.integers(500, 5000, n_owners)):
        x = np.column_stack([rng.uniform(-1, 1, (size, FEW_COLUMNS - 1)), np.ones(size)])
        y = x @ np.linspace(1, -1, FEW_COLUMNS) + 0.5 * rng.normal(size=size)
        owners.append(OwnerData(f"o{number}", x, y))
    coordinates = coordinates_for("squared", FEW_COLUMNS)
    clients = clients_for(owners, coordinates, ticks, epsilon)
    sizes = np.array([owner.n_records for owner in owners], dtype=float)
    weights = sizes / sizes.sum()
    plan = Plan("asynchronous", "last", ticks, 0.05 * ticks**2)
    streams = Streams(0, "noise")
    return Task(clients, coordinates, plan, LAPLACE, runs, streams, weights=weights)


def asynchronous_run(task: Task, called: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Last model of the learner in one run, tick by tick, without a cost of its own."""
    n_owners = len(task.owners)
    ball = task.coordinates.theta_max
    learner = np.zeros(task.width)
    copies = np.zeros((n_owners, task.width))
    for step, i in zip(task.plan.steps, called, strict=True):
        middle = (learner + copies[i]) / 2
        owner = task.owners[i]
        answer = owner.records.gradient(middle) + rng.laplace(size=task.width) * owner.scale
        copies[i] = np.clip(middle - n_owners * step * task.weights[i] * answer, -ball, ball)
        learner = np.clip(middle, -ball, ball)
    return learner


def compare_asynchronous(targets: Targets) -> None:
    """Compare asynchronous training with a loop over runs and ticks, from a few runs."""
    task = asynchronous_task(MANY, TICKS, RUNS)
    rng = np.random.default_rng(1)

    def loop_runs() -> None:
        for _ in range(FEW_RUNS):
            asynchronous_run(task, rng.integers(MANY, size=TICKS), rng=rng)

    engine, alone = time_actions(
        lambda: train_engine(task.owners, task.coordinates, task.runs, task.plan), loop_runs
    )
    told = f"asynchronous: {MANY} owners, T = {TICKS}"
    targets.show(told, engine)
    ratio = RUNS / FEW_RUNS * alone / engine
    least = ASYNCHRONOUS_AGAINST_LOOP
    targets.show(f"{told}: against a loop", ratio, "times", least=least)


def memory_stages(n_records: int, runs: int) -> dict[str, int]:
    """Peak bytes after each stage of hinge training on a float64 table of three owners."""
    found = {"interpreter and imports": peak_memory()}
    sizes = [n_records // OWNERS + (number < n_records % OWNERS) for number in range(OWNERS)]
    owners = make_labelled(sizes)
    found["float64 table of the owners"] = peak_memory()
    coordinates = coordinates_for("hinge")
    clients = clients_for(owners, coordinates, SHOWN_ROUNDS, EPSILON)
    found["clipped lines beside it"] = peak_memory()
    train_engine(clients, coordinates, runs, Plan("synchronous", "last", SHOWN_ROUNDS, 0.1))
    found["training"] = peak_memory()
    return found


def measure_memory(n_records: int, runs: int) -> dict[str, int]:
    """`memory_stages` in a process of its own."""
    return call_module("benchmarks.bench_records", "memory", str(n_records), str(runs))


def compare_memory(targets: Targets) -> None:
    """Show the peak of memory stage by stage."""
    found = measure_memory(LARGE, RUNS)
    for name, size in found.items():
        most = MOST_GIB if size == max(found.values()) else np.inf
        targets.show(f"memory so far: {name}", size / 2**30, "GiB", most=most)


def main() -> int:
    """Print all figures; 1 if a target is missed."""
    targets = Targets()
    with threadpool_limits(1):
        kernels = {pool["architecture"] for pool in threadpool_info() if "architecture" in pool}
        names = ", ".join(sorted(kernels)) or "an unknown processor"
        print(f"one thread on all sides; matrix products for {names}; Laplace noise, {RUNS} runs")
        print(f"{OWNERS} owners of {RECORDS:,} records, p = {WIDTH}, T = {HORIZON}")
        owners = make_labelled([RECORDS] * OWNERS)
        for loss in ("hinge", "logistic"):
            compare_linear(loss, owners, targets)
        compare_network(owners, targets)
        compare_asynchronous(targets)
        compare_memory(targets)
    return targets.report()


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        print(json.dumps(memory_stages(*map(int, sys.argv[2:4]))))
    else:
        sys.exit(main())
