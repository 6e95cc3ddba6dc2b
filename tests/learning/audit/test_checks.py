"""What is checked in a watched training: planted bugs are all noticed, sound trainings are not accused more than stated."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from planting.bugs import BUGS
from scipy.stats import binom, kstest
from sizes import sized

from learning.audit.accountant import LAWS, Answering, gaussian_epsilon, laplace_epsilon
from learning.audit.canaries import compare_canary_pairs, make_canaries
from learning.audit.checks import check_training
from learning.audit.reference import compare_records
from learning.audit.transcript import watch_training
from learning.losses.coordinates import Coordinates
from learning.losses.moment_bounds import Scores
from learning.losses.network import Network, NetworkSquared, draw_start
from learning.privacy.composition import AccountedL2, AccountedLaplace, spent_epsilon
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian, subsampled_epsilon
from learning.privacy.wishart import Wishart
from learning.randomness import Streams
from learning.training import engine, sgd1
from learning.training import noisy_statistics as one_shot
from learning.training.algorithms import ALGORITHMS
from learning.training.client import Client, group_owners, make_clients
from learning.training.descent import Walk
from learning.training.plan import Plan
from learning.training.task import Task

WIDTH = 3
SIZES = (40, 25, 15)
EPSILON = (1.0, 2.0, 1.5)
HORIZON = 4


def public(loss, norm):
    rng = np.random.default_rng(0)
    if loss == "network_squared":
        scale = np.repeat([1.0, 5.0], [2 * WIDTH, 3])
        start = scale * draw_start(2, WIDTH, rng=rng)
        bounds = 8.0, np.inf, 2.0, norm, NetworkSquared(2)
        return Coordinates(start, np.diag(scale), *bounds)
    if loss == "network":
        start = draw_start(2, WIDTH, rng=rng)
        return Coordinates(start, np.eye(len(start)), 1.0, np.inf, 2.0, norm, Network(2))
    mixing = rng.normal(size=(WIDTH, WIDTH))
    scale = mixing @ mixing.T / WIDTH + 0.3 * np.eye(WIDTH)
    if loss.startswith("clipped "):
        centre = rng.normal(size=WIDTH)
        loss = loss.removeprefix("clipped ")
        return Coordinates(centre, scale, 1.5, norm=norm, loss=loss, clipping="record")
    return Coordinates(rng.normal(size=WIDTH), scale, 1.5, 2.0, 1.0, norm, loss)


def training(
    loss="squared",
    algorithm="averaged",
    mechanism=None,
    growth=1.0,
    *,
    seed=0,
    epsilon=EPSILON,
    sizes=SIZES,
):
    """A training as a run makes it, of owners of unequal sizes and budgets."""
    mechanism = mechanism or Laplace()
    rng = np.random.default_rng(1)
    coordinates = public(loss, mechanism.norm)
    trains_by = ALGORITHMS[algorithm]
    if trains_by.scores:
        coordinates = replace(
            coordinates,
            scores=Scores(
                2.0, 0.3 if mechanism.name != "gaussian" and mechanism.delta == 0 else 0.6
            ),
        )
    rounds = HORIZON if trains_by.takes_steps else 1
    oracles = []
    plan = Plan(algorithm, trains_by.returned[0], rounds, 0.3, growth=growth)
    for size in sizes:
        x = np.column_stack([rng.normal(size=(size, WIDTH - 1)), np.ones(size)])
        y = x @ np.linspace(1, -1, WIDTH) + rng.normal(size=size)
        y = np.where(y > 0, 1.0, -1.0) if coordinates.loss.labels else y
        oracles.append(coordinates.oracle(x, y, one_by_one=trains_by.one_by_one))
    names = [f"owner {i}" for i in range(len(sizes))]
    owners = make_clients(
        names, oracles, epsilon, mechanism, coordinates.gradient_bound, plan.priced, growth=growth
    )
    return Task(
        owners,
        coordinates,
        plan,
        mechanism,
        10,
        Streams(seed, "noise"),
        weights=[0.5, 0.3, 0.2][: len(owners)],
    )


@pytest.fixture(autouse=True)
def _fewer_numbers(monkeypatch):
    """Of noise, an eighth of what the command looks at: a tenth less of it still shows; and fewer canaries."""
    monkeypatch.setattr("learning.audit.transcript.NUMBERS", 5000)
    monkeypatch.setattr("learning.audit.canaries.MOST", 250)


def failing(task, overlap=1, **settings):
    return {check.kind for check in check_training(task, overlap, **settings) if not check.passed}


SETTINGS = {
    "laplace": ("squared", "averaged", Laplace()),
    "laplace pld": ("squared", "averaged", AccountedLaplace(1e-3, HORIZON)),
    "gaussian zcdp": ("squared", "averaged", Gaussian(1e-4)),
    "labels": ("logistic", "averaged", Laplace()),
    "local training": ("logistic", "weighted", Gaussian(1e-4, "pld")),
    "asynchronous": ("squared", "asynchronous", Gaussian(1e-4, "pld")),
    "one release": ("squared", "adassp", Gaussian(1e-4, "pld")),
    "one step": ("squared", "one_step", Gaussian(1e-4, "pld")),
    "one step, l2": ("squared", "one_step", AccountedL2(1e-4, 1, WIDTH).with_moments(0.6)),
    "one step, pure": ("squared", "one_step", L2(WIDTH).with_moments(0.3)),
    "one step, Wishart": ("squared", "one_step", Wishart(WIDTH).with_moments(0.3)),
    "one step of labels": ("logistic", "one_step", Gaussian(1e-4, "pld")),
    "one step of labels, l2": (
        "logistic",
        "one_step",
        AccountedL2(1e-4, 1, WIDTH).with_moments(0.6),
    ),
    "one step of labels, pure": ("logistic", "one_step", L2(WIDTH).with_moments(0.3)),
    "one step of margins": ("hinge", "one_step", Gaussian(1e-4, "pld")),
    "one record at a time": ("hinge", "sgd1", SubsampledGaussian(1e-3, sum(SIZES), HORIZON)),
    "gradients": ("clipped squared", "sgd2", Gaussian(1e-4)),
    "labels' gradients": ("clipped hinge", "averaged", Laplace()),
    "single gradients": ("clipped logistic", "sgd1", SubsampledGaussian(1e-3, sum(SIZES), HORIZON)),
    "l2": ("squared", "averaged", L2(WIDTH)),
    "l2 pld": ("clipped hinge", "sgd2", AccountedL2(1e-4, HORIZON, WIDTH)),
    "l2 in one release": ("squared", "adassp", AccountedL2(1e-4, 1, WIDTH * (WIDTH + 3) // 2)),
    "network": ("network", "sgd2", Gaussian(1e-4, "pld")),
    "network of numbers": ("network_squared", "sgd2", Laplace()),
    "as printed": ("logistic", "weighted", PublishedNoise("weighted", 1e-3, SIZES)),
    "growing shares": ("squared", "sgd2", Laplace(), 2.0),
    "growing shares l2 pld": (
        "squared",
        "sgd2",
        AccountedL2(1e-3, HORIZON, width=WIDTH, growth=2.0),
        2.0,
    ),
    "growing shares gaussian": ("logistic", "synchronous", Gaussian(1e-4, "pld"), 3.0),
}
GROWING = ("shares", "turn", "whole")
# bugs planted there; all that bite under "laplace", elsewhere those that the setting makes special
PLANTED = {
    "laplace pld": ("half", "accountant", "add"),
    "gaussian zcdp": ("tenth", "last", "kappa", "accountant", "add", "unclipped", "norm", "ball"),
    "labels": ("unclipped", "norm", "reused", "ball"),
    "local training": ("last", "same", "stream", "all", "ball"),
    "asynchronous": ("forgotten", "reused", "stream", "ball"),
    "one release": ("half", "last", "kappa", "unclipped", "targets"),
    "one step": ("half", "last", "kappa", "unclipped", "scores", "moments"),
    "one step, l2": ("half", "last", "scores", "add", "accountant"),
    "one step, pure": ("numbers", "add", "scores", "grid", "some", "twice", "charge"),
    "one step, Wishart": ("half", "add", "scores", "some", "twice", "charge"),
    "one step of labels": (
        "half",
        "last",
        "kappa",
        "unclipped",
        "scores",
        "curvature",
        "moments",
        "no scores",
        "no moments",
        "joined",
    ),
    "one step of labels, l2": ("half", "last", "scores", "curvature", "add", "accountant"),
    "one step of labels, pure": (
        "scores",
        "curvature",
        "no scores",
        "no moments",
        "joined",
        "add",
        "some",
        "twice",
        "charge",
    ),
    "one step of margins": ("scores", "curvature", "moments", "twice"),
    "one record at a time": (
        "tenth",
        "forgotten",
        "reused",
        "kappa",
        "ball",
        "order",
        "always",
        "unasked",
        "some",
    ),
    "gradients": (
        "half",
        "unclipped",
        "norm",
        "radius",
        "mean",
        "one",
        "short",
        "margin",
        "huge",
        "twice",
    ),
    "labels' gradients": ("norm", "radius", "mean", "one"),
    "single gradients": ("radius", "one"),
    "l2": (
        "shorter",
        "numbers",
        "last",
        "same",
        "half",
        "reused",
        "kappa",
        "permuted",
        "apart",
        "echo",
        "some",
        "grid",
    ),
    "l2 pld": ("shorter", "numbers", "tenth", "accountant", "rounds"),
    "l2 in one release": ("shorter", "numbers", "last", "add"),
    "network": ("half", "unclipped", "forgotten"),
    "network of numbers": ("half", "unclipped"),
    "as printed": ("half", "stream"),
    "growing shares": ("tenth", "accountant", *GROWING),
    "growing shares l2 pld": ("accountant", *GROWING),
    "growing shares gaussian": GROWING,
}
# which checks must notice a bug
NOTICE = {
    "half": {"noise"},
    "tenth": {"noise"},
    "last": {"parts"},
    "same": {"coordinates", "twice"},
    "shorter": {"noise"},
    "numbers": {"noise"},
    "forgotten": {"noise", "answers"},
    "reused": {"twice"},
    "stream": {"twice"},
    "kappa": {"price"},
    "accountant": {"price"},
    "rounds": {"price"},
    "add": {"price"},
    "all": {"price"},
    "unclipped": {"sensitivity"},
    "scores": {"sensitivity"},
    "curvature": {"sensitivity"},
    "no scores": {"answers", "noise"},
    "no moments": {"answers", "noise"},
    "joined": {"twice", "coordinates"},
    "moments": {"price"},
    "norm": {"sensitivity"},
    "targets": {"sensitivity"},
    "radius": {"sensitivity"},
    "mean": {"sensitivity"},
    "one": {"gradients"},
    "ball": {"ball"},
    "shares": {"parts"},
    "turn": {"parts"},
    "whole": {"price"},
    "permuted": {"repeats"},
    "apart": {"coordinates"},
    "echo": {"rounds"},
    "some": {"zeros"},
    "cut": {"tails"},
    "grid": {"grid"},
    "short": {"clipping"},
    "margin": {"sensitivity"},
    "huge": {"sensitivity"},
    "twice": {"clipping"},
    "order": {"picks"},
    "always": {"picks"},
    "unasked": {"turns"},
    "charge": {"ledger"},
}


QUICK = ("laplace", "growing shares")
# each much like another setting, and left to `make deep`
NIGHTLY = (
    "gradients",
    "l2 in one release",
    "one step, l2",
    "one step of margins",
    "single gradients",
    "one step of labels, pure",
    "one step of labels, l2",
    "growing shares l2 pld",
    "l2 pld",
)


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK))
        for name in ("laplace", *PLANTED)
        if name not in NIGHTLY
    ]
    + [pytest.param(name, marks=pytest.mark.deep) for name in NIGHTLY],
)
def test_planted_bugs_are_noticed_and_the_sound_training_stands(setting):
    task = training(*SETTINGS[setting])
    sound = check_training(task)
    assert all(check.passed for check in sound), sound
    for name in PLANTED.get(setting, [name for name, bug in BUGS.items() if bug.bites(task)]):
        bug = BUGS[name]
        with bug.inside():
            assert bug.bites(task) and failing(bug.plant(task), bug.overlap) & NOTICE[name], name


# --- bugs in the engine itself
# ----------------------------------------------------------------------------------------


def test_an_engine_that_never_projects_is_noticed(monkeypatch):
    def move(self, gradient):
        self.phi = self.phi - self.steps[self.rounds] * gradient
        self.rounds += 1

    monkeypatch.setattr(Walk, "move", move)
    assert "ball" in failing(training())


def test_sensitivities_counted_by_half_are_noticed(monkeypatch):
    """What moves by at most G when a record is added moves by 2 G when one is replaced; of sums released at once too."""
    monkeypatch.setattr(
        "learning.losses.slopes.squared_gradient_bound", lambda *bounds: np.float64(5.0)
    )
    assert "sensitivity" in failing(training())
    whole = one_shot.release_sensitivity
    monkeypatch.setattr(one_shot, "release_sensitivity", lambda *bounds: whole(*bounds) / 2)
    monkeypatch.setattr(
        "learning.audit.worst_pairs.release_sensitivity", lambda *bounds: whole(*bounds) / 2
    )
    assert "sensitivity" in failing(training(*SETTINGS["one release"]))


def test_streams_that_forget_their_keys_are_noticed(monkeypatch):
    """All owners draw the same; and noise that is mixed with another owner's is no longer fresh, though not the same."""
    own = Streams.rngs
    monkeypatch.setattr(Streams, "rngs", lambda self, *keys, count: own(self, count=count))
    assert failing(training()) >= {"twice", "owners"}
    monkeypatch.undo()

    class Mixed(Laplace):
        def draw(self, scale, shape, *, rng):
            common = np.random.default_rng(0).normal(size=shape)
            return np.sign(common) * np.abs(super().draw(scale, shape, rng=rng))

    assert failing(training(mechanism=Mixed())) >= {"owners"}


