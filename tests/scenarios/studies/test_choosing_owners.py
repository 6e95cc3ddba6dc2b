"""Whom a design asks, from a table of what the learner gains with each set of owners; units of posted prices."""

from types import SimpleNamespace

import numpy as np

from market.policies.posted import UNITS, Posted
from scenarios.studies import design
from scenarios.studies.design import Tried, choose_owners

GAINS = {"1111": 0.0, "0111": 5.0, "0011": 9.0, "0001": 10.0, "1001": 20.0}


def test_who_was_left_out_is_asked_again_where_that_brings_more(monkeypatch):
    """Best without the first three in turn; but then the first one adds: it must not be advised to leave it out."""

    def by_change(whole, asked, epsilon, seed):
        def key(flags):
            return "".join("1" if flag else "0" for flag in flags)

        changed = [GAINS.get(key(asked ^ (np.arange(4) == i)), -1.0) for i in range(4)]
        return GAINS[key(asked)], np.array(changed)

    whole = SimpleNamespace(owners=SimpleNamespace(epsilon_max=np.ones(4)))
    monkeypatch.setattr(design, "gains_by_change", by_change)
    monkeypatch.setattr(design, "market_game", lambda *_: whole)
    monkeypatch.setattr(design, "only", lambda game, asked: game)
    monkeypatch.setattr(design, "settled", lambda game, seed: np.ones(4))
    monkeypatch.setattr(design, "asking", lambda scenario, prepared, asked, budget: asked.tolist())
    best = SimpleNamespace(scenario=SimpleNamespace(seed=1), epsilon=np.ones(4))
    prepared = type("Pair", (tuple,), {"data": SimpleNamespace(names=tuple("ABCD"))})()
    chosen, joining = choose_owners(best, prepared, np.inf, 0.0)
    assert chosen == [True, False, False, True]
    assert [one.joins for one in joining] == chosen
    assert all((one.adds > 0) == one.joins for one in joining)


def test_every_unit_of_a_posted_price_is_tried():
    assert [variant["per"] for variant in Posted.study_variants()] == list(UNITS)
    assert Tried("posted", {"per": "bit"}).name == "posted, per bit"
