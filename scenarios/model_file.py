"""model.json: a trained model as text, and back; public facts and parameters, no record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from learning.canonical import read_bytes
from learning.data.encoding import read_encoder
from learning.data.fitting import describe_encoder
from learning.errors import InputError
from learning.losses.loss import Fresh
from learning.losses.losses import LOSSES, make_loss
from learning.training.model import Model

MODEL = "model.json"
SCHEMA = 1


@dataclass(frozen=True)
class HandedOver:
    """A model, and what has to be said with it.

    Parameters
    ----------
    model: the model of the first training; or the learner's own, where nobody was asked.
    labels: what the target's -1 and +1 stand for in the table; None where it is a number.
    asked: the owners whose answers it was made from.
    claims: for each of them that added noise, its claim against whoever sees most. The model is
        computed from answers and public facts alone, so that the claims hold of it too
        (post-processing).
    basis: what its plan was made from: public rows, or the records themselves ("oracle"), which no
        claim covers.
    holdout: its error on rows that nobody trained on, or None.
    """

    model: Model = field(repr=False)
    labels: tuple[str, str] | None
    asked: tuple[str, ...] = field(repr=False)
    claims: tuple[Mapping[str, Any], ...] = field(repr=False)
    basis: str
    holdout: Mapping[str, Any] | None = None

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The owners that answered without noise: nothing is claimed for them."""
        claimed = {claim["party"] for claim in self.claims}
        return tuple(name for name in self.asked if name not in claimed)


def try_model(model: Model, fresh: Fresh) -> dict[str, Any]:
    """A model's error on rows that nobody trained on."""
    measure = {True: "error", False: "mse"}[model.loss.labels]
    return {"records": fresh.n_records, measure: fresh.error(model.loss, model.theta[None])}


def to_json(made: HandedOver) -> str:
    """The text of model.json; every number to the last bit."""
    loss = made.model.loss
    columns = describe_encoder(made.model.encoder)
    content = {
        "schema": SCHEMA,
        "loss": {"name": loss.name} | asdict(loss),
        **columns,
        "target": columns["target"] | {"labels": made.labels},
        "theta": made.model.theta,
        "asked": made.asked,
        "claims": made.claims,
        "basis": made.basis,
        "holdout": made.holdout,
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, default=np.ndarray.tolist)
    return text + "\n"


def from_json(path: Path) -> HandedOver:
    """The model that a file holds.

    Raises
    ------
    InputError
        If it is not whole, of a later schema, or of a loss that is not known here.
    """
    try:
        content = json.loads(read_bytes(path))
        if content["schema"] != SCHEMA or content["loss"]["name"] not in LOSSES:
            found = f"schema {content['schema']!r:.20}, loss {content['loss']['name']!r:.40}"
            rule = f"must have schema {SCHEMA} and a known loss"
            raise InputError(str(path), rule, found)
        labels = content["target"]["labels"]
        encoder = read_encoder(content)
        model = Model(encoder, make_loss(**content["loss"]), np.array(content["theta"]))
        asked = tuple(content["asked"])
        said = (asked, tuple(content["claims"]), content["basis"], content["holdout"])
        return HandedOver(model, labels and tuple(labels), *said)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        rule = "must be a whole model"
        raise InputError(
            str(path), rule, "one that is damaged", "Run the scenario again."
        ) from None