def test_more_answers_than_are_paid_for_are_noticed():
    """Priced for one round fewer, behind the back of the engine, which would refuse; and a record used more than counted."""
    task = training()
    assert failing(replace(task, plan=replace(task.plan, answers=HORIZON - 2))) >= {"answers"}
    sampled = training("hinge", "sgd1", SubsampledGaussian(1e-3, 2 * sum(SIZES), HORIZON))
    assert failing(sampled) == {"price"}


def test_what_is_found_does_not_hang_on_what_the_mechanism_says_of_itself():
    """Gaussian distances three times too long, in the mechanism's own words throughout: each was within its charge before."""

    class Lenient(Gaussian):
        def distance(self, epsilon):
            return 3 * super().distance(epsilon)

    for accounting in ("zcdp", "pld"):
        (price,) = (
            c
            for c in check_training(training(mechanism=Lenient(1e-4, accounting)))
            if c.kind == "price"
        )
        assert not price.passed and price.found > 2


# --- sound trainings
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    [
        "laplace",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("asynchronous", "one release")),
    ],
)
def test_a_sound_training_is_accused_no_more_often_than_stated(setting, monkeypatch):
    """20 or 60 trainings at an error of 30 %, all tests together: no more are accused, but with a chance of 1e-4."""
    monkeypatch.setattr("learning.audit.transcript.NUMBERS", 200)
    count = sized(20, 60)
    accused = [
        bool(failing(training(*SETTINGS[setting], seed=seed), error=0.3)) for seed in range(count)
    ]
    assert sum(accused) <= binom.ppf(0.9999, count, 0.3)


