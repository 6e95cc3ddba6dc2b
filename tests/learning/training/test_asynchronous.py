"""Asynchronous training: a naive walk run by run, known fixed points, talks, noise by key, charges."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from clocked import NAMES, flat, owners_of, plan, population, silent, still, task

from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness
from learning.losses.statistics import SquaredStatistics
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import BudgetExceeded, Ledger
from learning.randomness import Streams
from learning.training import asynchronous, lots
from learning.training.asynchronous import Asynchronous, draw_ticks
from learning.training.client import Client, make_clients
from learning.training.clocks import Clocks, covered_talks, relative_steps, talk_probabilities
from learning.training.engine import train
from learning.training.flights import with_delays
from learning.training.task import Task

ALGORITHM = Asynchronous()
TALKS = ("broadcast", "request")

UNEQUAL = Clocks(rates=(1.0, 2.0, 6.0), dropout=(0.0, 0.3, 0.6))


def naive(of, run):
    """Algorithm 1 for one run, as the paper words it: one dictionary of copies, one draw at a time.

    An answer with a delay waits in a list until its tick, at which it comes before a new one.
    """
    clocks = of.plan.clocks
    owners = of.owners
    n_owners = len(of.owners)
    key = run % (of.n_draws or of.runs)
    talks = talk_probabilities(clocks, n_owners)
    ticks = of.streams.rng("clock", "ticks", key)
    noise = {i: of.streams.rng(owner.name, key) for i, owner in enumerate(owners)}
    copy = {i: np.zeros(of.width) for i in range(n_owners)}
    learner = np.zeros(of.width)
    path = [np.zeros(of.width)]
    waiting = []
    waits = of.streams.rng("clock", "delays", key)
    mean = np.broadcast_to(clocks.delay, (n_owners,))
    s = (
        of.plan.step_size
        / of.plan.horizon**2
        * (1.0 if of.step_scale is None else of.step_scale[run, 0])
    )

    def move(i, answer):
        m = (learner + copy[i]) / 2
        g = of.own_gradient(m[None])[0]
        factor = talks.sum() / talks[i] / n_owners if clocks.scaled else 1.0
        eta = 1 / (2 * n_owners) if clocks.reading == "proved" else 1 / n_owners**2
        copy[i] = of.coordinates.project(
            (m - n_owners * s * factor * (g / (2 * n_owners) + of.weights[i] * answer))[None]
        )[0]
        return of.coordinates.project((m - (1 - eta * n_owners) * s * g)[None])[0]

    for tick in range(of.plan.horizon):
        u = ticks.random()
        wait = waits.standard_exponential() if clocks.delay_law == "geometric" else None
        for due, i, answer in waiting:
            if due == tick:
                learner = move(i, answer)
        below = 0.0
        i = None
        for number in range(n_owners):
            below += talks[number]
            if u < below:
                i = number
                break
        if i is not None:
            m = (learner + copy[i]) / 2
            scale = np.broadcast_to(owners[i].scale, (of.runs,))[run]
            drawn = of.mechanism.draw(1.0, (1, of.width), rng=noise[i])[0] * scale if scale else 0.0
            answer = owners[i].records.gradient(m[None])[0] + drawn
            delay = mean[i]
            if wait is not None:
                delay = int(wait / np.log((1 + mean[i]) / mean[i])) if mean[i] else 0
            if delay:
                waiting.append((tick + delay, i, answer))
            else:
                learner = move(i, answer)
        path.append(learner)
    return learner, np.array(path)


LATE = {"delay": (0, 3, 7)}
GEOMETRIC = {"delay": (4.0, 0.0, 2.5), "delay_law": "geometric"}


@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(1e-6)])
@pytest.mark.parametrize("reading", ["proved", "printed"])
@pytest.mark.parametrize(
    "clocks",
    [
        {},
        UNEQUAL.__dict__ | {"talk": "broadcast"},
        UNEQUAL.__dict__ | {"scaled": False},
        LATE,
        GEOMETRIC,
        UNEQUAL.__dict__ | GEOMETRIC,
    ],
)
def test_runs_together_are_runs_one_at_a_time(mechanism, reading, clocks):
    """Noise, drop-outs, a ball that binds, a start off the origin, steps and noise by run, shared records and draws."""
    held = [population(40, 3, 1), population(70, 3, 2)]
    owners = [
        Client("a", held[0], np.linspace(0.0, 2.0, 6), 60),
        Client("b", held[1], 0.7, 60),
        Client("c", held[0], 0.0, 60),
    ]
    turned = np.array([[2.0, 0.3, 0.0], [0.3, 1.5, 0.1], [0.0, 0.1, 1.0]])
    coordinates = Coordinates(np.full(3, 0.2), turned, theta_max=0.6, norm=mechanism.norm)
    of = task(
        owners,
        plan(60, 0.2, **clocks | {"reading": reading}),
        runs=6,
        coordinates=coordinates,
        weights=[0.5, 0.3, 0.2],
        mechanism=mechanism,
        regularisation=0.7,
        n_draws=3,
        step_scale=np.linspace(0.5, 1.5, 6)[:, None],
    )
    found = ALGORITHM.run(of)
    for run in range(6):
        expected, path = naive(of, run)
        assert found.last[run] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        if run == 0:
            assert found.path == pytest.approx(path, rel=1e-12, abs=1e-12)
    assert found.mean is found.last and 0 < found.projected < 1


@pytest.mark.parametrize("law", ["fixed", "geometric"])
def test_without_a_delay_nothing_changes_to_the_last_bit(law, monkeypatch):
    """Through the code for delays too: talks and noise are drawn from other streams."""
    of = task(owners_of([1.0, 2.0, 5.0]), plan(50, 0.1, dropout=0.2), runs=4, regularisation=0.1)
    at_once = ALGORITHM.run(of)
    clocks = replace(of.plan.clocks, delay=(0.0,) * 3, delay_law=law)
    through = replace(of, plan=replace(of.plan, clocks=clocks))
    for delayed in (False, True):
        monkeypatch.setattr(Clocks, "delayed", delayed)
        found = ALGORITHM.run(through)
        assert np.array_equal(found.last, at_once.last)
        assert np.array_equal(found.path, at_once.path) and found.projected == at_once.projected


def test_geometric_delays_have_the_mean_and_the_law_stated():
    """Against the chances (1/(1+m)) (m/(1+m))^d, by the largest distance of the two laws."""
    clocks = Clocks(delay=(2.0, 9.0), delay_law="geometric")
    of = task(silent([still(9, 1)] * 2), plan(4000, 0.1, **clocks.__dict__), runs=25)
    delays, called = map(np.concatenate, zip(*with_delays(of, draw_ticks(of)), strict=True))
    for owner, mean in enumerate((2.0, 9.0)):
        drawn = delays[called == owner]
        assert drawn.mean() == pytest.approx(mean, abs=4 * np.sqrt(mean * (1 + mean) / len(drawn)))
        at_least = [np.mean(drawn >= d) for d in range(30)]
        assert np.allclose(at_least, (mean / (1 + mean)) ** np.arange(30), atol=0.01)


def test_answers_in_flight_are_charged_as_they_leave():
    """What is asked and charged does not depend on delays, even where none arrives before the end."""
    at_once = task(owners_of([1.0, 2.0, 5.0]), plan(40, 0.1), runs=3, regularisation=0.1)
    never = replace(at_once, plan=plan(40, 0.1, delay=40))
    ledgers = [Ledger(), Ledger()]
    first, second = (train(of, one) for of, one in zip((at_once, never), ledgers, strict=True))
    assert ledgers[0].accounts == ledgers[1].accounts != ()
    assert np.array_equal(second.theta, np.zeros_like(second.theta)) and np.any(first.theta)


def test_little_noise_at_a_time_is_the_same(monkeypatch):
    of = task(owners_of([1.0, 2.0, 5.0]), plan(50, 0.1, dropout=0.2), runs=4, regularisation=0.1)
    whole = ALGORITHM.run(of)
    monkeypatch.setattr(lots, "NUMBERS_HELD", 7 * 4 * 4)
    pieces = ALGORITHM.run(of)
    assert (pieces.last == whole.last).all() and (pieces.path == whole.path).all()


# -- no noise: plain descent, and what it descends to


def test_one_owner_without_noise_on_known_numbers():
    """f = theta^2 + (theta - 1)^2 up to a constant, r = 2, s = 1/4: the mean of both copies descends with s/2.

    m_1 = 0: g' = 0, l' = -2; theta_1 = 0 - (0 - 2)/4 = 1/2, theta_L = 0. m_2 = 1/4: g' = 1/2, l' =
    -3/2; theta_1 = 1/4 - (1/4 - 3/2)/4 = 9/16, theta_L = 1/4 - 1/16 = 3/16. m_3 = 3/8: theta_L =
    3/8 - 3/32 = 9/32. As printed N - 1 = 0 and theta_L = m: 0, 1/4, then m_3 = (1/4 + 9/16)/2 =
    13/32.
    """
    owners = silent([SquaredStatistics(1, np.eye(1), np.ones(1), 1.0)])
    proved = ALGORITHM.run(task(owners, plan(3, 0.25), regularisation=2.0)).path[:, 0]
    assert proved.tolist() == [0, 0, 3 / 16, 9 / 32]
    printed = ALGORITHM.run(
        task(owners, plan(3, 0.25, reading="printed"), regularisation=2.0)
    ).path[:, 0]
    assert printed.tolist() == [0, 0, 1 / 4, 13 / 32]


@pytest.mark.parametrize(
    ("reading", "gained", "lead"), [("proved", 1.0, 1 / 2), ("printed", 7 / 6, 2 / 3)]
)
def test_three_owners_alike_end_at_a_known_point(reading, gained, lead):
    """All copies meet around m, the optimum with (1/2 + lead) g, and theta_L stays at m - s lead grad g(m) for ever."""
    held = population(300, 3, 0)
    regularisation = 0.5
    step = 0.05
    middle = Fitness(held, regularisation * gained).minimiser
    found = ALGORITHM.run(
        task(
            silent([held] * 3),
            plan(3000, step, reading=reading),
            runs=3,
            regularisation=regularisation,
        )
    )
    expected = middle * (1 - step * lead * regularisation)
    assert found.last == pytest.approx(np.tile(expected, (3, 1)), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("reading", "gained"), [("proved", 1.0), ("printed", 7 / 6)])
def test_training_nears_its_optimum_as_rounds_grow_and_steps_shrink(reading, gained):
    """Three owners that differ, s = 1.5/sqrt(T): as proved it nears the regularised optimum, as printed another point."""
    held = [population(100, 3, seed) for seed in range(3)]
    pooled = held[0] + held[1] + held[2]
    goals = [
        Fitness(pooled, 0.5 * factor).minimiser
        for factor in (gained, 7 / 6 if gained == 1 else 1.0)
    ]
    near = []
    far = []
    for horizon in (100, 400, 1600, 6400):
        of = task(
            silent(held),
            plan(horizon, 1.5 / np.sqrt(horizon), reading=reading),
            runs=10,
            regularisation=0.5,
        )
        last = ALGORITHM.run(of).last
        for goal, found in zip(goals, (near, far), strict=True):
            found.append(float(np.sqrt(np.mean(np.sum((last - goal) ** 2, axis=1)))))
    assert all(after < 0.75 * before for before, after in zip(near, near[1:], strict=False))
    apart = float(np.linalg.norm(goals[0] - goals[1]))
    assert near[-1] < 0.15 * apart and far[-1] > 0.85 * apart


# -- clocks


@pytest.mark.parametrize("talk", ["request", "broadcast"])
def test_owners_talk_as_often_as_their_chances_say(talk):
    """20,000 ticks in each of two runs: four standard deviations; the count is the larger of the two runs."""
    clocks = {"rates": (1.0, 2.0, 6.0), "dropout": (0.0, 0.3, 0.6), "talk": talk}
    of = task(silent([still(5, 1)] * 3), plan(20_000, 0.0, **clocks), runs=2)
    ticks = 20_000
    expected = ticks * talk_probabilities(of.plan.clocks, 3)
    assert ALGORITHM.count_answers(of) == pytest.approx(expected, abs=4 * 0.5 * np.sqrt(ticks))
    counts = np.zeros((2, 3))
    for talks in asynchronous.draw_ticks(of):
        counts += [[(talks[:, run] == i).sum() for i in range(3)] for run in range(2)]
    assert (
        ALGORITHM.count_answers(of) == counts.max(axis=0).tolist()
        and (counts[0] != counts[1]).all()
    )


@pytest.mark.slow
@pytest.mark.parametrize("scaled", [True, False])
def test_scaling_by_frequency_brings_unequal_clocks_to_the_same_point(scaled):
    """Scaled: to the optimum of f. Not scaled: each owner counts by how often it talks, here a known other point."""
    held = [population(100, 2, seed, tilt) for seed, tilt in enumerate((0.0, 1.0, 2.0))]
    share = talk_probabilities(UNEQUAL, 3) / talk_probabilities(UNEQUAL, 3).sum()
    hessians = np.array([h.hessian for h in held])
    linears = np.array([h.linear for h in held])
    goals = [
        np.linalg.solve(np.tensordot(q, hessians, 1) + 0.5 * np.eye(2), q @ linears)
        for q in (np.full(3, 1 / 3), share)
    ]
    of = task(
        silent(held),
        plan(3000, 0.02, **UNEQUAL.__dict__ | {"scaled": scaled}),
        runs=40,
        regularisation=0.5,
    )
    away = [float(np.linalg.norm(ALGORITHM.run(of).last.mean(axis=0) - goal)) for goal in goals]
    right, wrong = away if scaled else away[::-1]
    assert np.linalg.norm(goals[0] - goals[1]) > 0.1
    assert right < 0.02 and wrong > 0.08


def test_at_a_lost_tick_nothing_moves():
    """What stands still was lost, a share d of the ticks; at first, also where two fresh copies meet at the start."""
    held = [population(50, 2, seed) for seed in range(3)]
    of = task(silent(held), plan(4000, 0.01, dropout=0.4), runs=1, regularisation=1.0)
    path = ALGORITHM.run(of).path
    stood = (np.diff(path, axis=0) == 0).all(axis=1)
    (talks,) = asynchronous.draw_ticks(of)
    left = (path[:-1] != 0).any(axis=1)
    assert (stood[left] == (talks[left, 0] == -1)).all() and left.sum() > 3980
    assert stood.mean() == pytest.approx(0.4, abs=4 * 0.5 / np.sqrt(4000))


def test_rounding_loses_no_tick():
    """The largest number below 1 is still somebody's, however the chances of all add up in floating point."""

    class Last:
        def rngs(self, *keys, count):
            return [self] * count

        def random(self, size):
            return np.full(size, np.nextafter(1.0, 0.0))

    for n_owners in range(1, 100):
        of = replace(
            task([Client("a", still(2, 1), 0.0, 1)] * n_owners, plan(1, 0.1)), streams=Last()
        )
        assert ALGORITHM.count_answers(of) == [0] * (n_owners - 1) + [1]


