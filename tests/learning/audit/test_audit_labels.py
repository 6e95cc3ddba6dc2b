"""The audit of every loss, algorithm and mechanism: broken versions are caught, sound ones are not accused.

A sound finding is refuted with a chance of at most 1 - confidence, 1 % unless a test says
otherwise. Seeds are fixed.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from planting.broken_coordinates import UnclippedScores
from scipy.special import ndtr
from scipy.stats import binom
from sizes import sized

from learning.audit import observations as observations_module
from learning.audit.auditor import audit_owner
from learning.audit.observations import AuditTarget, neighbouring_datasets
from learning.audit.worst_pairs import worst_pair, worst_sums
from learning.losses.coordinates import Coordinates
from learning.losses.losses import make_loss
from learning.losses.moment_bounds import Scores
from learning.losses.network import draw_start
from learning.privacy.accounting import gaussian_delta
from learning.privacy.composition import AccountedLaplace
from learning.privacy.gaussian import Gaussian
from learning.privacy.guarantees import guarantee_answers, measure_profile
from learning.privacy.laplace import Laplace
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian, subsampled_epsilon
from learning.training import noisy_statistics as one_shot

DRAWS = 2000
WIDTH = 4
HIDDEN = 3
LABELS = ("hinge", "logistic")


def public(loss, norm=1, *, width=WIDTH, theta_max=2.0, radius=1.5, centre=1.0, seed=0):
    """Coordinates with a start, a scale and bounds."""
    rng = np.random.default_rng(seed)
    if loss.startswith("network"):
        start = draw_start(HIDDEN, width, rng=rng)
        start[-1] = 0.4
        made = make_loss(loss, hidden=HIDDEN)
        return Coordinates(start, np.eye(len(start)), radius, np.inf, theta_max, norm, made)
    mixing = rng.normal(size=(width, width))
    scale = mixing @ mixing.T / width + 0.3 * np.eye(width)
    return Coordinates(centre * rng.normal(size=width), scale, radius, 2.0, theta_max, norm, loss)


def population(records, width=WIDTH, *, labels=True):
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(size=(records, width - 1)), np.ones(records)])
    y = x @ np.linspace(1, -1, width) + rng.normal(size=records)
    return x, np.where(y > 0, 1.0, -1.0) if labels else y


def found(
    coordinates,
    mechanism,
    epsilon=2.0,
    horizon=3,
    *,
    records=60,
    seed=0,
    draws=DRAWS,
    algorithm="averaged",
    target=None,
    **settings,
):
    x, y = population(records, labels=coordinates.loss.labels)
    target = target or AuditTarget(coordinates, mechanism, horizon, algorithm)
    return audit_owner("a", x, y, epsilon, target, seed=seed, draws=draws, **settings)


def broken(mechanism, factor):
    """The same mechanism with so much less noise on every answer, its claim unchanged."""

    class Broken(type(mechanism)):
        def draw(self, scale, shape, *, rng):
            return super().draw(scale, shape, rng=rng) / factor

    return Broken(**vars(mechanism))


@dataclass(frozen=True)
class Unclipped(Coordinates):
    def clip_features(self, x):
        return x @ self.transform


@dataclass(frozen=True)
class ClippedByCoordinate(Coordinates):
    def clip_features(self, x):
        return np.clip(x @ self.transform, -self.radius, self.radius)


# --- worst pairs
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("loss", LABELS)
@pytest.mark.parametrize(
    ("width", "theta_max", "centre"), [(1, 2.0, 0.0), (3, 0.3, 0.0), (4, 2.0, 1.0), (4, 0.3, 3.0)]
)
def test_no_random_pair_of_labels_is_seen_better_than_the_worst(
    loss, norm, width, theta_max, centre
):
    """Against 40,000 random pairs at queries in the ball, in 2-norm: the search is within 1 % of all of them."""
    coordinates = public(loss, norm, width=width, theta_max=theta_max, centre=centre)
    pair = worst_pair(coordinates)
    rng = np.random.default_rng(2)
    assert np.linalg.norm(pair.query, np.inf if norm == 1 else 2) <= theta_max * (1 + 1e-9)
    assert pair.distance <= pair.bound * (1 + 1e-6)
    x = np.stack([pair.first[0], pair.second[0]])
    y = np.array([pair.first[1], pair.second[1]])
    means = [
        coordinates.oracle(x[i : i + 1], y[i : i + 1]).gradient(pair.query[None])[0]
        for i in range(2)
    ]
    assert np.linalg.norm(means[0] - means[1], norm) == pytest.approx(pair.distance)
    seen = np.linalg.norm(means[0] - means[1])
    held = coordinates.oracle(rng.laplace(size=(4000, width)) * 8, np.sign(rng.normal(size=4000)))
    for _ in range(20):
        phi = np.tile(coordinates.project(rng.normal(size=(1, width)) * 3), (4000, 1))
        gradients = held.record_gradient(phi, np.arange(4000))
        assert np.linalg.norm(gradients[:2000] - gradients[2000:], axis=1).max() <= 1.01 * seen


@pytest.mark.slow
def test_what_part_of_the_bound_labels_attain():
    """Hinge all of it. Logistic without a start: half in a small ball, as expit(t) + expit(-t) = 1, and more in a large."""
    for norm in (1, 2):
        assert worst_pair(public("hinge", norm, centre=0.0)).share == pytest.approx(1, rel=1e-6)
        shares = [
            worst_pair(public("logistic", norm, centre=0.0, theta_max=b)).share
            for b in (0.01, 1.0, 3.0, 20.0)
        ]
        assert shares[0] == pytest.approx(0.5, abs=0.01) and shares[-1] > 0.8 and max(shares) <= 1
        assert norm == 1 or shares == sorted(
            shares
        )  # in 1-norm the pair on fewer coordinates may be taken
    assert worst_pair(public("logistic", width=1, centre=0.0)).share == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("radius", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("loss", ["network", "network_squared"])
def test_the_same_record_with_either_target_has_opposite_clipped_gradients_in_a_network(
    norm, radius, loss
):
    coordinates = public(loss, norm, radius=radius)
    pair = worst_pair(coordinates)
    assert pair.share == pytest.approx(1, rel=1e-6)
    far = pair.first[1]
    assert pair.second[1] == -far and np.array_equal(pair.first[0], pair.second[0])
    held = coordinates.oracle(np.stack([pair.first[0]] * 2), np.array([far, -far]))
    one, other = held.record_gradient(np.tile(pair.query, (2, 1)), np.arange(2))
    np.testing.assert_allclose(one, -other, atol=1e-9 * radius)
    assert (
        np.linalg.norm(one - other) > (0.8 if norm == 1 else 1 - 1e-6) * pair.bound
    )  # along few coordinates


def test_sums_move_by_their_whole_sensitivity():
    for theta_max in (0.05, 1.0, 10.0):
        assert worst_sums(public("squared", 2, theta_max=theta_max)).share == pytest.approx(
            1, rel=1e-9
        )
    alone = worst_sums(public("squared", 2, width=1)).share
    assert (
        0.6 < alone < 1
    )  # one coordinate: no two records are orthogonal, and the sensitivity an upper bound


# --- every loss, under Laplace and Gaussian noise
# ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("loss", [*LABELS, "network"])
@pytest.mark.parametrize("records", [1, 60])
def test_labels_under_laplace_noise(loss, records):
    """Sound noise stands, and is seen through by a third of what it gives away; broken noise falls."""

    class OneCoordinate(Laplace):  # a fraction of a sensitivity that is a sum over coordinates
        def scale(self, epsilon, sizes, bound, horizon):
            return super().scale(epsilon, sizes, bound / WIDTH, horizon)

    class WithoutTheTwo(Laplace):  # Xi/n, that of adding a record
        def scale(self, epsilon, sizes, bound, horizon):
            return super().scale(epsilon, sizes, bound / 2, horizon)

    coordinates = public(loss)
    sound = found(coordinates, Laplace(), records=records)
    assert sound.verdict == "not refuted" and sound.answer_bound > 0.33 * sound.answer_charged
    for mechanism in (OneCoordinate(), WithoutTheTwo(), broken(Laplace(), 2)):
        assert found(coordinates, mechanism, records=records).refuted


@pytest.mark.slow
@pytest.mark.parametrize("loss", LABELS)
@pytest.mark.parametrize("kind", [Unclipped, ClippedByCoordinate])
def test_labelled_records_that_are_not_shortened_in_the_right_norm_are_caught(loss, kind):
    assert found(kind(**vars(public(loss))), Laplace()).refuted


@pytest.mark.slow
@pytest.mark.parametrize("loss", [*LABELS, "network"])
def test_labels_under_gaussian_noise(loss):
    coordinates = public(loss, 2)
    mechanism = Gaussian(1e-6, "pld")
    sound, third = (
        found(coordinates, one, draws=2 * DRAWS) for one in (mechanism, broken(mechanism, 3))
    )
    assert not sound.refuted and 0 < sound.bound < sound.charged and third.refuted


# --- mechanisms
# -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("loss", [pytest.param("squared", marks=pytest.mark.deep), "hinge"])
def test_accounted_laplace_noise(loss):
    """Half the noise shows in a single answer; an accountant that forgets to compose shows in all of them together."""

    class Uncomposed(AccountedLaplace):
        total_ratio = 1

    mechanism = AccountedLaplace(1e-3, 4)
    sound = found(public(loss), mechanism, 2.0, 4)
    assert not sound.refuted and sound.answer_bound > 0 and sound.charged <= sound.claimed == 2.0
    assert found(public(loss), broken(mechanism, 2), 2.0, 4).refuted
    forgetful = found(public(loss), Uncomposed(1e-3, 4), 2.0, 4, draws=4000)
    assert (
        not forgetful.answer_bound > forgetful.answer_charged
        and forgetful.bound > 1.2 * forgetful.claimed
    )


@pytest.mark.slow
def test_sgd1_with_known_picks():
    """20 records in all, 30 rounds. Less noise shows in one use; noise for a single use shows in all rounds together."""
    coordinates = public("hinge", 2)
    settings = {"algorithm": "sgd1", "records": 5, "draws": 4000}
    for accounting in ("pld", "zcdp"):
        mechanism = SubsampledGaussian(1e-3, 20, 30, accounting)
        sound = found(coordinates, mechanism, 2.0, 30, **settings)
        assert (
            not sound.refuted and sound.charged <= sound.claimed == 2.0 and sound.answer_bound > 0
        )
        assert found(coordinates, broken(mechanism, 2), 2.0, 30, **settings).refuted

    class OneUse(SubsampledGaussian):
        def scale(self, epsilon, sizes, bound, horizon):
            return SubsampledGaussian(self.delta, self.total_size, 1).scale(
                epsilon, sizes, bound, 1
            )

    assert found(coordinates, OneUse(1e-3, 20, 30), 2.0, 30, **settings).refuted
    squared = found(public("squared", 2), SubsampledGaussian(1e-3, 20, 30), 2.0, 30, **settings)
    assert not squared.refuted and squared.answer_bound > 0.2 * squared.answer_charged


@pytest.mark.slow
def test_noise_as_printed_is_held_to_what_the_accountant_says():
    coordinates = public("logistic", 2)
    for formula, algorithm in (
        ("sgd2", "sgd2"),
        ("weighted", "weighted"),
        ("plain", "weighted"),
        ("sgd1", "sgd1"),
    ):
        mechanism = PublishedNoise(formula, 1e-3, (60, 30))
        sound = found(coordinates, mechanism, 0.8, 10, algorithm=algorithm)
        assert (
            sound.claimed == mechanism.claims("a", 0.8, 10, size=60)[0].epsilon
            and not sound.refuted
        )
        assert sound.charged == pytest.approx(sound.claimed)
        assert found(coordinates, broken(mechanism, 6), 0.8, 10, algorithm=algorithm).refuted


@pytest.mark.slow
def test_weighted_noise_as_printed_breaks_the_server_promise_that_its_paper_makes():
    """WD scales the noise to all n records; at the printed epsilon an owner's own model is not protected."""

    class AsPrinted(Gaussian):
        def scale(self, epsilon, sizes, bound, horizon):
            return PublishedNoise("weighted", self.delta, (60, 2000)).scale(
                epsilon, sizes, bound, horizon
            )

    settings = {"algorithm": "weighted"}
    assert found(public("hinge", 2), AsPrinted(1e-3), 0.8, 10, **settings).refuted
    assert not found(public("hinge", 2), Gaussian(1e-3), 0.8, 10, **settings).refuted
    claimed = found(
        public("hinge", 2), PublishedNoise("weighted", 1e-3, (60, 2000)), 0.8, 10, **settings
    )
    assert claimed.claimed > 10 * 0.8 and not claimed.refuted


