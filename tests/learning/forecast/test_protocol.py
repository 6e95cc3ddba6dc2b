"""The query protocol: bounds from public rows alone that hold for every record, and a ball that the path stays in."""

import numpy as np
import pytest
from populations import TARGET_BOUND, generated, planning_inputs

from learning.forecast.bootstrap import draw_bootstrap
from learning.forecast.fitness import forecast_fitness
from learning.forecast.inputs import Settings
from learning.forecast.protocol import NOISE_MARGIN, design_by_law
from learning.forecast.public_sample import PublicSample
from learning.losses.coordinates import Coordinates
from learning.privacy.laplace import Laplace
from learning.training.law import largest_excursion
from scenarios.planning import prepare
from scenarios.schema.loading import load
from scenarios.summary.forecast import forecast_part
from scenarios.training import train_at

P = 5
SIZES = np.array([6000, 6000, 8000])


@pytest.fixture(scope="module")
def public():
    rng = np.random.default_rng(0)
    sample = PublicSample(*generated(200, P, rng))
    return sample, draw_bootstrap(
        sample, start="public", precondition=True, total_size=20_000, resamples=60, rng=rng
    )


def designed(public, epsilon=1.0, **settings):
    sample, bootstrap = public
    return design_by_law(
        planning_inputs(sample, Settings(**settings), epsilon, SIZES), bootstrap, Laplace()
    )


@pytest.mark.slow
def test_bounds_are_finite_and_within_what_any_record_can_reach(public):
    coordinates = designed(public)
    radius, target = coordinates.largest(np.ones(P), TARGET_BOUND)
    assert 0 < coordinates.radius <= radius and 0 < coordinates.target_bound <= target
    assert 0 < coordinates.theta_max < np.inf and 0 < coordinates.gradient_bound < np.inf


def test_whole_bounds_hold_for_every_record_within_the_public_ranges():
    rng = np.random.default_rng(1)
    coordinates = Coordinates(rng.normal(size=3), (lambda a: a + a.T)(rng.normal(size=(3, 3))))
    feature_bound = np.array([1.0, 2.5, 1.0])
    radius, target = coordinates.largest(feature_bound, 4.0)
    x = (
        rng.choice([-1.0, 1.0], size=(200, 3))
        * feature_bound
        * rng.choice([1.0, 1.0, 0.3], size=(200, 1))
    )
    y = rng.choice([-4.0, 4.0], size=200)
    moved, shown = coordinates.records(x, y)
    assert np.abs(moved).sum(axis=1).max() <= radius and np.abs(shown).max() <= target
    assert np.abs(shown).max() == pytest.approx(target)  # attained at a corner


def test_clip_none_keeps_every_record_whole(public):
    coordinates = designed(public, clip=np.inf)
    assert (coordinates.radius, coordinates.target_bound) == coordinates.largest(
        np.ones(P), TARGET_BOUND
    )


@pytest.mark.slow
def test_what_the_scenario_fixes_stays(public):
    assert designed(public, theta_max=0.77).theta_max == 0.77
    assert designed(public, clip=1.25).radius == 1.25
    assert (designed(public, start="zero").centre == 0).all()
    assert designed(public, precondition=False).transform.tolist() == np.eye(P).tolist()


@pytest.mark.slow
def test_the_design_is_a_function_of_public_knowledge(public):
    one = designed(public)
    two = designed(public)
    assert (one.radius, one.target_bound, one.theta_max) == (
        two.radius,
        two.target_bound,
        two.theta_max,
    )


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
def test_the_ball_holds_the_path_at_half_the_reference_budgets(public, epsilon):
    sample, bootstrap = public
    coordinates = designed(public, epsilon)
    problem = bootstrap.training_problem(coordinates.radius, coordinates.target_bound)
    planner = forecast_fitness(
        problem,
        Settings("averaged"),
        sizes=SIZES,
        mechanism=Laplace(),
        gradient_bound=coordinates.gradient_bound,
        dispersion=bootstrap.dispersion,
        basis="public",
    )
    plan = planner.plan([epsilon] * 3)
    power = (
        NOISE_MARGIN
        * planner.noise_at([epsilon] * 3)
        * coordinates.gradient_bound**2
        * plan.horizon**2
    )
    assert (
        np.quantile(largest_excursion(problem, plan.steps, power), 0.8)
        <= 1.25 * coordinates.theta_max
    )


@pytest.mark.slow
def test_a_tighter_budget_asks_for_a_smaller_bound(public):
    """The noisier the answers, the more clipping pays: the gradient bound never grows as budgets shrink."""
    bounds = [designed(public, e).gradient_bound for e in (0.3, 3.0, 30.0)]
    assert bounds[0] <= bounds[1] <= bounds[2] and bounds[0] < bounds[2]


@pytest.mark.slow
def test_the_design_beats_keeping_records_whole(public):
    def psi(coordinates):
        _, bootstrap = public
        problem = bootstrap.training_problem(coordinates.radius, coordinates.target_bound)
        return forecast_fitness(
            problem,
            Settings("averaged"),
            sizes=SIZES,
            mechanism=Laplace(),
            gradient_bound=coordinates.gradient_bound,
            dispersion=bootstrap.dispersion,
            basis="public",
        ).at([1.0] * 3)

    assert psi(designed(public)) < psi(designed(public, clip=np.inf))


@pytest.mark.slow
@pytest.mark.parametrize("binds", [False, True])
def test_the_ball_binds_and_the_forecast_says_so(binds):
    """Three insurers, a ball too small for the noise: the forecast says so and counts it; else the law does."""
    small = [
        "learning.theta_max=0.3",
        "learning.horizon=6",
        "learning.step_size=0.4",
        'learning.returned="last"',
    ]
    scenario = load("three_insurers", [*(small if binds else []), "validation.runs=300"])
    (data, planner), budgets = prepare(scenario), np.full(3, 0.1 if binds else 3.0)
    told = forecast_part(data, planner, budgets, planner.predict(budgets))
    trained = train_at(scenario, planner, budgets)
    runs = data.fitness.relative(trained.theta)
    error = np.hypot(runs.std(ddof=1) / np.sqrt(len(runs)), told["oracle"]["std_error"])
    assert told["projection_may_bind"] == binds == (trained.projected > 0.05)
    assert told["kind"] == ("calibrated" if binds else "exact")
    assert abs(runs.mean() - told["oracle"]["relative_fitness"]) < 3 * error