def test_how_little_noise_is_noticed():
    """`Law.visible`: the shortfall is seen 99 times in 100; here by simulation, within three standard errors."""
    for law, draw in ((LAWS["laplace"], "laplace"), (LAWS["gaussian"], "normal")):
        least = law.detectable_scale(400, 0.01)
        drawn = getattr(np.random.default_rng(0), draw)(size=(4000, 400))
        seen = (law.measure_shortfall(least * drawn, 1)[1] < 0.01).mean()
        assert seen == pytest.approx(0.99, abs=0.006) and 0.75 < least < 0.95
        assert (
            kstest(law.measure_shortfall(drawn, 1)[1], "uniform").pvalue > 0.001
        )  # the chance of so little is exact
        assert kstest(drawn.ravel()[:5000], law.chance_below).pvalue > 0.001


def test_owners_without_noise_and_groups():
    """Who adds none is passed over; members of a group are watched one by one."""
    free = training(epsilon=(1.0, np.inf, 2.0))
    assert [one.owner.name for one in watch_training(free).answers] == ["owner 0", "owner 2"]
    assert check_training(training(epsilon=(np.inf,) * 3)) == ()
    alone = training(*SETTINGS["asynchronous"])
    joined = replace(alone, owners=group_owners(alone.owners, [[0, 2], [1]]), weights=[0.6, 0.4])
    assert [one.owner.name for one in watch_training(joined).answers] == [
        "owner 0",
        "owner 2",
        "owner 1",
    ]
    assert failing(joined) == set()