# --- algorithms
# -------------------------------------------------------------------------------------------------------


def test_how_many_answers_each_algorithm_is_attacked_for():
    known = {
        "averaged": 6,
        "synchronous": 6,
        "sgd2": 7,
        "weighted": 7,
        "asynchronous": 7,
        "sgd1": 7,
        "adassp": 1,
    }
    assert {
        name: AuditTarget(public("hinge"), Laplace(), 7, name).answers for name in known
    } == known
    finding = found(public("hinge"), Laplace(), 3.0, 4, algorithm="asynchronous", draws=500)
    assert finding.charged == finding.claimed == 3.0 and finding.answers == finding.horizon == 4


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["asynchronous", "weighted"])
def test_one_answer_too_many_is_caught(algorithm):
    """Noise for 1 of 6 answers. What each may spend by itself is not even looked at here: all of them spend too much."""

    class Fewer(Laplace):
        def scale(self, epsilon, sizes, bound, horizon):
            return super().scale(epsilon, sizes, bound, 1)

    bad, good = (
        found(public("hinge"), one, 1.0, 6, algorithm=algorithm) for one in (Fewer(), Laplace())
    )
    assert bad.bound > bad.charged == 1.0 and not good.refuted


@pytest.mark.slow
def test_sums_released_once(monkeypatch):
    coordinates = public("squared", 2)
    for epsilon in (1.0, 3.0):
        sound = found(coordinates, Gaussian(1e-6, "pld"), epsilon, 1, algorithm="adassp")
        assert (
            not sound.refuted
            and sound.charged == pytest.approx(epsilon, rel=1e-6)
            and sound.share > 0.999
        )
        assert sound.bound > 0.2 * sound.charged
    monkeypatch.setattr(
        one_shot, "release_sensitivity", lambda radius, target, factor: np.sqrt(2) * radius**2
    )  # the matrix's
    assert found(
        coordinates, Gaussian(1e-6, "pld"), 3.0, 1, algorithm="adassp", draws=10_000
    ).refuted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "least"), [("squared", 0.999), ("logistic", 0.95), ("hinge", 0.95)]
)
def test_second_moments_and_scores_released_together(loss, least):
    coordinates = public(loss, 2)
    for share, alike in ((0.3, True), (0.9, False)):
        bounded = replace(coordinates, scores=Scores(2.0, share, alike))
        sound = found(bounded, Gaussian(1e-6, "pld"), 3.0, 1, algorithm="one_step")
        assert (
            not sound.refuted
            and sound.charged == pytest.approx(3.0, rel=1e-6)
            and sound.share > least
        )
        assert sound.bound > 0.2 * sound.charged
        loose = UnclippedScores(**vars(bounded))
        assert found(loose, Gaussian(1e-6, "pld"), 3.0, 1, algorithm="one_step", draws=1000).refuted


