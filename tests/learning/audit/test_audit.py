"""The audit: broken mechanisms are caught, the sound one is not accused, and the attack is as strong as it can be."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from planting.__main__ import plant_all, print_caught
from populations import bounded_coordinates, generated, randhie
from scipy.stats import binom

from learning.audit.attack import bound_by_tests, clopper_pearson, largest_bound, lower_bound
from learning.audit.auditor import audit_owner, audit_owners
from learning.audit.observations import AuditTarget
from learning.audit.worst_pairs import worst_pair
from learning.losses.coordinates import Coordinates
from learning.privacy.gaussian import Gaussian
from learning.privacy.guarantees import (
    guarantee_answers,
    measure_approximate,
    measure_gaussian,
    measure_pure,
)
from learning.privacy.laplace import Laplace
from learning.privacy.subsampled import SubsampledGaussian
from scenarios.schema.loading import load

DRAWS = 4000


class HalfTheNoise(Laplace):
    def scale(self, *arguments):
        return super().scale(*arguments) / 2


class OneCoordinateCounted(Laplace):
    """Noise for the largest change of a single coordinate: Xi is a 1-norm over p of them."""

    def scale(self, epsilon, sizes, bound, horizon):
        return super().scale(epsilon, sizes, bound / 10, horizon)


class WithoutTheTwo(Laplace):
    """Sensitivity Xi/n, that of adding a record, under replace-one adjacency."""

    def scale(self, epsilon, sizes, bound, horizon):
        return super().scale(epsilon, sizes, bound / 2, horizon)


class OneRoundPaid(Laplace):
    """The whole budget in every round."""

    def scale(self, epsilon, sizes, bound, horizon):
        return super().scale(epsilon, sizes, bound, 1)


@dataclass(frozen=True)
class Unclipped(Coordinates):
    """Records enter as they are, under noise for clipped ones."""

    def records(self, x, y):
        return x @ self.transform, y - x @ self.centre


@dataclass(frozen=True)
class ClippedByCoordinate(Coordinates):
    """Every coordinate within the radius, instead of their sum."""

    def records(self, x, y):
        moved = np.clip(x @ self.transform, -self.radius, self.radius)
        return moved, np.clip(y - x @ self.centre, -self.target_bound, self.target_bound)


BROKEN = [HalfTheNoise(), OneCoordinateCounted(), WithoutTheTwo()]
CLAIMS = [(1.0, 2), (3.0, 2), (1.0, 5), (6.0, 4)]


@pytest.fixture(scope="module")
def insurers():
    x, y = randhie()
    return x, y, bounded_coordinates(x[-150:], y[-150:], theta_max=1.0)


def found(
    insurers,
    mechanism,
    epsilon=1.0,
    horizon=2,
    *,
    records=2000,
    seed=0,
    draws=DRAWS,
    coordinates=None,
):
    x, y, usual = insurers
    target = AuditTarget(coordinates or usual, mechanism, horizon)
    return audit_owner("a", x[:records], y[:records], epsilon, target, seed=seed, draws=draws)


@pytest.mark.parametrize(
    ("epsilon", "horizon", "records"),
    [(*claim, 2000) for claim in CLAIMS] + [(1.0, 2, 1), (1.0, 2, 2)],
)
def test_the_sound_mechanism_is_not_accused_and_is_seen_through(
    insurers, epsilon, horizon, records
):
    """At 99 % confidence; and the attack shows a fair part of what one answer gives away, so that it is worth its name."""
    finding = found(insurers, Laplace(), epsilon, horizon, records=records)
    assert not finding.refuted and finding.verdict == "not refuted"
    assert finding.charged == pytest.approx(epsilon * (horizon - 1) / horizon)
    assert finding.answer_bound > 0.35 * finding.answer_charged
    assert finding.bound <= finding.charged <= finding.claimed


@pytest.mark.parametrize("mechanism", BROKEN, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    ("epsilon", "horizon", "records"),
    [
        (1.0, 2, 2000),
        *(pytest.param(*claim, 2000, marks=pytest.mark.slow) for claim in CLAIMS[1:]),
        pytest.param(1.0, 2, 1, marks=pytest.mark.slow),
    ],
)
def test_a_broken_mechanism_is_caught(insurers, mechanism, epsilon, horizon, records):
    finding = found(insurers, mechanism, epsilon, horizon, records=records)
    assert finding.refuted and finding.verdict == "REFUTED"


def test_a_budget_paid_in_every_round_is_caught(insurers):
    assert found(insurers, OneRoundPaid(), 1.0, 5).refuted


@pytest.mark.parametrize("broken", [Unclipped, ClippedByCoordinate])
def test_records_that_are_not_clipped_in_the_right_norm_are_caught(insurers, broken):
    usual = insurers[2]
    assert found(insurers, Laplace(), coordinates=broken(**vars(usual))).refuted


def test_an_overlap_leaves_each_owner_its_part_only(insurers):
    """kappa = 2: noise for epsilon instead of epsilon/2 is caught although it keeps each owner's epsilon by itself."""

    class Forgotten(Laplace):
        def scale(self, *arguments):
            return super().scale(*arguments) / self.overlap

    assert not found(insurers, Laplace(overlap=2), 2.0).refuted
    assert found(insurers, Forgotten(overlap=2), 2.0).refuted


