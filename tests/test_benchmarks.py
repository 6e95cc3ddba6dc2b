"""Benchmarks compare like with like: without noise each way ends at the engine's model. Tiny sizes; nothing is timed."""

import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from pandas import read_parquet

from learning.losses.network import NetworkRecords
from learning.training import asynchronous
from learning.training.plan import Plan
from scenarios.schema.loading import load
from scenarios.sweeping.study import read_study

sys.path.append(
    str(Path(__file__).resolve().parent.parent)
)  # benchmarks are not installed with the packages
bench = import_module("benchmarks.bench_records")

PLAN = Plan("synchronous", "last", 12, 0.3 * 12**2)


def tiny(loss):
    owners = bench.make_labelled([40, 70])
    coordinates = bench.coordinates_for(loss)
    silent = bench.clients_for(owners, coordinates, PLAN.horizon, np.inf)
    return owners, bench.train_engine(silent, coordinates, 3, PLAN)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_loop_over_runs_ends_at_the_engines_model(loss):
    owners, theta = tiny(loss)
    assert np.ptp(theta, axis=0).max() == 0 and np.abs(theta).max() > 0.1
    signed = [owner.y[:, None] * owner.x for owner in owners]
    alone = bench.loop_run(signed, 0.0, loss, PLAN, 1.5, rng=np.random.default_rng(0))
    np.testing.assert_allclose(theta[0], alone, atol=1e-4)


def test_the_loop_over_ticks_ends_at_the_engines_model():
    task = bench.asynchronous_task(4, 50, 3, epsilon=np.inf)
    called = np.concatenate(list(asynchronous.draw_ticks(task)))
    found = asynchronous.Asynchronous().run(task).last
    for run in range(3):
        alone = bench.asynchronous_run(task, called[:, run], rng=np.random.default_rng(0))
        np.testing.assert_allclose(found[run], alone, rtol=1e-9)
    assert np.abs(found).max() > 0.1


def test_the_network_is_trained_with_as_many_products_as_are_counted(monkeypatch):
    """Each round asks each owner once, of all its records and runs."""
    asked = []
    gradient = NetworkRecords.gradient

    def count(records, phi):
        asked.append((records.n_records, len(phi), records.hidden))
        return gradient(records, phi)

    monkeypatch.setattr(NetworkRecords, "gradient", count)
    monkeypatch.setattr(bench, "NETWORK_HORIZON", 3)
    clients, coordinates, plan = bench.network_task(bench.make_labelled([30, 20]))
    bench.train_engine(clients, coordinates, 4, plan)
    assert asked == [(30, 4, bench.HIDDEN), (20, 4, bench.HIDDEN)] * len(plan.steps)


def test_bare_products_all_make_the_same():
    rng = np.random.default_rng(0)
    lines, phi = (rng.normal(size=(rows, 5)).astype(np.float32) for rows in (3000, 4))
    expected = phi.astype(float) @ lines.T.astype(float) @ lines.astype(float)
    for product in bench.bare_products(lines, phi).values():
        np.testing.assert_allclose(product(), expected, rtol=1e-2, atol=0.5)


@pytest.mark.deep
def test_memory_is_of_the_child_alone():
    held = np.ones(2**26)  # half a GiB, which the child must not count
    found = bench.measure_memory(3000, 5)
    stages = list(found.values())
    assert stages == sorted(stages) and 2**20 < stages[-1] < held.nbytes


@pytest.mark.slow
def test_the_tables_print_and_say_whether_targets_are_missed(monkeypatch, capsys):
    small = {
        "RUNS": 2,
        "HORIZON": 4,
        "PLAN": replace(PLAN, horizon=4),
        "REPEATED": 1,
        "NETWORK_HORIZON": 2,
        "LARGE": 900,
    }
    for name, value in (small | {"RECORDS": 30, "MANY": 5, "TICKS": 20}).items():
        monkeypatch.setattr(bench, name, value)
    status = bench.main()
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1].startswith(f"targets: {'missed' if status else 'met'}")
    for word in ("hinge", "logistic", "network", "asynchronous", "memory"):
        assert word in printed


def test_a_large_table_is_what_it_is_said_to_be(tmp_path):
    bench_table = import_module("benchmarks.bench_table")
    bench_table.write_table(tmp_path, 1000)
    table = read_parquet(tmp_path / "parts")
    assert table.shape == (1000, bench_table.NUMBERS + 2) and not table.isna().any(axis=None)


@pytest.mark.deep
def test_load_is_the_processor_time_of_the_command_and_says_what_is_missed(
    monkeypatch, capsys, tmp_path
):
    bench_load = import_module("benchmarks.bench_load")
    monkeypatch.delenv("DPMARKET_DATA", raising=False)
    small = {
        "MANY": 3,
        "MORE": 2,
        "MOST": 4,
        "COLUMNS": 5,
        "WIDE_PUBLIC_ROWS": 100,
        "PUBLIC_ROWS": 40,
    }
    small |= {"SECONDS": {"check": 0.001, "hospitals": 1.0}}
    for name, value in small.items():
        monkeypatch.setattr(bench_load, name, value)
    assert bench_load.main() == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "targets: missed in check three_insurers" and "left out" in printed[2]
    assert 0.1 < float(printed[1].split()[2]) < 1000
    with pytest.raises(RuntimeError, match="exit status 2"):
        bench_load.time_command(tmp_path, ["run", "nothing"])


