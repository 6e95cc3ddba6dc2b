"""What public rows tell: dispersion, the outside option, and the training problem, against simulation."""

import numpy as np
import pytest
from populations import bounded_coordinates, generated, randhie, two_kinds

from learning.errors import InputError
from learning.forecast.bootstrap import MOMENTS, draw_bootstrap
from learning.forecast.law import oracle_problem
from learning.forecast.public_sample import PublicSample, dispersion
from learning.losses.coordinates import Coordinates, whitening_transform
from learning.losses.losses import as_loss
from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.training.descent import Averaged
from learning.training.law import bias_and_gain


def uneven(n, rng):
    """Heteroskedastic records: the spread of y grows with |x|, so tr(H^-1 Sigma_g) is not p sigma^2."""
    x = np.column_stack([rng.normal(size=(n, 3)), np.ones(n)])
    return x, x @ [1.0, -1.0, 0.5, 2.0] + (0.3 + np.abs(x[:, 0])) * rng.normal(size=n)


def fresh_models(draw, m, count, rng):
    return np.stack([PublicSample(*draw(m, rng)).model for _ in range(count)])


@pytest.mark.parametrize("source", ["uneven", "generated", "randhie"])
def test_a_model_from_m_fresh_rows_costs_dispersion_over_m(source):
    """Mean excess of 1,500 models from 1,000 rows: an error of sqrt(2/p/1500), under 2 %, plus O(p/m); 8 % allowed."""
    rng = np.random.default_rng(0)
    if source == "randhie":
        x, y = randhie()

        def draw(m, rng):
            rows = rng.integers(len(y), size=m)
            return x[rows], y[rows]
    else:
        draw = uneven if source == "uneven" else lambda m, rng: generated(m, 6, rng)
        x, y = draw(200_000, rng)
    fitness = Fitness(squared_statistics(x, y))
    excess = fitness.relative(fresh_models(draw, 1000, 1500, rng)).mean() * fitness.optimum
    assert excess * 1000 == pytest.approx(dispersion(x, y, fitness.minimiser), rel=0.08)


def test_dispersion_is_half_the_trace():
    x, y = uneven(500, np.random.default_rng(1))
    model = Fitness(squared_statistics(x, y)).minimiser
    gradients = -2 * (y - x @ model)[:, None] * x
    hessian = 2 * x.T @ x / len(y)
    spread = gradients.T @ gradients / len(y)
    assert dispersion(x, y, model) == pytest.approx(np.trace(np.linalg.solve(hessian, spread)) / 2)


@pytest.mark.slow
def test_residuals_are_inflated_to_their_size_on_fresh_records():
    """HC1: f* from 30 rows and 6 parameters is right on average over 2,000 samples (1.5 %), a fifth too small raw."""
    rng = np.random.default_rng(2)
    corrected = []
    raw = []
    for _ in range(2000):
        x, y = generated(30, 6, rng)
        sample = PublicSample(x, y)
        population = sample.population()
        corrected.append(Fitness(squared_statistics(*population)).value(sample.truth))
        raw.append(Fitness(squared_statistics(x, y)).optimum)
    assert np.mean(corrected) == pytest.approx(0.36, rel=0.015)
    assert np.mean(raw) == pytest.approx(0.36 * 24 / 30, rel=0.015)


def test_the_population_has_the_sample_model_as_its_optimum():
    x, y = generated(50, 5, np.random.default_rng(3))
    sample = PublicSample(x, y)
    assert sample.truth == pytest.approx(sample.model)
    regularised = PublicSample(x, y, 0.5)
    assert np.abs(regularised.truth - regularised.model).max() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("n_public", [100, 400])
def test_outside_option_is_forecast_right_on_average(n_public):
    """200 public samples of generated data: the mean forecast excess of theta_pub within 12 % of the mean true one.

    The errors: sqrt(2/p/200) of the true mean, 4 %; the bootstrap's own O(p/n_public), 6 % at 100
    rows.
    """
    rng = np.random.default_rng(4)
    pooled = Fitness(squared_statistics(*generated(20_000, 6, rng)))
    forecast = []
    truth = []
    for _ in range(200):
        sample = PublicSample(*generated(n_public, 6, rng))
        bootstrap = draw_bootstrap(
            sample, start="public", precondition=False, total_size=20_000, resamples=40, rng=rng
        )
        forecast.append(
            np.mean(bootstrap.training_problem(np.inf, np.inf).untrained) / bootstrap.optimum
        )
        truth.append(pooled.relative(sample.model))
    assert np.mean(forecast) == pytest.approx(np.mean(truth), rel=0.12)
    closed_form = 6 * (1 / n_public + 1 / 20_000)
    assert np.mean(forecast) == pytest.approx(closed_form, rel=0.12)


def resampled(x, y, *, start="public", precondition=True, resamples=20, regularisation=0.0, seed=0):
    sample = PublicSample(x, y, regularisation)
    return sample, draw_bootstrap(
        sample,
        start=start,
        precondition=precondition,
        total_size=10_000,
        resamples=resamples,
        rng=np.random.default_rng(seed),
    )