def test_an_owner_priced_alone_is_caught_where_a_record_sits_with_two(insurers):
    """The scenario says kappa = 2 and the mechanism counts 1: every owner keeps its epsilon, and both together do not."""
    x, y, coordinates = insurers
    alone, shared = (
        AuditTarget(coordinates, Laplace(overlap=k), 1, "weighted", overlap=2) for k in (1, 2)
    )
    found = [
        audit_owner("a", x[:500], y[:500], 2.0, target, seed=0, draws=DRAWS)
        for target in (alone, shared)
    ]
    assert [one.refuted for one in found] == [True, False] and found[0].shown > 2.0 > found[
        0
    ].bound > found[1].bound


def test_the_claim_is_the_target_and_not_what_the_mechanism_says_it_spends(insurers):
    """Gaussian distances three times too long, in every word of the mechanism: charged 2.2 for 1 claimed, and kept."""

    class Lenient(Gaussian):
        def distance(self, epsilon):
            return 3 * super().distance(epsilon)

    coordinates = replace(insurers[2], norm=2, theta_max=0.05)
    finding = found(insurers, Lenient(1e-6), coordinates=coordinates)
    assert finding.refuted and finding.bound < finding.charged and 1.0 < finding.shown < 2.2


@pytest.mark.slow
@pytest.mark.parametrize("accounting", ["zcdp", "pld"])
def test_gaussian_noise(insurers, accounting):
    """The trade-off curve is the target: sound noise stands, a third of it falls. A small ball, where 2 G is nearly met."""
    coordinates = replace(insurers[2], norm=2, theta_max=0.05)
    assert worst_pair(coordinates).distance > 1.5 * coordinates.gradient_bound

    class Third(Gaussian):
        def scale(self, *arguments):
            return super().scale(*arguments) / 3

    for horizon in (2, 6):
        sound, broken = (
            found(insurers, kind(1e-6, accounting), 2.0, horizon, coordinates=coordinates)
            for kind in (Gaussian, Third)
        )
        assert not sound.refuted and 0 < sound.bound < sound.charged < sound.claimed
        assert broken.refuted


def test_what_gaussian_answers_may_spend(insurers):
    """T answers together have the epsilon that was bought: back through the table of the accountant."""
    made = guarantee_answers(Gaussian(1e-6, "pld"), 2.0, 4, 3)
    assert made.epsilon(np.sqrt(made.joint**2 + made.single**2)) == pytest.approx(2.0, rel=1e-6)
    assert made.joint == pytest.approx(np.sqrt(3) * made.single)


@pytest.mark.slow
def test_a_mechanism_of_another_kind_is_audited_as_a_whole(insurers):
    """(epsilon, delta) without a trade-off curve: all answers together are measured against epsilon, at that delta."""

    class Other(Laplace):
        delta = 0.01

        def scale(self, *arguments):
            return super().scale(*arguments) / strength

    for strength in (1, 8):
        finding = found(insurers, Other(), 1.0, 3)
        assert finding.charged == finding.claimed == 1.0 and finding.answer_charged == np.inf
        assert finding.refuted == (strength == 8)
    assert measure_approximate(0.3)(np.array(0.8), np.array(0.1)) == pytest.approx(np.log(5))


