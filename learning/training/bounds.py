"""Bounds on the quality of a trained model: common inequalities, and the theorems of the papers.

All bounds are on the scale of mean gradients. f is the training cost, L and lambda are its smallest
and largest curvature, V = p S is the expected squared 2-norm of a round's aggregated noise, and S
its variance per coordinate.

Each theorem is given as printed. Some proofs lose a factor, or take a limit that their step sizes
do not reach: `corrected` is the result of the same argument for the actual steps. Some papers leave
a constant open: `constant` is the one at which the bound meets the forecast.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from learning.arrays import Array
from learning.training.inequalities import (
    averaged_bound,
    descent_path,
    gossip_gap,
    last_point_bound,
    last_point_bound_convex,
)
from learning.training.law import Returned, iterate_weights

Unmet = Literal[
    "ball",
    "unbounded",
    "step",
    "horizon",
    "delays",
    "common_path",
    "epsilon",
    "delta",
    "rounds",
    "convexity",
    "smoothness",
    "point",
]


@dataclass(frozen=True)
class BoundInputs:
    """Inputs of the published bounds, in the coordinates that are trained.

    Parameters
    ----------
    epsilon: array (n_sharing,), the budgets of those who share, above 0.
    total_size: n, all their records.
    gradient_bound: Xi, or G in 2-norm, that noise is scaled to.
    step_size: the step-size constant.
    strong_convexity: L of the training cost.
    excess: E f - f* as forecast.
    n_parameters: p.
    horizon: T.
    steps: array (queries,), step size of each query.
    returned: the point returned.
    decline: power of k by which the step of query k falls.
    smoothness: lambda of the training cost; inf where it has kinks.
    lipschitz: largest 2-norm of a record's gradient in the ball.
    own_convexity: sigma, the strong convexity of g_1.
    own_gradient_bound: Xi_g, largest 1-norm of the gradient of g_1 in the ball.
    ball_diameter: of the ball in 2-norm; inf if there is none.
    start_excess: f(theta[1]) - f*.
    noise_power: S, variance per coordinate of a round's aggregated noise.
    answer_noise: variance per coordinate of the noisiest answer.
    delta: the failure probability that answers are priced for; 0 for pure differential privacy.
    delayed: whether answers may arrive later than they are computed.
    """

    epsilon: Array
    total_size: float
    gradient_bound: float
    step_size: float
    strong_convexity: float
    excess: float
    n_parameters: int = 1
    horizon: int = 2
    steps: Array = field(default_factory=lambda: np.zeros(1))
    returned: Returned = "last"
    decline: float = 0.0
    smoothness: float = np.inf
    lipschitz: float = np.inf
    own_convexity: float = 0.0
    own_gradient_bound: float = np.inf
    ball_diameter: float = np.inf
    start_excess: float = np.inf
    noise_power: float = 0.0
    answer_noise: float = 0.0
    delta: float = 0.0
    delayed: bool = False

    @property
    def n_owners(self) -> int:
        """N of those who share."""
        return len(self.epsilon)

    @property
    def squared_noise(self) -> float:
        """V = p S: expected squared 2-norm of a round's noise."""
        return self.n_parameters * self.noise_power

    @property
    def smooth(self) -> bool:
        """True if the training cost has no kinks."""
        return bool(np.isfinite(self.smoothness))

    @property
    def inverse_squares(self) -> float:
        """The sum of 1/epsilon^2."""
        return float(np.sum(1 / self.epsilon**2))

    @property
    def start_distance(self) -> float:
        """Upper bound on |theta[1] - theta*|^2."""
        by_ball = self.ball_diameter**2
        if self.strong_convexity > 0:
            return float(min(2 * self.start_excess / self.strong_convexity, by_ball))
        return float(by_ball)

    def squared_gradient(self, squared_noise: float) -> float:
        """Bound on E|g|^2 of a noisy gradient: (G + |grad g_1|)^2 + E|w|^2."""
        return (self.lipschitz + self.own_gradient_bound) ** 2 + squared_noise

    def descent_path(self) -> Array:
        """Bounds on the excess along the path, by `descent_path`."""
        return descent_path(
            self.start_excess,
            self.strong_convexity,
            self.smoothness,
            self.steps,
            self.squared_noise,
        )


