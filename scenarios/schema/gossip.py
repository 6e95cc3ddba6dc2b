"""The [learning.gossip] table: the graph that answers reach the learner on."""

from __future__ import annotations

from typing import Annotated, Any

from learning.declaration import Count
from scenarios.schema.fields import Section
from scenarios.schema.kinds import NamedTable


class Gossip(Section):
    """The way of answers along a graph to the learner, its last node and called "learner": in each
    round all nodes average what they hold with those that they see."""

    rounds: Count
    """Rounds of averages for each answer, as many as there are links to the farthest owner or
    more."""
    graph: Annotated[Any, NamedTable("learning.gossip.graph")]
    """The graph of owners and learner, connected; a link passes answers on either way."""
