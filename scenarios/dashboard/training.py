"""Training where a market has settled, beside a page that stays alive: what was asked, how far it is, what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from learning.progress import Progress
from learning.threads import one_blas_thread
from scenarios.dashboard.rounds import Played
from scenarios.drivers.market import train_market
from scenarios.planning import Prepared
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.runner import result_of


@dataclass(frozen=True)
class Training:
    """One training, or none yet.

    Parameters
    ----------
    of: the market that is trained at; None before any was asked for.
    stage, share: where the work is, and how much of that stage is done.
    result: what a run of the same scenario would have in result.json; None until it is there.
    error: why there is none; empty where there was no fault.
    """

    of: Played | None = None
    stage: str = ""
    share: float = 0.0
    result: Mapping[str, Any] | None = None
    error: str = ""

    @property
    def under_way(self) -> bool:
        """Whether the work is not done yet."""
        return self.of is not None and self.result is None and not self.error


@one_blas_thread()
def train(played: Played, progress: Progress) -> Mapping[str, Any]:
    """Train at the end of a market and check the forecast, as ``dpmarket run`` does.

    Returns
    -------
    dict
        What result.json of such a run would hold.
    """
    run = played.run
    planner = replace(run.planner, inputs=replace(run.planner.inputs, progress=progress))
    progress("training at the equilibrium")
    trained = train_market(
        run.scenario, Prepared(run.data, planner), run.game, run.equilibrium, training=True
    )
    progress("checking the forecast")
    return result_of(trained).content


def verdict(result: Mapping[str, Any]) -> list[tuple[str, bool, str]]:
    """What training says of the forecast, of the error and of the money: a heading, whether it agrees, and the sentence."""
    checked = result["validation"]
    error = " ".join(
        [
            _begun(render_phrase("model", "training_outcome", result)),
            *render_lines("model", "reasons", result),
        ]
    )
    money = (
        f"{render_phrase('buying', 'as_measured', result)} "
        f"{render_phrase('buying', 'as_promised', result)}"
    )
    return [
        ("The error", checked["agrees"], error),
        ("The money", checked["agrees_on_money"], money),
    ]


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