@dataclass(frozen=True)
class Bound:
    """A theorem's bound on one training; a number is None where the theorem has no bound.

    Parameters
    ----------
    theorem: its name in its paper.
    point: the point that it is about: the one returned, or the best of the path.
    excess: bound on E f - f* as printed.
    distance: bound on E |theta - theta*|^2 as printed, in the coordinates that are trained.
    constant: an open constant's value at which the bound meets the forecast; another horizon needs
        another.
    corrected: bound on E f - f* by the same proof without its slips, for these very steps.
    corrected_distance: the same on E |theta - theta*|^2.
    unmet: assumptions of the theorem that do not hold here, as codes.
    """

    theorem: str
    point: Literal["returned", "best"] = "returned"
    excess: float | None = None
    distance: float | None = None
    constant: float | None = None
    corrected: float | None = None
    corrected_distance: float | None = None
    unmet: tuple[Unmet, ...] = ()


def finite_or_none(value: float) -> float | None:
    """Return a bound, or None for one that is not finite."""
    return float(value) if np.isfinite(value) else None


Unmets = dict[Unmet, bool]


def synchronous_bound(at: BoundInputs) -> Bound:
    """Theorem 2 of Wu et al.: min_k E f(theta[k]) - f* <= (8 Xi^2 rho/(L n^2)) sum 1/epsilon^2.

    The bound on the distance is 4/L times that, (10). The theorem adds any epsilon' > 0 for finite
    T, which is left out here. Its proof counts E|w|^2 as 2 b^2 of one coordinate, not of p, drops
    the factor lambda/2 of the noise term, and takes the sum of the steps as unbounded, while
    rho/(T^2 k) adds up to less the longer T is. Corrected is the least of `descent_path`, and 2/L
    times that for the distance.

    Source: Wu et al., The Value of Collaboration.

    >>> at = BoundInputs(np.array([1.0, 2.0]), 100, 1.0, 1.0, 0.5, excess=0.1)
    >>> found = synchronous_bound(at)
    >>> found.theorem, found.excess, found.distance
    ('Theorem 2', 0.002, 0.016)
    """
    printed = np.inf
    distance = np.inf
    if at.strong_convexity > 0:
        scale = 8 * at.gradient_bound**2 * at.step_size / (at.strong_convexity * at.total_size**2)
        printed = scale * at.inverse_squares
        distance = printed * 4 / at.strong_convexity
    corrected = float(at.descent_path().min()) if at.smooth else np.inf
    facts: Unmets = {
        "ball": np.isfinite(at.ball_diameter),
        "convexity": not at.strong_convexity > 0,
        "smoothness": not at.smooth,
        "step": at.smooth and bool(at.steps.max(initial=0.0) * at.smoothness > 1),
        "horizon": bool(at.strong_convexity * at.steps.sum() < 1),
    }
    return _make_bound("Theorem 2", at, facts, printed, distance, corrected, point="best")