def test_worlds_are_seeded_and_centred():
    x, y = generated(120, 5, np.random.default_rng(5))
    sample, one = resampled(x, y, resamples=400)
    _, two = resampled(x, y, resamples=400)
    assert one.models.tobytes() == two.models.tobytes()
    spread = one.models.std(axis=0) / np.sqrt(400)
    assert (np.abs(one.models.mean(axis=0) - sample.model) < 5 * spread).all()
    assert len(one.first_samples(7)) == 7 and (one.first_samples(7).models == one.models[:7]).all()
    _, zero = resampled(x, y, start="zero")
    assert (zero.clipped_coordinates(1.0, 1.0).centre == 0).all()
    assert (
        zero.models[0] == one.models[0]
    ).all()  # the outside option is the public model wherever training starts


def test_the_outside_option_does_not_depend_on_where_training_starts():
    x, y = generated(120, 5, np.random.default_rng(5))
    _, public = resampled(x, y, resamples=50)
    _, zero = resampled(x, y, resamples=50, start="zero")
    np.testing.assert_allclose(
        public.training_problem(np.inf, np.inf).untrained, public.outside_excess, rtol=1e-9
    )
    np.testing.assert_allclose(zero.outside_excess, public.outside_excess, rtol=1e-12)
    assert zero.training_problem(np.inf, np.inf).untrained.mean() > 1.5 * zero.outside_excess.mean()


@pytest.mark.slow
def test_a_corrected_offset_is_nearer_to_the_truth():
    """Few clipped public rows show an offset of their own; mean squared offset on 200 rows against 200,000."""
    rng = np.random.default_rng(8)
    x, y = generated(200_000, 5, rng)
    fitness = Fitness(squared_statistics(x, y))
    found = {False: [], True: [], "true": []}
    for _ in range(30):
        sample, bootstrap = resampled(*generated(200, 5, rng), resamples=10, seed=1)
        length = np.abs(sample.x @ bootstrap.transforms[0]).sum(axis=1)
        radius = np.quantile(length, 0.7)
        bound = np.quantile(np.abs(sample.y - sample.x @ sample.model), 0.9)
        for corrected in (False, True):
            made = bootstrap.training_problem(radius, bound, corrected=corrected)
            found[corrected].append(
                np.mean(np.einsum("wi,wij,wj->w", made.offset, made.gram, made.offset))
            )
        coordinates = bootstrap.start_coordinates(
            Coordinates(sample.model, np.eye(5), radius, bound)
        )[0]
        true = oracle_problem(coordinates, coordinates.statistics(x, y), fitness)
        found["true"].append(float(true.offset[0] @ true.gram[0] @ true.offset[0]))
    plain, corrected, truth = (np.mean(found[key]) for key in (False, True, "true"))
    assert plain > 1.5 * truth
    assert abs(corrected - truth) < 0.5 * abs(plain - truth)


@pytest.mark.parametrize("regularisation", [0.0, 0.3])
def test_a_world_is_the_problem_its_records_make(regularisation):
    """One world against the oracle problem of the same rows in the same coordinates."""
    x, y = generated(80, 4, np.random.default_rng(6))
    sample, bootstrap = resampled(x, y, resamples=3, regularisation=regularisation)
    made = bootstrap.training_problem(2.0, 0.5)
    population = sample.population()
    fitness = Fitness(squared_statistics(*population), regularisation)
    steps = Averaged().steps(0.2, 5)
    for w in range(3):
        coordinates = bootstrap.start_coordinates(Coordinates(sample.model, np.eye(4), 2.0, 0.5))[w]
        one = oracle_problem(coordinates, coordinates.statistics(*population), fitness)
        for a, b in zip(
            bias_and_gain(one, steps, "last"), bias_and_gain(made, steps, "last"), strict=True
        ):
            assert a[0] == pytest.approx(b[w], rel=1e-9)


def test_clipping_moves_the_fixed_point_and_nothing_else_does():
    x, y = generated(3000, 5, np.random.default_rng(7))
    fitness = Fitness(squared_statistics(x, y))
    for clip, moved in ((1.0, False), (0.7, True)):
        coordinates = bounded_coordinates(x, y, clip=clip, start="zero")
        problem = oracle_problem(coordinates, coordinates.statistics(x, y), fitness)
        assert (np.abs(problem.offset).max() > 1e-6) == moved


def test_whitening_makes_all_directions_curve_alike():
    x, _ = uneven(400, np.random.default_rng(8))
    w = whitening_transform(x.T @ x / 400)
    assert w @ (x.T @ x / 400) @ w == pytest.approx(np.eye(4), abs=1e-10)
    assert pytest.approx(w.T) == w
    rare = np.column_stack(
        [x, 1e-9 * x[:, 0] + 0 * x[:, 1]]
    )  # a direction hardly shown is not blown up
    assert np.linalg.norm(whitening_transform(rare.T @ rare / 400), 2) <= 1 / np.sqrt(
        1e-3 * np.linalg.eigvalsh(rare.T @ rare / 400)[-1]
    ) * (1 + 1e-9)


