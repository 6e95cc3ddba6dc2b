"""The theorems of the papers on how good a trained model is: each as printed, and as its own proof has it.

Where a proof loses a factor, or takes a limit that its step sizes do not reach, `corrected` is what the same argument gives
for the steps that are taken; where a paper leaves a constant open, `constant` is the one at which its bound meets the
forecast. Notation is that of `learning.training.bounds`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from learning.training.bounds import (
    Bound,
    BoundInputs,
    Unmet,
    averaged_bound,
    descent_path,
    finite,
    last_point_bound,
    last_point_bound_convex,
)
from learning.training.law import iterate_weights

# ---- Wu et al., The Value of Collaboration


def synchronous_bound(at: BoundInputs) -> Bound:
    """Theorem 2: min_k E f(theta[k]) - f* <= (8 Xi^2 rho/(L n^2)) sum 1/epsilon^2, and 4/L times that on the distance, (10).

    Printed without any epsilon' > 0 that it adds for finite T. Its proof counts E|w|^2 as 2 b^2 of one coordinate, not of p,
    drops the factor lambda/2 of the noise term, and takes the steps to add up to as much as one likes, while rho/(T^2 k) adds
    up to less the longer T is. Corrected is the least of `descent_path`, and 2/L times that.
    """
    scale = 8 * at.gradient_bound**2 * at.step_size / (at.strong_convexity * at.total_size**2)
    printed, corrected = scale * at.budgets, np.inf
    if np.isfinite(at.smoothness):
        path = descent_path(at.start_excess, at.strong_convexity, at.smoothness, at.steps, at.squared_noise)
        corrected = float(path.min())
    facts: dict[Unmet, bool] = {
        "ball": np.isfinite(at.ball_diameter),
        "smoothness": not np.isfinite(at.smoothness),
        "step": bool(np.isfinite(at.smoothness) and at.steps.max(initial=0.0) * at.smoothness > 1),
        "horizon": bool(at.strong_convexity * at.steps.sum() < 1),
    }
    return _bound("Theorem 2", at, printed, printed * 4 / at.strong_convexity, corrected, facts, point="best")


def averaged_training_bound(at: BoundInputs) -> Bound:
    """Theorem 3: E f(averaged theta[T]) - f* <= (c_2 Xi/n) sqrt(sum 1/epsilon^2), 4/L times that on the distance, (12).

    The constant c_2 is left open, "for any T": but at epsilon = inf the bound is 0 and a model after T rounds is not the best
    one, so no constant will do at all budgets: a term without epsilon is missing. Corrected is the lesser of `averaged_bound`
    with E|g|^2 = (G + |grad g_1|)^2 + V, and, for smooth f, of `descent_path` averaged alike.
    """
    unit = at.gradient_bound / at.total_size * np.sqrt(at.budgets)
    constant = at.excess / unit if unit > 0 else np.inf
    weights = iterate_weights(len(at.steps) + 1, at.returned)
    corrected = np.inf
    if at.returned == "averaged" and len(at.steps) and np.isfinite(at.ball_diameter):
        squared = (at.lipschitz + at.own_gradient_bound) ** 2 + at.squared_noise
        corrected = averaged_bound(at.ball_diameter, squared, at.steps, weights[:-1])
    if np.isfinite(at.smoothness):
        path = descent_path(at.start_excess, at.strong_convexity, at.smoothness, at.steps, at.squared_noise)
        corrected = min(corrected, float(weights @ path))
    distance = 4 / at.strong_convexity * constant * unit if at.strong_convexity > 0 and unit > 0 else np.inf
    facts: dict[Unmet, bool] = {"unbounded": not np.isfinite(at.ball_diameter), "point": at.returned != "averaged"}
    found = _bound("Theorem 3", at, np.inf, distance, corrected, facts)
    return _with_constant(found, constant)


# ---- Farokhi et al., The Cost of Privacy in Asynchronous DP ML


def gossip_gap(n_owners: int) -> float:
    """1 - sqrt(lambda) of the gossip of a learner with one of N owners at a time.

    Appendix B prints lambda as |W_k - 11'W_k/(N+1)|_2^2 of a single round, which is 1 for N >= 2: two copies that do not
    talk stay apart. The matrix of its source is that of the mean round, whose second eigenvalue is 1 - 1/(2N) (0 for N = 1):
    W_k is a projection, and I - E W_k the Laplacian of a star over 2N.

    >>> gossip_gap(1), round(gossip_gap(10), 4)
    (1.0, 0.0253)
    """
    return 1.0 if n_owners == 1 else float(1 - np.sqrt(1 - 1 / (2 * n_owners)))


def asynchronous_terms(at: BoundInputs, *, coordinates: int = 1, root_factor: float = 1.0) -> tuple[float, float]:
    """Both terms of Theorem 2 with the constants of Appendix B: that with the square root, and that without.

        (2 N^2 C^2 sqrt(N+1) rho/(sigma^2 (1 - sqrt(lambda)))) sqrt(A),  (N C^2 rho/sigma^2) A,
        A = 1/T^2 + N sum (1/T + 2 sqrt(2 p) Xi/(n epsilon_i C))^2,  C = Xi_g + Xi, rho/sigma the step-size constant

    (8) prints A with Xi/C taken as 1, which is looser, and p as 1; the appendix names the constants the other way round.

    Parameters
    ----------
    at : what the bound is made of.
    coordinates : p that is counted, 1 as printed.
    root_factor : what the square root is multiplied with; 1 as printed, 1/T by the proof.
    """
    owners, size = at.n_owners, at.own_gradient_bound + at.gradient_bound
    reach = at.gradient_bound / size if coordinates > 1 else 1.0
    part = 1 / at.horizon + 2 * np.sqrt(2 * coordinates) * reach / (at.total_size * at.epsilon)
    inside = 1 / at.horizon**2 + owners * float(np.sum(part**2))
    scale = owners * size**2 * at.step_size / at.own_convexity
    root = 2 * owners * np.sqrt(owners + 1) / gossip_gap(owners) * np.sqrt(inside)
    return scale * root * root_factor, scale * inside


def asynchronous_bound(at: BoundInputs) -> Bound:
    """Theorem 2, (8): E |theta_L[T] - theta*|^2 below the two terms of `asynchronous_terms`; (9) leaves its constants open.

    The proof bounds the limit for ever more ticks of one fixed step; the steps c/T^2 are shorter the more ticks there are,
    and what remains of the start is (1 - c sigma/(T^2 N))^T of it, close to all of it. Corrected adds that, (N + 1) times
    |theta[1] - theta*|^2, counts all p coordinates, keeps Xi/C and has the factor 1/T of the square root; the excess is at
    most lambda/2 times the distance. ``constant`` is c_2' of (11), c_1' being 0 as in the paper's own figures.
    """
    constant = at.excess * at.total_size**2 / at.budgets if at.budgets > 0 else np.inf
    distance = corrected_distance = np.inf
    if at.own_convexity > 0 and np.isfinite(at.own_gradient_bound):
        distance = sum(asynchronous_terms(at))
        limit = sum(asynchronous_terms(at, coordinates=at.n_parameters, root_factor=1 / at.horizon))
        kept = max(0.0, 1 - at.step_size * at.own_convexity / (at.horizon**2 * at.n_owners)) ** at.horizon
        corrected_distance = limit + kept * (at.n_owners + 1) * at.start_distance
    facts: dict[Unmet, bool] = {
        "unbounded": not np.isfinite(at.ball_diameter),
        "convexity": not at.own_convexity > 0,
        "step": not at.step_size * at.own_convexity < at.horizon**2,
        "horizon": at.step_size * at.own_convexity < at.n_owners * at.horizon,
    }
    found = _bound("Theorem 2", at, np.inf, distance, at.smoothness / 2 * corrected_distance, facts)
    return _with_constant(found, constant, corrected_distance)


# ---- the multi-party write-up


def step_size_as_printed(ball_diameter: float, bound: float, n_parameters: int, deviation: float) -> float:
    """c of the step size c/sqrt(t): |C|_2/sqrt(G^2 + p s^2), on the scale of mean gradients.

    Parameters
    ----------
    ball_diameter : |C|_2, twice theta_max for a ball in 2-norm.
    bound : G, largest 2-norm of one record's gradient.
    n_parameters : the number p of parameters.
    deviation : s, of the noise on each coordinate of one answer, as `Mechanism.scale` gives it.

    Returns
    -------
    c of theta <- theta - c/sqrt(t) (gradient + noise).

    Source: the multi-party write-up, (4): |C|_2/sqrt(t (n^2 G^2 + p sigma^2)) on sums of gradients. Times n for means,
    with sigma = n s, the number of records drops out.

    >>> step_size_as_printed(2.0, 3.0, 4, 2.0)
    0.4
    """
    if not (ball_diameter < np.inf and bound**2 + n_parameters * deviation**2 > 0):
        raise ValueError("the printed step size needs a bounded ball, and gradients or noise that are not all zero")
    return float(ball_diameter / np.sqrt(bound**2 + n_parameters * deviation**2))


def step_as_printed(at: BoundInputs, noise: float) -> float | None:
    """c of steps c/sqrt(t) or c/t as the write-up prints them, for noise of so much variance per coordinate; else None.

    c/t is 1/(Delta n t) on sums; Delta is the curvature of the whole cost, of which alone the proof makes use.

    Source: the multi-party write-up, (4) and Theorem 2.
    """
    if at.decline == 0.5 and np.isfinite(at.ball_diameter):
        length = at.lipschitz + at.own_gradient_bound
        return step_size_as_printed(at.ball_diameter, length, at.n_parameters, np.sqrt(noise))
    return 1 / at.strong_convexity if at.decline == 1 and at.strong_convexity > 0 else None


def record_steps_form(at: BoundInputs, *, strongly: bool) -> float:
    """What stands within O(..) of Theorem 2, on means: (9) and (10) over n.

    Source: the multi-party write-up, (9): L |C| ln^2(1.25 n^2/delta) sqrt(p)/epsilon; (10): L^2 ln^3(..) p/(n Delta
    epsilon^2).
    """
    n, logs, least = at.total_size, np.log(1.25 * at.total_size**2 / at.delta), float(at.epsilon.min())
    if strongly:
        return float(at.lipschitz**2 * logs**3 * at.n_parameters / (n * at.strong_convexity * least**2) / n)
    return float(at.lipschitz * at.ball_diameter * logs**2 * np.sqrt(at.n_parameters) / least / n)


def record_steps_bound(at: BoundInputs) -> Bound:
    """Theorem 2, of SGD1: O(..) in two cases, by how steps fall; the constant is left open.

    Corrected is what the theorem of Shamir & Zhang that its source goes by gives for T rounds: `last_point_bound` under steps
    1/(Delta n t), `last_point_bound_convex` under steps c/sqrt(t), with E|g|^2 = (G + |grad g_1|)^2 + p s^2.
    """
    strongly = at.decline == 1
    form = record_steps_form(at, strongly=strongly) if 0 < at.delta < 1 else np.inf
    constant = at.excess / form if np.isfinite(form) and form > 0 else np.inf
    squared = (at.lipschitz + at.own_gradient_bound) ** 2 + at.n_parameters * at.answer_noise
    facts: dict[Unmet, bool] = {
        "epsilon": bool(at.epsilon.max() >= 1),
        "delta": not 0 < at.delta < at.total_size**-3.0,
        "rounds": at.horizon != int(at.total_size) ** 2,
    }
    return _with_constant(_last_point("Theorem 2", at, np.inf, squared, facts), constant)


def summed_steps_bound(at: BoundInputs) -> Bound:
    """Theorem 4, (11), of SGD2: 8 m p (sigma^2 + n^2 L^2)/(n Delta T) of sums, over n for means.

    Corrected is `last_point_bound` (or, under steps c/sqrt(k), `last_point_bound_convex`), with E|g|^2 = (G + |grad
    g_1|)^2 + V. The step that (11) takes is not printed; 1/(Delta n t) is the one of the case that it cites.
    """
    mean_noise = at.noise_power / at.n_owners  # sigma^2/n^2: all m owners add the same
    printed = 8 * at.n_owners * at.n_parameters * (mean_noise + at.lipschitz**2)
    printed /= at.strong_convexity * at.horizon if at.strong_convexity > 0 else np.nan
    squared = (at.lipschitz + at.own_gradient_bound) ** 2 + at.squared_noise
    facts: dict[Unmet, bool] = {"convexity": not at.strong_convexity > 0}
    return _last_point("Theorem 4", at, printed, squared, facts)


def _last_point(theorem: str, at: BoundInputs, printed: float, squared: float, facts: dict[Unmet, bool]) -> Bound:
    rounds, corrected = len(at.steps), np.inf
    fits = np.isclose(at.step_size * at.strong_convexity, 1.0, rtol=1e-6)  # steps 1/(Delta n t) of sums
    if at.decline == 1 and fits and rounds:
        corrected = last_point_bound(squared, rounds, strong_convexity=at.strong_convexity)
    if at.decline == 0.5 and rounds and np.isfinite(at.ball_diameter):
        corrected = last_point_bound_convex(squared, rounds, diameter=at.ball_diameter, constant=at.step_size)
    facts = {
        **facts,
        "unbounded": not np.isfinite(at.ball_diameter),
        "step": at.returned != "last" or not (at.decline == 0.5 or (at.decline == 1 and fits)),
    }
    return _bound(theorem, at, printed, np.inf, corrected, facts)


# ---- Kang et al., Weighted Distributed Differential Privacy ERM


def weighted_bound(at: BoundInputs) -> Bound:
    """Theorems 2 and 3 as their proof has them, (11): (1 - L/lambda)^T (f(theta[1]) - f*) + p sigma^2/(2 L), steps 1/lambda.

    (4) writes the weighted sum of the owners' noises as N(0, sigma^2); its variance is sum q^2 of that, which corrected has.
    Both suppose one common path of all owners, while Algorithm 1 averages once, at the end: they hold where owners are
    alike, and not where their own best models differ.
    """
    longest = float(at.steps.max(initial=0.0))
    left = (1 - at.strong_convexity / at.smoothness) ** len(at.steps) * at.start_excess
    printed = left + at.n_parameters * at.answer_noise / (2 * at.strong_convexity)
    path = descent_path(at.start_excess, at.strong_convexity, at.smoothness, at.steps, at.squared_noise)
    facts: dict[Unmet, bool] = {
        "convexity": not at.strong_convexity > 0,
        "smoothness": not np.isfinite(at.smoothness),
        "step": not np.isclose(longest * at.smoothness, 1.0, rtol=1e-6),
        "common_path": at.n_owners > 1,
    }
    return _bound("Theorem 2", at, printed, np.inf, float(path[-1]), facts)


def _bound(
    theorem: str,
    at: BoundInputs,
    excess: float,
    distance: float,
    corrected: float,
    facts: dict[Unmet, bool],
    point: Literal["returned", "best"] = "returned",
) -> Bound:
    curved = 2 / at.strong_convexity if at.strong_convexity > 0 else np.inf
    unmet = tuple(code for code, found in facts.items() if found)
    told = [finite(one) for one in (excess, distance, corrected, corrected * curved)]
    return Bound(theorem, point, told[0], told[1], None, told[2], told[3], unmet)


def _with_constant(bound: Bound, constant: float, corrected_distance: float | None = None) -> Bound:
    distance = bound.corrected_distance if corrected_distance is None else finite(corrected_distance)
    return replace(bound, constant=float(constant), corrected_distance=distance)
