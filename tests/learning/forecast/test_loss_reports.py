"""Owners' loss reports: what each gives away, how often owners alike are called different, how far kinds lie apart."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from learning.data.owner_data import OwnerData
from learning.forecast.homogeneity import SPREADS, kind_distance
from learning.forecast.inputs import Settings
from learning.forecast.loss_reports import HIDDEN, LossQuery, fresh_losses, loss_query, read_reports
from learning.forecast.public_sample import PublicSample
from learning.forecast.ways import planner_under
from learning.losses.losses import LOSSES
from learning.privacy.l2 import L2
from tests.populations import generated, planning_inputs

SIZES = np.array([600, 900, 1500])
SPENT = 0.05


@pytest.fixture
def rng():
    return np.random.default_rng(9)


def asked(rng, shifts=(0.0, 0.0, 0.0), *, nameless=True, public=120, tails=5.0):
    """Reports of owners whose targets are moved by so much, read by a learner with rows that are not."""
    x, y = generated(public, 4, rng, tails=tails)
    sample = PublicSample(x, y)
    lost = fresh_losses(sample)
    query = loss_query(sample, lost, SIZES, SPENT, 1)
    owners = [generated(n, 4, rng, tails=tails) for n in SIZES]
    held = [
        OwnerData(f"owner {i}", x, y + s)
        for i, ((x, y), s) in enumerate(zip(owners, shifts, strict=True))
    ]
    losses = np.array([query.report(owner, rng=rng) for owner in held])
    return read_reports(query, losses, SIZES, lost, nameless=nameless, rng=rng), held


@pytest.mark.parametrize("name", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("overlap", [1, 3])
def test_a_report_tells_neighbouring_records_apart_by_no_more_than_is_claimed(name, overlap, rng):
    x, y = generated(40, 3, rng)
    y = np.sign(y) if LOSSES[name].labels else y
    query = LossQuery(LOSSES[name], np.array([0.5, -0.3, 0.1]), 0.4, SPENT, overlap)
    noise = laplace(scale=query.scale(np.array(40)))
    seen = np.linspace(-50, 50, 4001)
    worst = 0.0
    targets = (-1.0, 1.0) if query.loss.labels else (0.1, 1e6)
    for other in (1e6, -1e6, 0.0, float(y[-1])):  # a record replaced by any other, wild ones too
        for sign in (1.0, -1.0):
            there = np.append(x[:-1], [[sign * other, 0.0, 1.0]], axis=0)
            means = [query.losses(there, np.append(y[:-1], v)).mean() for v in targets] + [
                query.losses(x, y).mean()
            ]
            for first in means:
                for second in means:
                    worst = max(
                        worst,
                        float(np.max(noise.logpdf(seen - first) - noise.logpdf(seen - second))),
                    )
    assert (
        0.9 * SPENT / overlap < worst <= SPENT / overlap * (1 + 1e-9)
    )  # nearly attained: no more noise than needed
    claim, *joint = query.claims(["bank"])
    assert [one.epsilon for one in joint] == (
        [SPENT / overlap] if overlap > 1 else []
    )  # of one owner, here
    assert (claim.epsilon, claim.delta, claim.rounds, claim.adjacency) == (
        SPENT,
        0.0,
        1,
        "replace one record",
    )


def test_a_report_is_the_clipped_mean_under_the_noise_announced(rng):
    x, y = generated(300, 3, rng, tails=2.0)
    query = LossQuery(LOSSES["squared"], np.zeros(3), 0.5, SPENT)
    owner = OwnerData("a", x, y)
    drawn = np.array([query.report(owner, rng=rng) for _ in range(2000)])
    centre = np.minimum(y**2, 0.5).mean()
    assert kstest(drawn, laplace(centre, 0.5 / (300 * SPENT)).cdf).pvalue > 0.01


def test_cross_validation_tells_what_fresh_records_lose(rng):
    missed = []
    in_sample = []
    for _ in range(60):
        sample, (x, y) = PublicSample(*generated(60, 6, rng)), generated(2000, 6, rng)
        fresh = np.mean((y - x @ sample.model) ** 2)
        missed.append(fresh_losses(sample).mean() / fresh - 1)
        in_sample.append(np.mean((sample.y - sample.x @ sample.model) ** 2) / fresh - 1)
    error = np.std(missed) / np.sqrt(60)
    assert abs(np.mean(missed)) < 3 * error + 0.02 and np.mean(in_sample) < -0.1


@pytest.mark.slow
@pytest.mark.parametrize("nameless", [True, False])
def test_owners_who_are_alike_are_called_different_one_time_in_twenty(nameless, rng):
    p_values = np.array([asked(rng, nameless=nameless)[0].test.p_value for _ in range(200)])
    for level in (0.05, 0.25):
        assert abs(np.mean(p_values <= level) - level) <= 3 * np.sqrt(level * (1 - level) / 200)


def test_owners_of_other_kinds_are_seen_and_how_far_they_lie_apart(rng):
    found, owners = asked(rng, (0.0, 1.0, 2.0))
    query = found.query
    kept = [query.losses(owner.x, owner.y) for owner in owners]
    assert found.differ and found.test.p_value < 0.01
    means = [*(losses.mean() for losses in kept), found.expected]
    true = np.var(means, ddof=1) / np.var(kept[0])
    assert np.log(found.ratio / true) == pytest.approx(0.0, abs=np.log(1.5))
    assert np.mean(found.ratios < true) > 0.025 and np.mean(found.ratios > true) > 0.025
    drawn = found.draw_distances(400, 20_000, rng=rng)
    own = np.mean(found.chance_of_own_kind(found.ratios))
    assert np.mean(drawn[:, ::2] > 0, axis=1) == pytest.approx(own, abs=0.02)
    assert not drawn[:, 1::2].any()
    assert np.median(drawn[drawn > 0]) == pytest.approx(
        np.median(found.ratios) * (1 + np.sum((SIZES / SIZES.sum()) ** 2)), rel=0.1
    )


def planners(algorithm, rng):
    """Planners of a learner with rows of unknown kind: without reports, and with ones that show a kind of their own."""
    sample = PublicSample(*generated(120, 4, np.random.default_rng(3)), drawn=False)
    inputs = planning_inputs(sample, Settings(algorithm, mechanism="l2"), 1.0, 10 * SIZES)
    inputs = replace(inputs, owners=replace(inputs.owners, groups=((0,), (1,), (2,))))
    found, _ = asked(rng, (0.0, 0.6, 1.2))
    sure = replace(found, off=1e4 * found.by_chance)
    made = [planner_under(replace(inputs, reports=one), L2(4)) for one in (None, sure)]
    return (*made, made[0].forecast.dispersion * float(kind_distance(sure.ratio, SIZES)))


@pytest.mark.slow
def test_reports_move_a_forecast_of_sums_by_what_a_step_leaves_of_the_distance(rng):
    """All of the distance was added: 50 times what is trained was forecast, with an interval above it."""
    silent, told, away = planners("one_step", rng)
    given = np.ones(3)
    assert silent.at(given) < told.at(given) < away / 20
    low, high = told.predict(given).interval()
    assert low < silent.at(given) and high > away
    assert silent.forecast.outside < told.forecast.outside


def test_reports_leave_a_forecast_of_gradients_and_widen_its_interval(rng):
    """What steps leave of a distance hangs on moments, which no loss shows."""
    silent, told, away = planners("averaged", rng)
    given = np.ones(3)
    assert told.inputs.reports.differ and told.at(given) == silent.at(given)
    assert told.forecast.outside == silent.forecast.outside
    (low, before), (told_low, high) = (one.predict(given).interval() for one in (silent, told))
    assert told_low < 1.5 * low and high > max(before, away)


def test_the_chance_of_a_kind_of_their_own_is_that_of_bayes_rule(rng):
    found, _ = asked(rng, (0.0, 1.0, 2.0))
    ratio = np.array([0.001, 0.1, 3.0])
    off = np.sqrt(found.off)
    own, same = (
        norm(0, np.sqrt(v)).pdf(off)
        for v in (found.by_chance + kind_distance(ratio, SIZES), found.by_chance)
    )
    np.testing.assert_allclose(
        found.chance_of_own_kind(ratio), 0.5 * own / (0.5 * own + 0.5 * same), rtol=1e-12
    )
    named, _ = asked(rng, (0.0, 1.0, 2.0), nameless=False)
    assert named.differ and named.chance_of_own_kind(ratio).tolist() == [0, 0, 0]


@pytest.mark.filterwarnings("error")
def test_the_report_of_a_single_owner_shows_no_difference_between_owners(rng):
    sample = PublicSample(*generated(120, 4, rng))
    lost = fresh_losses(sample)
    for size, report in product(range(100, 106), np.linspace(0.1, 0.7, 7)):
        sizes = np.array([size])
        query = loss_query(sample, lost, sizes, SPENT, 1)
        found = read_reports(query, np.array([report]), sizes, lost, nameless=False, rng=rng)
        assert found.ratio == 0 and not found.ratios.any() and not found.differ


@pytest.mark.filterwarnings("error")
def test_reports_are_read_where_no_public_row_loses_anything(rng):
    sample = PublicSample(*generated(120, 4, rng))
    query = loss_query(sample, np.zeros(120), SIZES, SPENT, 1)
    alike = read_reports(query, np.zeros(3), SIZES, np.zeros(120), nameless=True, rng=rng)
    apart = read_reports(
        query, np.array([1.0, 1.0, 1.0]), SIZES, np.zeros(120), nameless=True, rng=rng
    )
    assert alike.test.p_value > 0.5 and apart.differ
    assert np.isfinite(alike.ratios).all() and np.isfinite(apart.ratios).all()


def test_reports_that_show_nothing_make_kinds_less_likely_the_further_apart(rng):
    """By Bayes' rule from the mean of all reports, but for the quarter of kinds that losses do not show."""
    found, _ = asked(rng)
    near, far = (replace(found, off=off * found.by_chance).kind_odds for off in (0.01, 100.0))
    assert (np.diff(near) < 0).all() and near[0] == pytest.approx(1.0, abs=0.01)
    assert HIDDEN < near[-1] < 1.5 * HIDDEN and far.max() > 100
    wide = found.by_chance + kind_distance(SPREADS, SIZES)
    likely = norm(0, np.sqrt(wide)).pdf(np.sqrt(found.off)) / norm(0, np.sqrt(found.by_chance)).pdf(
        np.sqrt(found.off)
    )
    np.testing.assert_allclose(found.kind_odds, HIDDEN + (1 - HIDDEN) * likely, rtol=1e-9)


