"""A person as the unit: what all rows of one person move, by brute force, priced, checked, attacked and released so."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

from learning.audit.auditor import audit_owner
from learning.audit.canaries import make_canaries
from learning.audit.checks import check_training
from learning.audit.observations import AuditTarget
from learning.audit.transcript import ask_members_singly
from learning.audit.worst_pairs import worst_pair, worst_sums
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.privacy.gaussian import Gaussian, exact_distance
from learning.privacy.guarantees import guarantee_answers
from learning.privacy.laplace import Laplace
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.release import bare_answer, release
from learning.privacy.release_terms import ReleaseTerms
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.client import make_clients
from learning.training.noisy_statistics import release_deviations
from learning.training.plan import Plan
from learning.training.task import Task

RECORDS = 9
HORIZON = 3
EPSILON = 1.4


def public(norm, loss="squared", rows=1):
    mixing = np.random.default_rng(0).normal(size=(3, 3))
    scale = mixing @ mixing.T / 3 + 0.3 * np.eye(3)
    return Coordinates(np.array([0.5, -1.0, 0.2]), scale, 1.5, 2.0, 1.0, norm, loss, rows)


def owners(coordinates, mechanism, persons, epsilon=EPSILON, horizon=HORIZON):
    """The owner that holds six fixed records, and all rows of either person; with the noise that training would add."""
    rng = np.random.default_rng(1)
    made = []
    x = np.column_stack([rng.normal(size=(RECORDS, 2)), np.ones(RECORDS)])
    y = (
        rng.normal(size=RECORDS)
        if not coordinates.loss.labels
        else rng.choice([-1.0, 1.0], RECORDS)
    )
    for rows, targets in persons:
        held = coordinates.oracle(
            np.vstack([x[len(rows) :], rows]), np.append(y[len(rows) :], targets)
        )
        made += make_clients(
            ("bank",), [held], [epsilon], mechanism, coordinates.gradient_bound, horizon
        )
    return made


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize(("norm", "rows"), [(1, 1), (1, 3), (2, 3)])
def test_nobody_moves_an_answer_further_than_noise_is_scaled_to(norm, loss, rows):
    """Every pair of persons of k rows each, out of canaries and the worst pair, at corners of the ball."""
    coordinates = public(norm, loss, rows)
    pair, (x, y) = worst_pair(coordinates), make_canaries(coordinates, (10.0,), 0)
    x = np.vstack([x[::2], pair.first[0], pair.second[0]])
    y = np.concatenate([y[::2], [pair.first[1], pair.second[1]]])
    held = [
        coordinates.oracle(one[None], np.array([target])) for one, target in zip(x, y, strict=True)
    ]
    furthest = 0.0
    for query in (
        pair.query,
        np.zeros(3),
        coordinates.project(np.full(3, 9.0)),
        coordinates.project(-9.0 * np.eye(3)[0]),
    ):
        each = np.stack([one.gradient(query[None])[0] for one in held])
        whole = each[list(combinations_with_replacement(range(len(each)), rows))].sum(axis=1)
        apart_by = np.linalg.norm(whole[:, None] - whole[None], norm, axis=-1)
        furthest = max(furthest, float(apart_by.max()))
    assert furthest <= 2 * coordinates.gradient_bound * (1 + 1e-9)
    assert furthest >= rows * pair.distance * (1 - 1e-9)  # attained by k copies of the worst pair
    assert pair.share == worst_pair(public(norm, loss)).share


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(1e-6, "pld")])
def test_what_a_person_moves_is_what_its_budget_buys(mechanism, rows):
    """The worst person's shift over the scale of the noise that is added: r of Laplace noise, m/sqrt(T) of Gaussian."""
    coordinates = public(mechanism.norm, rows=rows)
    pair = worst_pair(coordinates)
    persons = [(np.tile(x, (rows, 1)), np.full(rows, y)) for x, y in (pair.first, pair.second)]
    first, second = owners(coordinates, mechanism, persons)
    shift = first.records.gradient(pair.query[None]) - second.records.gradient(pair.query[None])
    found = np.linalg.norm(shift[0], mechanism.norm) / first.scale / pair.share
    priced = guarantee_answers(mechanism, EPSILON, HORIZON, 1)
    assert found == pytest.approx(priced.single, rel=1e-5 if mechanism.norm == 1 else 1e-3)