def test_broadcast_is_request_where_rates_are_equal():
    found = [
        ALGORITHM.run(task(owners_of([1.0] * 3), plan(80, 0.05, talk=talk), runs=3))
        for talk in ("broadcast", "request")
    ]
    assert (found[0].last == found[1].last).all() and (found[0].path == found[1].path).all()


@pytest.mark.parametrize("talk", ["request", "broadcast"])
def test_the_unit_of_rates_does_not_matter(talk):
    one, other = (
        Clocks(rates=tuple(f * r for r in (1.0, 2.0, 5.0)), dropout=0.3, talk=talk)
        for f in (1.0, 1e6)
    )
    assert talk_probabilities(one, 3) == pytest.approx(talk_probabilities(other, 3), rel=1e-12)
    assert relative_steps(one, 3) @ talk_probabilities(one, 3) == pytest.approx(
        talk_probabilities(one, 3).sum(), rel=1e-12
    )


# -- noise by key


@dataclass(frozen=True)
class Recording(Laplace):
    """Laplace that keeps what it draws, by the key of the stream."""

    drawn: dict = field(default_factory=dict)

    def draw(self, scale, shape, *, rng):
        noise = super().draw(scale, shape, rng=rng)
        self.drawn.setdefault(rng.bit_generator.seed_seq.spawn_key, []).append(noise)
        return noise

    @property
    def kept(self):
        return {key: np.concatenate(parts) for key, parts in self.drawn.items()}


