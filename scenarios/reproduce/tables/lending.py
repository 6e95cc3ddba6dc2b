"""Loans of Lending Club: the yearly interest rate from what was known at the time of the loan (VC IV-A, AS V-A).

The papers' model is y = theta'x without a constant, and they hand owners the eigenvectors of the last 10,000 entries. We
standardise the columns over these entries before components are taken (the papers do not say; unscaled, incomes alone would
make the components), and count rates from their mean there: a model without a constant cannot otherwise meet the mean
rate, and relative fitness would measure that and little else.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scenarios.reproduce.item import Setting
from scenarios.reproduce.tables import files
from scenarios.reproduce.tables.generated import Shape, amount, count, generated, kinds, number, places
from scenarios.reproduce.tables.records import Cells, Recipe

FILES = ("loan.csv", "loans_2007_2014.csv")
TARGET = "int_rate"
PUBLIC, COMPONENTS = 10_000, 10
WHOLE, QUICK = 780_000, 130_000  # rows of a stand-in, for three owners of 250,000 as in the papers; where time is short
# Left out: identifiers, addresses of pages, free text, what was known only later, and the instalment, from which the rate
# follows. The subset has some columns under other names or coarser.
FEATURES = (
    "loan_amnt",
    "term",
    "grade",
    "sub_grade",
    "emp_length",
    "home_ownership",
    "annual_inc",
    "verification_status",
    "purpose",
    "addr_state",
    "dti",
    "payment_inc_ratio",
    "delinq_2yrs",
    "delinq_2yrs_zero",
    "inq_last_6mths",
    "open_acc",
    "pub_rec",
    "pub_rec_zero",
    "revol_bal",
    "revol_util",
    "total_acc",
)
RECIPE = Recipe(TARGET, FEATURES, components=COMPONENTS, constant=False)
SHAPE = Shape(
    {
        "loan_amnt": amount(12_000, 0.6),
        "term": kinds(**{"36_months": 0.72, "60_months": 0.28}),
        "grade": kinds(A=0.18, B=0.3, C=0.25, D=0.15, E=0.08, F=0.03, G=0.01),
        "emp_length": number(6, 3.5, 0, 11),
        "home_ownership": kinds(MORTGAGE=0.49, OWN=0.09, RENT=0.42),
        "annual_inc": amount(62_000, 0.55),
        "purpose": kinds(credit_card=0.22, debt_consolidation=0.58, home_improvement=0.06, other=0.14),
        "addr_state": places(50),
        "dti": number(16.5, 7.6, 0, 40),
        "delinq_2yrs": count(0.3, 1.2),
        "inq_last_6mths": count(0.7, 0.9),
        "open_acc": count(10, 0.45),
        "revol_bal": amount(11_000, 1.0),
        "revol_util": number(55, 25, 0, 150),
        "total_acc": count(22, 0.5),
    },
    (TARGET, number(13.7, 4.4, 5.4, 26.1)),
    explained=0.75,
)


def read(data: Path) -> Cells | None:
    """The loans in a folder, or None."""
    path = files.found(data, *FILES)
    if path is None:
        return None
    frame = files.cells(path, {TARGET: ("int rate", "int rate derived"), **files.themselves(FEATURES)})
    for name in (TARGET, "revol_util"):
        if name in frame:
            frame[name] = files.numbers(frame[name], "%")
    frame = frame[frame[TARGET].notna()]
    rows = np.arange(len(frame))
    says = f"{len(frame):,} loans of Lending Club with a rate, in the file's order (the papers: nearly 890,000)"
    return Cells(files.columns_of(frame), rows[:-PUBLIC], rows[-PUBLIC:], says)


def stand_in(setting: Setting) -> Cells:
    """Generated loans."""
    rows = np.arange(QUICK if setting.quick else WHOLE)
    columns = generated("lending", SHAPE, len(rows))
    return Cells(columns, rows[:-PUBLIC], rows[-PUBLIC:], f"{len(rows):,} generated loans of the same shape")
