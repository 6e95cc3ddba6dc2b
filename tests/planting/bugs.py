"""Bugs planted on purpose: the ways to break a training that an audit should notice, and when each matters."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from learning.losses.records import ClippedRecords
from learning.privacy.l2 import L2Noise
from learning.training.algorithms import ALGORITHMS
from learning.training.task import Task
from planting.broken_coordinates import (
    ClippedMean,
    FirstTwice,
    HardlyTooLong,
    OftenClipped,
    OtherNorm,
    ShortLost,
    TwiceTheRadius,
    Unclipped,
    UnclippedMoments,
    UnclippedScores,
    UnclippedTargets,
    Unprojected,
    in_coordinates,
)
from planting.broken_engine import (
    Inside,
    always_one,
    in_order,
    uncharged,
    with_picks,
    without_the_last,
)
from planting.broken_noise import (
    charged_evenly,
    cut_off,
    each_by_itself,
    for_one_answer,
    in_draws,
    in_mechanism,
    in_releases,
    in_scales,
    more_than_whole,
    mostly,
    of_one_less,
    of_scores_again,
    on_a_grid,
    one_too_few,
    three_times,
    two_apart,
    without_last,
    without_moments,
    without_scores,
)
from planting.broken_owners import (
    Backwards,
    Echoing,
    Noiseless,
    OneStream,
    Permuted,
    Repeating,
    Unshortened,
    at_first_owner,
    at_owners,
    noise_by,
)

AMONG = 10  # persons of an owner that is attacked where one alone shows nothing
LESS = 0.9  # of the noise that there should be


@dataclass(frozen=True)
class Bug:
    """A way to break a training.

    Parameters
    ----------
    says: what is wrong, in a few words.
    plant: training -> the broken one.
    bites: training -> whether the bug changes anything of it that anybody sees.
    overlap: the owners that a record may sit with while the mechanism counts one.
    among: persons of the owner that is attacked; of one alone a mean is its gradient.
    inside: puts the engine's own code wrong for a while.
    """

    says: str
    plant: Callable[[Task], Task] = field(repr=False)
    bites: Callable[[Task], bool] = field(default=lambda task: True, repr=False)
    overlap: int = 1
    among: int = 1
    inside: Inside = field(default=nullcontext, repr=False)


def _by_record(task: Task) -> bool:
    """Whether gradients of a linear model are clipped, each by itself."""
    return task.coordinates.clips_gradients and task.coordinates.loss.linear


def _priced(task: Task) -> bool:
    """Whether the claim is what noise is priced for; noise as a paper prints it is claimed for what it gives, if wrong."""
    return task.mechanism.accounting != "printed"


def _asked_again(task: Task) -> bool:
    """Whether anybody is asked at a point that answers have moved."""
    return ALGORITHMS[task.plan.algorithm].takes_steps and len(task.plan.steps) > 1


def _of_vectors(task: Task) -> bool:
    """Whether noise is drawn by whole vectors, and not by parts of them."""
    return task.mechanism.name == L2Noise.name and task.mechanism.whole


def _releases(task: Task) -> bool:
    """Whether second moments and scores are released."""
    return task.coordinates.scores is not None


def _grows(task: Task) -> bool:
    """Whether answers spend different shares of a budget."""
    return task.plan.growth != 1 and len(task.plan.steps) > 1


def _asked(task: Task) -> int:
    return task.plan.priced if _in_steps(task) else 1


def _widened(task: Task) -> float:
    """How much wider noise on scores is for the moments beside them; 1 where there are none."""
    scores = task.coordinates.scores
    return 1.0 if scores is None else task.mechanism.beside_moments(scores.share)


def _single(task: Task) -> bool:
    return ALGORITHMS[task.plan.algorithm].one_by_one


def _as_it_is(task: Task) -> Task:
    return task


def _picked(says: str, change: Callable[..., Any]) -> Bug:
    return Bug(says, _as_it_is, _single, inside=with_picks(change))


def _by_draws(task: Task) -> bool:
    return task.mechanism.name == "laplace" and task.mechanism.parts == 1


def _long_enough(rounds: int) -> Callable[[Task], bool]:
    return lambda task: _in_steps(task) and len(task.plan.steps) > rounds and task.width > 1


def _shortened_one_way(task: Task) -> bool:
    """Whether everything that is clipped is clipped by its length."""
    return task.coordinates.loss.linear and task.coordinates.scores is None


def _in_steps(task: Task) -> bool:
    return ALGORITHMS[task.plan.algorithm].takes_steps


BUGS: dict[str, Bug] = {
    "half": Bug("noise halved", in_draws(lambda noise: noise / 2)),
    "tenth": Bug("a tenth less noise", in_draws(lambda noise: LESS * noise)),
    "last": Bug("no noise on the last coordinate", in_draws(without_last)),
    "same": Bug(
        "one noise for all coordinates",
        in_draws(lambda noise: np.broadcast_to(noise[..., :1], noise.shape).copy()),
        lambda task: task.width > 1,
    ),
    "shorter": Bug(
        "radius of noise with one number less",
        in_draws(of_one_less),
        lambda task: _of_vectors(task) and task.mechanism.width > 1,  # type: ignore[attr-defined]
    ),
    "numbers": Bug(
        "every number drawn by itself",
        in_mechanism(lambda task, sound: {"draw": each_by_itself}),
        lambda task: _of_vectors(task) and task.mechanism.width > 1,  # type: ignore[attr-defined]
    ),
    "part": Bug(
        "one part of the noise too few",
        in_mechanism(one_too_few),
        lambda task: task.mechanism.parts > 1,
    ),
    "forgotten": Bug("noise not added to answers", at_owners(Noiseless), _in_steps),
    "reused": Bug("noise reused across rounds", at_owners(Repeating), _asked_again),
    "stream": Bug(
        "one stream for all owners",
        at_owners(OneStream),
        lambda task: _in_steps(task) and len(task.owners) > 1,
    ),
    "kappa": Bug("overlap of two owners forgotten", lambda task: task, overlap=2),
    "accountant": Bug("accounting wrong by 3", in_mechanism(three_times), _priced),
    "rounds": Bug(
        "the whole budget spent in every round",
        in_scales(for_one_answer),
        lambda task: _priced(task) and _asked(task) > 1,
    ),
    "add": Bug(
        "sensitivity of adding a record, not of replacing one",
        in_scales(lambda task, sound, e, n, bound, horizon: sound.scale(e, n, bound / 2, horizon)),
        _priced,
    ),
    "all": Bug(
        "noise scaled to everyone's records",
        in_scales(
            lambda task, sound, e, n, bound, horizon: (
                sound.scale(e, n, bound, horizon) * n / task.sizes.sum()
            )
        ),
        lambda task: _priced(task) and len(task.owners) > 1 and not task.mechanism.single_record,
    ),
    "unclipped": Bug("clipping skipped", in_coordinates(Unclipped)),
    "norm": Bug(
        "clipped in the wrong norm",
        in_coordinates(OtherNorm),
        lambda task: task.coordinates.loss.linear,
    ),
    "targets": Bug(
        "targets not clipped",
        in_coordinates(UnclippedTargets),
        lambda task: not (task.coordinates.loss.labels or task.coordinates.clips_gradients),
    ),
    "radius": Bug(
        "gradients clipped at twice the radius", in_coordinates(TwiceTheRadius), _by_record
    ),
    "mean": Bug(
        "gradients clipped after they are averaged",
        in_coordinates(ClippedMean),
        lambda task: _by_record(task) and not task.mechanism.single_record,
        among=AMONG,
    ),
    "one": Bug(
        "gradients of one owner not clipped",
        at_first_owner(Unshortened),
        lambda task: _by_record(task) and isinstance(task.owners[0].records, ClippedRecords),
    ),
    "scores": Bug(
        "scores not clipped",
        in_coordinates(UnclippedScores),
        _releases,
    ),
    "curvature": Bug(
        "second moments not clipped",
        in_coordinates(UnclippedMoments),
        _releases,
    ),
    "no scores": Bug("no noise on scores", in_releases(without_scores), _releases),
    "no moments": Bug("no noise on second moments", in_releases(without_moments), _releases),
    "joined": Bug(
        "noise of scores on second moments again", in_releases(of_scores_again), _releases
    ),
    "moments": Bug(
        "moments released beside scores for nothing",
        in_scales(
            lambda task, sound, e, n, bound, horizon: (
                sound.scale(e, n, bound, horizon) / _widened(task)
            )
        ),
        lambda task: task.coordinates.scores is not None and _widened(task) > 1 / LESS,
    ),
    "shares": Bug(
        "charged evenly, while noise follows shares that grow",
        charged_evenly,
        _grows,
    ),
    "turn": Bug("noise of the wrong answer", at_owners(Backwards), _grows),
    "whole": Bug("shares that sum to more than 1", in_mechanism(more_than_whole), _grows),
    "ball": Bug(
        "no projection onto the ball",
        in_coordinates(Unprojected),
        lambda task: _asked_again(task) and np.isfinite(task.coordinates.theta_max),
    ),
    "permuted": Bug(
        "every second noise the last one, permuted", at_owners(noise_by(Permuted)), _long_enough(1)
    ),
    "apart": Bug(
        "noise shared by coordinates two apart", in_draws(two_apart), lambda task: task.width > 2
    ),
    "echo": Bug(
        "signs of noise from the round before last", at_owners(noise_by(Echoing)), _long_enough(2)
    ),
    "some": Bug(
        "one answer in two hundred without noise",
        in_draws(mostly),
        lambda task: task.mechanism.parts == 1,
    ),
    "cut": Bug("Laplace noise cut off at five scales", in_draws(cut_off), _by_draws),
    "grid": Bug(
        "noise on a grid, and means not",
        in_draws(on_a_grid),
        lambda task: task.mechanism.parts == 1,
    ),
    "short": Bug("zeros in place of what is short", in_coordinates(ShortLost), _shortened_one_way),
    "margin": Bug(
        "up to one and a half bounds not clipped", in_coordinates(OftenClipped), _shortened_one_way
    ),
    "huge": Bug(
        "beyond a thousand bounds not clipped", in_coordinates(HardlyTooLong), _shortened_one_way
    ),
    "twice": Bug("an owner's first record counted twice", in_coordinates(FirstTwice)),
    "order": _picked("records picked one after the other", in_order),
    "always": _picked("the same record picked always", always_one),
    "unasked": _picked("owners of the second half never asked", without_the_last),
    "charge": Bug("a ledger that is never charged", _as_it_is, inside=uncharged),
}
