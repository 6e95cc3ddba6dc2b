"""The learner's end: questions out of its folder to owners' nodes, answers back into it, until the model is there.

It keeps nothing of its own that matters: killed and started again, it looks at the folder and goes on. A question may be sent
to an owner many times; the owner's ledger sees to it that it is answered once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from learning.errors import InputError
from learning.exchange.canonical import put, read
from learning.exchange.contract import Contract
from learning.exchange.messages import LARGEST, Query, answer_of
from scenarios.exchange.flower.mailbox import CODES, fits
from scenarios.exchange.folder import CLOSING, MODEL, answer_name, latest_query

NAME, ANSWER, OVER = "query.name", "train.answer", "train.model"  # what messages ask of a node
GRACE = 45.0  # seconds that a message may travel: a node looks for one every three seconds, and starts a program for it
Content = Mapping[str, bytes | str | float]  # of a message


@dataclass(frozen=True)
class Reply:
    """What came back to a message: ``code`` one of `CODES`, or ``unreachable``, with what else it holds."""

    to: str
    code: str = ""
    owner: str = ""
    answer: bytes = b""


class Post(Protocol):
    """What carries messages."""

    def nodes(self) -> Mapping[int, str]:
        """Nodes that are there, by number: the name that the learner registered each under, or empty."""

    def send(self, node: int, kind: str, content: Content, seconds: float) -> str:
        """Send a message that is void after some seconds; returns what names it, or empty if it was not taken."""

    def replies(self, sent: Iterable[str]) -> list[Reply]:
        """What has come back to some messages, once each."""


@dataclass(frozen=True)
class Settings:
    """How the relay behaves.

    Parameters
    ----------
    wait: seconds that a node waits for its owner's program before it says that there is no answer yet.
    rest: seconds before a node is tried again that refused, or could not be reached.
    farewell: seconds that the model is offered to nodes.
    """

    wait: float = 20.0
    rest: float = 10.0
    farewell: float = 60.0


@dataclass(frozen=True)
class Sent:
    """A message on its way."""

    kind: str
    node: int
    void: float
    query: Query | None = None


@dataclass
class Relay:
    """What the relay knows between two turns; all of it can be found out again.

    Parameters
    ----------
    folder: the exchange's folder at the learner.
    contract: what was agreed.
    post: carries messages.
    settings: how long to wait.
    say: is told, once each, what a person should know.
    clock: seconds, never back.
    """

    folder: Path
    contract: Contract
    post: Post
    settings: Settings = field(default_factory=Settings)
    say: Callable[[str], None] = print
    clock: Callable[[], float] = time.monotonic
    owners: dict[int, str] = field(default_factory=dict)  # of nodes that have said whose they are
    sent: dict[str, Sent] = field(default_factory=dict)
    resting: dict[int, float] = field(default_factory=dict)  # nodes that are left alone until a time
    told: set[str] = field(default_factory=set)
    done: set[int] = field(default_factory=set)  # nodes that have the model
    ends: float | None = None

    def turn(self) -> bool:
        """Look at nodes, replies and the folder, once; True when all is done."""
        nodes = self.post.nodes()
        for gone in self.owners.keys() - nodes.keys():
            owner = self.owners.pop(gone)
            self.tell(f"the node of {owner} is gone")
            self.told -= {line for line in self.told if line.endswith(f"of {owner}") or line == _there(owner)}
        self.sent = {name: one for name, one in self.sent.items() if one.node in nodes and one.void > self.clock()}
        for reply in self.post.replies(list(self.sent)):
            self.take(reply, nodes)
        for node in nodes.keys() - self.owners.keys():
            self.post_to(node, NAME, {"contract": self.contract.digest})
        if (self.folder / MODEL).is_file():
            return self.farewell()
        self.ask()
        return False

    def ask(self) -> None:
        """Send the latest question to whom it asks and who has not answered."""
        query = latest_query(self.folder, self.contract)
        if query is None:
            return
        if query.expired(datetime.now(UTC)):
            return self.tell(f"the time of question {query.round} is over")
        for owner in query.asked:
            if (self.folder / answer_name(query.round, owner)).exists():
                continue
            nodes = [node for node, name in self.owners.items() if name == owner]
            if len(nodes) == 1:
                self.post_to(nodes[0], ANSWER, {"query": query.raw, "wait": self.settings.wait}, query)
            elif nodes:
                self.tell(f"{len(nodes)} nodes say that they are {owner}'s: none is asked until one is left")
            else:
                self.tell(f"question {query.round} waits for a node of {owner}")

    def farewell(self) -> bool:
        """Offer the model to nodes; True when all have it, or time is over."""
        self.ends = self.clock() + self.settings.farewell if self.ends is None else self.ends
        left, files = self.owners.keys() - self.done, [self.folder / name for name in (CLOSING, MODEL)]
        content: Content = {"contract": self.contract.digest} | {
            file.stem: read(file) for file in files if file.is_file()
        }
        for node in left:
            self.post_to(node, OVER, content)
        if left and self.clock() < self.ends:
            return False
        for node in left:
            self.tell(f"the node of {self.owners[node]} did not take the model: send it to its owner")
        return True

    def post_to(self, node: int, kind: str, content: Content, query: Query | None = None) -> None:
        """Send a message to a node that is neither busy nor resting: a node does one thing at a time."""
        now, seconds = self.clock(), GRACE + (self.settings.wait if query else 0.0)
        if any(one.node == node for one in self.sent.values()) or self.resting.get(node, now) > now:
            return
        name = self.post.send(node, kind, content, seconds)
        if name:
            self.sent[name] = Sent(kind, node, now + seconds, query)
        else:
            self.resting[node] = now + self.settings.rest

    def take(self, reply: Reply, nodes: Mapping[int, str]) -> None:
        """Use what came back to one of our messages."""
        sent = self.sent.pop(reply.to, None)
        if sent is None:
            return
        said_to_be = reply.owner if reply.owner in self.contract.names else ""
        whose = self.owners.get(sent.node, said_to_be)
        if reply.code and reply.code != "waiting":
            said = CODES.get(reply.code, "it could not be reached, or failed")
            self.tell(f"the node of {whose}: {said}" if whose else f"a node: {said}")
            self.resting[sent.node] = self.clock() + self.settings.rest
        elif sent.kind == NAME:
            self.know(sent.node, reply.owner, nodes[sent.node])
        elif sent.kind == OVER:
            self.done.add(sent.node)
        elif not reply.code and sent.query is not None:
            code = entered(self.folder, whose, sent.query, reply.answer)
            if code:
                self.resting[sent.node] = self.clock() + self.settings.rest
            self.tell(f"question {sent.query.round}: {whose} {code or 'has answered'}")

    def know(self, node: int, owner: str, registered: str) -> None:
        """Believe a node whose it is, where the contract and the name that it was registered under allow that."""
        if owner not in self.contract.names:
            self.tell("a node says that it is of somebody who is not in the contract; it is not asked")
        elif registered and registered != owner:
            self.tell(f"the node that is registered as {registered!r} says that it is {owner}'s; it is not asked")
        else:
            self.owners[node] = owner
            self.told.discard(f"the node of {owner} is gone")
            return self.tell(_there(owner))
        self.resting[node] = self.clock() + self.settings.rest

    def tell(self, line: str) -> None:
        """Say something new."""
        if line not in self.told:
            self.told.add(line)
            self.say(line)


def _there(owner: str) -> str:
    return f"the node of {owner} is there"


def entered(folder: Path, owner: str, query: Query, raw: bytes) -> str:
    """Put an answer that came over the wire into the learner's folder; empty, or in words why not.

    One that is there already is never replaced. What the numbers mean is checked by ``dpmarket collect``.
    """
    try:
        if len(raw) > LARGEST or not fits(answer_of(raw, "answer"), owner, query):
            return "gave an answer to something else, or in another's name: refused"
    except InputError:
        return "gave something that is no answer: refused"
    place = folder / answer_name(query.round, owner)
    if not place.exists():
        put(place, raw)
    return "" if read(place, LARGEST) == raw else "gave two different answers: the first stays"


def run(relay: Relay, pause: Callable[[float], None] = time.sleep) -> None:
    """Turn after turn until the model is there and nodes have it."""
    while not relay.turn():
        pause(0.5)
