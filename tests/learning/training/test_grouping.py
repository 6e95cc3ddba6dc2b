"""Groups: owners that answer as one, whose noise, charges and promises stay their own."""

import numpy as np
import pytest
from clocked import owners_of, plan, population, silent, still, task

from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Ledger
from learning.randomness import Streams
from learning.training import asynchronous
from learning.training.asynchronous import Asynchronous
from learning.training.client import Client, Group, group_owners
from learning.training.engine import charge_training

ALGORITHM = Asynchronous()


def test_all_owners_in_one_group_are_one_owner():
    """Without noise, one group of all is a single owner that holds all the records, of the mean that goes by records."""
    held = [population(n, 3, n) for n in (30, 60, 90)]
    group = group_owners(silent(held), [[2, 0, 1]])
    single = silent([held[0] + held[1] + held[2]])
    found = [
        ALGORITHM.run(task(owners, plan(50, 0.1), regularisation=0.3)).path
        for owners in (group, single)
    ]
    assert group[0].records.n_records == 180 and found[0] == pytest.approx(
        found[1], rel=1e-12, abs=1e-14
    )


def test_groups_of_one_change_nothing():
    owners = owners_of([1.0, 2.0, np.inf])
    assert group_owners(owners, [[0], [1], [2]]) == owners


@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(1e-6)])
def test_members_of_a_group_keep_their_noise(mechanism):
    """A group's answer is the record-weighted mean of its members' answers, talk for talk and run for run."""
    held = [population(n, 2, n) for n in (30, 90)]
    scales = [np.array([0.5, 1.0, 0.0]), 2.0]
    members = [Client(n, h, s, 40) for n, h, s in zip("ab", held, scales, strict=True)]
    (group,) = group_owners(members, [[0, 1]])
    streams = Streams(3, "noise")
    phi = np.random.default_rng(0).normal(size=(3, 2))
    drawn = group.noise(mechanism, 3, streams).take(4)
    own = [m.noise(mechanism, 3, streams).take(4) for m in members]
    for k in range(4):
        expected = 0.25 * members[0].answer(phi, own[0][k]) + 0.75 * members[1].answer(
            phi, own[1][k]
        )
        assert group.answer(phi, drawn[k]) == pytest.approx(expected, rel=1e-12)
    assert (
        group.scale == pytest.approx(np.hypot(0.25 * scales[0], 0.75 * scales[1]))
        and not group.silent
    )
    of = task([group, silent(held)[0]], plan(30, 0.1), runs=3, mechanism=mechanism)
    last = ALGORITHM.run(of).last
    (talks,) = asynchronous.draw_ticks(of)
    for run in range(3):
        assert last[run] == pytest.approx(
            walked_by_hand(of, talks[:, run], run), rel=1e-12, abs=1e-13
        )


def walked_by_hand(of, talks, run):
    """The walk of one run whose noise is taken from `Noise.take`, talk after talk."""
    noise = [n.take(int((talks == i).sum()))[:, run] for i, n in enumerate(of.noises())]
    taken = [0, 0]
    learner = np.zeros(2)
    copies = np.zeros((2, 2))
    s = of.plan.step_size / of.plan.horizon**2
    for i in talks:
        m = (learner + copies[i]) / 2
        copies[i] = m - 2 * s * of.weights[i] * of.owners[i].answer(m[None], noise[i][taken[i]])[0]
        learner, taken[i] = m, taken[i] + 1
    return learner


def test_every_member_is_asked_and_charged_when_its_group_talks():
    owners = owners_of([1.0, 2.0, np.inf, 3.0], horizon=20)
    fictitious = group_owners(owners, [[0, 2], [1], [3]])
    asked = task(fictitious, plan(20, 0.05))
    ledger = Ledger()
    counts = ALGORITHM.count_answers(asked)
    charge_training(asked, counts, ledger)
    assert [ledger.account(name).answered for name in "acbd"] == [counts[0], *counts] and sum(
        counts
    ) == 20
    assert [one.budget.owner for one in ledger.accounts] == ["a", "c", "b", "d"]


def test_a_group_answers_for_as_long_as_each_of_its_members():
    members = [
        Client(n, still(5, 2), b, h)
        for n, b, h in zip("abc", (1.0, 1.0, 0.0), (30, 10, 1), strict=True)
    ]
    (group,) = group_owners(members, [[0, 1, 2]])
    assert isinstance(group, Group) and group.horizon == 10 and group.name == "a + b + c"
    assert group_owners(members[2:] * 2, [[0, 1]])[0].silent


@pytest.mark.parametrize("groups", [[[0, 1]], [[0, 1], [1, 2]], [[0, 1, 2], []], [[0, 1, 3]]])
def test_groups_hold_every_owner_once(groups):
    with pytest.raises(ValueError, match="every one of 3 owners"):
        group_owners(owners_of([1.0] * 3), groups)