def test_adding_an_owner_or_runs_changes_no_other_draw():
    """The k-th talk of an owner in a run carries the same noise, whoever else there is; only when it talks changes."""
    few = Recording()
    many = Recording()
    ALGORITHM.run(task(owners_of([1.0] * 3), plan(60, 0.05), runs=3, mechanism=few))
    reordered = [owners_of([1.0] * 4)[i] for i in (3, 2, 0, 1)]
    ALGORITHM.run(task(reordered, plan(60, 0.05), runs=5, mechanism=many))
    assert len(few.kept) == 9 and len(many.kept) == 20
    for key, noise in few.kept.items():
        shared = min(len(noise), len(many.kept[key]))
        assert shared > 5 and (noise[:shared] == many.kept[key][:shared]).all()


def test_adding_runs_changes_no_run():
    few, more = (
        ALGORITHM.run(task(owners_of([1.0] * 3), plan(60, 0.05), runs=runs)) for runs in (2, 5)
    )
    assert more.last[:2] == pytest.approx(few.last, rel=1e-12, abs=1e-12)


def test_runs_that_repeat_differ_only_in_scale_and_step():
    owners = [Client(name, population(50, 2, 0), np.repeat([0.5, 1.0], 4), 100) for name in NAMES]
    last = ALGORITHM.run(task(owners, plan(40, 0.05), runs=8, n_draws=2)).last
    assert last[:2] == pytest.approx(last[2:4]) and last[4:6] == pytest.approx(last[6:8])
    assert not np.isclose(last[:2], last[4:6]).any() and not np.isclose(last[0], last[1]).any()


