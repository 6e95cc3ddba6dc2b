"""Speed and memory of training on records: hinge, logistic and network loss, asynchronous clocks, peak memory.

    python -m benchmarks.bench_records

Seconds are processor seconds of one thread, on both sides of every ratio: on an idle machine, what a clock shows. Loops
and Opacus are timed on a few runs and scaled up to all of them. Clipping and encoding the records is left out of all
sides. Opacus is needed for its own comparison only (``pip install torch opacus``), and is stripped to gradients, clipping
and noise of records that lie ready as tensors.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from time import process_time

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks.child import in_a_process, peak
from learning.data.owner_data import OwnerData
from learning.losses.coordinates import Coordinates
from learning.losses.network import initial
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import Client, make_clients
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task

OWNERS, RECORDS, WIDTH, HORIZON, RUNS = 3, 30_000, 31, 100, 100
EPSILON = 10.0
AGAINST_LOOP, AGAINST_OPACUS, OVER_BARE = 10, 50, {"hinge": 1.5, "logistic": 3.0}
MANY, TICKS, FEW_COLUMNS, ASYNCHRONOUS_SECONDS = 86, 1000, 10, 3.0
LARGE, MOST_GIB, SHOWN_ROUNDS = 890_000, 1.0, 4
HIDDEN, NETWORK_RUNS = 8, 20
BLOCKS = (512, 1024, 4096)  # records at a time that the bare products are tried with
REPEATED = 20  # rounds of bare products at a time: as long a stretch of time as the others
BARE, LOOP = "two bare float32 products a round, ", "loop over runs, from a few, NumPy "
STRIPPED = "Opacus, stripped, from a few runs"
PLAN = Plan("synchronous", "last", HORIZON, 0.2 * HORIZON**2)


def timed(*actions: Callable[[], object], repeats: int = 4) -> list[float]:
    """Processor seconds of the fastest of a few calls of each, turn by turn: whatever else runs slows all alike."""
    best = [np.inf] * len(actions)
    for _ in range(repeats):
        for number, action in enumerate(actions):
            start = process_time()
            action()
            best[number] = min(best[number], process_time() - start)
    return best


def labelled(sizes: Sequence[int], width: int = WIDTH) -> list[OwnerData]:
    """Owners of float64 records with labels, the constant last. Drawn in place, so that a peak is not of this."""
    rng, owners = np.random.default_rng(0), []
    for number, size in enumerate(sizes):
        x = np.empty((size, width))
        rng.random(out=x)
        x *= 2
        x -= 1
        x[:, -1] = 1
        y = np.where(x @ np.linspace(1, -1, width) + rng.normal(size=size) > 0, 1.0, -1.0)
        owners.append(OwnerData(f"o{number}", x, y))
    return owners


def coordinates_for(loss: str, width: int = WIDTH) -> Coordinates:
    """Bounds that no record above exceeds."""
    return Coordinates(np.zeros(width), np.eye(width), float(width), 8.0, 1.5, loss=loss)


def clients_for(owners: Sequence[OwnerData], coordinates: Coordinates, horizon: int, epsilon: float) -> tuple:
    """The owners as training sees them."""
    records = [coordinates.oracle(owner.x, owner.y) for owner in owners]
    names, budgets = [owner.name for owner in owners], np.full(len(owners), epsilon)
    return make_clients(names, records, budgets, Laplace(), coordinates.gradient_bound, horizon)


def trained(clients: Sequence[Client], coordinates: Coordinates, runs: int, plan: Plan) -> np.ndarray:
    """The engine: all runs of a round together."""
    return train(Task(clients, coordinates, plan, Laplace(), runs=runs, streams=Streams(0, "noise"))).theta


def loop_run(
    lines: Sequence[np.ndarray], scale: float, loss: str, plan: Plan, ball: float, *, rng: np.random.Generator
) -> np.ndarray:
    """One run, round by round, as one would write it: lines are y x (n, p) of each owner; the model of the last round."""
    theta, total = np.zeros(lines[0].shape[1], lines[0].dtype), sum(map(len, lines))
    for step in plan.steps:
        gradient = np.zeros_like(theta)
        for line in lines:
            t = line @ theta
            slope = -(t < 1).astype(t.dtype) if loss == "hinge" else -expit(-t)
            answer = slope @ line / len(line) + rng.laplace(size=len(theta)) * scale
            gradient += (len(line) / total * answer).astype(theta.dtype)
        theta = np.clip(theta - theta.dtype.type(step) * gradient, -ball, ball)
    return theta


def bare_products(lines: np.ndarray, phi: np.ndarray) -> dict[str, Callable[[], object]]:
    """The two single-precision products of a round, X phi' and D'X, at full size in both layouts, and by blocks."""

    def blocked(rows: int) -> np.ndarray:
        total = np.zeros(phi.shape)
        held = np.empty((len(phi), rows), np.float32)
        for first in range(0, len(lines), rows):
            block = lines[first : first + rows]
            t = held[:, : len(block)]
            np.matmul(phi, block.T, out=t)
            total += t @ block
        return total

    found = {"runs by records": lambda: (phi @ lines.T) @ lines, "records by runs": lambda: (lines @ phi.T).T @ lines}
    return found | {f"blocks of {rows}": lambda rows=rows: blocked(rows) for rows in BLOCKS}


def opacus_installed() -> bool:
    """Whether the comparison with it can be made."""
    return find_spec("torch") is not None and find_spec("opacus") is not None


def opacus_run(owners: Sequence[OwnerData], loss: str, clip: float, noise: float, plan: Plan, ball: float) -> Callable:
    """One run of Opacus: each round, each owner's per-sample gradients clipped in 2-norm and summed, Gaussian noise added.

    Each owner's records are given as one tensor: no loader and no sampling, the least it can be made to do.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from opacus import GradSampleModule
        from opacus.optimizers import DPOptimizer
    torch.set_num_threads(1)
    held = [[torch.tensor(part, dtype=torch.float32) for part in (owner.x, owner.y)] for owner in owners]
    layer = torch.nn.Linear(WIDTH, 1, bias=False)
    model, theta, total = GradSampleModule(layer), layer.weight, sum(len(y) for _, y in held)

    def optimiser(size: int) -> DPOptimizer:
        plain = torch.optim.SGD(model.parameters(), lr=1.0)
        return DPOptimizer(plain, noise_multiplier=noise, max_grad_norm=clip, expected_batch_size=size)

    optimisers = [optimiser(len(y)) for _, y in held]

    def run() -> np.ndarray:
        torch.nn.init.zeros_(theta)
        for step in plan.steps:
            gradient = torch.zeros_like(theta)
            for (x, y), private in zip(held, optimisers, strict=True):
                private.zero_grad()
                t = y * model(x)[:, 0]
                (torch.relu(1 - t) if loss == "hinge" else torch.nn.functional.softplus(-t)).mean().backward()
                private.pre_step()
                gradient += len(y) / total * theta.grad
            with torch.no_grad():
                theta.sub_(float(step) * gradient).clamp_(-ball, ball)
        return theta.detach().numpy()[0].copy()

    return run


