"""Sums for release: what neighbouring tables move them by as computed, and noise that is priced for no less."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hostile import bounds, files_in, fixed_noise, many, pair, question, size
from scipy.stats import chi2, gamma, kstest, norm

from exchange.learner.sums import unflatten_moments
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.losses.moment_bounds import Scores
from learning.losses.slopes import SLOPES
from learning.privacy import release_sums
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.release import bare_answer, release
from learning.privacy.release_sums import flatten_moments
from learning.privacy.release_terms import ReleaseTerms
from learning.training.noisy_statistics import release_deviations

__all__ = ["fixed_noise"]

P = 3
PLAIN = Coordinates(
    np.array([0.2, -0.1, 0.4]),
    np.diag([1.0, 2.0, 0.5]) + 0.1,
    1.5,
    theta_max=3.0,
    norm=2,
    scores=Scores(0.8, 0.4),
)
GAUSSIAN = Gaussian(1e-6, "zcdp")


def mechanism_for(coordinates, name, overlap=1):
    if name == "gaussian":
        return Gaussian(1e-6, "zcdp", overlap)
    share = coordinates.scores.share
    return L2(len(coordinates.centre), overlap).with_moments(share, coordinates.rows_per_person)


def terms(coordinates=PLAIN, n=50, *, name="gaussian", epsilon=1.0, overlap=1, **change):
    mechanism = mechanism_for(coordinates, name, overlap)
    given = {"owner": "bank", "data": "loans", "n_records": n, "epsilon": epsilon, "horizon": 1}
    return ReleaseTerms(**given | {"coordinates": coordinates, "mechanism": mechanism} | change)


def share_of_price(one, other, agreed):
    """How far two answers lie apart, in units of the nearest pair of distances that is priced."""
    noise = agreed.sums_noise
    moved = np.split((one - other) * noise.weights, np.cumsum(noise.counts)[:-1])
    apart = [np.linalg.norm(part) for part in moved]
    return min(
        max(found / priced for found, priced in zip(apart, pair, strict=True))
        for pair in noise.distances
    )


def wild_terms(rng):
    """Terms at the edges of floating point, a pair of neighbours, and what a question may be; None where refused."""
    width = int(rng.integers(1, 9))
    made = replace(
        bounds(rng, width, GAUSSIAN),
        loss=LOSSES["squared"],
        clipping="parts",
        target_bound=np.inf,
        scores=Scores(size(rng, 1e-50, 1e15), 10 ** rng.uniform(-2, 1), bool(rng.random() < 0.6)),
    )
    tables = pair(rng, width, made)
    name = str(rng.choice(["gaussian", "l2"]))
    try:
        agreed = terms(
            made,
            tables.n_records,
            name=name,
            epsilon=float(rng.choice([0.01, 1.0, 50.0])),
            overlap=int(rng.choice([1, 1, 2])),
        )
        assert (agreed.scales > 0).all()
    except InputError:
        agreed = None
    return agreed, tables, question(rng, made)


def test_wild_neighbours_are_no_further_apart_than_noise_was_made_for():
    worst = Counter()
    for number in range(many(300)):
        agreed, tables, _ = wild_terms(np.random.default_rng([31, number]))
        if agreed is None:
            continue
        point = np.zeros(len(agreed.coordinates.centre))
        made = [
            bare_answer(*table, point, agreed, tables.persons)
            for table in (tables.first, tables.second)
        ]
        assert all(np.isfinite(one).all() for one in made), number
        found = share_of_price(*made, agreed)
        assert found <= 1 + 1e-12, (number, found)
        worst[agreed.mechanism.name] = max(worst[agreed.mechanism.name], found)
    assert worst["gaussian"] > 0.4 and worst["l2"] > 0.4


@pytest.mark.parametrize("name", ["gaussian", "l2"])
@pytest.mark.parametrize("alike", [True, False])
def test_the_worst_neighbours_are_just_within_the_price(name, alike):
    """Pairs at every angle, one of full length each; those priced are met to a thousandth where the price is sharp."""
    coordinates = replace(
        PLAIN, centre=np.zeros(P), transform=np.eye(P), scores=Scores(0.8, 0.7, alike)
    )
    agreed = terms(coordinates, 4, name=name)
    rest = np.random.default_rng(3).normal(size=(3, P)), np.ones(3)
    worst = 0.0
    for angle in np.linspace(0, np.pi / 2, 181):
        one, other = np.array([1.0, 0, 0]), np.array([np.cos(angle), np.sin(angle), 0])
        tables = []
        for x, u in ((one, 1.0), (other, -1.0)):
            x = x * 1.5
            u = u * 0.8 / 1.5
            tables.append((np.vstack([x, rest[0]]), np.append(u, rest[1])))
        made = [bare_answer(*table, np.zeros(P), agreed) for table in tables]
        worst = max(worst, share_of_price(*made, agreed))
    assert 0.98 < worst <= 1


def test_a_record_clipped_in_floats_may_pass_its_bound_and_what_is_priced_covers_it():
    """Lengths in whole numbers: some are above the bound, none above what the proof allows for."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(4000, P)) * 10
    targets = rng.normal(size=4000) * 10
    coordinates = replace(PLAIN, centre=np.zeros(P))
    moved = features @ coordinates.transform
    x, u = coordinates.scores.records(
        moved, targets, coordinates.lengths(moved), coordinates.radius
    )
    lengths = [sum(Fraction(v) ** 2 for v in row) for row in x.tolist()]
    scores = [Fraction(v) ** 2 * s for v, s in zip(u.tolist(), lengths, strict=True)]
    h, r = Fraction(coordinates.scores.bound), Fraction(coordinates.radius)
    slack, _ = release_sums._rounding_of_sums(4000, P)
    assert max(scores) > h**2 and max(scores) <= h**2 * Fraction(slack)
    assert max(lengths) <= r**2 * Fraction(slack)


