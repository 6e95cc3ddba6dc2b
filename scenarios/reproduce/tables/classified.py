"""Tables of WD's logistic regressions, but for fraud: who earns much, which connection is an attack, who is ill, who buys.

The paper says how many rows it takes, and that records are of norm 1, but not how texts become numbers: they are whole
numbers here as in the other papers. Columns are standardised over the public rows, the last tenth in a fixed random order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.data.encoding import Columns
from learning.randomness import Streams
from scenarios.reproduce.item import Setting
from scenarios.reproduce.tables import files
from scenarios.reproduce.tables.generated import SEED, Shape, amount, count, generated, kinds, labels, number, places
from scenarios.reproduce.tables.records import Cells, Recipe

PUBLIC_SHARE, QUICK_SHARE = 0.1, 0.1


def _words(text: str) -> list[str]:
    return text.split()


ADULT = _words(
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    "capital-loss hours-per-week native-country income"
)
KDD = _words(
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins logged_in "
    "num_compromised root_shell su_attempted num_root num_file_creations num_shells num_access_files num_outbound_cmds "
    "is_host_login is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate "
    "diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count dst_host_same_srv_rate dst_host_diff_srv_rate "
    "dst_host_same_src_port_rate dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate "
    "dst_host_rerror_rate dst_host_srv_rerror_rate label"
)
BANK = _words(
    "age job marital education default housing loan contact month day_of_week duration campaign pdays previous poutcome "
    "emp.var.rate cons.price.idx cons.conf.idx euribor3m nr.employed y"
)
CANCER = _words(
    "sample_code_number clump_thickness uniformity_of_cell_size uniformity_of_cell_shape marginal_adhesion "
    "single_epithelial_cell_size bare_nuclei bland_chromatin normal_nucleoli mitoses class"
)
KDD_ROWS = 70_000


def _recipe(columns: Sequence[str]) -> Recipe:
    return Recipe(columns[-1], tuple(columns[:-1]), labels=True, standardised=True)


RECIPES = {
    "adult": _recipe(ADULT),
    "kdd": _recipe(KDD),
    "bank": _recipe(BANK),
    "cancer": _recipe(CANCER[1:]),
}
SHAPES: dict[str, tuple[int, Shape]] = {
    "adult": (
        45_222,
        Shape(
            {
                "age": number(38.5, 13, 17, 90),
                "workclass": kinds(Federal=0.03, Local=0.07, Private=0.74, Self=0.12, State=0.04),
                "fnlwgt": amount(178_000, 0.5),
                "education-num": number(10.1, 2.5, 1, 16),
                "marital-status": kinds(Divorced=0.18, Married=0.48, Never=0.31, Widowed=0.03),
                "occupation": places(14),
                "relationship": kinds(Husband=0.41, Not=0.26, Own=0.15, Unmarried=0.11, Wife=0.07),
                "sex": kinds(Female=0.33, Male=0.67),
                "capital-gain": count(0.02, 4.5),
                "capital-loss": count(0.01, 4.0),
                "hours-per-week": number(41, 12, 1, 99),
                "native-country": places(41),
            },
            ("income", labels(0.248)),
            0.5,
        ),
    ),
    "kdd": (
        KDD_ROWS,
        Shape(
            {
                "protocol_type": kinds(icmp=0.57, tcp=0.38, udp=0.05),
                "service": places(66),
                "flag": places(11),
                **{name: count(60, 2.5) for name in ("src_bytes", "dst_bytes")},
                **{name: count(0.05, 1.8) for name in ("duration", "hot", "num_compromised", "wrong_fragment")},
                **{name: number(300, 200, 0, 511) for name in ("count", "srv_count")},
                **{name: number(190, 90, 0, 255) for name in ("dst_host_count", "dst_host_srv_count")},
                **{name: number(0.5, 0.6, 0, 1) for name in KDD if name.endswith("_rate")},
            },
            ("label", labels(0.803)),
            0.9,
        ),
    ),
    "bank": (
        41_188,
        Shape(
            {
                "age": number(40, 10, 17, 98),
                "job": places(12),
                "marital": kinds(divorced=0.11, married=0.61, single=0.28),
                "education": places(8),
                "housing": kinds(no=0.45, unknown=0.02, yes=0.53),
                "contact": kinds(cellular=0.63, telephone=0.37),
                "month": places(10),
                "day_of_week": places(5),
                "duration": amount(180, 0.9),
                "campaign": count(2, 0.8),
                "previous": count(0.15, 1.2),
                "emp.var.rate": number(0.1, 1.6),
                "euribor3m": number(3.6, 1.7, 0.6, 5.1),
                "nr.employed": number(5167, 72),
            },
            ("y", labels(0.113)),
            0.6,
        ),
    ),
    "cancer": (
        699,
        Shape(
            {name: lambda z: np.clip(np.rint(3 * np.exp(0.8 * z)), 1, 10) for name in CANCER[1:-1]},
            ("class", labels(0.345)),
            0.9,
        ),
    ),
}


def adult(data: Path) -> Cells | None:
    """People without a missing answer, of both of the publisher's parts."""
    parts = [
        files.found(data, f"adult_{part}.csv", name) for part, name in (("train", "adult.data"), ("test", "adult.test"))
    ]
    frames = [
        (rows := _rows(path, ADULT, skipinitialspace=True, comment="|")).assign(
            income=files.labelled(path, rows["income"], "<=50K", ">50K")
        )
        for path in parts
        if path
    ]
    if len(frames) < 2:
        return None
    frame = pd.concat(frames, ignore_index=True).dropna()
    label = frame["income"] == ">50K"
    return _shuffled(
        "adult",
        _labelled(frame, "income", label),
        f"{len(frame):,} people of the census with no answer missing (the paper: 45,222)",
    )


