"""Both of Flower's apps, on a grid in this process that hands messages over at once."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from exchanges import small_contract

pytest.importorskip(
    "flwr", reason="Flower is not installed: the extra federated brings it (make federated)"
)

from flwr.app import Context, Error, Message, RecordDict  # noqa: E402
from flwr.serverapp import Grid  # noqa: E402
from flwr.supercore.task_identity import TaskIdentity  # noqa: E402

from exchange.flower import relay as relays  # noqa: E402
from exchange.flower.apps import learner, owner  # noqa: E402
from exchange.folder import CONTRACT, MODEL, answer_name, query_name  # noqa: E402
from exchange.messages import Gradient, Query, parse_query  # noqa: E402
from learning.canonical import write_atomically  # noqa: E402

AGREED = small_contract(3)


def context(**settings):
    given = {"node_config": {}, "run_config": {}} | settings
    return Context(run_id=1, node_id=0, state=RecordDict(), **given)


class Here(Grid):
    """Nodes whose apps are called when a message is sent; ``broken`` ones lose the first message that asks for an answer."""

    def __init__(self, mailboxes, broken=()):
        self.settings = {
            10 + k: {"owner": name, "mailbox": str(box)}
            for k, (name, box) in enumerate(mailboxes.items())
        }
        self.broken = set(broken)
        self.replies = {}
        self.seen = []

    run = property(lambda self: None)

    def set_run(self, run): ...

    def create_message(self, *parts, **more): ...

    def send_and_receive(self, messages, *, timeout=None): ...

    def get_node_ids(self):
        return list(self.settings)

    def push_messages(self, messages):
        for number, message in enumerate(messages, len(self.replies)):
            to = message.metadata.dst_node_id
            name = f"message {number}"
            message.metadata.__dict__["_message_id"] = name
            self.replies[name] = self.reply(to, message)
            self.seen.append(self.replies[name])
            yield name

    def reply(self, to, message):
        if message.metadata.message_type == relays.ANSWER and to in self.broken:
            self.broken.discard(to)
            return Message(Error(8, "Traceback: a record, 41.7"), reply_to=message)
        return owner.app(message, context(node_config=self.settings[to]))

    def pull_messages(self, message_ids):
        return [self.replies[name] for name in message_ids if name in self.replies]


@pytest.fixture(autouse=True)
def _within_a_run(monkeypatch):
    """Messages are made within a run, which Flower's own programs set."""
    for part in ("run_id", "node_id", "task_id"):
        monkeypatch.setattr(TaskIdentity, f"_{part}", 1)


@pytest.fixture
def places(tmp_path):
    folder = tmp_path / "shared"
    boxes = {name: tmp_path / name for name in AGREED.names}
    for place in (folder, *boxes.values()):
        place.mkdir()
        write_atomically(place / CONTRACT, AGREED.raw)
    return SimpleNamespace(folder=folder, boxes=boxes)


def play(places, monkeypatch, rounds=AGREED.rounds):
    """Owners and the learner do their part whenever the relay pauses; the relay's own wait in a node is no wait at all."""

    def parties(seconds):
        for name, box in places.boxes.items():
            for k in range(1, rounds + 1):
                if (box / query_name(k)).exists() and not (box / answer_name(k, name)).exists():
                    asked = parse_query((box / query_name(k)).read_bytes(), "query", AGREED)
                    answer = Gradient(
                        AGREED.digest, asked.digest, k, name, np.random.default_rng().normal(size=4)
                    )
                    write_atomically(box / answer_name(k, name), answer.raw)
        ask(places, rounds)

    ask(places, rounds)
    monkeypatch.setattr(learner, "run_relay", lambda relay: relays.run_relay(relay, parties))


def ask(places, rounds):
    """What the learner's program does: the next question once all have answered, in the end the model."""
    for k in range(1, rounds + 1):
        if not (places.folder / query_name(k)).exists():
            write_atomically(
                places.folder / query_name(k),
                Query(AGREED.digest, k, np.full(4, 0.1 * k), tuple(AGREED.names)).raw,
            )
        if not all((places.folder / answer_name(k, name)).exists() for name in AGREED.names):
            return
    if not (places.folder / MODEL).exists():
        write_atomically(places.folder / MODEL, b"{}\n")


def start(places, grid):
    settings = {"folder": str(places.folder), "wait": 0.0, "rest": 0.0, "farewell": 60.0}
    learner.app(grid, context(run_config=settings))


def test_three_rounds_and_the_model_go_over_flowers_messages(places, monkeypatch, capsys):
    play(places, monkeypatch)
    start(places, Here(places.boxes))
    for name, box in places.boxes.items():
        assert (box / MODEL).read_bytes() == (places.folder / MODEL).read_bytes()
        for k in range(1, 4):
            assert (box / answer_name(k, name)).read_bytes() == (
                places.folder / answer_name(k, name)
            ).read_bytes()
    assert "question 3: Gamma has answered" in capsys.readouterr().out


def test_a_node_that_crashes_is_asked_again_and_its_text_shown_to_nobody(
    places, monkeypatch, capsys
):
    play(places, monkeypatch)
    start(places, Here(places.boxes, broken=[11]))
    said = capsys.readouterr().out
    assert "the node of Beta: it could not be reached, or failed" in said and "41.7" not in said
    assert (places.boxes["Beta"] / MODEL).exists()


@pytest.mark.parametrize(
    "settings", [{}, {"owner": "Beta"}, {"owner": "Beta", "mailbox": "/no such folder"}]
)
def test_whatever_breaks_at_an_owner_its_reply_is_a_fixed_word(settings):
    for kind, asked in (
        (relays.NAME, {}),
        (relays.ANSWER, {"query": b"x"}),
        (relays.OVER, {"contract": "x", "model": b"x"}),
    ):
        message = Message(RecordDict({"asked": learner.ConfigRecord(asked)}), 5, kind)
        told = owner.app(message, context(node_config=settings)).content["told"]
        assert told["code"] in ("failed", "no question", "no mailbox")
        assert set(told) <= {"code", "owner", "answer"} and told.get("owner", "") in ("", "Beta")


def test_a_relay_without_a_contract_says_so_in_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        start(SimpleNamespace(folder=tmp_path), Here({}))
    assert stop.value.code == 2 and "contract.json: must be a file" in capsys.readouterr().out


def test_nothing_of_flower_but_the_two_apps_needs_flower():
    room = Path(owner.__file__).parents[1]
    assert not [
        file
        for file in room.glob("*.py")
        if "import flwr" in file.read_text() or "from flwr" in file.read_text()
    ]
