"""Whether a release is made depends on its terms and the question: neighbouring tables differ by noise alone."""

import warnings
from collections import Counter

import numpy as np
import pytest
from hostile import MAX, bounds, files_in, fixed_noise, many, mechanism_of, pair, question

from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.release import bare_answer, release
from learning.privacy.release_terms import ReleaseTerms

WIDTHS = (1, 2, 3, 6, 12, 24, 25, 47, 60)

__all__ = ["fixed_noise"]


def outcomes(folder, table, persons, points, terms):
    """All that can be seen of questions about a table, one after the other: answers or refusals, warnings, files."""
    folder.mkdir(parents=True)
    ledger = LedgerFile.create(folder / "bank.ledger")
    ledger.open(terms.budget)
    seen = []
    for point in points:
        number = ledger.accounts[0].answered + 1 if terms.growth > 1 else None
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                made = release(*table, point, terms, ledger=ledger, persons=persons, number=number)
                told = (made.answer.tobytes(), made.claim, made.spent, made.scale)
            except (InputError, ValueError) as error:
                told = (type(error).__name__, str(error).replace(str(folder), ""))
        seen.append((told, [str(one.message) for one in said], files_in(folder)))
    return seen


def drawn(rng):
    """Terms, a pair and questions; terms are None where they are refused, which no table has part in."""
    width = int(rng.integers(1, 61))
    mechanism = mechanism_of(rng, width)
    coordinates = bounds(rng, width, mechanism, ball=rng.random() > 0.1)
    tables = pair(rng, width, coordinates)
    growth = float(rng.choice([1.0, 2.0]))
    epsilon = float(rng.choice([0.01, 1.0, 50.0]))
    try:
        terms = ReleaseTerms(
            "bank", "loans", tables.n_records, epsilon, 2, coordinates, mechanism, growth=growth
        )  # fmt: skip
        assert (terms.scales > 0).all()
    except InputError:
        terms = None
    return terms, tables, [question(rng, coordinates) for _ in range(3)]


def test_neighbouring_tables_get_the_same_refusals_charges_and_files(tmp_path, fixed_noise):
    """Three questions of each pair; means that are answered lie no further apart than noise was made for."""
    count = Counter()
    worst = 0.0
    for number in range(many(100)):
        terms, tables, points = drawn(np.random.default_rng([26, number]))
        if terms is None:
            count["terms refused"] += 1
            continue
        first, second = (
            outcomes(tmp_path / f"{number}" / name, table, tables.persons, points, terms)
            for name, table in (("a", tables.first), ("b", tables.second))
        )
        assert first == second, number
        assert not any(said for _, said, _ in first), number
        for point, (told, _, _) in zip(points, first, strict=True):
            count["answered" if isinstance(told[0], bytes) else "refused"] += 1
            if isinstance(told[0], bytes):
                means = [
                    bare_answer(*table, point, terms, tables.persons)
                    for table in (tables.first, tables.second)
                ]
                moved = (
                    np.linalg.norm(means[0] - means[1], ord=terms.mechanism.norm)
                    / terms.sensitivity
                )
                worst = max(worst, float(moved))
                assert moved <= 1 + 1e-6, (number, moved)
    print(dict(count), "worst distance of means, in units of what is announced:", worst)
    assert (
        count["answered"] > count["refused"] / 2 > 0 and count["terms refused"] > 0 and worst > 0.9
    )


def test_the_pairs_are_answered_with_noise_from_opendp_too(tmp_path):
    for number in range(12):
        terms, tables, points = drawn(np.random.default_rng([27, number]))
        if terms is not None:
            seen = [
                outcomes(tmp_path / f"{number}" / name, table, tables.persons, points, terms)
                for name, table in (("a", tables.first), ("b", tables.second))
            ]
            kinds = [
                [told if told[0] == "InputError" else len(told[0]) for told, _, _ in one]
                for one in seen
            ]
            assert kinds[0] == kinds[1] and not any(said for one in seen for _, said, _ in one)


@pytest.mark.parametrize(
    "width",
    [
        pytest.param(width, marks=[] if width in WIDTHS else [pytest.mark.deep])
        for width in range(1, 61)
    ],
)
def test_no_question_finds_a_threshold_of_a_record(tmp_path, fixed_noise, width):
    """The learner asks at (MAX/t, -MAX/t, 0, ...), which once overflowed for records beyond t alone, and was free."""
    rng = np.random.default_rng(width)
    x = rng.normal(size=(5, width))
    y = rng.normal(size=5)
    far = x.copy()
    far[2] = 2.96185
    for mechanism in (Laplace(), Gaussian(1e-6, "zcdp"), *([L2(width)] if width <= 24 else [])):
        free = Coordinates(
            np.zeros(width), np.eye(width), 1.0, norm=mechanism.norm, clipping="record"
        )
        with pytest.raises(InputError, match="must hold every question in a ball"):
            ReleaseTerms("bank", "loans", 5, 1.0, 5, free, mechanism)
        held = Coordinates(**vars(free) | {"theta_max": 1e15})
        terms = ReleaseTerms("bank", "loans", 5, 1.0, 5, held, mechanism)
        points = []
        for t in (1.0, 2.9, 3.0, 8.0):
            for size in (MAX, 1e15 * t / (1 if mechanism.norm == 1 else np.sqrt(2)) * (1 - 1e-9)):
                points.append(np.array([size / t, -size / t, *np.zeros(width)])[:width])
        seen = [
            outcomes(tmp_path / f"{mechanism.label} {k}", (table, y), None, points, terms)
            for k, table in enumerate((x, far))
        ]
        assert seen[0] == seen[1]
        assert {told[1].partition(";")[0] for told, _, _ in seen[0][::2] if len(told) == 2} == {
            "release.query: must lie in the announced ball of 1e+15"
        }
        assert sum(len(told) == 4 for told, _, _ in seen[0]) == 4


def test_what_becomes_of_a_record_depends_on_no_other_and_on_no_place():
    """To the last bit, though products of matrices add up in an order that depends on a row's place."""
    for width in (1, 2, 7, 24, 60):
        rng = np.random.default_rng(width)
        x = rng.normal(size=(67, width))
        y = rng.normal(size=67)
        coordinates = Coordinates(
            rng.normal(size=width),
            rng.normal(size=(width, width)),
            1e3,
            theta_max=10.0,
            clipping="record",
        )
        phi = rng.uniform(-1, 1, width)
        single = ReleaseTerms("bank", "loans", 1, 1.0, 1, coordinates)
        whole = ReleaseTerms("bank", "loans", 67, 1.0, 1, coordinates)
        alone = np.array([bare_answer(x[[k]], y[[k]], phi, single) for k in range(67)])
        assert np.array_equal(bare_answer(x, y, phi, whole), alone.mean(axis=0))
        shifted = np.roll(x, 1, axis=0), np.roll(y, 1)
        assert np.array_equal(
            bare_answer(*shifted, phi, whole), np.roll(alone, 1, axis=0).mean(axis=0)
        )