def kdd(data: Path) -> Cells | None:
    """Connections drawn at random from the 10 percent file: the paper does not say which it takes."""
    path = files.found(data, "kddcup.data_10_percent", "kddcup.data")
    if path is None:
        return None
    frame = _rows(path, KDD)
    drawn = Streams(SEED, "kdd").rng("rows").permutation(len(frame))[:KDD_ROWS]
    frame = frame.iloc[drawn]
    columns = _labelled(frame, "label", files.labelled(path, frame["label"]) != "normal")
    return _shuffled("kdd", columns, f"{len(frame):,} connections drawn from {path.name} (the paper: 70,000)")


def bank(data: Path) -> Cells | None:
    """Calls of a bank to sell a deposit."""
    path = files.found(data, "bank-additional-full.csv")
    if path is None:
        return None
    frame = _rows(path, BANK, sep=";")
    bought = files.labelled(path, frame["y"], "no", "yes") == "yes"
    return _shuffled("bank", _labelled(frame, "y", bought), f"{len(frame):,} calls of a bank (the paper: 41,188)")


def cancer(data: Path) -> Cells | None:
    """Tumours; a missing measurement counts as the public mean."""
    path = files.found(data, "breast-cancer-wisconsin.csv", "breast-cancer-wisconsin.data")
    if path is None:
        return None
    frame = _rows(path, CANCER)
    malignant = files.labelled(path, frame["class"], "2", "4") == "4"
    return _shuffled("cancer", _labelled(frame, "class", malignant), f"{len(frame):,} tumours (the paper: 699)")


def stand_in(name: str, setting: Setting) -> Cells:
    """Generated rows, as many as the paper has; a tenth of a large table where time is short."""
    rows, shape = SHAPES[name]
    count = max(int(QUICK_SHARE * rows), 699) if setting.quick else rows
    return _shuffled(name, generated(name, shape, count), f"{count:,} generated rows of the same shape")


def _rows(path: Path, names: Sequence[str], **reading: Any) -> pd.DataFrame:
    """All columns, by the names given, of a file with or without a header."""
    bare: dict[str, Any] = (
        {} if path.name.removesuffix(".gz").endswith(".csv") else {"names": list(names), "header": None}
    )
    return files.cells(path, files.themselves((names[-1], *names[:-1])), **bare, **reading)


def _labelled(frame: pd.DataFrame, target: str, positive: pd.Series) -> Columns:
    """The columns, with the target as -1 and +1."""
    return {**files.columns_of(frame), target: np.where(positive, 1.0, -1.0)}


def _shuffled(name: str, columns: Columns, says: str) -> Cells:
    """Rows in a fixed random order, of which the last tenth is public."""
    count = len(next(iter(columns.values())))
    rows = Streams(SEED, name).rng("order").permutation(count)
    public = int(PUBLIC_SHARE * count)
    return Cells(columns, rows[:-public], rows[-public:], says)
