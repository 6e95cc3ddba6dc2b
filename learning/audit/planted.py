"""Bugs planted on purpose: a training broken in one way, its claims unchanged, to see which of them an audit notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincinv

from learning.arrays import Array
from learning.audit.auditor import audit_owner
from learning.audit.checks import check_training
from learning.audit.observations import AuditTarget
from learning.declaration import field_types
from learning.losses.clipped_records import ClippedRecords
from learning.losses.coordinates import Coordinates
from learning.losses.protocols import GradientOracle
from learning.privacy.l2 import L2Noise
from learning.privacy.mechanism import Mechanism
from learning.privacy.shares import shares
from learning.progress import Progress, counting, silent
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.client import Client, Noise
from learning.training.task import Task

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
    """

    says: str
    plant: Callable[[Task], Task] = field(repr=False)
    bites: Callable[[Task], bool] = field(default=lambda task: True, repr=False)
    overlap: int = 1
    among: int = 1


@dataclass(frozen=True)
class Caught:
    """Whether an audit noticed a bug.

    Parameters
    ----------
    bug: a name of `BUGS`.
    checks: the kinds of checks that failed.
    attacked: whether the attack on a single record refuted the claim.
    """

    bug: str
    checks: tuple[str, ...]
    attacked: bool

    @property
    def seen(self) -> bool:
        return self.attacked or bool(self.checks)


def planted(
    task: Task,
    overlap: int,
    record: tuple[Array, Array],
    rows: int = 1,
    *,
    seed: int,
    draws: int,
    error: float,
    progress: Progress = silent,
) -> list[Caught]:
    """Plant every bug that the training can have, one at a time, and audit.

    Parameters
    ----------
    task: the sound training.
    overlap: kappa, as the scenario states it.
    record: (x (m, p), y (m,)), the data of an owner, of whose first record, or person, one that has no other is attacked at
        the largest budget; of a few of them where a bug shows in no single one.
    rows: k, the most rows of one person at an owner, as the scenario states it.
    seed, draws: of the attack; as in `audit_owner`.
    error: the chance of a false alarm, of the checks and of the attack each.
    progress: who is told how many are done.
    """
    most = max(owner.epsilon for owner in task.owners if owner.epsilon is not None and np.isfinite(owner.epsilon))
    found, biting = [], {name: bug for name, bug in BUGS.items() if bug.bites(task)}
    did = counting(progress, "planting bugs", len(biting))
    for name, bug in biting.items():
        broken, kappa = bug.plant(task), max(overlap, bug.overlap)
        failed = tuple(check.kind for check in check_training(broken, kappa, rows, error=error) if not check.passed)
        target = AuditTarget.of(broken, kappa, rows)
        x, y = (part[: bug.among * rows] for part in record)
        finding = audit_owner("", x, y, most, target, seed=seed, draws=draws, confidence=1 - error)
        found.append(Caught(name, failed, finding.refuted))
        did(1)
    return found


# --- in the mechanism -------------------------------------------------------------------------------------------------


def _mechanism(overriding: Callable[[Task, Mechanism], Mapping[str, Any]]) -> Callable[[Task], Task]:
    """The training under its mechanism with some methods replaced, and owners priced by that."""

    def plant(task: Task) -> Task:
        sound = task.mechanism
        broken = type("Planted", (type(sound),), dict(overriding(task, sound)))(
            **{name: getattr(sound, name) for name in field_types(type(sound))}
        )
        bound = task.coordinates.noise_bound

        def priced(by: Mechanism, one: Client) -> float:
            return float(by.scale(np.asarray(one.epsilon, dtype=float), one.records.n_records, bound, one.horizon))

        def broken_scale(one: Client) -> float:  # of noise made together, as much less as the strictest owner's
            made_together = sound.parts > 1 and priced(sound, one) > 0
            return float(one.scale) * priced(broken, one) / priced(sound, one) if made_together else priced(broken, one)

        owners = tuple(replace(one, scale=broken_scale(one)) for one in task.owners)
        return replace(task, mechanism=broken, owners=owners)

    return plant


def _drawing(change: Callable[[Array], Array]) -> Callable[[Task], Task]:
    def overriding(task: Task, sound: Mechanism) -> dict[str, Any]:
        return {"draw": lambda self, scale, shape, *, rng: change(sound.draw(scale, shape, rng=rng))}

    return _mechanism(overriding)


