"""What a mechanism promises of its answers, jointly and one by one, in measures in which they can be attacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from dp_accounting.pld import privacy_loss_distribution

from learning.audit.attack import Measure, approximate, gaussian, profile, pure
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace_pld import CELLS, WIDEST, AccountedLaplace, spent
from learning.privacy.ledger import Account
from learning.privacy.mechanism import Mechanism
from learning.privacy.published_noise import PublishedNoise, claims
from learning.privacy.subsampled import SubsampledGaussian, subsampled_delta, subsampled_epsilon
from learning.training.algorithms import ALGORITHMS

NODES, WIDTH = 81, 8.0  # of a profile's table: from a WIDTH-th of what is promised to WIDTH times as much
EPSILONS = np.concatenate([[0.0], np.geomspace(3e-3, 10.0, 48)])  # at which a profile is compared


@dataclass(frozen=True)
class Guarantee:
    """What a mechanism promises of its answers, in a measure in which they can be attacked.

    Parameters
    ----------
    measure : `pure`; `gaussian` for who promises the trade-off curve of Gaussian noise, from which (epsilon, delta)
        follows; `profile` for an accountant's delta at every epsilon: such curves are far sharper a target than one point.
    joint : bound promised for all answers asked. epsilon : measure -> epsilon at its delta.
    single, single_measure, single_epsilon : the same for one answer; inf where nothing is promised of one.
    claimed : epsilon claimed over all answers that the budget covers.
    chance : with which all answers together show anything at all of a record; 1 but where records are picked.
    """

    measure: Measure
    joint: float
    single: float
    epsilon: Callable[[float], float]
    claimed: float
    single_measure: Measure
    single_epsilon: Callable[[float], float]
    chance: float = 1.0


def asked(algorithm: str, horizon: int) -> int:
    """GradientOracle that one owner gives at most, of the ``horizon`` that its budget covers; rounds seen, for SGD1."""
    return ALGORITHMS[algorithm].queries(horizon)


def guarantee_of(
    mechanism: Mechanism, epsilon: float, horizon: int, answers: int | None = None, *, size: int = 1, party: str = ""
) -> Guarantee:
    """What some answers may spend of a budget over T: epsilon/(T kappa) each, or distances m/sqrt(T) adding in squares.

    An owner may spend its kappa-th part only, where a record may sit with kappa owners: kappa of them spend it all. Of
    noise as printed, what is promised is what the accountant says (`claims`), never the epsilon it was printed for. Of
    SGD1, rounds count, and everybody knows whose record each used.

    Parameters
    ----------
    mechanism, epsilon : and the budget it was given. horizon : T, answers that the budget covers.
    answers : asked, T - 1 unless given. size : n_l, records of the owner, and party its name: noise as printed needs them.
    """
    answers = horizon - 1 if answers is None else answers
    if getattr(mechanism, "single_record", False) and isinstance(mechanism, SubsampledGaussian | PublishedNoise):
        return _picked(mechanism, epsilon, horizon, size, party)
    if isinstance(mechanism, Gaussian):
        distance = float(mechanism.distance(epsilon)) / np.sqrt(horizon)
        back = lambda m: float(mechanism.epsilon(1 / m**2, 1, 0.5, 1)) if m > 0 else 0.0  # noqa: E731
        return _same(gaussian, distance * np.sqrt(answers), distance, back, epsilon)
    if isinstance(mechanism, PublishedNoise):
        distance = mechanism.distance(epsilon, size, horizon)
        claimed = claims(mechanism, party, size, epsilon, horizon)[0].epsilon
        exact = lambda m: subsampled_epsilon(float(m), 1, 1.0, mechanism.delta)  # noqa: E731
        return _same(gaussian, distance * np.sqrt(answers), distance, exact, claimed)
    if isinstance(mechanism, AccountedLaplace):
        return _accounted(mechanism, epsilon, answers)
    if mechanism.delta > 0:  # only the whole is promised, and nothing of a single answer
        return _same(approximate(mechanism.delta), epsilon, np.inf, float, epsilon)
    account = Account("", epsilon / getattr(mechanism, "overlap", 1), horizon)
    return _same(pure, account.cost(answers), account.cost(1), float, epsilon)


def _same(
    measure: Measure, joint: float, single: float, epsilon: Callable[[float], float], claimed: float
) -> Guarantee:
    """One measure for all answers together and for a single one."""
    return Guarantee(measure, float(joint), float(single), epsilon, float(claimed), measure, epsilon)


def _accounted(mechanism: AccountedLaplace, epsilon: float, answers: int) -> Guarantee:
    """Each answer is pure DP at the ratio r = sensitivity/scale; all of them have the profile that the accountant counts."""
    ratio, delta = float(mechanism.ratio(epsilon)), mechanism.delta
    back = lambda r: spent(float(r), answers, delta) if r > 0 else 0.0  # noqa: E731
    return Guarantee(_laplace_profile(ratio, answers), ratio, ratio, back, epsilon, pure, float)


@lru_cache(maxsize=64)
def _laplace_profile(ratio: float, answers: int) -> Measure:
    """Least ratio at which so many Laplace answers can be told apart so well."""
    nodes = np.geomspace(ratio / WIDTH, ratio * WIDTH, NODES)
    nodes[NODES // 2] = ratio
    cells = nodes / np.maximum(CELLS, np.ceil(nodes / WIDEST))
    one = [
        privacy_loss_distribution.from_laplace_mechanism(1 / r, value_discretization_interval=cell)
        for r, cell in zip(nodes, cells, strict=True)
    ]
    deltas = np.array([pld.self_compose(answers).get_delta_for_epsilon(EPSILONS) for pld in one])
    return profile(nodes, EPSILONS, deltas)


def _picked(
    mechanism: SubsampledGaussian | PublishedNoise, epsilon: float, rounds: int, size: int, party: str
) -> Guarantee:
    """SGD1: an answer that uses the record is Gaussian at distance m; all rounds, a mixture over how often it is used."""
    total, delta = mechanism.total_size, mechanism.delta
    if isinstance(mechanism, PublishedNoise):
        distance = mechanism.distance(epsilon, size, rounds)
        claimed = claims(mechanism, party, size, epsilon, rounds)[0].epsilon
    else:
        distance, claimed = float(mechanism.distance(epsilon)), epsilon
    return Guarantee(
        _pick_profile(distance, rounds, total),
        distance,
        distance,
        lambda m: subsampled_epsilon(float(m), rounds, 1 / total, delta),
        claimed,
        gaussian,
        lambda m: subsampled_epsilon(float(m), 1, 1.0, delta),
        chance=float(-np.expm1(rounds * np.log1p(-1 / total))) if total > 1 else 1.0,
    )


@lru_cache(maxsize=64)
def _pick_profile(distance: float, rounds: int, total: int) -> Measure:
    """Least distance of one use at which so many rounds, picks known, can be told apart so well."""
    nodes = np.geomspace(distance / WIDTH, distance * WIDTH, NODES)
    nodes[NODES // 2] = distance
    deltas = np.stack([subsampled_delta(EPSILONS, m, rounds, 1 / total) for m in nodes])
    return profile(nodes, EPSILONS, deltas)
