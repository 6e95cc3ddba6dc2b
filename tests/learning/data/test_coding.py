"""Categories and components, against scikit-learn."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from learning.data.encoded import category_bound
from learning.data.encoding import Categories
from learning.data.feature_kinds import KINDS
from learning.data.feature_names import category_names
from learning.data.fitting import fit_encoder, principal_axes
from learning.errors import InputError

RNG = np.random.default_rng(0)
SEEN = np.array(
    [
        [a, b]
        for a, b in zip(
            RNG.choice(["x", "y", "ü", "(missing)"], 50), RNG.choice(["0", "1"], 50), strict=True
        )
    ],
    object,
)
MORE = np.concatenate([SEEN[:5], np.array([["new", "0"], ["y", "2"]], object)])


def categories_of(names, texts, places):
    return Categories(names, tuple(map(np.unique, texts.T)), places)


def as_columns(texts):
    return dict(zip("ab", texts.T, strict=True)), np.arange(len(texts))


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("places", [False, True])
def test_categories_meet_scikit_learn(places):
    theirs = (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        if places
        else OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    ).fit(SEEN)
    ours = categories_of(("a", "b"), SEEN, places)
    assert np.array_equal(ours.encode(*as_columns(MORE)), theirs.transform(MORE))
    assert category_names(ours) == tuple(theirs.get_feature_names_out(["a", "b"]))
    assert np.all(np.abs(ours.encode(*as_columns(MORE))) <= category_bound(ours))


def test_components_meet_scikit_learn():
    x = RNG.normal(size=(40, 6)) @ RNG.normal(size=(6, 6))
    x -= x.mean(axis=0)
    axes = principal_axes(x, 4)
    assert x @ axes.T == pytest.approx(PCA(4, svd_solver="full").fit_transform(x), abs=1e-12)
    assert np.all(np.max(axes, axis=1) == np.max(np.abs(axes), axis=1))


def test_no_columns_of_texts_are_no_columns():
    none = categories_of((), np.empty((3, 0), object), False)
    assert (
        none.encode({}, np.arange(5)).shape == (5, 0)
        and category_names(none) == ()
        and category_bound(none).shape == (0,)
    )


@pytest.mark.parametrize("places", [False, True])
def test_the_bound_of_a_coded_column_is_what_a_text_may_come_to(places):
    """The largest size over known texts and unknown ones; places of a lone category end at -1."""
    lone = np.array([[text, "only"] for text in ("x", "y", "ü", "z", "w")], object)
    coder = categories_of(("a", "b"), lone, places)
    texts = np.concatenate([lone, np.array([["new", "other"]], object)])
    coded = coder.encode(*as_columns(texts))
    assert np.array_equal(np.abs(coded).max(axis=0), category_bound(coder))


def test_a_kind_takes_fewer_components_where_there_are_fewer_columns():
    """Ten at most; stated as many, they are refused."""
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=30) for name in ("a", "b", "c", "goal")}
    how = {"target": "goal", "features": ["a", "b", "c"], "public": np.arange(30), "bounds": {}}
    made = fit_encoder(columns, kind=KINDS["components"], **how)
    assert len(made.components.axes) == 3
    with pytest.raises(InputError, match="data.components: must lie between 1 and 3"):
        fit_encoder(columns, components=10, kind=KINDS["components"], **how)