def test_owners_of_the_same_records_cost_one_product():
    @dataclass(frozen=True)
    class Counting:
        held: SquaredStatistics
        asked: list = field(default_factory=list)
        n_records = 50
        n_parameters = 2

        def gradient(self, phi):
            self.asked.append(len(phi))
            return self.held.gradient(phi)

    shared = Counting(population(50, 2, 0))
    own = Counting(population(50, 2, 1))
    owners = [
        Client(n, h, 0.0, 1) for n, h in zip(NAMES, [shared, own, shared, shared], strict=True)
    ]
    ALGORITHM.run(task(owners, plan(30, 0.05), runs=20))
    assert (
        len(shared.asked) == 30
        and len(own.asked) <= 30
        and sum(shared.asked) + sum(own.asked) == 30 * 20
    )


@pytest.mark.parametrize("repeats", [{}, {"n_draws": 3}])
def test_one_product_of_many_owners_is_a_product_of_each(monkeypatch, repeats):
    of = task(owners_of([1.0] * 4), plan(60, 0.05, dropout=0.3), runs=7, **repeats)
    together = ALGORITHM.run(of)
    monkeypatch.setattr(asynchronous, "PER_OWNER", 0)
    alone = ALGORITHM.run(of)
    assert together.path == pytest.approx(alone.path, rel=1e-12, abs=1e-12)
    assert together.last == pytest.approx(alone.last, rel=1e-12, abs=1e-12)


