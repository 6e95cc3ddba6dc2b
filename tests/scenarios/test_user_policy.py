"""Policies from a user's file: run only when allowed, and every fault of theirs one line."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from commands import SCENARIO
from markets import market
from quick import shared_plans
from toys import LinearLaw

from learning.errors import InputError
from market.costs.functions import Linear
from market.equilibrium.solver import solve
from market.policies.proportional import Proportional
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.user_policy import UserPolicy, check_policy

__all__ = ["shared_plans"]  # a fixture of every test

PROPORTIONAL = 'kind = "proportional"\nbudget = 10.0\n'
GOOD = """
def payments(epsilon, game, budget=10.0):
    sold = epsilon * game.owners.sizes
    return budget * sold / max(sold.sum(), 1e-300)
"""
USER = 'kind = "user"\nfile = "mine.py"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A scenario with a small table and a policy file; returns a writer of both."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=140)
    rows = [f"{a:.6g},{b:.6g}" for a, b in zip(x, x + rng.normal(size=140), strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]) + "\n")

    def write(code=GOOD, policy=USER):
        (tmp_path / "mine.py").write_text(code)
        scenario = SCENARIO.replace("price = 1.0", "price = [1.0, 2.0]").replace(
            PROPORTIONAL, policy + "\n"
        )
        (tmp_path / "s.toml").write_text(scenario.replace("{table}", "t.csv"))
        return tmp_path / "s.toml"

    return write


@pytest.mark.slow
def test_a_written_policy_settles_like_the_one_it_writes_down(folder):
    """Second route: the built-in proportional policy, whose equilibrium it must share."""
    mine = run(load(folder(), allow_code=True), training=False)
    built = run(load(folder(policy=PROPORTIONAL)), training=False)
    assert mine["equilibrium"]["converged"] and built["equilibrium"]["converged"]
    for one, two in zip(mine["owners"], built["owners"], strict=True):
        assert one["epsilon"] == pytest.approx(two["epsilon"], rel=1e-6)
        assert one["payment"] == pytest.approx(two["payment"], rel=1e-6)
    assert built["code"] is None
    assert mine["code"]["sha256"] == hashlib.sha256(GOOD.encode()).hexdigest()


def test_parameters_reach_the_function(folder):
    doubled = load(folder(policy=USER + "[policy.parameters]\nbudget = 20.0\n"), allow_code=True)
    assert sum(o["payment"] for o in run(doubled, training=False)["owners"]) == pytest.approx(20)
    changed = load("s.toml", ["policy.parameters.budget=5.0"], allow_code=True)
    assert sum(o["payment"] for o in run(changed, training=False)["owners"]) == pytest.approx(5)


@pytest.mark.slow
def test_code_is_not_run_unless_allowed(folder, dpmarket, tmp_path):
    """Refused before any record is read, with one line; nothing of the file has run, and the file cannot allow itself."""
    scenario = folder(code="open('ran', 'w').close()\n" + GOOD)
    status, out, err = dpmarket("run", scenario, "--no-train", "--out", "r")
    assert status == 2 and out == "" and err.count("\n") == 1
    assert "policy.kind: code from a file is run only with --allow-code" in err and "mine.py" in err
    assert not (tmp_path / "ran").exists() and not (tmp_path / "r").exists()
    assert dpmarket("check", scenario) == (2, "", err)  # what a run would refuse
    assert dpmarket("forecast", scenario, "--epsilon", "1")[0] == 0  # needs no policy
    assert not (tmp_path / "ran").exists()
    for key in ("allow_code=true", "policy.allow_code=true"):
        with pytest.raises(InputError, match="is not a known key"):
            load(scenario, [key])
    status, out, err = dpmarket("run", scenario, "--no-train", "--out", "r", "--allow-code")
    assert status == 0 and (tmp_path / "ran").exists() and not list(tmp_path.glob("**/__pycache__"))


def test_the_refusal_comes_first(folder):
    """A table that is not there is found out only after that."""
    with pytest.raises(
        InputError, match="policy.kind: code from a file is run only with --allow-code"
    ):
        run(load(folder(), ["data.path=none.csv"]), training=False)
    with pytest.raises(InputError, match="none.csv"):
        run(load(folder(), ["data.path=none.csv"], allow_code=True), training=False)


@pytest.mark.slow
def test_a_result_runs_again_from_anywhere(folder, dpmarket, monkeypatch, tmp_path):
    folder()
    arguments = ["--no-train", "--allow-code", "--out"]
    assert dpmarket("run", "s.toml", *arguments, "r")[0] == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert dpmarket("run", tmp_path / "r" / "scenario.toml", *arguments, "again")[0] == 0
    first, second = (
        json.loads((at / "result.json").read_text()) for at in (tmp_path / "r", elsewhere / "again")
    )
    assert first["owners"] == second["owners"] and first["code"] == second["code"]
    words = (tmp_path / "r" / "report.html").read_text()
    assert "a function of the user" in words and "payments in" in words


def test_a_file_given_on_the_command_line_is_meant_from_there(folder, monkeypatch, tmp_path):
    scenario = folder()
    there = tmp_path / "there"
    there.mkdir()
    (there / "other.py").write_text(GOOD.replace("budget=10.0", "budget=3.0"))
    monkeypatch.chdir(there)
    result = run(load(scenario, ["policy.file=other.py"], allow_code=True), training=False)
    assert sum(o["payment"] for o in result["owners"]) == pytest.approx(3)


PAY = "def payments(epsilon, game):\n    return "


@pytest.mark.parametrize(
    ("code", "policy", "message"),
    [
        (
            "def payments(:",
            USER,
            "policy.file: mine.py must be Python that runs; found SyntaxError in line 1: ",
        ),
        (
            "1 / 0",
            USER,
            "policy.file: mine.py must be Python that runs; found ZeroDivisionError: division by zero",
        ),
        (
            "raise SystemExit(0)",
            USER,
            "policy.file: mine.py must be Python that runs; found SystemExit",
        ),
        (
            GOOD,
            USER + 'function = "payment"',
            'policy.function: must be a function .*; found payment. Did you mean "pay',
        ),
        (
            GOOD,
            USER + "[policy.parameters]\nbugdet = 3",
            "policy.function: payments.* must take .*; found .*'bugdet'",
        ),
        (
            "def payments(epsilon):\n    return epsilon",
            USER,
            "policy.function: payments.epsilon. must take",
        ),
        (
            PAY + "epsilon[:1]",
            USER,
            "policy.file: .* must return one number per owner, 2; found an array of shape",
        ),
        (
            PAY + "epsilon / 0",
            USER,
            "policy.file: .* must return finite numbers; found inf at epsilon = ",
        ),
        (
            PAY + "game.nothing",
            USER,
            "policy.file: payments in mine.py must not fail; found AttributeError: ",
        ),
        (
            PAY + "game.payments(epsilon)",
            USER,
            "policy.file: .* must not fail; found RecursionError",
        ),
        (PAY + "['a', 'b']", USER, "policy.file: .* must not fail; found ValueError"),
        (
            "import random\n" + PAY + "epsilon * random.random()",
            USER,
            "must pay the same for the same budgets",
        ),
    ],
)
def test_faults_of_the_code_are_one_line(folder, code, policy, message):
    scenario = load(folder(code, policy), allow_code=True)
    with pytest.raises(InputError, match=message) as caught:
        run(scenario, training=False)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(folder):
    scenario = load(folder(), ["policy.file=none.py"], allow_code=True)
    with pytest.raises(
        InputError,
        match="policy.file: must be a readable Python file; found .*none.py: No such file",
    ):
        run(scenario, training=False)


@pytest.mark.parametrize("given", ["3", "[1]", "{rate = {a = 1}}", "{rate = ['a']}", '{"a b" = 1}'])
def test_parameters_that_cannot_be(folder, given):
    with pytest.raises(InputError, match="policy.parameters: must be a"):
        load(folder(policy=USER + f"parameters = {given}\n"))


def test_the_function_cannot_move_the_market():
    """It is given a copy of the profile; its payments are the policy's, and a game under it is certified."""

    def greedy(epsilon, game, budget):
        sold = epsilon.copy()
        epsilon[:] = 0
        return budget * sold / max(sold.sum(), 1e-300)

    costs = Linear([1.0, 2.0, 3.0])
    game = market(
        costs,
        UserPolicy(greedy, {"budget": 12.0}),
        3,
        low=0.0,
        forecast=LinearLaw(1, 0.1, 0.1),
        value=1.0,
    )
    profile = np.array([1.0, 2.0, 3.0])
    assert np.allclose(game.payments(profile), 12 * profile / 6) and profile.tolist() == [
        1.0,
        2.0,
        3.0,
    ]
    found = solve(game, rng=np.random.default_rng(0), starts=1)
    built = solve(
        market(costs, Proportional(12.0, "epsilon"), 3, low=0.0),
        rng=np.random.default_rng(0),
        starts=1,
    )
    assert found.converged and np.allclose(found.epsilon, built.epsilon, atol=1e-6)
    check_policy(game.policy, game)
