"""Budgets in shares that grow: what each answer spends, with what noise, and what all of them come to by a second route."""

import json
from dataclasses import asdict, replace
from functools import reduce

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from learning.errors import InputError
from learning.losses.statistics import squared_statistics
from learning.privacy.accounting import zcdp_distance
from learning.privacy.composition import AccountedLaplace, spent_epsilon
from learning.privacy.gaussian import Gaussian
from learning.privacy.guarantees import guarantee_answers
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Budget, BudgetExceeded, Ledger, spent_budget
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.mechanism import NoiseSettings
from learning.privacy.mechanisms import candidate_mechanisms
from learning.privacy.noise import GROWTHS, share_ratio
from learning.privacy.promises import make_claims
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.shares import answer_shares
from learning.privacy.subsampled import SubsampledGaussian
from learning.privacy.wrapped import GivenBound, Remaining
from learning.randomness import Streams
from learning.training.client import group_owners, make_clients

BOUND = 1.5
SIZE = 200
EPSILON = 1.2
DELTA = 1e-5
GROWN = [(2.0, 3), (3.0, 4), (1.5, 5)]


def ratios(mechanism, growth, answers, epsilon=EPSILON):
    """Sensitivity over scale of each answer, in the mechanism's norm."""
    scale = float(mechanism.scale([epsilon], [SIZE], BOUND, answers)[0])
    return 2 * BOUND / SIZE / (scale * mechanism.relative_scales(growth, answers))


def test_shares_sum_to_the_whole_and_grow_by_the_factor():
    for growth in (*GROWTHS, 0.5, 10.0):
        for answers in (1, 2, 7, 300):
            found = answer_shares(growth, answers)
            assert found.sum() == pytest.approx(1, rel=1e-12) and found.shape == (answers,)
            assert share_ratio(growth, answers) == pytest.approx(
                max(growth, 1 / growth) ** (answers - 1)
            )
            if share_ratio(growth, answers) < 1e200:
                np.testing.assert_allclose(found[1:], growth * found[:-1], rtol=1e-9)


@pytest.mark.parametrize(("growth", "answers"), GROWN)
def test_where_budgets_add_the_answers_own_ratios_add_up_to_epsilon(growth, answers):
    for mechanism in (Laplace(), L2(4), Laplace(overlap=2), GivenBound(Laplace(), 3.0)):
        each = ratios(mechanism, growth, answers)
        assert each.sum() * mechanism.overlap == pytest.approx(EPSILON, rel=1e-12)
        np.testing.assert_allclose(each[1:] / each[:-1], growth)
    after = Remaining(Laplace(), 0.2)
    assert ratios(after, growth, answers).sum() == pytest.approx(EPSILON - 0.2)


@pytest.mark.parametrize(("growth", "answers"), GROWN)
def test_gaussian_answers_composed_one_by_one_meet_the_claim(growth, answers):
    """Exactly, by dp-accounting of each answer's own deviation; and under zCDP rho adds up."""
    each = ratios(Gaussian(DELTA, "pld"), growth, answers)
    parts = [
        pld.from_gaussian_mechanism(1 / ratio, value_discretization_interval=2e-4) for ratio in each
    ]
    found = reduce(lambda one, other: one.compose(other), parts).get_epsilon_for_delta(DELTA)
    assert found == pytest.approx(EPSILON, rel=2e-3)
    rho = (ratios(Gaussian(DELTA), growth, answers) ** 2 / 2).sum()
    assert rho == pytest.approx(float(zcdp_distance(EPSILON, DELTA)) ** 2 / 2, rel=1e-12)


def composed(parts):
    """The epsilon at delta 0.05 of Laplace answers of several ratios, by cells a thousandth of the largest."""
    cell = max(parts) / 1500
    made = [
        pld.from_laplace_mechanism(1 / ratio, value_discretization_interval=cell) for ratio in parts
    ]
    return reduce(lambda one, other: one.compose(other), made).get_epsilon_for_delta(0.05)


@pytest.mark.parametrize(("growth", "answers"), GROWN)
def test_laplace_answers_of_uneven_ratios_are_composed_as_they_are(growth, answers):
    for mean in (0.1, 0.6):
        found = spent_epsilon(mean, answers, 0.05, growth)
        assert composed(mean * answers * answer_shares(growth, answers)) == pytest.approx(
            found, rel=2e-3
        )
        assert found < mean * answers


@pytest.mark.slow
def test_accounted_laplace_answers_composed_one_by_one_keep_to_the_claim():
    """Those of one owner that a record sits with, and those of two that sell differently; never more noise than basic."""
    mechanism = AccountedLaplace(0.05, 2, overlap=2, growth=3.0)
    held = np.array([[EPSILON], [0.5]])
    each = ratios(mechanism, 3.0, 2)
    assert 0.995 * EPSILON < composed([*each, *each]) <= EPSILON * (1 + 1e-4) < 2 * each.sum()
    told = float(mechanism.joint_epsilon(held, 2)[0])
    parts = np.outer(np.asarray(mechanism.ratio(held[:, 0])), 2 * answer_shares(3.0, 2)).ravel()
    assert composed(parts) <= told * (1 + 1e-3) and told < 1.02 * composed(parts)
    assert (
        0.5
        < mechanism.belief_bound(held, 2, [SIZE])[0]
        <= Laplace().belief_bound(np.array([[parts.sum()]]), 2, [SIZE])[0]
    )
    measured = guarantee_answers(mechanism, EPSILON, 2, 2)
    assert measured.epsilon(measured.joint) == pytest.approx(composed(each), rel=5e-3)
    with pytest.raises(ValueError, match="priced for shares that grow by"):
        mechanism.relative_scales(1.0, 2)