def linear_ways(
    loss: str, owners: Sequence[OwnerData], clients: Sequence[Client]
) -> dict[str, tuple[Callable[[], object], float]]:
    """What is timed against the engine, and how often all runs need it."""
    lines = np.concatenate([owner.records.lines for owner in clients])
    phi = np.random.default_rng(1).normal(size=(RUNS, lines.shape[1])).astype(np.float32)
    rounds, ball = len(PLAN.steps), coordinates_for(loss).theta_max
    ways: dict[str, tuple[Callable[[], object], float]] = {}
    for name, product in bare_products(lines, phi).items():
        ways[BARE + name] = (lambda product=product: [product() for _ in range(REPEATED)], rounds / REPEATED)
    rng, scale = np.random.default_rng(1), float(clients[0].scale)
    for precision in (np.float64, np.float32):
        signed = [(owner.y[:, None] * owner.x).astype(precision) for owner in owners]
        ways[LOOP + np.dtype(precision).name] = (partial(loop_run, signed, scale, loss, PLAN, ball, rng=rng), RUNS)
    if opacus_installed():
        ways[STRIPPED] = (opacus_run(owners, loss, WIDTH**0.5, 1.0, PLAN, ball), RUNS)
    return ways


def linear(loss: str, owners: Sequence[OwnerData]) -> bool:
    """Print full-batch training against bare products, loops and Opacus; whether a target is missed."""
    coordinates = coordinates_for(loss)
    clients = clients_for(owners, coordinates, HORIZON, EPSILON)
    ways = linear_ways(loss, owners, clients)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns at each round that no gradient of the records is wanted
        engine, *each = timed(lambda: trained(clients, coordinates, RUNS, PLAN), *(way for way, _ in ways.values()))
    seconds = {name: one * count for (name, (_, count)), one in zip(ways.items(), each, strict=True)}
    bare = min((name for name in seconds if name.startswith(BARE)), key=seconds.__getitem__)
    n_records = sum(owner.n_records for owner in owners)
    print(f"{loss}: {RUNS} runs, {len(owners)} owners, n = {n_records:,}, p = {WIDTH}, T = {HORIZON}, Laplace noise")
    print(f"  {'way':<56}{'seconds':>10}{'/ engine':>10}  asked")
    print(f"  {'engine, through train(...)':<56}{engine:>10.2f}{1:>10}")
    asked = {LOOP + "float64": AGAINST_LOOP, STRIPPED: AGAINST_OPACUS}
    for name, taken in seconds.items():
        wanted = f"  at least {asked[name]:.3g}" if name in asked else ""
        print(f"  {name:<56}{taken:>10.2f}{taken / engine:>10.3g}{wanted}")
    print(f"  engine over the fastest bare products: {engine / seconds[bare]:.2f}, asked at most {OVER_BARE[loss]}")
    if STRIPPED not in seconds:
        print("  Opacus: not installed, comparison left out (pip install torch opacus)")
    slow = engine / seconds[bare] > OVER_BARE[loss]
    return slow or any(seconds[name] / engine < least for name, least in asked.items() if name in seconds)