def _scaling(change: Callable[[Task, Mechanism, Any, Any, float, int], Array]) -> Callable[[Task], Task]:
    def overriding(task: Task, sound: Mechanism) -> dict[str, Any]:
        return {"scale": lambda self, e, sizes, bound, horizon: change(task, sound, e, sizes, bound, horizon)}

    return _mechanism(overriding)


def _one_too_few(task: Task, sound: Any) -> dict[str, Any]:
    """Each owner's part is as small as if one owner more added its own."""

    def draw(self: Any, scale: Any, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.asarray(sound.mechanism.part(sound.parts + 1, scale, shape, rng=rng))

    return {"draw": draw}


def _without_last(noise: Array) -> Array:
    return noise * (np.arange(noise.shape[-1]) < noise.shape[-1] - 1)


def _of_one_less(noise: Array) -> Array:
    """L2 noise of scale 1 with the radius, as rare as it is, that noise on a number less would have."""
    length, width = np.linalg.norm(noise, axis=-1, keepdims=True), noise.shape[-1]
    return np.asarray(noise * (gammaincinv(width - 1, gammainc(width, length)) / length))


def _each_by_itself(self: Mechanism, scale: Any, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
    return np.multiply(rng.laplace(size=shape), scale)


def _for_one_answer(task: Task, sound: Mechanism, e: Any, sizes: Any, bound: float, horizon: int) -> Array:
    return sound.for_rounds(1).scale(e, sizes, bound, 1)


def _three_times(task: Task, sound: Mechanism) -> dict[str, Any]:
    """An accountant that allows three times the distance, and believes it."""

    def guarantee(self: Any, *arguments: Any, **named: Any) -> Any:
        made = sound.guarantee(*arguments, **named)
        return replace(made, joint=3 * made.joint, single=3 * made.single)

    return {"scale": lambda self, *arguments: sound.scale(*arguments) / 3, "guarantee": guarantee}


def _charged_evenly(task: Task) -> Task:
    """Every answer is charged as much, and noise is drawn by the shares that grow."""
    sound = task.mechanism

    class Growing(Client):
        def relative(self, mechanism: Mechanism) -> Iterator[float] | None:
            return super().relative(sound)

    plant = _mechanism(lambda task, sound: {"relative_scales": lambda self, growth, horizon: np.ones(horizon)})
    return plant(_owners(Growing)(task))


def _more_than_whole(task: Task, sound: Mechanism) -> dict[str, Any]:
    """Each answer gets growth^k of the budget, over the last of them: the last one all of it."""

    def scales(self: Any, growth: float, horizon: int) -> Array:
        whole = shares(growth, horizon)[-1] ** -(sound.share_power or 0.0)
        return sound.relative_scales(growth, horizon) / whole

    return {"relative_scales": scales}


# --- at the owners ----------------------------------------------------------------------------------------------------


class RepeatedNoise(Noise):
    """The first noise of each run, in every round."""

    def take(self, queries: int) -> Array:
        if not hasattr(self, "first"):
            object.__setattr__(self, "first", super().take(1))
        return np.repeat(self.first, queries, axis=0)  # type: ignore[attr-defined]

    def of_run(self, run: int, queries: int) -> Array:
        held = self.__dict__.setdefault("held", {})
        if run not in held:
            held[run] = super().of_run(run, 1)
        return np.repeat(held[run], queries, axis=0)


class Repeating(Client):
    def noise(self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None) -> Noise:
        return RepeatedNoise(**vars(super().noise(mechanism, runs, streams, n_draws)))


class OneStream(Client):
    def noise(self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None) -> Noise:
        return replace(self, name="all").inherited(mechanism, runs, streams, n_draws)

    def inherited(self, *arguments: Any) -> Noise:
        return super().noise(*arguments)


class Backwards(Client):
    def relative(self, mechanism: Mechanism) -> Iterator[float] | None:
        turned = super().relative(mechanism)
        return None if turned is None else reversed([*turned])


class Noiseless(Client):
    def noised(self, gradient: Array, noise: Array) -> Array:
        return super().noised(gradient, 0 * noise)


class Unshortened(Client):
    """Its records' gradients are as long as they are."""

    def __init__(self, *, records: Any, **others: Any) -> None:
        if isinstance(records, ClippedRecords):  # and not those that an audit watches, which are unshortened already
            records = replace(records, limits=np.full_like(records.limits, np.inf))
        super().__init__(records=records, **others)


def _owners(kind: type[Client]) -> Callable[[Task], Task]:
    return lambda task: replace(task, owners=tuple(kind(**vars(owner)) for owner in task.owners))


def _first_owner(kind: type[Client]) -> Callable[[Task], Task]:
    return lambda task: replace(task, owners=(kind(**vars(task.owners[0])), *task.owners[1:]))


# --- in the coordinates -----------------------------------------------------------------------------------------------


class Unclipped(Coordinates):
    @property
    def loose(self) -> Coordinates:
        whole = vars(self) | {"radius": np.inf, "target_bound": np.inf, "scores": None}
        return Coordinates(**whole)

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        return self.loose.records(x, y)

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        return self.loose.oracle(x, y, one_by_one=one_by_one)


class UnclippedScores(Coordinates):
    """Second moments are held to their bound, scores are not."""

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        whole = vars(self) | {"scores": self.scores and replace(self.scores, bound=np.inf)}
        return Coordinates(**whole).records(x, y)


class OtherNorm(Coordinates):
    """Records, or gradients, shortened until each coordinate is within the bound, by itself."""

    def lengths(self, moved: Array) -> Array:
        return np.asarray(np.abs(moved).max(axis=1))

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        held = super().oracle(x, y, one_by_one=one_by_one)
        if isinstance(held, ClippedRecords):
            return ClippedRecords.within(self.radius, held.loss, held.lines, np.inf)
        return held


class TwiceTheRadius(Coordinates):
    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        return Coordinates(**vars(self) | {"radius": 2 * self.radius}).oracle(x, y, one_by_one=one_by_one)


class ClippedMean(Coordinates):
    """Gradients averaged first, and their mean shortened."""

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        whole = Coordinates(**vars(self) | {"radius": np.inf}).oracle(x, y, one_by_one=one_by_one)
        return Shortened(whole, self)


@dataclass(frozen=True)
class Shortened:
    """Records whose mean gradient is shortened to the radius, whatever each is."""

    records: Any
    bounds: Coordinates

    @property
    def n_records(self) -> int:
        return int(self.records.n_records)

    @property
    def n_parameters(self) -> int:
        return int(self.records.n_parameters)

    def gradient(self, phi: Array) -> Array:
        return self.bounds.within(self.records.gradient(phi), self.bounds.radius)

    def record_gradient(self, phi: Array, rows: Any) -> Array:
        return self.bounds.within(self.records.record_gradient(phi, rows), self.bounds.radius)


class UnclippedTargets(Coordinates):
    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        return self.shortened(x), y - x @ self.centre


class Unprojected(Coordinates):
    def project(self, phi: Array) -> Array:
        return phi


def _coordinates(kind: type[Coordinates]) -> Callable[[Task], Task]:
    return lambda task: replace(task, coordinates=kind(**vars(task.coordinates)))


def _by_record(task: Task) -> bool:
    """Whether gradients of a linear model are clipped, each by itself."""
    return task.coordinates.clips_gradients and task.coordinates.loss.linear


# --- when they matter -------------------------------------------------------------------------------------------------


def _priced(task: Task) -> bool:
    """Whether the claim is what noise is priced for; noise as a paper prints it is claimed for what it gives, if wrong."""
    return task.mechanism.accounting != "printed"


def _asked_again(task: Task) -> bool:
    """Whether anybody is asked at a point that answers have moved."""
    return ALGORITHMS[task.plan.algorithm].takes_steps and len(task.plan.steps) > 1


def _of_vectors(task: Task) -> bool:
    """Whether noise is drawn by whole vectors, and not by parts of them."""
    return task.mechanism.name == L2Noise.name and task.mechanism.whole


def _grows(task: Task) -> bool:
    """Whether answers spend different shares of a budget."""
    return task.plan.growth != 1 and len(task.plan.steps) > 1


def _asked(task: Task) -> int:
    return task.plan.priced if _in_steps(task) else 1


def _widened(task: Task) -> float:
    """How much wider noise on scores is for the moments beside them; 1 where there are none."""
    scores = task.coordinates.scores
    return 1.0 if scores is None else task.mechanism.beside_moments(scores.share)


def _in_steps(task: Task) -> bool:
    return ALGORITHMS[task.plan.algorithm].takes_steps


BUGS: dict[str, Bug] = {
    "half": Bug("noise halved", _drawing(lambda noise: noise / 2)),
    "tenth": Bug("a tenth less noise", _drawing(lambda noise: LESS * noise)),
    "last": Bug("no noise on the last coordinate", _drawing(_without_last)),
    "same": Bug(
        "one noise for all coordinates",
        _drawing(lambda noise: np.broadcast_to(noise[..., :1], noise.shape).copy()),
        lambda task: task.width > 1,
    ),
    "shorter": Bug(
        "radius of noise with one number less",
        _drawing(_of_one_less),
        lambda task: _of_vectors(task) and task.mechanism.width > 1,  # type: ignore[attr-defined]
    ),
    "numbers": Bug(
        "every number drawn by itself",
        _mechanism(lambda task, sound: {"draw": _each_by_itself}),
        lambda task: _of_vectors(task) and task.mechanism.width > 1,  # type: ignore[attr-defined]
    ),
    "part": Bug("one part of the noise too few", _mechanism(_one_too_few), lambda task: task.mechanism.parts > 1),
    "forgotten": Bug("noise not added to answers", _owners(Noiseless), _in_steps),
    "reused": Bug("noise reused across rounds", _owners(Repeating), _asked_again),
    "stream": Bug(
        "one stream for all owners", _owners(OneStream), lambda task: _in_steps(task) and len(task.owners) > 1
    ),
    "kappa": Bug("overlap of two owners forgotten", lambda task: task, overlap=2),
    "accountant": Bug("accounting wrong by 3", _mechanism(_three_times), _priced),
    "rounds": Bug(
        "the whole budget spent in every round",
        _scaling(_for_one_answer),
        lambda task: _priced(task) and _asked(task) > 1,
    ),
    "add": Bug(
        "sensitivity of adding a record, not of replacing one",
        _scaling(lambda task, sound, e, n, bound, horizon: sound.scale(e, n, bound / 2, horizon)),
        _priced,
    ),
    "all": Bug(
        "noise scaled to everyone's records",
        _scaling(lambda task, sound, e, n, bound, horizon: sound.scale(e, n, bound, horizon) * n / task.sizes.sum()),
        lambda task: _priced(task) and len(task.owners) > 1 and not task.mechanism.single_record,
    ),
    "unclipped": Bug("clipping skipped", _coordinates(Unclipped)),
    "norm": Bug("clipped in the wrong norm", _coordinates(OtherNorm), lambda task: task.coordinates.loss.linear),
    "targets": Bug(
        "targets not clipped",
        _coordinates(UnclippedTargets),
        lambda task: not (task.coordinates.loss.labels or task.coordinates.clips_gradients),
    ),
    "radius": Bug("gradients clipped at twice the radius", _coordinates(TwiceTheRadius), _by_record),
    "mean": Bug(
        "gradients clipped after they are averaged",
        _coordinates(ClippedMean),
        lambda task: _by_record(task) and not task.mechanism.single_record,
        among=AMONG,
    ),
    "one": Bug(
        "gradients of one owner not clipped",
        _first_owner(Unshortened),
        lambda task: _by_record(task) and isinstance(task.owners[0].records, ClippedRecords),
    ),
    "scores": Bug(
        "scores not clipped", _coordinates(UnclippedScores), lambda task: task.coordinates.scores is not None
    ),
    "moments": Bug(
        "moments released beside scores for nothing",
        _scaling(lambda task, sound, e, n, bound, horizon: sound.scale(e, n, bound, horizon) / _widened(task)),
        lambda task: task.coordinates.scores is not None and _widened(task) > 1 / LESS,
    ),
    "shares": Bug(
        "charged evenly, while noise follows shares that grow",
        _charged_evenly,
        _grows,
    ),
    "turn": Bug("noise of the wrong answer", _owners(Backwards), _grows),
    "whole": Bug("shares that sum to more than 1", _mechanism(_more_than_whole), _grows),
    "ball": Bug(
        "no projection onto the ball",
        _coordinates(Unprojected),
        lambda task: _asked_again(task) and np.isfinite(task.coordinates.theta_max),
    ),
}