# --- canaries and accountant
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "hinge", "network", "network_squared"])
def test_canaries_lie_far_out_along_every_coordinate(loss):
    coordinates = public(loss, 2)
    x, y = make_canaries(coordinates)
    assert len(x) % 4 == 0 and all(
        np.any(np.abs(x @ np.eye(x.shape[1])[j]) > 1) for j in range(x.shape[1])
    )
    missed = np.abs(coordinates.loss.scores(x, y, coordinates.centre))
    assert loss != "network_squared" or missed == pytest.approx(0.5 * coordinates.transform[-1, -1])
    moved, compared = compare_canary_pairs(coordinates, np.zeros((1, len(coordinates.centre))))
    assert 0.7 < moved <= 1 + 1e-6 and compared > 4 * x.shape[1]


def test_clipping_that_forgets_one_coordinate_is_noticed():
    class Forgetful(Coordinates):
        def lengths(self, moved):
            return super().lengths(moved * (np.arange(moved.shape[1]) != 1))

    for loss in ("squared", "logistic"):
        assert compare_canary_pairs(public(loss, 1), np.zeros((1, WIDTH)))[0] <= 1 + 1e-6
        assert compare_canary_pairs(Forgetful(**vars(public(loss, 1))), np.zeros((1, WIDTH)))[0] > 2