def test_owners_who_answer_otherwise_are_asked_one_by_one():
    class Doubling(Client):
        def answer(self, phi, noise):
            return 2 * super().answer(phi, noise)

    owners = [Client("a", population(50, 2, 0), 0.0, 1), Client("b", population(50, 2, 1), 0.0, 1)]
    doubled, plain = (
        ALGORITHM.run(task([*owners, kind(**vars(owners[0]))], plan(30, 0.05))).last
        for kind in (Doubling, Client)
    )
    assert not np.allclose(doubled, plain)


# -- privacy


def test_one_talk_moves_and_projects_by_the_formula():
    """One owner, r = 0: theta_1 = clip((0.1, -5, 9), 0.3), theta_L = 0; the learner's next point is the mean of both.

    Two coordinates of theta_1 are projected at each of two ticks, and none of theta_L: 4 of 12.
    """
    owners = silent([SquaredStatistics(2, np.zeros((3, 3)), np.array([0.1, -5.0, 9.0]), 1.0)])
    found = ALGORITHM.run(task(owners, plan(2, 1.0), coordinates=flat(3, theta_max=0.3)))
    assert found.path.tolist() == [[0, 0, 0], [0, 0, 0], [0.05, -0.15, 0.15]]
    assert found.projected == 4 / 12


