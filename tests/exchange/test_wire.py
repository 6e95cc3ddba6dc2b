"""The search of the wire finds what was planted, however it is spelled, and nothing else."""

import base64
import struct

import numpy as np
import pytest

from exchange.rehearsal.wire import Wire, make_secrets, search_files

PUBLIC = b'{"columns": ["income", "default"], "high": 52000.0}'


def secrets(rng):
    x = np.c_[rng.normal(size=(40, 2)), np.ones(40)]
    y = rng.normal(size=40)
    cells = [
        *map(repr, rng.normal(size=30).tolist()),
        "52000.0",
        "Hornsgatan 8",
        "income",
        "yes",
        "17",
    ]
    gradient = x.T @ (x @ np.ones(3) - y) / 40
    return make_secrets("North", cells, (x, y), [gradient], [PUBLIC]), x, y, cells, gradient


SPELLED = {
    "repr": lambda value: f'{{"gradient": [1.0, {value!r}]}}'.encode(),
    "hex": lambda value: f'{{"gradient": "{value.hex()}"}}'.encode(),
    "bytes": lambda value: b"abc" + struct.pack("<d", value) + b"z",
    "bytes the other way round": lambda value: b"abcde" + struct.pack(">d", value),
    "bytes in hex": lambda value: b'{"a": "' + struct.pack("<d", value).hex().encode() + b'"}',
    "base64": lambda value: b'{"a": "' + base64.b64encode(b"xy" + struct.pack("<d", value)) + b'"}',
}


@pytest.mark.parametrize("spelled", SPELLED)
@pytest.mark.parametrize("what", ["x", "y", "gradient", "sum", "moment"])
def test_a_planted_number_is_found_in_every_spelling(spelled, what):
    looked, x, y, _, gradient = secrets(np.random.default_rng(1))
    value = {
        "x": x[7, 1],
        "y": y[3],
        "gradient": gradient[1],
        "sum": y.sum(),
        "moment": (x.T @ x)[0, 1],
    }[what]
    found = search_files({"round-001.query.json": SPELLED[spelled](float(value))}, [looked])
    assert {one.owner for one in found} == {"North"}
    assert any(float(one.value) == value for one in found)


def test_a_planted_cell_is_found_and_public_and_short_ones_are_not_looked_for():
    looked, _, _, cells, _ = secrets(np.random.default_rng(2))
    (found,) = search_files({"note": b"lives in Hornsgatan 8, income 52000.0, yes, 17"}, [looked])
    assert (found.kind, found.value) == ("cell", "Hornsgatan 8")
    assert [one.kind for one in search_files({"note": cells[4].encode()}, [looked])] == [
        "cell",
        "value of a record",
    ]


def test_noise_is_not_taken_for_a_value_and_sums_are_found_in_another_order_of_adding():
    rng = np.random.default_rng(3)
    looked, x, y, _, gradient = secrets(rng)
    noisy = repr((gradient + rng.laplace(size=3)).tolist()).encode()
    assert search_files({"answer": noisy + rng.bytes(4000)}, [looked]) == []
    assert search_files({"answer": repr(float(gradient[0] * (1 + 1e-12))).encode()}, [looked])


def test_a_sum_that_is_a_short_number_but_for_rounding_is_not_looked_for():
    """24 stands in digests by chance, between two strokes of base64."""
    x = np.array([[24 + 4e-15], [123.4567]])
    looked = make_secrets("North", [], (x[:1], x[1:, 0]), [x], [PUBLIC])
    assert not search_files({"digest": b"LHI/24/xmXf"}, [looked])
    (found,) = search_files({"sum": b"[123.45670000000001]"}, [looked])
    assert found.kind == "sum or gradient without noise"


def test_the_wire_keeps_every_version_of_every_file(tmp_path):
    wire = Wire(tmp_path / "shared", tmp_path / "kept")
    wire.look()
    (tmp_path / "shared").mkdir()
    file = tmp_path / "shared" / "round-001.query.json"
    for raw in (b"one", b"other", b"one"):
        (beside := tmp_path / "shared" / ".new").write_bytes(raw)
        wire.look()
        beside.replace(file)
        wire.look()
    file.unlink()
    wire.look()
    assert set(wire.files.values()) == {b"one", b"other"}
    assert {path.read_bytes() for path in (tmp_path / "kept").rglob("round*")} == {b"one", b"other"}


def test_digits_of_other_numbers_and_of_digests_are_not_taken_for_a_cell():
    x = np.ones((2, 2))
    y = np.zeros(2)
    looked = make_secrets("North", ["387706", "193552.0", "100857"], (x, y), [], [PUBLIC])
    noisy = b'{"digest": "ab193552cd", "gradient": [-0.0013877060082823052, 0.230675710085714]}'
    assert search_files({"answer": noisy}, [looked]) == []
    assert {
        one.value
        for one in search_files({"answer": b'{"income": 387706, "debt": 100857.0}'}, [looked])
    } == {
        "387706.0",
        "100857.0",
    }
