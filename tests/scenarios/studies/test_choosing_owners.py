"""Whom a design asks, from a table of what the learner gains with each set of owners; units of posted prices."""

from types import SimpleNamespace

import numpy as np
import pytest

from market.policies.posted import UNITS, Posted
from scenarios.report.phrases import render_phrase
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
    best = SimpleNamespace(equilibrium=SimpleNamespace(epsilon=np.ones(4)))
    study = SimpleNamespace(best=best)
    scenario = SimpleNamespace(seed=1)
    prepared = type("Pair", (tuple,), {"data": SimpleNamespace(names=tuple("ABCD"))})()
    chosen, joining = choose_owners(Tried("posted", {}, scenario, study), prepared, np.inf, 0.0)
    assert chosen == [True, False, False, True]
    assert [one.joins for one in joining] == chosen
    assert all((one.adds > 0) == one.joins for one in joining)


def test_every_unit_of_a_posted_price_is_tried():
    assert [variant["per"] for variant in Posted.study_variants()] == list(UNITS)
    assert Tried("posted", {"per": "bit"}).name == "posted, per bit"


@pytest.mark.parametrize("adds, joins", [(50.5, False), (-1e-9, True), (0.0, False)])
def test_an_owner_who_changes_little_is_not_advised_on_by_a_number_below_0(adds, joins):
    owners = [
        {"name": "A", "joins": True, "adds": 30.0},
        {"name": "B", "joins": joins, "adds": adds},
    ]
    content = {"buys": True, "owners": owners, "chosen": {"scenario": {}}}
    advice = render_phrase("design", "joining", content)
    assert "Leaving out B changes the learner's gain little." in advice
    assert "Not to be asked" not in advice and "\u2212" not in advice and "-" not in advice
