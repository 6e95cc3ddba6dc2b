"""The losses, by the names that scenario files use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from learning.losses.hinge import Hinge
from learning.losses.logistic import Logistic
from learning.losses.loss import Loss
from learning.losses.network import Network
from learning.losses.squared import Squared

DEFAULT = Squared.name  # where a scenario names none
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Squared(), Hinge(), Logistic(), Network())}


def make_loss(name: str, **given: Any) -> Loss:
    """The loss of that name with those of the given parameters that it has; None leaves one at its default.

    >>> make_loss("network", hidden=3).hidden, make_loss("hinge", hidden=3)
    (3, Hinge())
    """
    loss = LOSSES[name]
    own = {name: given[name] for name in loss.parameters if given.get(name) is not None}
    return replace(loss, **own) if own else loss


def as_loss(loss: Loss | str) -> Loss:
    """A loss, or the one of that name."""
    return LOSSES[loss] if isinstance(loss, str) else loss
