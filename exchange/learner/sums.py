"""Sums that owners released in an exchange, solved for the model of any set of owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exchange.contract import Contract
from exchange.learner.noise import noise_of
from exchange.messages import Answer, Sums
from exchange.terms import OwnerTerms
from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.training.noisy_statistics import release_deviations
from learning.training.sums import ReleasedSums


def gather_sums(contract: Contract, used: Mapping[str, Answer]) -> ReleasedSums:
    """Gather the sums of the owners whose answers are used, in the order of the contract.

    Parameters
    ----------
    used: owner -> its answer.
    """
    width = len(contract.bounds.start)
    owners = [owner for owner in contract.owners if owner.name in used]
    given = [used[owner.name] for owner in owners]
    sums = [answer for answer in given if isinstance(answer, Sums)]
    on_scores, on_moments = sums_noise(contract, owners)
    return ReleasedSums(
        names=tuple(owner.name for owner in owners),
        sizes=np.array([float(owner.records) for owner in owners]),
        xx=np.array([unflatten_moments(one.moments, width) for one in sums]),
        xu=np.array([one.score for one in sums]),
        matrix_deviation=on_moments,
        vector_deviation=on_scores,
        coordinates=Coordinates.of(contract.coordinates),
        regularisation=contract.training.regularisation,
    )


def unflatten_moments(numbers: Array, width: int) -> Array:
    """Make the symmetric matrix (p, p) of its coordinates: the inverse of `flatten_moments`."""
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width, 1)] = numbers[width:] / np.sqrt(2)
    matrix += matrix.T
    matrix[np.diag_indices(width)] = numbers[:width]
    return matrix


def sums_noise(contract: Contract, owners: Sequence[OwnerTerms]) -> tuple[Array, Array]:
    """Deviations of the noise on each number of owners' scores and second moments, (n_owners,).

    They are those of the simulation, to about 1e-6 of those that are drawn.
    """
    mechanism = noise_of(contract)
    coordinates = Coordinates.of(contract.coordinates)
    assert coordinates.scores is not None
    sizes = np.array([float(owner.records) for owner in owners])
    epsilon = [owner.epsilon for owner in owners]
    deviations = np.sqrt(mechanism.variance(epsilon, sizes, coordinates.gradient_bound, 1))
    widened = mechanism.beside_moments(coordinates.scores.share)
    on_moments, on_scores = release_deviations(coordinates, deviations, sizes, widened)
    return on_scores, on_moments
