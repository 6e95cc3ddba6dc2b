"""The budget worth buying: where noise adds what sampling does, by a second route; and where there is none."""

from dataclasses import replace

import numpy as np
import pytest

from learning.forecast.fitness import NODES, FitnessForecast, epsilon_worth, worth_of_all
from learning.forecast.law import Envelope, PlanSet
from learning.forecast.shared_noise import SaturatedWeighting, SharedWeighting
from learning.forecast.weighting import (
    Answers,
    EqualWeighting,
    PrecisionWeighting,
    RecordWeighting,
    SizeWeighting,
)
from learning.privacy.composition import AccountedLaplace
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.wrapped import Remaining
from market.costs.functions import Linear
from market.game.game import Game
from market.game.owners import Owners
from market.policies.contributions import Marginal

SIZES = np.array([500.0, 2000.0, 8000.0])
ALL_IN = np.array([1.0, 2.0, 0.5])


def law(
    mechanism=None, sizes=SIZES, lines=((0.001, 30.0),), dispersion=4.0, outside=np.inf, **more
):
    bias, slope = np.array(lines).T
    keys = [("last", 2 + k, 0.5, 1.0) for k in range(len(bias))]
    envelope = Envelope.of_lines(bias, slope, outside)
    beyond = outside if np.isfinite(outside) else 1.0
    chosen = PlanSet("averaged", keys, bias, slope)
    return FitnessForecast(
        sizes, mechanism or Laplace(), chosen, envelope, beyond, dispersion, "oracle", **more
    )


SLOW = pytest.param(
    AccountedLaplace(1e-6, horizon=10), marks=pytest.mark.deep
)  # its table takes two seconds
MECHANISMS = [Laplace(), Laplace(2), Gaussian(1e-6), Gaussian(1e-6, accounting="pld"), SLOW]


@pytest.mark.parametrize(
    "mechanism",
    [*MECHANISMS, Remaining(Laplace(), 0.1)],
    ids=lambda one: getattr(one, "label", None),
)
@pytest.mark.parametrize("weighting", [SizeWeighting(), EqualWeighting()], ids=lambda one: one.kind)
def test_there_noise_adds_what_a_sample_does(mechanism, weighting):
    """Second route: what the forecast loses by the owner's noise alone, against (C/f*) q^2/n."""
    made = law(mechanism, weighting=weighting)
    worth = epsilon_worth(made, ALL_IN)
    weights = made.weights(ALL_IN)
    for owner in range(3):
        noisy = ALL_IN.copy()
        free = ALL_IN.copy()
        noisy[owner], free[owner] = worth[owner], np.inf
        added = made.at(noisy) - made.at(free)
        assert added == pytest.approx(4.0 * weights[owner] ** 2 / SIZES[owner], rel=2e-3)


def test_records_asked_one_by_one_count_by_their_share():
    made = law(weighting=RecordWeighting())
    worth = epsilon_worth(made, ALL_IN)
    for owner in range(3):
        noisy = ALL_IN.copy()
        free = ALL_IN.copy()
        noisy[owner], free[owner] = worth[owner], np.inf
        added = made.at(noisy) - made.at(free)
        assert added == pytest.approx(4.0 * (SIZES[owner] / SIZES.sum()) ** 2 / SIZES[owner])
    absent = epsilon_worth(made, [1.0, 2.0, 0.0])
    assert absent[2] == pytest.approx(worth[2])  # as it would count beside the others


@pytest.mark.parametrize("kind", ["size", "equal"])
@pytest.mark.parametrize("colluders", [0, 1])
def test_under_one_noise_nobody_need_be_laxer_than_the_strictest_other(kind, colluders):
    made = law(weighting=SharedWeighting(kind=kind, owners=tuple(SIZES), colluders=colluders))
    strict = np.array([0.02, 0.03, 0.004])  # noise far above that of sampling
    worth = epsilon_worth(made, strict)
    for owner in range(3):
        there, beyond, before = (strict.copy() for _ in range(3))
        there[owner], beyond[owner], before[owner] = worth[owner] * np.array([1 + 1e-9, 100.0, 0.9])
        assert made.at(there) == pytest.approx(made.at(beyond), rel=1e-12)
        assert made.at(before) > 1.01 * made.at(beyond)
    # where others add no noise, what is left is the whole noise against the sampling noise of all
    alone = np.array([1.0, np.inf, np.inf])
    noisy = np.array([epsilon_worth(made, alone)[0], np.inf, np.inf])
    spread = float(np.sum(made.weights(alone) ** 2 / SIZES))
    assert made.at(noisy) - made.at(np.full(3, np.inf)) == pytest.approx(4.0 * spread, rel=1e-9)
    absent = np.array(
        [0.0, 0.03, 0.03]
    )  # who shares nothing needs to be no laxer than these, once it weighs as they do
    joined = absent + [epsilon_worth(made, absent)[0], 0, 0]
    laxer = absent + [1.0, 0, 0]
    assert made.at(joined) == pytest.approx(made.at(laxer), rel=1e-12)