def test_what_alike_owners_report_adds_nothing(rng):
    alike = next(found for found, _ in iter(lambda: asked(rng), None) if found.test.p_value > 0.25)
    assert (
        alike.ratio == 0
        and not alike.ratios.any()
        and not alike.draw_distances(4, 50, rng=rng).any()
    )
    assert not alike.between_owners(4).differ and not alike.between_owners(4).by_names


def test_the_bound_is_the_one_under_which_a_difference_shows_best(rng):
    x, y = generated(400, 4, rng, tails=3.0)
    sample = PublicSample(x, y)
    lost = fresh_losses(sample)
    little, much = (loss_query(sample, lost, SIZES, epsilon, 1).bound for epsilon in (0.005, 5.0))
    assert little < much <= lost.max()  # little noise lets the tail count
    query = loss_query(sample, lost, SIZES, SPENT, 1)
    records = float(np.exp(np.log(SIZES).mean()))
    tried = np.quantile(lost, np.linspace(0.3, 1, 50))

    def shows(bound):
        moved = (np.minimum(1.001 * lost, bound).mean() - np.minimum(lost, bound).mean()) / 0.001
        return moved / np.sqrt(
            np.minimum(lost, bound).var() / records + 2 * (bound / records / SPENT) ** 2
        )

    assert shows(query.bound) > 0.9 * max(map(shows, tried))
