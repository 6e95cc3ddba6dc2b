"""What training in a market is compared with: no noise, one party with everything, owners alone, and each as learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.data.owner_data import OwnerData
from learning.losses.loss import Loss
from learning.losses.together import together
from learning.privacy.mechanism import Mechanism
from learning.training.client import Client, make_clients
from learning.training.engine import Trained, train, untrained
from learning.training.task import Task


def without_noise(owners: Sequence[Client]) -> tuple[Client, ...]:
    """The same owners answering exactly, epsilon = inf: nothing private is left, and nothing is claimed."""
    return tuple(replace(owner, scale=0.0, epsilon=np.inf) for owner in owners)


def as_learner(owners: Sequence[Client], index: int) -> tuple[Client, ...]:
    """The owners as one of them sees them when it is the learner: its own records exactly, the others' answers as sold.

    Source: Wu et al., The Value of Collaboration, section V.

    >>> from learning.losses.squared import squared_statistics
    >>> pair = [Client(name, squared_statistics(np.eye(2), np.ones(2)), 1.0, 9, 0.5) for name in "ab"]
    >>> [owner.scale for owner in as_learner(pair, 1)]
    [1.0, 0.0]
    """
    one = without_noise([owners[index]])
    return (*owners[:index], *one, *owners[index + 1 :])


def own_models(records: Sequence[OwnerData], loss: Loss, regularisation: float = 0.0) -> Array:
    """The model that each owner could train alone, (n_owners, p): the best one on its own records, as they are.

    Alone nobody clips, adds noise or counts rounds. How good it is shows on the records of all: a model fitted to one kind
    of records may be far off on others.

    Source: Farokhi et al., The Cost of Privacy, Fig. 10.
    """
    return loss.fit_each([(owner.x, owner.y) for owner in records], regularisation)


def central(
    owners: Sequence[Client],
    epsilon: float,
    mechanism: Mechanism,
    gradient_bound: float,
    horizon: int,
    growth: float = 1.0,
) -> Client:
    """One party holding all records under one budget: central differential privacy, which no owner need agree to.

    Its noise is scaled to all n records, so at equal budgets its power is N times below that of N equal owners.

    Parameters
    ----------
    owners : whose records are held together.
    epsilon : its budget.
    horizon : rounds it is split over.
    growth : each round's share of it over that of the one before.
    """
    records = together([owner.records for owner in owners])
    return make_clients(["all together"], [records], [epsilon], mechanism, gradient_bound, horizon, growth=growth)[0]


def baselines(task: Task, epsilon: float, records: Sequence[OwnerData]) -> dict[str, list[Trained]]:
    """Every baseline: those that answer queries trained with the plan of the market, owners alone at their own optimum.

    Parameters
    ----------
    task: the training of the market.
    epsilon: budget of the central party, such as the mean of the owners'.
    records: of the same owners, not clipped.

    Returns
    -------
    dict : "non-private" (all exact), "central" (one party holding all), each a list of one; "isolated" (each owner alone,
        `own_models`, in one run) and "owner as learner" (each owner with its own records exact and the others' answers), in
        the owners' order.
    """

    def trained(owners: Sequence[Client], weights: ArrayLike | None = None) -> Trained:
        return train(replace(task, owners=owners, weights=weights))

    owners, weights = task.owners, task.weights
    alone = central(owners, epsilon, task.mechanism, task.coordinates.noise_bound, task.plan.priced, task.plan.growth)
    own = own_models(records, task.coordinates.loss, task.regularisation)
    return {
        "non-private": [trained(without_noise(owners), weights)],
        "central": [trained([alone])],
        "isolated": [untrained(theta, task.plan, runs=1) for theta in own],
        "owner as learner": [trained(as_learner(owners, i), weights) for i in range(len(owners))],
    }


@dataclass(frozen=True)
class Baseline:
    """The same training with one thing changed, to compare a market's with.

    Parameters
    ----------
    says: what is changed, in a few words of a report.
    change: makes of the market's training the one that it is compared with.
    """

    says: str
    change: Callable[[Task], Task]


def averaged(task: Task, alike: bool) -> Task:
    """The same owners' answers, or models, weighed all alike or by their records, with the noise that goes with it.

    Under a paper's own noise ("printed") that is its formula for either: sigma^2 = c G^2 T ln(1/delta)/(n^2 epsilon^2) by
    records, and over (m n_(1))^2 all alike; any other noise is the owner's own, whatever it counts.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, (2), (3) and Table 1.
    """
    noise = task.mechanism.averaging(alike)
    bound = task.coordinates.noise_bound

    def repriced(owner: Client) -> Client:
        scale = noise.scale([owner.epsilon or np.inf], [owner.records.n_records], bound, owner.horizon)
        return replace(owner, scale=float(scale[0]))

    owners = task.owners if noise is task.mechanism else tuple(map(repriced, task.owners))
    return replace(task, owners=owners, mechanism=noise, weights=np.ones(len(owners)) if alike else None)


def centralised(task: Task) -> Task:
    """One party with all records, under the mean of the owners' budgets."""
    epsilon = float(np.mean([owner.epsilon for owner in task.owners]))
    one = central(
        task.owners, epsilon, task.mechanism, task.coordinates.noise_bound, task.plan.priced, task.plan.growth
    )
    return replace(task, owners=(one,), weights=None)


BASELINES = {
    "weighted": Baseline("weighed by records", lambda task: averaged(task, alike=False)),
    "plain": Baseline("all weighed alike", lambda task: averaged(task, alike=True)),
    "central": Baseline("one party with all records", centralised),
    "nonprivate": Baseline("no noise", lambda task: replace(task, owners=without_noise(task.owners))),
}