def test_sums_as_computed_are_off_by_less_than_is_priced():
    """Against whole numbers: 3,000 records whose sums round, in both orders."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(3000, P)) + 50, rng.normal(size=3000) + 30
    made = release_sums.clipped_sums(x, y, PLAIN)
    back = release_sums.clipped_sums(x[::-1], y[::-1], PLAIN)
    moved = np.einsum("ij,jk->ik", x, PLAIN.transform)
    missed = y - np.einsum("ij,j->i", x, PLAIN.centre)
    held, u = PLAIN.scores.records(moved, missed, PLAIN.lengths(moved), PLAIN.radius)
    exact = [
        sum(Fraction(v) * Fraction(z) for v, z in zip(u.tolist(), column, strict=True))
        for column in held.T.tolist()
    ]
    _, added = release_sums._rounding_of_sums(3000, P)
    off = max(abs(float(Fraction(a) - b)) for a, b in zip(made[:P].tolist(), exact, strict=True))
    assert off <= PLAIN.scores.bound * added / 2
    assert np.abs(made - back).max() <= PLAIN.radius**2 * added


@pytest.mark.parametrize("name", ["gaussian", "l2"])
@pytest.mark.parametrize(("rows", "overlap"), [(1, 1), (3, 1), (1, 2)])
def test_all_of_the_budget_is_spent_and_no_more_and_noise_is_that_of_the_simulation(
    name, rows, overlap
):
    coordinates = replace(PLAIN, rows_per_person=rows)
    agreed = terms(coordinates, 5000, name=name, overlap=overlap)
    noise = agreed.sums_noise
    budget = agreed.mechanism.release_budget(1.0, 1)
    assert budget * (1 - 1e-5) < noise.spent <= budget
    mechanism = agreed.mechanism
    scale = mechanism.scale([1.0], [5000], coordinates.gradient_bound, 1)
    widened = mechanism.beside_moments(coordinates.scores.share)
    deviation = scale * np.sqrt(mechanism.unit_variance)
    matrix, vector = release_deviations(coordinates, deviation, 5000, widened)
    counts = (P, P * (P + 1) // 2)
    spread = [np.sqrt(count + 1) if name == "l2" else 1.0 for count in counts]
    assert noise.part_scales[0] * spread[0] == pytest.approx(vector[0], rel=1e-5)
    assert noise.part_scales[1] * spread[1] == pytest.approx(matrix[0], rel=1e-5)


def test_what_two_lattices_cost_is_the_worst_sum_over_neighbours():
    """Against each pair by itself; leaving out a pair, or adding the largest of each part, is another price."""
    noise = terms(name="l2").sums_noise
    costs = [
        [
            release_sums.measurement(scale, 2, count).map(apart)
            for scale, count, apart in zip(noise.scales, noise.counts, pair, strict=True)
        ]
        for pair in noise.distances
    ]
    assert noise.spent == pytest.approx(max(map(sum, costs)), rel=1e-12)
    assert noise.spent >= max(map(sum, costs))
    assert max(map(sum, costs)) < 0.99 * sum(max(column) for column in zip(*costs, strict=True))


def released(agreed, x, y, folder, draws):
    made = []
    for number in range(draws):
        ledger = LedgerFile.create(folder / f"{number}.ledger")
        ledger.open(agreed.budget)
        made.append(release(x, y, np.zeros(x.shape[1]), agreed, ledger=ledger).answer)
        assert ledger.accounts[0].answered == 1 and ledger.accounts[0].answers_remaining == 0
    return np.array(made)


@pytest.mark.parametrize("name", ["gaussian", "l2"])
def test_released_noise_has_the_law_that_is_announced(name, tmp_path, monkeypatch):
    """150 releases: lengths of both parts, and their mean; each test fails a sound sampler once in 10,000."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(50, P)), rng.normal(size=50)
    agreed = terms(name=name)
    made = released(agreed, x, y, tmp_path, 150)
    noise = made - bare_answer(x, y, np.zeros(P), agreed)
    for part, scale in zip(
        np.split(noise, [P], axis=1), agreed.sums_noise.part_scales, strict=True
    ):
        count = part.shape[1]
        lengths = np.linalg.norm(part, axis=1) / scale
        law = gamma(count).cdf if name == "l2" else (lambda r, k=count: chi2(k).cdf(r**2))
        assert kstest(lengths, law).pvalue > 1e-4
        deviation = scale * (np.sqrt(count + 1) if name == "l2" else 1.0)
        z = part.mean(axis=0) / (deviation / np.sqrt(len(part)))
        assert np.abs(z).max() < norm.isf(1e-4 / (2 * count))