def test_saturated_weights_end_at_their_level():
    made = law(weighting=SaturatedWeighting(level=20.0))
    worth = epsilon_worth(made, ALL_IN)
    np.testing.assert_allclose(worth, np.sqrt(8) / 20.0)
    budgets = np.array([0.5, 1.0, 0.7]) * worth
    for owner in range(3):
        there, beyond, before = (budgets.copy() for _ in range(3))
        there[owner], beyond[owner], before[owner] = worth[owner] * np.array([1.0, 100.0, 0.9])
        assert (
            made.at(there)
            == pytest.approx(made.at(beyond), rel=1e-12)
            != pytest.approx(made.at(before), rel=1e-6)
        )


def test_precision_weights_halve_an_owner_there():
    made = law(weighting=PrecisionWeighting(balance=30.0 / 4.0))
    worth = epsilon_worth(made, ALL_IN)
    raw = [
        made.weighting.sum_terms(Answers(made.mechanism.noise_term(at), SIZES, SIZES > 0))[:, 1]
        for at in (worth, 1e9 * worth)
    ]
    np.testing.assert_allclose(raw[0] / raw[1], 0.5)


def test_several_plans_of_which_the_one_in_use_counts():
    made = law(lines=((0.01, 5.0), (0.001, 300.0)), outside=0.5)
    loud = epsilon_worth(made, np.full(3, 0.05))
    quiet = epsilon_worth(made, np.full(3, 50.0))
    np.testing.assert_allclose(quiet / loud, np.sqrt(300 / 5), rtol=1e-3)


def test_who_is_told_nothing_and_who_is():
    made = law(outside=0.2)
    assert np.isnan(epsilon_worth(made, np.zeros(3))).all()  # nobody shares
    assert np.isnan(epsilon_worth(made, np.full(3, 1e-4))).all()  # nothing is worth asking
    free = epsilon_worth(made, np.full(3, np.inf))
    np.testing.assert_allclose(
        free, epsilon_worth(made, ALL_IN), rtol=1e-6
    )  # no noise: the line's own slope
    absent = epsilon_worth(made, [1.0, 0.0, 0.5])
    assert np.isfinite(absent).all() and absent[1] == pytest.approx(free[1], rel=1e-3)
    alone = law(sizes=SIZES[:1], outside=2.0)
    assert epsilon_worth(alone, [1.0])[0] == pytest.approx(np.sqrt(8 * 30 / (4.0 * 500)))
    assert np.isinf(
        epsilon_worth(replace(made, dispersion=0.0), ALL_IN)
    ).all()  # no sampling noise to hide behind
    assert np.isnan(
        epsilon_worth(law(lines=((0.3, 1.0),), outside=0.2), ALL_IN)
    ).all()  # no plan beats doing nothing


def test_what_is_announced_is_what_is_worth_buying_once_it_is_sold():
    made = law(lines=[(0.1 / slope, slope) for slope in np.geomspace(1.0, 1e4, 200)], outside=0.5)
    announced = worth_of_all(made, np.full(3, 0.01), np.full(3, 50.0))
    np.testing.assert_allclose(epsilon_worth(made, announced), announced, rtol=1e-6)
    assert np.all(announced <= epsilon_worth(made, np.full(3, 50.0)) * (1 + 1e-9))
    floor = announced * [0.5, 5.0, 0.5]  # one who may not sell so little
    told = worth_of_all(made, floor, np.full(3, 50.0))
    assert told[1] < floor[1]
    np.testing.assert_allclose(epsilon_worth(made, np.maximum(told, floor)), told, rtol=1e-6)
    assert np.isinf(worth_of_all(law(outside=0.2), np.zeros(3), np.full(3, 1e-4))).all()


def test_many_owners_are_read_off_a_curve():
    sizes = np.arange(1000.0, 1000.0 + 2 * NODES)
    for mechanism in (Laplace(), Gaussian(1e-6)):
        made = law(mechanism, sizes=sizes)
        told = epsilon_worth(made, np.ones(len(sizes)))
        some = [0, 7, NODES, 2 * NODES - 1]
        one_by_one = mechanism.budget(4.0 * sizes[some] / 30.0)
        np.testing.assert_allclose(told[some], one_by_one, rtol=1e-6)


def test_marginal_pay_ends_there():
    """By the law: all that is still to earn beyond is V (C/f*) q^2/n, and another epsilon earns as 1/epsilon^3."""
    made = law()
    value = 1000.0
    weights = SIZES / SIZES.sum()
    worth = epsilon_worth(made, ALL_IN)
    game = Game(Owners(("A", "B", "C"), SIZES, 0.0, 100.0, Linear(0.0)), Marginal(), made, value)
    moves = game.deviations(ALL_IN)
    at = worth[:, None] * np.array([0.5, 1.0, 2.0, 8.0, 1e6])
    paid = moves.payments(at)
    slope = moves.marginal_surplus(at)
    np.testing.assert_allclose(
        paid[:, -1] - paid[:, 1], value * 4.0 * weights**2 / SIZES, rtol=1e-6
    )
    np.testing.assert_allclose(
        slope[:, :4] / slope[:, 1:2], np.tile([8.0, 1.0, 1 / 8, 1 / 512], (3, 1)), rtol=1e-9
    )
