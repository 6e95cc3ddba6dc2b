"""The noise mechanisms that a scenario may name, and those open to the learner."""

from __future__ import annotations

from dataclasses import replace

from learning.declaration import field_types
from learning.errors import InputError
from learning.privacy.accounting import WIDEST
from learning.privacy.composition import AccountedL2, AccountedLaplace
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.mechanism import Mechanism, NoiseSettings
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian
from learning.privacy.wishart import Wishart

BEST = "best"  # every mechanism that declares itself ``compared``

# name in a scenario file -> its mechanisms, by accounting and algorithm
MECHANISMS: dict[str, tuple[type[Mechanism], ...]] = {
    "laplace": (Laplace, AccountedLaplace),
    "gaussian": (Gaussian, SubsampledGaussian, PublishedNoise),
    "l2": (L2, AccountedL2),
    "wishart": (Wishart,),
}


def kinds_of(name: str) -> tuple[type[Mechanism], ...]:
    """Look up the mechanisms of a name; an InputError if there is none of that name."""
    if name == BEST:
        return tuple(kind for kinds in MECHANISMS.values() for kind in kinds if kind.compared)
    if name not in MECHANISMS:
        names = ", ".join(f'"{known}"' for known in (*MECHANISMS, BEST))
        raise InputError("learning.mechanism", f"must be one of {names}", f'"{name}"')
    return MECHANISMS[name]


def all_widen(name: str) -> bool:
    """Test whether more noise of that name is what it adds at a smaller budget."""
    return all(kind.widens for kind in kinds_of(name))


def list_accountings(name: str, formula: str = "") -> tuple[str, ...]:
    """List the values of ``learning.accounting`` with a mechanism, the default first.

    ``formula`` is the one that the algorithm's paper publishes for its noise
    (`Algorithm.published_formula`).

    >>> list_accountings("laplace"), list_accountings("gaussian", "sgd2")
    (('basic', 'pld'), ('pld', 'zcdp', 'printed'))
    """
    kinds = [
        kind for kind in kinds_of(name) if not kind.published_for or formula in kind.published_for
    ]
    return tuple(dict.fromkeys(accounting for kind in kinds for accounting in kind.accountings))


def needs_delta(name: str, accounting: str | None = None) -> bool:
    """Test whether a mechanism takes a failure probability under an accounting, or by default.

    >>> needs_delta("laplace"), needs_delta("laplace", "pld"), needs_delta("best")
    (False, True, False)
    """
    accounting = accounting or list_accountings(name)[0]
    return name != BEST and any(
        _takes_delta(kind) for kind in kinds_of(name) if accounting in kind.accountings
    )


def _takes_delta(kind: type[Mechanism]) -> bool:
    return "delta" in field_types(kind)


def title_of(name: str) -> str:
    """Name of a mechanism's noise in reports, also of a mechanism that is no longer known."""
    return MECHANISMS[name][0].title if name in MECHANISMS else f"{name.capitalize()} noise"


def norm_of(name: str) -> int:
    """Norm, 1 or 2, in which a record's gradient is bounded; 1 of an unknown mechanism."""
    return int(MECHANISMS.get(name, (Laplace,))[0].norm)  # type: ignore[call-overload]


def candidate_mechanisms(name: str, settings: NoiseSettings) -> list[Mechanism]:
    """Make the mechanisms that a name leaves open to the learner.

    There may be several: of different horizons or growths, or under "best" all that are compared.
    Under "best" without a delta these are only those of pure DP.

    Raises
    ------
    InputError
        If there is none of that name, or none that goes with the settings.

    >>> made = candidate_mechanisms("gaussian", NoiseSettings((100,), 1e-6, "zcdp"))
    >>> [mechanism.label for mechanism in made]
    ['gaussian (zcdp)']
    """
    accounting = None
    if name != BEST:
        accounting = settings.accounting or list_accountings(name, settings.formula)[0]
    even = settings.growth in (1, None)
    suited = [
        kind
        for kind in kinds_of(name)
        if kind.suits_settings(settings)
        and (even or kind.share_power is not None)
        and (accounting is None or accounting in kind.accountings)
        and not (name == BEST and settings.delta is None and _takes_delta(kind))
    ]
    found = [
        mechanism
        for kind in suited
        for how in ([accounting] if accounting else _accountings_compared(kind, settings))
        for mechanism in kind.make_candidates(replace(settings, accounting=how))
        if not (name == BEST and settings.exact) or _is_drawn_exactly(mechanism, settings)
    ]
    if not found:
        rule = f'must support the algorithm and accounting "{accounting}"'
        raise InputError("learning.mechanism", rule, f'"{name}"')
    return found


def _accountings_compared(kind: type[Mechanism], settings: NoiseSettings) -> tuple[str, ...]:
    """Accountings under "best": the default; all of them where noise must be drawn exactly."""
    return kind.accountings if settings.exact else kind.accountings[:1]


def _is_drawn_exactly(mechanism: Mechanism, settings: NoiseSettings) -> bool:
    """Test whether a release draws the noise exactly, of as many numbers as an answer has."""
    if mechanism.release_budget(1.0, mechanism.horizon or 1) is None:
        return False
    width = settings.width
    drawn = width * (width + 1) // 2 if settings.moments else width
    return mechanism.name != L2.name or drawn <= WIDEST
