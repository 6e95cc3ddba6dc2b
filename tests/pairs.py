"""Every loss under every algorithm: a table on disk and the scenario of each pair."""

import numpy as np
import pytest

from learning.errors import InputError
from scenarios.runner import run
from scenarios.schema.loading import load

OWNERS = 3
RECORDS = 300
PUBLIC = 120


BASE = """
title = "Everything"
seed = 5
[data]
path = "{file}"
target = "{target}"
split = [300, 300, 300]
names = ["Ash", "Birch", "Cedar"]
public_rows = 120
[learning]
algorithm = "averaged"
[owners]
epsilon = [2.0, 20.0]
[owners.cost]
kind = "linear"
price = [1.0, 2.0, 3.0]
[policy]
kind = "proportional"
budget = 100.0
[learner]
value = 1000.0
[market]
starts = 1
[validation]
runs = 6
"""


# rounds, step: few and short, but for algorithms whose steps are divided by T^2 or that ask one
# owner at a time
PLANS = {
    "synchronous": (4, 4.0),
    "averaged": (4, 0.3),
    "sgd2": (4, 0.3),
    "weighted": (4, 0.3),
    "asynchronous": (30, 60.0),
    "sgd1": (60, 0.05),
    "newton": (2, 0.5),
}


def laid(place):
    """A table of numbers and labels, with enough rows for owners, public sample and a few over."""
    rng = np.random.default_rng(12)
    x = rng.uniform(-1, 1, (OWNERS * RECORDS + PUBLIC + 30, 3))
    score = x @ np.array([1.5, -1.0, 0.5]) + 0.2
    amount = np.clip(score + 0.5 * rng.normal(size=len(x)), -4, 4)
    label = np.where(rng.random(len(x)) < 1 / (1 + np.exp(-3 * score)), "yes", "no")
    for name, target in (("amount", amount), ("label", label)):
        rows = "\n".join(
            f"{a:.6f},{b:.6f},{c:.6f},{t}" for (a, b, c), t in zip(x, target, strict=True)
        )
        (place / f"{name}.csv").write_text(f"a,b,c,{name}\n{rows}\n")
        (place / f"{name}.toml").write_text(BASE.format(file=f"{name}.csv", target=name))
    return place


def scenario(folder, loss="squared", algorithm="averaged", *changes, free=False):
    """The scenario of one loss and algorithm; horizon and step are fixed unless ``free``."""
    keys = [f"learning.loss={loss}", f"learning.algorithm={algorithm}"]
    if loss == "squared":
        keys.append("data.bounds.amount=[-4, 4]")
    if loss != "squared" or algorithm == "asynchronous":
        keys.append("learning.regularisation=0.05")
    if loss == "network":
        keys.append("learning.hidden=2")
    if algorithm in ("sgd1", "adassp", "one_step"):
        keys += ["learning.mechanism=gaussian", "learning.delta=1e-4"]
    if algorithm == "newton":
        keys += ["learning.mechanism=l2", "learning.clipping=record"]
    if not free and algorithm not in ("adassp", "one_step"):
        horizon, step = PLANS[algorithm]
        keys += [
            f"learning.horizon={horizon}",
            f"learning.step_size={step}",
            "learning.returned=last",
        ]
    return load(folder / ("amount.toml" if loss == "squared" else "label.toml"), [*keys, *changes])


def refused(folder, *args, **kwargs):
    """The one line that a scenario is refused with, at the latest when it runs."""
    with pytest.raises(InputError) as error:
        run(scenario(folder, *args, **kwargs))
    assert "\n" not in str(error.value)
    return str(error.value)