def test_draws_come_in_blocks_of_any_size(monkeypatch):
    """As many sightings as draws, of all answers and of single ones, however few are made at once; and still no other."""
    for algorithm, loss, mechanism in (
        ("averaged", "hinge", Gaussian(1e-3)),
        ("sgd1", "hinge", SubsampledGaussian(1e-3, 4, 5)),
        ("adassp", "squared", Gaussian(1e-3)),
    ):
        coordinates, (x, y) = public(loss, 2), population(4)
        target = AuditTarget(coordinates, mechanism, 5, algorithm)
        datasets = neighbouring_datasets("a", x, y, 1e-6, target, seed=0)
        for at_once in (100, 4_000_000):
            monkeypatch.setattr(observations_module, "VALUES_AT_ONCE", at_once)
            joint, (single,) = observations_module.draw_statistics(datasets, 101, "testing")
            assert all(len(world) == 101 for statistic in joint for world in statistic)
            alone = 101 * (target.answers if algorithm == "averaged" else 1)
            assert all(len(world) == alone for statistic in single for world in statistic)
            assert len(np.unique(joint[-1][0])) > 50


# --- over many audits
# -------------------------------------------------------------------------------------------------

MANY = [
    ("hinge", Laplace(), "averaged"),
    pytest.param("network", Gaussian(1e-3, "pld"), "weighted", marks=pytest.mark.slow),
    pytest.param("squared", AccountedLaplace(1e-3, 4), "averaged", marks=pytest.mark.deep),
    pytest.param("hinge", SubsampledGaussian(1e-2, 4, 3), "sgd1", marks=pytest.mark.slow),
    ("squared", Gaussian(1e-3, "pld"), "adassp"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "mechanism", "algorithm"), MANY)
