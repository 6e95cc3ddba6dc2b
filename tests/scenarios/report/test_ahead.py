"""What `check` tells of a run before it is run: what it does, what leaves each owner, how long it takes."""

from functools import cache

import pytest
from commands import INSURERS

from scenarios.duration import expected_seconds
from scenarios.schema.loading import load
from scenarios.tables.dataset import market_data

GAUSSIAN = ("learning.mechanism=gaussian", "learning.delta=1e-6")


@pytest.mark.parametrize(
    ("changes", "said", "unsaid"),
    [
        (
            (),
            ("From 60 public rows, a run forecasts the model", "by an exact formula", "trained 5 times", "under Laplace noise, 10 numbers each time",
             "chooses and sells one epsilon between 0.1 and 10. It limits", "reveal about any one record. No record leaves its owner."),
            ("delta", "paper's formula", "report"),
        ),
        (("learning.algorithm=adassp", *GAUSSIAN), ("by rehearsing", "delta = 1e-6", "answers once"), ("each time",)),
        (("learning.accounting=printed", "learning.algorithm=weighted", "learning.regularisation=0.1", *GAUSSIAN),
         ("limits, by a paper's formula (the run computes the guarantee of this noise), what all its answers together",), ()),
        (("learning.theta_max=none", "learning.gradient_bound=3"),
         ("limits, if no record's gradient is larger than the 3 given (the run computes the guarantee of this noise),",), ()),
        (("owners.report=0.05",), ("0.05 of it on a report of its losses",), ()),
        (("learning.mechanism=best", "learning.delta=1e-6"), ("with the kind of noise that has the smallest forecast error",), ()),
        (("learning.mechanism=best", "learning.algorithm=best"),
         ("rehearses 4 protocols", "averaged, sgd2, adassp or one_step asks for, whichever algorithm has the smallest forecast error"), ("delta",)),
    ],
)  # fmt: skip
def test_what_leaves_each_owner_is_told(dpmarket, write, changes, said, unsaid):
    options = [part for change in changes for part in ("--set", change)]
    status, out, err = dpmarket("check", write(scenario=INSURERS), *options)
    told = " ".join(out.split())
    assert (status, err) == (0, "") and all(words in told for words in said), told
    assert not any(words in told.split("Owners,")[0] for words in unsaid), told


def test_what_takes_longer_is_said_to(write):
    path = write(scenario=INSURERS)

    @cache
    def seconds(*changes):
        scenario = load(path, changes)
        return expected_seconds(scenario, market_data(scenario), 1.0)

    labels = (
        "data.target=hlthf",
        "data.bounds={}",
        "learning.loss=logistic",
        "learning.regularisation=0.1",
    )
    plain = seconds()
    assert 1 < plain < 10
    for changes in [
        ("validation.runs=100000",),
        labels,
        ("learning.algorithm=asynchronous", "learning.regularisation=1"),
    ]:
        assert seconds(*changes) > plain
    rehearsed = seconds(*labels)
    assert seconds(*labels, "learning.horizon=1000") > rehearsed + 0.5
    assert seconds(*labels, "data.public_rows=600") > rehearsed + 0.5


@pytest.mark.parametrize(
    ("ball", "said"), [("none", "given: none is proved, and no epsilon"), ("2", "is proved")]
)
def test_a_forecast_says_what_its_noise_is_scaled_to(dpmarket, write, ball, said):
    options = ("--set", f"learning.theta_max={ball}", "--set", "learning.gradient_bound=0.5")
    status, out, _ = dpmarket("forecast", write(scenario=INSURERS), "--epsilon", "1", *options)
    assert status == 0 and f"Xi = 0.5, given: {said}".partition(": ")[0] in out and said in out
