"""Writing without losing: whenever a run ends, its folder is the old one or the new one, and what is not ours stays."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from learning.errors import InputError
from scenarios.output import folders, manifest, places
from scenarios.output.folders import replace_folder, write_together
from scenarios.output.manifest import changed_files, write_manifest
from scenarios.output.places import check_folder
from scenarios.output.unfinished import put_file

NAMES = ("a.txt", "figures/b.txt")
MEMO = {"memo.txt": "read this", "figures/mine.txt": "mine", "notes/one.txt": "1"}


def write_all(folder, text, **options):
    with replace_folder(folder, NAMES, **options) as new:
        (new / "figures").mkdir()
        for name in NAMES:
            put_file(new / name, text)


def lay_memos(folder):
    for name, text in MEMO.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)


def texts(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }


def whole(text):
    return dict.fromkeys(NAMES, text)


@pytest.fixture
def place(tmp_path):
    """A folder that was written once, with others' files in it."""
    write_all(tmp_path / "r", "old")
    lay_memos(tmp_path / "r")
    return tmp_path / "r"


def begun(code, event):
    """Whether a line of the code that changes anything on disk is about to be executed."""
    return event == "line" and code.co_filename.endswith(
        ("/output/folders.py", "/output/unfinished.py")
    )


def stopping_at(step, error):
    """A trace function that raises at one line of the code that writes, but for the lock's: a process that ends has none."""
    left = [step]

    def trace(frame, event, argument):
        if begun(frame.f_code, event) and frame.f_code.co_name not in (
            "lock_folder",
            "temporary_path",
        ):
            left[0] -= 1
            if left[0] == 0:
                sys.settrace(None)
                raise error
        return trace

    return trace


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "at_once"),
    [
        (KeyboardInterrupt(), True),
        (KeyboardInterrupt(), False),
        (OSError(28, "No space left on device"), False),
    ],
)
def test_stopped_at_any_line_it_is_the_old_folder_or_the_new_one(
    place, monkeypatch, error, at_once
):
    if not at_once:
        monkeypatch.setattr(folders, "_exchange_folders", lambda one, other: False)
    seen = set()
    step = 0
    traced = sys.gettrace()
    while "done" not in seen:
        step += 1 if at_once else 2
        sys.settrace(stopping_at(step, error))
        try:
            write_all(place, f"{step}", force=True)
            seen.add("done")
        except (KeyboardInterrupt, InputError, OSError):
            pass
        finally:
            sys.settrace(traced)
        found = texts(place)
        text = found["a.txt"]
        assert found == whole(text) | MEMO, step
        assert text in ("old", f"{step}"), step
        seen.add("old" if text == "old" else "new")
        if text != "old":
            write_all(place, "old", force=True)
    assert step > 50 and {"old", "new"} <= seen
    check_folder(place, NAMES, force=True)
    assert [path.name for path in place.parent.iterdir()] == [place.name]


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, "tests/scenarios")
from test_output import begun, check_folder, folders, lay_memos, NAMES, MEMO, texts, whole, write_all

place = Path(sys.argv[1]) / "r"
if sys.argv[2] == "False":
    folders._exchange_folders = lambda one, other: False