def test_the_sound_engine_over_many_audits(loss, mechanism, algorithm):
    """12 or 30 audits at 75 % confidence: wrong no more often than that allows, but with a chance of 1e-4."""
    coordinates = public(loss, mechanism.norm)
    target = AuditTarget(coordinates, mechanism, 3, algorithm)
    refuted = 0
    audits = sized(12, 30)
    for seed in range(audits):
        settings = {"target": target, "seed": seed, "draws": 200, "confidence": 0.75}
        refuted += found(coordinates, mechanism, 1.0, 3, records=4, **settings).refuted
    assert refuted <= binom.ppf(0.9999, audits, 0.25)


# --- promises
# ---------------------------------------------------------------------------------------------------------


def test_a_profile_refutes_just_what_its_deltas_forbid():
    """A Gaussian family: the chances of any threshold test between two normals at distance m give back m at most."""
    nodes = np.geomspace(0.1, 10, 400)
    epsilons = np.linspace(0, 8, 60)
    measure = measure_profile(
        nodes, epsilons, np.stack([gaussian_delta(epsilons, m) for m in nodes])
    )
    thresholds = np.linspace(-2, 3, 11)
    for m in (0.3, 1.0, 3.0):
        back = measure(ndtr(m - thresholds), ndtr(-thresholds))
        assert back.max() <= m * (1 + 1e-3) and back.max() > 0.97 * m
    assert measure(np.array([0.2]), np.array([0.5]))[0] == 0


