"""The step size that an algorithm's paper states, worked out from what the learner knows before it trains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learning.errors import InputError
from learning.forecast.inputs import PlanningInputs
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.training.bounds import BoundInputs


def with_printed_step(
    inputs: PlanningInputs, coordinates: Coordinates, mechanism: Mechanism, curvatures: tuple[float, float]
) -> PlanningInputs:
    """The same with the step size as printed, where the settings ask for it.

    Noise enters as it is at the reference budgets, since steps are announced before anybody chooses one.

    Parameters
    ----------
    inputs : what the learner plans with; its horizon is a number.
    coordinates : the ball and the bounds that are announced.
    mechanism : how answers are made noisy.
    curvatures : smallest and largest curvature of the training cost.

    Raises
    ------
    InputError
        If the paper leaves it open.
    """
    settings, owners = inputs.settings, inputs.owners
    if not settings.printed_step:
        return inputs
    assert settings.horizon is not None
    sharing = owners.reference > 0
    budgets, sizes = owners.reference[sharing], owners.sizes[sharing].astype(float)
    priced = mechanism.among(sizes)
    noise = priced.variance(budgets, sizes, coordinates.noise_bound, settings.horizon)
    at = BoundInputs(
        budgets,
        float(sizes.sum()),
        coordinates.noise_bound,
        np.nan,
        curvatures[0],
        np.nan,
        n_parameters=len(coordinates.centre),
        decline=settings.trains_by.decline if settings.step_decline is None else settings.step_decline,
        smoothness=curvatures[1],
        lipschitz=coordinates.longest_gradient,
        own_gradient_bound=coordinates.steepest_penalty(settings.regularisation),
        ball_diameter=coordinates.diameter,
        noise_power=float((sizes / sizes.sum()) ** 2 @ noise),
        answer_noise=float(noise.max()),
    )
    step = settings.trains_by.printed_step(at)
    if step is None:
        rule = f'must be a number or "optimal" with algorithm "{settings.algorithm}" and steps that fall so'
        raise InputError("learning.step_size", rule, "printed", "The paper leaves it open.")
    return replace(inputs, settings=replace(settings, step_size=step))
