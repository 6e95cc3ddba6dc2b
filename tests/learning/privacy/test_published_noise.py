"""Noise as printed against the accountants: an independent one, brute force, and the papers' own numbers."""

from itertools import product

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import rdp_privacy_accountant
from scipy.stats import norm

from learning.errors import InputError
from learning.privacy.accounting import gaussian_delta
from learning.privacy.published_noise import PublishedNoise, average_epsilon, fixed_sample_epsilons
from learning.privacy.subsampled import (
    SubsampledGaussian,
    log_moment,
    sampled_epsilon,
    subsampled_delta,
    subsampled_epsilon,
)

SIZES = (100, 300, 50)
FORMULAS = ("sgd1", "sgd2", "weighted", "plain")


def test_the_formulas_are_those_printed():
    """MP (3) over n^2; MP Lemma 2 at (epsilon/sqrt(T ln(1/delta)), delta/T); WD (3) and Table 1."""
    n = 450
    epsilon = 0.4
    delta = 1e-9
    bound = 1.7
    sums = 16 * bound**2 * n**2 * np.log(1.25 * n**2 / delta) ** 2 / epsilon**2
    for size in SIZES:
        found = PublishedNoise("sgd1", delta, SIZES).variance(epsilon, size, bound, n**2)
        assert found == pytest.approx(sums / n**2, rel=1e-12)
        a_round = epsilon / np.sqrt(20 * np.log(1 / delta))
        failing = delta / 20
        classical = np.sqrt(2 * np.log(1.25 / failing)) * (2 * bound / size) / a_round
        assert PublishedNoise("sgd2", delta, SIZES).scale(
            epsilon, size, bound, 20
        ) == pytest.approx(classical, rel=1e-12)
        moments = 16 * bound**2 * 20 * np.log(1 / delta) / epsilon**2
        assert PublishedNoise("weighted", delta, SIZES).variance(
            epsilon, size, bound, 20
        ) == pytest.approx(moments / 450**2)
        assert PublishedNoise("plain", delta, SIZES).variance(
            epsilon, size, bound, 20
        ) == pytest.approx(moments / 150**2)
    assert PublishedNoise("weighted", delta, SIZES, 4.0).variance(
        epsilon, 50, bound, 20
    ) == pytest.approx(moments / 4 / 450**2)


def test_the_constant_is_what_wds_proof_needs():
    """4 lambda^2 G^2 T/(sigma^2 n^2) <= lambda epsilon/2 at lambda = 2 ln(1/delta)/epsilon, with equality."""
    epsilon = 0.1
    delta = 1e-3
    horizon = 30
    variance = float(PublishedNoise("weighted", delta, SIZES).variance(epsilon, 50, 1.0, horizon))
    order = 2 * np.log(1 / delta) / epsilon
    assert 4 * order**2 * horizon / (variance * 450**2) == pytest.approx(
        order * epsilon / 2, rel=1e-12
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        *(PublishedNoise(f, 1e-6, SIZES) for f in FORMULAS),
        *(SubsampledGaussian(1e-6, 450, 60, how) for how in ("zcdp", "pld")),
    ],
    ids=str,
)
def test_terms_tell_the_variance_and_slopes_are_differences(mechanism):
    """variance = bound^2 growth(T) term/counted^2; epsilon is its inverse; term_slope by central differences."""
    epsilon = np.array([0.01, 0.3, 2.0])
    sizes = np.array(SIZES)
    variance = mechanism.variance(epsilon, sizes, 1.7, 60)
    told = (
        1.7**2
        * mechanism.horizon_factor(60)
        * mechanism.noise_term(epsilon)
        / mechanism.noise_denominator(sizes) ** 2
    )
    assert variance == pytest.approx(told, rel=1e-9)
    assert mechanism.epsilon(variance, sizes, 1.7, 60) == pytest.approx(epsilon, rel=3e-6)
    assert mechanism.scale_of_variance(variance) == pytest.approx(
        mechanism.scale(epsilon, sizes, 1.7, 60), rel=1e-12
    )
    step = 1e-4 * epsilon
    difference = (mechanism.noise_term(epsilon + step) - mechanism.noise_term(epsilon - step)) / (
        2 * step
    )
    assert mechanism.noise_term_slope(epsilon) == pytest.approx(difference, rel=1e-5)
    assert mechanism.scale([0.0, np.inf], [100, 300], 1.7, 60).tolist() == [np.inf, 0.0]
    assert (
        mechanism.noise_term([0.0, np.inf]).tolist()
        == [0.0, 0.0]
        == mechanism.noise_term_slope([0.0, np.inf]).tolist()
    )
    drawn = mechanism.draw(2.0, (40_000,), rng=np.random.default_rng(0))
    assert drawn.var() == pytest.approx(4.0, rel=4 * np.sqrt(2 / 40_000))


