"""The learner's end: questions to the nodes of whom they ask, answers into its folder, whoever comes and goes."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from exchanges import small_contract

from exchange.flower.relay import ANSWER, GRACE, NAME, OVER, Relay, Reply, run_relay
from exchange.folder import CONTRACT, MODEL, answer_name, query_name
from exchange.messages import Gradient, Query, read_answer, utc_text
from learning.canonical import write_atomically

AGREED = small_contract(2)
ALL = tuple(AGREED.names)


def question(round=1, **changes):
    given = dict(contract=AGREED.digest, round=round, point=np.zeros(4), asked=ALL)
    return Query(**(given | changes))


def reply(asked, owner, **changes):
    given = dict(
        contract=AGREED.digest,
        query=asked.digest,
        round=asked.round,
        owner=owner,
        gradient=np.full(4, 0.5),
    )
    return Gradient(**(given | changes))


class Post:
    """Nodes 1, 2, 3 of the three owners; each does what ``acts`` says, or leaves a message unanswered."""

    def __init__(self, query=None):
        self.there = {1: "", 2: "", 3: ""}
        self.names = dict(zip(self.there, ALL, strict=True))
        self.query = query
        self.sent = []
        self.pending = {}
        self.acts = {}

    def list_nodes(self):
        return dict(self.there)

    def send_message(self, node, kind, content, seconds):
        self.sent.append((node, kind))
        self.pending[name := str(len(self.sent))] = (node, kind, content)
        return name

    def take_replies(self, sent):
        made = [self.reply(name, *self.pending.pop(name)) for name in sent if name in self.pending]
        return [one for one in made if one is not None]

    def reply(self, name, node, kind, content):
        usual = {
            NAME: lambda: Reply(name, "", self.names[node]),
            ANSWER: lambda: Reply(name, answer=reply(self.query, self.names[node]).raw),
            OVER: lambda: Reply(name),
        }
        act = self.acts.get((node, kind), usual[kind])
        return act(name) if act is not usual[kind] else act()

    def asked(self, kind):
        return [node for node, said in self.sent if said == kind]


@pytest.fixture
def relay(tmp_path):
    write_atomically(tmp_path / CONTRACT, AGREED.raw)
    write_atomically(tmp_path / query_name(1), question().raw)
    time = [0.0]
    said = []
    made = Relay(tmp_path, AGREED, Post(question()), say=said.append, clock=lambda: time[0])
    made.time = time
    made.said = said
    return made


def turns(relay, count=4, seconds=1.0):
    for _ in range(count):
        over = relay.take_turn()
        relay.time[0] += seconds
    return over


def test_questions_go_out_answers_come_in_and_the_model_ends_it(relay):
    turns(relay)
    for name in ALL:
        assert read_answer(relay.folder / answer_name(1, name), relay.contract).owner == name
    assert sorted(relay.post.asked(ANSWER)) == [1, 2, 3]
    write_atomically(relay.folder / query_name(2), question(2).raw)
    relay.post.query = question(2)
    turns(relay)
    assert (relay.folder / answer_name(2, "Gamma")).exists() and len(relay.post.asked(ANSWER)) == 6
    write_atomically(relay.folder / MODEL, b"{}\n")
    run_relay(relay, lambda seconds: None)
    assert sorted(relay.post.asked(OVER)) == [1, 2, 3]


def test_a_relay_that_is_started_again_asks_only_for_what_is_missing(relay):
    write_atomically(relay.folder / answer_name(1, "Alpha"), reply(question(), "Alpha").raw)
    turns(relay)
    assert sorted(relay.post.asked(ANSWER)) == [2, 3]


def test_a_relay_that_is_started_again_after_the_end_offers_the_model_all_the_same(relay):
    write_atomically(relay.folder / MODEL, b"{}\n")
    run_relay(relay, lambda seconds: None)
    assert sorted(relay.post.asked(OVER)) == [1, 2, 3]


def test_an_owner_whose_program_sleeps_is_asked_again_and_again(relay):
    relay.post.acts[2, ANSWER] = lambda name: Reply(name, "waiting")
    turns(relay, 6)
    assert relay.post.asked(ANSWER).count(2) > 2 and relay.post.asked(ANSWER).count(1) == 1
    del relay.post.acts[2, ANSWER]
    turns(relay, 2)
    assert (relay.folder / answer_name(1, "Beta")).exists()


def test_a_node_that_was_killed_is_asked_again_under_its_new_number(relay):
    relay.post.acts[2, ANSWER] = lambda name: None  # killed with the message in hand
    turns(relay, 5)
    assert relay.post.asked(ANSWER).count(2) == 1
    relay.post.there = {1: "", 3: ""}
    turns(relay, 3)
    relay.post.there[9], relay.post.names[9] = "", "Beta"
    turns(relay, 3)
    assert (relay.folder / answer_name(1, "Beta")).exists()
    told = [
        line.removeprefix("the node of Beta ")
        for line in relay.said
        if line.startswith("the node of Beta ")
    ]
    assert told == ["is there", "is gone", "is there"]
    assert relay.said.count("question 1 waits for a node of Beta") == 2


def test_a_node_that_comes_back_under_its_number_is_asked_again_at_once(relay):
    relay.post.acts[2, ANSWER] = lambda name: None
    turns(relay, 5)
    del relay.post.there[2], relay.post.acts[2, ANSWER]
    turns(relay, 1)
    relay.post.there[2] = ""
    turns(relay, 3)
    assert (relay.folder / answer_name(1, "Beta")).exists() and relay.time[0] < GRACE


def test_a_message_that_got_lost_is_sent_again_when_its_time_is_over(relay):
    relay.post.acts[2, ANSWER] = lambda name: None
    turns(relay, 4)
    relay.time[0] += GRACE + relay.settings.wait
    del relay.post.acts[2, ANSWER]
    turns(relay, 2)
    assert (
        relay.post.asked(ANSWER).count(2) == 2 and (relay.folder / answer_name(1, "Beta")).exists()
    )


def test_a_node_on_a_busy_machine_is_given_longer_each_time_until_it_answers(relay):
    """Else programs pile up on it, each started for a message that is void before it runs."""
    relay.post.acts[2, NAME] = lambda name: None
    asked = []
    for _ in range(1000):
        before = len(relay.post.sent)
        turns(relay, 1)
        asked += [relay.time[0]] * relay.post.sent[before:].count((2, NAME))
    assert np.diff(asked).tolist() == [GRACE, 2 * GRACE, 4 * GRACE, 8 * GRACE]
    del relay.post.acts[2, NAME]
    turns(relay, 500)
    assert relay.owners[2] == "Beta" and not relay.unanswered[2]


def test_a_node_that_failed_rests_and_its_text_is_not_shown(relay):
    relay.post.acts[2, ANSWER] = lambda name: Reply(name, "a record: 41,7")
    turns(relay, 4)
    assert relay.post.asked(ANSWER).count(2) == 1
    assert (
        "the node of Beta: it could not be reached, or failed" in relay.said
        and "41" not in "".join(relay.said)
    )
    turns(relay, 12)
    assert relay.post.asked(ANSWER).count(2) == 2


def test_two_nodes_of_one_owner_are_told_and_neither_is_asked(relay):
    relay.post.names[3] = "Beta"
    turns(relay)
    assert relay.post.asked(ANSWER) == [1] and any(
        "2 nodes say that they are Beta's" in line for line in relay.said
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"owner": "Alpha"}, "in another's name"),
        ({"query": "0" * 64}, "to something else"),
        ({"gradient": np.ones(5)}, "to something else"),
    ],
)
def test_an_answer_in_anothers_name_or_to_something_else_is_told_and_not_entered(
    relay, changes, said
):
    relay.post.acts[2, ANSWER] = lambda name: Reply(
        name, answer=reply(question(), **({"owner": "Beta"} | changes)).raw
    )
    turns(relay)
    assert any(line.startswith("question 1: Beta") and said in line for line in relay.said)
    assert not (relay.folder / answer_name(1, "Beta")).exists()
    assert read_answer(relay.folder / answer_name(1, "Alpha"), relay.contract).owner == "Alpha"


def test_what_is_no_answer_at_all_is_told(relay):
    relay.post.acts[2, ANSWER] = lambda name: Reply(name, answer=b"{}")
    turns(relay)
    assert "question 1: Beta gave something that is no answer: refused" in relay.said


def test_a_node_is_whose_key_was_registered_and_of_an_owner_of_the_contract(relay):
    relay.post.there = {1: "Alpha", 2: "Gamma", 3: "Gamma"}
    turns(relay)
    assert sorted(relay.post.asked(ANSWER)) == [1, 3]
    assert (
        "the node that is registered as 'Gamma' says that it is Beta's; it is not asked"
        in relay.said
    )
    relay.post.there, relay.post.names[7] = {7: ""}, "Nobody"
    turns(relay)
    assert any("not in the contract" in line for line in relay.said) and 7 not in relay.post.asked(
        ANSWER
    )


def test_nobody_is_asked_after_the_time_of_a_question(relay):
    late = question(until=utc_text(datetime.now(UTC) - timedelta(seconds=5)))
    write_atomically(relay.folder / query_name(1), late.raw)
    turns(relay)
    assert not relay.post.asked(ANSWER) and "the time of question 1 is over" in relay.said


def test_a_node_that_does_not_take_the_model_keeps_nobody_waiting(relay):
    relay.post.acts[2, OVER] = lambda name: None
    write_atomically(relay.folder / MODEL, b"{}\n")
    assert not turns(relay, 10)
    relay.time[0] += relay.settings.farewell
    assert relay.take_turn() and any(
        "the node of Beta did not take the model" in line for line in relay.said
    )