def test_the_accountant_agrees_with_others():
    """Gaussian noise against 40 digits and against what SGD1 is priced by; Laplace noise against its own closed form."""
    for distance, rounds, delta in ((0.1, 100, 1e-6), (0.7, 3, 1e-3), (2.0, 4, 1e-9)):
        epsilon = gaussian_epsilon(distance, Answering(rounds), delta)
        with mpmath.workdps(40):
            m = mpmath.mpf(distance) * mpmath.sqrt(rounds)
            e = mpmath.mpf(epsilon)
            exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert float(exact) == pytest.approx(delta, rel=1e-4)
        assert gaussian_epsilon(distance, Answering(1, rounds), delta) == epsilon
    for chance, overlap in ((0.02, 1), (0.01, 2)):
        other = subsampled_epsilon(0.8, 200, 0.02, 1e-5)
        assert gaussian_epsilon(0.8, Answering(200, overlap, chance), 1e-5) == pytest.approx(
            other, rel=1e-6
        )
    assert (
        gaussian_epsilon(0.0, Answering(1), 1e-6)
        == gaussian_epsilon(1e-9, Answering(1), 1e-6)
        == 0.0
    )
    assert laplace_epsilon(0.3, Answering(4, 2), 0.0) == pytest.approx(2.4)
    one = laplace_epsilon(0.5, Answering(1), 0.01)  # a single answer loses r + 2 log(1 - delta)
    assert one == pytest.approx(0.5 + 2 * np.log1p(-0.01), abs=1e-4)
    assert laplace_epsilon(0.5, Answering(2, 2), 1e-4) == pytest.approx(
        spent_epsilon(0.5, 4, 1e-4), rel=1e-4
    )


def test_noise_that_the_engine_draws_and_does_not_add_is_noticed(monkeypatch):
    """Under SGD1 the engine puts answers together: what a step holds counts, not what was drawn for it."""
    task = training(*SETTINGS["one record at a time"])
    drawn = sgd1.with_noise
    monkeypatch.setattr(
        sgd1, "with_noise", lambda *given: ((*lot, 0 * noise) for *lot, noise in drawn(*given))
    )
    assert "noise" in failing(task)


