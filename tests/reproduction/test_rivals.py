"""Items of procurement and of other papers' rules: their parts on tiny settings, and that each can be drawn."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from market.procurement.auctions import AllIn, FairQuery, ProportionalShare
from market.procurement.paid_quality import best_price, best_response, upload_quality
from reproduction.drawing import render_svg
from reproduction.item import Setting
from reproduction.rivals import ITEMS, budgets
from reproduction.rivals.auctions import (
    SquareRoot,
    best_menu,
    find_known,
    measure_promises,
    search_lies,
)
from reproduction.rivals.other_papers import (
    DEVICES,
    LEVELS,
    ROUNDS,
    TABLE,
    describe_market,
    draw_asks,
    draw_devices,
    measure_paid_fd,
    round_to_sum,
)

QUICK = Setting(quick=True)
DEAR = {"N2-rivals", "N2-FL-Market", "N2-PAID-FD"}
CHECK_BUDGETS = next(item.checks for item in ITEMS if item.key == "N2-budgets")
CHEAP = [item for item in ITEMS if item.key not in DEAR]


def kept(frame):
    return pd.read_csv(io.StringIO(frame.to_csv(index=False, float_format="%.10g")))


@pytest.mark.parametrize("item", CHEAP, ids=lambda item: item.key)
def test_an_item_is_checked_and_drawn_from_what_is_kept(item):
    frame = kept(item.compute(QUICK))
    checks = item.checks(frame)
    assert checks and all(np.isfinite(check.found) for check in checks)
    assert render_svg(item.draw, frame, "A note.").startswith("<?xml")


@pytest.mark.deep  # and `make golden` computes them too
@pytest.mark.parametrize(
    "item", [item for item in ITEMS if item.key in DEAR], ids=lambda item: item.key
)
def test_a_dear_item_is_checked_and_drawn_from_what_is_kept(item):
    frame = kept(item.compute(QUICK))
    assert all(np.isfinite(check.found) for check in item.checks(frame))
    assert render_svg(item.draw, frame, "A note.").startswith("<?xml")


def test_weights_are_checked_against_the_rule_a_solver_and_draws():
    """Other weights in place of ours fail the law that names them; a threshold is the best of all, looked at one by one."""
    epsilon = np.array([0.02, 0.3, 0.31, 2.0])
    each = [
        budgets.VARIANCE / k + budgets.NOISE / (k * e) ** 2
        for k, e in zip((4, 3, 2, 1), epsilon, strict=True)
    ]
    assert budgets.best_threshold(epsilon) == pytest.approx(min(each))
    kept_from = [
        np.where(epsilon >= least, 1.0, 0.0) / np.sum(epsilon >= least) for least in epsilon
    ]
    assert budgets.best_left_out(epsilon) == pytest.approx(
        min(budgets.local_error(one, epsilon) for one in kept_from)
    )
    ours = budgets.our_weights(epsilon)
    frame = kept(budgets.compute_budgets(QUICK))
    np.testing.assert_allclose(ours, budgets.published_weights(epsilon))
    assert all(check.holds for check in CHECK_BUDGETS(frame))
    wrong = {
        ("weights", "published"): 1e-3,
        ("shared", "ours"): 1.01,
        ("solver", "shared"): 1e-3,
        ("solver", "pooled"): 0.1,
    }
    for (part, rule), value in wrong.items():
        other = frame.copy()
        at = (other["part"] == part) & (other["rule"] == rule)
        other.loc[at, "error"] = other.loc[at, "error"] * value if part == "shared" else value
        assert sum(not check.holds for check in CHECK_BUDGETS(other)) >= 1, (part, rule)


def test_a_search_tells_liars_losses_and_money_over_the_budget():
    """A contest invites lies, FairQuery does not; who overspends its budget by half is told so."""

    class Careless(FairQuery):
        def settle(self, reports, chances):
            epsilon, payments = super().settle(reports, chances)
            return epsilon, 1.5 * payments

    honest, contest, careless = (
        search_lies(one, QUICK, "test", 4)
        for one in (FairQuery(2.0), ProportionalShare(2.0), Careless(2.0))
    )
    assert (
        honest["gain"] <= 1e-9 < contest["gain"]
        and honest["over"] == 0
        and 0 < contest["liars"] <= 1
    )
    assert 0.1 < careless["over"] <= 1.0
    frame = pd.DataFrame([careless])
    found = measure_promises(frame)
    assert found["loss"] <= 1e-9 < found["over"]
    charged = search_lies(AllIn(1e-9, 1.0), QUICK, "test", 4)
    assert charged["loss"] <= 1e-9


def test_known_answers_are_looked_up_by_row():
    frame = pd.DataFrame({"budget": [1.0, 2.0], "sellers": [3.0, 5.0]})
    assert find_known(frame, "budget", (2.0,), ("sellers",)) == {"sellers_2": 5.0}


def test_owners_ask_what_their_valuations_say():
    """All four shapes lie between half and three halves of their formula; one formula at least fits each."""
    epsilon, asked = draw_asks(np.random.default_rng(0), 50)
    shapes = np.stack([epsilon**2, 2 * np.sqrt(epsilon), 2 * epsilon, np.expm1(epsilon)])
    ratio = asked / shapes
    assert (
        np.all(((ratio >= 0.5) & (ratio <= 1.5)).any(axis=0))
        and epsilon.min() >= 0.1
        and epsilon.max() <= 5
    )


def test_devices_are_as_described():
    cost, care = draw_devices(np.random.default_rng(0))
    assert len(cost) == len(care) == DEVICES and cost.min() >= 0.1 and cost.max() <= 0.4
    assert care.min() >= 0.7 * LEVELS[0] and care.max() <= 1.3 * LEVELS[-1]
    assert round_to_sum(np.array([7.5, 12.5, 12.5, 10.0, 7.5])).sum() == 50


def test_a_market_is_told_by_those_who_take_part():
    cost = np.array([0.2, 0.2, 3.0])
    care = np.array([0.4, 0.4, 5.0])
    made = best_price(5.0, cost, care)
    told = describe_market(made)
    alone = best_response(made.price, 0.2, 0.4)
    assert told["part"] == pytest.approx(2 / 3) and told["epsilon"] == pytest.approx(
        float(alone.epsilon)
    )
    assert told["paid"] == pytest.approx(
        2 * ROUNDS * made.price * float(upload_quality(alone.volume, alone.epsilon))
    )


def test_the_best_of_all_menus_by_a_numeric_program():
    """V = 2 sqrt(e), costs 1 and 2: 1 and 1/9, paid 10/9 and 2/9; V(e) = 2 sqrt(e) is asked for where V' = price."""
    assert np.allclose(best_menu(np.array([1.0, 2.0])), [1, 1 / 9, 10 / 9, 2 / 9], rtol=1e-4)
    assert SquareRoot().demand(np.array(0.5)) == 4.0 and SquareRoot().value(np.array(4.0)) == 4.0


def test_the_table_of_efficiency_allows_for_the_scatter_of_both_means():
    """Two errors of the difference of means of 3 and of 20 populations; a share ends at 1."""
    spread = np.tile([-0.1, 0.1], 10)
    rows = [
        pd.DataFrame(
            {"population": range(20), "value": value, "owners": owners, "part": 0.9 + spread}
            | {"epsilon": 2.9 + spread, "paid": 1e4}
            | {f"published_{name}": one for name, one in TABLE[value].items()}
        )
        for value in TABLE
        for owners in ("printed", "best")
    ]
    found = [one for one in measure_paid_fd(pd.concat(rows)) if one[0] == "table"]
    bands = {(words["text"], words["value"]): (low, high) for *_, low, high, words in found}
    width = 2 * np.std(spread, ddof=1) * np.sqrt(1 / 3 + 1 / 20)
    assert bands["mean ε", 7.0] == pytest.approx((2.9 - width, 2.9 + width))
    assert bands["part who take part", 7.0] == pytest.approx((0.9 - width, 1.0))
