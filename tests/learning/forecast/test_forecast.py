"""The forecast: envelope, slopes, limits, and what a coalition's model costs on everyone."""

import numpy as np
import pytest
from populations import bounded_coordinates, generated
from scipy.interpolate import PchipInterpolator

from learning.errors import InputError
from learning.forecast.bootstrap import draw_bootstrap
from learning.forecast.fitness import forecast_fitness
from learning.forecast.inputs import Settings
from learning.forecast.law import (
    MANY,
    Envelope,
    Pieces,
    PlanSet,
    make_plan_set,
    oracle_problem,
)
from learning.forecast.public_sample import PublicSample, dispersion
from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.privacy.laplace import Laplace
from learning.training.law import bias_and_gain
from learning.training.plan import Plan

SIZES = np.array([4000.0, 1000.0, 3000.0])


@pytest.fixture(scope="module")
def knowledge():
    rng = np.random.default_rng(0)
    x, y = generated(200, 6, rng)
    worlds = draw_bootstrap(
        PublicSample(x, y),
        start="public",
        precondition=True,
        total_size=8000,
        resamples=50,
        rng=rng,
    )
    return bounded_coordinates(x, y, clip=0.95, theta_max=0.4), worlds


def made(knowledge, **changes):
    coordinates, worlds = knowledge
    of_the_plan = {"algorithm", "horizon", "step_size", "returned"} & set(changes)
    choices = {name: changes.pop(name) for name in of_the_plan}
    given = {
        "sizes": SIZES,
        "mechanism": Laplace(),
        "gradient_bound": coordinates.gradient_bound,
        "dispersion": worlds.dispersion,
        "basis": "public",
        **changes,
    }
    return forecast_fitness(
        worlds.training_problem(coordinates.radius, coordinates.target_bound),
        Settings(**choices),
        **given,
    )


@pytest.fixture(scope="module", params=["averaged", "synchronous"])
def free(request, knowledge):
    return made(knowledge, algorithm=request.param)


@pytest.fixture(scope="module")
def fixed(knowledge):
    return made(knowledge, horizon=5, step_size=0.3, returned=("last",))


def lowest_line(planner, noise):
    lines = np.array([np.min(planner.plan_set.bias + planner.plan_set.slope * v) for v in noise])
    return np.minimum(lines, planner.outside)


# ---- envelope
# -----------------------------------------------------------------------------------------------------


def test_envelope_is_the_lowest_line_almost_everywhere(free):
    """Smoothing may cut a corner (2e-4 below) and hardly rises above a line (1e-4), and never above doing nothing."""
    envelope = free.envelope
    noise = np.concatenate([[0.0], np.geomspace(1e-3 * envelope.low, 1e3 * envelope.high, 8009)])
    value = envelope.value(noise)
    exact = lowest_line(free, noise)
    assert (value <= exact * (1 + 1e-4)).all() and (value >= exact * (1 - 2e-4)).all()
    assert (value <= free.outside).all()


def test_envelope_is_increasing_and_concave_up_to_smoothing(free):
    noise = np.geomspace(1e-3 * free.envelope.low, free.envelope.high, 8009)
    value = free.envelope.value(noise)
    slope = free.envelope.slope(noise)
    assert (np.diff(value) >= 0).all() and (slope >= 0).all()
    chord = np.interp(0.5 * (noise[:-2] + noise[2:]), noise, value)
    assert (free.envelope.value(0.5 * (noise[:-2] + noise[2:])) >= chord * (1 - 1e-4)).all()
    a, b = np.random.default_rng(1).uniform(0, 1, size=(2, 500)) * free.envelope.high * 0.3
    middle = free.envelope.value((a + b) / 2)
    assert (middle >= (free.envelope.value(a) + free.envelope.value(b)) / 2 * (1 - 1e-3)).all()


def test_slopes_of_the_envelope_are_finite_differences(free):
    envelope = free.envelope
    noise = np.geomspace(1e-4 * envelope.high, 0.9 * envelope.high, 501)
    difference = (envelope.value(noise * (1 + 1e-5)) - envelope.value(noise * (1 - 1e-5))) / (
        2e-5 * noise
    )
    assert envelope.slope(noise) == pytest.approx(difference, rel=1e-4)
    assert (
        envelope.slope(2 * envelope.high) == 0
        and envelope.value(2 * envelope.high) == envelope.ceiling
    )
    tiny = envelope.low * np.array(
        [0.0, 0.3]
    )  # below the first node: one straight line from the least bias
    assert np.diff(envelope.value(tiny)) / np.diff(tiny) == pytest.approx(
        envelope.slope(tiny)[:1], rel=1e-4
    )