def test_noise_has_the_deviation_of_each_answers_share_however_it_is_taken():
    x = np.random.default_rng(0).normal(size=(SIZE, 3))
    held = squared_statistics(x, x[:, 0])
    for mechanism in (Laplace(), Gaussian(DELTA), L2(3)):
        owners = make_clients("ab", [held, held], [EPSILON, 0.5], mechanism, BOUND, 3, growth=2.0)
        for owner in (*owners, *group_owners(owners, [[0, 1]])):
            source = owner.noise(mechanism, 600, Streams(1, "noise"))
            drawn = np.concatenate([source.take(1), source.take(2)])
            stated = (
                owner.scale
                * np.sqrt(mechanism.unit_variance)
                / (3 * answer_shares(2.0, 3)) ** mechanism.share_power
            )
            np.testing.assert_allclose(drawn.std(axis=(1, 2)), stated, rtol=0.1)
            with pytest.raises(ValueError, match="too short"):
                source.take(1)


def test_what_must_be_alike_is_refused():
    for mechanism in (SubsampledGaussian(DELTA, 100, 9), PublishedNoise("sgd2", DELTA, (9, 9))):
        assert mechanism.relative_scales(1.0, 4).tolist() == [1.0] * 4
        with pytest.raises(
            InputError, match="learning.growth: must be 1 with gaussian .*; found 2"
        ):
            mechanism.relative_scales(2.0, 4)
    priced = candidate_mechanisms("laplace", NoiseSettings((100,), DELTA, "pld", growth=None))
    assert {(one.horizon, one.growth) for one in priced} >= {(2, 1.0), (2, 3.0), (10, 1.0)}
    assert (17, 4.0) not in {(one.horizon, one.growth) for one in priced}
    for unasked in (0, 1):  # one growth that is stated, of all answers that are asked
        (one,) = candidate_mechanisms(
            "laplace", NoiseSettings((100,), DELTA, "pld", horizon=9, growth=2.0, unasked=unasked)
        )
        assert (one.horizon, one.growth) == (9 - unasked, 2.0)


def test_claims_say_how_the_budget_is_shared():
    told, even = (
        make_claims(Laplace(), "A", [9], [1.0], 3, "one record", growth) for growth in (2.0, 1.0)
    )
    assert [claim.growth for claim in (*told, *even)] == [2.0, None]
    assert replace(told[0], growth=None) == even[0]


# --- ledger
# -----------------------------------------------------------------------------------------------------------


def budget(growth=2.0, **other):
    return Budget("bank", 2.0, 3, data="loans", growth=growth, **other)


def test_the_ledger_charges_each_answer_its_own_share():
    ledger = Ledger()
    ledger.open(budget())
    spent = []
    for number in (1, 2, 3):
        ledger.charge(budget(), "query", first=number)
        spent.append(ledger.account("bank", "loans").spent)
    np.testing.assert_allclose(np.diff([0.0, *spent]), 2.0 * answer_shares(2.0, 3))
    assert (
        ledger.account("bank", "loans").remaining == 0.0
        and spent_budget(budget(delta=1e-6), 2) == 2.0
    )
    with pytest.raises(BudgetExceeded):
        ledger.charge(budget(), "query", first=4)


def test_an_answer_asked_twice_or_out_of_turn_is_refused():
    ledger = Ledger()
    ledger.open(budget())
    for first, found in ((2, "number 2"), (None, "no number"), (0, "number 0")):
        with pytest.raises(
            InputError, match=f"the next answer of bank must be number 1; found {found}"
        ):
            ledger.charge(budget(), "query", first=first)
    ledger.charge(budget(), "query", first=1)
    with pytest.raises(
        InputError, match="the next answer of bank must be number 2; found number 1"
    ):
        ledger.charge(budget(), "query", first=1)
    with pytest.raises(InputError, match="is of growth 2"):
        ledger.charge(budget(growth=1.0), "query")
    with pytest.raises(InputError, match="is of growth 2"):
        ledger.open(budget(growth=3.0))
    assert ledger.account("bank", "loans").answered == 1


def test_ledger_files_keep_the_growth_and_read_those_of_before(tmp_path):
    ledger = LedgerFile.create(tmp_path / "bank.ledger")
    ledger.open(budget())
    ledger.charge(budget(), "query", first=1)
    again = LedgerFile(tmp_path / "bank.ledger")
    assert (
        again.account("bank", "loans").budget == budget()
        and again.account("bank", "loans").answered == 1
    )
    with pytest.raises(InputError, match="number 2; found number 1"):
        again.charge(budget(), "query", first=1)
    even = LedgerFile.create(tmp_path / "even.ledger")
    even.open(budget(growth=1.0))
    line = (tmp_path / "even.ledger").read_bytes().splitlines()[1]
    assert json.loads(line)["budget"] == {
        name: v for name, v in asdict(budget(1.0)).items() if name != "growth"
    }
    tampered = (tmp_path / "bank.ledger").read_bytes().replace(b'"growth": 2.0', b'"growth": 1.0')
    (tmp_path / "bank.ledger").write_bytes(tampered)
    with pytest.raises(InputError, match="must be a whole ledger; found one that was changed"):
        LedgerFile(tmp_path / "bank.ledger")
