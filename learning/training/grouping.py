"""Owners averaged as one: a group answers with the mean of its members' answers, and every member is charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from learning.losses.together import Joint
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client, Noise


@dataclass(frozen=True)
class Group(Client):
    """Owners that are always asked together and averaged: one fictitious owner. Made by `grouped`."""

    members: tuple[Client, ...] = field(default=(), repr=False)

    @property
    def as_sold(self) -> Client:
        """The same group of honest members."""
        return replace(self, members=tuple(one.as_sold for one in self.members))

    @property
    def asked(self) -> tuple[Client, ...]:
        """Its members: a group has no budget of its own."""
        return self.members

    def noise(self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None) -> Noise:
        """Where its members' noise is drawn from, each scaled to its share of the records."""
        parts = [
            (scale * (owner.records.n_records / self.records.n_records), sources)
            for owner in self.members
            for scale, sources in owner.noise(mechanism, runs, streams, n_draws).parts
        ]
        return Noise(mechanism, (runs, self.records.n_parameters), n_draws or runs, parts, self.relative(mechanism))


def grouped(owners: Sequence[Client], groups: Sequence[Sequence[int]]) -> tuple[Client, ...]:
    """Owners averaged group by group: each group answers with the record-weighted mean of its members' answers.

        answer = sum_{i in group} (n_i/n_group) answer_i,    scale = sqrt(sum (n_i/n_group)^2 b_i^2).

    Members keep their own noise, by their own key and scale, and answer whenever their group talks. Clocks, weights and
    the N of the steps are then those of the groups.

    Parameters
    ----------
    owners : who answers.
    groups : numbers of the owners of each group; every owner in one of them.

    Returns
    -------
    One Client per group, in order; a group of one is that owner itself.

    Raises
    ------
    ValueError
        If an owner is in no group or in several, or a group is empty.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Remark 2 (how to average is left open there).
    """
    if sorted(i for group in groups for i in group) != list(range(len(owners))) or not all(len(g) for g in groups):
        raise ValueError(f"every one of {len(owners)} owners must be in one group, and no group empty; got {groups}")
    return tuple(_joined([owners[i] for i in group]) for group in groups)


def _joined(members: Sequence[Client]) -> Client:
    """The members as one."""
    if len(members) == 1:
        return members[0]
    records = Joint(tuple(owner.records for owner in members))
    parts = [(owner.records.n_records / records.n_records * np.asarray(owner.scale)) ** 2 for owner in members]
    scale = np.sqrt(np.asarray(sum(parts), dtype=float))
    horizon = min((owner.horizon for owner in members if not owner.silent), default=members[0].horizon)
    name = " + ".join(owner.name for owner in members)
    one = float(scale) if scale.ndim == 0 else scale
    return Group(name, records, one, horizon, growth=members[0].growth, members=tuple(members))
