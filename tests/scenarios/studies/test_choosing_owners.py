"""Whom a design asks, from a table of what the learner gains with each set of owners; units of posted prices."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from market.policies.posted import UNITS, Posted
from scenarios.studies import asking, design
from scenarios.studies.asking import Joining, choose_owners
from scenarios.studies.attitude import Alternative, Attitude
from scenarios.studies.design import Tried, choose

GAINS = {"1111": 0.0, "0111": 5.0, "0011": 9.0, "0001": 10.0, "1001": 20.0}


def test_who_was_left_out_is_asked_again_where_that_brings_more(monkeypatch):
    """Best without the first three in turn; but then the first one adds: it must not be advised to leave it out."""

    def by_change(whole, asked, epsilon, seed):
        def key(flags):
            return "".join("1" if flag else "0" for flag in flags)

        changed = [GAINS.get(key(asked ^ (np.arange(4) == i)), -1.0) for i in range(4)]
        return GAINS[key(asked)], np.array(changed)

    whole = SimpleNamespace(owners=SimpleNamespace(epsilon_max=np.ones(4)))
    monkeypatch.setattr(asking, "gains_by_change", by_change)
    monkeypatch.setattr(asking, "market_game", lambda *_: whole)
    monkeypatch.setattr(asking, "ask_only", lambda game, asked: game)
    monkeypatch.setattr(asking, "settle_owners", lambda game, seed: np.ones(4))
    monkeypatch.setattr(asking, "restrict_owners", lambda scenario, prepared, asked: asked.tolist())
    monkeypatch.setattr(asking, "with_best_money", lambda restricted, *_: restricted)
    best = SimpleNamespace(scenario=SimpleNamespace(seed=1), epsilon=np.ones(4))
    prepared = type("Pair", (tuple,), {"data": SimpleNamespace(names=tuple("ABCD"))})()
    chosen, joining = choose_owners(best, prepared, np.inf, 0.0)
    assert chosen == [True, False, False, True]
    assert [one.joins for one in joining] == chosen
    assert all((one.adds > 0) == one.joins for one in joining)


def test_every_unit_of_a_posted_price_is_tried():
    assert [variant["per"] for variant in Posted.study_variants()] == list(UNITS)
    assert Tried("posted", {"per": "bit"}).name == "posted, per bit"


def offer(kind, gain, left_out=()):
    """Offer that gains the same in every world."""
    stated = SimpleNamespace(policy=SimpleNamespace(kind=kind), seed=1)
    gains = np.full(20, gain)
    return Alternative(kind, kind, stated, left_out, np.ones(2), 10.0, gain, gains, None)


def test_fewer_owners_are_tried_under_an_offer_that_is_chosen_once_the_first_fails(monkeypatch):
    """A gains 8 in the search and 1 in a run; then B is best with 5, and with 9 without one of its owners."""
    searched = []

    def fewer_owners(one, prepared, budget, worth):
        searched.append(one.kind)
        fewer = SimpleNamespace(seed=1) if one.kind == "B" else one.scenario
        return fewer, (Joining("x", 1.0, True), Joining("y", -4.0, one.kind == "A"))

    def settle_by_run(one, search):
        gain = 1.0 if one.kind == "A" else one.surplus
        return replace(offer(one.kind, gain, one.left_out), run=SimpleNamespace())

    monkeypatch.setattr(design, "judge_kind", lambda one, *_: one)
    monkeypatch.setattr(design, "choose_owners", fewer_owners)
    monkeypatch.setattr(design, "confirm", settle_by_run)
    monkeypatch.setattr(design, "judge", lambda name, *_: offer(name, 9.0, ("y",)))
    monkeypatch.setattr(design, "market_game", lambda *_: None)
    monkeypatch.setattr(design, "settle_owners", lambda *_: np.ones(2))
    monkeypatch.setattr(design, "list_joining", lambda *_: (Joining("x", 2.0, True),))
    monkeypatch.setattr(design, "result_of", lambda run: None)
    search = SimpleNamespace(prepared=(), budget=np.inf)
    tried = [offer("A", 8.0), offer("B", 5.0)]
    found = choose(search, tried[0].scenario, tried, Attitude(), 0.0)
    assert searched == ["A", "B"]
    assert (found.picked.chosen.kind, found.picked.chosen.left_out) == ("B", ("y",))
    assert [row.surplus for row in found.rows] == [9.0, 5.0, 1.0]
