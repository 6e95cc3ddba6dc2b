"""Training with one query, exactly: at the public start what owners answer is known but for noise, also if it is clipped."""

from __future__ import annotations

import numpy as np

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.protocols import TrainingCost

CLEAR = 12.0  # deviations of the noise's length that the ball must be away: none reaches so far once in ten million


def expected(
    cost: TrainingCost, coordinates: Coordinates, gradient: Array, steps: Array, variance: Array
) -> tuple[Array, Array]:
    """E psi of phi = -step (gradient + noise), (runs,), and where the ball surely leaves such training alone.

    The cost is quadratic, and the gradient, clipped or not, that of one point: so E psi is what the mean step leaves
    plus step^2 variance tr(W'HW)/2 over f*, H the Hessian of the cost, whatever the law of the noise.

    Parameters
    ----------
    cost : quadratic.
    coordinates : the public start, the scale W and the ball.
    gradient : array (p,), of the whole cost at the start, without noise.
    steps : array (runs,), the length of the step.
    variance : array (runs,), of each number of the noise.

    >>> from learning.losses.losses import as_loss
    >>> x = np.array([[1.0], [1.0]])
    >>> cost = as_loss("squared").fitness([(x, np.array([0.0, 2.0]))], 0.0)
    >>> start = Coordinates(np.zeros(1), np.eye(1), radius=2.0, clipping="record")
    >>> expected(cost, start, np.array([-2.0]), np.array([0.5, 0.25]), np.array([0.4, 0.0]))
    (array([0.1 , 0.25]), array([ True,  True]))
    """
    phi, root = -steps[:, None] * gradient, np.eye(len(gradient))
    middle = cost.relative(coordinates.model(np.zeros((1, len(gradient)))))
    either = cost.relative(coordinates.model(root)) + cost.relative(coordinates.model(-root))
    gain = float(np.sum(either / 2 - middle))
    power = steps**2 * variance
    reach = np.linalg.norm(phi, axis=1) + CLEAR * np.sqrt(len(gradient) * power)
    return np.asarray(cost.relative(coordinates.model(phi)) + power * gain), reach <= coordinates.theta_max