def test_envelope_of_two_lines_by_hand():
    """1 + 2x under 2 + x/2 until x = 2/3; the ceiling 3 from x = 2 on."""
    envelope = Envelope.of_lines(np.array([1.0, 2.0]), np.array([2.0, 0.5]), 3.0)
    noise = np.array([0.0, 0.1, 0.5, 1.0, 1.8, 2.0, 5.0])
    assert envelope.value(noise) == pytest.approx([1.0, 1.2, 2.0, 2.5, 2.9, 3.0, 3.0], rel=1e-4)
    assert (
        Envelope.of_lines(np.array([4.0]), np.array([1.0]), 3.0).value(noise).tolist() == [3.0] * 7
    )  # never worth it


def test_lines_are_the_law_of_their_plans(knowledge):
    coordinates, worlds = knowledge
    problem = worlds.training_problem(coordinates.radius, coordinates.target_bound)
    lines = make_plan_set(
        problem, Settings("synchronous"), Laplace(2), coordinates.gradient_bound, horizons=(2, 7)
    )
    assert (
        isinstance(lines, PlanSet) and len(lines.keys) == len(lines.bias) == 300
    )  # T = 2 has no average to return
    for i in (0, 120, 299):
        plan = lines.plan_at(i)
        bias, gain = bias_and_gain(problem, plan.steps, plan.returned)
        power = coordinates.gradient_bound**2 * plan.horizon**2  # one unit of noise
        assert lines.bias[i] == pytest.approx(np.mean(bias / problem.optimum))
        assert lines.slope[i] == pytest.approx(np.mean(gain / problem.optimum) * power)
    assert lines.best_plan(0.0) == np.argmin(lines.bias)


# ---- fitness
# ------------------------------------------------------------------------------------------------------


def test_nobody_shares_and_the_outside_option_stays(free, fixed):
    for planner in (free, fixed):
        assert planner.at(np.zeros(3)) == planner.outside
        assert planner.terms(np.zeros(3)).tolist() == [[0, 0]] * 3
    assert free.plan(np.zeros(3)).horizon == 1


def test_no_noise_leaves_the_bias(free, fixed):
    for planner in (free, fixed):
        assert planner.at([np.inf] * 3) == pytest.approx(planner.plan_set.bias.min(), rel=1e-12)
        assert np.isfinite(planner.terms([np.inf, 0.0, 1.0])).all()


def test_hopeless_noise_is_refused_by_a_free_learner_only(free, fixed):
    assert free.at([1e-6] * 3) == free.outside
    plan = free.plan([1e-6] * 3)
    assert plan.horizon == 1 and len(plan.steps) == 0 and not free.trains([1e-6] * 3)
    assert fixed.at([1e-6] * 3) > 1e3 * fixed.outside and fixed.plan([1e-6] * 3).horizon == 5


def test_fixed_plan_is_one_straight_line(knowledge, fixed):
    coordinates, worlds = knowledge
    epsilon = np.array([0.7, 2.0, 1.1])
    problem = worlds.training_problem(coordinates.radius, coordinates.target_bound)
    bias, gain = bias_and_gain(problem, Plan("averaged", "last", 5, 0.3).steps, "last")
    power = np.sum(
        (SIZES / SIZES.sum()) ** 2
        * Laplace().variance(epsilon, SIZES, coordinates.gradient_bound, 5)
    )
    assert fixed.at(epsilon) == pytest.approx(np.mean((bias + gain * power) / problem.optimum))


def test_the_plan_is_the_lowest_line(free):
    for budget in (0.3, 1.0, 10.0):
        epsilon = np.full(3, budget)
        plan = free.plan(epsilon)
        noise = free.noise_at(epsilon)
        key = (plan.returned, plan.horizon, plan.step_size, plan.growth)
        chosen = free.plan_set.keys.index(key)
        assert free.plan_set.bias[chosen] + free.plan_set.slope[chosen] * noise == pytest.approx(
            free.at(epsilon), rel=1e-3
        )
    assert free.plan([0.3] * 3).horizon <= free.plan([100.0] * 3).horizon


