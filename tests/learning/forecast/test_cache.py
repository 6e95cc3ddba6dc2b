"""Results kept on disk: the same bytes again, computed anew wherever the file is not to be trusted, and never run."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from learning.forecast import kept
from learning.forecast.kept import cache_folder, load_or_compute, source_identity
from learning.privacy.laplace import Laplace

ARRAYS = {
    "plans": np.array([[0.0, 17.0, 0.1 + 0.2], [1.0, 3.0, 1e-300]]),
    "values": np.array([np.pi, np.inf, -0.0, 5e-324]),
    "none": np.empty((0, 3)),
}


class Costly:
    """A computation that counts how often it is made."""

    def __init__(self):
        self.made = 0

    def __call__(self):
        self.made += 1
        return {name: value.copy() for name, value in ARRAYS.items()}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An own folder for what is kept, not there yet."""
    monkeypatch.setenv("DPMARKET_CACHE", str(tmp_path / "kept" / "here"))
    return tmp_path / "kept" / "here"


def same(found):
    assert set(found) == set(ARRAYS)
    for name, value in ARRAYS.items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape
        assert found[name].tobytes() == value.tobytes()


def only(place: Path) -> Path:
    """The one file that is kept; nothing half-written lies beside it."""
    (file,) = place.iterdir()
    assert file.suffix == ".npz"
    return file


def test_what_was_computed_comes_back_byte_by_byte(place):
    costly = Costly()
    first = load_or_compute(costly, "key", 1)
    again = load_or_compute(costly, "key", 1)
    assert costly.made == 1
    same(first)
    same(again)
    only(place)


