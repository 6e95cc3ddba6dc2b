"""The budget gate around apps of others: its noise, its sensitivity, its account, its refusals."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats

pytest.importorskip(
    "flwr", reason="Flower is not installed: the extra federated brings it (make federated)"
)

import logging  # noqa: E402

from flwr.app import (  # noqa: E402
    Array,
    ArrayRecord,
    ConfigRecord,
    Context,
    Message,
    MetricRecord,
    RecordDict,
)
from flwr.client import NumPyClient  # noqa: E402
from flwr.clientapp import ClientApp  # noqa: E402
from flwr.serverapp import Grid  # noqa: E402
from flwr.serverapp.strategy import FedAvg  # noqa: E402
from flwr.supercore.task_identity import TaskIdentity  # noqa: E402

from exchange.flower.apps.gate import GatedApp, budget_gate  # noqa: E402
from exchange.flower.gate import Gate, clip_update, main, read_gate  # noqa: E402
from learning.errors import InputError  # noqa: E402
from learning.privacy.ledger_file import LedgerFile  # noqa: E402
from learning.privacy.secure_noise import measurement  # noqa: E402

EPSILON = 2.0
DELTA = 1e-6
ROUNDS = 3
CLIPPING = 0.7


@pytest.fixture(autouse=True)
def _within_a_run(monkeypatch):
    """Messages are made within a run, which Flower's own programs set."""
    for part in ("run_id", "node_id", "task_id"):
        monkeypatch.setattr(TaskIdentity, f"_{part}", 1)


@pytest.fixture
def terms(tmp_path):
    given = {"owner": "North", "ledger": str(tmp_path / "gate.ledger"), "epsilon": EPSILON}
    given |= {"delta": DELTA, "rounds": ROUNDS, "clipping_norm": CLIPPING}
    Gate(**given).open_account()
    return given


def context(**settings):
    given = {"node_config": settings, "run_config": {}}
    return Context(run_id=1, node_id=0, state=RecordDict(), **given)


def asked(arrays, kind="train"):
    record = ArrayRecord({name: Array(array) for name, array in arrays.items()})
    return Message(RecordDict({"arrays": record, "config": ConfigRecord({"lr": 0.1})}), 5, kind)


def replying(change):
    """An app whose reply is what ``change`` makes of the numpy arrays that were sent."""
    app = ClientApp()

    @app.train()
    def train(message, context):
        sent = {name: array.numpy() for name, array in message.content["arrays"].items()}
        record = ArrayRecord({name: Array(array) for name, array in change(sent).items()})
        told = MetricRecord({"num-examples": 4711, "loss": 41.7})
        content = {"arrays": record, "metrics": told, "secret": ConfigRecord({"row": "41.7"})}
        return Message(RecordDict(content), reply_to=message)

    return app


def answered(terms):
    (account,) = LedgerFile(terms["ledger"]).accounts
    return account.answered


def first_update(terms, app, arrays):
    reply = GatedApp(app, budget_gate(**terms))(asked(arrays), context())
    assert not reply.has_error(), reply.error
    return {n: a.numpy() - arrays[n] for n, a in reply.content["arrays"].items()}


# The law of noise, the sensitivity, the account, the refusal


