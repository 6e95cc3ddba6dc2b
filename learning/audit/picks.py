"""Records that SGD1 picks: uniform over all, and independent from round to round and from run to run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln, ndtri

from learning.arrays import Array
from learning.audit.dependence import compare_pairs, compare_rounds
from learning.audit.verdicts import SingleTest, count_test

BINS = 20  # of equally many records, by their number


def compare_picks(picks: Array, records: int) -> Iterator[SingleTest]:
    """Test picks (rounds, runs) among so many records: how often each part is picked, in which order, and how often again.

    A pick and a uniform number inside it make a number that is uniform, whatever the number of records.
    """
    inside = np.random.default_rng(records).random(picks.shape)
    uniform = np.where(picks < 0, np.nan, (picks + inside) / records)
    known = uniform[np.isfinite(uniform)]
    for part in range(BINS):
        count = int(((known >= part / BINS) & (known < (part + 1) / BINS)).sum())
        yield count_test("", count, len(known), 1 / BINS)
    scores = ndtri(np.clip(uniform, 1e-16, 1 - 1e-16))
    yield from compare_rounds([("", scores[:, :, None])])
    yield from compare_rounds([("", scores.T[:, :, None])])
    yield from compare_pairs([("", scores.T[:, None, :])])
    yield from _met_again(picks, records)


def _met_again(picks: Array, records: int) -> Iterator[SingleTest]:
    """Test that some record is picked twice in some run, unless that is as likely as not to happen to nobody."""
    rounds, runs = picks.shape
    again = sum(rounds - len(np.unique(run)) for run in picks.T)
    none = -np.inf
    if rounds <= records:
        none = runs * float(gammaln(records + 1) - gammaln(records - rounds + 1) - rounds * np.log(records))
    chance = 1.0 if again else float(np.exp(none))
    yield SingleTest("", float(again), chance, lambda each: 0.0 if none < np.log(each) else -1.0)
