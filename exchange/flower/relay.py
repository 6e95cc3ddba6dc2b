"""The learner's end: questions out of its folder to owners' nodes, answers back into it.

It keeps no state that matters: killed and started again, it looks at the folder and goes on. A
question may be sent to an owner many times; by the owner's ledger it is answered once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from exchange.contract import Contract
from exchange.flower.mailbox import CODES, answers_question
from exchange.folder import CLOSING, MODEL, answer_name, latest_query
from exchange.messages import LARGEST, Query, parse_answer
from learning.canonical import read_bytes, write_atomically
from learning.errors import InputError

NAME = "query.name"  # kinds of messages
ANSWER = "train.answer"
OVER = "train.model"
# Seconds that a message may travel: a node looks for one every three seconds, and starts a program
# for it.
GRACE = 45.0
MOST_DOUBLINGS = 4  # of it, for a node whose messages are void before its program has answered
Content = Mapping[str, bytes | str | float]  # of a message


@dataclass(frozen=True)
class Reply:
    """The reply to a message: ``code`` is one of `CODES`, or ``unreachable``."""

    to: str
    code: str = ""
    owner: str = ""
    answer: bytes = b""


class Post(Protocol):
    """Carrier of messages."""

    def list_nodes(self) -> Mapping[int, str]:
        """List the nodes that are there: number -> registered name, empty where it has none."""

    def send_message(self, node: int, kind: str, content: Content, seconds: float) -> str:
        """Send a message that is void after some seconds; gives its name, or empty if refused."""

    def take_replies(self, sent: Iterable[str]) -> list[Reply]:
        """Take the replies to some messages, once each."""


@dataclass(frozen=True)
class Settings:
    """Settings of the relay.

    Parameters
    ----------
    wait: seconds that a node waits for its owner's program before it replies that there is no
        answer yet.
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


def check_carried(contract: Contract) -> None:
    """Refuse secure aggregation, whose owners read each other's keys in the folder."""
    if contract.aggregation is not None:
        rule = "must show owners each other's messages with secure aggregation"
        raise InputError("--flower", rule, "mailboxes of single owners", "Share a folder.")


