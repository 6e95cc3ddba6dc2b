"""A stock Flower app, unchanged, on three real nodes whose operators put a gate before it."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip(
    "flwr", reason="Flower is not installed: the extra federated brings it (make federated)"
)

from exchange.flower.gate import Gate, read_gate  # noqa: E402
from exchange.flower.loopback import (  # noqa: E402
    CONNECTION,
    HOST,
    Loopback,
    configure_link,
    end_programs,
    free_port,
    start_program,
    superlink_command,
    wait_for_link,
)
from learning.privacy.ledger_file import LedgerFile  # noqa: E402

pytestmark = pytest.mark.federated
PATIENCE = 300.0  # seconds
ROUNDS = 2  # of the budget; the app asks for one more
FILES = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "quickstart-numpy"
version = "1.0.0"
description = "A linear model, trained by federated averaging."
license = { file = "LICENSE" }
dependencies = ["flwr>=1.41,<1.42", "numpy"]

[tool.hatch.build.targets.wheel]
packages = ["."]

[tool.flwr.app]
publisher = "quickstart"
fab-format-version = 1
flwr-version-target = "1.41.0"

[tool.flwr.app.components]
serverapp = "stock.server_app:app"
clientapp = "stock.client_app:app"

[tool.flwr.app.config]
num-server-rounds = 3
""",
    "LICENSE": "Apache-2.0\n",
    "stock/__init__.py": "",
    "stock/client_app.py": """
import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.train()
def train(msg: Message, context: Context):
    weights = msg.content["arrays"].to_numpy_ndarrays()[0]
    rng = np.random.default_rng(context.node_config["partition-id"])
    x = rng.normal(size=(100, len(weights)))
    error = x @ weights - x[:, 0]
    model = weights - 0.5 * x.T @ error / len(x)
    metrics = MetricRecord({"train_loss": float(np.mean(error**2)), "num-examples": len(x)})
    content = RecordDict({"arrays": ArrayRecord([model]), "metrics": metrics})
    return Message(content=content, reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context):
    metrics = MetricRecord({"eval_loss": 41.7, "num-examples": 100})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)
""",
    "stock/server_app.py": """
import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    strategy = FedAvg(min_available_nodes=3, min_train_nodes=3, min_evaluate_nodes=3)
    rounds = context.run_config["num-server-rounds"]
    result = strategy.start(grid, ArrayRecord([np.zeros(1000)]), num_rounds=rounds)
    print("final", *result.arrays.to_numpy_ndarrays()[0])
""",
}


def test_a_stock_app_on_three_nodes_gets_noise_and_then_refusals(tmp_path):
    app = tmp_path / "app"
    for name, text in FILES.items():
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        (app / name).write_text(text.lstrip("\n"))
    at = Loopback(tmp_path / "flower", free_port())
    at.work.mkdir()
    link = at.start_program(superlink_command(at), "superlink")
    running = []
    try:
        wait_for_link(at, link)
        configure_link(at)
        for node in range(3):
            running.append(start_gated_node(at, tmp_path / f"node-{node}", node))
        command = ["flwr", "run", str(app), CONNECTION, "--stream"]
        run = at.start_program(command, "learner", "run")
        running.append(run)
        run.wait(PATIENCE)
    finally:
        end_programs(running)
        end_programs([link])
    said = (at.work / "run.log").read_text()
    assert said.count("budget gate: the budget of epsilon 50 is spent, all 2 updates of it") == 3
    assert said.count("budget gate: only training is answered") == 9 and "41.7" not in said
    for node in range(3):
        (account,) = LedgerFile(tmp_path / f"node-{node}" / "north.ledger").accounts
        assert (account.answered, account.budget.epsilon) == (ROUNDS, 50.0)
    check_noise(said, read_gate(tmp_path / "node-0" / "gate.toml"))


def start_gated_node(at: Loopback, folder, node):
    """Do what an operator does: terms, account, program, SuperNode."""
    folder.mkdir()
    (folder / "gate.toml").write_text(
        'owner = "North"\nledger = "north.ledger"\nepsilon = 50.0\ndelta = 1e-6\n'
        f"rounds = {ROUNDS}\nclipping_norm = 1.0\n"
    )
    command = [sys.executable, "-m", "exchange.flower.gate", "gate.toml", "bin"]
    subprocess.run(command, cwd=folder, check=True)
    environment = at.party_environment(f"node-{node}")
    environment["PATH"] = os.pathsep.join([str(folder / "bin"), environment["PATH"]])
    command = ["flower-supernode", "--superlink", at.address, "--host", HOST, "--insecure"]
    command += ["--port", str(free_port()), "--node-config", f"partition-id={node}"]
    return start_program(command, at.work / f"node-{node}.log", environment)


def check_noise(said: str, gate: Gate) -> None:
    """The mean model after two rounds has moved by clipped updates and noise of 6 replies/3."""
    words = said.partition("final ")[2].split()[:1000]
    model = np.array([float(word) for word in words])
    expected = gate.scale * np.sqrt(ROUNDS / 3)
    length = np.sqrt(ROUNDS**2 / len(model))  # of all updates together, at most
    assert abs(model.std() / expected - 1) < 5 / np.sqrt(2 * len(model)) + length / expected