def test_collinear_columns_and_rare_categories_do_not_break_the_worlds():
    rng = np.random.default_rng(9)
    x, y = generated(100, 4, rng)
    rare = np.zeros(100)
    rare[0] = 1  # missing from a third of the resamples
    x = np.column_stack([x[:, :3], x[:, 0] + x[:, 1], rare, np.ones(100)])
    _, bootstrap = resampled(x, y, resamples=60)
    problem = bootstrap.training_problem(5.0, 3.0)
    lost = bootstrap.estimated_scales[1]
    assert (
        np.isfinite(problem.untrained).all()
        and np.isfinite(lost).all()
        and lost.max() < 100 * bootstrap.dispersion
    )


def test_too_few_public_rows_are_refused():
    x, y = generated(19, 4, np.random.default_rng(10))
    with pytest.raises(InputError, match="public_rows"):
        PublicSample(x, y)
    PublicSample(*generated(20, 4, np.random.default_rng(10)))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_loss_without_kinks_is_rehearsed_as_it_is(loss):
    x, y = generated(60, 4, np.random.default_rng(0))
    sample = PublicSample(x, np.sign(y) if loss == "logistic" else y, 0.1, as_loss(loss))
    assert sample.smoothed is sample


def test_a_smoothed_hinge_keeps_the_smallest_cost_and_shows_the_curvature_of_many_rows():
    """The mean curvature of ten samples of 300 rows at their best models is within 15 % of that of 20,000 rows at theirs."""
    rng = np.random.default_rng(1)
    many = PublicSample(*two_kinds(20_000, rng), 0.1, as_loss("hinge"))
    step = 0.1 * np.eye(11)  # over which many of the 20,000 pass the kink
    around = many.fitness.value(many.model + step) + many.fitness.value(many.model - step)
    wanted = (around - 2 * many.fitness.optimum) / 0.1**2
    found = []
    for _ in range(10):
        sample = PublicSample(*two_kinds(300, rng), 0.1, as_loss("hinge"))
        smooth = sample.smoothed
        assert smooth.fitness.optimum == pytest.approx(sample.fitness.optimum, rel=1e-9)
        assert smooth.fitness.relative(smooth.model) == pytest.approx(0, abs=1e-9)
        curved = smooth.loss.second_derivative(smooth.loss.scores(sample.x, sample.y, smooth.model))
        found.append(np.mean(sample.x**2 * curved[:, None], axis=0) + 0.1)
    np.testing.assert_allclose(np.mean(found, axis=0), wanted, rtol=0.15)


def test_samples_of_other_kinds_start_as_much_further_off_and_see_other_moments():
    rng = np.random.default_rng(8)
    x = np.column_stack([rng.normal(size=(400, 3)) * [1, 2, 5], np.ones(400)])
    sample = PublicSample(x, x @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=400))
    options = {"start": "public", "precondition": True, "total_size": 4000, "resamples": 400}
    alike = draw_bootstrap(sample, **options, rng=np.random.default_rng(9))
    chance = 1 / 400 + 1 / 4000
    distances = np.where(np.arange(400) % 2, 8 * chance, 0.5 * chance)
    moved = draw_bootstrap(sample, **options, rng=np.random.default_rng(9), distances=distances)
    ratio = moved.outside_excess / alike.outside_excess
    assert np.allclose(ratio, 1 + distances / chance)
    assert np.array_equal(moved.transforms[::2], alike.transforms[::2])
    np.testing.assert_allclose(moved.transforms, moved.transforms.swapaxes(1, 2), atol=1e-12)
    moments = [np.linalg.eigvalsh(w @ x.T @ x @ w / 400) for w in moved.transforms[1::2]]
    logs = np.log(np.concatenate(moments))
    error = MOMENTS / np.sqrt(2 * logs.size)
    assert abs(logs.std() - MOMENTS) < 6 * error and abs(logs.mean()) < 6 * error


def test_residuals_of_made_features_are_inflated_by_each_rows_leverage():
    """Second route: the diagonal of the hat matrix X (X'X)^-1 X'. Large errors where it is large."""
    rng = np.random.default_rng(4)
    x = np.column_stack([rng.lognormal(sigma=1.5, size=(60, 2)), np.ones(60)])
    y = x @ np.array([1.0, -1.0, 0.5]) + rng.normal(size=60) * x[:, 0]
    hat = x @ np.linalg.inv(x.T @ x) @ x.T
    residuals = y - hat @ y
    made = PublicSample(x, y, made=True)
    assert made.fitness.optimum == pytest.approx(np.mean(residuals**2 / (1 - np.diag(hat))))
    np.testing.assert_allclose(made.truth, np.linalg.lstsq(x, y, rcond=None)[0])
    plain = PublicSample(x, y)
    assert plain.fitness.optimum == pytest.approx(np.mean(residuals**2) * 60 / 57)
    assert made.fitness.optimum > 1.05 * plain.fitness.optimum
    exact = PublicSample(x, np.zeros(60), made=True)  # no residual at all
    assert exact.fitness.optimum == 0.0
