"""The losses, by their names in scenario files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from learning.losses.loss import Loss
from learning.losses.margin import Hinge, Logistic
from learning.losses.network import Network, NetworkSquared
from learning.losses.squared import Squared

DEFAULT = Squared.name
_KNOWN = (Squared(), Hinge(), Logistic(), Network(), NetworkSquared())
LOSSES: dict[str, Loss] = {loss.name: loss for loss in _KNOWN}


def make_loss(name: str, **given: Any) -> Loss:
    """Make the loss of a name with those given parameters that it has; None keeps a default.

    >>> make_loss("network", hidden=3).hidden, make_loss("hinge", hidden=3)
    (3, Hinge())
    """
    loss = LOSSES[name]
    own = {name: given[name] for name in loss.parameters if given.get(name) is not None}
    return replace(loss, **own) if own else loss


def as_loss(loss: Loss | str) -> Loss:
    """Return a loss, or the one of a name."""
    return LOSSES[loss] if isinstance(loss, str) else loss