def test_noise_has_the_deviation_that_the_budget_buys_and_no_coordinate_knows_another(terms):
    sent = {"w": np.full((40, 50), 3.0), "b": np.zeros(500)}
    found = first_update(terms, replying(lambda arrays: arrays), sent)
    noise = np.concatenate([found["w"].ravel(), found["b"]])
    # by Balle and Wang's and Bun and Steinke's formulas, not by the program's
    rho = (np.sqrt(EPSILON + np.log(1 / DELTA)) - np.sqrt(np.log(1 / DELTA))) ** 2
    deviation = 2 * CLIPPING / np.sqrt(2 * rho / ROUNDS)
    assert scipy.stats.kstest(noise / deviation, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 5 / np.sqrt(len(noise))


WILD = (1e308, -1e308, 1e200, -1e154, np.inf, -np.inf, np.nan, 1e-308, 5e-324, 1.0, -0.3, 0.0)


def test_wild_updates_stay_within_the_sensitivity():
    rng = np.random.default_rng()
    gate = Gate("North", "none", EPSILON, DELTA, ROUNDS, CLIPPING)
    for _ in range(3000):
        pair = rng.choice(WILD, size=(2, rng.integers(1, 8)))
        pair = np.where(rng.random() < 0.5, pair, rng.normal(size=pair.shape))
        first, second = (clip_update(update, CLIPPING) for update in pair)
        assert np.linalg.norm(first - second) <= gate.sensitivity
    furthest = clip_update(np.array([5.0]), CLIPPING) - clip_update(np.array([-5.0]), CLIPPING)
    assert furthest[0] == pytest.approx(gate.sensitivity, rel=1e-9)
    for length in (0.4, 1.0, 1.01, 1.9, 5.0, 1e100):  # in clipping norms: the direction stays
        found = clip_update(np.array([0.6, -0.8]) * length * CLIPPING, CLIPPING)
        np.testing.assert_allclose(found, np.array([0.6, -0.8]) * min(length, 1.0) * CLIPPING)


def test_an_update_is_clipped_over_all_arrays_together(terms):
    loose = terms | {"epsilon": 1e12}
    loose["ledger"] += "2"
    Gate(**loose).open_account()
    sent = {"w": np.ones(3), "b": np.zeros(1)}
    found = first_update(loose, replying(lambda a: {"w": a["w"] + 30, "b": a["b"] - 30}), sent)
    np.testing.assert_allclose(found["w"], CLIPPING / 2, atol=1e-4)
    np.testing.assert_allclose(found["b"], -CLIPPING / 2, atol=1e-4)


def test_the_account_is_the_budget_by_the_sampler_and_by_another_accountant(terms):
    gate = Gate(**terms)
    (account,) = LedgerFile(terms["ledger"]).accounts
    budget = account.budget
    assert (budget.epsilon, budget.delta, budget.horizon) == (EPSILON, DELTA, ROUNDS)
    rho = ROUNDS * measurement(gate.scale, 2).map(gate.sensitivity)
    assert rho + 2 * np.sqrt(rho * np.log(1 / DELTA)) == pytest.approx(EPSILON, rel=1e-9)
    accounting = pytest.importorskip("dp_accounting")
    accountant = accounting.rdp.RdpAccountant(orders=list(np.geomspace(1.01, 1e4, 4000)))
    event = accounting.GaussianDpEvent(gate.scale / gate.sensitivity)
    accountant.compose(event, ROUNDS)
    other = accountant.get_epsilon(DELTA)
    assert 0.7 * EPSILON < other < EPSILON  # Renyi orders convert more tightly


def test_past_its_budget_the_node_refuses_in_one_line_even_after_a_restart(terms):
    trained = []
    app = replying(lambda arrays: trained.append(1) or arrays)
    for k in range(ROUNDS + 2):
        reply = GatedApp(app, budget_gate(**terms))(asked({"w": np.zeros(2)}), context())
        assert reply.has_error() == (k >= ROUNDS)
        assert answered(terms) == min(k + 1, ROUNDS)
    said = reply.error.reason
    assert said == "budget gate: the budget of epsilon 2 is spent, all 3 updates of it"
    assert len(trained) == ROUNDS


def test_rivals_with_one_ledger_share_its_budget(terms):
    app = GatedApp(replying(lambda arrays: arrays), budget_gate(**terms))
    again = GatedApp(replying(lambda arrays: arrays), budget_gate(**terms))
    message = asked({"w": np.zeros(2)})
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda k: (app, again)[k % 2](message, context()), range(12)))
    assert sum(not reply.has_error() for reply in replies) == ROUNDS == answered(terms)


# What an app may do, and what of it is seen


def scream(arrays):
    raise RuntimeError("a record, 41.7")


def overwrite(arrays):
    for array in arrays.values():
        array[...] = 41.7e6
    return arrays


HOSTILE = {
    "raises": scream,
    "exits": lambda arrays: sys.exit("41.7"),
    "writes over what was sent": overwrite,
    "nan": lambda arrays: {name: array * np.nan for name, array in arrays.items()},
    "inf": lambda arrays: {name: array + np.inf for name, array in arrays.items()},
    "adds an array": lambda arrays: arrays | {"row": np.full(3, 4.17e6)},
    "leaves one out": lambda arrays: {"w": arrays["w"] + 4.17e6},
    "renames": lambda arrays: {f"41.7 {name}": array for name, array in arrays.items()},
    "reshapes": lambda arrays: {name: np.full(7, 4.17e6) for name in arrays},
    "integers": lambda arrays: {n: np.full(a.shape, 4170000) for n, a in arrays.items()},
    "texts": lambda arrays: {n: np.full(a.shape, "41.7") for n, a in arrays.items()},
    "objects": lambda arrays: {n: np.full(a.shape, None) for n, a in arrays.items()},
    "huge": lambda arrays: {n: np.zeros(10**6) + 4.17e6 for n in arrays},
}


