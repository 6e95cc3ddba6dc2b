"""Flower's ClientApp at an owner: mailbox and messages, nothing more.

``--node-config 'owner="…" mailbox="…"'`` says whose node it is, and where its mailbox is. Whatever happens, the reply is one
of the fixed codes: Flower would send the text of an exception to the learner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from scenarios.exchange.flower.mailbox import agreed, awaited, finished

LONGEST_WAIT = 600.0  # seconds, whatever the learner asks

app = ClientApp()
Told = Mapping[str, str | bytes]


@app.query("name")
def name(message: Message, context: Context) -> Message:
    """Whose node this is, and whether its owner has the same contract."""
    return _reply(
        message,
        context,
        lambda mailbox, owner, asked: {"code": agreed(mailbox, str(asked["contract"])), "owner": owner},
    )


@app.train("answer")
def answer(message: Message, context: Context) -> Message:
    """The answer to a question, if the owner's program gives one in time."""
    return _reply(message, context, _answered)


@app.train("model")
def model(message: Message, context: Context) -> Message:
    """Take the model."""
    return _reply(message, context, _over)


def _answered(mailbox: Path, owner: str, asked: ConfigRecord) -> Told:
    seconds = min(max(float(asked["wait"]), 0.0), LONGEST_WAIT)
    code, raw = awaited(mailbox, owner, bytes(asked["query"]), seconds)
    return {"code": code, "answer": raw}


def _over(mailbox: Path, owner: str, asked: ConfigRecord) -> Told:
    model, closing = bytes(asked["model"]), bytes(asked.get("closing", b""))
    return {"code": finished(mailbox, str(asked["contract"]), model, closing)}


def _reply(message: Message, context: Context, made: Callable[[Path, str, ConfigRecord], Told]) -> Message:
    try:
        settings = context.node_config
        told = made(Path(str(settings["mailbox"])), str(settings["owner"]), message.content["asked"])
    except Exception:  # no text of an error leaves
        told = {"code": "failed"}
    return Message(RecordDict({"told": ConfigRecord(dict(told))}), reply_to=message)
