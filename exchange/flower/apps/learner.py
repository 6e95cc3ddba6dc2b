"""Flower's ServerApp at the learner: carries the exchange's folder.

``--run-config 'folder="…"'`` names the folder; it holds contract.json, and ``dpmarket collect
--follow`` works in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from exchange.contract import read_contract
from exchange.flower.relay import Relay, Reply, Settings, run_relay
from exchange.folder import CONTRACT
from learning.errors import InputError

app = ServerApp()


@dataclass(frozen=True)
class GridPost:
    """Messages by Flower's grid."""

    grid: Grid

    def list_nodes(self) -> Mapping[int, str]:
        """List the nodes that are there."""
        return {node.node_id: node.name for node in self.grid.get_nodes()}

    def send_message(
        self, node: int, kind: str, content: Mapping[str, bytes | str | float], seconds: float
    ) -> str:
        """Send a message; gives its number, or empty."""
        message = Message(
            RecordDict({"asked": ConfigRecord(dict(content))}), node, kind, ttl=seconds
        )
        return next(iter(self.grid.push_messages([message])), None) or ""

    def take_replies(self, sent: Iterable[str]) -> list[Reply]:
        """Take replies, by the message of each: an error's sender is not the node."""
        names = list(sent)
        return [_read_reply(message) for message in self.grid.pull_messages(names)] if names else []


def _read_reply(message: Message) -> Reply:
    """Read a reply; one of another form counts as a failure."""
    to = message.metadata.reply_to_message_id
    if message.has_error():
        return Reply(to, "unreachable")
    try:
        told = message.content["told"]
        code = told["code"]
        owner = told.get("owner", "")
        answer = told.get("answer", b"")
    except (KeyError, TypeError):
        return Reply(to, "failed")
    good = isinstance(code, str) and isinstance(owner, str) and isinstance(answer, bytes)
    if not good:
        return Reply(to, "failed")
    return Reply(to, code, owner, answer)


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry the folder until the model is there."""
    given = context.run_config
    folder = Path(str(given["folder"]))
    settings = Settings(*(float(given[key]) for key in ("wait", "rest", "farewell")))
    try:
        relay = Relay(
            folder, read_contract(folder / CONTRACT), GridPost(grid), settings, say=_print_line
        )
        run_relay(relay)
    except InputError as error:
        _print_line(str(error))
        raise SystemExit(2) from None


def _print_line(line: str) -> None:
    print("dpmarket:", line, flush=True)