@pytest.mark.parametrize("how", HOSTILE)
def test_whatever_an_app_replies_what_is_sent_has_one_form_and_costs_the_same(terms, how):
    sent = {"w": np.ones((3, 2), np.float32), "n": np.array(7), "b": np.zeros(2)}
    app = GatedApp(replying(HOSTILE[how]), budget_gate(**terms))
    reply = app(asked(sent), context())
    assert not reply.has_error() and answered(terms) == 1
    assert list(reply.content) == ["arrays", "metrics"]
    assert dict(reply.content["metrics"]) == {"num-examples": 1}
    found = {name: array.numpy() for name, array in reply.content["arrays"].items()}
    assert list(found) == list(sent)
    assert found["n"] == 7
    for name, array in found.items():
        assert (array.shape, array.dtype) == (sent[name].shape, sent[name].dtype)
    trained = np.concatenate([found["w"].ravel() - 1, found["b"]])
    assert np.isfinite(trained).all() and 0 < np.abs(trained).max() < 10 * Gate(**terms).scale


def test_an_app_that_writes_into_its_message_changes_nothing_of_the_reply(terms):
    def scribble(message, context):
        message.metadata.__dict__.update(_group_id="41.7", _message_id="41.7", _src_node_id=417)
        message.content["row"] = ConfigRecord({"row": "41.7"})
        return Message(message.content, reply_to=message)

    app = ClientApp()
    app.train()(scribble)
    reply = GatedApp(app, budget_gate(**terms))(asked({"w": np.zeros(2)}), context())
    assert "41" not in f"{reply.metadata.group_id} {reply.metadata.reply_to_message_id}"
    assert reply.metadata.dst_node_id != 417 and list(reply.content) == ["arrays", "metrics"]


@pytest.mark.parametrize(
    "kind", ["evaluate", "query", "query.x", "get_properties", "get_parameters", "evaluate.x"]
)
def test_other_messages_are_refused_before_the_app_sees_them(terms, kind):
    app = GatedApp(ClientApp(client_fn=scream), budget_gate(**terms))
    reply = app(asked({"w": np.zeros(2)}, kind), context())
    assert reply.error.reason.startswith("budget gate: only training is answered")
    assert answered(terms) == 0


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"n": np.array([1, 2])},
        {"w": np.array([np.nan])},
        {"w": np.array(["a"])},
        {"w": np.zeros(100_001)},
        {"w": np.zeros(0)},
        {"w": np.zeros(2, complex)},
    ],
)
def test_messages_that_cannot_be_noised_are_refused_and_cost_nothing(terms, arrays):
    reply = GatedApp(replying(scream), budget_gate(**terms))(asked(arrays), context())
    assert reply.error.reason.startswith("budget gate: one record of 1 to 100,000 finite")
    assert answered(terms) == 0


def test_without_its_ledger_nothing_is_answered_and_no_path_is_told(terms, tmp_path, capsys):
    app = GatedApp(replying(lambda arrays: arrays), budget_gate(**terms))
    (tmp_path / "gate.ledger").write_text("no ledger\n")
    reason = app(asked({"w": np.zeros(2)}), context()).error.reason
    assert "the ledger cannot be charged" in reason and str(tmp_path) not in reason
    assert "gate.ledger" in capsys.readouterr().err