# accountants


@pytest.mark.slow
@pytest.mark.parametrize(
    "distance, rounds, chance, delta",
    [(0.5, 20, 0.3, 1e-5), (1.0, 5, 0.1, 1e-3), (0.1, 1000, 0.05, 1e-6), (0.2, 30, 1.0, 1e-7)],
)
def test_known_picks_by_another_accountant(distance, rounds, chance, delta):
    """A round is a Gaussian with this chance and nothing else, composed as a privacy-loss distribution: equal, so the
    epsilon is neither too small nor too large."""
    gaussian = pld.from_gaussian_mechanism(1 / distance, value_discretization_interval=1e-4)
    composed = gaussian.compute_mixture(pld.identity(1e-4), chance).self_compose(rounds)
    assert composed.get_epsilon_for_delta(delta) == pytest.approx(
        subsampled_epsilon(distance, rounds, chance, delta), rel=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "distance, records, rounds, delta",
    [(1.0, 10, 100, 1e-5), (0.1, 100, 10_000, 1e-6), (3.0, 50, 50, 1e-5), (0.5, 2, 3, 1e-4)],
)
def test_hidden_picks_between_two_other_accountants(distance, records, rounds, delta):
    """Above: dp-accounting's Renyi accounting of sampling without replacement, replace-one. Below: the privacy-loss
    distribution of one bad pair (all other records at the replaced one's new place), less its
    rounding."""
    ours = sampled_epsilon(distance, rounds, records, delta)
    accountant = rdp_privacy_accountant.RdpAccountant(
        neighboring_relation=NeighboringRelation.REPLACE_ONE
    )
    event = dp_event.SampledWithoutReplacementDpEvent(
        records, 1, dp_event.GaussianDpEvent(1 / distance)
    )
    accountant.compose(event, rounds)
    assert ours < accountant.get_epsilon(delta)
    one = pld.from_gaussian_mechanism(
        1 / distance,
        sampling_prob=1 / records,
        value_discretization_interval=1e-3 if rounds < 1000 else 1e-4,
    )
    assert ours > one.self_compose(rounds).get_epsilon_for_delta(delta) * 0.999
    assert ours <= subsampled_epsilon(distance, rounds, 1 / records, delta)


def hockey_stick(p, q, epsilon, cell):
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum() * cell)


GRID = np.linspace(-8, 8, 641)
CELL = GRID[1] - GRID[0]
APART = 1.4  # distance m of one use


def test_known_picks_by_brute_force():
    """Two rounds over two records, the replaced one at -+m/2 and the other anywhere: the answers' joint density on a grid of
    the plane, summed over the four sequences of picks, loses just delta."""
    density = {place: norm.pdf(GRID, place) for place in (-APART / 2, 0.0, APART / 2)}
    epsilon = subsampled_epsilon(APART, 2, 0.5, 0.02)
    for other in density:
        lost = 0.0
        for picks in product((0, 1), repeat=2):
            p, q = (
                [density[(place, other)[k]] for k in picks] for place in (-APART / 2, APART / 2)
            )
            lost += hockey_stick(np.outer(*p), np.outer(*q), epsilon, CELL**2) / 4
        assert lost == pytest.approx(0.02, rel=1e-3)


def mixtures(records, other):
    """One answer's density under either data set, the pick hidden among so many records, the others all in one place."""
    return [
        (norm.pdf(GRID, place) + (records - 1) * norm.pdf(GRID, other)) / records
        for place in (-APART / 2, APART / 2)
    ]


def test_hidden_picks_by_brute_force():
    """Two rounds over five records, on the grid: no pair of data sets loses more than delta, and one a tenth of it."""
    epsilon = sampled_epsilon(APART, 2, 5, 0.01)
    assert epsilon < 0.9 * subsampled_epsilon(APART, 2, 0.2, 0.01)
    lost = []
    for other in np.linspace(-APART / 2, APART / 2, 7):
        p, q = (np.outer(one, one) for one in mixtures(5, other))
        lost += [hockey_stick(p, q, epsilon, CELL**2), hockey_stick(q, p, epsilon, CELL**2)]
    assert 0.1 * 0.01 < max(lost) <= 0.01