# --- what ends a training, or never begins it
# -------------------------------------------------------------------------


def test_a_training_that_ends_in_an_error_is_refuted_by_name(monkeypatch):
    def broken(*given):
        raise ValueError("need at least one array to concatenate")

    monkeypatch.setattr(sgd1.Walk, "move", broken)
    (check,) = check_training(training(*SETTINGS["one record at a time"]))
    assert (check.kind, check.passed) == ("carried out", False) and "concatenate" in check.place


def test_an_owner_that_is_never_asked_is_named(monkeypatch):
    """Under SGD1, where lots decide, and where every owner answers every round."""
    sound = sgd1.draw_picks
    monkeypatch.setattr(sgd1, "draw_picks", lambda task: ((p % 40, 0 * o) for p, o in sound(task)))
    checks = check_training(training(*SETTINGS["one record at a time"]))
    (turns,) = (check for check in checks if check.kind == "turns")
    assert not turns.passed
    monkeypatch.undo()
    monkeypatch.setattr(
        Client,
        "answer",
        lambda self, phi, noise: np.zeros_like(phi) if "2" in self.name else 1 + noise,
    )
    assert failing(training()) >= {"asked", "law"}


def test_kinds_of_tests_share_the_error_stated(monkeypatch):
    errors = []
    monkeypatch.setattr(
        "learning.audit.checks.judge_tests", lambda kind, tests, error: errors.append(error)
    )
    for setting in ("laplace", "asynchronous", "one record at a time"):
        errors.clear()
        check_training(training(*SETTINGS[setting]), error=0.01)
        assert 0 < sum(errors) < 0.01 * (1 + 1e-9), setting


def test_records_twice_as_many_or_without_a_gradient_are_noticed():
    """Of every record twice the mean is the same, and the noise on it half."""
    task = training()
    owner = task.owners[0]
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, WIDTH))
    y = rng.normal(size=20)
    sound = task.coordinates.oracle(x, y)
    twice = task.coordinates.oracle(np.tile(x, (2, 1)), np.tile(y, 2))
    for held, passed in ((sound, True), (twice, False), (sound * np.nan, False)):
        asked = replace(task, owners=(replace(owner, records=held),))
        assert compare_records(asked, {owner.name: (x, y)}).passed == passed


@pytest.mark.parametrize("change", ["nobody", "half", "other budget"])
def test_a_ledger_that_says_something_else_is_noticed(change, monkeypatch):
    sound = engine.charge_training

    def charge(task, answers, ledger):
        if change == "half":
            sound(task, [count // 2 for count in answers], ledger)
        elif change == "other budget":
            owners = tuple(replace(owner, epsilon=2 * owner.epsilon) for owner in task.owners)
            sound(replace(task, owners=owners), answers, ledger)

    monkeypatch.setattr(engine, "charge_training", charge)
    for setting in ("laplace", "asynchronous", "one release"):
        assert failing(training(*SETTINGS[setting])) >= {"ledger"}, setting


@pytest.mark.parametrize("lost", ["above the diagonal", "on the diagonal", "of one matrix"])
def test_noise_that_part_of_the_moments_lacks_is_noticed(monkeypatch, lost):
    """Wishart noise is looked at in two bases, so that no part of a matrix can go without."""
    task = training(*SETTINGS["one step, Wishart"])
    drawn = Wishart.draw_release

    def draw_less(self, widths, *, rng):
        noise = drawn(self, widths, rng=rng)
        width = self.width
        if lost == "of one matrix":  # noise of one sign protects nothing at its edge
            columns = rng.standard_normal((width, self.freedom))
            matrix = columns @ columns.T / np.sqrt(2 * self.freedom)
            above = np.sqrt(2) * matrix[np.triu_indices(width, 1)]
            return np.concatenate([noise[:width], np.diagonal(matrix), above])
        place = slice(2 * width, None) if lost == "above the diagonal" else slice(width, 2 * width)
        noise[place] = 0.0
        return noise

    monkeypatch.setattr(Wishart, "draw_release", draw_less)
    monkeypatch.setattr("learning.training.noisy_statistics.KEPT", 0)  # no other test's noise
    assert failing(task) & {"noise", "parts", "zeros", "tails"}
