"""The least scenario that is one, and what is told of a bad one, for tests of scenario files."""

import pytest

from learning.errors import InputError
from scenarios.schema.loading import load

MINIMAL = """
[data]
path = "claims.csv"
target = "cost"
split = [10, 20]
[owners]
epsilon = [0.5, 2]
[owners.cost]
kind = "linear"
price = 1
[policy]
kind = "posted"
price = 2
[learner]
value = 100
"""
GAUSSIAN = ("learning.mechanism=gaussian", "learning.delta=1e-6")
SGD1 = ("learning.algorithm=sgd1", *GAUSSIAN)
ADASSP = ("learning.algorithm=adassp", *GAUSSIAN)
CLOCKS = ("learning.algorithm=asynchronous", "learning.regularisation=1e-5")
HINGE = ("learning.loss=hinge", "learning.regularisation=0.01")
LOGISTIC = ("learning.loss=logistic", "learning.regularisation=0.01")


def message(source: object, overrides: tuple[str, ...] = ()) -> str:
    with pytest.raises(InputError) as caught:
        load(source, overrides)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text and "\r" not in text
    return text
