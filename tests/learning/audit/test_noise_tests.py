"""Tests of noise by themselves: exact laws where all is well, and what each of them sees that the others do not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from learning.audit.accountant import law_of
from learning.audit.dependence import (
    compare_coordinates,
    compare_mixes,
    compare_owners,
    compare_pairs,
    compare_picks,
    compare_rounds,
    normal_scores,
    size_scores,
    stack_numbers,
)
from learning.audit.single_numbers import (
    check_repeated_answers,
    count_repeats,
    count_tails,
    count_zeros,
    find_grids,
    visible_cut,
)
from learning.audit.transcript import Answers
from learning.audit.verdicts import judge_tests
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.training.client import Client

SHAPE = (5, 400, 4)  # answers, runs, width
LAWS = {"laplace": Laplace(), "gaussian": Gaussian(1e-6), "l2": L2(SHAPE[2])}
ERROR = 1e-4


def drawn(law="laplace", seed=0, shape=SHAPE):
    return LAWS[law].draw(1.0, shape, rng=np.random.default_rng(seed))


def answers(noise, name="a"):
    return Answers(Client(name, None, 1.0, 5), noise, 1.0, 0, 0)


def fails(tests):
    check = judge_tests("", tests, ERROR)
    return check is not None and not check.passed


@pytest.mark.parametrize("law", LAWS)
def test_noise_of_a_known_law_becomes_independent_standard_normal_numbers(law):
    scores = normal_scores(law, drawn(law))
    for numbers in (scores, size_scores(scores)):
        assert kstest(numbers.ravel(), "norm").pvalue > 1e-3
        rows = numbers.reshape(-1, SHAPE[2])
        assert np.abs(np.corrcoef(rows.T) - np.eye(SHAPE[2])).max() < 0.1
        assert (
            np.abs(np.corrcoef(np.square(rows).T) - np.eye(SHAPE[2])).max() < 0.1
        )  # of l2 noise too
    assert set(np.unique(normal_scores("", drawn(law)))) == {-1.0, 1.0}


@pytest.mark.parametrize("law", LAWS)
def test_sound_noise_passes_every_test(law):
    one = answers(drawn(law))
    other = answers(drawn(law, 1), "b")
    known = law_of(law, SHAPE[2])
    both = [one, other]
    assert (
        not fails(count_zeros(both))
        and not fails(count_repeats(both))
        and not fails(count_tails(known, both))
    )
    assert check_repeated_answers(both).passed and max(find_grids(both).values()) < 0.1
    scores = [(each.owner.name, normal_scores(law, each.noise)) for each in both]
    for compare in (
        compare_rounds,
        compare_coordinates,
        compare_owners,
        compare_pairs,
        compare_mixes,
    ):
        assert not fails(compare(scores)), compare


def test_bounds_on_sums_and_mixes_hold_as_often_as_they_say():
    """Of 300 sound samples at an error of 30 % each no more fail than that; the bounds are far from tight."""
    failed = np.zeros(4)
    for seed in range(300):
        scores = [("a", np.random.default_rng(seed).normal(size=(3, 60, 2)))]
        for place, compare in enumerate(
            (compare_rounds, compare_coordinates, compare_pairs, compare_mixes)
        ):
            failed[place] += not judge_tests("", compare(scores), 0.3).passed
    assert (failed <= 0.3 * 300).all() and failed.sum() > 0


def mixed(noise, rounds=0, across=0, part=0.5):
    """Numbers that hold a part of those so many rounds before and so many coordinates on."""
    before = np.roll(np.roll(noise, rounds, axis=0), across, axis=2)
    return np.sqrt(1 - part**2) * noise + part * before


@pytest.mark.parametrize(
    ("name", "made", "seen_by", "not_by"),
    [
        ("two apart", lambda z: mixed(z, across=2), compare_coordinates, compare_rounds),
        (
            "the round before last",
            lambda z: mixed(z, rounds=2),
            compare_rounds,
            compare_coordinates,
        ),
        (
            "a round before, two on",
            lambda z: mixed(z, rounds=1, across=2),
            compare_rounds,
            compare_coordinates,
        ),
        (
            "a little of the first in all",
            lambda z: z + 0.3 * z[:, :, :1],
            compare_pairs,
            compare_rounds,
        ),
    ],
)
def test_each_kind_of_dependence_has_its_test(name, made, seen_by, not_by):
    noise = made(drawn("gaussian"))
    assert fails(seen_by([("a", noise)])) and not fails(not_by([("a", noise)])), name


def test_noise_of_equal_sizes_and_fresh_signs_is_seen_by_its_sizes():
    noise = drawn("gaussian")
    noise[1:] = np.abs(noise[:1]) * np.sign(noise[1:])
    assert not fails(compare_rounds([("a", noise)])) and fails(
        compare_rounds([("a", size_scores(noise))])
    )


def test_parts_that_cancel_over_many_owners_are_seen_in_their_mix_alone():
    """Noise of 20 owners that sums to nothing: any two are hardly dependent, all of them wholly."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(1, 300, 20))
    noise -= noise.mean(axis=2, keepdims=True)
    scores = [(f"{i}", noise[:, :, i : i + 1]) for i in range(20)]
    assert (
        not fails(compare_pairs(scores))
        and fails(compare_mixes(scores))
        and stack_numbers(scores).shape == (300, 20)
    )