@dataclass
class Relay:
    """State of the relay between two turns; all of it can be found out again.

    Parameters
    ----------
    folder: the exchange's folder at the learner.
    contract: the contract.
    post: carries messages.
    settings: waiting times.
    say: is called with each line that a person should know, once.
    clock: seconds, never back.
    """

    folder: Path
    contract: Contract
    post: Post
    settings: Settings = field(default_factory=Settings)
    say: Callable[[str], None] = print
    clock: Callable[[], float] = time.monotonic
    owners: dict[int, str] = field(default_factory=dict)  # of nodes that have named them
    sent: dict[str, Sent] = field(default_factory=dict)
    resting: dict[int, float] = field(default_factory=dict)  # nodes left alone until a time
    told: set[str] = field(default_factory=set)
    unanswered: Counter[int] = field(default_factory=Counter)  # messages in a row, of each node
    done: set[int] = field(default_factory=set)  # nodes that have the model
    ends: float | None = None

    def __post_init__(self) -> None:
        check_carried(self.contract)

    def take_turn(self) -> bool:
        """Look at nodes, replies and the folder, once; True when all is done."""
        nodes = self.post.list_nodes()
        for node in self.owners.keys() - nodes.keys():
            self._forget_node(node)
        now = self.clock()
        self.unanswered.update(one.node for one in self.sent.values() if one.void <= now)
        on_way = self.sent.items()
        self.sent = {name: one for name, one in on_way if one.node in nodes and one.void > now}
        for reply in self.post.take_replies(list(self.sent)):
            self.use_reply(reply, nodes)
        for node in nodes.keys() - self.owners.keys():
            self.send_to(node, NAME, {"contract": self.contract.digest})
        if (self.folder / MODEL).is_file():
            return self.offer_model()
        self.ask_owners()
        return False

    def _forget_node(self, node: int) -> None:
        owner = self.owners.pop(node)
        self.tell_once(f"the node of {owner} is gone")
        old = {line for line in self.told if line.endswith(f"of {owner}")}
        self.told -= old | {_arrival(owner)}

    def ask_owners(self) -> None:
        """Send the latest question to the owners that have not answered."""
        query = latest_query(self.folder, self.contract)
        if query is None:
            return
        if query.has_expired(datetime.now(UTC)):
            return self.tell_once(f"the time of question {query.round} is over")
        content: Content = {"query": query.raw, "wait": self.settings.wait}
        for owner in query.asked:
            if (self.folder / answer_name(query.round, owner)).exists():
                continue
            nodes = [node for node, name in self.owners.items() if name == owner]
            if len(nodes) == 1:
                self.send_to(nodes[0], ANSWER, content, query)
            elif nodes:
                claim = f"{len(nodes)} nodes say that they are {owner}'s"
                self.tell_once(f"{claim}: none is asked until one is left")
            else:
                self.tell_once(f"question {query.round} waits for a node of {owner}")

    def offer_model(self) -> bool:
        """Offer the model to nodes; True when all that are there have it, or time is over."""
        if self.ends is None:
            self.ends = self.clock() + self.settings.farewell
        left = self.owners.keys() - self.done
        files = [self.folder / name for name in (CLOSING, MODEL)]
        content: Content = {file.stem: read_bytes(file) for file in files if file.is_file()}
        for node in left:
            self.send_to(node, OVER, {"contract": self.contract.digest, **content})
        naming = any(one.kind == NAME for one in self.sent.values())
        if (left or naming) and self.clock() < self.ends:
            return False
        for node in left:
            refusal = f"the node of {self.owners[node]} did not take the model"
            self.tell_once(f"{refusal}: send it to its owner")
        return True

    def send_to(self, node: int, kind: str, content: Content, query: Query | None = None) -> None:
        """Send a message to a node that is neither busy nor resting.

        A busy machine may need longer to start a program than a message is good for. Each message
        that nothing came back for doubles the time of the next: else programs would pile up there.
        """
        now = self.clock()
        longer = 2 ** min(self.unanswered[node], MOST_DOUBLINGS)
        seconds = GRACE * longer + (self.settings.wait if query else 0.0)
        if any(one.node == node for one in self.sent.values()) or self.resting.get(node, now) > now:
            return
        name = self.post.send_message(node, kind, content, seconds)
        if name:
            self.sent[name] = Sent(kind, node, now + seconds, query)
        else:
            self._let_rest(node)

    def _let_rest(self, node: int) -> None:
        self.resting[node] = self.clock() + self.settings.rest

    def use_reply(self, reply: Reply, nodes: Mapping[int, str]) -> None:
        """Use the reply to one of our messages."""
        sent = self.sent.pop(reply.to, None)
        if sent is None:
            return
        del self.unanswered[sent.node]
        named = reply.owner if reply.owner in self.contract.names else ""
        owner = self.owners.get(sent.node, named)
        if reply.code and reply.code != "waiting":
            said = CODES.get(reply.code, "it could not be reached, or failed")
            self.tell_once(f"the node of {owner}: {said}" if owner else f"a node: {said}")
            self._let_rest(sent.node)
        elif sent.kind == NAME:
            self.accept_node(sent.node, reply.owner, nodes[sent.node])
        elif sent.kind == OVER:
            self.done.add(sent.node)
        elif not reply.code and sent.query is not None:
            fault = enter_answer(self.folder, owner, sent.query, reply.answer, self.contract)
            if fault:
                self._let_rest(sent.node)
            self.tell_once(f"question {sent.query.round}: {owner} {fault or 'has answered'}")

    def accept_node(self, node: int, owner: str, registered: str) -> None:
        """Accept the owner that a node names, where contract and registered name allow it."""
        if owner in self.contract.names and registered in ("", owner):
            self.owners[node] = owner
            self.told.discard(f"the node of {owner} is gone")
            return self.tell_once(_arrival(owner))
        if owner not in self.contract.names:
            claim = "a node says that it is of somebody who is not in the contract"
        else:
            claim = f"the node that is registered as {registered!r} says that it is {owner}'s"
        self.tell_once(f"{claim}; it is not asked")
        self._let_rest(node)

    def tell_once(self, line: str) -> None:
        """Say something new."""
        if line not in self.told:
            self.told.add(line)
            self.say(line)


def _arrival(owner: str) -> str:
    return f"the node of {owner} is there"


def enter_answer(folder: Path, owner: str, query: Query, raw: bytes, contract: Contract) -> str:
    """Put an answer that came over the wire into the learner's folder; gives its fault in words.

    One that is there already is never replaced. The numbers are checked by ``dpmarket collect``.
    """
    if len(raw) > LARGEST:
        return "gave an answer to something else, or in another's name: refused"
    try:
        answer = parse_answer(raw, "answer", contract)
    except InputError:
        return "gave something that is no answer: refused"
    if not answers_question(answer, owner, query):
        return "gave an answer to something else, or in another's name: refused"
    place = folder / answer_name(query.round, owner)
    if not place.exists():
        write_atomically(place, raw)
    same = read_bytes(place, LARGEST) == raw
    return "" if same else "gave two different answers: the first stays"


def run_relay(relay: Relay, pause: Callable[[float], None] = time.sleep) -> None:
    """Take turn after turn until the model is there and nodes have it."""
    while not relay.take_turn():
        pause(0.5)