@pytest.mark.deep  # and `make bench` times them
def test_studies_are_timed_and_say_what_is_missed(monkeypatch, capsys, tmp_path):
    studies = import_module("benchmarks.bench_studies")
    every = studies.write_commands(tmp_path)
    assert load(tmp_path / every["owners"][1]).data.split == (studies.RECORDS,) * studies.OWNERS
    assert read_study(tmp_path / every["cells"][1]).study.n_cells == 1000
    monkeypatch.setattr(studies, "SECONDS", {"help": 0.001})
    monkeypatch.setattr(studies, "MARKETS", 2)
    monkeypatch.setattr(studies, "OWNERS", 4)
    few = studies.CELLS.replace("points = 40", "points = 2").replace("points = 25", "points = 2")
    monkeypatch.setattr(studies, "CELLS", few)
    quick = "[set]\nlearning.clip = 4.0\nmarket.starts = 1\n"
    monkeypatch.setattr(studies, "APART", studies.APART + quick)
    monkeypatch.setattr(studies, "TURNS", 1)
    assert studies.main() == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith("targets: missed in --help")


def test_other_solvers_are_given_the_game_that_dpmarket_solves():
    """By hand A sells 8/3 and B 4/3; payoffs on the grid are those of its profiles."""
    other = import_module("benchmarks.other_solvers")
    hospitals = other.make_hospitals()
    for act in (other.solve_here, other.solve_in_turn):
        for found in act(hospitals):
            np.testing.assert_allclose(found, [8 / 3, 4 / 3], rtol=1e-5)
    budgets, payoffs = other.grid_payoffs(hospitals.game)
    for place in ((40, 7), (3, 200)):
        profile = budgets[[0, 1], place]
        np.testing.assert_allclose(payoffs[(..., *place)], hospitals.game.payoffs(profile))
        found = [hospitals.surplus(profile, owner) for owner in (0, 1)]
        np.testing.assert_allclose(found, hospitals.game.payoffs(profile))


def test_martfl_leaves_the_low_group_out():
    """By hand: three alike share, the stray one has nothing; scores within 0.05 are one group."""
    other = import_module("benchmarks.market_rules")
    rng = np.random.default_rng(0)
    found = other.weigh_updates(np.array([0.9, 0.91, 0.92, 0.1]), rng=rng)
    np.testing.assert_allclose(found, [1 / 3, 1 / 3, 1 / 3, 0])
    grouped, error = other.group_scores(np.array([5.0, 1.0, 2.0, 9.0]), 3)
    assert grouped.tolist() == [1, 0, 0, 2] and error == pytest.approx(0.5)


def test_daved_puts_weight_where_queries_are():
    """By hand: min of 9/w1 + 1/w2 with w1 + w2 = 1 is at weights of 3 to 1."""
    other = import_module("benchmarks.market_rules")
    found = other.design_weights(np.eye(2), np.array([[3.0, 1.0]]), np.ones(2))
    np.testing.assert_allclose(found, [0.75, 0.25], atol=1e-3)
    bought = other.buy_in_order(np.array([2, 0, 1]), np.array([1.0, 3.0, 2.0]), 3.0)
    assert bought.tolist() == [2, 0]


def test_a_wasserstein_market_leaves_a_distant_owner_out():
    """By hand: bounds are 1 alone, 0.71 for the first two, 1.41 for all; a budget of 1 buys one."""
    other = import_module("benchmarks.market_rules")
    distance = np.array([1.0, 1.0, 4.0])
    for budget, chosen in ((3.0, [True, True, False]), (1.0, [True, False, False])):
        assert other.choose_owners(distance, np.ones(3), budget).tolist() == chosen
    assert not other.choose_owners(distance, np.ones(3), 0.5).any()


@pytest.mark.slow
def test_values_of_raw_records_are_those_of_all_orders_and_of_pydvl():
    trades = import_module("benchmarks.market_trades")
    market = trades.open_market(1, "three insurers")
    fitness = market.check.fitness.value

    def cost(owners):
        parts = [market.rows.owners[k] for k in owners]
        x, y = (np.concatenate(part) for part in zip(*parts, strict=True))
        return fitness(np.linalg.lstsq(x, y, rcond=None)[0])

    values = np.zeros(3)
    for order in permutations(range(3)):
        before = fitness(market.own)
        for place, owner in enumerate(order):
            after = cost(order[: place + 1])
            values[owner] += (before - after) / 6
            before = after
    shapley, left_out = trades.value_records(market)
    np.testing.assert_allclose(shapley, values, rtol=1e-9)
    assert left_out[0] == pytest.approx(cost([1, 2]) - cost([0, 1, 2]))
    if find_spec("pydvl"):
        theirs = import_module("benchmarks.other_markets").value_by_pydvl(market)
        np.testing.assert_allclose(theirs["exact"][1], shapley, rtol=1e-9)