write_all(place, "old")
lay_memos(place)
step = gone = 0
while True:
    step += 2 if sys.argv[2] == "True" else 1
    child = os.fork()
    if not child:
        left = step
        def trace(frame, event, argument):
            global left
            if begun(frame.f_code, event) and frame.f_code.co_name not in ("lock_folder", "temporary_path", "put_file"):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), 9)
            return trace
        sys.settrace(trace)
        write_all(place, "new", force=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not place.exists():
        assert sys.argv[2] == "False"  # between two renames; the next run puts it right
        gone += 1
        check_folder(place, NAMES, force=True)
    found = texts(place)
    assert found == whole(found["a.txt"]) | MEMO, (step, found)
    if status == 0:
        break
    if found["a.txt"] != "old" or step % 10 == 0:
        write_all(place, "old", force=True)
        assert os.listdir(place.parent) == ["r"], os.listdir(place.parent)
print(step, gone)
"""


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [True, False])
def test_killed_at_any_line_it_is_the_old_folder_or_the_new_one(tmp_path, at_once):
    """SIGKILL, line by line; the next folder written there clears away what the killed left."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(at_once)]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    step, gone = map(int, found.stdout.split())
    assert step > 40 and gone <= (0 if at_once else 5)


def test_what_a_killed_run_had_set_aside_is_put_back(place):
    """Where folders cannot be exchanged at one stroke, a kill between two renames leaves neither: the next run restores."""
    aside = place.parent / ".dpmarket-0123abcd"
    (aside / "new" / "r").mkdir(parents=True)
    (aside / "old").mkdir()
    before = texts(place)
    place.rename(aside / "old" / "r")
    check_folder(place, NAMES, force=True)
    assert texts(place) == before and [path.name for path in place.parent.iterdir()] == ["r"]


def test_hidden_folders_of_others_are_not_cleared_away(tmp_path):
    for name in (".dpmarket-notes", ".dpmarket-0123abcd", ".dpmarket", ".other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("years of work")
    write_all(tmp_path / "r", "new")
    assert len(list(tmp_path.rglob("thesis.txt"))) == 4


def test_a_writer_at_work_is_waited_for_and_not_cleared_away(tmp_path):
    """Two runs into one folder: the second waits, so neither takes the other's unfinished folder for a leftover."""
    fcntl = pytest.importorskip("fcntl")
    with replace_folder(tmp_path / "r", NAMES) as new:
        (new / "a.txt").write_text("one")
        handle = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)
    assert texts(tmp_path / "r") == {"a.txt": "one"}


def test_without_locks_nothing_is_cleared_away_and_all_is_written(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", refuse)
    (tmp_path / ".dpmarket-0123abcd" / "new").mkdir(parents=True)
    write_all(tmp_path / "r", "new")
    assert texts(tmp_path / "r") == whole("new") and (tmp_path / ".dpmarket-0123abcd").exists()


def test_a_file_laid_into_the_folder_during_the_run_is_not_lost(tmp_path):
    write_all(tmp_path / "r", "old")
    with (
        pytest.raises(InputError, match="found late.txt in"),
        replace_folder(tmp_path / "r", NAMES) as new,
    ):
        (new / "a.txt").write_text("new")
        (tmp_path / "r" / "late.txt").write_text("late")
    assert texts(tmp_path / "r") == whole("old") | {"late.txt": "late"}
    with replace_folder(tmp_path / "r", NAMES, force=True) as new:
        (tmp_path / "r" / "later.txt").write_text("later")
    assert texts(tmp_path / "r") == {"late.txt": "late", "later.txt": "later"}


def test_folders_made_on_the_way_are_taken_away_again(tmp_path):
    with (
        pytest.raises(InputError, match="No space left"),
        replace_folder(tmp_path / "deep" / "er" / "r", NAMES),
    ):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_keeps_its_permissions(tmp_path):
    write_all(tmp_path / "r", "old")
    (tmp_path / "r").chmod(0o750)
    write_all(tmp_path / "r", "new")
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("linked", [True, False])
def test_others_files_keep_their_content_time_and_mode(place, monkeypatch, linked):
    def refuse(*arguments, **options):
        raise OSError(1, "Operation not permitted")

    if not linked:
        monkeypatch.setattr(os, "link", refuse)
    (place / "memo.txt").chmod(0o640)
    os.utime(place / "memo.txt", (1e9, 1e9))
    write_all(place, "new", force=True)
    kept = (place / "memo.txt").stat()
    assert (
        texts(place) == whole("new") | MEMO
        and kept.st_mtime == 1e9
        and kept.st_mode & 0o777 == 0o640
    )


def test_a_disk_where_the_folder_cannot_change_place_is_refused(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    monkeypatch.setattr(places.os.path, "ismount", lambda path: True)
    with pytest.raises(InputError, match="a disk or the folder you are in"):
        check_folder(tmp_path / "r", NAMES)


def test_the_manifest_is_of_the_files_that_are_there(place):
    kept = json.loads((place / "manifest.json").read_text())
    assert kept["program"] == "dpmarket" and list(kept["files"]) == sorted(NAMES)
    put_file(place / "a.txt", "drawn again")
    with pytest.raises(InputError):
        check_folder(place, NAMES)
    write_manifest(place, [place / "a.txt"])
    again = json.loads((place / "manifest.json").read_text())
    assert again["files"]["figures/b.txt"] == kept["files"]["figures/b.txt"]
    assert (
        again["files"]["a.txt"] == manifest.file_checksum(place / "a.txt") != kept["files"]["a.txt"]
    )


def test_a_folder_of_another_kind_is_not_replaced(place):
    """A study's folder is no result's: what only the other wrote counts as somebody's."""
    with pytest.raises(InputError, match="found a.txt, figures"):
        check_folder(place, ["result.json"])
    with replace_folder(place, ["result.json"], force=True) as new:
        (new / "result.json").write_text("{}")
    assert texts(place) == whole("old") | MEMO | {"result.json": "{}"}


@pytest.mark.parametrize(
    "damage", ["", "[]", "{}", '{"program": "dpmarket"}', '{"program": "dpmarket", "files": 3}']
)
def test_a_damaged_manifest_makes_everything_somebodys(place, damage):
    (place / "manifest.json").write_text(damage)
    with pytest.raises(InputError, match="found a.txt, figures/b.txt, manifest.json in"):
        check_folder(place, NAMES, force=True)


def test_a_text_file_is_put_whole_or_not_at_all(tmp_path, monkeypatch):
    put_file(tmp_path / "t.csv", "a\r\n")
    assert (tmp_path / "t.csv").read_bytes() == b"a\r\n" and (
        tmp_path / "t.csv"
    ).stat().st_mode & 0o200

    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError):
        put_file(tmp_path / "t.csv", "b")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"] and (
        tmp_path / "t.csv"
    ).read_text() == "a\n"


# Files that belong together


def write_pair(folder, text):
    with write_together(folder, NAMES) as new:
        (new / "figures").mkdir(exist_ok=True)
        for name in NAMES:
            put_file(new / name, text)


def hidden(folder):
    return [path.name for path in folder.rglob(".*")]


@pytest.mark.parametrize("call", ["replace", "link", "mkdir"])
@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_files_that_belong_together_are_all_old_or_all_new(
    tmp_path, monkeypatch, call, at, earlier, error
):
    """Each call of the system fails in turn: every file is the old one, or, where none failed, the new one."""
    if earlier:
        write_pair(tmp_path, "old")
    before = texts(tmp_path)
    calls = []
    works = getattr(os, call)

    def failing(*arguments, **options):
        calls.append(arguments)
        if len(calls) == at + 1:
            raise error
        return works(*arguments, **options)

    raised = None
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        try:
            write_pair(tmp_path, "new")
        except (InputError, KeyboardInterrupt) as stopped:
            raised = stopped
    assert texts(tmp_path) == (before if raised else dict.fromkeys(NAMES, "new"))
    assert not hidden(tmp_path)
    assert raised is None or isinstance(raised, InputError) == isinstance(error, OSError)


def test_what_a_block_reads_is_there_and_only_what_it_writes_is_replaced(tmp_path):
    write_pair(tmp_path, "old")
    (tmp_path / "other.txt").write_text("mine")
    unchanged = (tmp_path / NAMES[1]).stat()
    with write_together(tmp_path, NAMES) as new:
        assert texts(new) == dict.fromkeys(NAMES, "old")
        put_file(new / NAMES[0], "new")
    assert texts(tmp_path) == {NAMES[0]: "new", NAMES[1]: "old", "other.txt": "mine"}
    assert (tmp_path / NAMES[1]).stat().st_ino == unchanged.st_ino and not hidden(tmp_path)


def test_a_folder_in_the_way_of_the_second_file_spares_the_first(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "figures" / "b.txt").mkdir(parents=True)
    with pytest.raises(InputError, match="must be a folder that can be written to"):
        write_pair(tmp_path, "new")
    assert texts(tmp_path) == {"a.txt": "old"} and not hidden(tmp_path)


def test_what_was_changed_since_it_was_written_is_named(tmp_path):
    write_all(tmp_path / "r", "text")
    assert changed_files(tmp_path / "r", NAMES) == []
    (tmp_path / "r" / "a.txt").write_text("Text")
    (tmp_path / "r" / "figures" / "b.txt").unlink()
    assert changed_files(tmp_path / "r", NAMES) == list(NAMES)
    (tmp_path / "r" / "manifest.json").unlink()
    assert changed_files(tmp_path / "r", NAMES) == []