def test_the_learners_own_step_stays_in_the_ball():
    """g alone, pulling from the start (1, 1) to 0, r = 1, s = 1: theta_L = clip(-(1, 1)/2, 0.1), or 0.1/sqrt(2) each."""
    for norm, edge in ((1, -0.1), (2, -0.1 / np.sqrt(2))):
        ball = Coordinates(np.ones(2), np.eye(2), theta_max=0.1, norm=norm)
        found = ALGORITHM.run(
            task(silent([still(2, 2)]), plan(1, 1.0), coordinates=ball, regularisation=1.0)
        )
        assert (
            found.last == pytest.approx(np.full((1, 2), edge), rel=1e-12) and found.projected == 1
        )


@pytest.mark.slow
def test_level_of_noise_in_one_move():
    """One owner talking twice, no gradients: the learner's move is N s a q b times half a unit noise, variance 2 b^2."""
    scale = 0.8
    runs = 10_000
    step = 0.3
    owners = [Client(name, still(10, 2), scale, 2) for name in NAMES[:3]]
    of = task(owners, plan(2, step, rates=(1.0, 1.0, 2.0)), runs=runs, weights=[0.5, 0.3, 0.2])
    last = ALGORITHM.run(of).last
    (talks,) = asynchronous.draw_ticks(of)
    for i, factor in enumerate((4 / 3, 4 / 3, 2 / 3)):
        twice = (talks == i).all(axis=0)
        level = 2 * scale**2 * (3 * step * factor * of.weights[i] / 2) ** 2
        width = 5 * np.sqrt(
            5 / (2 * twice.sum())
        )  # kurtosis of Laplace noise is 6: variance of a square is 5 level^2
        assert np.mean(last[twice] ** 2) == pytest.approx(level, rel=width)
    assert (last[talks[0] != talks[1]] == 0).all()


def trained(owners, horizon=20, **more):
    arguments = {"runs": 3, "streams": Streams(0, "noise"), "regularisation": 0.5} | more
    return train(Task(owners, flat(3), plan(horizon, 0.05), Laplace(), **arguments))


def test_the_ledger_counts_the_talks():
    owners = owners_of([1.0, 2.0, np.inf], horizon=20)
    ledger = trained(owners).ledger
    counted = ALGORITHM.count_answers(task(owners, plan(20, 0.05), runs=3))
    assert [ledger.account(name).answered for name in "abc"] == counted and 20 <= sum(counted) < 60
    assert ledger.account("b").spent == pytest.approx(2.0 * counted[1] / 20)


def test_noise_priced_for_fewer_rounds_is_refused():
    with pytest.raises(ValueError, match="10 rounds"):
        trained(owners_of([1.0] * 3, horizon=10))