def test_one_shot_sums_of_a_person_lie_the_priced_distance_apart():
    rows = 3
    mechanism = Gaussian(1e-6, "pld")
    coordinates = public(2, rows=rows)
    pair, (scale,) = (
        worst_sums(coordinates),
        mechanism.scale([1.3], [50], coordinates.gradient_bound, 1),
    )
    matrix, vector = (float(v) for v in release_deviations(coordinates, scale, 50))
    first, second = (
        coordinates.statistics(np.tile(x, (rows, 1)), np.full(rows, y))
        for x, y in (pair.first, pair.second)
    )
    parts = [(first.xx - second.xx).ravel() / matrix, (first.xy - second.xy) / vector]
    assert np.linalg.norm(np.concatenate(parts)) == pytest.approx(
        float(exact_distance(1.3, 1e-6)), rel=1e-6
    )


def training(rows, algorithm="averaged", mechanism=None):
    mechanism = mechanism or Laplace()
    rng = np.random.default_rng(1)
    coordinates = public(mechanism.norm, rows=rows)
    trains_by = ALGORITHMS[algorithm]
    plan = Plan(algorithm, trains_by.returned[0], HORIZON if trains_by.takes_steps else 1, 0.3)
    oracles = [coordinates.oracle(rng.normal(size=(n, 3)), rng.normal(size=n)) for n in (30, 20)]
    made = make_clients(
        ("a", "b"), oracles, (1.0, 2.0), mechanism, coordinates.gradient_bound, plan.priced
    )
    return ask_members_singly(Task(made, coordinates, plan, mechanism, 10, Streams(0, "noise")))


@pytest.mark.parametrize(
    ("algorithm", "mechanism"), [("averaged", Laplace()), ("adassp", Gaussian(1e-6, "pld"))]
)
def test_an_audit_sees_rows_that_noise_does_not_count(algorithm, mechanism):
    """k rows priced and k stated pass; one more stated than priced fails, by what it moves and by its price."""
    task = training(3, algorithm, mechanism)
    assert all(check.passed for check in check_training(task, rows=3))
    failed = {check.kind for check in check_training(task, rows=4) if not check.passed}
    assert failed == {"sensitivity", "price"}


def test_an_attack_replaces_all_rows_of_a_person():
    """Noise for one row refutes itself against who replaces four; noise for four stands, and little is left to find."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(6, 3))
    y = rng.normal(size=6)
    found = {
        rows: audit_owner(
            "bank", x, y, 3.0, AuditTarget.of(training(rows), rows=4), seed=1, draws=2000
        )
        for rows in (1, 4)
    }
    assert found[1].refuted and not found[4].refuted
    assert found[4].charged / 2 < found[4].bound <= found[4].charged < found[1].bound


def test_release_counts_all_rows_of_a_person(tmp_path):
    """The scale is k-fold, the claim names the person, and rows of one beyond those announced count as zeros."""
    book = LedgerFile.create(tmp_path / "bank.ledger")
    made = {}
    for rows in (1, 3):
        made[rows] = ReleaseTerms(
            "bank", f"loans {rows}", RECORDS, EPSILON, HORIZON, public(1, rows=rows)
        )
        book.open(made[rows].budget)
    assert made[3].scale == pytest.approx(3 * made[1].scale, rel=1e-9)
    assert made[1].claim.adjacency == "replace one record" and "person" not in made[1].budget.bounds
    assert (
        made[3].claim.adjacency
        == made[3].budget.adjacency
        == "replace one person's rows, at most 3 at an owner, by as many"
    )
    assert "3 rows of a person" in made[3].budget.bounds
    rng = np.random.default_rng(3)
    x = rng.normal(size=(RECORDS, 3))
    y = rng.normal(size=RECORDS)
    names = ["carla"] * 3 + list("bcdefg")
    answered = release(x, y, np.zeros(3), made[3], ledger=book, persons=names)
    assert answered.claim.adjacency.startswith("replace one person's rows")
    for persons in (None, names[1:]):
        with pytest.raises(InputError, match="at most 3 of one") as told:
            release(x, y, np.zeros(3), made[3], ledger=book, persons=persons)
        assert "carla" not in str(told.value)
    point = np.full(3, 0.1)
    for rows, persons, first in ((3, ["carla"] * 4 + list("bcdef"), 3), (1, names, 1)):
        zeros = np.ones(RECORDS)
        zeros[first : persons.count("carla")] = 0.0
        wanted = bare_answer(x * zeros[:, None], y * zeros, point, made[rows], np.arange(RECORDS))
        assert np.array_equal(bare_answer(x, y, point, made[rows], persons), wanted)
    assert [account.answered for account in book.accounts] == [0, 1]
    with pytest.raises(InputError, match="bounds"):
        book.charge(replace(made[3].budget, bounds=made[1].budget.bounds), "release")