def test_hidden_picks_of_a_known_owner_by_brute_force():
    """Two owners of five records; whose record a round uses is seen. Two rounds, every sequence of owners."""
    epsilon = sampled_epsilon(APART, 2, 5, 0.01, share=0.5)
    assert (
        sampled_epsilon(APART, 2, 10, 0.01)
        < epsilon
        < 0.95 * subsampled_epsilon(APART, 2, 0.1, 0.01)
    )
    p, q = mixtures(5, APART / 2)
    lost = []
    for first, second in ((p, q), (q, p)):
        once = hockey_stick(first, second, epsilon, CELL)
        twice = hockey_stick(np.outer(first, first), np.outer(second, second), epsilon, CELL**2)
        lost.append(once / 2 + twice / 4)
    assert 0.05 * 0.01 < max(lost) <= 0.01


def test_hiding_picks_never_costs():
    """Over few rounds Renyi accounting is too loose to help; who knows less is then promised what who knows all is."""
    assert sampled_epsilon(APART, 2, 2, 0.02, share=2 / 3) == subsampled_epsilon(
        APART, 2, 1 / 3, 0.02
    )


@pytest.mark.parametrize("order, distance", [(1.5, 0.01), (2.0, 1.0), (30.0, 0.3), (400.0, 1.0)])
def test_moments_without_sampling_are_those_of_a_gaussian(order, distance):
    """E (P/Q)^a = exp(a (a - 1) m^2/2)."""
    exponent = order * (order - 1) * distance**2 / 2
    expected = exponent + np.log(-np.expm1(-exponent))
    assert log_moment(order, distance, 1.0) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_moments_from_the_profile_by_integration():
    """a (a - 1) int_1^inf delta(t) (t^(a-2) + t^(-a-1)) dt, delta the profile of the pair, on a fine grid of t."""
    order = 3.0
    m = 0.8
    chance = 0.2
    t = 1 + np.concatenate([[0.0], np.geomspace(1e-6, 300.0, 40_000)])
    # (A - t B)_+ = chance (P - s B)_+ with s = 1 + (t - 1)/chance
    inner = np.log1p((t - 1) / chance)
    profile = chance * gaussian_delta(inner, m)
    whole = order * (order - 1) * np.trapezoid(profile * (t ** (order - 2) + t ** (-order - 1)), t)
    assert np.exp(log_moment(order, m, chance)) == pytest.approx(whole, rel=1e-5)


def test_no_noise_and_no_use_at_the_limits():
    assert subsampled_epsilon(0.0, 10, 0.5, 1e-6) == 0.0 == sampled_epsilon(0.0, 10, 5, 1e-6)
    assert subsampled_epsilon(np.inf, 10, 0.5, 1e-6) == np.inf
    assert subsampled_epsilon(5.0, 1, 1e-7, 1e-6) == 0.0  # hardly ever used
    assert float(subsampled_delta(1.0, 0.0, 10, 0.5)) < 1e-20
    assert subsampled_epsilon(0.3, 7, 1.0, 1e-6) == pytest.approx(
        subsampled_epsilon(0.3 * np.sqrt(7), 1, 1.0, 1e-6), rel=1e-8
    )


# honest noise


@pytest.mark.parametrize("overlap", [1, 3])
def test_pick_noise_spends_its_budget_by_another_accountant(overlap):
    """At the noise of (1, 1e-6) the privacy-loss distribution of 1,000 picks of 100 gives epsilon = 1, from below; the
    budget read off quantiles gives more noise."""
    exact, split = (SubsampledGaussian(1e-6, 100, 1000, how, overlap) for how in ("pld", "zcdp"))
    s = float(exact.scale(1.0, 40, 1.0, 1000))
    gaussian = pld.from_gaussian_mechanism(s / 2, value_discretization_interval=1e-4)
    composed = gaussian.compute_mixture(pld.identity(1e-4), overlap / 100).self_compose(1000)
    assert 0.9999 < composed.get_epsilon_for_delta(1e-6) <= 1.0
    assert float(split.scale(1.0, 40, 1.0, 1000)) > 1.2 * s
    assert (
        float(
            subsampled_delta(1.0, 2 / float(split.scale(1.0, 40, 1.0, 1000)), 1000, overlap / 100)
        )
        < 1e-6
    )