@pytest.mark.slow
def test_promises_are_the_accountants():
    accounted = AccountedLaplace(1e-3, 4)
    made = guarantee_answers(accounted, 2.0, 4, 4)
    assert (
        made.joint == made.single == float(accounted.ratio(2.0)) and made.single_epsilon(0.3) == 0.3
    )
    assert (
        made.epsilon(made.joint) == pytest.approx(2.0, rel=1e-3) and made.epsilon(made.joint) <= 2.0
    )
    one = guarantee_answers(accounted, 2.0, 4, 1)
    low = np.array([0.6])  # what one answer of that ratio may just show
    high = np.array([0.6 * np.exp(-made.single)])
    assert one.measure(low, high * 0.7)[0] > made.single > one.measure(low, high * 1.3)[0]
    picked = guarantee_answers(SubsampledGaussian(1e-3, 20, 30), 2.0, 30, 30)
    assert picked.epsilon(picked.joint) == pytest.approx(2.0, rel=1e-3) and picked.claimed == 2.0
    assert picked.single_epsilon(picked.single) == pytest.approx(
        subsampled_epsilon(picked.single, 1, 1.0, 1e-3)
    )
    assert picked.chance == pytest.approx(1 - 0.95**30)


def test_claims_beyond_the_draws_stay_untestable():
    finding = found(
        public("hinge", 2),
        PublishedNoise("sgd1", 1e-3, (60, 30)),
        900.0,
        10,
        algorithm="sgd1",
        draws=300,
    )
    assert finding.verdict == "too large to test" and not finding.refuted


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "logistic", "network"])
def test_the_command_audits_labels(dpmarket, write, loss):
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    kind = rng.choice(["a", "b"], size=120)
    lines = [
        f"{a:.6g},{b},{int(a + (b == 'a') + rng.normal() > 0)}"
        for a, b in zip(x, kind, strict=True)
    ]
    settings = [
        f"learning.loss={loss}",
        "learning.regularisation=0.01",
        "learning.horizon=3",
        "learning.step_size=0.5",
    ]
    arguments = [word for setting in settings for word in ("--set", setting)]
    status, out, err = dpmarket(
        "audit", write(lines), "--draws", 300, "--epsilon", "50,40", *arguments
    )
    assert (
        status == 0 and err == "" and out.count("not refuted") + out.count("too large to test") == 3
    )
