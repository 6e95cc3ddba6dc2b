"""Flower's ServerApp at the learner: carries the exchange's folder.

``--run-config 'folder="…"'`` names the folder; it holds contract.json, and ``dpmarket collect --follow`` works in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from learning.errors import InputError
from learning.exchange.contract import read_contract
from scenarios.exchange.flower.relay import Relay, Reply, Settings, run
from scenarios.exchange.folder import CONTRACT

app = ServerApp()


@dataclass(frozen=True)
class GridPost:
    """Messages by Flower's grid."""

    grid: Grid

    def nodes(self) -> Mapping[int, str]:
        """Nodes that are there."""
        return {node.node_id: node.name for node in self.grid.get_nodes()}

    def send(self, node: int, kind: str, content: Mapping[str, bytes | str | float], seconds: float) -> str:
        """Send a message; its number, or empty."""
        message = Message(RecordDict({"asked": ConfigRecord(dict(content))}), node, kind, ttl=seconds)
        return next(iter(self.grid.push_messages([message])), None) or ""

    def replies(self, sent: Iterable[str]) -> list[Reply]:
        """What has come back, by the message that it replies to: an error's sender is not the node."""
        names = list(sent)
        return [_read(message) for message in self.grid.pull_messages(names)] if names else []


def _read(message: Message) -> Reply:
    """A reply as the relay has it; what is not of its form counts as a failure."""
    to = message.metadata.reply_to_message_id
    if message.has_error():
        return Reply(to, "unreachable")
    try:
        told = message.content["told"]
        code, owner, answer = told["code"], told.get("owner", ""), told.get("answer", b"")
    except (KeyError, TypeError):
        return Reply(to, "failed")
    good = isinstance(code, str) and isinstance(owner, str) and isinstance(answer, bytes)
    return Reply(to, code, owner, answer) if good else Reply(to, "failed")


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry the folder until the model is there."""
    given = context.run_config
    folder = Path(str(given["folder"]))
    settings = Settings(*(float(given[key]) for key in ("wait", "rest", "farewell")))
    try:
        relay = Relay(folder, read_contract(folder / CONTRACT), GridPost(grid), settings, say=_say)
        run(relay)
    except InputError as error:
        _say(str(error))
        raise SystemExit(2) from None


def _say(line: str) -> None:
    print("dpmarket:", line, flush=True)