def averaged_training_bound(at: BoundInputs) -> Bound:
    """Theorem 3 of Wu et al.: E f(averaged theta[T]) - f* <= (c_2 Xi/n) sqrt(sum 1/epsilon^2).

    The bound on the distance is 4/L times that, (12). The constant c_2 is left open, "for any T":
    but at epsilon = inf the bound is 0 and a model after T rounds is not the best one, so no
    constant fits all budgets: a term without epsilon is missing. Corrected is the lesser of
    `averaged_bound` with E|g|^2 = (G + |grad g_1|)^2 + V, and, for smooth f, of `descent_path`
    averaged in the same way.

    Source: Wu et al., The Value of Collaboration.

    >>> averaged_training_bound(BoundInputs(np.ones(4), 100, 1.0, 1.0, 0.5, excess=0.06)).constant
    3.0
    """
    unit = at.gradient_bound / at.total_size * np.sqrt(at.inverse_squares)
    constant = at.excess / unit if unit > 0 else np.inf
    weights = iterate_weights(len(at.steps) + 1, at.returned)
    corrected = np.inf
    if at.returned == "averaged" and len(at.steps) and np.isfinite(at.ball_diameter):
        squared = at.squared_gradient(at.squared_noise)
        corrected = averaged_bound(at.ball_diameter, squared, at.steps, weights[:-1])
    if at.smooth:
        corrected = min(corrected, float(weights @ at.descent_path()))
    distance = np.inf
    if at.strong_convexity > 0 and unit > 0:
        distance = 4 / at.strong_convexity * constant * unit
    facts: Unmets = {
        "unbounded": not np.isfinite(at.ball_diameter),
        "point": at.returned != "averaged",
    }
    bound = _make_bound("Theorem 3", at, facts, distance=distance, corrected=corrected)
    return replace(bound, constant=float(constant))


def asynchronous_terms(at: BoundInputs, *, as_printed: bool) -> tuple[float, float]:
    """Both terms of Theorem 2 of Farokhi et al., with the constants of Appendix B.

        (2 N^2 C^2 sqrt(N+1) rho/(T sigma^2 (1 - sqrt(lambda)))) sqrt(A),
        (N C^2 rho/sigma^2) A,
        A = 1/T^2 + N sum (1/T + 2 sqrt(2 p) Xi/(n epsilon_i C))^2,
        C = Xi_g + Xi, rho/sigma the step-size constant

    (8) is printed without the factor 1/T of the first term that its proof has, with p as 1, and
    with Xi/C as 1, which is looser; the appendix swaps the names of the constants.
    """
    owners = at.n_owners
    size = at.own_gradient_bound + at.gradient_bound
    coordinates = 1
    reach = 1.0
    root_factor = 1.0
    if not as_printed:
        coordinates = at.n_parameters
        reach = at.gradient_bound / size
        root_factor = 1 / at.horizon
    part = 1 / at.horizon + 2 * np.sqrt(2 * coordinates) * reach / (at.total_size * at.epsilon)
    inside = 1 / at.horizon**2 + owners * float(np.sum(part**2))
    scale = owners * size**2 * at.step_size / at.own_convexity
    root = 2 * owners * np.sqrt(owners + 1) / gossip_gap(owners) * np.sqrt(inside)
    return scale * root * root_factor, scale * inside


def asynchronous_bound(at: BoundInputs) -> Bound:
    """Theorem 2, (8), of Farokhi et al.: E |theta_L[T] - theta*|^2 below `asynchronous_terms`.

    (9) leaves its constants open. The proof bounds the limit for ever more ticks of one fixed step;
    the steps c/T^2 are shorter the more ticks there are, and (1 - c sigma/(T^2 N))^T of the start
    remains, close to all of it. Corrected adds that part of (N + 1) |theta[1] - theta*|^2 to the
    terms as the proof has them; the excess is at most lambda/2 times the distance. ``constant`` is
    c_2' of (11), with c_1' = 0 as in the paper's own figures.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML.
    """
    budgets = at.inverse_squares
    constant = at.excess * at.total_size**2 / budgets if budgets > 0 else np.inf
    pull = at.step_size * at.own_convexity
    distance = np.inf
    corrected = np.inf
    if at.own_convexity > 0 and np.isfinite(at.own_gradient_bound):
        distance = sum(asynchronous_terms(at, as_printed=True))
        limit = sum(asynchronous_terms(at, as_printed=False))
        kept = max(0.0, 1 - pull / (at.horizon**2 * at.n_owners)) ** at.horizon
        corrected = limit + kept * (at.n_owners + 1) * at.start_distance
    facts: Unmets = {
        "unbounded": not np.isfinite(at.ball_diameter),
        "convexity": not at.own_convexity > 0,
        "step": not pull < at.horizon**2,
        "horizon": pull < at.n_owners * at.horizon,
        "delays": at.delayed,
    }
    excess = at.smoothness / 2 * corrected
    bound = _make_bound("Theorem 2", at, facts, distance=distance, corrected=excess)
    return replace(bound, constant=float(constant), corrected_distance=finite_or_none(corrected))


