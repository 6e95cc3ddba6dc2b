"""Flower's ClientApp at an owner: mailbox and messages, nothing more.

``--node-config 'owner="…" mailbox="…"'`` names the owner of the node and the path of its mailbox.
The reply is always one of the fixed codes: Flower would send the text of an exception to the
learner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from exchange.flower.mailbox import await_answer, check_contract, deliver_model

LONGEST_WAIT = 600.0  # seconds, whatever the learner asks

app = ClientApp()
Told = Mapping[str, str | bytes]


@app.query("name")
def name(message: Message, context: Context) -> Message:
    """Name the owner of this node, and compare its contract."""
    return _make_reply(
        message,
        context,
        lambda mailbox, owner, asked: {
            "code": check_contract(mailbox, str(asked["contract"])),
            "owner": owner,
        },
    )


@app.train("answer")
def answer(message: Message, context: Context) -> Message:
    """Answer a question, if the owner's program does in time."""
    return _make_reply(message, context, _answer_question)


@app.train("model")
def model(message: Message, context: Context) -> Message:
    """Take the model."""
    return _make_reply(message, context, _take_model)


def _answer_question(mailbox: Path, owner: str, asked: ConfigRecord) -> Told:
    seconds = min(max(float(asked["wait"]), 0.0), LONGEST_WAIT)
    code, raw = await_answer(mailbox, owner, bytes(asked["query"]), seconds)
    return {"code": code, "answer": raw}


def _take_model(mailbox: Path, owner: str, asked: ConfigRecord) -> Told:
    model = bytes(asked["model"])
    closing = bytes(asked.get("closing", b""))
    return {"code": deliver_model(mailbox, str(asked["contract"]), model, closing)}


def _make_reply(
    message: Message, context: Context, made: Callable[[Path, str, ConfigRecord], Told]
) -> Message:
    try:
        settings = context.node_config
        told = made(
            Path(str(settings["mailbox"])), str(settings["owner"]), message.content["asked"]
        )
    except Exception:  # no text of an error leaves
        told = {"code": "failed"}
    return Message(RecordDict({"told": ConfigRecord(dict(told))}), reply_to=message)
