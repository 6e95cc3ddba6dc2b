"""An encoder as plain facts, and back: what a model and a contract say of how rows are coded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from learning.data.coding import CategoryCoder
from learning.data.encoding import Categories, Components, Encoder, Numbers, Target


def described(encoder: Encoder) -> dict[str, Any]:
    """The facts of an encoder, as dicts, lists, texts and numbers."""
    coder, parts, numbers = encoder.categories.coder, encoder.components, encoder.numbers
    ranges = {name: getattr(numbers, name).tolist() for name in ("low", "high", "fill")}
    return {
        "target": asdict(encoder.target),
        "numbers": {"names": list(numbers.names), **ranges},
        "categories": {
            "names": list(coder.names),
            "categories": [one.tolist() for one in coder.categories],
            "places": coder.places,
        },
        "components": None if parts is None else {name: array.tolist() for name, array in asdict(parts).items()},
        "constant_columns": list(encoder.dropped),
        "mean": encoder.mean.tolist(),
    }


def encoder_of(content: Mapping[str, Any]) -> Encoder:
    """The encoder that some facts describe; a KeyError or TypeError if they are no such facts."""
    target = {name: value for name, value in content["target"].items() if name != "labels"}
    numbers, coded, parts = content["numbers"], content["categories"], content["components"]
    ranges = (np.array(numbers[name], dtype=float) for name in ("low", "high", "fill"))
    categories = tuple(np.array(one, dtype=object) for one in coded["categories"])
    return Encoder(
        Numbers(tuple(numbers["names"]), *ranges),
        Categories(CategoryCoder(tuple(coded["names"]), categories, coded["places"])),
        Target(**target),
        tuple(content["constant_columns"]),
        None if parts is None else Components(**{name: np.array(values) for name, values in parts.items()}),
        np.array(content["mean"]),
    )
