"""The thesis's games with their payoffs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from market.costs.functions import Exponential
from market.game.game import Game
from market.game.owners import Owners
from market.policies.thesis import ThesisGain, ThesisLeakage, ThesisUtility
from market.policies.thesis_loss import ThesisLoss

GAMES: dict[str, type] = {
    "leakage": ThesisLeakage,
    "utility": ThesisUtility,
    "gain": ThesisGain,
    "loss": ThesisLoss,
}


def thesis_game(
    kind: str,
    sizes: Any,
    *,
    n_owners: int = 4,
    epsilon: Sequence[float] = (0.001, 5.0),
    **parameters: Any,
) -> Game:
    """A game of the thesis: payoffs are ``share * w * bought(epsilon) - e^epsilon``, or of 4.2.

    Parameters
    ----------
    kind : "leakage" (equation 4.1), "utility" (4.2), "gain" (4.2 through any channel), or "loss"
        (section 4.2, where leakage stands against the predicted loss and nothing against both)
    sizes : (n_owners,), records; or one number for all ``n_owners``
    n_owners : int, used with one number only
    epsilon : (lowest, highest) budget of every owner
    **parameters : of the policy, such as ``weight="printed"``

    Raises
    ------
    ValueError
        An unknown kind.
    """
    if kind not in GAMES:
        raise ValueError(f"kind must be one of {', '.join(GAMES)}; found {kind!r}")
    shape = np.shape(sizes) or (n_owners,)
    names = tuple(f"owner {number + 1}" for number in range(shape[0]))
    # Together cost and fixed cost are e^epsilon; section 4.2 has none.
    scale = float(kind != "loss")
    columns = np.broadcast_to(np.asarray(sizes, dtype=float), shape)
    low, high = epsilon
    owners = Owners(names, columns, low, high, Exponential(scale), fixed_cost=scale)
    return Game(owners, GAMES[kind](**parameters), None, 0.0)