def test_an_answer_without_noise_is_a_zero_and_is_no_repeat():
    noise = drawn()
    noise[2, 7] = 0.0
    assert fails(count_zeros([answers(noise)])) and not fails(count_repeats([answers(noise)]))


def test_noise_that_is_permuted_turned_or_scaled_is_met_again():
    first = drawn()
    again = first.copy()
    again[1::2] = -np.roll(again[:-1:2], 1, axis=2)
    assert (
        fails(count_repeats([answers(again)]))
        and not check_repeated_answers(answers_of(again)).passed
    )
    wider = replace(answers(3 * first, "b"), scale=3.0)
    assert fails(count_repeats([answers(first), wider])) and not fails(
        count_repeats([answers(first)])
    )


def answers_of(noise):
    return [answers(noise)]


def test_noise_cut_off_in_its_tail_is_seen_where_it_is_said_to_be():
    law = law_of("laplace", SHAPE[2])
    noise = drawn(shape=(10, 1000, 4))
    where = visible_cut(law, noise.size, ERROR / 20)
    assert 5 < where < 10 and fails(count_tails(law, [answers(np.clip(noise, -5, 5))]))
    few = noise[:1, :50]
    assert visible_cut(law, few.size, ERROR / 20) < 5 and not fails(
        count_tails(law, [answers(np.clip(few, -6, 6))])
    )


@pytest.mark.parametrize("step", [2.0**-30, 2.0**-16, 1e-9, 1e-5])
def test_noise_on_a_grid_is_seen_whatever_it_is_added_to(step):
    noise = np.round(drawn() / step) * step
    assert find_grids([answers(noise)])["a"] > 0.9
    told = replace(answers(noise + 1e-17), drawn=noise + np.pi * 1e-4)
    assert find_grids([told])["a"] > 0.9
    assert (
        find_grids([replace(answers(drawn()), drawn=drawn().astype(np.float32).astype(float))])["a"]
        > 0.9
    )


RECORDS = 500
ROUNDS = 60
RUNS = 40
PICKS = np.random.default_rng(5).integers(0, RECORDS, size=(ROUNDS, RUNS))


@pytest.mark.parametrize(
    ("name", "picks", "seen"),
    [
        ("uniform", PICKS, False),
        ("in order", (PICKS[:1] + np.arange(ROUNDS)[:, None]) % RECORDS, True),
        ("always one", np.full_like(PICKS, 7), True),
        ("one of each run", np.repeat(PICKS[:1], ROUNDS, axis=0), True),
        ("all runs alike", np.repeat(PICKS[:, :1], RUNS, axis=1), True),
        ("never the last twentieth", PICKS % (RECORDS - RECORDS // 20), True),
        (
            "never again",
            np.argsort(np.random.default_rng(6).random((RECORDS, RUNS)), axis=0)[:ROUNDS],
            True,
        ),
    ],
)
def test_picks_that_are_not_uniform_and_independent_are_seen(name, picks, seen):
    assert fails(compare_picks(picks, RECORDS)) == seen, name