@pytest.mark.parametrize("kind", ["free", "fixed"])
def test_slopes_are_finite_differences_of_excess(kind, knowledge, fixed):
    """Each owner's own budget, others fixed, over candidates that need not be the profile."""
    planner = fixed if kind == "fixed" else made(knowledge)
    profile = np.array([0.8, 2.0, 3.0])
    deviations = np.geomspace(0.3, 20, 40)[None] * np.array([[1.0], [1.3], [0.7]])
    terms = planner.terms(profile)

    def sums(own):
        return (terms.sum(axis=0) - terms)[:, None, :] + planner.terms(own)

    step = 1e-5 * deviations
    difference = (
        planner.excess(sums(deviations + step)) - planner.excess(sums(deviations - step))
    ) / (2 * step)
    slope = planner.slopes(deviations, sums(deviations))
    assert slope == pytest.approx(difference, rel=1e-4, abs=1e-9 * np.abs(slope).max())
    assert (slope <= 0).all()
    ends = np.array([[0.0, np.inf]] * 3)
    assert (planner.slopes(ends, sums(ends)) == 0).all()


def test_more_privacy_budget_never_hurts(free):
    grid = np.geomspace(0.05, 50, 200)
    values = np.array([free.at([e, 1.0, 2.0]) for e in grid])
    assert (np.diff(values) <= 1e-12).all()


def test_a_bad_owner_can_harm_the_model(free):
    """Weights are by size, so a large owner that shares almost nothing drowns the others in noise."""
    assert free.at([0.01, 5.0, 5.0]) > free.at([0.0, 5.0, 5.0])


def test_grid_of_sums_is_point_by_point(free):
    epsilon = np.geomspace(0.1, 10, 7)
    sizes = np.array([1000.0, 8000.0])
    sums = np.stack(
        np.broadcast_arrays(3 * free.mechanism.noise_term(epsilon)[:, None], sizes), axis=-1
    )
    values = free.excess(sums)
    assert values.shape == (7, 2)
    for i, j in ((0, 0), (3, 1), (6, 0)):
        assert values[i, j] == pytest.approx(float(free.excess(sums[i, j])), rel=1e-14)


def test_steps_that_fly_apart_are_refused(knowledge):
    with pytest.raises(InputError, match="learning.step_size"):
        made(knowledge, horizon=100, step_size=1e7)


def test_a_part_of_the_owners_makes_a_worse_model_for_all():
    """Two of three owners share without noise, and the model is tried on everyone: psi = C/f* (1/n_A - 1/n).

    400 splits of fresh records; the mean of a chi-square-like excess has an error of sqrt(2/p/400)
    = 3 %; 10 % allowed. Trained by many noiseless rounds, so that nothing but the coalition is
    left.
    """
    rng = np.random.default_rng(2)
    sizes = np.array([300, 500, 400])
    measured = []
    told = []
    for _ in range(400):
        x, y = generated(1200, 6, rng)
        pooled = Fitness(squared_statistics(x, y))
        coalition = Fitness(squared_statistics(x[:800], y[:800]))
        measured.append(pooled.relative(coalition.minimiser))
        if len(told) < 20:
            coordinates = bounded_coordinates(x, y, clip=1.0, start="zero")
            problem = oracle_problem(coordinates, coordinates.statistics(x, y), pooled)
            planner = forecast_fitness(
                problem,
                Settings("averaged", horizon=200, step_size=0.3, returned=("last",)),
                sizes=sizes,
                mechanism=Laplace(),
                gradient_bound=coordinates.gradient_bound,
                dispersion=dispersion(x, y, pooled.minimiser),
                basis="oracle",
            )
            assert planner.at([np.inf] * 3) < 1e-6
            told.append(planner.at([np.inf, np.inf, 0.0]))
    assert np.mean(told) == pytest.approx(np.mean(measured), rel=0.1)


@pytest.mark.parametrize("ends", [(2.0, 2.9), (1.5, 2.9), (3.0, 3.5), (-1.0, -0.5)])
def test_many_points_of_a_curve_have_the_values_that_scipy_gives(ends):
    """One piece has them all, several have them, or none."""
    curve = PchipInterpolator(np.arange(4.0), [0.1, 0.7, 1.0, 3.0])
    at = np.linspace(*ends, 2 * MANY).reshape(2, -1).T
    for made in (curve, curve.derivative()):
        np.testing.assert_allclose(Pieces(made)(at), made(at), rtol=1e-14)