@pytest.mark.parametrize("norm", [1, 2])
def test_the_worst_pair_meets_the_bound(insurers, norm):
    """2 Xi exactly, by records along two coordinates, and 2 G, by two askew to the query; which lies in the ball."""
    coordinates = replace(insurers[2], norm=norm)
    for theta_max in (0.0, 0.3, 5.0):
        bounded = replace(coordinates, theta_max=theta_max)
        pair = worst_pair(bounded)
        assert pair.distance == pytest.approx(2 * bounded.gradient_bound, rel=1e-9)
        assert np.linalg.norm(pair.query, np.inf if norm == 1 else 2) <= theta_max
    narrow = Coordinates(np.zeros(1), np.eye(1), 1.0, 1.0, 0.0)
    assert worst_pair(narrow).distance == pytest.approx(4.0)


def test_no_random_pair_is_worse_than_the_worst(insurers):
    coordinates = insurers[2]
    rng = np.random.default_rng(0)
    worst = worst_pair(coordinates).distance
    x = rng.laplace(size=(3000, 9)) * 30
    y = rng.normal(size=3000) * 50
    for norm in (1, 2):
        bounded = replace(coordinates, norm=norm)
        moved, target = bounded.records(x, y)
        worst = worst_pair(bounded).distance
        for _ in range(20):
            phi = bounded.project(rng.normal(size=(1, 9)) * 3)[0]
            gradients = 2 * (moved @ phi - target)[:, None] * moved
            distances = np.linalg.norm(gradients[:1500] - gradients[1500:], norm, axis=1)
            assert distances.max() <= worst * (1 + 1e-9)


@pytest.mark.slow
def test_the_sound_mechanism_over_many_audits():
    """40 audits at 75 % confidence: wrong no more often than that allows; a tenth of the noise is seen every time."""
    x, y = generated(60, 3, np.random.default_rng(0))
    coordinates = bounded_coordinates(x[:50], y[:50], theta_max=0.5)

    class Tenth(Laplace):
        def scale(self, *arguments):
            return super().scale(*arguments) / 10

    refuted = [
        [
            audit_owner(
                "a", x[:5], y[:5], 1.0, target, seed=seed, draws=200, confidence=0.75
            ).refuted
            for seed in range(40)
        ]
        for target in (AuditTarget(coordinates, kind(), 2) for kind in (Laplace, Tenth))
    ]
    assert sum(refuted[0]) <= binom.ppf(0.9999, 40, 0.25) and all(refuted[1])


def test_confidence_is_shared_by_all_owners(insurers):
    x, y, coordinates = insurers
    parts = [(x[i : i + 5], y[i : i + 5]) for i in range(4)]
    many = audit_owners(
        "abcd",
        parts,
        [1.0, 0.0, np.inf, 2.0],
        AuditTarget(coordinates, Laplace(), 2),
        seed=0,
        draws=500,
    )
    assert [f.owner for f in many] == ["a", "d"]
    assert all(f.confidence == pytest.approx(0.9995) for f in many)
    assert audit_owners("a", parts[:1], [0.0], AuditTarget(coordinates, Laplace(), 2), seed=0) == []


def test_limits_of_a_proportion_hold_as_often_as_they_say():
    """Exact coverage: the chance, over the binomial, that either limit is on the wrong side."""
    for draws, chance in ((20, 0.3), (200, 0.01), (50, 0.97)):
        hits = np.arange(draws + 1)
        low, high = clopper_pearson(hits, draws, 0.05)
        weight = binom.pmf(hits, draws, chance)
        assert weight[low > chance].sum() <= 0.05 and weight[high < chance].sum() <= 0.05
        assert np.all(low <= hits / draws) and np.all(high >= hits / draws)


def test_the_bound_of_a_known_pair_of_worlds():
    """Laplace worlds at distance 1.2: pure epsilon 1.2; Gaussian ones at distance 1.2: m = 1.2. Never above, and near."""
    rng = np.random.default_rng(1)
    for draw, measure in ((rng.laplace, measure_pure), (rng.normal, measure_gaussian)):
        halves = [[(draw(size=40_000), draw(size=40_000) - 1.2)] for _ in range(2)]
        assert 1.05 < lower_bound(*halves, measure, 1e-3) <= 1.2
        same = [(draw(size=5000), draw(size=5000))]
        assert lower_bound(same, same, measure, 1e-3) < 0.05
        assert (
            lower_bound(halves[0], same, measure, 1e-3) < 0.05
        )  # what the first half seemed to show counts for nothing
    assert bound_by_tests(
        np.ones(10), np.zeros(10), np.array([0.5]), measure_pure, 0.1
    ).max() == pytest.approx(largest_bound(measure_pure, 10, 0.1))