def asynchronous_task(n_owners: int, ticks: int, runs: int, epsilon: float = EPSILON) -> Task:
    """Owners of unequal sizes under squared loss: their sufficient statistics answer."""
    rng, owners = np.random.default_rng(0), []
    for number, size in enumerate(rng.integers(500, 5000, n_owners)):
        x = np.column_stack([rng.uniform(-1, 1, (size, FEW_COLUMNS - 1)), np.ones(size)])
        owners.append(OwnerData(f"o{number}", x, x @ np.linspace(1, -1, FEW_COLUMNS) + 0.5 * rng.normal(size=size)))
    coordinates = coordinates_for("squared", FEW_COLUMNS)
    clients = clients_for(owners, coordinates, ticks, epsilon)
    sizes = np.array([owner.n_records for owner in owners], dtype=float)
    plan = Plan("asynchronous", "last", ticks, 0.05 * ticks**2)
    return Task(clients, coordinates, plan, Laplace(), runs, Streams(0, "noise"), weights=sizes / sizes.sum())


def asynchronous_run(task: Task, called: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """One run, tick by tick, with alike clocks and no cost of the learner's own; the model the learner ends at."""
    n_owners, ball = len(task.owners), task.coordinates.theta_max
    learner, copies = np.zeros(task.width), np.zeros((n_owners, task.width))
    for step, i in zip(task.plan.steps, called, strict=True):
        middle = (learner + copies[i]) / 2
        owner = task.owners[i]
        answer = owner.records.gradient(middle) + rng.laplace(size=task.width) * owner.scale
        copies[i] = np.clip(middle - n_owners * step * task.weights[i] * answer, -ball, ball)
        learner = np.clip(middle, -ball, ball)
    return learner


def asynchronously() -> bool:
    """Print asynchronous training against a loop over runs and ticks; whether the target is missed."""
    task, few, rng = asynchronous_task(MANY, TICKS, RUNS), 3, np.random.default_rng(1)

    def looped() -> None:
        for _ in range(few):
            asynchronous_run(task, rng.integers(MANY, size=TICKS), rng=rng)

    engine, alone = timed(lambda: trained(task.owners, task.coordinates, task.runs, task.plan), looped)
    print(f"asynchronous, squared loss: {MANY} owners, T = {TICKS}, {RUNS} runs, p = {FEW_COLUMNS}, Laplace noise")
    print(f"  engine, through train(...)              {engine:>8.2f} s, asked under {ASYNCHRONOUS_SECONDS:.0f} s")
    whole = RUNS / few * alone
    print(f"  loop over runs and ticks, from {few} runs       {whole:>8.2f} s, {whole / engine:.1f} times as long")
    return engine > ASYNCHRONOUS_SECONDS


def network(owners: list[OwnerData]) -> None:
    """Print a round of a network against its two bare products; nothing is asked of it."""
    coordinates = Coordinates(
        initial(HIDDEN, WIDTH, rng=np.random.default_rng(0)), np.eye(HIDDEN * (WIDTH + 1) + 1), 1.0, loss="network"
    )
    records = [coordinates.oracle(owner.x, owner.y) for owner in owners]
    phi = 0.1 * np.random.default_rng(1).normal(size=(NETWORK_RUNS, len(coordinates.centre)))
    x = np.concatenate([owner.x for owner in owners]).astype(np.float32)
    inner = np.random.default_rng(2).normal(size=(NETWORK_RUNS * HIDDEN, WIDTH)).astype(np.float32)
    ways = bare_products(x, inner)
    engine, *bare = timed(lambda: [r.gradient(phi) for r in records], *ways.values())
    print(f"network: one round, n = {len(x):,}, p = {WIDTH}, {HIDDEN} hidden units, {NETWORK_RUNS} runs")
    print(f"  engine {engine:.3f} s; its two bare products {min(bare):.3f} s: {engine / min(bare):.1f} times as long")


def memory_child(n_records: int, runs: int) -> dict[str, int]:
    """Peak bytes after each stage of holding a float64 table of three owners and training hinge loss on it."""
    found = {"interpreter and imports": peak()}
    owners = labelled([n_records // OWNERS + (number < n_records % OWNERS) for number in range(OWNERS)])
    found["float64 table of the owners"] = peak()
    coordinates = coordinates_for("hinge")
    clients = clients_for(owners, coordinates, SHOWN_ROUNDS, EPSILON)
    found["clipped lines beside it"] = peak()
    trained(clients, coordinates, runs, Plan("synchronous", "last", SHOWN_ROUNDS, 0.1))
    found["training"] = peak()
    return found


def memory(n_records: int = LARGE, runs: int = RUNS) -> dict[str, int]:
    """`memory_child` in a process of its own."""
    return in_a_process("benchmarks.bench_records", "memory", str(n_records), str(runs))


def remembered() -> bool:
    """Print the peak of memory stage by stage; whether the target is missed."""
    found = {name: size / 2**30 for name, size in memory().items()}
    print(f"memory: {LARGE:,} x {WIDTH} records of {OWNERS} owners, hinge, {RUNS} runs; peak so far")
    for name, gib in found.items():
        print(f"  {name:<44}{gib:>8.2f} GiB")
    most = max(found.values())
    print(f"  in all {most:.2f} GiB, asked under {MOST_GIB:.0f} GiB")
    return most > MOST_GIB


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    with threadpool_limits(1):
        kernels = sorted({found["architecture"] for found in threadpool_info() if "architecture" in found})
        print(f"one thread on all sides; matrix products for {', '.join(kernels) or 'an unknown processor'}")
        owners = labelled([RECORDS] * OWNERS)
        missed = [linear(loss, owners) for loss in OVER_BARE]
        missed.append(asynchronously())
        network(owners)
        missed.append(remembered())
    unchecked = "" if opacus_installed() else ", but what is asked against Opacus was not checked"
    print(f"targets: {'missed' if any(missed) else 'met'}{unchecked}")
    return int(any(missed))


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        print(json.dumps(memory_child(*map(int, sys.argv[2:4]))))
    else:
        sys.exit(main())
