"""Ways to break a training in its mechanism: in what is drawn, in scales, in what is said to be spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincinv

from learning.arrays import Array
from learning.declaration import field_types
from learning.privacy.guarantees import guarantee_kind
from learning.privacy.mechanism import Mechanism
from learning.privacy.shares import answer_shares
from learning.training.client import Client
from learning.training.task import Task
from planting.broken_owners import at_owners


def in_mechanism(
    overriding: Callable[[Task, Mechanism], Mapping[str, Any]],
) -> Callable[[Task], Task]:
    """The training under its mechanism with some methods replaced, and owners priced by that."""

    def plant(task: Task) -> Task:
        sound = task.mechanism
        broken = type("Planted", (type(sound),), dict(overriding(task, sound)))(
            **{name: getattr(sound, name) for name in field_types(type(sound))}
        )
        if hasattr(broken, "guarantee"):
            guarantee_kind.register(type(broken), broken.guarantee)
        bound = task.coordinates.noise_bound

        def priced(by: Mechanism, one: Client) -> float:
            return float(
                by.scale(
                    np.asarray(one.epsilon, dtype=float), one.records.n_records, bound, one.horizon
                )
            )

        def broken_scale(
            one: Client,
        ) -> float:  # of noise made together, as much less as the strictest owner's
            made_together = sound.parts > 1 and priced(sound, one) > 0
            return (
                float(one.scale) * priced(broken, one) / priced(sound, one)
                if made_together
                else priced(broken, one)
            )

        owners = tuple(replace(one, scale=broken_scale(one)) for one in task.owners)
        return replace(task, mechanism=broken, owners=owners)

    return plant


def in_draws(change: Callable[[Array], Array]) -> Callable[[Task], Task]:
    def overriding(task: Task, sound: Mechanism) -> dict[str, Any]:
        return {
            "draw": lambda self, scale, shape, *, rng: change(sound.draw(scale, shape, rng=rng))
        }

    return in_mechanism(overriding)


def in_releases(change: Callable[[Array, int], Array]) -> Callable[[Task], Task]:
    """Noise on scores and moments changed, given as drawn and the number of scores."""

    def overriding(task: Task, sound: Mechanism) -> dict[str, Any]:
        return {
            "draw_release": lambda self, widths, *, rng: change(
                sound.draw_release(widths, rng=rng), widths[0]
            )
        }

    return in_mechanism(overriding)


def without_scores(noise: Array, width: int) -> Array:
    return np.concatenate([np.zeros(width), noise[width:]])


def without_moments(noise: Array, width: int) -> Array:
    return np.concatenate([noise[:width], np.zeros(len(noise) - width)])


def of_scores_again(noise: Array, width: int) -> Array:
    """The first moments get the noise of the scores."""
    return np.concatenate([noise[:width], noise[:width], noise[2 * width :]])


def in_scales(
    change: Callable[[Task, Mechanism, Any, Any, float, int], Array],
) -> Callable[[Task], Task]:
    def overriding(task: Task, sound: Mechanism) -> dict[str, Any]:
        return {
            "scale": lambda self, e, sizes, bound, horizon: change(
                task, sound, e, sizes, bound, horizon
            )
        }

    return in_mechanism(overriding)


def one_too_few(task: Task, sound: Any) -> dict[str, Any]:
    """Each owner's part is as small as if one owner more added its own."""

    def draw(self: Any, scale: Any, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.asarray(sound.mechanism.draw_part(sound.parts + 1, scale, shape, rng=rng))

    return {"draw": draw}


def without_last(noise: Array) -> Array:
    return noise * (np.arange(noise.shape[-1]) < noise.shape[-1] - 1)


def of_one_less(noise: Array) -> Array:
    """L2 noise of scale 1 with the radius, as rare as it is, that noise on a number less would have."""
    length = np.linalg.norm(noise, axis=-1, keepdims=True)
    width = noise.shape[-1]
    return np.asarray(noise * (gammaincinv(width - 1, gammainc(width, length)) / length))


def each_by_itself(
    self: Mechanism, scale: Any, shape: tuple[int, ...], *, rng: np.random.Generator
) -> Array:
    return np.multiply(rng.laplace(size=shape), scale)


def for_one_answer(
    task: Task, sound: Mechanism, e: Any, sizes: Any, bound: float, horizon: int
) -> Array:
    return sound.for_rounds(1).scale(e, sizes, bound, 1)


def three_times(task: Task, sound: Mechanism) -> dict[str, Any]:
    """An accountant that allows three times the distance, and believes it."""

    def guarantee(mechanism: Any, asked: Any) -> Any:
        made = guarantee_kind(sound, asked)
        return replace(made, joint=3 * made.joint, single=3 * made.single)

    return {
        "scale": lambda self, *arguments: sound.scale(*arguments) / 3,
        "guarantee": staticmethod(guarantee),
    }


def charged_evenly(task: Task) -> Task:
    """Every answer is charged as much, and noise is drawn by the shares that grow."""
    sound = task.mechanism

    class Growing(Client):
        def relative_scales(self, mechanism: Mechanism) -> Iterator[float] | None:
            return super().relative_scales(sound)

    plant = in_mechanism(
        lambda task, sound: {"relative_scales": lambda self, growth, horizon: np.ones(horizon)}
    )
    return plant(at_owners(Growing)(task))


def more_than_whole(task: Task, sound: Mechanism) -> dict[str, Any]:
    """Each answer gets growth^k of the budget, over the last of them: the last one all of it."""

    def scales(self: Any, growth: float, horizon: int) -> Array:
        whole = answer_shares(growth, horizon)[-1] ** -(sound.share_power or 0.0)
        return sound.relative_scales(growth, horizon) / whole

    return {"relative_scales": scales}


def two_apart(noise: Array) -> Array:
    """Let every other pair of coordinates have the noise of the pair before it."""
    shared = noise.copy()
    for place in range(2, noise.shape[-1]):
        if place % 4 >= 2:
            shared[..., place] = noise[..., place - 2]
    return shared


def mostly(noise: Array) -> Array:
    """Leave one answer in two hundred without noise."""
    drawn_by_lot = np.floor(np.abs(noise[..., :1]) * 1e6)
    return noise * (drawn_by_lot % 200 != 0)


def cut_off(noise: Array) -> Array:
    """Cut noise of scale 1 off at 5."""
    return np.clip(noise, -5.0, 5.0)


def on_a_grid(noise: Array) -> Array:
    """Round noise of scale 1 to nine decimals; what it is added to keeps all of its digits."""
    return np.round(noise, 9)