def test_a_claim_too_large_for_the_draws_is_called_so(insurers):
    assert found(insurers, Laplace(), 40.0, draws=500).verdict == "too large to test"


@pytest.mark.slow
def test_same_seed_same_finding_and_another_seed_another(insurers):
    one, same, other = (
        found(insurers, Laplace(), 2.0, draws=2000, seed=seed) for seed in (3, 3, 4)
    )
    assert one == same and one.answer_bound != other.answer_bound


def test_nothing_asked_nothing_to_audit(insurers):
    with pytest.raises(ValueError, match="asks nothing"):
        found(insurers, Laplace(), horizon=1)


@pytest.mark.slow
def test_the_command(dpmarket, write):
    arguments = ("audit", write(), "--draws", 500, "--set", "learning.horizon=3")
    status, out, err = dpmarket(*arguments)
    assert status == 0 and err == "" and out.count("not refuted") == 3 and "(one record)" in out
    status, out, _ = dpmarket(*arguments, "--epsilon", "inf,1")
    assert status == 0 and out.count("not refuted") == 2 and "have no guarantee" in out
    split = f"data.split={[3 + i for i in range(10, 0, -1)]}"  # ten owners, eight audited
    status, out, _ = dpmarket(*arguments, "--epsilon", "20", "--set", split)
    rows = [line.split()[1] for line in out.splitlines() if line.startswith("owner ")]
    assert (
        status == 0
        and rows == ["records", *"3456789", "10"]
        and "not attacked, but checked: owner 2, owner 1" in out
    )
    status, out, _ = dpmarket(*arguments, "--epsilon", "0")
    assert status == 0 and "nothing to audit" in out
    status, _, err = dpmarket(*arguments, "--epsilon", "1,2,3")
    assert status == 2 and err.count("\n") == 1 and "--epsilon" in err


@pytest.mark.slow
def test_the_command_ends_with_3_when_a_claim_is_refuted(dpmarket, write, monkeypatch):
    from learning.forecast import ways

    monkeypatch.setattr(ways, "open_mechanisms", lambda inputs: [HalfTheNoise()])
    status, out, _ = dpmarket(
        "audit", write(), "--draws", 5000, "--epsilon", "2", "--set", "learning.horizon=3"
    )
    assert status == 3 and out.count("REFUTED") == 3


def test_the_command_ends_with_3_when_the_overlap_of_a_scenario_reaches_no_mechanism(
    dpmarket, write, monkeypatch
):
    """Far from what 100 draws can refute: the training itself is checked."""
    from learning.forecast import ways

    monkeypatch.setattr(ways, "open_mechanisms", lambda inputs: [Laplace()])
    arguments = ("audit", write(), "--draws", 100, "--epsilon", "1", "--set", "learning.overlap=2")
    status, out, _ = dpmarket(*arguments)
    assert status == 3 and out.count("FAILS") == 1 and "x the claim" in out and "REFUTED" not in out


@pytest.mark.slow
def test_one_record_at_a_time_is_priced_for_the_owners_that_share(dpmarket, monkeypatch):
    """Where an owner stays out, SGD1 picks the others' records more often: priced for all, they lost more than claimed."""
    settings = ("algorithm=sgd1", "mechanism=gaussian", "delta=1e-6", "horizon=100", "clip=4.0")
    words = [word for setting in settings for word in ("--set", f"learning.{setting}")]
    arguments = ("audit", "three_insurers", "--draws", 100, "--epsilon", "0,2,2", *words)
    status, out, err = dpmarket(*arguments)
    assert status == 0 and err == "" and "x the claim" in out and "FAILS" not in out
    monkeypatch.setattr(SubsampledGaussian, "for_owners", lambda self, sizes: self)
    status, out, _ = dpmarket(*arguments)
    assert status == 3 and out.count("FAILS") == 1


@pytest.mark.slow
def test_every_bug_planted_in_a_scenario_is_seen(write, capsys):
    found = plant_all(load(write()), np.array([1.0, 2.0]), draws=200)
    print_caught(found)
    assert len(found) >= 28 and all(one.seen for one in found)
    assert f"{len(found)} of {len(found)} planted bugs are seen" in capsys.readouterr().out