def test_pick_noise_errs_upwards_everywhere():
    mechanism = SubsampledGaussian(1e-6, 100, 1000)
    budgets = np.geomspace(2e-4, 100, 43)
    spent = [
        subsampled_epsilon(2 / s, 1000, 0.01, 1e-6) for s in mechanism.scale(budgets, 1, 1.0, 1000)
    ]
    inside = budgets > 1e-3
    assert (np.array(spent) <= budgets).all()
    assert np.array(spent)[inside] == pytest.approx(budgets[inside], rel=2e-4)


# what the papers claim


def test_mps_claim_for_sgd1_without_secret_picks():
    """delta = 1/n^3, epsilon = 0.5, n^2 rounds: by luck of generous constants it holds at n = 100; at n = 984 it fails."""
    found = {}
    for n in (100, 984):
        printed = PublishedNoise("sgd1", n**-3.0 / 2, (n // 2, n - n // 2))
        found[n] = [one.epsilon for one in printed.claims("a", 0.5, n**2, size=n // 2)]
        assert found[n][0] > found[n][1] > found[n][2]
        assert found[n][1] < 0.5  # amplified by sampling, the claim holds
    assert found[100][0] < 0.5 < found[984][0]


def test_how_far_one_use_moves_an_answer():
    """2 G/s of one record's gradient is epsilon/(2 ln(1.25 n^2/delta)) over n^2 rounds; of n_l records 2 G/(n_l s)."""
    expected = 0.5 / (2 * np.log(1.25 * 450**2 / 1e-9))
    assert PublishedNoise("sgd1", 1e-9, SIZES).distance(0.5, 50, 450**2) == pytest.approx(
        expected, rel=1e-12
    )
    for formula in ("sgd2", "weighted", "plain"):
        printed = PublishedNoise(formula, 1e-9, SIZES)
        scale = float(printed.scale(0.5, 50, 1.7, 20))
        assert printed.distance(0.5, 50, 20) == pytest.approx(2 * 1.7 / 50 / scale, rel=1e-12)
        assert printed.distance(0.0, 50, 20) == 0.0


def test_mps_claim_for_one_use():
    """By the classical bound the noise falls short where replacing a record moves n grad by 2 n G; exactly, it does not."""
    claimed, delta, spent = fixed_sample_epsilons(PublishedNoise("sgd1", 5e-7, (100,)), 0.5)
    assert (claimed, delta) == (
        pytest.approx(0.5 / (2 * np.sqrt(np.log(2e6)))),
        pytest.approx(5e-11),
    )
    assert spent == pytest.approx(
        pld.from_gaussian_mechanism(
            1 / PublishedNoise("sgd1", 5e-7, (100,)).distance(0.5, 1, 10_000),
            value_discretization_interval=1e-5,
        ).get_epsilon_for_delta(5e-11),
        rel=1e-4,
    )
    assert spent < claimed


@pytest.mark.parametrize("horizon", [1, 10, 1000])
def test_sgd2_keeps_its_claim_with_room(horizon):
    (claim,) = PublishedNoise("sgd2", 1e-6, SIZES).claims("a", 0.9, horizon, size=50)
    composed = pld.from_gaussian_mechanism(
        1 / PublishedNoise("sgd2", 1e-6, SIZES).distance(0.9, 50, horizon),
        value_discretization_interval=1e-5,
    )
    assert claim.epsilon == pytest.approx(
        composed.self_compose(horizon).get_epsilon_for_delta(1e-6), rel=1e-4
    )
    assert claim.epsilon < 0.9


def test_wds_noise_protects_an_owners_own_model_by_its_share_only():
    """An owner of n/9 of the records has nine times the distance at the server, and more than nine times the epsilon."""
    printed = PublishedNoise("weighted", 1e-3, SIZES)
    whole = PublishedNoise("weighted", 1e-3, (450,))
    assert printed.distance(0.25, 50, 30) == pytest.approx(9 * whole.distance(0.25, 450, 30))
    server, public = printed.claims("c", 0.25, 30, size=50)
    alone = whole.claims("all", 0.25, 30, size=450)[0]
    assert alone.epsilon < 0.25 < server.epsilon == public.epsilon
    assert server.epsilon > 9 * alone.epsilon
    assert server.epsilon == pytest.approx(
        subsampled_epsilon(9 * 2 * 0.25 / np.sqrt(16 * np.log(1e3)), 1, 1.0, 1e-3), rel=1e-8
    )


def test_the_average_carries_less_noise_than_wd_prints():
    """sigma^2 sum q^2, not sigma^2: of m equal owners the average gives sqrt(m) times the distance, and 32 break it."""
    for m in (1, 2, 32):
        for formula in ("weighted", "plain"):
            printed = PublishedNoise(formula, 1e-3, (100,) * m)
            expected = subsampled_epsilon(
                np.sqrt(m) * 2 * 0.25 / np.sqrt(16 * np.log(1e3)), 1, 1.0, 1e-3
            )
            assert average_epsilon(printed, 100, 0.25, 1000) == pytest.approx(expected, rel=1e-8)
            assert (average_epsilon(printed, 100, 0.25, 1000) > 0.25) == (m == 32)
            assert average_epsilon(printed, 100, 0.25, 1000) <= printed.claims(
                "a", 0.25, 1000, size=100
            )[0].epsilon * (1 + 1e-8)


def test_claims_carry_the_accountants_number_and_name_the_printed_one():
    for formula in FORMULAS:
        printed = PublishedNoise(formula, 1e-6, SIZES)
        every = printed.claims("a", 0.5, 60, "one patient", size=100)
        assert len(every) == {"sgd1": 3, "sgd2": 1}.get(formula, 2)
        for one in every:
            assert (one.party, one.unit, one.delta, one.rounds, one.simulation) == (
                "a",
                "one patient",
                1e-6,
                60,
                True,
            )
            assert "epsilon = 0.5" in one.mechanism and one.epsilon != 0.5
        assert len({one.protects_against for one in every}) == len(every)
        assert (
            printed.claim("a", 0.5, 60).epsilon
            == printed.claims("a", 0.5, 60, size=50)[0].epsilon
            >= every[0].epsilon
        )
        assert printed.claim("a", 0.0, 60).epsilon == 0.0
    honest = SubsampledGaussian(1e-6, 450, 60).claim("a", 0.5, 50)
    assert honest.epsilon == 0.5 and "picks known" in honest.mechanism


def test_misuse_is_refused():
    for wrong in (
        lambda: PublishedNoise("sgd3", 1e-6, SIZES),
        lambda: PublishedNoise("sgd1", 0.0, SIZES),
        lambda: PublishedNoise("sgd1", 1e-6, ()),
        lambda: PublishedNoise("sgd1", 1e-6, (3, 0)),
        lambda: PublishedNoise("weighted", 1e-6, SIZES, 0.0),
        lambda: SubsampledGaussian(1.0, 10, 10),
        lambda: SubsampledGaussian(1e-6, 0, 10),
        lambda: SubsampledGaussian(1e-6, 10, 0),
        lambda: SubsampledGaussian(1e-6, 10, 10, "basic"),
        lambda: SubsampledGaussian(1e-6, 10, 10, overlap=11),
        lambda: SubsampledGaussian(1e-6, 10, 10).scale(1.0, 5, 1.0, 11),
        lambda: PublishedNoise("sgd1", 1e-6, SIZES).scale(-1.0, 5, 1.0, 11),
    ):
        with pytest.raises(ValueError, match=r"must be|must lie"):
            wrong()
    for endless in (PublishedNoise("sgd1", 1e-6, SIZES), SubsampledGaussian(1e-6, 450, 60)):
        with pytest.raises(ValueError, match="no privacy"):
            endless.claim("a", np.inf, 60)
    with pytest.raises(ValueError, match="no privacy"):
        average_epsilon(PublishedNoise("weighted", 1e-6, SIZES), 50, np.inf, 60)
    with pytest.raises(ValueError, match="averages no models"):
        average_epsilon(PublishedNoise("sgd2", 1e-6, SIZES), 50, 0.5, 60)
    with pytest.raises(ValueError, match="only SGD1"):
        fixed_sample_epsilons(PublishedNoise("sgd2", 1e-6, SIZES), 0.5)
    with pytest.raises(InputError, match=r"owners\.epsilon"):
        SubsampledGaussian(1e-6, 450, 60).scale(200.0, 5, 1.0, 60)