def test_sums_are_those_that_training_adds_up():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(50, P)) * 3, rng.normal(size=50) * 3
    for alike in (True, False):
        coordinates = replace(PLAIN, scores=Scores(0.8, 0.4, alike))
        made = bare_answer(x, y, np.zeros(P), terms(coordinates))
        trained = coordinates.oracle(x, y)
        np.testing.assert_allclose(made[:P], trained.xy, rtol=1e-12)
        np.testing.assert_allclose(unflatten_moments(made[P:], P), trained.xx, rtol=1e-12)
        assert np.linalg.norm(made[P:]) == pytest.approx(np.linalg.norm(trained.xx))
        np.testing.assert_array_equal(
            flatten_moments(unflatten_moments(made[P:], P))[:P], made[P : 2 * P]
        )


def test_a_record_that_is_not_finite_or_too_long_once_it_is_clipped_counts_as_zeros(monkeypatch):
    """Neither comes from admitted records: the last of two checks."""
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(20, P)), rng.normal(size=20)
    usual = release_sums.clipped_sums(x, y, PLAIN)
    for bad in (np.full(P, np.nan), np.full(P, np.inf), np.array([np.inf, -np.inf, 1.0])):
        made = release_sums.clipped_sums(np.vstack([x, bad]), np.append(y, 1.0), PLAIN)
        np.testing.assert_allclose(made, usual, rtol=1e-12)
    sloppy = replace(PLAIN, radius=PLAIN.radius / 1.01)
    monkeypatch.setattr(Scores, "records", lambda self, x, u, lengths, radius: (x, u))
    lengths = np.linalg.norm(x @ PLAIN.transform, axis=1)
    made = release_sums.clipped_sums(x, y, sloppy)
    assert (lengths > sloppy.radius).any() and np.trace(unflatten_moments(made[P:], P)) <= (
        sloppy.radius**2 * (lengths <= sloppy.radius).sum()
    )


def test_neighbouring_tables_get_the_same_refusals_charges_and_files(tmp_path, fixed_noise):
    count = Counter()
    for number in range(many(100)):
        agreed, tables, asked = wild_terms(np.random.default_rng([32, number]))
        if agreed is None:
            count["terms refused"] += 1
            continue
        seen = []
        for name, table in (("a", tables.first), ("b", tables.second)):
            folder = tmp_path / f"{number}" / name
            folder.mkdir(parents=True)
            ledger = LedgerFile.create(folder / "bank.ledger")
            ledger.open(agreed.budget)
            told = []
            for point in (asked, np.zeros(len(agreed.coordinates.centre)), asked):
                try:
                    made = release(*table, point, agreed, ledger=ledger, persons=tables.persons)
                    told.append((made.answer.tobytes(), made.claim, made.spent))
                except (InputError, ValueError) as error:
                    told.append(str(error).replace(str(folder), ""))
            seen.append((told, files_in(folder)))
            assert ledger.accounts[0].answered == 1
        assert seen[0] == seen[1], number
        count["answered"] += 1
    assert count["answered"] > 50 and count["terms refused"] > 0


def test_what_is_not_proved_is_refused():
    with pytest.raises(InputError, match="query: must be the start, all 0"):
        bare_answer(np.ones((50, P)), np.ones(50), np.array([0.0, 1e-9, 0.0]), terms())
    wide = replace(PLAIN, centre=np.zeros(7), transform=np.eye(7))
    with pytest.raises(InputError, match="at most 24 numbers under l2 noise.*found 28 numbers"):
        terms(wide, name="l2")
    for change, rule in (
        ({"horizon": 2}, "get one answer"),
        ({"mechanism": Gaussian(1e-6, "pld")}, "accounted by zCDP"),
        ({"mechanism": L2(P)}, "must be priced for moments and score"),
        ({"mechanism": L2(P).with_moments(0.4), "coordinates": replace(PLAIN, scores=None, target_bound=1.0)}, "priced for"),
        ({"coordinates": replace(PLAIN, clipping="record")}, "clip records"),
        ({"coordinates": replace(PLAIN, loss=SLOPES["logistic"])}, "to release moments and scores; found logistic. Leave the scores out"),
        ({"coordinates": replace(PLAIN, norm=1), "mechanism": Laplace()}, "clip records in 2-norm"),
        ({"coordinates": replace(PLAIN, scores=Scores(0.0, 0.4))}, "finite number above 0"),
        ({"coordinates": replace(PLAIN, scores=Scores(1.0, 1e-60))}, "a share of scores from"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=rule):
            terms(**change).scales  # noqa: B018
    with pytest.raises(ValueError, match="less than the grids of its noise cost"):
        terms(name="l2", epsilon=1e-7).scales  # noqa: B018