def test_an_empty_variable_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("DPMARKET_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    costly = Costly()
    assert cache_folder() is None
    for _ in range(2):
        same(load_or_compute(costly, "key"))
    assert costly.made == 2 and not any(tmp_path.iterdir())


def test_where_results_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("DPMARKET_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("DPMARKET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "dpmarket"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "dpmarket"


def test_the_suite_keeps_nothing_in_the_users_folder():
    named = os.environ.get("DPMARKET_CACHE")
    assert named is not None
    assert cache_folder() is None or Path.home() not in cache_folder().parents or "pytest" in named


@pytest.mark.parametrize(
    "other",
    [
        ("key", 2),
        ("key", 1.0 + 1e-15),
        ("kex", 1),
        ("key", 1, None),
        ("key", np.array([1])),
        ("key",),
    ],
    ids=str,
)
def test_another_key_is_computed_apart(place, other):
    costly = Costly()
    load_or_compute(costly, "key", 1)
    load_or_compute(costly, *other)
    assert costly.made == 2


def test_another_release_is_computed_apart(place, monkeypatch):
    costly = Costly()
    load_or_compute(costly, "key")
    monkeypatch.setattr(kept, "RELEASE", kept.RELEASE + "0")
    load_or_compute(costly, "key")
    assert costly.made == 2


def test_a_key_goes_by_the_numbers_in_it_not_by_where_they_lie(place):
    """Equal arrays in other memory, and slices of larger ones, hit; one bit off misses."""
    costly = Costly()
    x = np.arange(12.0).reshape(3, 4)
    load_or_compute(costly, x)
    load_or_compute(costly, x.copy())
    load_or_compute(costly, np.arange(24.0).reshape(6, 4)[:3])
    assert costly.made == 1
    x[2, 3] = np.nextafter(x[2, 3], 12)
    load_or_compute(costly, x)
    assert costly.made == 2


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def flipped(file: Path) -> None:
    """Every byte of the middle turned over: sums no longer agree."""
    held = bytearray(file.read_bytes())
    for i in range(len(held) // 3, 2 * len(held) // 3):
        held[i] ^= 0xFF
    file.write_bytes(bytes(held))


def text(file: Path) -> None:
    file.write_text("not a result\n" * 100)


def one_array(file: Path) -> None:
    with file.open("wb") as out:
        np.save(out, np.arange(5.0))


def pickled_objects(file: Path) -> None:
    np.savez(file, plans=np.array([{"a": 1}], dtype=object))


def headless(file: Path) -> None:
    """A zip archive whose entry is no array."""
    import zipfile

    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("plans.npy", b"\x93NUMPY\x01\x00 nonsense")


def changed(file: Path, **arrays: np.ndarray) -> None:
    """The file with some arrays in place of its own; everything else stays."""
    with np.load(file) as kept:
        held = {name: kept[name] for name in kept.files}
    np.savez(file, **held | arrays)


def foreign_names(file: Path) -> None:
    np.savez(file, other=np.arange(5.0))


def texts(file: Path) -> None:
    changed(file, values=np.array(["not", "numbers"]))


def not_numbers(file: Path) -> None:
    changed(file, values=np.full(4, np.nan))


def another_shape(file: Path) -> None:
    changed(file, values=ARRAYS["values"][:, None])


def one_more(file: Path) -> None:
    changed(file, more=np.arange(5.0))


def nothing(file: Path) -> None:
    np.savez(file)


def of_another_key(file: Path) -> None:
    """A whole result, laid under this key's name."""
    load_or_compute(Costly(), "another key")
    (other,) = set(file.parent.iterdir()) - {file}
    other.replace(file)


SPOILT = [truncated, emptied, flipped, text, one_array, pickled_objects, headless]
SPOILT += [foreign_names, texts, not_numbers, another_shape, one_more, nothing, of_another_key]


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda f: f.__name__)
def test_what_is_damaged_or_foreign_is_computed_anew_and_replaced(place, spoil):
    costly = Costly()
    load_or_compute(costly, "key")
    spoil(only(place))
    same(load_or_compute(costly, "key"))
    assert costly.made == 2
    same(load_or_compute(costly, "key"))
    assert costly.made == 2  # the file was replaced by a whole one
    only(place)


class Bomb:
    """Unpickling it runs a command."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return (os.mkdir, (str(self.target),))


@pytest.mark.parametrize("how", ["bare", "in an archive"])
def test_no_pickle_is_ever_run(place, tmp_path, how):
    costly = Costly()
    trap = tmp_path / "trap"
    load_or_compute(costly, "key")
    file = only(place)
    if how == "bare":
        file.write_bytes(pickle.dumps(Bomb(trap)))
    else:
        np.savez(file, plans=np.array([Bomb(trap)], dtype=object), values=np.zeros(2))
    same(load_or_compute(costly, "key"))
    assert costly.made == 2 and not trap.exists()


def test_a_file_in_the_place_of_the_folder_costs_nothing_but_time(tmp_path, monkeypatch):
    occupied = tmp_path / "occupied"
    occupied.write_text("mine")
    for named in (occupied, occupied / "below"):
        monkeypatch.setenv("DPMARKET_CACHE", str(named))
        costly = Costly()
        for _ in range(2):
            same(load_or_compute(costly, "key"))
        assert costly.made == 2
    assert occupied.read_text() == "mine"


def test_a_folder_in_the_place_of_the_file_costs_nothing_but_time(place):
    costly = Costly()
    load_or_compute(costly, "key")
    file = only(place)
    file.unlink()
    file.mkdir()
    same(load_or_compute(costly, "key"))
    assert file.is_dir() and only(place) == file  # nothing half-written is left beside it


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_costs_nothing_but_time(place):
    place.mkdir(parents=True)
    place.chmod(0o500)
    try:
        costly = Costly()
        for _ in range(2):
            same(load_or_compute(costly, "key"))
        assert costly.made == 2
    finally:
        place.chmod(0o700)


def test_a_full_disk_costs_nothing_but_time(place, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    costly = Costly()
    for _ in range(2):
        same(load_or_compute(costly, "key"))
    assert costly.made == 2 and not any(place.iterdir())


def test_an_error_of_the_computation_is_not_kept(place):
    def failing():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        load_or_compute(failing, "key")
    same(load_or_compute(Costly(), "key"))


def test_a_class_of_ones_own_is_told_apart_by_its_text():
    """Who edits a plug-in of their own gets nothing that was kept of the one before, though its name is the same."""

    def quiet():
        class Own(Laplace):
            def draw(self, scale, shape, *, rng):
                return super().draw(scale, shape, rng=rng) / 2

        return Own()

    def loud():
        class Own(Laplace):
            def draw(self, scale, shape, *, rng):
                return super().draw(scale, shape, rng=rng) * 2

        return Own()

    typed = type("Typed", (Laplace,), {})()  # its text is nowhere
    assert source_identity(Laplace(2)) == repr(Laplace(2)) and source_identity(
        quiet()
    ) == source_identity(quiet())
    assert source_identity(typed) != source_identity(typed)
    assert repr(quiet()).endswith("Own(overlap=1)") and "rng) / 2" in source_identity(quiet())