def test_a_kill_between_charge_and_reply_costs_budget_and_gives_nothing(terms):
    program = (
        "import os, sys; sys.path[:0] = ['tests/exchange/flower']; import numpy as np\n"
        "import test_gate as t\n"
        "for part in ('run_id', 'node_id', 'task_id'):\n"
        "    setattr(t.TaskIdentity, f'_{part}', 1)\n"
        f"app = t.GatedApp(t.replying(lambda a: os._exit(9)), t.budget_gate(**{terms!r}))\n"
        "app(t.asked({'w': np.zeros(2)}), t.context())\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 9
    assert answered(terms) == 1


def test_an_old_client_gets_the_same_gate(terms):
    from flwr.common import FitIns, ndarrays_to_parameters, parameters_to_ndarrays
    from flwr.compat.common.recorddict_compat import fitins_to_recorddict, recorddict_to_fitres

    class Old(NumPyClient):
        def fit(self, parameters, config):
            return [array + 1e6 for array in parameters], 4711, {"loss": 41.7}

    app = ClientApp(client_fn=lambda context: Old().to_client(), mods=[budget_gate(**terms)])
    asking = FitIns(ndarrays_to_parameters([np.zeros((2, 2)), np.zeros(3)]), {})
    message = Message(fitins_to_recorddict(asking, keep_input=True), 5, "train")
    result = recorddict_to_fitres(app(message, context()).content, keep_input=True)
    assert (result.num_examples, result.metrics, result.status.message) == (1, {}, "")
    found = parameters_to_ndarrays(result.parameters)
    assert [array.shape for array in found] == [(2, 2), (3,)]
    assert all(0 < np.abs(array).max() < 10 * Gate(**terms).scale for array in found)


# Terms, and a stock app


def test_terms_are_read_from_a_file_and_the_program_is_written(tmp_path, capsys):
    file = tmp_path / "gate.toml"
    file.write_text(
        'owner = "North"\nledger = "north.ledger"\nepsilon = 1.0\ndelta = 1e-6\n'
        "rounds = 10\nclipping_norm = 1.0\n"
    )
    for _ in range(2):  # again: the account stays as it is
        assert main([str(file), str(tmp_path / "bin")]) == 0
    assert "10 updates of 2-norm 1 get noise of" in capsys.readouterr().out
    assert read_gate(file).ledger == str(tmp_path / "north.ledger")
    assert (tmp_path / "bin" / "flwr-clientapp").stat().st_mode & 0o111
    file.write_text(file.read_text().replace("epsilon = 1.0", "epsilon = 2.0"))
    assert main([str(file), str(tmp_path / "bin")]) == 2
    assert "One account cannot hold answers at two prices" in capsys.readouterr().err


@pytest.mark.parametrize("key, value", [("epsilon", np.nan), ("delta", 0.1), ("rounds", 0)])
def test_terms_that_protect_nobody_are_refused(terms, key, value):
    with pytest.raises(InputError, match=f"gate.{key}"):
        budget_gate(**terms | {key: value})


def linear_app():
    """The client of Flower's quickstart, with a linear model in numpy."""
    app = ClientApp()

    @app.train()
    def train(message, context):
        weights, bias = message.content["arrays"].to_numpy_ndarrays()
        rng = np.random.default_rng(int(context.node_config["partition-id"]))
        x = rng.normal(size=(200, 3))
        y = x @ [1.0, -2.0, 0.5] + 0.3
        for _ in range(20):
            error = x @ weights + bias - y
            weights = weights - 0.1 * x.T @ error / len(x)
            bias = bias - 0.1 * error.mean()
        told = MetricRecord({"train_loss": float(np.mean(error**2)), "num-examples": len(x)})
        content = {"arrays": ArrayRecord([weights, bias]), "metrics": told}
        return Message(RecordDict(content), reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        told = MetricRecord({"eval_loss": 41.7, "num-examples": 200})
        return Message(RecordDict({"metrics": told}), reply_to=message)

    return app


class Here(Grid):
    """Nodes whose apps are called when a message is sent."""

    def __init__(self, apps):
        self.apps = apps
        self.seen = []

    run = property(lambda self: None)

    def set_run(self, run): ...

    def create_message(self, *parts, **more): ...

    def push_messages(self, messages): ...

    def pull_messages(self, message_ids): ...

    def get_node_ids(self):
        return list(self.apps)

    def send_and_receive(self, messages, *, timeout=None):
        found = []
        for message in messages:
            node = message.metadata.dst_node_id
            found.append(self.apps[node](message, context(**{"partition-id": node})))
        self.seen += found
        return found


def test_a_stock_app_trains_within_the_budget_of_three_nodes_and_no_further(
    terms, tmp_path, monkeypatch
):
    heard = []
    monkeypatch.setattr(
        logging.getLogger("flwr"), "handle", lambda record: heard.append(record.getMessage())
    )
    loose = terms | {"epsilon": 1e5, "clipping_norm": 5.0}
    apps = {}
    for node in (1, 2, 3):
        own = loose | {"ledger": str(tmp_path / f"{node}.ledger")}
        Gate(**own).open_account()
        apps[node] = GatedApp(linear_app(), budget_gate(**own))
    grid = Here(apps)
    start = ArrayRecord([np.zeros(3), np.zeros(1)])
    result = FedAvg(min_available_nodes=3).start(grid, start, num_rounds=ROUNDS + 1)
    weights, bias = result.arrays.to_numpy_ndarrays()
    np.testing.assert_allclose([*weights, *bias], [1.0, -2.0, 0.5, 0.3], atol=0.5)
    trained = [reply for reply in grid.seen if not reply.has_error()]
    assert len(trained) == 3 * ROUNDS
    assert {answered({"ledger": tmp_path / f"{node}.ledger"}) for node in apps} == {ROUNDS}
    said = "\n".join(heard)
    assert said.count("budget gate: the budget of epsilon 100000 is spent") == 3
    assert said.count("only training is answered") == 3 * (ROUNDS + 1)
    assert "41.7" not in said