def step_size_as_printed(
    ball_diameter: float, bound: float, n_parameters: int, deviation: float
) -> float:
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

    Raises
    ------
    ValueError
        If the ball is unbounded, or the bound and the noise are both zero.

    Source: the multi-party write-up, (4): |C|_2/sqrt(t (n^2 G^2 + p sigma^2)) on sums of gradients.
        Times n for means, with sigma = n s, the number of records drops out.

    >>> step_size_as_printed(2.0, 3.0, 4, 2.0)
    0.4
    """
    squared = bound**2 + n_parameters * deviation**2
    if not (ball_diameter < np.inf and squared > 0):
        raise ValueError(
            "the printed step size needs a bounded ball, and gradients or noise that are not all "
            "zero"
        )
    return float(ball_diameter / np.sqrt(squared))


def step_as_printed(at: BoundInputs, noise: float) -> float | None:
    """c of steps c/sqrt(t) or c/t as the write-up prints them, for a noise variance; else None.

    The second is printed as 1/(Delta n t) on sums. Here Delta is the curvature of the whole cost,
    which is all that the proof uses.

    Source: the multi-party write-up, (4) and Theorem 2.
    """
    if at.decline == 0.5 and np.isfinite(at.ball_diameter):
        length = at.lipschitz + at.own_gradient_bound
        return step_size_as_printed(at.ball_diameter, length, at.n_parameters, np.sqrt(noise))
    if at.decline == 1 and at.strong_convexity > 0:
        return 1 / at.strong_convexity
    return None


def record_steps_form(at: BoundInputs, *, strongly: bool) -> float:
    """The term within O(..) of Theorem 2, on means: (9) and (10) over n.

    Source: the multi-party write-up, (9): L |C| ln^2(1.25 n^2/delta) sqrt(p)/epsilon; (10): L^2
        ln^3(..) p/(n Delta epsilon^2).
    """
    n = at.total_size
    logs = np.log(1.25 * at.total_size**2 / at.delta)
    least = float(at.epsilon.min())
    if strongly:
        form = at.lipschitz**2 * logs**3 * at.n_parameters / (n * at.strong_convexity * least**2)
    else:
        form = at.lipschitz * at.ball_diameter * logs**2 * np.sqrt(at.n_parameters) / least
    return float(form / n)


def record_steps_bound(at: BoundInputs) -> Bound:
    """Theorem 2 of the write-up, of SGD1: O(..) in two cases of decline, with an open constant.

    Corrected is the theorem of Shamir & Zhang that the write-up uses, for T rounds:
    `last_point_bound` under steps 1/(Delta n t), `last_point_bound_convex` under steps c/sqrt(t),
    with E|g|^2 = (G + |grad g_1|)^2 + p s^2.

    Source: the multi-party write-up.
    """
    strongly = at.decline == 1
    supposed = at.strong_convexity > 0 if strongly else np.isfinite(at.ball_diameter)
    form = np.inf
    if supposed and 0 < at.delta < 1:
        form = record_steps_form(at, strongly=strongly)
    constant = at.excess / form if np.isfinite(form) and form > 0 else np.inf
    facts: Unmets = {
        "epsilon": bool(at.epsilon.max() >= 1),
        "delta": not 0 < at.delta < at.total_size**-3.0,
        "rounds": at.horizon != int(at.total_size) ** 2,
    }
    squared = at.squared_gradient(at.n_parameters * at.answer_noise)
    return replace(_last_point("Theorem 2", at, np.inf, squared, facts), constant=float(constant))


def summed_steps_bound(at: BoundInputs) -> Bound:
    """Theorem 4, (11), of SGD2: 8 m p (sigma^2 + n^2 L^2)/(n Delta T) of sums, over n for means.

    Corrected is `last_point_bound` (or, under steps c/sqrt(k), `last_point_bound_convex`), with
    E|g|^2 = (G + |grad g_1|)^2 + V. The step of (11) is not printed; the case that it cites has
    1/(Delta n t).

    Source: the multi-party write-up.
    """
    mean_noise = at.noise_power / at.n_owners  # sigma^2/n^2: all m owners add the same
    printed = 8 * at.n_owners * at.n_parameters * (mean_noise + at.lipschitz**2)
    printed /= at.strong_convexity * at.horizon if at.strong_convexity > 0 else np.nan
    squared = at.squared_gradient(at.squared_noise)
    facts: Unmets = {"convexity": not at.strong_convexity > 0}
    return _last_point("Theorem 4", at, printed, squared, facts)


def _last_point(
    theorem: str, at: BoundInputs, printed: float, squared: float, facts: Unmets
) -> Bound:
    """Make a bound on the last point, with those of Shamir & Zhang as the corrected ones."""
    rounds = len(at.steps)
    corrected = np.inf
    # steps of 1/(Delta n t) on sums
    strong = at.decline == 1 and np.isclose(at.step_size * at.strong_convexity, 1.0, rtol=1e-6)
    if strong and rounds:
        corrected = last_point_bound(squared, rounds, strong_convexity=at.strong_convexity)
    if at.decline == 0.5 and rounds and np.isfinite(at.ball_diameter):
        corrected = last_point_bound_convex(
            squared, rounds, diameter=at.ball_diameter, constant=at.step_size
        )
    facts = {
        **facts,
        "unbounded": not np.isfinite(at.ball_diameter),
        "step": at.returned != "last" or not (at.decline == 0.5 or strong),
    }
    return _make_bound(theorem, at, facts, printed, corrected=corrected)


def weighted_bound(at: BoundInputs) -> Bound:
    """Theorems 2 and 3 of Kang et al., (11): (1 - L/lambda)^T (f(theta[1]) - f*) + p sigma^2/(2 L).

    Steps are 1/lambda. (4) writes the weighted sum of the owners' noises as N(0, sigma^2); its
    variance is sum q^2 times that, as in the corrected bound. Both suppose one common path of all
    owners, while Algorithm 1 averages once, at the end: they hold for similar owners, and not where
    the owners' own best models differ.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM.
    """
    longest = float(at.steps.max(initial=0.0))
    printed = np.inf
    if at.strong_convexity > 0:
        left = (1 - at.strong_convexity / at.smoothness) ** len(at.steps) * at.start_excess
        printed = left + at.n_parameters * at.answer_noise / (2 * at.strong_convexity)
    facts: Unmets = {
        "convexity": not at.strong_convexity > 0,
        "smoothness": not at.smooth,
        "step": not np.isclose(longest * at.smoothness, 1.0, rtol=1e-6),
        "common_path": at.n_owners > 1,
    }
    corrected = float(at.descent_path()[-1]) if at.smooth else np.inf
    return _make_bound("Theorem 2", at, facts, printed, corrected=corrected)


def _make_bound(
    theorem: str,
    at: BoundInputs,
    facts: Unmets,
    excess: float = np.inf,
    distance: float = np.inf,
    corrected: float = np.inf,
    point: Literal["returned", "best"] = "returned",
) -> Bound:
    """Make a bound with None for infinite numbers, and the unmet assumptions among ``facts``."""
    curved = 2 / at.strong_convexity if at.strong_convexity > 0 else np.inf
    return Bound(
        theorem,
        point,
        finite_or_none(excess),
        finite_or_none(distance),
        corrected=finite_or_none(corrected),
        corrected_distance=finite_or_none(corrected * curved),
        unmet=tuple(code for code, found in facts.items() if found),
    )