def test_who_would_overspend_is_refused_before_any_draw():
    """Each owner talks in about a third of 20 ticks, so a third training with budgets for 20 answers is one too many."""
    owners = owners_of([1.0] * 3, horizon=20)
    drawn = Recording()
    done = Ledger()
    each = ALGORITHM.count_answers(task(owners, plan(20, 0.05)))
    fits = 20 // max(each)
    for _ in range(fits):
        train(
            Task(owners, flat(3), plan(20, 0.05), drawn, runs=1, streams=Streams(0, "noise")), done
        )
    drawn.drawn.clear()
    spent = [done.account(name).answered for name in "abc"]
    with pytest.raises(BudgetExceeded):
        train(
            Task(owners, flat(3), plan(20, 0.05), drawn, runs=1, streams=Streams(0, "noise")), done
        )
    assert not drawn.drawn and spent == [done.account(name).answered for name in "abc"] == [
        fits * count for count in each
    ]


# -- how fitness depends on budgets and sizes


def slope(of, measured):
    return float(np.polyfit(np.log(of), np.log(measured), 1)[0])


def cost_of_privacy(epsilon, n):
    """Mean squared distance to the optimum, and mean excess of f: three owners, T = 100, a ball that never binds."""
    owners = owners_of([epsilon] * 3, n=n)
    fitness = Fitness(sum((o.records for o in owners[1:]), start=owners[0].records), 0.2)
    of = task(
        owners, plan(100, 0.1), runs=300, coordinates=flat(3, theta_max=1e5), regularisation=0.2
    )
    found = ALGORITHM.run(of)
    assert found.projected == 0
    squared = np.sum((found.last - fitness.minimiser) ** 2, axis=1)
    return squared.mean(), (fitness.relative(found.last) * fitness.optimum).mean()


def test_the_cost_of_privacy_falls_as_the_square_of_budgets_and_of_sizes():
    """Theorem 2 at large T, (10) and (11): slope -2 in epsilon and in n where noise dominates."""
    budgets = np.geomspace(0.01, 0.16, 5)
    sizes = np.array([500, 1000, 2000, 4000, 8000])
    by_budget = np.array([cost_of_privacy(epsilon, 500) for epsilon in budgets])
    by_size = np.array([cost_of_privacy(0.01, int(n)) for n in sizes])
    for column in (0, 1):
        assert slope(budgets, by_budget[:, column]) == pytest.approx(-2, abs=0.05)
        assert slope(sizes, by_size[:, column]) == pytest.approx(-2, abs=0.05)


def test_nobody_answers_more_often_than_its_budget_covers():
    """Budgets split over the talks that are hardly ever exceeded: who has given them falls silent, in every run."""
    how = plan(400, 1e-3, rates=(1.0, 6.0))
    most = covered_talks(how.clocks, 2, 400)
    assert 6 / 7 * 400 < most < 400
    assert covered_talks(replace(how.clocks, priced="horizon"), 2, 400) == 400
    pair = [Client(name, population(50, 2, seed), 0.5, most) for seed, name in enumerate("ab")]
    for few in (most, 30):
        of = task(pair, replace(how, answers=few), runs=40)
        counts = ALGORITHM.count_answers(of)
        assert max(counts) <= few
    assert counts == [30, 30]


def test_budgets_split_over_talks_buy_less_noise_and_are_kept():
    """Training through the one way in: the ledger never passes what was priced, and an owner priced for less refuses."""
    how = plan(200, 1e-3)
    most = covered_talks(how.clocks, 3, 200)
    assert most < 100
    records = [population(50, 2, seed) for seed in range(3)]
    owners = make_clients("abc", records, [1.0] * 3, Laplace(), 4.0, most)
    assert owners[0].scale == pytest.approx(2 * 4.0 * most / 50)
    found = train(
        Task(
            owners,
            flat(2, 5.0),
            replace(how, answers=most),
            Laplace(),
            runs=20,
            streams=Streams(1, "noise"),
        )
    )
    assert all(one.remaining >= 0 for one in found.ledger.accounts)
    with pytest.raises(ValueError, match="answers no training of 200"):
        train(Task(owners, flat(2, 5.0), how, Laplace(), runs=2, streams=Streams(1, "noise")))
