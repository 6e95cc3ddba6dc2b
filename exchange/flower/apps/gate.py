"""The budget gate around any ClientApp: what is sent back is noised, fixed, or a refusal.

A reply is decided by the message, by noise and by a clipped update, and by nothing else that the
app does: an app that fails, answers in another shape or with NaN has an update of zeros, which gets
the same noise and costs the same. Refusals depend on the message and the ledger alone. Records,
metrics, names, numbers of examples and texts of the app's reply stay here.

The gate is no sandbox: the app runs in this process, and code written to attack it can go around
the gate. Against such code the operator must read the app, or run it without a network.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array as Tensor
from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.client_app import LoadClientAppError
from flwr.common.constant import ErrorCode

from exchange.flower.gate import LARGEST, Gate, read_gate
from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.ledger import BudgetExceeded

App = Callable[[Message, Context], Message]
Mod = Callable[[Message, Context, App], Message]
OLD_SENT = "fitins.parameters"  # the record of parameters in messages to a NumPyClient
WEIGHT = "num-examples"  # by which FedAvg weighs replies


@dataclass(frozen=True)
class Sent:
    """Arrays of a training message, by name; those of whole numbers are returned as they came."""

    record: str
    arrays: dict[str, np.ndarray]

    @property
    def trained(self) -> list[str]:
        """Names of the arrays of floating-point numbers, in their order."""
        return [name for name, array in self.arrays.items() if array.dtype.kind == "f"]

    @property
    def flat(self) -> Array:
        """The trained arrays in one vector."""
        return _flatten([self.arrays[name] for name in self.trained])


def budget_gate(**settings: Any) -> Mod:
    """Make a client mod that lets clipped and noised updates out, until the budget is spent.

    ``ClientApp(mods=[budget_gate(ledger=..., ...)])``, first of the mods; `GatedApp` puts it around
    an app that is given.

    Parameters
    ----------
    settings: the fields of `exchange.flower.gate.Gate`; its account must be open.

    Raises an InputError if they are out of range.
    """
    return make_mod(Gate(**settings))


def make_mod(gate: Gate) -> Mod:
    """Make the client mod of a gate."""
    gate.cover_update(np.zeros(1))  # loads the sampler before anything of the app

    def answer_message(message: Message, context: Context, call_next: App) -> Message:
        return _answer(gate, message, context, call_next)

    return answer_message


def _answer(gate: Gate, message: Message, context: Context, call_next: App) -> Message:
    """Charge, train, clip, add noise; or refuse in one line."""
    asked = deepcopy(message)  # the app may write into its own
    if message.metadata.message_type.partition(".")[0] != "train":
        return _refuse(message, "only training is answered; evaluation and queries are not")
    sent = read_sent(message)
    if sent is None:
        rule = f"one record of 1 to {LARGEST:,} finite floating-point numbers must be sent"
        return _refuse(message, rule)
    try:
        gate.charge_update(f"run {message.metadata.run_id}")
    except BudgetExceeded:
        spent = f"the budget of epsilon {gate.epsilon:g} is spent, all {gate.rounds} updates of it"
        return _refuse(message, spent)
    except InputError as error:
        print("dpmarket:", error, file=sys.stderr)
        return _refuse(message, "the ledger cannot be charged; the node's operator knows why")
    update = np.zeros(len(sent.flat))
    with suppress(BaseException):  # an exception could depend on a record
        update = read_update(call_next(asked, context), sent)
    return Message(make_content(sent, gate.cover_update(update)), reply_to=message)


def _refuse(message: Message, why: str) -> Message:
    error = Error(ErrorCode.MOD_FAILED_PRECONDITION, f"budget gate: {why}")
    return Message(error, reply_to=message)


def read_sent(message: Message) -> Sent | None:
    """Read what was sent; None unless it is one record of finite numbers that can be noised."""
    try:
        ((name, record),) = message.content.array_records.items()
        if sum(len(array.data) for array in record.values()) > 20 * LARGEST:
            return None
        arrays = {key: np.array(array.numpy()) for key, array in record.items()}
    except Exception:
        return None
    sent = Sent(str(name), arrays)
    plain = all(array.dtype.kind in "biuf" and array.itemsize <= 8 for array in arrays.values())
    fits = plain and 0 < len(sent.flat) <= LARGEST and np.isfinite(sent.flat).all()
    return sent if fits else None


def read_update(reply: Message, sent: Sent) -> Array:
    """Subtract what was sent from a reply, (p,); an error if their arrays differ in kind."""
    (record,) = reply.content.array_records.values()
    if list(record) != list(sent.arrays):
        raise ValueError("other arrays")
    replied = [record[name].numpy() for name in sent.trained]
    for array, name in zip(replied, sent.trained, strict=True):
        if array.dtype.kind not in "biuf" or array.shape != sent.arrays[name].shape:
            raise ValueError("another shape")
    return _flatten(replied) - sent.flat


def make_content(sent: Sent, update: Array) -> RecordDict:
    """Make the content of a reply: what was sent plus an update, and fixed records beside it."""
    moved = sent.flat + update
    arrays = dict(sent.arrays)
    for name in sent.trained:
        like = sent.arrays[name]
        part = moved[: like.size]
        moved = moved[like.size :]
        with np.errstate(over="ignore"):
            arrays[name] = part.reshape(like.shape).astype(like.dtype)
    record = ArrayRecord({name: Tensor(array) for name, array in arrays.items()})
    if sent.record != OLD_SENT:
        return RecordDict({sent.record: record, "metrics": MetricRecord({WEIGHT: 1})})
    return RecordDict(
        {
            "fitres.parameters": record,
            "fitres.num_examples": MetricRecord({"num_examples": 1}),
            "fitres.metrics": ConfigRecord(),
            "fitres.status": ConfigRecord({"code": 0, "message": ""}),
        }
    )


def _flatten(arrays: list[np.ndarray]) -> Array:
    return np.concatenate([np.ravel(array).astype(float) for array in arrays] or [np.empty(0)])


class GatedApp(ClientApp):
    """An unchanged app behind a gate, its mods and what it does at start and end included."""

    def __init__(self, app: ClientApp, gate: Mod) -> None:
        super().__init__()
        self._app = app
        self._gate = gate

    def __call__(self, message: Message, context: Context) -> Message:
        return self._gate(message, context, self._app)


def run_gated_clientapp(settings: str) -> None:
    """Run Flower's own program for one message, with the gate around whatever app it loads."""
    from flwr.supernode.cli.flwr_clientapp import flwr_clientapp
    from flwr.supernode.runtime import run_clientapp

    try:
        gate = make_mod(read_gate(Path(settings)))
    except InputError as error:
        sys.exit(f"dpmarket: {error}")
    find_loader = run_clientapp.get_load_client_app_fn

    def find_gated(*arguments: Any, **named: Any) -> Callable[..., ClientApp]:
        load = find_loader(*arguments, **named)

        def load_gated(*which: str) -> ClientApp:
            try:
                return GatedApp(load(*which), gate)
            except BaseException:  # whose text would be sent
                raise LoadClientAppError("the app could not be loaded") from None

        return load_gated

    run_clientapp.get_load_client_app_fn = find_gated
    flwr_clientapp()
