"""The noise mechanisms that a scenario may name, what each may be combined with, and those open to the learner."""

from __future__ import annotations

from dataclasses import replace

from learning.declaration import field_types
from learning.errors import InputError
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2, AccountedL2
from learning.privacy.laplace import AccountedLaplace, Laplace
from learning.privacy.mechanism import Mechanism
from learning.privacy.noise_settings import NoiseSettings
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian

BEST = "best"  # stands for every mechanism that declares itself ``compared``

# a name in a scenario file -> the mechanisms that it may mean, by accounting and algorithm
MECHANISMS: dict[str, tuple[type[Mechanism], ...]] = {
    "laplace": (Laplace, AccountedLaplace),
    "gaussian": (Gaussian, SubsampledGaussian, PublishedNoise),
    "l2": (L2, AccountedL2),
}


def kinds_of(name: str) -> tuple[type[Mechanism], ...]:
    """The mechanisms that a name stands for; an InputError if there is none of that name."""
    if name == BEST:
        return tuple(kind for kinds in MECHANISMS.values() for kind in kinds if kind.compared)
    if name not in MECHANISMS:
        names = ", ".join(f'"{known}"' for known in (*MECHANISMS, BEST))
        raise InputError("learning.mechanism", f"must be one of {names}", f'"{name}"')
    return MECHANISMS[name]


def accountings(name: str, formula: str = "") -> tuple[str, ...]:
    """What ``learning.accounting`` may be with a mechanism, the default first.

    ``formula`` is the one that the algorithm's paper publishes for its noise (`Algorithm.published_formula`).

    >>> accountings("laplace"), accountings("gaussian"), accountings("gaussian", "sgd2")
    (('basic', 'pld'), ('pld', 'zcdp'), ('pld', 'zcdp', 'printed'))
    """
    kinds = [kind for kind in kinds_of(name) if not kind.published_for or formula in kind.published_for]
    return tuple(dict.fromkeys(accounting for kind in kinds for accounting in kind.accountings))


def needs_delta(name: str, accounting: str | None = None) -> bool:
    """Whether a mechanism under some accounting, or under its default one, protects except with a small probability.

    >>> needs_delta("laplace"), needs_delta("laplace", "pld"), needs_delta("best")
    (False, True, False)
    """
    how = (accounting or accountings(name)[0],)
    return name != BEST and any(_takes_delta(kind) for kind in kinds_of(name) if set(how) & set(kind.accountings))


def _takes_delta(kind: type[Mechanism]) -> bool:
    """Whether it protects except with a small probability."""
    return "delta" in field_types(kind)


def title_of(name: str) -> str:
    """What reports call noise, of a mechanism known or no longer."""
    return MECHANISMS[name][0].title if name in MECHANISMS else f"{name.capitalize()} noise"


def norm_of(name: str) -> int:
    """The norm, 1 or 2, in which a record's gradient is bounded; 1 of a mechanism that is not known."""
    return int(MECHANISMS.get(name, (Laplace,))[0].norm)  # type: ignore[call-overload]


def candidates(name: str, settings: NoiseSettings) -> list[Mechanism]:
    """The mechanisms that a name leaves open to the learner: one, several horizons of one, or under "best" all compared.

    Of these, where no delta is stated, only those that protect in every case.

    Raises
    ------
    InputError
        If there is none of that name, or none that goes with the settings.

    >>> [mechanism.label for mechanism in candidates("gaussian", NoiseSettings((100,), 1e-6, "zcdp"))]
    ['gaussian (zcdp)']
    """
    even = settings.growth in (1, None)
    suited = [kind for kind in kinds_of(name) if kind.suits(settings) and (even or kind.share_power is not None)]
    how = None if name == BEST else settings.accounting or accountings(name, settings.formula)[0]
    suited = [kind for kind in suited if how is None or how in kind.accountings]
    if name == BEST and settings.delta is None:
        suited = [kind for kind in suited if not _takes_delta(kind)]
    if not suited:
        rule = f'must be one that goes with the algorithm and accounting "{how}"'
        raise InputError("learning.mechanism", rule, f'"{name}"')
    made = (kind.candidates(replace(settings, accounting=how or kind.accountings[0])) for kind in suited)
    return [mechanism for found in made for mechanism in found]
